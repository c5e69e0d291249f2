"""A run without any judged query: for a command that is an error, because its zeros would pass for a result."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ranklens.errors import InputError, RankLensWarning


@contextmanager
def queries_in_common() -> Iterator[None]:
    """Turn the warning of :func:`ranklens.judge` into an error."""
    from ranklens.judging.assembly import NOTHING_IN_COMMON

    with warnings.catch_warnings():
        warnings.filterwarnings("error", NOTHING_IN_COMMON, RankLensWarning)
        try:
            yield
        except RankLensWarning as warning:
            raise InputError(str(warning)) from None


def refuse_mismatch(cautions: Iterable[str]) -> None:
    """The same for a comparison, which keeps warnings as cautions."""
    from ranklens.judging.assembly import NOTHING_IN_COMMON

    for caution in cautions:
        if NOTHING_IN_COMMON in caution:
            raise InputError(caution)
