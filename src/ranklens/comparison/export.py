"""A comparison as data: frames, and JSON as ``comparison.schema.json`` describes it."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from secrets import token_hex
from typing import TYPE_CHECKING

import numpy as np

from ranklens import __version__
from ranklens.errors import InputError, nearest
from ranklens.stats import probabilities
from ranklens.stats.effects import METHODS
from ranklens.words import finite

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.contrasts import PairBlock
    from ranklens.comparison.results import Pairs, SystemResult
    from ranklens.stats import Interval

FORMAT_VERSION = 1  # of the JSON; 1: first version
# Pairs; with more, sentences are useless and take more room and time than all numbers.
MOST_SENTENCES = 5_000


def systems_frame(comparison: Comparison) -> pl.DataFrame:
    """One row per measure, system and slice; the slice is null for all queries together. Teams are a column, if they are known."""
    import polars as pl

    names = ["measure", "system", "slice", "n", "mean", "low", "high", "method", "group"]
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.String)
    schema |= dict.fromkeys(("mean", "low", "high"), pl.Float64) | {"n": pl.Int64}
    sliced = (result for part in comparison.slices for result in part.results)
    rows = [_system(result) for result in (*comparison.results, *sliced, *comparison.macro)]
    frame = _as_asked(comparison, pl.DataFrame(rows, schema=schema))
    if comparison.teams is None:
        return frame
    teams = [comparison.teams[system] for system in frame["system"]]
    return frame.with_columns(pl.Series("team", teams, dtype=pl.String))


def pairs_frame(comparison: Comparison, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """One row per measure, pair and slice, with everything that is known about the pair, or some columns of it."""
    import polars as pl

    for name in columns or ():
        if name not in _PAIR_COLUMNS:
            raise InputError(f"Pairs have no column {name!r}: {nearest(name, _PAIR_COLUMNS)}")
    wordy, wanted = columns is not None or not _has_many_pairs(comparison), columns or tuple(_PAIR_COLUMNS)
    tables = [table for pairs in _all_pairs(comparison) for table in _pairs(pairs, wanted, wordy=wordy)]
    return _as_asked(comparison, pl.concat(tables))


def _all_pairs(comparison: Comparison) -> tuple[Pairs, ...]:
    return comparison.pairs, *(part.pairs for part in comparison.slices)


def _has_many_pairs(comparison: Comparison) -> bool:
    return sum(map(len, _all_pairs(comparison))) > MOST_SENTENCES


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
    write = partial(json.dumps, ensure_ascii=False, allow_nan=False, indent=indent)
    wordy = not _has_many_pairs(comparison)
    if indent is not None:

        def rows(part: Pairs | FloatArray) -> list[object]:
            if isinstance(part, np.ndarray):
                return list(part.tolist())
            return [row for table in _pairs(part, wordy=wordy) for row in table.to_dicts()]

        return write(_content(comparison), default=rows)
    # There may be very many pairs and values: they are written piece by piece, where a mark stands for them.
    mark, waiting = token_hex(), []

    def later(part: Pairs | FloatArray) -> str:
        waiting.append(part)
        return mark

    outline = write(_content(comparison), default=later).split(f'"{mark}"')
    text = outline[0]  # grows where it is; a join would hold everything twice
    for part, after in zip(waiting, outline[1:], strict=True):
        if isinstance(part, np.ndarray):
            text += json.dumps(part.tolist())
        else:
            text += "["
            for place, table in enumerate(filter(len, _pairs(part, wordy=wordy))):
                text += (", " if place else "") + table.write_json()[1:-1]
            text += "]"
        text += after
    return text


def probabilities_frame(comparison: Comparison, rope: float, method: str) -> pl.DataFrame:
    """One row per measure and pair: how likely b is better than a, practically equal, and worse."""
    import polars as pl

    rows = []
    for part in comparison.pairs.parts:
        for i, j in zip(part.first.tolist(), part.second.tolist(), strict=True):
            one = probabilities(*part.units[[i, j]], rope=rope, method=method, rng=comparison.seed)
            better, worse = one.better, one.worse
            if part.quantity.better == "lower":
                better, worse = worse, better
            names = comparison.shown(part.quantity.name), part.systems[i], part.systems[j]
            rows.append((*names, better, one.equal, worse, one.method))
    columns = ("measure", "a", "b", "better", "equal", "worse", "method")
    kinds = {name: pl.Float64 if name in ("better", "equal", "worse") else pl.String for name in columns}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def _content(comparison: Comparison) -> dict[str, object]:
    evaluated = comparison.scores
    policies = [scores.policy for scores in evaluated.values() if scores.knows_policy]
    policy = policies[0] if policies else None
    return {
        "format_version": FORMAT_VERSION,
        "versions": {
            "ranklens": __version__,
            **{package: version(package) for package in ("numpy", "scipy", "polars")},
            "python": platform.python_version(),
        },
        "inputs": comparison.inputs.hashes(),
        "systems": list(comparison.systems),
        "teams": dict(comparison.teams) if comparison.teams is not None else None,
        "measures": [measure_row(comparison, name) for name in comparison.measures],
        "queries": list(comparison.query_ids),
        "settings": asdict(comparison.settings),
        "results": [_system(result) for result in comparison.results],
        "pairs": comparison.pairs,
        "slices": [
            {
                "name": part.name,
                "n": part.n,
                "results": [_system(result) for result in part.results],
                "pairs": part.pairs,
            }
            for part in comparison.slices
        ],
        "macro_averages": [_system(result) for result in comparison.macro],
        "macro_pairs": [
            {
                **{name: value for name, value in asdict(pair).items() if name != "interval"},
                **_ends(pair.interval),
            }
            for pair in comparison.macro_pairs
        ],
        "slice_of": dict(comparison.slice_of) if comparison.slice_of is not None else None,
        "cluster_of": dict(comparison.cluster_of) if comparison.cluster_of is not None else None,
        "groups": {
            name: comparison.groups(name)
            for name in comparison.measures
            if comparison.quantity(name).is_tested
        },
        "verdicts": {name: comparison.verdict(name) for name in comparison.measures},
        "conclusion": comparison.conclusion or None,
        "bounds": {
            name: {system: list(ends) for system, ends in ranges.items()}
            for name, ranges in comparison.cheap_bounds.items()
        },
        "open": {name: [list(pair) for pair in pairs] for name, pairs in comparison.open_pairs.items()},
        "cautions": list(comparison.cautions),
        "values": {
            name: dict(zip(comparison.systems, comparison.values(name), strict=True))
            for name in comparison.measures
        },
        **({} if comparison.aligned.labelled is None else {"machine": _machine(comparison)}),
        "policy": asdict(policy) if policy is not None else None,
        "applied": {name: asdict(scores.applied) for name, scores in evaluated.items()},
        "missing": dict(comparison.aligned.missing),
        "left_out": comparison.aligned.left_out,
        "status": {name: dict(counts) for name, counts in (comparison.status or {}).items()} or None,
        "latencies": {name: list(seconds) for name, seconds in (comparison.latencies or {}).items()} or None,
        "spent": {what: dict(sums) for what, sums in comparison.spent.items()},
    }


def _machine(comparison: Comparison) -> dict[str, object]:
    """The values by a model's labels."""
    labelled = comparison.aligned.labelled
    assert labelled is not None
    values = {
        name: dict(
            zip(comparison.systems, np.hstack([labelled.on_human[name], labelled.only[name]]), strict=True)
        )
        for name in comparison.measures
    }
    return {"queries": list(comparison.aligned.every_query), "values": values}


def measure_row(comparison: Comparison, name: str) -> dict[str, object]:
    """What is known of a measure."""
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


def _system(result: SystemResult) -> dict[str, object]:
    names = ("measure", "system", "slice", "n", "mean")
    return {
        **{name: getattr(result, name) for name in names},
        **_ends(result.interval),
        "group": result.group,
    }


def _ends(interval: Interval | None) -> dict[str, object]:
    """An interval as data; an end without limit is null, as in all columns."""
    if interval is None:
        return dict.fromkeys(("low", "high", "method"))
    return {"low": finite(interval.low), "high": finite(interval.high), "method": interval.method}


_PAIR_COLUMNS: Mapping[str, Callable[[PairBlock], object]] = {
    "measure": lambda block: block.contrasts.quantity.name,
    "a": lambda block: _named(block, block.a),
    "b": lambda block: _named(block, block.b),
    "slice": lambda block: block.contrasts.part,
    "n": lambda block: block.effects.n,
    "mean_a": lambda block: np.array(block.contrasts.means)[block.a],
    "mean_b": lambda block: np.array(block.contrasts.means)[block.b],
    "difference": lambda block: block.difference,
    "low": lambda block: block.effects.low,
    "high": lambda block: block.effects.high,
    "method": lambda block: [METHODS[place] for place in block.effects.method.tolist()],
    "test": lambda block: block.contrasts.terms.done,
    "p_value": lambda block: block.contrasts.p_values[block.index],
    "adjusted_p": lambda block: block.contrasts.adjusted[block.index],
    "significant": lambda block: block.contrasts.significant[block.index],
    "cohen_dz": lambda block: block.effects.cohen_dz,
    "hedges_g": lambda block: block.effects.hedges_g,
    "hedges_g_low": lambda block: block.effects.hedges_g_ends[0],
    "hedges_g_high": lambda block: block.effects.hedges_g_ends[1],
    "probability": lambda block: block.effects.probability,
    "probability_low": lambda block: block.effects.probability_ends[0],
    "probability_high": lambda block: block.effects.probability_ends[1],
    "cliff_delta": lambda block: block.contrasts.cliff[block.a, block.b],
    "wins": lambda block: block.effects.wins,
    "ties": lambda block: block.effects.n - block.effects.wins - block.effects.losses,
    "losses": lambda block: block.effects.losses,
    "detectable": lambda block: block.detectable,
    "decision": lambda block: block.decisions(),
    "verdict": lambda block: block.verdicts(),
}


def _named(block: PairBlock, systems: IntArray) -> list[str]:
    return [block.contrasts.systems[system] for system in systems.tolist()]


def _pairs(
    pairs: Pairs, columns: Sequence[str] = tuple(_PAIR_COLUMNS), *, wordy: bool = True
) -> Iterator[pl.DataFrame]:
    """The pairs as tables, some at a time; numbers without limit are null. Without verdicts where these are too many."""
    import polars as pl

    kinds: dict[str, type[pl.DataType]] = dict.fromkeys(_PAIR_COLUMNS, pl.Float64)
    kinds |= dict.fromkeys(("measure", "a", "b", "slice", "method", "test", "decision", "verdict"), pl.String)
    kinds |= dict.fromkeys(("n", "wins", "ties", "losses"), pl.Int64) | {"significant": pl.Boolean}
    schema = {name: kinds[name] for name in columns if wordy or name != "verdict"}
    yield pl.DataFrame(schema=schema)
    endless = [pl.col(name).is_finite() for name, kind in schema.items() if kind == pl.Float64]
    for part in pairs.parts:
        for block in part.blocks():
            table = pl.DataFrame({name: _PAIR_COLUMNS[name](block) for name in schema}, schema=schema)
            yield table.with_columns(
                pl.when(is_finite).then(pl.col(is_finite.meta.output_name())) for is_finite in endless
            )
