"""Invariants over the whole registry: each example scores every measure of the table at once."""

import random
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from richer import RICH
from strategies import any_grades, judgments, rankings, runs
from table import NOT

import ranklens as rl

MEASURES = [rl.measure(name) for name in NOT]
NUMBERS = [m for m in MEASURES if m.definition.aggregate != "none"]
pytestmark = pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")


def having(invariant):
    return [rl.measure(name) for name, lacks in NOT.items() if invariant not in lacks]


def pinned(measures):
    """With the highest grade given, so that values do not depend on the other queries."""
    return [m.replace(max_grade=4) if "max_grade" in m.definition.parameters else m for m in measures]


def values(qrels, run, measures, **policy):
    """``{(measure, query): value}``"""
    scores = rl.evaluate(qrels, run, measures, **policy)
    return {(str(m), q): v for m in measures for q, v in zip(scores.queries, scores[m].tolist(), strict=True)}


def assert_close(actual, expected, tolerance=1e-12):
    assert actual.keys() == expected.keys()
    for key, value in actual.items():
        wanted = (
            expected[key]
            if isinstance(value, str)
            else pytest.approx(expected[key], abs=tolerance, rel=tolerance)
        )
        assert value == wanted, key


def test_the_table_has_every_measure():
    missing = (
        {m.name for m in rl.measures()}
        - {m.name for m in MEASURES}
        - {rl.measure(name).name for name in RICH}
    )
    assert not missing, f"add a line to tests/table.py (or tests/richer.py) for {missing}"
    assert set().union(*NOT.values()) <= {"tail", "ideal", "monotone", "bounds", "graded bounds"}


@given(qrels=judgments(any_grades), run=runs())
def test_in_range_and_never_nan(qrels, run):
    scores = rl.evaluate(qrels, run, MEASURES)
    for measure in NUMBERS:
        found, slack = scores[measure], 1e-12
        assert len(found) == len(qrels)
        assert np.isfinite(found).all(), measure
        assert (found >= measure.definition.low - slack).all(), measure
        assert (found <= measure.definition.high + slack).all(), measure
        assert np.isfinite(scores.mean[str(measure)])


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_no_query_has_no_value(measure):
    nothing = rl.judge({"q": {"a": 1}}, {"other": ["a"]}, missing="skip")
    assert len(nothing) == 0
    assert len(measure(nothing)) == 0


def test_values_are_floats_even_where_nothing_judged_is_retrieved():
    scores = rl.evaluate({"q": {"a": 1}, "r": {"b": 0}}, {"q": ["x"], "r": []}, NUMBERS)
    assert {scores[m].dtype for m in NUMBERS} == {np.dtype(np.float64)}


@given(qrels=judgments(), run=runs(), seed=st.integers(0, 9))
def test_the_order_of_queries_and_documents_does_not_matter(qrels, run, seed):
    def shuffled(table):
        items = list(table.items())
        random.Random(seed).shuffle(items)
        return {key: shuffled(value) if isinstance(value, dict) else value for key, value in items}

    assert values(shuffled(qrels), shuffled(run), MEASURES) == values(qrels, run, MEASURES)


@given(qrels=judgments(), run=runs())
def test_relabelled_ids_give_the_same_values(qrels, run):
    def relabel(table):  # keeps the order of ids, so ties fall alike
        return {f"query {q}": {f"doc {d}": x for d, x in docs.items()} for q, docs in table.items()}

    expected = {(m, f"query {q}"): v for (m, q), v in values(qrels, run, MEASURES).items()}
    assert values(relabel(qrels), relabel(run), MEASURES) == expected


@given(qrels=judgments(any_grades), run=runs())
def test_one_query_equals_the_batch(qrels, run):
    measures = pinned(MEASURES)
    together = values(qrels, run, measures)
    for q in qrels:
        alone = values({q: qrels[q]}, {q: run[q]} if q in run else {}, measures)
        assert alone == {key: v for key, v in together.items() if key[1] == q}


@given(qrels=judgments(), run=rankings(), tail=st.integers(1, 30))
def test_an_unjudged_tail_changes_nothing(qrels, run, tail):
    longer = {q: [*docs, *(f"tail {i}" for i in range(tail))] for q, docs in run.items()}
    assert_close(values(qrels, longer, having("tail")), values(qrels, run, having("tail")))


@given(qrels=judgments(min_size=1))
def test_the_ideal_ranking_scores_1(qrels):
    run = {
        q: sorted((d for d in docs if docs[d] >= 0), key=docs.get, reverse=True) for q, docs in qrels.items()
    }
    found = values(qrels, run, having("ideal"))
    assert_close(
        {key: v for key, v in found.items() if max(qrels[key[1]].values()) >= 1},
        {key: 1.0 for key in found if max(qrels[key[1]].values()) >= 1},
    )


@given(
    grades=st.lists(st.integers(0, 4), min_size=2, max_size=8), missed=st.lists(st.integers(0, 4), max_size=3)
)
def test_a_better_document_one_place_up_never_hurts(grades, missed):
    measures = pinned(having("monotone"))
    qrels = {"q": {f"d{i}": g for i, g in enumerate([*grades, *missed])}}
    docs = [f"d{i}" for i in range(len(grades))]
    before = values(qrels, {"q": docs}, measures)
    for place in range(len(grades) - 1):
        if grades[place] < grades[place + 1]:
            swapped = [*docs[:place], docs[place + 1], docs[place], *docs[place + 2 :]]
            after = values(qrels, {"q": swapped}, measures)
            for key in before:
                assert after[key] >= before[key] - 1e-12, key


def frame(table, number):
    rows = [(q, d, float(x)) for q, docs in table.items() for d, x in docs.items()]
    return pl.DataFrame(rows, schema=["query", "doc", number], orient="row")


@given(
    qrels=judgments(any_grades, min_size=1),
    run=runs(min_docs=1),
    ties=st.sampled_from(["descending", "ascending", "input", "average"]),
)
def test_every_way_in_gives_the_same(qrels, run, ties):
    """Dicts, pairs, Polars, pandas, Arrow; and dicts mixed with tables."""
    assume(run)
    measures = [m for m in MEASURES if ties != "average" or m.definition.average_ties]
    expected = values(qrels, run, measures, ties=ties)
    gold, ranked = frame(qrels, "grade"), frame(run, "score")
    pairs = {q: list(docs.items()) for q, docs in run.items()}
    for a, b in [
        (qrels, pairs),
        (gold, ranked),
        (gold.to_pandas(), ranked.to_pandas()),
        (gold.to_arrow(), ranked.to_arrow()),
        (qrels, ranked),
        (gold, run),
    ]:
        assert values(a, b, measures, ties=ties) == expected


@given(
    qrels=judgments(any_grades),
    runs_of_two=st.tuples(runs(), runs()),
    policy=st.sampled_from([{}, {"judged_only": True}, {"empty": "one"}, {"depth": 3}, {"ties": "average"}]),
    size=st.integers(1, 6),
)
def test_many_judgments_a_block_at_a_time(qrels, runs_of_two, policy, size):
    """A measure of grades looks at one query after the other, so blocks of queries give the same, also for the next run."""
    averages = policy.get("ties") == "average"
    measures = [m for m in MEASURES if m.definition.average_ties or not averages]
    gold = rl.judgments(qrels)
    for run in runs_of_two:
        whole = rl.evaluate(qrels, run, measures, **policy)
        with patch("ranklens.scores.evaluation.BLOCK", size), patch("ranklens.judging.judged.BLOCK", size):
            blocks = rl.evaluate(gold, run, measures, **policy)
        assert blocks.values.keys() == whole.values.keys()
        for name in whole.values:
            assert blocks.values[name].tolist() == whole.values[name].tolist(), name


def test_costs_of_documents_count_with_many_judgments():
    """Blocks know grades alone."""
    gold = rl.Judgments(
        {f"q{i}": {"a": 1} for i in range(8)}, documents={"a": {"cost": 5.0}, "b": {"cost": 2.0}}
    )
    run, measures = {f"q{i}": ["b", "a"] for i in range(8)}, ["INST(max_n=10, expect=EC)", "TBG(max_n=10)"]
    whole = rl.evaluate(gold, run, measures)
    with patch("ranklens.scores.evaluation.BLOCK", 3), patch("ranklens.judging.judged.BLOCK", 3):
        assert rl.evaluate(gold, run, measures).mean == whole.mean
    assert whole["INST(max_n=10, expect=EC)"].min() > 2
