"""Rows that are judged on the driver."""

import polars as pl

from ranklens.spark.driver import Here


def test_rows_that_came_in_another_order_this_time_are_put_together():
    queries = pl.DataFrame({"query": ["a", "b"], "rows": [2, 1], "together": [True, True]})
    rows = pl.DataFrame({"query": ["a", "b", "a"], "doc": ["1", "2", "3"], "score": [1.0, 2.0, 3.0]})
    found = Here(None, queries)._by_query(rows)
    assert found["query"].to_list() == ["a", "a", "b"]
    assert sorted(found.rows()) == sorted(rows.rows())
