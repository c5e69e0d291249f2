"""Means, intervals, tests and tie groups of aligned values: over all queries, or slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, overload

from ranklens.comparison import groups
from ranklens.comparison.contrasts import Contrasts
from ranklens.comparison.effort import ComparisonSize, affordable
from ranklens.comparison.macro import MacroPair, Strata
from ranklens.comparison.results import Pairs, SystemResult
from ranklens.comparison.settings import Settings
from ranklens.comparison.significance import contrasts
from ranklens.comparison.slices import in_order, slices_of
from ranklens.stats import Clusters

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.comparison.alignment import Aligned, Quantity
    from ranklens.comparison.openness import Unjudged
    from ranklens.stats import Interval
    from ranklens.stats.ppi import Labels


class SystemResults(Sequence[SystemResult]):
    """The results of all systems, measure by measure: computed on first access, because intervals take time."""

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
    labels: Mapping[str, Labels] | None = None,
) -> dict[str | None, tuple[SystemResults, Pairs]]:
    """Results and pairs for each part of the queries, corrected over all parts."""
    tested = contrasts(aligned.quantities, aligned.systems, parts, settings, clusters, unjudged, labels)
    analysed = {}
    for name, values in parts.items():
        own_clusters = None if clusters is None else clusters.get(name)
        make = partial(_results, aligned, name, values, tested[name], settings.level, own_clusters)
        analysed[name] = SystemResults(make), Pairs(tested[name])
    return analysed


def _results(
    aligned: Aligned,
    part: str | None,
    values: Mapping[str, FloatArray],
    tested: Sequence[Contrasts],
    level: float,
    clusters: Clusters | None,
) -> tuple[SystemResult, ...]:
    letters_of = {
        one.quantity.name: dict(zip(one.systems, groups.letters(one.groups, len(one.systems)), strict=True))
        for one in tested
        if len(one.systems) > 1
    }
    powered = {one.quantity.name: one for one in tested if one.labels is not None}

    def result(quantity: Quantity, place: int, row: FloatArray) -> tuple[float, Interval | None]:
        one = powered.get(quantity.name)
        if one is None or one.labels is None:
            return quantity.mean(row), quantity.interval(row, level, clusters)
        return one.means[place], quantity.interval(row, level, clusters, one.labels.rows(place))

    return tuple(
        SystemResult(
            quantity.name,
            system,
            part,
            len(row),
            *result(quantity, place, row),
            letters_of.get(quantity.name, {}).get(system, ""),
        )
        for quantity in aligned.quantities
        for place, (system, row) in enumerate(zip(aligned.systems, values[quantity.name], strict=True))
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
    places: dict[str | None, list[int]] = {name: [] for name in in_order(slice_of.values())}
    for place, query in enumerate(aligned.query_ids):
        places[slice_of[query]].append(place)
    parts = {
        name: {measure: values.take(own, axis=1) for measure, values in aligned.values.items()}
        for name, own in places.items()
    }
    size = ComparisonSize(len(aligned.systems), len(aligned.quantities), len(aligned.query_ids), len(parts))
    settings = affordable(asked, size)
    labels = None
    if cluster_of is not None:
        labels = {name: [cluster_of[aligned.query_ids[i]] for i in own] for name, own in places.items()}
    clusters = None if labels is None else {name: Clusters.of(own) for name, own in labels.items()}
    slices = tuple(
        SliceResult(str(name), len(places[name]), *analysed)
        for name, analysed in analyse(aligned, parts, settings, clusters).items()
    )
    belonging = None if labels is None else [*labels.values()]
    strata = Strata(aligned.quantities, aligned.systems, parts, settings, belonging)
    tested = slices[0].pairs.parts
    macro_pairs = strata.pairs(tested[0].first, tested[0].second) if tested else ()
    return Sliced(slice_of, slices, tuple(strata.averages()), macro_pairs)
