"""Draws docs/images: the report as a browser shows it, and charts. Run by hand, after the page or the charts have changed.

    python docs/make_images.py

Needs Playwright, a Chromium or Chrome (``scripts/test --all`` installs the first), and the extra ``plots``.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt
from playwright.sync_api import sync_playwright

import ranklens as rl
from ranklens.bench.demo import run_demo
from ranklens.bench.demo.regression import Regression
from ranklens.report.charts import save, style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ranklens import Comparison

IMAGES = Path(__file__).parent / "images"
SCHEMES = {"light": "", "dark": "-dark"}  # of colours, and the end of the name of the picture
# The same letters on every machine that has one of these; all are as wide as Arial's.
FONTS = "Arimo, 'Liberation Sans', Arial, Helvetica, sans-serif"
# Colours as the style sheet has them, whatever the screen's profile is.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


def photograph(report: Path, name: str, width: int, height: int, view: str = "", part: str = "") -> None:
    """The first screen of the report, or one part of it, in light and dark colours."""
    browsers = ("chromium", "chromium-browser", "google-chrome", "chrome")
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, browsers)), None)
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        for scheme, end in SCHEMES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(report.as_uri() + view)
            page.evaluate("fonts => document.documentElement.style.setProperty('--sans', fonts)", FONTS)
            page.wait_for_selector("html[data-ready]")
            picture: Any = page.locator(part) if part else page
            picture.screenshot(path=IMAGES / f"{name}{end}.png")
        browser.close()


def draw_reports(folder: Path) -> Comparison:
    """The first screens of the reports of both demos, and the query that gained most."""
    regression = Regression.run().comparison
    photograph(
        regression.to_html(folder / "regression.html", title="Chunks of 60 words instead of 120"),
        "regression",
        1100,
        640,
    )
    report = folder / "report.html"
    compared = run_demo(report).comparison
    photograph(report, "report", 1280, 900)
    query = compared.queries("nDCG@10", "bm25", "fusion")["query"][-1]
    photograph(report, "query", 1100, 640, view=f"#query={query}&measure=nDCG@10&a=bm25&b=fusion")
    return compared


def draw_charts(compared: Comparison) -> None:
    """Charts of the demo with six engines, and of the number of queries that an evaluation needs."""
    plots = compared.plot
    save(plots.leaderboard(), IMAGES / "leaderboard.svg")
    save(plots.deltas(), IMAGES / "deltas.svg")
    save(plots.over_k(), IMAGES / "over_k.svg")
    save(rl.plan(0.25, detect=0.05).chart(), IMAGES / "power.svg")
    save(_worth_of_a_rank(), IMAGES / "worth.svg")


def _worth_of_a_rank() -> Any:
    """What the only relevant document is worth at each rank, by measure."""
    names = ["RR", "nDCG@10", "RBP(p=0.8)", "Success@5", "P@5"]
    rows = [{"rank": rank, "measure": name, "value": value} for rank, name, value in _values(names)]
    chart = (
        alt.Chart(style.inline(rows))
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("rank:O", title="rank of the only relevant document", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title="value"),
            color=alt.Color(
                "measure:N", sort=names, scale=alt.Scale(domain=names, range=list(style.COLOURS[:5]))
            ),
            strokeDash=alt.StrokeDash("measure:N", sort=names, legend=None),
        )
        .properties(width=480, height=240)
    )
    return style.styled(chart, "What a rank is worth", "One relevant document, retrieved at ranks 1 to 12")


def _values(names: list[str]) -> Iterator[tuple[int, str, float]]:
    for rank in range(1, 13):
        ranking = [f"x{i}" for i in range(1, rank)] + ["relevant"]
        means = rl.evaluate({"q": {"relevant"}}, {"q": ranking}, names).mean
        yield from ((rank, name, means[name]) for name in names)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        draw_charts(draw_reports(Path(temporary)))
