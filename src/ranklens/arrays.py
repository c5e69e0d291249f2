"""The types of NumPy arrays that all rooms share."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
NumberArray: TypeAlias = npt.NDArray[np.number]  # of any kind of numbers
