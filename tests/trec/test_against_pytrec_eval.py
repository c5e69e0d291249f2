"""Oracle: pytrec_eval (trec_eval 9.0.8), to the last bit on scores that are exact in 32 bits."""

import numpy as np
import pytest
import pytrec_eval
from hypothesis import assume, given
from strategies import judgments, runs

import ranklens as rl

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
NAMES = {
    name: name
    for name in [
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "map",
        "Rprec",
        "bpref",
        "recip_rank",
        "infAP",
        "utility",
        "binG",
        "G",
        "ndcg",
        "ndcg_rel",
        "Rndcg",
        "set_P",
        "set_relative_P",
        "set_recall",
        "set_map",
        "set_F",
        "num_nonrel_judged_ret",
    ]
}
NAMES |= {
    f"{m}_{k}": f"{m}_{k}" for m in ("P", "recall", "ndcg_cut", "map_cut", "relative_P") for k in CUTOFFS
}
NAMES |= {f"success_{k}": f"success_{k}" for k in (1, 5, 10)}
NAMES |= {f"Rprec_mult_{x / 5:.2f}": f"Rprec_mult@{x / 5}" for x in range(1, 11)}
# Version 9 turns recall levels into documents by another rule.
NAMES |= {f"iprec_at_recall_{r / 10:.2f}": f"IPrec(rounding=trec9)@{r / 10}" for r in range(11)}
NAMES |= {"11pt_avg": "AP11(rounding=trec9)"}
# Logarithms of older NumPy differ from C's in the last bit.
EXACT = int(np.__version__.partition(".")[0]) >= 2
ASKED = {name.rpartition("_")[0] if name[-1].isdigit() else name for name in NAMES}


def exactly(value):
    return value if EXACT else pytest.approx(value, rel=1e-15, abs=1e-15)


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@given(qrels=judgments(min_size=1), run=runs(min_docs=1))
def test_every_measure(qrels, run):
    # pytrec_eval refuses or invents values where a query has no judgment of 0 or more.
    qrels = {q: docs for q, docs in qrels.items() if max(docs.values()) >= 1}
    assume(qrels.keys() & run.keys())
    theirs = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run)
    scores = rl.evaluate(qrels, run, list(NAMES.values()), missing="skip")
    assert set(scores.queries) == set(theirs)
    for their_name, our_name in NAMES.items():
        for query, value in zip(scores.queries, scores[our_name], strict=True):
            assert value == exactly(theirs[query][their_name]), (their_name, query)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_large_collection_with_ties(level):
    """200 queries x 300 documents, of which many tie, at each relevance level."""
    import random

    rnd = random.Random(level)
    docs = [f"D{n}" for n in rnd.sample(range(10**6), 2000)]
    run = {
        f"q{q}": {d: rnd.choice([rnd.random(), 0.5, 0.25]) for d in rnd.sample(docs, 300)} for q in range(200)
    }
    run = {q: {d: float(int(s * 4096)) / 4096 for d, s in ranking.items()} for q, ranking in run.items()}
    qrels = {q: {d: rnd.choice([-1, 0, 0, 1, 2, 3]) for d in rnd.sample(docs, 150)} for q in run}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level).evaluate(run)
    scores = rl.evaluate(qrels, run, list(NAMES.values()), rel=level)
    for their_name, our_name in NAMES.items():
        measure = rl.measure(our_name)
        if "rel" in measure.definition.parameters:
            measure = measure.replace(rel=level)
        for query, value in zip(scores.queries, scores[measure], strict=True):
            assert value == exactly(theirs[query][their_name]), (their_name, query)
