"""Blocks on all cores: each once, one torch thread each, and errors in the order of the documents."""

import threading
import time

import numpy as np
import pytest

import ranklens as rl
from ranklens import InputError

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install 'ranklens[gpu]'", exc_type=ImportError
)

from ranklens.models.embeddings import coarse  # noqa: E402
from ranklens.models.embeddings.coarse_scores import ByteScores, HalfScores  # noqa: E402


@pytest.fixture(params=[1, 3, 20])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_every_block_once_and_on_threads_of_one_core(threads):
    seen, at_once = [], set()
    together = threading.Barrier(min(threads, coarse._MOST_THREADS))

    def work(number, block):
        if number < together.parties:
            together.wait(timeout=10)  # so every thread gets one
        seen.append((number, block))
        at_once.add((threading.get_ident(), torch.get_num_threads()))

    coarse.on_all_cores(work, ((i, str(i)) for i in range(50)))
    assert sorted(seen) == [(i, str(i)) for i in range(50)]
    assert len(at_once) == together.parties
    assert {number for _, number in at_once} == {1}
    assert torch.get_num_threads() == threads


def test_of_several_errors_that_of_the_first_block(threads):
    def work(number, block):
        if number == 2:
            time.sleep(0.05)  # the later one happens earlier
        if number in (2, 3):
            raise ValueError(number)

    with pytest.raises(ValueError, match="2"):
        coarse.on_all_cores(work, ((i, None) for i in range(1000)))
    assert torch.get_num_threads() == threads


def test_the_first_document_that_is_no_number_is_named(threads, monkeypatch):
    monkeypatch.setattr(coarse, "_SMALL", 0)
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: [HalfScores])
    d = np.ones((300, 4), np.float32)
    d[[77, 78, 290]] = np.nan
    with pytest.raises(InputError, match="'77'"):
        rl.evaluate_embeddings(d[:5], d, {0: {0: 1}}, "RR", batch=10)


@pytest.mark.parametrize("looks", [[ByteScores], [ByteScores, HalfScores]])
def test_queries_that_change_their_scores_meanwhile_are_counted_once(threads, looks, monkeypatch):
    """Many blocks, and queries that need finer scores from some block on, which each thread learns at another time."""
    monkeypatch.setattr(coarse, "_SMALL", 0)
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: looks)
    rng = np.random.default_rng(0)
    d = rng.normal(size=(6000, 24)).astype(np.float32)
    d[3000:] = d[:1] + 0.05 * d[3000:]  # from here on, all come near the first one
    q = d[rng.integers(0, 6000, 200)] + 0.1 * rng.normal(size=(200, 24)).astype(np.float32)
    qrels = {i: {int(j): 1 for j in rng.choice(6000, 3, replace=False)} for i in range(200)}
    found = rl.evaluate_embeddings(q, d, qrels, "AP", batch=50)
    monkeypatch.setattr(coarse, "fast_kinds", lambda numbers: [])
    expected = rl.evaluate_embeddings(q, d, qrels, "AP", batch=50)
    np.testing.assert_array_equal(found.judged.hits.rank, expected.judged.hits.rank)
