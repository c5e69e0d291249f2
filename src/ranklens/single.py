"""Measures of one ranking, from plain lists: the registered measures under the names that people look for.

``retrieved`` is an ordered list of document ids. ``relevant`` is a set or list of relevant ids, or a dict of grades.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ranklens.errors import InputError
from ranklens.judging.assembly import judge
from ranklens.registry import make, parse

Retrieved: TypeAlias = Iterable[Any]
Relevant: TypeAlias = "Mapping[Any, float] | Iterable[Any]"


class PrecisionRecallF1(NamedTuple):
    """What :func:`precision_recall_f1` returns."""

    precision: float
    recall: float
    f1: float


def recall_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float:
    """The share of the relevant documents that is in the top k.

    >>> recall_at_k(["a", "x", "b"], {"a", "b", "c"}, k=2)
    0.3333333333333333
    """
    return _value("R", retrieved, relevant, k)


def precision_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float:
    """The share of the top k that is relevant; it divides by k even if fewer documents were retrieved.

    >>> precision_at_k(["a", "x", "b"], {"a", "b", "c"}, k=5)
    0.4
    """
    return _value("P", retrieved, relevant, k)


def f1_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None, *, beta: float = 1) -> float:
    """The harmonic mean of precision and recall at k.

    >>> f1_at_k(["a", "x", "b"], {"a", "b", "c"}, k=3)
    0.6666666666666666
    """
    return _value("F", retrieved, relevant, k, beta=beta)


def hit_rate_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float:
    """1 if any relevant document is in the top k, else 0.

    >>> hit_rate_at_k(["x", "a"], {"a"}, k=1), hit_rate_at_k(["x", "a"], {"a"}, k=2)
    (0.0, 1.0)
    """
    return _value("Success", retrieved, relevant, k)


success_at_k = hit_rate_at_k


def reciprocal_rank(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float:
    """1 / rank of the first relevant document; 0 if there is none.

    >>> reciprocal_rank(["x", "a"], {"a"})
    0.5
    """
    return _value("RR", retrieved, relevant, k)


def mean_reciprocal_rank(
    retrieved: Iterable[Retrieved], relevant: Iterable[Relevant], k: int | None = None
) -> float:
    """The mean of :func:`reciprocal_rank` over queries: two lists of equal length, with one ranking and one gold set per query.

    >>> mean_reciprocal_rank([["x", "a"], ["b"]], [{"a"}, {"b"}])
    0.75
    """
    rankings, golds = list(retrieved), list(relevant)
    if len(rankings) != len(golds):
        raise InputError(f"There are {len(rankings)} rankings but {len(golds)} sets of relevant documents.")
    if not rankings:
        return 0.0
    return sum(reciprocal_rank(r, g, k) for r, g in zip(rankings, golds, strict=True)) / len(rankings)


def average_precision_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float:
    """The sum of the precision at each relevant document in the top k, divided by all relevant documents.

    >>> average_precision_at_k(["a", "x", "b"], {"a", "b"})
    0.8333333333333333
    """
    return _value("AP", retrieved, relevant, k)


def dcg_at_k(
    retrieved: Retrieved, relevant: Relevant, k: int | None = None, *, gain: str = "linear"
) -> float:
    """Discounted cumulated gain: the sum of grade / log2(rank + 1); ``gain="exp"`` takes 2^grade - 1.

    >>> dcg_at_k(["a", "b"], {"a": 3, "b": 1})
    3.63092...
    """
    return _value("DCG", retrieved, relevant, k, gain=gain)


def ndcg_at_k(
    retrieved: Retrieved, relevant: Relevant, k: int | None = None, *, gain: str = "linear"
) -> float:
    """DCG divided by the DCG of the best possible ranking of all judged documents.

    >>> ndcg_at_k(["b", "a"], {"a": 3, "b": 1})
    0.79670...
    """
    return _value("nDCG", retrieved, relevant, k, gain=gain)


def precision_recall_f1(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> PrecisionRecallF1:
    """Precision, recall and F1 at once; over everything that was retrieved if no k is given.

    >>> precision_recall_f1([1, 2, 3, 4, 5], [1, 3, 6, 7])
    PrecisionRecallF1(precision=0.4, recall=0.5, f1=0.4444444444444444)
    """
    retrieved, relevant = list(retrieved), relevant if isinstance(relevant, Mapping) else list(relevant)
    values = (f(retrieved, relevant, k) for f in (precision_at_k, recall_at_k, f1_at_k))
    return PrecisionRecallF1(*values)


def _value(name: str, retrieved: Retrieved, relevant: Relevant, k: int | None, **params: Any) -> float:
    measure = make(parse(name).definition, {"k": k, **params})
    return float(measure(judge({"query": relevant}, {"query": retrieved}))[0])
