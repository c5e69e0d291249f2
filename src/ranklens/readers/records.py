"""Records of single questions, as RAG tools write them → judgments and a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ranklens.errors import InputError

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
_RELEVANT = [
    "relevant",
    "expected_reference",
    "expected_ranking",
    "reference_context_ids",
    "expected_ids",
    "relevant_docs",
    "relevant_ids",
]
_GRADES = ("relevance_scores", "relevance", "grades")
_RECORD_IDS = ("id", "query_id", "qid", "_id")
_TEXTS = ("query", "question", "user_input", "input")
_DOCUMENT_IDS = ("id", "doc_id", "document_id", "_id", "docid")
_ITEM_GRADES = ("relevance", "grade", "rel", "expect_score")

_SHAPES = (
    '{"retrieved": [...], "relevant": [...]}, {"actual_ranking": [{"id": …}], "expected_reference": [{"id": …}]}, '
    '{"retrieved_context_ids": [...], "reference_context_ids": [...]} or {"retrieved_ids": [...], "expected_ids": [...]}'
)


def from_records(
    records: Iterable[Mapping[str, Any]], results: Mapping[Any, Any] | Iterable[Any] | None = None
) -> tuple[dict[str, dict[str, float]], dict[str, list[str]]]:
    """Judgments and a run from records, one a question; the shape is recognised by its keys.

    Accepted: ``retrieved``/``relevant`` (with ``relevance_scores`` for grades), ``actual_ranking``/``expected_reference``
    or ``expected_ranking``, ``retrieved_context_ids``/``reference_context_ids``, ``retrieved_ids``/``expected_ids``, and
    queries with ``relevant_docs`` whose ``results`` stand in the record or are given beside them, by query id or in the
    same order. Documents are ids or dicts with an ``id`` (and ``relevance``). The order of a list is the ranking. A
    record is named by its id, else by its question, else by its number.

    >>> qrels, run = from_records([{"query": "why?", "retrieved_ids": ["d2", "d1"], "expected_ids": ["d1"]}])
    >>> qrels, run
    ({'why?': {'d1': 1.0}}, {'why?': ['d2', 'd1']})
    """
    rows = [_as_mapping(number, record) for number, record in enumerate(records, 1)]
    names = _names(rows)
    answers = _answers(rows, names, results)
    qrels = {
        name: _grades(number, row) for number, (name, row) in enumerate(zip(names, rows, strict=True), 1)
    }
    run = {
        name: [_document_id(number, item) for item in _list(number, answer)]
        for number, (name, answer) in enumerate(zip(names, answers, strict=True), 1)
    }
    return qrels, run


def says_what_is_relevant(record: Mapping[str, Any]) -> bool:
    """Whether a record holds judgments."""
    return any(record.get(key) is not None for key in _RELEVANT)


def _as_mapping(number: int, record: Any) -> Mapping[str, Any]:
    if isinstance(record, Mapping):
        return record
    if hasattr(record, "__dict__"):
        return dict(vars(record))
    raise InputError(f"Record {number} is a {type(record).__name__}; a record is a dict such as {_SHAPES}.")


def _names(rows: list[Mapping[str, Any]]) -> list[str]:
    times: Counter[str] = Counter()
    names: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        given = next((row[key] for key in _RECORD_IDS if row.get(key) is not None), None)
        text = next((str(row[key]) for key in _TEXTS if row.get(key)), None)
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


def _answers(rows: list[Mapping[str, Any]], names: list[str], results: Any) -> list[Any]:
    if isinstance(results, Mapping):
        by_name = {str(key): value for key, value in results.items()}
        return [by_name.get(name, []) for name in names]
    if results is not None:
        answers = list(results)
        if len(answers) != len(rows):
            raise InputError(
                f"There are {len(rows)} records but {len(answers)} results; give one list a record."
            )
        return answers
    return [_field(number, row, _RETRIEVED, "what was retrieved") for number, row in enumerate(rows, 1)]


def _grades(number: int, row: Mapping[str, Any]) -> dict[str, float]:
    expected = _field(number, row, _RELEVANT, "what is relevant")
    if isinstance(expected, Mapping) and not any(key in expected for key in _DOCUMENT_IDS):
        return {str(doc): _number(number, grade) for doc, grade in expected.items()}
    grades = {_document_id(number, item): _item_grade(number, item) for item in _list(number, expected)}
    given: Mapping[Any, Any] = next((row[key] for key in _GRADES if isinstance(row.get(key), Mapping)), {})
    return {**grades, **{str(doc): _number(number, grade) for doc, grade in given.items()}}


def _field(number: int, row: Mapping[str, Any], keys: list[str], meaning: str) -> Any:
    for key in keys:
        if row.get(key) is not None:
            return row[key]
    raise InputError(
        f"Record {number} does not say {meaning}; its keys are {list(row)}. Accepted: {_SHAPES}."
    )


def _list(number: int, value: Any) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(f"Record {number} holds {value!r:.60} where a list of documents should be.")
    return [value] if isinstance(value, Mapping) else list(value)


def _document_id(number: int, item: Any) -> str:
    found = (
        next((item[key] for key in _DOCUMENT_IDS if item.get(key) is not None), None)
        if isinstance(item, Mapping)
        else item
    )
    if found is None or isinstance(found, (list, dict, set)):
        raise InputError(
            f"Record {number}: {item!r:.60} has no document id; give an id, or a dict with the key 'id'."
        )
    return str(found)


def _item_grade(number: int, item: Any) -> float:
    if not isinstance(item, Mapping):
        return 1.0
    return _number(number, next((item[key] for key in _ITEM_GRADES if item.get(key) is not None), 1))


def _number(number: int, grade: Any) -> float:
    try:
        return float(grade)
    except (TypeError, ValueError):
        raise InputError(f"Record {number}: the grade {grade!r} is not a number.") from None
