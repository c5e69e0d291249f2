"""The invariants of the registry for measures of whole rankings, properties of documents, preferences and training data.

Those of subtopics and evidence are in ``test_richer_judgments``, those of passages in ``tests/evidence``. What cannot hold is named in ``NOT``, with the reason.
"""

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from richer import RICH
from strategies import DOCS, QUERIES, judgments, runs

import ranklens as rl

pytestmark = pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
KINDS = ("rankings", "documents", "preferences", "strata", "probabilities", "navigational", "train")
MEASURES = {kind: [rl.measure(name) for name, needs in RICH.items() if needs == kind] for kind in KINDS}
PROPERTIES = {
    doc: {"group": "abc"[i % 3], "features": [i % 3, 1, i % 2], "understandability": i % 4 / 3}
    for i, doc in enumerate(DOCS)
}
TRAIN = {"u1": DOCS[:4], "u2": DOCS[2:9], QUERIES[0]: DOCS[1:3], QUERIES[1]: DOCS[5:7], "u3": DOCS[:1]}
NOT = {
    # A document that is judged for any other query is no hole, so a query alone has more of them.
    ("one query alone", "Hole"),
    # Goes on beyond rank k, to the k-th item that was not wanted.
}


def has(invariant, measure):
    return (invariant, measure.name) not in NOT


def preferences(qrels):
    """Every pair of documents with different grades."""
    return {query: [(a, b) for a in docs for b in docs if docs[a] > docs[b]] for query, docs in qrels.items()}


def values(kind, qrels, run, measures=None):
    """``{(measure, query): value}``"""
    asked = MEASURES[kind] if measures is None else measures
    if kind == "train":
        scores = rl.recommend.evaluate(TRAIN, qrels, run, asked, features=PROPERTIES).scores
    else:
        parts = {
            "rankings": {},
            "documents": {"documents": PROPERTIES},
            "preferences": {"preferences": preferences(qrels)},
            "navigational": {
                "subtopics": {
                    q: {"s": docs, "t": {doc: docs[doc] for doc in docs if DOCS.index(doc) % 2}}
                    for q, docs in qrels.items()
                },
                "navigational": {q: ["s"] for q in qrels},
            },
            "strata": {
                "strata": {q: {doc: DOCS.index(doc) % 3 for doc in docs} for q, docs in qrels.items()}
            },
            "probabilities": {
                "probabilities": {
                    q: {doc: 1 / (1 + DOCS.index(doc)) for doc in docs} for q, docs in qrels.items()
                }
            },
        }[kind]
        scores = rl.evaluate(rl.Judgments(qrels, **parts) if parts else qrels, run, asked)
    return {(str(m), q): v for m in asked for q, v in zip(scores.queries, scores[m].tolist(), strict=True)}


def test_every_measure_is_here_or_with_subtopics_and_evidence():
    assert {*RICH.values()} == {*KINDS, "subtopics", "evidence", "passages"}
    assert {name for _, name in NOT} <= {m.name for measures in MEASURES.values() for m in measures}


@pytest.mark.parametrize("kind", KINDS)
@given(qrels=judgments(min_size=1), run=runs())
def test_in_range_and_never_nan(kind, qrels, run):
    found = values(kind, qrels, run)
    assert len(found) == len(qrels) * len(MEASURES[kind])
    for (name, query), value in found.items():
        known = rl.measure(name).definition
        assert np.isfinite(value), (name, query)
        assert known.low - 1e-12 <= value <= known.high + 1e-12, (name, query)


@pytest.mark.parametrize("kind", KINDS)
@given(qrels=judgments(min_size=1), run=runs(), seed=st.integers(0, 9))
def test_the_order_of_queries_and_documents_does_not_matter(kind, qrels, run, seed):
    def shuffled(table):
        items = list(table.items())
        random.Random(seed).shuffle(items)
        return {key: shuffled(value) if isinstance(value, dict) else value for key, value in items}

    assert values(kind, shuffled(qrels), shuffled(run)) == pytest.approx(values(kind, qrels, run), abs=1e-12)


@pytest.mark.parametrize(
    "kind", ["documents", "preferences", "strata", "probabilities", "navigational", "train"]
)
@given(qrels=judgments(min_size=1), run=runs())
def test_one_query_equals_the_batch(kind, qrels, run):
    measures = [m for m in MEASURES[kind] if has("one query alone", m)]
    together = values(kind, qrels, run, measures)
    for q in qrels:
        alone = values(kind, {q: qrels[q]}, {q: run[q]} if q in run else {}, measures)
        assert alone == pytest.approx({key: v for key, v in together.items() if key[1] == q}, abs=1e-12)


@pytest.mark.parametrize("kind", ["rankings", "documents", "train"])
@given(qrels=judgments(min_size=1), run=runs())
def test_what_is_below_the_cutoff_changes_nothing(kind, qrels, run):
    """All of them are asked for at 3 here."""
    measures = [m for m in MEASURES[kind] if has("cut at k", m)]
    ranked = {
        q: sorted(docs, key=lambda doc, docs=docs: (-docs[doc], DOCS.index(doc))) for q, docs in run.items()
    }
    cut = {q: docs[:3] for q, docs in ranked.items()}
    assert values(kind, qrels, cut, measures) == pytest.approx(
        values(kind, qrels, ranked, measures), abs=1e-12
    )


@pytest.mark.parametrize("kind", KINDS)
@given(qrels=judgments(min_size=1), run=runs(min_docs=1).filter(bool))
def test_dicts_and_tables_give_the_same(kind, qrels, run):
    rows = [(q, d, float(x)) for q, docs in run.items() for d, x in docs.items()]
    table = pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")
    expected = values(kind, qrels, run)
    for ranked in (table, table.to_pandas(), table.to_arrow()):
        assert values(kind, qrels, ranked) == pytest.approx(expected, abs=1e-12)


def test_why_a_query_alone_has_more_holes():
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a", "b", "x"]}
    together, alone = rl.evaluate(qrels, run, "Hole@3"), rl.evaluate({"q1": {"a": 1}}, run, "Hole@3")
    assert together["Hole@3"][0] == pytest.approx(1 / 3)
    assert alone["Hole@3"][0] == pytest.approx(2 / 3)


def test_why_partial_auc_looks_below_the_cutoff():
    """The k-th item that was not wanted may be at any rank."""
    found = [
        rl.recommend.evaluate({"u": {"z"}}, {"u": {"c"}}, {"u": docs}, "pAUC@1").mean["pAUC@1"]
        for docs in (["a"], ["c", "a"])
    ]
    assert found == [0, 1]
