"""What failing questions have in common: fields, lengths, scripts and words that they have more often than the others."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.data.matching.texts import tokens
from ranklens.stats.corrections import adjust
from ranklens.tables.table import Table
from ranklens.words import p_cell, percent

_MOST_VALUES = 20  # of a field that divides questions
_FEWEST = 3  # failing questions that have something in common
_SURE = 0.05
_SHOWN = 10


@dataclass(frozen=True)
class Shared:
    """Something that failing questions have more often than the others.

    ``p`` is of a one-sided hypergeometric test (Fisher's exact), corrected by Holm's method for everything that was looked at.
    """

    what: str  # the name of a field, or length, script, word
    value: str
    failing: int
    queries: int
    p: float


def shared_by(
    queries: Sequence[str],
    failing: Collection[str],
    texts: Mapping[str, str],
    fields: Mapping[str, Mapping[str, Any]],
) -> tuple[Shared, ...]:
    """Everything with at least three failing questions that fails more often than the rest, the surest first.

    >>> texts = {f"q{i}": "reset vat" if i < 8 else "hello you" for i in range(20)}
    >>> [(one.what, one.value, one.failing, one.queries) for one in shared_by([*texts], {f"q{i}" for i in range(8)}, texts, {})]
    [('word', 'reset', 8, 8), ('word', 'vat', 8, 8)]
    """
    number = {query: place for place, query in enumerate(queries)}
    has = np.array([query in failing for query in queries])
    members: dict[tuple[str, str], list[int]] = {}
    for query, what, value in _features(queries, texts, fields):
        members.setdefault((what, value), []).append(number[query])
    kept = [
        (name, int(has[places].sum()), len(places))
        for name, places in members.items()
        if len(places) < len(queries) and has[places].sum() >= _FEWEST
    ]
    if not kept:
        return ()
    from scipy.stats import hypergeom

    hits, sizes = (np.array([one[at] for one in kept]) for at in (1, 2))
    p_values = adjust(hypergeom.sf(hits - 1, len(queries), int(has.sum()), sizes).clip(0, 1))
    rate = has.mean()
    found = [
        Shared(*name, failed, size, float(p))
        for (name, failed, size), p in zip(kept, p_values, strict=True)
        if failed / size > rate
    ]
    return tuple(sorted(found, key=lambda one: (one.p, -one.failing)))


def shared_table(found: Sequence[Shared], failing: int, queries: int) -> Table | None:
    """What is no chance; None if nothing is."""
    sure = [one for one in found if one.p < _SURE]
    if not sure:
        return None
    rows = [
        [
            one.what,
            one.value,
            f"{one.failing:,} of {one.queries:,}",
            percent(one.failing / one.queries),
            p_cell(one.p),
        ]
        for one in sure[:_SHOWN]
    ]
    note = f"{percent(failing / queries)} of all {queries:,} queries fail; p by Fisher's exact test, corrected by Holm."
    header = ["what", "value", "failing", "share", "p"]
    return Table(header, rows, note=note, title="What failing queries have in common", left=2)


def _features(
    queries: Sequence[str], texts: Mapping[str, str], fields: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """By query, each feature with its value."""
    for name in dict.fromkeys(name for query in queries for name in fields.get(query, ())):
        value_of = {query: fields.get(query, {}).get(name) for query in queries}
        values = {str(value) for value in value_of.values() if isinstance(value, (str, int))}
        if 2 <= len(values) <= min(_MOST_VALUES, len(queries) // 2):
            for query, value in value_of.items():
                if isinstance(value, (str, int)):
                    yield query, str(name), str(value)
    words = {query: tokens(texts[query]) for query in queries if query in texts}
    if not words:
        return
    sizes = np.array([len(one) for one in words.values()])
    low, high = (int(end) for end in np.quantile(sizes, [1 / 3, 2 / 3]))
    names = (f"up to {low} words", f"{low + 1} to {high} words", f"more than {high} words")
    for query, own in words.items():
        yield query, "length", names[int(len(own) > low) + int(len(own) > high)]
        script = next(
            (unicodedata.name(letter, "").split(" ")[0] for letter in texts[query] if letter.isalpha()), ""
        )
        if script:
            yield query, "script", script.lower()
        for word in dict.fromkeys(own):
            yield query, "word", word
