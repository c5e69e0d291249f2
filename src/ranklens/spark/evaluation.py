"""A run on a cluster and judgments → :class:`~ranklens.spark.scores.SparkScores`: which rows are judged where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ranklens.data.qrels import read_qrels
from ranklens.data.readers import frames
from ranklens.data.readers.judgment_tables import of_table
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.names import Names
from ranklens.errors import InputError, hearing
from ranklens.judging.assembly import judge
from ranklens.judging.inputs import index_of
from ranklens.judging.judged import Applied
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
    import polars as pl
    from pyspark.sql import functions as F  # noqa: N812

    plan = plan or USUAL
    if not frames.is_spark(run):
        raise InputError(
            "The judgments are a Spark DataFrame, but the run is not. Pass both as DataFrames, or collect the judgments: qrels.toPandas()."
        )
    require_ranklens(run.sparkSession)
    rows = run_rows(run, columns, keep_order=policy.ties == "input")
    judgments: TableOrDicts
    if frames.is_spark(qrels):
        gold = gold_rows(qrels, columns)
        # In their order, which tells the first of repeated judgments.
        numbered = gold.withColumn(ROW, F.monotonically_increasing_id())
        first = collected(numbered.limit(plan.carried + 1)).sort(ROW).drop(ROW)
        if len(first) > plan.carried:
            return _together(gold, rows, measures, policy, match, (qrels, run), plan)
        judgments = _few(first)
    else:
        own = read_qrels(qrels, Names.of(columns, None))
        index = index_of(own)
        source = own.judged if index is None else index.source
        is_rich = isinstance(source, Judgments)
        judgments = dict(source) if isinstance(source, Mapping) and not is_rich else source
    # Over all queries, as some measures need it; this also refuses grades that are no numbers.
    nothing = pl.DataFrame(schema={"query": pl.String, "doc": pl.String, "score": pl.Float64})
    with hearing():
        highest = policy.max_grade or judge(judgments, nothing, Policy()).max_grade
    judging = Judging(tuple(measures), policy, highest, match)
    return judge_carried(judgments, rows, judging, has_lists(run), plan)


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
    parts, facts = [], Facts()
    if long:
        of_long = _few(collected(only(gold, long)))
        table = by_query_id(of_long)
        is_rich = isinstance(table, Judgments)
        judged = table if is_rich else {query: table[query] for query in long if query in table}
        unjudged = [query for query in long if query not in judged]
        facts = Facts(
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
    return scores_of([*parts, rows.mapInArrow(task, judging.schema)], judging, facts)


def _few(table: pl.DataFrame) -> TableOrDicts:
    """The same of judgments on the cluster that came here."""
    if "subtopic" in table.columns:
        judgments: InDicts = of_table(table)
        return judgments
    apart = empty_lists_apart(table)
    return apart if isinstance(apart, Mapping) else frames.qrels_frame(table)
