"""Judgments from texts, by hand and against DPR's own tokenizer rules."""

import pytest

import ranklens as rl

CORPUS = {
    "d1": "The Analytical Engine was described by Ada Lovelace, in 1843.",
    "d2": "Lovelaces of all kinds.",
    "d3": "ADA-LOVELACE",
    "d4": "Cafe\u0301 au lait",
}


def test_tokens_in_a_row():
    assert rl.answers(CORPUS, {"q": ["ada lovelace"]}) == {"q": {"d1": 1, "d2": 0, "d3": 0, "d4": 0}}
    assert rl.answers(CORPUS, {"q": "Ada - Lovelace"})["q"]["d3"] == 1
    assert rl.answers(CORPUS, {"q": ["café"]})["q"]["d4"] == 1  # composed or not
    assert rl.answers(CORPUS, {"q": ["", "1843"]})["q"] == {"d1": 1, "d2": 0, "d3": 0, "d4": 0}


def test_regular_expressions():
    assert rl.answers(CORPUS, {"q": ["lovelaces?"]}, match="regex")["q"] == {
        "d1": 1,
        "d2": 1,
        "d3": 1,
        "d4": 0,
    }
    with pytest.raises(rl.InputError, match="is not a regular expression"):
        rl.answers(CORPUS, {"q": ["("]}, match="regex")


def test_only_what_was_retrieved():
    run = {"q": ["d2", "d1"]}
    judged = rl.answers(CORPUS, {"q": ["Ada Lovelace"]}, run=run)
    assert judged == {"q": {"d2": 0, "d1": 1}}
    assert rl.evaluate(judged, run, ["Success@1", "Success@2"]).mean == {"Success@1": 0, "Success@2": 1}
    with pytest.raises(rl.InputError, match="its text is not there"):
        rl.answers(CORPUS, {"q": ["x"]}, run={"q": ["d9"]})
    with pytest.raises(rl.InputError, match="choose from 'tokens', 'regex'"):
        rl.answers(CORPUS, {"q": ["x"]}, match="words")
