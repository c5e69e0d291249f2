"""What systems risk against a baseline: how much they lose where they lose, next to what they gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.stats.risk import georisk, trisk, urisk
from ranklens.tables.table import Table

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.comparison import Comparison


def risk_frame(comparison: Comparison, measure: str, baseline: str, alpha: float) -> pl.DataFrame:
    """The columns system, urisk, trisk and georisk; URisk and TRisk of the baseline itself are null."""
    import polars as pl

    better = comparison.quantity(measure).better
    if better == "neither":
        raise InputError(f"{measure} does not say which values are better, so nothing is lost.")
    values = dict(zip(comparison.systems, comparison.values(measure), strict=True))
    if better == "lower":
        values = {system: -value for system, value in values.items()}
    base = values[baseline]
    geo = georisk(values, alpha) if all((value >= 0).all() for value in values.values()) else {}
    rows = [
        (
            system,
            None if system == baseline else urisk(value, base, alpha),
            None if system == baseline or len(value) < 2 else trisk(value, base, alpha),
            geo.get(system),
        )
        for system, value in values.items()
    ]
    numbers = dict.fromkeys(("urisk", "trisk", "georisk"), pl.Float64)
    return pl.DataFrame(rows, schema={"system": pl.String, **numbers}, orient="row")


def risk_table(comparison: Comparison, alpha: float) -> Table:
    """The same for every measure that says which values are better, as it is printed."""
    baseline = comparison.baseline or comparison.systems[0]
    rows: list[list[str]] = []
    for name in comparison.measures:
        if comparison.quantity(name).better == "neither":
            continue
        shown = comparison.shown(name)
        for system, *numbers in risk_frame(comparison, name, baseline, alpha).iter_rows():
            rows.append([shown, system, *("" if value is None else f"{value:.4f}" for value in numbers)])
            shown = ""
    title = f"Risk against {baseline}: losses count {1 + alpha:g} times"
    return Table(["measure", "system", "URisk", "TRisk", "GeoRisk"], rows, title=title, left=2)
