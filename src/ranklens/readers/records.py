"""One row about one question, as golden sets, logs and RAG tools write it: what it says was expected and retrieved.

Where a thing is in a row is decided by :mod:`ranklens.readers.names`; :mod:`ranklens.readers.golden_and_logs` reads all rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ranklens.errors import InputError, warn
from ranklens.readers import frames, names
from ranklens.readers.mappings import as_number
from ranklens.readers.names import Names, given
from ranklens.readers.retrieved import Reading, ReadingError
from ranklens.words import counted, kind

SHAPES = (
    '{"id": …, "question": …, "expected_chunk_ids": [...]} in a golden set, {"question_id": …, "retrieved": [{"chunk_id": …, "score": …}]} '
    'in a log, or both in one: {"query": …, "retrieved_ids": [...], "expected_ids": [...]}'
)
_LISTED = ("retrieved", "expected")
_FAILED = {"failed", "failure", "error", "timeout", "timed_out", "exception"}


def failure(row: Mapping[str, Any], where: Names) -> str | None:
    """What went wrong, if a row says that something did."""
    error = where.find(row, "error")
    status = given(row, names.STATUSES)
    if error:
        return str(error)
    if isinstance(status, str) and names.plain(status) in _FAILED:
        return status
    return None


def says_what_is_relevant(record: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether a record holds judgments."""
    places = where or Names()
    return places.find(record, "expected") is not None or places.find(record, "answerable") is not None


def says_what_was_retrieved(record: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether a record holds a ranking, or says why there is none."""
    places = where or Names()
    return places.find(record, "retrieved") is not None or failure(record, places) is not None


def is_record(row: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether a row says what was retrieved or what is expected, under one of the names that are recognised."""
    return says_what_is_relevant(row, where) or says_what_was_retrieved(row, where)


def lists_documents(row: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether what a row says was retrieved or is expected are several, as a row about one document does not say."""
    places = where or Names()
    return any(isinstance(places.find(row, role), (list, tuple, AbstractSet, Mapping)) for role in _LISTED)


def as_mapping(record: Any, where: str) -> Mapping[str, Any]:
    """A record as a dict, even if it is an object with attributes; ``where`` begins the message if it is neither."""
    if isinstance(record, Mapping):
        return record
    if hasattr(record, "__dict__"):
        return dict(vars(record))
    raise InputError(f"{where} is {kind(record)}; a record is a dict such as {SHAPES}.")


def retrieved(row: Mapping[str, Any], where: str) -> Any:
    """What a record says was retrieved, unchanged."""
    return _field(row, where, names.RETRIEVED, "what was retrieved")


def expected_grades(
    row: Mapping[str, Any],
    where: str,
    repeated: list[str],
    places: Names | None = None,
) -> dict[str, float]:
    """What a record says is relevant, with grades that may be given apart."""
    by_text = places is not None and places.by_text
    value = (places or Names()).find(row, "expected", names.EXPECTED_TEXTS if by_text else None)
    if value is None:
        value = _field(row, where, names.EXPECTED_TEXTS if by_text else names.EXPECTED, "what is relevant")
    if by_text and isinstance(value, str):
        value = [value]
    expected = grades(value, where, repeated, places, names.TEXTS_INSIDE if by_text else None)
    apart: Mapping[Any, Any] = next(
        (row[key] for key in names.GRADES_APART if isinstance(row.get(key), Mapping)), {}
    )
    return {**expected, **{str(doc): _number(grade, where) for doc, grade in apart.items()}}


def document_ids(value: Any, where: str) -> list[str]:
    """The ids of a list of documents, each an id or something that has one.

    >>> document_ids([{"id": 7, "score": 0.9}, "b"], "Record 1")
    ['7', 'b']
    """
    return list(ranked(value, where, Names())[0])


def ranked(value: Any, where: str, places: Names) -> tuple[Sequence[str], Sequence[float | None] | None]:
    """The ids of a list of documents, best first, and their scores if they have any."""
    own, score = places.own.get("doc", [None])[0], places.own.get("score", [None])[0]
    place = places.id_from if places.id_from is not None else own
    reading = Reading(sys.maxsize - 1, place, score, f"{where} holds", in_file=True, option=places.option)
    try:
        found = reading.read(value)
    except ReadingError as error:
        if where not in str(error):
            error.prefix(f"{where}: ")
        raise
    return found.ids, found.scores


def grades(
    value: Any,
    where: str,
    repeated: list[str],
    places: Names | None = None,
    inside: Sequence[str] | None = None,
) -> dict[str, float]:
    """Grades by document id, from a dict of grades, or a list or set of ids or of dicts with an ``id`` (and ``relevance``).

    Of a document that is listed twice the highest grade counts; it is added to ``repeated``.

    >>> grades([{"id": "a", "relevance": 3}, "b"], "Record 1", [])
    {'a': 3.0, 'b': 1.0}
    """
    if by_document(value):
        return {str(doc): _number(grade, where) for doc, grade in value.items()}
    found: dict[str, float] = {}
    for item in _list(value, where):
        doc, grade = _document_id(item, where, places or Names(), inside), _item_grade(item, where)
        if doc in found:
            repeated.append(f"{doc!r} in {where}")
        found[doc] = max(grade, found.get(doc, grade))
    return found


def warn_of_repeated(repeated: Sequence[str]) -> None:
    """Say that golden sets list documents twice."""
    if repeated:
        warn(
            f"{counted(len(repeated), 'relevant document is', 'relevant documents are')} listed twice (first: {repeated[0]}); "
            "the highest grade of each counts."
        )


def by_document(value: Any) -> bool:
    """Whether this is a dict of numbers by document, rather than a dict that describes one document."""
    return isinstance(value, Mapping) and not any(key in value for key in names.DOCS_INSIDE)


def _field(row: Mapping[str, Any], where: str, known: Iterable[str], meaning: str) -> Any:
    found = given(row, known)
    if found is None:
        swapped = says_what_was_retrieved(row) if known is names.EXPECTED else False
        hint = (
            " It says what was retrieved: is it a log? The golden set comes first."
            if swapped
            else f" Accepted: {SHAPES}."
        )
        raise InputError(f"{where} does not say {meaning}; its keys are {list(row)}.{hint}")
    return found


def _list(value: Any, where: str) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(f"{where} has {value!r:.60} where a list of documents is expected.")
    return [value] if isinstance(value, Mapping) else list(value)


def _document_id(item: Any, where: str, places: Names, inside: Sequence[str] | None) -> str:
    if isinstance(item, str):
        return item
    found = places.find(item, "doc", inside or names.DOCS_INSIDE) if isinstance(item, Mapping) else item
    if found is None or isinstance(found, (list, tuple, dict, set)):
        raise InputError(
            f"{where}: {item!r:.60} has no document id; give an id, or a dict with the key 'id'."
        )
    return str(found)


def _item_grade(item: Any, where: str) -> float:
    if not isinstance(item, Mapping):
        return 1.0
    found = given(item, names.GRADES)
    return 1.0 if found is None else _number(found, where)


def _number(grade: Any, where: str) -> float:
    value = as_number(grade)
    if value is None:
        raise InputError(f"{where}: the grade {grade!r} is not a number.")
    return value


def holds_lists(value: Any, where: Names | None = None) -> bool:
    """Whether these are records rather than rows of documents: a list of dicts, or a table with lists of documents."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(row, Mapping) or hasattr(row, "__dict__") for row in value)
    if not frames.is_frame(value) or isinstance(value, Mapping):
        return False
    known = {*names.RETRIEVED, *names.EXPECTED, *names.EXPECTED_TEXTS, *names.ERRORS}
    own = (where or Names()).own
    columns = frames.column_names(value)
    listed = {*own.get("retrieved", ()), *own.get("expected", ())}
    return any(column in listed or (names.plain(column) in known) for column in columns) and not (
        {names.plain(column) for column in columns} & {*names.DOCS}
    )


def rows_of(value: Any) -> list[Any]:
    """The records of a list or table."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if type(value).__module__.partition(".")[0] == "pandas":
        return [
            {str(name): _python(entry) for name, entry in row.items()} for row in value.to_dict("records")
        ]
    return frames.to_polars(value).to_dicts()


def _python(entry: Any) -> Any:
    """What pandas holds as an array or as NaN, as a list or as None."""
    if hasattr(entry, "tolist"):
        entry = entry.tolist()
    return None if isinstance(entry, float) and entry != entry else entry  # noqa: PLR0124
