"""Differences that unjudged documents leave open."""

import json

import numpy as np
import pytest

import ranklens as rl
from ranklens.errors import InputError

RNG = np.random.default_rng(0)
QRELS = {f"q{i}": {f"d{j}": int(j < 5) for j in range(15)} for i in range(40)}
JUDGED = {query: [f"d{j}" for j in RNG.permutation(8)] for query in QRELS}


def with_new(start, end):
    """Documents that nobody judged before and after judged ones."""
    return {
        query: [f"x{j}" for j in range(start)] + docs[: 8 - start] + [f"y{j}" for j in range(end)]
        for query, docs in JUDGED.items()
    }


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_a_pair_is_open_where_the_ranges_overlap():
    found = rl.compare(QRELS, {"old": with_new(0, 2), "new": with_new(4, 2)}, ["P@5", "AP"])
    assert found.pair("P@5", "old", "new").significant
    assert found.open_pairs["P@5"] == [("old", "new")]
    bounds = found.bounds("P@5")
    for system, mean, low, high, other in bounds.rows():
        expected = found.scores[system].bounds("P@5")
        assert (low, high) == (expected.low, expected.high)
        assert low - 1e-9 <= mean <= high + 1e-9  # a mean has twelve digits
        assert other == ["new" if system == "old" else "old"]
    pair = found.pair("P@5", "old", "new")
    assert pair.is_open
    assert pair.verdict.startswith("old is better than new by 0.445")
    assert pair.verdict.endswith("; open, as unjudged documents could reverse their order")
    assert [one.is_open for one in found.pairs] == [True, True]
    assert found.pairs_frame()["verdict"].str.contains("; open, as").all()
    assert found.verdict("P@5").endswith(
        "Prefer old, with caution: unjudged documents could reverse their order."
    )
    assert "worse, open" in str(found) or "better, open" in str(found)
    assert "the order of the two is open although their difference is significant" in str(found)
    content = json.loads(found.to_json())
    assert content["open"]["P@5"] == [["old", "new"]]
    assert content["bounds"]["AP"].keys() == {"old", "new"}


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_nothing_is_open_where_all_is_judged_or_gold_names_only_the_expected():
    run, worse = with_new(0, 0), {query: docs[::-1] for query, docs in JUDGED.items()}
    closed = rl.compare(QRELS, {"a": run, "b": worse}, "P@2")
    assert closed.open_pairs == {"P@2": []}
    assert "open" not in closed.pair("P@2", "a", "b").verdict
    gold = {query: {"d1": 1} for query in QRELS}
    found = rl.compare(gold, {"a": with_new(0, 2), "b": with_new(4, 2)}, "RR")
    assert found.open_pairs == {}
    assert ", open" not in str(found)
    assert found.bounds("RR")["high"].max() == 1  # who asks gets an answer


def test_values_without_rankings_have_no_bounds():
    values = {"a": {"q1": {"RR": 1.0}}, "b": {"q1": {"RR": 0.5}}}
    with pytest.raises(InputError, match="a and b have no rankings here"):
        rl.compare_scores(values).bounds("RR")
