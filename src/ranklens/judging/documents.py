"""Whole rankings, document by document, for people to look at.

Measures need the judged documents alone (:func:`ranklens.judge`). Where single documents are shown, side by side or step
by step, this is the table they are read from, in the order and with the ties that :func:`ranklens.judge` gives them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ranklens.errors import Option, PolicyError
from ranklens.files.collection import read_pair
from ranklens.policy import Policy, make_policy
from ranklens.readers import frames, mappings

if TYPE_CHECKING:
    import polars as pl


def ranking(
    qrels: Any,
    run: Any,
    policy: Policy | None = None,
    *,
    queries: Collection[str] | None = None,
    columns: Mapping[str, str] | None = None,
    **options: Any,
) -> pl.DataFrame:
    """The ranked documents of judged queries: ``query, rank, doc, score, grade, tied, repeats``.

    ``grade`` is null for a document that nobody judged, ``tied`` tells that another document has the same score, and
    ``repeats`` how often the document came again further down (those rows are dropped, as for measures). ``queries``
    chooses queries, also some without judgments, the policy's ``depth`` the first ranks. Averaged ties are shown in the order
    of trec_eval.

    >>> ranking({"q": {"a": 2, "b": 1}}, {"q": ["x", "a", "x"]}).select("rank", "doc", "grade", "repeats").rows()
    [(1, 'x', None, 1), (2, 'a', 2.0, 0)]
    """
    import polars as pl

    policy = make_policy(policy, options)
    qrels, run = read_pair(qrels, run)
    gold = judgments(qrels, columns=columns)
    wanted = gold["query"].unique(maintain_order=True)
    if queries is not None:
        asked = pl.Series(list(queries), dtype=pl.String)
        wanted = pl.concat([wanted, asked]).unique(maintain_order=True)
        wanted = wanted.filter(wanted.is_in(asked.implode()))
    rows = _run_rows(run, wanted, columns).with_row_index("row")
    number = pl.DataFrame({"query": wanted, "number": range(len(wanted))})
    rows = rows.join(number, on="query").sort(_order(policy), descending=_descending(policy), nulls_last=True)
    rows = rows.with_columns((pl.len().over("query", "doc") - 1).alias("repeats"))
    rows = rows.unique(["query", "doc"], keep="first", maintain_order=True)
    _refuse_what_the_policy_forbids(rows, policy)
    rows = rows.join(gold, on=["query", "doc"], how="left", maintain_order="left")
    rank = pl.int_range(1, pl.len() + 1).over("query").alias("rank")
    rows = rows.with_columns((pl.len().over("query", "score") > 1).alias("tied"), rank)
    if policy.depth is not None:
        rows = rows.filter(pl.col("rank") <= policy.depth)
    if policy.judged_only:
        rows = rows.filter(pl.col("grade") >= 0).with_columns(rank)
    return rows.select("query", "rank", "doc", "score", "grade", "tied", "repeats")


def judgments(qrels: Any, *, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Judgments of any shape as a table ``query, doc, grade``; of a repeated document the highest grade.

    >>> judgments({"q": {"a"}}).rows()
    [('q', 'a', 1.0)]
    """
    import polars as pl

    if isinstance(qrels, Mapping):
        rows = _rows(mappings.judgments(qrels).by_query)
        table = pl.DataFrame(
            rows, schema={"query": pl.String, "doc": pl.String, "grade": pl.Float64}, orient="row"
        )
    else:
        table = frames.qrels_frame(qrels, columns)
    best = table.sort("grade", descending=True, maintain_order=True)
    first = table.select("query").with_row_index("number").unique("query", keep="first")
    kept = best.unique(["query", "doc"], keep="first", maintain_order=True).join(first, on="query")
    return kept.sort("number", maintain_order=True).drop("number")


def _rows(by_query: mappings.ByQuery) -> list[tuple[str, str, float]]:
    return [
        (str(query), str(doc), float(number))
        for query, docs in by_query.items()
        for doc, number in docs.items()
    ]


def _run_rows(run: Any, wanted: pl.Series, columns: Mapping[str, str] | None) -> pl.DataFrame:
    """The rows ``query, doc, score`` of the wanted queries, repeated documents included."""
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
    if isinstance(run, Mapping):
        kept = set(wanted.to_list())
        queries: list[str] = []
        documents: list[str] = []
        scores: list[float] = []
        for query, docs in run.items():
            if str(query) in kept:
                names, numbers = _listed(query, docs)
                queries += [str(query)] * len(names)
                documents += names
                scores += numbers
        return pl.DataFrame({"query": queries, "doc": documents, "score": scores}, schema=schema)
    tables = run if hasattr(run, "tables") else [frames.run_frame(run, columns)]
    parts = [table.filter(pl.col("query").is_in(wanted.implode())).select(list(schema)) for table in tables]
    return pl.concat([pl.DataFrame(schema=schema), *parts])


def _listed(query: Any, docs: Any) -> tuple[list[str], list[float]]:
    """One ranking of any shape with its repeated documents, which :mod:`ranklens.readers.mappings` drops."""
    mappings.rankings({query: docs})  # refuses what is no ranking
    if isinstance(docs, Mapping):
        return [str(doc) for doc in docs], [float(score) for score in docs.values()]
    items = docs.tolist() if hasattr(docs, "tolist") else list(docs)
    if items and isinstance(items[0], (tuple, list)):
        return [str(doc) for doc, _ in items], [float(score) for _, score in items]
    return [str(doc) for doc in items], [-float(i) for i in range(len(items))]


def _order(policy: Policy) -> list[pl.Expr]:
    import polars as pl

    score = pl.when(pl.col("score").is_nan()).then(None).otherwise(pl.col("score"))
    last = pl.col("row") if policy.ties == "input" else pl.col("doc")
    return [pl.col("number"), score, last, pl.col("row")]


def _descending(policy: Policy) -> list[bool]:
    return [False, True, policy.ties in ("descending", "average"), False]


def _refuse_what_the_policy_forbids(rows: pl.DataFrame, policy: Policy) -> None:
    repeated = rows.filter(rows["repeats"] > 0)
    if len(repeated) and policy.duplicates == "error":
        first = repeated.row(0, named=True)
        raise PolicyError(
            f"run: document {first['doc']!r} of query {first['query']!r} is there twice. Remove it, or choose ",
            Option("duplicates", "first"),
            ".",
            query=first["query"],
            document=first["doc"],
        )
    wrong = rows.filter(rows["score"].is_nan())
    if len(wrong) and policy.nan == "error":
        first = wrong.row(0, named=True)
        raise PolicyError(
            f"run: the score of document {first['doc']!r} for query {first['query']!r} is not a number. "
            "Remove it, or choose ",
            Option("nan", "last"),
            ".",
            query=first["query"],
            document=first["doc"],
        )
