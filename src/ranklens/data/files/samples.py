"""Judgments of sampled pools, in the two shapes that TREC has for them: lines of five fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranklens.data.files import trec
from ranklens.data.readers.judgments import Judgments
from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from ranklens.data.files.sources import Source

FIELDS = 5
ITERATIONS = ("0", "Q0")  # what the second field holds where it is not the document
_STRATA = ("query", "iteration", "doc", "stratum", "grade")
_PRELS = ("query", "doc", "grade", "method", "probability")
_CERTAIN = ("0", "2")  # methods of prels that chose a document in any case
_UNKNOWN = "NA"


def read_strata(source: Source) -> Judgments:
    """Lines ``query 0 document stratum grade``; grade -1 is a pooled document that was not sampled."""
    wanted = {"query": False, "doc": False, "stratum": False, "grade": True}
    rows = trec.read_fields(source, _STRATA, wanted)
    _refuse_repeated(source, rows)
    wrong = rows.filter(rows["grade"] != rows["grade"].floor())
    if len(wrong):
        query, doc, grade = wrong.select("query", "doc", "grade").row(0)
        raise InputError(
            f"{source.name}: query {query}, document {doc}: the grade is {grade:g}, not a whole number. Five fields with 0 in the second "
            f"are read as {', '.join(_STRATA)}; to read grades alone, keep {', '.join(trec.TREC_QRELS)}.",
            path=source.name,
            query=query,
            document=doc,
        )
    return Judgments(_by_query(rows, "grade"), strata=_by_query(rows, "stratum"))


def read_prels(source: Source) -> Judgments:
    """Lines ``query document grade method probability``, as TREC's Million Query and Web tracks have them.

    Methods 0 and 2 chose a document in any case, so its probability is 1. Where the probability is NA, the grade is read but the
    document is not part of the sample.
    """
    import polars as pl

    wanted = {"query": False, "doc": False, "grade": True, "method": False, "probability": False}
    rows = trec.read_fields(source, _PRELS, wanted)
    _refuse_repeated(source, rows)
    certain = pl.col("method").is_in(_CERTAIN)
    number = pl.when(certain).then(1.0).otherwise(pl.col("probability").cast(pl.Float64, strict=False))
    rows = rows.with_columns(number.alias("chance"))
    drawn = rows.filter(certain | (pl.col("probability") != _UNKNOWN))
    wrong = drawn.filter(~pl.col("chance").is_between(0, 1, closed="right").fill_null(value=False))
    if len(wrong):
        query, doc, given = wrong.select("query", "doc", "probability").row(0)
        raise InputError(
            f"{source.name}: query {query}, document {doc}: the probability is {given}; it must be above 0 and at most 1, or {_UNKNOWN}. "
            f"Five fields are read as {', '.join(_PRELS)}, or as {', '.join(_STRATA)} where the second one is 0.",
            path=source.name,
            query=query,
            document=doc,
        )
    return Judgments(_by_query(rows, "grade"), probabilities=_by_query(drawn, "chance"))


def _by_query(rows: pl.DataFrame, name: str) -> dict[str, dict[str, Any]]:
    by_query: dict[str, dict[str, Any]] = {}
    for query, doc, value in rows.select("query", "doc", name).iter_rows():
        by_query.setdefault(query, {})[doc] = value
    return by_query


def _refuse_repeated(source: Source, rows: pl.DataFrame) -> None:
    again = rows.filter(rows.select("query", "doc").is_duplicated())
    if len(again):
        query, doc = again.select("query", "doc").row(0)
        raise InputError(
            f"{source.name}: query {query} has document {doc} twice; a sampled pool contains each document once.",
            path=source.name,
            query=query,
            document=doc,
        )
