"""Measures of one ranking, from plain lists: the registered measures under the names that people look for.

``retrieved`` is an ordered list of document ids. ``relevant`` is a set or list of relevant ids, or a dict of grades. Several
queries at once are two lists of equal length, one ranking and one gold set per query; the answer is then a list of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple, TypeAlias, overload

from ranklens.errors import InputError
from ranklens.judging.assembly import judge
from ranklens.judging.judged import Judged
from ranklens.judging.plain import judge_plain
from ranklens.metrics import Measure, make, parse

Retrieved: TypeAlias = Iterable[Any]
Relevant: TypeAlias = "Mapping[Any, float] | Iterable[Any]"
# Several queries: sets or dicts for the gold, so that type checkers can tell them from the documents of one.
Rankings: TypeAlias = Sequence[Sequence[Any]]
Golds: TypeAlias = "Sequence[Mapping[Any, float]] | Sequence[AbstractSet[Any]] | Sequence[list[Any]]"
# Of one query or of several, which only a look at them tells.
_Retrieved: TypeAlias = Rankings | Retrieved
_Relevant: TypeAlias = "Golds | Relevant"


class PrecisionRecallF1(NamedTuple):
    """What :func:`precision_recall_f1` returns."""

    precision: float
    recall: float
    f1: float


@overload
def recall_at_k(retrieved: Rankings, relevant: Golds, k: int | None = None) -> list[float]: ...
@overload
def recall_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float: ...
def recall_at_k(retrieved: _Retrieved, relevant: _Relevant, k: int | None = None) -> float | list[float]:
    """The share of the relevant documents that is in the top k.

    >>> recall_at_k(["a", "x", "b"], {"a", "b", "c"}, k=2)
    0.3333333333333333
    >>> recall_at_k([["a", "x"], ["b"]], [{"a", "c"}, {"b"}], k=2)
    [0.5, 1.0]
    """
    return _value("R", retrieved, relevant, k)


@overload
def precision_at_k(retrieved: Rankings, relevant: Golds, k: int | None = None) -> list[float]: ...
@overload
def precision_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float: ...
def precision_at_k(retrieved: _Retrieved, relevant: _Relevant, k: int | None = None) -> float | list[float]:
    """The share of the top k that is relevant; it divides by k even if fewer documents were retrieved.

    >>> precision_at_k(["a", "x", "b"], {"a", "b", "c"}, k=5)
    0.4
    """
    return _value("P", retrieved, relevant, k)


@overload
def f1_at_k(
    retrieved: Rankings, relevant: Golds, k: int | None = None, *, beta: float = ...
) -> list[float]: ...
@overload
def f1_at_k(
    retrieved: Retrieved, relevant: Relevant, k: int | None = None, *, beta: float = ...
) -> float: ...
def f1_at_k(
    retrieved: _Retrieved, relevant: _Relevant, k: int | None = None, *, beta: float = 1
) -> float | list[float]:
    """The harmonic mean of precision and recall at k.

    >>> f1_at_k(["a", "x", "b"], {"a", "b", "c"}, k=3)
    0.6666666666666666
    """
    return _value("F", retrieved, relevant, k, beta=beta)


@overload
def hit_rate_at_k(retrieved: Rankings, relevant: Golds, k: int | None = None) -> list[float]: ...
@overload
def hit_rate_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float: ...
def hit_rate_at_k(retrieved: _Retrieved, relevant: _Relevant, k: int | None = None) -> float | list[float]:
    """1 if any relevant document is in the top k, else 0.

    >>> hit_rate_at_k(["x", "a"], {"a"}, k=1), hit_rate_at_k(["x", "a"], {"a"}, k=2)
    (0.0, 1.0)
    """
    return _value("Success", retrieved, relevant, k)


success_at_k = hit_rate_at_k


@overload
def reciprocal_rank(retrieved: Rankings, relevant: Golds, k: int | None = None) -> list[float]: ...
@overload
def reciprocal_rank(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float: ...
def reciprocal_rank(retrieved: _Retrieved, relevant: _Relevant, k: int | None = None) -> float | list[float]:
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
    _check_lengths(rankings, golds)
    if not rankings:
        return 0.0
    values = _measure("RR", k)(_judged(rankings, golds)).tolist()
    return float(sum(values)) / len(values)


@overload
def average_precision_at_k(retrieved: Rankings, relevant: Golds, k: int | None = None) -> list[float]: ...
@overload
def average_precision_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None) -> float: ...
def average_precision_at_k(
    retrieved: _Retrieved, relevant: _Relevant, k: int | None = None
) -> float | list[float]:
    """The sum of the precision at each relevant document in the top k, divided by all relevant documents.

    >>> average_precision_at_k(["a", "x", "b"], {"a", "b"})
    0.8333333333333333
    """
    return _value("AP", retrieved, relevant, k)


@overload
def dcg_at_k(
    retrieved: Rankings, relevant: Golds, k: int | None = None, *, gain: str = ...
) -> list[float]: ...
@overload
def dcg_at_k(retrieved: Retrieved, relevant: Relevant, k: int | None = None, *, gain: str = ...) -> float: ...
def dcg_at_k(
    retrieved: _Retrieved, relevant: _Relevant, k: int | None = None, *, gain: str = "linear"
) -> float | list[float]:
    """Discounted cumulated gain: the sum of grade / log2(rank + 1); ``gain="exp"`` takes 2^grade - 1.

    >>> dcg_at_k(["a", "b"], {"a": 3, "b": 1})
    3.63092...
    """
    return _value("DCG", retrieved, relevant, k, gain=gain)


@overload
def ndcg_at_k(
    retrieved: Rankings, relevant: Golds, k: int | None = None, *, gain: str = ...
) -> list[float]: ...
@overload
def ndcg_at_k(
    retrieved: Retrieved, relevant: Relevant, k: int | None = None, *, gain: str = ...
) -> float: ...
def ndcg_at_k(
    retrieved: _Retrieved, relevant: _Relevant, k: int | None = None, *, gain: str = "linear"
) -> float | list[float]:
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
    judged = _judged([retrieved], [relevant])
    return PrecisionRecallF1(*(float(_measure(name, k)(judged)[0]) for name in ("P", "R", "F")))


def _value(
    name: str, retrieved: _Retrieved, relevant: _Relevant, k: int | None, **params: object
) -> float | list[float]:
    measure = _measure(name, k, **params)
    if (
        isinstance(retrieved, (list, tuple))
        and isinstance(relevant, (list, tuple))
        and _are_several(retrieved, relevant)
    ):
        _check_lengths(retrieved, relevant)
        values: list[float] = measure(_judged(retrieved, relevant)).tolist()
        return values
    return float(measure(_judged([retrieved], [relevant]))[0])


def _judged(rankings: Sequence[object], golds: Sequence[object]) -> Judged:
    names = _ONE if len(rankings) == 1 else [str(number) for number in range(1, len(rankings) + 1)]
    judged = judge_plain(names, golds, rankings)
    if judged is not None:
        return judged
    return judge(dict(zip(names, golds, strict=True)), dict(zip(names, rankings, strict=True)))


_ONE = ["query"]


def _are_several(retrieved: Sequence[object], relevant: Sequence[object]) -> bool:
    """Whether these are lists of rankings and of gold sets instead of documents."""
    first = relevant[0] if relevant else None
    if isinstance(first, (Mapping, AbstractSet)):
        return True
    if not isinstance(first, (list, tuple)):
        return False
    # One query may have pairs of document and number, too.
    if not all(map(_is_pair, relevant)) or not all(map(_is_pair, retrieved)):
        return any(isinstance(one, (list, tuple)) and not _is_pair(one) for one in (*relevant, *retrieved))
    if isinstance(first, list) and isinstance(first[0], int):
        raise InputError(
            f"relevant begins with {first!r:.60}: is that a document with its grade, or are these the two documents of a query? "
            "Give grades as a dict, or the documents of each query as a set."
        )
    return False


def _is_pair(item: object) -> bool:
    return isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[1], Real)


def _check_lengths(rankings: Sequence[object], golds: Sequence[object]) -> None:
    if len(rankings) != len(golds):
        raise InputError(f"There are {len(rankings)} rankings but {len(golds)} sets of relevant documents.")


def _measure(name: str, k: int | None, **params: object) -> Measure:
    try:
        return _made(name, k, **params)
    except TypeError:  # a parameter that cannot be a key; making it says what is wrong
        return _made.__wrapped__(name, k, **params)


@lru_cache(maxsize=1024, typed=True)
def _made(name: str, k: int | None, **params: object) -> Measure:
    return make(parse(name).definition, {"k": k, **params})
