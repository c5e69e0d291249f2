"""What an evaluation returns: one value per query and measure, the means, and an interval for every mean."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens import __version__
from ranklens.errors import InputError, MeasureError, MissingExtraError, nearest, warn
from ranklens.judging.judged import Applied, Copied, Counted, Judged, Recalled
from ranklens.policy import Policy
from ranklens.registry import Aggregate, Measure, parse, spellings, stated
from ranklens.stats.intervals import Bounds, Interval, interval, median_interval
from ranklens.words import counted, finite, percent, several

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt
    import pandas as pd
    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.explanation.failing import Failing
    from ranklens.formulas.methods_paragraph import Citations, Methods
    from ranklens.matching.rules import Matching
    from ranklens.residual.ranges import Range
    from ranklens.stats.inputs import Rng
    from ranklens.tables.table import Table

SCHEMA = "ranklens.scores"  # src/ranklens/scores.schema.json
FORMAT_VERSION = 1  # of to_json; 1: first version
FEW_EXPECTED = 2  # documents per query, as golden sets have
GEOMETRIC_FLOOR = 0.00001  # trec_eval's MIN_GEO_MEAN


@dataclass(frozen=True, eq=False)
class Sources:
    """What scores were made from, as it was given, to look at single queries; texts and errors where they are known."""

    qrels: Any
    run: Any
    columns: Mapping[str, str] | None = None
    match: Matching | None = None
    texts: Mapping[str, str] | None = None
    failed: Mapping[str, str] | None = None


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
    judged: Judged
    values: Mapping[str, npt.NDArray[Any]]
    sources: Sources | None = field(default=None, repr=False, compare=False)

    @property
    def queries(self) -> Sequence[str]:
        return self.judged.queries

    def __getitem__(self, measure: str | Measure) -> FloatArray:
        """The values of one measure, in the order of :attr:`queries`."""
        name = str(parse(measure)) if isinstance(measure, str) else str(measure)
        if name not in self.values:
            raise MeasureError(f"{name} was not evaluated: {nearest(name, self.values)}")
        return self.values[name]

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts of queries, as far as they are known."""
        if self.sources is None:
            return {}
        return self.sources.texts or getattr(self.sources.qrels, "texts", None) or {}

    def with_texts(self, texts: Mapping[str, str]) -> Scores:
        """The same with the texts of queries, which tables by query show."""
        if self.sources is None:
            return self
        return replace(self, sources=replace(self.sources, texts={**self.texts, **texts}))

    @property
    def abstention(self) -> float | None:
        """The share of unanswerable questions that got nothing back, which is right; None if there is no such question."""
        applied = self.judged.applied
        return applied.abstained / applied.unanswerable if applied.unanswerable else None

    @property
    def policy(self) -> Policy:
        """What was decided where the data leave it open."""
        return self.judged.policy

    @cached_property
    def mean(self) -> dict[str, float]:
        """Each measure over all queries: the mean; the sum for counts, the geometric mean for ``gm_`` measures."""
        found = Means()
        for measure in self.measures:
            name, kind = str(measure), measure.definition.aggregate
            if kind != "none":
                found[name] = total(kind, self.values[name])
        return found

    @cached_property
    def per_query(self) -> pl.DataFrame:
        """A Polars frame with the column ``query`` and one column per measure, in the spelling that was asked for."""
        import polars as pl

        return pl.DataFrame({"query": pl.Series(self.queries, dtype=pl.String), **self._columns()})

    def interval(
        self, measure: str | Measure, *, level: float = 0.95, method: str = "auto", rng: Rng = None
    ) -> Interval:
        """The interval of a mean (of the logarithms, for a geometric mean); ``method`` as in :func:`ranklens.stats.interval`."""
        parsed = parse(measure) if isinstance(measure, str) else measure
        definition = parsed.definition
        bounds = Bounds(definition.low, definition.high)
        around = interval_of(
            definition.aggregate, self[parsed], level=level, bounds=bounds, method=method, rng=rng
        )
        if around is None:
            raise MeasureError(f"{parsed} is not a mean, so it has no interval.")
        return around

    def bounds(self, measure: str | Measure | None = None) -> Range:
        """The lowest and highest mean that complete judgments could give: unjudged documents turn every value into a range.

        Every unjudged document that was retrieved may have any grade that somebody gave, also where that makes the ideal better;
        documents that were not retrieved stay as they are. ``per_query`` has the range of each query. ``measure`` is any, by default
        the first; one whose extremes cannot be found is refused by name.

        >>> import ranklens as rl
        >>> found = rl.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["x", "a"], "q2": ["b"]}, "RR").bounds()
        >>> found.low, found.high, found.per_query.rows()
        (0.75, 1.0, [('q1', 0.5, 1.0), ('q2', 1.0, 1.0)])
        """
        import polars as pl

        from ranklens.residual.ranges import Range, ends

        asked = self.measures[0] if measure is None else measure
        parsed = parse(asked) if isinstance(asked, str) else asked
        if isinstance(self.judged, Recalled):
            raise InputError(
                f"These scores hold values but no rankings, which the range of {parsed} needs. Evaluate judgments and run on one machine."
            )
        low, high = ends(parsed, self.judged)
        kind = parsed.definition.aggregate
        frame = pl.DataFrame({"query": pl.Series(self.queries, dtype=pl.String), "low": low, "high": high})
        return Range(str(parsed), total(kind, low), total(kind, high), frame, int((low < high).sum()))

    def failing(self, measure: str | Measure | None = None, n: int = 20, *, queries: Any = None) -> Failing:
        """The ``n`` queries with the lowest values: what was expected, what came instead, and why.

        ``measure`` is any, by default the first. Queries with the best value do not fail. ``queries`` brings the texts of
        questions, as ``{id: text}`` or a file, where judgments and run have none.

        >>> import ranklens as rl
        >>> scores = rl.evaluate({"q1": {"a"}, "q2": {"b"}}, {"q1": ["a", "b"], "q2": ["a", "x", "b"]}, "hit@2")
        >>> print(scores.failing(queries={"q2": "Where is b?"}))
        Failing queries: the lowest hit@2
        <BLANKLINE>
        query  question     expected  came instead                why                        hit@2
        -----  -----------  --------  --------------------------  ------------------------  ------
        q2     Where is b?  b         a (unjudged), x (unjudged)  first relevant at rank 3  0.0000
        <BLANKLINE>
        1 of 2 queries is below 1; all are shown.
        """
        from ranklens.explanation.failing import failing

        return failing(self, measure, n, queries)

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
            "These scores were made on this machine, so there is no cluster that holds them; spark.createDataFrame(scores.to_pandas()) "
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
            "policy": None if isinstance(self.judged, Copied) else asdict(self.judged.policy),
            "applied": asdict(self.judged.applied),
        }
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
        try:
            content = json.loads(text)
        except ValueError as error:
            raise InputError(f"These scores are not JSON: {error}.") from None
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
        from ranklens.judging.merging import merge

        given = list(parts)
        if not given:
            raise InputError("There are no scores to merge; pass at least one.")
        names = list(given[0].values)
        odd = next((one for one in given if {*one.values} != {*names}), None)
        if odd is not None:
            raise MeasureError(
                f"Scores with different measures cannot be merged: {', '.join(names)}, and {', '.join(odd.values)}."
            )
        values = {name: np.concatenate([one.values[name] for one in given]) for name in names}
        return cls(given[0].measures, merge([one.judged for one in given]), values)

    def to_mteb(self, task: str, **about: Any) -> dict[str, Any]:
        """The result of a task as MTEB writes it; ``about`` may give split, subset, languages, revision and main.

        >>> import ranklens as rl
        >>> rl.evaluate({"q": {"a"}}, {"q": ["a"]}, ["nDCG@10", "R@5"]).to_mteb("SciFact")["scores"]["test"][0]["main_score"]
        1.0
        """
        from ranklens.exchange.mteb import to_mteb

        return to_mteb(self, task, **about)

    def to_hub(self, model: str, dataset: str, **about: Any) -> str:
        """YAML for a model card's front matter; ``about`` may give the dataset's name, split and revision."""
        from ranklens.exchange.hub import to_hub

        return to_hub(self, model, dataset, **about)

    def log_to(self, tracker: Any, *, step: int | None = None, name: str = "", report: bool = True) -> None:
        """Log to an experiment tracker: mean, low and high of every measure, the values of each query, and the report.

        ``tracker`` is ``"mlflow"``, ``"wandb"`` or ``"tensorboard"`` (``"tensorboard:FOLDER"``), a W&B run or a SummaryWriter. The
        active run is used, if there is one. ``name`` tells several systems apart. Names are spelled so that every tracker accepts
        them: ``nDCG_at_10``, ``nDCG_at_10_low``, ``nDCG_at_10_high``.
        """
        from ranklens.trackers.destinations import log_to

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
        found = {measure.shown: self.interval(measure) for measure in means}
        said = [*details(self.judged, self.measures), *_methods(found)]
        cut = any(around.clipped for around in found.values())
        return [*said, "intervals are clipped to the measure's range"] if cut else said

    def methods(self, cite: Citations = "names") -> Methods:
        r"""The methods paragraph of a paper: measures with parameters and references, what was averaged over, the version.

        ``cite="latex"`` writes LaTeX with ``\cite``; ``.bibtex`` of the result holds the references.

        >>> import ranklens as rl
        >>> print(rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "RBP").methods())
        We report RBP (p = 0.8; gain = binary; Moffat and Zobel 2008). 1 query averaged; ties by document id, descending. ...
        """
        from ranklens.formulas.methods_paragraph import written

        said = "; ".join(details(self.judged, self.measures, parameters=False))
        sentences = [f"{said}.", f"Values were computed with RankLens {__version__}."]
        return written(self.measures, highest_grade([self.judged]), sentences, cite)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.mean.items())
        return f"Scores({means}; {counted(len(self.queries), 'query')})"

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        """The values under the names that were asked for."""
        shown = {str(measure): measure.shown for measure in self.measures}
        return {shown.get(name, name): values for name, values in self.values.items()}

    def to_summary(self, *, level: float = 0.95) -> list[dict[str, Any]]:
        """One dict per measure: measure (canonical), asked, mean, low and high; these are None for sums."""
        rows = []
        for measure in self.measures:
            if measure.definition.aggregate == "none":
                continue
            is_sum = measure.definition.aggregate == "sum"
            around = None if is_sum else self.interval(measure, level=level)
            rows.append(
                {
                    "measure": str(measure),
                    "asked": measure.shown,
                    "mean": self.mean[str(measure)],
                    "low": finite(around.low) if around else None,
                    "high": finite(around.high) if around else None,
                }
            )
        return rows


_METHODS = {
    "wilson": "Wilson",
    "modified wilson": "modified Wilson",
}  # that are not written as they are called
_NUMBERS = ("mean", "low", "high")


def read_scores(path: Any) -> dict[str, Scores]:
    """The scores in a file, by the name of the run.

    That is what ``ranklens evaluate -o`` and :meth:`Scores.to_json` write, values by query in CSV, TSV, JSONL or Parquet
    (:attr:`Scores.per_query`, :meth:`ranklens.Comparison.queries_frame`, ``ranklens evaluate -q -o``) and the JSON of a comparison; and what
    ``trec_eval -q`` prints. Scores of a single run without a name are called like the file.

    >>> import ranklens as rl, tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp(), "bm25.json")
    >>> _ = file.write_text(rl.evaluate({"q": {"a"}}, {"q": ["x", "a"]}, "RR").to_json())
    >>> read_scores(file)["bm25"].mean
    {'RR': 0.5}
    """
    file = Path(path)
    try:
        text = _json_text(file)
        if text is None:
            return _copied_from(file)
        content = json.loads(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not JSON: {error}.", path=str(path)) from None
    single = isinstance(content, dict) and "values" in content
    named = {file.name.partition(".")[0]: content} if single else content
    if single and "systems" in content:
        named = of_comparison(content)
    if not isinstance(named, dict) or not named:
        raise InputError(
            f"{path} holds no scores; ranklens evaluate -o scores.json writes them.", path=str(path)
        )
    try:
        return {str(name): recalled(one) for name, one in named.items()}
    except InputError as error:
        error.prefix(f"{path}: ")
        error.path = str(path)
        raise


def of_comparison(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the JSON of a comparison says of each system, as the JSON of scores has it."""
    known = {row["name"] for row in content["measures"] if is_measure(row["name"])}
    shared = {"format_version": FORMAT_VERSION, "queries": content["queries"], "policy": content["policy"]}
    return {
        system: {
            **shared,
            "measures": [{**row, "measure": row["name"]} for row in content["measures"]],
            "values": {name: by[system] for name, by in content["values"].items() if name in known},
            "applied": content["applied"].get(system, {"queries": len(content["queries"])}),
        }
        for system in content["systems"]
    }


def _json_text(file: Path) -> str | None:
    """The text of one JSON object or list; None for a table, JSONL included."""
    with file.open("rb") as opened:
        head = opened.read(1 << 16).lstrip()
    if file.suffix.lower() != ".json" and (
        not head.startswith(b"{") or file.suffix.lower() in (".jsonl", ".ndjson", ".gz")
    ):
        return None
    return file.read_text(encoding="utf-8")


def _copied_from(file: Path) -> dict[str, Scores]:
    from ranklens.files.values import read_values

    found = {}
    for run, (queries, by_measure) in read_values(file).items():
        known = {name: values for name, values in by_measure.items() if is_measure(name)}
        others = [name for name in by_measure if name not in known]
        if not known:
            raise InputError(
                f"{file}: none of {several(others) or 'its columns'} is a measure. Pass the table to compare_scores to compare such values.",
                path=str(file),
            )
        if others:
            warn(
                f"{file}: {several(others)} left out, as RankLens knows no such measure. Pass the table to compare_scores to compare it."
            )
        measures = [parse(name) for name in known]
        values = {str(m): np.array(column) for m, column in zip(measures, known.values(), strict=True)}
        judged = Copied.of(queries, Policy(), Applied(queries=len(queries)))
        found[run] = Scores(measures, judged, values)
    return found


def is_measure(name: str) -> bool:
    """Whether the registry has a measure of that name."""
    try:
        parse(name)
    except MeasureError:
        return False
    return True


def recalled(content: Any) -> Scores:
    """Scores from what JSON says."""
    if not isinstance(content, dict) or content.get("format_version") != FORMAT_VERSION:
        given = content.get("format_version") if isinstance(content, dict) else content
        raise InputError(
            f"These are no scores that this version of RankLens reads: format_version is {given!r:.40}, and should be {FORMAT_VERSION}."
        )
    try:
        queries = [str(query) for query in content["queries"]]
        asked = {row["measure"]: row["asked"] for row in content["measures"]}
        measures = [parse(asked.get(name, name)) for name in content["values"]]
        kinds = {m: np.float64 if m.definition.aggregate != "none" else np.object_ for m in measures}
        values = {
            str(m): np.array(found, kinds[m])
            for m, found in zip(measures, content["values"].values(), strict=True)
        }
        policy, applied = content["policy"], Applied(**content["applied"])
        judged = (
            Copied.of(queries, Policy(), applied)
            if policy is None
            else Recalled.of(queries, Policy(**policy), applied)
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"These scores are incomplete: {type(error).__name__}: {error}.") from None
    if any(len(found) != len(queries) for found in values.values()):
        raise InputError("These scores are incomplete: not every query has a value.")
    return Scores(measures, judged, values)


class Means(dict[str, float]):
    """Means by canonical name, found under any spelling."""

    def __missing__(self, name: str) -> float:
        canonical = str(parse(name))
        if canonical not in self:
            raise MeasureError(f"{canonical} was not evaluated: {nearest(canonical, self)}")
        return self[canonical]


def _methods(intervals: Mapping[str, Interval]) -> list[str]:
    """How intervals were made, if not all are Student's t."""
    by: dict[str, list[str]] = {}
    for name, around in intervals.items():
        by.setdefault(_METHODS.get(around.method, around.method), []).append(name)
    if not by or [*by] == ["t"]:
        return []
    if len(by) == 1:
        return [f"{next(iter(by))} intervals"]
    return [f"intervals by {', '.join(f'{method} ({several(names)})' for method, names in by.items())}"]


def describe(judged: Judged, measures: Sequence[Measure], *, done: str = "averaged") -> str:
    """What was averaged over, what was left out or decided, and how far the judgments reach."""
    return "; ".join(details(judged, measures, done=done))


def details(
    judged: Judged, measures: Sequence[Measure], *, done: str = "averaged", parameters: bool = True
) -> list[str]:
    """The parts of :func:`describe`, one by one; without ``parameters`` where these are told anyway."""
    applied, policy = judged.applied, judged.policy
    among = ", ".join(_if_any(_among_the_queries(applied, policy)))
    parts = [
        f"{counted(applied.queries, 'query')} {done}" + (f" ({among})" if among else ""),
        *_if_any(_beside_the_queries(applied)),
        "" if isinstance(judged, Copied) else policy.describe() + _ties_at_cutoffs(judged, measures),
        _judged_share(judged, measures),
        *spellings(measures),
        *(_parameters(judged, measures) if parameters and not isinstance(judged, Copied) else []),
    ]
    return [part for part in parts if part]


def _parameters(judged: Judged, measures: Sequence[Measure]) -> list[str]:
    """What defaults stand for that change from paper to paper; a gain, where grades are more than 0 and 1."""
    is_binary = judged.graded == 0
    by_parts: dict[str, list[str]] = {}
    for measure in measures:
        found = stated(measure, highest_grade([judged]))
        if parts := [part for part in found if not (is_binary and part.startswith("gain"))]:
            by_parts.setdefault(", ".join(parts), []).append(measure.shown)
    return [f"{several(names, len(names))} with {parts}" for parts, names in by_parts.items()]


def highest_grade(several_judged: Iterable[Judged]) -> float | None:
    """The highest grade of all, as far as it is known; of scores that were read from a file it is not."""
    known = [one for one in several_judged if isinstance(one, Counted) or not isinstance(one, Recalled)]
    return max((one.max_grade for one in known), default=None)


def _among_the_queries(applied: Applied, policy: Policy) -> list[tuple[int, str]]:
    """What happened to queries that were, or would have been, averaged over: how many, and the words for it."""
    zero_missing, empty = policy.missing == "zero", " left out" if policy.empty == "skip" else ""
    absent, failed = applied.missing, applied.failed
    counts = "counts as 0" if absent == 1 else "count as 0"
    return [
        (failed, f"{failed:,} failed, {'counted as 0' if zero_missing else 'left out'}"),
        (absent, f"{absent:,} missing from the run {counts if zero_missing else 'left out'}"),
        (applied.empty, f"{applied.empty:,} without relevant documents{empty}"),
    ]


def _beside_the_queries(applied: Applied) -> list[tuple[int, str]]:
    """What else was counted: how many, and the words for it."""
    return [
        (applied.joined == "text", "joined on the texts of questions"),
        (
            applied.logged_again,
            f"{counted(applied.logged_again, 'question')} logged again: the last answer counts",
        ),
        (applied.silent, f"{counted(applied.silent, 'query')} got nothing back"),
        (
            applied.unanswerable,
            f"{counted(applied.unanswerable, 'unanswerable question')} apart: {applied.abstained:,} rightly got nothing back",
        ),
        (applied.ignored, f"{counted(applied.ignored, 'unjudged query')} of the run ignored"),
        (applied.duplicates, f"{counted(applied.duplicates, 'repeated document')} dropped"),
        (applied.duplicate_judgments, f"{counted(applied.duplicate_judgments, 'repeated judgment')} dropped"),
    ]


def _if_any(facts: Sequence[tuple[int, str]]) -> list[str]:
    return [text for number, text in facts if number]


def _ties_at_cutoffs(judged: Judged, measures: Sequence[Measure]) -> str:
    tied = judged.tied
    if not tied:
        return ""
    reached = [(k, judged.tied_across(k)) for k in cutoffs_of(measures)]
    told = [f"across the cutoff {k} in {n:,}" for k, n in reached if n]
    return f" (judged documents tie in {', '.join([counted(tied, 'query'), *told])})"


def cutoffs_of(measures: Sequence[Measure]) -> list[int]:
    """The cutoffs of all measures that have one."""
    return sorted({m.k for m in measures if m.k is not None})


def _judged_share(judged: Judged, measures: Sequence[Measure]) -> str:
    share, k = share_judged(judged, measures), deepest(measures)
    if share is None:
        return ""
    is_all = k is None or k >= judged.longest
    return f"{percent(share)} of {'the retrieved documents' if is_all else f'the top {k}'} judged"


def share_judged(judged: Judged, measures: Sequence[Measure], depth: int | None = None) -> float | None:
    """How much of what was retrieved, down to the deepest cutoff (and at most ``depth``), is judged; None if that says nothing.

    It says nothing where gold is one or two relevant documents per query: the others were never meant to be judged.
    """
    if isinstance(judged, Counted):
        return judged.share
    from ranklens.formulas.counts import judged_of_retrieved

    cuts = [cut for cut in (deepest(measures), depth) if cut is not None]
    found, retrieved = judged_of_retrieved(judged, min(cuts, default=None))
    if not retrieved.any() or judged.policy.judged_only or _names_only_the_expected(judged):
        return None
    return float(found.sum() / retrieved.sum())


def _names_only_the_expected(judged: Judged) -> bool:
    """Whether judgments are a golden set: no document judged not relevant, and two or fewer for the usual query."""
    if not len(judged) or (judged.ideal.grade <= 0).any():
        return False
    return bool(np.median(judged.ideal.sum()) <= FEW_EXPECTED)


def deepest(measures: Sequence[Measure]) -> int | None:
    """The largest cutoff; None if no measure has one."""
    return max((m.k for m in measures if m.k is not None), default=None)


def total(kind: Aggregate, values: FloatArray) -> float:
    """Values combined over queries as the measure requires: mean, median, geometric mean or sum; 0 without queries."""
    if not len(values):
        return 0.0
    if kind == "geometric":
        return float(np.exp(logs_with_floor(values).mean()))
    if kind == "median":
        return float(np.median(values))
    # One after the other, as trec_eval adds: numpy.sum rounds differently.
    added = float(values.cumsum()[-1])
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


LOG_BOUNDS = Bounds(float(np.log(GEOMETRIC_FLOOR)), 0.0)  # of what a geometric mean averages


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
