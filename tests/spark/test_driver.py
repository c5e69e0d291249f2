"""Rows that are judged on the driver."""

import polars as pl
import pytest

from ranklens.metrics import parse
from ranklens.policy import Policy
from ranklens.spark.driver import Here
from ranklens.spark.gold import Packed
from ranklens.spark.tasks import JudgeRows, Judging

pytest.importorskip("pyspark")


def test_rows_that_came_in_another_order_this_time_are_put_together():
    queries = pl.DataFrame({"query": ["a", "b"], "rows": [2, 1], "together": [True, True]})
    rows = pl.DataFrame({"query": ["a", "b", "a"], "doc": ["1", "2", "3"], "score": [1.0, 2.0, 3.0]})
    judging = Judging((parse("RR"), parse("NumRet")), Policy(), max_grade=1.0)
    gold = Packed.of({"a": {"1": 1}, "b": {"2": 1}})
    values, facts = Here(JudgeRows(judging, gold), queries).judge(rows)
    assert sorted(values.rows()) == [("a", 0.5, 2.0), ("b", 1.0, 1.0)]
    assert facts.counts["judged queries"] == 2
