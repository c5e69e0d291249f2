"""Options, each described once: in the field of a dataclass, next to its type and default.

Commands, configurations and documentation read the description there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(frozen=True)
class Description:
    """What is said about an option: its ``help`` in a command, and the meaning of its ``key`` in a configuration.

    ``least`` is the smallest number allowed, ``above`` the largest one that is not. ``flags`` are the spellings in a command, if they are
    not that of the name, ``metavar`` is what help calls the value, and ``choices`` are the values allowed, if these are few.
    """

    help: str = ""
    key: str = ""
    least: int | None = None
    above: float | None = None
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    choices: tuple[str, ...] = ()


def option(
    default: T,
    help: str = "",  # noqa: A002
    *,
    key: str = "",
    least: int | None = None,
    above: float | None = None,
    flags: tuple[str, ...] = (),
    metavar: str | None = None,
    choices: tuple[str, ...] = (),
) -> T:
    """The field of an option.

    >>> @dataclass
    ... class Reading:
    ...     depth: int = option(10, "Documents per query.", least=1)
    >>> Reading().depth, descriptions(Reading)["depth"].help
    (10, 'Documents per query.')
    """
    described = Description(help, key, least, above, flags, metavar, choices)
    made: T = field(default=default, metadata={"description": described})
    return made


def descriptions(options: type) -> Mapping[str, Description]:
    """The descriptions of all fields of a dataclass that have one."""
    return {one.name: one.metadata["description"] for one in fields(options) if "description" in one.metadata}


def with_options_in_signature(options: type, *, takes_more: bool = False) -> Callable[[Function], Function]:
    """Notebooks then show each field of a dataclass where a function takes ``**options``; ``takes_more`` keeps these as well."""

    def decorated(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = list(signature.parameters.values())
        more = parameters.pop()
        places = [one for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY]
        shown = [
            inspect.Parameter(
                one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type
            )
            for one in fields(options)
        ]
        rest = [*parameters[len(places) :], *([more] if takes_more else [])]
        vars(function)["__signature__"] = signature.replace(parameters=[*places, *shown, *rest])
        return function

    return decorated
