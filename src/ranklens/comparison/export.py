"""A comparison as data: frames, and JSON as ``comparison.schema.json`` describes it."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ranklens import __version__
from ranklens.errors import InputError, nearest
from ranklens.words import finite

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.analysis import SystemResult
    from ranklens.comparison.pairs import PairResult, Pairs
    from ranklens.comparison.systems import Comparison
    from ranklens.stats import Interval

FORMAT_VERSION = 1  # of the JSON; 1: first version
_BRIEF = 10_000  # with more pairs, the interval of Hedges' g would take minutes, and is left out


def systems_frame(comparison: Comparison) -> pl.DataFrame:
    """One row per measure, system and slice; the slice is null for all queries together."""
    import polars as pl

    text, number = pl.String, pl.Float64
    schema = {
        "measure": text,
        "system": text,
        "slice": text,
        "n": pl.Int64,
        "mean": number,
        "low": number,
        "high": number,
        "group": text,
    }
    sliced = (result for part in comparison.slices for result in part.results)
    rows = [_system(result) for result in (*comparison.results, *sliced, *comparison.macro)]
    return _as_asked(comparison, pl.DataFrame(rows, schema=schema))


def pairs_frame(comparison: Comparison, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """One row per measure, pair and slice, with everything that is known about the pair, or some columns of it."""
    import polars as pl

    for name in columns or ():
        if name not in _PAIR_COLUMNS:
            raise InputError(f"Pairs have no column {name!r}: {nearest(name, _PAIR_COLUMNS)}")
    wanted = {name: _PAIR_COLUMNS[name] for name in columns or _PAIR_COLUMNS}
    found = (comparison.pairs, *(part.pairs for part in comparison.slices))
    rows = [row for pairs in found for row in _pairs(pairs, wanted)]
    kinds: dict[str, Any] = dict.fromkeys(_PAIR_COLUMNS, pl.Float64)
    kinds |= dict.fromkeys(("measure", "a", "b", "slice", "verdict"), pl.String)
    kinds |= dict.fromkeys(("n", "wins", "ties", "losses"), pl.Int64) | {"significant": pl.Boolean}
    return _as_asked(comparison, pl.DataFrame(rows, schema={name: kinds[name] for name in wanted}))


def queries_frame(comparison: Comparison) -> pl.DataFrame:
    """One row per query, measure and system: query, slice, measure, system, value."""
    import polars as pl

    ids, slice_of = comparison.query_ids, comparison.slice_of or {}
    parts = [
        pl.DataFrame(
            {
                "query": pl.Series(ids, dtype=pl.String),
                "slice": pl.Series([slice_of.get(q) for q in ids], dtype=pl.String),
                "measure": [measure] * len(ids),
                "system": [system] * len(ids),
                "value": row,
            }
        )
        for measure in comparison.measures
        for system, row in zip(comparison.systems, comparison.values(measure), strict=True)
    ]
    return _as_asked(comparison, pl.concat(parts))


def _as_asked(comparison: Comparison, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with measures in the spelling that was asked for."""
    shown = {name: comparison.shown(name) for name in comparison.measures}
    if "measure" not in frame.columns or all(name == asked for name, asked in shown.items()):
        return frame
    return frame.with_columns(frame["measure"].replace(shown))


def to_json(comparison: Comparison, *, indent: int | None = None) -> str:
    """Everything: settings, results, pairs, slices, values by query, policy, counts, versions."""
    return json.dumps(_content(comparison), ensure_ascii=False, allow_nan=False, indent=indent)


def _content(comparison: Comparison) -> dict[str, Any]:
    evaluated = comparison.scores
    policy = next(iter(evaluated.values())).policy if evaluated else None
    return {
        "format_version": FORMAT_VERSION,
        "versions": _versions(),
        "systems": list(comparison.systems),
        "measures": [_measure(comparison, name) for name in comparison.measures],
        "queries": list(comparison.query_ids),
        "settings": asdict(comparison.settings),
        "results": [_system(result) for result in comparison.results],
        "pairs": list(_pairs(comparison.pairs)),
        "slices": [
            {
                "name": part.name,
                "n": part.n,
                "results": [_system(result) for result in part.results],
                "pairs": list(_pairs(part.pairs)),
            }
            for part in comparison.slices
        ],
        "macro_averages": [_system(result) for result in comparison.macro],
        "slice_of": dict(comparison.slice_of) if comparison.slice_of is not None else None,
        "groups": {
            name: comparison.groups(name)
            for name in comparison.measures
            if comparison.quantity(name).is_tested
        },
        "verdicts": {name: comparison.verdict(name) for name in comparison.measures},
        "cautions": list(comparison.cautions),
        "values": {
            name: dict(zip(comparison.systems, comparison.values(name).tolist(), strict=True))
            for name in comparison.measures
        },
        "policy": asdict(policy) if policy is not None else None,
        "applied": {name: asdict(scores.judged.applied) for name, scores in evaluated.items()},
        "missing": dict(comparison.aligned.missing),
        "left_out": comparison.aligned.left_out,
        "status": {name: dict(counts) for name, counts in (comparison.status or {}).items()} or None,
        "latencies": {name: list(seconds) for name, seconds in (comparison.latencies or {}).items()} or None,
    }


def _measure(comparison: Comparison, name: str) -> dict[str, Any]:
    quantity = comparison.quantity(name)
    low, high = map(finite, quantity.bounds)
    return {
        "name": name,
        "asked": comparison.shown(name),
        "aggregate": quantity.aggregate,
        "better": quantity.better,
        "low": low,
        "high": high,
    }


def _system(result: SystemResult) -> dict[str, Any]:
    return {
        "measure": result.measure,
        "system": result.system,
        "slice": result.slice,
        "n": result.n,
        "mean": result.mean,
        **_ends(result.interval),
        "group": result.group,
    }


_PAIR_COLUMNS: Mapping[str, Callable[[PairResult], Any]] = {
    "measure": lambda pair: pair.measure,
    "a": lambda pair: pair.a,
    "b": lambda pair: pair.b,
    "slice": lambda pair: pair.slice,
    "n": lambda pair: pair.n,
    "mean_a": lambda pair: pair.mean_a,
    "mean_b": lambda pair: pair.mean_b,
    "difference": lambda pair: pair.difference,
    "low": lambda pair: finite(pair.interval.low),
    "high": lambda pair: finite(pair.interval.high),
    "p_value": lambda pair: pair.p_value,
    "adjusted_p": lambda pair: pair.adjusted_p,
    "significant": lambda pair: pair.significant,
    "cohen_dz": lambda pair: finite(pair.effect.cohen_dz),
    "hedges_g": lambda pair: finite(pair.effect.hedges_g),
    "hedges_g_low": lambda pair: finite(pair.effect.hedges_g_interval.low),
    "hedges_g_high": lambda pair: finite(pair.effect.hedges_g_interval.high),
    "probability": lambda pair: pair.effect.probability,
    "probability_low": lambda pair: finite(pair.effect.probability_interval.low),
    "probability_high": lambda pair: finite(pair.effect.probability_interval.high),
    "wins": lambda pair: pair.wins,
    "ties": lambda pair: pair.ties,
    "losses": lambda pair: pair.losses,
    "detectable": lambda pair: finite(pair.detectable),
    "verdict": lambda pair: pair.verdict,
}
_SLOW = ("hedges_g_low", "hedges_g_high")


def _pairs(
    pairs: Pairs, columns: Mapping[str, Callable[[PairResult], Any]] = _PAIR_COLUMNS
) -> Iterator[dict[str, Any]]:
    if len(pairs) > _BRIEF:
        columns = {name: (lambda _: None) if name in _SLOW else value for name, value in columns.items()}
    return ({name: value(pair) for name, value in columns.items()} for pair in pairs)


def _ends(around: Interval | None) -> dict[str, float | None]:
    low, high = around if around is not None else (math.inf, math.inf)
    return {"low": finite(low), "high": finite(high)}


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("numpy", "scipy", "polars")}
    return {"ranklens": __version__, **packages, "python": platform.python_version()}
