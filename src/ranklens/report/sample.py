"""Which queries a page shows one by one: all of them, or as many as fit a file that a browser opens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison

QUERIES = 20_000
CELLS = 400_000  # queries x systems: every one adds its ranking and its values


def sample(comparison: Comparison) -> Comparison:
    """The comparison over the queries to show: drawn at random if there are too many, so that charts of queries stay true.

    The same comparison gives the same queries. Everything but single queries is to be taken from the whole comparison.
    """
    aligned, n = comparison.aligned, len(comparison.query_ids)
    most = max(min(QUERIES, CELLS // len(comparison.systems)), 1)
    if n <= most:
        return comparison
    places = np.sort(np.random.default_rng(comparison.seed).choice(n, most, replace=False))
    ids = tuple(aligned.query_ids[place] for place in places.tolist())
    drawn = frozenset(ids)
    return replace(
        comparison,
        aligned=replace(
            aligned,
            query_ids=ids,
            values={name: values[:, places] for name, values in aligned.values.items()},
        ),
        errors={
            system: {query: error for query, error in errors.items() if query in drawn}
            for system, errors in comparison.errors.items()
        },
    )
