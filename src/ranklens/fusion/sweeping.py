"""Settings of a retriever tried one after the other, chosen on some questions and judged on others: :func:`sweep`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison.compare import compare_scores
from ranklens.errors import InputError
from ranklens.fusion.fusing import one_measure
from ranklens.fusion.tuning import (
    REPEATS,
    Setting,
    chosen_by_fold,
    folds_of,
    judged_elsewhere,
    shown,
    with_values,
)
from ranklens.retrieval.benchmark import Benchmark
from ranklens.tables.table import Lines, Printout, Table
from ranklens.words import several

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from typing_extensions import Unpack

    from ranklens.arrays import FloatArray
    from ranklens.comparison.comparison import Comparison
    from ranklens.metrics import Measure
    from ranklens.retrieval.asking import AskArguments
    from ranklens.retrieval.store import Store
    from ranklens.scores import Scores
    from ranklens.stats.intervals import Interval


@dataclass(frozen=True)
class Tried:
    """One setting, what it is worth on all questions, and what it costs."""

    setting: Setting
    mean: float
    seconds: float | None  # 95% of the calls were faster
    cost: float | None  # of all calls
    on_front: bool  # no other setting is as good, as fast and as cheap


@dataclass(frozen=True, eq=False)
class Sweep:
    """Settings of a retriever, the winner, and what it is worth on questions it was not chosen on; made by :func:`sweep`."""

    measure: Measure
    tried: tuple[Tried, ...]
    params: Setting  # the winner on all questions
    held_out: Scores
    interval: Interval  # of the held-out mean
    optimistic: float
    comparison: Comparison  # held out: the chosen setting against the first one

    @property
    def table(self) -> Table:
        """Every setting, the best first; * marks the front of quality against time and cost."""
        rows = [
            [
                shown(tried.setting),
                f"{tried.mean:.4f}",
                "" if tried.seconds is None else f"{1000 * tried.seconds:.0f} ms",
                "" if tried.cost is None else f"{tried.cost:.4g}",
                "*" if tried.on_front else "",
            ]
            for tried in sorted(self.tried, key=lambda one: -one.mean)
        ]
        return Table(("setting", str(self.measure), "p95", "cost", "front"), rows)

    def to_frame(self) -> pl.DataFrame:
        """One row per setting."""
        import polars as pl

        return pl.DataFrame(
            [
                {**one.setting, "mean": one.mean, "p95": one.seconds, "cost": one.cost, "front": one.on_front}
                for one in self.tried
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """What was chosen and what it is worth, as JSON holds it."""
        return {
            "measure": str(self.measure),
            "params": dict(self.params),
            "held_out": self.held_out.mean[str(self.measure)],
            "optimistic": self.optimistic,
            "settings": self.to_frame().to_dicts(),
        }

    def printout(self) -> Printout:
        """The table, and what follows from it."""
        name = str(self.measure)
        lines = [
            f"Chosen on all questions: {shown(self.params)} ({self.optimistic:.4f} on the questions it was chosen on).",
            f"Held out: {self.held_out.mean[name]:.4f} {self.interval}.",
            self.comparison.pair(name, "first", "chosen").verdict,
            "* no other setting is at least as good, as fast and as cheap.",
        ]
        return Printout([self.table, Lines("Swept settings", lines)])

    def __str__(self) -> str:
        return str(self.printout())

    def _repr_html_(self) -> str:
        return self.printout().to_html()


def sweep(
    build: Callable[..., object],
    over: Mapping[str, Iterable[Any]],
    queries: object,
    qrels: object = None,
    measure: str | Measure = "nDCG@10",
    *,
    at_query: Sequence[str] = ("k",),
    folds: int = 5,
    store: str | Path | Store | None = None,
    rng: int = 0,
    **options: Unpack[AskArguments],
) -> Sweep:
    """Try every combination of settings once, choose on some questions, and judge on the others.

    ``build(**parameters)`` returns a retriever. Parameters named in ``at_query`` are not passed to ``build`` but to each call (``k`` always is),
    so an index is rebuilt only when a parameter changes that it depends on. The first value of each parameter should be the one in
    use: the winner is compared with that setting. ``queries``, ``qrels``, ``store`` and the further options are those of
    :class:`ranklens.Benchmark`: answers are kept in the store, so that an interrupted sweep resumes.

    >>> docs = {f"d{i}": f"word{i} text" for i in range(12)}
    >>> def build(size):
    ...     index = {doc: text[:size] for doc, text in docs.items()}
    ...     return lambda text, k: sorted(index, key=lambda doc: text in index[doc], reverse=True)[:k]
    >>> questions = {f"q{i}": f"word{i} " for i in range(12)}
    >>> found = sweep(build, {"size": [5, 9], "k": [1, 3]}, questions, {f"q{i}": {f"d{i}"} for i in range(12)}, "RR")
    >>> found.params, found.held_out.mean["RR"]
    ({'size': 9, 'k': 1}, 1.0)
    """
    values = {name: list(tried) for name, tried in over.items()}
    if not values or not all(values.values()):
        raise InputError(
            "there is nothing to sweep; pass over={parameter: values}, such as over={'chunk_size': [120, 240]}."
        )
    one, late = one_measure(measure), {*at_query, "k"}
    built_from = {name: tried for name, tried in values.items() if name not in late}
    asked_with = {name: tried for name, tried in values.items() if name in late}
    bench = Benchmark(queries, qrels, store=store)
    settings: dict[str, Setting] = {}
    work = list(product(_combinations(built_from), _combinations(asked_with)))
    retriever: tuple[Setting, object] | None = None
    for parameters, asked in work:
        if retriever is None or retriever[0] is not parameters:
            retriever = parameters, build(**parameters)
        setting = {**parameters, **asked}
        name = shown(setting)
        settings[name] = setting
        called: AskArguments = {**options, "version": f"{options.get('version', '')} {name}".strip()}
        if "k" in asked:
            called["k"] = asked["k"]
        passed = {key: value for key, value in asked.items() if key != "k"}
        bench.run(name, _with_arguments(retriever[1], passed), **called)
    scores = bench.evaluate(one)
    return _judged(one, settings, scores, bench, folds, rng)


def _judged(
    measure: Measure,
    settings: Mapping[str, Setting],
    scores: Mapping[str, Scores],
    bench: Benchmark,
    folds: int,
    rng: int,
) -> Sweep:
    like = next(iter(scores.values()))
    surface = np.stack([scores[name][measure] for name in settings])[:, None]
    partitions = [folds_of(like.queries, folds, None, [rng, repeat]) for repeat in range(REPEATS)]
    honest = judged_elsewhere(surface, partitions)
    held_out = with_values(like, measure, honest.values)
    first = with_values(like, measure, like[measure])
    comparison = compare_scores({"first": first, "chosen": held_out}, [measure], baseline="first", rng=rng)
    means = surface[:, 0].mean(axis=1)
    winner = int(chosen_by_fold(surface, np.full(len(like.queries), -1))[0])
    spent = [_spent(bench, name) for name in settings]
    points = np.array(
        [
            [-mean, *(0.0 if one is None else one for one in pair)]
            for mean, pair in zip(means, spent, strict=True)
        ]
    )
    tried = tuple(
        Tried(setting, float(mean), *pair, on_front=not _is_beaten(point, points))
        for setting, mean, pair, point in zip(settings.values(), means, spent, points, strict=True)
    )
    return Sweep(
        measure,
        tried,
        tried[winner].setting,
        held_out,
        honest.interval(measure),
        float(means[winner]),
        comparison,
    )


def _with_arguments(retriever: object, passed: Setting) -> object:
    if not passed:
        return retriever
    if not callable(retriever):
        raise InputError(
            f"build() returned {type(retriever).__name__}, which cannot be called with {several([*passed])}; return a function that takes the text and these."
        )
    return partial(retriever, **passed)


def _spent(bench: Benchmark, name: str) -> tuple[float | None, float | None]:
    result = bench.results[name]
    return None if result.latency is None else result.latency.p95, result.cost


def _is_beaten(point: FloatArray, points: FloatArray) -> bool:
    """Whether another setting is at least as good in everything and better in something."""
    return bool(((points <= point).all(axis=1) & (points < point).any(axis=1)).any())


def _combinations(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]
