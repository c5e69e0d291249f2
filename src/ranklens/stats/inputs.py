"""Inputs of the statistics: checked once, with errors that say what is wrong and where."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsFloat

import numpy as np

from ranklens.errors import Given, InputError, nearest
from ranklens.words import kind

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import FloatArray

    Rng = int | np.random.Generator | None

LARGEST = 1e60
NOISE = 1e-11  # as a share of the largest score: no two measured values differ by so little but for rounding


def numbers(values: object, name: str) -> FloatArray:
    """One row of finite numbers.

    >>> numbers([0.5, float("nan")], "a")
    Traceback (most recent call last):
    ranklens.errors.InputError: a[1] is nan, which is not a number: leave the query out of all systems, or give it a value.
    """
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise InputError(f"{name} is {kind(values)}: pass a list or an array with one number per query.")
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        wrong: tuple[int, object] = 0, values
        for place, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError):  # noqa: PERF203  only on the way to an error
                wrong = place, value
                break
        raise InputError(
            f"{name} contains something that is not a number: {wrong[1]!r} at position {wrong[0]}; give one number per query."
        ) from None
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions: pass one row with one number per query.")
    for position in np.flatnonzero(~np.isfinite(array))[:1]:
        raise InputError(
            f"{name}[{position}] is {array[position]}, which is not a number: "
            "leave the query out of all systems, or give it a value."
        )
    return array


def sample(values: object, name: str) -> FloatArray:
    """One score per query, of a size that can be squared twice: smaller ones count as 0, larger ones are refused."""
    array = numbers(values, name)
    sizes = np.abs(array)
    for position in np.flatnonzero(sizes > LARGEST)[:1]:
        raise InputError(f"{name}[{position}] is {array[position]}: scores go up to {LARGEST:g}.")
    return np.where(sizes < 1 / LARGEST, 0.0, array)


def matrix(rows: object, name: str) -> FloatArray:
    """Finite numbers: one row per system, one column per query.

    >>> matrix([[0.5, 1.0], [0.25]], "scores")
    Traceback (most recent call last):
    ranklens.errors.InputError: scores[0] has 2 queries, scores[1] has 1: all systems need the same queries, in the same order.
    """
    if isinstance(rows, (str, bytes, dict)) or not isinstance(rows, Iterable):
        raise InputError(f"{name} is {kind(rows)}: pass one list of numbers per system.")
    samples = [sample(row, f"{name}[{i}]") for i, row in enumerate(rows)]
    if not samples or not len(samples[0]):
        raise InputError(f"{name} is empty: pass at least one system and one query.")
    for i, row in enumerate(samples):
        _refuse_other_length(samples[0], row, f"{name}[0]", f"{name}[{i}]", "all systems need")
    return np.stack(samples)


def pair(a: object, b: object) -> tuple[FloatArray, FloatArray]:
    """Two samples over the same queries."""
    first, second = not_empty(a, "a"), not_empty(b, "b")
    _refuse_other_length(first, second, "a", "b", "a paired statistic needs")
    return first, second


def not_empty(values: object, name: str) -> FloatArray:
    """A sample of at least one query."""
    array = sample(values, name)
    if not len(array):
        raise InputError(f"{name} is empty: pass at least one query.")
    return array


def differences(a: FloatArray, b: FloatArray) -> FloatArray:
    """``b - a`` by query (the last axis); values that are 0, or the same for all queries, apart from floating-point noise become exactly so.

    >>> differences(np.array([0.3, 1.0]), np.array([0.1 + 0.2, 0.5]))
    array([ 0. , -0.5])
    """
    change, noise = b - a, NOISE * np.maximum(np.abs(a).max(axis=-1), np.abs(b).max(axis=-1))
    change[np.abs(change) <= noise[..., None]] = 0
    same = np.ptp(change, axis=-1) <= noise
    if same.any():
        change[same] = np.median(change[same], axis=-1, keepdims=True)
    return np.asarray(change)


def constant(values: FloatArray) -> bool:
    """Whether all values are the same, apart from floating-point noise."""
    return bool(np.ptp(values) <= NOISE * np.abs(values).max())


def share(value: float, name: str, example: float = 0.95) -> float:
    """A number between 0 and 1, both excluded.

    >>> share(95, "level")
    Traceback (most recent call last):
    ranklens.errors.InputError: level=95 is not allowed: it must be a number between 0 and 1, such as 0.95.
    """
    if not 0 < finite(value, name) < 1:
        raise InputError(
            Given(name, value), f" is not allowed: it must be a number between 0 and 1, such as {example}."
        )
    return value


def finite(value: SupportsFloat | str, name: str) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise InputError(Given(name, value), " is not allowed: it must be a number.")
    return number


def count(value: int, name: str, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(
            Given(name, value), f" is not allowed: it must be a whole number of at least {least}."
        )
    return int(value)


def choice(value: str, name: str, allowed: Iterable[str]) -> str:
    """One of the allowed names."""
    if value not in allowed:
        raise InputError(Given(name, value), f" is not known: {nearest(str(value), allowed)}")
    return value


def generator(rng: Rng) -> np.random.Generator:
    """The random numbers of a seed, of a generator, or fresh ones."""
    whole = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0
    if not (rng is None or isinstance(rng, np.random.Generator) or whole):
        raise InputError(
            f"rng={rng!r} is not allowed: pass a seed (a whole number, 0 or more) or a NumPy Generator."
        )
    return np.random.default_rng(rng)


def whole_steps(values: npt.NDArray[np.number]) -> npt.NDArray[np.int64]:
    """The values in steps of 2**-40 of the largest.

    Sums of whole numbers are exact in any order. So resampling gives the same answer on every machine, and two sums of n
    numbers that are equal but for rounding differ by at most n steps.
    """
    largest = np.abs(values).max(initial=0)
    if not largest:
        return np.zeros(values.shape, np.int64)
    bits = min(40, 62 - int(values.size).bit_length())  # sums stay below 2**63
    steps: npt.NDArray[np.int64] = np.rint(values / largest * 2.0**bits).astype(np.int64)
    return steps


def _refuse_other_length(a: FloatArray, b: FloatArray, a_name: str, b_name: str, need: str) -> None:
    if len(a) != len(b):
        raise InputError(
            f"{a_name} has {len(a):,} queries, {b_name} has {len(b):,}: {need} the same queries, in the same order."
        )
