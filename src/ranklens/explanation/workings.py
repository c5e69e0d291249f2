"""How each measure is shown at work: the columns beside rank and grade, and the formula with its numbers filled in.

A measure that is not listed here (a plug-in's, for example) is shown in the general form: ranks, grades, and its value so
far. Every number comes from the functions that compute the measures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.explanation.stepwise import ideally, upto
from ranklens.formulas import cascade, counts, gain, ntcir, precision
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.registry import Measure, parse


def settings(measure: Measure) -> dict[str, Any]:
    """All parameters of a measure, defaults included."""
    defaults = {name: p.default for name, p in measure.definition.parameters.items()}
    found = {"rel": 1, "k": None, **defaults, **dict(measure.params)}
    return {name: dict(value) if name == "gains" and value else value for name, value in found.items()}


# --- columns ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """Some ranks of one query: what is judged there, and what is judged down to there."""

    judged: Judged  # ties broken
    ranks: IntArray
    grades: FloatArray  # at these ranks, 0 where nobody judged
    params: Mapping[str, Any]

    @cached_property
    def above(self) -> Judged:
        """For each rank, the ranking that ends there."""
        return upto(self.judged, self.ranks, growing=True)

    @cached_property
    def alone(self) -> Hits:
        """The documents at these ranks, each as if it were the only one of a query."""
        return Hits(np.arange(len(self.ranks)), self.ranks, self.grades, len(self.ranks))

    def alone_with(self, grade: float) -> Judged:
        """For each rank, a ranking with one document of that grade there."""
        hits = replace(self.alone, grade=np.full(len(self.ranks), float(grade)))
        return replace(self.above, hits=hits, _cache={})


Column: TypeAlias = Callable[[View], FloatArray]


def _found(view: View) -> FloatArray:
    return counts.number_relevant_retrieved(view.above, rel=view.params["rel"])


def _precision(view: View) -> FloatArray:
    return precision.precision(view.above, rel=view.params["rel"])


def _recall(view: View) -> FloatArray:
    return precision.recall(view.above, rel=view.params["rel"])


def _irrelevant_above(view: View) -> FloatArray:
    return counts.number_irrelevant_judged_retrieved(view.above, rel=view.params["rel"])


def _gain(view: View) -> FloatArray:
    return gain.worth(view.alone, view.params.get("gain", "linear"), view.params["gains"]).grade


def _discount(view: View) -> FloatArray:
    return gain.discounts(view.alone, view.params["discount"], view.params["log_base"])


def _discounted(view: View) -> FloatArray:
    return _gain(view) / _discount(view)


def _weight(view: View) -> FloatArray:
    rel, p = view.params["rel"], view.params["p"]
    return cascade.rank_biased_precision(view.alone_with(rel), p=p, rel=rel)


def _satisfied(view: View) -> FloatArray:
    return cascade.satisfied(view.alone, cascade.highest_grade(view.judged, view.params["max_grade"]))


def _still_looking(view: View) -> FloatArray:
    hits = view.judged.hits
    ranks = np.union1d(hits.rank, view.ranks)
    grades = np.zeros(len(ranks))
    grades[np.searchsorted(ranks, hits.rank)] = hits.grade
    every = Hits(np.zeros(len(ranks), dtype=np.int64), ranks, grades, 1)
    stop = cascade.satisfied(every, cascade.highest_grade(view.judged, view.params["max_grade"]))
    return every.survival(stop)[np.searchsorted(ranks, view.ranks)]


def _blended_ratio(view: View) -> FloatArray:
    hits = view.judged.relevant(view.params["rel"])
    values = ntcir.blended_ratio(view.judged, hits, view.params["rel"], view.params["beta"])
    at = dict(zip(hits.rank.tolist(), values.tolist(), strict=True))
    return np.array([at.get(rank, np.nan) for rank in view.ranks.tolist()])


_SHOWN: tuple[tuple[str, dict[str, Column]], ...] = (
    (
        "P R F Success RR Rprec Rprec_mult binG SetP SetR SetF SetRelP SetAP NumRelRet utility",
        {"found": _found},
    ),
    ("AP gm_AP yaap infAP", {"found": _found, "precision": _precision}),
    ("IPrec AP11", {"found": _found, "recall": _recall, "precision": _precision}),
    ("DCG nDCG", {"gain": _gain, "discount": _discount, "gain / discount": _discounted}),
    ("ndcg_rel Rndcg G", {"gain": _gain}),
    ("ERR nERR", {"satisfied": _satisfied, "still looking": _still_looking}),
    ("RBP", {"weight": _weight}),
    ("Bpref gm_Bpref", {"found": _found, "irrelevant above": _irrelevant_above}),
    ("Q O P_plus", {"found": _found, "blended ratio": _blended_ratio}),
)
_COLUMNS = {name: shown for names, shown in _SHOWN for name in names.split()}


def columns(measure: Measure) -> Mapping[str, Column]:
    """The columns that show the measure at work, by their heading; none in the general form."""
    return _COLUMNS.get(measure.name, {})


# Measures for which every retrieved document counts: the number of retrieved documents grows from rank to rank. For all
# others it stays what it is, so that each hit adds its share of the final value.
COUNTS_EVERY_RANK = frozenset(("NumRet", "Unjudged", "utility", "relstring"))


# --- the ideal ranking beside it ----------------------------------------------------------------------------------

_HAVE_IDEAL = "R Success Rprec AP gm_AP IPrec AP11 DCG nDCG binG RR ERR nERR RBP Bpref gm_Bpref Q O"
_IDEAL = frozenset(_HAVE_IDEAL.split())


def ideal(measure: Measure, judged: Judged) -> Judged | None:
    """The ideal ranking of the one query, where the measure can be read off it; else None."""
    params = settings(measure)
    within_cutoff = (
        measure.name in ("P", "F") and params["k"] is not None and params.get("over") != "retrieved"
    )
    if measure.name not in _IDEAL and not within_cutoff:
        return None
    return ideally(
        judged, params.get("gain", "linear") if "gains" in params else "linear", params.get("gains")
    )


def ideal_worth(measure: Measure, ranking: Judged) -> tuple[str, FloatArray]:
    """What stands at each rank of an ideal ranking, with its heading: gains where the measure has them, else grades."""
    params = settings(measure)
    if measure.name in ("DCG", "nDCG"):
        return "ideal gain", gain.worth(ranking.hits, params["gain"], params["gains"]).grade
    return "ideal grade", ranking.hits.grade


# --- formulas -----------------------------------------------------------------------------------------------------

_NAME = re.compile(r"\{(.+?)\}")


def formula(measure: Measure) -> str:
    """The measure's formula, numbers that it can be filled with in braces; "" in the general form."""
    found = _FORMULAS.get(measure.name, "")
    return found if isinstance(found, str) else found(settings(measure))


def in_words(template: str) -> str:
    """A formula with its names.

    >>> in_words("{DCG} / {ideal DCG}")
    'DCG / ideal DCG'
    """
    return _NAME.sub(r"\1", template)


def in_numbers(template: str, measure: Measure, judged: Judged, show: Callable[[float], str]) -> str:
    """A formula with its numbers, "" where it names none."""
    if not _NAME.search(template):
        return ""
    params = settings(measure)
    return _NAME.sub(lambda name: show(_NUMBERS[name[1]](judged, params)), template)


Params: TypeAlias = Mapping[str, Any]


def _out_of(params: Params) -> str:
    """What precision divides by."""
    if params["k"] is None:
        return "{retrieved}"
    return "min({k}, {retrieved})" if params.get("over") == "retrieved" else "{k}"


def _recall_formula(params: Params) -> str:
    capped = params["cap"] and params["k"]
    return "{relevant found} / " + ("min({all relevant}, {k})" if capped else "{all relevant}")


def _f_formula(weight: str) -> Callable[[Params], str]:
    return lambda params: (
        f"(1 + {weight}) · {{relevant found}} / ({weight} · {{all relevant}} + {_out_of(params)})"
    )


def _over_relevant(of: str, cut: bool) -> str:
    return f"sum of {of} / " + ("min(all relevant, k)" if cut else "all relevant")


_FORMULAS: dict[str, str | Callable[[Params], str]] = {
    "P": lambda params: "{relevant found} / " + _out_of(params),
    "SetP": "{relevant found} / {retrieved}",
    "R": _recall_formula,
    "SetR": "{relevant found} / {all relevant}",
    "F": _f_formula("{beta²}"),
    "SetF": _f_formula("{beta}"),
    "SetRelP": "{relevant found} / min({retrieved}, {all relevant})",
    "SetAP": "{SetP} · {SetR}",
    "Success": "1 if a relevant document was found, else 0",
    "Rprec": "{found in the top R} / {all relevant}",
    "RR": "1 / rank of the first relevant document",
    "AP": lambda params: _over_relevant(
        "the precision at each relevant document", cut=params["norm"] == "min" and params["k"]
    ),
    "gm_AP": _over_relevant("the precision at each relevant document", cut=False),
    "IPrec": "the best precision from the given recall on",
    "DCG": "sum of gain / discount",
    "IDCG": "sum of gain / discount over the ideal ranking",
    "nDCG": "{DCG} / {ideal DCG}",
    "ERR": "sum of satisfied · still looking / rank",
    "nERR": "{ERR} / {ideal ERR}",
    "RBP": "sum of the weights (1 - p) p^(rank - 1) of relevant documents",
    "Bpref": "sum of 1 - min(irrelevant above, R) / min(irrelevant, R) over relevant documents / R",
    "Q": lambda params: _over_relevant("the blended ratio at each relevant document", cut=bool(params["k"])),
    "O": "the blended ratio at the first relevant document",
    "Judged": lambda params: "{judged found} / " + _out_of({**params, "over": "retrieved"}),
}


def _value(name: str, *kept: str) -> Callable[[Judged, Params], float]:
    """The value of another measure, with some of the parameters."""

    def compute(judged: Judged, params: Params) -> float:
        given = {key: params[key] for key in kept if params.get(key) is not None}
        return float(parse(name).replace(**given)(judged)[0])

    return compute


def _found_in_top(judged: Judged, params: Params) -> float:
    return _value("NumRelRet", "rel")(_top(judged, params["k"]), params)


def _judged_in_top(judged: Judged, params: Params) -> float:
    return float(_top(judged, params["k"]).relevant(0).sum()[0])


def _top(judged: Judged, k: int | None) -> Judged:
    return judged if k is None else upto(judged, np.array([k]))


def _in_top_r(judged: Judged, params: Params) -> float:
    relevant = int(judged.total(params["rel"])[0])
    return _found_in_top(judged, {**params, "k": relevant})


_CUMULATED = ("k", "gain", "gains", "discount", "log_base")
_ERR = _value("ERR", "k", "max_grade")
_NUMBERS: dict[str, Callable[[Judged, Params], float]] = {
    "relevant found": _found_in_top,
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
