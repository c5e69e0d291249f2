"""Passages are judged, chunks are retrieved: what each chunk adds to the evidence in those above it, whatever the chunking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from ranklens.data.evidence.tokens import WORDS, Tokenizer, lengths, named
from ranklens.data.matching.rules import Matching
from ranklens.data.readers.chunks import Chunk, Passage, as_span, checked, read_chunk, written
from ranklens.data.readers.retrieved import IdFrom
from ranklens.errors import InputError, nearest, warn
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.data.evidence.contexts import Contexts, Cover
    from ranklens.data.qrels import Qrels
    from ranklens.data.run import Run

How = Literal["words", "exact"]
Chunks: TypeAlias = "Mapping[Any, Any] | Sequence[Any] | str | None"
_BETWEEN = "\x1f"  # the unit separator comes between an item's id, its text and its span


@dataclass(frozen=True)
class ChunkId:
    """An item's id, text and span as one id, so that an answer that is kept can be matched later."""

    def __call__(self, item: Any) -> str:
        chunk = read_chunk(item)
        return _BETWEEN.join([chunk.id or "", chunk.text or "", written(chunk.span) if chunk.span else ""])

    def described(self) -> str:
        """A name that stays the same from one process to the next."""
        return "chunk"


@dataclass(frozen=True)
class ByEvidence(Matching):
    """Passages are judged, as texts or as spans, and found where the retrieved chunks cover enough of them together.

    A chunk adds what no chunk above it has: the share of a passage that is covered grows from rank to rank, across the borders of chunks and
    where they overlap. At ``threshold`` the passage is found, at the rank of the chunk that completes it; RR, R, nDCG and Success take that
    rank. A chunk that completes several passages finds all of them.

    Where passages and chunks have spans of the same documents, these are compared. Otherwise their texts are: ``how="words"`` ignores case,
    punctuation and variants of letters, and tolerates a changed word; ``how="exact"`` wants the passage as it is written, but for
    spaces. ``tokenizer`` says in what lengths of texts are counted: ``"words"``, ``"characters"``, an encoding of tiktoken such as
    ``"cl100k_base"``, or a function that returns the tokens of a text. ``chunks`` has the chunks by id (``{id: text}``, ``{id: (document,
    start, end)}``, rows with an id, or a file) where only ids were retrieved.

    A golden set with ``passages`` is matched in this way unless ``match`` says otherwise.

    >>> import ranklens as rl
    >>> golden = [{"question": "What is Lima?", "passages": ["Lima is the capital of Peru"]}]
    >>> log = [{"question": "What is Lima?", "retrieved": [{"text": "Oh, Lima is the"}, {"text": "capital of Peru."}]}]
    >>> rl.evaluate(golden, log, ["PassageRecall@1", "TokenRecall@1", "PassageRecall@2", "RR"]).mean
    {'PassageRecall@1': 0.0, 'TokenRecall@1': 0.5, 'PassageRecall@2': 1.0, 'RR': 0.5}
    """

    expects_texts: ClassVar[bool] = True
    reads_chunks: ClassVar[bool] = True

    threshold: float = 0.9
    how: How = "words"
    tokenizer: Tokenizer = WORDS
    chunks: Chunks = None

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise InputError(
                f"ByEvidence: threshold={self.threshold!r} is not allowed; it is above 0 and at most 1."
            )
        if self.how not in ("words", "exact"):
            raise InputError(
                f"ByEvidence: how={self.how!r} is not allowed: {nearest(str(self.how), ('words', 'exact'))}"
            )
        if not isinstance(self.tokenizer, str) and not callable(self.tokenizer):
            raise InputError(
                f"ByEvidence: tokenizer={self.tokenizer!r} is not allowed; pass the name of one, or a function."
            )

    @property
    def id_from(self) -> IdFrom:
        return None if self.chunks is not None else ChunkId()

    def matches(self, query: str, ids: Sequence[str], gold: Mapping[str, float]) -> list[Sequence[str]]:
        """Also of a single query, such as a retriever's answer that was stored."""
        found = _Evidence.of({query: gold}, {}, {query: [self._chunk(doc, query) for doc in ids]})
        return found.listed(found.contexts(self))[query]

    def matched(
        self,
        qrels: Qrels,
        run: Run,
        grades: Mapping[str, Mapping[str, float]],
        ranked: Mapping[str, Sequence[str]],
    ) -> Run:
        """The run under the names of the passages that its chunks complete, with all that is known of the chunks."""
        entries = run.entries or {}
        chunks = {
            query: [self._completed(chunk, query) for chunk in entries[query].chunks]
            if query in entries and entries[query].chunks
            else [self._chunk(doc, query) for doc in ids]
            for query, ids in ranked.items()
            if query in grades
        }
        found = _Evidence.of(grades, {} if qrels.golden is None else qrels.golden.passages, chunks)
        steps = {query: entry.steps for query, entry in entries.items() if entry.steps}
        contexts = found.contexts(self, steps, {query: entry.calls for query, entry in entries.items()})
        matches = found.listed(contexts)
        further = {
            query: others
            for query, names in matches.items()
            if (others := {rank: list(one[1:]) for rank, one in enumerate(names, 1) if len(one) > 1})
        }
        rankings = {query: [names[0] for names in matches[query]] for query in matches if query in ranked}
        unjudged = {query: list(ids) for query, ids in ranked.items() if query not in grades}
        return replace(run, rankings=rankings | unjudged, further=further, contexts=contexts)

    @cached_property
    def _by_id(self) -> Mapping[str, Chunk]:
        """The given chunks."""
        return {} if self.chunks is None else chunks_by_id(self.chunks, "chunks")

    def _chunk(self, doc: str, query: str) -> Chunk:
        """What is retrieved under an id."""
        if self.chunks is not None:
            return self._completed(Chunk(doc, None, None), query)
        name, *others = doc.split(_BETWEEN)
        if len(others) != 2:
            raise InputError(
                f"Query {query!r} retrieved {doc!r:.60}, of which only the id is there. Give texts or spans: a log whose retrieved items have a "
                "text, or ByEvidence(chunks={id: text})."
            )
        return Chunk(name or None, others[0] or None, as_span(others[1]))

    def _completed(self, chunk: Chunk, query: str) -> Chunk:
        """A chunk with its text and span from those that were given, where it has none of its own; a text alone may be an id."""
        if self.chunks is None or chunk.span is not None or (chunk.id is not None and chunk.text is not None):
            return chunk
        name = chunk.id if chunk.id is not None else str(chunk.text)
        if name not in self._by_id and chunk.text is None:
            raise InputError(f"ByEvidence: chunks has no {name!r}, which query {query!r} retrieved.")
        return self._by_id.get(name, chunk)


def counted_in(tokenizer: Tokenizer | None, match: Matching | None) -> Matching | None:
    """A matching whose lengths are counted with this tokenizer, if there is one."""
    if tokenizer is None:
        return match
    if match is None:
        return ByEvidence(tokenizer=tokenizer)
    if not isinstance(match, ByEvidence):
        raise InputError(
            f"tokenizer says how the lengths of passages and chunks are counted; with match={type(match).__name__} documents are judged, "
            "which have none."
        )
    return replace(match, tokenizer=tokenizer)


def chunks_by_id(chunks: Chunks, what: str) -> dict[str, Chunk]:
    """Chunks as they are given, ``{id: text}``, ``{id: (document, start, end)}``, rows with an id, or a file of these."""
    if isinstance(chunks, Mapping):
        return {str(name): _chunk_of(str(name), value) for name, value in chunks.items()}
    from ranklens.data.files.rows import each_row

    found: dict[str, Chunk] = {}
    for number, row in enumerate(each_row(chunks, what), 1):
        chunk = read_chunk(row)
        if chunk.id is None:
            raise InputError(f"{what}: row {number} has no id; its keys are {list(row)}.")
        found[chunk.id] = chunk
    return found


def _chunk_of(name: str, value: Any) -> Chunk:
    if isinstance(value, (tuple, list)) and len(value) == 3:
        return Chunk(name, None, checked(value, f"Chunk {name!r}"))
    return read_chunk(value)._replace(id=name)


@dataclass(frozen=True)
class _Evidence:
    """The passages of each query, the best first, and the chunks that were retrieved for it."""

    queries: list[str]
    names: list[list[str]]
    grades: list[float]
    passages: list[list[Passage]]
    chunks: list[list[Chunk]]

    @classmethod
    def of(
        cls,
        grades: Mapping[str, Mapping[str, float]],
        passages: Mapping[str, Mapping[str, Passage]],
        chunks: Mapping[str, list[Chunk]],
    ) -> _Evidence:
        names = [sorted(docs, key=docs.__getitem__, reverse=True) for docs in grades.values()]
        said = [passages.get(query) for query in grades]
        return cls(
            list(map(str, grades)),
            names,
            [float(docs[name]) for docs, some in zip(grades.values(), names, strict=True) for name in some],
            [
                [Passage(name, as_span(name)) for name in some]
                if own is None
                else [own[name] for name in some]
                for own, some in zip(said, names, strict=True)
            ],
            [chunks.get(query, []) for query in grades],
        )

    def contexts(
        self,
        match: ByEvidence,
        steps: Mapping[str, Sequence[int]] | None = None,
        calls: Mapping[str, int] | None = None,
    ) -> Contexts:
        """All chunks with what each adds."""
        import numpy as np

        from ranklens.data.evidence.contexts import Contexts

        cover, unit = self._cover(match)
        n = len(self.queries)
        counts, sizes = (
            np.array([len(some) for some in part], np.int64) for part in (self.chunks, self.passages)
        )
        query = np.repeat(np.arange(n), counts)
        by_step = np.ones(len(query), np.int64)
        if steps:
            by_step[:] = [
                step
                for name, some in zip(self.queries, self.chunks, strict=True)
                for step in (steps.get(name) or [1] * len(some))
            ]
        return Contexts(
            queries=self.queries,
            query=query,
            rank=np.arange(1, len(query) + 1) - (np.cumsum(counts) - counts)[query],
            step=by_step,
            calls=np.array(
                [
                    (calls or {}).get(name, int(count > 0))
                    for name, count in zip(self.queries, counts.tolist(), strict=True)
                ],
                np.int64,
            ),
            owner=np.repeat(np.arange(n), sizes),
            grade=np.array(self.grades, np.float64),
            names=[*chain.from_iterable(self.names)],
            cover=cover,
            threshold=match.threshold,
            unit=unit,
        )

    def _cover(self, match: ByEvidence) -> tuple[Cover, str]:
        items = [*chain.from_iterable(self.chunks)]
        wanted = [*chain.from_iterable(self.passages)]
        in_spans = all(one.span is not None for one in items) and all(one.span is not None for one in wanted)
        if in_spans and (items or any(one.text is None for one in wanted)):
            return self._cover_spans(), "positions"
        self._check_texts(items)
        from ranklens.data.evidence.texts import cover_texts

        passages, chunks = (
            [[one.text or "" for one in some] for some in part] for part in (self.passages, self.chunks)
        )
        found = cover_texts(passages, chunks, match.how)
        if match.tokenizer != WORDS:
            import numpy as np

            counts = (
                np.array(lengths([*chain.from_iterable(part)], match.tokenizer))
                for part in (passages, chunks)
            )
            found = found.counted(*counts)
        return found, named(match.tokenizer)

    def _cover_spans(self) -> Cover:
        from ranklens.data.evidence.spans import cover_spans

        passages, chunks = (
            [[one.span for one in some] for some in part] for part in (self.passages, self.chunks)
        )
        wanted, there = (
            dict.fromkeys(span[0] for some in part for span in some if span) for part in (passages, chunks)
        )
        if wanted and there and wanted.keys().isdisjoint(there):
            warn(
                f"No retrieved span is of a document that passages name (passages: {next(iter(wanted))!r}, retrieved: {next(iter(there))!r}): "
                "every value is 0. Are documents called the same in both?"
            )
        return cover_spans(passages, chunks)

    def _check_texts(self, items: Sequence[Chunk]) -> None:
        for query, names, some in zip(self.queries, self.names, self.passages, strict=True):
            for name, passage in zip(names, some, strict=True):
                if passage.text is None:
                    raise InputError(
                        f"Query {query!r}: the passage {name!r:.60} is a span without a text, and not all retrieved items have a span (document, "
                        "start, end). Add document, start and end to them, or ByEvidence(chunks={id: (document, start, end)})."
                    )
                if not any(map(str.isalnum, passage.text)):
                    raise InputError(f"Query {query!r}: the passage {name!r:.60} contains no word.")
        lacking = sum(one.text is None for one in items)
        if items and lacking == len(items):
            raise InputError(
                "No retrieved item has a text, so nothing says which passages it contains. Log the texts of chunks, or pass "
                "ByEvidence(chunks={id: text})."
            )
        if lacking:
            warn(
                f"{counted(lacking, 'retrieved item has', 'retrieved items have')} no text; they keep their rank and contain nothing."
            )

    def listed(self, contexts: Contexts) -> dict[str, list[Sequence[str]]]:
        """For each chunk the passages that it completes, the best first; else a name of its own."""
        at: dict[tuple[int, int], list[str]] = {}
        names = chain.from_iterable(self.names)
        for query, rank, name in zip(contexts.owner.tolist(), contexts.found().tolist(), names, strict=True):
            if rank:
                at.setdefault((query, rank), []).append(name)
        out: dict[str, list[Sequence[str]]] = {}
        for number, (query, chunks) in enumerate(zip(self.queries, self.chunks, strict=True)):
            taken = {*self.names[number]}
            rows: list[Sequence[str]] = []
            for rank, chunk in enumerate(chunks, 1):
                completed = at.get((number, rank))
                own = chunk.id or f"chunk {rank}"
                if completed is None and own in taken:
                    own = f"{own} at rank {rank}"
                taken.add(own)
                rows.append(completed or (own,))
            out[query] = rows
        return out
