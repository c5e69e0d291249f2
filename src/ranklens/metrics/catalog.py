"""What is registered: definitions, measures made from them, and the decorator that registers a function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ranklens.errors import MeasureError, nearest, warn
from ranklens.metrics.about import (
    GENERAL,
    NO_FORMULA,
    UNKNOWN_BOUNDS,
    Formula,
    Rule,
    Unbounded,
    Working,
    noted,
)
from ranklens.metrics.checks import checked, is_built_in, refuse_taken
from ranklens.metrics.formulas import FAMILIES, ON_DEMAND
from ranklens.metrics.parameters import Nested, Parameter, Value, as_argument, parameters_of, shown, view_of
from ranklens.words import documentation

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray
    from ranklens.judging.judged import Judged
    from ranklens.judging.views import Richer

Aggregate = Literal["mean", "median", "sum", "geometric", "none"]
Better = Literal["higher", "lower", "neither"]
Function = TypeVar("Function", bound="Callable[..., Any]")

ENTRY_POINT_GROUP = "ranklens.measures"


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

    @property
    def needs(self) -> str | None:
        """What judgments must know besides grades: ``"subtopics"``, for example."""
        return None if self.view is None else self.view.needs

    @cached_property
    def is_foreign(self) -> bool:
        """Whether it was defined outside this package, so that its values are checked."""
        return not is_built_in(self.function)

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

    def told(self, given: Iterable[str]) -> list[str]:
        """The docstring by paragraph, without those that begin with the name of a parameter unless one they name is given.

        >>> definition("R").told([])
        ['Recall: relevant documents in the top k, divided by all relevant documents R.']
        """
        mentions = [f"``{name}{end}" for name in given for end in "=`"]
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


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters, e.g. what ``nDCG@10`` stands for. Equal measures print the same.

    Tables and frames show a measure as it was asked for, which makes no difference to what it is.

    >>> from ranklens.registry import parse
    >>> measure = parse("ndcg_cut_10")
    >>> str(measure), measure.k, measure == parse("nDCG@10"), str(parse("P") @ 5)
    ('nDCG@10', 10, True, 'P@5')
    >>> measure.shown
    'ndcg_cut_10'
    """

    name: str
    params: tuple[tuple[str, Value], ...] = ()
    asked: str = field(default="", compare=False)  # the spelling that was asked for

    @property
    def shown(self) -> str:
        """The spelling that was asked for, else the canonical one."""
        return self.asked or str(self)

    @property
    def definition(self) -> Definition:
        return _DEFINITIONS.get(self.name) or definition(self.name)

    @property
    def k(self) -> int | None:
        """The cutoff, if the measure has one."""
        value = dict(self.params).get("k")
        return value if isinstance(value, int) else None

    def __call__(self, judged: Judged) -> FloatArray:
        """One value per query."""
        if self._judged_only:
            judged = judged.condensed()
        known = self.definition
        seen = judged if known.view is None else known.view.of(judged, str(self))
        values = known.function(seen, **self._arguments)
        if known.is_foreign:
            values = checked(values, known, judged)
        ones = self.counts_as_one(judged)
        if ones is not None:
            values = values.copy()
            values[ones] = 1.0
        return values

    @cached_property
    def _judged_only(self) -> bool:
        return bool(dict(self.params).get("judged_only", False))

    @cached_property
    def _arguments(self) -> dict[str, object]:
        """What the formula is called with."""
        return {k: as_argument(v) for k, v in self.params if k != "judged_only"}

    def counts_as_one(self, judged: Judged) -> BoolArray | None:
        """Which queries count as 1 because no document is relevant; None if that is not the policy, or 1 not the best value."""
        known = self.definition
        has_best = known.aggregate == "mean" and known.high == 1 and known.better == "higher"
        if judged.policy.empty != "one" or not has_best:
            return None
        own = known.parameters.get("rel")
        # A measure of grades, such as nDCG, has no level: any grade above 0 counts.
        level = dict(self.params).get("rel", own.default) if own else math.ulp(0.0)
        without_relevant: BoolArray = judged.total(level) == 0
        return without_relevant

    @property
    def formula(self) -> str:
        r"""The formula in LaTeX; empty for a measure that was defined without one.

        >>> import ranklens as rl
        >>> print(rl.measure("RR").formula)
        \max_{i \le k} \frac{r_i}{i}
        """
        return self.definition.formula.latex

    @property
    def bibtex(self) -> str:
        """Where the measure comes from, for a bibliography; empty if that is not known.

        >>> import ranklens as rl
        >>> print(rl.measure("RBP").bibtex)
        @article{moffat2008,
          author = {Moffat, Alistair and Zobel, Justin},
          title = {{Rank-biased precision for measurement of retrieval effectiveness}},
          journal = {ACM Transactions on Information Systems},
          year = {2008},
          doi = {10.1145/1416950.1416952},
        }
        """
        from ranklens.metrics.literature import references_of

        return "\n\n".join(reference.bibtex for reference in references_of(self.definition))

    def __matmul__(self, at: float) -> Measure:
        if self.definition.at is None:
            raise MeasureError(f"{self.name} takes no @.")
        return self.replace(**{self.definition.at: at})

    def replace(self, **params: object) -> Measure:
        """The same measure with other parameters.

        >>> import ranklens as rl
        >>> str(rl.measure("P@5").replace(rel=2))
        'P(rel=2)@5'
        """
        return make(self.definition, {**dict(self.params), **params})

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        at = self.definition.at
        nested = {key for key, parameter in self.definition.parameters.items() if parameter.kind is Nested}
        inside = ", ".join(str(v) if k in nested else f"{k}={shown(v)}" for k, v in self.params if k != at)
        cutoff = f"@{shown(v)}" if at and (v := dict(self.params).get(at)) is not None else ""
        return self.name + (f"({inside})" if inside else "") + cutoff

    def __repr__(self) -> str:
        return f"measure({str(self)!r})"


_DEFINITIONS: dict[str, Definition] = {}


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

    ``bounds`` says how its lowest and highest value are found where documents are unjudged (:mod:`ranklens.metrics.about`, which
    also has decorators for its formula in LaTeX and for how ``explain`` shows it), ``over_rankings`` that its value over several rankings
    of a query is not their mean.

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
        at = next((p for p in ("k", "recall", "x") if p in parameters), None)
        table: dict[str, Mapping[str, object]] = {}
        for alias in aliases:
            table.update({alias: {}} if isinstance(alias, str) else alias)
        new = Definition(
            name,
            function,
            table,
            parameters,
            at,
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
        )
        if not is_built_in(function):
            load_further()  # whose names are taken
        for spelling in (name, *table):
            known = by_spelling().get(spelling.lower())
            refuse_taken(name, spelling, function, _DEFINITIONS[known[0]] if known else None)
        if name in _DEFINITIONS:
            by_spelling.cache_clear()
        _DEFINITIONS[name] = new
        by_spelling().update(_spelled(new))  # not made anew for each measure
        _forget()
        return function

    return register


def unregister(name: str) -> None:
    """Take a measure out of the registry, e.g. at the end of a test."""
    del _DEFINITIONS[name]
    by_spelling.cache_clear()
    _forget()


READINGS: list[Callable[[], None]] = []  # what clears the names that were read before the registry changed


def _forget() -> None:
    for clear in READINGS:
        clear()


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


def make(definition: Definition, params: Mapping[str, object]) -> Measure:
    """A measure with checked parameters, in the order of the signature, defaults left out; capitals in their names do not matter."""
    by_lower = {name.lower(): name for name in definition.parameters}
    params = {by_lower.get(key.lower(), key): value for key, value in params.items()}
    for key in params:
        if key not in definition.parameters:
            raise MeasureError(
                f"{definition.name} has no parameter {key!r}: {nearest(key, definition.parameters)}"
            )
    changed: list[tuple[str, Value]] = []
    for key, parameter in definition.parameters.items():
        if key not in params:
            if parameter.default is inspect.Parameter.empty:
                example = "(nDCG@10)" if parameter.kind is Nested else "@0.5"
                raise MeasureError(
                    f"{definition.name} needs {key}: write {definition.name}{example}, for example."
                )
            continue
        value = parameter.read(params[key], definition.name)
        if value != parameter.default:
            changed.append((key, value))
    return Measure(definition.name, tuple(changed))


@cache
def by_spelling() -> dict[str, tuple[str, Mapping[str, object]]]:
    """Every spelling and what it stands for: canonical names as they are written, all others in lower case.

    So ``RBP`` and ``rbp`` may differ, as they do between tools.
    """
    table: dict[str, tuple[str, Mapping[str, object]]] = {}
    for one in _DEFINITIONS.values():
        table |= _spelled(one)
    return table


def _spelled(one: Definition) -> dict[str, tuple[str, Mapping[str, object]]]:
    own: dict[str, tuple[str, Mapping[str, object]]] = {
        one.name: (one.name, {}),
        one.name.lower(): (one.name, {}),
    }
    return own | {alias.lower(): (one.name, params) for alias, params in one.aliases.items()}


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
