"""Where something stands inside of an object that nobody here knows: ``metadata.source``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def follow(item: Any, path: str) -> Any:
    """What stands at a path such as ``metadata.source``: keys, attributes and positions; None where there is nothing.

    >>> follow({"metadata": {"pages": [7, 8]}}, "metadata.pages.1")
    8
    """
    if isinstance(item, Mapping) and path in item:  # a key may hold dots itself
        return item[path]
    here = item
    for part in path.split("."):
        here = step(here, part)
        if here is None:
            return None
    return here


def step(here: Any, part: str) -> Any:
    """What stands under one name."""
    if isinstance(here, Mapping):
        return here.get(part)
    if part.isdecimal() and isinstance(here, (list, tuple)):
        return here[int(part)] if int(part) < len(here) else None
    return getattr(here, part, None)
