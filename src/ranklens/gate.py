"""Whether numbers are good enough: pure functions, so that thresholds and gates mean the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ranklens.errors import InputError
from ranklens.words import counted

_SHOWN = 4  # decimals in every table

Means = Mapping[str, Mapping[str, float]]  # by system and measure


def reaches(value: float, floor: float) -> bool:
    """Whether ``value`` is at least ``floor``, as far as tables show it: what reads 0.8000 passes a floor of 0.8.

    >>> reaches(0.79996, 0.8), reaches(0.79994, 0.8)
    (True, False)
    """
    return round(value, _SHOWN) >= floor or value >= floor


@dataclass(frozen=True)
class Check:
    """One thing that must hold for a system."""

    gate: str
    system: str
    passed: bool
    value: float | None
    limit: float
    measure: str | None = None
    text: str = ""


@dataclass(frozen=True)
class Drop:
    """How far a mean may fall below the baseline's: by an amount, or by a share of it.

    >>> Drop.parse("2%"), Drop.parse(0.01).floor(0.5)
    (Drop(amount=0.02, relative=True), 0.49)
    """

    amount: float
    relative: bool = False

    @classmethod
    def parse(cls, given: Any) -> Drop:
        text = str(given).strip()
        try:
            drop = cls(float(text.removesuffix("%")) / 100, True) if text.endswith("%") else cls(float(text))
        except ValueError:
            drop = cls(-1)
        if isinstance(given, bool) or not 0 <= drop.amount < float("inf"):
            raise InputError(f"{given!r} is not allowed: it is a number from 0, or text such as '2%'.")
        return drop

    def floor(self, baseline: float) -> float:
        return baseline - (self.amount * abs(baseline) if self.relative else self.amount)

    def __str__(self) -> str:
        return f"{100 * self.amount:g}%" if self.relative else f"{self.amount:g}"


def floors(means: Means, limits: Mapping[str, float]) -> Iterator[Check]:
    """The mean of every system is at least the limit of each measure."""
    for measure, limit in limits.items():
        for system, found in means.items():
            value = found[measure]
            text = f"{measure} of {system} is {value:.4f}, at least {limit:g}"
            yield Check("floors", system, reaches(value, limit), value, limit, measure, text)


def regressions(means: Means, baseline: Mapping[str, float], limits: Mapping[str, Drop]) -> Iterator[Check]:
    """The mean of no system is further below the baseline's than allowed."""
    for measure, drop in limits.items():
        floor = drop.floor(baseline[measure])
        for system, found in means.items():
            value = found[measure]
            text = f"{measure} of {system} is {value:.4f}, at most {drop} below the baseline's {baseline[measure]:.4f}"
            yield Check("max_regression", system, reaches(value, floor), value, floor, measure, text)


def failures(failed: Mapping[str, int], limit: int) -> Iterator[Check]:
    """No retriever failed for more queries than allowed."""
    for system, number in failed.items():
        text = f"{counted(number, 'query')} of {system} failed; at most {limit:,} may fail"
        yield Check("max_failed", system, number <= limit, number, limit, text=text)


def latencies(seconds: Mapping[str, float | None], limit: float) -> Iterator[Check]:
    """The 95th percentile of no retriever's seconds is above the limit; a retriever that never answered does not pass."""
    for system, value in seconds.items():
        told = "unknown, because no query was answered" if value is None else f"{1000 * value:,.1f} ms"
        text = f"95th percentile of the latency of {system} is {told}, at most {1000 * limit:,g} ms"
        yield Check("max_latency_p95", system, value is not None and value <= limit, value, limit, text=text)
