"""Golden sets moved to other chunks: what became of each chunk, texts against spans, and files."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.cli.main import main

DOCUMENTS = {name: [f"{name}{place}" for place in range(120)] for name in "abc"}


def cut(size, step, *, spans=False, prefix=""):
    return {
        f"{prefix}{name}#{start}": (name, start, min(start + size, 120))
        if spans
        else " ".join(words[start : start + size])
        for name, words in DOCUMENTS.items()
        for start in range(0, 120, step)
    }


OLD = cut(30, 30)
GOLDEN = [
    {"id": "q1", "question": "Why?", "expected_ids": ["a#0"], "topic": "x"},
    {"id": "q2", "expected_ids": ["b#60", "c#90"]},
]


@pytest.mark.parametrize(
    ("new", "outcome", "expected"),
    [
        (cut(30, 30), "unchanged", ["a#0"]),
        (cut(30, 30, prefix="n"), "moved", ["na#0"]),
        (cut(15, 15), "split", ["a#0", "a#15"]),
        (cut(60, 60), "merged", ["a#0"]),
        ({"x": "nothing of it"}, "disappeared", None),
        ({"x": "a0 a1 a2 a3 a4 a5 a6 a7 a8 a9"}, "disappeared", None),
    ],
)
def test_what_becomes_of_a_chunk(new, outcome, expected):
    found = rl.remap(GOLDEN, OLD, new)
    assert found.moved["a#0"].outcome == outcome
    assert found.counts[outcome] == 3
    if expected is None:
        assert found.golden == []
        assert found.lost == ["q1", "q2"]
        assert "2 questions have no judgment left" in str(found)
    else:
        assert found.golden[0] == {**GOLDEN[0], "expected_ids": expected}
    assert found.to_frame()["outcome"].to_list() == [outcome] * 3


@given(size=st.integers(2, 12), overlap=st.integers(0, 1), threshold=st.sampled_from([0.5, 0.9, 1.0]))
def test_texts_and_spans_agree_and_nothing_is_lost(size, overlap, threshold):
    size, step = 5 * size, 5 * (size - overlap)  # shorter pieces are not searched for
    found = rl.remap(GOLDEN, OLD, cut(size, step), threshold=threshold)
    spans = rl.remap(GOLDEN, cut(30, 30, spans=True), cut(size, step, spans=True), threshold=threshold)
    assert (found.golden, found.moved) == (spans.golden, spans.moved)
    new = cut(size, step)
    for row in found.to_frame().to_dicts():
        words = {word for name in row["new"] for word in new[name].split()}
        share = len(words & {*OLD[row["old"]].split()}) / 30
        assert share == pytest.approx(row["covered"])
        assert share >= threshold - 1e-9


def test_the_highest_grade_of_merged_chunks_counts():
    found = rl.remap({"q": {"a#0": 1, "a#30": 3, "b#0": 2}}, OLD, cut(60, 60))
    assert found.golden == {"q": {"a#0": 3, "b#0": 2}}


def test_of_equal_chunks_the_one_that_kept_its_id_is_taken():
    new = {"copy": OLD["a#0"], **cut(30, 30)}
    assert rl.remap(GOLDEN, OLD, new).moved["a#0"].new == ("a#0",)


def test_short_chunks_are_moved_as_a_whole():
    found = rl.remap(
        {"q": {"s": 1}}, {"s": "Opening hours"}, {"x": "Our opening hours: nine to five", "y": "Opening"}
    )
    assert found.golden == {"q": {"x": 1}}


def test_an_unknown_id_is_reported():
    found = rl.remap([*GOLDEN, {"id": "q3", "expected_ids": ["zzz", "a#0"]}], OLD, OLD)
    assert found.counts["unknown"] == 1
    assert found.golden[2]["expected_ids"] == ["a#0"]
    assert "Without replacement: zzz (0% found)" in str(found)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (({"q": {"zzz": 1}}, OLD, OLD), "None of the judged ids is among the old chunks"),
        (([{"id": "q", "passages": ["x"]}], OLD, OLD), "need no remapping"),
        ((GOLDEN, [{"text": "x"}], OLD), "row 1 has no id"),
        ((GOLDEN, OLD, [{"id": "x"}]), "chunk 'x' has no text"),
    ],
)
def test_what_cannot_be_remapped_is_one_clear_error(arguments, said):
    with pytest.raises(rl.InputError, match=said):
        rl.remap(*arguments)


def test_a_remapped_golden_set_gives_the_same_values_for_the_same_retriever():
    """Where chunks only have other ids."""
    rng = random.Random(2)
    names = sorted(OLD)
    golden = [{"id": f"q{i}", "expected_ids": rng.sample(names, 2)} for i in range(9)]
    run = {f"q{i}": rng.sample(names, 6) for i in range(9)}
    renamed = {query: [f"n{doc}" for doc in docs] for query, docs in run.items()}
    moved = rl.remap(golden, OLD, cut(30, 30, prefix="n")).golden
    assert rl.evaluate(moved, renamed, "nDCG, R@3").mean == rl.evaluate(golden, run, "nDCG, R@3").mean


def test_the_command_line(tmp_path, capsys):
    paths = {}
    for name, rows in {
        "golden": GOLDEN,
        "old": [{"id": key, "text": text} for key, text in OLD.items()],
        "new": [{"chunk_id": key, "content": text} for key, text in cut(15, 15).items()],
    }.items():
        paths[name] = tmp_path / f"{name}.jsonl"
        paths[name].write_text("".join(json.dumps(row) + "\n" for row in rows))
    out, report = tmp_path / "out.jsonl", tmp_path / "moved.csv"
    asked = ["remap", *map(str, (paths["golden"], paths["old"], paths["new"]))]
    assert main([*asked, "-o", str(out), "--report", str(report)]) == 0
    assert "split            3" in capsys.readouterr().out
    assert json.loads(out.read_text().splitlines()[0])["expected_ids"] == ["a#0", "a#15"]
    assert report.read_text().splitlines()[1] == "q1,a#0,split,a#0|a#15,1.0"
    assert main([*asked, "-o", str(paths["golden"])]) == 2
    assert "golden.jsonl" in capsys.readouterr().err
