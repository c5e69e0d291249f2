"""Formulas in words and in numbers.

A formula is a template: ``"{DCG} / {ideal DCG}"``. A term in braces has a name and, for one query, a
number: a parameter, the value of a registered measure with the parameters that it shares, ``ideal`` the same of the ideal
ranking, or one of :data:`TERMS`. What follows a bar is not shown: ``"{ideal DCG|IDCG}"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from ranklens.judging.judged import Judged
from ranklens.metrics import parse
from ranklens.metrics.catalog import Params
from ranklens.metrics.cuts import ideally, upto

_BRACES = re.compile(r"\{([^|}]+)(?:\|[^}]+)?\}")


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

    def number(match: re.Match[str]) -> str:
        term = match[0][1:-1]
        if term in TERMS:
            return show(TERMS[term](judged, params))
        if term in params:
            return show(float(params[term]))
        name = term.rpartition("|")[2]
        measure = parse(name.removeprefix("ideal "))
        shared = {key: params[key] for key in measure.definition.parameters if params.get(key) is not None}
        ranking = ideally(judged) if name.startswith("ideal ") else judged
        return show(float(measure.replace(**shared)(ranking)[0]))

    return _BRACES.sub(number, template) if _BRACES.search(template) else ""


def _found_in_top(judged: Judged, params: Params) -> float:
    return float(_top(judged, params["k"]).found(params["rel"])[0])


def _top(judged: Judged, k: int | None) -> Judged:
    return judged if k is None else upto(judged, np.array([k]))


TERMS: Mapping[str, Callable[[Judged, Params], float]] = {
    "relevant found": _found_in_top,
    # each once, however many passages it holds
    "relevant found|chunks": lambda judged, params: float(
        _top(judged, params["k"]).relevant(params["rel"]).sum()[0]
    ),
    "judged found": lambda judged, params: float(_top(judged, params["k"]).relevant(0).sum()[0]),
    "found in the top R": lambda judged, params: _found_in_top(
        judged, {**params, "k": int(judged.total(params["rel"])[0])}
    ),
    "all relevant": lambda judged, params: float(judged.total(params["rel"])[0]),
    "retrieved": lambda judged, _: float(judged.retrieved[0]),
    "beta²": lambda _, params: float(params["beta"]) ** 2,
}
