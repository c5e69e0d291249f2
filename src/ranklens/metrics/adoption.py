"""Ways of other tools to write parameters: ``P.5``, ``map@10-l2``, ``nDCG(dcg=exp-log2)``, ``SetP(relative=True)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

# What a number behind the name stands for, where it is not the cutoff: set_F_0.5, rbp.95.
NUMBERED: Mapping[str, str] = {"SetF": "beta", "RBP": "p", "RBPres": "p"}

_LEVEL = re.compile(r"(.+)-l(\d+(?:\.\d+)?)\s*$", re.DOTALL)
_YES = ("true", "1", "yes")


def without_level(text: str) -> tuple[str, str | None]:
    """The name and the relevance level of ranx's ``map@10-l2``; and ``AP@R``, whose cutoff is a number of the query.

    >>> without_level("map@10-l2")
    ('map@10', '2')
    """
    if text.strip().lower() in ("ap@r", "map@r"):
        return "AP_R", None
    found = _LEVEL.match(text)
    return (found[1], found[2]) if found else (text, None)


def after_dot(base: str, known: Callable[[str], bool]) -> tuple[str, str | None]:
    """The name and the parameters behind its dot, as trec_eval and ranx write them: ``P.5``, ``rbp.95``, ``set_F.0.5``."""
    name, dot, rest = base.partition(".")
    name = name if known(name) else re.sub(r"_(at|cut)$", "", name)  # ndcg_cut.10
    return (name, rest) if dot and rest and known(name) else (base, None)


def dotted(name: str, asked: str, rest: str, at: str | None) -> Mapping[str, object]:
    """The parameters that stand behind the dot, by name."""
    if "=" in rest:
        return dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
    if name == "RBP" and rest.isdecimal():  # ranx writes rbp.95 for p = 0.95, and counts grades as they are
        return {"p": f"0.{rest}", "gain": "raw", "scale": "all"}
    return {NUMBERED.get(name) or at or asked: rest.lstrip(".") if at == "k" else rest}


def adopted(name: str, params: dict[str, object], at: str | None) -> tuple[str, dict[str, object]]:
    """A measure of ours in place of one that another tool makes by a parameter of its own.

    >>> adopted("SetP", {"relative": "True", "rel": "2"}, None)
    ('SetRelP', {'rel': '2'})
    """
    params = dict(params)
    if "cutoff" in params and at:
        params[at] = params.pop("cutoff")
    if "max_rel" in params:
        params["max_grade"] = params.pop("max_rel")
    if str(params.get("min_rel")) == "0":  # as it always is here
        params.pop("min_rel")
    if name in ("nDCG", "DCG", "IDCG") and str(params.get("dcg")) in _GAINS:
        params["gain"] = _GAINS[str(params.pop("dcg"))]
    if name in ("P", "RR", "AP", "RBP") and {"expect", "residual"} & params.keys():
        name += "_CWL"
    if name == "SetP" and "relative" in params:
        name = "SetRelP" if str(params.pop("relative")).lower() in _YES else name
    if name == "NumRet" and "rel" in params:
        name = "NumRelRet"
    return name, params


_GAINS = {"log2": "linear", "exp-log2": "exp"}
