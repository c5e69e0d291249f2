"""What a comparison says, in words: never more than the test supports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranklens.alignment import Quantity
    from ranklens.pairs import Family, PairResult, Settings

_CORRECTIONS = {
    "bonferroni": "Bonferroni",
    "holm": "Holm",
    "hochberg": "Hochberg",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
}
_TESTS = {
    "randomization": "randomisation test",
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "bootstrap": "bootstrap test",
    "welch": "unpaired Welch t test",
    "tukey": "Tukey's HSD",
    "tukey-randomized": "randomised Tukey HSD",
}


def of_pair(pair: PairResult, quantity: Quantity, settings: Settings, family: Family) -> str:
    """Which of two systems is better, by how much, how sure that is, and what could not have been seen."""
    ahead, behind = (pair.a, pair.b) if _a_leads(pair, quantity) else (pair.b, pair.a)
    if pair.ties == pair.n:
        return (
            f"{ahead} and {behind} have the same value for {'every query' if pair.n > 1 else 'the one query'}"
        )
    size = _size(pair, quantity)
    chance = f"{p_text(pair.adjusted_p, settings.alpha)}{correction_text(settings, family)}"
    if pair.significant:
        word = {"higher": "better", "lower": "better", "neither": "higher"}[quantity.better]
        return f"{ahead} is {word} than {behind} by {size}, {chance}" + _unseen(pair, quantity)
    return f"{ahead} and {behind} cannot be told apart: the difference is {size}, {chance}" + _unseen(
        pair, quantity
    )


def p_text(p: float, alpha: float = 0.05) -> str:
    """A p-value with three decimals, and more where these could be taken for alpha.

    >>> p_text(0.0021), p_text(0.00004), p_text(0.04996), p_text(1.0)
    ('p = 0.002', 'p < 0.001', 'p = 0.04996', 'p = 1.000')
    """
    if p < 0.001:
        return "p < 0.001"
    decimals = 3
    while round(p, decimals) == alpha != p and decimals < 8:
        decimals += 1
    return f"p = {p:.{decimals}f}"


def correction_text(settings: Settings, family: Family) -> str:
    """How p-values were corrected: empty where there is nothing to correct for."""
    slices = f" in {family.slices:,} slices" if family.slices > 1 else ""
    if settings.is_tukey:
        return f" by {_TESTS[settings.test]} over {family.systems:,} systems{slices}"
    pairs = family.pairs // family.slices
    if family.pairs < 2:
        return ""
    over = f"{pairs:,} {'pair' if pairs == 1 else 'pairs'}{slices}"
    if settings.correction == "none":
        return f", not corrected for {over}"
    return f" after {_CORRECTIONS[settings.correction]} over {over}"


def name_of_test(test: str) -> str:
    """For captions."""
    return _TESTS[test]


def _a_leads(pair: PairResult, quantity: Quantity) -> bool:
    """Whether a is ahead; of two that are equal, the first by name, so that the order asked for does not matter."""
    if pair.difference == 0:
        return pair.a < pair.b
    return (pair.difference < 0) != (quantity.better == "lower")


def _size(pair: PairResult, quantity: Quantity) -> str:
    """The difference of the one ahead over the other, with its interval."""
    low, high = pair.interval
    difference = abs(pair.difference)
    if pair.difference < 0:
        low, high = -high, -low
    if quantity.is_geometric:
        return f"a factor of {math.exp(difference):.3f} [{math.exp(low):.3f}, {math.exp(high):.3f}]"
    decimals = 3 if difference >= 0.001 or not difference else 5
    return f"{difference:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


def _unseen(pair: PairResult, quantity: Quantity) -> str:
    if pair.n < 2:
        return "; one query says nothing about others"
    if not pair.detectable:
        return ""
    if quantity.is_geometric:
        limit = f"a factor under {math.exp(pair.detectable):.3f}"
    else:
        limit = f"a difference under {pair.detectable:.{3 if pair.detectable >= 0.001 else 5}f}"
    if pair.significant and abs(pair.difference) < pair.detectable:
        return f"; with {pair.n:,} queries a difference this small is often missed"
    return f"; with {pair.n:,} queries {limit} could not have been seen"
