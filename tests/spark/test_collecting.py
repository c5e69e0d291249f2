"""Rows that come to the driver from Spark that has no Arrow for them: older versions, and older ones of Spark Connect."""

from types import SimpleNamespace

import polars as pl
import pytest

from ranklens.spark.collecting import collected

KINDS = {"query": "string", "rows": "long", "number": "integer", "value": "double", "together": "boolean"}


@pytest.mark.parametrize("rows", [[], [("q", 2, 1, 0.5, True), ("r", 1, 0, None, None)]])
def test_every_type_that_is_collected_is_known(rows):
    kinds = [
        SimpleNamespace(name=name, dataType=SimpleNamespace(typeName=lambda kind=kind: kind))
        for name, kind in KINDS.items()
    ]
    given = [SimpleNamespace(asDict=lambda row=row: dict(zip(KINDS, row, strict=True))) for row in rows]
    frame = SimpleNamespace(schema=SimpleNamespace(fields=kinds), collect=lambda: given)
    found = collected(frame)
    assert found.rows() == rows
    assert found.dtypes == [pl.String, pl.Int64, pl.Int32, pl.Float64, pl.Boolean]
