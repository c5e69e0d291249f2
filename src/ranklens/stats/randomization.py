"""Randomisation: if the systems were equally good, their names could be exchanged in any query."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from ranklens.stats.inputs import whole_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from ranklens.arrays import FloatArray

    IntArray = npt.NDArray[np.int64]
    Bytes = npt.NDArray[np.uint8]

EXACT_UP_TO = 20  # differences other than 0; a million ways to set their signs take milliseconds
_AT_ONCE = 1 << 14  # resamples, so that their sums stay in the cache
_BYTES = 1 << 10  # of random signs for each of them, so that memory is bounded
_SUMS = 1 << 24  # held at once
_SMALL = (8, 512)  # rows and columns for which looking up more signs at once, one row at a time, is faster
_SUMS_OF_FEW = 1 << 13  # resamples of these at once
_ADDED = 1 << 18  # of them at a time
_TABLES = 1 << 20  # numbers in tables of sums, held at once
_DEALT = 1 << 20  # totals of systems, held at once for each measure
ALL_ORDERS = 6  # systems; their 720 orders are fewer than what is drawn from them


def sign_flip_p(differences: FloatArray, rng: np.random.Generator, resamples: int) -> tuple[float, bool]:
    """The share of sign patterns with a mean at least as far from 0, and whether all patterns were counted.

    Beyond 20 differences the patterns are drawn, and the one observed is counted with them, so that p is never 0.

    >>> sign_flip_p(np.array([0.1, 0.2, 0.3]), np.random.default_rng(0), 1000)
    (0.25, True)
    """
    steps = whole_steps(differences[differences != 0])  # the sign of 0 does not matter
    limit = abs(int(steps.sum())) - len(steps)  # equal but for rounding is as far
    if len(steps) <= EXACT_UP_TO:
        # The sums with the first sign as it is; the other half are their negatives.
        sums = steps[:1] if len(steps) else np.zeros(1, np.int64)
        for step in steps[1:]:
            sums = np.concatenate((sums + step, sums - step))
        return float((np.abs(sums) >= limit).mean()), True
    far = sum(int((np.abs(sums) >= limit).sum()) for sums in random_sums(steps[None], rng, resamples))
    return (far + 1) / (resamples + 1), False


def random_sums(steps: IntArray, rng: np.random.Generator, resamples: int) -> Iterator[IntArray]:
    """The sum of each row under random signs of the columns, some resamples at a time: rows × resamples.

    A random byte decides eight signs at once, and the sums of all rows are looked up together.
    """
    if len(steps) <= _SMALL[0] and steps.shape[1] <= _SMALL[1]:
        yield from _random_sums_of_few(steps, rng, resamples)
        return
    at_once = max(1, min(_AT_ONCE, _SUMS // len(steps)))
    for start in range(0, resamples, at_once):
        sums = np.zeros((min(at_once, resamples - start), len(steps)), np.int64)
        for first in range(0, steps.shape[1], 8 * _BYTES):
            part = steps[:, first : first + 8 * _BYTES]
            drawn = _random_bytes(rng, -(-part.shape[1] // 8), len(sums))
            for table, signs in zip(_sums_by_byte(part), drawn, strict=True):
                _add_rows(sums, table, signs)
        yield np.ascontiguousarray(sums.T)


def _random_sums_of_few(steps: IntArray, rng: np.random.Generator, resamples: int) -> Iterator[IntArray]:
    """The same sums from the same bytes, with tables for twelve signs where there are three bytes, which still fit into the cache.

    That takes 60% of the time for two systems and 50 queries, and for four and 225.
    """
    width = -(-steps.shape[1] // 8)
    padded = np.zeros((len(steps), 8 * width), np.int64)
    padded[:, : steps.shape[1]] = steps
    tables: list[IntArray] = []  # the sums of each row by the numbers that _choices makes of these bytes
    for columns, size in (padded[:, : width // 3 * 24], 12), (padded[:, width // 3 * 24 :], 8):
        groups = columns.reshape(len(steps), columns.shape[1] // size, size)
        tables.extend(_signed_sums(groups.swapaxes(0, 1)))
    for start in range(0, resamples, _AT_ONCE):
        drawn = _random_bytes(rng, width, min(_AT_ONCE, resamples - start))
        for first in range(0, drawn.shape[1], _SUMS_OF_FEW):
            chosen = _choices(drawn[:, first : first + _SUMS_OF_FEW])
            sums = tables[0].take(next(chosen), axis=1)
            picked = np.empty(sums.shape[1], np.int64)
            for table, choice in zip(tables[1:], chosen, strict=True):
                for row, sums_of_row in enumerate(table):
                    sums[row] += sums_of_row.take(choice, out=picked, mode="clip")
            yield sums


def _random_bytes(rng: np.random.Generator, width: int, resamples: int) -> Bytes:
    """What ``rng.bytes`` gives, in half the time."""
    words = rng.integers(0, 1 << 64, -(-width * resamples // 8), np.uint64).astype("<u8", copy=False)
    return words.view(np.uint8)[: width * resamples].reshape(width, -1)


def _choices(drawn: Bytes) -> Iterator[IntArray]:
    """Three bytes as two numbers of twelve bits; the last one or two as they are."""
    whole = len(drawn) // 3 * 3
    for first, second, third in drawn[:whole].astype(np.uint16).reshape(-1, 3, drawn.shape[1]):
        yield (first << 4 | second >> 4).astype(np.int64)
        yield ((second & 15) << 8 | third).astype(np.int64)
    yield from drawn[whole:].astype(np.int64)


def _signed_sums(steps: IntArray) -> IntArray:
    """The sums of the last axis under all ways to set its signs; the first sign is the highest bit."""
    if steps.shape[-1] == 1:
        return np.concatenate((steps, -steps), axis=-1)
    half = steps.shape[-1] // 2
    left, right = _signed_sums(steps[..., :half]), _signed_sums(steps[..., half:])
    return (left[..., None] + right[..., None, :]).reshape(*steps.shape[:-1], 1 << steps.shape[-1])


def _add_rows(sums: IntArray, table: IntArray, chosen: npt.NDArray[np.integer]) -> None:
    """Add the chosen row of the table to each row of the sums, as many at a time as stay in the cache."""
    at_once = max(1, _ADDED // sums.shape[1])
    for start in range(0, len(sums), at_once):
        sums[start : start + at_once] += table.take(chosen[start : start + at_once], axis=0)


def _sums_by_byte(steps: IntArray) -> Iterator[IntArray]:
    """For each eight columns a table: the sums of all rows under each of the 256 ways to set their signs."""
    eights = np.zeros((-(-steps.shape[1] // 8), 8, len(steps)), np.int64)
    eights.reshape(-1, len(steps))[: steps.shape[1]] = steps.T
    at_once = max(1, _TABLES // (256 * len(steps)))
    for start in range(0, len(eights), at_once):
        numbers = eights[start : start + at_once]
        tables = np.zeros((len(numbers), 1, len(steps)), np.int64)
        for bit in range(8):
            step = numbers[:, bit, None]
            both = np.stack((tables + step, tables - step), axis=2)
            tables = both.reshape(len(numbers), -1, len(steps))
        yield from tables


def range_p(scores: Sequence[FloatArray], rng: np.random.Generator, resamples: int) -> list[FloatArray]:
    """For each pair of systems (rows), how often the best and the worst are as far apart when names are shuffled.

    In every query the systems' scores are shuffled among the systems (Carterette 2012), for all measures alike: ``scores``
    holds one matrix each. Comparing a pair with the *range* of all systems is what corrects for having many pairs.
    """
    # A query's difficulty does not matter.
    steps = [whole_steps(values - np.median(values, axis=0)) for values in scores]
    systems, queries = steps[0].shape
    deal = _deal_from_tables if systems <= ALL_ORDERS else _deal_one_by_one
    at_once, by_query = max(1, min(_AT_ONCE, _DEALT // systems)), np.stack(steps, axis=-1).swapaxes(0, 1)
    ranges = []
    for start in range(0, resamples, at_once):
        totals = np.zeros((min(at_once, resamples - start), systems * len(steps)), np.int64)
        deal(totals, by_query, rng)
        ranges.append(np.ptp(totals.reshape(-1, systems, len(steps)), axis=1))
    p_values = []
    for numbers, apart in zip(steps, np.concatenate(ranges).T, strict=True):
        totals = numbers.sum(axis=1)
        limits = np.abs(totals - totals[:, None]) - 2 * queries  # equal but for rounding is as far
        p = (resamples - np.searchsorted(np.sort(apart), limits) + 1) / (resamples + 1)
        np.fill_diagonal(p, 1)
        p_values.append(np.asarray(p))
    return p_values


def _deal_from_tables(totals: IntArray, steps: IntArray, rng: np.random.Generator) -> None:
    """Add the shuffled queries, a few at once: one random number chooses among all ways to deal them."""
    queries, systems, measures = steps.shape
    orders = np.array(list(permutations(range(systems))))
    together = 1
    while len(orders) ** (together + 1) <= 256 and together < queries:
        together += 1
    for first in range(0, queries, together):
        table = np.zeros((1, systems * measures), np.int64)
        for query in steps[first : first + together]:
            dealt = query[orders].reshape(len(orders), -1)
            table = (table[:, None] + dealt).reshape(-1, systems * measures)
        chosen = rng.integers(0, len(table), len(totals), dtype=np.uint16)
        _add_rows(totals, table, chosen)


def _deal_one_by_one(totals: IntArray, steps: IntArray, rng: np.random.Generator) -> None:
    """The same if there are too many systems for a table of all their orders to be shorter than what is looked up in it."""
    order = np.tile(np.arange(steps.shape[1]), (len(totals), 1))
    for query in steps:
        totals += query[rng.permuted(order, axis=1, out=order)].reshape(totals.shape)
