"""Rankings, judgments and measures → :class:`~ranklens.scores.Scores`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from ranklens.data.files.hashes import NO_INPUTS, Inputs
from ranklens.data.qrels import Qrels, read_qrels
from ranklens.data.readers.frames import is_spark
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.names import Names
from ranklens.data.run import Run, RunFile
from ranklens.errors import (
    InputError,
    Option,
    PolicyError,
    RankLensError,
    RankLensWarning,
    about_each,
    hearing,
    warn,
)
from ranklens.judging.assembly import judge, judge_given
from ranklens.judging.dicts import turn
from ranklens.judging.inputs import Sources, matching_of
from ranklens.judging.judged import BLOCK, Judged
from ranklens.metrics import Measure, parse_many, with_rel
from ranklens.policy import make_policy
from ranklens.scores import Scores, Values
from ranklens.words import percent, several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from typing_extensions import Unpack

    from ranklens.data.evidence.tokens import Tokenizer
    from ranklens.data.matching.rules import Matching
    from ranklens.metrics.conventions import Convention
    from ranklens.policy import Policy, PolicyOptions

T = TypeVar("T")


def evaluate(
    qrels: object,
    run: object,
    measures: str | Measure | Sequence[str | Measure] = "rag",
    policy: Policy | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | str | None = None,
    abstain_below: float | None = None,
    tokenizer: Tokenizer | None = None,
    machine: object = None,
    save: bool | str = False,
    convention: str | Convention | None = None,
    **options: Unpack[PolicyOptions],
) -> Scores:
    """Score a run against judgments.

    ``qrels`` and ``run`` are anything that :func:`ranklens.judge` takes, or Spark DataFrames, which stay on their cluster. ``measures`` are names such as ``"nDCG@10"``,
    or a preset such as ``"rag"``, the default. Policies are given as a :class:`~ranklens.policy.Policy` or one by one
    (``ties="average"``, ``depth=100``, ``rel=2`` …). ``convention="xgboost"`` takes measures and policy as that tool does
    (:func:`ranklens.convention`). ``match`` says how retrieved items match judged ones: text as after ``--match``, such as ``"text"``
    and ``"parent:#"``, or one of :mod:`ranklens.matching`.
    ``tokenizer`` counts the lengths of chunks where passages are judged: ``"characters"``, an encoding of
    tiktoken, or a function; by default they are counted in words.
    ``machine`` are judgments by a model, of the queries of ``qrels`` (at least ten) and of more: means and intervals then
    use both, and stay right however wrong the model is, if people judged a random sample of the queries. ``save=True`` keeps the scores in the history of the project (:class:`ranklens.History`),
    ``save="v1.2"`` under this label.

    >>> qrels = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}}
    >>> run = {"q1": {"d1": 0.9, "d9": 0.8, "d2": 0.7}, "q2": {"d4": 0.9, "d3": 0.1}}
    >>> evaluate(qrels, run, ["nDCG@10", "RR"]).mean
    {'nDCG@10': 0.79058..., 'RR': 0.75}
    """
    if convention is not None:
        from ranklens.metrics.conventions import read

        measures, policy = read(measures, convention, policy)
    matching = None if match is None else matching_of(match)
    if tokenizer is not None:
        from ranklens.data.matching.evidence import counted_in

        matching = counted_in(tokenizer, matching)
    chosen = make_policy(policy, options)
    wanted = [with_rel(measure, chosen.rel) for measure in parse_many(measures)]
    if machine is not None and isinstance(run, Iterator):
        run = list(run)  # it is read twice
    if is_spark(run) or is_spark(qrels):
        from ranklens.upward import evaluate_on_spark

        if Names.of(columns).by_input:
            raise InputError(
                "columns: names of single inputs, such as 'run:doc', are not supported with Spark DataFrames; rename the column there."
            )
        if chosen.ties == "average":
            _refuse_undefined(wanted)
        if machine is not None:
            raise InputError("machine is not available for Spark DataFrames; evaluate on this machine.")
        scores: Scores = evaluate_on_spark(qrels, run, wanted, chosen, columns=columns, match=matching)
    else:
        # One evaluation of dicts at a time, unless it calls functions of the user, which may wait for others.
        judgments = qrels.judged if isinstance(qrels, Qrels) else qrels
        ranked = run.rankings if isinstance(run, Run) else run
        are_dicts = isinstance(ranked, dict) and isinstance(judgments, (dict, Mapping))
        calls_out = matching is not None or True in [measure.definition.is_foreign for measure in wanted]
        with turn() if are_dicts and not calls_out else nullcontext():
            inputs = Inputs.of((qrels, run))
            judged, sources = judge_given(qrels, run, chosen, columns, matching, abstain_below)
            judged = _with_sources(judged, qrels)
            scores = _score(judged, wanted, sources, inputs)
        if judged.details is not None and judged.details.is_sample:
            _warn_of_samples(wanted)
    if machine is not None:
        from ranklens.scores.powered import with_machine

        labelled = evaluate(
            machine, run, wanted, chosen, columns=columns, match=matching, abstain_below=abstain_below
        )
        scores = with_machine(scores, labelled)
    if save:
        from ranklens.scores.history import saving

        asked = {**saving.paths(qrels=qrels, run=run), "measures": [measure.shown for measure in wanted]}
        saving.save({saving.name_of(run): scores}, save, "evaluate", asked)
    return scores


def _with_sources(judged: Judged, qrels: object) -> Judged:
    """With the share of each source of judgments, where they know who made them."""
    known = qrels.beyond_grades if isinstance(qrels, Qrels) else qrels
    if not isinstance(known, Judgments) or not known.sources:
        return judged
    from collections import Counter

    shares = Counter(
        known.sources.get(query, {}).get(doc, "unknown")
        for query, docs in known.grades.items()
        for doc in docs
    )
    total = sum(shares.values())
    told = several([f"{percent(count / total)} {name}" for name, count in shares.most_common()], 3)
    return replace(judged, applied=replace(judged.applied, sources=told))


def evaluate_rankings(
    qrels: Any,
    runs: Sequence[Any],
    measures: str | Measure | Sequence[str | Measure],
    policy: Policy | None = None,
    **options: Unpack[PolicyOptions],
) -> Scores:
    """Score a system that has several rankings for each query and shows one after the other, each equally often.

    ``runs`` are these rankings, each as :func:`evaluate` takes a run. Exposure (``AWRF``, ``EE_D``, ``EE_R``, ``EE_L``) is what groups get over
    all of them together: a group that is first in every other ranking is not at a disadvantage. Any other measure is the mean over rankings.

    >>> import ranklens as rl
    >>> shops = rl.Judgments({"q": {"a": 1, "b": 1}}, documents={"a": {"group": "small"}, "b": {"group": "large"}, "c": {}})
    >>> turns = [{"q": ["a", "c", "b"]}, {"q": ["b", "c", "a"]}]
    >>> evaluate_rankings(shops, turns, ["EE_L", "RR"]).mean, round(evaluate(shops, turns[0], "EE_L").mean["EE_L"], 4)
    ({'EE_L': 0.0, 'RR': 1.0}, 0.0681)
    """
    import numpy as np

    from ranklens.judging.listing import Listing
    from ranklens.judging.prepared import kept

    if isinstance(runs, Mapping) or not runs:
        raise InputError("runs: pass a list of runs, one for each ranking that a query has.")
    chosen = make_policy(policy, options)
    wanted = [with_rel(measure, chosen.rel) for measure in parse_many(measures)]
    gold = kept(read_qrels(qrels))
    each = [judge(gold, run, chosen) for run in runs]
    first = each[0]
    if any(one.queries != first.queries for one in each):
        raise InputError(
            "Not all runs have the same queries; each must rank every query, or choose ",
            Option("missing", "zero"),
            ".",
        )
    listings = [one.details.listing for one in each if one.details and one.details.listing]
    if first.details is not None and len(listings) == len(each):
        together = replace(first.details, listing=Listing.taking_turns(listings), _cache={})
        first = replace(first, details=together, _cache={})
    values = {}
    for measure in wanted:
        is_over_all = measure.definition.over_rankings
        values[str(measure)] = (
            measure(first) if is_over_all else np.mean([measure(one) for one in each], axis=0)
        )
    return Scores(wanted, first, Values(first.queries, values))


@dataclass(frozen=True)
class Each:
    """Scores by run, what was warned of each, and the runs that could not be evaluated, if they may be skipped."""

    scores: dict[str, Scores] = field(default_factory=dict)
    heard: dict[str, list[RankLensWarning]] = field(default_factory=dict)
    bad: dict[str, RankLensError] = field(default_factory=dict)

    def told(self) -> list[RankLensWarning]:
        """What is worth telling, once where several runs share it."""
        skipped = [RankLensWarning(f"{name} was skipped: ", *error.parts) for name, error in self.bad.items()]
        return [*skipped, *about_each(self.heard)]


def evaluate_each(
    runs: Mapping[str, Any],
    evaluated: Callable[[Any], Scores],
    *,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    skip_bad: bool = False,
    into: Each | None = None,
) -> Each:
    """Evaluate several runs, small files side by side; an error names the run.

    ``skip_bad`` leaves out runs that cannot be evaluated, unless none is left. ``into`` is filled as far as it goes.
    """
    each, several = into or Each(), len(runs) > 1
    tasks = (partial(_one, evaluated, run) for run in runs.values())
    results: Iterator[tuple[Scores | RankLensError, list[RankLensWarning]]] = (task() for task in tasks)
    if several and all(map(_is_small, runs.values())):
        from ranklens.data.files.streams import ahead

        # The first alone, which indexes the judgments for all others.
        results = chain((task() for task in islice(tasks, 1)), ahead(tasks))
    for name, (scored, heard) in zip(progress(list(runs)), results, strict=True):
        if isinstance(scored, RankLensError):
            if not (skip_bad and several):
                raise _about(scored, name, runs[name]) if several else scored
            each.bad[name] = scored
            continue
        each.scores[name], each.heard[name] = scored, heard
    if each.bad and not each.scores:
        name, error = next(iter(each.bad.items()))
        raise _about(error, name, runs.get(name, name))  # a path, if it could not even be opened
    return each


def _about(error: RankLensError, name: str, run: Any) -> RankLensError:
    """The error with the name of its run, unless it begins with that or the file's."""
    place = os.fspath(run) if isinstance(run, (str, os.PathLike)) else name
    if not str(error).startswith((f"{name}: ", f"{place}:")):
        error.prefix(f"{name}: ")
    return error


def _is_small(run: Any) -> bool:
    """Whether this is a file of a block or two, which gains little from the threads that read blocks."""
    from ranklens.data.files.blocks import SIZE

    try:
        return isinstance(run, RunFile) and os.path.isfile(run) and os.path.getsize(run) <= 2 * SIZE
    except (OSError, ValueError):
        return False


def _one(
    evaluated: Callable[[Any], Scores], run: Any
) -> tuple[Scores | RankLensError, list[RankLensWarning]]:
    with hearing() as heard:
        try:
            return evaluated(run), heard
        except RankLensError as error:
            return error, heard


def score(judged: Judged, measures: str | Measure | Sequence[str | Measure]) -> Scores:
    """Apply measures to rankings that are already judged."""
    return _score(judged, parse_many(measures))


def _score(
    judged: Judged, wanted: Sequence[Measure], sources: Sources | None = None, inputs: Inputs = NO_INPUTS
) -> Scores:
    if judged.policy.ties == "average":
        _refuse_undefined(wanted)
    many = len(judged.ideal) > BLOCK and judged.details is None
    values = _in_blocks(judged, wanted) if many else {str(measure): measure(judged) for measure in wanted}
    return Scores(wanted, judged, Values(judged.queries, values), sources, inputs)


def _in_blocks(judged: Judged, wanted: Sequence[Measure]) -> dict[str, Any]:
    """The values of many queries with grades alone: ours look at one query after the other."""
    import numpy as np

    apart = [one for one in wanted if one.definition.view is None and not one.definition.is_foreign]
    blocks = [[measure(block) for measure in apart] for block in judged.in_blocks()] if apart else []
    joined = map(np.concatenate, zip(*blocks, strict=True))
    values = dict(zip(map(str, apart), joined, strict=True))
    return {str(one): values[str(one)] if str(one) in values else one(judged) for one in wanted}


def _warn_of_samples(measures: Sequence[Measure]) -> None:
    """Warn of measures in which documents that were not sampled count as not relevant."""
    whole = [
        measure
        for measure in measures
        if measure.definition.needs not in ("strata", "probabilities")
        and measure.definition.better != "neither"
        and measure.name != "infAP"
    ]
    if whole:
        warn(
            f"Only a sample of the pool was judged, and in {several([one.shown for one in whole])} all other documents count as not relevant. "
            "xinfAP, infNDCG and statAP estimate what the whole pool would give."
        )


def _refuse_undefined(measures: Sequence[Measure]) -> None:
    undefined = ", ".join(str(measure) for measure in measures if not measure.definition.average_ties)
    if undefined:
        raise PolicyError(
            Option("ties", "average"),
            f" is not available for {undefined}: no expected value over the orders of tied documents is known. Omit the measure, or choose ",
            Option("ties", "descending", "ascending", "input"),
            ".",
        )
