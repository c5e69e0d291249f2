"""A griffe extension: docstrings as Markdown. Roles become links, doctests become highlighted blocks."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":\w+:`(~?)([\w.]+)`")
_DOCTEST = re.compile(r"^>>> .*\n(?:.*\S.*\n?)*", re.MULTILINE)


class MarkdownDocstrings(griffe.Extension):
    """Docstrings are written for ``help()``; this makes them readable on the site."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of every object that griffe has found."""
        if obj.docstring:
            text = _DOCTEST.sub(_fenced, obj.docstring.value + "\n")
            obj.docstring.value = _ROLE.sub(lambda role: _link(obj, role[2], short=bool(role[1])), text)


def _fenced(example: re.Match[str]) -> str:
    return f"```pycon\n{example[0].rstrip()}\n```\n"


def _link(obj: griffe.Object, name: str, *, short: bool) -> str:
    """A link to where the site documents the name; plain code where it does not."""
    shown = name.rpartition(".")[2] if short else name
    try:
        target = obj.resolve(name)
    except griffe.NameResolutionError:
        target = name
    return f'<autoref optional identifier="{target}"><code>{shown}</code></autoref>'
