"""How large a difference is, not only whether there is one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import chebyshev

from ranklens.stats import bounded, inputs
from ranklens.stats.distributions import shift_of_tail
from ranklens.stats.intervals import INTERVAL_METHODS, Bounds, Interval, interval, within
from ranklens.stats.moments import Moments, exact_sum
from ranklens.stats.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from ranklens.arrays import BoolArray, FloatArray, IntArray
    from ranklens.stats.inputs import Rng

_KNOTS = 128  # more intervals of Hedges' g than this are interpolated between this many
# How an interval of differences was made; the names of :attr:`Interval.method`.
METHODS = tuple(name for name, method in INTERVAL_METHODS.items() if method.of_differences)
_STUDENT, _ADJUSTED, _PROPORTIONS, _UNPAIRED = map(
    METHODS.index, ("t", "adjusted t", "bonett-price", "welch")
)


@dataclass(frozen=True)
class EffectSize:
    """How much better b is than a: by the mean difference, in standard deviations, and in queries.

    ``cohen_dz`` is the mean difference over the standard deviation of the differences, ``hedges_g`` the same without its
    bias in small samples; both are infinite where all differences are equal but not 0, and 0 for one query.
    ``probability`` of improvement is the share of queries where b wins, ties counted half. ``cliff_delta`` does not pair
    queries: it is the chance that a value of b is above one of a, minus the chance that it is below.
    """

    difference: float
    interval: Interval
    cohen_dz: float
    hedges_g: float
    probability: float
    probability_interval: Interval
    wins: int
    ties: int
    losses: int
    cliff_delta: float = 0.0

    @cached_property
    def hedges_g_interval(self) -> Interval:
        """All g for which a t as extreme as the observed one would not be rare; computed on access, because it is slow."""
        return _hedges_interval(self.cohen_dz, self.wins + self.ties + self.losses, self.interval.level)


def effect_size(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    level: float = 0.95,
    bounds: Bounds = Bounds(),  # noqa: B008  immutable
    method: str = "auto",
    rng: Rng = None,
    better: str = "higher",
) -> EffectSize:
    """How much better b is than a over the same queries.

    If ``better`` is ``lower``, b wins the queries where its value is lower; the difference and the standardised effects stay those
    of the values.
    ``bounds`` are those of the measure: differences then reach from low - high to high - low. ``method`` and ``rng`` are for
    the interval of the mean difference, as in :func:`interval`; ``auto`` is Student's t, except where few queries differ or
    all by the same (``adjusted t``: two more queries are added, one that each wins), and where values are at either end, such
    as 0 or 1 (``bonett-price``, for paired proportions). The interval of Hedges' g inverts the noncentral t
    distribution; that of the probability is Wilson's, which is somewhat wide where there are many ties.

    >>> effect = effect_size([0.2, 0.4, 0.1, 0.3], [0.3, 0.6, 0.4, 0.3])
    >>> effect.wins, effect.ties, effect.losses, effect.probability
    (3, 1, 0, 0.875)
    >>> print(round(effect.difference, 4), effect.interval, round(effect.hedges_g, 4), effect.hedges_g_interval)
    0.15 [-0.0554, 0.3554] 0.8407 [-0.1458, 1.7640]
    """
    inputs.share(level, "level")
    before, after = inputs.pair(a, b)
    change, reach = inputs.differences(before, after), bounds.high - bounds.low
    delta = float(cliff_deltas(np.stack([before, after]))[0, 1])
    effect = effect_sizes(change[None], level=level, bounds=bounds, better=better).at(0)
    if method != "auto":
        around = interval(change, method=method, level=level, bounds=Bounds(-reach, reach), rng=rng)
        effect = replace(effect, interval=around)
    return replace(effect, cliff_delta=delta)


def cliff_deltas(values: FloatArray) -> FloatArray:
    """Cliff's delta of each two rows: entry i, j is how much more often a value of row j is above one of row i than below.

    >>> cliff_deltas(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([[ 0.  ,  0.75],
           [-0.75,  0.  ]])
    """
    rows, n = values.shape
    levels, place = np.unique(values, return_inverse=True)
    place = place.reshape(values.shape)
    deltas = np.zeros((rows, rows))
    for i in range(rows):
        counts = np.bincount(place[i], minlength=len(levels))
        not_above = counts.cumsum()
        deltas[i] = (2 * not_above - counts - n)[place].mean(axis=1) / n  # below minus above, by level
    return deltas


@dataclass(frozen=True)
class EffectSizes:
    """Many :class:`EffectSize` over the same number of queries, with Student's intervals; one value per pair."""

    n: int
    level: float
    difference: FloatArray
    deviation: FloatArray
    low: FloatArray
    high: FloatArray
    clipped: BoolArray
    method: IntArray  # a place in METHODS
    cohen_dz: FloatArray
    wins: IntArray
    losses: IntArray

    @property
    def hedges_g(self) -> FloatArray:
        return _hedges_factor(self.n) * self.cohen_dz

    @property
    def probability(self) -> FloatArray:
        return (self.n + self.wins - self.losses) / (2 * self.n)

    @cached_property
    def probability_ends(self) -> tuple[FloatArray, FloatArray]:
        return bounded.wilson_ends(self.probability, self.n, self.level)

    @cached_property
    def hedges_g_ends(self) -> tuple[FloatArray, FloatArray]:
        """As :attr:`EffectSize.hedges_g_interval`; interpolated where there are many, as all depend on t alone."""
        if self.n < 2 or len(self.cohen_dz) <= _KNOTS:
            ends = [_hedges_interval(dz, self.n, self.level) for dz in self.cohen_dz.tolist()]
            return np.array([one.low for one in ends]), np.array([one.high for one in ends])
        finite, t = np.isfinite(self.cohen_dz), self.cohen_dz * self.n**0.5
        # Rounded up to a power of two, so that the few polynomials are found in the cache.
        farthest = 2.0 ** np.ceil(np.log2(np.abs(t[finite]).max(initial=8)))
        lowest, scale = _shifts(self.n, self.level, farthest), _hedges_factor(self.n) / self.n**0.5
        low, high = self.cohen_dz.copy(), self.cohen_dz.copy()
        low[finite], high[finite] = scale * lowest(t[finite]), -scale * lowest(-t[finite])
        return low, high

    def at(self, pair: int) -> EffectSize:
        return next(self.one_by_one(slice(pair, pair + 1)))

    def one_by_one(self, some: slice = slice(None), cliff: FloatArray | None = None) -> Iterator[EffectSize]:
        """Each of them, or some; ``cliff`` brings Cliff's delta, which needs more than differences."""
        ends = (self.low, self.high, self.method, self.clipped)
        sizes = (self.cohen_dz, self.hedges_g, self.probability, *self.probability_ends)
        deltas = np.zeros(len(self.wins)) if cliff is None else cliff
        columns = (self.difference, *ends, *sizes, self.wins, self.losses, deltas)
        for row in zip(*(column[some].tolist() for column in columns), strict=True):
            difference, low, high, method, clipped, dz, g, probability, least, most, wins, losses, delta = row
            yield EffectSize(
                difference,
                Interval(low, high, self.level, METHODS[method], clipped),
                dz,
                g,
                probability,
                Interval(least, most, self.level, "wilson"),
                wins,
                self.n - wins - losses,
                losses,
                delta,
            )

    def unpaired(self, first: FloatArray, second: FloatArray, bounds: Bounds) -> EffectSizes:
        """The same with Welch's intervals, from the variances of the two systems of each pair, as if queries were not the same."""
        from scipy.special import stdtrit

        total, reach = first + second, bounds.high - bounds.low
        varies = total > 0
        squares = np.where(varies, first**2 + second**2, 1.0)
        freedom = np.where(varies, (self.n - 1) * total**2 / squares, 1.0)
        half = stdtrit(freedom, (1 + self.level) / 2) * (total / self.n) ** 0.5
        ends = self.difference - half, self.difference + half
        low, high = np.maximum(-reach, ends[0]), np.minimum(reach, ends[1])
        return replace(
            self,
            low=np.where(varies, low, self.low),
            high=np.where(varies, high, self.high),
            clipped=np.where(varies, (low > ends[0]) | (high < ends[1]), self.clipped),
            method=np.where(varies, _UNPAIRED, self.method),
        )


def effect_sizes(changes: FloatArray, *, level: float, bounds: Bounds, better: str = "higher") -> EffectSizes:
    """The effect sizes of many pairs: rows of differences as :func:`~ranklens.stats.inputs.differences` gives them."""
    (pairs, n), reach = changes.shape, bounds.high - bounds.low
    mean, deviation, dz = changes.mean(axis=1), np.zeros(pairs), np.zeros(pairs)
    ends, method = (np.full(pairs, -reach), np.full(pairs, reach)), np.full(pairs, _STUDENT)
    above, below = (changes > 0).sum(axis=1), (changes < 0).sum(axis=1)
    if n > 1:
        least, most = changes.min(axis=1), changes.max(axis=1)
        spread, largest = most - least, np.maximum(most, -least)
        deviation = np.where(spread > 0, changes.std(axis=1, ddof=1), 0.0)
        half = t_quantile(n - 1, (1 + level) / 2) * deviation / n**0.5
        ends, method = _ends(changes, (mean - half, mean + half), spread, above, below, level, reach)
        constant = spread <= inputs.NOISE * largest
        dz[~constant] = mean[~constant] / deviation[~constant]
        dz[constant & (largest > 0)] = np.copysign(np.inf, changes[constant & (largest > 0), 0])
    low, high = np.maximum(-reach, ends[0]), np.minimum(reach, ends[1])
    wins, losses = (below, above) if better == "lower" else (above, below)
    return EffectSizes(
        n=n,
        level=level,
        difference=mean,
        deviation=deviation,
        low=low,
        high=high,
        clipped=(low > ends[0]) | (high < ends[1]),
        method=method,
        cohen_dz=dz,
        wins=wins,
        losses=losses,
    )


def effect_of_moments(
    moments: Moments, above: int, below: int, *, level: float, bounds: Bounds, better: str = "higher"
) -> EffectSize:
    """The same from the moments of very many differences, where Student's interval holds and which system each value is of is not known.

    ``above`` and ``below`` count the differences above and below 0; if lower values are ``better``, those below are b's wins.
    Cliff's delta, which compares each value of one system with each of the other, is not a number then.
    """
    reach, mean, deviation = bounds.high - bounds.low, moments.mean, moments.deviation
    if moments.is_constant:
        deviation, dz = 0.0, 0.0 if not mean else float(np.copysign(np.inf, mean))
    else:
        dz = mean / deviation
    around = moments.interval(level, Bounds(-reach, reach), "t")
    if np.isfinite(reach) and moments.squares == (above + below) * exact_sum(np.array([reach**2])):
        low, high = bounded.paired_proportion_ends(np.array(above), np.array(below), moments.n, level)
        around = within(
            Bounds(-reach, reach), Interval(reach * float(low), reach * float(high), level, "bonett-price")
        )
    wins, losses = (below, above) if better == "lower" else (above, below)
    one: dict[str, Any] = {
        "difference": mean, "deviation": deviation, "low": around.low, "high": around.high, "clipped": around.clipped,
        "method": METHODS.index(around.method), "cohen_dz": dz, "wins": wins, "losses": losses,
    }  # fmt: skip
    sizes = EffectSizes(n=moments.n, level=level, **{name: np.array([value]) for name, value in one.items()})
    return replace(sizes.at(0), cliff_delta=float("nan"))


def joined(parts: Sequence[EffectSizes]) -> EffectSizes:
    """The effect sizes of all parts in a row."""
    if len(parts) == 1:
        return parts[0]
    names = (one.name for one in fields(EffectSizes) if one.name not in ("n", "level"))
    arrays: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in parts]) for name in names}
    return replace(parts[0], **arrays)


def _ends(
    changes: FloatArray,
    student: tuple[FloatArray, FloatArray],
    spread: FloatArray,
    wins: IntArray,
    losses: IntArray,
    level: float,
    reach: float,
) -> tuple[tuple[FloatArray, FloatArray], IntArray]:
    """Both ends of the interval of each row's mean, Student's if nothing speaks against them, and how they were found."""
    low, high = student
    method = np.full(len(changes), _STUDENT)
    sparse = bounded.is_sparse(wins + losses, spread, changes.shape[1])
    if np.isinf(reach):
        sparse &= changes.any(axis=1)  # differences of 0 alone say nothing of how large others may be
    if sparse.any():
        method[sparse] = _ADJUSTED
        low[sparse], high[sparse] = bounded.sparse_ends(changes[sparse], level, reach)
    if np.isinf(reach):
        return (low, high), method
    # Rows that differ by nothing or by all there is; most are ruled out by their first difference.
    binary = np.isin(changes[:, 0], (0, reach, -reach))
    binary[binary] = np.isin(changes[binary], (0, reach, -reach)).all(axis=1)
    if binary.any():
        method[binary] = _PROPORTIONS
        shares = bounded.paired_proportion_ends(wins[binary], losses[binary], changes.shape[1], level)
        low[binary], high[binary] = (reach * end for end in shares)
    return (low, high), method


@lru_cache(maxsize=16)
def _shifts(n: int, level: float, farthest: float) -> Callable[[FloatArray], FloatArray]:
    """The lower end of the shift as a function of t, from -farthest to farthest; the upper one is its mirror image.

    Divided by the root of 1 + t² it is bounded and smooth in the inverse hyperbolic sine of t: a polynomial comes close.
    """
    reach = np.arcsinh(farthest)

    def shares(place: FloatArray) -> Any:
        t = np.sinh(reach * place)
        shifts = [shift_of_tail(one, n - 1, (1 - level) / 2) for one in t.tolist()]
        return shifts / np.hypot(1, t)

    fitted = chebyshev.chebinterpolate(shares, _KNOTS - 1)
    return lambda t: np.hypot(1, t) * chebyshev.chebval(np.arcsinh(t) / reach, fitted)


@lru_cache(maxsize=64)
def _hedges_factor(n: int) -> float:
    """What takes the bias out of dz; for two queries, whose dz has no expected value, 1."""
    from scipy.special import gammaln

    half = (n - 1) / 2
    return float(np.exp(gammaln(half) - gammaln(half - 0.5)) / half**0.5) if n > 2 else 1.0


def _hedges_interval(dz: float, n: int, level: float) -> Interval:
    if n < 2:
        return Interval(-np.inf, np.inf, level, "noncentral t")
    if np.isinf(dz):
        return Interval(dz, dz, level, "noncentral t")
    shifts = [shift_of_tail(dz * n**0.5, n - 1, share) for share in ((1 - level) / 2, (1 + level) / 2)]
    low, high = (shift * _hedges_factor(n) / n**0.5 for shift in shifts)
    return Interval(low, high, level, "noncentral t")
