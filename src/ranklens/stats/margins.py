"""Is one system no worse than another, or equivalent to it? Two one-sided tests against a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ranklens.errors import Given, InputError
from ranklens.stats import inputs

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray

Decision = Literal["better", "no worse", "equivalent", "worse", "undecided"]
# A small sample looks less skewed, and less wide, than what it is drawn from. Chosen by simulation, see docs/margins.md.
_MORE_SKEW, _WIDER = 2.0, 4.0
_NO_SKEW = 1e-3
DECISIONS: tuple[Decision, ...] = ("better", "no worse", "equivalent", "worse", "undecided")


@dataclass(frozen=True)
class Margin:
    """The largest difference that does not matter: a number, or a share of the mean of the first system.

    >>> Margin.of(0.01), Margin.of("2%")
    (Margin(size=0.01, relative=False), Margin(size=0.02, relative=True))
    >>> str(Margin.of("2%")), str(Margin.of(0.01))
    ('2%', '0.01')
    """

    size: float
    relative: bool = False

    @classmethod
    def of(cls, given: Any) -> Margin:
        if isinstance(given, Margin):
            return given
        text = given.strip() if isinstance(given, str) else ""
        try:
            size = float(text[:-1]) / 100 if text.endswith("%") else float(given)
        except (TypeError, ValueError):
            size = np.nan
        if isinstance(given, bool) or not 0 < size < np.inf or (text.endswith("%") and size >= 1):
            raise InputError(
                Given("margin", given),
                " is not allowed: it must be a number above 0, such as 0.01, or a share such as '2%'.",
            )
        return cls(float(size), text.endswith("%"))

    def reach(self, a: FloatArray) -> FloatArray:
        """For each query, by how much b may differ from ``a``: the mean over queries is the margin."""
        return self.size * np.abs(a) if self.relative else np.full(np.shape(a), self.size)

    def __str__(self) -> str:
        return f"{100 * self.size:g}%" if self.relative else f"{self.size:g}"


@dataclass(frozen=True)
class MarginTest:
    """Two one-sided tests of ``b - a``: ``p_no_worse`` that b is not worse by the margin, ``p_no_better`` that it is not better by it.

    Both are small if the two are equivalent, so the larger of them, ``p_equivalent``, is the p-value of that claim.
    """

    p_no_worse: float
    p_no_better: float
    margin: Margin
    n: int
    method: str

    @property
    def p_equivalent(self) -> float:
        return max(self.p_no_worse, self.p_no_better)


def margin_test(a: Any, b: Any, margin: float | str | Margin, *, method: str = "careful") -> MarginTest:
    """Test whether b is no worse than a, and equivalent to it, up to a margin: a number, or a share of a's mean (``"2%"``).

    ``t`` takes two one-sided paired t tests. With skewed differences, or few other than 0, these let an inferior system pass far
    too often; ``careful`` corrects for skewness (Hall 1992, or Fay and Feuer 1997 where few queries differ) and imagines one win
    and one loss of the usual size that the queries do not show, as Agresti and Min do for proportions. Only queries that differ
    give degrees of freedom.

    >>> test = margin_test([0.5, 0.6, 0.4, 0.7, 0.5], [0.51, 0.6, 0.41, 0.69, 0.5], 0.05, method="t")
    >>> round(test.p_no_worse, 5), round(test.p_equivalent, 5)
    (8e-05, 0.00011)
    """
    inputs.choice(method, "method", ("careful", "t"))
    allowed = Margin.of(margin)
    first, second = inputs.pair(a, b)
    change, reach = inputs.differences(first, second), allowed.reach(first)
    one_sided = careful_p if method == "careful" else student_p
    low, high = one_sided(change, reach), one_sided(-change, reach)
    return MarginTest(float(low), float(high), allowed, len(first), method)


def student_p(change: FloatArray, reach: FloatArray) -> FloatArray:
    """How likely it is to see a mean of ``change + reach`` this far above 0 if it were 0: a one-sided t test over the last axis."""
    values = change + reach
    n = values.shape[-1]
    if n < 2:
        return np.ones(values.shape[:-1])
    return _tail(_t(values.mean(axis=-1), values.std(axis=-1, ddof=1), n), n)


def careful_p(change: FloatArray, reach: FloatArray) -> FloatArray:
    """The same where differences may be skewed, or few other than 0: the largest p-value of the t test and three corrected ones."""
    values = change + reach
    n = values.shape[-1]
    if n < 2:
        return np.ones(values.shape[:-1])
    mean = values.mean(axis=-1)
    t = _t(mean, values.std(axis=-1, ddof=1), n)
    changed = np.count_nonzero(change, axis=-1)
    unskewed, rare = _tail(_without_skew(t, values, mean), n), rare_p(change, values)
    unskewed = np.where(2 * changed <= n, np.minimum(unskewed, rare), unskewed)
    few, pair = _tail(t, np.maximum(changed, 2)), _with_imagined_pair(change, values)
    return np.asarray(np.maximum.reduce([_tail(t, n), unskewed, few, pair]))


def rare_p(change: FloatArray, values: FloatArray) -> FloatArray:
    """The p-value where half of the queries differ, or fewer: the tail of a gamma distribution, with one more loss of the largest size seen.

    Fay and Feuer (1997) bound a weighted sum of rare events like this. For losses of equal size it is the exact bound of a count. Hall's
    transformation is flat there: with ten losses among 200 queries it would not rule out a drop almost twice as large.

    >>> from scipy.stats import poisson
    >>> change = -0.5 * (np.arange(10_000) < 10)  # ten losses of 0.5; could there be 17 on average?
    >>> round(float(rare_p(change, change + 17 * 0.5 / 10_000)), 3), round(float(poisson.cdf(10, 17)), 3)
    (0.049, 0.049)
    """
    n, mean, largest = values.shape[-1], values.mean(axis=-1), np.abs(change).max(axis=-1)
    centred = values - mean[..., None]
    deviation = np.sqrt((centred**2).sum(axis=-1) * n / (n - 1) + largest**2)
    third = largest**3 - (centred**3).sum(axis=-1)
    varies = deviation > 0
    scale = np.where(varies, deviation, 1.0)
    distance = np.where(varies, (n * mean - largest) / scale, -np.inf)
    return _gamma_tail(distance, 2 * third / scale**3)


def _gamma_tail(distance: FloatArray, skew: FloatArray) -> FloatArray:
    """How likely a gamma variable of this skewness is so many standard deviations above its mean; it is normal without skewness."""
    from scipy.special import gammainc, gammaincc, ndtr

    skewed = np.where(np.abs(skew) > _NO_SKEW, skew, _NO_SKEW)
    shape = 4 / skewed**2
    at = np.maximum(shape + np.sign(skewed) * np.sqrt(shape) * distance, 0.0)
    tail = np.where(skewed > 0, gammaincc(shape, at), gammainc(shape, at))
    return np.asarray(np.where(np.abs(skew) > _NO_SKEW, tail, ndtr(-distance)))


def _with_imagined_pair(change: FloatArray, values: FloatArray) -> FloatArray:
    """The t test with one more win and one more loss, around the margin: with 8 ties, not everything is a tie.

    Their size is between the usual and the largest of the differences, more where there are few queries, or 1 if none differs.
    Where the margin is larger than that, they are around the point so far below the mean, so that a wide margin is still reached.
    How much differences vary is known from the queries that differ, so these alone give degrees of freedom.
    """
    from scipy.special import stdtr

    changed, n = np.count_nonzero(change, axis=-1), values.shape[-1] + 2
    usual = np.sqrt((change**2).sum(axis=-1) / np.maximum(changed, 1))
    seen = np.sqrt(usual * np.abs(change).max(axis=-1)) * (1 + _WIDER / values.shape[-1])
    size = np.where(changed > 0, seen, 1.0)
    centre = np.maximum(values.mean(axis=-1) - size, 0.0)
    more = np.concatenate([values, (centre + size)[..., None], (centre - size)[..., None]], axis=-1)
    freedom = np.where(changed > 0, changed + 1.0, n - 1.0)
    return np.asarray(stdtr(freedom, -_t(more.mean(axis=-1), more.std(axis=-1, ddof=1), n)))


def _t(mean: FloatArray, deviation: FloatArray, n: int) -> FloatArray:
    """Infinite where nothing varies."""
    t = np.where(mean > 0, np.inf, -np.inf)
    np.divide(mean * n**0.5, deviation, out=t, where=deviation > inputs.NOISE * np.abs(mean))
    return t


def _tail(t: FloatArray, n: int | FloatArray) -> FloatArray:
    from scipy.special import stdtr

    return np.asarray(stdtr(n - 1, -t))


def _without_skew(t: FloatArray, values: FloatArray, mean: FloatArray) -> FloatArray:
    """Hall's transformation, which is monotone: a sample with a long left tail has a t that is too large."""
    n, finite = values.shape[-1], np.isfinite(t)
    if n < 3:
        return t
    centred = np.where(finite[..., None], values - mean[..., None], 1.0)
    moments = (centred**3).mean(axis=-1) / (centred**2).mean(axis=-1) ** 1.5
    skew = _MORE_SKEW * moments * (n * (n - 1)) ** 0.5 / (n - 2) / n**0.5
    known = np.where(finite, t, 0.0)
    straight = known + skew / 3 * known**2 + skew**2 * known**3 / 27 + skew / 6
    return np.where(finite, straight, t)


def decide(
    no_worse: BoolArray, equivalent: BoolArray, significant: BoolArray, gain: FloatArray
) -> list[Decision]:
    """One decision per pair; ``gain`` is how much better b is than a, ``significant`` whether it differs from 0.

    What lies inside the margin does not matter, so ``equivalent`` wins over a small difference that is significant.

    >>> yes, no = np.array([True]), np.array([False])
    >>> decide(yes, yes, yes, np.array([0.001])), decide(yes, no, no, np.array([0.001])), decide(no, no, yes, np.array([-0.1]))
    (['equivalent'], ['no worse'], ['worse'])
    """
    found = np.select(
        [equivalent, significant & (gain > 0), significant & (gain < 0), no_worse],
        ["equivalent", "better", "worse", "no worse"],
        "undecided",
    )
    return found.tolist()  # type: ignore[no-any-return]
