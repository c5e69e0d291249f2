"""Cumulated gain: what the documents are worth, discounted by their rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import MeasureError
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.metrics import Above, Cutoff, Gains, Measure, Rel, measure, parse
from ranklens.metrics.about import Columns, formula, working
from ranklens.metrics.formulas.counts import FOUND
from ranklens.metrics.formulas.ratio import ratio

if TYPE_CHECKING:
    from ranklens.metrics.cuts import View

TITLE = "Cumulated gain"
WHEN = "For judgments with grades, where the best documents should come first."

Gain: TypeAlias = Literal["linear", "exp"]
Discount: TypeAlias = Literal["burges", "jk", "ms"]
Base: TypeAlias = Annotated[float | None, Above(1)]


def _gain(view: View) -> FloatArray:
    return worth(view.alone, view.params.get("gain", "linear"), view.params["gains"]).grade


def _discount(view: View) -> FloatArray:
    return discounts(view.alone, view.params["discount"], view.params["log_base"])


GAIN: Columns = {"gain": _gain}
DISCOUNTED_GAIN: Columns = {
    **GAIN,
    "discount": _discount,
    "gain / discount": lambda view: _gain(view) / _discount(view),
}


@measure("CG", "cumulated_gain", high=np.inf, average_ties=True, bounds="monotone")
@formula(r"\sum_{i=1}^{k} \gamma(g_i)", "jarvelin2002")
@working("sum of gain", GAIN, ideal="gain")
def cumulated_gain(
    judged: Judged, *, k: Cutoff = None, gain: Gain = "linear", gains: Gains = None
) -> FloatArray:
    """Cumulated gain: the sum of the gains in the top k, wherever they are.

    The gain is the grade. A negative grade gains 0.

    ``gain=exp`` takes 2^grade - 1 instead.

    ``gains={1: 3, 2: 9}`` takes a table; grades that are not listed keep their value.
    """
    hits = _gained(judged, k, gain, gains)
    return hits.sum(hits.grade)


@measure("nCG", average_ties=True, like="CG")
@formula(r"\frac{\sum_{i=1}^{k} \gamma(g_i)}{\sum_{i=1}^{k} \gamma(g^*_i)}", "jarvelin2002")
@working("sum of gain / sum of ideal gain", GAIN, ideal="gain")
def normalized_cumulated_gain(
    judged: Judged, *, k: Cutoff = None, gain: Gain = "linear", gains: Gains = None
) -> FloatArray:
    """CG divided by the CG of the ideal ranking cut at k."""
    best = _ideal(judged, k, gain, gains)
    return ratio(cumulated_gain(judged, k=k, gain=gain, gains=gains), best.sum(best.grade))


@measure("DCG", {"dcg_burges": {"gain": "exp"}}, high=np.inf, average_ties=True, bounds="monotone")
@formula(
    r"\sum_{i=1}^{k} \frac{\gamma(g_i)}{\log_2 (i+1)}, \quad \gamma(g) = g \text{ or } 2^g - 1",
    "jarvelin2002",
    "burges2005",
)
@working("sum of gain / discount", DISCOUNTED_GAIN, ideal="gain")
def dcg(
    judged: Judged,
    *,
    k: Cutoff = None,
    gain: Gain = "linear",
    gains: Gains = None,
    discount: Discount | None = None,
    log_base: Base = None,
) -> FloatArray:
    """Discounted cumulated gain: the sum of gain / log2(rank + 1) over the top k.

    The gain is the grade. A negative grade gains 0.

    ``gain=exp`` takes 2^grade - 1 instead.

    ``gains={1: 3, 2: 9}`` takes a table; grades that are not listed keep their value.

    ``log_base=b`` divides by log_b(rank) from rank b on (Järvelin and Kekäläinen, ``discount=jk``);
    ``discount=burges`` and ``ms`` are log2(rank + 1).
    """
    return _dcg(_gained(judged, k, gain, gains), discount, log_base)


@measure(
    "nDCG",
    {"ndcg_burges": {"gain": "exp"}, "MSnDCG": {"discount": "ms"}},
    average_ties=True,
    like="DCG",
    bounds="normalised gain",
)
@formula(
    r"\frac{\sum_{i=1}^{k} \gamma(g_i) / \log_2 (i+1)}{\sum_{i=1}^{k} \gamma(g^*_i) / \log_2 (i+1)}, \quad \gamma(g) = g \text{ or } 2^g - 1",
    "jarvelin2002",
    "burges2005",
)
@working("{DCG} / {ideal DCG|IDCG}", DISCOUNTED_GAIN, ideal="gain")
def ndcg(
    judged: Judged,
    *,
    k: Cutoff = None,
    gain: Gain = "linear",
    gains: Gains = None,
    discount: Discount | None = None,
    log_base: Base = None,
) -> FloatArray:
    """DCG divided by the DCG of the ideal ranking: all judged documents, best first, cut at k."""
    actual = _gained(judged, k, gain, gains)
    best = ideal_dcg(judged, k=k, gain=gain, gains=gains, discount=discount, log_base=log_base)
    return ratio(_dcg(actual, discount, log_base), best)


@measure("IDCG", "ideal_dcg", high=np.inf, average_ties=True, better="neither", like="DCG", bounds="monotone")
@formula(r"\sum_{i=1}^{k} \frac{\gamma(g^*_i)}{\log_2 (i+1)}", "jarvelin2002")
@working("sum of gain / discount over the ideal ranking")
def ideal_dcg(
    judged: Judged,
    *,
    k: Cutoff = None,
    gain: Gain = "linear",
    gains: Gains = None,
    discount: Discount | None = None,
    log_base: Base = None,
) -> FloatArray:
    """The DCG of the ideal ranking, which nDCG divides by: all judged documents, best first, cut at k.

    It does not depend on the run.
    """
    table = None if gains is None else tuple(sorted(gains.items()))
    key = ("idcg", k, gain, table, discount, log_base)
    return judged.of_ideal(key, lambda: _dcg(_ideal(judged, k, gain, gains), discount, log_base))


@measure("ndcg_rel")
@formula(
    r"\frac{1}{R_\gamma} \Big( \sum_{i :\, \gamma_i > 0} \mathrm{nDCG}_i + m \, \mathrm{nDCG} \Big), \quad R_\gamma \text{ documents have a gain, } m \text{ of them not retrieved}"
)
@working(columns=GAIN)
def ndcg_at_relevant(judged: Judged, *, gains: Gains = None) -> FloatArray:
    """NDCG averaged over the ranks of the relevant documents (gain above 0); the end of the ranking for missed ones.

    0 where gains below 0 would make it negative.
    """
    hits, ideal = worth(judged.hits, "linear", gains), _best_first(worth(judged.ideal, "linear", gains))
    discounted, ideal_discounted = hits.grade / _log_discount(hits), ideal.grade / _log_discount(ideal)
    so_far = hits.cumulative(discounted)
    positive = hits.grade > 0
    best = ideal.upto(ideal_discounted, hits.query, hits.rank)
    found = hits.where(positive)
    missed = ideal.sum() - found.sum()
    rest = ratio(missed * hits.sum(discounted), ideal.sum(ideal_discounted))
    total = np.maximum(found.sum(ratio(so_far, best)[positive]) + rest, 0)
    return ratio(total, ideal.sum())


@measure("Rndcg")
@formula(
    r"\frac{1}{|L|} \sum_{i \in L} \mathrm{nDCG}_i, \quad L = \{i \le R_\gamma : \gamma^*_i \ne \gamma^*_{i+1}\} \cup \{n \text{ if } n > R_\gamma + 1\}, \quad R_\gamma \text{ documents have a gain}"
)
@working(columns=GAIN)
def ndcg_at_levels(judged: Judged, *, rel: Rel = 1, gains: Gains = None) -> FloatArray:
    """NDCG averaged over the ranks at which the ideal ranking's gain changes, and over the end of the ranking."""
    hits, ideal = worth(judged.hits, "linear", gains), _best_first(worth(judged.ideal, "linear", gains))
    discounted, ideal_discounted = hits.grade / _log_discount(hits), ideal.grade / _log_discount(ideal)
    same_query = np.diff(ideal.query, append=-1) == 0
    last_of_level = ~same_query | (np.diff(ideal.grade, append=np.nan) != 0)
    levels = ideal.where(last_of_level)
    at_level = hits.upto(discounted, levels.query, levels.rank)
    values = ratio(at_level, ideal.scan(np.add, ideal_discounted)[last_of_level])
    total = ratio(hits.sum(discounted), ideal.sum(ideal_discounted))
    has_tail = (ideal.sum() + 1 < judged.retrieved) & (ideal.sum() > 0)
    mean = ratio(levels.sum(values) + total * has_tail, levels.sum() + has_tail)
    return np.where(judged.total(rel) > 0, mean, 0.0)


@measure("binG", bounds="by rank")
@formula(r"\frac{1}{R} \sum_i \frac{r_i}{\log_2 \big(2 + \sum_{j<i} (1 - r_j)\big)}")
@working(columns=FOUND, ideal="grade")
def binary_g(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """The mean over all relevant documents of 1 / log2(2 + irrelevant documents before it)."""
    hits = judged.relevant(rel)
    before = hits.rank - hits.position()
    return ratio(hits.sum(1 / np.log2(2 + before)), judged.total(rel))


@measure("G")
@formula(
    r"\frac{1}{\sum_i \gamma^*_i} \sum_i \frac{\gamma_i}{\log_2 (2 + m_i)}, \quad m_i = \sum_{j \le i} \big( \max(\gamma^*_j, 1) - \gamma_j \big)"
)
@working(columns=GAIN)
def normalized_gain(judged: Judged, *, gains: Gains = None) -> FloatArray:
    """The sum of gain / log2(2 + gain that the ranking has missed so far), divided by all gain (trec_eval's G)."""
    hits, ideal = worth(judged.hits, "linear", gains), _best_first(worth(judged.ideal, "linear", gains))
    # Every rank costs at least 1, so the ideal's cost keeps growing after its last document.
    extra = ideal.upto(np.maximum(ideal.grade, 1) - 1, hits.query, hits.rank)
    missed = hits.rank + extra - hits.cumulative(hits.grade)
    return ratio(hits.sum(hits.grade / np.log2(2 + missed)), ideal.sum(ideal.grade))


@measure("ARP", high=np.inf, better="lower")
@formula(r"\frac{\sum_{i=1}^{k} \gamma(g_i)\, i}{\sum_{i=1}^{k} \gamma(g_i)}")
@working("sum of gain · rank / sum of gain")
def average_relevance_position(judged: Judged, *, k: Cutoff = None, gain: Gain = "linear") -> FloatArray:
    """The mean rank of the documents in the top k, weighted by their gain; 0 if there is none (TF-Ranking's ARP)."""
    hits = worth(judged.hits.top(k), gain, None)
    return ratio(hits.sum(hits.grade * hits.rank), hits.sum(hits.grade))


def _gained(judged: Judged, k: int | None, gain: Gain, gains: Mapping[float, float] | None) -> Hits:
    """The retrieved documents in the top k, with gains in place of grades.

    Of a chunk that holds several passages all are gained, but the n-th passage of a ranking at rank n at the earliest: the ideal
    ranking has one passage at each rank, and no ranking is better than that.
    """
    if judged.further is None:
        return worth(judged.hits.top(k), gain, gains)
    hits, further = (worth(rows, gain, gains) for rows in (judged.hits, judged.further))
    query, rank = np.append(hits.query, further.query), np.append(hits.rank, further.rank)
    gained = np.append(hits.grade, further.grade)
    order = np.lexsort((-gained, rank, query))
    order = order[gained[order] > 0]
    every = Hits(query[order], rank[order], gained[order], hits.n_queries)
    return replace(every, rank=np.maximum(every.rank, every.ordinal())).top(k)


def _ideal(judged: Judged, k: int | None, gain: Gain, gains: Mapping[float, float] | None) -> Hits:
    """All judged documents by descending gain, cut at k."""
    if gains is None:  # then they are already in order, and gains of 0 add nothing
        return worth(judged.ideal.top(k), gain, None)
    return _best_first(worth(judged.ideal, gain, gains)).top(k)


def discounts(hits: Hits, discount: Discount | None, log_base: float | None) -> FloatArray:
    """What the gain at each rank is divided by."""
    by = _log_discount(hits)
    if log_base is not None:
        by = by / np.log2(log_base)
    if discount == "jk" or (discount is None and log_base is not None):
        by = np.maximum(1, np.log(hits.rank) / np.log(log_base or 2))
    return by


def _dcg(hits: Hits, discount: Discount | None, log_base: float | None) -> FloatArray:
    return hits.sum(hits.grade / discounts(hits, discount, log_base))


def _log_discount(hits: Hits) -> FloatArray:
    found: FloatArray = np.log2(hits.rank + 1)
    return found


def worth(hits: Hits, gain: Gain, gains: Mapping[float, float] | None) -> Hits:
    """``hits`` with gains in place of grades."""
    gained = np.maximum(hits.grade, 0)
    if gain == "exp":
        if gained.max(initial=0) > 1000:
            raise MeasureError(
                f"gain=exp cannot take 2 to the grade {gained.max():g}; use gain=linear or gains={{…}}."
            )
        gained = np.exp2(gained) - 1
    for grade, value in (gains or {}).items():
        gained[hits.grade == grade] = value
    return Hits(hits.query, hits.rank, gained, hits.n_queries, hits.spread)


def _best_first(ideal: Hits) -> Hits:
    """The documents with a positive gain, by descending gain: a table of gains may reorder the grades."""
    ideal = ideal.where(ideal.grade > 0)
    falling = (np.diff(ideal.grade) <= 0) | (np.diff(ideal.query) != 0)
    if not falling.all():
        ideal = replace(ideal, grade=ideal.grade[np.lexsort((-ideal.grade, ideal.query))])
    return replace(ideal, rank=ideal.ordinal())


def cumulated_gain_from(
    name: str,
    gain: Callable[[float], float] | None = None,
    discount: Callable[[int], float] | None = None,
    *,
    normalised: bool = True,
) -> Measure:
    """A cumulated gain of one's own, known under its name from then on: gains by grade, divided by a discount by rank.

    ``gain`` is called with a grade, ``discount`` with a rank from 1; by default they are those of nDCG. ``normalised`` divides by
    the value of the ideal ranking, cut at k.

    >>> import ranklens as rl
    >>> rl.cumulated_gain_from("Steep", gain=lambda grade: 3**grade - 1, discount=lambda rank: rank)
    measure('Steep')
    >>> rl.evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, "Steep@10").mean
    {'Steep@10': 0.666...}
    >>> rl.registry.unregister("Steep")
    """
    if not name.isidentifier():
        raise MeasureError(f"A measure needs a name such as 'Steep', not {name!r}.")

    def cumulated(judged: Judged, *, k: Cutoff = None) -> FloatArray:
        grades = dict.fromkeys([*judged.hits.grade.tolist(), *judged.ideal.grade.tolist()])
        table = (
            None
            if gain is None
            else {
                g: _number(name, gain(int(g) if g.is_integer() else g), g) if g > 0 else 0.0 for g in grades
            }
        )
        value = _divided(_gained(judged, k, "linear", table), name, discount)
        if not normalised:
            return value
        return ratio(value, _divided(_ideal(judged, k, "linear", table), name, discount))

    cumulated.__doc__ = "Cumulated gain with your own gains and discounts" + (
        ", divided by that of the ideal ranking." if normalised else "."
    )
    measure(name, high=1.0 if normalised else np.inf, average_ties=True)(cumulated)
    return parse(name)


def _divided(hits: Hits, name: str, discount: Callable[[int], float] | None) -> FloatArray:
    if discount is None:
        return _dcg(hits, None, None)
    by = {rank: _number(name, discount(rank), rank, least=1e-300) for rank in {*hits.rank.tolist()}}
    return hits.sum(hits.grade / np.array([by[rank] for rank in hits.rank.tolist()]))


def _number(name: str, value: object, given: float, least: float = 0.0) -> float:
    """The value of a function of the user: a finite number of at least ``least``."""
    if not isinstance(value, (int, float, np.number)) or not least <= float(value) < np.inf:
        what = "a number from 0" if not least else "a number above 0"
        raise MeasureError(f"{name}: the function returned {value!r} for {given:g}; it must return {what}.")
    return float(value)
