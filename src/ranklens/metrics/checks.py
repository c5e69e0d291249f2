"""What a measure from outside must keep to: its name, and one finite value within its range for each query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.errors import MeasureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ranklens.arrays import FloatArray
    from ranklens.judging.judged import Judged
    from ranklens.metrics.catalog import Definition

_ROUNDING = 1e-9  # by which sums of fractions may leave a range


def is_built_in(function: Callable[..., object]) -> bool:
    """Whether a function is one of our formulas, which tests check."""
    return (
        str(function.__module__).startswith("ranklens.metrics.formulas.")
        and "<locals>" not in function.__qualname__
    )


def refuse_taken(name: str, spelling: str, function: Callable[..., object], known: Definition | None) -> None:
    """A name that another measure has; who runs a cell of a notebook again may define a measure of their own again."""
    if known is None:
        return
    same = (known.function.__module__, known.function.__qualname__) == (
        function.__module__,
        function.__qualname__,
    )
    if known.name != name or (is_built_in(known.function) and not same):
        raise MeasureError(f"The name {spelling!r} is taken by the measure {known.name}; choose another.")


def own_name(name: str | None, function: Callable[..., object], cure: str) -> str:
    """The name of a measure of one's own: the given one, else that of its function, which a lambda or a partial has not."""
    chosen = str(name or getattr(function, "__name__", ""))
    if not chosen.isidentifier():
        raise MeasureError(f"{cure}, not {chosen!r}.")
    return chosen


def checked(values: object, definition: Definition, judged: Judged) -> FloatArray:
    """The values that a measure from outside returned, or one sentence on what is wrong with them."""
    import numpy as np

    name, expected = definition.name, len(judged)
    try:
        found: FloatArray = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MeasureError(
            f"The measure {name} returned a {type(values).__name__}; it must return one number per query."
        ) from None
    if found.shape != (expected,):
        shape = f"{found.shape[0]} values" if found.ndim == 1 else f"an array of shape {found.shape}"
        raise MeasureError(
            f"The measure {name} returned {shape} for {expected} queries; one per query is needed."
        )
    for wrong, what, cure in (
        (np.isnan(found), "NaN", "return 0 where it is not defined"),
        (
            (found < definition.low - _ROUNDING) | (found > definition.high + _ROUNDING),
            "",
            "register it with low= and high= if that is right",
        ),
    ):
        if wrong.any():
            place = int(np.flatnonzero(wrong)[0])
            outside = f"{found[place]:g}, outside {definition.low:g} to {definition.high:g},"
            raise MeasureError(
                f"The measure {name} returned {what or outside} for query {judged.queries[place]!r}; {cure}."
            )
    return found
