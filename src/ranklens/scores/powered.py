"""Scores by a few judgments of people and many of a model: which queries each has judged, and what both give together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.errors import InputError, MeasureError, Option, warn
from ranklens.judging.judged import Applied
from ranklens.scores.account import Account
from ranklens.scores.values import Values
from ranklens.stats.intervals import Bounds
from ranklens.stats.ppi import FEW, LEAST, PpiMean, ppi_mean
from ranklens.words import brief, counted, several

if TYPE_CHECKING:
    from ranklens.metrics import Measure
    from ranklens.scores.scores import Scores

_UNEVEN = 0.2  # of the retrieved documents: the model and people should have judged the same pool


def with_machine(human: Scores, machine: Scores) -> Scores:
    """Scores of the queries that people judged, with those of the same run by a model's labels; refused where the first are too few."""
    others = [measure.shown for measure in human.measures if measure.definition.aggregate != "mean"]
    if others:
        raise MeasureError(
            f"machine: only means can use the judgments of a model; leave out {several(others)}."
        )
    if human.policy.empty == "skip":
        raise InputError(
            "People and a model find other queries without relevant documents, so ",
            Option("empty", "skip"),
            " would average over different ones; with machine choose ",
            Option("empty", "zero", "one"),
            ".",
        )
    lacking = [query for query in human.queries if query not in machine.values.place]
    if lacking:
        raise InputError(
            f"machine: {counted(len(lacking), 'human-judged query has', 'human-judged queries have')} no machine labels, such as {brief(lacking[0])!r}. "
            "A model is corrected on queries that it and people judged: let it label these as well, or leave their judgments out.",
            query=lacking[0],
        )
    n = len(human.queries)
    if n < LEAST:
        raise InputError(
            f"machine: {counted(n, 'query is', 'queries are')} judged by people; prediction-powered intervals need at least {LEAST}. Judge more "
            "queries, drawn at random, or leave machine out."
        )
    if len(machine.queries) - n < 2:
        raise InputError(
            "machine: the model has labelled no other queries than people have, so it adds nothing. Let it label more queries, or leave machine out."
        )
    if n < FEW:
        warn(
            f"Only {n} queries are judged by people; below {FEW}, do not rely on prediction-powered intervals."
        )
    _warn_of_uneven(human, machine)
    return replace(human, machine=machine)


def _warn_of_uneven(human: Scores, machine: Scores) -> None:
    """Where the model judged another share of what was retrieved, its values differ for that alone."""
    shares = [one.account().share for one in (human, machine)]
    if None not in shares and abs(shares[0] - shares[1]) > _UNEVEN:  # type: ignore[operator]
        warn(
            f"People judged {shares[0]:.0%} of the retrieved documents and the model {shares[1]:.0%}: let the model label the same pool, to the same "
            "depth, or its values say little about those of people."
        )


def powered_mean(scores: Scores, measure: Measure, level: float) -> PpiMean:
    """The mean of a measure over all queries, by both kinds of judgments."""
    assert scores.machine is not None
    name, definition = str(measure), measure.definition
    on_human, only = parted(scores.machine.values, scores.queries, [name])
    bounds = Bounds(definition.low, definition.high)
    return ppi_mean(scores.values[name], on_human[name], only[name], level=level, bounds=bounds)


def parted(
    machine: Values, human: Sequence[str], names: Sequence[str] | None = None
) -> tuple[Values, Values]:
    """The values by the model: of the queries that people judged, in this order, and of all others."""
    judged = {*human}
    others = [query for query in machine.queries if query not in judged]
    return machine.over(human, names), machine.over(others, names)


def details_of(scores: Scores) -> Iterator[str]:
    """How many queries each has judged, and how far the model is listened to."""
    if scores.machine is None:
        return
    more = len(scores.machine.queries) - len(scores.queries)
    yield f"{counted(more, 'query', 'queries')} with machine labels alone"
    found = {measure.shown: powered_mean(scores, measure, 0.95) for measure in scores.measures}
    yield described({name: (one.weight, one.effective) for name, one in found.items()})


def described(found: Mapping[str, tuple[float, float]]) -> str:
    """The weight of the model, and how many queries people would have had to judge, by measure or system."""
    (first, (weight, worth)), *others = found.items()
    told = [f"lambda {weight:.2f} for {first} (worth {worth:,.0f} human-judged queries)"]
    told += [f"{weight:.2f} for {name} (worth {worth:,.0f})" for name, (weight, worth) in others]
    return several(told, len(told))


def values_only(
    measures: Sequence[Measure], queries: Sequence[str], values: Mapping[str, Sequence[float]]
) -> Scores:
    """The values by a model's labels, where they are read from a file."""
    from ranklens.scores.scores import Scores

    columns = {name: np.array(column, np.float64) for name, column in values.items()}
    account = Account(Applied(queries=len(queries)), knows_policy=False)
    return Scores(measures, account, Values(queries, columns))
