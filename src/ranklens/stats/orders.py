"""How far two orders of the same things agree, such as systems by two sets of judgments: Kendall's tau, and tau AP, where the top counts most.

Yilmaz, Aslam and Robertson, "A New Rank Correlation Coefficient for Information Retrieval" (2008).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ranklens.errors import InputError
from ranklens.stats import inputs
from ranklens.words import brief

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray

Order: TypeAlias = "Sequence[Hashable] | Mapping[Any, float]"
KINDS = ("b", "ap")


def tau(a: Order, b: Order, kind: str = "b") -> float:
    """Kendall's tau of two orders: 1 for the same order, -1 for the reverse, 0 on average by chance.

    ``a`` and ``b`` are lists, best first, or ``{name: value}``, where higher values come first and equal ones tie. ``kind="b"`` corrects for
    ties. ``kind="ap"`` asks at each place of ``a`` which share of the things above it belongs there by ``b``, so that a swap at the top costs
    more than one at the bottom; pairs that tie count half. NaN where one of the two is all ties.

    >>> tau("ABCDE", "BACDE"), tau("ABCDE", "BACDE", kind="ap"), tau("ABCDE", "ABCED", kind="ap")
    (0.8, 0.5, 0.875)
    """
    import numpy as np

    inputs.choice(kind, "kind", KINDS)
    first, second = _places(a, "a"), _places(b, "b")
    odd = next(iter(first.keys() ^ second.keys()), None)
    if odd is not None:
        raise InputError(
            f"a and b must hold the same things; {brief(str(odd))!r} is in {'a' if odd in first else 'b'} alone."
        )
    if len(first) < 2:
        raise InputError("An order of fewer than two things cannot agree or disagree with another.")
    x = np.array([*first.values()])
    y = np.array([second[name] for name in first])
    return _b(x, y) if kind == "b" else _ap(x, y)


def _b(x: FloatArray, y: FloatArray) -> float:
    import numpy as np

    above, below = (np.sign(place[:, None] - place) for place in (x, y))
    size = float(np.sqrt((above**2).sum() * (below**2).sum()))
    return float((above * below).sum()) / size if size else float("nan")


def _ap(x: FloatArray, y: FloatArray) -> float:
    import numpy as np

    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    agree = (1 + np.sign(x[:, None] - x) * np.sign(y[:, None] - y)) / 2
    shares = np.tril(agree, -1).sum(axis=1)[1:] / np.arange(1, len(x))
    return float(2 * shares.mean() - 1)


def _places(order: Order, name: str) -> dict[Hashable, float]:
    """What comes first has the lowest number."""
    if isinstance(order, Mapping):
        values = inputs.numbers(list(order.values()), name)
        return dict(zip(order, (-values).tolist(), strict=True))
    if not isinstance(order, Sequence):
        raise InputError(f"{name} must be a list, best first, or {{name: value}}.")
    places = {one: float(place) for place, one in enumerate(order)}
    if len(places) < len(order):
        raise InputError(f"{name} has something twice; an order has each thing once.")
    return places
