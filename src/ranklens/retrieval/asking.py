"""How a retriever is asked: every option of :meth:`ranklens.Benchmark.run`, described once."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypedDict

from ranklens.data.matching.parsing import matching_of
from ranklens.data.matching.rules import Matching
from ranklens.data.readers.retrieved import IdFrom, Reading
from ranklens.errors import InputError, nearest
from ranklens.options import descriptions, option
from ranklens.retrieval import ages

_LONGEST_PAUSE = 30.0  # seconds between two attempts


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """How a retriever is asked.

    ``concurrency`` calls run at the same time, and at most ``rate_limit`` start per second (a retry is a call, and so is a batch).
    A call that takes longer than ``timeout`` seconds fails. Up to ``retries`` further attempts follow, the first after ``backoff``
    seconds, the next after twice as many, and so on. :meth:`ranklens.Benchmark.run` explains the other options.
    """

    k: int = option(10, key="Documents per query: a whole number from 1.", least=1)
    concurrency: int = option(1, key="Simultaneous calls: a whole number from 1.", least=1)
    timeout: float | None = option(None, key="Time limit per call in seconds: a number above 0.", above=0)
    retries: int = option(0, key="Number of retries after a failure: a whole number from 0.", least=0)
    rate_limit: float | None = option(None, key="Maximum calls per second: a number above 0.", above=0)
    backoff: float = option(
        0.5,
        key="Seconds before the first retry; each further pause is twice as long, up to 30 s: a number from 0.",
    )
    id_from: IdFrom = option(None, key="Where to find the id in a result, e.g. metadata.source: text.")
    score_from: IdFrom = option(None, key="Where to find the score in a result, e.g. metadata.score: text.")
    batch_size: int | None = option(
        None, key="Number of texts per call, passed as a list: a whole number from 1.", least=1
    )
    version: str = option(
        "",
        key="The version that stored answers belong to, in addition to what is seen of the code: text. Change it with "
        "what cannot be seen, such as an index or a remote service.",
    )
    params: Mapping[str, object] | None = option(
        None, key="Keyword arguments for the function or the factory: keys and values."
    )
    match: Matching | str | None = option(
        None, key="How its ids map to judged ids, if different from match above."
    )
    depends_on: object = None
    fresh: bool = False
    max_age: float | str | None = option(
        None,
        key="How old a stored answer may be: seconds, or text such as 7d or 12h. No limit by default.",
    )
    stop_after: int = option(
        20,
        key="Stop after this many calls in a row fail with the same error: a whole number from 1.",
        least=1,
    )
    keep_going: bool = False
    resume: bool = True
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name, described in descriptions(AskOptions).items():
            value: object = getattr(self, name)
            if described.least is not None and name != "batch_size":  # which depends on the retriever
                whole(name, value, described.least)
            lowest = described.above
            if lowest is None or value is None or (isinstance(value, (int, float)) and value > lowest):
                continue
            raise InputError(
                f"{name}={value!r} is not allowed; it is a number above {lowest:g}, or None for no limit."
            )
        if not isinstance(self.backoff, (int, float)) or not self.backoff >= 0:
            raise InputError(f"backoff={self.backoff!r} is not allowed; it is a number of seconds from 0.")
        _ = self.oldest_allowed, self.matching

    @classmethod
    def of(cls, given: AskArguments, match: Matching | None) -> AskOptions:
        """From keyword arguments; ``match`` is that of the benchmark, for retrievers that have none of their own."""
        names = [one.name for one in fields(cls)]
        wrong = next((name for name in given if name not in names), None)
        if wrong is not None:
            raise InputError(f"There is no option {wrong!r}: {nearest(wrong, names)} See Benchmark.run.")
        options = cls(**given)
        return options if options.match is not None else replace(options, match=match)

    @cached_property
    def matching(self) -> Matching | None:
        """How ids match; text is read as after ``--match``."""
        return matching_of(self.match)

    @property
    def oldest_allowed(self) -> float:
        """The age in seconds from which on a stored answer is not used."""
        return math.inf if self.max_age is None else ages.in_seconds(self.max_age)

    def pause(self, attempt: int) -> float:
        """Seconds before the attempt that follows this one, counted from 1."""
        longest = min(self.backoff * 2.0 ** (attempt - 1), _LONGEST_PAUSE)
        # At random, so that clients that failed together do not come back together.
        return longest * random.uniform(0.5, 1)  # noqa: S311  no secret

    @property
    def uses_stored(self) -> bool:
        return self.resume and not self.fresh

    @cached_property
    def reading(self) -> Reading:
        """How answers are read."""
        inner = self.matching.id_from if self.matching is not None else None
        if inner is not None and self.id_from is not None:
            raise InputError(
                f"id_from and match={type(self.matching).__name__} both say where the id is; pass only one of them."
            )
        return Reading(self.k, inner if inner is not None else self.id_from, self.score_from)


class AskArguments(TypedDict, total=False):
    """The fields of :class:`AskOptions` as keyword arguments, so that type checkers know them: ``run(..., retries=2)``."""

    k: int
    concurrency: int
    timeout: float | None
    retries: int
    rate_limit: float | None
    backoff: float
    id_from: IdFrom
    score_from: IdFrom
    batch_size: int | None
    version: str
    params: Mapping[str, object] | None
    match: Matching | str | None
    depends_on: object
    fresh: bool
    max_age: float | str | None
    stop_after: int
    keep_going: bool
    resume: bool
    progress: bool | None


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How retrievers are asked this time, whatever the configuration says.

    ``fresh`` uses no stored answer, ``max_age`` none that is older, ``keep_going`` asks on when every call fails,
    ``code=False`` refuses whatever would run code, and ``gates=False`` checks no gate. Results that are to be ``frozen`` as a baseline
    are held against no other: their drops are not checked. Where gates are checked, or results frozen, stored answers are used only if ``max_age`` says how old they may be.
    """

    fresh: bool = option(
        False, "Call the retriever again for every query; ignore stored answers.", flags=("--fresh",)
    )
    max_age: str | float | None = option(
        None,
        "Ignore stored answers older than this: 7d, 12h, 30m, or seconds.",
        flags=("--max-age",),
        metavar="AGE",
    )
    keep_going: bool = option(
        False, "Keep going, even if every call fails with the same error.", flags=("--keep-going",)
    )
    code: bool = option(
        True, "Refuse configurations that name code or a URL; run files still work.", flags=("--no-code",)
    )
    gates: bool = True
    frozen: bool = False


def whole(name: str, value: object, least: int = 1) -> int:
    """A whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name}={value!r} is not allowed; it is a whole number from {least}.")
    return value
