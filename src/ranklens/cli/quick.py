"""Well-formed calls without Typer, which loads Pydantic and makes a small collection take 1.4 times as long.

Whatever is not plainly understood here, above all help and mistakes, is left to Typer; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import get_args

from ranklens.cli.commands import REQUIRED, Command, Parameter
from ranklens.options import Description

_WHOLE, _DECIMAL = r"[0-9]{1,9}", r"[0-9]{1,9}(?:\.[0-9]{1,9})?"


def understood(command: Command, arguments: Sequence[str]) -> tuple[dict[str, object], dict[str, str]] | None:
    """The value of each parameter that is named, and how it is spelled; None where there is anything unusual."""
    flags = {flag: parameter for parameter in command.parameters for flag in _flags(parameter)}
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
        value = _value(parameter, flag, text if equals else None, rest)
        if value is None:
            return None
        before = values.get(parameter.name)
        values[parameter.name] = (
            [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
        )
        chosen[parameter.name] = parameter.flags[-1]
    placed = _placed(command, words)
    if placed is None or any(
        p.default is REQUIRED and p.name not in {*values, *placed} for p in command.parameters
    ):
        return None
    if command.name != "evaluate":  # which has always taken the library's own defaults
        # Typer makes floats of whole numbers, and JSON shows that.
        values = {
            p.name: float(p.default)
            for p in command.parameters
            if p.kind is float and isinstance(p.default, int)
        } | values
    return {**placed, **values}, chosen


def _flags(parameter: Parameter) -> tuple[str, ...]:
    """All spellings; a switch that has no spelling of its own can also be turned off."""
    is_switch = (
        parameter.kind is bool and isinstance(parameter.said, Description) and not parameter.said.flags
    )
    return (*parameter.flags, f"--no-{parameter.flags[0][2:]}") if is_switch else parameter.flags


def _value(parameter: Parameter, flag: str, text: str | None, rest: Iterator[str]) -> object:
    if parameter.kind is bool:
        return flag in parameter.flags
    text = next(rest, "") if text is None else text
    if not text or (text.startswith("-") and text != "-"):
        return None
    return _converted(parameter, text)


def _converted(parameter: Parameter, text: str) -> object:
    """The value of a text; None if it is not plainly one of this kind."""
    choices = get_args(parameter.kind)
    kind = choices[0] if choices[1:] == (NoneType,) else parameter.kind
    if kind in (str, list[str]):
        return text if kind is str else [text]
    if kind in (Path, list[Path]):
        return Path(text) if kind is Path else [Path(text)]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((choice for choice in kind if choice.value == text), None)
    least = parameter.said.least if isinstance(parameter.said, Description) else None
    number: float | None = None
    if kind is int and re.fullmatch(_WHOLE, text):
        number = int(text)
    elif kind is float and re.fullmatch(_DECIMAL, text):
        number = float(text)
    return None if number is None or (least is not None and number < least) else number


def _placed(command: Command, words: Sequence[str]) -> dict[str, object] | None:
    """The arguments, by their places; the last one may take several words."""
    arguments = [parameter for parameter in command.parameters if not parameter.flags]
    if not all(words) or (len(words) > len(arguments) and not _takes_several(arguments)):
        return None
    placed: dict[str, object] = {}
    for number, parameter in enumerate(arguments[: len(words)]):
        value = list(words[number:]) if _takes_several([parameter]) else _converted(parameter, words[number])
        if value is None:
            return None
        placed[parameter.name] = value
    return placed


def _takes_several(arguments: Sequence[Parameter]) -> bool:
    return bool(arguments) and list[str] in (arguments[-1].kind, *get_args(arguments[-1].kind))
