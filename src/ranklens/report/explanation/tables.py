"""An explanation as people read it: what the measure does, what it saw, the steps as a table, and the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ranklens.metrics.about import parameters
from ranklens.tables.table import Lines, Printout, Table
from ranklens.words import counted, shortened

if TYPE_CHECKING:
    from ranklens.report.explanation.explain import Explanation, Step

_MOST_DOCUMENTS = 3  # named in a line of tied documents
_MOST_MISSED = 5


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
        "document": [_documents(step, widest_id) for step in steps],
    }
    columns["grade"] = []
    for step in steps:
        grades = step.grades[:_MOST_DOCUMENTS]
        shown = ["–" if grade is None or grade < 0 else f"{grade:g}" for grade in grades]
        columns["grade"].append(", ".join(shown) + (", …" if len(step.grades) > _MOST_DOCUMENTS else ""))
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


def _documents(step: Step, widest: int | None) -> str:
    names = {"start": "(before the first)", "left out": "…", "nothing": "(nothing retrieved)"}
    if step.kind in names:
        return names[step.kind]
    shown = [_id(document, widest) for document in step.documents[:_MOST_DOCUMENTS]]
    more = len(step.documents) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


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
