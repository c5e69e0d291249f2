"""Steps of one training compared: whether the best is better than the others by more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.comparison.compare import compare_scores
from ranklens.errors import InputError
from ranklens.report.trackers.content import Content, plain_name
from ranklens.report.trackers.destinations import find
from ranklens.stats.selection import cross_fitted
from ranklens.words import counted, several

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.options import Correction, Test
    from ranklens.metrics import Measure


@dataclass(frozen=True)
class Checkpoints:
    """Which step has the best mean, and which do not differ from it significantly; made by :func:`compare_checkpoints`."""

    comparison: Comparison
    measure: str

    @property
    def best(self) -> str:
        """The step with the best mean."""
        return self.comparison.ranked(self.measure)[0]

    @property
    def within_noise(self) -> tuple[str, ...]:
        """The other steps that do not differ significantly from the best, in the order given."""
        different = self.comparison.told_apart(self.measure, self.best)
        return tuple(step for step in self.comparison.systems if step != self.best and step not in different)

    @property
    def first(self) -> str:
        """The earliest step that does not differ significantly from the best."""
        return next(
            step for step in self.comparison.systems if step == self.best or step in self.within_noise
        )

    @property
    def is_noise(self) -> bool:
        """Whether other steps do not differ significantly from the best. They may still differ: more queries would show it."""
        return bool(self.within_noise)

    @property
    def held_out(self) -> float | None:
        """What the picked step is worth: its mean over queries that did not pick it, by cross-fitting; None with one query.

        The mean of the best step is too high, the more so the more steps there are and the fewer queries.
        """
        part = self.comparison.contrasts(self.measure)
        if part.tested.shape[1] < 2:
            return None
        picked = cross_fitted(part.tested, better=part.quantity.better)
        return part.quantity.back(float(picked.mean()))

    def log_to(self, tracker: object) -> None:
        """Log the best mean, this verdict and the report of the comparison; ``tracker`` as in :meth:`ranklens.Scores.log_to`."""
        mean = self.comparison.result(self.measure, self.best).mean
        numbers = {f"{plain_name(self.measure)}_best": mean}
        if self.held_out is not None:
            numbers[f"{plain_name(self.measure)}_best_held_out"] = self.held_out
        find(tracker)(Content(numbers, {}, {"checkpoints": str(self)}, self.comparison.to_html))

    def __str__(self) -> str:
        mean = self.comparison.result(self.measure, self.best).mean
        steps = len(self.comparison.systems)
        said = [f"{self.comparison.shown(self.measure)}: {self.best} has the best mean ({mean:.4f})"]
        if not self.is_noise:
            said[0] += " and is significantly better than every other step."
        elif len(self.within_noise) == steps - 1:
            queries = counted(len(self.comparison.query_ids), "query")
            said[0] += f". No significant difference between it and any other step on these {queries}."
        else:
            said[0] += (
                f". No significant difference between it and {several(self.within_noise)} on these queries."
            )
            said.append(f"The earliest of them is {self.first}.")
        if self.held_out is not None and f"{self.held_out:.4f}" != f"{mean:.4f}":
            said.append(
                f"As the best of {steps} steps, its mean is probably too high: on queries that did not pick it, the best step has a mean "
                f"of {self.held_out:.4f} (cross-fitted)."
            )
        return " ".join(said)


def compare_checkpoints(
    steps: object,
    measure: str | Measure | None = None,
    *,
    test: Test | None = None,
    correction: Correction = "holm",
    alpha: float = 0.05,
) -> Checkpoints:
    """Test the steps of a training against each other, and estimate what the best one is worth.

    ``steps`` are scores by step, in order: ``{"100": scores, "200": scores}``, or an :class:`~ranklens.training.Evaluator`, which keeps
    them. All pairs are tested on the same queries and corrected for their number, because the best was picked after looking.

    >>> import ranklens as rl
    >>> qrels = {f"q{i}": {"a"} for i in range(30)}
    >>> poor, good = {q: ["x", "y", "a"] for q in qrels}, {q: ["a"] for q in qrels}
    >>> steps = {"100": rl.evaluate(qrels, poor, "RR"), "200": rl.evaluate(qrels, good, "RR")}
    >>> print(compare_checkpoints(steps))
    RR: 200 has the best mean (1.0000) and is significantly better than every other step.
    """
    scores = getattr(steps, "history", steps)
    if not isinstance(scores, Mapping) or len(scores) < 2:
        what = counted(len(scores), "step") if isinstance(scores, Mapping) else f"a {type(steps).__name__}"
        raise InputError(
            f"compare_checkpoints needs the scores of two steps or more, as {{'100': scores, '200': scores}}; it was given {what}."
        )
    named = {str(step): one for step, one in scores.items()}
    comparison = compare_scores(named, measure, test=test, correction=correction, alpha=alpha)
    return Checkpoints(comparison, comparison.measures[0])
