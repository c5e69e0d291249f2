"""One row about one question, as golden sets, logs and RAG tools write it: what it says was expected and retrieved.

Where a thing is in a row is decided by :mod:`ranklens.data.readers.names`; :mod:`ranklens.data.readers.golden_and_logs` reads all rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from shlex import quote
from typing import Any, Literal

from ranklens.data.readers import frames, names
from ranklens.data.readers.mappings import as_number
from ranklens.data.readers.names import Names, given, plain
from ranklens.data.readers.retrieved import Reading
from ranklens.errors import InputError, InPython, Option, errors_in, warn
from ranklens.words import counted, kind

SHAPES = (
    '{"id": …, "question": …, "expected_chunk_ids": [...]} in a golden set, {"question_id": …, "retrieved": [{"chunk_id": …, "score": …}]} '
    'in a log, or both in one: {"query": …, "retrieved_ids": [...], "expected_ids": [...]}'
)
_SURE_TEXTS = ("question", "query_text", "user_input", "query")
_LISTED = ("retrieved", "expected", "passages", "steps")
_LIKELY = {  # parts of names that a field of this role may have
    "expected": (
        "gold",
        "relev",
        "right",
        "correct",
        "truth",
        "expect",
        "target",
        "reference",
        "positive",
        "answer",
    ),
    "retrieved": ("retriev", "result", "hit", "source", "context", "chunk", "passage", "node", "doc", "rank"),
    "query": ("id", "key", "number", "question", "query", "no"),
}
_FAILED = {"failed", "failure", "error", "timeout", "timed_out", "exception"}


def failure(row: Mapping[str, object], where: Names) -> str | None:
    """What went wrong, if a row says that something did."""
    error = where.find(row, "error")
    status = given(row, names.STATUSES)
    if error:
        return str(error)
    if isinstance(status, str) and names.plain(status) in _FAILED:
        return status
    return None


def says_what_is_relevant(record: Mapping[str, object], where: Names | None = None) -> bool:
    """Whether a record holds judgments."""
    places = where or Names()
    return any(places.find(record, role) is not None for role in ("expected", "answerable", "passages"))


def says_what_was_retrieved(record: Mapping[str, object], where: Names | None = None) -> bool:
    """Whether a record holds a ranking, or says why there is none."""
    places = where or Names()
    return any(places.find(record, role) is not None for role in ("retrieved", "steps")) or bool(
        failure(record, places)
    )


def is_record(row: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether a row says what was retrieved or what is expected, under one of the names that are recognised."""
    return says_what_is_relevant(row, where) or says_what_was_retrieved(row, where)


def lists_documents(row: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether what a row says was retrieved or is expected are several, as a row about one document does not say."""
    places = where or Names()
    return any(isinstance(places.find(row, role), (list, tuple, AbstractSet, Mapping)) for role in _LISTED)


def unwrapped(value: object, where: Names | None = None, *, any_rows: bool = False) -> Any:
    """The list of records inside an object that wraps it, such as a page of an API; anything else as it is.

    Only records about a question and rows about a document tell that it is one, or with ``any_rows`` any objects.

    >>> unwrapped({"version": 1, "results": [{"id": "q1", "retrieved_ids": ["d1"]}]})
    [{'id': 'q1', 'retrieved_ids': ['d1']}]
    """

    def is_row(row: Mapping[str, object]) -> bool:
        """Whether this is a record about a question, or a row about a query and a document."""
        in_short = {names.plain(str(key)) for key in row}
        has_texts = given(row, names.EXPECTED_TEXTS) is not None and given(row, names.QUERY_TEXTS) is not None
        is_pair = not (in_short.isdisjoint(frames.QUERY_NAMES) or in_short.isdisjoint(names.DOCS))
        return lists_documents(row, where) or has_texts or is_pair

    def is_question(row: Mapping[str, object]) -> bool:
        """Whether this is surely a record about a question of its own, not a document that was retrieved for one."""
        return given(row, (*names.SAY_ID, *_SURE_TEXTS)) is not None and lists_documents(row, where)

    wrapper = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(wrapper, Mapping):
        return value
    parts = [part for part in wrapper.values() if isinstance(part, (list, dict)) and part]
    if (
        len(parts) == 1 and isinstance(parts[0], dict) and len(wrapper) > 1
    ):  # such as {"data": {"records": [...]}, "page": 1}
        inner = unwrapped(parts[0], where, any_rows=any_rows)
        return value if inner is parts[0] else inner
    if given(wrapper, (*names.SAY_ID, "id", "_id", *names.QUERY_TEXTS)) is not None:
        is_row = is_question
        any_rows = False
    lists = {
        key: rows
        for key, rows in wrapper.items()
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows)
        and (any_rows or any(map(is_row, rows)))
    }  # fmt: skip
    if len(lists) > 1:
        raise InputError(f"several lists of records: {', '.join(map(str, lists))}; keep one of them.")
    return next(iter(lists.values()), value)


def as_mapping(record: object, where: str) -> Mapping[str, object]:
    """A record as a dict, even if it is an object with attributes; ``where`` begins the message if it is neither."""
    if isinstance(record, Mapping):
        return record
    if hasattr(record, "__dict__"):
        return dict(vars(record))
    raise InputError(f"{where} is {kind(record)}; a record is a dict such as {SHAPES}.")


def retrieved(row: Mapping[str, object], where: str) -> Any:
    """What a record says was retrieved, unchanged."""
    return _field(row, where, names.RETRIEVED, "what was retrieved")


def expected_grades(
    row: Mapping[str, object],
    where: str,
    repeated: list[str],
    places: Names | None = None,
) -> dict[str, float]:
    """What a record says is relevant, with grades that may be given apart."""
    by_text = places is not None and places.by_text
    usual = names.EXPECTED_TEXTS if by_text else names.EXPECTED
    value = (places or Names()).find(row, "expected", usual)
    if value is None:  # the user's own name is not replaced by a usual one, which may hold something else
        own = places is not None and "expected" in places.own
        value = _field(row, where, () if own else usual, "what is relevant")
    if by_text and isinstance(value, str):
        value = [value]
    expected = grades(value, where, repeated, places, names.TEXTS_INSIDE if by_text else None)
    apart = given(row, names.GRADES_APART)
    if isinstance(apart, (list, tuple)) and not says_what_was_retrieved(
        row, places
    ):  # else they may be scores
        if len(apart) != len(value):
            raise InputError(
                f"{where} has {len(apart)} grades for {counted(len(value), 'expected document')}; give one for each."
            )
        apart = {
            _document_id(doc, where, places or Names(), None): grade
            for doc, grade in zip(value, apart, strict=True)
        }
    if not isinstance(apart, Mapping):
        return expected
    return {**expected, **{str(doc): _number(grade, where) for doc, grade in apart.items()}}


def document_ids(value: object, where: str) -> list[str]:
    """The ids of a list of documents, each an id or something that has one.

    >>> document_ids([{"id": 7, "score": 0.9}, "b"], "Record 1")
    ['7', 'b']
    """
    return list(ranked(value, where, Names())[0])


def ranked(value: object, where: str, places: Names) -> tuple[Sequence[str], Sequence[float | None] | None]:
    """The ids of a list of documents, best first, and their scores if they have any."""
    own, score = places.own.get("doc", [None])[0], places.own.get("score", [None])[0]
    place = places.id_from if places.id_from is not None else own
    reading = Reading(sys.maxsize - 1, place, score, f"{where} contains", in_file=True, option=places.option)
    with errors_in(where):
        answer = reading.read(value)
    return answer.ids, answer.scores


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
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(f"{where} has {value!r:.60} where a list of documents is expected.")
    by_doc: dict[str, float] = {}
    for item in [value] if isinstance(value, Mapping) else value:
        doc = _document_id(item, where, places or Names(), inside)
        own = given(item, names.GRADES) if isinstance(item, Mapping) else None
        grade = 1.0 if own is None else _number(own, where)
        if doc in by_doc:
            repeated.append(f"{doc!r} in {where}")
        by_doc[doc] = max(grade, by_doc.get(doc, grade))
    return by_doc


def warn_of_repeated(repeated: Sequence[str]) -> None:
    """Say that golden sets list documents twice."""
    if repeated:
        warn(
            f"{counted(len(repeated), 'relevant document is', 'relevant documents are')} listed twice (first: {repeated[0]}); "
            "the highest grade of each counts."
        )


def by_document(value: object) -> bool:
    """Whether this is a dict of numbers by document, rather than a dict that describes one document."""
    return isinstance(value, Mapping) and not any(key in value for key in names.DOCS_INSIDE)


def _field(row: Mapping[str, object], where: str, known: Iterable[str], meaning: str) -> Any:
    content = given(row, known)
    if content is None:
        swapped = says_what_was_retrieved(row) if known is names.EXPECTED else False
        hint = (
            " It says what was retrieved: is it a log? The golden set comes first."
            if swapped
            else f" Accepted: {SHAPES}."
        )
        role = "expected" if known is names.EXPECTED else "retrieved"
        texts = known is names.EXPECTED and given(row, names.EXPECTED_TEXTS) is not None
        empty = [name for name, value in row.items() if value is None and plain(str(name)) in known]
        if empty:
            raise InputError(
                f"{where}: {empty[0]!r} is null, so it does not say {meaning}; write [] if that is nothing."
            )
        raise InputError(
            f"{where} does not say {meaning}; its keys are {list(row)}.{hint}",
            *(ask_for_texts() if texts else where_it_is(row, role)),
        )
    return content


def ask_for_texts() -> list[str | Option]:
    """What to set where a golden set has texts and no ids."""
    return [" It has expected texts; to find them in retrieved texts, choose ", Option("match", "text"), "."]


def where_it_is(row: Mapping[str, object], role: str) -> list[str | InPython]:
    """What to set where a field has another name, with one of those that are there."""
    lists = [str(name) for name, value in row.items() if isinstance(value, (list, tuple, Mapping))]
    cells = [str(name) for name, value in row.items() if isinstance(value, str) and "|" in value]
    fields = (lists or cells) if role in _LISTED else list(map(str, row))
    likely = (name for name in fields or map(str, row) if any(part in plain(name) for part in _LIKELY[role]))
    example = next(likely, next(iter(fields), "FIELD"))
    return [
        " If it has another name here, say so: ",
        InPython(
            f'columns={{"{role}": "{example}"}}',
            f"--map {quote(f'{role}={example}')}",
            f"map: {{{role}: {example}}}",
        ),
        ".",
    ]


def _document_id(item: object, where: str, places: Names, inside: Sequence[str] | None) -> str:
    if isinstance(item, str) and (item or inside):  # texts are checked where they are matched
        return item
    doc = places.find(item, "doc", inside or names.DOCS_INSIDE) if isinstance(item, Mapping) else item
    if doc is None or doc == "" or isinstance(doc, (list, tuple, dict, set)):
        raise InputError(
            f"{where}: {item!r:.60} has no document id; give an id, or a dict with the key 'id'."
        )
    return as_id(doc)


def as_id(value: object) -> str:
    """An id as text; 7.0, which pandas makes of 7 where another is missing, is 7.

    >>> as_id(7.0), as_id("7.0"), as_id(7.5)
    ('7', '7.0', '7.5')
    """
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return str(int(value)) if isinstance(value, float) and is_whole else str(value)


def _number(grade: object, where: str) -> float:
    value = as_number(grade)
    if value is None:
        raise InputError(f"{where}: the grade {grade!r} is not a number.")
    return value


def names_of_records(value: object, half: Literal["golden", "log"], where: Names) -> Names | None:
    """The names under which records are read, if these are records rather than rows of documents: a list of dicts, or a table
    with lists of documents. In a table, the only column of lists needs no usual name.
    """
    if isinstance(value, (list, tuple)):
        is_list = bool(value) and all(isinstance(row, Mapping) or hasattr(row, "__dict__") for row in value)
        return where if is_list else None
    if isinstance(value, Mapping) or not frames.is_frame(value):
        return None
    columns = frames.column_names(value)
    in_short = {names.plain(column) for column in columns}
    known = {
        *names.RETRIEVED, *names.EXPECTED, *names.EXPECTED_TEXTS, *names.ERRORS, *names.PASSAGES, *names.STEPS
    }  # fmt: skip
    listed = {*where.own.get("retrieved", ()), *where.own.get("expected", ())}
    named = {column for column in columns if column in listed or names.plain(column) in known}
    if not in_short.isdisjoint(names.DOCS) or not {*where.own.get("doc", ())}.isdisjoint(columns):
        return where if named and not named.isdisjoint(frames.list_columns(value)) else None
    if named:
        return where
    role = "expected" if half == "golden" else "retrieved"
    column = list_column(frames.list_columns(value), role, where, "qrels" if half == "golden" else "run")
    return None if column is None else replace(where, own={**where.own, role: [column]})


def list_column(lists: Sequence[str], role: str, where: Names, what: str) -> str | None:
    """Which of the columns that hold lists holds the documents: the user's, else one with a usual name, else the only one."""
    usual = [name for name in lists if names.plain(name) in (*names.ROLES[role], "prediction")]
    candidates = [*where.own.get(role, ())] or usual or lists
    if len(candidates) > 1:
        raise InputError(
            f"{what}: several columns hold lists: {', '.join(candidates)}.",
            InPython(
                f" Say which: columns={{{role!r}: {candidates[0]!r}}}.",
                f" Say which: --map {role}={candidates[0]}.",
            ),
        )
    return candidates[0] if candidates else None


def rows_of(value: Any) -> list[Any]:
    """The records of a list or table."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if type(value).__module__.partition(".")[0] == "pandas":
        rows = [{str(name): entry for name, entry in row.items()} for row in value.to_dict("records")]
        for row in rows:
            for name, entry in row.items():
                plain_entry = entry.tolist() if hasattr(entry, "tolist") else entry
                is_nan = isinstance(plain_entry, float) and plain_entry != plain_entry  # noqa: PLR0124
                row[name] = None if is_nan else plain_entry
        return rows
    return frames.to_polars(value).to_dicts()
