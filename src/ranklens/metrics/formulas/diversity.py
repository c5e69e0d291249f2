"""Diversity and novelty: judgments by subtopic, where a document is worth less the more often its subtopics were seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.views import Diverse, Navigational
from ranklens.metrics import Chance, Cutoff, Inner, Rel, Share, Within, formula, measure, parse, working
from ranklens.metrics.formulas.average_precision import average_precision
from ranklens.metrics.formulas.gain import ideal_dcg, ndcg
from ranklens.metrics.formulas.greedy import ideal_gains
from ranklens.metrics.formulas.ntcir import Beta, p_plus, q_measure
from ranklens.metrics.formulas.precision import precision, success
from ranklens.metrics.formulas.preference import ANY
from ranklens.metrics.formulas.ratio import ratio

TITLE = "Diversity and novelty"
WHEN = (
    "For queries with several meanings or aspects: judgments say which subtopic a document covers, "
    "`{query: {subtopic: {document: grade}}}`. See [judgments that know more](richer-judgments.md)."
)

Novelty: TypeAlias = Annotated[float, Within(0, 1)]
Compat: TypeAlias = Literal["ndeval"] | None
Discount: TypeAlias = Callable[[IntArray], FloatArray]
_ALPHA = r"J_i = \sum_s \Pr(s)\, r_{is} (1-\alpha)^{\sum_{j<i} r_{js}}"


@measure("alpha_DCG", "α_DCG", "alpha-DCG", average_ties=True)
@formula(
    rf"\frac{{\sum_{{i=1}}^{{k}} J_i / \log_2 (i+1)}}{{\sum_{{i=1}}^{{k}} (1-\alpha)^{{i-1}} / \log_2 (i+1)}}, \quad {_ALPHA}",
    "clarke2008",
    "clarke2011",
)
@working("sum of new subtopics / log2(rank + 1) / the same with all subtopics at every rank")
def alpha_dcg(
    topics: Diverse, *, alpha: Novelty = 0.5, k: Cutoff = None, rel: Rel = 1, compat: Compat = None
) -> FloatArray:
    """Discounted gain, where a document adds (1 - alpha)^(earlier documents on it) for each of its subtopics (Clarke et al. 2008).

    Divided by what a ranking would have whose every document covers every subtopic, so it does not depend on the other judgments.

    ``compat=ndeval`` leaves this division out at k = 1, as ndeval does.
    """
    return _out_of_all(topics, _novelty(topics, alpha, k, rel, _log2), alpha, k, _log2, compat)


@measure("alpha_nDCG", "α_nDCG", "alpha-nDCG", average_ties=True)
@formula(
    rf"\frac{{\sum_{{i=1}}^{{k}} J_i / \log_2 (i+1)}}{{\sum_{{i=1}}^{{k}} J^*_i / \log_2 (i+1)}}, \quad {_ALPHA}",
    "clarke2008",
)
@working("sum of new subtopics / log2(rank + 1) / the same over the ideal ranking")
def alpha_ndcg(topics: Diverse, *, alpha: Novelty = 0.5, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """The gain of alpha_DCG divided by that of the ideal ranking, which takes the document that adds most at each rank."""
    return _normalised(topics, alpha, k, rel, _log2)


@measure("ERR_IA", "ERR-IA", average_ties=True, like="alpha_DCG")
@formula(
    rf"\frac{{\sum_{{i=1}}^{{k}} J_i / i}}{{\sum_{{i=1}}^{{k}} (1-\alpha)^{{i-1}} / i}}, \quad {_ALPHA}",
    "chapelle2009",
    "clarke2011",
)
@working("sum of new subtopics / rank / the same with all subtopics at every rank")
def err_ia(
    topics: Diverse, *, alpha: Novelty = 0.5, k: Cutoff = None, rel: Rel = 1, compat: Compat = None
) -> FloatArray:
    """Intent-aware expected reciprocal rank, as ndeval has it: alpha_DCG with 1 / rank in place of the logarithm."""
    return _out_of_all(topics, _novelty(topics, alpha, k, rel, _reciprocal), alpha, k, _reciprocal, compat)


@measure("nERR_IA", "nERR-IA", average_ties=True)
@formula(
    rf"\frac{{\sum_{{i=1}}^{{k}} J_i / i}}{{\sum_{{i=1}}^{{k}} J^*_i / i}}, \quad {_ALPHA}",
    "chapelle2009",
    "clarke2011",
)
@working("sum of new subtopics / rank / the same over the ideal ranking")
def nerr_ia(topics: Diverse, *, alpha: Novelty = 0.5, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """ERR_IA divided by that of the ideal ranking."""
    return _normalised(topics, alpha, k, rel, _reciprocal)


@measure("NRBP", average_ties=True)
@formula(rf"(1 - (1-\alpha)\beta) \sum_i \beta^{{i-1}} J_i, \quad {_ALPHA}", "clarke2009")
@working("(1 - (1 - alpha) beta) / subtopics · sum of new subtopics · beta^(rank - 1)")
def nrbp(topics: Diverse, *, alpha: Novelty = 0.5, beta: Chance = 0.5, rel: Rel = 1) -> FloatArray:
    """Novelty- and rank-biased precision: the gain of alpha_DCG with beta^(rank - 1) as discount, scaled to at most 1 (Clarke et al. 2009)."""
    gain = _novelty(topics, alpha, None, rel, _geometric(beta))
    return ratio((1 - (1 - alpha) * beta) * gain, topics.count)


@measure("nNRBP", average_ties=True)
@formula(rf"\frac{{\sum_i \beta^{{i-1}} J_i}}{{\sum_i \beta^{{i-1}} J^*_i}}, \quad {_ALPHA}", "clarke2009")
@working("sum of new subtopics · beta^(rank - 1) / the same over the ideal ranking")
def nnrbp(topics: Diverse, *, alpha: Novelty = 0.5, beta: Chance = 0.5, rel: Rel = 1) -> FloatArray:
    """NRBP divided by that of the ideal ranking."""
    discount = _geometric(beta)
    return _normalised(topics, alpha, None, rel, discount)


@measure("AP_IA", "MAP_IA", "AP-IA", "MAP-IA", average_ties=True)
@formula(r"\sum_s \Pr(s)\, \mathrm{AP}_s", "agrawal2009")
@working("mean AP of the subtopics")
def ap_ia(topics: Diverse, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """The mean AP of the subtopics of a query, weighted by their probability."""
    return topics.total(topics.labels.weight * average_precision(topics.intents, k=k, rel=rel))


@measure("P_IA", "P-IA", average_ties=True)
@formula(r"\sum_s \Pr(s)\, P_{k,s}", "agrawal2009")
@working("mean precision of the subtopics")
def p_ia(topics: Diverse, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """The mean precision of the subtopics of a query, weighted by their probability."""
    return topics.total(topics.labels.weight * precision(topics.intents, k=k, rel=rel))


@measure("StRecall", "strec", "subtopic_recall", "S-recall", average_ties=True)
@formula(r"\frac{|\{s : \max_{i \le k} r_{is} = 1\}|}{S}", "zhai2003")
@working("subtopics covered / subtopics")
def subtopic_recall(topics: Diverse, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """The share of the subtopics that a document in the top k covers."""
    return ratio(topics.total(success(topics.intents, k=k, rel=rel)), topics.count)


@measure("I_rec", "I-rec", "intent_recall", average_ties=True)
@formula(r"\frac{|\{s : \max_{i \le k} r_{is} = 1\}|}{S}", "zhai2003", "sakai2011")
@working("subtopics covered / subtopics")
def intent_recall(topics: Diverse, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """Intent recall, NTCIR's name for StRecall."""
    return subtopic_recall(topics, k=k, rel=rel)


@measure("D_nDCG", "D-nDCG", average_ties=True)
@formula(
    r"\frac{\sum_{i=1}^{k} G_i / \log_2 (i+1)}{\sum_{i=1}^{k} G^*_i / \log_2 (i+1)}, \quad G_i = \sum_s \Pr(s)\, g_{is}",
    "sakai2011",
)
@working("nDCG over global gains")
def d_ndcg(topics: Diverse, *, k: Cutoff = None) -> FloatArray:
    """NDCG over global gains: the grades of a document, weighted by the probability of the subtopics (Sakai and Song 2011)."""
    return ndcg(topics.overall, k=k)


@measure("D_Q", "D-Q", average_ties=True)
@formula(
    r"\mathrm{Q} \text{ with } g_i = \sum_s \Pr(s)\, g_{is} \text{ and } r_i = [\, g_i > 0 \,]",
    "sakai2011",
    "sakai2007",
)
@working("Q-measure over global gains")
def d_q(topics: Diverse, *, k: Cutoff = None, beta: Beta = 1) -> FloatArray:
    """Q-measure over global gains; a document is relevant if its gain is above 0."""
    return q_measure(topics.overall, k=k, rel=ANY, beta=beta)


@measure("D_sharp_nDCG", "D#-nDCG", "Dsharp_nDCG", average_ties=True)
@formula(
    r"c\, \mathrm{I\text{-}rec}_k + (1 - c)\, \mathrm{D\text{-}nDCG}_k, \quad c \text{ is gamma}", "sakai2011"
)
@working("gamma · I_rec + (1 - gamma) · D_nDCG")
def d_sharp_ndcg(topics: Diverse, *, gamma: Share = 0.5, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """The mean of I_rec and D_nDCG, of which I_rec has the weight ``gamma`` (Sakai and Song 2011)."""
    return gamma * intent_recall(topics, k=k, rel=rel) + (1 - gamma) * d_ndcg(topics, k=k)


@measure("D_sharp_Q", "D#-Q", "Dsharp_Q", average_ties=True)
@formula(
    r"c\, \mathrm{I\text{-}rec}_k + (1 - c)\, \mathrm{D\text{-}Q}_k, \quad c \text{ is gamma}",
    "sakai2011",
    "sakai2007",
)
@working("gamma · I_rec + (1 - gamma) · D_Q")
def d_sharp_q(
    topics: Diverse, *, gamma: Share = 0.5, k: Cutoff = None, rel: Rel = 1, beta: Beta = 1
) -> FloatArray:
    """The mean of I_rec, with the weight ``gamma``, and D_Q (Sakai and Song 2011)."""
    return gamma * intent_recall(topics, k=k, rel=rel) + (1 - gamma) * d_q(topics, k=k, beta=beta)


@measure("DIN_nDCG", "DIN-nDCG")
@formula(
    r"\frac{\sum_{i=1}^{k} \sum_s \Pr(s)\, g_{is}\, n_{is} / \log_2 (i+1)}{\sum_{i=1}^{k} G^*_i / \log_2 (i+1)}, \quad G_i = \sum_s \Pr(s)\, g_{is}, \quad n_{is} = [\, s \text{ informational, or not found above } i \,]",
    "sakai2012",
)
@working("sum of gain / log2(rank + 1), of navigational subtopics once / the same over the ideal ranking")
def din_ndcg(topics: Navigational, *, k: Cutoff = None) -> FloatArray:
    """D_nDCG where a navigational subtopic gains from its first document alone (Sakai 2012).

    The ideal is that of D_nDCG.
    """
    hits = topics.intents.hits.top(k).relevant(ANY)
    counts = ~topics.navigational[hits.query] | (hits.position() == 1)
    gain = topics.labels.weight[hits.query] * hits.grade * counts / np.log2(hits.rank + 1)
    return ratio(topics.total(hits.sum(gain)), ideal_dcg(topics.overall, k=k))


@measure("P_plus_Q", "P+Q")
@formula(
    r"\sum_s \Pr(s)\, M_s, \quad M_s = \mathrm{P}^{+}_s \text{ for a navigational } s \text{, else } \mathrm{Q}_s",
    "sakai2012",
)
@working("mean of Q over informational and P_plus over navigational subtopics")
def p_plus_q(topics: Navigational, *, k: Cutoff = None, rel: Rel = 1, beta: Beta = 1) -> FloatArray:
    """Q of the informational and P-plus of the navigational subtopics, weighted by their probabilities (Sakai 2012)."""
    intents = topics.intents
    cut = replace(intents, hits=intents.hits.top(k), _cache={})
    each = np.where(
        topics.navigational, p_plus(cut, rel=rel, beta=beta), q_measure(intents, k=k, rel=rel, beta=beta)
    )
    return topics.total(topics.labels.weight * each)


@measure("RBU", "rank_biased_utility", low=-1, average_ties=True)
@formula(
    r"(1 - p) \sum_{i=1}^{\min(k, n)} p^{i-1} \Big( \sum_s \Pr(s)\, \sigma_{is} \prod_{j<i} (1 - \sigma_{js}) - e \Big), \quad \sigma_{is} = \frac{2^{g_{is}} - 1}{2^{\max_d g_{ds}}}, \ e \text{ effort}",
    "amigo2018",
)
@working("(1 - p) · sum of new satisfaction · p^(rank - 1) - effort · (1 - p^retrieved)")
def rank_biased_utility(
    topics: Diverse, *, p: Chance = 0.8, effort: Share = 0.03, k: Cutoff = None
) -> FloatArray:
    """Rank-biased utility: new relevance of each subtopic, less the effort for every document that is looked at (Amigó et al. 2018).

    A document satisfies a subtopic with the chance (2^grade - 1) / 2^(highest grade of the subtopic), unless a document above it did.
    The user goes on with the chance p, and each document costs ``effort``, so that useless documents make the value negative. The
    defaults are those of the authors' program.
    """
    intents = topics.intents
    hits = intents.hits.top(k).relevant(ANY)
    best = intents.ideal.max(intents.ideal.grade)[hits.query]
    stop = (np.exp2(hits.grade) - 1) / np.exp2(best)
    utility = hits.sum(stop * hits.survival(stop) * np.power(p, hits.rank - 1.0))
    retrieved = topics.judged.retrieved
    seen = retrieved if k is None else np.minimum(retrieved, k)
    return (1 - p) * topics.total(topics.labels.weight * utility) - effort * (1 - np.power(p, seen))


@measure("IA", "intent_aware", {"U_IA": {"of": "UMeasure"}, "U-IA": {"of": "UMeasure"}})
@formula(r"\sum_s \Pr(s)\, M_s, \quad M_s \text{ the measure over subtopic } s", "agrawal2009")
@working("mean of the measure over the subtopics")
def intent_aware(topics: Diverse, *, of: Inner) -> FloatArray:
    """Any measure over each subtopic alone, averaged over the subtopics of a query by their probability: ``IA(nDCG@10)``.

    ``IA(UMeasure)`` is U-IA (Sakai and Dou 2013).
    """
    return topics.total(topics.labels.weight * parse(of)(topics.intents))


def _log2(rank: IntArray) -> FloatArray:
    discount: FloatArray = 1 / np.log2(rank + 1)
    return discount


def _reciprocal(rank: IntArray) -> FloatArray:
    return 1 / rank


def _geometric(beta: float) -> Discount:
    return lambda rank: np.power(beta, rank - 1.0)


def _novelty(topics: Diverse, alpha: float, k: int | None, rel: float, discount: Discount) -> FloatArray:
    """The discounted gain of each query."""
    hits = topics.hits(k, rel)
    if hits.spread is None:
        new = np.power(1 - alpha, hits.ordinal() - 1.0)
    else:
        new = hits.survival(np.full(len(hits), alpha))
    return topics.total(topics.weight * hits.sum(new * discount(hits.rank)))


def _normalised(topics: Diverse, alpha: float, k: int | None, rel: float, discount: Discount) -> FloatArray:
    """The discounted gain, divided by that of the ideal ranking, which has one passage at each rank: a chunk may hold more."""
    gain, best = _novelty(topics, alpha, k, rel, discount), _ideal(topics, alpha, k, rel, discount)
    return ratio(gain if topics.judged.further is None else np.minimum(gain, best), best)


def _ideal(topics: Diverse, alpha: float, k: int | None, rel: float, discount: Discount) -> FloatArray:
    """The discounted gain of the ideal ranking."""
    deep = int(np.bincount(topics.details.query, minlength=1).max(initial=1)) if k is None else k
    gains = ideal_gains(topics, max(deep, 1), alpha, rel)
    discounted = gains * discount(np.arange(1, gains.shape[1] + 1))
    # One after the other, so that a query's value does not depend on the queries around it.
    return np.add.accumulate(discounted, axis=1)[:, -1]


def _out_of_all(
    topics: Diverse, gain: FloatArray, alpha: float, k: int | None, discount: Discount, compat: Compat
) -> FloatArray:
    """Divided by the gain of a ranking whose every document covers every subtopic."""
    if compat == "ndeval" and k == 1:
        return gain
    deep = np.maximum(topics.judged.retrieved if k is None else np.full(len(topics), k), 1)
    ranks = np.arange(1, int(deep.max(initial=1)) + 1)
    most = np.cumsum(np.power(1 - alpha, ranks - 1.0) * discount(ranks))
    return ratio(gain, topics.count * most[deep - 1])
