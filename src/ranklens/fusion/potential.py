"""What could fusion reach? :func:`fusion_potential` says which pair of runs is worth fusing, before anything is tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ranklens.arrays import BoolArray, FloatArray
from ranklens.data.qrels import read_qrels
from ranklens.fusion.fusing import blocks, one_measure, opened_runs
from ranklens.fusion.lists import Lists
from ranklens.judging import documents
from ranklens.metrics import Measure
from ranklens.scores.evaluation import evaluate
from ranklens.stats.overlap import rbo
from ranklens.tables.table import Lines, Printout, Table

_OVERLAP_DEPTH = 100  # documents of each ranking that rank-biased overlap looks at; at p = 0.9 the rest weighs under 0.003%


@dataclass(frozen=True)
class RunPotential:
    """One run: its value, and what only this run finds."""

    run: str
    mean: float
    recall: float
    unique: int  # relevant documents that no other run retrieved


@dataclass(frozen=True)
class PairPotential:
    """Two runs: what both find together, the better one of each query, and how much their documents overlap."""

    a: str
    b: str
    recall: float  # of the union
    gained: float  # recall of the union minus that of the better run
    oracle: float  # mean of the better value of each query
    jaccard: float
    rbo: float


@dataclass(frozen=True, eq=False)
class FusionPotential:
    """What fusing these runs could reach at best; made by :func:`fusion_potential`."""

    measure: Measure
    depth: int
    runs: tuple[RunPotential, ...]
    pairs: tuple[PairPotential, ...]  # the one that gains most recall first
    recall: float  # of the union of all runs
    oracle: float  # mean over queries of the best run's value
    oracle_values: Mapping[str, float]

    @property
    def table(self) -> Table:
        """One row per pair."""
        rows = [
            [
                f"{pair.a} and {pair.b}",
                *(
                    f"{value:.4f}"
                    for value in (pair.recall, pair.gained, pair.oracle, pair.jaccard, pair.rbo)
                ),
            ]
            for pair in self.pairs
        ]
        return Table(("pair", f"R@{self.depth}", "gained", f"oracle {self.measure}", "Jaccard", "RBO"), rows)

    @property
    def runs_table(self) -> Table:
        """One row per run."""
        rows = [[run.run, f"{run.mean:.4f}", f"{run.recall:.4f}", f"{run.unique:,}"] for run in self.runs]
        return Table(("run", str(self.measure), f"R@{self.depth}", "found by it alone"), rows)

    def printout(self) -> Printout:
        """Both tables, and what follows from them."""
        best, single = self.pairs[0], max(self.runs, key=lambda run: run.mean)
        lines = [
            f"Together, all runs reach a recall of {self.recall:.4f}; {best.a} and {best.b} complement each other most (+{best.gained:.4f}).",
            f"Picking the best run for each query would give {self.oracle:.4f} in {self.measure}, versus {single.mean:.4f} with {single.run}. "
            "Fusion can do better than that, since it can rank a query better than any single run, or worse.",
        ]
        return Printout([self.runs_table, self.table, Lines("What fusion could reach", lines)])

    def __str__(self) -> str:
        return str(self.printout())

    def _repr_html_(self) -> str:
        return self.printout().to_html()


def fusion_potential(
    qrels: object, runs: object, measure: str | Measure = "nDCG@10", *, depth: int = 100, p: float = 0.9
) -> FusionPotential:
    """How much the runs complement each other: recall of their union, documents only one finds, overlap, and the best run per query.

    >>> potential = fusion_potential({"q": {"x", "y"}}, {"a": {"q": ["x", "z"]}, "b": {"q": ["y", "z"]}}, "R@2")
    >>> potential.recall, [run.recall for run in potential.runs], potential.pairs[0].jaccard
    (1.0, [0.5, 0.5], 0.3333333333333333)
    """
    gold, opened, one = read_qrels(qrels), opened_runs(runs), one_measure(measure)
    scores = {name: evaluate(gold, run, [one]) for name, run in opened.items()}
    values = np.stack([found[one] for found in scores.values()])
    place = {query: row for row, query in enumerate(next(iter(scores.values())).queries)}
    relevant: list[set[str]] = [set() for _ in place]
    for query, doc, grade in documents.judgments(gold).iter_rows():
        if grade >= 1 and query in place:
            relevant[place[query]].add(doc)
    total = np.array([max(len(docs), 1) for docs in relevant])
    pairs = list(combinations(range(len(opened)), 2))
    hit_rows, hits, overlaps = [], [], []
    for block in blocks(opened):
        lists = block.first(depth)
        row = np.array([place.get(query, -1) for query in lists.queries])[lists.query]
        is_hit = np.array(
            [at >= 0 and doc in relevant[at] for at, doc in zip(row.tolist(), lists.docs, strict=True)], bool
        )
        hit_rows.append(row[is_hit])
        hits.append(lists.retrieved[is_hit])
        overlaps.append(_overlaps(lists, pairs, p))
    row, hit, overlap = np.concatenate(hit_rows), np.concatenate(hits), np.concatenate(overlaps)

    def recall(found: BoolArray) -> float:
        return float((np.bincount(row, found, len(total)) / total).mean())

    names = list(opened)
    recalls = [recall(hit[:, run]) for run in range(len(names))]
    alone = hit[hit.sum(axis=1) == 1].sum(axis=0).tolist()
    of_pairs = [
        PairPotential(
            names[a],
            names[b],
            (both := recall(hit[:, a] | hit[:, b])),
            both - max(recalls[a], recalls[b]),
            float(values[[a, b]].max(axis=0).mean()),
            *overlap[:, number].mean(axis=0).tolist(),
        )
        for number, (a, b) in enumerate(pairs)
    ]
    best = values.max(axis=0) if one.definition.better != "lower" else values.min(axis=0)
    return FusionPotential(
        one,
        depth,
        tuple(map(RunPotential, names, values.mean(axis=1).tolist(), recalls, alone)),
        tuple(sorted(of_pairs, key=lambda pair: -pair.gained)),
        recall(np.asarray(hit.any(axis=1))),
        float(best.mean()),
        dict(zip(place, best.tolist(), strict=True)),
    )


def _overlaps(lists: Lists, pairs: Sequence[tuple[int, int]], p: float) -> FloatArray:
    """Jaccard and rank-biased overlap of each pair for each query: queries x pairs x 2."""
    found = np.ones((len(lists.queries), len(pairs), 2))  # two empty rankings agree
    ends = np.append(lists.starts[1:], len(lists.query))
    for start, end in zip(lists.starts.tolist(), ends.tolist(), strict=True):
        retrieved, ranks = lists.retrieved[start:end], lists.ranks[start:end]
        ranked = [
            (
                np.argsort(np.nan_to_num(column, nan=np.inf), kind="stable")[: int(inside.sum())][
                    :_OVERLAP_DEPTH
                ]
            ).tolist()
            for column, inside in zip(ranks.T, retrieved.T, strict=True)
        ]
        for number, (a, b) in enumerate(pairs):
            either = int((retrieved[:, a] | retrieved[:, b]).sum())
            if either:
                both = int((retrieved[:, a] & retrieved[:, b]).sum())
                alike = rbo(ranked[a], ranked[b], p).ext if ranked[a] and ranked[b] else 0.0
                found[lists.query[start], number] = both / either, alike
    return found
