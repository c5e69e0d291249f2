"""What other tools mean by their measures: the policy and the parameters that give their numbers from the same data.

A convention is data: how the tool treats ties and queries without relevant documents, which of our measures each of its names
stands for, and in words what differs from the usual.
"""

from __future__ import annotations

from typing import Any

from ranklens.errors import InputError, nearest
from ranklens.metrics import Measure, parse_many
from ranklens.metrics.conventions.tools import CONVENTIONS, OTHER_NAMES
from ranklens.metrics.conventions.translation import Convention
from ranklens.policy import Policy

__all__ = ["CONVENTIONS", "Convention", "chosen", "convention", "read"]


def convention(name: str) -> Convention:
    """The convention of a tool by its name.

    >>> convention("lightgbm").policy.empty
    'one'
    """
    tool = OTHER_NAMES.get(name.lower(), name.lower())
    if tool not in CONVENTIONS:
        raise InputError(f"There is no convention {name!r}: {nearest(name, CONVENTIONS)}")
    return CONVENTIONS[tool]


def chosen(given: str | Convention) -> Convention:
    """A convention that was given itself or by its name."""
    return given if isinstance(given, Convention) else convention(given)


def read(
    measures: Any, given: str | Convention | None, policy: Policy | None
) -> tuple[list[Measure], Policy | None]:
    """Measures and policy under a convention, if one is given; the user's own policy comes first."""
    if given is None:
        return parse_many(measures), policy
    wanted = chosen(given).measures(measures)
    return wanted, policy or chosen(given).policy_for(wanted)
