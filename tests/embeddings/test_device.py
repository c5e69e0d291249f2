"""Counting with torch gives the ranks of counting with NumPy. On a processor; ``benchmarks/gpu.py`` checks the same on a GPU."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ranklens as rl
from ranklens.models.embeddings.counting import Counter, read_blocks
from ranklens.models.embeddings.judged_ranks import TieOrder, Wanted
from ranklens.models.embeddings.similarity import exact_scores
from ranklens.models.embeddings.spaces import Dense

torch = pytest.importorskip(
    "torch", reason="torch is not installed: pip install 'ranklens[gpu]'", exc_type=ImportError
)

from ranklens.models.embeddings import device, device_nearest, streaming, tensor_scores  # noqa: E402

ORDER = TieOrder("descending")
torch.set_num_threads(1)  # the tensors are small, and threads that wait for each other are slow


def refuse(row):
    return ValueError(row)


def collection(rng, kind, dtype):
    """Vectors of a kind, in a precision, with some pairs to rank."""
    queries, documents, size = int(rng.integers(1, 20)), int(rng.integers(1, 90)), int(rng.integers(1, 40))
    q, d = torch.tensor(rng.normal(size=(queries, size))), torch.tensor(rng.normal(size=(documents, size)))
    if kind == "whole":
        q, d = q.round(), d.round()
    elif kind == "equal":
        d = d[torch.as_tensor(rng.integers(0, documents, documents))]
    elif kind == "same":
        d = d[:1].repeat(documents, 1)
    elif kind == "close":
        d = d[:1] * (1 + 1e-6 * d)
    elif kind == "zero":
        q[0], d[0] = 0, 0
    pairs = sorted(
        {
            (int(i), int(j))
            for i, j in zip(rng.integers(0, queries, 40), rng.integers(0, documents, 40), strict=True)
        }
    )
    query, doc = (np.array(one) for one in zip(*pairs, strict=True))
    return q.to(dtype), d.to(dtype), query, doc


def check(rng, kind, dtype, similarity):
    q, d, query, doc = collection(rng, kind, dtype)
    host_q, host_d = ((x.float() if dtype == torch.bfloat16 else x).numpy() for x in (q, d))
    space = Dense(host_q, similarity)
    wanted = Wanted(query, doc, space.exact(host_d, query, doc))
    expected = Counter(space, wanted, ORDER)
    read_blocks(space, [(i, host_d[i : i + 13]) for i in range(0, len(d), 13)], [expected], refuse)
    open_scores = Wanted(query, doc, np.full(len(doc), np.nan))
    found = device.DeviceCounter(
        q, d[torch.as_tensor(doc)], open_scores, similarity, ORDER, torch.device("cpu")
    )
    found.read(streaming.resident_chunks(d, 37), refuse, resident=True)
    for name in ("above", "same", "before"):
        np.testing.assert_array_equal(
            getattr(found.places, name), getattr(expected.places, name), f"{kind} {name}"
        )


@pytest.mark.parametrize(
    "strong_double", [False, True]
)  # whether step 2 is in float64, as on chips that are fast at it
@pytest.mark.parametrize("similarity", ["dot", "cosine", "euclidean"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int8])
def test_the_same_places_as_numpy(dtype, similarity, strong_double, monkeypatch):
    monkeypatch.setattr(device, "has_strong_double", lambda device: strong_double)
    rng = np.random.default_rng(0)
    for kind in ("any", "whole", "equal", "close", "zero"):
        for _ in range(4):
            check(rng, kind if dtype != torch.int8 else "whole", dtype, similarity)


def test_tensors_are_read_as_they_are():
    torch.manual_seed(0)
    q, d = torch.randn(9, 12).bfloat16(), torch.randn(80, 12).bfloat16().requires_grad_()
    qrels = {str(i): {str(i): 2, str(i + 9): 1} for i in range(9)}
    expected = rl.evaluate_embeddings(q.float().numpy(), d.detach().float().numpy(), qrels, "AP, nDCG")
    found = rl.evaluate_embeddings(q, d, qrels, "AP, nDCG", top=3)
    for name in ("AP", "nDCG"):
        np.testing.assert_array_equal(found[name], expected[name])
    scores = torch.tensor([0.5, 0.25, 0.75], dtype=torch.bfloat16)
    assert rl.evaluate_scores(scores, torch.tensor([1, 0, 0]), torch.tensor([3]), "RR").mean == {"RR": 0.5}


@pytest.mark.parametrize("chosen", ["dot", "cosine", "euclidean"])
def test_the_formula_is_the_same_to_the_last_bit(chosen):
    rng = np.random.default_rng(0)
    for size in [*range(1, 140), 192, 255, 256, 384, 768, 1000, 1023, 1536, 3072]:
        for rows in (1, 3, 200):
            q, d = rng.normal(size=(2, rows, size)) * 10.0 ** rng.integers(-6, 6, (2, rows, size))
            d[0] = 0
            expected = exact_scores(q, d, chosen)
            found = tensor_scores.exact_scores(torch.from_numpy(q), torch.from_numpy(d), chosen).numpy()
            np.testing.assert_array_equal(found, expected, f"{rows} rows of {size} numbers")
    assert tensor_scores.add(torch.zeros(2, 0)).tolist() == [0, 0]


def widened(product, queries):
    """What a GPU does with vectors in half precision: sums in float32."""
    return queries.float() @ product.documents.float().T


@pytest.mark.filterwarnings("ignore:1 query has no judged document left")
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("chosen", ["dot", "cosine", "euclidean"])
def test_the_best_documents_and_excluded_ones(chosen, dtype, monkeypatch):
    """A processor stands in for the GPU. Where more tie than are kept, all documents are looked at again."""
    monkeypatch.setattr(
        "ranklens.models.embeddings.ranking.Ranking._device", lambda self, model: torch.device("cpu")
    )
    monkeypatch.setattr(device_nearest, "_MORE", 3)
    if dtype == torch.bfloat16:
        monkeypatch.setattr(device, "widens", lambda *_: True)
        monkeypatch.setattr("ranklens.models.embeddings.device.Product._multiply", widened)
    rng = np.random.default_rng(0)
    looked_at_all = 0
    for kind in ("any", "whole", "equal", "same", "close", "zero") * 2:
        q, d, query, doc = collection(rng, kind, dtype)
        qrels = {str(i): {str(j): 1} for i, j in zip(query, doc, strict=True)}
        options = {
            "similarity": chosen,
            "top": 4,
            "exclude": [(0, 1), (0, 2), (1, 5)],
            "ties": "ascending",
        }
        with monkeypatch.context() as watched:
            watched.setattr(
                "ranklens.models.embeddings.ranking.read_blocks", lambda *_: pytest.fail("on the processor")
            )
            try:
                found = rl.evaluate_embeddings(q, d, qrels, "AP", batch=17, **options)
            except pytest.fail.Exception:
                looked_at_all += 1
        found = rl.evaluate_embeddings(q, d, qrels, "AP", batch=17, **options)
        with monkeypatch.context() as original:
            original.setattr("ranklens.models.embeddings.ranking.Ranking._device", lambda self, model: None)
            expected = rl.evaluate_embeddings(q, d, qrels, "AP", **options)
        np.testing.assert_array_equal(found["AP"], expected["AP"])
        assert found.run == expected.run  # the same scores to the last bit
        assert [list(docs) for docs in found.run.values()] == [list(docs) for docs in expected.run.values()]
    assert 0 < looked_at_all < 12  # both ways were taken


def test_nan_is_refused_by_name():
    bad = torch.randn(100, 8)
    bad[17, 3] = float("nan")
    wanted = Wanted(np.array([0]), np.array([1]), np.full(1, np.nan))
    for similarity in ("dot", "cosine", "euclidean"):
        counter = device.DeviceCounter(
            torch.randn(1, 8), bad[1:2], wanted, similarity, ORDER, torch.device("cpu")
        )
        with pytest.raises(ValueError, match="17"):
            counter.read(streaming.resident_chunks(bad, 30), refuse, resident=True)


def test_large_numbers_are_not_infinite():
    """Their squares are, in float32."""
    d = torch.tensor([[1e25, 0.0], [0.0, 1e25], [1e25, 1e25]])
    wanted = Wanted(np.array([0]), np.array([0]), np.full(1, np.nan))
    counter = device.DeviceCounter(
        torch.tensor([[1.0, 1.0]]), d[:1], wanted, "dot", ORDER, torch.device("cpu")
    )
    counter.read(streaming.resident_chunks(d), refuse, resident=True)
    assert (counter.places.above.tolist(), counter.places.same.tolist()) == ([1], [2])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there():
    with pytest.raises(rl.InputError, match=r"device='cuda' cannot be used.*Leave device out"):
        rl.evaluate_embeddings(np.eye(2), np.eye(2), {0: {0: 1}}, "RR", device="cuda")
    with pytest.raises(rl.InputError, match="device='meta-nonsense' cannot be used"):
        rl.evaluate_embeddings(np.eye(2), np.eye(2), {0: {0: 1}}, "RR", device="meta-nonsense")


INTERPRETED = """
import numpy as np, torch
from ranklens.models.embeddings import device, kernel
kernel._SHAPE.update(BM=16, BN=32, BK=16, GROUP=2)
device.load_kernel = lambda _: kernel
import test_device
rng = np.random.default_rng(1)
for similarity in ("dot", "cosine", "euclidean"):
    for kind in ("any", "whole", "equal", "close", "zero"):
        test_device.check(rng, kind, torch.float16, similarity)
print("the same")
"""


@pytest.mark.slow
def test_the_kernel_counts_the_same():
    """Triton's interpreter runs the kernel on a processor; it cannot multiply bfloat16, so float16 stands in."""
    pytest.importorskip("triton", reason="triton is not installed: pip install triton", exc_type=ImportError)
    here = os.path.dirname(__file__)
    paths = os.pathsep.join([here, os.path.dirname(here), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "the same", done.stderr
