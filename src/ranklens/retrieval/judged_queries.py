"""The queries of a benchmark: those that have both a text to ask and judgments to score by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranklens import words
from ranklens.data.files.queries import Queries, golden, read_queries
from ranklens.data.readers import mappings, records
from ranklens.data.readers.rankings import Golden
from ranklens.errors import InputError, MismatchWarning, warn
from ranklens.judging.mismatch import alike
from ranklens.words import counted


@dataclass
class JudgedQueries:
    """Texts, judgments and further fields, by query.

    ``unjudged`` and ``without_text`` count the queries that lack one or the other, ``unanswerable`` those for which a golden set
    expects nothing. ``corpus`` is the path of the documents'
    texts, if they came along. If nothing is judged at all, every query is asked, and ``why_unjudged`` says what was looked for.
    """

    texts: dict[str, str] = field(default_factory=dict)
    qrels: dict[str, dict[str, float]] = field(default_factory=dict)
    fields: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unjudged: int = 0
    unanswerable: int = 0
    without_text: int = 0
    corpus: Path | None = None
    why_unjudged: str = ""
    mismatch: str = ""  # what is said of queries and judgments whose ids differ only in how they are written

    @property
    def has_passages(self) -> bool:
        """Whether passages are judged, which chunks contain, and not documents."""
        return isinstance(self.qrels, Golden) and bool(self.qrels.passages)

    @property
    def is_judged(self) -> bool:
        """Whether there is anything to score by."""
        return bool(self.qrels)

    def add(self, query: str, text: object, relevant: object, fields: Mapping[str, Any]) -> None:
        """Add one query."""
        if query in self.texts:
            raise InputError(f"Query {query!r} already exists; give each query its own id.")
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"Query {query!r} has no text: {text!r}.")
        if self.texts and self.is_judged != (relevant is not None):
            other = "others are judged" if self.is_judged else "the others are not judged"
            raise InputError(f"Query {query!r}: give what is relevant for every query, or for none; {other}.")
        if relevant is not None:
            self.qrels[query] = _as_grades({query: relevant})[query]
        self.texts[query] = text
        self.fields[query] = fields


def read_judged_queries(
    queries: object, qrels: object, columns: Mapping[str, str] | None = None
) -> JudgedQueries:
    """Queries and judgments of any shape; each may bring the other along.

    >>> read_judged_queries({"q1": "why?", "q2": "how?"}, {"q1": {"d1"}}).qrels
    {'q1': {'d1': 1.0}}
    """
    loaded, qrels = _both(queries, qrels)
    if loaded is not None and qrels is None:
        return JudgedQueries(dict(loaded.texts), fields=dict(loaded.fields), why_unjudged=loaded.unjudged)
    grades = _judgments(qrels, columns)
    unanswerable = qrels.unanswerable if isinstance(qrels, Golden) else frozenset()
    if unanswerable and not grades:
        raise InputError(
            f"The golden set expects nothing for {counted(len(unanswerable), 'question')}, so all are unanswerable and nothing can "
            "be scored. Say what is relevant, or answerable: true."
        )
    joined = _joined(loaded if loaded is not None else Queries({query: query for query in grades}), grades)
    if isinstance(qrels, Golden) and qrels.passages:
        joined.qrels = Golden(joined.qrels, {}, passages=qrels.passages)
    joined.unanswerable = sum(query in unanswerable for query in loaded.texts) if loaded is not None else 0
    joined.unjudged -= joined.unanswerable
    folder = _folder(queries)
    if folder is not None:
        joined.corpus = min(folder.glob("corpus.*"), default=None)
    return joined


def _folder(queries: object) -> Path | None:
    return Path(queries) if isinstance(queries, (str, Path)) and Path(queries).is_dir() else None


def _both(queries: object, qrels: object) -> tuple[Queries | None, object]:
    """The queries, None where the judgments' ids are their texts; and the judgments."""
    loaded = read_queries(queries) if queries is not None else None
    if qrels is None and loaded is not None:
        qrels = loaded.qrels if loaded.qrels is not None else _folder(queries)
    elif isinstance(qrels, (str, Path)) and (both := golden(qrels)) is not None:
        loaded, qrels = loaded if loaded is not None else both, both.qrels
    if (
        loaded is not None
        and qrels is None
        and any(map(records.says_what_is_relevant, loaded.fields.values()))
    ):
        where = f"{queries}: " if isinstance(queries, (str, Path)) else ""
        raise InputError(
            f"{where}Some queries have no judgments: {loaded.unjudged} "
            'Pass qrels, or queries that say what is relevant: [{"id": …, "query": …, "relevant_docs": [...]}].'
        )
    return loaded, qrels


def _joined(queries: Queries, grades: Mapping[str, dict[str, float]]) -> JudgedQueries:
    asked = [query for query in queries.texts if query in grades]
    if not asked:
        one, other = next(iter(queries.texts), "none"), next(iter(grades), "none")
        raise InputError(
            f"The queries and the judgments have no id in common (queries: {one!r}, judgments: {other!r}). "
            "Do they belong together?"
        )
    silent = [query for query in grades if query not in queries.texts]
    warning = ""
    if silent:
        warning = (
            f"{counted(len(silent), 'judged query has', 'judged queries have')} no text (first: {silent[0]!r}); "
            "they cannot be asked and are left out."
        )
    similar = alike(silent, [query for query in queries.texts if query not in grades]) if silent else None
    if similar is not None:
        warning += f" {similar.matching:,} of them {similar}. Write the ids the same way in both."
        warn(MismatchWarning(warning, alike=similar.matching))
    elif silent:
        warn(warning)
    return JudgedQueries(
        texts={query: queries.texts[query] for query in asked},
        qrels={query: grades[query] for query in asked},
        fields={query: queries.fields.get(query, {}) for query in asked},
        unjudged=len(queries.texts) - len(asked),
        without_text=len(silent),
        mismatch="" if similar is None else warning,
    )


def _judgments(qrels: object, columns: Mapping[str, str] | None) -> dict[str, dict[str, float]]:
    """Judgments of any shape as text ids and numbers."""
    if isinstance(qrels, (str, Path)):
        from ranklens.data.files.formats import read_qrels

        qrels = read_qrels(qrels)
    if isinstance(qrels, Mapping):
        return _as_grades(qrels)
    from ranklens.data.readers import frames

    if not frames.is_frame(qrels):
        raise InputError(f"qrels is {words.kind(qrels)}; pass a dict by query, a table, or a path.")
    return _as_grades(frames.by_query(frames.qrels_frame(qrels, columns)))


def _as_grades(qrels: Mapping[Any, Any]) -> dict[str, dict[str, float]]:
    from ranklens.judging.gold import grades
    from ranklens.judging.order import check_duplicates
    from ranklens.policy import Policy

    given = mappings.judgments(qrels)
    check_duplicates("qrels", given.duplicates, given.first_duplicate, Policy())
    if None in given.by_query or any(None in docs for docs in given.by_query.values()):
        raise InputError("qrels: the id of a query or document is None, which never matches.")
    by_query = mappings.as_text(given.by_query)
    grades(list(by_query), list(by_query.values()))  # refuses anything that is not a number
    return {query: {doc: float(grade) for doc, grade in docs.items()} for query, docs in by_query.items()}
