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
