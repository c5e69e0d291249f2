"""Pairs of documents of which one is better, as assessors say who compare instead of grading."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.judging.views import Preferring
from ranklens.metrics import formula, measure, working
from ranklens.metrics.formulas.ratio import ratio

TITLE = "Pairs of documents"
WHEN = "For assessors who say which of two documents is better: `Judgments(preferences={query: [(better, worse), …]})`."


@measure(
    "Prefs",
    {
        "prefs_simp": {},
        "prefs_simp_ret": {"over": "retrieved"},
        "prefs_simp_imp": {"over": "any"},
        "prefs_avgjg": {"by": "group"},
        "prefs_avgjg_ret": {"over": "retrieved", "by": "group"},
        "prefs_avgjg_imp": {"over": "any", "by": "group"},
    },
)
@formula(
    r"\frac{|\{(a, b) : a \succ b,\ a \text{ retrieved, } b \text{ below it or not retrieved}\}|}{|\{(a, b) : a \succ b\}|}",
    "carterette2008",
)
@working("preferences fulfilled / preferences")
def preferences_fulfilled(
    preferred: Preferring,
    *,
    over: Literal["all", "retrieved", "any"] = "all",
    by: Literal["all", "group"] = "all",
) -> FloatArray:
    """The share of preferences between two documents that the ranking fulfils: the better one is above, or alone retrieved.

    Of all preferences. trec_eval's names prefs_simp and prefs_avgjg, with _ret and _imp, are understood.

    ``over=retrieved`` counts the preferences with both documents retrieved, ``over=any`` those with any of them.

    ``by=group`` averages over judgment groups, such as assessors.
    """
    fulfilled, counts = preferred.fulfilled, preferred.counts(over)
    if by == "all":
        return ratio(
            preferred.total((fulfilled & counts).astype(np.float64)),
            preferred.total(counts.astype(np.float64)),
        )
    shares = ratio(
        np.bincount(preferred.group, fulfilled & counts, len(preferred.owner)).astype(np.float64),
        np.bincount(preferred.group, counts, len(preferred.owner)).astype(np.float64),
    )
    groups = np.bincount(preferred.owner, minlength=len(preferred.judged)).astype(np.float64)
    return ratio(np.bincount(preferred.owner, shares, len(preferred.judged)).astype(np.float64), groups)
