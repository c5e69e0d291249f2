"""Steps of one training compared: whether the best is better than the others by more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ranklens.comparison.compare import compare_scores
from ranklens.errors import InputError
from ranklens.trackers.content import Content, plain_name
from ranklens.trackers.destinations import find
from ranklens.words import counted, several

if TYPE_CHECKING:
    from ranklens.comparison.choices import Correction, Test
    from ranklens.comparison.comparison import Comparison
    from ranklens.registry import Measure


@dataclass(frozen=True)
class Checkpoints:
    """Which step is best, and which cannot be told apart from it; made by :func:`compare_checkpoints`."""

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
        """The earliest step that is as good as the best, as far as these queries can tell."""
        return next(
            step for step in self.comparison.systems if step == self.best or step in self.within_noise
        )

    @property
    def is_noise(self) -> bool:
        """Whether the choice of the best step among others is noise."""
        return bool(self.within_noise)

    def log_to(self, tracker: Any) -> None:
        """Log the best mean, this verdict and the report of the comparison; ``tracker`` as in :meth:`ranklens.Scores.log_to`."""
        mean = self.comparison.result(self.measure, self.best).mean
        numbers = {f"{plain_name(self.measure)}_best": mean}
        find(tracker)(Content(numbers, {}, {"checkpoints": str(self)}, self.comparison.to_html))

    def __str__(self) -> str:
        mean = self.comparison.result(self.measure, self.best).mean
        head = f"{self.comparison.shown(self.measure)}: {self.best} has the best mean ({mean:.4f})"
        if not self.is_noise:
            return f"{head} and is significantly better than every other step."
        if len(self.within_noise) == len(self.comparison.systems) - 1:
            return f"{head}, but no step can be told apart from it with {len(self.comparison.query_ids):,} queries: choosing it is noise."
        return f"{head}, but {several(self.within_noise)} cannot be told apart from it: choosing among them is noise. The earliest is {self.first}."


def compare_checkpoints(
    steps: Any,
    measure: str | Measure | None = None,
    *,
    test: Test | None = None,
    correction: Correction = "holm",
    alpha: float = 0.05,
) -> Checkpoints:
    """Test the steps of a training against each other, so that a best one within noise is called that.

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
        given = counted(len(scores), "step") if isinstance(scores, Mapping) else f"a {type(steps).__name__}"
        raise InputError(
            f"compare_checkpoints needs the scores of two steps or more, as {{'100': scores, '200': scores}}; it was given {given}."
        )
    named = {str(step): one for step, one in scores.items()}
    comparison = compare_scores(named, measure, test=test, correction=correction, alpha=alpha)
    return Checkpoints(comparison, comparison.measures[0])
