"""A first look at coarse scores changes no rank, whatever these can tell."""

import numpy as np
import pytest

import ranklens as rl

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install 'ranklens[gpu]'", exc_type=ImportError
)

from ranklens.models.embeddings import coarse, coarse_scores  # noqa: E402
from ranklens.models.embeddings.coarse_scores import ByteScores, HalfScores  # noqa: E402
from ranklens.models.embeddings.spaces import Dense  # noqa: E402

KINDS = [
    "any",
    "whole",
    "large whole",
    "equal",
    "close",
    "zero",
    "negative",
    "cancelling",
    "tiny",
    "common",
    "outlier",
]
LOOKS = [[HalfScores], [ByteScores], [ByteScores, HalfScores]]


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
    elif kind == "common":
        d += 30 * rng.normal(size=size)
    elif kind == "outlier":
        d[rng.integers(0, documents)] *= 1000
    return q.astype(np.float32), d.astype(np.float32)


@pytest.fixture(autouse=True)
def exact_product(monkeypatch):
    """Processors on which it is not exact do not take it."""
    if not coarse_scores._multiplies_bytes():
        monkeypatch.setattr(
            torch, "_int_mm", lambda a, b, out: out.copy_((a.double() @ b.double()).to(torch.int32))
        )


@pytest.fixture
def counted(monkeypatch):
    """How often a first look was taken, and how many queries it left to float32."""
    read, seen = coarse.CoarseSieve.read, []

    def watched(self, block, rows, first_doc, documents):
        left = read(self, block, rows, first_doc, documents)
        seen.append((len(rows), len(left)))
        return left

    monkeypatch.setattr(coarse.CoarseSieve, "read", watched)
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: LOOKS[2])
    monkeypatch.setattr(coarse, "_SMALL", 0)
    return seen


@pytest.mark.parametrize("looks", LOOKS)
@pytest.mark.parametrize("few", [1 << 30, 0])  # queries are left to float32: never, or soon
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_ranks_as_without(kind, similarity, few, looks, counted, monkeypatch):
    monkeypatch.setattr(coarse, "_FEW", few)
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: looks)
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
            without.setattr(coarse, "fast_kinds", lambda numbers: [])
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


@pytest.mark.parametrize("look", [HalfScores, ByteScores])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_scores_lie_in_their_intervals(kind, look):
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, d = vectors(rng, kind)
        space, rows = Dense(q, "dot"), np.arange(len(q))
        scores, block = look(space), space.open(d)
        found = scores.readable(scores.product(block, rows))
        exact = q.astype(float) @ d.astype(float).T
        row = np.repeat(rows, len(d))
        low, high = scores.interval(block, rows, row, exact.reshape(-1))
        assert (low <= found.reshape(-1)).all()
        assert (found.reshape(-1) <= high).all()
        assert (scores.highest(scores.product(block, rows)) >= found.max(axis=1)).all()


def test_later_blocks_may_be_of_another_size(counted, monkeypatch):
    """The scale comes from the first block, here of zeros or of tiny numbers; then nothing can be told, and finer scores are taken."""
    rng = np.random.default_rng(0)
    for first in (0.0, 1e-30, 1e-3):
        d = rng.normal(size=(200, 16)).astype(np.float32)
        d[:100] *= np.float32(first)
        d[150:] *= 1e4
        q, qrels = rng.normal(size=(5, 16)).astype(np.float32), {i: {i: 1, i + 120: 2} for i in range(5)}
        found = rl.evaluate_embeddings(q, d, qrels, "AP", batch=100)
        with monkeypatch.context() as without:
            without.setattr(coarse, "fast_kinds", lambda numbers: [])
            expected = rl.evaluate_embeddings(q, d, qrels, "AP", batch=100)
        assert found["AP"].tolist() == expected["AP"].tolist()


@pytest.mark.parametrize("look", [HalfScores, ByteScores])
@pytest.mark.parametrize("first", [0.0, 1e-30, 1e-3])
def test_intervals_of_much_larger_blocks_may_be_infinite(first, look):
    rng = np.random.default_rng(0)
    q, d = (rng.normal(size=(size, 16)).astype(np.float32) for size in (5, 100))
    q[0] = 0
    space, rows = Dense(q, "dot"), np.arange(len(q))
    scores = look(space)
    scores.product(space.open(d * np.float32(first)), rows)
    large = d * np.float32(1e4)
    block = space.open(large)
    found = scores.readable(scores.product(block, rows)).reshape(-1)
    exact = (q.astype(float) @ large.astype(float).T).reshape(-1)
    low, high = scores.interval(block, rows, np.repeat(rows, len(d)), exact)
    assert (low <= found).all()
    assert (found <= high).all()


def test_bytes_tell_most_documents_apart():
    """A margin that holds because it is far too wide would be useless."""
    rng = np.random.default_rng(0)
    q, d = rng.normal(size=(2, 2000, 384)).astype(np.float32)
    d += 5 * rng.normal(size=384).astype(np.float32)  # what all have in common does not widen it
    space = Dense(q[:50], "cosine")
    scores, block, rows = ByteScores(space), space.open(d), np.arange(50)
    found = scores.readable(scores.product(block, rows))
    low, high = scores.interval(block, rows, rows, space.exact(d, rows, rows))
    near = ((found >= low[:, None]) & (found <= high[:, None])).mean()
    assert near < 0.5, near


def full_products(monkeypatch):
    """Which queries were multiplied with a whole block, by the name of the scores."""
    taken = {}
    for look in LOOKS[2]:

        def watched(self, block, rows, most=None, name=look.__name__, product=look.product):
            if most is None:
                taken.setdefault(name, set()).update(rows.tolist())
            return product(self, block, rows, most)

        monkeypatch.setattr(look, "product", watched)
    return taken


def queries_that_need_each_kind():
    """Ten for which bytes are enough, ten that need halves, and ten that need float32."""
    rng = np.random.default_rng(0)
    d = rng.normal(size=(3000, 64)).astype(np.float32)
    q = np.concatenate([d[:10], rng.normal(size=(20, 64)).astype(np.float32)])
    d[:, 0], q[:, 0] = (
        40 * rng.choice([-1, 1], 3000),
        0,
    )  # one large number: the others become coarse as bytes
    best_first = np.argsort(-q @ d.T, axis=1)
    qrels = {str(i): {str(best_first[i, (0, 4, 1500)[i // 10]]): 1} for i in range(30)}
    return q, d, qrels


def test_each_query_gets_the_coarsest_scores_that_can_tell(counted, monkeypatch):
    """Bytes if the judged document is far ahead, halves if it is the fifth of 3,000, and float32 if it stands in the middle."""
    taken = full_products(monkeypatch)
    q, d, qrels = queries_that_need_each_kind()
    found = rl.evaluate_embeddings(q, d, qrels, "RR", batch=1000)
    easy, harder, hard = (set(range(first, first + 10)) for first in (0, 10, 20))
    assert taken["ByteScores"] >= easy
    assert not taken["HalfScores"] & easy
    assert taken["HalfScores"] >= harder
    assert not taken["ByteScores"] & hard
    assert [left for _, left in counted] == [10, 10, 10]
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: [])
    assert found["RR"].tolist() == rl.evaluate_embeddings(q, d, qrels, "RR", batch=1000)["RR"].tolist()


def test_a_block_read_while_queries_are_tried_tries_them_itself(counted, monkeypatch):
    """Each block is read while the one before is still being tried, as several threads may do."""
    taken = full_products(monkeypatch)
    product, waiting = ByteScores.product, []

    def all_at_once(self, work, blocks):
        waiting.extend(blocks)

        def interrupted(self, block, rows, most=None):
            if most is not None and waiting:
                work(*waiting.pop(0))
            return product(self, block, rows, most)

        monkeypatch.setattr(ByteScores, "product", interrupted)
        work(*waiting.pop(0))

    monkeypatch.setattr(coarse.CoarseSieve, "spread", all_at_once)
    q, d, qrels = queries_that_need_each_kind()
    found = rl.evaluate_embeddings(q, d, qrels, "RR", batch=1000)
    assert not waiting
    assert [left for _, left in counted] == [10, 10, 10]
    assert not taken["ByteScores"] & set(range(20, 30))
    assert not taken["HalfScores"] & set(range(10))
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: [])
    assert found["RR"].tolist() == rl.evaluate_embeddings(q, d, qrels, "RR", batch=1000)["RR"].tolist()


def test_it_is_only_taken_where_it_is_worth_it(counted, monkeypatch):
    vectors = np.eye(30, dtype=np.float32)
    qrels = {0: {0: 1}}
    rl.evaluate_embeddings(vectors, vectors, qrels, "RR", similarity="euclidean")
    rl.evaluate_embeddings(vectors, vectors, qrels, "RR", top=3)
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: [])
    rl.evaluate_embeddings(vectors, vectors, qrels, "RR")
    monkeypatch.setattr(coarse, "_SMALL", 1 << 30)
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: LOOKS[0])
    rl.evaluate_embeddings(vectors, vectors, qrels, "RR")
    assert not counted


def test_what_is_fast_depends_on_the_processor(monkeypatch):
    def kinds(*known, numbers=384, exact=True):
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(known, True), raising=False)
        for name in ("avx512_bf16", "vnni", "avx512_vnni"):
            monkeypatch.setattr(torch.cpu, f"_is_{name}_supported", lambda: False, raising=False)
        monkeypatch.setattr(coarse_scores, "_multiplies_bytes", lambda: exact)
        return coarse_scores.fast_kinds(numbers)

    assert kinds() == []
    assert kinds("avx512_bf16", "avx512_vnni") == [ByteScores, HalfScores]
    assert kinds("avx512_vnni") == [ByteScores]
    assert kinds("avx512_vnni", exact=False) == []
    assert kinds("amx_bf16", "amx_int8", numbers=100_000) == [HalfScores]
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert coarse_scores.fast_kinds(384) == []
