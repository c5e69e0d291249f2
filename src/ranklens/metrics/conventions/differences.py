"""Who computes a measure otherwise: the conventions, seen from our measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ranklens.errors import MeasureError
from ranklens.metrics import Measure, look_up, make, parse
from ranklens.metrics.conventions.tools import CONVENTIONS
from ranklens.metrics.conventions.translation import Convention
from ranklens.words import several


@dataclass(frozen=True)
class Difference:
    """What a tool computes under the name of a measure of ours, which it ``called`` so; ``cutoff`` is its own where none is given."""

    tool: str
    called: str
    ours: Measure
    reasons: tuple[str, ...]
    cutoff: int | None = None


def differences(name: str) -> list[Difference]:
    """The tools that compute a measure otherwise, or something else under its name.

    >>> [(found.tool, str(found.ours)) for found in differences("ERR")]
    [('elasticsearch', 'ERR'), ('gdeval', 'ERR(max_grade=4)')]
    """
    known = look_up(name).name
    return [found for tool in CONVENTIONS.values() for found in _of_tool(tool, known)]


def in_sentences(name: str) -> list[str]:
    """The same in sentences, with tools that do the same together.

    >>> in_sentences("ERR")[0]
    'gdeval (`ERR(max_grade=4)`): The highest grade is 4, whatever the judgments contain.'
    """
    tools: dict[tuple[str, str], dict[str, None]] = {}
    for one in differences(name):
        ours = f" (`{one.ours}`)" if one.ours.params else ""
        for reason in one.reasons:
            tools.setdefault((reason, ours), {})[one.tool] = None
    said = [f"{several([*names], len(names))}{ours}: {reason}" for (reason, ours), names in tools.items()]
    return [*said, *_cutoffs(differences(name))]


def _of_tool(tool: Convention, name: str) -> Iterator[Difference]:
    for called in tool.names:
        ours = _without_cutoff(tool.measure(called))
        usual = _usual(called, ours)
        if usual.name != name or called.endswith("-"):  # xgboost's ndcg- is its ndcg with another policy
            continue
        reasons, cutoff = tool.own_reasons(called), tool.bare.get(called)
        if ours.name != name:
            reasons = [f"{called} is what is called {ours.name} here.", *reasons]
        if reasons or cutoff:
            yield Difference(tool.name, called, ours, tuple(reasons), cutoff)


def _usual(called: str, ours: Measure) -> Measure:
    """What a tool's name stands for here; what it stands for there, if we do not know it."""
    try:
        return _without_cutoff(parse(called))
    except MeasureError:
        return ours


def _without_cutoff(measure: Measure) -> Measure:
    at = measure.definition.at
    return make(measure.definition, {key: value for key, value in measure.params if key != at})


def _cutoffs(found: list[Difference]) -> list[str]:
    by_cutoff = sorted({(one.cutoff, one.tool) for one in found if one.cutoff})
    if not by_cutoff:
        return []
    said = [f"{cutoff} in {tool}" for cutoff, tool in by_cutoff]
    return [f"Without a cutoff, only the first documents count: {several(said, len(said))}."]
