"""A comparison as one HTML file that works offline: the page's own files, the numbers as JSON, long data packed in pieces.

Queries, ids and texts are data. They are in ``<script>`` elements of a type that is not run, with every ``<`` escaped, and
the page writes them with ``textContent`` only. A content security policy forbids every request, and every script and
style but the page's own (by hash).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections import UserDict
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.report import palette
from ranklens.report.content import content

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ranklens.comparison.comparison import Comparison

_LEVEL = 4  # of compression: a third of the time of 6, for 5% more bytes
# In the order in which they build on each other; together they are one script.
SCRIPTS = (
    "dom", "data", "plot", "pair_charts", "charts", "summary", "leaderboard", "heat_map", "details", "table", "query", "report"
)  # fmt: skip


def write_report(
    comparison: Comparison,
    path: str | Path,
    *,
    queries: object = None,
    corpus: object = None,
    title: str | None = None,
) -> Path:
    """Write the report, completely or not at all, and return its path.

    ``queries`` and ``corpus`` are texts by id: a dict, a table, or the path of a file or BEIR folder
    (:func:`ranklens.data.files.corpus.texts`). Without ``queries`` the page shows the texts of a golden set or log, else ids.
    """
    from ranklens.data.files.output import write_whole

    target = Path(path)
    page = render(comparison, queries=queries, corpus=corpus, title=title).encode("utf-8", "replace")
    write_whole(target, lambda place: place.write_bytes(page))
    return target


def render(
    comparison: Comparison, *, queries: object = None, corpus: object = None, title: str | None = None
) -> str:
    """The report as text."""
    with ThreadPoolExecutor() as pool:
        pieces = _Packed(pool)
        summary = content(comparison, queries=queries, corpus=corpus, title=title, pieces=pieces).summary
    # JSON that cannot end the element it is in.
    data = json.dumps(summary, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    style = palette.style() + _page("report.css")
    parts = "\n".join(_page(f"{name}.js") for name in SCRIPTS)
    script = f'(() => {{\n"use strict";\n{parts}}})();\n'
    # Nothing may be requested; nothing but the page's own script and style applies; text can never become markup.
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    slots = {
        "title": html.escape(str(summary["title"])),
        "policy": html.escape(policy, quote=True),
        "icon": palette.SYSTEMS[0].replace("#", "%23"),
        "style": style,
        "script": script,
        "without_script": _without_script(comparison),
        "summary": data.replace("<", "\\u003c"),
        "pieces": "\n".join(pieces.elements()),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda slot: slots[slot[1]], _page("report.html"))


def _page(name: str) -> str:
    return resources.files("ranklens.report").joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class _Packed(UserDict[str, bytes]):
    """Data that is packed in other threads while more of it is made, each in its own element."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        super().__init__()
        self._pool, self._packed = pool, dict[str, Future[bytes]]()

    def __setitem__(self, name: str, data: bytes) -> None:
        super().__setitem__(name, data)
        self._packed[name] = self._pool.submit(gzip.compress, data, _LEVEL, mtime=0)

    def elements(self) -> Iterator[str]:
        for name, packed in self._packed.items():
            text = base64.b64encode(packed.result()).decode()
            yield f'<script type="text/plain" id="piece-{name}">{text}</script>'


def _without_script(comparison: Comparison) -> str:
    """The results for a browser that runs no script, without styles in attributes, which the policy forbids."""
    table = comparison.table()
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in table.rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    verdict = "".join(f"<p>{html.escape(line)}</p>" for line in comparison.verdict().splitlines())
    return f"{verdict}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
