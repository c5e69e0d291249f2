"""Judgments that travel with the tasks: rows are judged in place as far as possible, and on the driver if they are few."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ranklens.judging.judged import Applied
from ranklens.spark.collecting import collected
from ranklens.spark.counting import judge_counted
from ranklens.spark.driver import Here, judge_absent
from ranklens.spark.facts import Facts
from ranklens.spark.gold import Packed, TableOrDicts
from ranklens.spark.placement import Placement, placement, tasks_for
from ranklens.spark.plan import Plan, by_query_id, finished, only, scores_of, sorted_by_query
from ranklens.spark.scores import Kept, SparkScores
from ranklens.spark.tasks import SPREAD, JudgeAbsent, JudgeRows, Judging

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame


def judge_carried(
    judgments: TableOrDicts, run: DataFrame, judging: Judging, lists: bool, plan: Plan
) -> SparkScores:
    """Judgments are few; with ``lists``, a row of the run without a document stands for an empty one."""
    gold = Packed.of(judgments)
    work = _Work(run, gold, judging, lists, plan, placement(run, gold))
    return work.on_the_driver() if work.is_small else work.on_the_cluster()


@dataclass(frozen=True)
class _Work:
    run: DataFrame
    gold: Packed
    judging: Judging
    lists: bool
    plan: Plan
    where: Placement

    @property
    def is_small(self) -> bool:
        judged, plan = self.where.judged, self.plan
        can_tell = not self.where.unjudged or len(judged) <= plan.few
        return plan.in_place and can_tell and judged["rows"].sum() <= min(plan.handed, plan.longest)

    def on_the_driver(self) -> SparkScores:
        """All rows come here."""
        import polars as pl

        names = self.where.judged["query"].to_list()
        rows = collected(only(self.run, names) if self.where.unjudged else self.run)
        values, facts = Here(self._task(), self.where.judged).judge(rows)
        if len(self._absent):
            more, others = judge_absent(JudgeAbsent(self.judging, self.gold, Packed.of(self._absent)))
            values, facts = pl.concat([values, more]), facts + others
        kept = Kept(self.run.sparkSession, self.judging.columns, None, values)
        return finished(self.judging, self._of_unjudged + facts, kept, self._judged)

    def on_the_cluster(self) -> SparkScores:
        """Rows stay where they are as far as possible."""
        import polars as pl

        run, plan = self.run, self.plan
        is_long = pl.col("rows") > plan.longest
        whole = self.where.judged.filter(~is_long & pl.col("together"))
        rest = self.where.judged.filter(~is_long & ~pl.col("together"))
        long = self.where.judged.filter(is_long)
        in_place = plan.in_place and len(rest) <= plan.few and whole["rows"].sum() >= rest["rows"].sum()
        handed = rest if in_place and rest["rows"].sum() <= plan.handed else rest.clear()
        parts = []
        if len(long):
            judgments = by_query_id(self.gold.judgments.some(long["query"])[0])
            rows = only(run, long["query"].to_list())
            parts.append(judge_counted(rows, judgments, self.judging, tasks_for(int(long["rows"].sum()))))
            run = only(run, long["query"].to_list(), "left_anti")
        if in_place and len(whole):
            task = self._task(self._expected(whole, handed))
            parts.append(run.mapInArrow(task, self.judging.schema))
        shuffled = pl.concat([rest.clear() if len(handed) else rest, whole.clear() if in_place else whole])
        if len(shuffled):
            # Rows of other queries stay where they are, unless it takes longer to tell them apart.
            worth_it = len(shuffled) <= plan.few and (in_place or self.where.unjudged > 0)
            rows = only(run, shuffled["query"].to_list()) if worth_it else run
            together = sorted_by_query(rows, tasks_for(int(shuffled["rows"].sum())))
            parts.append(together.mapInArrow(self._task(), self.judging.schema))
        if len(self._absent):
            numbers = run.sparkSession.range(0, len(self._absent), 1, len(self._absent) // 50_000 + 1)
            task_of_absent = JudgeAbsent(self.judging, self.gold, Packed.of(self._absent))
            parts.append(numbers.mapInArrow(task_of_absent, self.judging.schema))
        if not parts:  # nothing is judged
            parts.append(run.limit(0).mapInArrow(self._task(), self.judging.schema))
        here = Here(self._task(), handed)
        return scores_of(parts, self.judging, self._of_unjudged, here=here, judged=self._judged)

    def _task(self, expected: Packed | None = None) -> JudgeRows:
        return JudgeRows(self.judging, self.gold, expected, self.lists)

    def _expected(self, whole: pl.DataFrame, handed: pl.DataFrame) -> Packed:
        """How many rows each judged query has where it is judged in place, in the order of the judgments."""
        import polars as pl

        rows, codes = np.zeros(self._judged, np.int64), self.gold.judgments.codes
        rows[codes(whole["query"])] = whole["rows"].to_numpy()
        rows[codes(handed["query"])] = SPREAD
        return Packed.of(pl.DataFrame({"rows": rows}))

    @property
    def _judged(self) -> int:
        return len(self.gold.judgments.names())

    @cached_property
    def _absent(self) -> pl.DataFrame:
        """Judged queries that the run lacks."""
        import polars as pl

        present = {*self.where.judged["query"].to_list()}
        names = [name for name in self.gold.judgments.names() if name not in present]
        return pl.DataFrame({"query": names}, schema={"query": pl.String})

    @property
    def _of_unjudged(self) -> Facts:
        first = self.where.first_unjudged
        return Facts(
            Applied(ignored=self.where.unjudged), first={} if first is None else {"unjudged query": first}
        )
