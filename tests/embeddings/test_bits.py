"""Packed bits are compared by the bits that differ, and bytes that may be packed bits never as numbers."""

import numpy as np
import pytest
from table import NOT

import ranklens as rl

MEASURES = list(NOT)
RNG = np.random.default_rng(0)
QUERIES = RNG.normal(size=(12, 40)) > 0
DOCUMENTS = np.where(RNG.random((90, 40)) < 0.7, np.tile(QUERIES, (8, 1))[:90], RNG.normal(size=(90, 40)) > 0)
QRELS = {q: {int(d): int(RNG.integers(0, 3)) for d in RNG.choice(90, 8, replace=False)} for q in range(12)}


def packed(bits):
    return np.packbits(bits, axis=1)


def by_hand(size=40):
    """Every pair of vectors, bit by bit."""
    return {
        str(q): {
            str(d): -float((query[:size] != document[:size]).sum()) for d, document in enumerate(DOCUMENTS)
        }
        for q, query in enumerate(QUERIES)
    }


def as_signed(bytes_):
    """What sentence-transformers calls "binary"."""
    return (bytes_.astype(np.int16) - 128).astype(np.int8)


@pytest.mark.parametrize("convert", [lambda one: one, as_signed], ids=["ubinary", "binary"])
@pytest.mark.parametrize("ties", ["descending", "average"])
def test_hamming_counts_the_bits_that_differ(convert, ties):
    measures = [name for name in MEASURES if ties != "average" or rl.measure(name).definition.average_ties]
    expected = rl.evaluate(QRELS, by_hand(), measures, ties=ties)
    queries, documents = convert(packed(QUERIES)), convert(packed(DOCUMENTS))
    for given in (documents, [documents[:50], documents[50:]]):
        found = rl.evaluate_embeddings(
            queries, given, QRELS, measures, similarity="hamming", ties=ties, batch=32
        )
        for name in measures:
            np.testing.assert_array_equal(found[name], expected[name], name)


def test_hamming_keeps_the_best_and_cuts_bits(tmp_path):
    np.save(tmp_path / "documents.npy", packed(DOCUMENTS))
    found = rl.evaluate_embeddings(
        packed(QUERIES), tmp_path / "documents.npy", QRELS, "RR", similarity="hamming", top=3
    )
    whole = by_hand()
    for query, docs in found.run.items():
        assert docs == {doc: whole[query][doc] for doc in docs}
        assert list(docs.values()) == sorted(whole[query].values(), reverse=True)[:3]
    sizes = rl.evaluate_embeddings(
        packed(QUERIES), packed(DOCUMENTS), QRELS, "RR", similarity="hamming", dims=[11, 40]
    )
    assert sizes[11]["RR"].tolist() == rl.evaluate(QRELS, by_hand(11), "RR")["RR"].tolist()


def test_packed_bits_are_never_multiplied_as_bytes():
    documents = packed(DOCUMENTS)
    for queries, given, similarity in (
        (packed(QUERIES), documents, "dot"),
        (packed(QUERIES).astype(np.float32), documents, "cosine"),
        (packed(QUERIES).astype(np.float32), [documents], "euclidean"),
        (list(packed(QUERIES)[:, None]), list(documents[:, None]), "maxsim"),
    ):
        with pytest.raises(
            rl.InputError, match=r"contains uint8, which is how bits are packed .* similarity='hamming'"
        ):
            rl.evaluate_embeddings(queries, given, QRELS, "RR", similarity=similarity)
    with pytest.raises(
        rl.InputError, match=r"queries contains float64, but similarity='hamming' .* np\.packbits"
    ):
        rl.evaluate_embeddings(QUERIES.astype(float), documents, QRELS, "RR", similarity="hamming")
    with pytest.raises(rl.InputError, match=r"documents contains int16, but similarity='hamming'"):  # bool
        rl.evaluate_embeddings(packed(QUERIES), DOCUMENTS, QRELS, "RR", similarity="hamming")
    for given in (documents, [documents[:50], documents[50:]]):
        with pytest.raises(
            rl.InputError, match=r"queries contains int8, documents uint8: .* the same precision"
        ):
            rl.evaluate_embeddings(as_signed(packed(QUERIES)), given, QRELS, "RR", similarity="hamming")
    found = rl.evaluate_embeddings(QUERIES, DOCUMENTS, QRELS, "RR")  # numbers that are 0 or 1
    assert found.mean == rl.evaluate_embeddings(QUERIES * 1.0, DOCUMENTS * 1.0, QRELS, "RR").mean
