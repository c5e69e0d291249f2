"""The Bayesian view of a comparison, pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.stats import probabilities

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.comparison import Comparison


def probabilities_frame(comparison: Comparison, rope: float, method: str) -> pl.DataFrame:
    """One row per measure and pair: how likely b is better than a, practically equal, and worse."""
    import polars as pl

    rows = []
    for part in comparison.pairs.parts:
        for i, j in zip(part.first.tolist(), part.second.tolist(), strict=True):
            values = part.units[[i, j]]
            found = probabilities(*values, rope=rope, method=method, rng=comparison.seed)
            better, worse = found.better, found.worse
            if part.quantity.better == "lower":
                better, worse = worse, better
            rows.append(
                (
                    comparison.shown(part.quantity.name),
                    part.systems[i],
                    part.systems[j],
                    better,
                    found.equal,
                    worse,
                    found.method,
                )
            )
    names = ("measure", "a", "b", "better", "equal", "worse", "method")
    kinds = {name: pl.Float64 if name in ("better", "equal", "worse") else pl.String for name in names}
    return pl.DataFrame(rows, schema=kinds, orient="row")
