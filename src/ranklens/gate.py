"""Whether numbers are good enough: pure functions, so that thresholds and gates mean the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ranklens.errors import InputError

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
    note: str = ""  # what to know about the value

    @property
    def sentence(self) -> str:
        """The text, and the note if there is one."""
        return f"{self.text} ({self.note})" if self.note else self.text


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
        try:
            text = str(given).strip()
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


def floors(
    means: Means, limits: Mapping[str, float], shown: Mapping[str, str] | None = None
) -> Iterator[Check]:
    """The mean of every system is at least the limit of each measure; ``shown`` has the names that people read."""
    for measure, limit in limits.items():
        for system, found in means.items():
            value = found[measure]
            passed = reaches(value, limit)
            text = f"{_called(measure, shown)} of {system}: {_against(value, limit, passed=passed)}"
            yield Check("floors", system, passed, value, limit, measure, text)


def regressions(
    means: Means,
    baseline: Mapping[str, float],
    limits: Mapping[str, Drop],
    shown: Mapping[str, str] | None = None,
) -> Iterator[Check]:
    """The mean of no system is further below the baseline's than allowed; ``shown`` has the names that people read."""
    for measure, drop in limits.items():
        floor = drop.floor(baseline[measure])
        for system, found in means.items():
            value = found[measure]
            passed = reaches(value, floor)
            why = f"{drop} below the baseline's {baseline[measure]:.4f}"
            text = f"{_called(measure, shown)} of {system}: {_against(value, floor, passed=passed)}, {why}"
            yield Check("max_regression", system, passed, value, floor, measure, text)


def failures(failed: Mapping[str, int], limit: int) -> Iterator[Check]:
    """No retriever failed for more queries than allowed."""
    for system, number in failed.items():
        text = f"failed calls of {system}: {number:,} {'<=' if number <= limit else '>'} allowed {limit:,}"
        yield Check("max_failed", system, number <= limit, number, limit, text=text)


def latencies(seconds: Mapping[str, float | None], limit: float) -> Iterator[Check]:
    """The 95th percentile of no retriever's seconds is above the limit; a retriever that never answered does not pass."""
    for system, value in seconds.items():
        passed = value is not None and value <= limit
        allowed = f"allowed {1000 * limit:,g} ms"
        if value is None:
            told = f"not known, because nothing was answered; {allowed}"
        else:
            told = f"{1000 * value:,.1f} ms {'<=' if passed else '>'} {allowed}"
        text = f"95th percentile of the latency of {system}: {told}"
        yield Check("max_latency_p95", system, passed, value, limit, text=text)


def _called(measure: str, shown: Mapping[str, str] | None) -> str:
    return (shown or {}).get(measure, measure)


def _against(value: float, floor: float, *, passed: bool) -> str:
    """A mean beside the least that is required.

    >>> _against(0.80279, 0.82, passed=False)
    '0.8028 < required 0.82'
    """
    return f"{value:.{_SHOWN}f} {'>=' if passed else '<'} required {floor:g}"
