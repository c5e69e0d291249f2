"""The settings of a fusion, chosen on some queries and judged on others: :func:`tune`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, cycle, product
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t

from ranklens.arrays import FloatArray, IntArray
from ranklens.comparison.clusters import clusters_of
from ranklens.comparison.compare import compare_scores
from ranklens.data.qrels import Qrels, read_qrels
from ranklens.data.run import Run
from ranklens.errors import InputError
from ranklens.fusion.fusing import fit_fusion, fuse, one_measure, opened_runs
from ranklens.fusion.methods import METHODS, method
from ranklens.fusion.trained import TRAINED
from ranklens.scores import Scores
from ranklens.scores.evaluation import evaluate
from ranklens.scores.values import Values
from ranklens.stats.intervals import Bounds, Interval, within
from ranklens.tables.table import Lines, Printout, Table
from ranklens.words import counted, percent

if TYPE_CHECKING:
    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.metrics import Measure

Setting = Mapping[str, Any]  # arguments of fuse()

_STEPS = 10  # of a weight between 0 and 1
_GRIDS: Mapping[str, Sequence[float]] = {
    "k": [1, 5, 10, 20, 40, 60, 100],
    "gamma": [-1, -0.5, 0, 0.5, 1, 1.5, 2],
    "sigma": [0.01, 0.1, 0.3, 0.6, 1],
    "phi": [0.5, 0.7, 0.8, 0.9, 0.95, 0.99],
    "w": [1, 3, 5, 10],
    "segments": [5, 10, 25, 50],
}
_LEAST_PER_FOLD = 2
_MOST = 300  # settings by default
RIVALS = ("rrf", "best single")  # untuned, and chosen by fold as the settings are
REPEATS = 20  # partitions into folds: chance in one of them would show in the result
_SAME = 1e-12  # means that differ by rounding alone


@dataclass(frozen=True, eq=False)
class Tuned:
    """What :func:`tune` chose, and what that is worth on queries it was not chosen on."""

    measure: Measure
    params: Setting  # chosen on all queries: what to deploy
    held_out: Scores  # each query judged by the settings that other folds chose
    interval: Interval  # of the held-out mean
    optimistic: float  # the mean of the chosen setting on the queries it was chosen on
    settings: pl.DataFrame  # every setting with its mean, and the share of the folds that chose it
    comparison: Comparison  # held out: tuned, untuned RRF and the best single system
    fused: Any  # the runs fused with `params`

    @property
    def table(self) -> Table:
        """The held-out mean of each system, and the optimistic one."""
        intervals = {result.system: result.interval for result in self.comparison.results} | {
            "tuned": self.interval
        }
        rows = [
            [result.system, f"{result.mean:.4f}", str(intervals[result.system])]
            for result in self.comparison.results
        ]
        return Table(("system", f"{self.measure} held out", "95% interval"), rows, left=1)

    def printout(self) -> Printout:
        """The table, and what follows from it."""
        mean = self.held_out.mean[str(self.measure)]
        lines = [
            f"Chosen on all queries: {shown(self.params)}.",
            f"Held out: {mean:.4f} {self.interval}. On the queries it was chosen on, the best of {counted(len(self.settings), 'setting')} "
            f"reaches {self.optimistic:.4f}"
            + (", which is too optimistic." if self.optimistic > mean + _SAME else "."),
            f"{percent(max(self.settings['chosen'].to_list()))} of the folds agree on the setting that they choose most often.",
            *(self.comparison.pair(str(self.measure), rival, "tuned").verdict for rival in RIVALS),
        ]
        return Printout([self.table, Lines("Tuned fusion", lines)])

    def __str__(self) -> str:
        return str(self.printout())

    def _repr_html_(self) -> str:
        return self.printout().to_html()

    def to_dict(self) -> dict[str, Any]:
        """What was chosen and what it is worth, as JSON holds it."""
        return {
            "measure": str(self.measure),
            "params": dict(self.params),
            "held_out": self.held_out.mean[str(self.measure)],
            "interval": [*self.interval],
            "optimistic": self.optimistic,
            "settings": self.settings.to_dicts(),
        }

    def plot(self) -> Any:
        """The surface: the mean of every setting, with the chosen one marked; needs the extra ``plots``."""
        from ranklens.upward import surface_chart

        return surface_chart(self)


def tune(
    qrels: object,
    runs: object,
    measure: str | Measure,
    *,
    method: str = "wsum",
    norm: str | None = None,
    over: Mapping[str, Iterable[Any]] | None = None,
    folds: int = 5,
    clusters: object = None,
    queries: object = None,
    simplest_within_error: bool = False,
    rng: int = 0,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    **fixed: Any,
) -> Tuned:
    """Choose the settings of a fusion, and say honestly what they are worth.

    Every setting is evaluated once on every query. Each of the ``folds`` is then judged by the setting that is best on the *other* folds, so no
    query takes part in choosing what it is judged by: the mean of these values is honest, while the mean of the best setting over the
    queries it was chosen on is not. ``over`` gives the values to try by argument of :func:`fuse` (``{"weights": [(1, 0), (0.5, 0.5)], "norm":
    ["min-max", "z-score"]}``); by default weights in steps of 0.1, or the usual values of the method's parameter. ``clusters``
    (``{query: cluster}``, or a column of ``queries``) keeps queries that belong together in one fold. ``simplest_within_error`` takes the first setting whose mean is
    within one standard error of the best: a steadier choice if settings differ little.

    >>> qrels = {f"q{i}": {"x"} for i in range(12)}
    >>> good, bad = {q: {"x": 2.0, "y": 1.0} for q in qrels}, {q: {"y": 2.0, "x": 1.0} for q in qrels}
    >>> tuned = tune(qrels, {"good": good, "bad": bad}, "RR", norm="min-max")
    >>> tuned.params["weights"], tuned.held_out.mean["RR"]
    ((0.6, 0.4), 1.0)
    """
    opened, gold, one = opened_runs(runs), read_qrels(qrels), one_measure(measure)
    settings = _settings(method, norm, len(opened), over, fixed)
    untuned = evaluate(gold, fuse(opened, "rrf"), [one])
    cluster_of = None if clusters is None else clusters_of(clusters, queries, untuned.queries)
    partitions = [
        folds_of(untuned.queries, folds, cluster_of, [rng, repeat])
        for repeat in range(1 if method in TRAINED else REPEATS)
    ]
    surface = np.stack([_values(gold, opened, one, setting, partitions[0]) for setting in progress(settings)])
    single = np.stack([evaluate(gold, run, [one])[one] for run in opened.values()])[:, None]
    honest = judged_elsewhere(surface, partitions, cluster_of, simplest_within_error=simplest_within_error)
    held_out = with_values(untuned, one, honest.values)
    best_single = with_values(untuned, one, judged_elsewhere(single, partitions, cluster_of).values)
    systems = {"rrf": with_values(untuned, one, untuned[one]), "best single": best_single, "tuned": held_out}
    comparison = compare_scores(systems, [one], baseline="tuned", rng=rng, clusters=cluster_of)
    everywhere = np.full(len(untuned.queries), -1)  # no query is held out
    last = int(chosen_by_fold(surface[:, :1], everywhere, simplest_within_error=simplest_within_error)[0])
    params = settings[last]
    return Tuned(
        one,
        params,
        held_out,
        honest.interval(one),
        float(surface[last, 0].mean()),
        _table_of(settings, surface, honest.shares),
        comparison,
        fuse(opened, **_arguments(gold, opened, params)),
    )


def _settings(
    name: str, norm: str | None, runs: int, over: Mapping[str, Iterable[Any]] | None, fixed: Mapping[str, Any]
) -> list[Setting]:
    """All combinations of the values to try; those that differ least from the defaults come first."""
    base = {"method": name, **({} if norm is None else {"norm": norm}), **fixed}
    if over is None:
        tried = TRAINED[name].params if name in TRAINED else METHODS[method(name).name].parameters
        over = {
            param: _weights(runs) if param == "weights" else _GRIDS[param]
            for param in tried
            if param not in fixed
        }
        if "weights" in over and len(over) > 1:
            over.pop("weights")  # of RRF and others that have a parameter of their own
    tables = {param: list(values) for param, values in over.items()}
    if not tables or not all(tables.values()):
        raise InputError(
            f"there is nothing to tune: {name} has no parameters; pass over={{argument: values}}, such as over={{'norm': ['min-max', 'z-score']}}."
        )
    return [{**base, **dict(zip(tables, values, strict=True))} for values in product(*tables.values())]


def _weights(runs: int) -> list[tuple[float, ...]]:
    """Weights that add up to 1, the most equal ones first; coarser steps for many runs."""
    steps = next(
        steps for steps in (_STEPS, 5, 4, 3, 2, 1) if comb(steps + runs - 1, runs - 1) <= _MOST or steps == 1
    )
    parts = [
        np.diff([-1, *bars, steps + runs - 1]) - 1 for bars in combinations(range(steps + runs - 1), runs - 1)
    ]
    parts.sort(key=lambda part: (float(np.square(part - steps / runs).sum()), [*-part]))
    return [tuple((part / steps).tolist()) for part in parts]


def _values(
    gold: Qrels, runs: Mapping[str, Run], measure: Measure, setting: Setting, fold_of: IntArray
) -> FloatArray:
    """The value of every query, one row per fold: those of trained methods are fitted without that fold."""
    folds = int(fold_of.max()) + 1
    if setting["method"] not in TRAINED:
        values = evaluate(gold, fuse(runs, **setting), [measure])[measure]
        return np.broadcast_to(values, (folds, len(values)))
    queries = evaluate(gold, next(iter(runs.values())), [measure]).queries
    rows = []
    for fold in range(folds):
        others = {query for query, place in zip(queries, fold_of.tolist(), strict=True) if place != fold}
        arguments = _arguments(gold.only(others), runs, setting)
        rows.append(evaluate(gold, fuse(runs, **arguments), [measure])[measure])
    return np.stack(rows)


def _arguments(gold: Qrels, runs: Mapping[str, Run], setting: Setting) -> dict[str, Any]:
    """The arguments of :func:`fuse` for a setting, with trained methods fitted."""
    name = setting["method"]
    if name not in TRAINED:
        return dict(setting)
    learnt = {param: setting[param] for param in TRAINED[name].params if param in setting}
    rest = {param: value for param, value in setting.items() if param not in learnt}
    return {**rest, "method": fit_fusion(gold, runs, name, **learnt)}


def folds_of(
    queries: Sequence[str], folds: int, cluster_of: Mapping[str, str] | None, rng: Sequence[int]
) -> IntArray:
    """The fold of each query, as even as clusters allow."""
    named = cluster_of or {query: query for query in queries}
    groups = list(dict.fromkeys(named[query] for query in queries))
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise InputError(f"folds={folds!r} is not allowed; it is a whole number from 2.")
    if len(groups) < folds * _LEAST_PER_FOLD:
        what = "queries" if cluster_of is None else "clusters"
        raise InputError(
            f"{len(groups)} {what} are too few for {folds} folds; {folds * _LEAST_PER_FOLD} are the least. Judge more, or use fewer folds."
        )
    order = np.random.default_rng(rng).permutation(len(groups))
    fold = dict(zip((groups[place] for place in order.tolist()), cycle(range(folds)), strict=False))
    return np.array([fold[named[query]] for query in queries])


def chosen_by_fold(
    surface: FloatArray, fold_of: IntArray, *, simplest_within_error: bool = False
) -> IntArray:
    """The place of the best setting for each fold, by the queries of all other folds; of equal ones, the first."""
    choices = []
    for fold in range(int(fold_of.max(initial=0)) + 1):
        values = surface[:, min(fold, surface.shape[1] - 1), fold_of != fold]
        means = values.mean(axis=1)
        best = int(means.argmax())
        slack = float(values[best].std(ddof=1) / np.sqrt(values.shape[1])) if simplest_within_error else 0.0
        choices.append(int(np.argmax(means >= means[best] - slack - _SAME)))
    return np.array(choices)


@dataclass(frozen=True)
class Honest:
    """Values of queries under settings that were chosen without them."""

    values: FloatArray  # on average over the partitions
    standard_error: float  # of their mean
    units: int  # queries or clusters
    shares: FloatArray  # of the folds that chose each setting

    def interval(self, measure: Measure, level: float = 0.95) -> Interval:
        """Around the mean, by Student's t."""
        mean, reach = (
            float(self.values.mean()),
            float(t.ppf((1 + level) / 2, self.units - 1)) * self.standard_error,
        )
        bounds = Bounds(measure.definition.low, measure.definition.high)
        return within(bounds, Interval(mean - reach, mean + reach, level))


def judged_elsewhere(
    surface: FloatArray,
    partitions: Sequence[IntArray],
    cluster_of: Mapping[str, str] | None = None,
    *,
    simplest_within_error: bool = False,
) -> Honest:
    """Judge every query by the settings that are best on other folds: settings x folds (or 1) x queries → a value per query.

    Values that share the queries they were chosen on vary together, so their spread says too little about the mean of all: intervals
    from it hold the truth in 88% of simulations rather than 95%. The standard error is therefore that of nested cross-validation
    (Bates, Hastie and Tibshirani 2023): settings are chosen again without a further fold, and the squared error that this shows is
    averaged.
    """
    choose = partial(chosen_by_fold, simplest_within_error=simplest_within_error)
    values, gaps, chosen = [], [], []
    for fold_of in partitions:
        choices = choose(surface, fold_of)
        row = fold_of if surface.shape[1] > 1 else np.zeros_like(fold_of)
        outer = surface[choices[fold_of], row, np.arange(len(fold_of))]
        values.append(outer)
        chosen.append(choices)
        for fold in range(int(fold_of.max()) + 1):
            inside, held = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            one = surface[:, [min(fold, surface.shape[1] - 1)]][:, :, inside]
            others = np.where(fold_of[inside] > fold, fold_of[inside] - 1, fold_of[inside])
            inner = one[choose(one, others)[others], 0, np.arange(len(inside))]
            gap = (inner.mean() - outer[held].mean()) ** 2
            gaps.append(gap - outer[held].var(ddof=1) / len(held))
    mean = np.mean(values, axis=0)
    folds = int(partitions[0].max()) + 1
    units = mean if cluster_of is None else _cluster_means(mean, [*cluster_of.values()])
    naive = float(units.var(ddof=1)) / len(units)
    variance = float(np.clip(np.mean(gaps) * (folds - 1) / folds, naive, folds * naive))
    shares = np.bincount(np.concatenate(chosen), minlength=len(surface)) / (len(partitions) * folds)
    return Honest(mean, variance**0.5, len(units), shares)


def _cluster_means(values: FloatArray, clusters: Sequence[str]) -> FloatArray:
    place = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    of = np.array([place[name] for name in clusters])
    return np.asarray(np.bincount(of, values) / np.bincount(of))


def with_values(like: Scores, measure: Measure, values: FloatArray) -> Scores:
    """Values of other origin for the same queries, without the rankings."""
    return replace(
        like, basis=like.account(), values=Values(like.queries, {str(measure): values}), sources=None
    )


def _table_of(settings: Sequence[Setting], surface: FloatArray, shares: FloatArray) -> pl.DataFrame:
    import polars as pl

    varied = [name for name in settings[0] if len({str(setting[name]) for setting in settings}) > 1] or [
        "method"
    ]
    columns = {name: [setting[name] for setting in settings] for name in varied}
    shown = {
        name: [list(value) if isinstance(value, tuple) else value for value in values]
        for name, values in columns.items()
    }
    return pl.DataFrame({**shown, "mean": surface[:, 0].mean(axis=1), "chosen": shares}, strict=False)


def shown(setting: Setting) -> str:
    """A setting in a line."""
    return ", ".join(
        f"{name} {' : '.join(f'{part:g}' for part in value) if isinstance(value, tuple) else value}"
        for name, value in setting.items()
    )
