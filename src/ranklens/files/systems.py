"""Several systems in one place: a folder with ``system=NAME`` folders, or a table with a column ``system``.

They are never read as one run: their rankings would be merged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ranklens import words
from ranklens.errors import InputError, InPython
from ranklens.files.streams import TableStream
from ranklens.readers import frames

if TYPE_CHECKING:
    import polars as pl

_FOLDER = "system="


def system_folders(path: Any) -> dict[str, Path]:
    """The folders of systems in a folder, by the system's name.

    >>> system_folders("no such folder")
    {}
    """
    if not isinstance(path, (str, os.PathLike)) or not os.path.isdir(path):
        return {}
    found = sorted(folder for folder in Path(path).glob(f"{_FOLDER}*") if folder.is_dir())
    return {unquote(folder.name.removeprefix(_FOLDER)): folder for folder in found}


def systems_of_scan(scan: pl.LazyFrame) -> list[str]:
    """The systems that a column names, in their order; none if there is no such column."""
    import polars as pl

    name = frames.system_column(scan)
    if name is None:
        return []
    found = scan.select(pl.col(name).drop_nulls().cast(pl.String).unique(maintain_order=True)).collect()
    return found.to_series().to_list()


def systems_in(stream: TableStream) -> list[str]:
    """The same of a stream of tables."""
    seen: dict[str, None] = {}
    for names in stream.map(_systems):
        if names is None:
            return []
        seen.update(dict.fromkeys(names))
    return list(seen)


def _systems(table: pl.DataFrame) -> list[str] | None:
    import polars as pl

    name = frames.system_column(table)
    if name is None:
        return None
    return table[name].drop_nulls().unique(maintain_order=True).cast(pl.String).to_list()


class OneSystem:
    """Converts the tables of one system: the chosen one, else the only one that there is; ``error`` is for several."""

    def __init__(
        self,
        convert: Callable[[Any], pl.DataFrame],
        name: str = "run",
        system: str | None = None,
        error: Callable[[str, Iterable[str]], InputError] | None = None,
    ) -> None:
        self._convert, self._name, self._system = convert, name, system
        self._error = error or several
        self._seen: dict[str, None] = {}

    def __call__(self, table: Any) -> pl.DataFrame:
        import polars as pl

        column = frames.system_column(table)
        if column is None:
            return self._convert(table)
        table = frames.to_polars(table)
        if self._system is not None:
            return self._convert(table).filter(table[column].cast(pl.String) == self._system)
        self._seen.update(dict.fromkeys(_systems(table) or ()))
        if len(self._seen) > 1:
            raise self._error(self._name, [*self._seen])
        return self._convert(table)


def several(name: str, systems: Iterable[str]) -> InputError:
    """The error where one run is wanted."""
    shown = words.several([repr(system) for system in sorted(systems)])
    return InputError(
        f"{name} holds several systems ({shown}); score them one by one, or compare them",
        InPython(
            " with compare(qrels, {name: rows of that system, …})", f": ranklens compare qrels.txt {name}"
        ),
        ".",
    )
