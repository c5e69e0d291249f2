"""Which rows are judged where, from what size on, and what all ways have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from ranklens.data.readers import frames
from ranklens.errors import InputError
from ranklens.spark.collecting import collected
from ranklens.spark.columns import ROW
from ranklens.spark.facts import Facts, sum_of
from ranklens.spark.gold import InDicts, TableOrDicts
from ranklens.spark.scores import Kept, SparkScores
from ranklens.spark.tasks import CHANGING, Judging
from ranklens.words import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ranklens.spark.driver import Here


@dataclass(frozen=True)
class Plan:
    """From what size on something is done in another way; benchmarks/spark.py measures what is cheaper."""

    carried: int = 1_000_000  # judgments that travel with every task; more are shuffled next to the run
    in_place: bool = True  # judge queries whose rows are together where they are
    few: int = 100_000  # queries whose rows are picked out to be shuffled; if there are more, all rows are
    handed: int = 1_000_000  # rows of a small run, and of spread queries, that come to the driver
    longest: int = 2_000_000  # rows of a query that a task holds; of longer ones they are counted in place


USUAL = Plan()


def scores_of(
    parts: Sequence[DataFrame],
    judging: Judging,
    known: Facts,
    *,
    here: Here | None = None,
    judged: int | None = None,
) -> SparkScores:
    """Run everything, once: values stay where they are, facts come here; so do the rows that ``here`` judges."""
    import polars as pl

    source = reduce(lambda one, other: one.unionByName(other), parts).persist()
    try:
        texts = collected(source.filter("facts is not null").select("facts"))["facts"].to_list()
        facts, values = sum_of([known, *map(Facts.from_json, texts)]), None
        if facts.rows and here is not None and not facts.errors:  # after an error, rows may be lacking
            rows, facts.rows = pl.concat(facts.tables()), []
            values, more = here.judge(rows)
            facts += more
        return finished(judging, facts, Kept(source.sparkSession, judging.columns, source, values), judged)
    except BaseException:
        source.unpersist()
        raise


def finished(judging: Judging, facts: Facts, kept: Kept, judged: int | None = None) -> SparkScores:
    """Scores, if there is nothing to complain about; ``judged`` queries must have been met, where their number is known."""
    met = facts.counts["judged queries"]
    if judged is not None and met < judged and not facts.errors:
        gone = counted(judged - met, "query", "queries")
        raise InputError(f"run: the rows of {gone} are gone since they were counted: {CHANGING}")
    facts.complain(judging.policy)
    return SparkScores.of(judging.measures, kept, facts, judging.policy, judging.max_grade)


def sorted_by_query(rows: DataFrame, tasks: int) -> DataFrame:
    """Rows of the same query next to each other, in their order where that decides ties."""
    order = [ROW] if ROW in rows.columns else []
    return rows.repartition(tasks, "query").sortWithinPartitions("query", *order)


def only(run: DataFrame, queries: Sequence[str], how: str = "left_semi") -> DataFrame:
    """The rows of some queries, which each machine looks up; or of all others, with ``left_anti``."""
    from pyspark.sql import functions as F  # noqa: N812

    wanted = run.sparkSession.createDataFrame([(query,) for query in queries], "query string")
    return run.join(F.broadcast(wanted), "query", how)


def by_query_id(judgments: TableOrDicts) -> InDicts:
    """Judgments, of which a table becomes dicts."""
    return judgments if isinstance(judgments, Mapping) else frames.by_query(judgments)
