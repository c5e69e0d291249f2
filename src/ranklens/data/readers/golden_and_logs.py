"""Golden sets and logs as wholes: rows about single questions → judgments and runs.

What one row says is found by :mod:`ranklens.data.readers.records`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

from ranklens.data.readers import frames, names
from ranklens.data.readers.chunks import Chunk, Passage, plain_chunks, read_chunk, read_passages
from ranklens.data.readers.names import Names, given
from ranklens.data.readers.paths import follow
from ranklens.data.readers.rankings import Entry, Golden, Log, Question, one_line
from ranklens.data.readers.records import (
    SHAPES,
    as_id,
    as_mapping,
    document_ids,
    expected_grades,
    failure,
    ranked,
    says_what_is_relevant,
    says_what_was_retrieved,
    warn_of_repeated,
    where_it_is,
)
from ranklens.data.readers.retrieved import unmatched
from ranklens.errors import InputError, warn
from ranklens.words import counted


def read_golden(rows: Iterable[object], where: Names | None = None, *, numbered: bool = False) -> Golden:
    """A golden set. A question that expects nothing is unanswerable, unless its row says ``answerable: true``.

    With ``numbered``, a row without an id or a text is named by its number.

    >>> golden = read_golden([{"id": "q1", "question": "Why?", "expected_chunk_ids": ["c1"]},
    ...                       {"id": "q2", "question": "Who?", "answerable": False}])
    >>> golden, golden.texts, golden.unanswerable
    ({'q1': {'c1': 1.0}}, {'q1': 'Why?', 'q2': 'Who?'}, frozenset({'q2'}))
    """
    places, judged = (where or Names()).for_golden(), dict[str, dict[str, float]]()
    questions: dict[str, Question] = {}
    fields: dict[str, Mapping[str, Any]] = {}
    passages: dict[str, dict[str, Passage]] = {}
    unanswerable, without, repeated = list[str](), list[str](), list[str]()
    for place, row, question in _each(rows, places, numbered=numbered):
        questions[question.id], fields[question.id] = question, row
        answerable = _answerable(places.find(row, "answerable"), place)
        if answerable is False:
            unanswerable.append(question.id)
            continue
        texts = places.find(row, "passages")
        if texts is not None and (places.by_text or places.find(row, "expected") is None):
            grades, passages[question.id] = read_passages(texts, place, row, repeated)
            if grades:
                judged[question.id] = grades
            else:
                unanswerable.append(question.id)
            continue
        lacks_text = places.by_text and places.find(row, "expected", names.EXPECTED_TEXTS) is None
        listed = places.find(row, "expected") if lacks_text else None
        if lacks_text and (listed or not isinstance(listed, (list, tuple, dict))):
            without.append(question.id)
            continue
        expected = {} if lacks_text else expected_grades(row, place, repeated, places)
        if expected or answerable is not None:
            judged[question.id] = expected
        else:
            unanswerable.append(question.id)
    warn_of_repeated(repeated)
    if without:  # without an expected text there is nothing to match
        lacking = f"{counted(len(without), 'question has', 'questions have')} no expected text (first: {without[0]!r})"
        if not judged:
            raise InputError(f"{lacking}; accepted are {', '.join(names.EXPECTED_TEXTS)}.")
        warn(f"{lacking}; left out.")
    return Golden(judged, questions, unanswerable, fields, passages)


def read_log(
    rows: Iterable[object], where: Names | None = None, *, repeats: bool = True, numbered: bool = False
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
    texts = {name: one_line(text) for name, text in log.texts.items()}
    same_text = {name: golden.by_text[text] for name, text in texts.items() if text in golden.by_text}
    same_id = [name for name in log.questions if name in golden.questions]
    contradicted = [name for name in same_id if name in same_text and name not in same_text[name]]
    if len(contradicted) < _BY_CHANCE:
        contradicted = []
    if len(same_text) > len(same_id) - len(contradicted):
        # An id that is in both by chance must not join what the texts keep apart.
        return log.joined_by_text(
            same_text | {name: [texts[name]] for name in same_id if name in texts and name not in same_text}
        )
    if contradicted:
        first = contradicted[0]
        warn(
            f"{counted(len(contradicted), 'question of the log has', 'questions of the log have')} the id of one question of the golden "
            f"set and the text of another (first: id {first!r} with the text of {same_text[first][0]!r}). They are joined by id."
        )
    return log


def from_records(
    records: Iterable[object], results: Mapping[Any, Any] | Iterable[object] | None = None
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
        places = Names(with_chunks=bool(golden.passages))
        return golden, read_log(rows, places, repeats=False, numbered=True)
    if isinstance(results, Mapping):
        by_name = {str(key): value for key, value in results.items()}
        answers = [by_name.get(name, []) for name in golden.questions]
    else:
        answers = list(results)
    if len(answers) != len(golden.questions):
        raise InputError(
            f"There are {len(golden.questions)} records but {len(answers)} results; pass one list per record."
        )
    entries = {
        query: Entry(document_ids(answer, f"Record {number}"))
        for number, (query, answer) in enumerate(zip(golden.questions, answers, strict=True), 1)
    }
    return golden, Log(entries, golden.questions)


def _each(
    rows: Iterable[object], where: Names, *, repeats: bool = False, numbered: bool = False
) -> Iterator[tuple[str, Mapping[str, object], Question]]:
    """Each row with its place and question; without ``repeats`` every question is a different one."""
    times: Counter[str] = Counter()
    first: dict[str, int] = {}
    for number, record in enumerate(rows, 1):
        row = as_mapping(record, f"Record {number}")
        name, text = where.find(row, "query"), where.find(row, "text")
        shown = str(text) if text else None
        own = shown if shown is not None else str(number)
        question = Question(own if name is None else as_id(name), shown, has_id=name is not None)
        says_both = says_what_is_relevant(row, where) and says_what_was_retrieved(row, where)
        if not (
            numbered or question.has_id or question.text or says_both
        ):  # else its number joins a row with itself
            raise InputError(
                f"Record {number} does not say which question it is about; its keys are {list(row)}.",
                *where_it_is(row, "query"),
            )
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


def _entry(row: Mapping[str, object], place: str, where: Names) -> Entry:
    cost, tokens = _optional(given(row, names.COSTS)), _optional(given(row, names.TOKENS))
    error = failure(row, where)
    if error is not None:
        return Entry(error=error, seconds=_seconds(row, place), cost=cost, tokens=tokens)
    steps = where.find(row, "steps")
    if isinstance(steps, (list, tuple)):
        return _trajectory(row, steps, place, where)
    retrieved = where.find(row, "retrieved")
    if retrieved is None:
        swapped = says_what_is_relevant(row, where)
        hint = (
            "It says what is expected: is it a golden set? The log comes second."
            if swapped
            else f"Accepted: {SHAPES}."
        )
        raise InputError(
            f"{place} does not say what was retrieved; its keys are {list(row)}. {hint}",
            *where_it_is(row, "retrieved"),
        )
    if where.with_chunks:
        entry = _chunks(retrieved, place, where)
        return replace(entry, seconds=_seconds(row, place), cost=cost, tokens=tokens)
    ids, scores = ranked(retrieved, place, where)
    return Entry(ids, scores, None, _seconds(row, place), cost, tokens)


def _chunks(retrieved: object, place: str, where: Names) -> Entry:
    """Retrieved items with their texts and spans; one without an id is named by its place."""
    items = retrieved if type(retrieved) is list and where.id_from is None else []
    plain = plain_chunks(items) if items else None
    if plain is not None:
        own = [item.get("score") for item in items]
        return Entry([str(chunk.id) for chunk in plain], None if None in own else own, chunks=plain)
    chunks: list[Chunk] = []

    def read(item: object) -> str:
        chunk = read_chunk(item)
        chunks.append(chunk)
        name = chunk.id if where.id_from is None else follow(item, where.id_from)
        return str(name) if name is not None else f"chunk {len(chunks)}"

    ids, scores = ranked(retrieved, place, replace(where, id_from=read))
    return Entry(ids, scores, chunks=chunks)


def _trajectory(row: Mapping[str, object], steps: Sequence[object], place: str, where: Names) -> Entry:
    """Several retrievals for one question: what they returned, one after the other. A step that failed returned nothing."""
    every = [
        _entry(as_mapping(step, f"{place}, step {number}"), f"{place}, step {number}", where)
        for number, step in enumerate(steps, 1)
    ]
    error = every[-1].error if every and all(step.error is not None for step in every) else None
    rows = [(number, doc, i) for number, step in enumerate(every, 1) for i, doc in enumerate(step.ids)]
    if not where.with_chunks:  # by id, what an earlier step returned adds nothing
        first = {doc: (number, doc, i) for number, doc, i in reversed(rows)}
        rows = sorted(first.values(), key=lambda one: (one[0], one[2]))
    seconds, cost, tokens = (
        _seconds(row, place),
        _optional(given(row, names.COSTS)),
        _optional(given(row, names.TOKENS)),
    )
    return Entry(
        [doc for _, doc, _ in rows],
        error=error,
        seconds=_sum(step.seconds for step in every) if seconds is None else seconds,
        cost=_sum(step.cost for step in every) if cost is None else cost,
        tokens=_sum(step.tokens for step in every) if tokens is None else tokens,
        chunks=[every[number - 1].chunks[i] for number, _, i in rows] if where.with_chunks else (),
        steps=[number for number, _, _ in rows],
        calls=len(every),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def _seconds(row: Mapping[str, object], place: str) -> float | None:
    milliseconds = _optional(given(row, names.MILLISECONDS))
    seconds = milliseconds / 1000 if milliseconds is not None else _optional(given(row, names.SECONDS))
    if seconds is None or math.isnan(seconds):  # tables write NaN where there is nothing
        return None
    if not 0 <= seconds < math.inf:
        raise InputError(f"{place} took {seconds:g} seconds; a time is a number from 0.")
    return seconds


def _optional(value: object) -> float | None:
    return float(value) if isinstance(value, Real) else None


_YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _answerable(value: object, place: str) -> bool | None:
    """Whether a row says that its question can be answered; None if it does not say."""
    if value is None or value != value:  # noqa: PLR0124  tables write NaN where there is nothing
        return None
    word = f"{bool(value) if value in (0, 1) else value}".strip().lower()
    if word not in _YES_OR_NO:
        raise InputError(
            f"{place}: {value!r:.60} does not say whether the question is answerable; write true or false."
        )
    return _YES_OR_NO[word]
