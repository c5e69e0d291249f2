"""Round trips: what a comparison writes gives the same comparison again."""

import polars as pl
import pytest

import ranklens as rl
from ranklens.comparison.recall import read_trec_eval
from ranklens.trec.command import main as trec_eval

QRELS = {f"q{i:02}": {"a": 2, "b": 1} for i in range(24)}
RUNS = {
    "bm25": {q: ["x", "b", "a"] if i % 3 else ["a", "x", "b"] for i, q in enumerate(QRELS)},
    "dense": {q: ["b", "a", "x"] if i % 4 else ["x", "b", "a"] for i, q in enumerate(QRELS)},
    "hybrid": {q: ["a", "b", "x"] if i % 4 else ["b", "x", "a"] for i, q in enumerate(QRELS)},
}
OPTIONS = [
    {},
    {"baseline": "bm25", "test": "t", "correction": "bh"},
    {"margin": {"RR": "5%"}, "primary": "RR"},
    {"by": {q: int(q[1:]) % 2 for q in QRELS}},
    {"clusters": {q: int(q[1:]) // 2 for q in QRELS}, "test": "t"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_json_gives_the_same_comparison(options):
    found = rl.compare(QRELS, RUNS, "mrr, nDCG@3", **options)
    again = rl.Comparison.from_json(found.to_json())
    assert again.pairs_frame().equals(found.pairs_frame())
    assert again.to_frame().equals(found.to_frame())
    assert again.verdict() == found.verdict()
    assert again.to_latex(notes="none") == found.to_latex(notes="none")


@pytest.mark.parametrize("text", ["nonsense", "[]", "{}", '{"systems": []}'])
def test_other_texts_are_refused(text):
    with pytest.raises(rl.InputError, match=r"This is not (JSON|the JSON of a comparison)"):
        rl.Comparison.from_json(text)


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
    with pytest.raises(rl.InputError, match="no values by query; trec_eval prints them with -q"):
        read_trec_eval(tmp_path / "bad")
    (tmp_path / "bad").write_text("map q1 high\n")
    with pytest.raises(rl.InputError, match="bad, line 1: expected measure, query and value"):
        read_trec_eval(tmp_path / "bad")
