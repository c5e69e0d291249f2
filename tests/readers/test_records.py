from types import SimpleNamespace

import pytest

import ranklens as rl

SHAPES = {
    "retrieved/relevant": {"retrieved": ["x", "a"], "relevant": ["a", "b"]},
    "with grades": {"retrieved": ["x", "a"], "relevant": ["a", "b"], "relevance_scores": {"a": 1, "b": 1}},
    "rankings of dicts": {"actual_ranking": [{"id": "x", "score": 9}, {"id": "a"}], "expected_reference": [{"id": "a"}, {"id": "b"}]},
    "expected ranking": {"actual_ranking": ["x", "a"], "expected_ranking": [{"id": "a", "relevance": 1.0}, {"id": "b"}]},
    "ragas": {"user_input": "?", "retrieved_context_ids": ["x", "a"], "reference_context_ids": ["a", "b"]},
    "llama_index": {"query": "why", "expected_ids": ["a", "b"], "retrieved_ids": ["x", "a"]},
    "results beside": {"query": "why", "relevant_docs": ["a", "b"], "results": [{"id": "x"}, {"id": "a"}]},
    "an object": SimpleNamespace(retrieved=["x", "a"], relevant={"a", "b"}),
}  # fmt: skip


@pytest.mark.parametrize("record", SHAPES.values(), ids=SHAPES)
def test_every_shape_reads_alike(record):
    qrels, run = rl.from_records([record])
    (name,) = qrels
    assert qrels[name] == {"a": 1, "b": 1}
    assert run == {name: ["x", "a"]}
    assert rl.evaluate(qrels, run, ["R@2", "RR"]).mean == {"R@2": 0.5, "RR": 0.5}


def test_grades_come_from_either_side():
    qrels, _ = rl.from_records(
        [{"retrieved": [], "relevant": ["a", "b"], "relevance_scores": {"a": 3, "c": 0}}]
    )
    assert qrels == {"1": {"a": 3, "b": 1, "c": 0}}
    qrels, _ = rl.from_records([{"actual_ranking": [], "expected_reference": [{"id": "a", "relevance": 2}]}])
    assert qrels == {"1": {"a": 2}}
    qrels, _ = rl.from_records([{"retrieved": [], "relevant": {"a": 2, "b": 0}}])
    assert qrels == {"1": {"a": 2, "b": 0}}


def test_names_of_records():
    records = [
        {"id": 7, "query": "why", "retrieved": [], "relevant": ["a"]},
        {"query": "how", "retrieved": [], "relevant": ["a"]},
        {"query": "twice", "retrieved": [], "relevant": ["a"]},
        {"query": "twice", "retrieved": [], "relevant": ["a"]},
        {"retrieved": [], "relevant": ["a"]},
    ]
    assert list(rl.from_records(records)[0]) == ["7", "how", "twice", "twice (2)", "5"]


def test_results_given_apart():
    queries = [{"query_id": "q1", "relevant_docs": ["a"]}, {"query_id": "q2", "relevant_docs": ["b"]}]
    results = [[{"id": "a"}], [{"id": "x"}, {"id": "b"}]]
    for given in (results, {"q1": results[0], "q2": results[1]}):
        assert rl.from_records(queries, given)[1] == {"q1": ["a"], "q2": ["x", "b"]}
    assert rl.from_records(queries, {"q1": ["a"]})[1] == {"q1": ["a"], "q2": []}
    with pytest.raises(rl.InputError, match="2 records but 1 results"):
        rl.from_records(queries, [["a"]])


def test_results_given_apart_stay_with_their_questions_where_some_are_unanswerable():
    records = [{"id": "q1", "relevant": []}, {"id": "q2", "relevant": ["b"]}]
    qrels, run = rl.from_records(records, [[], ["b"]])
    assert (qrels, run) == ({"q2": {"b": 1}}, {"q1": [], "q2": ["b"]})
    assert rl.evaluate(qrels, run, "RR").mean == {"RR": 1.0}


WRONG = [
    ([{"relevant": ["a"]}], "Record 1 does not say what was retrieved; its keys are ['relevant']"),
    ([{"retrieved": ["a"]}], "Record 1 does not say what is relevant"),
    ([{"retrieved": ["a"], "relevant": ["a"]}, 5], "Record 2 is an int"),
    ([{"retrieved": "a", "relevant": ["a"]}], "Record 1 contains a str: 'a'; it should be a list of ids"),
    ([{"retrieved": [{"text": "t"}], "relevant": ["a"]}], "Record 1: The results have no ids"),
    ([{"retrieved": [None], "relevant": ["a"]}], "Record 1: The results have no ids"),
    ([{"retrieved": ["a"], "relevant": [{"id": None}]}], "has no document id"),
    (
        [{"retrieved": ["a"], "relevant": ["a"], "relevance_scores": {"a": "high"}}],
        "the grade 'high' is not a number",
    ),
    ([{"id": 1, "retrieved": [], "relevant": []}] * 2, "Records 1 and 2 have the same id '1'"),
]


@pytest.mark.parametrize(("records", "message"), WRONG, ids=[m for _, m in WRONG])
def test_wrong_records_get_one_clear_error(records, message):
    with pytest.raises(rl.InputError) as error:
        rl.from_records(records)
    assert message in str(error.value)


def test_a_relevant_document_listed_twice_counts_with_its_highest_grade():
    expected = [{"id": "a", "relevance": 3}, {"id": "a", "relevance": 1}]
    record = {"actual_ranking": [], "expected_reference": expected}
    with pytest.warns(
        rl.RankLensWarning, match=r"2 relevant documents are listed twice \(first: 'a' in Record 1\)"
    ) as told:
        qrels, _ = rl.from_records([record, record])
    assert qrels == {"1": {"a": 3}, "2": {"a": 3}}
    assert len(told) == 1
