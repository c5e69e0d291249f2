"""Oracle: pyndeval, which is ndeval: values of version 0.0.8 (golden/ndeval.json), and live where it is installed.

pyndeval orders ties by ascending document id.
"""

import json
import random
from pathlib import Path

import pytest

import ranklens as rl

CUTOFFS = (1, 2, 3, 5, 10, 20)
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "ndeval.json").read_text(encoding="utf-8"))
NAMES = {
    "ERR-IA": "ERR_IA(compat=ndeval)",
    "nERR-IA": "nERR_IA",
    "alpha-DCG": "alpha_DCG(compat=ndeval)",
    "alpha-nDCG": "alpha_nDCG",
    "P-IA": "P_IA",
    "strec": "StRecall",
}


def collection(seed, queries=30, ties=False):
    rng, qrels, run = random.Random(seed), {}, {}
    for q in range(queries):
        docs = [f"d{rng.randrange(1000)}" for _ in range(rng.randint(1, 60))]
        topics = {}
        for s in range(rng.randint(1, 6)):
            judged = rng.sample(docs, rng.randint(1, len(docs)))
            topics[f"{s}"] = {doc: rng.choice([0, 1, 1, 2]) for doc in judged}
        qrels[f"q{q}"] = topics
        found = {*rng.sample(docs, rng.randint(1, len(docs))), *(f"x{i}" for i in range(rng.randint(0, 9)))}
        run[f"q{q}"] = {doc: float(rng.randint(0, 6)) if ties else rng.random() for doc in sorted(found)}
    return qrels, run


def ours(name, alpha):
    base, _, k = name.partition("@")
    measure = rl.measure(f"{NAMES[base]}@{k}" if k else {"MAP-IA": "AP_IA"}.get(base, base))
    return measure.replace(alpha=alpha) if "alpha" in measure.definition.parameters else measure


def theirs(qrels, run, alpha):
    import pyndeval

    judged = [
        pyndeval.SubtopicQrel(query_id=q, subtopic_id=s, doc_id=d, relevance=g)
        for q, topics in qrels.items()
        for s, docs in topics.items()
        for d, g in docs.items()
    ]
    ranked = [pyndeval.ScoredDoc(q, d, s) for q, docs in run.items() for d, s in docs.items()]
    return pyndeval.ndeval(judged, ranked, measures=names(), alpha=alpha)


def names():
    return [f"{m}@{k}" for m in NAMES for k in CUTOFFS] + ["NRBP", "nNRBP", "MAP-IA"]


def compare(qrels, run, expected, alpha):
    for name in names():
        measure = ours(name, alpha)
        scores = rl.evaluate(qrels, run, measure, ties="ascending")
        for query, value in zip(scores.queries, scores[measure].tolist(), strict=True):
            if query in expected:
                wanted = expected[query][
                    name
                ]  # not a number where ndeval divides 0 by 0: no document is relevant
                assert value == pytest.approx(0 if wanted != wanted else wanted, abs=1e-9), (name, query)  # noqa: PLR0124


@pytest.mark.parametrize("alpha", ["0.5", "0.25"])
def test_equals_recorded_values(alpha):
    qrels, run = collection(7, queries=12, ties=True)
    compare(qrels, run, GOLDEN[alpha], float(alpha))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 0.25])
@pytest.mark.parametrize("seed", range(4))
def test_equals_pyndeval(seed, alpha, ties):
    pytest.importorskip("pyndeval")
    qrels, run = collection(seed, ties=ties)
    compare(qrels, run, theirs(qrels, run, alpha), alpha)


def test_the_quirk_of_ndeval_at_the_first_rank():
    """One of three subtopics is covered: 1/3 is meant, ndeval prints 1."""
    qrels = {"q": {"1": {"a": 1}, "2": {"b": 1}, "3": {"c": 1}}}
    found = rl.evaluate(qrels, {"q": ["a"]}, ["ERR_IA@1", "ERR_IA(compat=ndeval)@1", "alpha_DCG@1"]).mean
    assert found == pytest.approx({"ERR_IA@1": 1 / 3, "ERR_IA(compat=ndeval)@1": 1, "alpha_DCG@1": 1 / 3})
