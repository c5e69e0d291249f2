"""User models: how likely a user goes on from each rank (C/W/L, Moffat et al. 2017), as cwl_eval computes them.

A model is a function of what the user has seen; what is expected of the user follows from it, the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import MeasureError
from ranklens.judging.judged import Judged
from ranklens.metrics import Above, Chance, Cutoff, Measure, Positive, Share, Within, measure, parse
from ranklens.metrics.formulas.cascade import MaxGrade, highest_grade
from ranklens.metrics.formulas.ratio import ratio

Expected: TypeAlias = Literal["EU", "ETU", "EC", "ETC", "ED"]
Ranks: TypeAlias = Annotated[int, Within(2, 1e6)]
Rate: TypeAlias = Annotated[float, Within(0, float("inf"))]
Goal: TypeAlias = Annotated[float, Above(0)]
_AT_ONCE = 1 << 20  # ranks of all queries that are looked at at once


@dataclass(frozen=True)
class Seen:
    """What users see down the rankings: one row per query, one column per rank."""

    gain: FloatArray
    relevant: FloatArray  # how many relevant documents there are, retrieved or not
    cost: FloatArray  # of each document; one row where all rankings cost the same

    @property
    def rank(self) -> FloatArray:
        return np.arange(1.0, self.gain.shape[1] + 1)

    @property
    def so_far(self) -> FloatArray:
        """The gain down to each rank."""
        return np.cumsum(self.gain, axis=1)

    @property
    def spent(self) -> FloatArray:
        """The cost down to each rank."""
        return np.cumsum(self.cost, axis=1)

    @property
    def before(self) -> FloatArray:
        """The cost above each rank."""
        return self.spent - self.cost


@dataclass(frozen=True)
class Asked:
    """What is expected of the user, and how documents become gains: the parameters that all models share."""

    expect: Expected = "EU"
    residual: bool = False
    max_grade: float | None = None
    max_n: int = 1000
    cost: float = 1.0


Continuation: TypeAlias = Callable[[Seen], FloatArray]


def expected(
    judged: Judged, asked: Asked, going_on: Continuation, weights: Continuation | None = None
) -> FloatArray:
    """What is expected of users who go on from each rank with the given chance; one value per query."""
    out = np.zeros(len(judged))
    step = max(1, _AT_ONCE // asked.max_n)
    for first in range(0, len(judged), step):
        last = min(first + step, len(judged))
        worst = _value(_seen(judged, first, last, asked, best=False), asked.expect, going_on, weights)
        if asked.residual:
            best = _value(_seen(judged, first, last, asked, best=True), asked.expect, going_on, weights)
            worst = best - worst
        out[first:last] = worst
    return out


def _seen(judged: Judged, first: int, last: int, asked: Asked, *, best: bool) -> Seen:
    """The gains of some queries; what is unjudged gains nothing, or in the ``best`` case everything."""
    hits = judged.hits.top(asked.max_n)
    hits = hits.where((hits.query >= first) & (hits.query < last) & (hits.grade >= 0))
    gain = np.full((last - first, asked.max_n), float(best))
    highest = highest_grade(judged, asked.max_grade)
    gain[hits.query - first, hits.rank - 1] = np.clip(hits.grade / highest, 0, 1)
    known = judged.total(float(np.nextafter(0, 1)))[first:last]
    relevant = np.maximum(known, (gain > 0).sum(axis=1)) if best else known
    return Seen(gain, relevant, _costs(judged, first, last, asked))


def _costs(judged: Judged, first: int, last: int, asked: Asked) -> FloatArray:
    """What each document costs: its property ``cost``, where documents have one, else the same for all."""
    details = judged.details
    if details is None or details.listing is None or details.documents is None:
        return np.full((1, asked.max_n), float(asked.cost))
    listing, out = details.listing, np.full((last - first, asked.max_n), float(asked.cost))
    given = [details.documents.get(name, {}).get("cost", asked.cost) for name in listing.names]
    each = np.array(given, dtype=np.float64)
    if not (each > 0).all():
        raise MeasureError(f"A document costs {each[~(each > 0)][0]:g}; costs must be above 0.")
    here = np.flatnonzero((listing.query >= first) & (listing.query < last) & (listing.rank <= asked.max_n))
    out[listing.query[here] - first, listing.rank[here] - 1] = each[listing.doc[here]]
    return out


def _value(seen: Seen, expect: Expected, going_on: Continuation, weights: Continuation | None) -> FloatArray:
    """What is expected; ``weights`` are the shares of attention that the ranks get, where a model states them itself."""
    if weights is None:
        on = np.broadcast_to(going_on(seen), seen.gain.shape)
        share = _normalised(_arriving(on))
    else:
        share = np.broadcast_to(weights(seen), seen.gain.shape)
        on = np.zeros(seen.gain.shape)
        np.divide(share[:, 1:], share[:, :-1], out=on[:, :-1], where=share[:, :-1] > 0)
    if expect == "ED":
        return 1 / share[:, 0]
    if expect in ("EU", "EC"):
        worth, weight = seen.gain if expect == "EU" else seen.cost, share
    else:
        worth, weight = seen.so_far if expect == "ETU" else seen.spent, _arriving(on) * (1 - on)
    found: FloatArray = np.sum(weight * worth, axis=1)
    return found


def _arriving(on: FloatArray) -> FloatArray:
    """The chance that the user comes to each rank."""
    return np.concatenate([np.ones((len(on), 1)), np.cumprod(on[:, :-1], axis=1)], axis=1)


def _normalised(weights: FloatArray) -> FloatArray:
    shares: FloatArray = weights / np.sum(weights, axis=-1, keepdims=True)
    return shares


@measure("INST", high=np.inf)
def inst(
    judged: Judged,
    *,
    T: Goal = 1.0,  # noqa: N803  as everybody calls it
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """A user who wants the gain T and grows less patient as it comes closer (Moffat et al. 2015).

    For all user models: the value is the expected utility for each document looked at. The gain of a document is grade / max_grade,
    which defaults to the highest grade in the judgments. Rankings are filled up with documents that gain nothing, as in cwl_eval.
    A document costs 1, or what its property ``cost`` says.

    ``expect`` says what is expected: the utility for each document looked at (EU) or in total (ETU), the cost (EC, ETC), or
    how many documents are looked at (ED).

    ``residual=true`` is how much that could be higher if everything unjudged gained most.

    ``max_n`` ranks are looked at.
    """

    def going_on(seen: Seen) -> FloatArray:
        wish = seen.rank + T + T - seen.so_far
        return ((wish - 1) / wish) ** 2

    return expected(judged, Asked(expect, residual, max_grade, max_n), going_on)


@measure("INSQ", high=np.inf, like="INST")
def insq(
    judged: Judged,
    *,
    T: Goal = 1.0,  # noqa: N803
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """A user who wants the gain T and grows more patient with each rank (Moffat et al. 2012)."""
    return expected(judged, Asked(expect, residual, max_grade, max_n), lambda seen: _patience(seen, T))


@measure("BPM", high=np.inf, like="INST")
def bpm(
    judged: Judged,
    *,
    T: Goal = 1.0,  # noqa: N803
    k: Cutoff = 10,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """A user who stops with the gain T, or after k documents (Zhang et al. 2017, static)."""

    def going_on(seen: Seen) -> FloatArray:
        return ((seen.so_far < T) & (seen.spent < (k or np.inf))).astype(np.float64)

    return expected(judged, Asked(expect, residual, max_grade, max_n), going_on)


@measure("SDCG", high=np.inf, like="INST")
def sdcg(
    judged: Judged,
    *,
    k: Cutoff = 10,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """DCG at k, scaled so that k documents of the highest grade have 1 (cwl_eval calls it NDCG)."""

    def going_on(seen: Seen) -> FloatArray:
        return np.where(seen.rank < (k or np.inf), np.log2(seen.rank + 1) / np.log2(seen.rank + 2), 0.0)

    return expected(judged, Asked(expect, residual, max_grade, max_n), going_on)


@measure("TBG", high=np.inf, like="INST")
def time_biased_gain(
    judged: Judged,
    *,
    halflife: Positive = 224,
    cost: Positive = 1,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """A user whose interest halves in ``halflife`` units of ``cost`` (Smucker and Clarke 2012)."""
    asked = Asked(expect, residual, max_grade, max_n, cost)
    return expected(judged, asked, _ever, lambda seen: _normalised(np.exp2(-seen.before / halflife)))


@measure("UMeasure", "U_measure", "U-measure", high=np.inf, like="INST")
def u_measure(
    judged: Judged,
    *,
    L: Positive = 1000,  # noqa: N803
    cost: Positive = 1,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """A user whose interest falls evenly to 0 after L units of ``cost`` (Sakai and Dou 2013)."""

    def weights(seen: Seen) -> FloatArray:
        fading = np.maximum(0.0, 1 - seen.before / L)
        return _normalised(np.where(seen.rank < len(seen.rank), fading, 0.0))

    return expected(judged, Asked(expect, residual, max_grade, max_n, cost), _ever, weights)


@measure("IFT", high=np.inf, like="INST")
def information_foraging(
    judged: Judged,
    *,
    kind: Literal["both", "goal", "rate"] = "both",
    T: Goal = 2.0,  # noqa: N803
    b1: Positive = 0.9,
    R1: Rate = 1.0,  # noqa: N803
    A: Rate = 0.2,  # noqa: N803
    b2: Positive = 0.9,
    R2: Rate = 1.0,  # noqa: N803
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """A forager who stops near the goal of gain T, or when the rate of gain falls below A (Azzopardi et al. 2018).

    The user heeds both; b1, R1, b2 and R2 are intercepts and rationalities.

    ``kind=goal`` and ``kind=rate`` take one of the two alone.
    """

    def going_on(seen: Seen) -> FloatArray:
        goal = 1 - 1 / (1 + b1 * np.exp((T - seen.so_far) * R1))
        rate = 1 / (1 + b2 * np.exp((A - seen.so_far / seen.spent) * R2))
        found: FloatArray = goal if kind == "goal" else rate if kind == "rate" else goal * rate
        return found

    return expected(judged, Asked(expect, residual, max_grade, max_n), going_on)


@measure("NERR8", high=np.inf, like="INST")
def nerr8(
    judged: Judged,
    *,
    k: Cutoff = 10,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Nearly ERR, equation 8 (Azzopardi et al. 2021): goes on down to k unless satisfied by the gain."""
    asked = Asked(expect, residual, max_grade, max_n)
    return expected(judged, asked, lambda seen: (seen.rank < (k or np.inf)) * (1 - seen.gain))


@measure("NERR9", high=np.inf, like="INST")
def nerr9(
    judged: Judged,
    *,
    k: Cutoff = 10,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Nearly ERR, equation 9: NERR8 with the chance rank / (rank + 1) to go on."""
    asked = Asked(expect, residual, max_grade, max_n)
    return expected(
        judged,
        asked,
        lambda seen: (seen.rank < (k or np.inf)) * seen.rank / (seen.rank + 1) * (1 - seen.gain),
    )


@measure("NERR10", high=np.inf, like="INST")
def nerr10(
    judged: Judged,
    *,
    p: Chance = 0.9,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Nearly ERR, equation 10: goes on with chance p, as in RBP, unless satisfied."""
    return expected(judged, Asked(expect, residual, max_grade, max_n), lambda seen: p * (1 - seen.gain))


@measure("NERR11", high=np.inf, like="INST")
def nerr11(
    judged: Judged,
    *,
    T: Goal = 1.0,  # noqa: N803
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Nearly ERR, equation 11: goes on as in INSQ, unless satisfied."""
    asked = Asked(expect, residual, max_grade, max_n)
    return expected(judged, asked, lambda seen: _patience(seen, T) * (1 - seen.gain))


@measure("TrAP", high=np.inf, like="INST")
def trap(
    judged: Judged,
    *,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Average precision as a user model, whose attention at each rank is the precision there."""
    return expected(judged, Asked(expect, residual, max_grade, max_n), _ever, _precision)


@measure("BPMD", high=np.inf, like="INST")
def dynamic_bpm(
    judged: Judged,
    *,
    T: Goal = 1.0,  # noqa: N803
    k: Cutoff = 10,
    hb: Rate = 1.0,
    hc: Rate = 1.0,
    median: Share = 0.5,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """BPM whose user adapts: each document moves the goal T by hb and the limit k by hc, times its gain less the ``median`` gain.

    The dynamic model of Zhang et al. (2017). cwl_eval never moves the limit; ``hc=0`` gives its numbers.
    """

    def going_on(seen: Seen) -> FloatArray:
        shift = seen.so_far - seen.gain - median * (seen.rank - 1)  # by the documents above
        goes_on = (seen.so_far < T + hb * shift) & (seen.spent < (k or np.inf) + hc * shift)
        return goes_on.astype(np.float64)

    return expected(judged, Asked(expect, residual, max_grade, max_n), going_on)


@measure("NPV", high=np.inf, like="INST")
def net_present_value(
    judged: Judged,
    *,
    rate: Positive = 0.1,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """RBP in terms of economics: what comes a document later is worth 1 / (1 + rate) of what it is worth now (Azzopardi et al. 2019)."""
    return expected(judged, Asked(expect, residual, max_grade, max_n), lambda seen: _ever(seen) / (1 + rate))


@measure("SET", high=np.inf, like="INST")
def search_economics(
    judged: Judged,
    *,
    beta: Share = 0.5,
    k: Cutoff = 10,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Search economic theory: k documents that are all relevant are worth k^beta in total (Azzopardi 2014)."""

    def going_on(seen: Seen) -> FloatArray:
        steps = (seen.rank + 1) ** beta - seen.rank**beta
        next_steps = (seen.rank + 2) ** beta - (seen.rank + 1) ** beta
        return np.where(seen.rank < (k or np.inf), ratio(next_steps, steps), 0.0)

    return expected(judged, Asked(expect, residual, max_grade, max_n), going_on)


@measure("P_CWL", high=np.inf, like="INST")
def precision_model(
    judged: Judged,
    *,
    k: Cutoff = 10,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Precision as a user model: a user who looks at k documents. Also ``P(expect=ETU)@k`` and the like."""
    asked = Asked(expect, residual, max_grade, max_n)
    return expected(judged, asked, lambda seen: (seen.rank < (k or np.inf)).astype(np.float64))


@measure("RR_CWL", high=np.inf, like="INST")
def reciprocal_rank_model(
    judged: Judged,
    *,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Reciprocal rank as a user model: a user who stops at the first gain. Also ``RR(expect=ED)`` and the like."""
    asked = Asked(expect, residual, max_grade, max_n)
    return expected(judged, asked, lambda seen: (seen.so_far == 0).astype(np.float64))


@measure("AP_CWL", high=np.inf, like="INST")
def average_precision_model(
    judged: Judged,
    *,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Average precision as a user model: the chance to go on is the share of gain / rank that is still to come. Also ``AP(expect=ED)`` and the like.

    It knows only the gains that were retrieved.
    """

    def going_on(seen: Seen) -> FloatArray:
        worth = seen.gain / seen.rank
        to_come = np.cumsum(worth[:, ::-1], axis=1)[:, ::-1]
        return ratio(np.append(to_come[:, 1:], np.zeros((len(worth), 1)), axis=1), to_come)

    return expected(judged, Asked(expect, residual, max_grade, max_n), going_on)


@measure("RBP_CWL", high=np.inf, like="INST")
def rank_biased_model(
    judged: Judged,
    *,
    p: Chance = 0.8,
    expect: Expected = "EU",
    residual: bool = False,
    max_grade: MaxGrade = None,
    max_n: Ranks = 1000,
) -> FloatArray:
    """Rank-biased precision as a user model: a user who goes on with chance p. Also ``RBP(expect=ETU)`` and the like."""
    return expected(judged, Asked(expect, residual, max_grade, max_n), lambda seen: p * _ever(seen))


def _precision(seen: Seen) -> FloatArray:
    so_far = seen.so_far
    so_far[:, :-1][so_far[:, :-1] == 0] = 1.0  # before the first gain, as cwl_eval has it
    share: FloatArray = so_far / seen.spent / np.maximum(seen.relevant, 1)[:, None]
    return share


def _patience(seen: Seen, wanted: float) -> FloatArray:
    wish = seen.rank + 2 * wanted
    return ((wish - 1) / wish) ** 2


def _ever(seen: Seen) -> FloatArray:
    return np.ones(seen.gain.shape)


def user_model(continuation: Continuation, name: str | None = None) -> Measure:
    """A measure from a user's own continuation function: the chance to go on from each rank, given what was seen.

    ``continuation`` gets a :class:`Seen`, with the gains (one row per query, one column per rank), the gain and cost so far, and the
    ranks, and returns chances of the same shape. The measure takes the parameters of INST and is known under its name from then on.

    >>> import ranklens as rl
    >>> hasty = rl.user_model(lambda seen: 0.5 * (1 - seen.gain), "Hasty")
    >>> rl.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, [hasty, "Hasty(expect=ED)"]).mean
    {'Hasty': 0.333..., 'Hasty(expect=ED)': 1.5}
    >>> rl.registry.unregister("Hasty")
    """
    called = str(name or getattr(continuation, "__name__", ""))
    if not called.isidentifier():
        raise MeasureError(f"A user model needs a name: user_model(function, name='Mine'), not {called!r}.")

    def model(
        judged: Judged,
        *,
        expect: Expected = "EU",
        residual: bool = False,
        max_grade: MaxGrade = None,
        max_n: Ranks = 1000,
    ) -> FloatArray:
        return expected(judged, Asked(expect, residual, max_grade, max_n), continuation)

    model.__doc__ = continuation.__doc__ or "A user model of one's own."
    measure(called, high=np.inf, like="INST")(model)
    return parse(called)
