"""Measures with their parameters: how they are made, called and printed."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ranklens.errors import MeasureError, nearest
from ranklens.metrics.catalog import Definition, definition
from ranklens.metrics.parameters import Nested, Value, shown

if TYPE_CHECKING:
    from ranklens.arrays import BoolArray, FloatArray
    from ranklens.judging.judged import Judged

_ROUNDING = 1e-9  # by which sums of fractions may leave a range


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
        return definition(self.name)

    @property
    def k(self) -> int | None:
        """The cutoff, if the measure has one."""
        value = dict(self.params).get("k")
        return value if isinstance(value, int) else None

    def __call__(self, judged: Judged) -> FloatArray:
        """One value per query."""
        own = self.definition
        if self.params and dict(self.params).get("judged_only"):
            judged = judged.condensed()
        values = own.function(own.view.of(judged, str(self)) if own.view else judged, **self._arguments)
        if own.is_foreign:
            values = _checked(values, own, judged)
        ones = self.counts_as_one(judged)
        if ones is not None:
            values = values.copy()
            values[ones] = 1.0
        return values

    @cached_property
    def _arguments(self) -> dict[str, object]:
        """What the formula is called with."""
        arguments: dict[str, object] = {}
        for name, value in self.params:
            is_table = isinstance(value, tuple) and isinstance(value[0], tuple)
            if name != "judged_only":
                arguments[name] = dict(value) if is_table else value  # type: ignore[arg-type]
        return arguments

    def counts_as_one(self, judged: Judged) -> BoolArray | None:
        """Which queries count as 1 because no document is relevant; None if that is not the policy, or 1 not the best value."""
        own = self.definition
        has_best = own.aggregate == "mean" and own.high == 1 and own.better == "higher"
        if judged.policy.empty != "one" or not has_best:
            return None
        threshold = own.parameters.get("rel")
        # A measure of grades, such as nDCG, has no level: any grade above 0 counts.
        level = dict(self.params).get("rel", threshold.default) if threshold else math.ulp(0.0)
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
        own = self.definition
        inside = ", ".join(
            str(value) if own.parameters[name].kind is Nested else f"{name}={shown(value)}"
            for name, value in self.params
            if name != own.at
        )
        at = dict(self.params).get(own.at) if own.at else None
        return self.name + (f"({inside})" if inside else "") + (f"@{shown(at)}" if at is not None else "")

    def __repr__(self) -> str:
        return f"measure({str(self)!r})"


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


def parameters(measure: Measure) -> dict[str, Any]:
    """All parameters of a measure, defaults included.

    >>> from ranklens.metrics import parse
    >>> parameters(parse("P@5"))
    {'rel': 1, 'k': 5, 'over': 'k', 'judged_only': False}
    """
    defaults = {name: p.default for name, p in measure.definition.parameters.items()}
    every = {"rel": 1, "k": None, **defaults, **dict(measure.params)}
    return {name: dict(value) if name == "gains" and value else value for name, value in every.items()}


def spellings(measures: Iterable[Measure]) -> list[str]:
    """What the spellings that were asked for stand for, where that is more than a matter of capitals.

    >>> from ranklens.metrics import parse_many
    >>> spellings(parse_many("hit@5 mrr ndcg@10"))
    ['hit@5 is Success@5', 'mrr is RR']
    """
    return [f"{m.shown} is {m}" for m in measures if m.shown.lower() != str(m).lower()]


def with_rel(measure: Measure, rel: float) -> Measure:
    """``measure`` with the policy's relevance level, unless it sets its own; the name then shows it."""
    parameter = measure.definition.parameters.get("rel")
    if parameter is None or parameter.default == rel or "rel" in dict(measure.params):
        return measure
    return replace(measure.replace(rel=rel), asked=measure.asked)


# What a paper must state, whatever the default is.
_STATED = ("p", "alpha", "beta", "gamma", "T", "gain", "max_grade")


def stated(measure: str | Measure, max_grade: float | None = None) -> list[str]:
    """Parameters that a reader must know and that the canonical name leaves out, because they have their default.

    ``max_grade`` is the highest grade of the judgments, which some measures take where none is given.

    >>> stated("RBP"), stated("RBP(p=0.5)"), stated("ERR@20", 4)
    (['p = 0.8', 'gain = binary'], ['gain = binary'], ['max_grade = 4', 'gain = exp'])
    >>> stated("IA(ERR)", 4)
    ['max_grade = 4', 'gain = exp']
    """
    if isinstance(measure, str):
        from ranklens.metrics.names import parse

        measure = parse(measure)
    own = dict(measure.params)
    facts = stated(str(own["of"]), max_grade) if "of" in own else []
    for name, parameter in measure.definition.parameters.items():
        if name not in _STATED or name in own or (name == "gain" and "gains" in own):
            continue
        if name == "max_grade" and parameters(measure).get("gain") == "binary":
            continue
        value = max_grade if name == "max_grade" and parameter.default is None else parameter.default
        if value is not None and value is not inspect.Parameter.empty:
            facts.append(f"{name} = {value:g}" if isinstance(value, (int, float)) else f"{name} = {value}")
    return facts


def _checked(values: object, definition: Definition, judged: Judged) -> FloatArray:
    """The values that a measure from outside returned, or one sentence on what is wrong with them."""
    import numpy as np

    name, expected = definition.name, len(judged)
    try:
        array: FloatArray = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MeasureError(
            f"The measure {name} returned a {type(values).__name__}; it must return one number per query."
        ) from None
    if array.shape != (expected,):
        shape = f"{array.shape[0]} values" if array.ndim == 1 else f"an array of shape {array.shape}"
        raise MeasureError(
            f"The measure {name} returned {shape} for {expected} queries; one per query is needed."
        )
    for wrong, what, cure in (
        (np.isnan(array), "NaN", "return 0 where it is not defined"),
        (
            (array < definition.low - _ROUNDING) | (array > definition.high + _ROUNDING),
            "",
            "register it with low= and high= if that is right",
        ),
    ):
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            outside = f"{array[place]:g}, outside {definition.low:g} to {definition.high:g},"
            raise MeasureError(
                f"The measure {name} returned {what or outside} for query {judged.queries[place]!r}; {cure}."
            )
    return array
