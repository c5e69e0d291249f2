"""Well-formed calls of ``ranklens evaluate`` without Typer, which loads Pydantic and makes a small collection take 1.4 times as long.

Whatever is not plainly understood here, above all help, mistakes and rare options, is left to Typer; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ranklens.cli import evaluate
from ranklens.cli.output_formats import Format
from ranklens.policy import Policy

_DECIMAL = (r"[0-9]{1,9}(?:\.[0-9]{1,9})?", float)
_NUMBERS = {"depth": (r"[0-9]{1,9}", int), "rel": _DECIMAL, "max_grade": _DECIMAL}
FORMATS = {choice.value: choice for choice in Format}
# What each option sets, and to what where it takes no value.
OPTIONS: dict[str, tuple[str, bool | None]] = {
    "-m": ("measures", None),
    "--measures": ("measures", None),
    "-q": ("per_query", True),
    "--per-query": ("per_query", True),
    "--format": ("format", None),
    "-o": ("output", None),
    "--output": ("output", None),
    "--qrels-format": ("qrels_format", None),
    "--run-format": ("run_format", None),
    **{f"--{field.name.replace('_', '-')}": (field.name, None) for field in fields(Policy)},
    "--spreadsheet": ("spreadsheet", True),
    "--skip-bad": ("skip_bad", True),
    "--judged-only": ("judged_only", True),
    "--no-judged-only": ("judged_only", False),
}


def quick_evaluate(arguments: Sequence[str]) -> bool:
    """Whether the arguments were understood, and what they ask for was done."""
    understood = _understood(arguments)
    if understood is None:
        return False
    (qrels, *runs), options = understood
    policy = {field.name: options.pop(field.name) for field in fields(Policy) if field.name in options}
    evaluate.evaluate(qrels, runs, Policy(**policy), **options)
    return True


def _understood(arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]] | None:
    """Files and options; None where there is anything unusual."""
    files: list[str] = []
    options: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-") or argument == "-":
            files.append(argument)
            continue
        name, value = _option(argument, rest)
        if name is None or value is None:
            return None
        options[name] = [*options.get(name, []), value] if name == "measures" else value
    return (files, options) if len(files) > 1 and all(files) else None


def _option(argument: str, rest: Iterator[str]) -> tuple[str | None, Any]:
    """What is set, and to what; None for what is unusual."""
    flag, equals, given = argument.partition("=")
    name, value = OPTIONS.get(flag, (None, None))
    if name is None or (equals and (value is not None or not flag.startswith("--"))):
        return None, None
    if value is not None:
        return name, value
    text = given if equals else next(rest, "")
    if not text or (text.startswith("-") and text != "-"):
        return None, None
    if name in _NUMBERS:
        pattern, number = _NUMBERS[name]
        return name, number(text) if re.fullmatch(pattern, text) else None
    if name == "format":
        return name, FORMATS.get(text)
    return name, Path(text) if name == "output" else text
