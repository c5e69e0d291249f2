"""Documents from wherever they are: the same ranks."""

import json
import struct
from contextlib import ExitStack

import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.models.embeddings.model import open_corpus

RNG = np.random.default_rng(0)
QUERIES = RNG.normal(size=(6, 4)).astype(np.float32)
DOCUMENTS = RNG.normal(size=(50, 4)).astype(np.float32)
QRELS = {str(i): {str(j): 1 for j in RNG.choice(50, 5, replace=False)} for i in range(6)}
EXPECTED = rl.evaluate_embeddings(QUERIES, DOCUMENTS, QRELS, "AP")["AP"]


def check(documents, **options):
    found = rl.evaluate_embeddings(QUERIES, documents, QRELS, "AP", batch=8, top=2, **options)
    np.testing.assert_array_equal(found["AP"], EXPECTED)


def safetensors(path, tensors):
    header, data = {"__metadata__": {"by": "test"}}, b""
    for name, (kind, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_blocks():
    check([DOCUMENTS[:20], DOCUMENTS[20:]])
    check(lambda: iter([DOCUMENTS[:1], DOCUMENTS[1:]]))
    check(DOCUMENTS[i : i + 7] for i in range(0, 50, 7))  # once only: copied to a temporary file


def test_numpy_files(tmp_path):
    np.save(tmp_path / "all.npy", DOCUMENTS)
    check(tmp_path / "all.npy")
    check(np.load(tmp_path / "all.npy", mmap_mode="r"))
    (tmp_path / "parts").mkdir()
    np.save(tmp_path / "parts" / "0.npy", DOCUMENTS[:11])
    np.save(tmp_path / "parts" / "1.npy", DOCUMENTS[11:])
    check(str(tmp_path / "parts"))


@pytest.mark.filterwarnings(r"ignore:[\d,]+ judged documents? (is|are) not among")
def test_parquet(tmp_path):
    for name, kind in (("list", pl.List(pl.Float32)), ("array", pl.Array(pl.Float32, 4))):
        place = tmp_path / f"{name}.parquet"
        pl.DataFrame({"vector": pl.Series(DOCUMENTS.tolist(), dtype=kind)}).write_parquet(place)
        check(place)
    names = [f"d{i}" for i in range(50)]
    pl.DataFrame({"doc_id": names, "vector": DOCUMENTS.tolist()}).write_parquet(tmp_path / "named.parquet")
    qrels = {query: {f"d{doc}": 1 for doc in docs} for query, docs in QRELS.items()}
    found = rl.evaluate_embeddings(QUERIES, tmp_path / "named.parquet", qrels, "AP", batch=9)
    np.testing.assert_array_equal(found["AP"], EXPECTED)
    two = tmp_path / "two.parquet"
    pl.DataFrame({"a": DOCUMENTS.tolist(), "b": DOCUMENTS.tolist()}).write_parquet(two)
    check(two, vectors="b")
    with pytest.raises(rl.InputError, match=r"two.parquet has 'a', 'b'; name one with vectors="):
        check(two)
    pl.DataFrame({"v": [[1.0, 2.0], [1.0]]}).write_parquet(tmp_path / "ragged.parquet")
    with pytest.raises(rl.InputError, match="differ in length"):
        rl.evaluate_embeddings(np.eye(2), tmp_path / "ragged.parquet", QRELS, "AP")


def test_safetensors(tmp_path):
    place = tmp_path / "model.safetensors"
    safetensors(place, {"embeddings": ("F32", DOCUMENTS), "flat": ("F32", DOCUMENTS.reshape(-1))})
    check(place)
    half = (DOCUMENTS.view(np.uint32) >> 16).astype(np.uint16)  # bfloat16, cut off
    safetensors(tmp_path / "half.safetensors", {"embeddings": ("BF16", half)})
    as_single = (half.astype(np.uint32) << 16).view(np.float32)
    found = rl.evaluate_embeddings(QUERIES, tmp_path / "half.safetensors", QRELS, "AP")
    np.testing.assert_array_equal(found["AP"], rl.evaluate_embeddings(QUERIES, as_single, QRELS, "AP")["AP"])
    (tmp_path / "not.safetensors").write_bytes(b"nothing")
    with pytest.raises(rl.InputError, match="is not a safetensors file"):
        check(tmp_path / "not.safetensors")


def test_folders_must_hold_vectors_of_one_size(tmp_path):
    with pytest.raises(rl.InputError, match=r"contains no .npy, .parquet or .safetensors file"):
        check(tmp_path)
    np.save(tmp_path / "0.npy", DOCUMENTS)
    np.save(tmp_path / "1.npy", DOCUMENTS[:, :3])
    with pytest.raises(rl.InputError, match=r"1.npy contains vectors of 3 numbers, 0.npy of 4"):
        check(tmp_path)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    check(DOCUMENTS[i : i + 7] for i in range(0, 50, 7))
    assert not list(tmp_path.iterdir())


def test_blocks_that_are_filled_again():
    """A function may give the same memory again and again; blocks are read ahead."""
    rng = np.random.default_rng(0)
    documents, queries = (
        rng.standard_normal((400, 8), dtype=np.float32),
        rng.standard_normal((20, 8), dtype=np.float32),
    )
    qrels = {str(i): {str(doc): 1 for doc in rng.choice(400, 3, replace=False)} for i in range(20)}

    def blocks():
        memory = np.empty((20, 8), np.float32)
        for first in range(0, 400, 20):
            memory[:] = documents[first : first + 20]
            yield memory

    whole = rl.evaluate_embeddings(queries, documents, qrels, "AP")
    assert rl.evaluate_embeddings(queries, blocks, qrels, "AP")["AP"].tolist() == whole["AP"].tolist()
    held = [vectors for _, vectors in open_corpus(blocks, None, ExitStack()).blocks(20)]
    assert np.array_equal(np.concatenate(held), documents)


@pytest.mark.parametrize(("later", "count"), [(0, "0"), (1, "20"), (3, "more")])
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_function_must_give_as_many_documents_again(calls, later, count):
    """Called again, a function that drains an iterator gives fewer, and ranks among these would be too good."""
    parts, called = [DOCUMENTS[:20], DOCUMENTS[20:], DOCUMENTS[:5]], []

    def blocks():
        called.append(None)
        return iter(parts[: 2 if len(called) <= calls else later])

    with pytest.raises(
        rl.InputError, match=f"gave 50 vectors at first, and {count} when they were read again"
    ):
        check(blocks)


def test_parts_are_in_the_order_of_their_numbers(tmp_path):
    """As people count: 2 before 10."""
    vectors = np.random.default_rng(0).normal(size=(24, 4))
    for part in range(12):
        np.save(tmp_path / f"part{part}.npy", vectors[2 * part : 2 * part + 2])
    qrels = {str(i): {str(i): 1} for i in range(24)}
    whole, parts = (rl.evaluate_embeddings(vectors, one, qrels, "RR")["RR"] for one in (vectors, tmp_path))
    assert parts.tolist() == whole.tolist()
