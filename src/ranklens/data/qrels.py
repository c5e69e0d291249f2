"""Judgments of any shape → :class:`Qrels`: the one door, and what everything behind it takes."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from ranklens.data.files.suffixes import names_of_path
from ranklens.data.readers import judgments
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.mappings import Id as Id  # noqa: PLC0414  for everyone behind the doors
from ranklens.data.readers.names import GOLDEN, USUAL, Names
from ranklens.data.readers.rankings import Golden

if TYPE_CHECKING:
    import polars as pl

    from ranklens.data.files.sources import PathLike
    from ranklens.data.readers.rankings import Question

Dicts: TypeAlias = "Mapping[Id, Any]"  # by query, in the shapes that ranklens.data.readers.mappings reads


@dataclass(frozen=True, eq=False)
class Scored:
    """Svmlight judgments: one score per line is a run for them, in a file or an array."""

    name: str
    lines: pl.DataFrame


class Prepared:
    """Marks judgments that were read and looked at when they were prepared: the door takes them as they are."""


@runtime_checkable
class WithTexts(Protocol):
    """A user's own dict of judgments or rankings that also holds the texts of queries."""

    texts: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Qrels:
    """Judgments that were read, and what came with them; made by :func:`read_qrels`."""

    judged: Dicts | pl.DataFrame  # by query, or a table query, doc, grade
    golden: Golden | None = None  # the golden set that they came from, with its questions
    scored: Scored | None = None

    @classmethod
    def of(cls, judged: Dicts | pl.DataFrame) -> Qrels:
        """From judgments that are read, with all that they know."""
        if type(judged) is dict:  # which knows nothing else
            return cls(judged)
        return cls(judged, judged if isinstance(judged, Golden) else None)

    @property
    def questions(self) -> Mapping[str, Question]:
        """All questions of a golden set, those that are not averaged included."""
        return {} if self.golden is None else self.golden.questions

    @property
    def unanswerable(self) -> frozenset[str]:
        """The questions without an answer on purpose."""
        return frozenset() if self.golden is None else self.golden.unanswerable

    @property
    def fields(self) -> Mapping[str, Mapping[str, object]] | None:
        """What a golden set says of each question besides; None for any other judgments."""
        return None if self.golden is None else self.golden.fields

    @property
    def has_passages(self) -> bool:
        """Whether what is judged are passages, which chunks contain, and not documents."""
        return self.golden is not None and bool(self.golden.passages)

    def names_of_runs(self, names: Names) -> Names:
        """How runs are read that these judgments go with: with the texts of chunks, where passages are judged."""
        return replace(names, with_chunks=True) if self.has_passages and not names.by_text else names

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts of queries, as far as the judgments know them."""
        if self.golden is not None:
            return self.golden.texts
        return texts_beside(self.judged)

    @property
    def by_query(self) -> Dicts | None:
        """The judgments as a mapping; None if they are a table."""
        return self.judged if isinstance(self.judged, Mapping) else None

    @cached_property
    def beyond_grades(self) -> Judgments | None:
        """The judgments if they know more than a grade: subtopics, evidence, properties of documents and the like."""
        return self.judged if isinstance(self.judged, Judgments) else None

    def only(self, queries: Collection[str]) -> Qrels:
        """The judgments of some of the queries, as plain grades."""
        if self.by_query is not None:
            return Qrels({query: docs for query, docs in self.by_query.items() if str(query) in queries})
        import polars as pl

        assert isinstance(self.judged, pl.DataFrame)
        return Qrels(self.judged.filter(pl.col("query").is_in(list(queries))))


def texts_beside(value: object) -> Mapping[str, str]:
    """The texts of queries that a user's own dict holds."""
    if type(value) is dict or not isinstance(value, Mapping):
        return {}
    return (value.texts or {}) if isinstance(value, WithTexts) else {}


def read_qrels(
    value: object,
    names: Names = USUAL,
    format: str | None = None,  # noqa: A002
    *,
    what: str = "qrels",
) -> Qrels:
    """Judgments of any shape that RankLens knows, those in files included; messages call them ``what``.

    >>> read_qrels({"q": {"a": 1}}).judged, read_qrels([{"query": "q", "doc": "a", "grade": 1}]).judged.rows()
    ({'q': {'a': 1}}, [('q', 'a', 1.0)])
    """
    if isinstance(value, Qrels):
        return value
    if isinstance(value, (dict, Mapping)):  # dict first: to ask an abstract class takes longer
        return Qrels.of(value if isinstance(value, Prepared) else _with_parts(judgments.enriched(value)))
    from ranklens.data.readers import objects

    names = names.for_input(*GOLDEN, *names_of_path(value))
    source = objects.as_source(value)
    if source is None:
        return Qrels.of(_from_objects(value, names, what))
    from ranklens.data.files import formats, recognition

    place, kind = recognition.locate(source, format, "qrels")
    read = formats.judgments_in(place, kind, names)
    if kind == "svmlight":
        return Qrels(read, scored=Scored(str(source), read))
    return Qrels.of(judgments.enriched(read) if type(read) is dict else read)


def with_intents(qrels: Qrels, path: PathLike) -> Qrels:
    """The same with the probabilities of subtopics from a file."""
    rich = qrels.beyond_grades
    if rich is None or not rich.has_subtopics:
        from ranklens.errors import InputError

        raise InputError(
            f"{path}: there are probabilities of subtopics, but the judgments have no subtopics; pass a table with a column subtopic, "
            "or a file of the lines 'query subtopic document grade'."
        )
    return replace(qrels, judged=_with_parts(rich.replace(intents=path)))


def _from_objects(value: object, names: Names, what: str) -> Dicts | pl.DataFrame:
    from ranklens.data.readers import frames, judgment_tables, objects

    value = objects.as_table(value, names)
    if frames.is_table(value) and judgment_tables.further_columns(frames.column_names(value)):
        rich: Dicts | pl.DataFrame = judgment_tables.of_table(frames.to_polars(value), names.columns)
        return rich
    read = objects.as_records(judgments.enriched(value), names, "golden")
    objects.check_kind(what, read)
    return read if isinstance(read, Mapping) else frames.qrels_frame(read)


def _with_parts(qrels: Dicts) -> Dicts:
    """Judgments whose subtopics, intents or properties of documents are in files, read."""
    if not isinstance(qrels, Judgments):
        return qrels
    in_a_file = (qrels.intents, qrels.documents, None if qrels.table is not None else qrels.subtopics)
    if not any(isinstance(part, (str, os.PathLike)) for part in in_a_file):
        return qrels
    from ranklens.data.files import formats

    parts: dict[str, object] = {}
    if isinstance(qrels.documents, (str, os.PathLike)):
        parts["documents"] = formats.read_properties(qrels.documents)
    if isinstance(qrels.subtopics, (str, os.PathLike)):
        parts["subtopics"] = formats.read_qrels(qrels.subtopics, "trec-diversity").subtopics
    if isinstance(qrels.intents, (str, os.PathLike)):
        parts["intents"] = formats.read_intents(qrels.intents)
    return qrels.replace(**parts)
