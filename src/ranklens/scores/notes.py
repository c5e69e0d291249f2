"""What was averaged over, what was decided on the way, and how far the judgments reach: in words, as every table says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.metrics import Measure, spellings, stated
from ranklens.scores.account import deepest
from ranklens.words import counted, percent, several

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ranklens.judging.judged import Applied, Judged
    from ranklens.scores.account import Account
    from ranklens.stats.intervals import Interval


def details(
    account: Account, measures: Sequence[Measure], *, done: str = "averaged", parameters: bool = True
) -> list[str]:
    """What was averaged over, what was left out or decided, and how far the judgments reach; ``parameters`` may be stated elsewhere."""
    among = ", ".join(text for number, text in _among_the_queries(account, measures) if number)
    policy = account.policy.describe() if account.knows_policy else ""
    if policy and account.tied:
        across = [f"across the cutoff {k} in {n:,}" for k, n in account.across.items() if n]
        policy += f" (judged documents tie in {', '.join([counted(account.tied, 'query'), *across])})"
    k = deepest(measures)
    what = "the retrieved documents" if k is None or k >= account.longest else f"the top {k}"
    parts = [
        f"{counted(account.applied.queries, 'query')} {done}" + (f" ({among})" if among else ""),
        *(text for number, text in _beside_the_queries(account.applied) if number),
        policy,
        "" if account.share is None else f"{percent(account.share)} of {what} judged",
        *_chunks(account),
        *spellings(measures),
        *(_parameters(account, measures) if parameters and account.knows_policy else []),
    ]
    return [part for part in parts if part]


def in_prose(every: Sequence[Account], measures: Sequence[Measure], compared: int | None = None) -> list[str]:
    """What :func:`details` says of each run, as sentences about all of them; where runs differ, numbers become ranges.

    ``compared`` is the number of queries that all runs have in common, over which a comparison averages.
    """
    among = [_among_the_queries(one, measures) for one in every]
    beside = [_beside_the_queries(one.applied) for one in every]
    numbers = [one.applied.queries if compared is None else compared for one in every]
    queries = _ranged([(number, counted(number, "query")) for number in numbers])
    inside = ", ".join(filter(None, map(_ranged, zip(*among, strict=True))))
    said = [f"Means are over {queries}{f' ({inside})' if inside else ''}."]
    said += [f"{text[0].upper()}{text[1:]}." for text in map(_ranged, zip(*beside, strict=True)) if text]
    policies = dict.fromkeys(one.policy for one in every if one.knows_policy)
    if len(policies) == 1:
        has_threshold = any("rel" in one.definition.parameters for one in measures)
        has_empty = any(one.applied.empty for one in every)  # queries without documents of that grade
        said += next(iter(policies)).in_prose(relevance=has_threshold or has_empty)
    shares = [one.share for one in every if one.share is not None]
    if shares:
        low, high = percent(min(shares)), percent(max(shares))
        k = deepest(measures)
        is_all = k is None or all(k >= one.longest for one in every)
        said.append(
            f"Of the {'retrieved' if is_all else f'top {k}'} documents, {high if low == high else f'{low} to {high}'} are judged."
        )
    return said


def _ranged(facts: Sequence[tuple[int, str]]) -> str:
    """What is said of the highest number, with the lowest in front of it if it differs; nothing if all are 0."""
    (low, _), (high, text) = min(facts), max(facts)
    return "" if not high else text if low == high else text.replace(f"{high:,}", f"{low:,} to {high:,}", 1)


def _parameters(account: Account, measures: Sequence[Measure]) -> list[str]:
    """What defaults stand for that change from paper to paper; a gain, where grades are more than 0 and 1."""
    is_binary = account.graded == 0
    by_parts: dict[str, list[str]] = {}
    for measure in measures:
        parts = [
            part for part in stated(measure, account.max_grade) if not (is_binary and part.startswith("gain"))
        ]
        if account.policy.max_grade is None:
            parts = [f"{part} (highest judged)" if part.startswith("max_grade") else part for part in parts]
        if parts:
            by_parts.setdefault(", ".join(parts), []).append(measure.shown)
    return [f"{several(names, len(names))} with {parts}" for parts, names in by_parts.items()]


def highest_grade(every: Iterable[Judged | Account]) -> float | None:
    """The highest grade of all judgments; None if it is unknown, as for scores read from a file."""
    return max((one.max_grade for one in every if one.max_grade is not None), default=None)


def _among_the_queries(account: Account, measures: Sequence[Measure]) -> list[tuple[int, str]]:
    """What happened to queries that were, or would have been, averaged over: how many, and the words for it."""
    applied, zero_missing = account.applied, account.policy.missing == "zero"
    absent, failed = applied.missing, applied.failed
    counts = "counts as 0" if absent == 1 else "count as 0"
    return [
        (failed, f"{failed:,} failed, {'counted as 0' if zero_missing else 'left out'}"),
        (absent, f"{absent:,} missing from the run {counts if zero_missing else 'left out'}"),
        _without_relevant(account, measures),
    ]


def _without_relevant(account: Account, measures: Sequence[Measure]) -> tuple[int, str]:
    """How many queries have no relevant document, and what they count as; by measure, where their relevance levels differ."""
    empty, policy = account.applied.empty, account.policy
    if policy.empty != "one" or account.ones is None:
        done = {"skip": " left out", "one": " counted as 1", "zero": ""}[policy.empty]
        return empty, f"{empty:,} without relevant documents{done}"
    by_count: dict[int, list[str]] = {}
    for measure in measures:
        by_count.setdefault(account.ones[str(measure)], []).append(measure.shown)
    if not any(by_count):
        return empty, f"{empty:,} without relevant documents"
    most, *fewer = sorted(filter(None, by_count), reverse=True)
    if len(by_count) == 1:
        return most, f"{most:,} without relevant documents counted as 1"
    first, *rest = (f"by {several(by_count[count], len(by_count[count]))}" for count in (most, *fewer))
    more = [f"{count:,} {by}" for count, by in zip(fewer, rest, strict=True)]
    return most, several([f"{most:,} without relevant documents counted as 1 {first}", *more])


def _beside_the_queries(applied: Applied) -> list[tuple[int, str]]:
    """What else was counted: how many, and the words for it."""
    again, apart = (
        counted(applied.logged_again, "question"),
        counted(applied.unanswerable, "unanswerable question"),
    )
    return [
        (applied.joined == "text", "joined on the texts of questions"),
        (applied.logged_again, f"{again} logged more than once (the last answer counts)"),
        (applied.silent, f"{counted(applied.silent, 'query')} returned no results"),
        (applied.unanswerable, f"{apart} excluded ({applied.abstained:,} correctly returned nothing)"),
        (applied.ignored, f"{counted(applied.ignored, 'unjudged query')} of the run ignored"),
        (applied.duplicates, f"{counted(applied.duplicates, 'repeated document')} dropped"),
        (len(applied.sources), f"judgments: {applied.sources}"),
        (applied.duplicate_judgments, f"{counted(applied.duplicate_judgments, 'repeated judgment')} dropped"),
    ]


def _chunks(account: Account) -> list[str]:
    """How long the chunks are, and how the recall of passages depends on how much of each must be covered."""
    facts = account.chunks
    if facts is None:
        return []
    parts = [
        f"{facts.per_query:.1f} chunks per query of {facts.usual:,.0f} {facts.unit} at the median (95% up to {facts.large:,.0f}, longest "
        f"{facts.longest:,.0f})"
    ]
    for name, by_threshold in facts.recall.items():
        values = ", ".join(f"{percent(least)}: {value:.4f}" for least, value in by_threshold.items())
        parts.append(
            f"passages are found at {percent(facts.threshold)} coverage ({name} by threshold: {values})"
        )
    return parts


def kinds_of_intervals(intervals: Mapping[str, Interval]) -> list[str]:
    """How intervals were made, if not all are Student's t."""
    from ranklens.stats.intervals import INTERVAL_METHODS

    by: dict[str, list[str]] = {}
    for name, around in intervals.items():
        method = INTERVAL_METHODS.get(around.method)
        by.setdefault((method and method.short) or around.method, []).append(name)
    if not by or [*by] == ["t"]:
        return []
    if len(by) == 1:
        return [f"{next(iter(by))} intervals"]
    return [f"intervals by {', '.join(f'{method} ({several(names)})' for method, names in by.items())}"]
