"""A measure's value for one query, step by step: :func:`explain` → :class:`Explanation`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ranklens.data.matching.rules import Matching
from ranklens.errors import InputError
from ranklens.judging.judged import Judged
from ranklens.metrics import Measure, parse, with_rel
from ranklens.metrics.about import parameters
from ranklens.metrics.cuts import View, ideally, upto
from ranklens.metrics.formulas.gain import worth
from ranklens.policy import Policy, make_policy
from ranklens.report.explanation.doubts import DOUBTS
from ranklens.report.explanation.one_query import OneQuery, read, remarks
from ranklens.report.explanation.terms import in_numbers, in_words
from ranklens.scores.evaluation import score

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.metrics.conventions import Convention
    from ranklens.policy import PolicyOptions
    from ranklens.tables.table import Table

FORMAT_VERSION = 1  # of to_json; 1: first version
Kind = Literal["start", "document", "tied", "left out", "nothing"]


@dataclass(frozen=True)
class Step:
    """One line of an explanation: a document at its rank, documents that tie, or ranks that are summed up.

    ``kind`` is ``start`` (the value before the first document, if that is not 0), ``document``, ``tied``, ``left out``, or
    ``nothing`` (a rank that only the ideal ranking has). ``contribution`` is what the line adds to the value, ``so_far`` the
    value of the ranking down to here; ``ideal`` is the grade or gain of the ideal ranking at this rank, ``ideal_so_far`` its
    value. None means that something does not apply.
    """

    kind: Kind
    first: int
    last: int
    documents: tuple[str, ...]
    grades: tuple[float | None, ...]
    details: Mapping[str, float | None]
    contribution: float | None
    so_far: float | str
    ideal: float | None = None
    ideal_so_far: float | None = None


@dataclass(frozen=True)
class Missed:
    """A relevant document that does not count: not retrieved, or below the last rank that the measure looks at."""

    document: str
    grade: float
    rank: int | None


@dataclass(frozen=True)
class Explanation:
    """How a measure arrives at its value for one query; returned by :func:`ranklens.explain`."""

    measure: Measure
    query: str
    value: float | str
    steps: tuple[Step, ...]
    calculation: str  # the formula, in words and in numbers
    facts: Mapping[str, int]  # documents: retrieved, judged, relevant, found
    missed: tuple[Missed, ...]
    notes: tuple[str, ...]
    policy: Policy
    headings: tuple[str, ...] = ()  # of the details
    ideal_heading: str = ""  # of Step.ideal
    text: str | None = None  # of the query

    @property
    def description(self) -> str:
        """What the measure does, in a sentence."""
        first = self.measure.definition.description.partition("\n\n")[0]
        return first.replace("\n", " ").replace("``", "")

    def table(self) -> Table:
        """The steps, and the formula below them."""
        from ranklens.report.explanation.tables import table

        return table(self)

    def __str__(self) -> str:
        from ranklens.report.explanation.tables import printout

        return str(printout(self, widest_id=40))

    def to_markdown(self) -> str:
        from ranklens.report.explanation.tables import printout

        return printout(self).to_markdown()

    def to_html(self) -> str:
        """A piece of HTML; ids are data and are escaped."""
        from ranklens.report.explanation.tables import printout

        return printout(self).to_html()

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_frame(self) -> pl.DataFrame:
        """A Polars frame with one row per step; documents that share a line are parted by a space."""
        import polars as pl

        rows = [
            {
                "kind": step.kind,
                "first": step.first,
                "last": step.last,
                "documents": " ".join(step.documents),
                "grades": " ".join("" if grade is None else f"{grade:g}" for grade in step.grades),
                **step.details,
                "contribution": step.contribution,
                "so_far": step.so_far,
                "ideal": step.ideal,
                "ideal_so_far": step.ideal_so_far,
            }
            for step in self.steps
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_json(self) -> str:
        """Everything, with the policy; numbers are not rounded."""
        plain = {
            "format_version": FORMAT_VERSION,
            "measure": str(self.measure),
            "query": self.query,
            "text": self.text,
            "value": self.value,
            "description": self.description,
            "calculation": self.calculation,
            "facts": dict(self.facts),
            "steps": [asdict(step) for step in self.steps],
            "missed": [asdict(missed) for missed in self.missed],
            "notes": list(self.notes),
            "policy": asdict(self.policy),
        }
        return json.dumps(plain, ensure_ascii=False, indent=2)


def explain(
    measure: str | Measure,
    qrels: Any,
    run: Any,
    *,
    query: Any,
    policy: Policy | None = None,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
    rows: int = 20,
    convention: str | Convention | None = None,
    **options: Unpack[PolicyOptions],
) -> Explanation:
    """Show how a measure arrives at its value for one query.

    ``qrels``, ``run`` and policies are those of :func:`ranklens.evaluate`. Of a long ranking about ``rows`` lines are shown,
    those that matter; the rest are summed up. ``convention="xgboost"`` explains the number of that tool, and says why it differs
    from the usual one.

    >>> print(explain("P@3", {"q": {"a", "c"}}, {"q": ["x", "a", "b"]}, query="q"))
    P@3 of query 'q': Precision: relevant documents in the top k, divided by k.
    - 3 documents retrieved, 1 of them judged; 2 relevant (grade 1 or more), 1 of them retrieved.
    - Missed: c (grade 1, not retrieved).
    - A grade of – marks an unjudged document; it counts as not relevant.
    <BLANKLINE>
    rank  document  grade  found  contribution  so far  ideal grade  ideal so far
    ----  --------  -----  -----  ------------  ------  -----------  ------------
    1     x             –      0             0  0.0000            1        0.3333
    2     a             1      1        0.3333  0.3333            1        0.6667
    3     b             –      1             0  0.3333                     0.6667
    <BLANKLINE>
    P@3 = relevant found / k = 1 / 3 = 0.3333
    """
    if convention is not None:
        return _by_convention(
            measure, (qrels, run, str(query)), convention, policy, rows, columns, match, options
        )
    chosen = make_policy(policy, options)
    parsed = with_rel(measure if isinstance(measure, Measure) else parse(measure), chosen.rel)
    if parameters(parsed)["judged_only"]:
        chosen = replace(chosen, judged_only=True)
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InputError(f"rows={rows!r} is not allowed; it is a whole number from 1.")
    return work_through(parsed, read(qrels, run, str(query), chosen, columns, match), rows)


def _by_convention(
    measure: str | Measure,
    data: tuple[Any, Any, str],
    convention: str | Convention,
    policy: Policy | None,
    rows: int,
    columns: Mapping[str, str] | None,
    match: Matching | None,
    options: PolicyOptions,
) -> Explanation:
    """The number of a tool, with what is different about it in the notes."""
    from ranklens.metrics.conventions import chosen as of

    tool = of(convention)
    asked = tool.measure(measure)
    qrels, run, query = data
    under = policy or tool.policy_for([asked])
    found = explain(
        asked, qrels, run, query=query, policy=under, columns=columns, match=match, rows=rows, **options
    )
    usual = asked.definition.name + (f"@{asked.k}" if asked.k else "")
    plain = explain(
        usual, qrels, run, query=query, policy=policy, columns=columns, match=match, rows=1, **options
    )
    reasons = tool.reasons(asked.shown)
    value = found.value
    if under.empty == "one" and not found.facts["relevant"]:
        value = 1.0
    data_of_query = read(qrels, run, query, make_policy(under, options), columns, match)
    doubts = [DOUBTS[name] for name in tool.doubts(asked.shown)]
    doubt = next((one.why for one in doubts if one.applies(data_of_query, asked)), None)
    if doubt:
        theirs = (
            f"The number of {tool.name} for {asked.shown} is not known: {doubt}. Here it is {_short(value)}"
        )
    else:
        theirs = f"{tool.name} gives {_short(value)} for {asked.shown}"
    differs = f"{theirs}, {plain.measure} is {_short(plain.value)}."
    return replace(found, value=value, notes=(differs, *reasons, *found.notes))


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4f}"


def work_through(measure: Measure, data: OneQuery, rows: int = 20) -> Explanation:
    """Explain a measure for a query that has been read."""
    value = score(data.judged, measure)[measure][0]
    value = value if isinstance(value, str) else float(value)
    ideal = _ideal_ranking(measure, data.judged)
    last = _last_rank(measure, data, ideal)
    shown = _shown(data, last, rows)
    return Explanation(
        measure=measure,
        query=data.query,
        value=value,
        steps=_steps(measure, data, shown, ideal),
        calculation=_calculation(measure, data, value),
        facts=_facts(measure, data),
        missed=_missed(measure, data, last),
        notes=_notes(data, shown),
        policy=data.policy,
        headings=tuple(measure.definition.working.columns),
        ideal_heading=ideal.heading if ideal else "",
    )


class _Ideal(NamedTuple):
    """The ideal ranking of one query: what it is worth at each rank, under a heading."""

    judged: Judged
    heading: str
    worth: FloatArray


def _ideal_ranking(measure: Measure, judged: Judged) -> _Ideal | None:
    """The ideal ranking of the one query, if the measure has one."""
    params, beside = parameters(measure), measure.definition.working.ideal
    shown = beside(params) if callable(beside) else beside
    if shown is None:
        return None
    if shown == "grade":
        best = ideally(judged)
        return _Ideal(best, "ideal grade", best.hits.grade)
    best = ideally(judged, params["gain"], params["gains"])
    return _Ideal(best, "ideal gain", worth(best.hits, params["gain"], params["gains"]).grade)


class _Place(NamedTuple):
    kind: Kind
    first: int
    last: int


def _last_rank(measure: Measure, data: OneQuery, ideal: _Ideal | None) -> int:
    """The end of the ranking or of the ideal one, whichever is longer; at most the cutoff."""
    last = data.ranked
    if ideal is not None:
        last = max(last, int((ideal.worth > 0).sum()))
    return last if measure.k is None else min(last, measure.k)


def _shown(data: OneQuery, last: int, rows: int) -> list[_Place]:
    """About ``rows`` of the places down to a rank: those with a positive grade, then the first ones; the others are merged.

    A place is a rank, or the ranks that tied documents share. There may be millions, so only those shown become objects.
    """
    is_first = np.ones(last, dtype=bool)
    for rank, size in data.tie_groups.items():
        is_first[rank : rank + size - 1] = False
    first = np.flatnonzero(is_first) + 1
    end = np.append(first[1:] - 1, last)
    positive = np.flatnonzero(data.listed["grade"].head(last).to_numpy() > 0) + 1
    matter = dict.fromkeys((np.searchsorted(first, positive, side="right") - 1).tolist())
    chosen = set(list(matter)[:rows])
    chosen.update(islice((i for i in range(len(first)) if i not in chosen), rows - len(chosen)))
    found, begin = [], 0
    for i in [*sorted(chosen), len(first)]:
        if i > begin:
            found.append(_Place("left out", int(first[begin]), int(end[i - 1])))
        if i < len(first):
            found.append(_Place(_kind(data, int(first[i])), int(first[i]), int(end[i])))
        begin = i + 1
    return found


def _kind(data: OneQuery, rank: int) -> Kind:
    if data.tie_groups.get(rank, 1) > 1:
        return "tied"
    return "document" if rank <= data.ranked else "nothing"


def _steps(measure: Measure, data: OneQuery, places: list[_Place], ideal: _Ideal | None) -> tuple[Step, ...]:
    ends = np.array([0, *(place.last for place in places)])
    ends[-1] = max(ends[-1], data.ranked)  # what lies below a cutoff belongs to the last line
    cut = upto(data.judged, ends, growing=measure.definition.working.every_rank_counts)
    so_far = measure(cut).tolist()
    details = _details(measure, data, [place.first for place in places if place.kind == "document"])
    at_best, best_so_far = _beside(measure, ideal, ends)
    found = [Step("start", 0, 0, (), (), {}, _added(so_far[0], 0.0), so_far[0])] if so_far[0] else []
    for i, place in enumerate(places):
        documents = _documents(data, place)
        found.append(
            Step(
                *place,
                documents,
                tuple(data.grades.get(document) for document in documents),
                details.get(place.first, {}) if place.kind == "document" else {},
                _added(so_far[i + 1], so_far[i]),
                so_far[i + 1],
                at_best.get(place.first) if place.kind in ("document", "nothing") else None,
                best_so_far[i + 1] if best_so_far else None,
            )
        )
    return tuple(found)


def _added(after: float | str, before: float | str) -> float | None:
    return None if isinstance(after, str) or isinstance(before, str) else after - before


def _documents(data: OneQuery, place: _Place) -> tuple[str, ...]:
    if place.kind not in ("document", "tied"):
        return ()
    # The cutoff may cut places, but not the documents that compete for them.
    size = data.tie_groups.get(place.first, 1)
    listed = data.documents.slice(place.first - 1, size)
    return tuple(passage for document in listed for passage in (document, *data.held.get(document, ())))


def _details(measure: Measure, data: OneQuery, ranks: list[int]) -> dict[int, dict[str, float | None]]:
    """The columns of the measure at some ranks."""
    # An unjudged document is below any grade.
    grades = [data.grades.get(data.documents[rank - 1], -np.inf) for rank in ranks]
    view = View(data.in_one_order, np.array(ranks, dtype=np.int64), np.array(grades), parameters(measure))
    found: dict[int, dict[str, float | None]] = {rank: {} for rank in ranks}
    for name, column in measure.definition.working.columns.items() if ranks else ():
        for rank, value in zip(ranks, column(view).tolist(), strict=True):
            found[rank][name] = None if np.isnan(value) else value
    return found


def _beside(measure: Measure, ideal: _Ideal | None, ends: IntArray) -> tuple[dict[int, float], list[float]]:
    """Of the ideal ranking: grade or gain by rank, and the value after each of ``ends``."""
    if ideal is None:
        return {}, []
    at = {rank: worth for rank, worth in enumerate(ideal.worth.tolist(), start=1) if worth > 0}
    return at, measure(upto(ideal.judged, ends)).tolist()


def _relevant_from(measure: Measure) -> float:
    """The lowest grade that counts; any positive one if the measure works with grades."""
    has_level = "rel" in measure.definition.parameters
    return float(parameters(measure)["rel"]) if has_level else float(np.nextafter(0, 1))


def _facts(measure: Measure, data: OneQuery) -> dict[str, int]:
    lowest = _relevant_from(measure)
    shown = data.documents.head(data.ranked).to_list()
    found = [data.grades[document] for document in shown if document in data.grades]
    further = [data.grades[passage] for document in shown for passage in data.held.get(document, ())]
    return {
        "retrieved": data.ranked,
        "judged": sum(grade >= 0 for grade in found),
        "relevant": sum(grade >= lowest for grade in data.grades.values()),
        "found": sum(grade >= lowest for grade in (*found, *further)),
    }


def _missed(measure: Measure, data: OneQuery, last: int) -> tuple[Missed, ...]:
    """Relevant documents that are not retrieved, or below the last rank that counts and not tied with it."""
    ends = [rank + size - 1 for rank, size in data.tie_groups.items() if rank <= last]
    seen = max([min(last, data.ranked), *ends])
    graded = data.listed.select("doc", "grade").with_row_index("rank", offset=1).drop_nulls("grade")
    rank = dict(graded.select("doc", "rank").iter_rows())
    rank |= {
        passage: rank[document]
        for document, passages in data.held.items()
        if document in rank
        for passage in passages
    }
    lowest = _relevant_from(measure)
    missed = [
        Missed(document, grade, rank.get(document))
        for document, grade in data.grades.items()
        if grade >= lowest and not rank.get(document, np.inf) <= seen
    ]
    return tuple(sorted(missed, key=lambda m: (-m.grade, m.rank or np.inf, m.document)))


def _notes(data: OneQuery, shown: list[_Place]) -> tuple[str, ...]:
    summed_up = sum(place.last - place.first + 1 for place in shown if place.kind == "left out")
    told = f"{summed_up:,} ranks are summed up in the lines with …; raise rows to see them."
    return (*([told] if summed_up else []), *remarks(data))


def _calculation(measure: Measure, data: OneQuery, value: float | str) -> str:
    """The measure, its formula in words and in numbers, and the value, as one line of equations."""
    params = parameters(measure)
    template = measure.definition.working.template(params)
    numbers = in_numbers(template, params, data.judged, show_number)
    shown = value if isinstance(value, str) else f"{value:.4f}"
    return " = ".join(part for part in (str(measure), in_words(template), numbers, shown) if part)


def show_number(number: float) -> str:
    """A whole number without decimals, others with four.

    >>> show_number(3.0), show_number(2 / 3)
    ('3', '0.6667')
    """
    return f"{number:.0f}" if number == round(number) else f"{number:.4f}"
