"""Looks for words that read as if translated; called by scripts/lint. The style guide has the rules: docs/style.md.

Documentation and examples contain none of them. Source code may keep those that it has, until they are rewritten, but gets no new ones.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTEAD = {
    r"so many": "N, this many, or the name of the argument",
    r"nobody|somebody|anybody|everybody|whoever": "name the subject: the caller, the run, the retriever",
    r"told apart": "no significant difference, inconclusive, distinguish",
    r"(?:is|are|was|were) told": "is reported, warns, prints",
    r"says so": "reports it, warns",
    r"came instead": "retrieved instead",
    r"also (?:where|if)": "even if",
    r"in all(?=[.,;:)])": "in total",
    r"(?<!look )alike": "equally",
    r"beside": "next to",
}
# How many the source code still has; lower these numbers as it loses them.
LEFT = {"alike": 70, "beside": 46, "in all": 7, "nobody": 1, "so many": 2}


def words_in(text: str) -> Iterator[tuple[int, str, str]]:
    r"""The line, the word, and what to write instead.

    >>> list(words_in("A first line.\nRows are told apart."))
    [(2, 'told apart', 'no significant difference, inconclusive, distinguish')]
    """
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, instead in INSTEAD.items():
            for match in re.finditer(rf"\b(?:{pattern})\b", line, re.IGNORECASE):
                yield number, match[0].lower(), instead


def written() -> list[Path]:
    """Pages and examples, except the style guide, which quotes the words."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return sorted(page for page in pages if page.name != "style.md")


def complaints() -> list[str]:
    """What is wrong, one line each."""
    lines = [
        f"{page.relative_to(ROOT)}:{number}: {word!r}: write {instead}"
        for page in written()
        for number, word, instead in words_in(page.read_text(encoding="utf-8"))
    ]
    source = [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "src").rglob("*.js"),
    ]
    counts = Counter(word for path in source for _, word, _ in words_in(path.read_text(encoding="utf-8")))
    lines += [
        f"src: {word!r} occurs {count} times, {LEFT.get(word, 0)} are left from before; see docs/style.md"
        for word, count in sorted(counts.items())
        if count > LEFT.get(word, 0)
    ]
    return lines


if __name__ == "__main__":
    wrong = complaints()
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)
