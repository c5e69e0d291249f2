"""What rules check, from whatever users have: scores, several by name, a benchmark or records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ranklens import words
from ranklens.errors import InputError, InPython
from ranklens.metrics import with_rel
from ranklens.retrieval.ages import in_words
from ranklens.retrieval.benchmark import Benchmark
from ranklens.scores import Scores
from ranklens.scores.history.record import Record, digests_of
from ranklens.words import counted

if TYPE_CHECKING:
    from ranklens.metrics import Measure
    from ranklens.retrieval.answers import RetrieverRun


class Measured(NamedTuple):
    """Records by system, and the fields of queries if they are known."""

    records: Mapping[str, Record]
    fields: object = None
    stored: tuple[str, ...] = ()  # which answers were not asked for now


def records_of(
    results: object, measures: Sequence[Measure], *, digested: bool = True, missing_allowed: bool = False
) -> Measured:
    """Records that hold these measures; ``digested`` if they are to be compared with others.

    >>> import ranklens as rl
    >>> scores = rl.evaluate({"q1": {"a"}}, {"q1": ["a"]}, "RR")
    >>> records_of(scores, [rl.measure("P@1")]).records["run"].mean("P@1")
    1.0
    """
    if isinstance(results, Benchmark):
        return _of_benchmark(results, measures)
    alone = results.system if isinstance(results, Record) else "run"
    by_name = results if isinstance(results, Mapping) else {alone: results}
    records: dict[str, Record] = {}
    fields = None
    scored = {str(name): one for name, one in by_name.items() if isinstance(one, Scores)}
    refuse_mismatch(scored, missing_allowed=missing_allowed)
    judged: tuple[object, object] | None = None  # judgments are digested once for systems that share them
    digests: Mapping[str, str] = {}
    for name, one in by_name.items():
        if isinstance(one, Record):
            records[str(name)] = replace(one, system=str(name))
            continue
        if not isinstance(one, Scores):
            raise InputError(
                f"{name} is {words.kind(one)}; pass scores, {{system: scores}} or a benchmark whose retrievers have run."
            )
        own = (one.sources.qrels, one.sources.columns) if one.sources is not None else None
        if digested and (judged is None or own is None or own[0] is not judged[0] or own[1] != judged[1]):
            digests, judged = digests_of(one), own
        wanted = one.with_measures([with_rel(measure, one.policy.rel) for measure in measures])
        records[str(name)] = Record.of(wanted, str(name), digests=digests)
        fields = fields or (one.sources.read(one.policy)[0].fields if one.sources is not None else None)
    if not records:
        raise InputError("There are no results to check.")
    return Measured(records, fields)


def refuse_mismatch(
    scores: Mapping[str, Scores], benchmark: Benchmark | None = None, *, missing_allowed: bool = False
) -> None:
    """Gates neither check nor freeze results whose ids do not match: what is missing then says nothing about the ranking.

    ``missing_allowed`` says that the user decided what becomes of missing queries; ids that only differ in how they are written are refused
    all the same.
    """
    if benchmark is not None and benchmark.mismatch:
        raise InputError(benchmark.mismatch)
    for name, one in scores.items():
        applied = one.applied
        best = one.judged.ideal.grade.max(initial=0.0) if one.is_ranked else math.inf
        levels = [dict(measure.params).get("rel") for measure in one.measures]
        out_of_reach = any(isinstance(level, (int, float)) and level > best for level in levels)
        if len(one.queries) and (out_of_reach or applied.empty >= len(one.queries)):
            raise InputError(
                f"{name}: nothing was measured, as no query has a relevant document. Do the judgments have the grades you expect?"
            )
        if applied.alike:
            raise InputError(f"{name}: {applied.mismatch}")
        if applied.mismatch and not (missing_allowed or one.policy.missing == "skip"):
            raise InputError(
                f"{name}: {applied.mismatch} If these queries are missing for another reason, choose ",
                InPython('missing="skip"', "--missing zero or --missing skip", "policy: {missing: skip}"),
                ".",
            )


def _of_benchmark(bench: Benchmark, measures: Sequence[Measure]) -> Measured:
    scores = bench.evaluate(list(measures) or "rag")
    refuse_mismatch(scores, bench)
    records = {}
    for name, one in scores.items():
        record = Record.of(one, name, seconds=list(bench.results[name].seconds.values()))
        # Queries that were not asked: those without text, and the unanswerable ones.
        left_out = record.left_out + bench.without_text
        records[name] = replace(record, left_out=left_out, unanswerable=bench.unanswerable)
    return Measured(records, bench.fields or None, tuple(stored_of(bench.results.values())))


def stored_of(results: Iterable[RetrieverRun]) -> Iterator[str]:
    """How many answers of each retriever came from the store, and how old they are."""
    for result in results:
        if result.stored:
            age = "" if result.oldest is None else f", the oldest {in_words(result.oldest)}"
            yield f"{result.stored:,} of {counted(len(result.answers), 'answer')} of {result.name} from the store{age}."
