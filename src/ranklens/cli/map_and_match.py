"""``--map`` and ``--match``: where fields are, and what matches what. Apart from the options, so that it needs no Typer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranklens.data.matching.rules import Matching


def columns_of(given: Sequence[str] | None) -> dict[str, str] | None:
    """``--map ROLE=PATH`` as :func:`ranklens.evaluate` takes it."""
    found: dict[str, str] = {}
    for text in given or ():
        role, equals, path = text.partition("=")
        if not equals or not role or not path:
            raise InputError(f"--map {text}: expected ROLE=PATH, e.g. expected=gold.ids.")
        found[role] = path
    return found or None


def match_of(text: str | None) -> Matching | None:
    """``--match KIND:ARGUMENT`` as :func:`ranklens.evaluate` takes it."""
    if text is None:
        return None
    from ranklens.data.matching.parsing import spelled

    return spelled(text)
