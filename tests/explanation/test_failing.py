"""The queries that a run fails, and why."""

import polars as pl
import pytest

import ranklens as rl

QRELS = {
    "good": {"a": 1},
    "low": {"a": 1},
    "part": {"a": 1, "b": 1, "c": 0},
    "lost": {"a": 1},
    "silent": {"a": 1},
    "absent": {"a": 1},
    "none": {"c": 0},
}
RUN = {
    "good": ["a"],
    "low": ["x", "y", "a"],
    "part": ["x", "a", "c", "b"],
    "lost": ["x", "y"],
    "silent": [],
    "none": ["c", "x"],
}


@pytest.fixture
def scores():
    return rl.evaluate(QRELS, RUN, "hit@2, R@2, mrr")


def test_each_query_says_why_it_fails(scores):
    found = {one.query: (one.reason, one.why(2)) for one in scores.failing("R@2")}
    assert found == {
        "low": ("too low", "first relevant at rank 3"),
        "lost": ("not retrieved", "not retrieved; 2 of the top 2 unjudged"),
        "silent": ("empty", "nothing retrieved"),
        "absent": ("missing", "missing from the run"),
        "none": ("nothing relevant", "no document is judged relevant"),
        "part": ("in part", "1 of 2 relevant in the top 2, first at rank 2"),
    }


def test_the_lowest_come_first_and_the_best_are_no_failures(scores):
    found = scores.failing("mrr")
    assert [one.query for one in found] == ["lost", "silent", "absent", "none", "low", "part"]
    assert [one.value for one in found] == [0, 0, 0, 0, 1 / 3, 1 / 2]
    assert found[4].why(None) == "1 of 1 relevant retrieved, first at rank 3"
    assert (found[4].cause, found[4].causes[1:]) == ("not at the top", ("unjudged at the top",))
    assert [one.query for one in scores.failing("mrr", n=2)] == ["lost", "silent"]
    assert scores.failing("mrr", n=2).table().note == "6 of 7 queries are below 1; the 2 lowest are shown."


def test_what_was_expected_and_what_came(scores):
    part = next(one for one in scores.failing("P@3") if one.query == "part")
    assert part.expected == ("a", "b")
    assert [(d.rank, d.doc, d.grade) for d in part.documents] == [(1, "x", None), (2, "a", 1), (3, "c", 0)]


def test_the_first_measure_is_the_default_in_the_spelling_asked_for(scores):
    table = scores.failing(queries={"lost": "Where | is a?", "low": "x" * 100}).table()
    assert table.header == ["query", "question", "expected", "retrieved instead", "why", "hit@2"]
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["lost"] == [
        "Where | is a?",
        "a",
        "x (unjudged), y (unjudged)",
        "not retrieved; 2 of the top 2 unjudged",
        "0.0000",
    ]
    assert rows["low"][0] == "x" * 59 + "…"
    assert rows["silent"][2] == "nothing"


def test_markdown_is_ready_for_a_pull_request(scores):
    shown = scores.failing(queries={"lost": "Where | is a?", "low": "x" * 100}).to_markdown()
    assert (
        "| lost | Where \\| is a? | a | x (unjudged), y (unjudged) | not retrieved; 2 of the top 2 unjudged | 0.0000 |"
        in shown
    )
    assert "x" * 100 in shown
    assert shown.startswith("### Failing queries: the lowest hit@2\n")


def test_frame(scores):
    frame = scores.failing("R@2").to_frame()
    row = frame.row(by_predicate=pl.col("query") == "part", named=True)
    assert row == {
        "query": "part",
        "text": None,
        "value": 0.5,
        "expected": ["a", "b"],
        "retrieved": ["x", "a"],
        "grades": [None, 1.0],
        "reason": "in part",
        "why": "1 of 2 relevant in the top 2, first at rank 2",
        "rank": 2,
        "cause": "below the cutoff",
        "also": ["unjudged at the top"],
    }
    assert len(rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "RR").failing().to_frame()) == 0


def test_nothing_fails():
    found = rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "RR").failing()
    assert len(found) == 0
    assert str(found).endswith("1 query, all with 1: none fails.")


def test_every_shape_gives_the_same(scores, tmp_path):
    qrels = pl.DataFrame(
        [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()],
        ["query", "doc", "grade"],
        orient="row",
    )
    rows = [(q, d, -float(i)) for q, docs in RUN.items() for i, d in enumerate(docs)]
    run = pl.DataFrame(rows, ["query", "doc", "score"], orient="row")
    run.write_csv(tmp_path / "run.csv")
    qrels.write_csv(tmp_path / "qrels.csv")
    # A table cannot say that nothing was retrieved.
    expected = [
        {**row, "reason": "missing", "why": "missing from the run", "cause": "missing from the run"}
        if row["query"] == "silent"
        else row
        for row in scores.failing().to_dicts()
    ]
    assert rl.evaluate(qrels, run, "hit@2").failing().to_dicts() == expected
    files = rl.evaluate(str(tmp_path / "qrels.csv"), tmp_path / "run.csv", "hit@2")
    assert files.failing().to_dicts() == expected
    renamed = rl.evaluate(qrels.rename({"doc": "x"}), run.rename({"doc": "x"}), "hit@2", columns={"doc": "x"})
    assert renamed.failing().to_dicts() == expected


def test_policies_count():
    qrels, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["x", "b", "y", "a"]}
    assert rl.evaluate(qrels, run, "hit@2", rel=2).failing()[0].why(2) == "first relevant at rank 4"
    assert rl.evaluate(qrels, run, "hit@1", judged_only=True).failing().below == 0
    condensed = rl.evaluate(qrels, run, "RR(rel=2, judged_only=true)").failing()[0]
    assert (condensed.first, [d.doc for d in condensed.documents]) == (2, ["b", "a"])
    assert rl.evaluate(qrels, run, "RR(rel=2)", depth=3).failing()[0].reason == "not retrieved"
    unjudged = rl.evaluate(qrels, {"q": ["x", "y"]}, "RR", judged_only=True).failing()[0]
    assert unjudged.reason == "not retrieved"


class _Golden(dict):
    texts: dict


class _Log(dict):
    failed: dict


def test_texts_and_errors_that_stand_beside_the_data():
    golden, log = _Golden(q1={"a"}, q2={"b"}), _Log(q1=["x"])
    golden.texts, log.failed = {"q1": "Why?", "q2": "How?"}, {"q2": "TimeoutError: 5 s"}
    scores = rl.evaluate(golden, log, "RR")
    found = scores.failing()
    assert [(one.text, one.why(None)) for one in found] == [
        ("Why?", "not retrieved"),
        ("How?", "failed: TimeoutError: 5 s"),
    ]


def test_a_benchmark_knows_questions_and_errors():
    def retriever(text, k):
        if text == "How?":
            raise RuntimeError("down")
        return ["x"]

    bench = rl.Benchmark({"q1": "Why?", "q2": "How?"}, {"q1": {"a"}, "q2": {"b"}})
    bench.run("mine", retriever, k=5)
    found = bench.evaluate("hit@5")["mine"].failing()
    assert [(one.text, one.reason) for one in found] == [("Why?", "not retrieved"), ("How?", "failed")]
    assert "down" in found[1].error


def test_mistakes(scores):
    with pytest.raises(rl.InputError, match="n=0 is not allowed"):
        scores.failing(n=0)
    with pytest.raises(rl.MeasureError, match="NumRet is not a mean"):
        scores.failing("NumRet")
    with pytest.raises(rl.InputError, match="do not know the rankings"):
        scores.judged.evaluate("RR").failing()
    once = rl.evaluate({"q": {"a"}}, {"q": iter(["x"])}, "RR")
    with pytest.raises(rl.InputError, match="only once"):
        once.failing()
