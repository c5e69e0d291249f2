"""Power over the number of queries, as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.report.charts import library as alt
from ranklens.report.charts import style

if TYPE_CHECKING:
    from ranklens.comparison.planning import Plan
    from ranklens.report.charts.style import Chart


def power_chart(plan: Plan) -> Chart:
    """The chance to find the difference over the number of queries; a band for what the pilot leaves open, a rule at the plan."""
    base = alt.Chart(style.inline(plan.curve.to_dicts())).encode(x=alt.X("queries:Q", title="queries"))
    percent = alt.Axis(format="%")
    line = base.mark_line(strokeWidth=2.5, color=style.COLOURS[0]).encode(
        y=alt.Y(
            "power:Q", title=f"power to find {plan.detect:g}", axis=percent, scale=alt.Scale(domain=[0, 1])
        )
    )
    band = base.mark_area(opacity=0.18, color=style.COLOURS[0]).encode(y="low:Q", y2="high:Q")
    mark = alt.Chart(
        style.inline([{"queries": plan.queries, "power": plan.power, "label": f"{plan.queries:,}"}])
    )
    goal = mark.mark_rule(strokeDash=[4, 3], color=style.MUTED).encode(y="power:Q")
    rule = mark.mark_rule(strokeDash=[4, 3], color=style.MUTED).encode(x="queries:Q")
    text = mark.mark_text(align="left", dx=6, dy=10, color=style.INK).encode(
        x="queries:Q", y="power:Q", text="label:N"
    )
    subtitle = f"{plan.queries:,} queries find it with a probability of {plan.power:.0%}"
    return style.styled(alt.layer(band, line, goal, rule, text), "Power over the number of queries", subtitle)
