"""Judgments of chunk ids → judgments of the chunks of another chunking, by what the chunks say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ranklens.data.evidence.spans import cover_spans
from ranklens.data.evidence.texts import candidates, cover_texts
from ranklens.data.matching.evidence import Chunks, chunks_by_id
from ranklens.data.qrels import read_qrels
from ranklens.data.readers import frames, mappings, names
from ranklens.data.readers.chunks import Chunk
from ranklens.data.readers.names import Names
from ranklens.errors import InputError
from ranklens.words import counted, several

if TYPE_CHECKING:
    import polars as pl

Outcome = Literal["unchanged", "moved", "split", "merged", "disappeared", "unknown"]
_MEANINGS: Mapping[Outcome, str] = {
    "unchanged": "same id, same content",
    "moved": "one chunk with the same content under another id",
    "split": "several chunks that contain it together",
    "merged": "part of a larger chunk",
    "disappeared": "no chunks contain enough of it",
    "unknown": "its id is not among the old chunks",
}
_LOST = ("disappeared", "unknown")


@dataclass(frozen=True)
class Moved:
    """What became of a judged chunk: the chunks that replace it, and the share of it that they contain."""

    outcome: Outcome
    new: tuple[str, ...] = ()
    covered: float = 0.0


@dataclass(frozen=True)
class Remapped:
    """A golden set under new chunk ids, and what became of each old one; made by :func:`remap`."""

    golden: list[dict[str, Any]] | dict[str, dict[str, float]]
    moved: Mapping[str, Moved]  # by old id
    rows: Sequence[tuple[str, str]]  # query and old id of each judgment
    lost: Sequence[str]  # questions of which nothing is left; they are not in the golden set

    def to_frame(self) -> pl.DataFrame:
        """``query, old, outcome, new, covered``: a row for each judgment."""
        import polars as pl

        rows = [
            (query, old, self.moved[old].outcome, list(self.moved[old].new), self.moved[old].covered)
            for query, old in self.rows
        ]
        texts, shares = dict.fromkeys(("query", "old", "outcome"), pl.String), {"covered": pl.Float64}
        return pl.DataFrame(rows, schema={**texts, "new": pl.List(pl.String), **shares}, orient="row")

    @cached_property
    def counts(self) -> dict[Outcome, int]:
        """How many judgments had each outcome."""
        found = Counter(self.moved[old].outcome for _, old in self.rows)
        return {outcome: found[outcome] for outcome in _MEANINGS}

    def __str__(self) -> str:
        total = len(self.rows)
        lines = [
            f"{counted(total, 'judgment')} of {counted(len({query for query, _ in self.rows}), 'question')}"
        ]
        lines += [
            f"  {outcome:<12}{count:>6,}  {_MEANINGS[outcome]}"
            for outcome, count in self.counts.items()
            if count
        ]
        gone = list(dict.fromkeys(old for _, old in self.rows if self.moved[old].outcome in _LOST))
        if gone:
            some = [f"{old} ({self.moved[old].covered:.0%} found)" for old in gone[:3]]
            lines.append(
                f"Without replacement: {several(some)}{f' and {len(gone) - 3:,} more' if len(gone) > 3 else ''}."
            )
        if self.lost:
            lines.append(
                f"{counted(len(self.lost), 'question has', 'questions have')} no judgment left and {'is' if len(self.lost) == 1 else 'are'} "
                f"left out: {several(self.lost)}."
            )
        return "\n".join(lines)


def remap(
    golden: object,
    old_chunks: Chunks,
    new_chunks: Chunks,
    *,
    threshold: float = 0.9,
    columns: Mapping[str, str] | None = None,
) -> Remapped:
    """Move a golden set of chunk ids to another chunking of the same documents.

    ``golden`` is anything that :func:`ranklens.evaluate` takes as judgments. ``old_chunks`` and ``new_chunks`` are ``{id: text}``, ``{id:
    (document, start, end)}``, rows with an id and a text or span, or files of such rows. A judged chunk is replaced by the chunk that
    contains at least ``threshold`` of its words, or by the fewest chunks that do so together; it keeps its grade. Of texts, pieces of fewer
    than five words are not searched for, so give spans where chunks are very short.

    >>> old = {"c1": "Lima is the capital of Peru. It has ten million inhabitants.", "c2": "Quito is high up in the Andes."}
    >>> new = {"n1": "Lima is the capital of Peru.", "n2": "It has ten million inhabitants.", "n3": "Quito is high up in the Andes."}
    >>> found = remap([{"id": "q1", "expected_ids": ["c1"]}, {"id": "q2", "expected_ids": ["c2"]}], old, new)
    >>> found.golden[0]["expected_ids"], found.moved["c1"].outcome, found.moved["c2"].outcome
    (['n1', 'n2'], 'split', 'moved')
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold={threshold!r} is not allowed; it is above 0 and at most 1.")
    qrels = read_qrels(golden, Names.of(columns), what="golden")
    if qrels.has_passages:
        raise InputError(
            "The golden set has passages, which need no remapping: they fit every chunking as they are."
        )
    given = qrels.judged if isinstance(qrels.judged, Mapping) else frames.by_query(qrels.judged)
    judged = mappings.judgments(given).by_query
    grades = {
        str(query): {str(doc): float(grade) for doc, grade in docs.items()} for query, docs in judged.items()
    }
    old, new = chunks_by_id(old_chunks, "old_chunks"), chunks_by_id(new_chunks, "new_chunks")
    wanted = dict.fromkeys(doc for docs in grades.values() for doc in docs)
    if wanted and not any(doc in old for doc in wanted):
        raise InputError(
            f"None of the judged ids is among the old chunks (judged: {next(iter(wanted))!r}, chunks: {next(iter(old), None)!r})."
        )
    moved = dict.fromkeys(wanted, Moved("unknown")) | _moved(
        {doc: old[doc] for doc in wanted if doc in old}, new, threshold
    )
    after = {query: _replaced(docs, moved) for query, docs in grades.items()}
    lost = [query for query, docs in grades.items() if docs and not after[query]]
    kept = {query: docs for query, docs in after.items() if query not in lost}
    fields = None if qrels.golden is None else qrels.golden.fields
    records = (
        None
        if fields is None
        else [_record(row, kept.get(query)) for query, row in fields.items() if query not in lost]
    )
    rows = [(query, doc) for query, docs in grades.items() for doc in docs]
    return Remapped(kept if records is None else records, moved, rows, lost)


def _replaced(docs: Mapping[str, float], moved: Mapping[str, Moved]) -> dict[str, float]:
    found: dict[str, float] = {}
    for doc, grade in docs.items():
        for name in moved[doc].new:
            found[name] = max(grade, found.get(name, grade))
    return found


def _record(row: Mapping[str, Any], docs: Mapping[str, float] | None) -> dict[str, Any]:
    """A question's row with other ids where it names what is expected."""
    if docs is None:
        return dict(row)
    place = next(
        (key for key in row if names.plain(key) in names.EXPECTED and row[key] is not None), "expected_ids"
    )
    apart = [key for key in row if names.plain(key) in names.GRADES_APART]
    all_alike = {*docs.values()} <= {1.0}
    return {
        **{key: value for key, value in row.items() if key not in apart},
        place: list(docs) if all_alike else dict(docs),
    }


def _moved(old: Mapping[str, Chunk], new: Mapping[str, Chunk], threshold: float) -> dict[str, Moved]:
    """What became of each chunk: of its likely replacements those that add something, the largest overlap first, until that is enough."""
    ids, place = list(new), {name: number for number, name in enumerate(new)}
    in_spans = all(chunk.span is not None for chunk in (*old.values(), *new.values()))
    likely = _by_document(old, new) if in_spans else _by_words(old, new)
    for name, some in zip(old, likely, strict=True):  # of equal chunks, the one that kept its id
        same = place.get(name)
        some.sort(key=lambda number: number != same)
    if in_spans:
        spans = [chunk.span for chunk in new.values()]
        cover = cover_spans(
            [[chunk.span] for chunk in old.values()], [[spans[i] for i in some] for some in likely]
        )
    else:
        texts = [chunk.text or "" for chunk in new.values()]
        cover = cover_texts(
            [[chunk.text or ""] for chunk in old.values()], [[texts[i] for i in some] for some in likely]
        )
    names = [ids[number] for some in likely for number in some]
    edges = np.searchsorted(cover.passage, np.arange(len(old) + 1)).tolist()
    found: dict[str, Moved] = {}
    for number, name in enumerate(old):
        pieces = sorted(range(edges[number], edges[number + 1]), key=lambda piece: -cover.gained[piece])
        shares = np.cumsum(cover.gained[pieces]) / max(cover.size[number], 1e-9)
        enough = int(np.searchsorted(shares, threshold - 1e-9)) + 1
        if enough > len(pieces):
            found[name] = Moved("disappeared", (), float(shares[-1]) if len(shares) else 0.0)
            continue
        chunks = [int(cover.chunk[piece]) for piece in pieces[:enough]]
        replacing = tuple(sorted((names[chunk] for chunk in chunks), key=place.__getitem__))
        is_larger = cover.gained[pieces[0]] < threshold * cover.tokens[chunks[0]] - 1e-9
        outcome: Outcome = (
            "split"
            if enough > 1
            else "merged"
            if is_larger
            else "unchanged"
            if replacing == (name,)
            else "moved"
        )
        found[name] = Moved(outcome, replacing, float(shares[enough - 1]))
    return found


def _by_words(old: Mapping[str, Chunk], new: Mapping[str, Chunk]) -> list[list[int]]:
    for what, chunks in (("old_chunks", old), ("new_chunks", new)):
        lacking = next((name for name, chunk in chunks.items() if chunk.text is None), None)
        if lacking is not None:
            raise InputError(
                f"{what}: chunk {lacking!r} has no text; give a text to every chunk, or (document, start, end) to all of both."
            )
    return candidates(
        [chunk.text or "" for chunk in old.values()], [chunk.text or "" for chunk in new.values()]
    )


def _by_document(old: Mapping[str, Chunk], new: Mapping[str, Chunk]) -> list[list[int]]:
    """The chunks that overlap each of the old ones, the largest overlap first."""
    spans: dict[str, list[tuple[int, float, float]]] = {}
    for number, chunk in enumerate(new.values()):
        if chunk.span is not None:
            spans.setdefault(chunk.span[0], []).append((number, *chunk.span[1:]))
    found = []
    for document, first, last in (chunk.span for chunk in old.values() if chunk.span is not None):
        overlaps = [(max(first, start) - min(last, end), i) for i, start, end in spans.get(document, ())]
        found.append([i for size, i in sorted(overlaps) if size < 0])
    return found
