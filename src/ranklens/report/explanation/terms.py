"""Formulas in words and in numbers.

A formula is a template: ``"{DCG} / {ideal DCG}"``. A term in braces has a name and, for one query, a
number. Every number is the value of a registered measure, or a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ranklens.judging.judged import Judged
from ranklens.metrics import Measure, parse
from ranklens.report.explanation.cuts import ideally, upto

Params: TypeAlias = Mapping[str, Any]
Term: TypeAlias = Callable[[Judged, Params], float]

_BRACES = re.compile(r"\{([^|}]+)(?:\|[^}]+)?\}")  # after a bar: which of the numbers of this name


def parameters(measure: Measure) -> dict[str, Any]:
    """All parameters of a measure, defaults included.

    >>> parameters(parse("P@5"))
    {'rel': 1, 'k': 5, 'over': 'k', 'judged_only': False}
    """
    defaults = {name: p.default for name, p in measure.definition.parameters.items()}
    found = {"rel": 1, "k": None, **defaults, **dict(measure.params)}
    return {name: dict(value) if name == "gains" and value else value for name, value in found.items()}


def in_words(template: str) -> str:
    """A formula with the names of its terms.

    >>> in_words("{DCG} / {ideal DCG}")
    'DCG / ideal DCG'
    """
    return _BRACES.sub(r"\1", template)


def in_numbers(template: str, params: Params, judged: Judged, show: Callable[[float], str]) -> str:
    """A formula with the numbers of its terms; empty if it has none.

    >>> import ranklens as rl
    >>> judged = rl.judge({"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]})
    >>> in_numbers("{relevant found} / {all relevant}", {"k": None, "rel": 1}, judged, "{:g}".format)
    '1 / 2'
    """
    if not _BRACES.search(template):
        return ""
    return _BRACES.sub(lambda term: show(TERMS[term[0][1:-1]](judged, params)), template)


def _value(name: str, *kept: str) -> Term:
    """The value of another measure, with some of the parameters."""

    def compute(judged: Judged, params: Params) -> float:
        given = {key: params[key] for key in kept if params.get(key) is not None}
        return float(parse(name).replace(**given)(judged)[0])

    return compute


def _found_in_top(judged: Judged, params: Params) -> float:
    return _value("NumRelRet", "rel")(_top(judged, params["k"]), params)


def _chunks_found_in_top(judged: Judged, params: Params) -> float:
    return float(_top(judged, params["k"]).relevant(params["rel"]).sum()[0])


def _judged_in_top(judged: Judged, params: Params) -> float:
    return float(_top(judged, params["k"]).relevant(0).sum()[0])


def _top(judged: Judged, k: int | None) -> Judged:
    return judged if k is None else upto(judged, np.array([k]))


def _in_top_r(judged: Judged, params: Params) -> float:
    relevant = int(judged.total(params["rel"])[0])
    return _found_in_top(judged, {**params, "k": relevant})


_CUMULATED = ("k", "gain", "gains", "discount", "log_base")
_ERR = _value("ERR", "k", "max_grade", "gain")
TERMS: Mapping[str, Term] = {
    "relevant found": _found_in_top,
    "relevant found|chunks": _chunks_found_in_top,  # each once, however many passages it holds
    "P": _value("P", "k", "rel", "over"),
    "R": _value("R", "k", "rel"),
    "judged found": _judged_in_top,
    "found in the top R": _in_top_r,
    "all relevant": _value("NumRel", "rel"),
    "retrieved": _value("NumRet"),
    "k": lambda _, params: float(params["k"]),
    "beta": lambda _, params: float(params["beta"]),
    "beta²": lambda _, params: float(params["beta"]) ** 2,
    "SetP": _value("SetP", "rel"),
    "SetR": _value("SetR", "rel"),
    "DCG": _value("DCG", *_CUMULATED),
    "ideal DCG": _value("IDCG", *_CUMULATED),
    "ERR": _ERR,
    "ideal ERR": lambda judged, params: _ERR(ideally(judged), params),
}
