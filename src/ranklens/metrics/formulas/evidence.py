"""Evidence: documents that answer only together, as in multi-hop questions, KILT, agent memory and AutoRAG."""

from __future__ import annotations

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.judging.views import Evidential
from ranklens.metrics import Cutoff, formula, measure, working
from ranklens.metrics.formulas.precision import precision, recall, success
from ranklens.metrics.formulas.ratio import ratio

TITLE = "Evidence sets"
WHEN = (
    "For questions whose answer needs several documents together, `{query: [{documents}, …]}`: multi-hop questions, KILT, agent memory. "
    "See [judgments that know more](richer-judgments.md)."
)


@measure("AllRecall", "all_recall", "evidence_recall")
@formula(r"\frac{|\{E : E \subseteq S_{1:k}\}|}{|\{E\}|}")
@working("evidence sets found in full / evidence sets")
def all_recall(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """The share of the evidence sets that are complete: all of their documents are in the top k.

    With the sets {a, b} and {c}, the ranking a, x, b scores 0.5 at k = 3 and 0 at k = 2.

    Without evidence sets, all relevant documents of a query are one set, and this is FullRecall. KILT_R is KILT's recall.
    """
    return recall(sets.complete, k=k)


@measure("AnyRecall", "recall_any", "any_recall")
@formula(r"\frac{|\{E : E \cap S_{1:k} \ne \emptyset\}|}{|\{E\}|}")
@working("evidence sets with a document found / evidence sets")
def any_recall(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """The share of the evidence sets that have any of their documents in the top k (AutoRAG's recall).

    With the sets {a, b} and {c}, the ranking a, x, b scores 0.5 from k = 1 on.

    Without evidence sets, all relevant documents of a query are one set, and this is Success.
    """
    return recall(sets.touched, k=k)


@measure("EvidenceSuccess", "evidence_success")
@formula(r"[\, \exists E : E \subseteq S_{1:k} \,]")
@working("1 if an evidence set was found in full, else 0")
def evidence_success(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """1 if any evidence set is complete, with all of its documents in the top k, else 0.

    With the sets {a, b} and {c}, the ranking a, x, b scores 1 at k = 3 and 0 at k = 2.
    """
    return success(sets.complete, k=k)


@measure("EvidenceRprec", "evidence_rprec", "KILT_Rprec")
@formula(r"\max_E \frac{|E \cap S_{1:|E|}|}{|E|}", "petroni2021")
@working("the best share of an evidence set in as many ranks as it has documents")
def evidence_r_precision(sets: Evidential) -> FloatArray:
    """R-precision of the best evidence set: of n documents in the set, the share that is in the first n ranks (KILT).

    With the sets {a, b} and {c}, the ranking a, x, b scores 0.5.
    """
    early = sets.rank <= sets.size[sets.member]
    early_hits = np.bincount(sets.member[early], minlength=len(sets.query)).astype(np.float64)
    best = np.zeros(len(sets.judged))
    np.maximum.at(best, sets.query, ratio(early_hits, sets.size))
    return best


@measure("KILT_P")
@formula(
    r"\frac{|\{E \subseteq S : \rho_E \le k\}|}{k}, \quad \rho_E \text{ the rank after collapsing sets, which also count once in } n",
    "petroni2021",
)
@working("evidence sets found in full, each at one rank / k")
def kilt_precision(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """KILT's precision@k: complete evidence sets in the top k, divided by k, with ranks as in KILT_R."""
    return precision(sets.collapsed, k=k)


@measure("KILT_R")
@formula(
    r"\frac{|\{E \subseteq S : \rho_E \le k\}|}{|\{E\}|}, \quad \rho_E \text{ the rank after collapsing sets}",
    "petroni2021",
)
@working("evidence sets found in full, each at one rank / evidence sets")
def kilt_recall(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """KILT's recall@k: complete evidence sets in the top k, divided by all evidence sets.

    Ranks are counted after collapsing: the retrieved documents of a set, complete or not, take one rank together, where the last of
    them was. With the sets {a, b} and {c}, the ranking a, x, b collapses to x, {a, b}: 0.5 at k = 2, where AllRecall@2 is 0.

    KILT ranks pages. If several passages of a page are retrieved under the id of the page, the first of them counts.
    """
    return recall(sets.collapsed, k=k)


@measure("KILT_Success")
@formula(
    r"[\, \exists E \subseteq S : \rho_E \le k \,], \quad \rho_E \text{ the rank after collapsing sets}",
    "petroni2021",
)
@working("1 if an evidence set was found in full, each at one rank, else 0")
def kilt_success(sets: Evidential, *, k: Cutoff = None) -> FloatArray:
    """KILT's success_rate@k: 1 if any complete evidence set is in the top k, with ranks as in KILT_R, else 0."""
    return success(sets.collapsed, k=k)
