"""Several systems on the same queries: is one really better than another? :func:`compare` → :class:`Comparison`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison import verdicts
from ranklens.comparison.alignment import Aligned, Quantity, align
from ranklens.comparison.analysis import Sliced, SliceResult, SystemResult, analyse, analyse_slices
from ranklens.comparison.cautions import cautions
from ranklens.comparison.pairs import Contrasts, PairResult, Pairs, Settings, Size, affordable
from ranklens.errors import InputError, MeasureError, RankLensWarning, about_each, nearest, warn
from ranklens.evaluation import evaluate
from ranklens.files.collection import Collection, open_collection
from ranklens.judging.inputs import read_inputs
from ranklens.matching.rules import Matching
from ranklens.policy import make_policy
from ranklens.readers import frames
from ranklens.readers.names import Names
from ranklens.readers.records import Golden, Log
from ranklens.registry import Measure
from ranklens.scores import Scores
from ranklens.stats import inputs, queries_needed
from ranklens.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.policy import Policy
    from ranklens.report.charts import ComparisonPlots
    from ranklens.stats.inputs import Rng
    from ranklens.tables.table import Printout, Table

_NO_EFFECT = 1e-9  # smaller effects are what is left of differences that cancel out


@dataclass(frozen=True)
class Evidence:
    """What was compared: judgments (read, if they were given as a file) and rankings as given, to look at."""

    qrels: Any
    runs: Mapping[str, Any]
    policy: Policy

    @property
    def texts(self) -> Mapping[str, str]:
        """The questions, if a golden set or a log says them."""
        found: dict[str, str] = {}
        for source in (*self.runs.values(), self.qrels):
            found |= source.texts if isinstance(source, (Golden, Log)) else {}
        return found


@dataclass(frozen=True, eq=False)
class Comparison:
    """Systems compared on the same queries; made by :func:`ranklens.compare`."""

    aligned: Aligned
    settings: Settings
    results: tuple[SystemResult, ...]
    pairs: Pairs
    slices: tuple[SliceResult, ...] = ()
    macro: tuple[SystemResult, ...] = ()
    slice_of: Mapping[str, str] | None = None
    cautions: tuple[str, ...] = ()
    scores: Mapping[str, Scores] = field(default_factory=dict)
    evidence: Evidence | None = None
    latencies: Mapping[str, Sequence[float]] | None = None
    status: Mapping[str, Mapping[str, int]] | None = None
    # Of calls that failed, by system and query.
    errors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, ...]:
        """In the order given."""
        return self.aligned.systems

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(quantity.name for quantity in self.aligned.quantities)

    @property
    def query_ids(self) -> tuple[str, ...]:
        return self.aligned.query_ids

    @property
    def baseline(self) -> str | None:
        return self.settings.baseline

    @property
    def test(self) -> str:
        return self.settings.test

    @property
    def correction(self) -> str:
        return self.settings.correction

    @property
    def alpha(self) -> float:
        return self.settings.alpha

    @property
    def level(self) -> float:
        return self.settings.level

    @property
    def seed(self) -> int:
        return self.settings.seed

    def values(self, measure: str | Measure) -> FloatArray:
        """Systems × queries."""
        return self.aligned.values[self._measure(measure)]

    def result(self, measure: str | Measure, system: str) -> SystemResult:
        """One system on one measure, over all queries."""
        return self._results[self._measure(measure), self._system(system)]

    def pair(self, measure: str | Measure, a: str, b: str) -> PairResult:
        """Two systems on one measure; signs follow the order asked for."""
        return self.contrasts(measure).between(self._system(a), self._system(b))

    def ranked(self, measure: str | Measure) -> list[str]:
        """The systems, best first."""
        means = [self.result(measure, system).mean for system in self.systems]
        return [self.systems[i] for i in self.quantity(measure).best_first(means)]

    def groups(self, measure: str | Measure) -> list[list[str]]:
        """Systems that cannot be told apart share a group, best first; a system can be in several groups.

        Empty with a baseline: the other systems were not tested against each other.
        """
        return [[self.systems[i] for i in group] for group in self.contrasts(measure).groups]

    def told_apart(self, measure: str | Measure, system: str) -> set[str]:
        """The systems that differ significantly from this one."""
        different = self.contrasts(measure).different[self.systems.index(self._system(system))]
        return {other for other, differs in zip(self.systems, different, strict=True) if differs}

    def facts(self, pair: PairResult) -> str:
        """The size of a difference, how likely it is by chance, and which differences are often missed."""
        return verdicts.facts(pair)

    def queries_needed(self, pair: PairResult) -> int | None:
        """How many queries like these would show the difference of a pair with a power of 80%; None if no number would."""
        effect = abs(pair.effect.cohen_dz)
        if pair.n < 2 or not _NO_EFFECT < effect < np.inf:
            return None
        deviation = abs(pair.difference / pair.effect.cohen_dz)
        return queries_needed(pair.difference, deviation, alpha=self.contrasts(pair.measure).alpha)

    def verdict(self, measure: str | Measure | None = None) -> str:
        """What to conclude, in words; for all measures, one per line."""
        if measure is not None:
            return verdicts.of_measure(self, self._measure(measure)).text
        return "\n".join(
            f"{self.shown(name)}: {verdicts.of_measure(self, name).text}" for name in self.measures
        )

    def queries(self, measure: str | Measure, a: str | None = None, b: str | None = None) -> pl.DataFrame:
        """The queries, sorted by how much better b is than a: largest losses first, largest gains last."""
        from ranklens.comparison.inspection import by_difference

        first, second = self._two(a, b)
        return by_difference(self, self._measure(measure), first, second)

    def documents(
        self, query: str, a: str | None = None, b: str | None = None, *, depth: int = 10
    ) -> pl.DataFrame:
        """Two rankings of a query side by side, with grades, what changed, and the relevant documents that both missed."""
        from ranklens.comparison.inspection import side_by_side

        first, second = self._two(a, b)
        return side_by_side(self, query, first, second, depth)

    def to_frame(self) -> pl.DataFrame:
        """One row per measure, system and slice (null: all queries): n, mean, low, high, group."""
        from ranklens.comparison.export import systems_frame

        return systems_frame(self)

    def pairs_frame(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """One row per measure, pair and slice: means, difference, interval, p-values, effect sizes, wins, verdict.

        Every number is of b compared with a: ``difference`` is ``mean_b - mean_a`` (for a geometric mean, of the logarithms),
        ``wins`` counts the queries where b has the higher value. With a baseline, that is a. ``columns`` chooses some, and only
        these are computed: the interval of an effect size takes longer than all the rest.
        """
        from ranklens.comparison.export import pairs_frame

        return pairs_frame(self, columns)

    def queries_frame(self) -> pl.DataFrame:
        """One row per query, measure and system: query, slice, measure, system, value."""
        from ranklens.comparison.export import queries_frame

        return queries_frame(self)

    def to_csv(self, separator: str = ",") -> str:
        """:meth:`to_frame` as CSV, with all digits; the other frames have ``write_csv`` too."""
        return self.to_frame().write_csv(separator=separator)

    def to_json(self, *, indent: int | None = None) -> str:
        """Everything, with a format version; ``ranklens/comparison/comparison.schema.json`` describes it."""
        from ranklens.comparison.export import to_json

        return to_json(self, indent=indent)

    def table(self) -> Table:
        """One row per measure and system: mean, interval, and letters for systems that cannot be told apart."""
        from ranklens.comparison.tables import leaders

        return leaders(self)

    def __str__(self) -> str:
        return str(self._printout())

    def __repr__(self) -> str:
        systems = counted(len(self.systems), "system")
        return f"Comparison({systems}, {', '.join(self.measures)}; {counted(len(self.query_ids), 'query')})"

    def _repr_html_(self) -> str:
        return self._printout().to_html()

    def to_markdown(self) -> str:
        """All that ``print`` shows, as Markdown."""
        return self._printout().to_markdown()

    def to_latex(self) -> str:
        """A table for a paper (booktabs): systems × measures, the best in bold, raised letters for significance."""
        from ranklens.comparison.tables import paper

        return paper(self).to_latex()

    def _printout(self) -> Printout:
        from ranklens.comparison.tables import printout

        return printout(self)

    def to_html(
        self, path: str | Path, *, queries: Any = None, corpus: Any = None, title: str | None = None
    ) -> Path:
        """A report in one file that works offline."""
        from ranklens.report.html import write_report

        if queries is None and self.evidence is not None:
            queries = self.evidence.texts or None
        return write_report(self, path, queries=queries, corpus=corpus, title=title)

    @property
    def plot(self) -> ComparisonPlots:
        """Charts for notebooks and papers; they need the extra ``plots``."""
        from ranklens.report.charts import ComparisonPlots

        return ComparisonPlots(self)

    def _two(self, a: str | None, b: str | None) -> tuple[str, str]:
        """The systems asked for; else the baseline (or the first) and the best of the others."""
        if len(self.systems) < 2:
            raise InputError(
                f"There is only one system, {self.systems[0]}, so there is nothing to compare it with."
            )
        first = self._system(a) if a is not None else self.baseline or self.systems[0]
        others = [system for system in self.ranked(self.measures[0]) if system != first]
        second = self._system(b) if b is not None else others[0]
        if first == second:
            raise InputError(
                f"{first} cannot be compared with itself; name two systems of {', '.join(self.systems)}."
            )
        return first, second

    @cached_property
    def _results(self) -> dict[tuple[str, str], SystemResult]:
        return {(result.measure, result.system): result for result in self.results}

    def _measure(self, measure: str | Measure) -> str:
        name = str(measure)
        if name not in self.aligned.values:
            name = Quantity.named(measure).name
        if name not in self.aligned.values:
            raise MeasureError(f"{name} was not compared: {nearest(name, self.measures)}")
        return name

    def quantity(self, measure: str | Measure) -> Quantity:
        """What is known about a measure: how it is averaged, its range, and which values are better."""
        name = self._measure(measure)
        return next(quantity for quantity in self.aligned.quantities if quantity.name == name)

    def shown(self, measure: str | Measure) -> str:
        """The measure in the spelling that was asked for, which tables and frames show."""
        found = self.quantity(measure)
        return found.asked or found.name

    def _system(self, system: str) -> str:
        if str(system) not in self.systems:
            raise InputError(f"There is no system {system!r}: {nearest(str(system), self.systems)}")
        return str(system)

    def contrasts(self, measure: str | Measure) -> Contrasts:
        """All tested pairs of a measure, with their p-values as arrays."""
        name = self._measure(measure)
        found = next((part for part in self.pairs.parts if part.quantity.name == name), None)
        if found is None:
            raise MeasureError(f"{name} is a count and is not tested.")
        return found


def compare(
    qrels: Any,
    runs: Mapping[str, Any],
    measures: str | Measure | Sequence[str | Measure] = "rag",
    *,
    baseline: str | None = None,
    test: str = "randomization",
    correction: str = "holm",
    alpha: float = 0.05,
    level: float = 0.95,
    by: Any = None,
    queries: Any = None,
    policy: Policy | None = None,
    rng: Rng = 0,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    **options: Any,
) -> Comparison:
    """Evaluate several runs on the same queries and say which differences are more than chance.

    ``runs`` maps names to runs of any shape, :class:`~ranklens.scores.Scores` or tables of values by query; ``qrels`` may be
    None if there is no run among them. Every pair is tested, or each system against the ``baseline``. p-values are corrected
    over the pairs of a measure, and with ``by`` over its slices: ``by`` is ``{query: slice}`` or a column of ``queries``.
    ``test`` is one of randomization, t, wilcoxon, sign, bootstrap, welch, tukey and tukey-randomized; ``correction`` one of
    bonferroni, holm, hochberg, bh, by and none. ``rng`` is a seed, so the same call gives the same answer. ``progress`` wraps
    the loop over runs, as ``tqdm.tqdm`` does. ``columns``, ``match`` and policies are given as in :func:`ranklens.evaluate`.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(8)}
    >>> good, bad = {q: ["a", "b"] for q in qrels}, {q: ["b", "a"] for q in qrels}
    >>> compare(qrels, {"bad": bad, "good": good}, "RR").verdict("RR")
    'good is better than bad by 0.500 [0.500, 0.500], p = 0.008. Choose good.'
    """
    chosen = make_policy(policy, options)
    settings = Settings(_name(baseline), test, correction, alpha, level, _seed(rng))
    given = _checked(runs)
    rankings = {name: run for name, run in given.items() if not _holds_values(run, columns)}
    if rankings and qrels is None:
        raise InputError(
            f"{next(iter(rankings))} is a run, but there are no judgments to score it with; pass qrels."
        )
    data = open_collection(qrels if rankings else None, rankings, names=Names.of(columns, match)).with_logs()
    if match is not None:
        data = _matched(data, chosen, match)
    if queries is None and isinstance(by, str) and isinstance(data.qrels, Golden):
        queries = data.qrels.fields
    evaluated, said = _evaluated(data.qrels, data.runs, measures, chosen, progress)
    wanted = list(next(iter(evaluated.values())).measures) if evaluated else measures
    found = _compared({**given, **evaluated}, wanted, settings, by, queries, chosen.missing)
    evidence = Evidence(data.qrels, data.runs, chosen) if rankings else None
    logs = {name: run for name, run in data.runs.items() if isinstance(run, Log)}
    return replace(found, evidence=evidence, cautions=(*said, *found.cautions), **_logged(logs))


def _matched(data: Collection, policy: Policy, match: Matching) -> Collection:
    """Judgments and runs under the judged ids."""
    pairs = {name: read_inputs(data.qrels, run, policy, match=match) for name, run in data.runs.items()}
    gold = next(iter(pairs.values()))[0] if pairs else data.qrels
    return Collection(gold, {name: run for name, (_, run) in pairs.items()})


def _logged(logs: Mapping[str, Log]) -> dict[str, Any]:
    """What logs say besides rankings: how long each request took, and what failed."""
    seconds = {
        name: [entry.seconds for entry in log.entries.values() if entry.seconds is not None]
        for name, log in logs.items()
    }
    return {
        "latencies": {name: values for name, values in seconds.items() if values} or None,
        "errors": {name: log.failed for name, log in logs.items() if log.failed},
    }


def compare_scores(
    scores: Mapping[str, Any],
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    baseline: str | None = None,
    test: str = "randomization",
    correction: str = "holm",
    alpha: float = 0.05,
    level: float = 0.95,
    by: Any = None,
    queries: Any = None,
    missing: str | None = None,
    rng: Rng = 0,
) -> Comparison:
    """Compare values that exist already: Scores, tables by query, or ``{query: {measure: value}}``.

    ``measures`` defaults to all that the systems have in common; ``missing`` says what happens to a query that a system lacks
    (``zero``, ``skip``, ``error``). The rest is as in :func:`compare`.

    >>> found = compare_scores({"a": {"q1": {"RR": 1.0}, "q2": {"RR": 0.5}}, "b": {"q1": {"RR": 1.0}, "q2": {"RR": 0.25}}})
    >>> found.result("RR", "a").mean, found.pair("RR", "a", "b").wins, found.pair("RR", "a", "b").losses
    (0.75, 0, 1)
    """
    settings = Settings(_name(baseline), test, correction, alpha, level, _seed(rng))
    if missing is not None:
        make_policy(None, {"missing": missing})  # refuses an unknown policy
    return _compared(_checked(scores), measures, settings, by, queries, missing)


def _compared(
    scores: Mapping[str, Any],
    measures: Any,
    asked: Settings,
    by: Any,
    queries: Any,
    missing: str | None,
) -> Comparison:
    aligned = align(scores, measures, missing=missing)
    _check_baseline(asked.baseline, aligned.systems)
    size = Size(len(aligned.systems), len(aligned.quantities), len(aligned.query_ids))
    settings = affordable(asked, size)
    # Random signs are drawn by place, so the order in which queries come must not matter.
    in_order = aligned.by_query_id()
    results, pairs = analyse(aligned, {None: in_order.values}, settings)[None]
    sliced = Sliced() if by is None else analyse_slices(in_order, by, queries, settings)
    evaluated = {name: s for name, s in scores.items() if isinstance(s, Scores)}
    tested = [part for found in (pairs, *(one.pairs for one in sliced.slices)) for part in found.parts]
    return Comparison(
        aligned,
        settings,
        results,
        pairs,
        slices=sliced.slices,
        macro=sliced.macro,
        slice_of=sliced.slice_of,
        cautions=tuple(cautions(aligned, asked, tested, evaluated, sliced.slice_of)),
        scores=evaluated,
    )


def _check_baseline(baseline: str | None, systems: Sequence[str]) -> None:
    if baseline is not None and baseline not in systems:
        raise InputError(f"The baseline {baseline!r} is not a system: {nearest(baseline, systems)}")


def _evaluated(
    qrels: Any,
    runs: Mapping[str, Any],
    measures: Any,
    policy: Policy,
    progress: Callable[[Iterable[Any]], Iterable[Any]],
) -> tuple[dict[str, Scores], list[str]]:
    """Scores by system, and what evaluation warned of."""
    scores: dict[str, Scores] = {}
    heard: dict[str, list[Warning | str]] = {}
    for name in progress(list(runs)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RankLensWarning)
            scores[name] = evaluate(qrels, runs[name], measures, policy)
        heard[name] = [warning.message for warning in caught]
    said = about_each(heard)
    for told in said:
        warn(told)
    return scores, [str(told) for told in said]


def _checked(systems: Any) -> dict[str, Any]:
    if not isinstance(systems, Mapping):
        raise InputError(
            f"The systems are a {type(systems).__name__}; pass {{name: run}}, one entry per system."
        )
    named = {str(name): system for name, system in systems.items()}
    if len(named) < len(systems):
        raise InputError(f"Two systems have the same name: {', '.join(map(repr, systems))}.")
    return named


def _name(baseline: Any) -> str | None:
    return None if baseline is None else str(baseline)


def _holds_values(system: Any, columns: Mapping[str, str] | None) -> bool:
    """Whether these are values of measures rather than documents."""
    if isinstance(system, (Scores, Mapping)) or not frames.is_frame(system):
        return isinstance(system, Scores)
    return not frames.has_documents(system, columns)


def _seed(rng: Rng) -> int:
    """One seed for everything random, so that a result can be reported and repeated."""
    if rng is None or isinstance(rng, np.random.Generator):
        return int(np.random.default_rng(rng).integers(2**32))
    return inputs.count(rng, "rng", 0)
