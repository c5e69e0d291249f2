from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray, IntArray


def ratio(part: FloatArray, whole: FloatArray | IntArray | float) -> FloatArray:
    """``part / whole``, and 0 where the whole is 0: no relevant documents, or nothing retrieved."""
    if isinstance(whole, float):
        return part / whole if whole else np.zeros(part.shape)
    if part.shape == whole.shape and np.count_nonzero(whole) == whole.size:  # a mask takes longer
        return part / whole
    out = np.zeros(part.shape)
    np.divide(part, whole, out=out, where=whole != 0)
    return out
