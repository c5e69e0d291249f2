"""Arrays and tensors of any library → NumPy arrays in the host's memory, without importing the library."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from ranklens.errors import InputError


def is_torch(value: Any) -> bool:
    """Whether this is a torch tensor; nobody has one who has not imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_sparse(value: Any) -> bool:
    """Whether this is a SciPy sparse matrix."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(value))


def on_gpu(value: Any) -> bool:
    """Whether the numbers are in the memory of a GPU: a torch tensor, or an array of another library with DLPack."""
    if is_torch(value):
        return bool(value.device.type != "cpu")
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack_device__"):
        return False
    return int(value.__dlpack_device__()[0]) not in (1, 3, 11)  # DLPack's numbers for the host, also pinned


def rows_for(vectors: Any, rows: Any) -> Any:
    """Row numbers as the array or tensor takes them fastest."""
    if not is_torch(vectors):
        return rows
    return sys.modules["torch"].as_tensor(rows, device=vectors.device)


def kept_on_gpu(value: Any) -> Any:
    """An array of CuPy or JAX that is on a GPU as a torch tensor there, without a copy, where torch is installed."""
    if is_torch(value) or not on_gpu(value):
        return value
    try:
        torch: Any = import_module("torch")
    except ImportError:
        return value
    return torch.from_dlpack(value)


def as_array(value: Any, name: str) -> Any:
    """A NumPy array, in place where that is possible; bfloat16, which NumPy lacks, becomes float32.

    >>> as_array([[1, 2]], "queries").shape
    (1, 2)
    """
    if is_torch(value):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) in ("torch.bfloat16", "torch.float8_e4m3fn") else value
        return value.numpy()
    if hasattr(value, "get") and type(value).__module__.startswith("cupy"):
        value = value.get()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(
            f"{name}: {type(value).__name__} cannot be read as an array of numbers; pass rows of equal length."
        ) from None
    if array.dtype == np.bool_:
        return array.astype(np.int16)  # not of bytes, which may be packed bits
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16", "float8_e4m3fn"):
        return array.astype(np.float32)
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"{name} holds {array.dtype}, not numbers; pass an array of floats or whole numbers."
        )
    return array


def as_list(values: Any, name: str) -> list[Any]:
    """The entries of an array or tensor of any library, or of a plain sequence, as Python has them.

    >>> as_list(np.array([3, 4]), "queries"), as_list(("a", "b"), "queries")
    ([3, 4], ['a', 'b'])
    """
    if hasattr(values, "tolist"):
        return list(values.tolist())
    return list(as_array(values, name).tolist() if hasattr(values, "__dlpack__") else values)


def as_matrix(value: Any, name: str) -> Any:
    """The same with one row per item, which is required of vectors."""
    array = as_array(value, name)
    check_rows(array, name)
    return array


def check_rows(array: Any, name: str) -> None:
    """Refuse what does not have two dimensions."""
    if array.ndim != 2:
        raise InputError(
            f"{name} has {array.ndim} dimension{'' if array.ndim == 1 else 's'} (shape {tuple(array.shape)}); "
            "pass one row per vector, so two dimensions."
        )
