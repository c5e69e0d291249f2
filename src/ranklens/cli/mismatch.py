"""A run without any judged query: for a command that is an error, because its zeros would pass for a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ranklens.errors import InputError, hearing, warn

if TYPE_CHECKING:
    from ranklens.config.result import BenchResult


@contextmanager
def queries_in_common() -> Iterator[None]:
    """Turn the warning of :func:`ranklens.judge` into an error."""
    from ranklens.judging.assembly import NOTHING_IN_COMMON

    with hearing() as heard:
        yield
    for told in heard:
        if NOTHING_IN_COMMON in str(told):
            raise InputError(str(told))
        warn(told)


def refuse_mismatch(cautions: Iterable[str]) -> None:
    """The same for a comparison, which keeps warnings as cautions."""
    from ranklens.judging.assembly import NOTHING_IN_COMMON

    for caution in cautions:
        if NOTHING_IN_COMMON in caution:
            raise InputError(caution)


def with_queries_in_common(work: Callable[[], BenchResult]) -> BenchResult:
    """The same for a configuration, whose results may be compared or not."""
    with queries_in_common():
        result = work()
    if result.comparison is not None:
        refuse_mismatch(result.comparison.cautions)
    return result
