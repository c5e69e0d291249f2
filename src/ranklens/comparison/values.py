"""Values that exist already, by system: tables of all systems are split, and files of values are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ranklens.data.files.collection import is_path
from ranklens.data.files.values import Values, read_values, values_by_run
from ranklens.data.readers import frames
from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def by_system(given: Any) -> Any:
    """Systems by name, from a table with a column ``system``, as such or in a file, or from a mapping, some of whose values may be files."""
    if is_path(given):
        return {name: _table(values) for name, values in read_values(given).items()}
    if isinstance(given, Mapping):
        return {name: _read(system) if is_path(system) else system for name, system in given.items()}
    if not frames.is_frame(given):
        return given
    found = values_by_run(frames.to_polars(given), "The table")
    if not found:
        raise InputError(
            "The table has no column system, which says whose values they are; add one, or pass {name: table}."
        )
    return {name: _table(values) for name, values in found.items()}


def _read(path: Any) -> pl.DataFrame:
    found = read_values(path)
    if len(found) > 1:
        raise InputError(
            f"{path} holds the values of {len(found)} systems ({', '.join(found)}); ranklens.read_scores gives them by name.",
            path=str(path),
        )
    return _table(next(iter(found.values())))


def _table(values: Values) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame({"query": values.queries, **values.by_measure})
