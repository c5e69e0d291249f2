"""How to split a budget between people and a model: :func:`plan_labels` → :class:`LabelPlan`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ranklens.errors import InputError
from ranklens.stats import inputs
from ranklens.stats.ppi import FEW
from ranklens.stats.student import t_quantile
from ranklens.tables.table import Lines, Printout, Shown
from ranklens.words import counted


@dataclass(frozen=True)
class LabelPlan(Shown):
    """How many queries people should judge, and how many more the model alone.

    ``effective`` is the number of queries that people would have to judge for intervals as narrow without the model, ``alone`` how many the budget pays for then.
    ``half_width`` is half the width of the interval of the mean, if the standard deviation of values by query was given.
    """

    human: int
    machine: int
    effective: float
    alone: int
    cost: float
    correlation: float
    half_width: float | None = None

    @property
    def gain(self) -> float:
        """How many times as many queries the same money buys, in terms of the interval."""
        return self.effective / self.alone if self.alone else math.inf

    def lines(self) -> list[str]:
        """The plan in sentences."""
        if not self.machine:
            said = [
                f"Let people judge {counted(self.human, 'query', 'queries')}; with a correlation of {self.correlation:.2f} labels by the model are not worth their price."
            ]
        else:
            said = [
                f"Let people judge {counted(self.human, 'query', 'queries')}, drawn at random, and the model these and {self.machine:,} more.",
                f"That is worth {self.effective:,.0f} human-judged queries; people alone would judge {self.alone:,} for the same money.",
            ]
        if self.human < FEW:
            said.append(f"Below {FEW} human-judged queries intervals cannot be relied on: raise the budget.")
        if self.half_width is not None:
            said.append(f"The interval of the mean is about ± {self.half_width:.3f}.")
        return said

    def printout(self) -> Printout:
        return Printout([Lines("Plan", self.lines())])


def plan_labels(
    rho: float,
    cost_human: float,
    cost_machine: float,
    budget: float | None = None,
    *,
    effective: float | None = None,
    deviation: float | None = None,
    level: float = 0.95,
) -> LabelPlan:
    """How to split a budget between queries that people judge and queries that a model judges.

    ``rho`` is the correlation, over queries, of a measure by judgments of people and by labels of the model; a pilot of 20 queries gives an idea of it.
    ``cost_human`` and ``cost_machine`` are the costs of judging all pooled documents of one query. The model labels every query, also those that people judge. Instead of a
    ``budget``, ``effective`` asks for the cheapest plan that is worth this many human-judged queries. At least 20 queries are judged by people, as far as the budget
    goes. ``deviation`` is the standard deviation of the measure by query.

    >>> plan = plan_labels(0.8, cost_human=10, cost_machine=0.1, budget=1000)
    >>> plan.human, plan.machine, round(plan.effective), plan.alone
    (88, 1112, 216, 100)
    """
    if not -1 <= inputs.finite(rho, "rho") <= 1:
        raise InputError(f"rho={rho!r} is not allowed: a correlation lies between -1 and 1.")
    for name, cost in (
        ("cost_human", cost_human),
        ("cost_machine", cost_machine),
        ("budget", budget),
        ("effective", effective),
    ):
        if cost is not None and not inputs.finite(cost, name) > 0:
            raise InputError(f"{name}={cost!r} is not allowed: it must be above 0.")
    if (budget is None) == (effective is None):
        raise InputError("Give either budget or effective: one of the two follows from the other.")
    correlation = max(rho, 0.0)
    if effective is not None:
        human, machine = _reaching(correlation, cost_human, cost_machine, effective)
    else:
        assert budget is not None
        human, machine = _split(correlation, cost_human, cost_machine, budget)
    worth = _worth(human, machine, correlation)
    cost = human * cost_human + ((human + machine) * cost_machine if machine else 0.0)
    alone = int((cost if budget is None else budget) / cost_human + 1e-9)
    half = None
    if deviation is not None and human > 1:
        half = (
            t_quantile(human - 1, (1 + level) / 2) * inputs.finite(deviation, "deviation") / math.sqrt(worth)
        )
    return LabelPlan(human, machine, worth, alone, cost, rho, half)


def _unit_cost(rho: float, human: float, machine: float) -> float:
    """What an interval as narrow as that of one human-judged query costs at best, where both kinds of labels are used."""
    return (math.sqrt((1 - rho**2) * human) + math.sqrt(rho**2 * machine)) ** 2


def _split(rho: float, cost_human: float, cost_machine: float, budget: float) -> tuple[int, int]:
    """The variance is that of people alone times (1 - rho²) / n + rho² / (n + N); Lagrange gives n and n + N."""
    alone = int(budget / cost_human + 1e-9)
    if _unit_cost(rho, cost_human, cost_machine) >= cost_human:
        return alone, 0
    scale = budget / math.sqrt(_unit_cost(rho, cost_human, cost_machine))
    human = scale * math.sqrt((1 - rho**2) / cost_human)
    least = min(FEW, int(budget / (cost_human + cost_machine)))
    human = max(int(human + 1e-9), least)
    every = int((budget - human * cost_human) / cost_machine + 1e-9)
    if every - human < 2:
        return alone, 0
    return (human, every - human) if _worth(human, every - human, rho) > alone else (alone, 0)


def _reaching(rho: float, cost_human: float, cost_machine: float, effective: float) -> tuple[int, int]:
    """The cheapest plan that is worth this many human-judged queries."""
    alone, unit = math.ceil(effective), _unit_cost(rho, cost_human, cost_machine)
    human = max(math.ceil(effective * math.sqrt(unit * (1 - rho**2) / cost_human)), min(FEW, alone))
    while human < alone and 1 - human / effective >= rho**2:
        human += 1
    if human >= alone or unit >= cost_human:
        return alone, 0
    share = (1 - human / effective) / rho**2  # of the model's among all queries
    machine = max(2, math.ceil(human * share / (1 - share)))
    is_cheaper = human * cost_human + (human + machine) * cost_machine < alone * cost_human
    return (human, machine) if is_cheaper else (alone, 0)


def _worth(human: int, machine: int, rho: float) -> float:
    """How many human-judged queries that is worth."""
    return human / (1 - rho**2 * machine / (human + machine)) if human else 0.0
