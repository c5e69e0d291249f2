"""What an approximate index loses, against a count by hand."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl

DOCS = st.sampled_from("abcdefgh")
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), st.dictionaries(DOCS, st.integers(0, 4)))


def by_hand(approximate, exact, k):
    """The largest overlap with any k documents that could be the exact best, since tied ones may come in any order."""
    found = []
    for query, docs in exact.items():
        answers = approximate.get(query, {})
        top = set(sorted(answers, key=lambda doc: -answers[doc])[:k])
        wanted = min(k, len(docs))
        sets = [set(some) for some in combinations(docs, wanted)]
        best = max((sum(docs[doc] for doc in some) for some in sets), default=0)
        exact_sets = [some for some in sets if sum(docs[doc] for doc in some) == best]
        found.append(max(len(top & some) for some in exact_sets) / wanted if wanted else 1.0)
    return found


def agreeing_pairs(approximate, exact):
    """How many pairs of documents both have in the same order, and in opposite ones; the exact run puts others last."""
    found = [0, 0]
    for query in set(approximate) & set(exact):
        a, b = approximate[query], exact[query]
        last = min(b.values(), default=0) - 1
        for one, other in combinations(a, 2):
            if (product := (a[one] - a[other]) * (b.get(one, last) - b.get(other, last))) != 0:
                found[product < 0] += 1
    return found


@given(RUNS, RUNS.filter(bool), st.integers(1, 9))
def test_equal_to_a_count_by_hand(approximate, exact, k):
    same, opposite = agreeing_pairs(approximate, exact)
    if not set(approximate) & set(exact) or (opposite >= 6 and opposite > 10 * same):
        with pytest.raises(rl.InputError, match=r"have no query in common|seems to contain distances"):
            rl.ann_recall(approximate, exact, k)
        return
    found = rl.ann_recall(approximate, exact, k)
    assert found.queries == tuple(exact)
    assert found.values.tolist() == by_hand(approximate, exact, k)
    assert found.mean == pytest.approx(np.mean(by_hand(approximate, exact, k)))
    assert found.interval.low <= found.mean <= found.interval.high


@given(st.lists(DOCS, unique=True, min_size=1), st.lists(DOCS, unique=True), st.integers(1, 9))
def test_lists_without_ties_are_sets_of_k(exact, approximate, k):
    found = rl.ann_recall({"q": approximate}, {"q": exact}, k)
    assert found.mean == len(set(approximate[:k]) & set(exact[:k])) / min(k, len(exact))


@pytest.mark.parametrize(
    ("approximate", "exact", "k", "expected"),
    [
        ({"a": ["x"]}, {"a": ["x"], "b": ["y"]}, 1, [1, 0]),  # a query that was not answered
        ({"a": ["x"], "other": ["z"]}, {"a": ["x"]}, 1, [1]),  # a query that was not asked
        ({"a": ["x", "y"]}, {"a": ["x", "y"]}, 5, [1]),  # fewer than k on both sides
        ({"a": ["x"]}, {"a": ["x", "y", "z"]}, 3, [1 / 3]),  # fewer than k answers
        ({"a": []}, {"a": ["x"]}, 1, [0]),  # no answers
        ({"a": ["x"]}, {"a": []}, 1, [1]),  # nothing to find
        ({"a": ["z", "x"]}, {"a": {"x": 2.0, "y": 1.0, "z": 1.0}}, 2, [1]),  # z ties with the second
        ({"a": ["z", "y"]}, {"a": {"x": 2.0, "y": 1.0, "z": 1.0}}, 2, [0.5]),  # x is missed for two that tie
        ({"a": {"y": 0.1, "x": 0.9}}, {"a": ["x", "y"]}, 1, [1]),  # by score, not by place
        ({7: [1, 2]}, {"7": ["1", "3"]}, 2, [0.5]),  # ids are text
    ],
)
def test_edges(approximate, exact, k, expected):
    assert rl.ann_recall(approximate, exact, k).values.tolist() == expected


@pytest.mark.parametrize(
    ("approximate", "exact", "k", "message"),
    [
        ({"a": ["x"]}, {"a": ["x"]}, 0, "k=0 is not allowed"),
        ({"a": ["x"]}, {"a": ["x"]}, "2", "k='2' is not allowed"),
        ({"a": ["x"]}, {"a": ["x"]}, np.ones((2, 2)), "is not allowed"),
        ({"b": ["x"]}, {"a": ["x"]}, 1, "have no query in common"),
        ({}, {"a": ["x"]}, 1, "have no query in common"),
        ({"a": ["x"]}, {}, 1, "The exact run has no queries"),
        ([["x"]], {"a": ["x"]}, 1, "approximate is a list"),
        (
            {"a": {"x": float("nan")}},
            {"a": ["x"]},
            1,
            "approximate: the score of document 'x' for query 'a' is nan",
        ),
        ({"a": ["x"]}, {"a": {"x": None}}, 1, "exact: the score of document 'x' for query 'a' is None"),
    ],
)
def test_what_is_refused(approximate, exact, k, message):
    with pytest.raises(rl.InputError, match=message):
        rl.ann_recall(approximate, exact, k)


def test_repeated_answers_are_told():
    with pytest.warns(rl.RankLensWarning, match=r"approximate: 1 repeated document was dropped"):
        assert rl.ann_recall({"a": ["x", "x", "y"]}, {"a": ["x", "y"]}, 2).mean == 1


@pytest.mark.filterwarnings(r"ignore:[\d,]+ judged documents? (is|are) not among")
def test_what_measures_lose_is_the_difference_of_two_evaluations():
    rng = np.random.default_rng(0)
    d = rng.normal(size=(300, 8)).astype(np.float32)
    q = d[:40] + 0.5 * rng.normal(size=(40, 8)).astype(np.float32)
    qrels = {str(i): {str(i): 1, str(i + 40): 1} for i in range(40)}
    exact = rl.evaluate_embeddings(q, d, qrels, "nDCG@10", top=10).run
    # An index that lacks the first twenty documents, each of them the best one of a query.
    part = rl.evaluate_embeddings(q, d[20:], qrels, "nDCG@10", top=10, doc_ids=range(20, 300)).run
    found = rl.ann_recall(part, exact, 10, qrels=qrels, measures=["nDCG@10", "R@5"])
    best = [set(np.argsort(-(d.astype(float) @ one))[:10].tolist()) for one in q.astype(float)]
    assert found.values.tolist() == [sum(doc >= 20 for doc in docs) / 10 for docs in best]
    before, after = (rl.evaluate(qrels, run, ["nDCG@10", "R@5"]).mean for run in (exact, part))
    assert found.lost == {name: before[name] - after[name] for name in before}
    assert found.lost["nDCG@10"] > 0
    assert found.per_query["recall"].to_list() == found.values.tolist()
    assert "recall of the exact top 10" in str(found)
    assert rl.ann_recall(exact, exact, 10, qrels=qrels).lost == {"nDCG@10": 0, "R@10": 0}


def an_index_with_copies(copies, documents=60):
    rng = np.random.default_rng(1)
    d = np.repeat(rng.integers(-3, 4, (documents, 4)), copies, axis=0)
    return rng.integers(-3, 4, (20, 4)), d


@pytest.mark.parametrize("copies", [1, 2, 5])
@pytest.mark.parametrize("exclude", [None, "self"])
def test_an_exact_index_has_recall_1_whichever_of_equal_documents_it_finds(copies, exclude):
    q, d = an_index_with_copies(copies)
    exact = rl.evaluate_embeddings(q, d, {i: {i + 1} for i in range(20)}, "RR", top=10, exclude=exclude).run
    assert all(len(docs) == 10 for docs in exact.values())
    score = q @ d.T
    if exclude:
        score[np.arange(20), np.arange(20)] = -1000
    for tie_order in (np.arange(len(d)), -np.arange(len(d)), np.random.default_rng(0).random(len(d))):
        found = {i: np.lexsort((tie_order, -score[i]))[:10].tolist() for i in range(20)}
        assert rl.ann_recall(found, exact, 10).mean == 1
        missed = {i: [*docs[1:], int(np.argmin(score[i]))] for i, docs in found.items()}
        assert rl.ann_recall(missed, exact, 10).values.tolist() == [0.9] * 20


def test_more_ties_than_are_kept_are_told():
    q, d = np.ones((2, 3)), np.ones((500, 3))
    exact = rl.evaluate_embeddings(q, d, {0: {0}, 1: {1}}, "RR", top=3, batch=100).run
    with pytest.warns(
        rl.RankLensWarning, match="Of 1 query, more documents tie with the last of the exact run"
    ):
        found = rl.ann_recall({0: [7, 8, 9], 1: list(exact["1"])}, exact, 3)
    assert found.values[1] == 1


def test_minus_one_is_no_document():
    """FAISS pads with it where it found fewer than k."""
    padded = {0: np.array([4, 2, -1, -1]), 1: [(5, 0.5), (-1, -3.4e38), (-1, -3.4e38)], 2: {3: 0.2, -1: -1.0}}
    exact = {0: [4, 2, 7, 8], 1: [5, 6], 2: [3, 9]}
    assert rl.ann_recall(padded, exact, 4).values.tolist() == [0.5, 0.5, 0.5]
    rows = [(0, 4, 0.9), (0, 2, 0.8), (0, -1, -3.4e38), (0, -1, -3.4e38)]
    table = pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")
    assert rl.ann_recall(table, {0: exact[0]}, 4).mean == 0.5
    listed = {0: [[doc, score] for _, doc, score in rows]}
    assert rl.ann_recall(listed, {0: exact[0]}, 4).mean == 0.5


def test_distances_are_refused():
    rng = np.random.default_rng(0)
    d = rng.normal(size=(50, 4))
    q = d[:5] + 0.1 * rng.normal(size=(5, 4))
    exact = rl.evaluate_embeddings(q, d, {i: {i} for i in range(5)}, "RR", similarity="euclidean", top=20).run
    distances = {query: {doc: -score for doc, score in docs.items()} for query, docs in exact.items()}
    for pair in (
        (distances, exact),
        (exact, distances),
        (distances, {q: list(docs) for q, docs in exact.items()}),
        tuple({q: [*docs.items()] for q, docs in run.items()} for run in (distances, exact)),
        (distances, {q: list(docs)[:1] for q, docs in exact.items()}),
    ):
        with pytest.raises(
            rl.InputError, match=r"in opposite orders.* pass \{document: -distance\}, or lists"
        ):
            rl.ann_recall(*pair)
    assert rl.ann_recall({query: list(docs) for query, docs in distances.items()}, exact).mean == 1


def test_tables_are_runs_too():
    table = pl.DataFrame({"query": ["a", "a"], "doc": ["x", "y"], "score": [2.0, 1.0]})
    assert rl.ann_recall(table, {"a": ["x", "z"]}, 2).mean == 0.5
    assert rl.ann_recall({"a": ["x"]}, table, 1).mean == 1
