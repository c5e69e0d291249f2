"""Golden sets and logs as wholes: rows about single questions → judgments and runs.

What one row says is found by :mod:`ranklens.data.readers.records`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal

from ranklens.data.readers import frames, names
from ranklens.data.readers.names import Names, given
from ranklens.data.readers.rankings import NOTHING_FURTHER, Further, Rankings
from ranklens.data.readers.records import (
    SHAPES,
    as_mapping,
    document_ids,
    expected_grades,
    failure,
    ranked,
    says_what_is_relevant,
    says_what_was_retrieved,
    warn_of_repeated,
)
from ranklens.data.readers.retrieved import unmatched
from ranklens.errors import InputError, InPython, warn
from ranklens.words import counted


@dataclass(frozen=True)
class Question:
    """What a row is about: an id, else the text, else the number of the row; and the text if there is one."""

    id: str
    text: str | None = None
    has_id: bool = False


class Golden(dict[str, dict[str, float]]):
    """Judgments ``{query: {document: grade}}`` that also know the texts of questions, and which have no answer.

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

    @cached_property
    def by_text(self) -> dict[str, list[str]]:
        """The questions with each text, to find those of a log."""
        found: dict[str, list[str]] = {}
        for name, text in self.texts.items():
            found.setdefault(_one_line(text), []).append(name)
        return found


@dataclass(frozen=True)
class Entry:
    """What a log says about one question."""

    ids: Sequence[str] = ()
    scores: Sequence[float | None] | None = None
    error: str | None = None
    seconds: float | None = None
    cost: float | None = None
    tokens: float | None = None


class Log(Rankings):
    """A run ``{query: [documents, best first]}`` that also knows what failed and what each question took.

    Failed requests are not in the run; they are in ``failed``, with what went wrong.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        questions: Mapping[str, Question],
        joined: Literal["id", "text"] = "id",
        again: int = 0,
        further: Further = NOTHING_FURTHER,
    ) -> None:
        rankings = {name: list(entry.ids) for name, entry in entries.items() if entry.error is None}
        super().__init__(rankings, further)
        self.entries, self.questions, self.joined = entries, questions, joined
        self.again = again  # entries for questions that had one already

    @property
    def failed(self) -> dict[str, str]:
        return {name: entry.error for name, entry in self.entries.items() if entry.error is not None}

    @property
    def texts(self) -> dict[str, str]:
        return {name: question.text for name, question in self.questions.items() if question.text is not None}

    def joined_by_text(self, new: Mapping[str, Sequence[str]]) -> Log:
        """The same under other ids, each question under all of its own; what has none keeps its id."""
        entries: dict[str, Entry] = {}
        again = self.again
        for name, entry in self.entries.items():
            names_now = new.get(name, [name])
            again += names_now[0] in entries
            entries.update((now, entry) for now in names_now if entry.error is None or now not in entries)
        questions = {
            now: question for name, question in self.questions.items() for now in new.get(name, [name])
        }
        return Log(entries, questions, "text", again)

    def with_rankings(self, rankings: Rankings) -> Log:
        """The same with other ids of documents."""
        entries = {
            name: replace(entry, ids=rankings[name]) if name in rankings else entry
            for name, entry in self.entries.items()
        }
        return Log(entries, self.questions, self.joined, self.again, rankings.further)


def read_golden(rows: Iterable[Any], where: Names | None = None, *, numbered: bool = False) -> Golden:
    """A golden set. A question that expects nothing is unanswerable, unless its row says ``answerable: true``.

    With ``numbered``, a row without an id or a text is named by its number.

    >>> golden = read_golden([{"id": "q1", "question": "Why?", "expected_chunk_ids": ["c1"]},
    ...                       {"id": "q2", "question": "Who?", "answerable": False}])
    >>> golden, golden.texts, golden.unanswerable
    ({'q1': {'c1': 1.0}}, {'q1': 'Why?', 'q2': 'Who?'}, frozenset({'q2'}))
    """
    places, found = (where or Names()).for_golden(), dict[str, dict[str, float]]()
    questions: dict[str, Question] = {}
    fields: dict[str, Mapping[str, Any]] = {}
    unanswerable, without, repeated = list[str](), list[str](), list[str]()
    for place, row, question in _each(rows, places, numbered=numbered):
        questions[question.id], fields[question.id] = question, row
        answerable = _answerable(places.find(row, "answerable"), place)
        if answerable is False:
            unanswerable.append(question.id)
            continue
        lacks_text = places.by_text and places.find(row, "expected", names.EXPECTED_TEXTS) is None
        if lacks_text and not _is_empty(places.find(row, "expected")):
            without.append(question.id)
            continue
        expected = {} if lacks_text else expected_grades(row, place, repeated, places)
        if expected or answerable is not None:
            found[question.id] = expected
        else:
            unanswerable.append(question.id)
    warn_of_repeated(repeated)
    if without:
        _leave_out(without, bool(found))
    return Golden(found, questions, unanswerable, fields)


def _leave_out(without: Sequence[str], others: bool) -> None:
    """Questions without an expected text cannot be matched by text."""
    lacking = (
        f"{counted(len(without), 'question has', 'questions have')} no expected text (first: {without[0]!r})"
    )
    if not others:
        raise InputError(f"{lacking}; accepted are {', '.join(names.EXPECTED_TEXTS)}.")
    warn(f"{lacking}; left out.")


def read_log(
    rows: Iterable[Any], where: Names | None = None, *, repeats: bool = True, numbered: bool = False
) -> Log:
    """A log; of several entries for a question the last that did not fail counts, or without ``repeats`` it is an error.

    >>> log = read_log([{"question_id": "q1", "retrieved": [{"chunk_id": "c2", "score": 0.9}, {"chunk_id": "c1", "score": None}]},
    ...                 {"question_id": "q2", "error": "TimeoutError"}])
    >>> log, log.failed
    ({'q1': ['c2', 'c1']}, {'q2': 'TimeoutError'})
    """
    places = (where or Names()).for_log()
    entries: dict[str, Entry] = {}
    questions: dict[str, Question] = {}
    again, nameless = 0, list[str]()
    for place, row, question in _each(rows, places, repeats=repeats, numbered=numbered):
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


_BY_CHANCE = 2  # ids with the text of another question from which on they may be numbers of requests; one may be a slip


def join(golden: Golden, log: Log) -> Log:
    """The log under the ids of the golden set: by id, or by the texts of questions if more of those are in common.

    An id that comes with the text of another question is not in common.

    >>> golden = read_golden([{"id": "q1", "question": "Why?", "expected_ids": ["a"]}])
    >>> log = join(golden, read_log([{"question": "Why? ", "retrieved_ids": ["b", "a"]}]))
    >>> log, log.joined
    ({'q1': ['b', 'a']}, 'text')
    """
    texts = {name: _one_line(text) for name, text in log.texts.items()}
    known = {name: golden.by_text[text] for name, text in texts.items() if text in golden.by_text}
    same_id = [name for name in log.questions if name in golden.questions]
    contradicted = [name for name in same_id if name in known and name not in known[name]]
    if len(contradicted) < _BY_CHANCE:
        contradicted = []
    if len(known) > len(same_id) - len(contradicted):
        # An id that is in both by chance must not join what the texts keep apart.
        return log.joined_by_text(
            known | {name: [texts[name]] for name in same_id if name in texts and name not in known}
        )
    if contradicted:
        first = contradicted[0]
        warn(
            f"{counted(len(contradicted), 'question of the log has', 'questions of the log have')} the id of one question of the golden "
            f"set and the text of another (first: id {first!r} with the text of {known[first][0]!r}). They are joined by id."
        )
    return log


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
    golden = read_golden(rows, numbered=True)
    if results is None:
        return golden, read_log(rows, repeats=False, numbered=True)
    entries = {query: Entry(ids) for query, ids in _given_apart(list(golden.questions), results)}
    return golden, Log(entries, golden.questions)


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
    rows: Iterable[Any], where: Names, *, repeats: bool = False, numbered: bool = False
) -> Iterator[tuple[str, Mapping[str, Any], Question]]:
    """Each row with its place and question; without ``repeats`` every question is a different one."""
    times: Counter[str] = Counter()
    first: dict[str, int] = {}
    for number, record in enumerate(rows, 1):
        row = as_mapping(record, f"Record {number}")
        question = _question(row, number, where)
        if not (numbered or question.has_id or question.text):
            _check_number(row, f"Record {number}", where)
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


def _check_number(row: Mapping[str, Any], place: str, where: Names) -> None:
    """Refuse to join a row by its number, unless it says both what is expected and what was retrieved."""
    if not (says_what_is_relevant(row, where) and says_what_was_retrieved(row, where)):
        raise InputError(
            f"{place} does not say which question it is about; its keys are {list(row)}.",
            InPython(
                ' Pass the place of the id: columns={"query": "key"}.',
                " Pass the place of the id: --map query=key.",
            ),
        )


def _entry(row: Mapping[str, Any], place: str, where: Names) -> Entry:
    cost, tokens = _optional(given(row, names.COSTS)), _optional(given(row, names.TOKENS))
    error = failure(row, where)
    if error is not None:
        return Entry(error=error, seconds=_seconds(row, place), cost=cost, tokens=tokens)
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
    return Entry(ids, scores, None, _seconds(row, place), cost, tokens)


def _seconds(row: Mapping[str, Any], place: str) -> float | None:
    milliseconds = _optional(given(row, names.MILLISECONDS))
    found = milliseconds / 1000 if milliseconds is not None else _optional(given(row, names.SECONDS))
    if found is None or math.isnan(found):  # tables write NaN where there is nothing
        return None
    if not 0 <= found < math.inf:
        raise InputError(f"{place} took {found:g} seconds; a time is a number from 0.")
    return found


def _optional(value: Any) -> float | None:
    return float(value) if isinstance(value, Real) else None


def _is_empty(value: Any) -> bool:
    return isinstance(value, (list, tuple, dict)) and not value


_YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _answerable(value: Any, place: str) -> bool | None:
    """Whether a row says that its question can be answered; None if it does not say."""
    if value is None or value != value:  # noqa: PLR0124  tables write NaN where there is nothing
        return None
    word = f"{bool(value) if value in (0, 1) else value}".strip().lower()
    if word not in _YES_OR_NO:
        raise InputError(
            f"{place}: {value!r:.60} does not say whether the question is answerable; write true or false."
        )
    return _YES_OR_NO[word]
