"""Values that exist already are compared: long tables, and what trec_eval printed."""

import polars as pl
import pytest

import ranklens as rl
from ranklens.exchange.trec.command import main as trec_eval

QRELS = {f"q{i:02}": {"a": 2, "b": 1} for i in range(24)}
RUNS = {
    "bm25": {q: ["x", "b", "a"] if i % 3 else ["a", "x", "b"] for i, q in enumerate(QRELS)},
    "dense": {q: ["b", "a", "x"] if i % 4 else ["x", "b", "a"] for i, q in enumerate(QRELS)},
    "hybrid": {q: ["a", "b", "x"] if i % 4 else ["b", "x", "a"] for i, q in enumerate(QRELS)},
}


def test_a_long_frame_holds_all_systems():
    found = rl.compare(QRELS, RUNS, "RR, nDCG@3")
    for frame in (found.queries_frame(), found.queries_frame().to_pandas()):
        again = rl.compare_scores(frame)
        assert again.systems == found.systems
        assert again.pairs_frame().equals(found.pairs_frame())
    assert isinstance(found.queries_frame(), pl.DataFrame)


def test_what_trec_eval_printed_is_compared(tmp_path, capsys):
    found = rl.compare(QRELS, RUNS, "RR, P@5")
    (tmp_path / "q").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items())
    )
    files = {}
    for name, run in RUNS.items():
        rows = [f"{q} Q0 {d} 0 {-i} t\n" for q, docs in run.items() for i, d in enumerate(docs)]
        (tmp_path / name).write_text("".join(rows))
        assert (
            trec_eval(
                ["-q", "-c", "-m", "recip_rank", "-m", "P.5", str(tmp_path / "q"), str(tmp_path / name)]
            )
            == 0
        )
        files[name] = tmp_path / f"{name}.eval"
        files[name].write_text(capsys.readouterr().out)
    again = rl.compare_scores(files)
    assert again.measures == found.measures
    for name in RUNS:
        assert again.result("RR", name).mean == pytest.approx(found.result("RR", name).mean, abs=1e-4)
    (tmp_path / "bad").write_text("map all 0.5\n")
    with pytest.raises(rl.InputError, match="no values of single queries; print them with trec_eval -q"):
        rl.compare_scores({"bad": tmp_path / "bad"})
    (tmp_path / "bad").write_text("map q1 0.5\nmap q2 high\n")
    with pytest.raises(rl.InputError, match="bad:2: 'map q2 high' is not a line of trec_eval"):
        rl.compare_scores({"bad": tmp_path / "bad"})


def test_a_table_of_one_system_is_told_from_one_of_several(tmp_path):
    found = rl.compare(QRELS, RUNS, "RR").queries_frame()
    with pytest.raises(rl.InputError, match="The table has no column system"):
        rl.compare_scores(found.drop("system"))
    found.write_csv(tmp_path / "all.csv")
    with pytest.raises(rl.InputError, match=r"contains the values of 3 systems \(bm25, dense, hybrid\)"):
        rl.compare_scores({"mine": tmp_path / "all.csv"})
    assert str(rl.compare_scores(tmp_path / "all.csv")) == str(rl.compare_scores(found))
