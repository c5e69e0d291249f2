"""The settings of a tuned fusion and what each is worth, as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.report.charts import library as alt
from ranklens.report.charts import style

if TYPE_CHECKING:
    from ranklens.fusion.tuning import Tuned
    from ranklens.report.charts.style import Chart


def surface_chart(tuned: Tuned) -> Chart:
    """One bar per setting, the best first, and a rule at the honest mean, which the best one's bar exceeds."""
    frame = tuned.settings.sort("mean", descending=True).head(_MOST)
    rows = [
        {
            "setting": ", ".join(
                f"{name} {_text(row[name])}" for name in frame.columns if name not in ("mean", "chosen")
            ),
            "mean": row["mean"],
        }
        for row in frame.iter_rows(named=True)
    ]
    base = alt.Chart(style.inline(rows)).encode(y=alt.Y("setting:N", sort=None, title=None))
    points = base.mark_point(filled=True, size=60, color=style.COLOURS[0]).encode(
        x=alt.X("mean:Q", title=str(tuned.measure), scale=alt.Scale(zero=False))
    )
    honest = tuned.held_out.mean[str(tuned.measure)]
    low, high = tuned.interval
    held_out = alt.Chart(style.inline([{"mean": honest, "low": low, "high": high}]))
    band = held_out.mark_rect(opacity=0.15, color=style.MUTED).encode(x="low:Q", x2="high:Q")
    rule = held_out.mark_rule(strokeDash=[4, 3], color=style.MUTED).encode(x="mean:Q")
    subtitle = (
        f"points: on the queries they were chosen on; dashed: held out, {honest:.4f} with its 95% interval"
    )
    return style.styled(alt.layer(band, rule, points), "Settings of the fusion", subtitle)


_MOST = 30  # settings that a chart can show


def _text(value: object) -> str:
    return " : ".join(f"{part:g}" for part in value) if isinstance(value, list) else str(value)
