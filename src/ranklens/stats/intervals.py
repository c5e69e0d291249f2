"""Intervals of a mean: what the mean over all queries like these could be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ranklens.errors import InputError
from ranklens.stats import bounded, inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.stats.inputs import Rng

_DRAWN = 1 << 18  # numbers at once: they stay in the cache, and memory is bounded
_COUNTED = 1 << 20  # the same where they are counted: enough rows for a fast product


class Bounds(NamedTuple):
    """The values that a measure can take."""

    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True)
class Interval:
    """Where the mean over all queries like these plausibly lies.

    ``clipped`` means that the interval extended beyond the measure's range and was cut.
    """

    low: float
    high: float
    level: float = 0.95
    method: str = "t"
    clipped: bool = False

    def __iter__(self) -> Iterator[float]:
        """``low, high = scores.interval("RR")``."""
        return iter((self.low, self.high))

    def __str__(self) -> str:
        return f"[{self.low:.4f}, {self.high:.4f}]"


def within(bounds: Bounds, around: Interval) -> Interval:
    """The interval, cut where it leaves the range of the measure."""
    low, high = float(max(bounds.low, around.low)), float(min(bounds.high, around.high))
    return replace(around, low=low, high=high, clipped=bool(low > around.low or high < around.high))


def bootstrap_samples(values: FloatArray, rng: np.random.Generator, resamples: int) -> Iterator[FloatArray]:
    """Samples drawn from the values with replacement, as many as there are values: one per row, several rows at a time."""
    n = len(values)
    rows = max(1, _DRAWN // n)
    for start in range(0, resamples, rows):
        yield values.take(rng.integers(0, n, (min(rows, resamples - start), n)))


def bootstrap_weights(n: int, rng: np.random.Generator, resamples: int) -> Iterator[FloatArray]:
    """How often each of n values is in a sample drawn with replacement: one sample per row, some rows at a time.

    These are the samples of :func:`bootstrap_samples`, for many rows of values at once: ``weights @ values.T`` are their sums.
    """
    rows = max(1, _COUNTED // n)
    for start in range(0, resamples, rows):
        drawn = rng.integers(0, n, (min(rows, resamples - start), n))
        places = drawn + n * np.arange(len(drawn))[:, None]
        yield np.bincount(places.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(float)


def student_ends(values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Both ends of Student's t interval over the last axis."""
    n = values.shape[-1]
    mean, half = values.mean(axis=-1), bounded.student_half(values.std(axis=-1, ddof=1), n, level)
    return mean - half, mean + half


def _automatic(values: FloatArray, level: float, bounds: Bounds) -> Interval:
    if bounded.is_binary(values, *bounds):
        return _of_share(values, "auto", level, bounds)
    around = _student(values, level, bounds)
    if not np.isfinite(bounds.high - bounds.low):
        return around
    centre, half = (around.low + around.high) / 2, (around.high - around.low) / 2
    is_near = bounded.is_near(np.asarray(centre), np.asarray(half), *bounds)
    return _score(values, level, bounds) if inputs.constant(values) or is_near else around


def _student(values: FloatArray, level: float, _bounds: Bounds) -> Interval:
    low, high = student_ends(values, level)
    return Interval(float(low), float(high), level)


def _wilson(values: FloatArray, level: float, bounds: Bounds) -> Interval:
    _refuse_endless("wilson", bounds)
    for position in np.flatnonzero((values != bounds.low) & (values != bounds.high))[:1]:
        raise InputError(
            f"scores[{position}] is {values[position]:g}, but method='wilson' is for scores that are "
            f"{bounds.low:g} or {bounds.high:g}: choose 'score' or 't'."
        )
    return _of_share(values, "wilson", level, bounds)


def _score(values: FloatArray, level: float, bounds: Bounds) -> Interval:
    _refuse_endless("score", bounds)
    low, high = bounded.score_ends(values, level, *bounds)
    return Interval(float(low), float(high), level, "score")


def _refuse_endless(method: str, bounds: Bounds) -> None:
    if not np.isfinite(bounds.high - bounds.low):
        raise InputError(f"method={method!r} needs the range of the scores: pass bounds=Bounds(low, high).")


def _of_share(values: FloatArray, method: str, level: float, bounds: Bounds) -> Interval:
    return interval_of_share(int((values == bounds.high).sum()), len(values), method, level, bounds)


def interval_of_share(hits: int, n: int, method: str, level: float, bounds: Bounds) -> Interval:
    """Wilson's, of ``hits`` scores at the upper bound among n that are all at one of the two.

    Unless that was asked for, as it was modified for shares next to an end.
    """
    low, high = (float(end) for end in bounded.wilson_ends(np.asarray(hits / n), n, level))
    if method == "auto" and (modified := bounded.modified_wilson_ends(hits, n, level)) != (low, high):
        (low, high), method = modified, "modified wilson"
    else:
        method = "wilson"
    span = bounds.high - bounds.low
    return Interval(bounds.low + span * low, bounds.low + span * high, level, method)


def bootstrap_ends(
    values: FloatArray, means: FloatArray, method: str, level: float, counts: IntArray | None = None
) -> Interval:
    """The interval from the means of samples; ``counts`` says how often each value was there, by default once.

    ``bca`` is Efron's, corrected for bias and acceleration: ``percentile`` where that is not defined.
    """
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    weights = np.ones(len(values)) if counts is None else counts
    mean, noise = np.average(values, weights=weights), inputs.NOISE * np.abs(values).max()
    below = ((means < mean - noise).mean() + (means <= mean + noise).mean()) / 2  # equal ones count half
    if method == "bca" and not inputs.constant(values) and 0 < below < 1:
        from scipy.special import ndtr, ndtri

        centred = (values - mean) / np.abs(values - mean).max()  # the cube of a tiny number is 0
        # The acceleration of a mean, by the jackknife, is the skewness / (6 sqrt n).
        acceleration = (weights * centred**3).sum() / (6 * (weights * centred**2).sum() ** 1.5)
        bias = ndtri(below)
        reach = bias + ndtri(ends)
        stretch = 1 - acceleration * reach
        if (stretch > 0).all():
            low, high = np.quantile(means, ndtr(bias + reach / stretch))
            return Interval(low, high, level, "bca")
    low, high = np.quantile(means, ends)
    return Interval(low, high, level, "percentile")


def median_interval(values: FloatArray, level: float = 0.95, bounds: Bounds = Bounds()) -> Interval:  # noqa: B008  immutable
    """Where the median over all queries like these lies: between two of the values, whatever their distribution.

    These are the order statistics that enclose it with at least this chance; with very few values there are none, and the interval
    covers the whole range of the measure.

    >>> median_interval(np.arange(1.0, 21.0))
    Interval(low=6.0, high=15.0, level=0.95, method='order statistics', clipped=False)
    """
    from scipy.stats import binom

    n, ordered = len(values), np.sort(values)
    below = int(binom.ppf((1 - level) / 2, n, 0.5)) if n else 0
    if below == 0:
        return Interval(*bounds, level, "order statistics")
    return Interval(float(ordered[below - 1]), float(ordered[n - below]), level, "order statistics")


@dataclass(frozen=True)
class IntervalMethod:
    """The description of an interval method, and its function if the interval of a mean can be requested by this name."""

    words: str
    short: str = ""  # in a list, where it is not written as it is called
    of_mean: Callable[[FloatArray, float, Bounds], Interval] | None = None
    is_resampled: bool = False
    of_differences: bool = False  # between two systems


# Everything that speaks of intervals reads their names and words here: those of :attr:`Interval.method`, and ``auto``.
INTERVAL_METHODS: dict[str, IntervalMethod] = {
    "auto": IntervalMethod("automatic", of_mean=_automatic),
    "t": IntervalMethod("Student's t", of_mean=_student, of_differences=True),
    "wilson": IntervalMethod("Wilson's", "Wilson", of_mean=_wilson),
    "score": IntervalMethod("Wilson's with the scores' own variance", of_mean=_score),
    "percentile": IntervalMethod("percentile", is_resampled=True),
    "bca": IntervalMethod("bca", is_resampled=True),
    "modified wilson": IntervalMethod("Wilson's modified near the ends", "modified Wilson"),
    "order statistics": IntervalMethod("order statistics"),
    "t of logs": IntervalMethod("Student's t of logarithms"),
    "cluster t of logits": IntervalMethod("Student's t of logits by cluster"),
    "adjusted t": IntervalMethod("Student's t with a win and a loss added", of_differences=True),
    "bonett-price": IntervalMethod("Bonett and Price's for paired proportions", of_differences=True),
    "welch": IntervalMethod("Welch's t", of_differences=True),
    "cluster t": IntervalMethod("Student's t by cluster", of_differences=True),
    "ppi++": IntervalMethod("prediction-powered (PPI++, Student's t)", "PPI++", of_differences=True),
    "simultaneous": IntervalMethod("the largest t of all pairs", of_differences=True),
}
ANALYTIC = tuple(name for name, method in INTERVAL_METHODS.items() if method.of_mean)
INTERVALS = (*ANALYTIC, *(name for name, method in INTERVAL_METHODS.items() if method.is_resampled))


def words_of_method(method: str) -> str:
    """How an interval was made, in words."""
    return INTERVAL_METHODS[method].words if method in INTERVAL_METHODS else method


def interval(
    scores: npt.ArrayLike,
    *,
    method: str = "auto",
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
    rng: Rng = None,
    resamples: int = 10_000,
) -> Interval:
    """The interval of a mean; ``method`` of the result names how it was made.

    - ``auto``: ``wilson`` if all scores are at one of the two ``bounds`` (``modified wilson`` if one to three are at the other:
      the end next to them is then farther out), ``score`` if the mean is near one of them, else ``t``.
    - ``t``: Student's. ``wilson``: of the share of scores at the upper bound. ``score``: the same for scores in between, with
      their own variance; it never leaves the bounds.
    - ``percentile`` and ``bca``: of the bootstrap. ``bca`` needs variation and otherwise falls back to ``percentile``.

    One score says nothing about the next, so the interval then covers the whole range of the measure. Where all scores
    are equal, ``t`` and the bootstrap have no width: they know nothing of what was not seen.

    >>> interval([0.2, 0.4, 0.6])
    Interval(low=-0.0968..., high=0.8968..., level=0.95, method='t', clipped=False)
    >>> interval([1, 1, 1, 1, 1, 1, 1, 1], bounds=Bounds(0, 1))
    Interval(low=0.6755..., high=1.0, level=0.95, method='wilson', clipped=False)
    >>> print(interval([1, 1, 0.9, 1, 0.5], bounds=Bounds(0, 1)))
    [0.4334, 0.9860]
    >>> interval([0.2], bounds=Bounds(0, 1))
    Interval(low=0.0, high=1.0, level=0.95, method='t', clipped=False)
    >>> print(interval([0.0, 0.0, 0.1, 0.2, 1.0], method="bca", rng=0))
    [0.0400, 0.8000]
    """
    inputs.choice(method, "method", INTERVALS)
    inputs.share(level, "level")
    values = inputs.sample(scores, "scores")
    if len(values) < 2:
        return Interval(float(bounds.low), float(bounds.high), level, "t" if method == "auto" else method)
    of_mean = INTERVAL_METHODS[method].of_mean
    if of_mean is not None:
        return within(bounds, of_mean(values, level, bounds))
    samples = bootstrap_samples(values, inputs.generator(rng), inputs.count(resamples, "resamples"))
    means = np.concatenate([sample.mean(axis=1) for sample in samples])
    return within(bounds, bootstrap_ends(values, means, method, level))


def share_interval(share: float, n: int, *, level: float = 0.95) -> Interval:
    """Wilson's interval of a share of ``n``: sensible even if the share is 0 or 1.

    >>> print(share_interval(1.0, 10))
    [0.7225, 1.0000]
    """
    inputs.count(n, "n")
    low, high = bounded.wilson_ends(np.asarray(share), n, inputs.share(level, "level"))
    return Interval(float(low), float(high), level, "wilson")


def relative_interval(
    a: npt.ArrayLike, b: npt.ArrayLike, *, level: float = 0.95, rng: Rng = None, resamples: int = 10_000
) -> Interval:
    """The interval of mean(b) / mean(a) - 1 over the same queries: percentiles of its bootstrap, queries drawn together.

    A resample in which all of a is 0 counts as an infinite change where b is above 0, else as none; so the interval may be
    open above where a is 0 for most queries. With one query it is everything from -1 on.

    >>> print(relative_interval([0.2, 0.4, 0.4, 0.2], [0.4, 0.4, 0.6, 0.3], rng=0))
    [0.1250, 0.8000]
    """
    inputs.share(level, "level")
    before, after = inputs.pair(a, b)
    if len(before) < 2:
        return Interval(-1.0, float("inf"), level, "percentile")
    # Queries are resampled in place of values, so that both systems get the same.
    queries: npt.NDArray[Any] = np.arange(len(before))
    drawn = bootstrap_samples(queries, inputs.generator(rng), inputs.count(resamples, "resamples"))
    means = [(before[rows].mean(axis=1), after[rows].mean(axis=1)) for rows in drawn]
    first, second = map(np.concatenate, zip(*means, strict=True))
    change = np.where(second > 0, np.inf, 0.0)
    np.divide(second - first, first, out=change, where=first > 0)
    # not interpolated: between two infinite values there is no number
    low, high = np.quantile(change, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return Interval(float(low), float(high), level, "percentile")
