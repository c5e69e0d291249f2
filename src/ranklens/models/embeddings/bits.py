"""Packed bits: vectors with eight numbers in each byte, as ``np.packbits`` and the precisions binary and ubinary make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ranklens.arrays import IntArray
from ranklens.errors import InputError
from ranklens.models.embeddings import host
from ranklens.models.embeddings.corpus import Corpus


@dataclass(frozen=True)
class Bits:
    """Packed vectors that are unpacked where they are cut or indexed, since unpacked ones take eight times the memory.

    >>> Bits(np.array([[5], [255]], np.uint8))[:1]
    array([[0, 0, 0, 0, 0, 1, 0, 1]], dtype=int8)
    """

    packed: Any
    size: int | None = None  # only the first bits

    @property
    def shape(self) -> tuple[int, int]:
        rows, size = self.packed.shape
        return int(rows), self.size or 8 * int(size)

    def __getitem__(self, rows: slice | IntArray | tuple[slice, slice]) -> Any:
        if isinstance(rows, tuple):
            return Bits(self.packed, rows[1].stop)
        return unpacked(self.packed[rows], "documents")[:, : self.size]


def unpacked(vectors: Any, name: str) -> Any:
    """A 0 or 1 for each bit. The squared distance of two such vectors is the number of bits in which they differ."""
    if kind(vectors) not in ("uint8", "int8"):
        raise InputError(
            f"{name} holds {vectors.dtype}, but similarity='hamming' compares packed bits, eight in a byte (uint8 or int8): "
            "pass np.packbits(vectors > 0, axis=1)."
        )
    # The bytes of precision="binary" are smaller by 128, which flips the same bit in all of them.
    return np.unpackbits(host.as_array(vectors, name).view(np.uint8), axis=1).view(np.int8)


def kind(vectors: Any) -> str:
    """The type of the numbers, whichever library they are of."""
    return str(vectors.dtype).removeprefix("torch.")


def refuse_bytes(vectors: Any, name: str) -> Any:
    """Vectors that are compared as numbers; those of uint8 are probably packed bits, whose bytes mean nothing as numbers."""
    if kind(vectors) == "uint8":
        raise InputError(
            f"{name} holds uint8, which is how bits are packed (precision='ubinary'). Compare packed bits with similarity='hamming'; "
            "convert numbers with .astype(np.int16), or .to(torch.int16)."
        )
    return vectors


def unpacked_corpus(corpus: Corpus, like: str) -> Corpus:
    """Documents of packed bits, unpacked a block at a time; ``like`` is the type of the queries' bytes."""

    def read(block: Any) -> Any:
        found = unpacked(block, "documents")
        if kind(block) != like:
            raise InputError(
                f"queries holds {like}, documents {kind(block)}: bits are packed differently in these (precision='ubinary' and 'binary'). "
                "Encode both with the same precision."
            )
        return found

    array = corpus.whole if corpus.tensor is None else host.as_array(corpus.tensor, "documents")
    if array is not None:
        read(array[:0])  # refuses other numbers before the work
    found = _with(corpus, read)
    return replace(found, size=8 * corpus.size, whole=None if array is None else Bits(array), tensor=None)


def checked_corpus(corpus: Corpus) -> Corpus:
    """Documents that are compared as numbers."""
    for array in (corpus.whole, corpus.tensor):
        if array is not None:
            refuse_bytes(array, "documents")
            return corpus
    return _with(corpus, lambda block: refuse_bytes(block, "documents"))


def _with(corpus: Corpus, change: Callable[[Any], Any]) -> Corpus:
    def read(step: int) -> Iterator[tuple[int, Any]]:
        return ((first, change(block)) for first, block in corpus.read(step))

    return replace(corpus, read=read)
