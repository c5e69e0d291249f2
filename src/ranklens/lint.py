"""What is wrong with this data: things that change results, or that one should know before trusting them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import RankLensWarning
from ranklens.formulas.counts import judged_share
from ranklens.judging import judge
from ranklens.readers import files, frames, text
from ranklens.readers.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from ranklens.readers.sources import PathLike

CUTOFFS = (1, 5, 10, 20, 100)


@dataclass(frozen=True)
class Finding:
    """One observation; ``matters`` if another tool, or another policy, would give other results because of it."""

    kind: str
    message: str
    matters: bool


def lint(qrels: PathLike, run: PathLike) -> list[Finding]:
    """Look at a file of judgments and a run.

    The checks: repeated documents, ties that reach a cutoff, missing and unjudged queries, queries without relevant
    documents, scores that are not finite, ranks that contradict scores, query ids among document ids, unjudged share.
    """
    gold, ranked = _table(files.read_qrels(qrels), "grade"), _table(files.read_run(run), "score")
    return [*_judgments(gold), *_scores(ranked), *_ranks(run), *_overlap(ranked), *_together(gold, ranked)]


def _table(read: Any, number: str) -> pl.DataFrame:
    """Dicts (from JSON) as a table; tables as they are."""
    import polars as pl

    if not isinstance(read, dict):
        return read  # type: ignore[no-any-return]
    rows = [
        (q, d, x)
        for q, docs in read.items()
        for d, x in (docs.items() if isinstance(docs, dict) else _listed(docs))
    ]
    return pl.DataFrame(rows, schema={"query": pl.String, "doc": pl.String, number: pl.Float64}, orient="row")


def _listed(docs: Sequence[Any]) -> Iterator[tuple[Any, float]]:
    return ((doc, float(-i)) for i, doc in enumerate(docs))


def _repeated(table: pl.DataFrame, what: str) -> Iterator[Finding]:
    rows = table.filter(table.select("query", "doc").is_duplicated())
    if len(rows):
        first = f"{rows['doc'][0]!r} of query {rows['query'][0]!r}"
        yield Finding(
            "duplicates",
            f"{what}: {len(rows):,} rows repeat a document of their query, the first is {first}.",
            matters=True,
        )


def _judgments(gold: pl.DataFrame) -> Iterator[Finding]:
    yield from _repeated(gold, "judgments")
    best = gold.group_by("query", maintain_order=True).max()
    empty = best.filter(best["grade"] < 1)["query"]
    if len(empty):
        yield Finding(
            "no relevant document",
            f"{len(empty):,} queries have none, e.g. {empty[0]!r}; they count as 0.",
            matters=False,
        )


def _scores(ranked: pl.DataFrame) -> Iterator[Finding]:
    yield from _repeated(ranked, "run")
    score = ranked["score"]
    for name, wrong, matters in (("NaN", score.is_nan(), True), ("infinite", score.is_infinite(), False)):
        rows = ranked.filter(wrong)
        if len(rows):
            where = f"document {rows['doc'][0]!r} of query {rows['query'][0]!r}"
            yield Finding("scores", f"{len(rows):,} scores are {name}, the first for {where}.", matters)


def _ranks(run: PathLike) -> Iterator[Finding]:
    """Tools that read the rank column instead of the score see another ranking."""
    import polars as pl

    if files.recognise(run, "run") != "trec":
        return
    wanted = {"query": False, "rank": True, "score": True}
    rows = text.read_fields(open_source(run), text.TREC_RUN, wanted)
    falls = rows.sort("query", "rank", maintain_order=True).with_columns(
        (pl.col("score").diff() > 0).over("query").fill_null(value=False).alias("wrong")
    )
    queries = falls.filter("wrong")["query"].unique(maintain_order=True)
    if len(queries):
        message = f"In {len(queries):,} queries the rank column contradicts the scores, e.g. {queries[0]!r}; scores count."
        yield Finding("ranks", message, matters=True)


def _overlap(ranked: pl.DataFrame) -> Iterator[Finding]:
    rows = ranked.filter(ranked["query"] == ranked["doc"])
    if len(rows):
        message = f"{len(rows):,} queries retrieve a document with their own id, e.g. {rows['query'][0]!r}; BEIR's tools drop these."
        yield Finding("query among documents", message, matters=True)


def _together(gold: pl.DataFrame, ranked: pl.DataFrame) -> Iterator[Finding]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankLensWarning)  # told by the other checks
        judged = judge(frames.qrels_frame(gold), ranked, nan="last")
    if judged.applied.missing:
        yield Finding(
            "missing queries",
            f"{judged.applied.missing:,} judged queries are not in the run; they count as 0.",
            matters=True,
        )
    if judged.applied.ignored:
        yield Finding(
            "unjudged queries",
            f"{judged.applied.ignored:,} queries of the run are not judged; they are ignored.",
            matters=False,
        )
    reached = {k: judged.ties.reaching(k) for k in CUTOFFS} if judged.ties else {}
    told = [f"{k} in {n:,} queries" for k, n in reached.items() if n]
    if told:
        yield Finding(
            "ties",
            f"Ties of judged documents reach the cutoff {', '.join(told)}; --ties average is fair.",
            matters=True,
        )
    shares = [
        (k, 1 - float(np.mean(judged_share(judged, k=k)[judged.retrieved > 0])))
        for k in (10, 100)
        if (judged.retrieved > 0).any()
    ]
    holes = [f"{share:.0%} of the top {k}" for k, share in shares if share > 0]
    if holes:
        yield Finding(
            "holes",
            f"Nobody judged {' and '.join(holes)}; unjudged documents count as not relevant.",
            matters=False,
        )
