"""Puts the sources of the site together in a folder, from which the site is built. Run by scripts/docs.

The pages of the repository are copied: they are written for GitHub, so links that lead out of docs/ are turned to the copies.
The API reference and the live examples are made here.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import live
import reference

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LAST = "## What a report looks like"  # of the first page; the site shows a live one
README = ROOT / "README.md"  # GitHub's front page; the site has index.md

_FENCE = re.compile(r"^ *(```|~~~)")
_ITEM = re.compile(r"^(-|\d+\.) ")
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
_CODE = re.compile(r"^```(\w*)\n.*?^```$", re.DOTALL | re.MULTILINE)
_TABS = re.compile(r"<!-- tabs -->\n(.*?)<!-- end of tabs -->\n", re.DOTALL)
_TAB = re.compile(r"^\*\*(.+)\*\*$")
_PICTURE = re.compile(r"!\[([^]]*)\]\(images/([\w-]+)\.(png|svg)\)")


def stage(folder: Path) -> None:
    """Fill ``folder`` anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS / "images", folder / "images")
    shutil.copytree(DOCS / "website" / "assets", folder / "assets")
    for page in sorted({*DOCS.rglob("*.md"), *ROOT.glob("*.md")} - {README}):
        target = folder / _place(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_for_the_site(page, folder), encoding="utf-8")
    reference.write(folder / "api")
    live.write(folder)


def _place(file: Path) -> Path:
    """Where a file of the repository is on the site: pages next to docs/ go to the top, other files to files/."""
    if file == README:
        return Path("index.md")
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS)
    return Path(file.name.lower()) if file.suffix == ".md" else Path("files") / file.relative_to(ROOT)


def _for_the_site(page: Path, folder: Path) -> str:
    upwards = "../" * len(_place(page).parent.parts)

    def turned(link: re.Match[str]) -> str:
        linked = (page.parent / link[1]).resolve()
        if not linked.is_file():
            raise SystemExit(f"{page} links to {link[1]}, which is not a file: the site cannot show it.")
        target = folder / _place(linked)
        if linked.suffix != ".md" and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(linked, target)
        return f"]({upwards}{_place(linked).as_posix()}"

    text = _wider_lists(page.read_text(encoding="utf-8"))
    if page == DOCS / "index.md":
        text = f"{text.partition(LAST)[0]}{LAST}\n\n{live.FRAME}"
    text = _CODE.sub(_marked, _TABS.sub(_tabs, _PICTURE.sub(_of_both_schemes, text)))
    return "".join(line if fenced else _LINK.sub(turned, line) for fenced, line in _lines(text))


def _marked(block: re.Match[str]) -> str:
    """A block of code; one without a language shows what a program prints, and gets a class of its own."""
    return block[0] if block[1] else block[0].replace("```", "``` { .text .output }", 1)


def _tabs(group: re.Match[str]) -> str:
    """Headings in bold and what follows them, as tabs."""
    lines = []
    for line in group[1].splitlines():
        title = _TAB.match(line)
        lines.append(f'=== "{title[1]}"' if title else f"    {line}".rstrip())
    return "\n".join(lines) + "\n"


def _of_both_schemes(picture: re.Match[str]) -> str:
    """A picture, and the one for dark colours if there is one."""
    name, suffix = picture[2], picture[3]
    if not (DOCS / "images" / f"{name}-dark.{suffix}").exists():
        return picture[0]
    return "".join(
        f"![{picture[1]}](images/{name}{end}.{suffix}#only-{scheme})"
        for scheme, end in (("light", ""), ("dark", "-dark"))
    )


def _lines(text: str) -> list[tuple[bool, str]]:
    """The lines of a page, and for each whether it belongs to a block of code."""
    lines, inside = [], False
    for line in text.splitlines(keepends=True):
        fence = bool(_FENCE.match(line))
        lines.append((inside or fence, line))
        inside ^= fence
    return lines


def _wider_lists(text: str) -> str:
    """Indent what continues an item of a list by four spaces: GitHub is content with fewer, Python-Markdown is not."""
    wider, width = [], 0
    for fenced, line in _lines(text):
        item = None if fenced else _ITEM.match(line)
        if item:
            width = item.end()
        elif line.strip() and not line.startswith(" " * width):
            width = 0
        wider.append(" " * (4 - width) + line if width and line.strip() and not item else line)
    return "".join(wider)


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
