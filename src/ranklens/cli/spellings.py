"""Options as people spell them elsewhere, or as they were spelled once, and what to use in their place."""

from __future__ import annotations

from collections.abc import Iterable

# Spellings that people try, by command or for all, and what to use in their place.
_INSTEAD = {
    ("", "--metrics"): "Did you mean --measures (-m)?",
    ("", "--metric"): "Did you mean --measures (-m)?",
    ("evaluate", "--queries"): "--queries takes a file with the texts of the queries; for one row per query use --per-query (-q).",
    ("compare", "--queries"): "--queries takes a file with the texts of the queries; for the queries that differ most use --most N.",
    ("", "-c"): "All judged queries count already, as with trec_eval -c; --missing skip averages over those of the run.",
    ("compare", "-q"): "For the queries that differ most use --most N.",
}  # fmt: skip


def instead(command: str, spellings: Iterable[str]) -> str:
    """What to use in place of spellings that a command does not take, or no longer takes so.

    >>> instead("compare", ["-q"])
    'For the queries that differ most use --most N.'
    """
    hints = [_INSTEAD.get((at, spelling)) for spelling in spellings for at in (command, "")]
    return next((sentence for sentence in hints if sentence), "")
