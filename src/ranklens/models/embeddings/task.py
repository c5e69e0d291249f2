"""What is judged, as rows of the queries and documents: which places are wanted, and which documents do not take part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

import numpy as np

from ranklens.arrays import BoolArray, IntArray
from ranklens.data.qrels import read_qrels
from ranklens.data.readers import frames, mappings
from ranklens.errors import InputError, warn
from ranklens.judging.gold import Documents, Grades, grades
from ranklens.judging.judged import Applied
from ranklens.judging.order import check_duplicates
from ranklens.judging.standing import Standings, check_unjudged
from ranklens.models.embeddings.judged_ranks import Places
from ranklens.models.embeddings.vectors import as_list
from ranklens.policy import Policy
from ranklens.words import counted

_POWERS = 10 ** np.arange(1, 19)  # of ten


class Ids:
    """The names of rows; without any, their numbers. Names are compared as text."""

    def __init__(self, ids: object, rows: int, what: str) -> None:
        self.rows, self.names = rows, None
        if ids is None:
            return
        self.names = [str(one) for one in as_list(ids, what)]
        if len(self.names) != rows:
            raise InputError(f"{what} has {len(self.names):,} ids for {rows:,} rows; pass one for each.")
        self._row = {name: row for row, name in enumerate(self.names)}
        if len(self._row) < rows:
            twice = next(name for row, name in enumerate(self.names) if self._row[name] != row)
            raise InputError(
                f"{what}: {twice!r} appears twice. To score a document by the best of several vectors, pass them "
                "together: similarity='maxsim' takes one list of vectors per document."
            )

    def find(self, names: Sequence[str]) -> IntArray:
        """The row of each name, -1 where there is none."""
        if self.names is not None:
            return np.fromiter((self._row.get(name, -1) for name in names), np.int64, len(names))
        try:
            rows = np.fromiter(map(int, names), np.int64, len(names))
        except (ValueError, OverflowError):
            numbers = (name.isascii() and name.isdigit() and len(name) < 19 and int(name) for name in names)
            rows = np.array([-1 if number is False else number for number in numbers], np.int64)
        # "007" is not the name of row 7.
        digits = np.searchsorted(_POWERS, rows, "right") + 1
        is_name = digits == np.fromiter(map(len, names), np.int64, len(names))
        if not "".join(names).isascii():  # other scripts have digits, too
            is_name &= np.fromiter(map(str.isascii, names), bool, len(names))
        return np.where(is_name & (rows >= 0) & (rows < self.rows), rows, -1)

    def names_of(self, rows: Iterable[int]) -> Iterable[str]:
        """The names of rows."""
        return map(str if self.names is None else self.names.__getitem__, rows)

    def name(self, row: int) -> str:
        return str(row) if self.names is None else self.names[row]


@dataclass(frozen=True)
class Task:
    """Judgments over rows. Queries are numbered as they are judged; ``present`` are those that have a vector."""

    queries: list[str]
    present: BoolArray
    query_rows: IntArray  # of the present ones, in order
    judged: IntArray  # how many documents of each query are
    golds: list[Documents]  # grades by document, of each query
    # Judged documents that have a vector: the query's place among the present, the document's row, and its grade's place.
    pair_query: IntArray
    pair_doc: IntArray
    pair_gold: IntArray
    excluded_query: IntArray
    excluded_doc: IntArray
    documents: int
    applied: Applied
    examples: tuple[
        str, str, str
    ]  # for messages: a query and a document with a vector, between them a judged document
    unjudged: Callable[[], Iterable[str]]  # queries with a vector but without judgments
    explained: bool  # a warning has said why no judged document is retrieved

    @cached_property
    def gold(self) -> Grades:
        """All grades, query after query."""
        return grades(self.queries, self.golds)

    def standings(self, places: Places) -> Standings:
        """The places in the form that every ranking comes to."""
        retrieved = np.zeros(len(self.queries), np.int64)
        left_out = np.bincount(self.excluded_query, minlength=len(self.query_rows))
        retrieved[self.present] = self.documents - left_out
        number = np.flatnonzero(self.present)
        return Standings(
            queries=self.queries,
            retrieved=retrieved,
            in_run=self.present,
            judged=self.judged,
            gold=self.gold,
            query=number[self.pair_query],
            rank=places.rank,
            grade=self.gold[self.pair_gold],
            start=places.above + 1,
            size=places.same,
            applied=self.applied,
            examples=self.examples,
            unjudged=self.unjudged,
            explained=self.explained,
        )


def make_task(qrels: object, queries: Ids, documents: Ids, exclude: object, policy: Policy) -> Task:
    """Judgments of any shape, by the names of rows."""
    by_query, dropped = judgments_by_text(qrels, policy)
    names, golds = list(by_query), list(by_query.values())
    rows = queries.find(names)
    present = rows >= 0
    place = np.cumsum(present) - 1
    lengths = np.array([len(docs) for docs in golds], dtype=np.int64)
    gold_query = np.repeat(np.arange(len(names)), lengths)
    doc = documents.find(list(chain.from_iterable(golds)))
    left_query, left_doc = _excluded(exclude, names, place, present, documents)
    _warn_of_absent(names, golds, gold_query, (doc < 0) & present[gold_query], documents)
    pairs = np.flatnonzero((doc >= 0) & present[gold_query])
    width = documents.rows + 1
    gone = np.isin(place[gold_query[pairs]] * width + doc[pairs], left_query * width + left_doc)
    none_is_left = _warn_of_lost(names, exclude, gold_query[pairs], gone)
    pairs = pairs[~gone]
    ignored = queries.rows - int(present.sum())

    def unjudged() -> Iterator[str]:
        return (name for name in map(queries.name, range(queries.rows)) if name not in by_query)

    check_unjudged(ignored, policy, lambda: next(unjudged()))
    return Task(
        names,
        present,
        rows[present],
        lengths,
        golds,
        place[gold_query[pairs]],
        doc[pairs],
        pairs,
        left_query,
        left_doc,
        documents.rows,
        Applied(ignored=ignored, duplicate_judgments=dropped),
        (
            queries.name(0) if queries.rows else "",
            next(chain.from_iterable(golds), ""),
            documents.name(0) if documents.rows else "",
        ),
        unjudged,
        none_is_left,
    )


def _warn_of_lost(names: Sequence[str], exclude: object, owner: IntArray, gone: BoolArray) -> bool:
    """Queries whose judged documents are all left out by ``exclude``; whether these are all queries."""
    left = np.bincount(owner[~gone], minlength=len(names))
    lost = np.flatnonzero((np.bincount(owner[gone], minlength=len(names)) > 0) & (left == 0))
    if len(lost):
        are = "query has" if len(lost) == 1 else "queries have"
        by_id = isinstance(exclude, str)
        how = f"exclude={exclude!r}" if by_id else "exclude"
        doubt = " Is a document with the id of a query always the query itself?" if by_id else ""
        warn(
            f"{len(lost):,} {are} no judged document left, because {how} leaves all of them out (first: "
            f"{names[lost[0]]!r}). They count as not retrieved.{doubt}"
        )
    return bool(len(lost)) and not left.any()


def _warn_of_absent(
    names: Sequence[str],
    golds: Sequence[Documents],
    owner: IntArray,
    absent: BoolArray,
    documents: Ids,
) -> None:
    """Judged documents that are not there; if all of them are, there is another warning."""
    count = int(np.count_nonzero(absent))
    if not count or count == len(absent):
        return
    row = int(np.argmax(absent))
    doc = next(islice(chain.from_iterable(golds), row, None))
    warn(
        f"{counted(count, 'judged document is', 'judged documents are')} not among the {documents.rows:,} documents "
        f"(first: {doc!r} for query {names[owner[row]]!r}), which is the same as not retrieved. Is the corpus complete, and do the ids have the same format?"
    )


def judgments_by_text(qrels: object, policy: Policy, name: str = "qrels") -> tuple[mappings.ByQuery, int]:
    """Judgments of any shape as ``{query: {document: grade}}`` with text for ids, and how many repeated ones were dropped."""
    judged = qrels if isinstance(qrels, Mapping) else read_qrels(qrels, what=name).judged
    dicts = mappings.judgments(judged if isinstance(judged, Mapping) else frames.by_query(judged))
    check_duplicates("qrels", dicts.duplicates, dicts.first_duplicate, policy)
    by_query = dicts.by_query
    kinds = {*map(type, by_query), *map(type, chain.from_iterable(by_query.values()))}
    return by_query if kinds <= {str} else mappings.as_text(by_query), dicts.duplicates


def _excluded(
    exclude: object, names: Sequence[str], place: IntArray, present: BoolArray, documents: Ids
) -> tuple[IntArray, IntArray]:
    """Pairs that take no part, each once: the query's place among the present, and the document's row."""
    if exclude is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    where = {name: int(place[i]) for i, name in enumerate(names) if present[i]}
    named: list[tuple[object, object]] | None = None
    if isinstance(exclude, str):
        named = [(query, query) for query in where] if exclude == "self" else None
    elif isinstance(exclude, Mapping):
        each = ((query, [docs] if isinstance(docs, str) else docs) for query, docs in exclude.items())
        named = [(query, doc) for query, docs in each for doc in docs]
    elif isinstance(exclude, Iterable):
        with suppress(TypeError, ValueError):
            named = [(query, doc) for query, doc in exclude]
    if named is None:
        raise InputError(
            f"exclude={exclude!r:.60} is not allowed; use 'self', {{query: [documents]}} or a list of (query, document) pairs."
        )
    pairs = [(str(query), str(doc)) for query, doc in named if str(query) in where]
    query = np.array([where[name] for name, _ in pairs], dtype=np.int64)
    doc = documents.find([name for _, name in pairs])
    both = np.unique(np.stack([query, doc])[:, doc >= 0], axis=1)
    if named and not both.size:
        warn(
            f"exclude={exclude!r:.60} leaves nothing out: no such query and document are there. Do the ids have the same format?"
        )
    return both[0], both[1]
