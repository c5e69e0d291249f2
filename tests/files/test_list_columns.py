"""Documents as a list per query: the same in Parquet, frames, Arrow and JSONL (on clusters: tests/spark)."""

import polars as pl
import pytest

import ranklens as rl

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
ROWS = {"query_id": ["q1", "q2", "q3"], "retrieved": [["x", "a"], ["b"], []]}
WAYS = {
    "parquet": lambda frame, path: frame.write_parquet(path),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
}


@pytest.mark.parametrize("name", ["retrieved", "recommendations", "prediction", "found_by_us"])
@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_ids_in_a_list(tmp_path, name, missing):
    table = pl.DataFrame(ROWS).rename({"retrieved": name})
    table.write_parquet(tmp_path / "run.parquet")
    given = [tmp_path / "run.parquet", table, table.lazy(), table.to_arrow(), table.to_pandas()]
    if name in ("retrieved", "recommendations"):
        table.write_ndjson(tmp_path / "run.jsonl")
        given.append(tmp_path / "run.jsonl")
    for run in given:
        assert rl.evaluate(QRELS, run, "RR", missing=missing).mean == {"RR": 0.5}, type(run)


@pytest.mark.parametrize("kind", WAYS)
def test_ids_with_scores_in_a_list_and_gold_in_a_list(tmp_path, kind):
    run = pl.DataFrame(
        {
            "qid": ["q1", "q2"],
            "results": [[{"id": "x", "score": 2.0}, {"id": "a", "score": 1.0}], [{"id": "b", "score": 0.1}]],
        }
    )
    gold = pl.DataFrame({"qid": ["q1", "q2"], "relevant": [["a", "z"], ["b"]]})
    WAYS[kind](run, tmp_path / f"run.{kind}")
    WAYS[kind](gold, tmp_path / f"gold.{kind}")
    assert rl.evaluate(tmp_path / f"gold.{kind}", tmp_path / f"run.{kind}", ["RR", "R@5"]).mean == {
        "RR": 0.75,
        "R@5": 0.75,
    }


def test_failures_and_times_of_a_log_in_parquet_count(tmp_path):
    log = pl.DataFrame(
        {"id": ["q1", "q2"], "retrieved": [["a"], None], "error": [None, "timeout"], "latency_ms": [5.0, 9.0]}
    )
    log.write_parquet(tmp_path / "log.parquet")
    scores = rl.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, tmp_path / "log.parquet", "RR")
    assert scores.mean == {"RR": 0.5}
    assert scores.judged.applied.failed == 1


def test_systems_among_lists_are_not_merged(tmp_path):
    table = pl.DataFrame({"query": ["q1", "q1"], "retrieved": [["a"], ["x"]], "system": ["bm25", "dense"]})
    table.write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(rl.InputError, match="several systems"):
        rl.evaluate(QRELS, tmp_path / "runs.parquet", "RR")
    compared = rl.compare({"q1": {"a": 1, "x": 0}}, [tmp_path / "runs.parquet"], "RR")
    assert {name: scores.mean["RR"] for name, scores in compared.scores.items()} == {
        "bm25": 1.0,
        "dense": 0.0,
    }


def test_two_unknown_lists_are_refused(tmp_path):
    table = pl.DataFrame({"query": ["q1"], "one": [["a"]], "two": [["x"]]})
    table.write_parquet(tmp_path / "run.parquet")
    for run in (table, tmp_path / "run.parquet"):
        with pytest.raises(rl.InputError, match="several columns hold lists: one, two"):
            rl.evaluate(QRELS, run, "RR")
    assert rl.evaluate({"q1": {"a": 1}}, table, "RR", columns={"retrieved": "one"}).mean == {"RR": 1.0}


def test_frames_of_other_libraries_are_refused_with_advice():
    class Frame:
        columns = ("query", "doc", "score")

    with pytest.raises(rl.InputError, match=r"is not read; collect its rows first \(\.compute\(\)"):
        rl.evaluate(QRELS, Frame(), "RR")


def test_a_list_under_the_name_of_one_document_says_how_to_call_it(tmp_path):
    table = pl.DataFrame({"query": ["q1"], "doc": [["x", "a"]]})
    with pytest.raises(rl.InputError, match="call it 'retrieved' if it lists the documents of a query"):
        rl.evaluate(QRELS, table, "RR")
