"""Altair, loaded when a chart is drawn; where it is not installed, the error says how to get it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ranklens.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

    from altair import *  # noqa: F403


def __getattr__(name: str) -> object:
    if name.startswith("__"):  # what Python and its tools ask of any module
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(needed("altair"), name)


def needed(module: str) -> ModuleType:
    """A package that only charts need, or how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(
            f"Charts need {module.replace('_', '-')}, which is not installed: pip install 'ranklens[plots]'"
        ) from None
