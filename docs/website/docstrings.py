"""A griffe extension: docstrings as Markdown. Roles become links, doctests highlighted blocks, tables Markdown's."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))  # mkdocstrings loads this file by its path

import parameters

_ROLE = re.compile(r":\w+:`(~?)([\w.]+)`")
_TABLE = re.compile(r"^(=+(?: +=+)+)\n(.*)\n\1\n((?:.*\n)+?)\1$", re.MULTILINE)
_DOCTEST = re.compile(r"^>>> .*\n(?:.*\S.*\n?)*", re.MULTILINE)


class MarkdownDocstrings(griffe.Extension):
    """Docstrings are written for ``help()``; this makes them readable on the site."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of every object that griffe has found."""
        if obj.docstring:
            text = _DOCTEST.sub(_fenced, obj.docstring.value + "\n")
            text = _TABLE.sub(_table, text)
            text = _with_parameters(obj, text)
            obj.docstring.value = _ROLE.sub(lambda role: _link(obj, role[2], short=bool(role[1])), text)


def _with_parameters(obj: griffe.Object, text: str) -> str:
    """The docstring with a table of parameters in front of its examples."""
    if not obj.is_function:
        return text
    prose, fence, examples = text.partition("```pycon")
    rows = parameters.table(obj.canonical_path, prose)
    return f"{prose.rstrip()}\n\n{rows}{fence}{examples}" if rows else text


def _fenced(example: re.Match[str]) -> str:
    return "```pycon\n" + example[0].rstrip().replace("<BLANKLINE>", "") + "\n```\n"


def _table(table: re.Match[str]) -> str:
    """A table between lines of ``=``, which show the columns; a row without a first cell continues the one above."""
    columns = [column.span() for column in re.finditer("=+", table[1])]
    columns[-1] = (columns[-1][0], len(table[0]))
    rows: list[list[str]] = []
    for line in table[3].splitlines():
        cells = [line[start:end].strip() for start, end in columns]
        if cells[0] or not rows:
            rows.append(cells)
        else:
            rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
    head = [table[2][start:end].strip() for start, end in columns]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def _link(obj: griffe.Object, name: str, *, short: bool) -> str:
    """A link to where the site documents the name; plain code where it does not."""
    shown = name.rpartition(".")[2] if short else name
    try:
        target = obj.resolve(name)
    except griffe.NameResolutionError:
        target = name
    return f'<autoref optional identifier="{target}"><code>{shown}</code></autoref>'
