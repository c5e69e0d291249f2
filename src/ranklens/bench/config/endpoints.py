"""Retrievers that a configuration names by their address → objects that are called like functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.retrieval.http import Endpoint, split_path

if TYPE_CHECKING:
    from ranklens.bench.config.model import Retriever


def endpoint(entry: Retriever) -> Endpoint:
    """What calls the address of a retriever; an :class:`InputError` if it cannot be called like this."""
    results, _ = split_path(entry.id) if entry.id else (None, None)
    scored, _ = split_path(entry.score) if entry.score else (results, None)
    if scored is not None and results is not None and scored != results:
        raise InputError(f"id ({entry.id}) and score ({entry.score}) are not in the same list.")
    return Endpoint(
        entry.url or "",
        entry.body,
        entry.headers,
        entry.method,
        results if results is not None else scored,
        entry.timeout,
    )
