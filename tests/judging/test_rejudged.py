"""Another policy from what is judged already: the same as judging the run again."""

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.comparison.alternatives import settled_run
from ranklens.data.qrels import Qrels
from ranklens.data.run import Run
from ranklens.judging.rejudged import rejudged, settled

MEASURES = ["nDCG@5", "AP", "RR", "P@3", "bpref", "Rprec", "RBP", "infAP", "ERR@10", "AP(rel=2)", "Judged@5"]
POLICIES = [
    dict(zip(("ties", "depth", "rel", "judged_only"), values, strict=True))
    for values in product(("descending", "ascending", "average"), (None, 4), (1, 2), (False, True))
] + [{"missing": "skip"}, {"empty": "skip"}, {"empty": "one"}]  # fmt: skip


def tied(seed, *, gaps=False):
    """Few different scores and all kinds of grades, below 0 too; with ``gaps``, queries that nothing answers and without relevant documents."""
    rng = np.random.default_rng(seed)
    qrels = {
        f"q{q}": {f"d{d}": int(rng.choice([-1, 0, 0, 1, 2, 3])) for d in rng.choice(30, 12, replace=False)}
        for q in range(6)
    }
    run = {q: {f"d{d}": float(rng.integers(0, 6)) for d in rng.choice(30, 20, replace=False)} for q in qrels}
    for grades in qrels.values():
        grades["d0"] = 2
    if gaps:
        qrels["q0"] = dict.fromkeys(qrels["q0"], 0)
        del run["q1"]
    return qrels, run


def as_table(run):
    rows = [(q, doc, score) for q, docs in run.items() for doc, score in docs.items()]
    return pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")


def same(found, expected):
    assert found.queries == expected.queries
    assert found.policy == expected.policy
    assert found.applied == expected.applied
    assert found.retrieved.tolist() == expected.retrieved.tolist()
    for name in ("query", "rank", "grade"):
        assert getattr(found.hits, name).tolist() == getattr(expected.hits, name).tolist()
    measures = [
        name for name in MEASURES if expected.hits.spread is None or rl.measure(name).definition.average_ties
    ]
    a, b = found.evaluate(measures).values, expected.evaluate(measures).values
    for name, values in a.items():
        np.testing.assert_array_equal(values, b[name], name)


@pytest.mark.parametrize("form", [dict, as_table])
@pytest.mark.parametrize("base", ["descending", "ascending"])
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_every_policy_gives_what_judging_again_gives(form, base):
    for seed in range(3):
        qrels, run = tied(seed)
        judged = rl.judge(qrels, form(run), ties=base)
        for asked in POLICIES:
            policy = rl.Policy(**{"ties": base, **asked})
            if policy.ties == "average" and policy.depth and policy.judged_only:
                continue  # refused, as which documents remain would depend on their order
            found = rejudged(judged, policy)
            assert found is not None
            same(found, rl.judge(qrels, form(run), policy))


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize("base", ["descending", "ascending"])
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_the_best_and_the_worst_order_of_tied_documents(best, base):
    for seed in range(3):
        qrels, run = tied(seed)
        policy = rl.Policy(ties=base)
        found = settled(rl.judge(qrels, run, policy), best=best)
        again = settled_run(Qrels(qrels), Run(run), policy, best=best)
        expected = rl.judge(qrels, again, replace(policy, ties="input"))
        same(found, expected)


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_what_only_the_run_can_tell_is_left_to_it():
    qrels, run = tied(1, gaps=True)
    judged = rl.judge(qrels, run)
    for asked in (
        {"ties": "input"},
        {"nan": "last"},
        {"missing": "skip"},
        {"empty": "skip"},
        {"max_grade": 9},
    ):
        assert rejudged(judged, rl.Policy(**asked)) is None
    for given in ({"depth": 3}, {"judged_only": True}, {"ties": "average"}, {"ties": "input"}):
        assert rejudged(rl.judge(qrels, run, **given), rl.Policy(ties="ascending")) is None
    for asked in ({"depth": 2}, {"rel": 3}, {"ties": "average"}, {"judged_only": True}):
        same(rejudged(judged, rl.Policy(**asked)), rl.judge(qrels, run, **asked))
    assert rejudged(judged, judged.policy) is judged
