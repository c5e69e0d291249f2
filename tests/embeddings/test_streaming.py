"""The way of documents to a GPU, with a stand-in for the GPU whose copies are late: they happen when somebody waits for them."""

import threading

import numpy as np
import pytest

import ranklens as rl

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install 'ranklens[gpu]'", exc_type=ImportError
)

from ranklens.models.embeddings import streaming  # noqa: E402


class Late:
    """A copy that is made as late as possible, so that memory which is filled again too early shows."""

    def __init__(self, source, target):
        self.source, self.target, self.lock = source, target, threading.Lock()

    def synchronize(self):
        with self.lock:
            if self.source is not None:
                self.target.copy_(self.source)
                self.source = None


class Road:
    room = 4000

    def __init__(self):
        self.given = self.pinned = 0

    def there(self, rows, size, kind):
        self.given += 1
        return torch.full((rows, size), 77, dtype=torch.float32).to(kind)

    def here(self, size):
        self.pinned += 1
        return torch.zeros(size, dtype=torch.uint8)

    def send(self, source, target):
        return Late(source, target)

    def receive(self, chunk, sent):
        for one in sent:
            one.synchronize()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(streaming, "_PIECE", 500)
    monkeypatch.setattr(streaming, "THREADS", 3)


def blocks(documents, step):
    return ((i, documents[i : i + step]) for i in range(0, len(documents), step))


def together(chunks):
    """All documents, after a look at where chunks begin."""
    parts, rows = [], 0
    for first, chunk in chunks:
        assert first == rows
        rows += len(chunk)
        parts.append(chunk)
    return torch.cat(parts)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int8])
@pytest.mark.parametrize(("rows", "step"), [(1000, 100), (1000, 333), (1, 100), (257, 7), (90, 1000)])
def test_everything_arrives(kind, rows, step):
    documents = (100 * torch.randn(rows, 9)).to(kind)
    road = Road()
    found = together(streaming.carried(blocks(documents, step), road, None))
    assert found.dtype == kind
    assert torch.equal(found, documents)
    assert road.pinned <= 6  # memory that is pinned does not grow with the documents


def test_chunks_are_larger_than_blocks_and_than_pieces():
    documents = torch.randn(1000, 10)
    chunks = list(streaming.carried(blocks(documents, 7), Road(), None))
    assert [len(chunk) for _, chunk in chunks[:-1]] == [
        98
    ] * 10  # 4,000 bytes are 100 documents: 14 blocks of 7
    assert {len(chunk) for _, chunk in streaming.carried(blocks(documents, 50), Road(), 50)} == {50}


def test_chunks_come_one_by_one():
    """No more are on their way than are allowed, however many there are."""
    road, taken = Road(), 0
    for _ in streaming.carried(blocks(torch.randn(5000, 10), 100), road, None):
        taken += 1
        assert road.given - taken <= streaming._AHEAD
    assert taken == 50


def test_arrays_of_any_kind(tmp_path):
    documents = np.random.default_rng(0).normal(size=(300, 12)).astype(np.float32)
    np.save(tmp_path / "vectors.npy", documents)
    stored = np.load(tmp_path / "vectors.npy", mmap_mode="r")  # cannot be written to
    for given in (
        stored,
        documents.astype(">f4"),
        np.asfortranarray(documents),
        np.repeat(documents, 2, 1)[:, ::2],
    ):
        found = together(streaming.carried(blocks(given, 64), Road(), None))
        np.testing.assert_array_equal(found.numpy(), documents)
    half = torch.from_numpy(documents).bfloat16()[:, :5]  # cut, as dims does
    assert torch.equal(together(streaming.carried(blocks(half, 64), Road(), None)), half)


def test_blocks_of_two_kinds():
    """They do not share a chunk."""
    first, second = torch.randn(30, 4), torch.randn(20, 4).double()
    chunks = list(streaming.carried([(0, first), (30, second)], Road(), None))
    assert [(start, len(chunk), chunk.dtype) for start, chunk in chunks] == [
        (0, 30, torch.float32),
        (30, 20, torch.float64),
    ]


def test_what_goes_wrong_on_the_way_is_said():
    """And nobody waits for ever."""

    class Broken(Road):
        def send(self, source, target):
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        together(streaming.carried(blocks(torch.randn(5000, 10), 100), Broken(), None))


def test_a_reader_that_stops_early_leaves_no_thread():
    before = set(threading.enumerate())
    chunks = streaming.carried(blocks(torch.randn(5000, 10), 100), Road(), None)
    next(chunks)
    chunks.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=20)
        assert not thread.is_alive()


def test_a_walk_that_is_given_up_waits_for_no_thread():
    """It may be closed while its own thread holds a lock that the others need to end."""
    begun, closed, ended = threading.Event(), threading.Event(), threading.Event()

    class Slow(Road):
        sent = 0

        def send(self, source, target):
            self.sent += 1
            if self.sent == 20:  # of the chunks that are on their way when the first has arrived
                begun.set()
                assert closed.wait(timeout=20)
                ended.set()
            return super().send(source, target)

    chunks = streaming.carried(blocks(torch.randn(5000, 10), 100), Slow(), None)
    next(chunks)
    assert begun.wait(timeout=20)
    chunks.close()
    assert not ended.is_set()
    closed.set()
    assert ended.wait(timeout=20)


@pytest.mark.parametrize("similarity", ["dot", "cosine", "euclidean"])
def test_the_same_values_as_in_memory(similarity, monkeypatch):
    """A whole evaluation on the stand-in."""
    rng = np.random.default_rng(0)
    q, d = rng.normal(size=(20, 16)).astype(np.float32), rng.normal(size=(400, 16)).astype(np.float32)
    d[200:300] = d[:100]
    qrels = {i: {i: 2, i + 100: 1} for i in range(20)}
    expected = rl.evaluate_embeddings(q, d, qrels, "AP, nDCG", similarity=similarity, top=5)
    monkeypatch.setattr(
        "ranklens.models.embeddings.ranking.Ranking._device", lambda self, model: torch.device("cpu")
    )
    monkeypatch.setattr(
        streaming, "streamed_chunks", lambda blocks, device, batch: streaming.carried(blocks, Road(), batch)
    )
    for batch in (None, 33):
        found = rl.evaluate_embeddings(q, d, qrels, "AP, nDCG", similarity=similarity, top=5, batch=batch)
        assert found.per_query.equals(expected.per_query)
        assert found.run == expected.run
