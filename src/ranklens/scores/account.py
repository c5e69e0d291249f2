"""What an evaluation decided and counted: all that is said of values, wherever rankings and judgments are now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ranklens.judging.judged import Applied, Judged
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.metrics import Measure

FEW_EXPECTED = 2  # documents per query, as golden sets have
THRESHOLDS = (0.5, 0.8, 0.9, 1.0)  # shares of a passage that could be asked for


@dataclass(frozen=True)
class ChunkFacts:
    """How many chunks the queries got, how long they are, and what depends on the share of a passage that must be covered."""

    per_query: float
    unit: str
    usual: float  # length
    large: float  # of 95% none is longer
    longest: float
    threshold: float
    recall: Mapping[str, Mapping[float, float]]  # by measure and threshold

    @classmethod
    def of(cls, judged: Judged, measures: Sequence[Measure]) -> ChunkFacts | None:
        """None where documents are judged, not passages, or nothing was retrieved."""
        contexts = None if judged.details is None else judged.details.contexts
        if contexts is None or not len(contexts.query):
            return None
        usual, large, longest = np.quantile(contexts.cover.tokens, [0.5, 0.95, 1]).tolist()
        found = [one for one in measures if one.name == "PassageRecall"][:1]
        recall = {
            one.shown: {least: float(one.replace(threshold=least)(judged).mean()) for least in THRESHOLDS}
            for one in found
        }
        per_query = len(contexts.query) / len(contexts.queries)
        return cls(per_query, contexts.unit, usual, large, longest, contexts.threshold, recall)


@dataclass(frozen=True)
class Account:
    """The policy, what it did, and how far the judgments reach. Of scores that were read from a file, only the first two are known."""

    applied: Applied
    policy: Policy = field(default_factory=Policy)
    knows_policy: bool = True  # a table of values does not say by which policies they were made
    made: str = "were read from a file, which contains"  # where the values are, for messages
    max_grade: float | None = None
    graded: int | None = None  # judgments that are more than relevant or not
    longest: int = 0  # documents of the longest ranking
    tied: int = 0  # queries in which judged documents tie
    across: Mapping[int, int] = field(default_factory=dict)  # of these, in how many across each cutoff
    share: float | None = None  # of the retrieved documents that are judged; None if that says nothing
    ones: Mapping[str, int] | None = None  # by measure, how many queries count as 1
    texts: Mapping[str, str] = field(default_factory=dict)  # of queries
    chunks: ChunkFacts | None = None

    @classmethod
    def of(cls, judged: Judged, measures: Sequence[Measure], depth: int | None = None) -> Account:
        """What is to be said of these measures of judged rankings, or of their first ``depth`` documents."""
        return cls(
            judged.applied,
            judged.policy,
            max_grade=judged.max_grade,
            graded=judged.graded,
            longest=judged.longest,
            tied=judged.tied,
            across={k: judged.tied_across(k) for k in cutoffs_of(measures)},
            share=share_judged(judged, measures, depth),
            ones=ones_of(judged, measures),
            chunks=ChunkFacts.of(judged, measures),
        )


def ones_of(judged: Judged, measures: Sequence[Measure]) -> dict[str, int]:
    """By measure, how many queries count as 1 because no document is relevant."""
    ones = {str(measure): measure.counts_as_one(judged) for measure in measures}
    return {name: 0 if empty is None else int(empty.sum()) for name, empty in ones.items()}


def cutoffs_of(measures: Sequence[Measure]) -> list[int]:
    """The cutoffs of all measures that have one."""
    return sorted({m.k for m in measures if m.k is not None})


def deepest(measures: Sequence[Measure]) -> int | None:
    """The largest cutoff; None if no measure has one."""
    return max(cutoffs_of(measures), default=None)


def share_judged(judged: Judged, measures: Sequence[Measure], depth: int | None = None) -> float | None:
    """How much of what was retrieved, down to the deepest cutoff (and at most ``depth``), is judged; None if that says nothing.

    It says nothing where gold is one or two relevant documents per query: the others were never meant to be judged.
    """
    from ranklens.metrics.formulas.counts import judged_of_retrieved

    if judged.details is not None and judged.details.contexts is not None:
        return None  # passages are judged, not what is retrieved
    cuts = [cut for cut in (deepest(measures), depth) if cut is not None]
    among, retrieved = judged_of_retrieved(judged, min(cuts, default=None))
    if not retrieved.any() or judged.policy.judged_only:
        return None
    # A golden set has no document judged not relevant, and two or fewer for the usual query.
    has_only_relevant = len(judged) > 0 and not (judged.ideal.grade <= 0).any()
    if has_only_relevant and np.median(judged.ideal.sum()) <= FEW_EXPECTED:
        return None
    return float(among.sum() / retrieved.sum())
