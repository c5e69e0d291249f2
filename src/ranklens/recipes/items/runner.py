"""Per-item metrics and the runner that evaluates many items at once.

>>> from ranklens.recipes.items import HitRateAtK, MeanReciprocalRank
>>> item = DatasetItem(actual_ranking=["d2", "d1"], expected_reference=["d1"])
>>> result = MetricRunner([HitRateAtK(k=[1, 5]), MeanReciprocalRank()], thresholds={"RR": 0.4}).run([item])
>>> result.mean["hit@1"], result.mean["RR"], result.passed
(0.0, 0.5, True)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Protocol, SupportsFloat, TypeAlias, runtime_checkable

from ranklens.errors import InputError, MeasureError
from ranklens.policy import Policy, make_policy
from ranklens.progress import progress
from ranklens.recipes.items.metrics import Batch, DatasetItem, Metric, MetricResult
from ranklens.recipes.items.results import RunnerResult, canonical_name, metric_name
from ranklens.scores import Scores, Values
from ranklens.tables.digits import reaches

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ranklens.arrays import FloatArray
    from ranklens.metrics import Measure
    from ranklens.policy import PolicyOptions

# A function is called with the number of results so far and in total.
Progress: TypeAlias = "bool | Callable[[int, int], None]"
Thresholds: TypeAlias = "Mapping[str, float] | Mapping[Metric, float] | Mapping[str | Metric, float]"


@runtime_checkable
class Executes(Protocol):
    """A metric of your own, async or not."""

    def execute(self, item: DatasetItem, /) -> object: ...


@runtime_checkable
class Evaluates(Protocol):
    """An object whose method is called ``evaluate``."""

    def evaluate(self, item: DatasetItem, /) -> object: ...


@runtime_checkable
class HasScore(Protocol):
    """An answer that is more than a number."""

    score: object


@runtime_checkable
class HasSignals(Protocol):
    """An answer with the numbers behind it."""

    signals: object


class MetricRunner:
    """Evaluates many items at once, with any number of metrics.

    RankLens's metrics are computed for all items together. Your own metrics are objects with a method ``execute(item)``
    (async or not) or ``evaluate(item)`` that returns a number or something with a ``score``. They are called item by item,
    ``concurrency`` simultaneous calls (in threads unless async); a call that fails counts as 0, and the error is kept.

    ``thresholds`` are the lowest acceptable values by measure, ``{"nDCG@10": 0.7, "hit@5": 0.9}``, for each item and for the
    mean. ``progress=True`` shows a bar over the calls of your own metrics; a function is called with how many results
    there are and how many there will be. Policies are those of :func:`ranklens.evaluate`: ``empty="skip"`` leaves out
    items without anything relevant, which otherwise count as 0.
    """

    def __init__(
        self,
        metrics: object,
        *,
        concurrency: int = 1,
        thresholds: Thresholds | None = None,
        progress: Progress = False,
        policy: Policy | None = None,
        **options: Unpack[PolicyOptions],
    ) -> None:
        self.metrics = _checked(metrics if isinstance(metrics, Iterable) else (metrics,))
        if not self.metrics:
            raise MeasureError("No metrics given; pass at least one, such as NDCGAtK(k=10).")
        if not isinstance(concurrency, int) or isinstance(concurrency, bool) or concurrency < 1:
            raise InputError(f"concurrency={concurrency!r} is not allowed; it is a whole number from 1.")
        self.concurrency, self.progress = concurrency, progress
        self.thresholds = _thresholds(thresholds or {}, self.metrics)
        self.policy = make_policy(policy, options)

    def run(self, items: Iterable[object]) -> RunnerResult:
        """Evaluate items, or records of any shape that :func:`ranklens.from_records` knows."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        work = self._evaluate(self._batch(items))
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work)
        with ThreadPoolExecutor(1) as thread:  # in a notebook the running loop is busy with this very call
            return thread.submit(asyncio.run, work).result()

    async def arun(self, items: Iterable[object]) -> RunnerResult:
        """Like :meth:`run`, to be awaited."""
        return await self._evaluate(self._batch(items))

    def _batch(self, items: Iterable[object]) -> Batch:
        read = [DatasetItem.from_record(item, f"Item {number}") for number, item in enumerate(items, 1)]
        if not read:
            raise InputError("There are no items to evaluate; pass at least one.")
        batch = Batch(read, self.policy)
        batch.warn_of_low_grades(metric for metric in self.metrics if isinstance(metric, Metric))
        return batch

    async def _evaluate(self, batch: Batch) -> RunnerResult:
        values: dict[Measure, FloatArray] = {}
        own: dict[str, tuple[MetricResult, ...]] = {}
        slow = sum(not isinstance(metric, Metric) for metric in self.metrics)
        each = len(batch.items)
        with _reporting(self.progress, len(self.metrics) * each, slow * each) as report:
            for metric in self.metrics:
                if isinstance(metric, Metric):
                    values |= {measure: measure(batch.judged) for measure in metric.measures.values()}
                    report(each)
                else:
                    name = metric_name(metric)
                    results = await _ask(metric, batch.items, self.concurrency, report)
                    floor = self.thresholds.get(name)
                    if floor is not None:
                        results = [replace(one, passed=reaches(one.score, floor)) for one in results]
                    own[name] = tuple(results)
        columns = {str(measure): column for measure, column in values.items()}
        scores = Scores(list(values), batch.judged, Values(batch.judged.queries, columns))
        return RunnerResult(self.metrics, self.thresholds, batch, scores, own)


async def _ask(
    metric: Executes | Evaluates,
    items: Sequence[DatasetItem],
    concurrency: int,
    report: Callable[..., None],
) -> list[MetricResult]:
    """A metric that is not RankLens's, item by item: async ones on this event loop, others in threads if several run at once."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    places = asyncio.Semaphore(concurrency)
    function = metric.execute if isinstance(metric, Executes) else metric.evaluate

    async def evaluated(item: DatasetItem) -> MetricResult:
        if inspect.iscoroutinefunction(function) or concurrency == 1:
            answer = function(item)
        else:
            answer = await asyncio.get_running_loop().run_in_executor(threads, function, item)
        if inspect.isawaitable(answer):
            answer = await answer
        number = answer.score if isinstance(answer, HasScore) else answer
        if not isinstance(number, SupportsFloat) or isinstance(number, str) or not isfinite(number):
            raise InputError(f"it returned {answer!r:.60}, which is not a number and has no score")
        signals = answer.signals if isinstance(answer, HasSignals) else None
        return MetricResult(metric_name(metric), float(number), signals)

    async def ask(item: DatasetItem) -> MetricResult:
        async with places:
            try:
                result = await evaluated(item)
            except Exception as error:  # noqa: BLE001  one item must not lose the results of the others
                result = MetricResult(metric_name(metric), 0.0, error=f"{type(error).__name__}: {error}")
        report(1, failed=result.error is not None)
        return result

    with ThreadPoolExecutor(concurrency) as threads:
        return list(await asyncio.gather(*(ask(item) for item in items)))


@contextmanager
def _reporting(asked: Progress, total: int, calls: int) -> Iterator[Callable[..., None]]:
    """A function to call with how many results have come in; the bar follows the calls of metrics that are not RankLens's."""
    done = 0
    with progress("Metrics", calls, asked is True) as bar:

        def tell(number: int, *, failed: bool | None = None) -> None:
            nonlocal done
            done += number
            if callable(asked):
                asked(done, total)
            if failed is not None:
                bar.advance(failed=failed)

        yield tell


def _checked(metrics: Iterable[object]) -> tuple[Executes | Evaluates, ...]:
    checked: list[Executes | Evaluates] = []
    names: set[str] = set()
    for metric in metrics:
        if isinstance(metric, type):
            raise MeasureError(f"{metric.__name__} is a class; pass an instance: {metric.__name__}().")
        if not isinstance(metric, (Executes, Evaluates)):
            raise MeasureError(
                f"{metric!r:.60} is not a metric; pass one such as NDCGAtK(k=10), or an object with execute(item) or "
                "evaluate(item)."
            )
        checked.append(metric)
        if isinstance(metric, Metric):
            names.update(map(str, metric.measures.values()))
            continue
        if metric_name(metric) in names:
            raise MeasureError(f"Two metrics are called {metric_name(metric)!r}; give each its own name.")
        names.add(metric_name(metric))
    return tuple(checked)


def _thresholds(thresholds: Thresholds, metrics: Sequence[object]) -> dict[str, float]:
    """By canonical name of a measure; a metric, or the name of its class, means its main score."""
    ours = [metric for metric in metrics if isinstance(metric, Metric)]
    measures = {str(measure): measure for metric in ours for measure in metric.measures.values()}
    own = {metric_name(metric): None for metric in metrics if not isinstance(metric, Metric)}
    classes = {type(metric).__name__: metric.name for metric in ours}
    floors = {}
    for key, floor in thresholds.items():
        name = key.name if isinstance(key, Metric) else str(key)
        if name in classes and sum(type(metric).__name__ == name for metric in ours) == 1:
            name = classes[name]
        name = canonical_name(name, {**measures, **own})
        high = measures[name].definition.high if name in measures else float("inf")
        if isinstance(floor, bool) or not isinstance(floor, (int, float)) or not floor <= high:
            raise InputError(
                f"The threshold {floor!r} for {name} is not allowed; it is a number up to {high:g}."
            )
        floors[name] = float(floor)
    return floors
