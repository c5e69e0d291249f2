"""Several retrievals for one question: logs and traces with steps, coverage after each step, and what each passage was found by."""

import pytest

import ranklens as rl

GOLDEN = [
    {"id": "q1", "question": "Who?", "passages": ["one two three four", "five six seven eight"]},
    {"id": "q2", "question": "Why?", "passages": ["nine ten eleven"]},
]
LOG = [
    {
        "id": "q1",
        "steps": [
            {
                "query": "a",
                "retrieved": [{"id": "c1", "text": "one two"}, {"id": "c2", "text": "x y"}],
                "tokens": 10,
                "seconds": 1,
            },
            {
                "query": "b",
                "retrieved": [{"id": "c1", "text": "one two"}, {"id": "c3", "text": "three four"}],
                "tokens": 20,
            },
            {"query": "c", "retrieved": [{"id": "c4", "text": "five six seven eight"}]},
        ],
    },
    {
        "id": "q2",
        "steps": [
            {"query": "d", "retrieved": [{"id": "c5", "text": "nine ten eleven"}]},
            {"query": "e", "error": "timeout"},
        ],
    },
]


def test_coverage_after_each_step():
    found = rl.trajectories(GOLDEN, LOG)
    assert found.steps.rows() == [
        (1, 2, 0.5, pytest.approx((0.25 + 1) / 2), (4 + 3) / 2, 0),
        (2, 2, 0.75, 0.75, (8 + 3) / 2, pytest.approx((2 / 8 + 0) / 2)),
        (3, 1, 1.0, 1.0, (12 + 3) / 2, pytest.approx((2 / 12 + 0) / 2)),
    ]
    assert found.passages.select("passage", "step", "rank").rows() == [
        ("one two three four", 2, 4),
        ("five six seven eight", 3, 5),
        ("nine ten eleven", 1, 1),
    ]
    assert "2 questions with 2.5 retrievals on average; lengths in words." in str(found)


def test_calls_and_cost():
    assert rl.evaluate(GOLDEN, LOG, ["Calls", "Calls(step=2)"]).mean == {"Calls": 2.5, "Calls(step=2)": 2}
    from ranklens.data.readers.golden_and_logs import read_log

    entry = read_log(LOG).entries["q1"]
    assert (entry.tokens, entry.seconds, entry.calls) == (30, 1, 3)


def test_one_step_against_several_at_equal_cost():
    once = [
        {"id": "q1", "retrieved": [{"text": "five six seven eight"}, {"text": "one two three four"}]},
        {"id": "q2", "retrieved": []},
    ]
    found = rl.compare(
        GOLDEN, {"once": once, "agent": LOG}, ["PassageRecall(budget=8)", "ContextTokens(budget=8)"]
    )
    assert found.result("PassageRecall(budget=8)", "once").mean == 0.5
    assert found.result("PassageRecall(budget=8)", "agent").mean == 0.75
    assert found.result("ContextTokens(budget=8)", "agent").mean == (8 + 3) / 2


def test_by_id_a_document_counts_where_it_came_first():
    golden = [{"id": "q1", "expected_ids": ["c3", "c4"]}, {"id": "q2", "expected_ids": ["c5"]}]
    found = rl.evaluate(golden, LOG, ["RR", "R"])
    assert found["RR"].tolist() == [pytest.approx(1 / 3), 1]
    assert found["R"].tolist() == [1, 1]


def test_a_question_of_which_all_steps_failed_failed():
    log = [{"id": "q1", "steps": [{"error": "timeout"}, {"error": "timeout"}]}, LOG[1]]
    found = rl.evaluate(GOLDEN, log, "PassageRecall")
    assert found["PassageRecall"].tolist() == [0, 1]
    assert found.judged.applied.failed == 1


def span(trace, name, kind, parent=None, start=0, **attributes):
    return {
        "name": name,
        "context": {"trace_id": trace, "span_id": f"{trace}-{start}"},
        "parent_id": parent,
        "start_time": f"2026-01-01T00:00:0{start}Z",
        "attributes": {"openinference.span.kind": kind, **attributes},
    }


def test_spans_under_one_parent_are_one_trajectory():
    def retrieved(*texts):
        return {f"retrieval.documents.{i}.document.content": text for i, text in enumerate(texts)}

    spans = [
        span("t1", "agent", "AGENT", start=0, **{"input.value": "Who?"}),
        span("t1", "search", "RETRIEVER", "t1-0", 1, **{"input.value": "a"}, **retrieved("one two", "x y")),
        span("t1", "web", "RETRIEVER", "t1-0", 2, **{"input.value": "b"}, **retrieved("three four")),
        span("t2", "agent", "AGENT", start=3, **{"input.value": "Why?"}),
        span("t2", "search", "RETRIEVER", "t2-3", 4, **{"input.value": "c"}, **retrieved("nine ten eleven")),
    ]
    log = rl.from_traces(spans, steps=True, texts=True).run
    found = rl.trajectories(GOLDEN, log)
    assert found.passages["step"].to_list() == [2, None, 1]
    assert rl.evaluate(GOLDEN, log, "Calls").mean == {"Calls": 1.5}


def test_records_may_hold_passages_and_steps_at_once():
    records = [{**golden, **log} for golden, log in zip(GOLDEN, LOG, strict=True)]
    assert rl.evaluate(*rl.from_records(records), "PassageRecall(step=2)").mean == {
        "PassageRecall(step=2)": 0.75
    }


def test_without_passages_steps_cannot_be_told_apart():
    with pytest.raises(rl.InputError, match='"passages"'):
        rl.trajectories([{"id": "q1", "expected_ids": ["c3"]}], LOG[:1])
