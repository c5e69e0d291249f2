"""Several systems in one place: a folder with ``system=NAME`` folders, or a table with a column ``system``.

They are never read as one run: their rankings would be merged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ranklens import words
from ranklens.data.files.parts import part_files
from ranklens.data.files.streams import TableStream
from ranklens.data.readers import frames
from ranklens.errors import InputError, InPython

if TYPE_CHECKING:
    import polars as pl

_NONE = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows without a system
_FOLDER = "system="


def system_folders(path: object) -> dict[str, Path]:
    """The folders of systems in a folder, by the system's name.

    >>> system_folders("no such folder")
    {}
    """
    if not isinstance(path, (str, os.PathLike)) or not os.path.isdir(path):
        return {}
    folders = sorted(folder for folder in Path(path).glob(f"{_FOLDER}*") if folder.is_dir())
    loose = [file.name for file in part_files(path) if file.parent == Path(path)] if folders else []
    if loose:
        raise InputError(
            f"{path} contains {loose[0]} next to its system= folders, and it belongs to none of them; move it, or pass the folders one by one.",
            path=str(path),
        )
    systems = {system_of(folder): folder for folder in folders}
    if _NONE in systems and len(systems) > 1:
        raise nameless(next(system for system in systems if system != _NONE))
    return systems


def system_of(folder: PurePath) -> str:
    """The system that the name of a folder says, as partitioned tables have it; empty if it says none.

    >>> system_of(PurePath("runs/system=bm25%2Frm3")), system_of(PurePath("runs/bm25"))
    ('bm25/rm3', '')
    """
    return unquote(folder.name.removeprefix(_FOLDER)) if folder.name.startswith(_FOLDER) else ""


def refuse_nested(path: str | os.PathLike[str]) -> None:
    """Raise if systems are in folders further down, or match a pattern: it is unclear whether one run is meant."""
    files, place = part_files(path), Path(path)
    below = [file.relative_to(place) if place.is_dir() else file for file in files]
    systems = {system_of(folder) for file in below for folder in file.parents} - {""}
    if len(systems) > 1:
        shown = words.several([repr(system) for system in sorted(systems)])
        raise InputError(
            f"{path} contains files of several systems ({shown}); pass the folder right above their system= folders, or each system as "
            "NAME=PATH.",
            path=str(path),
        )


def systems_of_scan(scan: pl.LazyFrame) -> list[str]:
    """The systems that a column names, in their order; none if there is no such column."""
    import polars as pl

    name = frames.system_column(scan)
    if name is None:
        return []
    systems = scan.select(pl.col(name).unique(maintain_order=True)).collect()
    return _named(names_in(systems.to_series()).to_list())


def systems_in(stream: TableStream) -> list[str]:
    """The same of a stream of tables."""
    seen: dict[str | None, None] = {}
    for names in stream.map(_systems):
        seen.update(dict.fromkeys([None] if names is None else names))
    return _named(seen)


def _systems(table: pl.DataFrame) -> list[str | None] | None:
    """None among them stands for rows that name no system."""
    name = frames.system_column(table)
    return None if name is None else names_in(table[name]).unique(maintain_order=True).to_list()


def names_in(column: pl.Series) -> pl.Series:
    """The names of systems in a column."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype == pl.Object:
        raise InputError(
            f"the column {column.name!r} contains {column.dtype}, not the name of a system; rename it."
        )
    return column.cast(pl.String)


def _named(systems: Iterable[str | None]) -> list[str]:
    """The names of systems; none if no row has one, as if there were no column."""
    named = [system for system in systems if system is not None]
    if named and None in systems:
        raise nameless(named[0])
    return named


def nameless(system: object) -> InputError:
    """The error where some rows name a system and others do not: whose are they?"""
    return InputError(
        f"the column {frames.SYSTEM!r} is empty in some rows, and {system!r} in others; name the system of every row."
    )


def chosen_system(runs: Mapping[str, object], name: str, system: str | None) -> object:
    """The run of the chosen system, else the only one; runs before and after a reranker differ in their names."""
    if system is None and len(runs) > 1:
        raise several(name, runs)
    return runs[next(iter(runs)) if system is None else system]


class OneSystem:
    """Converts the tables of one run: of the chosen system, else of the only one that there is; ``hint`` says what to do with several.

    All tables have scores, or all have ranks only: how would a rank compare with a score?
    """

    def __init__(
        self,
        convert: Callable[[Any], pl.DataFrame],
        name: str = "run",
        system: str | None = None,
        hint: str = "",
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        self._convert, self._name, self._system = convert, name, system
        self._hint, self._columns = hint, columns
        self._seen: dict[str | None, None] = {}
        self._ordered_by: dict[str, None] = {}

    def __call__(self, table: Any) -> pl.DataFrame:
        column = frames.system_column(table)
        if column is None:
            self._see([None])
        else:
            table = frames.to_polars(table)
            if self._system is None:
                self._see(_systems(table) or ())
        converted = self._convert(table)
        if column is not None and self._system is not None:
            converted = converted.filter(names_in(table[column]) == self._system)
        self._ordered_by[frames.ordered_by(table, self._columns)] = None
        if len(self._ordered_by) > 1:
            raise InputError("some parts have scores, others only ranks, and these cannot be compared.")
        return converted

    def _see(self, systems: Iterable[str | None]) -> None:
        self._seen.update(dict.fromkeys(systems))
        if len(self._seen) > 1:
            raise several(self._name, _named(self._seen), self._hint)


def several(name: str, systems: Iterable[str], hint: str = "") -> InputError:
    """The error where one run is wanted; ``hint`` says what to do, if not to score or compare them."""
    shown = words.several([repr(system) for system in sorted(systems)])
    if hint:
        return InputError(f"{name} contains several systems ({shown}), {hint}")
    return InputError(
        f"{name} contains several systems ({shown}); score them one by one, or compare them",
        InPython(
            " with compare(qrels, {name: rows of that system, …})", f": ranklens compare qrels.txt {name}"
        ),
        ".",
    )
