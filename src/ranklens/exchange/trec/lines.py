"""Values → the lines that trec_eval prints: its order, its formatting, its averages, its z-scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ranklens.data.files import trec
from ranklens.data.files.sources import open_source
from ranklens.scores import logs_with_floor

ZScores = Mapping[tuple[str, str], tuple[float, float]]

_MISSING_ZSCORE = -1000000.0


@dataclass(frozen=True)
class Column:
    """The values of one line over all queries, and how they are summed up: a mean unless ``total`` says otherwise."""

    name: str
    values: Sequence[float | str]  # in the order of the queries; texts of relstring
    whole: bool = False  # printed as a whole number
    by_query: bool = True
    summary: bool = True
    total: Callable[[Sequence[float]], float] | None = None


def added(values: Sequence[float]) -> float:
    """The sum, one value after the other as trec_eval adds.

    >>> added([0.1, 0.2, 0.3])
    0.6000000000000001
    """
    total = 0.0
    for value in values:
        total += float(value)
    return total


def geometric_mean(values: Sequence[float], missing: int = 0) -> float:
    """With a floor for values near 0, which ``missing`` further queries have."""
    logs = logs_with_floor(np.array([*values, *[0.0] * missing]))
    return math.exp(added(logs.tolist()) / len(logs))


def lines(
    queries: Sequence[str],
    columns: Sequence[Column],
    *,
    count: int,
    runid: str | None = None,
    by_query: bool = False,
    summary: bool = True,
    zscores: ZScores | None = None,
) -> Iterator[str]:
    """The output of trec_eval; ``count`` queries are averaged over."""
    z = "" if zscores is None else "Z"
    if zscores is not None:
        columns = [replace(column, values=_standardised(column, queries, zscores)) for column in columns]
    if by_query:
        for i, query in enumerate(queries):
            for column in columns:
                if column.by_query:
                    yield _line(z, column, query, column.values[i])
    if summary:
        if runid is not None:
            yield f"{'runid':<22}\tall\t{runid}\n"
        for column in columns:
            if column.summary:
                total = column.total or (lambda values: added(values) / count)
                numbers = [value for value in column.values if not isinstance(value, str)]
                yield _line(z, column, "all", total(numbers))


def _line(z: str, column: Column, query: str, value: float | str) -> str:
    if isinstance(value, str):  # relstring, which has no z-score
        return f"{column.name:<22}\t{query}\t'{value}'\n"
    if math.isnan(value):
        shown = f"{'nan' if math.copysign(1, value) > 0 else '-nan':>6}"
    else:
        shown = f"{value:.0f}" if column.whole and not z else f"{value:6.4f}"
    return f"{z}{column.name:<22}\t{query}\t{shown}\n"


def read_zscores(path: str) -> ZScores:
    """Means and deviations of other runs, by query and line."""
    names = ("query", "measure", "mean", "deviation")
    wanted = {"query": False, "measure": False, "mean": True, "deviation": True}
    rows = trec.read_fields(open_source(path), names, wanted).iter_rows()
    return {(query, name): (mean, deviation) for query, name, mean, deviation in rows}


def _standardised(column: Column, queries: Sequence[str], zscores: ZScores) -> list[float | str]:
    """The values as z-scores; texts stay."""
    scores: list[float | str] = []
    for query, value in zip(queries, column.values, strict=True):
        mean, deviation = zscores.get((query, column.name), (math.nan, 0.0))
        if isinstance(value, str):
            scores.append(value)
        elif deviation:
            scores.append((float(value) - mean) / deviation)
        else:
            scores.append(0.0 if value == mean else _MISSING_ZSCORE)
    return scores
