"""Systems ranked by several sets of judgments: their means, and how far the orders agree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, cast

from ranklens.data.files.collection import open_collection
from ranklens.data.qrels import read_qrels
from ranklens.data.readers.objects import is_path
from ranklens.errors import InputError
from ranklens.judging.documents import ranking
from ranklens.judging.prepared import kept
from ranklens.scores import Scores
from ranklens.scores.evaluation import evaluate
from ranklens.stats.orders import tau
from ranklens.tables.table import Table
from ranklens.words import kind

if TYPE_CHECKING:
    from ranklens.assessment.ratings import Ratings
    from ranklens.metrics import Measure


def named_runs(qrels: object, runs: object) -> dict[str, object]:
    """Runs by name, from a mapping, a path or a list of paths; each can be read more than once."""
    paths = [runs] if is_path(runs) else runs
    if isinstance(paths, Mapping):
        opened = open_collection(qrels, {str(name): run for name, run in paths.items()}).runs
    elif isinstance(paths, Sequence) and paths and all(map(is_path, paths)):
        opened = open_collection(qrels, [os.fspath(cast("str", path)) for path in paths]).runs
    else:
        raise InputError(f"runs is {kind(runs)}: pass {{name: run}} or a list of paths.")
    return {name: list(run) if isinstance(run, Iterator) else run for name, run in opened.items()}


def scored(qrels: object, runs: Mapping[str, object], measure: str | Measure) -> dict[str, Scores]:
    """Each run by one measure."""
    gold = kept(read_qrels(qrels))
    return {name: evaluate(gold, run, [measure]) for name, run in runs.items()}


def means(scores: Mapping[str, Scores]) -> dict[str, float]:
    """The mean of each system by the one measure of its scores."""
    return {name: next(iter(one.mean.values())) for name, one in scores.items()}


@dataclass(frozen=True)
class OrdersAgree:
    """Two orders of the same systems: Kendall's tau, tau AP (where the top counts most), and the largest change of a rank."""

    tau: float
    tau_ap: float
    moved: int  # by how many ranks at most
    system: str  # that moved this far

    @classmethod
    def of(cls, before: Mapping[str, float], after: Mapping[str, float]) -> OrdersAgree:
        """Of means by system, where higher ones come first; ``before`` is what should come out."""
        places = [
            {name: place for place, name in enumerate(sorted(one, key=lambda name: -one[name]))}
            for one in (before, after)
        ]
        moves = {name: abs(places[0][name] - places[1][name]) for name in before}
        system = max(moves, key=moves.__getitem__)
        return cls(tau(after, before), tau(after, before, kind="ap"), moves[system], system)

    @property
    def words(self) -> str:
        moved = (
            f"{self.system} moves {self.moved} rank{'s' * (self.moved > 1)}"
            if self.moved
            else "no system changes its rank"
        )
        return f"tau {self.tau:.2f}, tau AP {self.tau_ap:.2f}; {moved}"


@dataclass(frozen=True)
class SystemsChange:
    """How much means of systems, and their order, depend on the assessor."""

    measure: str
    means: Mapping[str, Mapping[str, float]]  # assessor → system → mean
    orders: Mapping[tuple[str, str], OrdersAgree]  # of each two assessors

    @classmethod
    def of(cls, qrels: object, ratings: Ratings, runs: object, measure: str | Measure) -> SystemsChange:
        """Every system by the judgments of each assessor, over the queries that all have judged."""
        by_assessor = [ratings.by_query(column) for column in ratings.grades.T]
        common = set.intersection(*(set(one) for one in by_assessor))
        if not common:
            raise InputError(
                "No query was judged by all assessors, so what their judgments say of systems cannot be compared."
            )
        opened = named_runs(qrels, runs)
        found = {
            name: means(scored({query: one[query] for query in one if query in common}, opened, measure))
            for name, one in zip(ratings.assessors, by_assessor, strict=True)
        }
        pairs = combinations(found, 2) if len(opened) > 1 else ()
        return cls(str(measure), found, {(a, b): OrdersAgree.of(found[a], found[b]) for a, b in pairs})

    @property
    def spread(self) -> tuple[float, str]:
        """By how much the mean of a system differs between assessors at most, and which system that is."""
        systems = next(iter(self.means.values()))
        ranges = {name: [by[name] for by in self.means.values()] for name in systems}
        system = max(ranges, key=lambda name: max(ranges[name]) - min(ranges[name]))
        return max(ranges[system]) - min(ranges[system]), system

    def lines(self) -> list[str]:
        """What that amounts to, in sentences."""
        spread, system = self.spread
        said = [f"Who judges changes {self.measure} by up to {spread:.3f} ({system})."]
        if self.orders:
            (a, b), worst = min(self.orders.items(), key=lambda one: one[1].tau)
            number = len(next(iter(self.means.values())))
            said.append(f"The order of {number} systems by {a} and by {b}: {worst.words}.")
        return said

    def table(self) -> Table:
        """One row per system, one column per assessor."""
        first, *_ = self.means.values()
        ranked = sorted(first, key=lambda name: -first[name])
        rows = [[name, *(f"{by[name]:.4f}" for by in self.means.values())] for name in ranked]
        return Table(["system", *self.means], rows, title=f"{self.measure} by the judgments of each assessor")


def retrieved_by(qrels: object, run: object, depth: int | None) -> Iterator[tuple[str, str]]:
    """The query and id of each retrieved document of judged queries, down to a rank."""
    rows = ranking(qrels, run, depth=depth).select("query", "doc")
    yield from rows.iter_rows()
