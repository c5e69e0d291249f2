"""Options, each described once: in the field of a dataclass, next to its type and default.

Commands, configurations and documentation read the description there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Description:
    """What is said about an option: its ``help`` in a command, and the meaning of its ``key`` in a configuration.

    ``least`` is the smallest number allowed, ``above`` the largest one that is not. ``flags`` are the spellings in a command, if they are
    not that of the name, and ``metavar`` is what help calls the value.
    """

    help: str = ""
    key: str = ""
    least: int | None = None
    above: float | None = None
    flags: tuple[str, ...] = ()
    metavar: str | None = None


def option(
    default: T,
    help: str = "",  # noqa: A002
    *,
    key: str = "",
    least: int | None = None,
    above: float | None = None,
    flags: tuple[str, ...] = (),
    metavar: str | None = None,
) -> T:
    """The field of an option.

    >>> @dataclass
    ... class Reading:
    ...     depth: int = option(10, "Documents per query.", least=1)
    >>> Reading().depth, descriptions(Reading)["depth"].help
    (10, 'Documents per query.')
    """
    described = Description(help, key, least, above, flags, metavar)
    made: T = field(default=default, metadata={"description": described})
    return made


def descriptions(options: type) -> Mapping[str, Description]:
    """The descriptions of all fields of a dataclass that have one."""
    return {one.name: one.metadata["description"] for one in fields(options) if "description" in one.metadata}
