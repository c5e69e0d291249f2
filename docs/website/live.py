"""Makes the live examples of the site with the library itself: the report of the demo, and every chart."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FRAME = '<iframe class="live-report" src="examples/report.html" title="The report of the demo" loading="lazy"></iframe>\n'

HEAD = f"""# Live examples

Made by RankLens when this site was built, from `ranklens demo`: six search engines answer 160 questions from the documentation of Python's
standard library.

## The report

[Open the report on its own](examples/report.html){{ .md-button .md-button--primary target=_blank }}

One file that needs no network. Search and sort the queries, open one, choose other systems or another measure.
[What it shows](report.md).

{FRAME}
## Charts

Each is a method of `comparison.plot`. [How to draw and save them](report.md#charts).
"""


def write(pages: Path) -> None:
    """The report, the charts as SVG, and a page that shows them."""
    folder = pages / "examples"
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # quickest for matrices of this size
    from ranklens.bench.demo import run_demo
    from ranklens.report.charts import CHARTS, draw, save

    folder.mkdir(parents=True)
    compared = run_demo(folder / "report.html").comparison
    parts = [HEAD]
    for name, chart in CHARTS.items():
        if (
            name == "over_tokens"
        ):  # of passages, which the demo's documentation does not have; see chunking.md
            continue
        save(draw(compared, name), folder / f"{name}.svg")
        shows = (chart.__doc__ or "").partition("\n")[0]
        parts.append(
            f"### {name}\n\n{shows}\n\n![{shows}](examples/{name}.svg){{ .live-chart loading=lazy }}\n"
        )
    (pages / "examples.md").write_text("\n".join(parts), encoding="utf-8")
