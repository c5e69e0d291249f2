"""How much resampling a comparison can afford; which test replaces the default one where it would take too long."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ranklens.errors import Given, InputError, Option
from ranklens.stats.significance import DEFAULT_TEST, Workload
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.comparison.settings import Settings

_DRAWS = 10**9  # of queries in all, before there are fewer resamples
_FEWEST = 10_000  # resamples, with which the standard error of p = 0.05 is 0.002
_PATIENCE = 60.0  # seconds
# The default was not chosen by name, and with this many queries the t test gives the same answer.
_PATIENCE_BY_DEFAULT = 5.0


@dataclass(frozen=True)
class ComparisonSize:
    """How much is compared."""

    systems: int
    measures: int
    queries: int
    slices: int = 1

    def pairs(self, settings: Settings) -> int:
        with_all = self.systems * (self.systems - 1) // 2
        return with_all if settings.baseline is None else self.systems - 1

    def tests(self, settings: Settings) -> int:
        """How many are corrected together."""
        return self.pairs(settings) * self.slices * (self.measures if settings.family == "all" else 1)


def affordable(asked: Settings, size: ComparisonSize) -> Settings:
    """The number of resamples for this many queries, and another test if the default one would take too long.

    A test that the caller named is never replaced: it runs, or is refused.
    """
    settings = replace(asked, resamples=_resamples(asked, size))
    hurdle = obstacle(settings, size)
    if hurdle is None:
        return settings
    if not settings.is_default:
        raise InputError(
            Given("test", settings.test),
            f" is not possible here: {hurdle}. Omit ",
            Option("test"),
            ", choose ",
            Option("test", settings.procedure.instead),
            ", or compare fewer pairs with ",
            Option("baseline"),
            ".",
        )
    return replace(settings, test=settings.procedure.instead)


def obstacle(settings: Settings, size: ComparisonSize) -> str | None:
    """Why a test cannot be done: it would take too long, or show nothing; None if it can."""
    settings = replace(settings, resamples=_resamples(settings, size))
    tests = size.tests(settings)
    if corrected_away(settings, tests):
        return (
            f"with {settings.resamples:,} resamples no p-value stays small when corrected for {tests:,} tests"
        )
    nanoseconds = settings.procedure.nanoseconds
    if nanoseconds is None:
        return None
    each = nanoseconds(Workload(size.systems, size.pairs(settings), size.measures, size.queries))
    seconds = 1e-9 * each * settings.resamples
    is_chosen = not settings.is_default or settings.test != DEFAULT_TEST
    if seconds <= (_PATIENCE if is_chosen else _PATIENCE_BY_DEFAULT):
        return None
    minutes = max(1, round(seconds / 60))
    return f"{settings.resamples:,} resamples of {counted(size.queries, 'query')} would take about {counted(minutes, 'minute')}"


def corrected_away(settings: Settings, tests: int) -> bool:
    """Whether no p-value of a resampled test stays small.

    The smallest is one in the number of resamples. Corrected for many tests that is not small, so all systems would look alike.
    """
    too_many = 2 * tests > settings.alpha * settings.resamples
    return settings.procedure.is_resampled and too_many


def _resamples(settings: Settings, size: ComparisonSize) -> int:
    """Fewer where there are very many queries, but enough for the smallest corrected p-value to be a twentieth of alpha."""
    most = settings.procedure.most_resamples
    if not most:
        return settings.resamples
    needed = 0 if settings.is_of_all_pairs else math.ceil(20 * size.tests(settings) / settings.alpha)
    return min(most, max(_FEWEST, needed, _DRAWS // size.queries // 1000 * 1000))
