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

    >>> [(one.tool, str(one.ours)) for one in differences("ERR")]
    [('elasticsearch', 'ERR'), ('gdeval', 'ERR(max_grade=4)')]
    """
    canonical = look_up(name).name
    return [one for tool in CONVENTIONS.values() for one in _of_tool(tool, canonical)]


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
    sentences = [
        f"{several([*names], len(names))}{ours}: {reason}" for (reason, ours), names in tools.items()
    ]
    cutoffs = sorted({(one.cutoff, one.tool) for one in differences(name) if one.cutoff})
    by_cutoff = [f"{cutoff} in {tool}" for cutoff, tool in cutoffs]
    looks = f"Without a cutoff, only the first documents count: {several(by_cutoff, len(by_cutoff))}."
    return [*sentences, looks] if cutoffs else sentences


def _of_tool(tool: Convention, name: str) -> Iterator[Difference]:
    for called in tool.names:
        ours = _without_cutoff(tool.measure(called))
        try:
            usual = _without_cutoff(parse(called))  # what the tool's name stands for here
        except MeasureError:
            usual = ours
        if usual.name != name or called.endswith("-"):  # xgboost's ndcg- is its ndcg with another policy
            continue
        reasons, cutoff = tool.own_reasons(called), tool.bare.get(called)
        if ours.name != name:
            reasons = [f"{called} is what is called {ours.name} here.", *reasons]
        if reasons or cutoff:
            yield Difference(tool.name, called, ours, tuple(reasons), cutoff)


def _without_cutoff(measure: Measure) -> Measure:
    at = measure.definition.at
    return make(measure.definition, {key: value for key, value in measure.params if key != at})
