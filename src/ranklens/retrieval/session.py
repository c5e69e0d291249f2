"""One retriever, all queries: which are still to be asked, and what becomes of every outcome."""

from __future__ import annotations

import asyncio
import math
import re
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from numbers import Real

from ranklens.data.matching.rules import ById
from ranklens.data.readers.retrieved import ReadingError
from ranklens.errors import InputError, InPython, warn
from ranklens.progress import Progress, progress
from ranklens.redaction import redacted
from ranklens.retrieval.adapters import Caller, adapt
from ranklens.retrieval.answers import Answer, RetrieverRun
from ranklens.retrieval.asking import AskOptions
from ranklens.retrieval.calling import Work, acall_all, call_all
from ranklens.retrieval.fingerprints import fingerprint
from ranklens.retrieval.store import Store, answer_key
from ranklens.retrieval.workers import Outcome, TurnsOutAsync
from ranklens.start import only_at_the_end
from ranklens.words import counted, in_one_line

_UNREADABLE = (
    3  # answers; if none of the first ones can be read, no query is to blame, and asking on is a waste
)
_FRAMES = 30  # of a traceback


@dataclass
class Session:
    """The state of one run: which queries are left, and the answers so far."""

    name: str
    caller: Caller
    texts: Mapping[str, str]
    options: AskOptions
    store: Store | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    _unreadable: list[ReadingError] = field(default_factory=list)
    _keys: dict[str, str] = field(default_factory=dict)
    _row: list[str] = field(default_factory=list)  # the errors since the last answer, if all are the same
    _shown: Progress | None = None
    _wall: float = 0.0

    @classmethod
    def start(
        cls, name: str, retriever: object, texts: Mapping[str, str], store: Store | None, options: AskOptions
    ) -> Session:
        """Check everything, and read the answers that the store already has."""
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"name={name!r} is not allowed; the name of a retriever is text.")
        if not texts:
            raise InputError("There are no queries; add some with add_query, or give queries and qrels.")
        caller = adapt(retriever, k=options.k, batch_size=options.batch_size)
        session = cls(name, caller, dict(texts), options, store)
        if store is not None:
            try:
                code = fingerprint((retriever, options.depends_on))
            except Exception:  # noqa: BLE001  an object does not let itself be looked at: the age of answers must do
                code = "unseen"
            session._read_store(store, code)
        return session

    def _read_store(self, store: Store, code: str) -> None:
        options, reading = self.options, self.options.reading.describe()
        params = dict(options.params or {})
        self._keys = {
            item[0]: answer_key(self.name, options.version, params, options.k, item, reading, code)
            for item in self.texts.items()
        }
        stored = store.read(self.name)  # even when no answer is reused, because new ones are added
        if options.uses_stored:
            since = time.time() - options.oldest_allowed
            for query, key in self._keys.items():
                answer = stored.get(key)
                if answer is not None and answer.status != "failed" and (answer.at or 0.0) >= since:
                    self.answers[query] = answer

    def run(self) -> None:
        """Ask the queries that are left, from synchronous code."""
        with self._watched():
            try:
                call_all(self._work())
            except TurnsOutAsync:
                self.caller = replace(self.caller, is_async=True)
                call_all(self._work())
        self._warn_if_all_failed()

    async def arun(self) -> None:
        """Ask the queries that are left, on the running event loop."""
        with self._watched():
            try:
                await acall_all(self._work())
            except TurnsOutAsync:
                self.caller = replace(self.caller, is_async=True)
                await acall_all(self._work())
        self._warn_if_all_failed()

    def result(self, qrels: Mapping[str, Mapping[str, float]]) -> RetrieverRun:
        """All answers, in the order of the queries."""
        answers = {query: self.answers[query] for query in self.texts}
        stored = [answer.at for answer in answers.values() if answer.stored and answer.at is not None]
        return RetrieverRun(
            name=self.name,
            k=self.options.k,
            answers=answers,
            wall=self._wall,
            asked=sum(not answer.stored for answer in answers.values()),
            oldest=max(time.time() - min(stored), 0.0) if stored else None,
            told_k=self.caller.told_k,
            version=self.options.version,
            params=dict(self.options.params or {}),
            match=self.options.matching or ById(),
            judged=qrels,
        )

    def _work(self) -> Work[list[str]]:
        return Work(self.caller, self.options.reading, self.options, self._jobs(), self._deliver)

    def _jobs(self) -> Iterator[tuple[list[str], object]]:
        """The queries that have no answer yet, one by one or in batches, each with its payload."""
        left = (query for query in self.texts if query not in self.answers)
        size = self.caller.batch_size
        while queries := list(islice(left, size or 1)):
            texts = [self.texts[query] for query in queries]
            yield queries, texts[0] if size is None else texts

    def _deliver(self, queries: Sequence[str], outcome: Outcome) -> None:
        values: list[object] = [outcome.value]
        if outcome.error is not None:
            values = [outcome.error] * len(queries)
        elif self.caller.batch_size is not None and isinstance(outcome.value, list):
            values = outcome.value
        now = time.time()
        answers = [
            replace(self._answer(query, value, outcome), at=now)
            for query, value in zip(queries, values, strict=True)
        ]
        for answer in answers:
            self.answers[answer.query] = answer
            if self.store is not None:
                self.store.write(self.name, self._keys[answer.query], answer)
            if self._shown is not None:
                self._shown.advance(failed=answer.status == "failed")
        self._watch_for_dead(answers)

    def _answer(self, query: str, value: object, outcome: Outcome) -> Answer:
        if isinstance(value, BaseException):
            return _failure(query, value, outcome)
        try:
            read = self.options.reading.read(value)
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever goes wrong here, this query failed
            if isinstance(error, ReadingError):
                self._unreadable.append(error)
                # If nothing that comes back can be read, that is a mistake in the call of ``run``.
                is_first = all(answer.status != "ok" for answer in self.answers.values())
                if is_first and len(self._unreadable) >= min(_UNREADABLE, len(self.texts)):
                    raise self._unreadable[0] from None
            return _failure(query, error, outcome)
        return Answer(
            query,
            "ok" if read.ids else "empty",
            read.ids,
            read.scores,
            outcome.seconds,
            outcome.attempts,
            read.cut,
            tokens=_amount(value, "tokens"),
            cost=_amount(value, "cost"),
        )

    def _watch_for_dead(self, answers: Sequence[Answer]) -> None:
        """Stop if one call after another fails with the same error: the service is down, and further calls would only wait for it."""
        kinds: set[str | None] = set()
        for (
            answer
        ) in answers:  # what failures have in common: the error without the query, numbers and addresses
            error = (answer.error or "").replace(self.texts[answer.query], "…").replace(answer.query, "…")
            kinds.add(re.sub(r"0x[0-9a-f]+|\d+", "#", error) if answer.status == "failed" else None)
        kind = kinds.pop() if len(kinds) == 1 else None
        self._row = [*(self._row if kind in self._row else []), *([] if kind is None else [kind])]
        left = len(self.texts) - len(self.answers)
        if len(self._row) >= self.options.stop_after and left and not self.options.keep_going:
            first_line = (answers[0].error or "").partition("\n")[0].rstrip(".")[:200]
            raise InputError(
                f"{self.name!r} was stopped after {counted(len(self._row), 'call')} in a row with the same error: "
                f"{first_line}. {counted(left, 'query was', 'queries were')} not asked. Is it running? ",
                InPython("keep_going=True", "--keep-going"),
                " asks on regardless.",
            )

    @contextmanager
    def _watched(self) -> Iterator[None]:
        left = len(self.texts) - len(self.answers)
        started = time.perf_counter()
        try:
            with progress(self.name, left, self.options.progress) as self._shown, only_at_the_end():
                yield
        except (KeyboardInterrupt, asyncio.CancelledError):
            how = "Their answers are lost; use Benchmark(…, store=FOLDER) to be able to resume."
            if self.store is not None:
                option = "" if self.options.uses_stored else "with --max-age 1d "
                how = f"Their answers are kept in {self.store.folder}; run it again {option}to resume from there."
            done = f"{len(self.answers):,} of {len(self.texts):,} queries"
            sys.stderr.write(in_one_line(f"{self.name}: stopped after {done}. {how}") + "\n")
            raise
        self._wall = time.perf_counter() - started

    def _warn_if_all_failed(self) -> None:
        failed = [answer for answer in self.answers.values() if answer.status == "failed"]
        if failed and len(failed) == len(self.answers):
            all_of_them = f"All {len(failed):,} queries of {self.name!r} failed, the first"
            one = f"The only query of {self.name!r} failed"
            warn(f"{one if len(failed) == 1 else all_of_them} with {(failed[0].error or '').rstrip('.')}.")


def _amount(value: object, name: str) -> float | None:
    """What a retriever says a call took: ``{"documents": [...], "tokens": 380, "cost": 0.0004}``."""
    if not isinstance(value, Mapping) or all(isinstance(entry, Real) for entry in value.values()):
        return None  # documents with their scores, one of which may be called "cost"
    entry = value.get(name)
    if isinstance(entry, bool) or not isinstance(entry, Real):
        return None
    return amount if 0 <= (amount := float(entry)) < math.inf else None


def _failure(query: str, error: BaseException, outcome: Outcome) -> Answer:
    # traceback copes with errors that cannot print themselves.
    lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-_FRAMES)
    what = traceback.format_exception_only(type(error), error)
    return Answer(
        query,
        "failed",
        seconds=outcome.seconds,
        attempts=outcome.attempts,
        error=redacted("".join(what).strip()),
        traceback=redacted("".join(lines)),
        timed_out=outcome.timed_out,
    )
