"""Vectors as users hand them in: arrays and tensors of any library, packed bits, sparse rows and tokens, each read once.

No library is imported for that: a tensor exists only if torch was imported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from ranklens.arrays import FloatArray, IntArray, NumberArray
from ranklens.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Self, TypeIs

    from ranklens.models.embeddings.tensors import Tensor, Torch


@runtime_checkable
class OnDevice(Protocol):
    """An array that says where its numbers are."""

    def __dlpack_device__(self) -> tuple[int, int]: ...


@runtime_checkable
class Fetched(Protocol):
    """An array of CuPy, which is copied from its GPU only if asked to."""

    def get(self) -> object: ...


@runtime_checkable
class Listed(Protocol):
    """An array, a tensor or a column of a table."""

    def tolist(self) -> Sequence[object]: ...


@runtime_checkable
class Shaped(Protocol):
    """An array or tensor."""

    @property
    def ndim(self) -> int: ...


@runtime_checkable
class Table(Protocol):
    """A table of any library."""

    @property
    def columns(self) -> object: ...
    def __getitem__(self, name: object, /) -> object: ...


class Vectors(Protocol):
    """What is cut and indexed like an array, one row for each item."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __getitem__(self, rows: slice | IntArray | tuple[slice, slice], /) -> Self: ...


Documents = TypeVar("Documents", bound=Vectors)  # an array, sparse rows or tokens
Documents_contra = TypeVar("Documents_contra", bound=Vectors, contravariant=True)


class SparseRows(Protocol):
    """What is called on a SciPy sparse matrix."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def T(self) -> SparseRows: ...  # noqa: N802
    def __getitem__(self, rows: object, /) -> SparseRows: ...
    def __matmul__(self, other: SparseRows) -> SparseRows: ...
    def astype(self, kind: type[np.float64]) -> SparseRows: ...
    def multiply(self, other: SparseRows) -> SparseRows: ...
    def sort_indices(self) -> None: ...
    def sum(self, axis: int) -> object: ...
    def sum_duplicates(self) -> None: ...
    def toarray(self) -> FloatArray: ...
    def tocsr(self) -> SparseRows: ...


def is_torch(value: object) -> TypeIs[Tensor]:
    """Whether this is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_sparse(value: object) -> TypeIs[SparseRows]:
    """Whether this is a SciPy sparse matrix."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def on_gpu(value: object) -> bool:
    """Whether the numbers are in the memory of a GPU: a torch tensor, or an array of another library with DLPack."""
    if is_torch(value):
        return value.device.type != "cpu"
    if isinstance(value, (np.ndarray, list)) or not isinstance(value, OnDevice):
        return False
    return int(value.__dlpack_device__()[0]) not in (1, 3, 11)  # DLPack's numbers for the host, also pinned


def kept_on_gpu(value: object) -> object:
    """An array of CuPy or JAX that is on a GPU as a torch tensor there, without a copy, where torch is installed."""
    if is_torch(value) or not on_gpu(value):
        return value
    try:
        torch: Torch = import_module("torch")
    except ImportError:
        return value
    return torch.from_dlpack(value)


def taken(vectors: Any, rows: IntArray) -> Any:
    """Some rows of what is indexed like an array, where it is."""
    if not is_torch(vectors):
        return vectors[rows]
    return vectors[sys.modules["torch"].as_tensor(rows, device=vectors.device)]


def as_array(value: object, name: str) -> NumberArray:
    """A NumPy array, in place where that is possible; bfloat16, which NumPy lacks, becomes float32.

    >>> as_array([[1, 2]], "queries").shape
    (1, 2)
    """
    if is_torch(value):
        tensor = value.detach().cpu()
        unknown = str(tensor.dtype) in ("torch.bfloat16", "torch.float8_e4m3fn")
        return (tensor.to(sys.modules["torch"].float32) if unknown else tensor).numpy()
    if type(value).__module__.startswith("cupy") and isinstance(value, Fetched):
        value = value.get()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(
            f"{name}: {type(value).__name__} cannot be read as an array of numbers; pass rows of equal length."
        ) from None
    if array.dtype == np.bool_:
        return array.astype(np.int16)  # not of bytes, which may be packed bits
    # Libraries that add types of numbers to NumPy show them as bytes without a meaning (kind V).
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16", "float8_e4m3fn"):
        return array.astype(np.float32)
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"{name} contains {array.dtype}, not numbers; pass an array of floats or whole numbers."
        )
    return array


def as_list(values: object, name: str) -> list[object]:
    """The entries of an array or tensor of any library, or of a plain sequence, as Python has them.

    >>> as_list(np.array([3, 4]), "queries"), as_list(("a", "b"), "queries")
    ([3, 4], ['a', 'b'])
    """
    if isinstance(values, (list, tuple)):  # asking a protocol takes ten times as long
        return list(values)
    if isinstance(values, Listed):
        return list(values.tolist())
    if isinstance(values, OnDevice):
        values = as_array(values, name).tolist()
    if not isinstance(values, Iterable):
        raise InputError(f"{name}: {type(values).__name__} is not a list; pass one entry for each row.")
    return list(values)


def as_matrix(value: object, name: str) -> NumberArray:
    """The same with one row per item, which is required of vectors."""
    array = as_array(value, name)
    check_rows(array, name)
    return array


def check_rows(array: NumberArray | Tensor, name: str) -> None:
    """Refuse what does not have two dimensions."""
    if array.ndim != 2:
        raise InputError(
            f"{name} has {array.ndim} dimension{'' if array.ndim == 1 else 's'} (shape {tuple(array.shape)}); "
            "pass one row per vector, so two dimensions."
        )


def kind(vectors: NumberArray | Tensor) -> str:
    """The type of the numbers, whichever library they are of."""
    return str(vectors.dtype).removeprefix("torch.")


def unpacked(vectors: NumberArray | Tensor, name: str) -> NumberArray:
    """A 0 or 1 for each bit of packed bits, eight in a byte, as ``np.packbits`` and the precisions binary and ubinary make them.

    The squared distance of two such vectors is the number of bits in which they differ.
    """
    if kind(vectors) not in ("uint8", "int8"):
        raise InputError(
            f"{name} contains {vectors.dtype}, but similarity='hamming' compares packed bits, eight in a byte (uint8 or int8): "
            "pass np.packbits(vectors > 0, axis=1)."
        )
    # The bytes of precision="binary" are smaller by 128, which flips the same bit in all of them.
    return np.unpackbits(as_array(vectors, name).view(np.uint8), axis=1).view(np.int8)


def refuse_bytes(vectors: NumberArray | Tensor, name: str) -> None:
    """Of vectors that are compared as numbers, those of uint8 are probably packed bits, whose bytes mean nothing as numbers."""
    if kind(vectors) == "uint8":
        raise InputError(
            f"{name} contains uint8, which is how bits are packed (precision='ubinary'). Compare packed bits with similarity='hamming'; "
            "convert numbers with .astype(np.int16), or .to(torch.int16)."
        )


@dataclass(frozen=True)
class Tokens:
    """Several vectors per item, one after the other; item i has the rows from ``starts[i]`` to ``starts[i + 1]``."""

    vectors: NumberArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.vectors.shape[1]

    def one(self, item: int) -> FloatArray:
        """The vectors of one item, in float64."""
        return np.array(self.vectors[self.starts[item] : self.starts[item + 1]], np.float64)

    def __getitem__(self, rows: slice | IntArray | tuple[slice, slice], /) -> Tokens:
        if isinstance(rows, tuple):  # the first numbers of every vector
            return Tokens(self.vectors[:, rows[1]], self.starts)
        if isinstance(rows, slice):
            first, last, _ = rows.indices(len(self))
            edges = self.starts[first : last + 1]
            return Tokens(self.vectors[edges[0] : edges[-1]], edges - edges[0])
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        inside = np.arange(starts[-1]) - np.repeat(starts[:-1], counts)
        return Tokens(self.vectors[np.repeat(self.starts[rows], counts) + inside], starts)


def as_tokens(items: object, name: str) -> Tokens:
    """A list with one array per item, or an array of three dimensions whose rows of zeros are padding.

    >>> as_tokens([[[1, 0], [0, 1]], [[1, 1]]], "queries").starts
    array([0, 2, 3])
    """
    if isinstance(items, Tokens):
        return items
    if isinstance(items, Shaped) and items.ndim == 3:
        padded = as_array(items, name)
        items = [one[(one != 0).any(axis=1)] for one in padded]
    if not isinstance(items, Sequence):
        raise InputError(
            f"{name}: similarity='maxsim' takes a list with one array of vectors per item, or three dimensions; "
            f"{type(items).__name__} was given."
        )
    arrays = [as_matrix(one, f"{name}[{i}]") for i, one in enumerate(items)]
    for i, one in enumerate(arrays):
        if not len(one):
            raise InputError(f"{name}[{i}] has no vectors: leave the item out, or give it at least one.")
        if one.shape[1] != arrays[0].shape[1]:
            raise InputError(
                f"{name}[{i}] has vectors of {one.shape[1]} numbers, {name}[0] of {arrays[0].shape[1]}."
            )
    if not arrays:
        return Tokens(np.zeros((0, 0), np.float32), np.zeros(1, np.int64))
    counts = [len(one) for one in arrays]
    return Tokens(np.concatenate(arrays), np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
