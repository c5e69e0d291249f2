"""Dicts: little data is ranked in fewer steps, with the same result."""

import random

import numpy as np
import pytest

import ranklens as rl
from ranklens.judging import dicts

POLICIES = [{}, {"ties": "average"}, {"ties": "input", "missing": "skip"}, {"nan": "last"}, {"depth": 3}]


def collection(seed):
    """A few short rankings, some of which tie, are empty or missing, or hold whole numbers, text and NaN as scores."""
    draw = random.Random(seed)
    scores = draw.choice([draw.random, lambda: draw.randint(0, 30), lambda: draw.choice([1, 2, 3.5])])
    odd = draw.choice([[], [], ["2.5"], [float("nan")], [float("inf")]])
    queries = [f"q{i}" for i in range(draw.randint(1, 8))]
    pool = [f"d{i}" for i in range(12)]
    qrels = {q: {doc: draw.randint(-1, 3) for doc in draw.sample(pool, draw.randint(0, 4))} for q in queries}
    run = {}
    for q in [*queries, "other"]:
        if draw.random() < 0.8:
            run[q] = {doc: scores() for doc in draw.sample(pool, draw.randint(0, 9))}
            run[q] |= {f"odd{i}": score for i, score in enumerate(odd)}
    return qrels, run


def judged(qrels, run, options):
    try:
        found = rl.judge(qrels, run, **options)
    except rl.RankLensError as error:
        return str(error)
    arrays = (
        *vars_of(found.hits),
        *vars_of(found.ideal),
        found.retrieved,
        found.ties.query,
        found.ties.start,
        found.ties.size,
    )
    return [array.tolist() for array in arrays], found.applied


def vars_of(hits):
    return hits.query, hits.rank, hits.grade


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_few_steps_and_many_find_the_same(options, monkeypatch):
    reached = []
    at_once = dicts._rank_at_once

    def watched(*given):
        found = at_once(*given)
        reached.append(found is not None)
        return found

    monkeypatch.setattr(dicts, "_rank_at_once", watched)
    for seed in range(150):
        qrels, run = collection(seed)
        few = [judged(gold, run, options) for gold in (qrels, rl.judgments(qrels))]
        with monkeypatch.context() as patched:
            patched.setattr(dicts, "AT_ONCE", -1)
            assert few == [judged(qrels, run, options)] * 2, seed
    assert np.mean(reached) > 0.1
