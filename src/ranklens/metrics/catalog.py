"""The registry: what a measure says about itself, and the decorators that register it.

A measure is defined in one place: parameters, types and defaults in the signature of its function, the description in its docstring,
formula, working and rule for its bounds in decorators next to it. Those records hold texts and functions and do no work, because they
are made for every measure as soon as its family is loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

from ranklens.errors import MeasureError, warn
from ranklens.metrics.formulas import FAMILIES, ON_DEMAND
from ranklens.metrics.parameters import Parameter, parameters_of, view_of
from ranklens.words import documentation

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.judging.views import Richer
    from ranklens.metrics.cuts import View
    from ranklens.metrics.literature import Reference

Aggregate = Literal["mean", "median", "sum", "geometric", "none"]
Better = Literal["higher", "lower", "neither"]
Function = TypeVar("Function", bound="Callable[..., Any]")

ENTRY_POINT_GROUP = "ranklens.measures"

Params: TypeAlias = Mapping[str, Any]  # the parameters of a measure, defaults included
Column: TypeAlias = "Callable[[View], FloatArray]"  # one number per rank
Columns: TypeAlias = Mapping[str, Column]  # by heading, from left to right
Beside: TypeAlias = Literal["grade", "gain"] | None
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
    # with a relevant document beyond the cutoff. So of all ways to choose that number of documents, the first ones are the best, the last the worst.
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


# By function, until `@measure`, which stands above the decorators here, takes them.
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


@dataclass(frozen=True)
class Definition:
    """A registered measure: its names, function, parameters and how its values are combined over queries."""

    name: str
    function: Callable[..., FloatArray]
    aliases: Mapping[str, Mapping[str, object]]
    parameters: Mapping[str, Parameter]
    at: str | None
    aggregate: Aggregate
    low: float
    high: float
    average_ties: bool
    better: Better = "higher"
    like: str | None = None  # the measure whose parameters it takes
    view: type[Richer] | None = None  # what it needs besides grades: the type of its first argument
    formula: Formula = NO_FORMULA
    working: Working = GENERAL
    bounds: Rule | Unbounded = UNKNOWN_BOUNDS
    over_rankings: bool = False
    is_foreign: bool = False  # defined outside this package, so that its values are checked

    @property
    def needs(self) -> str | None:
        """What judgments must know besides grades: ``"subtopics"``, for example."""
        return None if self.view is None else self.view.needs

    @property
    def description(self) -> str:
        """The docstring of the function, and where its parameters are described if not there."""
        own = inspect.cleandoc(documentation(self.function))
        if not self.like:
            return own
        mine, theirs = {*self.parameters}, {*definition(self.like).parameters}
        if mine == theirs:
            return f"{own}\n\nSame parameters as {self.like}."
        return f"{own}\n\n{'Other parameters' if mine - theirs else 'Parameters'} as in {self.like}."

    def explained(self, parameters: Iterable[str]) -> list[str]:
        """The docstring by paragraph; those that begin with a parameter only if it is one of ``parameters``.

        >>> definition("R").explained([])
        ['Recall: relevant documents in the top k, divided by all relevant documents R.']
        """
        mentions = [f"``{name}{end}" for name in parameters for end in "=`"]
        paragraphs = inspect.cleandoc(documentation(self.function)).split("\n\n")
        return [
            " ".join(paragraph.replace("``", "").split())
            for paragraph in paragraphs
            if not paragraph.startswith("``") or any(mention in paragraph for mention in mentions)
        ]

    @property
    def summary(self) -> str:
        """The first line of the description."""
        return next(iter(self.description.splitlines()), "").replace("``", "")

    @property
    def family(self) -> str:
        """The module that defines it, e.g. ``gain``."""
        return self.function.__module__.rpartition(".")[2]


_DEFINITIONS: dict[str, Definition] = {}
SPELLINGS: dict[
    str, tuple[str, Mapping[str, object]]
] = {}  # each with its measure and the parameters that it fixes
WHEN_CHANGED: list[Callable[[], None]] = []  # what forgets the names that were read before


def measure(
    name: str,
    *aliases: str | Mapping[str, Mapping[str, object]],
    aggregate: Aggregate = "mean",
    low: float = 0.0,
    high: float = 1.0,
    average_ties: bool = False,
    better: Better = "higher",
    like: str | None = None,
    bounds: Rule | Unbounded = UNKNOWN_BOUNDS,
    over_rankings: bool = False,
) -> Callable[[Function], Function]:
    """Register a function over :class:`~ranklens.judging.judged.Judged` as a measure.

    Its keyword-only parameters become the measure's parameters; ``k`` (or ``recall``, ``x``) is the number after ``@``.
    An alias may fix parameters: ``{"relative_P": {"cap": True}}``. ``average_ties`` says that the function is exact
    over averaged ties, which holds when it uses only :class:`~ranklens.judging.judged.Hits`' own sums (see CONTRIBUTING).
    ``better`` says which values are good, for comparisons in words, ``like`` which other measure has the same parameters.

    ``bounds`` says how its lowest and highest value are found where documents are unjudged, ``over_rankings`` that its value over
    several rankings of a query is not their mean. :func:`formula` and :func:`working` add its LaTeX and how ``explain`` shows it.

    >>> from ranklens.registry import measure
    >>> @measure("LastRank", high=float("inf"))
    ... def last_rank(judged, *, rel: float = 1):
    ...     '''The rank of the last relevant document; 0 where none was retrieved.'''
    ...     hits = judged.relevant(rel)
    ...     return hits.max(hits.rank)
    >>> import ranklens as rl
    >>> rl.evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["LastRank"]).mean
    {'LastRank': 3.0}
    >>> unregister("LastRank")
    """

    def register(function: Function) -> Function:
        parameters = parameters_of(name, function)
        fixed: dict[str, Mapping[str, object]] = {}
        for alias in aliases:
            fixed.update({alias: {}} if isinstance(alias, str) else alias)
        is_ours = str(function.__module__).startswith("ranklens.metrics.formulas.")
        is_foreign = not is_ours or "<locals>" in function.__qualname__
        if is_foreign:
            load_further()  # whose names are taken
        _refuse_taken(name, fixed, function)
        if name in _DEFINITIONS:
            unregister(name)
        _DEFINITIONS[name] = Definition(
            name,
            function,
            fixed,
            parameters,
            next((each for each in ("k", "recall", "x") if each in parameters), None),
            aggregate,
            low,
            high,
            average_ties,
            better,
            like,
            view_of(function),
            *noted(function),
            bounds,
            over_rankings,
            is_foreign,
        )
        # Canonical names also as they are written: RBP and rbp differ, as they do between tools.
        SPELLINGS.update({name.lower(): (name, {}), name: (name, {})})
        SPELLINGS.update({alias.lower(): (name, params) for alias, params in fixed.items()})
        for forget in WHEN_CHANGED:
            forget()
        return function

    return register


def _refuse_taken(name: str, aliases: Iterable[str], function: Function) -> None:
    """Refuse the names of other measures; a cell of a notebook that runs again may define its own measure again."""
    for spelling in (name, *aliases):
        owner = _DEFINITIONS.get(SPELLINGS.get(spelling.lower(), ("", {}))[0])
        if owner is None:
            continue
        before = owner.function
        is_same = before.__module__ == function.__module__ and before.__qualname__ == function.__qualname__
        if owner.name != name or not (owner.is_foreign or is_same):
            raise MeasureError(f"The name {spelling!r} is taken by the measure {owner.name}; choose another.")


def unregister(name: str) -> None:
    """Take a measure out of the registry, e.g. at the end of a test."""
    del _DEFINITIONS[name]
    for spelling in [spelling for spelling, (owner, _) in SPELLINGS.items() if owner == name]:
        del SPELLINGS[spelling]
    for forget in WHEN_CHANGED:
        forget()


def definitions() -> Mapping[str, Definition]:
    """All registered measures by their canonical name, family by family."""
    load_further()
    order = {family: i for i, family in enumerate((*FAMILIES, *ON_DEMAND))}
    # A family may have been imported on its own before the others.
    return dict(sorted(_DEFINITIONS.items(), key=lambda item: order.get(item[1].family, len(order))))


def definition(name: str) -> Definition:
    """The measure with a canonical name; only what is needed for it is loaded."""
    load_built_in()
    if name not in _DEFINITIONS:
        load_further()
    return _DEFINITIONS[name]


@cache
def load_built_in() -> None:
    """Import the formulas that most people need, once; importing registers them."""
    for family in FAMILIES:
        import_module(f"ranklens.metrics.formulas.{family}")


@cache
def load_further() -> None:
    """Import all families, once."""
    load_built_in()
    for family in ON_DEMAND:
        import_module(f"ranklens.metrics.formulas.{family}")


@cache
def load_plugins() -> None:
    """Import what installed packages offer in the entry-point group; importing registers it."""
    from importlib.metadata import entry_points

    load_further()
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            point.load()
        except Exception as error:  # noqa: BLE001, PERF203  a package that is broken does not break the others
            warn(f"The measures of {point.value} cannot be loaded: {type(error).__name__}: {error}")
