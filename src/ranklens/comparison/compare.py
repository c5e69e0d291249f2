"""Several systems on the same queries: is one really better than another? :func:`compare` → :class:`Comparison`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ranklens.comparison.alignment import align
from ranklens.comparison.analysis import Sliced, analyse, analyse_slices
from ranklens.comparison.cautions import cautions
from ranklens.comparison.clusters import by_label, clusters_of
from ranklens.comparison.comparison import SPENT, Comparison, Evidence
from ranklens.comparison.conclusion import primary_measure
from ranklens.comparison.effort import ComparisonSize, affordable
from ranklens.comparison.margins import margins_of
from ranklens.comparison.openness import Unjudged
from ranklens.comparison.options import NAMES, CompareArguments, CompareOptions, ComparisonArguments
from ranklens.comparison.settings import Settings
from ranklens.comparison.teams import teams_of
from ranklens.data.files.collection import Bad, Collection, open_collection
from ranklens.data.files.hashes import Inputs
from ranklens.data.files.systems import nameless, names_in
from ranklens.data.qrels import read_qrels
from ranklens.data.readers import frames
from ranklens.data.readers.names import Names
from ranklens.data.readers.objects import is_path
from ranklens.data.run import Run
from ranklens.errors import Given, InputError, Option, nearest, warn
from ranklens.judging.inputs import matching_of, read_inputs
from ranklens.judging.prepared import kept
from ranklens.metrics import parse_many
from ranklens.options import with_options_in_signature
from ranklens.policy import make_policy
from ranklens.scores import Scores
from ranklens.scores.evaluation import Each, evaluate, evaluate_each
from ranklens.scores.value_tables import by_system
from ranklens.stats.significance import MAX_T, POWERED

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ranklens.data.evidence.tokens import Tokenizer
    from ranklens.data.matching.rules import Matching
    from ranklens.data.qrels import Qrels
    from ranklens.data.readers.rankings import Entry
    from ranklens.metrics import Measure
    from ranklens.policy import Policy
    from ranklens.stats import Clusters


@with_options_in_signature(CompareOptions, takes_more=True)
def compare(
    qrels: Any,
    runs: Any,
    measures: str | Measure | Sequence[str | Measure] = "rag",
    *,
    policy: Policy | None = None,
    columns: Mapping[str, str] | None = None,
    match: Matching | str | None = None,
    tokenizer: Tokenizer | None = None,
    teams: object = None,
    machine: object = None,
    skip_bad: bool = False,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    save: bool | str = False,
    **options: Unpack[CompareArguments],
) -> Comparison:
    """Evaluate several runs on the same queries and say which differences are more than chance.

    ``runs`` maps names to runs of any shape, :class:`~ranklens.scores.Scores` or tables of values by query; ``qrels`` may be
    None if there is no run among them. A path, a pattern such as ``"runs/*.txt"``, a list of paths or a table will do, too: names are
    then the runs' own tags, else those of the files, and a folder with ``system=NAME`` folders or a column ``system`` gives several
    systems. ``skip_bad`` leaves out runs that cannot be read, and says which. ``teams`` says whose systems these are: ``{system:
    team}``, a table, a file, or ``"tag"`` for the beginning of each name. Every pair is tested, or each system against the ``baseline``. p-values are corrected
    over the pairs of a measure, and with ``by`` over its slices: ``by`` is ``{query: slice}`` or a column of ``queries``.
    ``test`` is a significance test, by default randomization, and mcnemar for measures that are 0 or 1; ``correction`` is for the
    number of pairs, by default Holm's. ``Test`` and ``Correction`` in :mod:`ranklens.comparison.options` list their names. Several measures are several chances to find something: a recommendation rests on the ``primary`` one alone, by default the
    first that can be tested, and the others are described; or correct over all of them with ``family="all"``. ``rng`` is a seed, so the same call gives the same answer. ``progress`` wraps
    the loop over runs, as ``tqdm.tqdm`` does. ``columns``, ``match``, ``tokenizer`` and policies are given as in :func:`ranklens.evaluate`.

    ``margin`` is the largest difference that does not matter (0.01, ``"2%"``, or ``{measure: margin}``); every pair is then better,
    no worse, equivalent, worse or undecided. ``clusters`` says which queries belong together, as ``{query: cluster}`` or a
    column of ``queries``: tests and intervals are then by cluster. Judgments and runs may be Spark DataFrames; from a million queries on
    their values stay on the cluster, and the result is a :class:`ranklens.spark.comparing.LargeComparison`. ``intervals="simultaneous"`` makes the intervals of all
    differences hold together and agree with the tests. ``machine`` are judgments by a model, of the judged queries and of more, as in
    :func:`ranklens.evaluate`: means and differences then use both (PPI++). ``save=True`` keeps all systems in the history of the project
    (:class:`ranklens.History`), ``save="v1.2"`` under this label.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(8)}
    >>> good, bad = {q: ["a", "b"] for q in qrels}, {q: ["b", "a"] for q in qrels}
    >>> compare(qrels, {"bad": bad, "good": good}, "RR").verdict("RR")
    'good is better than bad by 0.500 [0.159, 0.641], p = 0.008. Choose good.'
    """
    asked, policies = CompareOptions.of(options)
    chosen = make_policy(policy, policies, NAMES)
    settings = Settings.of(asked)
    matching = None if match is None else matching_of(match)
    if tokenizer is not None:
        from ranklens.data.matching.evidence import counted_in

        matching = counted_in(tokenizer, matching)
    evaluated_there = partial(
        evaluate, qrels, measures=measures, policy=chosen, columns=columns, match=matching
    )
    on_spark = _scores_on_spark(qrels, runs, measures, evaluated_there, progress)
    if on_spark is not None:
        if machine is not None:
            raise InputError("machine is not available for Spark DataFrames; compare on this machine.")
        large: Comparison = _compared_on_spark(*on_spark, settings, asked, chosen.missing)
        _save(on_spark[0], save, settings)
        return large
    bad: Bad = {} if skip_bad else None
    judgments = Inputs.of((qrels, asked.queries))
    qrels, systems = _named_runs(qrels, runs, Names.of(columns, matching), bad)
    opened = {name: Inputs.of([run]) for name, run in systems.items()}
    # Scores, and tables of values without documents, are compared as they are.
    rankings = {
        name: run
        for name, run in systems.items()
        if not isinstance(run, Scores)
        and (isinstance(run, Mapping) or not frames.is_frame(run) or frames.has_documents(run, columns))
    }
    if rankings and qrels is None:
        raise InputError(
            f"{next(iter(rankings))} is a run, but there are no judgments to score it with; pass qrels."
        )
    data = open_collection(qrels if rankings else {}, rankings, names=Names.of(columns, matching)).with_logs()
    if matching is not None or data.qrels.has_passages:
        pairs = {
            name: read_inputs(data.qrels, run, chosen, match=matching) for name, run in data.runs.items()
        }
        gold = next(iter(pairs.values()))[0] if pairs else data.qrels
        data = Collection(gold, {name: run for name, (_, run) in pairs.items()})
    names_a_column = isinstance(asked.by, str) or isinstance(asked.clusters, str)
    if names_a_column and asked.queries is None and data.qrels.fields is not None:
        asked = replace(asked, queries=data.qrels.fields)
    labels = (
        None if machine is None else kept(read_qrels(machine, Names.of(columns, matching), what="machine"))
    )
    evaluated, warnings = _evaluated(data.qrels, data.runs, measures, chosen, progress, bad, labels)
    data = Collection(data.qrels, {name: data.runs[name] for name in evaluated})
    systems = {name: run for name, run in systems.items() if name in evaluated or name not in rankings}
    measured = list(next(iter(evaluated.values())).measures) if evaluated else measures
    comparison = _compared({**systems, **evaluated}, measured, settings, asked, chosen.missing)
    _save(comparison.scores, save, settings)
    return replace(
        comparison,
        evidence=Evidence(data.qrels, data.runs, chosen) if rankings else None,
        inputs=Inputs.merged([judgments, *(opened[name] for name in systems), comparison.inputs]),
        told=tuple(warnings),
        teams=None if teams is None else teams_of(teams, comparison.systems),
        **_logged(data.runs),
    )


def _save(scores: Mapping[str, Scores], label: bool | str, settings: Settings) -> None:
    if label:
        from ranklens.scores.history import saving

        saving.save(scores, label, "compare", asdict(settings))


def _scores_on_spark(
    qrels: object,
    runs: object,
    measures: str | Measure | Sequence[str | Measure],
    evaluated: Callable[[Any], Scores],
    progress: Callable[[Iterable[Any]], Iterable[Any]],
) -> tuple[Mapping[str, Scores], list[Measure]] | None:
    """Scores by system and what to compare, where data or values are on a cluster; None where nothing is."""
    by_name = runs if isinstance(runs, Mapping) else {}
    if any(map(frames.is_spark, (qrels, runs, *by_name.values()))):
        from ranklens.upward import runs_of

        by_name = runs_of(runs)
        scored = {name: run for name, run in by_name.items() if isinstance(run, Scores)}
        rankings = {name: run for name, run in by_name.items() if name not in scored}
        each = evaluate_each(rankings, evaluated, progress=progress)
        for warning in each.told():
            warn(warning)
        scored = {name: {**scored, **each.scores}[name] for name in by_name}
        return scored, [*next(iter(scored.values())).measures] if scored else parse_many(measures)
    if not by_name or not all(isinstance(one, Scores) and not one.is_ranked for one in by_name.values()):
        return None
    from ranklens.upward import is_large

    return (by_name, parse_many(measures)) if is_large(by_name) else None


def _compared_on_spark(
    scores: Mapping[str, Scores],
    wanted: list[Measure],
    settings: Settings,
    options: CompareOptions,
    missing: str,
) -> Any:
    """By all values, if they are few enough to come here; else by their sums, as a :class:`ranklens.spark.comparing.LargeComparison`."""
    from ranklens.upward import compare_large, is_large

    if not is_large(scores):
        return _compared(scores, wanted, settings, options, missing)
    if any(one is not None for one in (options.by, options.margin, options.clusters)) or settings.is_joint:
        raise InputError(
            "With this many queries, the values stay on the cluster, where slices, margins, clusters and simultaneous intervals are not "
            "available. Leave them out, or compare a sample of the queries."
        )
    return compare_large(scores, wanted, settings, missing)  # type: ignore[arg-type]  # all of them are on the cluster


def _logged(runs: Mapping[str, object]) -> dict[str, Any]:
    """What logs say besides rankings: how long each request took, what all of them took, and what failed."""
    logs = {name: run for name, run in runs.items() if isinstance(run, Run) and run.entries is not None}

    def amounts(of_entry: Callable[[Entry], float | None]) -> dict[str, list[float]]:
        entries = {name: map(of_entry, (log.entries or {}).values()) for name, log in logs.items()}
        numbers = {name: [one for one in each if one is not None] for name, each in entries.items()}
        return {name: values for name, values in numbers.items() if values}

    spent = {"tokens": amounts(lambda entry: entry.tokens), "cost": amounts(lambda entry: entry.cost)}
    return {
        "latencies": amounts(lambda entry: entry.seconds) or None,
        "spent": {
            what: {name: sum(values) for name, values in spent[what].items()} for what in SPENT if spent[what]
        },
        "errors": {name: log.failed for name, log in logs.items() if log.failed},
    }


@with_options_in_signature(CompareOptions)
def compare_scores(
    scores: Any,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    *,
    better: Mapping[str, str] | None = None,
    missing: str | None = None,
    **options: Unpack[ComparisonArguments],
) -> Comparison:
    """Compare values that exist already: Scores, tables by query, ``{query: {measure: value}}``, or files of ``trec_eval -q``.

    One long table with ``query, measure, system, value``, such as :meth:`Comparison.queries_frame`, holds all systems.

    ``measures`` defaults to all that the systems have in common; ``missing`` says what happens to a query that a system lacks
    (``zero``, ``skip``, ``error``). Of a column that RankLens does not know, higher values are better unless ``better`` says
    ``{"latency_ms": "lower"}``; queries that a system lacks are then left out, as 0 would be the best. The rest is as in
    :func:`compare`.

    >>> found = compare_scores({"a": {"q1": {"RR": 1.0}, "q2": {"RR": 0.5}}, "b": {"q1": {"RR": 1.0}, "q2": {"RR": 0.25}}})
    >>> found.result("RR", "a").mean, found.pair("RR", "a", "b").wins, found.pair("RR", "a", "b").losses
    (0.75, 0, 1)
    """
    asked, unknown = CompareOptions.of(options)
    for name in unknown:
        raise TypeError(f"compare_scores() got an unexpected keyword argument {name!r}")
    settings = Settings.of(asked)
    if missing is not None:
        make_policy(None, {"missing": missing})  # refuses an unknown policy
    opened = Inputs.of([asked.queries, *(scores.values() if isinstance(scores, Mapping) else [scores])])
    comparison = _compared(_checked(by_system(scores)), measures, settings, asked, missing, better)
    return replace(comparison, inputs=Inputs.merged([opened, comparison.inputs]))


def _compared(
    scores: Mapping[str, object],
    measures: str | Measure | Sequence[str | Measure] | None,
    settings: Settings,
    options: CompareOptions,
    missing: str | None,
    better: Mapping[str, str] | None = None,
) -> Comparison:
    aligned = align(scores, measures, missing=missing, better=better)
    baseline = settings.baseline
    if baseline is not None and baseline not in aligned.systems:
        raise InputError(f"The baseline {baseline!r} is not a system: {nearest(baseline, aligned.systems)}")
    margins = margins_of(options.margin, aligned.quantities)
    settings = replace(settings, primary=primary_measure(settings, aligned.quantities), margins=margins)
    size = ComparisonSize(len(aligned.systems), len(aligned.quantities), len(aligned.query_ids))
    affordable_settings = affordable(settings, size)
    # Random signs are drawn by place, so the order in which queries come must not matter.
    in_order = aligned.by_query_id()
    cluster_of: dict[str, str] | None = None
    clusters: Mapping[str | None, Clusters] | None = None
    if options.clusters is not None:
        cluster_of = clusters_of(options.clusters, options.queries, in_order.every_query)
        clusters = {None: by_label(cluster_of, in_order.query_ids)}
    evaluated = {name: s for name, s in scores.items() if isinstance(s, Scores)}
    labels = in_order.labels(cluster_of)
    if labels is not None:
        _refuse_with_labels(options)
    unjudged = Unjudged(aligned, evaluated) if labels is None else None
    results, pairs = analyse(
        aligned, {None: in_order.values}, affordable_settings, clusters, unjudged, labels
    )[None]
    sliced = Sliced()
    if options.by is not None:
        sliced = analyse_slices(in_order, options.by, options.queries, settings, cluster_of)
    tested = [part for each in (pairs, *(one.pairs for one in sliced.slices)) for part in each.parts]
    done = {part.terms.done for part in pairs.parts}
    if len(done) == 1 and not done & {MAX_T, POWERED}:  # all measures had the same test
        affordable_settings = replace(affordable_settings, test=done.pop())
    return Comparison(
        aligned,
        affordable_settings,
        results,
        pairs,
        slices=sliced.slices,
        macro=sliced.macro,
        macro_pairs=sliced.macro_pairs,
        slice_of=sliced.slice_of,
        cluster_of=cluster_of,
        untold=partial(cautions, aligned, settings, tested, evaluated, sliced.slice_of),
        scores=evaluated,
        inputs=Inputs.merged(one.inputs for one in evaluated.values()),
    )


def _refuse_with_labels(options: CompareOptions) -> None:
    """What needs more queries that people judged than there are, or values that both kinds of judgments cannot give."""
    for name, value in (("by", options.by), ("test", options.test), ("intervals", options.intervals)):
        if value not in (None, "separate"):
            raise InputError(
                Given(name, value),
                " is not available together with ",
                Option("machine"),
                "; leave one of them out.",
            )


def _evaluated(
    qrels: Qrels,
    runs: Mapping[str, object],
    measures: str | Measure | Sequence[str | Measure],
    policy: Policy,
    progress: Callable[[Iterable[Any]], Iterable[Any]],
    bad: Bad,
    machine: Qrels | None = None,
) -> tuple[dict[str, Scores], list[str]]:
    """Scores by system, and what evaluation warned of; ``bad`` holds runs that could not be read, if these are skipped."""
    qrels = kept(qrels) if len(runs) > 1 else qrels
    each = evaluate_each(
        runs,
        lambda run: evaluate(qrels, run, measures, policy, machine=machine),
        progress=progress,
        skip_bad=bad is not None,
        into=Each(bad=bad or {}),
    )
    heard = each.told()
    for warning in heard:
        warn(warning)
    return each.scores, [str(warning) for warning in heard]


def _named_runs(qrels: Any, runs: Any, names: Names, bad: Bad) -> tuple[Any, dict[str, Any]]:
    """Runs by name, and the judgments, which are read if runs are paths: these may hold several systems each."""
    paths = [runs] if is_path(runs) else list(runs) if isinstance(runs, Iterator) else runs
    if isinstance(paths, (list, tuple)) and paths and all(map(is_path, paths)):
        opened = open_collection(qrels, [os.fspath(path) for path in paths], names=names, bad=bad)
        return opened.qrels, opened.runs
    is_table = not isinstance(runs, Mapping) and frames.is_frame(runs)
    column = frames.system_column(runs) if is_table else None
    if column is None:
        return qrels, _checked(runs)
    table = frames.to_polars(runs)
    table = table.with_columns(names_in(table[column]))
    parts = table.partition_by(column, as_dict=True, maintain_order=True, include_key=False)
    by_name = {name: part for (name,), part in parts.items()}
    if None in by_name:
        raise nameless(next((name for name in by_name if name is not None), ""))
    return qrels, _checked(by_name)


def _checked(systems: object) -> dict[str, Any]:
    if not isinstance(systems, Mapping):
        raise InputError(
            f"The systems are a {type(systems).__name__}; pass {{name: run}}, one entry per system, a list of paths, or a pattern such as 'runs/*.txt'."
        )
    named = {str(name): system for name, system in systems.items()}
    if len(named) < len(systems):
        raise InputError(f"Two systems have the same name: {', '.join(map(repr, systems))}.")
    owner: dict[int, str] = {}
    for name, system in named.items():
        # Each system would get only a part of the rows of an iterator that two share.
        if isinstance(system, Iterator) and owner.setdefault(id(system), name) != name:
            raise InputError(
                f"{owner[id(system)]!r} and {name!r} are the same iterator, which can be read only once; pass a list or a file."
            )
    return named
