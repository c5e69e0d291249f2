"""Records of single questions, as RAG tools write them → judgments and a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ranklens.errors import InputError, warn
from ranklens.words import counted

_RETRIEVED = [
    "retrieved",
    "actual_ranking",
    "retrieved_context_ids",
    "retrieved_ids",
    "retrieved_docs",
    "results",
    "ranking",
    "actual_reference",
]
RELEVANT = [
    "relevant",
    "expected_reference",
    "expected_ranking",
    "reference_context_ids",
    "expected_ids",
    "relevant_docs",
    "relevant_ids",
]
_GRADES = ("relevance_scores", "relevance", "grades")
RECORD_IDS = ("id", "query_id", "qid", "_id")
TEXTS = ("query", "question", "user_input", "input")
_DOCUMENT_IDS = ("id", "doc_id", "document_id", "_id", "docid")
_ITEM_GRADES = ("relevance", "grade", "rel", "expect_score")

_SHAPES = (
    '{"retrieved": [...], "relevant": [...]}, {"actual_ranking": [{"id": …}], "expected_reference": [{"id": …}]}, '
    '{"retrieved_context_ids": [...], "reference_context_ids": [...]} or {"retrieved_ids": [...], "expected_ids": [...]}'
)


def from_records(
    records: Iterable[Mapping[str, Any]], results: Mapping[Any, Any] | Iterable[Any] | None = None
) -> tuple[dict[str, dict[str, float]], dict[str, list[str]]]:
    """Judgments and a run from records, one per question; the shape is recognised by its keys.

    Accepted: ``retrieved``/``relevant`` (with ``relevance_scores`` for grades), ``actual_ranking``/``expected_reference``
    or ``expected_ranking``, ``retrieved_context_ids``/``reference_context_ids``, ``retrieved_ids``/``expected_ids``, and
    queries with ``relevant_docs`` whose ``results`` stand in the record or are given beside them, by query id or in the
    same order. Documents are ids or dicts with an ``id`` (and ``relevance``). The order of a list is the ranking. A
    record is named by its id, else by its question, else by its number.

    >>> qrels, run = from_records([{"query": "why?", "retrieved_ids": ["d2", "d1"], "expected_ids": ["d1"]}])
    >>> qrels, run
    ({'why?': {'d1': 1.0}}, {'why?': ['d2', 'd1']})
    """
    rows = [as_mapping(record, f"Record {number}") for number, record in enumerate(records, 1)]
    places = [f"Record {number}" for number in range(1, len(rows) + 1)]
    names = _names(rows)
    answers = _answers(rows, names, places, results)
    repeated: list[str] = []
    qrels = {
        name: expected_grades(row, place, repeated)
        for name, row, place in zip(names, rows, places, strict=True)
    }
    if repeated:
        warn(
            f"{counted(len(repeated), 'relevant document is', 'relevant documents are')} listed twice, the first is {repeated[0]}; "
            "the highest grade of each counts."
        )
    run = {
        name: document_ids(answer, place) for name, answer, place in zip(names, answers, places, strict=True)
    }
    return qrels, run


def says_what_is_relevant(record: Mapping[str, Any]) -> bool:
    """Whether a record holds judgments."""
    return any(record.get(key) is not None for key in RELEVANT)


def is_record(row: Mapping[str, Any]) -> bool:
    """Whether a row says what was retrieved or what is relevant, under one of the names that are recognised."""
    return any(row.get(key) is not None for key in (*_RETRIEVED, *RELEVANT))


def as_mapping(record: Any, where: str) -> Mapping[str, Any]:
    """A record as a dict, even if it is an object with attributes; ``where`` begins the message if it is neither."""
    if isinstance(record, Mapping):
        return record
    if hasattr(record, "__dict__"):
        return dict(vars(record))
    raise InputError(f"{where} is a {type(record).__name__}; a record is a dict such as {_SHAPES}.")


def retrieved(row: Mapping[str, Any], where: str) -> Any:
    """What a record says was retrieved, as it stands there."""
    return _field(row, where, _RETRIEVED, "what was retrieved")


def expected_grades(row: Mapping[str, Any], where: str, repeated: list[str]) -> dict[str, float]:
    """What a record says is relevant, with grades that may stand apart."""
    expected = grades(_field(row, where, RELEVANT, "what is relevant"), where, repeated)
    apart: Mapping[Any, Any] = next((row[key] for key in _GRADES if isinstance(row.get(key), Mapping)), {})
    return {**expected, **{str(doc): _number(grade, where) for doc, grade in apart.items()}}


def document_ids(value: Any, where: str) -> list[str]:
    """The ids of a list of documents, each an id or a dict with an ``id``.

    >>> document_ids([{"id": 7, "score": 0.9}, "b"], "Record 1")
    ['7', 'b']
    """
    return [_document_id(item, where) for item in _list(value, where)]


def grades(value: Any, where: str, repeated: list[str]) -> dict[str, float]:
    """Grades by document id, from a dict of grades, or a list or set of ids or of dicts with an ``id`` (and ``relevance``).

    Of a document that is listed twice the highest grade counts; it is added to ``repeated``.

    >>> grades([{"id": "a", "relevance": 3}, "b"], "Record 1", [])
    {'a': 3.0, 'b': 1.0}
    """
    if by_document(value):
        return {str(doc): _number(grade, where) for doc, grade in value.items()}
    found: dict[str, float] = {}
    for item in _list(value, where):
        doc, grade = _document_id(item, where), _item_grade(item, where)
        if doc in found:
            repeated.append(f"{doc!r} in {where}")
        found[doc] = max(grade, found.get(doc, grade))
    return found


def by_document(value: Any) -> bool:
    """Whether this is a dict of numbers by document, rather than a dict that describes one document."""
    return isinstance(value, Mapping) and not any(key in value for key in _DOCUMENT_IDS)


def first_given(row: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """The value of the first of these keys that holds one."""
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _names(rows: list[Mapping[str, Any]]) -> list[str]:
    times: Counter[str] = Counter()
    names: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        given = first_given(row, RECORD_IDS)
        text = next((str(row[key]) for key in TEXTS if row.get(key)), None)
        name = given if given is not None else text or number
        if given is None and text:
            times[text] += 1
            name = text if times[text] == 1 else f"{text} ({times[text]})"
        if str(name) in names:
            raise InputError(
                f"Records {names[str(name)]} and {number} have the same id {str(name)!r}; give each its own."
            )
        names[str(name)] = number
    return list(names)


def _answers(rows: list[Mapping[str, Any]], names: list[str], places: list[str], results: Any) -> list[Any]:
    if isinstance(results, Mapping):
        by_name = {str(key): value for key, value in results.items()}
        return [by_name.get(name, []) for name in names]
    if results is not None:
        answers = list(results)
        if len(answers) != len(rows):
            raise InputError(
                f"There are {len(rows)} records but {len(answers)} results; give one list per record."
            )
        return answers
    return [retrieved(row, place) for row, place in zip(rows, places, strict=True)]


def _field(row: Mapping[str, Any], where: str, keys: Iterable[str], meaning: str) -> Any:
    found = first_given(row, keys)
    if found is None:
        raise InputError(f"{where} does not say {meaning}; its keys are {list(row)}. Accepted: {_SHAPES}.")
    return found


def _list(value: Any, where: str) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(f"{where} holds {value!r:.60} where a list of documents should be.")
    return [value] if isinstance(value, Mapping) else list(value)


def _document_id(item: Any, where: str) -> str:
    if isinstance(item, str):
        return item
    found = first_given(item, _DOCUMENT_IDS) if isinstance(item, Mapping) else item
    if found is None or isinstance(found, (list, tuple, dict, set)):
        raise InputError(
            f"{where}: {item!r:.60} has no document id; give an id, or a dict with the key 'id'."
        )
    return str(found)


def _item_grade(item: Any, where: str) -> float:
    if not isinstance(item, Mapping):
        return 1.0
    given = first_given(item, _ITEM_GRADES)
    return 1.0 if given is None else _number(given, where)


def _number(grade: Any, where: str) -> float:
    try:
        return float(grade)
    except (TypeError, ValueError):
        raise InputError(f"{where}: the grade {grade!r} is not a number.") from None
