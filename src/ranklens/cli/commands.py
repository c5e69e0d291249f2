"""Commands: their functions, and what each takes on the command line.

The annotation of a parameter describes it. A parameter that is a dataclass of options stands for all of them; those without a
default come after the others, so that help begins with what is special to a command.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from glob import iglob
from importlib import import_module
from pathlib import Path
from types import NoneType
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
    "inspect": "inspect",
    "lint": "lint",
    "convert": "convert",
    "remap": "remap",
    "demo": "demo",
}
# Those that name measures, which may be the user's own.
_WITH_MEASURES = {*COMMANDS, "add"} - {"history", "fuse", "lint", "convert", "remap", "inspect", "demo"}
# These name files to write, as do plots; all other arguments may name files to read.
WRITTEN = ("output", "fused", "junit", "plot", "target", "report")
_NUMBERS = {int: r"[0-9]{1,9}", float: r"[0-9]{1,9}(?:\.[0-9]{1,9})?"}
_LOAD = Description(
    "Run this Python file first; it registers measures of your own. Can be repeated.",
    flags=("--load",),
    metavar="FILE",
)
_QUIET = Description("Hide warnings and progress.", flags=("--quiet",))
_STRICT = Description("Exit with status 1 after a warning.", flags=("--strict",))


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

    @property
    def spellings(self) -> tuple[str, ...]:
        """All flags; a switch without a spelling of its own can also be turned off."""
        is_switch = self.kind is bool and isinstance(self.said, Description) and not self.said.flags
        return (*self.flags, f"--no-{self.flags[0][2:]}") if is_switch else self.flags

    @property
    def takes_several(self) -> bool:
        """Whether it collects words in a list."""
        return list[str] in (self.kind, *get_args(self.kind))

    def read(self, text: str) -> object:
        """The value of a text; None if it is not plainly one of this kind."""
        choices = get_args(self.kind)
        kind = choices[0] if choices[1:] == (NoneType,) else self.kind
        if kind in (str, list[str]):
            return text if kind is str else [text]
        if kind in (Path, list[Path]):
            return Path(text) if kind is Path else [Path(text)]
        if isinstance(kind, type) and issubclass(kind, Enum):
            return next((choice for choice in kind if choice.value == text), None)
        if (kind is int or kind is float) and re.fullmatch(_NUMBERS[kind], text):
            least = self.said.least if isinstance(self.said, Description) else None
            return kind(text) if least is None or float(text) >= least else None
        return None


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
            annotation = parameter.annotation
            kind, said = get_args(annotation) if get_origin(annotation) is Annotated else (annotation, None)
            described[name] = (kind, said, parameter.default)
        return described

    def run(self, values: Values, chosen: Mapping[str, str]) -> None:
        """Run it with values by name; ``chosen`` are the options that the user named, as they are spelled."""
        if self.has_manners:
            check_files(values)
        load, quiet, strict = (values.get(name) for name in ("load", "quiet", "strict"))
        values = {**values, "strict": bool(strict), "chosen": chosen}
        arguments: dict[str, object] = {}
        for name, (kind, said, _) in self._described.items():
            if said is None and isinstance(kind, type) and is_dataclass(kind):
                named = {field: _negated(field, said) for field, said in descriptions(kind).items()}
                group: dict[str, object] = {
                    field: not values[negated] for field, negated in named.items() if negated in values
                }
                group |= {field: values[field] for field in named if field in values}
                arguments[name] = kind(**group)
            elif name in values:
                arguments[name] = values[name]
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


def spoken_name(arguments: Sequence[str]) -> str:
    """The name that messages begin with: ``ranklens compare``, or ``ranklens`` without a command.

    >>> spoken_name(["compare", "qrels.txt"]), spoken_name(["--version"])
    ('ranklens compare', 'ranklens')
    """
    return " ".join(["ranklens", *(name for name in arguments[:1] if name in COMMANDS)])


def _fields(group: type) -> Iterator[Parameter]:
    """An option for each described field of a dataclass."""
    kinds, described = get_type_hints(group), descriptions(group)
    for one in fields(group):
        if one.name in described:
            kind, said = kinds[one.name], described[one.name]
            # Choices are text on the command line, and so is what may be text; the dataclass itself says what is allowed.
            if get_origin(kind) is Literal:
                kind = str
            elif str in get_args(kind):
                kind = str | None
            negated = _negated(one.name, said)
            yield Parameter(negated or one.name, kind, not one.default if negated else one.default, said)


def _negated(name: str, said: Description) -> str:
    """The name of an option that takes back what is the default, such as ``no_code``."""
    negated = f"no_{name}"
    return negated if said.flags == (f"--{negated.replace('_', '-')}",) else ""


def check_files(arguments: Values) -> None:
    """Refuse to write over what the command reads, or over another of its outputs, before it does anything."""
    written = [Path(text) for name in WRITTEN for text in _texts(arguments.get(name))]
    written += [Path(text.rpartition("=")[2]) for text in _texts(arguments.get("plots"))]
    if written:
        inputs = [value for name, value in arguments.items() if name not in (*WRITTEN, "plots")]
        check_outputs(written, [file for value in inputs for file in _files(value)])


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


# --- well-formed calls without Typer, which loads Pydantic and makes a small collection take 1.4 times as long


def understood(command: Command, arguments: Sequence[str]) -> tuple[dict[str, object], dict[str, str]] | None:
    """The value of each parameter that is named, and how it is spelled; None where there is anything unusual.

    Whatever is not plainly understood here, above all help and mistakes, is left to Typer; a test compares the two.
    """
    flags = {flag: parameter for parameter in command.parameters for flag in parameter.spellings}
    words: list[str] = []
    values: dict[str, object] = {}
    chosen: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-") or argument == "-":
            words.append(argument)
            continue
        flag, equals, text = argument.partition("=")
        parameter = flags.get(flag)
        if parameter is None or (equals and (parameter.kind is bool or not flag.startswith("--"))):
            return None
        if parameter.kind is bool:
            value: object = flag in parameter.flags
        else:
            text = text if equals else next(rest, "")
            value = parameter.read(text) if text == "-" or (text and not text.startswith("-")) else None
        if value is None:
            return None
        before = values.get(parameter.name)
        if isinstance(before, list) and isinstance(value, list):
            value = [*before, *value]
        values[parameter.name] = value
        chosen[parameter.name] = parameter.flags[-1]
    arguments_read = _placed([one for one in command.parameters if not one.flags], words)
    if arguments_read is None:
        return None
    values |= arguments_read
    if any(one.default is REQUIRED and one.name not in values for one in command.parameters):
        return None
    if command.name != "evaluate":  # which has always taken the library's own defaults
        # Typer makes floats of whole numbers, and JSON shows that.
        for one in command.parameters:
            if one.kind is float and isinstance(one.default, int):
                values.setdefault(one.name, float(one.default))
    return values, chosen


def _placed(arguments: Sequence[Parameter], words: Sequence[str]) -> dict[str, object] | None:
    """The arguments, by their places; the last one may take several words."""
    if not all(words) or (len(words) > len(arguments) and not (arguments and arguments[-1].takes_several)):
        return None
    placed = {
        argument.name: list(words[place:]) if argument.takes_several else argument.read(words[place])
        for place, argument in enumerate(arguments[: len(words)])
    }
    return None if None in placed.values() else placed
