"""How often a system returned nothing: rightly, as a question has no answer, or wrongly; and what a threshold would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ranklens.errors import InputError, MeasureError
from ranklens.stats.intervals import Bounds, Interval, interval_of_share
from ranklens.tables.digits import SHOWN
from ranklens.tables.table import Printout, Shown, Table

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import BoolArray, FloatArray
    from ranklens.data.run import Run
    from ranklens.metrics import Measure
    from ranklens.scores.scores import Scores

_SHOWN_THRESHOLDS = 8
_SHARE = Bounds(0.0, 1.0)


class Answer(NamedTuple):
    """What a question got back: how many documents, and the highest score if all have one."""

    size: int
    top: float | None

    def is_nothing(self, below: float | None) -> bool:
        """Whether nothing was returned, or nothing that scores enough."""
        return not self.size or (below is not None and self.top is not None and self.top < below)


@dataclass(frozen=True)
class Side:
    """Questions of one kind that were answered without an error, and those among them that got nothing back."""

    queries: tuple[str, ...]
    nothing: tuple[str, ...]

    @property
    def share(self) -> float | None:
        """The share that got nothing back; None without questions."""
        return len(self.nothing) / len(self.queries) if self.queries else None

    def interval(self, level: float = 0.95) -> Interval | None:
        """Wilson's interval of the share; None without questions."""
        if not self.queries:
            return None
        return interval_of_share(len(self.nothing), len(self.queries), "auto", level, _SHARE)


@dataclass(frozen=True)
class Abstentions(Shown):
    """Right and wrong abstentions; made by :meth:`ranklens.Scores.abstentions`.

    ``unanswerable.nothing`` are the questions that rightly got nothing back, ``answerable.nothing`` those that wrongly did.
    ``unasked`` counts unanswerable questions that were not asked, or whose call failed.
    """

    unanswerable: Side
    answerable: Side
    below: float | None
    unasked: int
    measure: Measure
    answers: Mapping[str, Answer]
    values: Mapping[str, float]  # of the answerable questions

    def table(self) -> Table:
        """One row for each kind of question."""
        rows = [
            _row("unanswerable", "right", self.unanswerable),
            _row("answerable", "wrong", self.answerable),
        ]
        notes = ["Calls that failed and questions missing from the run are not counted."]
        if self.below is not None:
            notes.append(f"An answer counts as nothing if all its scores are below {self.below:g}.")
        header = ["questions", "nothing is", "asked", "got nothing", "share", "95% interval"]
        return Table(header, rows, note=" ".join(notes), title="Abstention", left=2)

    def printout(self) -> Printout:
        """The counts, and some thresholds if answers have scores."""
        return Printout(self.tables())

    def tables(self) -> list[Table]:
        """The counts, and some thresholds if answers have scores."""
        if not (self._has_scores and self._has_losses):
            return [self.table()]
        curve = self.curve()
        places = np.unique(np.linspace(0, len(curve) - 1, _SHOWN_THRESHOLDS).round().astype(int))
        rows = [
            ["none" if row["threshold"] is None else f"{row['threshold']:.4g}"]
            + ["" if row[name] is None else f"{row[name]:.{SHOWN}f}" for name in curve.columns[2:]]
            for row in curve[places.tolist()].to_dicts()
        ]
        header = ["threshold", *(name.replace("_", " ") for name in curve.columns[2:])]
        note = f"Risk is the mean loss, 1 - {self.measure.shown} and 1 for unanswerable questions, of those that are answered."
        return [
            self.table(),
            Table(header, rows, note=note, title="If scores below a threshold were left out"),
        ]

    def curve(self) -> pl.DataFrame:
        """Risk against coverage: one row for each threshold that changes an answer, after one without any.

        ``answered`` is how many questions still get an answer, ``coverage`` their share of all, and ``risk`` what is lost on them: the
        mean of 1 - value, where an answer to an unanswerable question loses 1. ``abstained`` is the share of unanswerable questions that
        get nothing, which is right, and ``false_abstentions`` that of the others, which is wrong.
        """
        import polars as pl

        tops = self._tops()
        order = np.argsort(tops, kind="stable")
        tops = tops[order]
        loss, unanswerable = (values[order] for values in self._losses())
        distinct = np.unique(tops[np.isfinite(tops)])
        # Answers without a score are never left out; empty ones always are.
        silent = int(np.isneginf(tops).sum())
        left_out = np.concatenate([[silent], np.searchsorted(tops, distinct, side="left")])
        keep = np.concatenate([[True], np.diff(left_out) > 0])
        thresholds = [None, *distinct.tolist()]
        left_out, n = left_out[keep], len(tops)
        lost = np.concatenate([[0.0], np.cumsum(loss)])
        before = np.concatenate([[0], np.cumsum(unanswerable)])
        answered = n - left_out
        with np.errstate(invalid="ignore"):
            risk = (lost[-1] - lost[left_out]) / answered
            right = before[left_out] / before[-1]
            wrong = (left_out - before[left_out]) / (n - before[-1])
        columns = {
            "threshold": pl.Series(
                [one for one, kept in zip(thresholds, keep, strict=True) if kept], dtype=pl.Float64
            ),
            "answered": answered,
            "coverage": answered / n,
            "risk": risk,
            "abstained": right,
            "false_abstentions": wrong,
        }
        return pl.DataFrame(columns).with_columns(
            pl.col("risk", "abstained", "false_abstentions").fill_nan(None)
        )

    def threshold(self, *, false_abstentions: float) -> float | None:
        """The highest threshold with at most this share of false abstentions; None if even no threshold has more."""
        import polars as pl

        fits = self.curve().filter(pl.col("false_abstentions") <= false_abstentions)
        found = fits["threshold"].max() if len(fits) else None
        return float(found) if isinstance(found, (int, float)) else None

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame with one row for each kind of question: questions, asked, nothing, share, low, high."""
        import polars as pl

        kinds: dict[str, pl.DataType] = {"questions": pl.String(), "asked": pl.Int64(), "nothing": pl.Int64()}
        kinds |= dict.fromkeys(("share", "low", "high"), pl.Float64())
        return pl.DataFrame(self.to_dicts(), schema=kinds)

    def to_dicts(self) -> list[dict[str, object]]:
        """The rows of :meth:`to_frame`."""
        rows: list[dict[str, object]] = []
        for name, side in (("unanswerable", self.unanswerable), ("answerable", self.answerable)):
            around = side.interval()
            ends = {"low": around and around.low, "high": around and around.high}
            counts = {"asked": len(side.queries), "nothing": len(side.nothing), "share": side.share}
            rows.append({"questions": name, **counts, **ends})
        return rows

    @property
    def _asked(self) -> list[Answer]:
        return [self.answers[query] for query in (*self.unanswerable.queries, *self.answerable.queries)]

    @property
    def _has_scores(self) -> bool:
        return any(one.top is not None for one in self._asked)

    @property
    def _has_losses(self) -> bool:
        definition = self.measure.definition
        has_range = (definition.low, definition.high, definition.better) == (0, 1, "higher")
        return has_range and self.values.keys() >= {*self.answerable.queries}

    def _tops(self) -> FloatArray:
        """By question the highest score; minus infinity for nothing, infinity where it is not known."""
        every = self._asked
        if not self._has_scores:
            raise InputError(
                "The run has no scores, so no threshold can be tried; log the score of every document."
            )
        return np.array(
            [-np.inf if not one.size else np.inf if one.top is None else one.top for one in every]
        )

    def _losses(self) -> tuple[FloatArray, BoolArray]:
        if not self._has_losses:
            raise MeasureError(
                f"{self.measure} is not between 0 and 1 with higher values better, so it is no risk; name a measure such as 'Success@5'."
            )
        without = len(self.unanswerable.queries)
        own = [1 - self.values[query] for query in self.answerable.queries]
        is_unanswerable = np.arange(without + len(own)) < without
        return np.concatenate([np.ones(without), np.array(own, dtype=float)]), is_unanswerable


def abstentions(scores: Scores, measure: Measure, below: float | None) -> Abstentions:
    """From the judgments and rankings that scores were made from."""
    sources = scores.sources
    if sources is None:
        raise InputError(
            "These scores do not know the rankings that they were made from. Evaluate with ranklens.evaluate to count abstentions."
        )
    qrels, run = sources.read(scores.policy)
    answers = answers_of(run)
    failed = {**(run.failed or {}), **(sources.failed or {})}
    limit = sources.abstain_below if below is None else below

    def side(queries: Sequence[str]) -> Side:
        asked = tuple(query for query in queries if query in answers and query not in failed)
        return Side(asked, tuple(query for query in asked if answers[query].is_nothing(limit)))

    right = side(sorted(qrels.unanswerable))
    wrong = side([query for query in map(str, scores.queries) if query not in qrels.unanswerable])
    column = scores[measure]  # texts, for a few measures
    numbers = column.tolist() if column.dtype.kind == "f" else []
    values = dict(zip(map(str, scores.queries), numbers, strict=False))
    return Abstentions(
        right, wrong, limit, len(qrels.unanswerable) - len(right.queries), measure, answers, values
    )


def answers_of(run: Run) -> dict[str, Answer]:
    """What each query got back, of any kind of run."""
    if run.entries is not None:
        return {
            query: Answer(len(entry.ids), _top(entry.scores))
            for query, entry in run.entries.items()
            if entry.error is None
        }
    if run.by_query is not None:
        return {
            str(query): Answer(
                len(docs) if isinstance(docs, Sized) else 1,
                _top(_scores_of(docs)),
            )
            for query, docs in run.by_query.items()
        }
    import polars as pl

    per_query = [pl.len().alias("size"), pl.col("score").max().alias("top")]
    parts = [table.group_by("query").agg(per_query) for table in run.tables]
    whole = pl.concat(parts).group_by("query").agg(pl.col("size").sum(), pl.col("top").max())
    return {query: Answer(size, top) for query, size, top in whole.iter_rows()}


def _scores_of(docs: object) -> list[object]:
    """Those of a dict, or of a list of pairs; none of a list of documents."""
    if isinstance(docs, Mapping):
        return [*docs.values()]
    items = docs if isinstance(docs, (list, tuple)) else ()
    return [item[1] for item in items if isinstance(item, (list, tuple)) and len(item) == 2]


def _top(scores: Sequence[object] | None) -> float | None:
    numbers = [float(one) for one in scores or () if isinstance(one, (int, float, np.number))]
    return max(numbers) if numbers and len(numbers) == len(scores or ()) else None


def _row(name: str, word: str, side: Side) -> list[str]:
    around = side.interval()
    ends = "" if around is None else f"[{around.low:.{SHOWN}f}, {around.high:.{SHOWN}f}]"
    share = "" if side.share is None else f"{side.share:.{SHOWN}f}"
    return [name, word, f"{len(side.queries):,}", f"{len(side.nothing):,}", share, ends]
