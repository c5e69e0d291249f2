"""What the statistics are given: checked once, with errors that say what is wrong and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from ranklens.judged import FloatArray

    Rng = int | np.random.Generator | None

NOISE = 1e-12  # as a share of the largest score: what sums of the same numbers in another order may differ by


def sample(values: Any, name: str) -> FloatArray:
    """One finite number a query.

    >>> sample([0.5, float("nan")], "a")
    Traceback (most recent call last):
    ranklens.errors.InputError: a[1] is nan, but every query needs a number: leave the query out of all systems, or decide what it counts.
    """
    array = _numbers(values, name)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions: give one number a query, in one row.")
    return array


def matrix(values: Any, name: str) -> FloatArray:
    """One row of finite numbers a system, one column a query."""
    array = _numbers(values, name)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"{name} has the shape {array.shape}: give one row a system and one column a query, at least one of each."
        )
    return array


def pair(a: Any, b: Any) -> tuple[FloatArray, FloatArray]:
    """Two samples over the same queries."""
    first, second = sample(a, "a"), sample(b, "b")
    if len(first) != len(second):
        raise InputError(
            f"a has {len(first):,} queries, b has {len(second):,}: paired statistics need both over the same queries, in the same order."
        )
    if not len(first):
        raise InputError("a and b are empty: give at least one query.")
    return first, second


def differences(a: FloatArray, b: FloatArray) -> FloatArray:
    """``b - a`` by query, and 0 where the two differ by no more than floating-point noise.

    >>> differences(np.array([0.3, 1.0]), np.array([0.1 + 0.2, 0.5]))
    array([ 0. , -0.5])
    """
    change = b - a
    largest = max(np.abs(a).max(), np.abs(b).max())
    change[np.abs(change) <= NOISE * largest] = 0
    return change


def share(value: float, name: str) -> float:
    """A number between 0 and 1, both excluded.

    >>> share(95, "level")
    Traceback (most recent call last):
    ranklens.errors.InputError: level=95 is not allowed: it is a share between 0 and 1, such as 0.95.
    """
    if not 0 < value < 1:
        example = {"alpha": 0.05, "power": 0.8}.get(name, 0.95)
        raise InputError(
            f"{name}={value!r} is not allowed: it is a share between 0 and 1, such as {example}."
        )
    return value


def choice(value: str, name: str, allowed: Iterable[str]) -> str:
    """One of the allowed names."""
    if value not in allowed:
        raise InputError(f"{name}={value!r} is not known: {nearest(str(value), allowed)}")
    return value


def count(value: int, name: str, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}={value!r} is not allowed: it is a whole number of at least {least}.")
    return int(value)


def generator(rng: Rng) -> np.random.Generator:
    """The random numbers of a seed, of a generator, or fresh ones."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    return np.random.default_rng(count(rng, "rng", 0))


def whole_steps(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The values in steps of 2**-40 of the largest.

    Sums of whole numbers are exact in any order, so that resampling gives the same answer on every machine, and sums that
    are equal but for rounding differ by at most one step a number.
    """
    largest = np.abs(values).max(initial=0)
    if not largest:
        return np.zeros(values.shape, np.int64)
    bits = min(40, 62 - int(values.size).bit_length())  # sums stay below 2**63
    steps: npt.NDArray[np.int64] = np.rint(values / largest * 2.0**bits).astype(np.int64)
    return steps


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} cannot be read as numbers: give a list or an array with one number a query."
        ) from None
    if not np.isfinite(array).all():
        position = np.argwhere(~np.isfinite(array))[0]
        raise InputError(
            f"{name}[{', '.join(map(str, position))}] is {array[tuple(position)]}, but every query needs a number: "
            "leave the query out of all systems, or decide what it counts."
        )
    return array
