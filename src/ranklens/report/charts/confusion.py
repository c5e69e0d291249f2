"""Grades of one assessor against those of another, as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.report.charts import library as alt
from ranklens.report.charts import style
from ranklens.report.palette import WORSE_TO_BETTER
from ranklens.words import percent

if TYPE_CHECKING:
    from ranklens.assessment.agreement import Agreement
    from ranklens.report.charts.style import Chart


def confusion_chart(agreement: Agreement) -> Chart:
    """How often each pair of grades was given; all pairs of assessors together, if there are more than two."""
    names = [f"{grade:g}" for grade in agreement.ratings.scale]
    first, second = agreement.pairs[0] if len(agreement.pairs) == 1 else ("one assessor", "another")
    frame = agreement.confusion
    counts = [[int(count) for count in row[1:]] for row in frame.iter_rows()]
    total = sum(map(sum, counts)) or 1
    rows = [
        {
            "first": names[i],
            "second": names[j],
            "documents": count,
            "share": count / total,
            "label": f"{count:,}",
        }
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
    ]
    base = alt.Chart(style.inline(rows)).encode(
        x=alt.X("second:O", sort=names, title=f"grade by {second}", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("first:O", sort=names[::-1], title=f"grade by {first}"),
    )
    shade = alt.Scale(range=[*WORSE_TO_BETTER[1:]], interpolate="rgb")  # light enough for black numbers
    cells = base.mark_rect(stroke=style.LINE).encode(color=alt.Color("share:Q", scale=shade, legend=None))
    text = base.mark_text(color=style.INK).encode(text="label:N")
    about = f"{percent(agreement.values['raw'])} on the diagonal; alpha (ordinal) {agreement.alpha():.3f}"
    size = 70 * len(names)
    return style.styled(alt.layer(cells, text), "Grades against grades", about, width=size, height=size)
