"""Why questions fail: every cause once, with its words, what to look at, and its check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ranklens.report.explanation.library import COPY, Library, share_held
from ranklens.words import several

if TYPE_CHECKING:
    from ranklens.report.explanation.failing import Document, Reason

Needs = Literal["", "a corpus", "texts", "the first stage", "judgments of other documents"]


@dataclass(frozen=True)
class Case:
    """What is known of a failing question; ranks are those that the measure sees."""

    reason: Reason
    lacking: Sequence[str]  # expected documents that do not count
    ranks: Mapping[str, int]  # of expected documents that were retrieved
    top: Sequence[Document]  # down to the cutoff
    k: int | None
    library: Library
    texts: Mapping[str, str] = field(
        default_factory=dict
    )  # of documents, and of expected ones if these are no texts
    before: Mapping[str, int] | None = None  # ranks before reranking; None where no first stage was given
    judges_others: bool = False  # whether documents were judged not relevant

    @property
    def strangers(self) -> Sequence[Document]:
        """The documents at the top that are not expected."""
        return [one for one in self.top if one.doc not in self.lacking and one.doc not in self.ranks]


Check = Callable[[Case], "str | None"]


@dataclass(frozen=True)
class Cause:
    """Why a question fails. ``check`` gives the details, empty if the ranks say it all; None where it is not the cause."""

    name: str
    look_at: str
    check: Check
    needs: Needs = ""


def _because(*reasons: Reason) -> Check:
    return lambda case: "" if case.reason in reasons else None


def _not_in_the_corpus(case: Case) -> str | None:
    """All expected documents that do not count are absent: a question with another one could still be answered."""
    if not case.library.is_given or not case.lacking:
        return None
    absent = [doc for doc in case.lacking if doc not in case.library.present]
    return f"not in the corpus: {several(absent, 2)}" if len(absent) == len(case.lacking) else None


def _near_duplicate(case: Case) -> str | None:
    for one in case.strangers:
        text = case.texts.get(one.doc, "")
        for expected in case.lacking if text else ():
            if share_held(text, case.texts.get(expected, "")) >= COPY:
                return f"{one.doc} at rank {one.rank} says the same"
    return None


def _lost_by_the_reranker(case: Case) -> str | None:
    """It was higher before, and high enough to count."""
    lost = [
        (rank, doc)
        for doc in case.lacking
        if (rank := (case.before or {}).get(doc)) is not None and (case.k is None or rank <= case.k)
    ]
    if not lost:
        return None
    rank, doc = min(lost)
    now = f"rank {case.ranks[doc]}" if doc in case.ranks else "not there"
    return f"rank {rank} before reranking, {now} after"


def _below_the_cutoff(case: Case) -> str | None:
    if any(doc in case.ranks for doc in case.lacking):
        return ""
    before, k = case.before or {}, case.k or 0
    ranks = [rank for doc in case.lacking if (rank := before.get(doc, 0)) > k > 0]
    return f"rank {min(ranks)} before reranking" if ranks else None


def _wrong_chunk(case: Case) -> str | None:
    """A chunk of the document that the expected one is from."""
    right = case.library.parents_of(case.lacking)
    for one in case.strangers if right else ():
        if right & case.library.parents_of([one.doc]):
            return f"{one.doc} at rank {one.rank} is from the same document"
    return None


def _unjudged(case: Case) -> str | None:
    """Says nothing where only expected documents were ever meant to be judged."""
    unjudged = {one.rank for one in case.top if one.grade is None or one.grade < 0}
    if not unjudged or not case.judges_others:
        return None
    return f"{len(unjudged):,} of the top {max(one.rank for one in case.top):,} unjudged"


def _not_at_the_top(case: Case) -> str | None:
    return "" if case.ranks and not case.lacking else None


def _not_retrieved(case: Case) -> str | None:
    """What is left, where no other cause applies."""
    del case
    return ""


# The first that applies is the cause of a question, the others are named next to it.
CAUSES: Sequence[Cause] = (
    Cause("retriever failed", "the errors of the retriever", _because("failed")),
    Cause("missing from the run", "the log, which has no answer", _because("missing")),
    Cause("empty answer", "filters and thresholds of the retriever", _because("empty")),
    Cause("nothing judged relevant", "the judgments", _because("nothing relevant")),
    Cause("not in the corpus", "what was indexed, and its ids", _not_in_the_corpus, "a corpus"),
    Cause("near-duplicate of the expected", "the judgments: is the copy right?", _near_duplicate, "texts"),
    Cause("lost by the reranker", "the reranker", _lost_by_the_reranker, "the first stage"),
    Cause("below the cutoff", "the ranking, or a larger cutoff", _below_the_cutoff),
    Cause("not at the top", "the ranking", _not_at_the_top),
    Cause("right parent, wrong chunk", "the chunking", _wrong_chunk),
    Cause("unjudged at the top", "the unjudged documents", _unjudged, "judgments of other documents"),
    Cause("not retrieved", "the retriever: wording, filters", _not_retrieved),
)


def causes_of(case: Case) -> list[tuple[str, str]]:
    """The causes that apply, the decisive one first, each with its details.

    >>> case = Case("too low", ["a"], {"a": 7}, [], 5, Library())
    >>> causes_of(case)
    [('below the cutoff', '')]
    """
    found = [(one.name, words) for one in CAUSES if (words := one.check(case)) is not None]
    return [one for one in found if one[0] != CAUSES[-1].name] or found


def unchecked(has_corpus: bool, has_texts: bool, has_first_stage: bool) -> str:
    """Which causes could not be looked for, and what that takes; empty if all were."""
    has: Mapping[Needs, bool] = {
        "": True,
        "a corpus": has_corpus,
        "texts": has_corpus or has_texts,
        "the first stage": has_first_stage,
        "judgments of other documents": True,  # without them, an unjudged document says nothing
    }
    needs = [one for one in CAUSES if not has[one.needs]]
    if not needs:
        return ""
    return f"Not checked: {', '.join(f'{one.name} (needs {one.needs})' for one in needs)}."
