"""Paths into objects of unknown shape: ``metadata.source``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def follow(item: object, path: str) -> Any:
    """The value at a path such as ``metadata.source``, made of keys, attributes and positions; None if there is none.

    >>> follow({"metadata": {"pages": [7, 8]}}, "metadata.pages.1")
    8
    """
    if isinstance(item, Mapping) and path in item:  # a key may contain dots
        return item[path]
    here = item
    for part in path.split("."):
        here = step(here, part)
        if here is None:
            return None
    return here


def step(here: object, part: str) -> Any:
    """The value under one name."""
    if isinstance(here, Mapping):
        return here.get(part)
    if part.isdecimal() and isinstance(here, (list, tuple)):
        return here[int(part)] if int(part) < len(here) else None
    return getattr(here, part, None)
