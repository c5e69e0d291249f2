"""Measures over sampled candidates: what evaluating against a few random negatives would have given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.errors import InputError
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.metrics import Measure, parse


def sampled_metric(
    ranks: Sequence[int], n: int, m: int, measure: str | Measure = "nDCG", *, full: bool = False
) -> float:
    """The expected mean of a measure where each relevant item is ranked among ``m`` random negatives out of ``n`` items.

    ``ranks`` are those of the one relevant item of each user among all ``n``. Its rank among sampled negatives is
    1 + Binomial(m, (rank - 1) / (n - 1)) (Krichene and Rendle 2020). ``full=True`` is the mean without sampling, to compare with.

    >>> round(sampled_metric([100] * 5, 10_000, 99), 3), round(sampled_metric([100] * 5, 10_000, 99, full=True), 3)
    (0.729, 0.15)
    """
    if n < 2 or m < 1 or not ranks or min(ranks) < 1 or max(ranks) > n:
        raise InputError(
            f"ranks must lie between 1 and n, with at least one, and m be 1 or more; n={n}, m={m}."
        )
    parsed = measure if isinstance(measure, Measure) else parse(measure)
    places = np.array(ranks, dtype=np.int64)
    if full:
        return float(_values(parsed, places, n).mean())
    from scipy.stats import binom

    at = _values(parsed, np.arange(1, m + 2), m + 1)
    chances = binom.pmf(np.arange(m + 1)[None, :], m, ((places - 1) / (n - 1))[:, None])
    return float((chances @ at).mean())


def _values(measure: Measure, ranks: IntArray, length: int) -> FloatArray:
    """The measure of rankings whose one relevant item is at each of these ranks."""
    count = len(ranks)
    query, one = np.arange(count), np.ones(count)
    hits = Hits(query, ranks, one, count)
    ideal = Hits(query, np.ones(count, np.int64), one, count)
    judged = Judged([str(i) for i in range(count)], hits, ideal, np.full(count, length), 1.0)
    return measure(judged)
