"""What a measure says about itself, next to its formula: how it is explained, and how its bounds are found.

These records are made for every measure as soon as its family is loaded, so they hold texts and functions and do no work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.metrics.catalog import Measure
    from ranklens.metrics.cuts import View
    from ranklens.metrics.literature import Reference

Params: TypeAlias = Mapping[str, Any]  # the parameters of a measure, defaults included
Column: TypeAlias = "Callable[[View], FloatArray]"  # one number per rank
Columns: TypeAlias = Mapping[str, Column]  # by heading, from left to right
Beside: TypeAlias = Literal["grade", "gain"] | None
Function = TypeVar("Function", bound="Callable[..., object]")
NO_COLUMNS: Columns = MappingProxyType({})


class Formula(NamedTuple):
    """The formula of a measure in LaTeX, and its publications or their keys."""

    latex: str = ""
    references: tuple[str | Reference, ...] = ()


class Working(NamedTuple):
    """How ``explain`` shows a measure at work; by default in the general form: ranks, grades, and the value so far.

    ``formula`` is a template (:mod:`ranklens.report.explanation.terms`), or a function that makes one from the measure's parameters.
    ``columns`` are shown between the grade and the contribution. ``ideal`` says what the ideal ranking shows next to the actual
    one: grades, gains, or nothing if the measure has no such ideal; it may also depend on the parameters. With
    ``every_rank_counts``, the number of retrieved documents grows from rank to rank. For all other measures it is that of the
    whole ranking, so that each hit adds its share of the final value.
    """

    formula: str | Callable[[Params], str] = ""
    columns: Columns = NO_COLUMNS
    ideal: Beside | Callable[[Params], Beside] = None
    every_rank_counts: bool = False

    def template(self, params: Params) -> str:
        """The formula of the measure with these parameters; empty in the general form."""
        return self.formula if isinstance(self.formula, str) else self.formula(params)


NO_FORMULA = Formula()
GENERAL = Working()  # the general form

# How the lowest and the highest value over all grades of the unjudged documents are found; `residual/ranges.py` carries it out.
Rule: TypeAlias = Literal[
    "monotone",  # a better grade of a retrieved document never lowers the value
    "monotone without k",  # the same without a cutoff, else by rank
    # A function of the ranks of the relevant documents and of how many there are, which rises if one moves up, and does not rise
    # with a relevant document beyond the cutoff. So of all ways to choose n, the first ones are the best, the last the worst.
    "by rank",
    "by rank at any depth",  # the same where k is no rank
    "by rank if binary",  # the same where all relevant documents have one grade
    "average precision",
    "normalised gain",
    "rank-biased",
]


class Unbounded(NamedTuple):
    """No bounds, and why."""

    why: str


UNKNOWN_BOUNDS = Unbounded("it may rise or fall if an unjudged document turns out to be relevant")


# What was said about functions that are about to be registered: `@measure` stands above the decorators here and takes it.
_FORMULAS: dict[object, Formula] = {}
_WORKINGS: dict[object, Working] = {}


def formula(latex: str, *references: str | Reference) -> Callable[[Function], Function]:
    """The formula of a measure in LaTeX, and its publications or their keys in :mod:`ranklens.metrics.literature`."""

    def note(function: Function) -> Function:
        _FORMULAS[function] = Formula(latex, references)
        return function

    return note


def working(
    template: str | Callable[[Params], str] = "",
    columns: Columns = NO_COLUMNS,
    *,
    ideal: Beside | Callable[[Params], Beside] = None,
    every_rank_counts: bool = False,
) -> Callable[[Function], Function]:
    """How ``explain`` shows a measure at work: see :class:`Working`."""

    def note(function: Function) -> Function:
        _WORKINGS[function] = Working(template, columns, ideal, every_rank_counts)
        return function

    return note


def noted(function: object) -> tuple[Formula, Working]:
    """What the decorators said about a function."""
    return _FORMULAS.pop(function, NO_FORMULA), _WORKINGS.pop(function, GENERAL)


def parameters(measure: Measure) -> dict[str, Any]:
    """All parameters of a measure, defaults included.

    >>> from ranklens.metrics import parse
    >>> parameters(parse("P@5"))
    {'rel': 1, 'k': 5, 'over': 'k', 'judged_only': False}
    """
    defaults = {name: p.default for name, p in measure.definition.parameters.items()}
    found = {"rel": 1, "k": None, **defaults, **dict(measure.params)}
    return {name: dict(value) if name == "gains" and value else value for name, value in found.items()}
