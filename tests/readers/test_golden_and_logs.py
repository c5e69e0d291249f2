"""Golden sets and logs: half of a record each."""

import json

import pytest

import ranklens as rl
from ranklens.data.readers.golden_and_logs import join, read_golden, read_log
from ranklens.data.readers.names import Names
from ranklens.errors import InputError

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
        {"id": "q1", "retrieved": [{"chunk_id": "c1", "rank": "10"}, {"chunk_id": "c2", "rank": "9"}]},
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


EMPTY = {"id": "q3", "question": "How tall?", "expected_chunk_ids": []}


@pytest.mark.parametrize(
    ("row", "names", "averaged"),
    [
        (EMPTY, Names(), False),
        ({**EMPTY, "expected_chunk_ids": {}}, Names(), False),
        ({**EMPTY, "answerable": False}, Names(), False),
        ({**EMPTY, "answerable": True}, Names(), True),
        ({**EMPTY, "answerable": "yes"}, Names(), True),
        ({**EMPTY, "expected_chunk_ids": {"c1": 0}}, Names(), True),  # judged, and nothing is relevant
        (EMPTY, Names(by_text=True), False),
        ({"id": "q3", "expected_answers": []}, Names(by_text=True), False),
        ({**EMPTY, "expected_answer": "2 m"}, Names(by_text=True), True),
        ({**EMPTY, "answerable": True}, Names(by_text=True), True),
    ],
)
def test_a_question_that_expects_nothing_is_unanswerable_unless_its_row_says_otherwise(row, names, averaged):
    golden = read_golden([row], names)
    assert ("q3" in golden, "q3" in golden.unanswerable) == (averaged, not averaged)


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


QUESTIONS = [{"id": "1", "question": "a"}, {"id": "2", "question": "b"}, {"id": "3", "question": "c"}]
EXPECTED = read_golden([{**row, "expected_ids": [row["question"].upper()]} for row in QUESTIONS])


def _logged(*entries):
    """A log with an id, a text and a document for each entry, or without a document a failure."""
    return read_log(
        {"id": name, "question": text, **({"retrieved": [doc]} if doc else {"error": "timeout"})}
        for name, text, doc in entries
    )


def test_ids_of_requests_do_not_join_what_the_texts_keep_apart():
    log = join(EXPECTED, _logged(("1", "c", "C"), ("2", "a", "A"), ("3", "b", "B")))
    assert log == {"1": ["A"], "2": ["B"], "3": ["C"]}


def test_a_request_that_failed_later_does_not_replace_an_answer():
    log = join(EXPECTED, _logged(("r1", "a", "A"), ("r2", "a", None), ("r3", "b", None), ("r4", "b", "B")))
    assert (log, log.failed, log.again) == ({"1": ["A"], "2": ["B"]}, {}, 2)


def test_an_id_by_chance_is_no_answer_where_texts_are_joined():
    log = join(EXPECTED, _logged(("2", "something else", "B"), ("8", "a", "A"), ("9", "c", "C")))
    assert "2" not in log
    assert log["1"] == ["A"]


def test_questions_with_the_same_text_get_the_same_answer():
    golden = read_golden({"id": name, "question": "a", "expected_ids": ["A"]} for name in ("1", "2"))
    assert join(golden, _logged(("r1", "a", "A"))) == {"1": ["A"], "2": ["A"]}


def test_texts_that_contradict_the_ids_are_reported():
    rewritten = [{"id": str(n), "question": f"rewritten {n}"} for n in range(4, 9)]
    golden = read_golden({**row, "expected_ids": ["A"]} for row in [*QUESTIONS, *rewritten])
    log = _logged(
        ("1", "b", "A"), ("2", "c", "C"), ("3", "x", "B"), *((str(n), "y", "D") for n in range(4, 9))
    )
    with pytest.warns(
        rl.RankLensWarning, match="2 questions of the log have.*id '1' with the text of '2'.*joined by id"
    ):
        assert join(golden, log)["1"] == ["A"]


@pytest.mark.parametrize("said", [0, False, "no", "False", 0.0])
def test_ways_to_say_that_a_question_is_unanswerable(said):
    assert read_golden([{"id": "q", "expected_ids": [], "answerable": said}]).unanswerable == {"q"}


def test_grades_in_a_list_next_to_the_documents():
    row = {"id": "q", "expected_ids": ["a", "b"]}
    assert read_golden([{**row, "grades": [1, 3]}]) == {"q": {"a": 1, "b": 3}}
    assert read_golden([{**row, "relevanceScores": {"b": 3}}]) == {"q": {"a": 1, "b": 3}}
    with pytest.raises(rl.InputError, match="1 grades for 2 expected documents"):
        read_golden([{**row, "grades": [1]}])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"expected_ids": [""]}, "Record 1: '' has no document id"),
        ({"expected_ids": None}, "Record 1: 'expected_ids' is null"),
        ({"expected_ids": ["a"], "answerable": "maybe"}, "'maybe' does not say whether"),
    ],
)
def test_what_is_no_judgment_is_refused(row, message):
    with pytest.raises(rl.InputError, match=message):
        read_golden([{"id": "q", **row}])


def test_empty_ids_of_a_log_match_nothing_and_are_reported():
    with pytest.warns(rl.RankLensWarning, match="1 retrieved item has no id"):
        assert read_log([{"id": "q", "retrieved": ["", "a"]}]) == {"q": ["<no-id-1>", "a"]}


def test_a_rank_that_only_some_results_have_is_refused():
    with pytest.raises(rl.InputError, match="result 2 is not a number"):
        read_log([{"id": "q", "retrieved": [{"id": "a", "rank": 1}, {"id": "b"}]}])


NAMED = [{"key": "1", "expected": ["a"]}, {"key": "2", "expected": ["b"]}]
LOGGED = [{"key": "2", "retrieved": ["b"]}, {"key": "1", "retrieved": ["a"]}]


def test_questions_without_an_id_are_not_joined_by_their_number(tmp_path):
    golden, log = tmp_path / "golden.jsonl", tmp_path / "log.jsonl"
    golden.write_text("".join(json.dumps(row) + "\n" for row in NAMED))
    log.write_text("".join(json.dumps(row) + "\n" for row in LOGGED))
    qrels, run = {"1": {"a"}, "2": {"b"}}, {"1": ["a"], "2": ["b"]}
    for pair in ((NAMED, LOGGED), (golden, log), (qrels, LOGGED), (qrels, log), (NAMED, run), (golden, run)):
        with pytest.raises(rl.InputError, match="Record 1 does not say which question it is about"):
            rl.evaluate(*pair, "RR")
        assert rl.evaluate(*pair, "RR", columns={"query": "key"}).mean == {"RR": 1}
    both = [{"expected": ["a"], "retrieved": ["b", "a"]}]
    assert rl.evaluate(both, both, "RR").mean == {"RR": 0.5}


def test_a_field_that_the_user_named_is_not_replaced_by_a_usual_one():
    golden = [
        {"id": "q1", "question": "Why?", "gold": ["b"], "relevant_ids": ["a"]},
        {"id": "q2", "question": "Who?", "relevant_ids": ["a"]},
    ]
    log = [{"id": "q1", "retrieved": ["a"]}, {"id": "q2", "retrieved": ["a"]}]
    for name, record in (("gold", 2), ("glod", 1)):
        with pytest.raises(InputError, match=f"Record {record} does not say what is relevant"):
            rl.evaluate(golden, log, "RR", columns={"expected": name})
