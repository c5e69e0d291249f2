"""Coverage: how much of the evidence is in the chunks that were retrieved, however the documents were divided into chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.judging.covered import Covered
from ranklens.metrics import Cutoff, Rel, Within, formula, measure, working
from ranklens.metrics.catalog import Columns
from ranklens.metrics.formulas.ratio import ratio

if TYPE_CHECKING:
    from ranklens.judging.hits import Hits
    from ranklens.metrics.cuts import View

TITLE = "Evidence coverage"
WHEN = (
    "For retrieval-augmented generation, where the answer is in passages and documents are divided into chunks: the same golden set serves every "
    "chunking. See [chunking](chunking.md)."
)

Threshold: TypeAlias = Annotated[float | None, Within(0.01, 1)]


def _at_ranks(view: View, hits: Hits) -> FloatArray:
    values = np.zeros(int(view.ranks.max(initial=0)) + 1)
    near = hits.rank < len(values)
    values[hits.rank[near]] = hits.grade[near]
    return values[view.ranks]


def _seen(view: View) -> Covered:
    return Covered.of(view.judged, "")


TOKENS: Columns = {"tokens": lambda view: _at_ranks(view, _seen(view).context)}
NEW: Columns = {
    **TOKENS,
    "new evidence": lambda view: _at_ranks(view, _seen(view).evidence(view.params["rel"])),
}
REPEATED: Columns = {**TOKENS, "repeated": lambda view: _at_ranks(view, _seen(view).repeated)}


@measure("PassageRecall", "passage_recall")
@formula(r"\frac{|\{p : |p \cap \bigcup_{i \le k} c_i| \ge \theta\, |p|\}|}{|\{p\}|}")
@working("passages of which enough is covered / passages", NEW)
def passage_recall(
    read: Covered,
    *,
    k: Cutoff = None,
    budget: Cutoff = None,
    step: Cutoff = None,
    rel: Rel = 1,
    threshold: Threshold = None,
) -> FloatArray:
    """The share of the passages that the top k chunks contain, in one chunk or together.

    A passage is found where the chunks cover at least ``threshold`` of its words (0.9 unless the matching says otherwise).

    ``budget=2000`` takes the chunks that fit into 2,000 tokens, from the top, in place of the top k.

    ``step=2`` takes the chunks of the first two retrievals, where a question has several.
    """
    found = read.passages(threshold).relevant(rel).top(read.depth(k, budget, step))
    return ratio(found.sum(), read.count(rel))


@measure("TokenRecall", "token_recall", like="PassageRecall")
@formula(r"\frac{|E \cap \bigcup_{i \le k} c_i|}{|E|}, \quad E = \bigcup p", "smith2024")
@working("evidence covered / all evidence", NEW)
def token_recall(
    read: Covered, *, k: Cutoff = None, budget: Cutoff = None, step: Cutoff = None, rel: Rel = 1
) -> FloatArray:
    """The share of the evidence, in tokens, that is in the top k chunks. Passages that overlap count once where they do."""
    new = read.evidence(rel).top(read.depth(k, budget, step))
    return ratio(new.sum(new.grade), read.expected(rel))


@measure("TokenPrecision", "token_precision", like="PassageRecall")
@formula(r"\frac{|E \cap \bigcup_{i \le k} c_i|}{\sum_{i \le k} |c_i|}, \quad E = \bigcup p", "smith2024")
@working("evidence covered / tokens of the chunks", NEW)
def token_precision(
    read: Covered, *, k: Cutoff = None, budget: Cutoff = None, step: Cutoff = None, rel: Rel = 1
) -> FloatArray:
    """The share of the tokens in the top k chunks that is evidence. What is retrieved twice counts once as evidence and twice as tokens."""
    covered, tokens = _covered(read, k, budget, step, rel)
    return ratio(covered, tokens)


@measure("TokenIoU", "token_iou", like="PassageRecall")
@formula(
    r"\frac{|E \cap \bigcup_{i \le k} c_i|}{|E| + \sum_{i \le k} |c_i| - |E \cap \bigcup_{i \le k} c_i|}, \quad E = \bigcup p",
    "smith2024",
)
@working("evidence covered / (all evidence + tokens of the chunks - evidence covered)", NEW)
def token_iou(
    read: Covered, *, k: Cutoff = None, budget: Cutoff = None, step: Cutoff = None, rel: Rel = 1
) -> FloatArray:
    """Intersection over union of the evidence and the top k chunks, in tokens: a chunking that covers everything with large chunks scores low."""
    covered, tokens = _covered(read, k, budget, step, rel)
    return ratio(covered, read.expected(rel) + tokens - covered)


@measure("TokenF1", "token_f1", like="PassageRecall")
@formula(r"\frac{2 P R}{P + R}")
@working("2 · {TokenPrecision} · {TokenRecall} / ({TokenPrecision} + {TokenRecall})", NEW)
def token_f1(
    read: Covered, *, k: Cutoff = None, budget: Cutoff = None, step: Cutoff = None, rel: Rel = 1
) -> FloatArray:
    """The harmonic mean of TokenPrecision and TokenRecall."""
    precision = token_precision(read, k=k, budget=budget, step=step, rel=rel)
    recall = token_recall(read, k=k, budget=budget, step=step, rel=rel)
    return ratio(2 * precision * recall, precision + recall)


@measure("Redundancy", "redundancy", better="lower")
@formula(r"\frac{\sum_{i \le k} |c_i \cap \bigcup_{j < i} c_j|}{\sum_{i \le k} |c_i|}")
@working("tokens that chunks above have as well / tokens of the chunks", REPEATED)
def redundancy(read: Covered, *, k: Cutoff = None, budget: Cutoff = None, step: Cutoff = None) -> FloatArray:
    """The share of the tokens in the top k chunks that were in chunks above: overlapping chunks, and chunks retrieved again.

    Other parameters as in PassageRecall.
    """
    depth = read.depth(k, budget, step)
    repeated, context = read.repeated.top(depth), read.context.top(depth)
    return ratio(repeated.sum(repeated.grade), context.sum(context.grade))


@measure("ContextTokens", "context_tokens", high=np.inf, better="lower")
@formula(r"\sum_{i \le k} |c_i|")
@working("tokens of the chunks", TOKENS)
def context_tokens(
    read: Covered, *, k: Cutoff = None, budget: Cutoff = None, step: Cutoff = None
) -> FloatArray:
    """The number of tokens in the top k chunks: what the context costs.

    Other parameters as in PassageRecall.
    """
    context = read.context.top(read.depth(k, budget, step))
    return context.sum(context.grade)


@measure("Calls", "num_calls", high=np.inf, better="lower")
@formula(r"|\{\text{retrievals}\}|")
@working("retrievals")
def calls(read: Covered, *, step: Cutoff = None) -> FloatArray:
    """The number of retrievals of a question: 1, unless an agent or a multi-hop system asks several times."""
    made = read.contexts.calls
    return (made if step is None else np.minimum(made, step)).astype(np.float64)


def _covered(
    read: Covered, k: int | None, budget: int | None, step: int | None, rel: float
) -> tuple[FloatArray, FloatArray]:
    """The evidence in the chunks, and the length of the chunks. A chunk is no more evidence than it is long, whatever it repeats."""
    depth = read.depth(k, budget, step)
    new, context = read.evidence(rel).top(depth), read.context.top(depth)
    return new.sum(np.minimum(new.grade, context.grade)), context.sum(context.grade)
