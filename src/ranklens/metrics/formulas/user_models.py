"""User models: how likely a user goes on from each rank (C/W/L, Moffat et al. 2017), as cwl_eval computes them.

A model is a function of what the user has seen; what is expected of the user follows from it, the same for all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import MeasureError
from ranklens.judging.judged import Judged
from ranklens.metrics import (
    Above,
    Chance,
    Cutoff,
    Measure,
    Positive,
    Share,
    Within,
    formula,
    measure,
    parse,
    working,
)
from ranklens.metrics.catalog import UNKNOWN_BOUNDS, Rule, Unbounded, noted
from ranklens.metrics.formulas.cascade import MaxGrade, highest_grade
from ranklens.metrics.formulas.own import own_name
from ranklens.metrics.formulas.ratio import ratio
from ranklens.metrics.parameters import declare
from ranklens.words import documentation

TITLE = "User models (C/W/L)"
WHEN = (
    "For a stated idea of how long users go on, with the utility, cost and depth that it implies, and how much of that rests on "
    "unjudged documents. In these formulas, $g_i$ is the grade divided by $g_{\\max}$, and $i$ runs over the `max_n` ranks that are looked at, $D$ of them: below the end of the "
    "ranking, nothing is gained. $W(i)$ is the share of attention that rank $i$ gets, $C(i)$ the chance to go on from there, and a document costs 1 unless its property `cost` says otherwise."
)

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


# What the ranks get, one value per query and rank: the chance to go on from there, or the share of attention.
Model: TypeAlias = Callable[..., FloatArray]


def _expected(
    judged: Judged, asked: Asked, model: Callable[[Seen], FloatArray], attention: bool
) -> FloatArray:
    """What is expected of users who behave as the model says; one value per query."""
    out = np.zeros(len(judged))
    step = max(1, _AT_ONCE // asked.max_n)
    for first in range(0, len(judged), step):
        last = min(first + step, len(judged))
        worst = _value(_seen(judged, first, last, asked, best=False), asked.expect, model, attention)
        if asked.residual:
            best = _value(_seen(judged, first, last, asked, best=True), asked.expect, model, attention)
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
    judged_relevant = judged.total(float(np.nextafter(0, 1)))[first:last]
    relevant = np.maximum(judged_relevant, (gain > 0).sum(axis=1)) if best else judged_relevant
    return Seen(gain, relevant, _costs(judged, first, last, asked))


def _costs(judged: Judged, first: int, last: int, asked: Asked) -> FloatArray:
    """What each document costs: its property ``cost``, where documents have one, else the same for all."""
    details = judged.details
    if details is None or details.listing is None or details.documents is None:
        return np.full((1, asked.max_n), float(asked.cost))
    listing, out = details.listing, np.full((last - first, asked.max_n), float(asked.cost))
    costs = [details.documents.get(name, {}).get("cost", asked.cost) for name in listing.names]
    each = np.array(costs, dtype=np.float64)
    if not (each > 0).all():
        raise MeasureError(f"A document costs {each[~(each > 0)][0]:g}; costs must be above 0.")
    here = np.flatnonzero((listing.query >= first) & (listing.query < last) & (listing.rank <= asked.max_n))
    out[listing.query[here] - first, listing.rank[here] - 1] = each[listing.doc[here]]
    return out


def _value(seen: Seen, expect: Expected, model: Callable[[Seen], FloatArray], attention: bool) -> FloatArray:
    """What is expected; the model gives the chances to go on, or with ``attention`` the share of each rank itself."""
    stated = np.broadcast_to(model(seen), seen.gain.shape)
    if attention:
        share, on = stated, np.zeros(seen.gain.shape)
        np.divide(share[:, 1:], share[:, :-1], out=on[:, :-1], where=share[:, :-1] > 0)
    else:
        share, on = _normalised(_arriving(stated)), stated
    if expect == "ED":
        return 1 / share[:, 0]
    if expect in ("EU", "EC"):
        worth, weight = seen.gain if expect == "EU" else seen.cost, share
    else:
        worth, weight = seen.so_far if expect == "ETU" else seen.spent, _arriving(on) * (1 - on)
    expected: FloatArray = np.sum(weight * worth, axis=1)
    return expected


def _arriving(on: FloatArray) -> FloatArray:
    """The chance that the user comes to each rank."""
    return np.concatenate([np.ones((len(on), 1)), np.cumprod(on[:, :-1], axis=1)], axis=1)


def _normalised(weights: FloatArray) -> FloatArray:
    shares: FloatArray = weights / np.sum(weights, axis=-1, keepdims=True)
    return shares


_MODEL = r"\sum_i W(i)\, g_i, \quad W(i) = \frac{\prod_{j<i} C(j)}{\sum_l \prod_{j<l} C(j)}, \quad C(i) = "
_CWL = ("azzopardi2019",)
_READS_ON = Unbounded(
    "its user reads on where the ranking ends; residual=true says by how much it could rise"
)


def _model(
    name: str,
    *aliases: str,
    attention: bool = False,
    cost: bool = False,
    bounds: Rule | Unbounded = UNKNOWN_BOUNDS,
) -> Callable[[Model], Model]:
    """Register a model of the user as a measure, whose parameters are those of the model, then those that all models share."""

    def register(model: Model) -> Model:
        _, *own = inspect.signature(model).parameters.values()
        values = _measured(model, own, attention=attention, has_cost=cost)
        values.__module__, values.__qualname__ = model.__module__, model.__qualname__
        latex, references = noted(model)[0]
        formula(latex, *references)(values)
        working("what is expected of the user, by the chance to go on from each rank")(values)
        like = None if name == "INST" else "INST"
        measure(name, *aliases, high=np.inf, like=like, bounds=bounds)(values)
        return model

    return register


def _measured(
    model: Model, own: Sequence[inspect.Parameter] = (), *, attention: bool = False, has_cost: bool = False
) -> Callable[..., FloatArray]:
    """What is expected of the users of a model, as the function of a measure with the model's ``own`` parameters."""

    def values(
        judged: Judged,
        *,
        cost: Positive = 1,
        expect: Expected = "EU",
        residual: bool = False,
        max_grade: MaxGrade = None,
        max_n: Ranks = 1000,
        **own: object,
    ) -> FloatArray:
        asked = Asked(expect, residual, max_grade, max_n, cost)
        return _expected(judged, asked, partial(model, **own), attention)

    _, cost, *shared, _ = inspect.signature(values).parameters.values()
    values.__doc__ = documentation(model) or "Your own user model."
    declare(values, [*own, *([cost] if has_cost else []), *shared])
    return values


@_model("INST")
@formula(
    _MODEL + r"\left( \frac{i + T + T_i - 1}{i + T + T_i} \right)^2, \quad T_i = T - \sum_{j \le i} g_j",
    "moffat2015",
    *_CWL,
)
def inst(seen: Seen, *, T: Goal = 1.0) -> FloatArray:
    """A user who wants the gain T and grows less patient as it comes closer (Moffat et al. 2015).

    For all user models: the value is the expected utility for each document looked at. The gain of a document is grade / max_grade,
    which defaults to the highest grade in the judgments. Rankings are filled up with documents that gain nothing, as in cwl_eval.
    A document costs 1, or what its property ``cost`` says.

    ``expect`` says what is expected: the utility for each document looked at (EU) or in total (ETU), the cost (EC, ETC), or
    how many documents are looked at (ED).

    ``residual=true`` is how much that could be higher if everything unjudged gained most.

    ``max_n`` ranks are looked at.
    """
    wish = seen.rank + T + T - seen.so_far
    return ((wish - 1) / wish) ** 2


@_model("INSQ", bounds=_READS_ON)
@formula(_MODEL + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2", "moffat2012", *_CWL)
def insq(seen: Seen, *, T: Goal = 1.0) -> FloatArray:
    """A user who wants the gain T and grows more patient with each rank (Moffat et al. 2012)."""
    wish = seen.rank + 2 * T
    return ((wish - 1) / wish) ** 2


@_model("BPM")
@formula(_MODEL + r"[\, \textstyle\sum_{j \le i} g_j < T \text{ and } i < k \,]", "zhang2017", *_CWL)
def bpm(seen: Seen, *, T: Goal = 1.0, k: Cutoff = 10) -> FloatArray:
    """A user who stops with the gain T, or after k documents (Zhang et al. 2017, static)."""
    return ((seen.so_far < T) & (seen.spent < (k or np.inf))).astype(np.float64)


@_model("SDCG", bounds="monotone")
@formula(r"\frac{\sum_{i=1}^{k} g_i / \log_2 (i+1)}{\sum_{i=1}^{k} 1 / \log_2 (i+1)}", "jarvelin2002", *_CWL)
def sdcg(seen: Seen, *, k: Cutoff = 10) -> FloatArray:
    """DCG at k, scaled so that k documents of the highest grade have 1 (cwl_eval calls it NDCG)."""
    return np.where(seen.rank < (k or np.inf), np.log2(seen.rank + 1) / np.log2(seen.rank + 2), 0.0)


@_model("TBG", attention=True, cost=True, bounds=_READS_ON)
@formula(_MODEL + r"2^{-c_i / h}, \quad c_i \text{ the cost, } h \text{ the half-life}", "smucker2012", *_CWL)
def time_biased_gain(seen: Seen, *, halflife: Positive = 224) -> FloatArray:
    """A user whose interest halves in ``halflife`` units of ``cost`` (Smucker and Clarke 2012)."""
    return _normalised(np.exp2(-seen.before / halflife))


@_model("UMeasure", "U_measure", "U-measure", attention=True, cost=True, bounds=_READS_ON)
@formula(
    r"\frac{\sum_i g_i \max(0, 1 - c_{<i} / L)}{\sum_i \max(0, 1 - c_{<i} / L)}, \quad i < D, \quad c_{<i} \text{ the cost of the documents above}",
    "sakai2013",
    *_CWL,
)
def u_measure(seen: Seen, *, L: Positive = 1000) -> FloatArray:
    """A user whose interest falls evenly to 0 after L units of ``cost`` (Sakai and Dou 2013)."""
    fading = np.maximum(0.0, 1 - seen.before / L)
    return _normalised(np.where(seen.rank < len(seen.rank), fading, 0.0))


@_model("IFT")
@formula(
    _MODEL
    + r"\frac{b_1 e^{(T - G_i) R_1}}{1 + b_1 e^{(T - G_i) R_1}} \cdot \frac{1}{1 + b_2 e^{(A - G_i / c_i) R_2}}, \quad G_i, c_i \text{ gain and cost down to } i",
    "azzopardi2018",
    *_CWL,
)
def information_foraging(
    seen: Seen,
    *,
    kind: Literal["both", "goal", "rate"] = "both",
    T: Goal = 2.0,
    b1: Positive = 0.9,
    R1: Rate = 1.0,
    A: Rate = 0.2,
    b2: Positive = 0.9,
    R2: Rate = 1.0,
) -> FloatArray:
    """A forager who stops near the goal of gain T, or when the rate of gain falls below A (Azzopardi et al. 2018).

    The user heeds both; b1, R1, b2 and R2 are intercepts and rationalities.

    ``kind=goal`` and ``kind=rate`` take one of the two alone.
    """
    goal = 1 - 1 / (1 + b1 * np.exp((T - seen.so_far) * R1))
    rate = 1 / (1 + b2 * np.exp((A - seen.so_far / seen.spent) * R2))
    goes_on: FloatArray = goal if kind == "goal" else rate if kind == "rate" else goal * rate
    return goes_on


@_model("NERR8")
@formula(_MODEL + r"(1 - g_i)\, [i < k]", "azzopardi2021")
def nerr8(seen: Seen, *, k: Cutoff = 10) -> FloatArray:
    """Nearly ERR, equation 8 (Azzopardi et al. 2021): goes on down to k unless satisfied by the gain."""
    return (seen.rank < (k or np.inf)) * (1 - seen.gain)


@_model("NERR9")
@formula(_MODEL + r"(1 - g_i)\, \frac{i}{i+1}\, [i < k]", "azzopardi2021")
def nerr9(seen: Seen, *, k: Cutoff = 10) -> FloatArray:
    """Nearly ERR, equation 9: NERR8 with the chance rank / (rank + 1) to go on."""
    return (seen.rank < (k or np.inf)) * seen.rank / (seen.rank + 1) * (1 - seen.gain)


@_model("NERR10")
@formula(_MODEL + r"p\, (1 - g_i)", "azzopardi2021")
def nerr10(seen: Seen, *, p: Chance = 0.9) -> FloatArray:
    """Nearly ERR, equation 10: goes on with chance p, as in RBP, unless satisfied."""
    return p * (1 - seen.gain)


@_model("NERR11")
@formula(_MODEL + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2 (1 - g_i)", "azzopardi2021")
def nerr11(seen: Seen, *, T: Goal = 1.0) -> FloatArray:
    """Nearly ERR, equation 11: goes on as in INSQ, unless satisfied."""
    return insq(seen, T=T) * (1 - seen.gain)


@_model("TrAP", attention=True)
@formula(
    r"\frac{1}{R} \sum_i \frac{g_i}{i} \sum_{j \le i} g_j, \quad R \text{ documents have a grade above 0}",
    *_CWL,
)
def trap(seen: Seen) -> FloatArray:
    """Average precision as a user model, whose attention at each rank is the precision there."""
    so_far = seen.so_far
    so_far[:, :-1][so_far[:, :-1] == 0] = 1.0  # before the first gain, as cwl_eval has it
    share: FloatArray = so_far / seen.spent / np.maximum(seen.relevant, 1)[:, None]
    return share


@_model("BPMD")
@formula(
    _MODEL
    + r"[\, \textstyle\sum_{j \le i} g_j < T + h_b s_i \text{ and } i < k + h_c s_i \,], \quad s_i = \sum_{j<i} (g_j - m), \quad m \text{ the median gain}",
    "zhang2017",
    *_CWL,
)
def dynamic_bpm(
    seen: Seen, *, T: Goal = 1.0, k: Cutoff = 10, hb: Rate = 1.0, hc: Rate = 1.0, median: Share = 0.5
) -> FloatArray:
    """BPM whose user adapts: each document moves the goal T by hb and the limit k by hc, times its gain less the ``median`` gain.

    The dynamic model of Zhang et al. (2017). cwl_eval never moves the limit; ``hc=0`` gives its numbers.
    """
    shift = seen.so_far - seen.gain - median * (seen.rank - 1)  # by the documents above
    goes_on = (seen.so_far < T + hb * shift) & (seen.spent < (k or np.inf) + hc * shift)
    return goes_on.astype(np.float64)


@_model("NPV", bounds=_READS_ON)
@formula(_MODEL + r"\frac{1}{1 + \text{rate}}", *_CWL)
def net_present_value(seen: Seen, *, rate: Positive = 0.1) -> FloatArray:
    """RBP in terms of economics: what comes a document later is worth 1 / (1 + rate) of what it is worth now (Azzopardi et al. 2019)."""
    return np.full(seen.gain.shape, 1 / (1 + rate))


@_model("SET", bounds="monotone")
@formula(
    _MODEL + r"\frac{(i+2)^\beta - (i+1)^\beta}{(i+1)^\beta - i^\beta}\, [i < k]", "azzopardi2014", *_CWL
)
def search_economics(seen: Seen, *, beta: Share = 0.5, k: Cutoff = 10) -> FloatArray:
    """Search economic theory: k documents that are all relevant are worth k^beta in total (Azzopardi 2014)."""
    steps = (seen.rank + 1) ** beta - seen.rank**beta
    next_steps = (seen.rank + 2) ** beta - (seen.rank + 1) ** beta
    return np.where(seen.rank < (k or np.inf), ratio(next_steps, steps), 0.0)


@_model("P_CWL", bounds="monotone")
@formula(_MODEL + r"[i < k]", *_CWL)
def precision_model(seen: Seen, *, k: Cutoff = 10) -> FloatArray:
    """Precision as a user model: a user who looks at k documents. Also ``P(expect=ETU)@k`` and the like."""
    return (seen.rank < (k or np.inf)).astype(np.float64)


@_model("RR_CWL")
@formula(_MODEL + r"\Big[ \textstyle\sum_{j \le i} g_j = 0 \Big]", *_CWL)
def reciprocal_rank_model(seen: Seen) -> FloatArray:
    """Reciprocal rank as a user model: a user who stops at the first gain. Also ``RR(expect=ED)`` and the like."""
    return np.where(seen.so_far == 0, 1.0, 0.0)


@_model("AP_CWL")
@formula(_MODEL + r"\frac{\sum_{j > i} g_j / j}{\sum_{j \ge i} g_j / j}", *_CWL)
def average_precision_model(seen: Seen) -> FloatArray:
    """Average precision as a user model: the chance to go on is the share of gain / rank that is still to come. Also ``AP(expect=ED)`` and the like.

    It knows only the gains that were retrieved.
    """
    worth = seen.gain / seen.rank
    to_come = np.cumsum(worth[:, ::-1], axis=1)[:, ::-1]
    return ratio(np.append(to_come[:, 1:], np.zeros((len(worth), 1)), axis=1), to_come)


@_model("RBP_CWL", bounds=_READS_ON)
@formula(_MODEL + r"p", "moffat2008", *_CWL)
def rank_biased_model(seen: Seen, *, p: Chance = 0.8) -> FloatArray:
    """Rank-biased precision as a user model: a user who goes on with chance p. Also ``RBP(expect=ETU)`` and the like."""
    return np.full(seen.gain.shape, p)


def user_model(continuation: Callable[[Seen], FloatArray], name: str | None = None) -> Measure:
    """A measure from a user's own continuation function: the chance to go on from each rank, given what was seen.

    ``continuation`` gets a :class:`Seen`, with the gains (one row per query, one column per rank), the gain and cost so far, and the
    ranks, and returns chances of the same shape. The measure takes the parameters of INST and is known under its name from then on.

    >>> import ranklens as rl
    >>> hasty = rl.user_model(lambda seen: 0.5 * (1 - seen.gain), "Hasty")
    >>> rl.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, [hasty, "Hasty(expect=ED)"]).mean
    {'Hasty': 0.333..., 'Hasty(expect=ED)': 1.5}
    >>> rl.registry.unregister("Hasty")
    """
    called = own_name(name, continuation, "A user model needs a name: user_model(function, name='Mine')")

    measure(called, high=np.inf, like="INST")(_measured(continuation))
    return parse(called)
