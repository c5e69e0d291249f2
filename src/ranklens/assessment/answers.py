"""Generated answers that assessors have looked at: the records of TREC RAG, and the scores of one or several runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ranklens.data.files.rows import read_rows
from ranklens.data.files.suffixes import name_of_file
from ranklens.data.readers.objects import is_path
from ranklens.errors import InputError, MeasureError, nearest
from ranklens.scores.values import Values
from ranklens.stats.intervals import Bounds, Interval, interval
from ranklens.tables.table import Shown, Table
from ranklens.words import counted, kind

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.arrays import FloatArray
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.options import ComparisonArguments

Record: TypeAlias = "Mapping[str, Any]"  # as JSON has it
ByQuery: TypeAlias = "dict[str, dict[str, float]]"  # query → measure → value

_UNIT = Bounds(0.0, 1.0)
# Where records of TREC RAG, nuggetizer and others say which query they answer, and whose answer it is.
_QUERIES = ("qid", "query_id", "topic_id", "narrative_id", "topic", "id")
_RUNS = ("run_id", "runid", "run")


@dataclass(frozen=True)
class AnswerScores(Shown):
    """Values by query of one or several runs; made by :func:`ranklens.nuggets` and :func:`ranklens.support`.

    A value is NaN where it is not defined and the caller wants such queries left out.
    """

    runs: Mapping[str, Values]
    definitions: Mapping[str, str]  # of each measure
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> dict[str, float]:
        """The mean of each measure; of several runs see :attr:`means`."""
        return self.means[self._run(None)]

    @cached_property
    def means(self) -> dict[str, dict[str, float]]:
        """By run, the mean of each measure."""
        return {
            run: {
                name: float(known.mean()) if len(known := _known(values[name])) else float("nan")
                for name in self.definitions
            }
            for run, values in self.runs.items()
        }

    def interval(self, measure: str, run: str | None = None, *, level: float = 0.95) -> Interval:
        """The interval of a mean, over queries like these."""
        if measure not in self.definitions:
            raise MeasureError(f"There is no measure {measure!r}: {nearest(measure, self.definitions)}")
        known = _known(self.runs[self._run(run)][measure])
        return interval(known, level=level, bounds=_UNIT) if len(known) else Interval(0.0, 1.0, level)

    @property
    def per_query(self) -> pl.DataFrame:
        """One row per run and query, one column per measure."""
        import polars as pl

        return pl.concat(
            [
                pl.DataFrame({"run": [run] * len(values.queries), "query": list(values.queries), **values})
                for run, values in self.runs.items()
            ]
        )

    def compare(
        self, measures: Sequence[str] | None = None, **options: Unpack[ComparisonArguments]
    ) -> Comparison:
        """The runs compared, as :func:`ranklens.compare_scores` does; ``.to_html(path)`` of the result writes the report."""
        from ranklens.comparison.compare import compare_scores

        if len(self.runs) < 2:
            raise InputError("There is one run alone; pass {name: answers} of two or more to compare them.")
        chosen = list(measures or self.definitions)
        tables = {}
        for run, values in self.runs.items():
            known = np.all([np.isfinite(values[name]) for name in chosen], axis=0)
            queries = [query for query, keep in zip(values.queries, known, strict=True) if keep]
            tables[run] = Values(queries, {name: values[name][known] for name in chosen})
        return compare_scores(tables, chosen, **options)

    def table(self) -> Table:
        """Means and intervals."""
        rows = [
            [*([run] if len(self.runs) > 1 else []), name, f"{mean:.4f}", str(self.interval(name, run))]
            for run, found in self.means.items()
            for name, mean in found.items()
        ]
        queries = {len(values.queries) for values in self.runs.values()}
        over = " to ".join(f"{n:,}" for n in sorted({min(queries), max(queries)}))
        notes = [f"Means over {over} {'query' if over == '1' else 'queries'}.", *self.notes]
        notes += [f"{name}: {words}." for name, words in self.definitions.items()]
        head = [*(["run"] if len(self.runs) > 1 else []), "measure", "mean", "95% interval"]
        return Table(head, rows, note="\n".join(notes), left=len(head) - 2)

    def _run(self, run: str | None) -> str:
        if run is None:
            if len(self.runs) > 1:
                raise InputError(
                    f"There are {len(self.runs)} runs ({', '.join(self.runs)}); name one, or use .means."
                )
            return next(iter(self.runs))
        if run not in self.runs:
            raise InputError(f"There is no run {run!r}: {nearest(run, self.runs)}")
        return run


def scores_of(
    by_run: Mapping[str, ByQuery], definitions: Mapping[str, str], notes: Sequence[str] = ()
) -> AnswerScores:
    """From values by run, query and measure."""
    tables = {
        run: Values([*found], {name: np.array([one[name] for one in found.values()]) for name in definitions})
        for run, found in by_run.items()
    }
    return AnswerScores(tables, definitions, tuple(notes))


def records_by_run(given: object, what: str) -> dict[str, dict[str, Record]]:
    """Records of any shape by run and query: a file, a list, ``{query: record}``, or ``{run: one of these}``."""
    if isinstance(given, Mapping):
        first = next(iter(given.values()), None)
        if isinstance(first, (str, list, tuple)) or is_path(first):
            return {str(run): _by_query(_rows(one, what), what) for run, one in given.items()}
        given = [{"qid": query, **record} for query, record in given.items()]
    rows = _rows(given, what)
    name = name_of_file(str(given)) if is_path(given) else "answers"
    runs: dict[str, list[Record]] = {}
    for row in rows:
        runs.setdefault(str(_first(row, _RUNS) or name), []).append(row)
    return {run: _by_query(own, what) for run, own in runs.items()}


def _rows(given: object, what: str) -> list[Record]:
    if not is_path(given) and (isinstance(given, str) or not isinstance(given, Iterable)):
        raise InputError(
            f"{what} is {kind(given)}: pass a JSONL file, a list of records, or {{run: one of these}}."
        )
    rows: list[Record] = [*read_rows(given, what)] if is_path(given) else [*given]  # type: ignore[misc]
    odd = next((row for row in rows if not isinstance(row, Mapping)), None)
    if odd is not None or not rows:
        raise InputError(
            f"{what} holds {kind(odd)}, not a record of a query."
            if rows
            else f"{what} is empty: there is nothing to score."
        )
    return rows


def _by_query(rows: Sequence[Record], what: str) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for place, row in enumerate(rows):
        query = _first(row, _QUERIES)
        if query is None:
            raise InputError(
                f"{what}: record {place + 1} names no query; expected one of {', '.join(_QUERIES)}."
            )
        if str(query) in found:
            raise InputError(
                f"{what}: query {str(query)!r} has two records in one run; give one each.", query=query
            )
        found[str(query)] = row
    return found


def _first(row: Record, names: Sequence[str]) -> Any:
    """The first of these fields that is there, on top or among the metadata (as TREC 2025 has it)."""
    metadata = row.get("metadata")
    places = (row, metadata if isinstance(metadata, Mapping) else {})
    return next((place[name] for place in places for name in names if place.get(name) is not None), None)


def parts_of(record: Record, field: str, query: str, what: str) -> Iterator[Record]:
    """The nuggets or sentences of a record."""
    found = record.get(field)
    if not isinstance(found, (list, tuple)):
        raise InputError(f"{what}: query {query!r} has no list of {field}.", query=query)
    for part in found:
        if not isinstance(part, Mapping):
            raise InputError(
                f"{what}: query {query!r}: {field} holds {kind(part)}, not an object.", query=query
            )
        yield part


def one_of(value: object, allowed: Mapping[str, float], where: str) -> float:
    """The number behind a label, in any spelling."""
    plain = str(value).strip().lower().replace("-", "_").replace(" ", "_")
    if plain not in allowed:
        raise InputError(f"{where}: {value!r} is not a known label: {nearest(plain, allowed)}")
    return allowed[plain]


def _known(values: FloatArray) -> FloatArray:
    return values[np.isfinite(values)]


def unlabelled(count: int, what: str) -> list[str]:
    """What is said of parts without a label."""
    return [f"{counted(count, what)} without a label left out."] if count else []
