"""Tables → :class:`~ranklens.scores.values.Values`: files (wide, long, or what ``trec_eval -q`` printed), frames and dicts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.data.files import formats
from ranklens.data.files.rows import read_rows
from ranklens.data.files.sources import Source, open_source, without_bom
from ranklens.data.files.suffixes import name_of_file
from ranklens.data.readers import frames
from ranklens.data.readers.names import plain
from ranklens.errors import InputError, MeasureError
from ranklens.metrics import parse
from ranklens.scores.values import Values
from ranklens.words import kind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import polars as pl

    from ranklens.arrays import FloatArray

_RUNS = ("run", frames.SYSTEM)  # columns that say whose values they are
_TEXTS = ("question", "slice")  # columns that RankLens writes besides values
_ALL = "all"  # trec_eval's name for the mean over queries
_NAMES = ("runid", "relstring")  # trec_eval's lines that hold no number


def read_values(path: str | Path) -> dict[str, Values]:
    """Values by run. A table without a column ``run`` or ``system`` holds those of one, which is called like the file.

    A wide table has a column ``query`` and one per measure, a long one the columns ``query``, ``measure`` and ``value``.
    """
    source = open_source(path)
    name = name_of_file(source.name)
    head = without_bom(source.head())
    first = head.decode(errors="replace").partition("\n")[0]
    fields = first.split()
    if len(fields) == 3 and (
        fields[0] in _NAMES or _is_number(fields[2])
    ):  # trec_eval's measure, query, value
        return _printed(source, name)
    head = head.lstrip()
    if head.startswith(b"PAR1"):
        table = formats.read_table(path, "parquet")
    elif head.startswith((b"{", b"[")):
        import polars as pl

        table = pl.DataFrame(read_rows(str(path), "scores"), infer_schema_length=None)
    else:
        table = formats.read_table(path, "tsv" if b"\t" in head.partition(b"\n")[0] else "csv")
    return values_by_run(table, source.name) or {name: _values(table, source.name)}


def values_by_run(table: pl.DataFrame, name: str) -> dict[str, Values]:
    """The values of each run of a table that says whose they are, in a column ``run`` or ``system``; else nothing."""
    run = next((column for column in table.columns if plain(column) in _RUNS), None)
    if run is None:
        return {}
    parts = table.partition_by(run, as_dict=True, maintain_order=True, include_key=False)
    return {str(key[0]): _values(part, name) for key, part in parts.items()}


def _values(table: pl.DataFrame, name: str) -> Values:
    key = frames.query_column(table)
    if key is None:
        raise InputError(
            f"{name}: no query among the columns {table.columns}. A table of scores has the column query and one per measure, or "
            "query, measure and value.",
            path=name,
        )
    queries = frames.ids(table, key, name).to_list()
    if {"measure", "value"} <= {*table.columns}:
        numbers = _numbers(table["value"], name).tolist()
        return _gathered(zip(queries, table["measure"].to_list(), numbers, strict=True), name)
    columns = [column for column in table.columns if column != key and plain(column) not in _TEXTS]
    repeated = next((query for query, times in Counter(queries).items() if times > 1), None)
    if repeated is not None:
        raise InputError(
            f"{name}: query {repeated!r} appears twice; give one row per query and run.", path=name
        )
    return Values(queries, {column: _numbers(table[column], name) for column in columns})


def _gathered(rows: Iterable[tuple[str, str, float]], name: str) -> Values:
    """``query, measure, value`` as columns, where every query has every measure."""
    by_measure: dict[str, dict[str, float]] = {}
    for query, measure, value in rows:
        values = by_measure.setdefault(measure, {})
        if query in values:
            raise InputError(f"{name}: query {query!r} has two values of {measure}; give one.", path=name)
        values[query] = value
    queries = list(dict.fromkeys(query for values in by_measure.values() for query in values))
    for measure, values in by_measure.items():
        lacking = next((query for query in queries if query not in values), None)
        if lacking is not None:
            raise InputError(
                f"{name}: query {lacking!r} has no value of {measure}; give every query a value of every measure.",
                path=name,
            )
    columns = {m: np.array([values[query] for query in queries]) for m, values in by_measure.items()}
    return Values(queries, columns)


def _numbers(column: pl.Series, name: str) -> FloatArray:
    import polars as pl

    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() or numbers.is_nan().any():
        row = (numbers.is_null() | numbers.is_nan().fill_null(value=True)).arg_true()[0]
        raise InputError(
            f"{name}: row {row + 1}: {str(column[row])[:80]!r} in column {column.name!r} is not a number.",
            path=name,
        )
    return numbers.to_numpy()


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def _printed(source: Source, name: str) -> dict[str, Values]:
    """What ``trec_eval -q`` printed; the lines for all queries are means of the others, but for the name of the run."""
    rows = []
    for number, line in enumerate(without_bom(source.read()).decode().splitlines(), 1):
        fields = line.split()
        if len(fields) != 3 or not (fields[0].startswith(_NAMES) or _is_number(fields[2])):
            if not fields:
                continue
            raise InputError(
                f"{source.name}:{number}: {line.strip()[:80]!r} is not a line of trec_eval, which has a measure, a query and a value.",
                path=source.name,
                line=number,
            )
        if fields[0] == "runid":
            name = fields[2]
        if fields[1] != _ALL and not fields[0].startswith(_NAMES):
            rows.append((fields[1], fields[0], float(fields[2])))
    if not rows:
        raise InputError(
            f"{source.name} contains no values of single queries; print them with trec_eval -q.",
            path=source.name,
        )
    return {name: _gathered(rows, source.name)}


def by_system(given: object) -> object:
    """Systems by name, from a table with a column ``system``, as such or in a file, or from a mapping, some of whose values may be files."""
    if isinstance(given, (str, os.PathLike)):
        return read_values(os.fspath(given))
    if isinstance(given, Mapping):
        systems = dict(given)
        for name, path in given.items():
            if isinstance(path, (str, os.PathLike)):
                own = read_values(os.fspath(path))
                if len(own) > 1:
                    raise InputError(
                        f"{os.fspath(path)} contains the values of {len(own)} systems ({', '.join(own)}); ranklens.read_scores gives them by name.",
                        path=os.fspath(path),
                    )
                systems[name] = next(iter(own.values()))
        return systems
    if not frames.is_frame(given):
        return given
    by_run = values_by_run(frames.to_polars(given), "The table")
    if not by_run:
        raise InputError(
            "The table has no column system, which says whose values they are; add one, or pass {name: table}."
        )
    return by_run


def values_of(system: str, given: object) -> Values:
    """Values that one system brings, under the canonical names of measures: as they were read, by query, or as a frame."""
    if isinstance(given, Values):
        return Values(given.queries, {canonical(name): column for name, column in given.items()})
    return _of_rows(system, given) if isinstance(given, Mapping) else _of_frame(system, given)


def canonical(name: str) -> str:
    """The name of a measure in the registry; any other name as it is."""
    try:
        return str(parse(name))
    except MeasureError:
        return name


def _of_rows(system: str, given: Mapping[Any, Any]) -> Values:
    """``{query: {measure: value}}``, as pytrec_eval gives it."""
    if not given or not all(isinstance(row, Mapping) for row in given.values()):
        raise InputError(
            f"{system}: expected {{query: {{measure: value}}}}, a table with a column query and one per measure, or Scores."
        )
    columns: dict[str, FloatArray] = {}
    for name in dict.fromkeys(name for row in given.values() for name in row):
        values = [row.get(name, np.nan) for row in given.values()]
        try:
            columns[canonical(name)] = np.array([float(value) for value in values])
        except (TypeError, ValueError):
            wrong = next(value for value in values if not _is_number(value))
            raise InputError(f"{system}: a value of {name} is {wrong!r}, not a number.") from None
    return Values([str(query) for query in given], columns)


def _of_frame(system: str, given: Any) -> Values:
    import polars as pl

    if not frames.is_frame(given):
        raise InputError(
            f"{system} is {kind(given)}; give Scores, a table with a column query and one per measure, "
            "or {query: {measure: value}}."
        )
    if type(given).__module__.partition(".")[0] == "pandas" and given.index.name:
        given = given.reset_index()
    frame = frames.to_polars(given)
    key = frames.query_column(frame)
    if key is None:
        raise InputError(
            f"{system}: no query among the columns {frame.columns}. Rename the column to 'query'."
        )
    queries = frames.ids(frame, key, system)
    repeated = queries.filter(queries.is_duplicated())
    if len(repeated):
        raise InputError(f"{system}: query {repeated[0]!r} appears twice; give one row per query.")
    numeric = [name for name, dtype in frame.schema.items() if name != key and dtype.is_numeric()]
    columns = {
        canonical(name): frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in numeric
    }
    return Values(queries.to_list(), columns)
