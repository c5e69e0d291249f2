"""A measure's value for one query, step by step: :func:`explain` → :class:`Explanation`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ranklens.data.matching.parsing import matching_of
from ranklens.data.matching.rules import Matching
from ranklens.data.qrels import read_qrels
from ranklens.data.readers.names import Names
from ranklens.data.run import read_run
from ranklens.errors import InputError
from ranklens.judging.judged import Judged
from ranklens.metrics import Measure, parse, with_rel
from ranklens.metrics.cuts import View, ideally, upto
from ranklens.metrics.formulas.gain import worth
from ranklens.metrics.instances import parameters
from ranklens.policy import Policy, make_policy
from ranklens.report.explanation.doubts import DOUBTS
from ranklens.report.explanation.one_query import OneQuery, read, remarks
from ranklens.report.explanation.terms import in_numbers, in_words
from ranklens.scores.evaluation import score

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.arrays import FloatArray
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

        rows = []
        for step in self.steps:
            row = {name: getattr(step, name) for name in ("kind", "first", "last")}
            row["documents"] = " ".join(step.documents)
            row["grades"] = " ".join("" if grade is None else f"{grade:g}" for grade in step.grades)
            row |= step.details
            after = ("contribution", "so_far", "ideal", "ideal_so_far")
            rows.append(row | {name: getattr(step, name) for name in after})
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
    qrels: object,
    run: object,
    *,
    query: object,
    policy: Policy | None = None,
    columns: Mapping[str, str] | None = None,
    match: Matching | str | None = None,
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
    matching = matching_of(match)

    def worked(measure: str | Measure, policy: Policy | None, rows: int) -> tuple[OneQuery, Explanation]:
        chosen = make_policy(policy, options)
        parsed = with_rel(measure if isinstance(measure, Measure) else parse(measure), chosen.rel)
        if parameters(parsed)["judged_only"]:
            chosen = replace(chosen, judged_only=True)
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise InputError(f"rows={rows!r} is not allowed; it is a whole number from 1.")
        data = read(qrels, run, str(query), chosen, columns, matching)
        return data, work_through(parsed, data, rows)

    if convention is None:
        return worked(measure, policy, rows)[1]
    # The number of a tool, with what is different about it in the notes.
    from ranklens.metrics import conventions

    tool = conventions.chosen(convention)
    asked = tool.measure(measure)
    # Read once, as the usual number is worked out of the same data.
    names = Names.of(columns, matching)
    qrels = read_qrels(qrels, names)
    run = read_run(run, qrels, names)
    tool_policy = policy or tool.policy_for([asked])
    data, explanation = worked(asked, tool_policy, rows)
    _, usual = worked(asked.definition.name + (f"@{asked.k}" if asked.k else ""), policy, 1)
    value = explanation.value
    if tool_policy.empty == "one" and not explanation.facts["relevant"]:
        value = 1.0
    theirs = f"{tool.name} gives {_short(value)} for {asked.shown}"
    for doubt in map(DOUBTS.__getitem__, tool.doubts(asked.shown)):
        if doubt.applies(data, asked):
            unknown = f"The number of {tool.name} for {asked.shown} is not known: {doubt.why}."
            theirs = f"{unknown} Here it is {_short(value)}"
            break
    differs = f"{theirs}, {usual.measure} is {_short(usual.value)}."
    return replace(explanation, value=value, notes=(differs, *tool.reasons(asked.shown), *explanation.notes))


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4f}"


def work_through(measure: Measure, data: OneQuery, rows: int = 20) -> Explanation:
    """Explain a measure for a query that has been read."""
    value = score(data.judged, measure)[measure][0]
    value = value if isinstance(value, str) else float(value)
    ideal = _Ideal.of(measure, data.judged)
    # To the end of the ranking or of the ideal one, whichever is longer, but not below the cutoff.
    last = data.ranked if ideal is None else max(data.ranked, int((ideal.worth > 0).sum()))
    last = last if measure.k is None else min(last, measure.k)
    places = _shown(data, last, rows)
    summed_up = sum(place.last - place.first + 1 for place in places if place.kind == "left out")
    note = f"{summed_up:,} ranks are summed up in the lines with …; raise rows to see them."
    retrieved, lowest = data.documents.head(data.ranked).to_list(), _relevant_from(measure)
    grades = [data.grades[document] for document in retrieved if document in data.grades]
    further = [data.grades[passage] for document in retrieved for passage in data.held.get(document, ())]
    params = parameters(measure)
    template = measure.definition.working.template(params)
    numbers = in_numbers(template, params, data.judged, show_number)
    equation = (str(measure), in_words(template), numbers, _short(value))
    return Explanation(
        measure=measure,
        query=data.query,
        value=value,
        steps=_steps(measure, data, places, ideal),
        calculation=" = ".join(part for part in equation if part),
        facts={
            "retrieved": data.ranked,
            "judged": sum(grade >= 0 for grade in grades),
            "relevant": sum(grade >= lowest for grade in data.grades.values()),
            "found": sum(grade >= lowest for grade in (*grades, *further)),
        },
        missed=_missed(measure, data, last),
        notes=(*([note] if summed_up else []), *remarks(data)),
        policy=data.policy,
        headings=tuple(measure.definition.working.columns),
        ideal_heading=ideal.heading if ideal else "",
    )


class _Ideal(NamedTuple):
    """The ideal ranking of one query: what it is worth at each rank, under a heading."""

    judged: Judged
    heading: str
    worth: FloatArray

    @classmethod
    def of(cls, measure: Measure, judged: Judged) -> _Ideal | None:
        """None if the measure knows no ideal ranking."""
        params, column = parameters(measure), measure.definition.working.ideal
        shown = column(params) if callable(column) else column
        if shown is None:
            return None
        if shown == "grade":
            best = ideally(judged)
            return cls(best, "ideal grade", best.hits.grade)
        best = ideally(judged, params["gain"], params["gains"])
        return cls(best, "ideal gain", worth(best.hits, params["gain"], params["gains"]).grade)


class _Place(NamedTuple):
    kind: Kind
    first: int
    last: int


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
    places, begin = [], 0
    for i in [*sorted(chosen), len(first)]:
        if i > begin:
            places.append(_Place("left out", int(first[begin]), int(end[i - 1])))
        if i < len(first):
            rank = int(first[i])
            kind: Kind = "document" if rank <= data.ranked else "nothing"
            places.append(_Place("tied" if data.tie_groups.get(rank, 1) > 1 else kind, rank, int(end[i])))
        begin = i + 1
    return places


def _steps(measure: Measure, data: OneQuery, places: list[_Place], ideal: _Ideal | None) -> tuple[Step, ...]:
    ends = np.array([0, *(place.last for place in places)])
    ends[-1] = max(ends[-1], data.ranked)  # what lies below a cutoff belongs to the last line
    cut = upto(data.judged, ends, growing=measure.definition.working.every_rank_counts)
    so_far = measure(cut).tolist()
    ranks = [place.first for place in places if place.kind == "document"]
    # An unjudged document is below any grade.
    grades = [data.grades.get(data.documents[rank - 1], -np.inf) for rank in ranks]
    view = View(data.in_one_order, np.array(ranks, dtype=np.int64), np.array(grades), parameters(measure))
    details: dict[int, dict[str, float | None]] = {rank: {} for rank in ranks}
    for name, column in measure.definition.working.columns.items() if ranks else ():
        for rank, value in zip(ranks, column(view).tolist(), strict=True):
            details[rank][name] = None if np.isnan(value) else value
    at_best, best_so_far = dict[int, float](), list[float]()
    if ideal is not None:
        at_best = {rank: worth for rank, worth in enumerate(ideal.worth.tolist(), start=1) if worth > 0}
        best_so_far = measure(upto(ideal.judged, ends)).tolist()
    steps = [Step("start", 0, 0, (), (), {}, _added(so_far[0], 0.0), so_far[0])] if so_far[0] else []
    for i, place in enumerate(places):
        documents: tuple[str, ...] = ()
        if place.kind in ("document", "tied"):
            # The cutoff may cut places, but not the documents that compete for them.
            listed = data.documents.slice(place.first - 1, data.tie_groups.get(place.first, 1))
            documents = tuple(chain.from_iterable((doc, *data.held.get(doc, ())) for doc in listed))
        steps.append(
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
    return tuple(steps)


def _added(after: float | str, before: float | str) -> float | None:
    return None if isinstance(after, str) or isinstance(before, str) else after - before


def _relevant_from(measure: Measure) -> float:
    """The lowest grade that counts; any positive one if the measure works with grades."""
    has_level = "rel" in measure.definition.parameters
    return float(parameters(measure)["rel"]) if has_level else float(np.nextafter(0, 1))


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


def show_number(number: float) -> str:
    """A whole number without decimals, others with four.

    >>> show_number(3.0), show_number(2 / 3)
    ('3', '0.6667')
    """
    return f"{number:.0f}" if number == round(number) else f"{number:.4f}"
