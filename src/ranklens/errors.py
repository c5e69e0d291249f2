"""Everything RankLens raises on purpose, so that one ``except`` catches it all.

::

    RankLensError
    ├── InputError          rankings, judgments or records that cannot be read as such   (also a ValueError)
    ├── MeasureError        a measure's name or parameters                               (also a ValueError)
    ├── PolicyError         a policy that does not exist or that the measure does not support (also a ValueError)
    └── MissingExtraError   a feature whose optional dependency is not installed         (also an ImportError)

    RankLensWarning         results are valid, but something was counted, dropped or decided (a UserWarning)
    └── MismatchWarning     ids of the judgments and of the run do not match, so values are too low

Each message says what was given, where, what is allowed and what to do next. It is made of parts: text, and the options
that it names, which Python spells ``missing="zero"`` and the command line ``--missing zero``.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ranklens.redaction import redacted
from ranklens.words import either, in_one_line, readable, several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


class Option:
    """An option that a message names, perhaps with values to choose from.

    >>> str(Option("ties", "ascending", "input")), str(Option("depth"))
    ('ties="ascending" or "input"', 'depth')
    """

    def __init__(self, name: str, *values: Any) -> None:
        self.name, self.values = name, values

    def __str__(self) -> str:
        quoted = [f'"{value}"' if isinstance(value, str) else str(value) for value in self.values]
        return f"{self.name}={either(quoted)}" if quoted else self.name


class Given(Option):
    """An option with the value that was given.

    >>> str(Given("ties", "avrage"))
    "ties='avrage'"
    """

    def __str__(self) -> str:
        return f"{self.name}={self.values[0]!r}"


@dataclass(frozen=True)
class InPython:
    """Text that is for Python alone, and what a command and a configuration (else like the command) say in its place."""

    text: str
    command: str = ""
    key: str = ""

    def __str__(self) -> str:
        return self.text


class Message(Exception):  # noqa: N818  warnings are exceptions too
    """What errors and warnings have in common: a text in parts, and where to look, as far as that is known.

    A part that is an end of line starts a new line; ends of lines within other parts come from data, and are escaped.

    >>> error = PolicyError("It appears twice. Remove one, or choose ", Option("duplicates", "first"), ".", query="q1")
    >>> str(error), error.query
    ('It appears twice. Remove one, or choose duplicates="first".', 'q1')
    """

    def __init__(
        self,
        *parts: str | Option | InPython,
        path: str | None = None,
        line: int | None = None,
        query: Any = None,
        document: Any = None,
    ) -> None:
        self.parts = parts
        super().__init__(str(self))
        self.path, self.line, self.query, self.document = path, line, query, document

    def __str__(self) -> str:
        return self.spelled(_spelling.get())

    def spelled(self, spell: Callable[[Option | InPython], str]) -> str:
        """The text with options as a front end spells them."""
        texts = (part if isinstance(part, str) else spell(part) for part in self.parts)
        lines = "".join(text if text == "\n" else in_one_line(text) for text in texts)
        return readable(redacted(lines))

    def prefix(self, text: str) -> None:
        """Begin the message with ``text``, such as the name of the file that it is about."""
        self._say(text, *self.parts)

    def respell(self, spell: Callable[[Option | InPython], str]) -> None:
        """Keep the message as a front end spells it."""
        self._say(*(part if isinstance(part, str) else spell(part) for part in self.parts))

    def _say(self, *parts: str | Option | InPython) -> None:
        self.parts = parts
        self.args = (str(self),)


_spelling: ContextVar[Callable[[Option | InPython], str]] = ContextVar("spelling", default=str)


@contextmanager
def spelling(spell: Callable[[Option | InPython], str]) -> Iterator[None]:
    """Let messages name options as a front end does, wherever they are made text while the block runs."""
    token = _spelling.set(spell)
    try:
        yield
    finally:
        _spelling.reset(token)


class RankLensError(Message):
    """Base of all errors that RankLens raises on purpose."""


class InputError(RankLensError, ValueError):
    """Rankings, judgments or records that cannot be understood."""


class MeasureError(RankLensError, ValueError):
    """A measure that does not exist, or parameters that it does not take."""


class PolicyError(RankLensError, ValueError):
    """A policy that does not exist, or that a measure is not defined for."""


class MissingExtraError(RankLensError, ImportError):
    """A feature whose optional dependency is not installed."""


def polars_failures(*others: type[BaseException]) -> tuple[type[BaseException], ...]:
    """What Polars raises for tables that it cannot read, and others; some make it panic, and a panic is not even an Exception."""
    import polars as pl

    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, *others)


class RankLensWarning(Message, UserWarning):
    """The results are valid, but something was counted, dropped or decided on the way."""


class MismatchWarning(RankLensWarning):
    """Ids of the judgments and of the run do not match: values are lower than the ranking deserves.

    ``is_total`` says that no query matches, which is an error for commands; ``alike`` is how many ids would match if they were written
    the same way. Without any, queries may be missing for another reason.
    """

    def __init__(
        self, *parts: str | Option | InPython, total: bool = False, alike: int = 0, **where: Any
    ) -> None:
        super().__init__(*parts, **where)
        self.is_total, self.alike = total, alike


_TEXTS = 1_000  # of warnings in one module, until those of RankLens are forgotten and would be shown again
_heard: ContextVar[list[RankLensWarning] | None] = ContextVar("heard", default=None)


@contextmanager
def hearing() -> Iterator[list[RankLensWarning]]:
    """Keep the warnings of this block, to be told later; unlike ``warnings.catch_warnings``, in each thread for itself.

    >>> with hearing() as heard:
    ...     warn("It is empty.")
    >>> [str(one) for one in heard]
    ['It is empty.']
    """
    kept: list[RankLensWarning] = []
    token = _heard.set(kept)
    try:
        yield kept
    finally:
        _heard.reset(token)


def warn(message: str | RankLensWarning) -> None:
    """A :class:`RankLensWarning` that points at the line of the caller's code, however deep it is raised."""
    listener = _heard.get()
    if listener is not None:
        listener.append(RankLensWarning(message) if isinstance(message, str) else message)
        return
    depth, frame = 1, sys._getframe()  # noqa: SLF001
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "ranklens":
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    told = RankLensWarning(message) if isinstance(message, str) else message
    log(str(told), "WARNING", path=told.path, line=told.line, query=told.query, document=told.document)
    warnings.warn(told, stacklevel=depth)
    if frame is not None:
        _forget_texts(frame.f_globals.get("__warningregistry__", {}))


def log(text: str, level: str, **facts: object) -> bool:
    """Whether the logger ``ranklens`` took the line, for services that listen to it; ``facts`` become attributes of the record.

    Without a handler the record goes nowhere, and without ``logging`` in memory there is none, so it is not loaded here.
    """
    logging = sys.modules.get("logging")
    if logging is None:
        return False
    logger = logging.getLogger("ranklens")
    number = logging.getLevelName(level)
    if not logger.hasHandlers() or not logger.isEnabledFor(number):
        return False
    logger.log(number, text, extra=facts)
    return True


def _forget_texts(shown: dict[Any, Any]) -> None:
    """Python keeps every text that it has shown, to show it once; in a service, whose texts name ever new queries, that would never end."""
    if len(shown) > _TEXTS:
        for key in list(shown):
            if isinstance(key, tuple) and issubclass(key[1], RankLensWarning):
                shown.pop(key, None)


def about(name: str, warning: Warning | str) -> RankLensWarning:
    """A warning that was caught, with the name of what it is about before it."""
    found = warning if isinstance(warning, RankLensWarning) else RankLensWarning(str(warning))
    found.prefix(f"{name}: ")
    return found


def about_each(heard: Mapping[str, Sequence[Warning | str]]) -> list[RankLensWarning]:
    """Warnings that were caught, by the name of what each is about; what several share is said once.

    >>> [str(told) for told in about_each({"a": ["No id fits."], "b": ["No id fits.", "It is empty."]})]
    ['a and b: No id fits.', 'b: It is empty.']
    """
    names: dict[str, list[str]] = {}
    first: dict[str, Warning | str] = {}
    for name, warned in heard.items():
        for one in warned:
            first.setdefault(str(one), one)
            names.setdefault(str(one), []).append(name)
    return [about(several(list(dict.fromkeys(names[text]))), one) for text, one in first.items()]


def nearest(given: str, allowed: Iterable[str]) -> str:
    """The end of an error message: the closest allowed name, and all of them if they are few.

    >>> nearest("avrage", ["average", "input"])
    "did you mean 'average'? Allowed: 'average', 'input'."
    >>> nearest("random", ["average", "input"])
    "choose from 'average', 'input'."
    """
    names = list(allowed)
    hint, listed = closest(given, names), ", ".join(map(repr, names[:_LISTED]))
    if not names:
        return "there is none."
    if len(names) > _LISTED:
        return hint.rstrip() or f"there are {len(names):,}, such as {', '.join(map(repr, names[:3]))}."
    return f"{hint}Allowed: {listed}." if hint else f"choose from {listed}."


def closest(given: str, allowed: Iterable[str]) -> str:
    """The closest allowed name as a question, to be followed by more; nothing where none is close.

    >>> closest("avrage", ["average", "input"])
    "did you mean 'average'? "
    """
    import difflib  # rarely needed, and slow to load

    lower = {name.lower(): name for name in allowed}
    found = difflib.get_close_matches(given.lower(), lower, n=1, cutoff=0.6)
    return f"did you mean {lower[found[0]]!r}? " if found else ""


_LISTED = 12  # names at most
