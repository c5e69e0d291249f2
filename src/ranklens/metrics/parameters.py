"""Parameters of measures: how a function's signature declares them, which values they allow, and how they print."""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, SupportsFloat, TypeAlias

from ranklens.errors import MeasureError

if TYPE_CHECKING:
    from ranklens.judging.views import Richer

Value: TypeAlias = "int | float | bool | str | tuple[tuple[float, float], ...] | tuple[float, ...] | None"


@dataclass(frozen=True)
class Above:
    """The value must be greater than ``low``, and less than ``below`` if that is given."""

    low: float
    below: float = float("inf")

    def allows(self, value: float) -> bool:
        return self.low < value < self.below

    def __str__(self) -> str:
        return f"above {self.low:g}" + (f" and below {self.below:g}" if self.below < float("inf") else "")


@dataclass(frozen=True)
class Within:
    """The value must lie between ``low`` and ``high``, both included."""

    low: float
    high: float

    def allows(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"from {self.low:g} to {self.high:g}"


# How parameters are annotated: the type says how to read the value, the limit which values are allowed.
Cutoff: TypeAlias = Annotated[int | None, Within(1, 1e15)]
Rel: TypeAlias = Annotated[float, Above(0)]
Share: TypeAlias = Annotated[float, Within(0, 1)]
Chance: TypeAlias = Annotated[float, Above(0, below=1)]
Positive: TypeAlias = Annotated[float, Above(0)]
Gains: TypeAlias = Annotated[Mapping[float, float] | None, "gains"]
Inner: TypeAlias = Annotated[str, "measure"]  # the name of another measure
Levels: TypeAlias = Annotated[Sequence[float] | None, "levels"]


class Nested:
    """The kind of a parameter that is itself a measure: ``IA(nDCG@10)``."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a measure, as its function's signature declares it."""

    name: str
    kind: type
    default: Any
    choices: tuple[str, ...] = ()
    limit: Above | Within | None = None

    def read(self, value: object, owner: str) -> Value:
        """``value`` checked and in its canonical form."""
        if self.default is None and value in (None, {}, "{}"):
            return None
        try:
            result = self._convert(value)
        except MeasureError:
            raise
        except (TypeError, ValueError):
            result = None
        if result is None or (self.limit and not self.limit.allows(typing.cast("float", result))):
            raise MeasureError(
                f"{owner}: {self.name}={value!r} is not allowed; {self.name} is {self.allowed()}."
            )
        return result

    def allowed(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        nouns = {
            bool: "true or false",
            dict: "a table such as {1: 3, 2: 9}",
            list: "a list such as [0.25, 0.5]",
            Nested: "the name of a measure",
        }
        noun = nouns.get(self.kind, "a whole number" if self.kind is int else "a number")
        return f"{noun} {self.limit}".replace(" to 1e+15", "").replace(" to inf", "") if self.limit else noun

    def default_in_words(self) -> str:
        """``", default 0.8"``, or that the parameter must be given."""
        if self.default is inspect.Parameter.empty:
            return ", must be given"
        return "" if self.default is None else f", default {shown(self.default)}"

    def _convert(self, value: object) -> Value:  # noqa: PLR0911  one case per kind
        if self.kind is Nested:
            from ranklens.metrics.names import parse

            return str(parse(str(value)))
        if self.choices:
            return next((choice for choice in self.choices if choice.lower() == str(value).lower()), None)
        if self.kind is bool:
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
                str(value).lower()
            )
        if self.kind is dict:
            if isinstance(value, (Mapping, tuple)):
                table = dict(value)
            else:  # a text such as {1: 3, "2": 9}
                pairs = [
                    pair.split(":") for pair in str(value).strip().strip("{}").split(",") if pair.strip()
                ]
                table = {grade.strip().strip("\"'"): gain for grade, gain in pairs}
            return tuple(sorted((_tidy(float(grade)), _tidy(float(gain))) for grade, gain in table.items()))
        if self.kind is list:
            parts = value.strip().strip("[]").split(",") if isinstance(value, str) else value
            return (
                tuple(_tidy(float(part)) for part in parts) or None if isinstance(parts, Iterable) else None
            )
        if isinstance(value, bool) or not isinstance(value, (str, SupportsFloat)):
            return None
        number = float(value)
        if self.kind is int:
            return int(number) if number.is_integer() else None
        return _tidy(number) if math.isfinite(number) else None


def parameters_of(name: str, function: Callable[..., object]) -> dict[str, Parameter]:
    """What a measure's function can be told, from its signature."""
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = {}
    for key, argument in list(inspect.signature(function).parameters.items())[1:]:
        if argument.kind is not inspect.Parameter.KEYWORD_ONLY:
            raise MeasureError(f"{name}: parameter {key!r} must be keyword-only: put it after a '*'.")
        parameters[key] = _parameter(key, hints.get(key, float), argument.default)
    parameters["judged_only"] = Parameter("judged_only", bool, default=False)
    return parameters


def declare(function: Any, parameters: Sequence[inspect.Parameter]) -> None:
    """Let a function that takes ``**parameters`` have them in its signature, where the registry reads them."""
    first = next(iter(inspect.signature(function).parameters.values()))
    function.__signature__ = inspect.Signature([first, *parameters])
    function.__annotations__ = {
        each.name: each.annotation for each in parameters if each.annotation is not each.empty
    }


def view_of(function: Callable[..., object]) -> type[Richer] | None:
    """The type of the first argument, if that is more than :class:`~ranklens.judging.judged.Judged`."""
    first = next(iter(inspect.signature(function).parameters), "")
    if function.__annotations__.get(first, "Judged") == "Judged":  # as most; reading type hints takes time
        return None
    from ranklens.judging.views import Richer

    hint = typing.get_type_hints(function).get(first)
    return hint if isinstance(hint, type) and issubclass(hint, Richer) else None


def _parameter(name: str, hint: object, default: object) -> Parameter:
    limit = None
    # Before Python 3.11, a default of None puts one more "| None" around the type.
    hint = next((kind for kind in typing.get_args(hint) if typing.get_origin(kind) is Annotated), hint)
    if typing.get_origin(hint) is Annotated:
        hint, *extras = typing.get_args(hint)
        limit = next((extra for extra in extras if isinstance(extra, (Above, Within))), None)
        if "measure" in extras:
            return Parameter(name, Nested, default)
        if "gains" in extras or "levels" in extras:
            return Parameter(name, dict if "gains" in extras else list, default)
    alternatives = [hint, *typing.get_args(hint)]  # of "int | None", for example
    for alternative in alternatives:
        if typing.get_origin(alternative) is Literal:
            return Parameter(name, str, default, choices=typing.get_args(alternative))
    kinds = [kind for kind in (bool, int, float) if kind in alternatives]
    return Parameter(name, kinds[0] if kinds else float, default, limit=limit)


def _tidy(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def shown(value: Value) -> str:
    """A value as it is written in a measure's name."""
    if isinstance(value, tuple):
        shown = [f"{part[0]}: {part[1]}" if isinstance(part, tuple) else str(part) for part in value]
        return ("{%s}" if isinstance(value[0], tuple) else "[%s]") % ", ".join(shown)
    return str(value).lower() if isinstance(value, bool) else str(value)
