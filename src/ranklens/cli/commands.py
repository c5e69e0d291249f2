"""Commands: their functions, and what each takes on the command line.

The annotation of a parameter describes it. A parameter that is a dataclass of options stands for all of them; those without a
default come after the others, so that help begins with what is special to a command.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from glob import iglob
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args, get_origin, get_type_hints

from ranklens.data.files.output import check_outputs
from ranklens.options import Description, descriptions
from ranklens.process import loudness

Values: TypeAlias = "Mapping[str, object]"
REQUIRED = inspect.Parameter.empty
MEASURES = "measures"

# Each command, in the order of the help, with its function (or its commands) in the module of the same name.
COMMANDS = {
    "evaluate": "evaluate",
    "compare": "compare",
    "bench": "bench",
    "gate": "gate",
    "history": "COMMANDS",
    "sensitivity": "sensitivity",
    "plan": "plan",
    "fuse": "fuse",
    "tune": "tune",
    "sweep": "sweep",
    "explain": "explain",
    "report": "report",
    "measures": "list_measures",
    "agreement": "agreement",
    "trust": "trust",
    "reusability": "reusability",
    "lint": "lint",
    "convert": "convert",
    "demo": "demo",
}
# Those that name measures, which may be the user's own.
_WITH_MEASURES = (
    "evaluate",
    "compare",
    "bench",
    "gate",
    "plan",
    "sensitivity",
    "explain",
    "report",
    "agreement",
    "trust",
    "reusability",
    "measures",
    "add",
    "tune",
    "sweep",
)
WRITTEN = (
    "output",
    "fused",
    "junit",
    "plot",
    "target",
)  # name files to write, as do plots; all other arguments may name files to read
_LOAD = Description(
    "Run this Python file first; it registers measures of your own. Can be repeated.",
    flags=("--load",),
    metavar="FILE",
)
_QUIET = Description("No warnings and no progress.", flags=("--quiet",))
_STRICT = Description("Exit status 1 if there is a warning.", flags=("--strict",))


@dataclass(frozen=True)
class Argument:
    """What is said about an argument, whose place says what it is."""

    help: str


@dataclass(frozen=True)
class Parameter:
    """An argument or an option of a command."""

    name: str
    kind: object  # the type of its value
    default: object
    said: Description | Argument

    @property
    def flags(self) -> tuple[str, ...]:
        """How the option is spelled; an argument is not."""
        if isinstance(self.said, Argument):
            return ()
        return self.said.flags or (f"--{self.name.replace('_', '-')}",)


@dataclass(frozen=True)
class Command:
    """A command: a function, and whether it takes the options of most commands."""

    name: str
    function: Callable[..., None]
    has_manners: bool = True

    @cached_property
    def parameters(self) -> list[Parameter]:
        """All that can be said on the command line, in the order of the help."""
        own: list[Parameter] = []
        groups: list[Parameter] = []
        for name, (kind, said, default) in self._described.items():
            if said is not None:
                own.append(Parameter(name, kind, default, said))
            elif isinstance(kind, type) and is_dataclass(kind):
                (groups if default is REQUIRED else own).extend(_fields(kind))
        shared = [Parameter("load", list[str] | None, None, _LOAD)] if self.name in _WITH_MEASURES else []
        if self.has_manners:
            shared += [Parameter("quiet", bool, False, _QUIET), Parameter("strict", bool, False, _STRICT)]
        return [*own, *groups, *shared]

    @cached_property
    def _described(self) -> dict[str, tuple[object, Description | Argument | None, object]]:
        """Each parameter of the function: its type, what is said about it, and its default."""
        described: dict[str, tuple[object, Description | Argument | None, object]] = {}
        for name, parameter in inspect.signature(self.function, eval_str=True).parameters.items():
            kind, *said = (
                get_args(parameter.annotation)
                if get_origin(parameter.annotation) is Annotated
                else [parameter.annotation]
            )
            described[name] = (kind, said[0] if said else None, parameter.default)
        return described

    def run(self, values: Values, chosen: Mapping[str, str]) -> None:
        """Run it with values by name; ``chosen`` are the options that the user named, as they are spelled."""
        if self.has_manners:
            check_files(values)
        given = dict(values)
        load, quiet, strict = given.pop("load", None), given.pop("quiet", False), given.pop("strict", False)
        arguments: dict[str, object] = {}
        for name, (kind, said, _) in self._described.items():
            if said is None and isinstance(kind, type) and is_dataclass(kind):
                arguments[name] = kind(**_of_group(kind, given))
            elif name in given:
                arguments[name] = given[name]
        arguments |= {
            name: value for name, value in (("strict", strict), ("chosen", chosen)) if name in self._described
        }
        with loudness(quiet=bool(quiet), strict=bool(strict)) if quiet or strict else nullcontext():
            if isinstance(load, list) and load:
                from ranklens.cli.own_measures import load_measures

                load_measures(load)
            self.function(**arguments)


def command_of(name: str) -> Command | dict[str, Command]:
    """The command of this name, or the commands that it has."""
    function: object = getattr(import_module(f"ranklens.cli.{name}"), COMMANDS[name])
    if isinstance(function, dict):
        return {inner: Command(inner, one, has_manners=False) for inner, one in function.items()}
    assert callable(function)
    return Command(name, function, has_manners=name != MEASURES)


def _fields(group: type) -> Iterator[Parameter]:
    """An option for each described field of a dataclass."""
    kinds, described = get_type_hints(group), descriptions(group)
    for one in fields(group):
        if one.name in described:
            kind, said = _plain(kinds[one.name]), described[one.name]
            if negated := _negated(one.name, said):
                yield Parameter(negated, kind, not one.default, said)
            else:
                yield Parameter(one.name, kind, one.default, said)


def _plain(kind: object) -> object:
    """Choices are text on the command line, and so is what may be text; the dataclass itself says what is allowed."""
    if get_origin(kind) is Literal:
        return str
    return str | None if str in get_args(kind) else kind


def _negated(name: str, said: Description) -> str:
    """The name of an option that takes back what is the default, such as ``no_code``."""
    negated = f"no_{name}"
    return negated if said.flags == (f"--{negated.replace('_', '-')}",) else ""


def _of_group(group: type, values: dict[str, object]) -> dict[str, object]:
    """The values of the fields of a dataclass."""
    found: dict[str, object] = {}
    for name, said in descriptions(group).items():
        negated = _negated(name, said)
        if negated in values:
            found[name] = not values[negated]
        elif name in values:
            found[name] = values[name]
    return found


def check_files(arguments: Values) -> None:
    """Refuse to write over what the command reads, or over another of its outputs, before it does anything."""
    written = [Path(text) for name in WRITTEN for text in _texts(arguments.get(name))]
    written += [Path(text.rpartition("=")[2]) for text in _texts(arguments.get("plots"))]
    if written:
        read = [
            file
            for name, value in arguments.items()
            if name not in (*WRITTEN, "plots")
            for file in _files(value)
        ]
        check_outputs(written, read)


def _texts(value: object) -> list[str]:
    values: list[object] | tuple[object, ...] = value if isinstance(value, (list, tuple)) else [value]
    return [os.fspath(one) for one in values if isinstance(one, (str, Path))]


def _files(value: object) -> Iterator[str]:
    """Every existing file that a value may name: FILE, NAME=FILE, FILE:COLUMN, KIND:FILE or a pattern."""
    for text in _texts(value):
        for name in (text, text.partition("=")[2], text.rpartition(":")[0], text.partition(":")[2]):
            with suppress(OSError, ValueError):  # no name of a file
                if name and os.path.exists(name):
                    yield name
                elif any(letter in name for letter in "*?["):
                    yield from iglob(name, recursive=True)
