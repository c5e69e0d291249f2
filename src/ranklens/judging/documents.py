"""Whole rankings, document by document, for people to look at.

Measures need the judged documents alone (:func:`ranklens.judge`). Where single documents are shown, side by side or step
by step, this is the table they are read from, in the order and with the ties that :func:`ranklens.judge` gives them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ranklens.data.qrels import Id, read_qrels
from ranklens.data.readers import mappings
from ranklens.data.readers.names import Names
from ranklens.data.run import Run, read_run
from ranklens.judging.order import (
    best_of_each,
    nan_last,
    not_a_number,
    refuse_duplicates,
    tie_key,
)
from ranklens.policy import Policy, make_policy

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.policy import PolicyOptions


def ranking(
    qrels: object,
    run: object,
    policy: Policy | None = None,
    *,
    queries: Collection[str] | None = None,
    columns: Mapping[str, str] | None = None,
    **options: Unpack[PolicyOptions],
) -> pl.DataFrame:
    """The ranked documents of judged queries: ``query, rank, doc, score, grade, tied, repeats``.

    ``grade`` is null for an unjudged document, ``tied`` says that another document has the same score, and
    ``repeats`` how often the document came again (those rows are dropped, as for measures). ``queries`` chooses queries,
    judged or not; the policy's ``depth`` cuts the rankings. Averaged ties are shown in trec_eval's order.

    >>> ranking({"q": {"a": 2, "b": 1}}, {"q": ["x", "a", "x"]}).select("rank", "doc", "grade", "repeats").rows()
    [(1, 'x', None, 1), (2, 'a', 2.0, 0)]
    """
    import polars as pl

    policy = make_policy(policy, options)
    names = Names.of(columns)
    read = read_qrels(qrels, names)
    gold = judgments(read)
    wanted = gold["query"].unique(maintain_order=True)
    if queries is not None:  # in the order of the judgments, then those without any
        asked = pl.Series(list(queries), dtype=pl.String)
        every = pl.concat([wanted, asked]).unique(maintain_order=True)
        wanted = every.filter(every.is_in(asked.implode()))
    rows = _run_rows(read_run(run, read, names), wanted).with_row_index("row")
    number = pl.DataFrame({"query": wanted, "number": range(len(wanted))})
    by, descending = tie_key(policy.ties)
    rows = _once_each(rows, policy).join(number, on="query")
    rows = rows.sort("number", "place", by, descending=[False, True, descending])
    rows = rows.with_columns((pl.len().over("query", "place") > 1).alias("tied"), _rank())
    rows = rows.join(gold, on=["query", "doc"], how="left", maintain_order="left")
    if policy.depth is not None:
        rows = rows.filter(pl.col("rank") <= policy.depth)
    if policy.judged_only:
        rows = rows.filter(pl.col("grade") >= 0).with_columns(_rank())
    return rows.select("query", "rank", "doc", "score", "grade", "tied", "repeats")


def with_further(rows: pl.DataFrame, run: Run, gold: pl.DataFrame) -> pl.DataFrame:
    """The rows of :func:`ranking`, and below each item one for every further passage that it holds, at the same rank."""
    import polars as pl

    if not run.further:
        return rows
    held = [
        (query, doc, passage)
        for query in run.further
        for doc, passages in run.held(query).items()
        for passage in passages
    ]
    further = pl.DataFrame(held, schema=dict.fromkeys(("query", "doc", "passage"), pl.String), orient="row")
    numbered = rows.with_row_index("row")
    others = numbered.join(further, on=["query", "doc"]).drop("doc", "grade").rename({"passage": "doc"})
    others = others.join(gold.select("query", "doc", "grade"), on=["query", "doc"], how="left")
    both = pl.concat([numbered, others.select(numbered.columns)])
    return both.sort("row", maintain_order=True).drop("row")


def judgments(qrels: object, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Judgments of any shape as a table ``query, doc, grade``; of a repeated document the highest grade.

    >>> judgments({"q": {"a"}}).rows()
    [('q', 'a', 1.0)]
    """
    import polars as pl

    judged = read_qrels(qrels, Names.of(columns)).judged
    if isinstance(judged, Mapping):
        by_query = mappings.judgments(judged).by_query
        rows = [
            (str(q), str(doc), float(grade)) for q, docs in by_query.items() for doc, grade in docs.items()
        ]
        schema = {"query": pl.String, "doc": pl.String, "grade": pl.Float64}
        table = pl.DataFrame(rows, schema=schema, orient="row")
    else:
        table = judged
    first = table.select("query").with_row_index("number").unique("query", keep="first")
    best = best_of_each(table, ["query", "doc"], "grade").join(first, on="query", maintain_order="left")
    return best.sort("number", maintain_order=True).drop("number")


def _run_rows(run: Run, wanted: pl.Series) -> pl.DataFrame:
    """The rows ``query, doc, score`` of the wanted queries, repeated documents included."""
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
    if run.by_query is not None:
        chosen = set(wanted.to_list())
        queries: list[str] = []
        documents: list[str] = []
        scores: list[float] = []
        for query, docs in run.by_query.items():
            if str(query) in chosen:
                names, numbers = _listed(query, docs)
                queries += [str(query)] * len(names)
                documents += names
                scores += numbers
        return pl.DataFrame({"query": queries, "doc": documents, "score": scores}, schema=schema)
    some = pl.col("query").is_in(wanted.implode())
    parts = [table.filter(some).select(list(schema)) for table in run.tables]
    return pl.concat([pl.DataFrame(schema=schema), *parts])


def _listed(query: Id, docs: Any) -> tuple[list[str], list[float]]:
    """One ranking of any shape with its repeated documents, which :mod:`ranklens.data.readers.mappings` drops."""
    docs = list(docs) if isinstance(docs, Iterator) else docs
    mappings.rankings({query: docs})  # refuses what is not a ranking
    if isinstance(docs, Mapping):
        return [str(doc) for doc in docs], [_score(query, doc, score) for doc, score in docs.items()]
    items = mappings.as_list(docs)
    if items and isinstance(items[0], (tuple, list)):
        return [str(doc) for doc, _ in items], [_score(query, doc, score) for doc, score in items]
    return [str(doc) for doc in items], [-float(i) for i in range(len(items))]


def _score(query: Id, doc: Id, given: object) -> float:
    score = mappings.as_number(given)
    if score is None:
        raise not_a_number("run", "score", query, doc, given)
    return score


def _once_each(rows: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Each document once, with its ``place`` to rank by (the score, or the substitute for NaN) and its ``repeats``."""
    import polars as pl

    repeats = (pl.len().over("query", "doc") - 1).alias("repeats")
    rows = rows.with_columns(repeats, pl.Series("place", nan_last(rows["score"].to_numpy())))
    repeated = rows.filter(pl.col("repeats") > 0)
    if len(repeated):
        refuse_duplicates("run", mappings.Place(repeated["doc"][0], repeated["query"][0]), policy)
        rows = best_of_each(rows, ["query", "doc"], "place")
    wrong = rows.filter(pl.col("score").is_nan()).sort("row")
    if len(wrong) and policy.nan == "error":
        raise not_a_number("run", "score", wrong["query"][0], wrong["doc"][0], wrong["score"][0])
    return rows


def _rank() -> pl.Expr:
    import polars as pl

    return pl.int_range(1, pl.len() + 1).over("query").alias("rank")
