"""Values of measures by query, in a file: a wide or long table, or what ``trec_eval -q`` printed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ranklens.data.files import formats
from ranklens.data.files.rows import read_rows
from ranklens.data.files.sources import Source, open_source, without_bom
from ranklens.data.files.suffixes import name_of_file
from ranklens.data.readers import frames
from ranklens.data.readers.names import plain
from ranklens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

_RUNS = ("run", frames.SYSTEM)  # columns that say whose values they are
_TEXTS = ("question", "slice")  # columns that RankLens writes besides values
_ALL = "all"  # trec_eval's name for the mean over queries
_NAMES = ("runid", "relstring")  # trec_eval's lines that hold no number


class Values(NamedTuple):
    """One run: its queries, and their values by the name of the measure."""

    queries: list[str]
    by_measure: dict[str, list[float]]


def read_values(path: Any) -> dict[str, Values]:
    """Values by run. A table without a column ``run`` or ``system`` holds those of one, which is called like the file.

    A wide table has a column ``query`` and one per measure, a long one the columns ``query``, ``measure`` and ``value``.
    """
    source = open_source(path)
    name = name_of_file(source.name)
    if _is_printed(source):
        return _printed(source, name)
    table = _table(path, source)
    return values_by_run(table, source.name) or {name: _values(table, source.name)}


def values_by_run(table: pl.DataFrame, name: str) -> dict[str, Values]:
    """The values of each run of a table that says whose they are, in a column ``run`` or ``system``; else nothing."""
    run = next((column for column in table.columns if plain(column) in _RUNS), None)
    if run is None:
        return {}
    parts = table.partition_by(run, as_dict=True, maintain_order=True, include_key=False)
    return {str(key[0]): _values(part, name) for key, part in parts.items()}


def _table(path: Any, source: Source) -> pl.DataFrame:
    import polars as pl

    head = source.head().lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"PAR1"):
        return formats.read_table(path, "parquet")
    if head.startswith((b"{", b"[")):
        return pl.DataFrame(read_rows(str(path), "scores"), infer_schema_length=None)
    first = head.partition(b"\n")[0]
    return formats.read_table(path, "tsv" if b"\t" in first else "csv")


def _values(table: pl.DataFrame, name: str) -> Values:
    key = frames.query_column(table)
    if key is None:
        raise InputError(
            f"{name}: no query among the columns {table.columns}. A table of scores has the column query and one per measure, or "
            "query, measure and value.",
            path=name,
        )
    if {"measure", "value"} <= {*table.columns}:
        return _long(table, key, name)
    queries = frames.ids(table, key, name).to_list()
    columns = [column for column in table.columns if column != key and plain(column) not in _TEXTS]
    _refuse_repeated(queries, name)
    return Values(queries, {column: _numbers(table[column], name) for column in columns})


def _long(table: pl.DataFrame, key: str, name: str) -> Values:
    queries = frames.ids(table, key, name).to_list()
    numbers = _numbers(table["value"], name)
    rows = zip(queries, table["measure"].to_list(), numbers, strict=True)
    return _gathered(rows, name)


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
    return Values(queries, {m: [values[query] for query in queries] for m, values in by_measure.items()})


def _numbers(column: pl.Series, name: str) -> list[float]:
    import polars as pl

    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() or numbers.is_nan().any():
        row = (numbers.is_null() | numbers.is_nan().fill_null(value=True)).arg_true()[0]
        raise InputError(
            f"{name}: row {row + 1}: {str(column[row])[:80]!r} in column {column.name!r} is not a number.",
            path=name,
        )
    return numbers.to_list()


def _refuse_repeated(queries: list[str], name: str) -> None:
    repeated = next((query for query, times in Counter(queries).items() if times > 1), None)
    if repeated is not None:
        raise InputError(
            f"{name}: query {repeated!r} appears twice; give one row per query and run.", path=name
        )


def _is_printed(source: Source) -> bool:
    """Whether the first line is one of trec_eval's: measure, query, value."""
    first = without_bom(source.head()).decode(errors="replace").partition("\n")[0].split()
    return len(first) == 3 and (first[0] in _NAMES or _is_number(first[2]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
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
            f"{source.name} holds no values of single queries; print them with trec_eval -q.",
            path=source.name,
        )
    return {name: _gathered(rows, source.name)}
