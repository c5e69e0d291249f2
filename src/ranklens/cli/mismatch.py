"""Runs and judgments whose ids do not match: without any query in common a command ends with an error, as its zeros would pass for a result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ranklens.errors import InputError, MismatchWarning, RankLensWarning, hearing, warn


@contextmanager
def queries_in_common() -> Iterator[None]:
    """Refuse a run without any judged query; other warnings of the block are passed on."""
    with hearing() as heard:
        yield
    refuse_total(heard)
    for told in heard:
        warn(told)


@contextmanager
def only_mismatches() -> Iterator[None]:
    """The same where other warnings are kept elsewhere, as a comparison does with its cautions."""
    with hearing() as heard:
        yield
    refuse_total(heard)
    for told in heard:
        if isinstance(told, MismatchWarning):
            warn(told)


def refuse_total(heard: Iterable[RankLensWarning]) -> None:
    """Raise the warning that no query matches."""
    for told in heard:
        if isinstance(told, MismatchWarning) and told.is_total:
            raise InputError(*told.parts)
