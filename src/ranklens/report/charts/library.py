"""Altair, loaded when a chart is drawn; where it is not installed, the error says how to get it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ranklens.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

    from altair import *  # noqa: F403


def __getattr__(name: str) -> object:
    return getattr(needed("altair"), name)


def needed(module: str) -> ModuleType:
    """A package that only charts need, or how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(
            f"Charts need {module.replace('_', '-')}, which is not installed: pip install 'ranklens[plots]'"
        ) from None
