"""Golden sets and logs: half of a record each."""

import json

import pytest

import ranklens as rl
from ranklens.readers.golden_and_logs import join, read_golden, read_log
from ranklens.readers.names import Names

GOLDEN = [
    {"id": "q1", "question": "Why?", "expected_chunk_ids": ["c1", "c2"]},
    {"id": "q2", "question": "Who?", "expected_chunk_ids": ["c3"]},
    {"id": "q3", "question": "How tall?", "answerable": False, "expected_chunk_ids": []},
]


@pytest.mark.parametrize(
    "row",
    [
        {"question_id": "q1", "retrieved": [{"chunk_id": "c2", "score": 0.9}, {"chunk_id": "c1", "score": 0.1}]},
        {"questionId": "q1", "retrievedChunks": [{"chunkId": "c2"}, {"chunkId": "c1"}]},
        {"qid": "q1", "results": ["c2", "c1"]},
        {"query_id": "q1", "hits": [("c2", 3), ("c1", 1)]},
        {"id": "q1", "retrieved": {"c1": 1, "c2": 7}},
        {"id": "q1", "retrieved": {"documents": [{"id": "c2"}, {"id": "c1"}]}},
        {"id": "q1", "retrieved": [{"chunk_id": "c1", "rank": 2, "score": None}, {"chunk_id": "c2", "rank": 1, "score": None}]},
    ],
)  # fmt: skip
def test_shapes_of_logs(row):
    assert read_log([row]) == {"q1": ["c2", "c1"]}


@pytest.mark.parametrize(
    "row",
    [
        {"id": "q1", "expected_chunk_ids": ["c1", "c2"]},
        {"id": "q1", "expectedChunkIds": ["c1", "c2"]},
        {"qid": "q1", "gold": [{"chunk_id": "c1"}, {"chunk_id": "c2", "grade": 1}]},
        {"question_id": "q1", "relevant": {"c1": 1, "c2": 1}},
    ],
)
def test_shapes_of_golden_sets(row):
    assert read_golden([row]) == {"q1": {"c1": 1, "c2": 1}}


def test_places_of_ones_own():
    names = Names.of(
        {"expected": "gold.ids", "doc": "ref", "query": "meta.key", "retrieved": "answer.sources"}
    )
    assert read_golden([{"meta": {"key": 7}, "gold": {"ids": [{"ref": "c1"}]}}], names) == {"7": {"c1": 1}}
    assert read_log([{"meta": {"key": 7}, "answer": {"sources": [{"ref": "c1"}]}}], names) == {"7": ["c1"]}
    with pytest.raises(rl.InputError, match="there is no 'expcted': did you mean 'expected'"):
        Names.of({"expcted": "gold"})


def test_unanswerable_questions_are_no_judgments():
    golden = read_golden(GOLDEN)
    assert list(golden) == ["q1", "q2"]
    assert golden.unanswerable == {"q3"}
    assert golden.texts == {"q1": "Why?", "q2": "Who?", "q3": "How tall?"}


def test_failed_requests_are_not_empty_answers():
    log = read_log(
        [
            {"question_id": "q1", "status": "error", "error": "TimeoutError: 2 s", "latency_ms": 2004},
            {"question_id": "q2", "retrieved": [], "latency_ms": 5, "tokens": 3, "cost_usd": 0.1},
            {"question_id": "q3", "status": "Timed-Out"},
        ]
    )
    assert log == {"q2": []}
    assert log.failed == {"q1": "TimeoutError: 2 s", "q3": "Timed-Out"}
    assert [log.entries[name].seconds for name in ("q1", "q2", "q3")] == [2.004, 0.005, None]
    assert (log.entries["q2"].tokens, log.entries["q2"].cost) == (3, 0.1)


def test_of_several_entries_the_last_that_did_not_fail_counts():
    rows = [
        {"id": "q1", "error": "no"},
        {"id": "q1", "retrieved": ["a"]},
        {"id": "q1", "retrieved": ["b"]},
        {"id": "q1", "error": "no"},
    ]
    log = read_log(rows)
    assert (log, log.failed, log.again) == ({"q1": ["b"]}, {}, 3)


def test_logs_join_by_id_or_else_by_text():
    golden = read_golden(GOLDEN)
    by_id = read_log([{"id": "q1", "question": "Who?", "retrieved": ["c1"]}])
    assert (join(golden, by_id), join(golden, by_id).joined) == ({"q1": ["c1"]}, "id")
    by_text = read_log(
        [
            {"id": "x7", "question": "Who?\n", "retrieved": ["c3"]},
            {"id": "x9", "question": "Else?", "retrieved": []},
        ]
    )
    assert (join(golden, by_text), join(golden, by_text).joined) == ({"q2": ["c3"], "x9": []}, "text")
    assert join(golden, read_log([{"question": "Why?", "error": "no"}])).failed == {"q1": "no"}


def test_expected_texts():
    row = {"id": "q1", "expected_answer": "in 1889", "expected_chunk_ids": ["c1"]}
    assert read_golden([row], Names(by_text=True)) == {"q1": {"in 1889": 1}}
    rows = [{"id": "q1", "expected_chunks": [{"text": "in 1889", "expect_score": 2}]}]
    assert read_golden(rows, Names(by_text=True)) == {"q1": {"in 1889": 2}}


@pytest.mark.parametrize(
    ("read", "rows", "message"),
    [
        (read_golden, [{"id": 1, "question": "?"}], "Record 1 does not say what is relevant; its keys are ['id', 'question']"),
        (read_golden, GOLDEN * 2, "Records 1 and 4 have the same id 'q1'"),
        (read_log, [{"id": 1, "question": "?"}], "Record 1 does not say what was retrieved"),
        (read_golden, [{"id": 1, "retrieved": []}], "is it a log? The golden set comes first."),
        (read_log, [{"id": 1, "expected": []}], "is it a golden set? The log comes second."),
        (read_log, [{"id": 1, "retrieved": [{"text": "?"}]}], "Record 1: The results have no ids"),
        (read_log, [{"id": 1, "retrieved": {"c1": float("nan")}}], "The score of document 'c1' is not a number"),
    ],
)  # fmt: skip
def test_mistakes_are_told(read, rows, message):
    with pytest.raises(rl.InputError) as told:
        read(rows)
    assert message in str(told.value)


def test_items_without_an_id_are_told():
    rows = [{"id": "q1", "retrieved": [{"chunk_id": "a"}, {"chnk_id": "b"}]}]
    with pytest.warns(rl.RankLensWarning, match="1 retrieved item has no id"):
        assert read_log(rows) == {"q1": ["a", "<no-id-2>"]}


@pytest.mark.parametrize(
    ("golden", "log", "message"),
    [
        ({"id": "q", "expcted_ids": ["a"]}, {"id": "q", "retrieved": ["a"]}, "does not say what is relevant; its keys are"),
        ({"id": "q", "expected_ids": ["a"]}, {"id": "q", "retreived": ["a"]}, "does not say what was retrieved; its keys are"),
    ],
)  # fmt: skip
def test_misspelled_fields_of_files_are_named(golden, log, message, tmp_path):
    for name, row in (("golden", golden), ("log", log)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(rl.InputError, match=message):
        rl.evaluate(tmp_path / "golden.jsonl", tmp_path / "log.jsonl", "RR")
