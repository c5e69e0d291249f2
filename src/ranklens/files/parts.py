"""Folders and patterns: files that are the parts of one table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from glob import glob
from itertools import chain
from pathlib import Path
from typing import Any

from ranklens import words
from ranklens.errors import InputError
from ranklens.files.streams import TableStream
from ranklens.files.suffixes import TABLES, suffix_of

_WILD = re.compile(r"[*?[]")  # what the patterns of shells are made of


def is_in_parts(path: Any) -> bool:
    """Whether this is a folder or, if nothing is called so, a pattern."""
    if not isinstance(path, (str, os.PathLike)) or str(path) == "-":
        return False
    return os.path.isdir(path) or (bool(_WILD.search(str(path))) and not os.path.exists(path))


def part_files(path: Any, kind: str | None = None) -> list[Path]:
    """The files of a kind, or of all that tables are stored in; without those that Spark and others hide."""
    place = Path(path)
    inside = place.rglob("*") if place.is_dir() else map(Path, glob(str(path), recursive=True))
    found = (file for file in inside if file.is_file() and not file.name.startswith((".", "_")))
    return sorted(
        file for file in found if (_kind(file) is not None if kind is None else _kind(file) == kind)
    )


def parts_kind(path: Any) -> str | None:
    """The format of a folder or pattern; None if it holds no tables. Parquet files may have others beside them."""
    files = part_files(path)
    kinds = sorted({str(_kind(file)) for file in files})
    if not kinds or "parquet" in kinds:
        return "parquet" if kinds else None
    if len(kinds) > 1:
        raise InputError(
            f"{path} holds {words.several(kinds)} files; pass a pattern, such as '{path}/*.{kinds[0]}'."
        )
    if os.path.isdir(path) and len({_without_numbers(file) for file in files}) > 1:
        shown = words.several([file.name for file in files[:3]])
        raise InputError(
            f"{path} holds files of different names ({shown}): pass each as a run, or NAME='{path}/*.{kinds[0]}' if they are parts of one."
        )
    return kinds[0]


def files_of_runs(path: str) -> list[str]:
    """The files of a pattern if each is a run of its own: they hold no tables, or their names differ in more than numbers.

    >>> files_of_runs("no such folder/*.txt")
    []
    """
    if not is_in_parts(path) or os.path.isdir(path):
        return []
    found = [Path(file) for file in sorted(glob(path, recursive=True))]
    files = [file for file in found if file.is_file() and not file.name.startswith((".", "_"))]
    are_parts = len({_without_numbers(file) for file in files}) < 2 and all(map(_kind, files))
    return [] if are_parts else [str(file) for file in files]


def one_after_the_other(path: Any, kind: str, read: Callable[[Path], Any]) -> TableStream:
    """The tables of all parts as one stream."""
    streams = [read(file) for file in part_files(path, kind)]
    if not all(isinstance(stream, TableStream) for stream in streams):
        raise InputError(f"{path}: records in several files cannot be read as one; put them into one file.")
    return TableStream(str(path), lambda: chain.from_iterable(stream.tables() for stream in streams))


def _kind(file: Path) -> str | None:
    return TABLES.get(suffix_of(file))


def _without_numbers(file: Path) -> str:
    """Parts are called alike but for numbers and the digits of a UUID."""
    return re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "", file.name)
