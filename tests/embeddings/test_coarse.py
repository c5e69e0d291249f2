"""A first look in bfloat16 changes no rank, whatever it can tell."""

import numpy as np
import pytest

import ranklens as rl

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install 'ranklens[gpu]'", exc_type=ImportError
)

from ranklens.embeddings import coarse  # noqa: E402
from ranklens.embeddings.counting import Counter  # noqa: E402
from ranklens.embeddings.judged_ranks import TieOrder, Wanted  # noqa: E402
from ranklens.embeddings.spaces import Dense  # noqa: E402

KINDS = ["any", "whole", "large whole", "equal", "close", "zero", "negative", "cancelling", "tiny"]


def vectors(rng, kind):
    queries, documents, size = int(rng.integers(1, 30)), int(rng.integers(1, 200)), int(rng.integers(1, 70))
    q, d = rng.normal(size=(queries, size)), rng.normal(size=(documents, size))
    if kind in ("whole", "large whole"):
        scale = 1 if kind == "whole" else 700
        q, d = (scale * q).round(), (scale * d).round()
    elif kind == "equal":
        d = d[rng.integers(0, documents, documents)]
    elif kind == "close":
        d = d[:1] * (1 + 1e-3 * d)
    elif kind == "zero":
        q[0], d[::3] = 0, 0
    elif kind == "negative":
        q, d = np.abs(q), -np.abs(d)
    elif kind == "cancelling":
        half = size // 2
        q[:, half : 2 * half], d[:, half : 2 * half] = q[:, :half], -d[:, :half] * (1 + 1e-4)
    elif kind == "tiny":
        q, d = q * 1e-20, d * 1e-20
    return q.astype(np.float32), d.astype(np.float32)


@pytest.fixture
def counted(monkeypatch):
    """How often a first look was taken, and how many queries it left to float32."""
    read, seen = coarse.CoarseSieve.read, []

    def watched(self, block, rows, first_doc, documents):
        left = read(self, block, rows, first_doc, documents)
        seen.append((len(rows), len(left)))
        return left

    monkeypatch.setattr(coarse.CoarseSieve, "read", watched)
    monkeypatch.setattr(coarse, "is_fast", lambda: True)
    monkeypatch.setattr(coarse, "_SMALL", 0)
    return seen


@pytest.mark.parametrize("few", [1 << 30, 0])  # queries are left to float32: never, or soon
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_ranks_as_without(kind, similarity, few, counted, monkeypatch):
    monkeypatch.setattr(coarse, "_FEW", few)
    rng = np.random.default_rng(0)
    for _ in range(6):
        q, d = vectors(rng, kind)
        qrels = {
            str(i): {str(j): 1 + int(j) % 3 for j in rng.choice(len(d), min(4, len(d)), replace=False)}
            for i in range(len(q))
        }
        options = {
            "similarity": similarity,
            "batch": 61,
            "measures": "AP, nDCG, NumRelRet",
            "ties": "ascending",
        }
        found = rl.evaluate_embeddings(q, d, qrels, **options)
        with monkeypatch.context() as without:
            without.setattr(coarse, "is_fast", lambda: False)
            expected = rl.evaluate_embeddings(q, d, qrels, **options)
        for name in ("AP", "nDCG", "NumRelRet"):
            np.testing.assert_array_equal(found[name], expected[name], f"{kind} {name}")
        np.testing.assert_array_equal(found.judged.hits.rank, expected.judged.hits.rank)
    assert counted
    if few:
        assert not any(left for _, left in counted)


def test_queries_that_it_cannot_tell_are_left_to_float32(counted):
    rng = np.random.default_rng(0)
    d = rng.normal(size=(3000, 32)).astype(np.float32)
    good, bad = d[:10], rng.normal(size=(10, 32)).astype(np.float32)
    qrels = {str(i): {str(i): 1} for i in range(20)}  # the last ten have judged documents at random places
    rl.evaluate_embeddings(np.concatenate([good, bad]), d, qrels, "RR", batch=1000)
    assert [rows for rows, _ in counted] == [20, 20, 20]
    assert 0 < counted[-1][1] <= 10


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_within_their_margin(kind):
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, d = vectors(rng, kind)
        space = Dense(q, "dot")
        nothing = np.zeros(0, np.int64)
        counter = Counter(space, Wanted(nothing, nothing, np.zeros(0)), TieOrder("descending"))
        sieve, block, rows = coarse.CoarseSieve(space, counter), space.open(d), np.arange(len(q))
        found = coarse._widened(sieve._product(block, rows)).astype(float)
        exact = q.astype(float) @ d.astype(float).T
        margin = sieve._margin(block.documents, rows)[:, None]
        assert (np.abs(found - exact) <= margin + 2.0**-8 * (np.abs(exact) + margin) + 2.0**-125).all()


def test_it_is_only_taken_where_it_is_worth_it(counted, monkeypatch):
    vectors = np.eye(30, dtype=np.float32)
    qrels = {0: {0: 1}}
    rl.evaluate_embeddings(vectors, vectors, qrels, "RR", similarity="euclidean")
    rl.evaluate_embeddings(vectors, vectors, qrels, "RR", top=3)
    monkeypatch.setattr(coarse, "is_fast", lambda: False)
    rl.evaluate_embeddings(vectors, vectors, qrels, "RR")
    monkeypatch.setattr(coarse, "_SMALL", 1 << 30)
    monkeypatch.setattr(coarse, "is_fast", lambda: True)
    rl.evaluate_embeddings(vectors, vectors, qrels, "RR")
    assert not counted
    assert isinstance(coarse.is_fast(), bool)
