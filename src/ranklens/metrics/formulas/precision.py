"""Precision and recall: the relevant share of the retrieved documents, and the retrieved share of the relevant ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from ranklens.arrays import BoolArray, FloatArray
from ranklens.judging.judged import Judged
from ranklens.metrics import Cutoff, Positive, Rel, Within, formula, measure, working
from ranklens.metrics.catalog import Beside, Columns, Params
from ranklens.metrics.formulas.counts import FOUND
from ranklens.metrics.formulas.ratio import ratio

if TYPE_CHECKING:
    from ranklens.metrics.cuts import View

TITLE = "Precision, recall and sets"
WHEN = "For documents that are relevant or not, where the order within the first k does not matter."

Weight: TypeAlias = Annotated[float, Within(0, float("inf"))]


def _precision(view: View) -> FloatArray:
    return precision(view.above, rel=view.params["rel"])


def _recall(view: View) -> FloatArray:
    return recall(view.above, rel=view.params["rel"])


PRECISION: Columns = {**FOUND, "precision": _precision}
RECALL_AND_PRECISION: Columns = {
    **FOUND,
    "recall": _recall,
    "precision": _precision,
}


def _precision_in_words(params: Params) -> str:
    if params["k"] is None:
        return "{relevant found|chunks} / {retrieved}"
    return "{relevant found|chunks} / " + (
        "min({k}, {retrieved})" if params["over"] == "retrieved" else "{k}"
    )


def _ideal_within_cutoff(params: Params) -> Beside:
    """Without a cutoff, the ideal ranking of a ratio over the retrieved documents is a matter of its length."""
    return "grade" if params["k"] is not None and params.get("over") != "retrieved" else None


@measure("P", "precision", average_ties=True, bounds="monotone")
@formula(r"\frac{1}{k} \sum_{i=1}^{k} r_i", "buckley2005")
@working(_precision_in_words, FOUND, ideal=_ideal_within_cutoff)
def precision(
    judged: Judged, *, k: Cutoff = None, rel: Rel = 1, over: Literal["k", "retrieved"] = "k"
) -> FloatArray:
    """Precision: relevant documents in the top k, divided by k.

    It divides by k even if fewer than k documents were retrieved, as trec_eval does. Without a cutoff it divides by
    the number of retrieved documents.

    ``over=retrieved`` divides by min(k, retrieved).
    """
    hits = judged.relevant(rel).top(k).sum()
    if k is None:
        return ratio(hits, judged.retrieved)
    return ratio(hits, np.minimum(k, judged.retrieved) if over == "retrieved" else float(k))


@measure(
    "R",
    "recall",
    {"relative_P": {"cap": True}, "R_cap": {"cap": True}},
    average_ties=True,
    bounds="monotone without k",
)
@formula(r"\frac{1}{R} \sum_{i=1}^{k} r_i", "buckley2005")
@working(
    lambda params: (
        "{relevant found} / "
        + ("min({all relevant}, {k})" if params["cap"] and params["k"] else "{all relevant}")
    ),
    FOUND,
    ideal="grade",
)
def recall(judged: Judged, *, k: Cutoff = None, rel: Rel = 1, cap: bool = False) -> FloatArray:
    """Recall: relevant documents in the top k, divided by all relevant documents R.

    ``cap=true`` divides by min(R, k), so that 1 can be reached (BEIR's R_cap, trec_eval's relative_P).
    """
    hits, total = judged.found(rel, k), judged.total(rel)
    if cap and k:
        total = np.minimum(total, k)
        hits = np.minimum(hits, total)  # a chunk may hold more passages than there are ranks
    return ratio(hits, total)


@measure("F", "f1", "f_measure", average_ties=True, bounds="monotone without k")
@formula(r"\frac{(1+\beta^2)\, P_k\, R_k}{\beta^2 P_k + R_k}", "vanrijsbergen1979")
@working("(1 + {beta²}) · {P} · {R} / ({beta²} · {P} + {R})", FOUND, ideal=_ideal_within_cutoff)
def f_measure(judged: Judged, *, k: Cutoff = None, rel: Rel = 1, beta: Positive = 1) -> FloatArray:
    """The harmonic mean of precision and recall at k, with recall weighing ``beta`` times as much as precision.

    (1 + beta²) P R / (beta² P + R). Without a cutoff, precision covers all retrieved documents.
    """
    weight = float(beta) ** 2
    if judged.further is not None:
        p, r = precision(judged, k=k, rel=rel), recall(judged, k=k, rel=rel)
        return ratio((1 + weight) * p * r, weight * p + r)
    retrieved = judged.retrieved if k is None else k
    # With h hits, P = h / retrieved and R = h / total; this form is linear in h.
    return ratio((1 + weight) * judged.relevant(rel).top(k).sum(), weight * judged.total(rel) + retrieved)


@measure("Success", "hit", "hit_rate", "hitrate", "HR", average_ties=True, bounds="monotone")
@formula(r"\max_{i \le k} r_i")
@working("1 if a relevant document was found, else 0", FOUND, ideal="grade")
def success(judged: Judged, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """1 if any relevant document is in the top k, else 0. Its mean is the hit rate."""
    hits = judged.relevant(rel).top(k)
    return hits.sum(hits.first())


@measure("FullRecall", "recall_all", "full_recall", "all_support", bounds="by rank")
@formula(r"[\, R_k = 1 \,]")
@working("1 if all relevant documents were found, else 0", FOUND, ideal="grade")
def full_recall(judged: Judged, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """1 if all relevant documents of the question are in the top k, else 0 (recall_all of agent memory, all-support of multi-hop questions).

    With the relevant documents a, b and c, the ranking a, x, b scores 0 at any k, and a, x, b, c scores 1 from k = 4 on. Evidence
    sets make no difference: each of their documents is relevant.
    """
    total = judged.total(rel)
    is_complete: BoolArray = (judged.found(rel, k) == total) & (total > 0)
    return is_complete.astype(np.float64)


@measure("Rprec", "r_precision", "r-precision", "R-Prec", average_ties=True, bounds="by rank")
@formula(r"\frac{1}{R} \sum_{i=1}^{R} r_i", "buckley2005")
@working("{found in the top R} / {all relevant}", FOUND, ideal="grade")
def r_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """Precision at rank R, the number of relevant documents of the query."""
    return r_precision_multiple(judged, rel=rel)


@measure("Rprec_mult", average_ties=True, bounds="by rank")
@formula(r"\frac{1}{m} \sum_{i=1}^{m} r_i, \quad m = \lfloor x R + 0.9 \rfloor")
@working(columns=FOUND)
def r_precision_multiple(judged: Judged, *, rel: Rel = 1, x: Positive = 1) -> FloatArray:
    """Precision at ``x`` times R, rounded as trec_eval does: int(x R + 0.9)."""
    cutoff = np.floor(x * judged.total(rel) + 0.9).astype(np.int64)
    return ratio(np.minimum(judged.found(rel, cutoff), cutoff), cutoff)


@measure("SetP", "set_P", average_ties=True, bounds="monotone")
@formula(r"\frac{1}{n} \sum_{i=1}^{n} r_i")
@working("{relevant found|chunks} / {retrieved}", FOUND)
def set_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """Precision of everything that was retrieved, as a set."""
    return precision(judged, rel=rel)


@measure("SetR", "set_recall", average_ties=True, bounds="monotone")
@formula(r"\frac{1}{R} \sum_{i=1}^{n} r_i")
@working("{relevant found} / {all relevant}", FOUND)
def set_recall(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """Recall of everything that was retrieved, as a set."""
    return recall(judged, rel=rel)


@measure("SetF", "set_F", average_ties=True, bounds="monotone")
@formula(r"\frac{(1+\beta)\, P_n\, R_n}{\beta P_n + R_n}", "vanrijsbergen1979")
@working("(1 + {beta}) · {SetP} · {SetR} / ({beta} · {SetP} + {SetR})", FOUND)
def set_f(judged: Judged, *, rel: Rel = 1, beta: Weight = 1) -> FloatArray:
    """The harmonic mean of SetP and SetR as trec_eval and ir_measures define it: (beta + 1) P R / (beta P + R).

    Unlike in ``F``, beta is not squared.
    """
    p, r = set_precision(judged, rel=rel), set_recall(judged, rel=rel)
    return ratio((beta + 1) * p * r, beta * p + r)  # in trec_eval's order: its last digit depends on it


@measure("SetRelP", "set_relative_P", average_ties=True, bounds="monotone")
@formula(r"\frac{1}{\min(n, R)} \sum_{i=1}^{n} r_i")
@working("{relevant found|chunks} / min({retrieved}, {all relevant})", FOUND)
def set_relative_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """SetP divided by the best precision that a set of this size can have."""
    return ratio(judged.relevant(rel).sum(), np.minimum(judged.retrieved, judged.total(rel)))


@measure("SetAP", "set_map", average_ties=True, bounds="monotone")
@formula(r"P_n\, R_n")
@working("{SetP} · {SetR}", FOUND)
def set_average_precision(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """SetP times SetR: the average precision of a set."""
    if judged.further is not None:
        return set_precision(judged, rel=rel) * set_recall(judged, rel=rel)
    hits = judged.relevant(rel)
    # The square of the hits as 1 + 3 + 5 + …, which is exact over averaged ties, too; one division, as in trec_eval.
    return ratio(hits.sum(2 * hits.position() - 1), judged.retrieved * judged.total(rel))


@measure("FallOut", "fall_out", average_ties=True, better="lower")
@formula(r"\frac{\text{judged irrelevant documents in the top } k}{\text{all judged irrelevant documents}}")
@working("irrelevant found / all irrelevant")
def fall_out(
    judged: Judged, *, k: Cutoff = None, rel: Rel = 1, empty: Literal["zero", "one"] = "zero"
) -> FloatArray:
    """The share of the judged irrelevant documents that is in the top k; 0 where there are none.

    ``empty=one`` is 1 where there are none, as in torchmetrics.
    """
    irrelevant_hits = judged.relevant(0).top(k).sum() - judged.relevant(rel).top(k).sum()
    irrelevant = judged.total(0) - judged.total(rel)
    share = ratio(irrelevant_hits, irrelevant)
    return np.where(irrelevant == 0, 1.0, share) if empty == "one" else share
