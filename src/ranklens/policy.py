"""The questions that every evaluation tool answers silently, answered here once and printed with every result."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ranklens.errors import PolicyError, nearest

Ties = Literal["descending", "ascending", "input", "average"]
MissingQueries = Literal["zero", "skip", "error"]
UnjudgedQueries = Literal["ignore", "error"]
EmptyGold = Literal["zero", "skip"]
Duplicates = Literal["first", "error"]
NaNScores = Literal["error", "last"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "ties": get_args(Ties),
    "missing": get_args(MissingQueries),
    "unjudged_queries": get_args(UnjudgedQueries),
    "empty": get_args(EmptyGold),
    "duplicates": get_args(Duplicates),
    "nan": get_args(NaNScores),
}

_IN_WORDS = {
    ("ties", "descending"): "ties by document id, descending",
    ("ties", "ascending"): "ties by document id, ascending",
    ("ties", "input"): "ties in input order",
    ("ties", "average"): "ties averaged over all orders",
    ("nan", "last"): "NaN scores ranked last",
}


@dataclass(frozen=True)
class Policy:
    """How a ranking is read where the data leave it open.

    ================== ============================================ ===================================
    field              default                                      other choices
    ================== ============================================ ===================================
    ties               ``"descending"`` document id in byte order,  ``"ascending"``, ``"input"`` order,
                       as trec_eval does                            ``"average"`` over all orders
    missing            ``"zero"``: a judged query that the run      ``"skip"``, ``"error"``
                       lacks counts as an empty ranking
    unjudged_queries   ``"ignore"`` (and count) queries of the run  ``"error"``
                       that nobody judged
    empty              ``"zero"``: a query without any relevant     ``"skip"``
                       document counts as 0
    duplicates         ``"first"``: the best rank of a repeated     ``"error"``
                       document counts, the others are dropped
    judged_only        ``False``: an unjudged document is not       ``True``: it is taken out of the
                       relevant                                     ranking
    nan                ``"error"`` for a score that is NaN          ``"last"``: ranked last
    depth              ``None``: all retrieved documents            the first n of each query
    rel                1: the lowest grade that is relevant, where  any positive number
                       the measure does not say otherwise
    ================== ============================================ ===================================

    >>> Policy(ties="average", depth=100).describe()
    'ties averaged over all orders, first 100 documents'
    >>> Policy(ties="avrage")
    Traceback (most recent call last):
    ranklens.errors.PolicyError: ties='avrage' is not allowed: did you mean 'average'? Allowed: 'descending', 'ascending', 'input', 'average'.
    """

    ties: Ties = "descending"
    missing: MissingQueries = "zero"
    unjudged_queries: UnjudgedQueries = "ignore"
    empty: EmptyGold = "zero"
    duplicates: Duplicates = "first"
    judged_only: bool = False
    nan: NaNScores = "error"
    depth: int | None = None
    rel: float = 1

    def __post_init__(self) -> None:
        for field, allowed in _CHOICES.items():
            given = getattr(self, field)
            if given not in allowed:
                raise PolicyError(f"{field}={given!r} is not allowed: {nearest(str(given), allowed)}")
        if not isinstance(self.judged_only, bool):
            raise PolicyError(f"judged_only={self.judged_only!r} is not allowed: it is True or False.")
        whole = isinstance(self.depth, int) and not isinstance(self.depth, bool)
        if self.depth is not None and not (whole and self.depth >= 1):
            raise PolicyError(
                f"depth={self.depth!r} is not allowed: it is a whole number from 1, or None for all."
            )
        if not self.rel > 0:
            raise PolicyError(
                f"rel={self.rel!r} is not allowed: the lowest relevant grade is a number above 0."
            )

    def describe(self) -> str:
        """What was decided about the ranking itself, in a few words; the counts beside it tell the rest."""
        words = [_IN_WORDS[key] for key in (("ties", self.ties), ("nan", self.nan)) if key in _IN_WORDS]
        if self.depth is not None:
            words.append(f"first {self.depth} documents")
        if self.judged_only:
            words.append("unjudged documents removed")
        if self.rel != 1:
            words.append(f"relevant from grade {self.rel:g}")
        return ", ".join(words)


def make_policy(policy: Policy | None, options: dict[str, Any]) -> Policy:
    """``policy`` with single fields replaced, so that ``evaluate(..., ties="average")`` reads well."""
    fields = [field.name for field in dataclasses.fields(Policy)]
    for name in options:
        if name not in fields:
            raise PolicyError(f"There is no policy {name!r}: {nearest(name, fields)}")
    return dataclasses.replace(policy or Policy(), **options)
