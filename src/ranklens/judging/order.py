"""The rules of a ranking where the data leave it open: tied documents, NaN scores and repeated documents.

Each rule is stated here, once. Rankings from dicts (:mod:`~ranklens.judging.dicts`), from tables
(:mod:`~ranklens.judging.segments`) and whole rankings to look at (:mod:`~ranklens.judging.documents`) all follow it, each as
fast as its data allow.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Literal

import numpy as np

from ranklens.data.readers.mappings import Id, Place, as_number
from ranklens.errors import InputError, Option, PolicyError, RankLensWarning, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.policy import Policy, Ties

_LOWEST = float(-np.finfo(np.float64).max)


def tie_key(ties: Ties) -> tuple[Literal["doc", "row"], bool]:
    """What tied documents are sorted by, their id or their row, and whether that descends.

    Ids are compared as text, byte by byte. Averaged ties have no order; if they are shown, it is trec_eval's.

    >>> tie_key("input"), tie_key("descending")
    (('row', False), ('doc', True))
    """
    return ("row", False) if ties == "input" else ("doc", ties != "ascending")


def tie_order(docs: Sequence[Id], ties: Ties) -> list[int]:
    """The order of tied documents, which are given as they came.

    >>> tie_order(["a", "é", "b"], "descending"), tie_order(["a", "é", "b"], "input")
    ([1, 2, 0], [0, 1, 2])
    """
    by, descending = tie_key(ties)
    places = range(len(docs))
    return list(places) if by == "row" else sorted(places, key=lambda i: str(docs[i]), reverse=descending)


def nan_last(scores: FloatArray) -> FloatArray:
    """The scores with NaN below every other, minus infinity included; documents whose score is NaN tie.

    >>> np.argsort(-nan_last(np.array([np.nan, -np.inf, 2.0]))).tolist()
    [2, 1, 0]
    """
    return np.where(np.isnan(scores), -np.inf, np.maximum(scores, _LOWEST))


def best_of_each(table: pl.DataFrame, keys: Sequence[str], number: str) -> pl.DataFrame:
    """Each document once: the row with the highest number, or the first of several that are equal. Rows are ordered best first.

    This comes before NaN scores are refused: one that a better score replaces does no harm.
    """
    best_first = table.sort(number, descending=True, maintain_order=True)
    return best_first.unique(keys, keep="first", maintain_order=True)


def not_a_number(what: str, role: str, query: Id, doc: Id, given: object) -> InputError:
    """The error for a grade or score that is NaN, or nothing like a number."""
    value = as_number(given)
    is_nan = role == "score" and value is not None and isnan(value)
    advice: tuple[str | Option, ...] = (
        (" Remove it, or choose ", Option("nan", "last"), ".") if is_nan else ()
    )
    return InputError(
        f"{what}: the {role} of document {doc!r} for query {query!r} is {given!r}, not a number.",
        *advice,
        query=query,
        document=doc,
    )


def refuse_duplicates(what: str, first: Place | None, policy: Policy) -> None:
    """Raise if the policy allows no repeated documents; the first of them is not always known."""
    if policy.duplicates == "error":
        raise PolicyError(
            f"{what}: {first or 'a document'} appears twice. Remove one, or choose ",
            Option("duplicates", "first"),
            ".",
            query=first and first.query,
            document=first and first.document,
        )


def check_duplicates(what: str, count: int, first: Place | None, policy: Policy) -> None:
    """Refuse repeated documents, or say how many were dropped, as the policy asks."""
    if not count:
        return
    refuse_duplicates(what, first, policy)
    warn(Repeated(what, count, first))


class Repeated(RankLensWarning):
    """Repeated documents were dropped: how many, and the first of them."""

    def __init__(self, what: str, count: int, first: Place | None) -> None:
        best = "highest grade" if what == "qrels" else "best place"
        example = f" (first: {first})" if first else ""
        super().__init__(
            f"{what}: {count} repeated {'document was' if count == 1 else 'documents were'} dropped{example}; "
            f"only the {best} of each counts.",
            query=first and first.query,
            document=first and first.document,
        )
        self.what, self.count, self.first = what, count, first
