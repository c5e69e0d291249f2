"""One value per query and measure, the means, and an interval for every mean."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ranklens import __version__
from ranklens.data.files.hashes import NO_INPUTS, Inputs
from ranklens.errors import InputError, MeasureError, MissingExtraError, nearest
from ranklens.judging.judged import Judged
from ranklens.metrics import Aggregate, Measure, parse
from ranklens.policy import Policy
from ranklens.scores.account import Account
from ranklens.scores.notes import details, in_prose, kinds_of_intervals
from ranklens.scores.values import Column, Values
from ranklens.stats.intervals import Bounds, Interval, interval, median_interval
from ranklens.words import counted, finite, several

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    import polars as pl
    from typing_extensions import Self

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.judging.inputs import Sources
    from ranklens.judging.judged import Applied
    from ranklens.metrics.methods_paragraph import Citations, Methods
    from ranklens.metrics.residual.ranges import Range
    from ranklens.scores.abstentions import Abstentions
    from ranklens.stats.inputs import Rng
    from ranklens.stats.ppi import PpiMean
    from ranklens.tables.table import Table
    from ranklens.upward import Failing

SCHEMA = "ranklens.scores"  # src/ranklens/scores.schema.json
FORMAT_VERSION = 1  # of to_json; 1: first version
_NUMBERS = ("mean", "low", "high")
GEOMETRIC_FLOOR = 0.00001  # trec_eval's MIN_GEO_MEAN
LOG_BOUNDS = Bounds(float(np.log(GEOMETRIC_FLOOR)), 0.0)  # of what a geometric mean averages


class NamesOfMeasure(TypedDict):
    """A measure by its canonical name, and as it was asked for."""

    measure: str
    asked: str


class SummaryRow(NamesOfMeasure):
    """A measure over all queries; ``low`` and ``high`` are None for sums, and where there is no end."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Scores:
    """The values of some measures over some queries; made by :func:`ranklens.evaluate`.

    >>> import ranklens as rl
    >>> scores = rl.evaluate({"q1": {"a"}, "q2": {"b"}}, {"q1": ["a", "b"], "q2": ["a", "b"]}, ["RR", "P@1"])
    >>> print(scores)
    measure    mean      95% interval
    -------  ------  ----------------
    RR       0.7500  [0.0130, 0.9985]
    P@1      0.5000  [0.0945, 0.9055]
    <BLANKLINE>
    2 queries averaged; ties by document id, descending; intervals by score (RR), Wilson (P@1).
    >>> scores.mean["RR"], scores["RR"]
    (0.75, array([1. , 0.5]))
    """

    measures: Sequence[Measure]
    basis: Judged | Account  # the rankings, or what is known of those that are elsewhere
    values: Values
    sources: Sources | None = field(default=None, repr=False, compare=False)
    inputs: Inputs = field(default=NO_INPUTS, repr=False, compare=False)  # files, to be hashed
    machine: Scores | None = None  # by the labels of a model, for these queries and others

    @property
    def queries(self) -> Sequence[str]:
        return self.values.queries

    @property
    def is_ranked(self) -> bool:
        """Whether the judged rankings are here, not only the values."""
        return isinstance(self.basis, Judged)

    @property
    def judged(self) -> Judged:
        """The judged rankings, which can be evaluated by more measures; an error where only values are here."""
        return self._ranked("")

    def measured(self, measures: str | Measure | Sequence[str | Measure]) -> Scores:
        """The same rankings by other measures."""
        return self._ranked(f", so {measures} cannot be added").evaluate(measures)

    def with_measures(self, measures: Sequence[str | Measure]) -> Scores:
        """The same with these measures, too; those that are missing are computed from the judged rankings."""
        absent = [measure for measure in measures if str(measure) not in self.values]
        if not absent:
            return self
        more = self.measured(absent)
        values = self.values.with_columns(more.values.over(self.queries))
        machine = self.machine and self.machine.with_measures(measures)
        return replace(self, measures=[*self.measures, *more.measures], values=values, machine=machine)

    def _ranked(self, consequence: str) -> Judged:
        if isinstance(self.basis, Account):
            raise InputError(
                f"These scores {self.basis.made} values but no rankings{consequence}. Evaluate the run again."
            )
        return self.basis

    def account(self, measures: Sequence[Measure] | None = None, *, depth: int | None = None) -> Account:
        """What was decided and counted, as far as it concerns these measures, by default all."""
        if isinstance(self.basis, Account):
            return self.basis
        return Account.of(self.basis, self.measures if measures is None else measures, depth)

    @property
    def applied(self) -> Applied:
        """What happened to the data on the way, in numbers."""
        return self.basis.applied

    @property
    def retrieved(self) -> IntArray:
        """How many documents each query got back; zeros where the rankings are elsewhere."""
        if isinstance(self.basis, Judged):
            return self.basis.retrieved
        return np.zeros(len(self.queries), np.int64)

    def __getitem__(self, measure: str | Measure) -> FloatArray:
        """The values of one measure, in the order of :attr:`queries`; any spelling will do, the one asked for first."""
        return self.values[str(self.evaluated(measure))]

    def evaluated(self, measure: str | Measure) -> Measure:
        """The evaluated measure behind a name: in the spelling that was asked for, or any other."""
        parsed = _evaluated(measure, self.measures, self.policy.rel)
        if str(parsed) not in self.values:
            raise MeasureError(f"{parsed} was not evaluated: {nearest(str(parsed), self.values)}")
        return parsed

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts of queries, as far as they are known: as given, or from the golden set or log."""
        own = self.basis.texts
        return own if self.sources is None else {**own, **(self.sources.texts or {})}

    def with_texts(self, texts: Mapping[str, str]) -> Scores:
        """The same with the texts of queries, which tables by query show."""
        if self.sources is None:
            return self
        return replace(self, sources=replace(self.sources, texts={**self.texts, **texts}))

    def with_inputs(self, inputs: Inputs) -> Self:
        """The same, made from these files."""
        return replace(self, inputs=inputs)

    @property
    def abstention(self) -> float | None:
        """The share of unanswerable questions that got nothing back, which is right; None if there is no such question."""
        applied = self.applied
        return applied.abstained / applied.unanswerable if applied.unanswerable else None

    def abstentions(self, measure: str | Measure | None = None, *, below: float | None = None) -> Abstentions:
        """Questions that got nothing back, rightly or wrongly, with intervals and the curve of risk against coverage.

        An answer counts as nothing if all its scores are ``below`` this, by default the ``abstain_below`` of the evaluation. ``measure``
        is any between 0 and 1, by default the first; the risk of an answer is 1 minus its value.

        >>> import ranklens as rl
        >>> golden = [{"id": "q1", "expected": ["a"]}, {"id": "q2", "expected": []}, {"id": "q3", "expected": []}]
        >>> log = [{"id": query, "retrieved": [{"id": "a", "score": s}]} for query, s in (("q1", 0.9), ("q2", 0.7), ("q3", 0.1))]
        >>> found = rl.evaluate(golden, log, "hit@5").abstentions(below=0.5)
        >>> found.unanswerable.nothing, found.unanswerable.share, found.answerable.share
        (('q3',), 0.5, 0.0)
        >>> found.curve().select("threshold", "coverage", "risk").rows()
        [(None, 1.0, 0.6666666666666666), (0.7, 0.6666666666666666, 0.5), (0.9, 0.3333333333333333, 0.0)]
        """
        from ranklens.scores.abstentions import abstentions

        asked = self.measures[0] if measure is None else measure
        return abstentions(
            self.with_measures([asked]), parse(asked) if isinstance(asked, str) else asked, below
        )

    @property
    def knows_policy(self) -> bool:
        """Whether the policy is known: a table of values does not say it."""
        return isinstance(self.basis, Judged) or self.basis.knows_policy

    @property
    def policy(self) -> Policy:
        """What was decided where the data leave it open."""
        return self.basis.policy

    @cached_property
    def mean(self) -> dict[str, float]:
        """Each measure over all queries: the mean; the sum for counts, the geometric mean for ``gm_`` measures."""
        means = Means({}, self.measures, self.policy.rel)
        for measure in self.measures:
            name, kind = str(measure), measure.definition.aggregate
            if self.machine is not None:
                means[name] = self.powered(measure).estimate
            elif kind != "none":
                means[name] = total(kind, self.values[name])
        return means

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """A Polars frame with the column ``query`` and one column per measure, in the spelling that was asked for."""
        import polars as pl

        return pl.DataFrame({"query": pl.Series(self.queries, dtype=pl.String), **self._columns()})

    def interval(
        self, measure: str | Measure, *, level: float = 0.95, method: str = "auto", rng: Rng = None
    ) -> Interval:
        """The interval of a mean (of the logarithms, for a geometric mean); ``method`` as in :func:`ranklens.stats.interval`."""
        parsed = self.evaluated(measure)
        if self.machine is not None and method in ("auto", "ppi++"):
            return self.powered(parsed, level=level).interval
        definition = parsed.definition
        bounds = Bounds(definition.low, definition.high)
        kind, values = definition.aggregate, self[parsed]
        around = interval_of(kind, values, level=level, bounds=bounds, method=method, rng=rng)
        if around is None:
            raise MeasureError(f"{parsed} is not a mean, so it has no interval.")
        return around

    def powered(self, measure: str | Measure | None = None, *, level: float = 0.95) -> PpiMean:
        """The mean that judgments of people and labels of a model give together, where ``machine=`` brought such labels.

        It says how far the model was listened to (``weight``) and how many human-judged queries that is worth (``effective``).
        ``measure`` is any, by default the first.
        """
        if self.machine is None:
            raise InputError(
                "These scores rest on one kind of judgments; pass the labels of a model as machine=."
            )
        from ranklens.scores.powered import powered_mean

        return powered_mean(self, self.evaluated(self.measures[0] if measure is None else measure), level)

    def bounds(self, measure: str | Measure | None = None) -> Range:
        """The lowest and highest mean that complete judgments could give: unjudged documents turn every value into a range.

        Every unjudged document that was retrieved may have any grade in the judgments, even if that makes the ideal better.
        The range excludes documents that were not retrieved, which may be relevant and unjudged, errors in the judgments, and
        chance in the choice of queries: it is no confidence interval. ``per_query`` has the range of each query. ``measure`` is any, by default
        the first; one whose extremes cannot be found is refused by name.

        >>> import ranklens as rl
        >>> found = rl.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["x", "a"], "q2": ["b"]}, "RR").bounds()
        >>> found.low, found.high, found.per_query.rows()
        (0.75, 1.0, [('q1', 0.5, 1.0), ('q2', 1.0, 1.0)])
        """
        import polars as pl

        from ranklens.metrics.residual.ranges import Range, ends

        asked = self.measures[0] if measure is None else measure
        parsed = parse(asked) if isinstance(asked, str) else asked
        if isinstance(self.basis, Account):
            raise InputError(
                f"These scores contain values but no rankings, which the range of {parsed} needs. Evaluate judgments and run on one machine."
            )
        low, high = ends(parsed, self.basis)
        kind = parsed.definition.aggregate
        frame = pl.DataFrame({"query": pl.Series(self.queries, dtype=pl.String), "low": low, "high": high})
        return Range(str(parsed), total(kind, low), total(kind, high), frame, int((low < high).sum()))

    def failing(
        self,
        measure: str | Measure | None = None,
        n: int = 20,
        *,
        queries: object = None,
        corpus: object = None,
        first_stage: object = None,
        parent: object = None,
    ) -> Failing:
        """The ``n`` queries with the lowest values: what was expected, what was retrieved instead, and why; and all failing ones by cause.

        ``measure`` is any, by default the first. Queries with the best value do not fail. ``queries`` brings the texts of
        questions, as ``{id: text}`` or a file, where judgments and run have none. Some causes need more: ``corpus`` has the texts of
        documents (a dict, table or file), ``first_stage`` is the run before reranking, and ``parent`` says what an id is a chunk of, if
        neither id nor corpus does: what comes before the chunk's number (``"-"``), a dict or a function.

        >>> import ranklens as rl
        >>> scores = rl.evaluate({"q1": {"a"}, "q2": {"b"}}, {"q1": ["a", "b"], "q2": ["a", "x", "b"]}, "hit@2")
        >>> print(scores.failing(queries={"q2": "Where is b?"}))
        Failing queries: the lowest hit@2
        <BLANKLINE>
        query  question     expected  retrieved instead           why                        hit@2
        -----  -----------  --------  --------------------------  ------------------------  ------
        q2     Where is b?  b         a (unjudged), x (unjudged)  first relevant at rank 3  0.0000
        <BLANKLINE>
        1 of 2 queries is below 1; all are shown.
        <BLANKLINE>
        Why they fail
        <BLANKLINE>
        cause             look at                          such as  queries  share
        ----------------  -------------------------------  -------  -------  -----
        below the cutoff  the ranking, or a larger cutoff  q2             1   100%
        <BLANKLINE>
        Not checked: not in the corpus (needs a corpus), near-duplicate of the expected (needs texts), lost by the reranker (needs the first stage).
        """
        from ranklens.upward import Looked, failing

        return failing(self, measure, n, queries, Looked(corpus, first_stage, parent))

    def to_frame(self, *, level: float = 0.95) -> pl.DataFrame:
        """A Polars frame with one row per measure: measure (as it was asked for), mean, low, high."""
        import polars as pl

        rows = [{**row, "measure": row["asked"]} for row in self.to_summary(level=level)]
        return pl.DataFrame(rows, schema={"measure": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)})

    def to_pandas(self) -> pd.DataFrame:
        """The per-query values as a pandas frame, indexed by query."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError(
                "to_pandas needs pandas, which is not installed: pip install pandas"
            ) from None
        return pd.DataFrame(self._columns(), index=pd.Index(self.queries, name="query"))

    def to_spark(self) -> Any:
        """The per-query values as a Spark DataFrame that stays on its cluster, if the run was one."""
        raise InputError(
            "These scores were made on this machine, so there is no cluster that contains them; spark.createDataFrame(scores.to_pandas()) "
            "brings them to one."
        )

    def to_json(self, *, level: float = 0.95) -> str:
        """Everything, with a format version: means, intervals, values per query, the policy and what it did.

        ``ranklens/scores.schema.json`` describes it, and :meth:`from_json` reads it.
        """
        content = {
            "schema": SCHEMA,
            "format_version": FORMAT_VERSION,
            "version": __version__,
            "n": len(self.queries),
            "measures": self.to_summary(level=level),
            "queries": list(self.queries),
            "values": {name: values.tolist() for name, values in self.values.items()},
            "policy": asdict(self.policy) if self.knows_policy else None,
            "applied": asdict(self.applied),
        }
        if hashes := self.inputs.hashes():
            content["inputs"] = hashes
        if self.machine is not None:
            values = {name: column.tolist() for name, column in self.machine.values.items()}
            content["machine"] = {"queries": list(self.machine.queries), "values": values}
        if self.texts:
            content["texts"] = {query: self.texts[query] for query in self.queries if query in self.texts}
        return json.dumps(content, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Scores:
        """Scores that :meth:`to_json` wrote: all values, the policy and what it did, but no rankings.

        >>> import ranklens as rl
        >>> scores = rl.evaluate({"q1": {"a"}, "q2": {"b"}}, {"q1": ["a"], "q2": ["a", "b"]}, "RR")
        >>> Scores.from_json(scores.to_json()).mean
        {'RR': 0.75}
        """
        from ranklens.data.files.json_reading import loads
        from ranklens.scores.reading import recalled

        try:
            content = loads(text)
        except ValueError as error:
            raise InputError(f"These scores are not JSON: {error}.") from None

        by_name = isinstance(content, dict) and [one for one in content.values() if isinstance(one, dict)]
        if by_name and all("values" in one for one in by_name):
            raise InputError(
                f"These are scores by name ({several([*content])}), as the command line writes them; ranklens.read_scores reads the file."
            )
        return recalled(content)

    @classmethod
    def concat(cls, parts: Iterable[Scores]) -> Scores:
        """Scores of different queries as one, e.g. of a run that was evaluated in shards.

        All need the same measures and policies, and no query may appear twice.

        >>> import ranklens as rl
        >>> parts = [rl.evaluate({q: {"a"}}, {q: ranking}, "RR") for q, ranking in (("q1", ["a"]), ("q2", ["x", "a"]))]
        >>> Scores.concat(parts).mean
        {'RR': 0.75}
        """
        from ranklens.judging.merging import added, merge

        all_scores = list(parts)
        if not all_scores:
            raise InputError("There are no scores to merge; pass at least one.")
        if any(one.machine is not None for one in all_scores):
            raise InputError(
                "Scores that use the labels of a model cannot be merged; evaluate all queries together."
            )
        names = list(all_scores[0].values)
        odd = next((one for one in all_scores if {*one.values} != {*names}), None)
        if odd is not None:
            raise MeasureError(
                f"Scores with different measures cannot be merged: {', '.join(names)}, and {', '.join(odd.values)}."
            )
        policies = [one.policy for one in all_scores if one.knows_policy] or [all_scores[0].policy]
        if any(policy != policies[0] for policy in policies):
            raise InputError(
                "Scores with different policies cannot be merged; evaluate all parts with the same ones."
            )
        values = Values.concat([one.values for one in all_scores])
        again = next((query for query, number in Counter(values.queries).items() if number > 1), None)
        if again is not None:
            raise InputError(f"Query {again!r} is in two of the parts; each query counts once.", query=again)
        ranked = [one.basis for one in all_scores if isinstance(one.basis, Judged)]
        # A part of which less is known makes the whole such a one.
        basis: Judged | Account = Account(
            added([one.applied for one in all_scores]),
            policies[0],
            knows_policy=all(one.knows_policy for one in all_scores),
            texts={query: text for one in all_scores for query, text in one.basis.texts.items()},
        )
        if len(ranked) == len(all_scores):
            basis = merge(ranked)
        inputs = Inputs.merged(one.inputs for one in all_scores)
        return cls(all_scores[0].measures, basis, values, inputs=inputs)

    def to_mteb(self, task: str, **about: Any) -> dict[str, Any]:
        """The result of a task as MTEB writes it; ``about`` may give split, subset, languages, revision and main.

        >>> import ranklens as rl
        >>> rl.evaluate({"q": {"a"}}, {"q": ["a"]}, ["nDCG@10", "R@5"]).to_mteb("SciFact")["scores"]["test"][0]["main_score"]
        1.0
        """
        from ranklens.upward import to_mteb

        return to_mteb(self, task, **about)

    def to_hub(self, model: str, dataset: str, **about: Any) -> str:
        """YAML for a model card's front matter; ``about`` may give the dataset's name, split and revision."""
        from ranklens.upward import to_hub

        return to_hub(self, model, dataset, **about)

    def log_to(self, tracker: Any, *, step: int | None = None, name: str = "", report: bool = True) -> None:
        """Log to an experiment tracker: mean, low and high of every measure, the values of each query, and the report.

        ``tracker`` is ``"mlflow"``, ``"wandb"`` or ``"tensorboard"`` (``"tensorboard:FOLDER"``), a W&B run or a SummaryWriter. The
        active run is used, if there is one. ``name`` tells several systems apart. Names are spelled so that every tracker accepts
        them: ``nDCG_at_10``, ``nDCG_at_10_low``, ``nDCG_at_10_high``.
        """
        from ranklens.upward import log_to

        log_to(self, tracker, step=step, name=name, report=report)

    def table(self) -> Table:
        """Means and intervals as text, with a note on what they were taken over."""
        from ranklens.tables.table import Table

        rows = []
        for measure in self.measures:
            kind, mean = measure.definition.aggregate, self.mean.get(str(measure), 0.0)
            if kind == "sum":
                rows.append([measure.shown, f"{mean:,.0f}", ""])
            elif kind != "none":
                rows.append([measure.shown, f"{mean:.4f}", str(self.interval(measure))])
        return Table(["measure", "mean", "95% interval"], rows, note=self.note)

    @property
    def note(self) -> str:
        """One line that states what was averaged over and which policies made a difference."""
        return f"{'; '.join(self.details())}."

    def details(self) -> list[str]:
        """The parts of :attr:`note`, one by one."""
        means = [m for m in self.measures if m.definition.aggregate in ("mean", "geometric")]
        intervals = {measure.shown: self.interval(measure) for measure in means}
        said = [*details(self.account(), self.measures), *kinds_of_intervals(intervals)]
        cut = any(around.clipped for around in intervals.values())
        if self.machine is not None:
            from ranklens.scores.powered import details_of

            said += details_of(self)
        return [*said, "intervals are clipped to the measure's range"] if cut else said

    def methods(self, cite: Citations = "names") -> Methods:
        r"""The methods paragraph of a paper: measures with parameters and references, what was averaged over, the version.

        ``cite="latex"`` writes LaTeX with ``\cite``; ``.bibtex`` of the result holds the references.

        >>> import ranklens as rl
        >>> print(rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "RBP").methods())
        We report RBP (p = 0.8; gain = binary; Moffat and Zobel 2008). Means are over 1 query. Documents with the same score ...
        """
        from ranklens.metrics.methods_paragraph import written

        account = self.account()
        return written(self.measures, account.max_grade, in_prose([account], self.measures), cite)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.mean.items())
        return f"Scores({means}; {counted(len(self.queries), 'query')})"

    def _columns(self) -> dict[str, Column]:
        """The values under the names that were asked for."""
        shown = {str(measure): measure.shown for measure in self.measures}
        return {shown.get(name, name): values for name, values in self.values.items()}

    def to_summary(self, *, level: float = 0.95) -> list[SummaryRow]:
        """One dict per measure: measure (canonical), asked, mean, low and high; these are None for sums."""
        rows: list[SummaryRow] = []
        for measure in self.measures:
            if measure.definition.aggregate == "none":
                continue
            is_sum, name = measure.definition.aggregate == "sum", str(measure)
            low, high = (None, None) if is_sum else map(finite, self.interval(measure, level=level))
            rows.append(
                {"measure": name, "asked": measure.shown, "mean": self.mean[name], "low": low, "high": high}
            )
        return rows


class Means(dict[str, float]):
    """Means by canonical name, found under any spelling; iteration, length and JSON know the canonical names alone."""

    def __init__(self, means: Mapping[str, float], measures: Sequence[Measure] = (), rel: float = 1) -> None:
        super().__init__(means)
        self._measures, self._rel = measures, rel

    def __missing__(self, name: str) -> float:
        canonical = str(_evaluated(name, self._measures, self._rel))
        if not super().__contains__(canonical):
            raise MeasureError(f"{canonical} was not evaluated: {nearest(canonical, self)}")
        return self[canonical]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except MeasureError:
            return default


def _evaluated(measure: str | Measure, measures: Sequence[Measure], rel: float) -> Measure:
    """The measure behind a name; one in ``measures`` if it is spelled as it was asked for, or means the same at level ``rel``."""
    if not isinstance(measure, str):
        return measure
    asked = next((one for one in measures if measure.strip() in (one.shown, str(one))), None)
    if asked is not None:
        return asked
    from ranklens.metrics import with_rel

    parsed = parse(measure)
    return next((one for one in measures if one in (parsed, with_rel(parsed, rel))), parsed)


def total(kind: Aggregate, values: FloatArray) -> float:
    """Values combined over queries as the measure requires: mean, median, geometric mean or sum; 0 without queries."""
    if not len(values):
        return 0.0
    if kind == "geometric":
        return float(np.exp(logs_with_floor(values).mean()))
    if kind == "median":
        return float(np.median(values))
    # One after the other, as trec_eval adds: numpy.sum rounds differently.
    added = float(np.add.accumulate(values)[-1])
    return added if kind == "sum" else added / len(values)


def interval_of(
    kind: Aggregate,
    values: FloatArray,
    *,
    level: float,
    bounds: Bounds,
    method: str = "auto",
    rng: Rng = None,
) -> Interval | None:
    """The interval that belongs to :func:`total`; None for a sum."""
    if kind == "median":
        return median_interval(values, level, bounds) if method == "auto" else None
    if kind not in ("mean", "geometric"):
        return None
    if kind == "mean":
        return interval(values, method=method, level=level, bounds=bounds, rng=rng)
    method = usual_of_logs(method)
    return of_logs(interval(logs_with_floor(values), method=method, level=level, bounds=LOG_BOUNDS, rng=rng))


def usual_of_logs(method: str) -> str:
    """The floor is a convention, not an end that values come near to, so intervals of logarithms are Student's."""
    return "t" if method == "auto" else method


def of_logs(around: Interval) -> Interval:
    """The interval of a geometric mean, from that of the logarithms."""
    low, high = (float(np.exp(end)) for end in around)
    return Interval(low, high, around.level, f"{around.method} of logs", around.clipped)


def logs_with_floor(values: FloatArray) -> FloatArray:
    """What a geometric mean averages; 0 counts as 0.00001, as in trec_eval."""
    return np.log(np.maximum(values, GEOMETRIC_FLOOR))
