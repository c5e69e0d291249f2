"""Evidence: documents that answer only together, as in multi-hop questions, KILT, agent memory and AutoRAG."""

from __future__ import annotations

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.formulas.precision import recall, success
from ranklens.formulas.ratio import ratio
from ranklens.judging.views import Evidential
from ranklens.registry import Cutoff, measure


@measure("AllRecall", "recall_all", "all_recall")
def all_recall(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """The share of the evidence sets that are in the top k with all their documents (KILT's recall).

    Without evidence sets, all relevant documents of a query are one set: 1 if all of them are in the top k, else 0
    (recall_all of agent memory, all-support of multi-hop questions).
    """
    return recall(sets.complete, k=k)


@measure("AnyRecall", "recall_any", "any_recall")
def any_recall(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """The share of the evidence sets that have any of their documents in the top k (AutoRAG's recall).

    Without evidence sets, all relevant documents of a query are one set, and this is Success.
    """
    return recall(sets.touched, k=k)


@measure("EvidenceSuccess", "evidence_success")
def evidence_success(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """1 if any evidence set is in the top k with all its documents, else 0."""
    return success(sets.complete, k=k)


@measure("EvidenceRprec", "evidence_rprec")
def evidence_r_precision(sets: Evidential) -> FloatArray:
    """R-precision of the best evidence set: of n documents in the set, the share that is in the first n ranks (KILT)."""
    early = sets.rank <= sets.size[sets.member]
    found = np.bincount(sets.member[early], minlength=len(sets.query)).astype(np.float64)
    best = np.zeros(len(sets.judged))
    np.maximum.at(best, sets.query, ratio(found, sets.size))
    return best
