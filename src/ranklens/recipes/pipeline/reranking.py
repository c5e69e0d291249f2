"""Did reranking help, and how many documents should be reranked?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ranklens.errors import InputError, MeasureError, Option, PolicyError
from ranklens.judging.documents import ranking
from ranklens.metrics import Measure, parse_many
from ranklens.policy import Policy, make_policy
from ranklens.scores.evaluation import evaluate
from ranklens.stats import (
    Bounds,
    EffectSize,
    Interval,
    TestResult,
    effect_size,
    paired_test,
    relative_interval,
)
from ranklens.tables.table import Shown, Table
from ranklens.words import counted

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.policy import PolicyOptions
    from ranklens.stats.inputs import Rng

Rankings: TypeAlias = dict[str, list[str]]  # the documents of each query, best first
Order: TypeAlias = Callable[[Rankings], Rankings]  # of the first documents of each query


@dataclass(frozen=True)
class RerankingResult(Shown):
    """How much a reranker changed a measure; returned by :func:`reranking_improvement`.

    ``improvement`` and its ``interval`` are in percent of the mean before. Both are None if that mean is 0; then
    ``effect.difference`` says how much was gained.
    """

    measure: str
    n: int
    before: float
    after: float
    improvement: float | None
    interval: Interval | None
    effect: EffectSize
    test: TestResult

    def table(self) -> Table:
        """Before and after, the change in percent, and how sure it is."""
        change = "" if self.improvement is None else f"{self.improvement:+.1f}%"
        around = "" if self.interval is None else f"[{self.interval.low:+.1f}%, {self.interval.high:+.1f}%]"
        p_value = "<0.0001" if self.test.p_value < 0.0001 else f"{self.test.p_value:.4f}"
        row = [self.measure, f"{self.before:.4f}", f"{self.after:.4f}", change, around, p_value]
        level = 0.95 if self.interval is None else self.interval.level
        header = ["measure", "before", "after", "change", f"{level:.0%} interval", "p"]
        effect, test = self.effect, self.test
        counts = f"better in {effect.wins:,}, the same in {effect.ties:,}, worse in {effect.losses:,}"
        parts = [f"{counts} of {counted(self.n, 'query')}"]
        if self.improvement is None:
            parts.append(
                f"the mean before is 0, so there is no percentage: the difference is {effect.difference:+.4f}"
            )
        how = ", exact" if test.exact else f", {test.resamples:,} resamples" if test.resamples else ""
        return Table(header, [row], note="; ".join([*parts, f"{test.method} test{how}"]) + ".")

    def to_frame(self) -> pl.DataFrame:
        """One row: measure, queries, before, after, improvement, low, high, p_value."""
        import polars as pl

        low, high = self.interval or (None, None)
        row = {"measure": self.measure, "queries": self.n, "before": self.before, "after": self.after}
        rest = {"improvement": self.improvement, "low": low, "high": high, "p_value": self.test.p_value}
        return pl.DataFrame([row | rest])


def reranking_improvement(
    qrels: object,
    before: object,
    after: object,
    measure: str | Measure = "nDCG@10",
    *,
    test: str = "randomization",
    level: float = 0.95,
    rng: Rng = 0,
    policy: Policy | None = None,
    **options: Unpack[PolicyOptions],
) -> RerankingResult:
    """(after - before) / before in percent, with a bootstrap interval over queries and a paired test.

    ``before`` and ``after`` are two runs of any shape for the same judgments. The interval is of the ratio of the two
    means: queries are drawn with replacement, both runs together, and the middle 95% of the ratios is taken. The test is
    one of :data:`ranklens.stats.TESTS`.

    >>> qrels = {"q1": {"a"}, "q2": {"b"}}
    >>> result = reranking_improvement(qrels, {"q1": ["x", "a"], "q2": ["b"]}, {"q1": ["a", "x"], "q2": ["b"]}, "RR")
    >>> result.before, result.after, round(result.improvement, 1)
    (0.75, 1.0, 33.3)
    """
    one = _one_mean(measure)
    chosen = make_policy(policy, options)
    old, new = (evaluate(qrels, run, one, chosen) for run in (before, after))
    name = str(old.measures[0])
    by_query = dict(zip(new.queries, new[name].tolist(), strict=True))
    pairs = [(x, by_query[q]) for q, x in zip(old.queries, old[name].tolist(), strict=True) if q in by_query]
    if not pairs:
        raise InputError("The two runs have no evaluated query in common; give two runs of the same queries.")
    first, second = zip(*pairs, strict=True)
    low, high = one.definition.low, one.definition.high
    mean_before, mean_after = sum(first) / len(pairs), sum(second) / len(pairs)
    around = relative_interval(first, second, level=level, rng=rng) if mean_before > 0 else None
    return RerankingResult(
        measure=name,
        n=len(pairs),
        before=mean_before,
        after=mean_after,
        improvement=100 * (mean_after - mean_before) / mean_before if mean_before > 0 else None,
        interval=around and replace(around, low=100 * around.low, high=100 * around.high),
        effect=effect_size(
            first, second, level=level, bounds=Bounds(low, high), better=one.definition.better
        ),
        test=paired_test(first, second, method=test, rng=rng),
    )


@dataclass(frozen=True)
class KPoint:
    """The effect of reranking the first k documents: the first stage's ``recall`` at k, and the mean after reranking.

    ``ceiling`` is the mean that a perfect reranker would reach with these k documents.
    """

    k: int
    recall: float
    mean: float
    interval: Interval
    ceiling: float


@dataclass(frozen=True)
class KSweep(Shown):
    """Quality against the number of reranked documents; returned by :func:`k_sweep`."""

    measure: str
    first_stage: float  # the mean without reranking
    first_stage_interval: Interval
    points: tuple[KPoint, ...]
    note: str

    def table(self) -> Table:
        """One row per k, after one for the first stage alone."""
        rows = [["none", "", f"{self.first_stage:.4f}", str(self.first_stage_interval), ""]]
        rows += [
            [str(p.k), f"{p.recall:.4f}", f"{p.mean:.4f}", str(p.interval), f"{p.ceiling:.4f}"]
            for p in self.points
        ]
        return Table(["reranked", "recall", self.measure, "95% interval", "ceiling"], rows, note=self.note)

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame: k (0 is the first stage alone), recall, mean, low, high, ceiling."""
        import polars as pl

        low, high = self.first_stage_interval
        alone = {"k": 0, "recall": None, "mean": self.first_stage, "low": low, "high": high, "ceiling": None}
        rows = [
            {"k": p.k, "recall": p.recall, "mean": p.mean, "low": p.interval.low, "high": p.interval.high, "ceiling": p.ceiling}
            for p in self.points
        ]  # fmt: skip
        schema = {"k": pl.Int64, **dict.fromkeys(("recall", "mean", "low", "high", "ceiling"), pl.Float64)}
        return pl.DataFrame([alone, *rows], schema=schema)


def k_sweep(
    qrels: object,
    first_stage: object,
    reranked: object,
    ks: Iterable[int] = (5, 10, 20, 50, 100),
    measure: str | Measure = "nDCG@10",
    *,
    queries: Mapping[Any, str] | None = None,
    policy: Policy | None = None,
    **options: Unpack[PolicyOptions],
) -> KSweep:
    """How many documents to rerank: for each k, the first stage's recall at k and the measure if only its top k are reranked.

    ``reranked`` is a run in which a reranker has ordered the documents of the first stage, or the reranker itself: a
    function of a query and a list of document ids that returns ids best first, pairs of id and score, or a dict of scores. It
    is called for each query and k, with the query's text if ``queries`` has it, else with its id. Documents below k, and those
    that the reranker left out, follow the reranked ones in the order of the first stage.

    >>> qrels = {"q": {"a"}}
    >>> sweep = k_sweep(qrels, {"q": ["x", "y", "a"]}, {"q": ["a", "x", "y"]}, ks=[2, 3], measure="RR")
    >>> sweep.first_stage, [(p.k, p.recall, p.mean) for p in sweep.points]
    (0.3333333333333333, [(2, 0.0, 0.3333333333333333), (3, 1.0, 1.0)])
    """
    one, depths = _one_mean(measure), sorted({*ks})
    if not depths or any(not isinstance(k, int) or isinstance(k, bool) or k < 1 for k in depths):
        raise InputError(f"ks={list(ks)!r} is not allowed; they are whole numbers from 1.")
    chosen = make_policy(policy, options)
    if chosen.ties == "average":
        raise PolicyError(
            "k_sweep needs a single order of documents, so it does not support ",
            Option("ties", "average"),
            ".",
        )
    rows = ranking(qrels, first_stage, chosen)
    first = _by_query(rows)
    # The policy has been applied to the first stage.
    listed = replace(chosen, depth=None, judged_only=False)
    note = ""
    if callable(reranked):
        reranker = _asking(reranked, {str(query): text for query, text in (queries or {}).items()}, listed)
    else:
        run, deepest = _by_query(ranking(qrels, reranked, listed)), depths[-1]
        missing = sum(len({*docs[:deepest]} - {*run.get(query, [])}) for query, docs in first.items())
        total = sum(len(docs[:deepest]) for docs in first.values())
        if missing:
            note = (
                f" The reranked run lacks {missing:,} of the {total:,} documents in the top {deepest} of the first stage; "
                "they are ranked below the others."
            )

        def reranker(top: Rankings) -> Rankings:
            return _in_order(top, run)

    alone = evaluate(qrels, first, one, listed)
    (name,) = map(str, alone.measures)
    recalls = evaluate(qrels, first, [f"R@{k}" for k in depths], listed).mean.values()
    grade = {(q, doc): grade or 0.0 for q, doc, grade in rows.select("query", "doc", "grade").iter_rows()}

    def by_grade(top: Rankings) -> Rankings:
        return {query: sorted(docs, key=lambda doc: -grade[query, doc]) for query, docs in top.items()}

    points = []
    for k, recall in zip(depths, recalls, strict=True):
        scores = evaluate(qrels, _rerank(first, k, reranker), one, listed)
        best = evaluate(qrels, _rerank(first, k, by_grade), one, listed)
        points.append(KPoint(k, recall, scores.mean[name], scores.interval(name), best.mean[name]))
    return KSweep(name, alone.mean[name], alone.interval(name), tuple(points), alone.note + note)


def _one_mean(measure: str | Measure) -> Measure:
    measures = parse_many(measure)
    if len(measures) != 1 or measures[0].definition.aggregate != "mean":
        raise MeasureError(
            f"measure={str(measure)!r} is not allowed; pass one measure that is averaged, such as 'nDCG@10'."
        )
    return measures[0]


def _by_query(rows: pl.DataFrame) -> Rankings:
    grouped = rows.group_by("query", maintain_order=True).agg("doc")
    return dict(zip(grouped["query"].to_list(), grouped["doc"].to_list(), strict=True))


def _rerank(first: Rankings, k: int, order: Order) -> Rankings:
    """The first stage with its top k in another order."""
    top = order({query: docs[:k] for query, docs in first.items()})
    return {query: [*top[query], *docs[k:]] for query, docs in first.items()}


def _asking(reranker: Callable[..., object], names: Mapping[str, str], policy: Policy) -> Order:
    """The order that a function gives the top documents of each query."""

    def ask(top: Rankings) -> Rankings:
        answers = {query: reranker(names.get(query, query), list(docs)) for query, docs in top.items()}
        rows = ranking({query: dict.fromkeys(docs, 0) for query, docs in top.items()}, answers, policy)
        for query, doc in rows.filter(rows["grade"].is_null()).select("query", "doc").iter_rows():
            raise InputError(
                f"The reranker returned {doc!r} for query {query!r}, which is not among the documents it was given."
            )
        return _in_order(top, _by_query(rows))

    return ask


def _in_order(top: Rankings, order: Rankings) -> Rankings:
    """The same documents in the given order; those that it lacks follow in their own."""
    places = {query: {doc: i for i, doc in enumerate(order.get(query, []))} for query in top}
    return {
        query: sorted(docs, key=lambda doc: places[query].get(doc, len(places[query])))
        for query, docs in top.items()
    }
