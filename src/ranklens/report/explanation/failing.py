"""The queries that a run fails: what was asked, what was expected, what was retrieved instead, and why that fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

from ranklens.errors import InputError, MeasureError
from ranklens.judging.documents import judgments, ranking, with_further
from ranklens.metrics import Measure, parse, with_rel
from ranklens.metrics.instances import parameters
from ranklens.report.explanation.causes import CAUSES, Case, causes_of, unchecked
from ranklens.report.explanation.evidence import Evidence, Looked
from ranklens.report.explanation.shared import Shared, shared_by, shared_table
from ranklens.scores.evaluation import score
from ranklens.stats import inputs
from ranklens.tables.table import Printout, Shown, Table
from ranklens.words import counted, percent, plural, several, shortened

if TYPE_CHECKING:
    import polars as pl

    from ranklens.judging.inputs import Sources
    from ranklens.judging.judged import Judged
    from ranklens.policy import Policy
    from ranklens.scores import Scores

_MOST_DOCUMENTS, _SHOWN_DOCUMENTS = 10, 3  # kept of a ranking; named in a cell of a table
_WIDEST_TEXT = 60  # letters of a question, in plain text
_MOST_GROUPED = 1000  # failing queries whose causes are counted
_ONE_IS_ENOUGH = ("Success", "RR")  # measures of the first expected document alone
COLUMNS = (
    "query",
    "text",
    "value",
    "expected",
    "retrieved",
    "grades",
    "reason",
    "why",
    "rank",
    "cause",
    "also",
)  # of a frame

Reason = Literal[
    "failed", "missing", "empty", "nothing relevant", "not retrieved", "too low", "in part", "lower down"
]


@dataclass(frozen=True)
class Document:
    """A retrieved document; the grade is None if it was not judged."""

    rank: int
    doc: str
    grade: float | None

    @property
    def with_grade(self) -> str:
        is_judged = self.grade is not None and self.grade >= 0
        return f"{self.doc} ({f'{self.grade:g}' if is_judged else 'unjudged'})"


@dataclass(frozen=True)
class FailingQuery:
    """A query with a low value, and why it is low.

    The reason is ``failed`` (the call ended in an error), ``missing`` (from the run), ``empty`` (nothing was retrieved),
    ``nothing relevant`` (among the judged), ``not retrieved`` (no expected document was), ``too low`` (they come below the
    measure's cutoff), ``in part`` (some are above it) or ``lower down`` (the measure has no cutoff).
    """

    query: str
    text: str | None
    value: float
    expected: tuple[str, ...]
    documents: tuple[Document, ...]  # the first retrieved
    reason: Reason
    first: int | None = None  # rank of the first expected document
    found: int = 0  # expected documents that count
    error: str | None = None
    causes: tuple[str, ...] = ()  # that apply, the decisive one first: names of ``causes.CAUSES``
    details: str = ""  # of the first
    ranks: Mapping[str, int] = field(default_factory=dict, repr=False)  # of the expected documents

    @property
    def cause(self) -> str:
        """The decisive cause, under which the query is counted."""
        return self.causes[0]

    def why(self, k: int | None) -> str:
        """The reason in words; ``k`` is the measure's cutoff."""
        words: Mapping[Reason, str] = {
            "failed": f"failed: {self.error}" if self.error else "failed",
            "missing": "missing from the run",
            "empty": "nothing retrieved",
            "nothing relevant": "no document is judged relevant",
            "not retrieved": "not retrieved",
            "too low": f"first relevant at rank {self.first}",
            "in part": f"{self.found:,} of {len(self.expected):,} relevant in the top {k}, first at rank {self.first}",
            "lower down": f"{self.found:,} of {len(self.expected):,} relevant retrieved, first at rank {self.first}",
        }
        return f"{words[self.reason]}; {self.details}" if self.details else words[self.reason]


@dataclass(frozen=True)
class Failing(Shown, Sequence[FailingQuery]):
    """The queries with the lowest values of a measure, the lowest first; made by :meth:`ranklens.Scores.failing`."""

    measure: Measure
    rows: tuple[FailingQuery, ...]
    below: int  # how many queries have less than the best value
    queries: int  # how many were evaluated
    by_cause: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # the queries of each cause, of all that fail
    shared: tuple[Shared, ...] = ()  # what failing queries have more often than the others
    unchecked: str = ""  # which causes could not be looked for

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> FailingQuery: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[FailingQuery, ...]: ...

    def __getitem__(self, place: int | slice) -> FailingQuery | tuple[FailingQuery, ...]:
        return self.rows[place]

    def __iter__(self) -> Iterator[FailingQuery]:
        return iter(self.rows)

    def table(self, *, whole: bool = False) -> Table:
        """One row per query; long questions are cut, unless they are asked for as a whole."""
        has_texts, widest = any(one.text is not None for one in self.rows), None if whole else _WIDEST_TEXT
        rows = [
            [
                one.query,
                *([shortened(one.text or "", widest)] if has_texts else []),
                _some(one.expected),
                _some([document.with_grade for document in one.documents], "nothing"),
                one.why(self.measure.k),
                f"{one.value:.4f}",
            ]
            for one in self.rows
        ]
        question = ["question"] if has_texts else []
        header = ["query", *question, "expected", "retrieved instead", "why", self.measure.shown]
        is_inverse = self.measure.definition.better == "lower"
        worst, side = ("highest", "above") if is_inverse else ("lowest", "below")
        best, queries = f"{_best(self.measure):g}", counted(self.queries, "query")
        if not self.below:
            note = f"{queries}, all with {best}: none fails."
        else:
            shown = f"the {len(self):,} {worst} {plural(len(self), 'is', 'are')} shown"
            shown = shown if len(self) < self.below else "all are shown"
            note = f"{self.below:,} of {queries} {plural(self.below, 'is', 'are')} {side} {best}; {shown}."
        title = f"Failing queries: the {worst} {self.measure.shown}"
        return Table(header, rows, note=note, title=title, left=len(header) - 1)

    def causes_table(self) -> Table:
        """One row per cause: how many failing queries it has, and what to look at."""
        total = sum(map(len, self.by_cause.values()))
        rows = [
            [one.name, one.look_at, several(queries, 2), f"{len(queries):,}", percent(len(queries) / total)]
            for one in sorted(CAUSES, key=lambda cause: -len(self.by_cause.get(cause.name, ())))
            if (queries := self.by_cause.get(one.name))
        ]
        notes = [f"Of the {total:,} lowest of {self.below:,}."] if total < self.below else []
        header = ["cause", "look at", "such as", "queries", "share"]
        note = " ".join([*notes, *([self.unchecked] if self.unchecked else [])])
        return Table(header, rows, note=note, title="Why they fail", left=3)

    def tables(self, *, whole: bool = False) -> list[Table]:
        """The queries, then their causes, then what they have in common if anything is sure."""
        shared = shared_table(self.shared, self.below, self.queries)
        return [
            self.table(whole=whole),
            *([self.causes_table()] if self.by_cause else []),
            *([shared] if shared is not None else []),
        ]

    def printout(self) -> Printout:
        """All that ``print`` shows."""
        return Printout(self.tables())

    def to_markdown(self) -> str:
        """Tables for a pull request, with whole questions."""
        return Printout(self.tables(whole=True)).to_markdown()

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame with one row per query: query, text, value, expected, retrieved, grades, reason, why, rank, cause, also."""
        import polars as pl

        kinds: dict[str, pl.DataType] = dict.fromkeys(COLUMNS, pl.String())
        kinds |= dict.fromkeys(("expected", "retrieved", "also"), pl.List(pl.String))
        kinds |= {"value": pl.Float64(), "grades": pl.List(pl.Float64), "rank": pl.Int64()}
        return pl.DataFrame(self.to_dicts(), schema=kinds)

    def to_dicts(self) -> list[dict[str, object]]:
        """The rows of :meth:`to_frame`."""
        return [
            {
                "query": one.query,
                "text": one.text,
                "value": one.value,
                "expected": list(one.expected),
                "retrieved": [document.doc for document in one.documents],
                "grades": [document.grade for document in one.documents],
                "reason": one.reason,
                "why": one.why(self.measure.k),
                "rank": one.first,
                "cause": one.cause,
                "also": list(one.causes[1:]),
            }
            for one in self.rows
        ]


def failing(
    scores: Scores, measure: str | Measure | None, n: int, queries: object, looked: Looked
) -> Failing:
    """The ``n`` queries with the lowest values, without those that reach the best value."""
    inputs.count(n, "n")
    sources = scores.sources
    if sources is None:
        raise InputError(
            "These scores do not know the rankings that they were made from. Evaluate with ranklens.evaluate, or with evaluate_embeddings(…, top=100), to see what failed."
        )
    asked = _measure(scores, measure)
    name = str(asked)
    values = scores.values[name] if name in scores.values else score(scores.judged, [asked]).values[name]
    best, sign = _best(asked), -1 if asked.definition.better == "lower" else 1
    pairs = zip(scores.queries, values.tolist(), strict=True)
    # Queries with the same value stay in the order of the queries.
    order = sorted((pair for pair in pairs if pair[1] * sign < best * sign), key=lambda pair: sign * pair[1])
    chosen = dict(order[: max(n, _MOST_GROUPED)])
    judged_only = bool(parameters(asked)["judged_only"]) or scores.policy.judged_only
    policy = replace(scores.policy, judged_only=judged_only)
    read = _Read.of(sources, policy, list(chosen), queries, asked.k)
    # Where only expected documents are judged, the others were never meant to be.
    judges_others = bool((scores.judged.ideal.grade <= 0).any())
    number = {query: i for i, query in enumerate(scores.queries)}
    rows = [
        read.failing(query, value, asked, scores.judged, number[query]) for query, value in chosen.items()
    ]
    evidence = Evidence.of(
        sources, policy, looked, [(one.query, one.expected, one.documents) for one in rows]
    )
    by_cause: dict[str, tuple[str, ...]] = {}
    rows = [_explained(one, asked, evidence, judges_others=judges_others) for one in rows]
    for one in rows:
        by_cause[one.cause] = (*by_cause.get(one.cause, ()), one.query)
    missed = unchecked(evidence.library.is_given, bool(evidence.texts), looked.first_stage is not None)
    shared = shared_by(scores.queries, {query for query, _ in order}, read.texts, read.fields)
    return Failing(asked, tuple(rows[:n]), len(order), len(scores.queries), by_cause, shared, missed)


def _explained(
    one: FailingQuery, measure: Measure, evidence: Evidence, *, judges_others: bool
) -> FailingQuery:
    """The same with its causes, and no more documents than people look at."""
    counting = {doc for doc, rank in one.ranks.items() if measure.k is None or rank <= measure.k}
    is_enough = bool(counting) and measure.definition.name in _ONE_IS_ENOUGH
    case = Case(
        one.reason,
        () if is_enough else [doc for doc in one.expected if doc not in counting],
        one.ranks,
        one.documents,
        measure.k,
        evidence.library,
        evidence.texts_of(one.query, one.expected),
        evidence.before.get(one.query, {}) if evidence.before is not None else None,
        judges_others=judges_others,
    )
    causes = causes_of(case)
    names = tuple(name for name, _ in causes)
    return replace(one, documents=one.documents[:_MOST_DOCUMENTS], causes=names, details=causes[0][1])


def _measure(scores: Scores, measure: str | Measure | None) -> Measure:
    """The measure asked for, else the first; in the spelling that was evaluated, if it was."""
    if isinstance(measure, int):
        raise MeasureError(f"{measure} is not a measure; pass the number of queries as n={measure}.")
    if measure is None:
        asked = scores.measures[0]
    else:
        asked = with_rel(parse(measure) if isinstance(measure, str) else measure, scores.policy.rel)
    if asked.definition.aggregate not in ("mean", "geometric"):
        raise MeasureError(
            f"{asked} is not a mean, so no query fails by it; name a measure such as 'Success@5'."
        )
    return asked


def _best(measure: Measure) -> float:
    definition = measure.definition
    return definition.low if definition.better == "lower" else definition.high


@dataclass(frozen=True)
class _Read:
    """Judgments, rankings, texts and errors of some queries."""

    graded: Mapping[str, Sequence[tuple[str, float]]]  # judged documents with their grades, the best first
    ranked: Mapping[str, Sequence[Document]]  # the first documents, and the judged ones
    sizes: Mapping[str, int]  # documents of each ranking
    texts: Mapping[str, str]
    fields: Mapping[str, Mapping[str, Any]]  # what else is said of each query
    failed: Mapping[str, str]
    present: set[str] | None  # queries of the run; None where it lists no empty ones
    policy: Policy

    @classmethod
    def of(
        cls, sources: Sources, policy: Policy, chosen: Sequence[str], queries: object, k: int | None
    ) -> _Read:
        import polars as pl

        qrels, run = sources.read(policy)
        gold = judgments(qrels).filter(pl.col("query").is_in(list(chosen))).sort("grade", descending=True)
        whole = replace(policy, judged_only=False)
        ranked = with_further(ranking(qrels, run, whole, queries=chosen), run, gold)
        sizes = dict(ranked.group_by("query").len().iter_rows())
        shown = max(k or 0, _MOST_DOCUMENTS)
        ranked = ranked.filter((pl.col("rank") <= shown) | pl.col("grade").is_not_null())
        documents: dict[str, list[Document]] = {}
        for query, rank, doc, grade in ranked.select("query", "rank", "doc", "grade").iter_rows():
            documents.setdefault(query, []).append(Document(rank, doc, grade))
        graded: dict[str, list[tuple[str, float]]] = {}
        for query, doc, grade in gold.select("query", "doc", "grade").iter_rows():
            graded.setdefault(query, []).append((doc, grade))
        texts = {**run.texts, **qrels.texts, **(sources.texts or {})}
        fields = dict(qrels.fields or {})
        if queries is not None:
            from ranklens.data.files.queries import read_queries

            asked = read_queries(queries)
            texts, fields = {**texts, **asked.texts}, {**fields, **asked.fields}
        failed = {**(run.failed or {}), **(sources.failed or {})}
        present = None if run.by_query is None else {str(query) for query in run.by_query}
        return cls(graded, documents, sizes, texts, fields, failed, present, policy)

    def failing(
        self, query: str, value: float, measure: Measure, judged: Judged, number: int
    ) -> FailingQuery:
        """One query, which has this number among those that were judged."""
        ranked, retrieved = self.ranked.get(query, ()), int(judged.retrieved[number])
        if self.policy.judged_only:  # the measure does not see unjudged documents
            seen = [one for one in ranked if one.grade is not None and one.grade >= 0]
            places = {rank: place for place, rank in enumerate(dict.fromkeys(one.rank for one in seen), 1)}
            ranked = [replace(one, rank=places[one.rank]) for one in seen]
        if retrieved and query not in self.ranked:
            raise InputError(
                f"The ranking of query {query!r} could be read only once; give a list in place of an iterator.",
                query=query,
            )
        rel = dict(measure.params).get("rel", self.policy.rel)
        assert isinstance(rel, (int, float))
        expected = tuple(doc for doc, grade in self.graded.get(query, ()) if grade >= rel)
        ranks = [one.rank for one in ranked if one.grade is not None and one.grade >= rel]
        if retrieved > self.sizes.get(query, 0):  # only the best were kept, but all ranks were counted
            # With averaged ties, all that the relevant documents may have.
            hits = (judged.condensed() if self.policy.judged_only else judged).relevant(rel)
            ranks = sorted({*hits.rank[hits.query == number].tolist()})
        counting = [rank for rank in ranks if measure.k is None or rank <= measure.k]
        return FailingQuery(
            query=query,
            text=self.texts.get(query),
            value=value,
            expected=expected,
            documents=tuple(ranked[: measure.k or _MOST_DOCUMENTS]),
            reason=self._reason(query, bool(expected), ranks, counting, measure.k),
            first=min(ranks, default=None),
            found=len(counting),
            error=self.failed.get(query),
            ranks={one.doc: one.rank for one in reversed(ranked) if one.doc in expected},
        )

    def _reason(
        self, query: str, has_relevant: bool, ranks: Sequence[int], counting: Sequence[int], k: int | None
    ) -> Reason:
        if query in self.failed:
            return "failed"
        if query not in self.ranked:
            return "empty" if self.present is not None and query in self.present else "missing"
        if not has_relevant:
            return "nothing relevant"
        if not ranks:
            return "not retrieved"
        if not counting:
            return "too low"
        return "lower down" if k is None else "in part"


def _some(names: Sequence[str], none: str = "") -> str:
    more = len(names) - _SHOWN_DOCUMENTS
    return (", ".join(names[:_SHOWN_DOCUMENTS]) + (f" and {more} more" if more > 0 else "")) or none
