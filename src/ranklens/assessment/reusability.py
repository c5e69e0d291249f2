"""Would the collection be fair to a system that had no part in its pool? :func:`reusability` → :class:`Reusability`.

Each group of runs is left out in turn: documents that only it found count as unjudged, as they would if it had come later (Zobel 1998; Voorhees 2001).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.assessment.systems import OrdersAgree, means, named_runs, retrieved_by, scored
from ranklens.comparison.teams import teams_of
from ranklens.errors import InputError, nearest
from ranklens.judging.documents import judgments
from ranklens.metrics import parse
from ranklens.stats.paired import student_test
from ranklens.tables.table import Lines, Printout, Shown, Table
from ranklens.words import counted, percent, several

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.metrics import Measure
    from ranklens.scores import Scores

_AGREE = 0.9  # tau of orders that are the same for all practical purposes (Voorhees 2000)
_LOSS, _SEVERE = 0.05, 0.15  # of a run's value
_ALPHA = 0.05


@dataclass(frozen=True)
class LeftOut:
    """A run by all judgments, and without those that only its group brought."""

    group: str
    run: str
    unique: int  # relevant documents that only the group found
    original: float
    without: float
    judged: float  # share of its top 10 that is judged without the group

    @property
    def change(self) -> float:
        """The difference as a share of the original value."""
        return (self.without - self.original) / self.original if self.original else 0.0


@dataclass(frozen=True)
class Reusability(Shown):
    """What happens to each run if its group had no part in the pool; made by :func:`reusability`."""

    measure: str
    runs: tuple[LeftOut, ...]
    order: OrdersAgree | None  # None for a single run
    flipped: tuple[
        tuple[str, str], ...
    ]  # pairs that are significant in one order by all judgments, and in the other without
    lost: tuple[tuple[str, str], ...]  # pairs that are no longer significant
    pairs: int  # that are significant by all judgments
    depth: int | None

    @property
    def tau(self) -> float:
        """Kendall's tau of the two orders of runs."""
        return 1.0 if self.order is None else self.order.tau

    @property
    def tau_ap(self) -> float:
        """The same where the top counts most."""
        return 1.0 if self.order is None else self.order.tau_ap

    @property
    def largest_rank_change(self) -> int:
        """By how many ranks a run moves at most."""
        return 0 if self.order is None else self.order.moved

    @property
    def worst(self) -> LeftOut:
        """The run that loses most."""
        return min(self.runs, key=lambda one: one.change)

    def verdict(self) -> list[str]:
        """What follows, in sentences."""
        worst = self.worst
        groups = len({one.group for one in self.runs})
        if groups < 2:
            return [
                "There is one group of runs alone, so nothing is known about systems that had no part in the pool."
            ]
        lost = (
            f"without its group {worst.run} loses {percent(-worst.change)} of its {self.measure}"
            if worst.change < 0
            else "no run loses anything without its group"
        )
        order = f"tau {self.tau:.2f}, tau AP {self.tau_ap:.2f}, largest change of a rank {self.largest_rank_change}"
        if self.tau >= _AGREE and worst.change > -_LOSS and not self.flipped:
            said = (
                f"Reusable, as far as these {groups} groups show: {lost}; the order of runs stays ({order})."
            )
        elif self.tau >= _AGREE and worst.change > -_SEVERE and not self.flipped:
            said = f"Reusable for comparisons, with care: the order of runs stays ({order}), but {lost}. New systems look worse than they are."
        else:
            flips = (
                f"; {counted(len(self.flipped), 'significant pair')} of {self.pairs:,} turned round ({several([f'{a} and {b}' for a, b in self.flipped])})"
                if self.flipped
                else ""
            )
            moved = "the order of runs changes" if self.tau < 1 else "the order of runs stays"
            said = f"Not reusable for systems unlike these: {lost}; {moved} ({order}){flips}. Judge more of what new systems find."
        more = (
            [f"{counted(len(self.lost), 'pair')} of {self.pairs:,} no longer significant."]
            if self.lost
            else []
        )
        return [said, *more]

    def table(self) -> Table:
        """One row per run, those that lose most first."""
        rows = [
            [
                one.group,
                one.run,
                f"{one.unique:,}",
                f"{one.original:.4f}",
                f"{one.without:.4f}",
                f"{one.without - one.original:+.4f}",
                f"{one.change:+.1%}",
                percent(one.judged),
            ]
            for one in sorted(self.runs, key=lambda one: one.change)
        ]
        whole = "its whole ranking" if self.depth is None else f"its first {self.depth:,} documents"
        note = f"{self.measure}; a group found what is in {whole}; unique: relevant documents that only the group found."
        return Table(
            ["group", "run", "unique", "original", "left out", "difference", "change", "judged@10"],
            rows,
            note=note,
            left=2,
        )

    def printout(self) -> Printout:
        return Printout([self.table(), Lines("Verdict", self.verdict())])

    def to_frame(self) -> pl.DataFrame:
        """One row per run: group, run, unique, original, without, change, judged."""
        import polars as pl

        rows = [
            (one.group, one.run, one.unique, one.original, one.without, one.change, one.judged)
            for one in self.runs
        ]
        names = {"group": pl.String, "run": pl.String, "unique": pl.Int64}
        return pl.DataFrame(
            rows,
            schema={**names, **dict.fromkeys(("original", "without", "change", "judged"), pl.Float64)},
            orient="row",
        )

    def to_dict(self) -> dict[str, object]:
        """All numbers, for JSON."""
        return {
            "measure": self.measure,
            "depth": self.depth,
            "runs": self.to_frame().to_dicts(),
            "tau": self.tau,
            "tau_ap": self.tau_ap,
            "largest_rank_change": self.largest_rank_change,
            "significant_pairs": self.pairs,
            "flipped": [list(pair) for pair in self.flipped],
            "no_longer_significant": [list(pair) for pair in self.lost],
            "verdict": self.verdict(),
        }


def reusability(
    qrels: object,
    runs: object,
    groups: object = None,
    *,
    measure: str | Measure = "AP",
    depth: int | None = None,
    rel: float = 1,
) -> Reusability:
    """Whether judgments are fair to systems that had no part in their pool: each group of runs is left out in turn.

    ``groups`` is ``{run: group}``, such as the team that sent it, a table or file with both, or ``"tag"`` for the beginning of each name; by default each run is a group of its own, which hides that variants of one system find
    the same documents. Judged documents that no other group found in its first ``depth`` documents (by default in its whole ranking; give the depth of
    the pool) count as unjudged for the runs of the group.

    >>> found = reusability({"q": {"a": 1, "b": 1}}, {"x": {"q": ["a", "b"]}, "y": {"q": ["b"]}}, measure="R@2")
    >>> [(one.run, one.unique, one.original, one.without) for one in found.runs]
    [('x', 1, 1.0, 1.0), ('y', 0, 0.5, 0.5)]
    """
    name = str(parse(measure) if isinstance(measure, str) else measure)
    opened = named_runs(qrels, runs)
    group_of = {run: run for run in opened} if groups is None else _groups(groups, opened)
    gold = {(query, doc): grade for query, doc, grade in judgments(qrels).iter_rows()}
    found = {
        run: {pair for pair in retrieved_by(qrels, one, depth) if pair in gold} for run, one in opened.items()
    }
    original = scored(qrels, opened, name)
    left: dict[str, Scores] = {}
    rows: dict[str, LeftOut] = {}
    for group in dict.fromkeys(group_of.values()):
        own = [run for run in opened if group_of[run] == group]
        others = set().union(*(found[run] for run in opened if run not in own))
        unique = set().union(*(found[run] for run in own)) - others
        kept: dict[str, dict[str, float]] = {query: {} for query, _ in gold}
        for (query, doc), grade in gold.items():
            if (query, doc) not in unique:
                kept[query][doc] = grade
        relevant = sum(gold[pair] >= rel for pair in unique)
        some = {run: opened[run] for run in own}
        left |= scored(kept, some, name)
        judged = means(scored(kept, some, "Judged@10"))
        before, after = means(original), means(left)
        rows |= {run: LeftOut(group, run, relevant, before[run], after[run], judged[run]) for run in own}
    ranked = [rows[run] for run in opened]
    order = (
        OrdersAgree.of(means(original), {run: means(left)[run] for run in opened})
        if len(opened) > 1
        else None
    )
    pairs = [(a, b) for i, a in enumerate(opened) for b in [*opened][i + 1 :]]
    sides = {pair: (_side(original, name, *pair), _side(left, name, *pair)) for pair in pairs}
    flipped = tuple(pair for pair, (before, after) in sides.items() if before * after < 0)
    lost = tuple(pair for pair, (before, after) in sides.items() if before and not after)
    return Reusability(
        name, tuple(ranked), order, flipped, lost, sum(bool(before) for before, _ in sides.values()), depth
    )


def _side(scores: Mapping[str, Scores], measure: str, a: str, b: str) -> int:
    """Which of two runs is significantly better by a paired t test: -1, 1, or 0 for neither."""
    change: FloatArray = scores[b][measure] - scores[a][measure]
    return int(np.sign(change.mean())) if student_test(change).p_value <= _ALPHA else 0


def _groups(groups: object, runs: Mapping[str, object]) -> dict[str, str]:
    """The group of each run; one that ``{run: group}`` does not name is a group of its own."""
    if not isinstance(groups, Mapping):
        return teams_of(groups, [*runs])
    odd = next((name for name in groups if name not in runs), None)
    if odd is not None:
        raise InputError(f"groups: there is no run {odd!r}: {nearest(str(odd), runs)}")
    return {run: str(groups.get(run, run)) for run in runs}
