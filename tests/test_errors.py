"""Errors and warnings carry their facts, and survive what happens to exceptions."""

import pickle
import warnings

import pytest

import ranklens as rl
from ranklens.errors import InputError, MissingExtraError, Option, RankLensWarning, about, warn


@pytest.mark.parametrize("kind", [InputError, MissingExtraError])
def test_facts_are_fields_and_are_kept(kind):
    error = kind("choose ", Option("nan", "last"), ".", path="run.txt", line=3, query="q1", document="d1")
    error.prefix("run: ")
    for found in (error, pickle.loads(pickle.dumps(error))):
        assert str(found) == found.args[0] == 'run: choose nan="last".'
        assert (found.path, found.line, found.query, found.document) == ("run.txt", 3, "q1", "d1")
        assert found.spelled(lambda option: option.name) == "run: choose nan."


def test_facts_are_none_if_not_known():
    error = InputError("wrong")
    assert (error.path, error.line, error.query, error.document) == (None, None, None, None)


def test_a_score_that_is_not_a_number_tells_where_it_is():
    for run in ({"q1": {"a": float("nan")}}, [("q1", "a", float("nan"))]):
        given = run if isinstance(run, dict) else _frame(run)
        with pytest.raises(rl.RankLensError, match=r"choose nan=.last") as caught:
            rl.evaluate({"q1": {"a": 1}}, given, "RR")
        assert (caught.value.query, caught.value.document) == ("q1", "a")


def _frame(rows):
    import polars as pl

    return pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")


def test_the_first_query_that_is_missing_is_named():
    with pytest.raises(rl.PolicyError, match="1 judged query is not in the run") as caught:
        rl.evaluate({"q1": {"a": 1}}, {}, "RR", missing="error")
    assert caught.value.query == "q1"


def test_warnings_are_told_again_with_a_name():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(about("bm25", RankLensWarning("choose ", Option("nan", "last"), query="q1")))
        warn(about("bm25", UserWarning("something else")))
    assert [str(warning.message) for warning in caught] == [
        'bm25: choose nan="last"',
        "bm25: something else",
    ]
    assert caught[0].message.query == "q1"
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("run.txt", "q1 Q0 d1 1 2 t\nq1 Q0 d2 2 abc t\n", 2),
        ("run.csv", "query,doc,score\nq1,d1,1\nq1,d2,x\n", 3),
        ("run.jsonl", '{"query": "q1", "doc": "d1", "score": 1}\n{"query"\n', 2),
        ("log.jsonl", '{"question": "?", "retrieved": ["a"]}\n{"question"\n', 2),
        ("run.json", '{"q1":\n{"d1": x}}', 2),
        ("empty.txt", "", None),
        ("absent.txt", None, None),
    ],
)
def test_errors_say_where_in_fields_too(tmp_path, name, text, line):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(rl.InputError) as told:
        rl.evaluate({"q1": {"d1": 1}}, file, "RR")
    assert (told.value.path, told.value.line) == (str(file), line)


def test_errors_name_query_and_document_in_fields_too():
    with pytest.raises(rl.InputError) as told:
        rl.evaluate({"q1": {"d1": 1}}, {"q1": {"d1": float("nan")}}, "RR")
    assert (told.value.query, told.value.document) == ("q1", "d1")


def test_texts_of_warnings_do_not_pile_up_in_a_service(monkeypatch):
    """Python keeps each text that it has shown; those of other libraries stay."""
    shown = {}
    monkeypatch.setitem(globals(), "__warningregistry__", shown)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # each text once
        monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: None)
        warnings.warn("of another library", stacklevel=1)
        for i in range(2_500):
            rl.evaluate({f"q{i}": {"a": 1}}, {f"other{i}": ["a"]}, "RR")
            assert len(shown) <= 1_001
    texts = [key[0] for key in shown if isinstance(key, tuple)]
    assert texts[0] == "of another library"
    assert len(texts) > 400
