"""Precision at the relevant documents, averaged in several ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import MeasureError
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.metrics import Cutoff, Levels, Rel, Share, formula, measure, working
from ranklens.metrics.catalog import Params, Unbounded
from ranklens.metrics.formulas.counts import FOUND
from ranklens.metrics.formulas.precision import PRECISION, RECALL_AND_PRECISION
from ranklens.metrics.formulas.ratio import ratio
from ranklens.metrics.formulas.tied import Groups, groups_for_last, mean_precision

TITLE = "Average precision"
WHEN = "For finding many relevant documents, early ones first; the classic of test collections with deep judgments."

RECALL_LEVELS = tuple(level / 10 for level in range(11))
_INFAP_EPSILON = 0.00001  # trec_eval's smoothing of an empty judged sample


def _in_words(params: Params) -> str:
    if params.get("interpolation") == "trapezoid":
        return "sum of the mean precision just before and at each relevant document / all relevant"
    over = "min(all relevant, k)" if params.get("norm") == "min" and params["k"] else "all relevant"
    return f"sum of the precision at each relevant document / {over}"


@measure(
    "AP", "MAP", "average_precision", "mean_average_precision", average_ties=True, bounds="average precision"
)
@formula(r"\frac{1}{R} \sum_{i=1}^{k} r_i\, P_i", "buckley2005")
@working(_in_words, PRECISION, ideal="grade")
def average_precision(
    judged: Judged,
    *,
    k: Cutoff = None,
    rel: Rel = 1,
    norm: Literal["all", "min", "k"] = "all",
    interpolation: Literal["none", "trapezoid"] = "none",
) -> FloatArray:
    """The sum of the precision at each relevant document in the top k, divided by all relevant documents R.

    The mean over queries is MAP.

    ``norm=min`` divides by min(R, k) instead, so that 1 can be reached; ``norm=k`` by k.

    ``interpolation=trapezoid`` takes the mean of the precision just before and at each relevant document, the area under the curve of
    precision and recall, as landmark retrieval does.
    """
    whole: FloatArray = judged.total(rel)
    if norm == "min" and k:
        whole = np.minimum(whole, k)
    elif norm == "k" and k:
        whole = np.full(len(judged), float(k))
    hits = judged.relevant(rel).top(k)
    precision = hits.position() / hits.rank
    if interpolation == "trapezoid":
        before = np.where(hits.rank == 1, 1.0, (hits.position() - 1) / np.maximum(hits.rank - 1, 1))
        precision = (before + precision) / 2
    total = _sum(judged, hits, rel, precision)
    if judged.further is not None:
        total = np.minimum(total, whole)  # a chunk may hold more passages than there are ranks
    return ratio(total, whole)


@measure("LRAP", "label_ranking_average_precision", average_ties=True)
@formula(r"\frac{\sum_{i=1}^{k} r_i\, P_i}{\sum_{i=1}^{k} r_i}")
@working("sum of the precision at each relevant document / relevant found", PRECISION)
def label_ranking_average_precision(
    judged: Judged, *, k: Cutoff = None, rel: Rel = 1, tied: Literal["last"] | None = None
) -> FloatArray:
    """The mean precision at the relevant documents that were found in the top k.

    Documents that were not found do not count: scikit-learn's LRAP, and what torchmetrics calls MAP.

    ``tied=last`` gives tied documents the last rank of their group, as scikit-learn does; it needs ``ties="average"``.
    """
    if tied == "last":
        return mean_precision(groups_for_last(judged, k, rel, "LRAP"), last=True)
    if judged.hits.spread is not None:
        return Groups.of(judged, k, rel).expected(mean_precision)
    return ratio(_precision_sum(judged, rel, k), judged.found(rel, k))


@measure("gm_AP", "gm_MAP", "GMAP", aggregate="geometric", average_ties=True, bounds="average precision")
@formula(r"\exp \frac{1}{|Q|} \sum_{q \in Q} \ln \max(\mathrm{AP}_q, 10^{-5})", "robertson2006")
@working(_in_words, PRECISION, ideal="grade")
def geometric_average_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """AP per query, averaged over queries by the geometric mean with a floor of 0.00001 (trec_eval's gm_map)."""
    return average_precision(judged, rel=rel)


@measure("IPrec", "iprec_at_recall", "iprec", bounds="by rank")
@formula(
    r"\max_{i :\, \sum_{j \le i} r_j \ge \lfloor \rho R + 1/2 \rfloor} P_i, \quad \rho \text{ the recall}",
    "buckley2005",
)
@working("the best precision from the given recall on", RECALL_AND_PRECISION, ideal="grade")
def interpolated_precision(
    judged: Judged, *, recall: Share, rel: Rel = 1, rounding: Literal["nearest", "trec9"] = "nearest"
) -> FloatArray:
    """The best precision at any rank at or beyond the given recall.

    A recall level becomes a number of documents by rounding half up, as in trec_eval 10.

    ``rounding=trec9`` takes int(r R + 0.9), as trec_eval 9 and pytrec_eval do.
    """
    hits = judged.relevant(rel)
    position, passages = hits.position(), judged.passages(hits, rel)
    wanted = recall * judged.total(rel)
    # Half up, but not floor(x + 0.5): the largest number below 0.5 plus 0.5 is 1 in floating point.
    half_up = np.floor(wanted) + (wanted - np.floor(wanted) >= 0.5)
    needed = np.floor(wanted + 0.9) if rounding == "trec9" else half_up
    found_so_far = position if passages is None else hits.cumulative(passages)
    enough = found_so_far >= needed[hits.query]
    return hits.where(enough).max((position / hits.rank)[enough])


@measure("AP11", "11pt_avg", "11pt", bounds="by rank")
@formula(r"\frac{1}{11} \sum_{\rho \in \{0, 0.1, \dots, 1\}} \mathrm{IPrec}_\rho", "buckley2005")
@working(columns=RECALL_AND_PRECISION, ideal="grade")
def eleven_point_average(
    judged: Judged, *, rel: Rel = 1, levels: Levels = None, rounding: Literal["nearest", "trec9"] = "nearest"
) -> FloatArray:
    """The mean of the interpolated precision at recall 0, 0.1, … 1, or at the given ``levels``."""
    total = np.zeros(len(judged))
    for recall in reversed(levels or RECALL_LEVELS):  # from the end, as trec_eval adds up
        total += interpolated_precision(judged, recall=recall, rel=rel, rounding=rounding)
    return total / len(levels or RECALL_LEVELS)


@measure("GAP", "graded_average_precision", "graded_AP", average_ties=True, bounds="by rank if binary")
@formula(
    r"\frac{\sum_j t_j \sum_{i :\, g_i \ge j} P_i^{(j)}}{\sum_j t_j R^{(j)}}, \quad P^{(j)}, R^{(j)} \text{ with documents of grade } j \text{ or more}, \ t_j \text{ share of users}",
    "robertson2010",
)
@working("sum of AP's precisions at each grade, weighted / the same over the ideal ranking", ideal="grade")
def graded_average_precision(judged: Judged, *, thresholds: Levels = None) -> FloatArray:
    """Graded AP: AP for users of whom each asks for a grade of their own (Robertson, Kanoulas and Yilmaz 2010).

    The precisions of AP at each grade are added up, weighted by the share of users who ask for it, and divided by what the
    ideal ranking has. By default every grade is asked for equally often.

    ``thresholds=[0.2, 0.8]`` are the shares of users who ask for grade 1, 2 and so on; only their proportions matter.
    """
    if any(share < 0 for share in thresholds or ()):
        raise MeasureError(f"GAP: thresholds={thresholds!r} is not allowed; shares of users are 0 or more.")
    found, best = np.zeros(len(judged)), np.zeros(len(judged))
    for grade, share in enumerate(thresholds, 1) if thresholds else _steps(judged):
        total = judged.total(grade)
        found += share * np.minimum(_precision_sum(judged, grade), total)
        best += share * total
    return ratio(found, best)


def _steps(judged: Judged) -> Iterator[tuple[float, FloatArray]]:
    """Each grade, and by how much it is above the next lower one of each query; 0 for queries without it."""
    below = np.zeros(len(judged))
    for grade in np.unique(judged.ideal.grade[judged.ideal.grade > 0]).tolist():
        here = np.bincount(judged.ideal.query[judged.ideal.grade == grade], minlength=len(judged)) > 0
        yield grade, np.where(here, grade - below, 0.0)
        below = np.where(here, grade, below)


@measure("PRES", "patent_retrieval_evaluation_score", average_ties=True, bounds="by rank")
@formula(
    r"1 - \frac{\frac{1}{R} \sum_d \rho_d - \frac{R+1}{2}}{k}, \quad \rho_d \text{ the rank of the relevant document } d, \text{ or } k + R, k + R - 1 \ldots \text{ if not in the top } k",
    "magdy2010",
)
@working("sum of 1 - irrelevant documents above / k at each relevant document / all relevant", FOUND)
def patent_retrieval_evaluation_score(judged: Judged, *, k: Cutoff = 1000, rel: Rel = 1) -> FloatArray:
    """Recall, lowered by the effort to find the documents, for a user who checks k documents (Magdy and Jones 2010).

    The area under the curve of recall by rank, between the best ranking and the worst: that has all relevant documents right after
    rank k, as has any document that was not found. k is the paper's N_max.
    """
    hits, depth = judged.relevant(rel).top(k), judged.retrieved if k is None else np.full(len(judged), k)
    irrelevant = hits.rank - hits.position()
    return ratio(_sum(judged, hits, rel, 1 - irrelevant / depth[hits.query]), judged.total(rel))


@measure("infAP", "inferred_AP", bounds=Unbounded("it leaves unjudged documents out by design"))
@formula(
    r"\frac{1}{R} \sum_i \frac{r_i}{i} \left( 1 + |\mathrm{pool}_{<i}| \cdot \frac{\mathrm{rel}_{<i} + \varepsilon}{\mathrm{rel}_{<i} + \mathrm{nonrel}_{<i} + 2\varepsilon} \right), \quad \varepsilon = 10^{-5}, \ \mathrm{pool}_{<i} \text{ those above } i \text{ with any grade, also below 0}",
    "yilmaz2006",
)
@working(columns=PRECISION)
def inferred_average_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """AP estimated from a judged random sample of a pool (Yilmaz and Aslam 2006).

    A negative grade marks a document that was pooled but not judged; it is assumed to be relevant as often as the
    judged documents above it.
    """
    hits = judged.hits
    relevant = hits.grade >= rel
    pooled_above = hits.position() - 1
    judged_above = hits.cumulative((hits.grade >= 0).astype(np.float64)) - 1
    relevant_above = hits.cumulative(relevant.astype(np.float64)) - 1
    share_relevant = (relevant_above + _INFAP_EPSILON) / (judged_above + 2 * _INFAP_EPSILON)
    rank = hits.rank.astype(np.float64)
    # trec_eval multiplies and divides by the number of documents above, which decides about the last digit.
    expected = 1 / rank + (rank - 1) / rank * ratio(pooled_above, rank - 1) * share_relevant
    return ratio(hits.where(relevant).sum(expected[relevant]), judged.total(rel))


@measure("yaap", low=-np.inf, high=np.inf, bounds="by rank")
@formula(r"\ln \frac{1 + s}{1 + R - s}, \quad s = \sum_i r_i P_i", "robertson2012")
@working(columns=PRECISION)
def yet_another_average_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """AP on a logarithmic scale: log((1 + s) / (1 + R - s)), with s the sum of precisions (Robertson 2012)."""
    total = _precision_sum(judged, rel)
    return np.log((1 + total) / (1 + judged.total(rel) - total))


def _precision_sum(judged: Judged, rel: float, k: int | None = None) -> FloatArray:
    hits = judged.relevant(rel).top(k)
    return _sum(judged, hits, rel, hits.position() / hits.rank)


def _sum(judged: Judged, hits: Hits, rel: float, precision: FloatArray) -> FloatArray:
    """The precision at each relevant document, added up; a chunk that holds several passages counts once for each."""
    passages = judged.passages(hits, rel)
    return hits.sum(precision if passages is None else precision * passages)
