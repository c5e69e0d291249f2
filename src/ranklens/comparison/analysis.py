"""Means, intervals, tests and tie groups of aligned values: over all queries, or slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, overload

import numpy as np

from ranklens.comparison import groups
from ranklens.comparison.clusters import by_label
from ranklens.comparison.contrasts import Contrasts
from ranklens.comparison.effort import ComparisonSize, affordable
from ranklens.comparison.macro import MacroPair, Strata
from ranklens.comparison.pairs import Pairs
from ranklens.comparison.results import SystemResult
from ranklens.comparison.settings import Settings
from ranklens.comparison.significance import contrasts
from ranklens.comparison.slices import in_order, slices_of

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.comparison.alignment import Aligned, Quantity
    from ranklens.comparison.openness import Unjudged
    from ranklens.stats import Clusters


class SystemResults(Sequence[SystemResult]):
    """The results of all systems, measure by measure: made when somebody looks at them, because intervals take time."""

    def __init__(self, make: Callable[[], Sequence[SystemResult]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Sequence[SystemResult]:
        return self._make()

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, place: int) -> SystemResult: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[SystemResult]: ...
    def __getitem__(self, place: int | slice) -> SystemResult | Sequence[SystemResult]:
        return self._made[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (SystemResults, tuple)) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(self._made)


@dataclass(frozen=True)
class SliceResult:
    """The same comparison over some of the queries."""

    name: str
    n: int
    results: Sequence[SystemResult]
    pairs: Pairs


def analyse(
    aligned: Aligned,
    parts: Mapping[str | None, Mapping[str, FloatArray]],
    settings: Settings,
    clusters: Mapping[str | None, Clusters] | None = None,
    unjudged: Unjudged | None = None,
) -> dict[str | None, tuple[SystemResults, Pairs]]:
    """Results and pairs for each part of the queries, corrected over all parts."""
    tested = contrasts(aligned.quantities, aligned.systems, parts, settings, clusters, unjudged)
    found = {}
    for name, values in parts.items():
        of_part = None if clusters is None else clusters.get(name)
        make = partial(
            _results, aligned.quantities, aligned.systems, name, values, tested[name], settings.level, of_part
        )
        found[name] = SystemResults(make), Pairs(tested[name])
    return found


def _results(
    quantities: Sequence[Quantity],
    systems: Sequence[str],
    part: str | None,
    values: Mapping[str, FloatArray],
    tested: Sequence[Contrasts],
    level: float,
    clusters: Clusters | None,
) -> tuple[SystemResult, ...]:
    letters_of = {one.quantity.name: _letters(one) for one in tested}
    return tuple(
        SystemResult(
            quantity.name,
            system,
            part,
            len(row),
            quantity.mean(row),
            quantity.interval(row, level, clusters),
            letters_of.get(quantity.name, {}).get(system, ""),
        )
        for quantity in quantities
        for system, row in zip(systems, values[quantity.name], strict=True)
    )


@dataclass(frozen=True)
class Sliced:
    """What was found slice by slice, and the slice of each query."""

    slice_of: Mapping[str, str] | None = None
    slices: tuple[SliceResult, ...] = ()
    macro: tuple[SystemResult, ...] = ()
    macro_pairs: tuple[MacroPair, ...] = ()


def analyse_slices(
    aligned: Aligned,
    by: object,
    queries: object,
    asked: Settings,
    cluster_of: Mapping[str, str] | None = None,
) -> Sliced:
    """The same comparison in each slice of the queries, and the mean over slices."""
    slice_of = slices_of(by, queries, aligned.query_ids)
    parts = _parts(aligned, slice_of)
    size = ComparisonSize(len(aligned.systems), len(aligned.quantities), len(aligned.query_ids), len(parts))
    settings = affordable(asked, size)
    clusters = None if cluster_of is None else _clusters(aligned.query_ids, slice_of, cluster_of)
    sizes = {name: next(iter(values.values())).shape[1] for name, values in parts.items()}
    slices = tuple(
        SliceResult(str(name), sizes[name], *found)
        for name, found in analyse(aligned, parts, settings, clusters).items()
    )
    belonging = None
    if cluster_of is not None:
        belonging = [
            [cluster_of[query] for query in aligned.query_ids if slice_of[query] == name] for name in parts
        ]
    strata = Strata(aligned.quantities, aligned.systems, parts, settings, belonging)
    tested = slices[0].pairs.parts
    macro_pairs = strata.pairs(tested[0].first, tested[0].second) if tested else ()
    return Sliced(slice_of, slices, tuple(strata.averages()), macro_pairs)


def _clusters(
    ids: Sequence[str], slice_of: Mapping[str, str], cluster_of: Mapping[str, str]
) -> dict[str | None, Clusters]:
    """Of each slice, in the order of its queries."""
    names = in_order(slice_of.values())
    return {name: by_label(cluster_of, [query for query in ids if slice_of[query] == name]) for name in names}


def _parts(aligned: Aligned, slice_of: Mapping[str, str]) -> dict[str | None, dict[str, FloatArray]]:
    """The values of each slice, from one sorting of the queries."""
    names = in_order(slice_of.values())
    place = {name: i for i, name in enumerate(names)}
    number = np.fromiter(
        (place[slice_of[query]] for query in aligned.query_ids), np.int64, len(aligned.query_ids)
    )
    order = np.argsort(number, kind="stable")
    edges = np.cumsum(np.bincount(number, minlength=len(names)))[:-1]
    split = {name: np.split(values[:, order], edges, axis=1) for name, values in aligned.values.items()}
    return {name: {measure: parts[i] for measure, parts in split.items()} for i, name in enumerate(names)}


def _letters(found: Contrasts) -> dict[str, str]:
    if len(found.systems) < 2:
        return {}
    texts = groups.letters(found.groups, len(found.systems))
    return dict(zip(found.systems, texts, strict=True))
