"""The Bayesian view: how likely one system is better, practically equal or worse, given these queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import Given, InputError
from ranklens.stats import inputs

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import FloatArray
    from ranklens.stats.inputs import Rng

VIEWS = ("t", "signed-rank")
_CELLS = 1 << 20  # weights held at once
_PRIOR = 0.5  # the weight of an imagined query without a difference, as in baycomp


@dataclass(frozen=True)
class Probabilities:
    """The chance that b is worse than a, practically equal (within the rope) and better; they add up to 1."""

    worse: float
    equal: float
    better: float
    rope: float
    method: str
    n: int

    def __str__(self) -> str:
        return (
            f"better {self.better:.3f}, equal within {self.rope:g} {self.equal:.3f}, worse {self.worse:.3f}"
        )


def probabilities(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    rope: float = 0.01,
    method: str = "t",
    rng: Rng = 0,
    samples: int = 50_000,
) -> Probabilities:
    """How likely b is better than a by more than ``rope``, within it, or worse, given scores of the same queries.

    ``t`` is the posterior of the mean difference with the usual flat prior: Student's t. ``signed-rank`` is Benavoli's: it
    weighs the queries at random (Dirichlet) and asks for each weighting where most means of two queries lie. It is also
    the answer where differences do not vary; ``method`` of the result names it. Half a query that b wins and half a query that it loses
    are then imagined, so that one tied query does not make two systems equal for certain.

    >>> print(probabilities([0.2, 0.4, 0.1, 0.3, 0.5], [0.3, 0.6, 0.4, 0.7, 1.0]))
    better 0.993, equal within 0.01 0.002, worse 0.006
    """
    inputs.choice(method, "method", VIEWS)
    if not inputs.finite(rope, "rope") >= 0:
        raise InputError(Given("rope", rope), " is not allowed: it must be 0 or more, such as 0.01.")
    change = inputs.differences(*inputs.pair(a, b))
    n = len(change)
    if method == "t" and not inputs.constant(change):
        from scipy.special import stdtr

        mean, error = change.mean(), change.std(ddof=1) / n**0.5
        worse, better = (float(stdtr(n - 1, (side * mean - rope) / error)) for side in (-1, 1))
    else:
        method = "signed-rank"
        worse, better = _signed_rank(change, rope, inputs.generator(rng), inputs.count(samples, "samples"))
    return Probabilities(worse, max(0.0, 1 - worse - better), better, float(rope), method, n)


def _signed_rank(
    change: FloatArray, rope: float, rng: np.random.Generator, samples: int
) -> tuple[float, float]:
    """The share of weightings in which most pairs of queries have a mean below -rope, and above rope."""
    imagined = [0.0]
    if inputs.constant(change):  # all the same says little of what a query that differs would be like
        far = 10 * (float(np.abs(change).max()) + rope + 1.0)
        imagined += [far, -far]
    # The imagined queries come first; the order of equal ones does not matter.
    values = np.concatenate([imagined, change])
    weights = np.where(np.arange(len(values)) < len(imagined), _PRIOR, 1.0)
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    worse = better = 0
    at_once = max(1, _CELLS // len(weights))
    for start in range(0, samples, at_once):
        part = rng.dirichlet(weights, min(at_once, samples - start))
        above, below = _weight_beyond(values, part, rope), _weight_beyond(-values[::-1], part[:, ::-1], rope)
        within = 1 - above - below if rope > 0 else np.zeros(len(part))
        better += ((above > below) & (above > within)).sum()
        worse += ((below >= above) & (below >= within)).sum()
    if rope == 0:
        worse = samples - better
    return float(worse / samples), float(better / samples)


def _weight_beyond(values: FloatArray, weights: FloatArray, rope: float) -> FloatArray:
    """For each row of weights, the weight of the pairs of (rising) values with a mean above the rope; ties count half."""
    so_far = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights, axis=1)], axis=1)
    noise = inputs.NOISE * max(float(np.abs(values).max()), rope)
    limit = 2 * rope - values  # so much must the other query have
    over = so_far[:, np.searchsorted(values, limit + noise, side="right")]
    under = so_far[:, np.searchsorted(values, limit - noise, side="left")]
    beyond: FloatArray = (weights * (1 - (over + under) / 2)).sum(axis=1)
    return beyond
