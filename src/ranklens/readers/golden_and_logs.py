"""Golden sets and logs as wholes: rows about single questions → judgments and runs.

What one row says is found by :mod:`ranklens.readers.records`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

from ranklens.errors import InputError, warn
from ranklens.readers import frames, names
from ranklens.readers.names import Names, given
from ranklens.readers.records import (
    SHAPES,
    as_mapping,
    document_ids,
    expected_grades,
    failure,
    ranked,
    says_what_is_relevant,
    warn_of_repeated,
)
from ranklens.readers.retrieved import unmatched
from ranklens.words import counted


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
    frames.refuse_spark(records)
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
    error = failure(row, where)
    if error is not None:
        return Entry(error=error, seconds=_seconds(row), cost=cost, tokens=tokens)
    found = where.find(row, "retrieved")
    if found is None:
        swapped = says_what_is_relevant(row, where)
        hint = (
            "It says what is expected: is it a golden set? The log comes second."
            if swapped
            else f"Accepted: {SHAPES}."
        )
        raise InputError(f"{place} does not say what was retrieved; its keys are {list(row)}. {hint}")
    ids, scores = ranked(found, place, where)
    return Entry(ids, scores, None, _seconds(row), cost, tokens)


def _seconds(row: Mapping[str, Any]) -> float | None:
    milliseconds = _optional(given(row, names.MILLISECONDS))
    return milliseconds / 1000 if milliseconds is not None else _optional(given(row, names.SECONDS))


def _optional(value: Any) -> float | None:
    return float(value) if isinstance(value, Real) else None


def _is_false(value: Any) -> bool:
    return value is False or (isinstance(value, str) and value.strip().lower() in ("false", "no", "0"))
