"""A run on a cluster and judgments → :class:`~ranklens.spark.scores.SparkScores`: which rows are judged where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ranklens.data.qrels import read_qrels
from ranklens.data.readers import frames
from ranklens.data.readers.judgment_tables import of_table
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.names import Names
from ranklens.errors import InputError, MissingExtraError, hearing
from ranklens.judging.assembly import judge
from ranklens.judging.judged import Applied
from ranklens.judging.prepared import index_of
from ranklens.policy import Policy
from ranklens.spark.carried import judge_carried
from ranklens.spark.collecting import collected
from ranklens.spark.columns import ROW, gold_rows, has_lists, run_rows
from ranklens.spark.counting import judge_counted
from ranklens.spark.facts import Facts
from ranklens.spark.gold import InDicts, TableOrDicts
from ranklens.spark.placement import tasks_for
from ranklens.spark.plan import USUAL, Plan, by_query_id, only, scores_of, sorted_by_query
from ranklens.spark.scores import SparkScores
from ranklens.spark.tasks import JudgeTogether, Judging, empty_lists_apart
from ranklens.spark.workers import require_ranklens

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame

    from ranklens.data.matching.rules import Matching
    from ranklens.metrics import Measure


def evaluate(
    qrels: object,
    run: DataFrame,
    measures: Sequence[Measure],
    policy: Policy,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
    plan: Plan | None = None,
) -> SparkScores:
    """Score a Spark DataFrame; ``qrels`` is one, too, or anything else that judgments can be."""
    _require_arrow()
    plan = plan or USUAL
    if not frames.is_spark(run):
        raise InputError(
            "The judgments are a Spark DataFrame, but the run is not. Pass both as DataFrames, or collect the judgments: qrels.toPandas()."
        )
    require_ranklens(run.sparkSession)
    rows = run_rows(run, columns, keep_order=policy.ties == "input")
    gold = gold_rows(qrels, columns) if frames.is_spark(qrels) else None
    if gold is None:
        given = _local(qrels, columns)
    else:
        first = _first(gold, plan.carried + 1)
        if len(first) > plan.carried:
            return _together(gold, rows, measures, policy, match, (qrels, run), plan)
        given = _few(first)
    judging = Judging(tuple(measures), policy, policy.max_grade or _highest_grade(given), match)
    return judge_carried(given, rows, judging, has_lists(run), plan)


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
    judging = Judging(tuple(measures), policy, policy.max_grade or max(float(highest or 0.0), 0.0), match)
    is_long = F.col("count") > plan.longest
    sizes = run.groupBy("query").count().groupBy(F.when(is_long, F.col("query"))).agg(F.sum("count"))
    rows_of = {name: int(size) for name, size in sizes.collect()}
    retrieved_rows = rows_of.pop(None, 0)  # of all queries that are not long
    long = list(rows_of)
    parts, known = [], Facts()
    if long:
        of_long = _few(collected(only(gold, long)))
        table = by_query_id(of_long)
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
            parts.append(judge_counted(only(run, list(judged)), judged, judging, tasks))
        run, gold = (only(one, long, "left_anti") for one in (run, gold))
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
    rows = sorted_by_query(judgments.unionByName(retrieved), tasks_for(judged_rows + retrieved_rows))
    task = JudgeTogether(judging, any(map(has_lists, given)))
    return scores_of([*parts, rows.mapInArrow(task, judging.schema)], judging, known)


def _local(qrels: object, columns: Mapping[str, str] | None) -> TableOrDicts:
    """Judgments that are here: a table ``query, doc, grade``, or by query."""
    gold = read_qrels(qrels, Names.of(columns, None))
    index = index_of(gold)
    judged = gold.judged if index is None else index.source
    return dict(judged) if isinstance(judged, Mapping) and not isinstance(judged, Judgments) else judged


def _first(gold: DataFrame, count: int) -> pl.DataFrame:
    """At most this many rows, in their order, which determines the first of repeated judgments."""
    from pyspark.sql import functions as F  # noqa: N812

    numbered = gold.withColumn(ROW, F.monotonically_increasing_id())
    return collected(numbered.limit(count)).sort(ROW).drop(ROW)


def _few(table: pl.DataFrame) -> TableOrDicts:
    """The same of judgments on the cluster that came here."""
    if "subtopic" in table.columns:
        judgments: InDicts = of_table(table)
        return judgments
    found = empty_lists_apart(table)
    return found if isinstance(found, Mapping) else frames.qrels_frame(table)


def _highest_grade(judgments: TableOrDicts) -> float:
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
