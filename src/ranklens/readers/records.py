"""Rows about single questions, as golden sets, logs and RAG tools write them → judgments and runs.

A row may say what is expected (a golden set), what was retrieved (a log), or both. Where a thing is in a row is decided by
:mod:`ranklens.readers.names`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

from ranklens.errors import InputError, warn
from ranklens.readers import frames, names
from ranklens.readers.mappings import as_number
from ranklens.readers.names import Names, given
from ranklens.readers.responses import Reading, ReadingError, unmatched
from ranklens.words import counted

_SHAPES = (
    '{"id": …, "question": …, "expected_chunk_ids": [...]} in a golden set, {"question_id": …, "retrieved": [{"chunk_id": …, "score": …}]} '
    'in a log, or both in one: {"query": …, "retrieved_ids": [...], "expected_ids": [...]}'
)
_FAILED = {"failed", "failure", "error", "timeout", "timed_out", "exception"}


@dataclass(frozen=True)
class Question:
    """What a row is about: an id, else the text, else the number of the row; and the text if there is one."""

    id: str
    text: str | None = None
    has_id: bool = False


class Golden(dict[str, dict[str, float]]):
    """Judgments ``{query: {document: grade}}`` that also know the texts of questions, and which have no answer on purpose.

    Unanswerable questions are not among the judgments: no document is right for them, so they would be plain zeros.
    """

    def __init__(
        self,
        judgments: Mapping[str, dict[str, float]],
        questions: Mapping[str, Question],
        unanswerable: Iterable[str] = (),
        fields: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__(judgments)
        self.questions = questions
        self.unanswerable = frozenset(unanswerable)
        self.fields = fields or {}  # what else is said about each question, to slice by

    def with_judgments(self, judgments: Mapping[str, dict[str, float]]) -> Golden:
        """The same with other judgments."""
        return Golden(judgments, self.questions, self.unanswerable, self.fields)

    @property
    def texts(self) -> dict[str, str]:
        return {name: question.text for name, question in self.questions.items() if question.text is not None}


@dataclass(frozen=True)
class Entry:
    """What a log says about one question."""

    ids: Sequence[str] = ()
    scores: Sequence[float | None] | None = None
    error: str | None = None
    seconds: float | None = None
    cost: float | None = None
    tokens: float | None = None


class Log(dict[str, list[str]]):
    """A run ``{query: [documents, best first]}`` that also knows what failed and what each question took.

    Failed requests are not in the run; they are in ``failed``, with what went wrong.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        questions: Mapping[str, Question],
        joined: Literal["id", "text"] = "id",
        again: int = 0,
    ) -> None:
        super().__init__({name: list(entry.ids) for name, entry in entries.items() if entry.error is None})
        self.entries, self.questions, self.joined = entries, questions, joined
        self.again = again  # entries for questions that had one already

    @property
    def failed(self) -> dict[str, str]:
        return {name: entry.error for name, entry in self.entries.items() if entry.error is not None}

    @property
    def texts(self) -> dict[str, str]:
        return {name: question.text for name, question in self.questions.items() if question.text is not None}

    def joined_by_text(self, new: Mapping[str, str]) -> Log:
        """The same under other ids; what has none keeps its own."""
        entries = {new.get(name, name): entry for name, entry in self.entries.items()}
        questions = {new.get(name, name): question for name, question in self.questions.items()}
        return Log(entries, questions, "text", self.again)

    def with_documents(self, ids: Callable[[str, Sequence[str]], Sequence[str]]) -> Log:
        """The same with other ids of documents, made from the query and its ids."""
        entries = {name: replace(entry, ids=ids(name, entry.ids)) for name, entry in self.entries.items()}
        return Log(entries, self.questions, self.joined, self.again)


def read_golden(rows: Iterable[Any], where: Names | None = None) -> Golden:
    """A golden set.

    >>> golden = read_golden([{"id": "q1", "question": "Why?", "expected_chunk_ids": ["c1"]},
    ...                       {"id": "q2", "question": "Who?", "answerable": False}])
    >>> golden, golden.texts, golden.unanswerable
    ({'q1': {'c1': 1.0}}, {'q1': 'Why?', 'q2': 'Who?'}, frozenset({'q2'}))
    """
    places, found = where or Names(), dict[str, dict[str, float]]()
    questions: dict[str, Question] = {}
    fields: dict[str, Mapping[str, Any]] = {}
    unanswerable, without, repeated = list[str](), list[str](), list[str]()
    for place, row, question in _each(rows, places):
        questions[question.id], fields[question.id] = question, row
        if _is_false(places.find(row, "answerable")):
            unanswerable.append(question.id)
        elif places.by_text and places.find(row, "expected", names.EXPECTED_TEXTS) is None:
            without.append(question.id)
        else:
            found[question.id] = expected_grades(row, place, repeated, places)
    warn_of_repeated(repeated)
    if without:
        _leave_out(without, bool(found))
    return Golden(found, questions, unanswerable, fields)


def _leave_out(without: Sequence[str], others: bool) -> None:
    """Questions whose expected text nobody wrote down cannot be matched by text."""
    lacking = (
        f"{counted(len(without), 'question has', 'questions have')} no expected text (first: {without[0]!r})"
    )
    if not others:
        raise InputError(f"{lacking}; accepted are {', '.join(names.EXPECTED_TEXTS)}.")
    warn(f"{lacking}; left out.")


def read_log(rows: Iterable[Any], where: Names | None = None, *, repeats: bool = True) -> Log:
    """A log; of several entries for a question the last that did not fail counts, or without ``repeats`` it is an error.

    >>> log = read_log([{"question_id": "q1", "retrieved": [{"chunk_id": "c2", "score": 0.9}, {"chunk_id": "c1", "score": None}]},
    ...                 {"question_id": "q2", "error": "TimeoutError"}])
    >>> log, log.failed
    ({'q1': ['c2', 'c1']}, {'q2': 'TimeoutError'})
    """
    places = where or Names()
    entries: dict[str, Entry] = {}
    questions: dict[str, Question] = {}
    again, nameless = 0, list[str]()
    for place, row, question in _each(rows, places, repeats=repeats):
        entry = _entry(row, place, places)
        nameless += [place for rank, doc in enumerate(entry.ids, 1) if doc == unmatched(rank)]
        again += question.id in entries
        questions[question.id] = question
        if entry.error is None or question.id not in entries:
            entries[question.id] = entry
    if nameless:
        warn(
            f"{counted(len(nameless), 'retrieved item has', 'retrieved items have')} no id (first: in {nameless[0]}); they keep their "
            "rank and match nothing."
        )
    return Log(entries, questions, again=again)


def join(golden: Golden, log: Log) -> Log:
    """The log under the ids of the golden set: by id, or by the texts of questions if more of those are in common.

    >>> golden = read_golden([{"id": "q1", "question": "Why?", "expected_ids": ["a"]}])
    >>> log = join(golden, read_log([{"question": "Why? ", "retrieved_ids": ["b", "a"]}]))
    >>> log, log.joined
    ({'q1': ['b', 'a']}, 'text')
    """
    by_text = {_one_line(text): name for name, text in golden.texts.items()}
    texts = {name: by_text.get(_one_line(text)) for name, text in log.texts.items()}
    known = {name: found for name, found in texts.items() if found is not None}
    is_by_id = len(known) <= sum(name in golden.questions for name in log.questions)
    return log if is_by_id else log.joined_by_text(known)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def from_records(
    records: Iterable[Any], results: Mapping[Any, Any] | Iterable[Any] | None = None
) -> tuple[dict[str, dict[str, float]], dict[str, list[str]]]:
    """Judgments and a run from records that say both what is expected and what was retrieved, one per question.

    The shape is recognised by its keys: ``retrieved``/``relevant`` (with ``relevance_scores`` for grades),
    ``retrieved_ids``/``expected_ids``, ``retrieved_context_ids``/``reference_context_ids``, ``actual_ranking``/``expected_ranking``
    and many more. ``results`` may be given apart, by query id or in the same order. Documents are ids or dicts with an
    ``id`` (and ``relevance``). The order of a list is the ranking. A record is named by its id, else by its question, else by
    its number.

    >>> qrels, run = from_records([{"query": "why?", "retrieved_ids": ["d2", "d1"], "expected_ids": ["d1"]}])
    >>> qrels, run
    ({'why?': {'d1': 1.0}}, {'why?': ['d2', 'd1']})
    """
    rows = [as_mapping(record, f"Record {number}") for number, record in enumerate(records, 1)]
    golden = read_golden(rows)
    if results is None:
        return golden, read_log(rows, repeats=False)
    return golden, dict(_given_apart(list(golden), results))


def _given_apart(queries: Sequence[str], results: Any) -> Iterator[tuple[str, list[str]]]:
    if isinstance(results, Mapping):
        by_name = {str(key): value for key, value in results.items()}
        answers = [by_name.get(name, []) for name in queries]
    else:
        answers = list(results)
    if len(answers) != len(queries):
        raise InputError(
            f"There are {len(queries)} records but {len(answers)} results; pass one list per record."
        )
    for number, (query, answer) in enumerate(zip(queries, answers, strict=True), 1):
        yield query, document_ids(answer, f"Record {number}")


def _each(
    rows: Iterable[Any], where: Names, *, repeats: bool = False
) -> Iterator[tuple[str, Mapping[str, Any], Question]]:
    """Each row with its place and question; without ``repeats`` every question is a different one."""
    times: Counter[str] = Counter()
    first: dict[str, int] = {}
    for number, record in enumerate(rows, 1):
        row = as_mapping(record, f"Record {number}")
        question = _question(row, number, where)
        if not repeats and question.text and not question.has_id:
            times[question.id] += 1
            if times[question.id] > 1:
                question = Question(f"{question.id} ({times[question.id]})", question.text)
        if not repeats and question.id in first:
            raise InputError(
                f"Records {first[question.id]} and {number} have the same id {question.id!r}; give each its own.",
                query=question.id,
            )
        first[question.id] = number
        yield f"Record {number}", row, question


def _question(row: Mapping[str, Any], number: int, where: Names) -> Question:
    name, text = where.find(row, "query"), where.find(row, "text")
    shown = str(text) if text else None
    if name is not None:
        return Question(str(name), shown, has_id=True)
    return Question(shown if shown is not None else str(number), shown)


def _entry(row: Mapping[str, Any], place: str, where: Names) -> Entry:
    cost, tokens = _optional(given(row, names.COSTS)), _optional(given(row, names.TOKENS))
    error = _failure(row, where)
    if error is not None:
        return Entry(error=error, seconds=_seconds(row), cost=cost, tokens=tokens)
    found = where.find(row, "retrieved")
    if found is None:
        swapped = says_what_is_relevant(row, where)
        hint = (
            "It says what is expected: is it a golden set? The log comes second."
            if swapped
            else f"Accepted: {_SHAPES}."
        )
        raise InputError(f"{place} does not say what was retrieved; its keys are {list(row)}. {hint}")
    ids, scores = _ranked(found, place, where)
    return Entry(ids, scores, None, _seconds(row), cost, tokens)


def _failure(row: Mapping[str, Any], where: Names) -> str | None:
    """What went wrong, if a row says that something did."""
    error = where.find(row, "error")
    status = given(row, names.STATUSES)
    if error:
        return str(error)
    if isinstance(status, str) and names.plain(status) in _FAILED:
        return status
    return None


def _seconds(row: Mapping[str, Any]) -> float | None:
    milliseconds = _optional(given(row, names.MILLISECONDS))
    return milliseconds / 1000 if milliseconds is not None else _optional(given(row, names.SECONDS))


def _optional(value: Any) -> float | None:
    return float(value) if isinstance(value, Real) else None


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.strip().lower() in ("false", "no", "0"))


def says_what_is_relevant(record: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether a record holds judgments."""
    places = where or Names()
    return places.find(record, "expected") is not None or places.find(record, "answerable") is not None


def says_what_was_retrieved(record: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether a record holds a ranking, or says why there is none."""
    places = where or Names()
    return places.find(record, "retrieved") is not None or _failure(record, places) is not None


def is_record(row: Mapping[str, Any], where: Names | None = None) -> bool:
    """Whether a row says what was retrieved or what is expected, under one of the names that are recognised."""
    return says_what_is_relevant(row, where) or says_what_was_retrieved(row, where)


def as_mapping(record: Any, where: str) -> Mapping[str, Any]:
    """A record as a dict, even if it is an object with attributes; ``where`` begins the message if it is neither."""
    if isinstance(record, Mapping):
        return record
    if hasattr(record, "__dict__"):
        return dict(vars(record))
    name = type(record).__name__
    article = "an" if name[0] in "aeiou" else "a"
    raise InputError(f"{where} is {article} {name}; a record is a dict such as {_SHAPES}.")


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
    return list(_ranked(value, where, Names())[0])


def _ranked(value: Any, where: str, places: Names) -> tuple[Sequence[str], Sequence[float | None] | None]:
    own, score = places.own.get("doc", [None])[0], places.own.get("score", [None])[0]
    place = places.id_from if places.id_from is not None else own
    reading = Reading(sys.maxsize - 1, place, score, f"{where} holds", in_file=True)
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
            else f" Accepted: {_SHAPES}."
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
