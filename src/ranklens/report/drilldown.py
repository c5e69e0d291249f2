"""What the page shows of single queries: the rankings side by side, and the relevant documents that are missing in them.

Nothing is ranked as a whole. The first documents of a ranking are sorted out of a short list, and where a document of one
ranking is in the others is found as :func:`ranklens.judge` finds the judged ones: by counting.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ranklens.data.run import Run
from ranklens.errors import RankLensWarning
from ranklens.judging.assembly import judge
from ranklens.judging.documents import judgments, ranking
from ranklens.judging.prepared import Index, PreparedJudgments
from ranklens.report.chart_data import registered
from ranklens.report.crowd import MANY, in_detail
from ranklens.report.shortlist import shortlist

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from ranklens.arrays import IntArray
    from ranklens.comparison.comparison import Comparison, Evidence
    from ranklens.policy import Policy

HELD = 1 << 22  # rows of all runs together that are kept in memory rather than read from their files twice
MISSED = 50  # relevant documents listed for a query at most, those of the highest grade


@dataclass(frozen=True)
class Drilldown:
    """One row for each query and document to show, sorted by query: ``query, grade, number``.

    ``query`` is the place of the query in the comparison, ``number`` that of the document in ``documents``. The columns of
    a system end in its number: ``rank_0`` (0: not retrieved), and for the first documents ``score_0, tied_0, repeats_0``.
    """

    depth: int
    rel: float
    max_grade: float
    rows: pl.DataFrame
    documents: pl.DataFrame  # doc, relevant (to any query), rank (its best)
    relevant: Sequence[int]  # by query: how many there are
    systems: Sequence[int]  # whose rankings are known
    scored: Sequence[int]  # whose scores say more than the order does

    def parts(self, size: int) -> Iterator[str]:
        """What the page reads, as JSON, ``size`` queries at a time: columns, and where the rows of each query start in them."""
        import polars as pl

        queries, names = self.rows["query"].to_numpy(), ("repeats", "tied")
        marks = {name: _Marks.of(self.rows.select(f"{name}_{s}" for s in self.systems)) for name in names}
        ranks, scores = [f"rank_{s}" for s in self.systems], [f"score_{s}" for s in self.scored]
        shown = pl.col("number", "grade", *ranks, *scores).implode()
        for first in range(0, len(self.relevant), size):
            relevant = list(self.relevant[first : first + size])
            starts = np.searchsorted(queries, np.arange(first, first + len(relevant) + 1))
            here = slice(int(starts[0]), int(starts[-1]))
            marked = {name: column.between(here) for name, column in marks.items()}
            rest = {"starts": (starts - starts[0]).tolist(), "relevant": relevant, **marked}
            columns = self.rows[here].select(shown).write_ndjson()
            yield columns.rstrip("}\n") + "," + json.dumps(rest, separators=(",", ":"))[1:]


class _Marks(NamedTuple):
    """The entries of some columns that are mostly empty: row, place of the column, value; by row."""

    row: IntArray
    column: IntArray
    value: IntArray

    @classmethod
    def of(cls, columns: pl.DataFrame) -> _Marks:
        import polars as pl

        values = columns.select(pl.all().cast(pl.Int64).fill_null(0)).to_numpy()
        row, column = values.nonzero()
        return cls(row, column, values[row, column])

    def between(self, rows: slice) -> list[list[int]]:
        """As ``[column, row, value]``, counting from the first of the rows."""
        here = slice(*np.searchsorted(self.row, [rows.start, rows.stop]).tolist())
        columns = [self.column[here], self.row[here] - rows.start, self.value[here]]
        entries: list[list[int]] = np.stack(columns, axis=1).tolist()
        return entries


def drilldown(comparison: Comparison) -> Drilldown | None:
    """The documents to show for each query; None if the comparison was made from values alone."""
    evidence = comparison.evidence
    if evidence is None:
        return None
    import polars as pl

    # As deep as the measures look, within what people read.
    cutoffs = [m.k for m in map(registered, comparison.measures) if m is not None and m.k is not None]
    depth = min(max([10, *cutoffs]), 20)
    # Averaged ties have no order, so that of trec_eval is shown; what concerns whole queries was decided before.
    ties = "descending" if evidence.policy.ties == "average" else evidence.policy.ties
    policy = replace(
        evidence.policy,
        ties=ties,
        missing="zero",
        empty="zero",
        unjudged_queries="ignore",
        duplicates="first",
    )
    number = pl.DataFrame({"query": comparison.query_ids}, schema={"query": pl.String}).with_row_index(
        "place"
    )
    judged = judgments(evidence.qrels).join(
        number.select("query"), on="query", how="semi", maintain_order="left"
    )
    shown = {name for name in in_detail(comparison) if name in evidence.runs}
    runs = {
        s: _run(evidence, name, number["query"]) for s, name in enumerate(comparison.systems) if name in shown
    }
    gold = judged.join(number, on="query")
    relevant = gold.filter(pl.col("grade") >= policy.rel)
    tops = {}
    for s, run in runs.items():
        repeated = comparison.scores[comparison.systems[s]].applied.duplicates > 0
        # All documents where some repeat or some do not count; else those that can be among the first.
        candidates = run if repeated or policy.judged_only else shortlist(run, depth)
        top = ranking(judged, candidates, policy)
        tops[s] = top.filter(pl.col("rank") <= depth).join(number, on="query", maintain_order="left")
    rows = _joined(_to_show(relevant, list(tops.values())), gold.select("place", "doc", "grade"))
    asked = _asked(rows, gold, comparison.query_ids, policy)
    for (s, top), ranks in zip(tops.items(), _ranks(asked, runs.values(), policy), strict=True):
        rank = pl.Series(f"rank_{s}", ranks[: len(rows)])
        score = pl.col("score").round_sig_figs(6)
        finite = pl.when(score.is_finite()).then(score).alias(f"score_{s}")
        marks = [pl.col(name).alias(f"{name}_{s}") for name in ("tied", "repeats")]
        rows = _joined(rows.with_columns(rank), top.select("place", "doc", finite, *marks))
    rows, documents = _numbered(rows, list(tops), policy.rel)
    counts = dict(relevant.group_by("place").len().iter_rows())
    return Drilldown(
        depth,
        policy.rel,
        float(gold["grade"].max() or 0),  # type: ignore[arg-type]
        rows,
        documents,
        [counts.get(i, 0) for i in range(len(comparison.query_ids))],
        list(tops),
        [s for s, top in tops.items() if not _only_order(top, is_thinned=policy.judged_only)],
    )


def _run(evidence: Evidence, system: str, queries: pl.Series) -> Run:
    """The rankings of these queries, to be read twice: dicts, a table, or, if it is too large to hold, a stream of tables."""
    import polars as pl

    run = evidence.run(system)
    if run.stream is not None:
        tables, rows = [], 0
        for table in run.stream:
            rows += len(table)
            if rows > HELD // min(len(evidence.runs), MANY):
                break
            tables.append(table)
        else:
            run = Run(pl.concat(tables))
    is_short = run.by_query is not None and len(run.by_query) <= 2 * len(queries)
    return run if is_short else run.only({*queries.to_list()})


def _to_show(relevant: pl.DataFrame, tops: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Every ``place, doc`` once, sorted by place: the relevant documents of the highest grades, and all that are ranked first."""
    import polars as pl

    listed = relevant.sort("place", "grade", descending=[False, True], maintain_order=True)
    parts = [listed.group_by("place", maintain_order=True).head(MISSED), *tops]
    rows = pl.concat(part.select("place", "doc") for part in parts)
    return rows.sort("place", maintain_order=True).unique(maintain_order=True)


def _joined(rows: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    return rows.join(others, on=["place", "doc"], how="left", maintain_order="left")


def _asked(
    rows: pl.DataFrame, gold: pl.DataFrame, ids: Sequence[str], policy: Policy
) -> dict[str, dict[str, int]]:
    """``{query: {document: row}}``. Texts that are used together lie together in memory, which is faster."""
    import polars as pl

    asked = rows.select("place", "doc")
    if policy.judged_only:  # then ranks count the judged documents, so all of them are needed
        others = gold.filter(pl.col("grade") >= 0).select("place", "doc")
        asked = pl.concat([asked, others]).unique(maintain_order=True)
    asked = asked.with_row_index("row").sort("place", "row", descending=[False, True])
    docs, numbers = asked["doc"].to_list(), asked["row"].to_list()
    edges = np.searchsorted(asked["place"].to_numpy(), np.arange(len(ids) + 1)).tolist()
    return {
        query: dict(zip(docs[start:end], numbers[start:end], strict=True))
        for query, start, end in zip(ids, edges, edges[1:], strict=False)
    }


def _ranks(asked: Mapping[str, Mapping[str, int]], runs: Iterable[Run], policy: Policy) -> list[IntArray]:
    """By run, the rank of every row, 0 where it was not retrieved."""
    rows = PreparedJudgments(Index(asked, copies=False))
    size = sum(map(len, asked.values()))

    def ranked(run: Run) -> IntArray:
        """Ranks are found as for measures; the "grade" is the row."""
        judged = judge(rows, run, policy)
        ranks = np.zeros(size, np.int64)
        for hits in filter(None, (judged.hits, judged.further)):
            ranks[hits.grade.astype(np.int64)] = hits.rank
        return ranks

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankLensWarning)  # evaluation has reported them
        return list(map(ranked, runs))


def _numbered(rows: pl.DataFrame, systems: Sequence[int], rel: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows by query and best rank, with the number of their document; and the documents in the order of the rows."""
    import polars as pl

    ranks = [pl.when(pl.col(f"rank_{s}") > 0).then(f"rank_{s}") for s in systems]
    rows = rows.with_columns(rank=pl.min_horizontal(pl.lit(1 << 60), *ranks))
    rows = rows.sort("place", "rank", maintain_order=True)
    documents = rows.group_by("doc", maintain_order=True).agg(
        (pl.col("grade") >= rel).any().fill_null(value=False).alias("relevant"), pl.min("rank")
    )
    number = documents.select("doc").with_row_index("number")
    rows = rows.join(number, on="doc", maintain_order="left").drop("doc", "rank")
    return rows.rename({"place": "query"}), documents


def _only_order(top: pl.DataFrame, *, is_thinned: bool) -> bool:
    """A plain list, or a file of ranks, has scores that were made from the order: 0 or -1, and lower by 1 at each place.

    Repeated documents leave gaps behind; where rankings are thinned, even the first may be gone.
    """
    import polars as pl

    score, before = pl.col("score"), pl.col("score").shift().over("place")
    if not top.select(((score == score.floor()) & (score <= 0)).all()).item():
        return False
    falls = before.is_null() | (score < before)
    starts = pl.lit(is_thinned) | (pl.col("rank") > 1) | (score >= -1)
    return bool(top.sort("place", "rank").select((falls & starts).all()).item())
