"""Folders and patterns: files that are the parts of one table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from glob import glob
from itertools import chain
from pathlib import Path
from typing import Any, TypeGuard

from ranklens import words
from ranklens.data.files.json_reading import holds_rows
from ranklens.data.files.remote import refuse_files_of_lakes
from ranklens.data.files.sources import open_source
from ranklens.data.files.streams import TableStream
from ranklens.data.files.suffixes import TABLES, name_of_file, suffix_of
from ranklens.errors import InputError, warn

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PART = re.compile(r"part|shard|split|chunk|piece|slice|segment|batch|block|data|[0-9]{4}", re.IGNORECASE)
_SCANS = {"parquet": "scan_parquet", "csv": "scan_csv", "tsv": "scan_csv", "jsonl": "scan_ndjson"}
_WILD = re.compile(r"[*?[]")  # what the patterns of shells are made of


def is_in_parts(path: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether this is a folder or, if nothing is called so, a pattern."""
    if not isinstance(path, (str, os.PathLike)) or str(path) == "-":
        return False
    return os.path.isdir(path) or (bool(_WILD.search(str(path))) and not os.path.exists(path))


def reaches_into_a_folder(path: str) -> bool:
    """Whether this is a pattern, with ``=`` in it, rather than ``NAME=PATTERN``: it matches something, or looks into a folder that exists.

    >>> reaches_into_a_folder("bm25=runs/*.txt"), reaches_into_a_folder("no such/system=*")
    (False, False)
    """
    if not _WILD.search(path):
        return False
    before, _, behind = path.partition("=")
    names_something = not _WILD.match(behind) and bool(glob(behind, recursive=True))
    return bool(glob(path, recursive=True)) or (
        os.path.isdir(os.path.dirname(before)) and not names_something
    )


def part_files(path: str | os.PathLike[str], kind: str | None = None) -> list[Path]:
    """The files of a kind, or of all that tables are stored in; without those that Spark and others hide or leave empty."""
    kinds = {file: _kind(file) for file in visible_files(path)}
    files = [file for file, own in kinds.items() if (own is not None if kind is None else own == kind)]
    refuse_files_of_lakes(files)
    return [file for file in files if file.stat().st_size] or files


def visible_files(path: str | os.PathLike[str]) -> list[Path]:
    """All files of a folder or pattern, but for those that are hidden or in a hidden folder."""
    place = Path(path)
    files = _visible(place.rglob("*"), place) if place.is_dir() else _matches(str(path))
    return [file for file in files if file.is_file()]


def _matches(pattern: str) -> list[Path]:
    """What a pattern matches, in order."""
    return _visible(map(Path, glob(pattern, recursive=True)), Path(pattern))


def _visible(found: Iterable[Path], place: Path) -> list[Path]:
    """Without what is hidden or in a hidden folder, unless the place itself names it; in order."""
    named = [part for part in place.parts if _is_hidden(part)]

    def is_named(part: str) -> bool:
        return any(part == one or fnmatchcase(part, one) for one in named)

    return sorted(one for one in found if all(is_named(part) for part in one.parts if _is_hidden(part)))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def parts_kind(path: str | os.PathLike[str], *, named: bool = False) -> str | None:
    """The format of a folder or pattern; None if it holds no tables. Files that may be several runs are refused, unless they were ``named`` as one."""
    files = part_files(path)
    kinds = sorted({str(_kind(file)) for file in files})
    if not kinds:
        return None
    below = "**/" if any(file.parent != Path(path) for file in files) else ""
    pattern = f"{path}/{below}*.{kinds[0]}" if os.path.isdir(path) else str(path)
    if len(kinds) > 1:
        raise InputError(
            f"{path} contains {words.several(kinds)} files; pass a pattern, such as '{pattern}'."
        )
    if not named and not _are_parts(files):
        shown = words.several([str(file.relative_to(_common_folder(files))) for file in files[:3]])
        raise InputError(
            f"{path} contains files of different names ({shown}): pass each as a run, or NAME='{pattern}' if they are parts of one."
            f" In Python, polars.{_SCANS[kinds[0]]} reads them as one.",
            path=str(path),
        )
    return kinds[0]


def _are_parts(files: Sequence[Path]) -> bool:
    """Whether files are called as the parts of one table are: alike but for numbers, by a word such as part or by long numbers alone.

    What ``model-v1`` and ``model-v2``, or files in two folders, have in common is for the user to say.

    >>> [_are_parts([Path(f"{name}{number}.csv") for number in "12"]) for name in ("part-", "model-v", "", "run-0000")]
    [True, False, True, True]
    """
    # A folder such as date=2024-05-01 is a part of a table, too.
    folders = {tuple(part for part in file.parent.parts if "=" not in part) for file in files}
    if len(files) < 2 or len(folders) > 1:
        return len(files) < 2
    if (_common_folder(files) / "_SUCCESS").exists():  # which Spark writes last
        return True
    alike = len({*map(_without_numbers, files)}) < 2
    bare = [_without_numbers(Path(name_of_file(file.name))) for file in files]
    return alike and all(
        _PART.search(file.name) or not re.search("[a-zA-Z]", name)
        for file, name in zip(files, bare, strict=True)
    )


def _common_folder(files: Sequence[Path]) -> Path:
    return Path(os.path.commonpath([file.parent for file in files]))


def files_of_runs(path: str) -> list[str]:
    """What a pattern matches if each is a run of its own: folders, or files that hold no tables or are not called as parts are.

    >>> files_of_runs("no such folder/*.txt")
    []
    """
    if not is_in_parts(path) or os.path.isdir(path):
        return []
    matches = _matches(path)
    around = {folder for one in matches for folder in one.parents}  # as ** matches a folder and what is in it
    runs = [one for one in matches if one not in around]
    if any(one.is_file() for one in runs):  # folders of something else may lie beside runs
        runs = [one for one in runs if one.is_file() or part_files(one)]
    are_parts = all(one.is_file() and _kind(one) for one in runs) and _are_parts(runs)
    return [] if are_parts else [str(one) for one in runs]


def warn_of_parts(paths: Sequence[str]) -> None:
    """Say that files which are called as parts are, and were given one by one, are a run each: a shell replaces a pattern by what it matches."""
    files = [Path(path) for path in paths]
    if len(files) > 1 and all(file.is_file() and _kind(file) for file in files) and _are_parts(files):
        shown = words.several([file.name for file in files])
        warn(
            f"{shown} are named like parts of one run, but each is read as a separate run. If they are parts, put the pattern in "
            f"quotes, or pass their folder ({_common_folder(files)}); if not, name them: NAME=PATH."
        )


def one_after_the_other(path: str | os.PathLike[str], kind: str, read: Callable[[Path], Any]) -> TableStream:
    """The tables of all parts as one stream."""
    streams = [read(file) for file in part_files(path, kind)]
    if not all(isinstance(stream, TableStream) for stream in streams):
        raise InputError(f"{path}: records in several files cannot be read as one; put them into one file.")
    return TableStream(str(path), lambda: chain.from_iterable(stream.tables() for stream in streams))


def _kind(file: Path) -> str | None:
    suffix = suffix_of(file)
    if suffix == ".json" and file.is_file():  # as Spark calls lines of JSON
        return "jsonl" if holds_rows(open_source(file).head()) else None
    return TABLES.get(suffix)


def _without_numbers(file: Path) -> str:
    """Parts are called alike but for numbers and the digits of a UUID or a hash."""
    return re.sub(r"[0-9a-f]{8,}|[0-9]+", "", _UUID.sub("", file.name))
