"""Several runs where one is wanted are refused with the call that takes them."""

from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import ranklens as rl

QRELS = {"q1": {"a": 1}}
FRAME = pl.DataFrame({"query": ["q1"], "doc": ["a"], "score": [1.0]})


@pytest.mark.parametrize(
    "runs",
    [
        {"bm25": "bm25.txt", "dense": "dense.txt"},
        {"bm25": Path("bm25.txt")},
        {"bm25": {"q1": {"a": 1.0}}, "dense": {"q1": {"a": 1.0}}},
        {"bm25": {"q1": ["a"]}},
        {"bm25": FRAME},
        ["bm25.txt", "dense.txt"],
        [Path("bm25.txt")],
    ],
)
def test_runs_by_name_and_lists_of_paths_are_refused(runs):
    with pytest.raises(rl.InputError, match=r"compare them with ranklens\.compare\(qrels, "):
        rl.evaluate(QRELS, runs, "RR")


def test_a_list_of_one_path_is_counted_as_one():
    with pytest.raises(rl.InputError, match="a list of 1 path;"):
        rl.evaluate(QRELS, ["bm25.txt"], "RR")


def test_a_pattern_of_runs_is_refused(tmp_path):
    for name in ("bm25", "dense"):
        (tmp_path / f"{name}.txt").write_text("q1 Q0 a 1 2.0 t\n")
    with pytest.raises(
        rl.InputError, match=r"matches 2 files, each a separate run; compare them with ranklens\.compare"
    ):
        rl.evaluate(QRELS, f"{tmp_path}/*.txt", "RR")
    assert list(rl.compare(QRELS, f"{tmp_path}/*.txt", "RR").systems) == ["bm25", "dense"]


class Row(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class Judgment(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


@pytest.mark.parametrize("wrap", [list, iter])
def test_named_tuples_are_rows(wrap):
    run = wrap([Row("q1", "a", 1.0), Row("q1", "x", 2.0)])
    qrels = wrap([Judgment("q1", "a", 1)])
    assert rl.evaluate(qrels, run, "RR").mean == {"RR": 0.5}
