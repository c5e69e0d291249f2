"""What else could have been decided: the same runs under other policies, parameters and tests, one change at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ranklens.comparison.effort import ComparisonSize, obstacle
from ranklens.data.qrels import Qrels
from ranklens.data.run import Run
from ranklens.errors import RankLensWarning
from ranklens.judging.documents import ranking
from ranklens.judging.prepared import kept
from ranklens.judging.rejudged import rejudged, settled
from ranklens.metrics import Measure, parse, with_rel
from ranklens.scores import Scores
from ranklens.scores.evaluation import evaluate
from ranklens.stats.corrections import CORRECTIONS_BY_NAME, DEFAULT_CORRECTION
from ranklens.stats.significance import SIGNIFICANCE_TESTS

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison, Evidence
    from ranklens.judging.judged import Judged
    from ranklens.policy import Policy

_DEPTHS = (10, 100, 1000)
_CUTOFFS = (5, 10, 20, 100)
# Parameters that change the formula rather than where it looks, and values that papers use.
_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "gain": ("linear", "exp", "binary"),
    "p": (0.5, 0.8, 0.95),
    "norm": ("all", "min"),
    "discount": ("burges", "jk", "ms"),
}


@dataclass(frozen=True)
class Alternative:
    """One change: what it is about, how it is written, the scores under it, and the name of each measure there."""

    kind: str
    setting: str
    scores: Mapping[str, Scores]
    names: Mapping[str, str]  # of a measure of the comparison: what it is called here
    test: str | None = None
    correction: str | None = None


def alternatives(comparison: Comparison) -> Iterator[Alternative]:
    """Every change that applies, in the order of a reader's questions: the rankings, the judgments, the measures, the tests."""
    measures = [parse(name) for name in comparison.measures if comparison.quantity(name).is_known]
    if comparison.evidence is not None and measures:
        yield from _of_policies(comparison, comparison.evidence, measures)
    ranked = [name for name, one in comparison.scores.items() if one.is_ranked]
    if {*ranked} == {*comparison.systems}:  # given values cannot be evaluated by other measures
        for measure in measures:
            yield from _of_parameters(comparison, measure)
    yield from _of_tests(comparison)


def _of_policies(
    comparison: Comparison, evidence: Evidence, measures: Sequence[Measure]
) -> Iterator[Alternative]:
    gold, runs = kept(evidence.qrels), {name: evidence.run(name) for name in evidence.runs}
    averaged = [measure for measure in measures if measure.definition.average_ties]
    for kind, setting, policy in _policies(comparison, evidence.policy):
        asked = averaged if policy.ties == "average" else measures
        if asked:
            scores = {
                name: _scored(asked, policy, gold, run, rejudged(comparison.scores[name].judged, policy))
                for name, run in runs.items()
            }
            names = {str(measure): str(with_rel(measure, policy.rel)) for measure in asked}
            yield Alternative(kind, setting, scores, names)
    policy = replace(evidence.policy, ties="input")
    names = {str(measure): str(with_rel(measure, policy.rel)) for measure in measures}
    for setting, best in (("best order of tied documents", True), ("worst order of tied documents", False)):
        scores = {}
        for name, run in runs.items():
            judged = settled(comparison.scores[name].judged, best=best) if _is_plain(measures) else None
            ordered = run if judged is not None else settled_run(gold, run, evidence.policy, best=best)
            scores[name] = _scored(measures, policy, gold, ordered, judged)
        yield Alternative("ties", setting, scores, names)


def _of_parameters(comparison: Comparison, measure: Measure) -> Iterator[Alternative]:
    params, choices_of = dict(measure.params), measure.definition.parameters
    values = {**_PARAMETERS, **({"k": _CUTOFFS} if measure.k is not None else {})}
    for name, choices in values.items():
        parameter = choices_of.get(name)
        if parameter is None:
            continue
        usual = params.get(name, parameter.default)
        for value in choices:
            if value != usual and value in (parameter.choices or choices):
                other = measure.replace(**{name: value})
                scores = {system: one.measured([other]) for system, one in comparison.scores.items()}
                yield Alternative("measure", str(other), scores, {str(measure): str(other)})


def _policies(comparison: Comparison, policy: Policy) -> Iterator[tuple[str, str, Policy]]:
    """Those whose answer can matter; the sensitivity drops what changes no value after all."""
    for ties in ("descending", "ascending", "input", "average"):
        yield "ties", f"ties={ties}", replace(policy, ties=ties)
    longest = max((one.basis.longest for one in comparison.scores.values()), default=0)
    for depth in _DEPTHS:
        if depth < min(longest, policy.depth or longest):
            yield "depth", f"depth={depth}", replace(policy, depth=depth)
    ranked = [one.judged for one in comparison.scores.values() if one.is_ranked]
    grades = sorted({float(grade) for one in ranked for grade in one.ideal.grade if grade > 0})
    for rel in grades[:6]:
        if rel != policy.rel:
            yield "relevance", f"rel={rel:g}", replace(policy, rel=rel)
    yield "judged only", "unjudged documents removed", replace(policy, judged_only=True)
    yield "judged only", "unjudged documents not relevant", replace(policy, judged_only=False)
    yield "missing queries", "missing=zero", replace(policy, missing="zero")
    yield "missing queries", "missing=skip", replace(policy, missing="skip")
    yield "empty queries", "empty=zero", replace(policy, empty="zero")
    yield "empty queries", "empty=skip", replace(policy, empty="skip")


def _scored(
    measures: Sequence[Measure], policy: Policy, gold: Qrels, run: Run, judged: Judged | None
) -> Scores:
    """A run under another policy; it is read again only where what is judged does not say enough."""
    if judged is not None and _is_plain(measures):
        return judged.evaluate([with_rel(measure, policy.rel) for measure in measures])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankLensWarning)  # the comparison has told them
        return evaluate(gold, run, measures, policy)


def _is_plain(measures: Sequence[Measure]) -> bool:
    """Whether ranks and grades are all that the measures look at."""
    return all(one.definition.view is None and not one.definition.is_foreign for one in measures)


def settled_run(gold: Qrels, run: Run, policy: Policy, *, best: bool) -> Run:
    """The run with tied documents by grade, the highest first or last; an unjudged document is not relevant."""
    import polars as pl

    if run.further or run.contexts is not None:
        return run  # ordered lists, in which nothing ties
    plain = replace(policy, judged_only=False, depth=None, ties="descending")
    rows = ranking(gold, run, plain).with_columns(pl.col("grade").fill_null(0))
    first = pl.col("rank").min().over("query", "score")  # where the tied documents begin
    keys = ["query", first, "grade"]
    order = rows.sort(keys, descending=[False, False, best], maintain_order=True)
    return Run(order.select("query", "doc", "score"))


def _of_tests(comparison: Comparison) -> Iterator[Alternative]:
    settings, same = comparison.settings, {name: name for name in comparison.measures}
    if settings.is_joint:  # which bring their own test and correction
        return
    # Without scores of all systems, their values are compared again.
    scores = comparison.scores if {*comparison.scores} == {*comparison.systems} else {}
    size = ComparisonSize(len(comparison.systems), len(comparison.measures), len(comparison.query_ids))
    has_clusters, has_three = comparison.cluster_of is not None, len(comparison.systems) > 2
    for name, test in SIGNIFICANCE_TESTS.items():
        if not test.in_sensitivity or name == settings.test:
            continue
        if test.of_all_pairs is not None:
            is_free = settings.baseline is None and not settings.is_of_all_pairs
            can_be_done = has_three and is_free and not has_clusters
        else:
            hurdle = obstacle(replace(settings, test=name, is_default=False), size)
            can_be_done = hurdle is None and not (has_clusters and test.is_resampled)
        if can_be_done:
            yield Alternative("test", f"test={name}", scores, same, test=name)
    if not has_three or settings.is_of_all_pairs:
        return
    # The default comes first, as it does in every list of corrections.
    for name in sorted(CORRECTIONS_BY_NAME, key=lambda correction: correction != DEFAULT_CORRECTION):
        if CORRECTIONS_BY_NAME[name].in_sensitivity and name != settings.correction:
            yield Alternative("correction", f"correction={name}", scores, same, correction=name)
