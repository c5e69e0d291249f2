"""Ids that should match and do not: what to say of them, and the way of writing them in which they would."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ranklens.errors import MismatchWarning
from ranklens.words import brief, counted, several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ranklens.judging.standing import Sampled
    from ranklens.policy import Policy

_EXAMPLES = 3
_GLANCE, _QUERIES = 6, 100  # queries, and judged documents of each, at a glance and on a closer look
_TELLING = 20  # one match in this many judged documents that no ranking has
_LOOKED_AT = 20_000  # ids of each side
_TRIED = 50  # ids whose prefix is looked for among …
_AMONG = 2_000  # … this many others
_INVISIBLE = dict.fromkeys((0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_LEADING_ZEROS, _POINT_ZERO = re.compile(r"(?<![\d.])0+(?=\d)"), re.compile(r"(?<=\d)\.0+$")
# What may be ignored about an id, and the id without it; in this order all of them can be applied.
_IGNORED: dict[str, Callable[[str], str]] = {
    "invisible characters": lambda name: name.translate(_INVISIBLE),
    "quotation marks": lambda name: name.strip("\"'"),
    "the Unicode form (NFC or NFD)": lambda name: unicodedata.normalize("NFC", name),
    "white space": lambda name: " ".join(name.split()),
    "upper and lower case": str.casefold,
    "'.0' at the end": lambda name: _POINT_ZERO.sub("", name) if name.replace(".", "").isdigit() else name,
    "leading zeros": lambda name: _LEADING_ZEROS.sub("", name),
}


class Alike(NamedTuple):
    """Ids that would match: how many, a pair of them, and what has to be ignored."""

    matching: int
    pair: tuple[str, str]
    ignoring: str

    def __str__(self) -> str:
        escaped = "Unicode" in self.ignoring or "invisible" in self.ignoring  # else both would look the same
        one, other = ((ascii if escaped else repr)(brief(name)) for name in self.pair)
        return f"would match if you ignore {self.ignoring}, such as {one} and {other}"


def alike(ours: Iterable[str], theirs: Iterable[str]) -> Alike | None:
    """What to ignore so that ids of two lists match, none of which does now; None if nothing helps.

    >>> print(alike(["1", "2"], ["01", "02", "x"]))
    would match if you ignore leading zeros, such as '1' and '01'
    >>> print(alike(["Q1", "Q2"], ["q01", "q02"]))
    would match if you ignore upper and lower case and leading zeros, such as 'Q1' and 'q01'
    >>> print(alike(["7", "8"], ["doc:7", "doc:8"]))
    would match if you ignore the prefix 'doc:', such as '7' and 'doc:7'
    >>> print(alike(["faq", "terms"], ["faq.pdf", "terms.pdf"]))
    would match if you ignore the ending '.pdf', such as 'faq' and 'faq.pdf'
    >>> alike(["1", "2"], ["11", "12"])
    """
    here, there = (list(islice(names, _LOOKED_AT)) for names in (ours, theirs))
    best = _pairs(here, there, [*_IGNORED])
    if not best:
        return _with_prefix(here, there) or _with_ending(here, there)
    needed = [*_IGNORED]
    for name in _IGNORED:
        fewer = [one for one in needed if one != name]
        if fewer and len(pairs := _pairs(here, there, fewer)) >= len(best):
            needed, best = fewer, pairs
    return Alike(len(best), next(iter(best.items())), several(needed))


def _pairs(ours: Sequence[str], theirs: Sequence[str], ignored: Sequence[str]) -> dict[str, str]:
    """The id of theirs for each of ours that is the same but for what is ignored."""
    by_rest: dict[str, str] = {}
    for name in theirs:
        by_rest.setdefault(_without(name, ignored), name)
    folded = ((name, by_rest.get(_without(name, ignored))) for name in ours)
    return {name: other for name, other in folded if other is not None}


def _without(name: str, ignored: Sequence[str]) -> str:
    for one in ignored:
        name = _IGNORED[one](name)
    return name


def _with_prefix(ours: Sequence[str], theirs: Sequence[str]) -> Alike | None:
    """One prefix that all ids of one side have more than the other."""
    for short, long, is_ours in ((ours, theirs, True), (theirs, ours, False)):
        prefixes = Counter(
            other[: -len(name)]
            for name in filter(None, short[:_TRIED])
            for other in long[:_AMONG]
            if len(other) > len(name)
            and other.endswith(name)
            # No number and no word goes on from the prefix into the id.
            and not any(
                goes_on(other[-len(name) - 1]) and goes_on(name[0]) for goes_on in (str.isdigit, str.isalpha)
            )
        )
        if not prefixes:
            continue
        prefix, _ = prefixes.most_common(1)[0]
        present = {*long}
        matching = [name for name in short if prefix + name in present]
        if len(matching) > 1 or len(matching) == len(short):
            pair = (matching[0], prefix + matching[0])
            return Alike(len(matching), pair if is_ours else (pair[1], pair[0]), f"the prefix {prefix!r}")
    return None


def _with_ending(ours: Sequence[str], theirs: Sequence[str]) -> Alike | None:
    """One ending that all ids of one side have more than the other; with digits it numbers parts, which are other documents."""
    reversed_ids = _with_prefix(*([name[::-1] for name in names] for names in (ours, theirs)))
    if reversed_ids is None:
        return None
    one, other = (name[::-1] for name in reversed_ids.pair)
    ending = max(one, other, key=len)[len(min(one, other, key=len)) :]
    return (
        None
        if any(map(str.isdigit, ending))
        else Alike(reversed_ids.matching, (one, other), f"the ending {ending!r}")
    )


def queries_mismatch(
    missing: Sequence[str],
    unjudged: Sequence[str],
    judged: int,
    policy: Policy,
    counts: tuple[int, int] | None = None,
) -> MismatchWarning:
    """The warning where a run lacks judged queries and has others; ``counts`` says how many of both, where not all are listed."""
    similar = alike(missing, unjudged)
    lacking, others = counts or (len(missing), len(unjudged))
    one = lacking == 1
    what = f"{'is' if one else 'are'} left out" if policy.missing == "skip" else f"count{'s' * one} as 0"
    lacks = (
        f"{lacking:,} of {counted(judged, 'judged query', 'judged queries')} {'is' if one else 'are'} not in the run "
        f"({_some(missing, lacking)}) and {what}, but the run has {counted(others, 'query that is', 'queries that are')} not judged "
        f"({_some(unjudged, others)}). "
    )
    return MismatchWarning(lacks + _hint(similar, "query"), alike=similar.matching if similar else 0)


def nothing_in_common(judged: Sequence[str], unjudged: Sequence[str]) -> MismatchWarning:
    """The warning for a run without any judged query."""
    similar = alike(judged, unjudged)
    return MismatchWarning(
        f"The run and the judgments have no query in common (judged: {judged[0]!r}, in the run: {unjudged[0]!r}): "
        f"every value is 0. {_hint(similar, 'query')}",
        total=True,
        alike=similar.matching if similar else 0,
    )


def documents_mismatch(sample: Callable[[int], Iterable[Sampled]], none: str = "") -> MismatchWarning | None:
    """The warning where judged documents were not retrieved as they are written, but otherwise.

    ``sample`` gives some queries; ``none`` says that no retrieved document is judged at all, if so.
    """
    # A glance, which takes tens of microseconds and may see more than there is, tells whether a closer look is worth its time.
    judged, retrieved = _apart(sample(_GLANCE), _GLANCE)
    ours, theirs = ("\n".join(["", *ids, ""]) for ids in (judged, retrieved))
    within = _are_within(judged, theirs) or _are_within(retrieved, ours)
    if not within and _folded(ours).isdisjoint(_folded(theirs)):
        return None
    judged, retrieved = _apart(sample(_QUERIES), _QUERIES)
    similar = alike(judged, retrieved)
    if similar is None or similar.matching < max(2, len(judged) / _TELLING):
        return None
    return MismatchWarning(
        f"{none} "
        if none
        else "Documents were judged under one id and retrieved under another. They count as not retrieved. ",
        f"Of {counted(len(judged), 'judged document')} that "
        f"{'was' if len(judged) == 1 else 'were'} looked at because no ranking has them, {similar.matching:,} {similar}. Write the ids the same way in both.",
        alike=similar.matching,
    )


def _apart(sample: Iterable[Sampled], most: int) -> tuple[list[str], list[str]]:
    """The judged documents that no ranking has, and the retrieved ones without a judgment; a few of each query."""
    judged: dict[str, None] = {}
    retrieved: dict[str, None] = {}
    for gold, docs in sample:
        judged.update(dict.fromkeys(map(str, islice(gold, most))))
        retrieved.update(dict.fromkeys(map(str, islice(docs, 4 * most))))
    return [doc for doc in judged if doc not in retrieved], [doc for doc in retrieved if doc not in judged]


def _are_within(few: Sequence[str], others: str) -> bool:
    """Whether other ids are some of these with a prefix, or with an ending as of files and addresses."""
    return any(
        f"{doc}\n" in others or f"\n{doc}." in others or f"\n{doc}/" in others for doc in few[:_GLANCE]
    )


def _folded(text: str) -> set[str]:
    """The lines of a text without what may be ignored of ids, all at once."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_INVISIBLE))
    text = text.replace(" ", "").replace('"', "").replace("'", "").casefold()
    text = text.replace(".0\n", "\n") if ".0" in text else text
    return {*(_LEADING_ZEROS.sub("", text) if "0" in text else text).split("\n")[1:-1]}


def _hint(similar: Alike | None, what: str) -> str:
    if similar is None:
        return f"Do the {what} ids have the same format?"
    return f"{counted(similar.matching, what)} {similar}. Write the ids the same way in both."


def _some(names: Sequence[str], count: int) -> str:
    """The first few of ``count`` names."""
    shown = [repr(brief(name)) for name in names[: _EXAMPLES + (count == _EXAMPLES + 1)]]
    return several(shown) if len(shown) == count else f"{', '.join(shown)} and {count - len(shown):,} more"
