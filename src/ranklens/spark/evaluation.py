"""A run on a cluster and judgments → :class:`~ranklens.spark.scores.SparkScores`: which rows are judged where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import InputError, MissingExtraError, hearing
from ranklens.files.collection import read_judgments
from ranklens.judging.assembly import judge
from ranklens.judging.judged import Applied
from ranklens.judging.prepared import index_of
from ranklens.policy import Policy
from ranklens.readers import frames
from ranklens.readers.judgment_tables import of_table
from ranklens.readers.judgments import Judgments
from ranklens.readers.names import Names
from ranklens.spark.collecting import collected
from ranklens.spark.columns import ROW, gold_rows, has_lists, run_rows
from ranklens.spark.counting import judge_counted
from ranklens.spark.facts import Facts, sum_of
from ranklens.spark.gold import Packed
from ranklens.spark.placement import placement, tasks_for
from ranklens.spark.scores import SparkScores
from ranklens.spark.tasks import (
    CHANGING,
    SPREAD,
    JudgeAbsent,
    JudgeRows,
    JudgeTogether,
    Judging,
    check_counts,
    empty_lists_apart,
)
from ranklens.words import counted

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame

    from ranklens.matching.rules import Matching
    from ranklens.registry import Measure
    from ranklens.spark.gold import Carried


@dataclass(frozen=True)
class Plan:
    """From what size on something is done in another way; benchmarks/spark.py measures what is cheaper."""

    carried: int = 1_000_000  # judgments that travel with every task; more are shuffled next to the run
    in_place: bool = True  # judge queries whose rows are together where they are
    handed: int = 1_000_000  # rows of the other queries that come to the driver; more are shuffled
    few: int = 100_000  # queries whose rows are picked out to be shuffled; if there are more, all rows are
    longest: int = (
        2_000_000  # rows of a query that one task holds; those of longer ones are counted where they are
    )


USUAL = Plan()


def evaluate(
    qrels: Any,
    run: Any,
    measures: Sequence[Measure],
    policy: Policy,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
    plan: Plan = USUAL,
) -> SparkScores:
    """Score a Spark DataFrame; ``qrels`` is one, too, or anything else that judgments can be."""
    _require_arrow()
    if not frames.is_spark(run):
        raise InputError(
            "The judgments are a Spark DataFrame, but the run is not. Pass both as DataFrames, or collect the judgments: qrels.toPandas()."
        )
    rows = run_rows(run, columns, keep_order=policy.ties == "input")
    gold = gold_rows(qrels, columns) if frames.is_spark(qrels) else None
    if gold is None:
        given = _local(qrels, columns)
    else:
        first = _first(gold, plan.carried + 1)
        if len(first) > plan.carried:
            return _together(gold, rows, measures, policy, match, (qrels, run), plan)
        given = _few(first)
    return _carried(given, rows, measures, policy, match, has_lists(run), plan)


def _scores(
    parts: Sequence[DataFrame], judging: Judging, known: Facts, here: _Here | None = None
) -> SparkScores:
    """Run everything, once: values stay where they are, facts come here."""
    source = reduce(lambda one, other: one.unionByName(other), parts).persist()
    texts = collected(source.filter("facts is not null").select("facts"))["facts"].to_list()
    facts = sum_of([known, *map(Facts.from_json, texts)])
    values = source
    if facts.rows and here is not None:
        rows, more = here.judge(facts.tables())
        facts += more
        if rows:
            values = source.unionByName(source.sparkSession.createDataFrame(rows, judging.schema))
    if here is not None and not facts.errors and facts.counts["judged queries"] < here.judged:
        gone = counted(here.judged - facts.counts["judged queries"], "query")
        raise InputError(f"run: all rows of {gone} are gone since they were counted: {CHANGING}")
    facts.complain(judging.policy)
    return SparkScores.of(judging.measures, source, values, facts, judging.policy, judging.max_grade)


@dataclass(frozen=True)
class _Here:
    """Judges on the driver the few rows of queries that are spread, which tasks hand over."""

    task: JudgeRows
    spread: pl.DataFrame  # query, and how many rows it has
    judged: int  # queries, here or anywhere

    def judge(self, tables: Sequence[pl.DataFrame]) -> tuple[list[tuple[Any, ...]], Facts]:
        """Rows of values, in the shape of those that tasks give back; and facts."""
        import polars as pl
        import pyarrow as pa

        rows = pl.concat(tables)
        rows = rows.sort("query", *([ROW] if ROW in rows.columns else []))
        runs = rows["query"].rle().struct.unnest()
        expected = runs.join(
            self.spread, left_on="value", right_on="query", how="left", maintain_order="left"
        )
        check_counts(runs, expected["rows"].to_numpy())
        batches = self.task(rows.to_arrow().to_batches())
        found = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches)))
        values = found.filter(pl.col("query").is_not_null())
        return values.rows(), sum_of(map(Facts.from_json, found["facts"].drop_nulls()))


def _carried(
    judgments: Any,
    run: DataFrame,
    measures: Sequence[Measure],
    policy: Policy,
    match: Matching | None,
    lists: bool,
    plan: Plan,
) -> SparkScores:
    """Judgments travel with the tasks; rows are judged in place as far as possible."""
    import polars as pl

    judging = Judging(tuple(measures), policy, _highest_grade(judgments), match)
    gold = Packed.of(judgments)
    where = placement(run, gold)
    is_long = pl.col("rows") > plan.longest
    whole = where.judged.filter(~is_long & pl.col("together"))
    rest = where.judged.filter(~is_long & ~pl.col("together"))
    long = where.judged.filter(is_long)
    in_place = plan.in_place and len(rest) <= plan.few and whole["rows"].sum() >= rest["rows"].sum()
    handed = rest if in_place and rest["rows"].sum() <= plan.handed else rest.clear()
    parts = []
    if len(long):
        names, of_long = long["query"].to_list(), _by_query_id(gold.judgments.some(long["query"])[0])
        parts.append(judge_counted(_only(run, names), of_long, judging, tasks_for(int(long["rows"].sum()))))
        run = _only(run, names, "left_anti")
    if in_place and len(whole):
        expected = _expected(gold.judgments, whole, handed)
        parts.append(run.mapInArrow(JudgeRows(judging, gold, expected, lists), judging.schema))
    shuffled = pl.concat([rest.clear() if len(handed) else rest, whole.clear() if in_place else whole])
    if len(shuffled):
        # Rows of other queries stay where they are, unless it takes longer to tell them apart.
        worth_it = len(shuffled) <= plan.few and (in_place or where.unjudged > 0)
        rows = _only(run, shuffled["query"].to_list()) if worth_it else run
        together = _sorted(rows, tasks_for(int(shuffled["rows"].sum())))
        parts.append(together.mapInArrow(JudgeRows(judging, gold, None, lists), judging.schema))
    present = {*where.judged["query"].to_list()}
    absent = pl.DataFrame(
        {"query": [name for name in gold.judgments.names() if name not in present]},
        schema={"query": pl.String},
    )
    if len(absent):
        numbers = run.sparkSession.range(0, len(absent), 1, len(absent) // 50_000 + 1)
        parts.append(numbers.mapInArrow(JudgeAbsent(judging, gold, Packed.of(absent)), judging.schema))
    if not parts:  # nothing is judged
        parts.append(run.limit(0).mapInArrow(JudgeRows(judging, gold, None, lists), judging.schema))
    first = {} if where.first_unjudged is None else {"unjudged query": where.first_unjudged}
    known = Facts(Applied(ignored=where.unjudged), first=first)
    return _scores(
        parts,
        judging,
        known,
        _Here(JudgeRows(judging, gold, None, lists), handed, len(gold.judgments.names())),
    )


def _expected(judgments: Carried, whole: pl.DataFrame, handed: pl.DataFrame) -> Packed:
    """How many rows each judged query has where it is judged in place, in the order of the judgments."""
    import polars as pl

    rows = np.zeros(len(judgments.names()), np.int64)
    rows[judgments.codes(whole["query"])] = whole["rows"].to_numpy()
    rows[judgments.codes(handed["query"])] = SPREAD
    return Packed.of(pl.DataFrame({"rows": rows}))


def _together(
    gold: DataFrame,
    run: DataFrame,
    measures: Sequence[Measure],
    policy: Policy,
    match: Matching | None,
    given: tuple[DataFrame, DataFrame],
    plan: Plan,
) -> SparkScores:
    """Judgments and run are shuffled by query, so that both are in the same task."""
    from pyspark.sql import functions as F  # noqa: N812

    highest, judged_rows = gold.agg(F.max("grade"), F.count("*")).collect()[0]
    judging = Judging(tuple(measures), policy, max(float(highest or 0.0), 0.0), match)
    is_long = F.col("count") > plan.longest
    sizes = run.groupBy("query").count().groupBy(F.when(is_long, F.col("query"))).agg(F.sum("count"))
    rows_of = {name: int(size) for name, size in sizes.collect()}
    retrieved_rows = rows_of.pop(None, 0)  # of all queries that are not long
    long = list(rows_of)
    parts, known = [], Facts()
    if long:
        of_long = _few(collected(_only(gold, long)))
        table = _by_query_id(of_long)
        judged = (
            {query: table[query] for query in long if query in table}
            if not isinstance(table, Judgments)
            else table
        )
        unjudged = [query for query in long if query not in judged]
        known = Facts(
            Applied(ignored=len(unjudged)), first={"unjudged query": min(unjudged)} if unjudged else {}
        )
        if judged:
            tasks = tasks_for(sum(rows_of[query] for query in judged))
            parts.append(judge_counted(_only(run, list(judged)), judged, judging, tasks))
        run, gold = (_only(one, long, "left_anti") for one in (run, gold))
    nothing = F.lit(None).cast("string")
    subtopic = F.col("subtopic") if "subtopic" in gold.columns else nothing
    order = [ROW] if ROW in run.columns else []
    judgments = gold.select(
        "query", F.lit(0).alias("kind"), "doc", F.col("grade").alias("number"), subtopic.alias("subtopic"),
        *(F.lit(0).cast("long").alias(name) for name in order),
    )  # fmt: skip
    retrieved = run.select(
        "query",
        F.lit(1).alias("kind"),
        "doc",
        F.col("score").alias("number"),
        nothing.alias("subtopic"),
        *order,
    )
    rows = _sorted(judgments.unionByName(retrieved), tasks_for(judged_rows + retrieved_rows))
    task = JudgeTogether(judging, any(map(has_lists, given)))
    return _scores([*parts, rows.mapInArrow(task, judging.schema)], judging, known)


def _sorted(rows: DataFrame, tasks: int) -> DataFrame:
    """Rows of the same query next to each other, in their order where that decides ties."""
    order = [ROW] if ROW in rows.columns else []
    return rows.repartition(tasks, "query").sortWithinPartitions("query", *order)


def _only(run: DataFrame, queries: Sequence[str], how: str = "left_semi") -> DataFrame:
    """The rows of some queries, which each machine looks up; or of all others, with ``left_anti``."""
    from pyspark.sql import functions as F  # noqa: N812

    wanted = run.sparkSession.createDataFrame([(query,) for query in queries], "query string")
    return run.join(F.broadcast(wanted), "query", how)


def _by_query_id(judgments: Any) -> Mapping[str, Any]:
    return judgments if isinstance(judgments, Mapping) else frames.by_query(judgments)


def _local(qrels: Any, columns: Mapping[str, str] | None) -> Any:
    """Judgments that are here: a table ``query, doc, grade``, or by query."""
    index = index_of(qrels)
    found = read_judgments(qrels if index is None else index.source, Names.of(columns, None))
    if isinstance(found, Judgments):
        return found
    if isinstance(found, Mapping):
        return dict(found)
    if not frames.is_frame(found):
        raise InputError(
            f"qrels is a {type(found).__name__}; pass a Spark DataFrame, a dict by query, a Polars, pandas or Arrow table, or a path."
        )
    return frames.qrels_frame(found)


def _first(gold: DataFrame, count: int) -> pl.DataFrame:
    """So many rows at most, in their order, which tells the first of repeated judgments."""
    from pyspark.sql import functions as F  # noqa: N812

    numbered = gold.withColumn(ROW, F.monotonically_increasing_id())
    return collected(numbered.limit(count)).sort(ROW).drop(ROW)


def _few(table: pl.DataFrame) -> Any:
    """The same of judgments on the cluster that came here."""
    if "subtopic" in table.columns:
        return of_table(table)
    found = empty_lists_apart(table)
    return found if isinstance(found, Mapping) else frames.qrels_frame(table)


def _highest_grade(judgments: Any) -> float:
    """Over all queries, as some measures need it; also refuses grades that are no numbers."""
    import polars as pl

    nothing = pl.DataFrame(schema={"query": pl.String, "doc": pl.String, "score": pl.Float64})
    with hearing():
        return judge(judgments, nothing, Policy()).max_grade


def _require_arrow() -> None:
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "Spark hands rows over as Arrow batches, which needs pyarrow: pip install 'ranklens[spark]'"
        ) from None
