"""One question at a time: a ranking, what was expected, and metrics that return a score and the numbers behind it.

The formulas are those of the registry. Several items are judged together, once for all metrics: see :mod:`ranklens.recipes.items.runner`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ranklens.data.readers import names, records
from ranklens.errors import InputError, MeasureError, Option, PolicyError, warn
from ranklens.judging.plain import judge_plain
from ranklens.metrics import Measure, make, parse
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.arrays import IntArray
    from ranklens.judging.judged import Judged


@dataclass(frozen=True, init=False)
class DatasetItem:
    """A question, what was retrieved for it and what was expected.

    ``actual_ranking`` is a list of ids or of dicts with an ``id``, best first: the order is the ranking, and a ``score`` is
    ignored. A dict ``{id: score}`` is ranked by score. ``expected_reference`` (or its synonym ``expected_ranking``) is a list
    or set of ids, a list of dicts with ``id`` and ``relevance`` (default 1), or a dict of grades.

    >>> item = DatasetItem(actual_ranking=["a", {"id": "b", "score": 0.3}], expected_reference=[{"id": "b", "relevance": 2}])
    >>> item.actual_ranking, item.expected_reference
    (['a', 'b'], {'b': 2.0})
    """

    id: str | None
    query: str | None
    actual_ranking: list[str] | dict[str, float]
    expected_reference: dict[str, float]

    def __init__(
        self,
        *,
        actual_ranking: object,
        expected_reference: object = None,
        expected_ranking: object = None,
        id: object = None,  # noqa: A002  the name users expect
        query: str | None = None,
    ) -> None:
        where = f"Item {id!r}" if id is not None else f"The item {query!r}" if query else "The item"
        expected = [value for value in (expected_reference, expected_ranking) if value is not None]
        if len(expected) != 1 and (not expected or expected[0] != expected[1]):
            what = "neither of them" if not expected else "both, and they differ"
            raise InputError(f"{where}: give expected_reference or expected_ranking; there is {what}.")
        if isinstance(actual_ranking, (set, frozenset)):
            raise InputError(
                f"{where}: actual_ranking is a set, which has no order; pass a list, best first."
            )
        ranking: list[str] | dict[str, float]
        if isinstance(actual_ranking, Mapping) and records.by_document(actual_ranking):
            ranking = {str(doc): score for doc, score in actual_ranking.items()}
        else:
            ranking = records.document_ids(actual_ranking, where)
        repeated: list[str] = []
        for name, value in (
            ("id", None if id is None else str(id)),
            ("query", query),
            ("actual_ranking", ranking),
            ("expected_reference", records.grades(expected[0], where, repeated)),
        ):
            object.__setattr__(self, name, value)
        _warn_of(repeated)

    @property
    def expected_ranking(self) -> dict[str, float]:
        """The same as ``expected_reference``."""
        return self.expected_reference

    @classmethod
    def from_record(cls, record: object, where: str = "The record") -> DatasetItem:
        """An item from a record of any shape that :func:`ranklens.from_records` knows.

        >>> DatasetItem.from_record({"query": "why?", "retrieved_ids": ["d2"], "expected_ids": ["d1"]}).expected_reference
        {'d1': 1.0}
        """
        if isinstance(record, DatasetItem):
            return record
        row = records.as_mapping(record, where)
        repeated: list[str] = []
        grades = records.expected_grades(row, where, repeated)
        _warn_of(repeated)
        return cls(
            id=names.given(row, names.QUERY_IDS),
            query=names.given(row, names.QUERY_TEXTS),
            actual_ranking=records.retrieved(row, where),
            expected_reference=grades,
        )


def _warn_of(repeated: list[str]) -> None:
    if repeated:  # in the same words for every item, so that Python shows it once
        warn("An item lists a relevant document twice; the highest grade counts.")


_DEFAULT = Policy()


def names_of(items: Sequence[DatasetItem]) -> list[str]:
    """A name for each item: its id, else its question, else its number; repeated names get a number."""
    if len(items) == 1:
        return [items[0].id if items[0].id is not None else items[0].query or "1"]
    times: Counter[str] = Counter()
    names: dict[str, None] = {}
    for number, item in enumerate(items, 1):
        own = name = item.id if item.id is not None else item.query or str(number)
        while name in names:
            times[own] += 1
            name = f"{own} ({times[own] + 1})"
        names[name] = None
    return list(names)


@dataclass(frozen=True)
class _Fields:
    """Fields that can also be read as keys: ``signals["rank_of_first_relevant"]``."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.__dataclass_fields__:
            raise KeyError(name)
        return getattr(self, name)


@dataclass(frozen=True)
class AtK(_Fields):
    """What a metric found in the top k of one item."""

    score: float
    hits_in_top_k: int
    total_retrieved_at_k: int
    total_relevant: int
    dcg: float
    idcg: float
    is_hit: bool


@dataclass(frozen=True)
class Signals(_Fields):
    """The numbers behind a score: by k, and the rank of the first relevant document (None if none was retrieved)."""

    results_by_k: Mapping[int, AtK]
    rank_of_first_relevant: int | None
    total_relevant: int
    main_k: int | None

    @classmethod
    def later(cls, compute: Callable[[], Signals]) -> Signals:
        """Signals that are computed on first access."""
        signals = cls.__new__(cls)
        signals.__dict__["_compute"] = compute
        return signals

    def __getattr__(self, name: str) -> object:  # called for fields that are not computed yet
        compute = None if name.startswith("__") else self.__dict__.pop("_compute", None)
        if compute is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        self.__dict__.update(vars(compute()))
        return getattr(self, name)

    def __reduce__(self) -> tuple[type[Signals], tuple[object, ...]]:
        return Signals, (self.results_by_k, self.rank_of_first_relevant, self.total_relevant, self.main_k)


@dataclass(frozen=True)
class MetricResult:
    """A metric's score for one item; ``passed`` is None if no threshold was set.

    ``error`` says why your own metric failed; such a result has the score 0.
    """

    metric: str
    score: float
    signals: Any = None
    passed: bool | None = None
    error: str | None = None

    @property
    def explanation(self) -> str:
        """The score in a sentence."""
        if self.error:
            return f"{self.metric} failed and counts as 0: {self.error}"
        if not isinstance(self.signals, Signals):
            return f"{self.metric} is {self.score:.4f}."
        rank, total = self.signals.rank_of_first_relevant, self.signals.total_relevant
        if not total:
            return f"{self.metric} is {self.score:.4f}: nothing is relevant."
        first = f"the first at rank {rank}" if rank else "none was retrieved"
        at_k = self.signals.results_by_k.get(self.signals.main_k or 0)
        inside = f"{at_k.hits_in_top_k} of them in the top {self.signals.main_k}, " if at_k and rank else ""
        return f"{self.metric} is {self.score:.4f}: of {total} relevant, {inside}{first}."


class Metric:
    """What the metrics have in common; ``k`` is a number or several, ``main_k`` the one whose value is the score.

    Further parameters are the measure's own, e.g. ``PrecisionAtK(5, rel=2)`` or ``NDCGAtK(10, gain="exp")``.

    >>> metric = HitRateAtK(k=[1, 5], main_k=5)
    >>> item = DatasetItem(actual_ranking=["x", "a"], expected_reference={"a"})
    >>> result = metric.evaluate(item)
    >>> result.score, result.signals.results_by_k[1].is_hit, result.signals.rank_of_first_relevant
    (1.0, False, 2)
    """

    measure: ClassVar[str] = ""
    ks: tuple[int, ...]
    main_k: int | None
    measures: dict[int | None, Measure]

    def __init__(self, k: int | Iterable[int] = 10, main_k: int | None = None, **params: Any) -> None:
        ks = list(k) if isinstance(k, Iterable) else [k]
        if not ks or any(not isinstance(at, int) or isinstance(at, bool) or at < 1 for at in ks):
            raise MeasureError(f"k={k!r} is not allowed; it is a whole number from 1, or a list of them.")
        self.ks = tuple(sorted(set(ks)))
        if main_k is not None and main_k not in self.ks:
            raise MeasureError(f"main_k={main_k!r} is not allowed; it is one of k, {list(self.ks)}.")
        self.main_k = max(self.ks) if main_k is None else main_k
        self.params = params
        self.measures = {at: self._make(self.measure, at) for at in self.ks}

    @property
    def name(self) -> str:
        """The measure that is the score, e.g. ``nDCG@10``."""
        return str(self.measures[self.main_k])

    @property
    def rel(self) -> float:
        """The lowest grade that counts as relevant."""
        return float(self.params.get("rel", 1))

    def evaluate(self, item: object) -> MetricResult:
        """The score of one item, or of a record of any shape that :func:`ranklens.from_records` knows."""
        one = DatasetItem.from_record(item)
        batch = Batch([one], _DEFAULT)
        if max(one.expected_reference.values(), default=1) < self.rel:
            batch.warn_of_low_grades([self])
        score = float(self.measures[self.main_k](batch.judged)[0])
        return MetricResult(self.name, score, Signals.later(lambda: next(batch.results(self)).signals))

    async def execute(self, item: object) -> MetricResult:
        """Like :meth:`evaluate`, to be awaited."""
        return self.evaluate(item)

    def discounted(self, k: int | None) -> tuple[Measure, Measure]:
        """DCG and the DCG of the ideal ranking, as this metric understands them."""
        params = self.params if self.measure == "nDCG" else {}
        dcg, ideal = (make(parse(name).definition, {"k": k, **params}) for name in ("DCG", "IDCG"))
        return dcg, ideal

    def _make(self, name: str, k: int | None) -> Measure:
        return make(parse(name).definition, {"k": k, **self.params})

    def _key(self) -> tuple[object, ...]:
        return type(self), tuple(self.measures.values()), self.main_k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        arguments = {"k": list(self.ks), "main_k": self.main_k, **self.params}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


class HitRateAtK(Metric):
    """1 if any relevant document is in the top k, else 0."""

    measure = "Success"


class PrecisionAtK(Metric):
    """The share of the top k that is relevant; it divides by k even if fewer documents were retrieved."""

    measure = "P"


class RecallAtK(Metric):
    """The share of the relevant documents that is in the top k; 0 if there are none."""

    measure = "R"


class F1AtK(Metric):
    """The harmonic mean of precision and recall at k."""

    measure = "F"


class AveragePrecisionAtK(Metric):
    """The sum of the precision at each relevant document in the top k, divided by all relevant documents."""

    measure = "AP"


class NDCGAtK(Metric):
    """DCG divided by the DCG of the best possible ranking of all judged documents, both cut at k."""

    measure = "nDCG"


class MeanReciprocalRank(Metric):
    """1 / rank of the first relevant document; with ``k``, only in the top k.

    >>> item = DatasetItem(actual_ranking=["x", "a"], expected_reference={"a"})
    >>> MeanReciprocalRank().evaluate(item).score, MeanReciprocalRank(k=1).evaluate(item).score
    (0.5, 0.0)
    """

    measure = "RR"

    def __init__(
        self, k: int | Iterable[int] | None = None, main_k: int | None = None, **params: Any
    ) -> None:
        if k is not None:
            super().__init__(k, main_k, **params)
            return
        if main_k is not None:
            raise MeasureError(f"main_k={main_k!r} needs k: MeanReciprocalRank(k=[…], main_k={main_k!r}).")
        self.ks, self.main_k, self.params = (), None, params
        self.measures = {None: self._make(self.measure, None)}


class Batch:
    """Items, judged once for any number of metrics."""

    def __init__(self, items: Sequence[DatasetItem], policy: Policy) -> None:
        if policy.ties == "average" or policy.rel != 1:
            raise PolicyError(
                "Item metrics report the ranks of documents, so ",
                Option("ties", "average"),
                " is not available for them. The lowest relevant grade belongs to the metric: PrecisionAtK(k=5, rel=2).",
            )
        names = names_of(items)
        if len(items) == 1 and policy is _DEFAULT:
            plain = judge_plain(names, [items[0].expected_reference], [items[0].actual_ranking])
            if plain is not None:
                self.judged, self.items = plain, list(items)
                return
        from ranklens.judging.assembly import judge

        qrels = {name: item.expected_reference for name, item in zip(names, items, strict=True)}
        run = {name: item.actual_ranking for name, item in zip(names, items, strict=True)}
        self.judged = judge(qrels, run, policy)
        by_name = dict(zip(names, items, strict=True))
        self.items = [by_name[name] for name in self.judged.queries]  # the policy may leave some out

    def results(self, metric: Metric) -> Iterator[MetricResult]:
        """The results of a metric, item by item."""
        by_k = [self._at_k(metric, k) for k in metric.ks]
        details = zip(*by_k, strict=True) if by_k else (() for _ in self.items)
        scores = metric.measures[metric.main_k](self.judged).tolist()
        total, first = self.judged.total(metric.rel).astype(int).tolist(), self.first_ranks(metric).tolist()
        name = metric.name
        for score, relevant, rank, row in zip(scores, total, first, details, strict=True):
            results_by_k = dict(zip(metric.ks, row, strict=True))
            yield MetricResult(name, score, Signals(results_by_k, rank or None, relevant, metric.main_k))

    def warn_of_low_grades(self, metrics: Iterable[Metric]) -> None:
        """Warn of grades between 0 and 1, which are easily taken for relevant."""
        for rel in sorted({metric.rel for metric in metrics if metric.measure != "nDCG"}):
            best = self.judged.ideal.max(self.judged.ideal.grade)
            low = int(((best > 0) & (best < rel)).sum())
            if low:
                warn(
                    f"The grades of {low} {'item' if low == 1 else 'items'} are all below {rel:g}, so nothing counts as "
                    f"relevant there, except in nDCG. Set the lowest relevant grade of the metrics: rel={best[best > 0].min():g}."
                )

    def _at_k(self, metric: Metric, k: int) -> Iterator[AtK]:
        judged, rel = self._ranked(metric), metric.rel
        dcg, ideal = metric.discounted(k)
        hits = judged.relevant(rel).top(k).sum()
        return map(
            AtK,
            metric.measures[k](judged).tolist(),
            hits.astype(int).tolist(),
            judged.retrieved.clip(max=k).tolist(),
            judged.total(rel).astype(int).tolist(),
            dcg(judged).tolist(),
            ideal(judged).tolist(),
            (hits > 0).tolist(),
        )

    def _ranked(self, metric: Metric) -> Judged:
        return self.judged.condensed() if metric.params.get("judged_only") else self.judged

    def first_ranks(self, metric: Metric) -> IntArray:
        """The rank of the first relevant document; 0 if none was retrieved."""
        import numpy as np

        hits = self._ranked(metric).relevant(metric.rel)
        is_first = hits.position() == 1
        ranks = np.zeros(len(self.judged), dtype=np.int64)
        ranks[hits.query[is_first]] = hits.rank[is_first]
        return ranks
