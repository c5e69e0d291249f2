"""Models of who errs how, which weigh assessors by how far they agree with the others; both work on counts of documents × assessors × grades.

Dawid and Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm" (1979); Hovy, Berg-Kirkpatrick, Vaswani and Hovy, "Learning Whom
to Trust with MACE" (2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray

_STEPS, _SETTLED = 1_000, 1e-9  # of EM at most, and the change of the log-likelihood at which it ends
_RESTARTS, _ROUNDS = 10, 50  # of MACE, as its authors have them
_PRIOR, _STRATEGY = 0.5, 10.0  # of knowing, and of the habits of those who guess


@dataclass(frozen=True)
class Fit:
    """What a model says of documents and assessors."""

    posterior: FloatArray  # documents × grades
    errors: FloatArray  # assessors × true grade × given grade
    prevalence: FloatArray  # of each grade
    likelihood: float  # its logarithm
    competence: FloatArray  # of each assessor: how often the right grade is given


def dawid_skene(counts: FloatArray) -> Fit:
    """Each assessor has a table of errors: how often each grade is given for each true grade. EM, from the shares of votes.

    The first table is that of Dawid and Skene (1979) for ``counts`` of their 45 patients, five observers and four classes.
    """
    posterior = counts.sum(axis=1)
    posterior = posterior / posterior.sum(axis=1, keepdims=True)
    likelihood = -np.inf
    for _ in range(_STEPS):
        prevalence = posterior.mean(axis=0)
        errors = np.einsum("it,iag->atg", posterior, counts)
        given = errors.sum(axis=2, keepdims=True)
        errors = np.divide(errors, given, out=np.zeros_like(errors), where=given > 0)
        with np.errstate(divide="ignore"):
            logs = np.where(errors > 0, np.log(np.maximum(errors, 1e-300)), -1e3)
            each = np.log(np.maximum(prevalence, 1e-300)) + np.einsum("iag,atg->it", counts, logs)
        top = each.max(axis=1, keepdims=True)
        posterior = np.exp(each - top)
        total = posterior.sum(axis=1, keepdims=True)
        posterior = posterior / total
        before, likelihood = likelihood, float((top + np.log(total)).sum())
        if likelihood - before < _SETTLED:
            break
    competence = np.einsum("t,att->a", prevalence, errors)
    return Fit(posterior, errors, prevalence, likelihood, competence)


def mace(counts: FloatArray, seed: int = 0) -> Fit:
    """Each assessor either knows the grade or gives one at random, by habits of their own. Variational Bayes, the best of several starts."""
    rng = np.random.default_rng(seed)
    return max((_mace(counts, rng) for _ in range(_RESTARTS)), key=lambda fit: fit.likelihood)


def _mace(counts: FloatArray, rng: np.random.Generator) -> Fit:
    assessors, grades = counts.shape[1:]
    knows = rng.uniform(1, 2, (assessors, 2))  # guesses, knows
    knows /= knows.sum(axis=1, keepdims=True)
    habit = rng.uniform(1, 2, (assessors, grades))
    habit /= habit.sum(axis=1, keepdims=True)
    posterior, spam, known, likelihood = _expected(counts, knows, habit)
    for _ in range(_ROUNDS):
        knows = _variational(np.column_stack([spam.sum(axis=1), known]), _PRIOR)
        habit = _variational(spam, _STRATEGY)
        posterior, spam, known, likelihood = _expected(counts, knows, habit)
    competence = known / np.maximum(known + spam.sum(axis=1), 1e-300)
    errors = (1 - competence)[:, None, None] * (habit / habit.sum(axis=1, keepdims=True))[:, None, :]
    errors = errors + competence[:, None, None] * np.eye(grades)
    return Fit(posterior, errors, posterior.mean(axis=0), likelihood, competence)


def _variational(counts: FloatArray, prior: float) -> FloatArray:
    from scipy.special import digamma

    total = (counts + prior).sum(axis=1, keepdims=True)
    return np.asarray(np.exp(digamma(counts + prior) - digamma(total)))


def _expected(
    counts: FloatArray, knows: FloatArray, habit: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """The posterior of each document, and by assessor how often grades were guessed (by grade), and how often they were known."""
    guess = knows[:, :1] * habit  # assessor × given
    chance = guess[:, None, :] + knows[:, 1, None, None] * np.eye(counts.shape[2])  # assessor × true × given
    each = np.einsum("iag,atg->it", counts, np.log(np.maximum(chance, 1e-300))) - np.log(counts.shape[2])
    top = each.max(axis=1, keepdims=True)
    weight = np.exp(each - top)
    total = weight.sum(axis=1, keepdims=True)
    posterior = weight / total
    by_grade = np.einsum("it,iag->atg", posterior, counts)
    spam = (by_grade * guess[:, None, :] / np.maximum(chance, 1e-300)).sum(axis=1)
    known = (by_grade * knows[:, 1, None, None] * np.eye(counts.shape[2]) / np.maximum(chance, 1e-300)).sum(
        axis=(1, 2)
    )
    return posterior, spam, known, float((top + np.log(total)).sum())
