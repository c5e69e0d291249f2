"""How runs are compared: every option of :func:`ranklens.compare`, described once, for commands and configurations too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, get_args

from ranklens.options import option
from ranklens.policy import PolicyOptions
from ranklens.words import either

if TYPE_CHECKING:
    from ranklens.metrics import Measure
    from ranklens.stats.inputs import Rng

# The names of the registries in `stats` as types: a type checker sees a typo before it runs. A test keeps them complete.
Test: TypeAlias = Literal[
    "randomization", "t", "wilcoxon", "sign", "mcnemar", "bootstrap", "welch", "tukey", "tukey-randomized"
]
Correction: TypeAlias = Literal["bonferroni", "holm", "hochberg", "hommel", "bh", "by", "none"]

_TESTS, _CORRECTIONS = get_args(Test), get_args(Correction)
_HOLM: Correction = "holm"
_FAMILIES, _INTERVALS = ("measure", "all"), ("separate", "simultaneous")


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What is compared with what, by which test, and corrected for what; :func:`ranklens.compare` explains each."""

    baseline: str | None = option(
        None,
        "Compare every run with this one; without it, all pairs are compared.",
        key="The system to compare the others with: a name.",
    )
    test: Test | None = option(
        None,
        f"Significance test: {either(_TESTS)}; by default randomization, and mcnemar for measures that are 0 or 1.",
        key=f"The paired test: {', '.join(_TESTS)}. By default randomization, and mcnemar for measures that are 0 or 1.",
        choices=_TESTS,
    )
    correction: Correction = option(
        _HOLM,
        f"Correction for multiple pairs: {either([_HOLM, *(name for name in _CORRECTIONS if name != _HOLM)])}.",
        key=f"How p-values are corrected for the number of tests: {', '.join(_CORRECTIONS)}.",
        choices=_CORRECTIONS,
    )
    alpha: float = option(
        0.05,
        "Significance level.",
        key="Significance level, between 0 and 1; the confidence level is 1 - alpha_level, unless level is set.",
    )
    level: float = option(
        0.95,
        "Confidence level.",
        key="Confidence level, between 0 and 1. By default 1 - alpha_level.",
    )
    primary: str | Measure | None = option(
        None,
        "The measure that a recommendation rests on; the others are only reported. Default: the first.",
        key="The measure that a recommendation rests on, while the others are only reported: a name. Default: the first measure.",
    )
    family: str = option(
        "measure",
        "Correct over the pairs of each measure (measure) or of all (all).",
        key=f"Which p-values are corrected together, those of each measure or of all: {', '.join(_FAMILIES)}.",
        choices=_FAMILIES,
    )
    by: object = option(
        None,
        "Also compare slices of the queries, by FILE:COLUMN; with a BEIR folder, COLUMN is enough.",
        key="A field of the queries, to compare by slice: a name.",
    )
    margin: Any = option(
        None,
        "The largest difference that does not matter: a number, or a share such as 2%.",
        key="The largest difference that does not matter: a number, text such as 2%, or one by measure. Systems are then better, "
        "no worse, equivalent, worse or undecided.",
    )
    clusters: object = option(
        None,
        "Queries that belong together, by FILE:COLUMN; with a BEIR folder, COLUMN is enough. Tests and intervals are then by cluster.",
        key="A field of the queries that says which belong together (topic, user, document): a name. Tests and intervals are then by cluster.",
        flags=("--cluster",),
        metavar="FILE:COLUMN",
    )
    intervals: str = option(
        "separate",
        "Intervals of differences: separate, or simultaneous, which agree with the tests.",
        key="Intervals of differences: separate, or simultaneous, which hold together and agree with the tests.",
        choices=_INTERVALS,
    )
    rng: Rng = option(
        0, "Random seed.", key="Random seed: a whole number from 0.", least=0, flags=("--seed",)
    )
    queries: object = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> tuple[CompareOptions, dict[str, Any]]:
        """From keyword arguments, and those of them that are something else."""
        own = {name: value for name, value in given.items() if name in NAMES}
        rest = {name: value for name, value in given.items() if name not in NAMES}
        return cls(**own) if own else USUAL, rest


NAMES = tuple(one.name for one in fields(CompareOptions))
USUAL = CompareOptions()


class ComparisonArguments(TypedDict, total=False):
    """The fields of :class:`CompareOptions` as keyword arguments, so that type checkers know them: ``compare(..., test="t")``."""

    baseline: str | None
    test: Test | None
    correction: Correction
    alpha: float
    level: float
    primary: str | Measure | None
    family: str
    by: object
    margin: Any
    clusters: object
    intervals: str
    rng: Rng
    queries: object


class CompareArguments(ComparisonArguments, PolicyOptions, total=False):
    """The same, and every policy."""
