"""What a comparison returns: systems on the same queries, their pairs and slices, and what to conclude."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ranklens.comparison import wording
from ranklens.comparison.alignment import Aligned, Quantity
from ranklens.comparison.settings import fewest_queries
from ranklens.data.files.hashes import NO_INPUTS, Inputs
from ranklens.data.qrels import Qrels
from ranklens.data.run import Run, read_run
from ranklens.errors import InputError, MeasureError, nearest
from ranklens.stats import queries_needed
from ranklens.stats.significance import POWERED
from ranklens.tables.table import Shown
from ranklens.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.comparison.analysis import SliceResult
    from ranklens.comparison.contrasts import Contrasts
    from ranklens.comparison.macro import MacroPair
    from ranklens.comparison.results import PairResult, Pairs, SystemResult
    from ranklens.comparison.sensitivity import Sensitivity
    from ranklens.comparison.settings import Settings
    from ranklens.metrics import Measure
    from ranklens.metrics.methods_paragraph import Citations, Methods
    from ranklens.policy import Policy
    from ranklens.scores import Scores
    from ranklens.tables.table import Printout, Table
    from ranklens.upward import ComparisonPlots

SPENT = ("tokens", "cost")
_NO_EFFECT = 1e-9  # smaller effects are what is left of differences that cancel out


@dataclass(frozen=True)
class Evidence:
    """What was compared: judgments, and rankings, which stay in large files until they are needed."""

    qrels: Qrels
    runs: Mapping[str, object]
    policy: Policy

    def run(self, system: str) -> Run:
        """The rankings of a system."""
        return read_run(self.runs[system], self.qrels)

    @property
    def texts(self) -> Mapping[str, str]:
        """The questions, if a golden set or a log says them."""
        read = [run.texts for run in self.runs.values() if isinstance(run, Run)]
        return {query: text for texts in (*read, self.qrels.texts) for query, text in texts.items()}


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """Systems compared on the same queries; made by :func:`ranklens.compare`."""

    aligned: Aligned
    settings: Settings
    results: Sequence[SystemResult]
    pairs: Pairs
    slices: tuple[SliceResult, ...] = ()
    macro: tuple[SystemResult, ...] = ()
    macro_pairs: tuple[MacroPair, ...] = ()  # differences of macro-averages, tested
    slice_of: Mapping[str, str] | None = None
    cluster_of: Mapping[str, str] | None = None
    told: tuple[str, ...] = ()  # cautions that were known before anything was compared
    untold: Callable[[], Iterable[str]] = tuple  # makes the others, on first access
    scores: Mapping[str, Scores] = field(default_factory=dict)
    evidence: Evidence | None = None
    inputs: Inputs = NO_INPUTS  # files, to be hashed
    latencies: Mapping[str, Sequence[float]] | None = None
    status: Mapping[str, Mapping[str, int]] | None = None
    # Sums of tokens and cost, by system, where logs or retrievers tell them.
    spent: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    teams: Mapping[str, str] | None = None  # by system
    asked: Mapping[str, str] = field(
        default_factory=dict
    )  # the texts of queries, where a benchmark knows them
    # Of calls that failed, by system and query.
    errors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts of queries, as far as judgments, rankings or scores say them."""
        texts: dict[str, str] = {}
        for scores in self.scores.values():
            texts |= scores.texts
        return {**texts, **(self.evidence.texts if self.evidence is not None else {}), **self.asked}

    @cached_property
    def cautions(self) -> tuple[str, ...]:
        """What to keep in mind, in sentences."""
        return (*self.told, *self.untold())

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
        return self.settings.test if self.aligned.labelled is None else POWERED

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

    @property
    def primary(self) -> str | None:
        """The measure that a recommendation rests on, by default the first; None if all measures are one family and none was named."""
        return self.settings.primary

    @cached_property
    def is_divided(self) -> bool:
        """Whether measures speak for different systems, or a slice for another than all queries together."""
        from ranklens.comparison.conclusion import disagree

        return disagree(self)

    @cached_property
    def conclusion(self) -> str:
        """What follows from all measures and slices together, in words; empty if it is what each measure says already."""
        from ranklens.comparison.conclusion import conclusion

        return conclusion(self)

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
        """Systems without a significant difference share a group, best first; a system can be in several groups.

        Empty with a baseline: the other systems were not tested against each other.
        """
        return [[self.systems[i] for i in group] for group in self.contrasts(measure).groups]

    def told_apart(self, measure: str | Measure, system: str) -> set[str]:
        """The systems that differ significantly from this one."""
        different = self.contrasts(measure).different[self.systems.index(self._system(system))]
        return {other for other, differs in zip(self.systems, different, strict=True) if differs}

    def facts(self, pair: PairResult) -> str:
        """The size of a difference, how likely it is by chance, and which differences often go undetected."""
        return wording.facts(pair)

    def queries_needed(self, pair: PairResult) -> int | None:
        """How many queries like these would show the difference of a pair with a power of 80%, if it were as large as observed; None if no number would.

        At least as many as the test needs to find anything. For tests of ranks and wins, which are not about the mean, None.
        """
        deviation, terms = pair.deviation, pair.terms
        effect = abs(pair.difference) / deviation if deviation else 0.0
        if pair.n < 2 or not effect > _NO_EFFECT or terms.procedure.compares:
            return None
        alpha = self.contrasts(pair.measure).alpha
        return max(queries_needed(pair.difference, deviation, alpha=alpha), fewest_queries(terms.done, alpha))

    def verdict(self, measure: str | Measure | None = None) -> str:
        """What to conclude, in words; for all measures, one per line, and at the end how they go together if they disagree."""
        if measure is not None:
            return wording.of_measure(self, self._measure(measure)).text
        lines = [f"{self.shown(name)}: {wording.of_measure(self, name).text}" for name in self.measures]
        return "\n".join([*lines, f"Conclusion: {self.conclusion}"] if self.conclusion else lines)

    def queries(self, measure: str | Measure, a: str | None = None, b: str | None = None) -> pl.DataFrame:
        """The queries, sorted by how much better b is than a: largest losses first, largest gains last.

        Next to the ids are the questions, if a golden set or log has their texts.
        """
        from ranklens.comparison.inspection import by_difference

        first, second = self._two(a, b)
        return by_difference(self, self._measure(measure), first, second)

    def influence(
        self, measure: str | Measure | None = None, a: str | None = None, b: str | None = None
    ) -> pl.DataFrame:
        """The queries, the most influential first: query, difference, difference_without, verdict_changes.

        Without a measure, by the primary one; without systems, of the baseline (or the first) and the best of the others.
        ``difference_without`` is the mean difference of b and a without the query; ``verdict_changes`` says that without it the difference
        is no longer significant, or only then, or has the other sign. The other pairs keep their p-values.
        """
        from ranklens.comparison.influence import influence_frame

        self._refuse_labels("influence")
        first, second = self._two(a, b)
        chosen = measure if measure is not None else self.primary or self.measures[0]
        return influence_frame(self, self._measure(chosen), first, second)

    def bounds(self, measure: str | Measure) -> pl.DataFrame:
        """What unjudged documents leave open, one row per system: system, mean, low, high, open_to.

        ``low`` and ``high`` are those of :meth:`ranklens.Scores.bounds`; ``open_to`` names the systems whose range overlaps although the
        test separates them.
        """
        from ranklens.comparison.openness import ranges_frame

        return ranges_frame(self, self._measure(measure))

    def risk(
        self, measure: str | Measure, *, baseline: str | None = None, alpha: float = 1.0
    ) -> pl.DataFrame:
        """How much is at risk against a baseline, one row per system: system, urisk, trisk, georisk.

        Losses against the baseline (by default that of the comparison, else the first system) count 1 + ``alpha`` times.
        :func:`ranklens.stats.urisk`, :func:`ranklens.stats.trisk` and :func:`ranklens.stats.georisk` explain the numbers; GeoRisk needs no baseline.

        >>> import ranklens as rl
        >>> runs = {"old": {"q1": ["a"], "q2": ["x", "b"]}, "new": {"q1": ["x", "a"], "q2": ["b"]}}
        >>> rl.compare({"q1": {"a"}, "q2": {"b"}}, runs, "RR", baseline="old").risk("RR")["urisk"].to_list()
        [None, -0.25]
        """
        from ranklens.comparison.risk import risk_frame

        against = baseline or self.baseline or self.systems[0]
        return risk_frame(self, self._measure(measure), self._system(against), alpha)

    @cached_property
    def cheap_bounds(self) -> dict[str, dict[str, tuple[float, float]]]:
        """By measure and system, the lowest and highest mean that complete judgments could give, where that takes no time."""
        unjudged = next((part.terms.unjudged for part in self.pairs.parts), None)
        return {} if unjudged is None else unjudged.ranges

    @cached_property
    def open_pairs(self) -> dict[str, list[tuple[str, str]]]:
        """By measure, the pairs that the test separates while their bounds overlap, the better system first."""
        from ranklens.comparison.openness import open_pairs

        return {name: open_pairs(self, name, ends) for name, ends in self.cheap_bounds.items()}

    def sensitivity(self, *, progress: Callable[[Iterable[Any]], Iterable[Any]] = iter) -> Sensitivity:
        """The comparison under other settings, one change at a time, and whether the conclusion holds.

        Tie rules with the best and the worst order, depths, relevance levels, judged documents only, parameters of the measures,
        tests, corrections, and each query left out. ``progress`` wraps the loop over settings, as ``tqdm.tqdm`` does.
        """
        from ranklens.comparison.sensitivity import sensitivity

        self._refuse_labels("sensitivity")
        return sensitivity(self, progress)

    def probabilities(self, rope: float = 0.01, *, method: str = "t") -> pl.DataFrame:
        """How likely b is better than a by more than ``rope``, practically equal, and worse: one row per measure and pair.

        The Bayesian view, as in :func:`ranklens.stats.probabilities`: by ``t`` about means, by ``signed-rank`` about most queries.
        """
        from ranklens.comparison.export import probabilities_frame

        self._refuse_labels("probabilities")
        return probabilities_frame(self, rope, method)

    def documents(
        self, query: str, a: str | None = None, b: str | None = None, *, depth: int = 10
    ) -> pl.DataFrame:
        """Two rankings of a query side by side, with grades, what changed, and the relevant documents that both missed.

        The first column is the question, if a golden set or log has its text.
        """
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
        ``wins`` counts the queries where b has the better value. With a baseline, that is a. ``columns`` chooses some, and only
        these are computed: the interval of an effect size takes longer than all the rest. Of more than 5,000 pairs there are
        verdicts only if ``columns`` asks for them.
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

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """A comparison that :meth:`to_json` wrote: the same values and results, but no rankings.

        >>> import ranklens as rl
        >>> found = rl.compare({"q1": {"a"}, "q2": {"b"}}, {"one": {"q1": ["a"]}, "two": {"q1": ["x", "a"], "q2": ["b"]}}, "RR")
        >>> Comparison.from_json(found.to_json()).pair("RR", "one", "two").difference
        0.25
        """
        from ranklens.comparison.reading import from_json

        return from_json(text)

    def table(self) -> Table:
        """One row per measure and system: mean, interval, and letters that systems without a significant difference share."""
        from ranklens.comparison.tables import leaders

        return leaders(self)

    def printout(self) -> Printout:
        """All that ``print`` shows: leaders, pairs, slices, verdicts and cautions."""
        from ranklens.comparison.tables import printout

        return printout(self)

    def __repr__(self) -> str:
        systems = counted(len(self.systems), "system")
        return f"Comparison({systems}, {', '.join(self.measures)}; {counted(len(self.query_ids), 'query')})"

    def effect_sizes(self) -> Table:
        """Cohen's dz, Hedges' g and the probability of improvement of each pair, with intervals, to be printed.

        >>> import ranklens as rl
        >>> a, b = ({f"q{i}": {"RR": value} for i, value in enumerate(row)} for row in ((0.2, 0.4, 0.1, 0.3), (0.3, 0.6, 0.4, 0.3)))
        >>> print(rl.compare_scores({"a": a, "b": b}).effect_sizes())
        measure  pair       dz      g   95% interval  P(better)  95% interval
        -------  ------  -----  -----  -------------  ---------  ------------
        RR       b vs a  +1.16  +0.84  [-0.15, 1.76]       0.88  [0.40, 0.99]
        <BLANKLINE>
        dz, g: the mean difference in standard deviations of the differences (Cohen), and corrected for few queries (Hedges).
        P(better): the share of queries where the first of the pair is better; ties count half.
        """
        from ranklens.comparison.tables import effects

        return effects(self)

    def to_markdown(self, *, effect_sizes: bool = False) -> str:
        """All that ``print`` shows, as Markdown; :meth:`effect_sizes` follow if they are asked for."""
        shown = self.printout()
        return (shown.with_part(self.effect_sizes()) if effect_sizes else shown).to_markdown()

    def to_latex(self, *, effect_sizes: bool = False, **table: Any) -> str:
        """A table for a paper (booktabs): systems × measures, the best in bold, the second best underlined, marks for significance.

        ``order`` is ``mean`` (of the first measure) or ``given``. ``marks`` are ``letters`` (of the systems that one beats),
        ``dagger`` or ``triangles`` (better and worse than ``against``, by default the baseline), or ``none``. ``delta=True`` adds
        the difference in percent, ``digits`` are those behind the point, ``align`` is ``decimal`` or ``right``. ``caption`` and
        ``label`` are yours; ``wide=True`` spans two columns. ``notes`` says how much the caption tells: ``short`` (details follow
        as comments), ``full`` or ``none``. A table that is too wide is reported with what to do about it; one with more rows than a
        page holds is a ``longtable``. ``effect_sizes=True`` adds :meth:`effect_sizes` as a second table.
        """
        from ranklens.comparison.paper import PaperTable, latex

        text = latex(self, PaperTable(**table))
        return f"{text}\n\n{self.effect_sizes().to_latex()}" if effect_sizes else text

    def methods(self, cite: Citations = "names") -> Methods:
        """The methods paragraph of a paper: measures, tests, corrections, policies and the version, with references."""
        from ranklens.comparison.cautions import unlike_policies
        from ranklens.comparison.tables import methods_of_tests
        from ranklens.metrics import parse
        from ranklens.metrics.methods_paragraph import written
        from ranklens.scores import highest_grade
        from ranklens.scores.notes import in_prose
        from ranklens.stats import margins
        from ranklens.stats.corrections import CORRECTIONS_BY_NAME

        measures = [parse(name) for name in self.measures if self.quantity(name).is_known]
        accounts = [scores.account(measures) for scores in self.scores.values()]
        sentences = [
            *(in_prose(accounts, measures, len(self.query_ids)) if accounts else []),
            *unlike_policies(self.scores),
            *methods_of_tests(self),
        ]
        parts = self.pairs.parts if len(self.pairs) else ()
        is_corrected = parts and parts[0].family.pairs > 1 and not parts[0].is_corrected_by_itself
        sources = [
            *(part.terms.procedure.source for part in parts),
            CORRECTIONS_BY_NAME[self.correction].source if is_corrected else "",
            margins.SOURCE if parts and self.settings.margins else "",
        ]
        others = [self.shown(name) for name in self.measures if not self.quantity(name).is_known]
        references = [*filter(None, dict.fromkeys(sources))]
        return written(measures, highest_grade(accounts), sentences, cite, references, others)

    def to_html(
        self, path: str | Path, *, queries: object = None, corpus: object = None, title: str | None = None
    ) -> Path:
        """A report in one file that works offline."""
        from ranklens.upward import write_report

        return write_report(self, path, queries=queries, corpus=corpus, title=title)

    @property
    def plot(self) -> ComparisonPlots:
        """Charts for notebooks and papers; they need the extra ``plots``."""
        from ranklens.upward import ComparisonPlots

        return ComparisonPlots(self)

    def _refuse_labels(self, what: str) -> None:
        """What looks at single values of queries knows nothing of a model's labels."""
        if self.aligned.labelled is not None:
            raise InputError(
                f"{what} looks at the values that people's judgments gave alone; compare without machine to see it."
            )

    def _two(self, a: str | None, b: str | None) -> tuple[str, str]:
        """The systems asked for; else the baseline (or the first) and the best of the others."""
        if len(self.systems) < 2:
            raise InputError(
                f"There is only one system, {self.systems[0]}, so there is nothing to compare it with."
            )
        first = self._system(a) if a is not None else self.baseline or self.systems[0]
        others = [system for system in self.ranked(self.primary or self.measures[0]) if system != first]
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
            as_asked = (one.name for one in self.aligned.quantities if one.asked == name)
            name = next(as_asked, None) or Quantity.named(measure).name
        if name not in self.aligned.values:
            raise MeasureError(f"{name} was not compared: {nearest(name, self.measures)}")
        return name

    def quantity(self, measure: str | Measure) -> Quantity:
        """What is known about a measure: how it is averaged, its range, and which values are better."""
        name = self._measure(measure)
        return next(quantity for quantity in self.aligned.quantities if quantity.name == name)

    def shown(self, measure: str | Measure) -> str:
        """The measure in the spelling that was asked for, which tables and frames show."""
        quantity = self.quantity(measure)
        return quantity.asked or quantity.name

    def _system(self, system: str) -> str:
        if str(system) not in self.systems:
            raise InputError(f"There is no system {system!r}: {nearest(str(system), self.systems)}")
        return str(system)

    def contrasts(self, measure: str | Measure) -> Contrasts:
        """All tested pairs of a measure, with their p-values as arrays."""
        name = self._measure(measure)
        part_of_measure = next((part for part in self.pairs.parts if part.quantity.name == name), None)
        if part_of_measure is None:
            raise MeasureError(f"{name} is a count and is not tested.")
        return part_of_measure
