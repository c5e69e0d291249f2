"""An explanation as people read it: what the measure does, what it saw, the steps as a table, and the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ranklens.metrics.instances import parameters
from ranklens.tables.table import Lines, Printout, Table
from ranklens.words import counted, shortened

if TYPE_CHECKING:
    from ranklens.report.explanation.explain import Explanation

_MOST_DOCUMENTS = 3  # named in a line of tied documents
_MOST_MISSED = 5
# What lines without documents say in their place.
_IN_PLACE = {"start": "(before the first)", "left out": "…", "nothing": "(nothing retrieved)"}


def printout(explanation: Explanation, widest_id: int | None = None) -> Printout:
    """Everything; the last line is the value."""
    title = f"{explanation.measure} of query {explanation.query!r}: {explanation.description}"
    asked = [f"Question: {shortened(explanation.text, None)}"] if explanation.text else []
    facts, measure = explanation.facts, explanation.measure
    level = "grade above 0"
    if "rel" in measure.definition.parameters:
        level = f"grade {parameters(measure)['rel']:g} or more"
    seen = [
        *asked,
        f"{counted(facts['retrieved'], 'document')} retrieved, {facts['judged']:,} of them judged; "
        f"{facts['relevant']:,} relevant ({level}), {facts['found']:,} of them retrieved.",
        *_missed(explanation, widest_id),
        *explanation.notes,
    ]
    return Printout([Lines(title, seen), table(explanation, widest_id)])


def table(explanation: Explanation, widest_id: int | None = None) -> Table:
    """The steps and the formula; ids are cut after ``widest_id`` letters."""
    steps = explanation.steps
    ranks = [str(step.first) if step.first == step.last else f"{step.first}–{step.last}" for step in steps]
    columns: dict[str, list[str]] = {
        "rank": ["" if step.kind == "start" else rank for step, rank in zip(steps, ranks, strict=True)],
        "document": [],
        "grade": [],
    }
    for step in steps:
        names = ", ".join(_id(document, widest_id) for document in step.documents[:_MOST_DOCUMENTS])
        more = len(step.documents) - _MOST_DOCUMENTS
        columns["document"].append(
            _IN_PLACE.get(step.kind, f"{names} and {more} more" if more > 0 else names)
        )
        grades = ["–" if grade is None or grade < 0 else f"{grade:g}" for grade in step.grades]
        more_grades = ", …" if len(grades) > _MOST_DOCUMENTS else ""
        columns["grade"].append(", ".join(grades[:_MOST_DOCUMENTS]) + more_grades)
    for heading in explanation.headings:
        columns[heading] = _numbers([step.details.get(heading) for step in steps])
    if any(step.contribution is not None for step in steps):
        columns["contribution"] = [_decimals(step.contribution) for step in steps]
    columns["so far"] = [s.so_far if isinstance(s.so_far, str) else f"{s.so_far:.4f}" for s in steps]
    if explanation.ideal_heading:
        columns[explanation.ideal_heading] = _numbers([step.ideal for step in steps])
        columns["ideal so far"] = [_decimals(step.ideal_so_far) for step in steps]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return Table(list(columns), rows, note=explanation.calculation, left=2)


def _numbers(values: Sequence[float | None]) -> list[str]:
    """Whole numbers without decimals, if the column has no others."""
    whole = all(value is None or value == round(value) for value in values)
    return ["" if value is None else f"{value:.0f}" if whole else f"{value:.4f}" for value in values]


def _decimals(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else f"{value:.4f}"


def _id(document: str, widest: int | None) -> str:
    """Without letters that would break the line, and cut to fit a terminal."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in document)
    return shown if widest is None or len(shown) <= widest else shown[: widest - 1] + "…"


def _missed(explanation: Explanation, widest: int | None) -> list[str]:
    missed = explanation.missed
    if not missed:
        return []
    deepest = max((step.last for step in explanation.steps), default=0)
    shown = []
    for one in missed[:_MOST_MISSED]:
        reason = "not retrieved" if one.rank is None else f"rank {one.rank}"
        if one.rank is not None and 0 < deepest < one.rank:
            reason += f", below rank {deepest}"
        shown.append(f"{_id(one.document, widest)} (grade {one.grade:g}, {reason})")
    more = len(missed) - len(shown)
    return ["Missed: " + ", ".join(shown) + (f" and {more} more" if more else "") + "."]
