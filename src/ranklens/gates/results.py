"""What rules check, from whatever users have: scores, several by name, a benchmark or records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ranklens import words
from ranklens.errors import InputError
from ranklens.evaluation import with_rel
from ranklens.history.record import Record, digests_of, latency_of
from ranklens.retrieval.benchmark import Benchmark
from ranklens.scores import Scores

if TYPE_CHECKING:
    from ranklens.registry import Measure


class Results(NamedTuple):
    """Records by system, and the fields of queries if they are known."""

    records: Mapping[str, Record]
    fields: Any = None


def records_of(results: Any, measures: Sequence[Measure], *, digested: bool = True) -> Results:
    """Records that hold these measures; ``digested`` if they are to be compared with others.

    >>> import ranklens as rl
    >>> scores = rl.evaluate({"q1": {"a"}}, {"q1": ["a"]}, "RR")
    >>> records_of(scores, [rl.measure("P@1")]).records["run"].mean("P@1")
    1.0
    """
    if isinstance(results, Benchmark):
        return _of_benchmark(results, measures)
    given = results if isinstance(results, Mapping) else {_name(results): results}
    found: dict[str, Record] = {}
    fields = None
    digests: Mapping[str, str] | None = None if digested else {}
    for name, one in given.items():
        if isinstance(one, Record):
            found[str(name)] = replace(one, system=str(name))
            continue
        if not isinstance(one, Scores):
            raise InputError(
                f"{name} is {words.kind(one)}; pass scores, {{system: scores}} or a benchmark whose retrievers have run."
            )
        digests = digests_of(one) if digests is None else digests
        found[str(name)] = Record.of(with_measures(one, measures), str(name), digests=digests)
        fields = fields or getattr(one.sources.qrels if one.sources is not None else None, "fields", None)
    if not found:
        raise InputError("There are no results to check.")
    return Results(found, fields)


def _name(results: Any) -> str:
    return results.system if isinstance(results, Record) else "run"


def _of_benchmark(bench: Benchmark, measures: Sequence[Measure]) -> Results:
    scores = bench.evaluate(list(measures) or "rag")
    return Results(
        {
            name: Record.of(one, name, latency=latency_of(list(bench.results[name].seconds.values())))
            for name, one in scores.items()
        },
        bench.fields or None,
    )


def with_measures(scores: Scores, measures: Sequence[Measure]) -> Scores:
    """Scores that hold these measures, too; those that are missing are computed from the judged rankings."""
    wanted = [with_rel(measure, scores.policy.rel) for measure in measures]
    absent = [measure for measure in wanted if str(measure) not in scores.values]
    if not absent:
        return scores
    more = scores.judged.evaluate(absent)
    return replace(
        scores, measures=[*scores.measures, *more.measures], values={**scores.values, **more.values}
    )
