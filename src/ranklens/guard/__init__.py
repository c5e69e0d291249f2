"""Whether results are good enough: rules such as ``nDCG@10 drop <= 0.01 @ 95%``, one grammar for command, configuration and Python.

``rules`` parses them, ``checking`` holds them against results and gives data (``verdicts``), ``wording`` makes sentences of that, and
``baselines`` reads and writes what results are compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranklens.guard.baselines import Baseline
    from ranklens.guard.checking import gate
    from ranklens.guard.rules import Rule
    from ranklens.guard.verdicts import Outcome, Verdict

_WHERE = {
    "Baseline": "baselines",
    "gate": "checking",
    "Rule": "rules",
    "Outcome": "verdicts",
    "Verdict": "verdicts",
}
__all__ = ["Baseline", "Outcome", "Rule", "Verdict", "gate"]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"ranklens.guard.{_WHERE[name]}"), name)
    return found
