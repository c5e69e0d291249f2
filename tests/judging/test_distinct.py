"""Documents numbered in the order of their ids, against sorting them one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import DOCS

import ranklens as rl
from ranklens.judging.distinct import distinct

ids = st.one_of(st.sampled_from(DOCS[:-1]), st.from_regex(r"d[0-9]{2}", fullmatch=True))


def numbered(by_query):
    query = np.repeat(np.arange(len(by_query)), [len(docs) for docs in by_query])
    return distinct("".join(f"{doc}\n" for docs in by_query for doc in docs).encode(), query)


@given(st.lists(st.lists(ids, min_size=1, max_size=6), min_size=1, max_size=4))
def test_equals_sorting_one_by_one(by_query):
    found = numbered(by_query)
    if found is None:
        return
    entries = [(q, doc) for q, docs in enumerate(by_query) for doc in docs]
    expected = sorted({*entries})
    assert [expected[row] for row in found.row.tolist()] == entries
    assert [entries[entry] for entry in found.first.tolist()] == expected
    assert found.first.tolist() == [entries.index(entry) for entry in expected]


def test_what_cannot_be_numbered():
    assert numbered([["a", "b"]]) is not None
    assert numbered([["z" * 65, "b"]]) is None  # too long
    assert numbered([["a\nb", "b"]]) is None  # the end of a line in an id
    assert numbered([["a\0", "a"]]) is None
    assert numbered([["0123456789abcdef", "fedcba9876543210"]]) is None  # too many different ids
    assert numbered([["a"], ["b"] * 100, *[["a"]] * 50]) is None  # queries of very different sizes


@pytest.mark.parametrize("retrieved", [5, 300])
@pytest.mark.parametrize("judged", [4, 150])
@pytest.mark.parametrize("ties", ["ascending", "descending", "input", "average"])
def test_ids_that_can_be_numbered_and_others_give_the_same(retrieved, judged, ties):
    """Whole numbers, which are never numbered by their text, in the order of that text."""
    rng = np.random.default_rng(retrieved + judged)
    qrels, run = {}, {}
    for query in ("q1", "q2", "q3"):
        docs = rng.permutation(900)[: max(retrieved, judged)] + 100
        qrels[query] = {s: dict.fromkeys(rng.permutation(docs)[:judged].tolist(), 1) for s in "abc"}
        run[query] = dict.fromkeys(rng.permutation(docs)[:retrieved].tolist(), 0.0)
        run[query] = {doc: float(rng.integers(retrieved)) for doc in run[query]}
    text = {q: {s: {str(d): g for d, g in docs.items()} for s, docs in by.items()} for q, by in qrels.items()}
    ranked = {q: {str(d): s for d, s in docs.items()} for q, docs in run.items()}
    measures = ["alpha_nDCG@20", "alpha_nDCG", "ERR_IA@5", "AP_IA", "StRecall@3", "nDCG@10"]
    expected = rl.evaluate(qrels, run, measures, ties=ties)
    for gold in (text, rl.judgments(text)):
        assert rl.evaluate(gold, ranked, measures, ties=ties).per_query.equals(expected.per_query)
    assert rl.evaluate(text, run, measures, ties=ties).per_query.equals(expected.per_query)
