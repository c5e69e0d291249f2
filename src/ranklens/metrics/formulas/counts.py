"""Counts, shares of judged documents, and what trec_eval prints in addition to its measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ranklens.arrays import FloatArray, IntArray
from ranklens.judging.judged import Judged
from ranklens.metrics import Cutoff, Rel, formula, measure, working
from ranklens.metrics.catalog import Columns, Unbounded
from ranklens.metrics.formulas.ratio import ratio

if TYPE_CHECKING:
    from ranklens.metrics.cuts import View

TITLE = "Counts and judgments"
WHEN = "For knowing what was averaged, and how much of it was judged."


_OF_JUDGMENTS = Unbounded("it is about the judgments themselves")


def _found(view: View) -> FloatArray:
    return number_relevant_retrieved(view.above, rel=view.params["rel"])


def _irrelevant_above(view: View) -> FloatArray:
    return number_irrelevant_judged_retrieved(view.above, rel=view.params["rel"])


FOUND: Columns = {"found": _found}
IRRELEVANT_ABOVE: Columns = {**FOUND, "irrelevant above": _irrelevant_above}


@measure("Judged", average_ties=True, better="neither", bounds=_OF_JUDGMENTS)
@formula(r"\frac{|\{i \le k : \text{judged}\}|}{\min(k, n)}")
@working(lambda params: "{judged found} / " + ("min({k}, {retrieved})" if params["k"] else "{retrieved}"))
def judged_share(judged: Judged, *, k: Cutoff = None) -> FloatArray:
    """The share of the top k that is judged, out of the documents retrieved there: min(k, retrieved).

    A negative grade means pooled but not judged, and counts as unjudged.
    """
    return ratio(*judged_of_retrieved(judged, k))


def judged_of_retrieved(judged: Judged, k: int | None) -> tuple[FloatArray, IntArray]:
    """For each query, how many documents in the top k are judged, and how many were retrieved there."""
    retrieved = judged.retrieved if k is None else np.minimum(k, judged.retrieved)
    return judged.relevant(0).top(k).sum(), retrieved


@measure("Unjudged", "unj", average_ties=True, better="neither", bounds=_OF_JUDGMENTS)
@formula(r"\frac{|\{i \le k : \text{not judged}\}|}{k}")
@working(every_rank_counts=True)
def unjudged_share(judged: Judged, *, k: Cutoff = None) -> FloatArray:
    """Unjudged documents in the top k, divided by k even if fewer were retrieved (trec_eval's unj)."""
    found, retrieved = judged_of_retrieved(judged, k)
    return ratio(retrieved - found, judged.retrieved if k is None else float(k))


@measure("NumQ", "num_q", aggregate="sum", average_ties=True, bounds="monotone")
@formula(r"|Q|")
def number_of_queries(judged: Judged) -> FloatArray:
    """1 for each query that is averaged over; summed, not averaged."""
    return np.ones(len(judged))


@measure("NumRet", "num_ret", aggregate="sum", high=np.inf, average_ties=True, bounds="monotone")
@formula(r"\sum_q n_q")
@working(every_rank_counts=True)
def number_retrieved(judged: Judged) -> FloatArray:
    """Retrieved documents; summed, not averaged."""
    return judged.retrieved.astype(np.float64)


@measure("NumRel", "num_rel", aggregate="sum", high=np.inf, average_ties=True, bounds="monotone")
@formula(r"\sum_q R_q")
def number_relevant(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """Relevant documents, retrieved or not; summed, not averaged."""
    return judged.total(rel)


@measure("NumRelRet", "num_rel_ret", aggregate="sum", high=np.inf, average_ties=True, bounds="monotone")
@formula(r"\sum_q \sum_{i=1}^{n_q} r_{qi}")
@working(columns=FOUND)
def number_relevant_retrieved(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """Relevant documents that were retrieved; summed, not averaged."""
    return judged.found(rel)


@measure("HitCount", "hits", high=np.inf, average_ties=True, bounds="monotone")
@formula(r"\sum_{i=1}^{k} r_i")
@working("{relevant found|chunks}", FOUND)
def hit_count(judged: Judged, *, k: Cutoff = None, rel: Rel = 1) -> FloatArray:
    """How many relevant documents are in the top k; averaged, not summed (ranx's hits)."""
    return judged.relevant(rel).top(k).sum()


@measure("num_nonrel_judged_ret", aggregate="sum", high=np.inf, average_ties=True, bounds=_OF_JUDGMENTS)
@formula(r"\sum_q |\{i : \text{judged},\ r_{qi} = 0\}|")
def number_irrelevant_judged_retrieved(judged: Judged, *, rel: Rel = 1) -> FloatArray:
    """Retrieved documents that were judged and found not relevant; summed, not averaged."""
    return judged.relevant(0).sum() - judged.relevant(rel).sum()


@measure("utility", low=-np.inf, high=np.inf, average_ties=True, bounds="monotone")
@formula(
    r"a \sum_i r_i + b \sum_i (1 - r_i) + c \Big(R - \sum_i r_i\Big) + d \Big(D - R - \sum_i (1 - r_i)\Big), \quad D \text{ documents}"
)
@working(columns=FOUND, every_rank_counts=True)
def utility(
    judged: Judged,
    *,
    rel: Rel = 1,
    a: float = 1,
    b: float = -1,
    c: float = 0,
    d: float = 0,
    docs: float = 0,
) -> FloatArray:
    """A weighted sum: a · relevant retrieved + b · other retrieved + c · relevant missed + d · other not retrieved.

    ``docs`` is the size of the collection; it matters only if d is not 0.
    """
    found, total = judged.relevant(rel).sum(), judged.total(rel)
    rest = docs + found - judged.retrieved - total
    return a * found + b * (judged.retrieved - found) + c * (total - found) + d * rest


@measure("relstring", aggregate="none", bounds=Unbounded("it is a text"))
@formula(r"g_1 g_2 \dots g_k, \quad \text{- for an unjudged document}")
@working(every_rank_counts=True)
def relevance_string(judged: Judged, *, k: Cutoff = 10) -> npt.NDArray[np.object_]:
    """The grades of the first k documents as text: digits, ``>`` above 9, ``-`` unjudged, ``.`` pooled but unjudged."""
    assert k is not None
    length = np.minimum(k, judged.retrieved)
    letters = np.full((len(judged), int(length.max(initial=0))), "-", dtype="U1")
    hits = judged.hits.top(k)
    shown = np.array([str(n) for n in range(10)] + [">", "."])
    index = np.where(hits.grade < 0, 11, np.minimum(hits.grade, 10).astype(np.int64))
    letters[hits.query, hits.rank - 1] = shown[index]
    return np.array(["".join(row[:n]) for row, n in zip(letters, length, strict=True)], dtype=object)
