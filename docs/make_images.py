"""Draws docs/images/report.png and report-dark.png: the demo's report as a browser shows it. Run by hand, after the page has changed.

    python docs/make_images.py

Needs Playwright and a Chromium or Chrome (``scripts/test --all`` installs the first).
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from ranklens.bench.demo import run_demo

IMAGES = Path(__file__).parent / "images"
PICTURES = {"light": IMAGES / "report.png", "dark": IMAGES / "report-dark.png"}
SIZE = {"width": 1280, "height": 900}
# The same letters on every machine that has one of these; all are as wide as Arial's.
FONTS = "Arimo, 'Liberation Sans', Arial, Helvetica, sans-serif"
# Colours as the style sheet has them, whatever the screen's profile is.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


def draw(report: Path) -> None:
    """The first screen of the report, in light and dark colours."""
    browsers = ("chromium", "chromium-browser", "google-chrome", "chrome")
    with sync_playwright() as playwright:
        program = next(filter(None, map(shutil.which, browsers)), None)
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        for scheme, picture in PICTURES.items():
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)
            page.goto(report.as_uri())
            page.evaluate("fonts => document.documentElement.style.setProperty('--sans', fonts)", FONTS)
            page.wait_for_selector("html[data-ready]")
            page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        run_demo(report)
        draw(report)
