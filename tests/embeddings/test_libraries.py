"""Arrays of other libraries have the values of NumPy's, wherever an array can be given; and no library is imported for that."""

import subprocess
import sys
import types

import numpy as np
import pytest

import ranklens as rl
from ranklens.models import training
from ranklens.models.embeddings.vectors import as_array, kept_on_gpu, on_gpu


def need(module):
    package = module.partition(".")[0].replace("_", "-")
    return pytest.importorskip(
        module, reason=f"{package} is not installed: pip install {package}", exc_type=ImportError
    )


class CuPyArray:
    """As CuPy's arrays: of a module with that name, on a GPU, and not to be converted without ``get``."""

    def __init__(self, values):
        self._values, self.shape, self.ndim = values, values.shape, values.ndim

    def __dlpack_device__(self):
        return 2, 0

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __len__(self):
        return len(self._values)

    def get(self):
        return self._values

    def tolist(self):
        return self._values.tolist()


CuPyArray.__module__ = "cupy._core.core"


def cupy_like(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # with it, the array would be handed to torch on the GPU
    return CuPyArray


@pytest.fixture(params=["numpy", "torch", "jax.numpy", "array_api_strict", "as CuPy"])
def asarray(request, monkeypatch):
    if request.param == "as CuPy":
        return cupy_like(monkeypatch)
    return need(request.param).asarray


def vectors():
    rng = np.random.default_rng(0)
    q, d = rng.normal(size=(9, 12)).astype(np.float32), rng.normal(size=(80, 12)).astype(np.float32)
    d[40:60] = d[:20]
    return q, d, {i: {i: 2, i + 9: 1} for i in range(9)}


@pytest.mark.parametrize("similarity", ["dot", "cosine", "euclidean"])
def test_embeddings(asarray, similarity):
    q, d, qrels = vectors()
    options = {"similarity": similarity, "top": 4, "exclude": [(0, 1)]}
    expected = rl.evaluate_embeddings(q, d, qrels, "AP, nDCG", **options)
    whole = asarray(d)
    for documents in (
        whole,
        [asarray(d[:30]), asarray(d[30:])],
        lambda: iter([asarray(d)]),
        iter([asarray(d)]),
    ):
        found = rl.evaluate_embeddings(asarray(q), documents, qrels, "AP, nDCG", **options)
        assert found.per_query.equals(expected.per_query)
        assert found.run == expected.run


def test_ids_are_numbers_not_objects(asarray):
    q, d, qrels = vectors()
    ids = np.arange(100, 180)
    named = {100 + query: {100 + doc: grade for doc, grade in docs.items()} for query, docs in qrels.items()}
    found = rl.evaluate_embeddings(
        q, d, named, "AP", query_ids=asarray(ids[:9]), doc_ids=asarray(ids), ties="average"
    )
    assert found["AP"].tolist() == rl.evaluate_embeddings(q, d, qrels, "AP", ties="average")["AP"].tolist()
    scores = rl.evaluate_scores(
        [0.5, 0.9, 0.1], [1, 0, 1], [2, 1], "RR", query_ids=asarray(ids[:2]), doc_ids=asarray(ids[:3])
    )
    assert scores.queries == ["100", "101"]
    assert scores.sources.run["100"] == {"100": 0.5, "101": 0.9}


def test_scores(asarray):
    score, label = np.array([0.9, 0.2, 0.5, 0.1, 0.7]), np.array([0, 1, 2, 0, 1])
    for queries in ([7, 7, 7, 8, 8], [3, 2], [0, 3, 5]):
        found = rl.evaluate_scores(
            asarray(score), asarray(label), asarray(np.array(queries)), "nDCG@10, RR", relevant="labels"
        )
        assert found.mean == {"nDCG@10": pytest.approx(0.8348359082471151), "RR": 0.75}
    for name, given in (("sizes", [3, 2]), ("offsets", [0, 3, 5])):
        found = rl.evaluate_scores(
            asarray(score), asarray(label), measures="RR", **{name: asarray(np.array(given))}
        )
        assert found.mean == {"RR": 0.75}
    square, labels = np.array([[0.1, 0.8, 0.9], [0.6, 0.4, 0.9]]), np.array([[1, 0, 1], [1, 0, 0]])
    mask = np.array([[True, True, False], [True, True, True]])
    found = rl.evaluate_scores(asarray(square), asarray(labels), measures="RR", mask=asarray(mask))
    assert found["RR"].tolist() == [0.5, 0.5]


def test_meters(asarray):
    meter = training.Meter("nDCG@10")
    for part in (slice(0, 3), slice(3, 5)):
        score, label, query = (
            np.array([0.9, 0.2, 0.5, 0.1, 0.7]),
            np.array([0, 1, 2, 0, 1]),
            np.array([1, 1, 1, 2, 2]),
        )
        meter.update(asarray(score[part]), asarray(label[part]), asarray(query[part]))
    assert meter.compute("labels").mean == {"nDCG@10": pytest.approx(0.8348359082471151)}


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_bfloat16(library):
    module = need(library)
    q, d, qrels = vectors()
    rounded = [module.asarray(one, dtype=module.bfloat16) for one in (q, d)]
    as_single = [np.asarray(as_array(one, "vectors"), np.float32) for one in rounded]
    assert (as_single[0] != q).any()
    found, expected = (rl.evaluate_embeddings(*pair, qrels, "AP") for pair in (rounded, as_single))
    assert found["AP"].tolist() == expected["AP"].tolist()


def test_an_array_on_a_gpu_is_handed_to_torch(monkeypatch):
    """Without a copy through the host: by DLPack."""
    handed = []
    torch = types.SimpleNamespace(Tensor=int, from_dlpack=lambda value: handed.append(value) or 17)
    monkeypatch.setitem(sys.modules, "torch", torch)
    array = CuPyArray(np.eye(2))
    assert on_gpu(array)
    assert kept_on_gpu(array) == 17
    assert handed == [array]
    assert kept_on_gpu(np.eye(2)).shape == (2, 2)  # what is not on a GPU stays what it is
    assert len(handed) == 1


def test_what_cannot_be_read_is_refused_by_name():
    strict = need("array_api_strict")
    elsewhere = strict.asarray([[1.0, 2.0]], device=strict.Device("device1"))
    with pytest.raises(rl.InputError, match="queries: Array cannot be read as an array of numbers"):
        rl.evaluate_embeddings(elsewhere, np.eye(2), {0: {0: 1}}, "RR")


def test_no_library_is_imported():
    code = (
        "import sys, numpy as np, ranklens as rl\n"
        "rl.evaluate_embeddings(np.eye(3), np.eye(3), {0: {0: 1}}, 'RR', top=2)\n"
        "rl.evaluate_scores(np.eye(3), np.eye(3), measures='RR')\n"
        "print({'torch', 'jax', 'cupy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
