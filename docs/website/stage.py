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
HOME = "index.md"
BESIDE_DOCS = ("CONTRIBUTING.md", "CHANGELOG.md")

_FENCE = re.compile(r"^ *(```|~~~)")
_ITEM = re.compile(r"^(-|\d+\.) ")
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def stage(folder: Path) -> None:
    """Fill ``folder`` anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS / "images", folder / "images")
    shutil.copytree(DOCS / "website" / "assets", folder / "assets")
    for page in [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in BESIDE_DOCS)]:
        target = folder / _place(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_for_the_site(page, folder), encoding="utf-8")
    reference.write(folder / "api")
    live.write(folder)


def _place(file: Path) -> Path:
    """Where a file of the repository is on the site: what is outside docs/ stands at the top."""
    if file == ROOT / "README.md":
        return Path(HOME)
    return file.relative_to(DOCS) if file.is_relative_to(DOCS) else Path(file.name.lower())


def _for_the_site(page: Path, folder: Path) -> str:
    depth = len(_place(page).parent.parts)

    def turned(link: re.Match[str]) -> str:
        linked = (page.parent / link[1]).resolve()
        target = _place(linked)
        if linked.suffix != ".md" and not (folder / target).exists():
            shutil.copy(linked, folder / target)
        return "](" + "../" * depth + target.as_posix()

    text = _wider_lists(page.read_text(encoding="utf-8"))
    return "".join(part if fenced else _LINK.sub(turned, part) for fenced, part in _parts(text))


def _parts(text: str) -> list[tuple[bool, str]]:
    """The lines of a page, and for each whether it belongs to a block of code."""
    parts, inside = [], False
    for line in text.splitlines(keepends=True):
        fence = bool(_FENCE.match(line))
        parts.append((inside or fence, line))
        inside ^= fence
    return parts


def _wider_lists(text: str) -> str:
    """Indent what continues an item of a list by four spaces: GitHub is content with fewer, Python-Markdown is not."""
    lines, width = [], 0
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item:
            width = item.end()
        elif line and not line.startswith(" " * width):
            width = 0
        lines.append(" " * (4 - width) + line if width and line and not item else line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
