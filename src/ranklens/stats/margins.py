"""Is one system no worse than another, or equivalent to it? Two one-sided tests against a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ranklens.errors import Given, InputError
from ranklens.stats import inputs

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import BoolArray, FloatArray

Decision = Literal["better", "no worse", "equivalent", "worse", "undecided"]
SOURCE = "fay1997"  # its key in metrics/literature.py
_NO_SKEW = 1e-3
_LARGER = 4.0  # over the number of queries: how much larger the loss is that they do not show. Chosen by simulation, see docs/simulation.md.
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
    def of(cls, given: float | str | Margin) -> Margin:
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


def margin_test(
    a: npt.ArrayLike, b: npt.ArrayLike, margin: float | str | Margin, *, method: str = "careful"
) -> MarginTest:
    """Test whether b is no worse than a, and equivalent to it, up to a margin: a number, or a share of a's mean (``"2%"``).

    ``t`` takes two one-sided paired t tests. With skewed differences, or few other than 0, these let an inferior system pass far
    too often; ``careful`` also asks for the bound of Fay and Feuer (1997), which knows how skewed the differences are, and
    allows for one more loss of the largest size than the queries show.

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
    from scipy.special import stdtr

    values = change + reach
    n = values.shape[-1]
    if n < 2:
        return np.ones(values.shape[:-1])
    mean, deviation = values.mean(axis=-1), values.std(axis=-1, ddof=1)
    t = np.where(mean > 0, np.inf, -np.inf)  # where nothing varies
    np.divide(mean * n**0.5, deviation, out=t, where=deviation > inputs.NOISE * np.abs(mean))
    return np.asarray(stdtr(n - 1, -t))


def careful_p(change: FloatArray, reach: FloatArray) -> FloatArray:
    """The same where differences may be skewed, or few other than 0: the larger p-value of the t test and of :func:`rare_p`.

    Both rise with every further loss, so damage never makes a system look less inferior.
    """
    return np.asarray(np.maximum(student_p(change, reach), rare_p(change, change + reach)))


def rare_p(change: FloatArray, values: FloatArray) -> FloatArray:
    """The tail of a gamma distribution with the skewness of the values, and one more loss that the queries do not show.

    Fay and Feuer (1997) bound a weighted sum of rare events like this. For losses of equal size it is the exact bound of a count, except
    that the further loss is a little larger than the largest change seen where there are few queries. Where nothing changed, it is 1.

    >>> from scipy.stats import poisson
    >>> change = -0.5 * (np.arange(10_000) < 10)  # ten losses of 0.5; could there be 17 on average?
    >>> round(float(rare_p(change, change + 17 * 0.5 / 10_000)), 3), round(float(poisson.cdf(10, 17)), 3)
    (0.049, 0.049)
    """
    from scipy.special import gammainc, gammaincc, ndtr

    n, mean, largest = values.shape[-1], values.mean(axis=-1), np.abs(change).max(axis=-1)
    further = np.where(largest > 0, largest * (1 + _LARGER / n), 1.0)
    centred = values - mean[..., None]
    deviation = np.sqrt((centred**2).sum(axis=-1) * n / max(n - 1, 1) + further**2)
    third = further**3 - (centred**3).sum(axis=-1)
    # How likely a gamma variable of this skewness is this many standard deviations above its mean; it is normal without skewness.
    distance, skew = (n * mean - further) / deviation, 2 * third / deviation**3
    skewed = np.where(np.abs(skew) > _NO_SKEW, skew, _NO_SKEW)
    shape = 4 / skewed**2
    at = np.maximum(shape + np.sign(skewed) * np.sqrt(shape) * distance, 0.0)
    tail = np.where(skewed > 0, gammaincc(shape, at), gammainc(shape, at))
    return np.asarray(np.where(np.abs(skew) > _NO_SKEW, tail, ndtr(-distance)))


def decide(
    no_worse: BoolArray, equivalent: BoolArray, significant: BoolArray, gain: FloatArray
) -> list[Decision]:
    """One decision per pair; ``gain`` is how much better b is than a, ``significant`` whether it differs from 0.

    What lies inside the margin does not matter, so ``equivalent`` wins over a small difference that is significant.

    >>> yes, no = np.array([True]), np.array([False])
    >>> decide(yes, yes, yes, np.array([0.001])), decide(yes, no, no, np.array([0.001])), decide(no, no, yes, np.array([-0.1]))
    (['equivalent'], ['no worse'], ['worse'])
    """
    decisions = np.select(
        [equivalent, significant & (gain > 0), significant & (gain < 0), no_worse],
        ["equivalent", "better", "worse", "no worse"],
        "undecided",
    )
    return decisions.tolist()  # type: ignore[no-any-return]
