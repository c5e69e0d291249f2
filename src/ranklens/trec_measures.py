"""trec_eval's measures: their names, parameters and order, and which of ours they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ranklens.errors import MeasureError, nearest
from ranklens.registry import Measure, parse

CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
LEVELS = tuple(f"{level / 10:g}" for level in range(11))
MULTIPLES = tuple(f"{level / 5:g}" for level in range(1, 11))


@dataclass(frozen=True)
class Printed:
    """One line of trec_eval's output: its name, our measure, and what of it is averaged and printed."""

    name: str
    measure: Measure
    whole: bool = False  # printed as a whole number, summed over queries
    by_query: bool = True
    summary: bool = True
    level: float | None = (
        None  # the recall level of an interpolated precision, which trec_eval may divide 0 by 0 for
    )


@dataclass(frozen=True)
class TrecMeasure:
    """A measure of trec_eval, which may print several lines: one a cutoff."""

    name: str
    lines: Callable[[TrecMeasure, Sequence[str] | None], list[Printed]]
    ours: str
    defaults: Sequence[str] = ()
    whole: bool = False
    by_query: bool = True
    summary: bool = True

    @property
    def by_cutoff(self) -> bool:
        """Whether each parameter makes a line of its own."""
        return self.lines in (_cutoffs, _levels)

    def printed(self, parameters: Sequence[str] | None = None) -> list[Printed]:
        """The lines for the given parameters, or for the default ones."""
        return self.lines(self, parameters)


def _one(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    if parameters:
        raise MeasureError(f"{self.name} takes no parameters.")
    return [Printed(self.name, parse(self.ours), self.whole, self.by_query, self.summary)]


def _cutoffs(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    values = sorted({int(k) for k in parameters or self.defaults})
    return [Printed(f"{self.name}_{k}", parse(self.ours) @ k) for k in values]


def _levels(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    values = sorted({float(x) for x in parameters or self.defaults})
    is_recall = self.name == "iprec_at_recall"
    return [
        Printed(f"{self.name}_{x:4.2f}", parse(f"{self.ours}@{x}"), level=x if is_recall else None)
        for x in values
    ]


def _with(self: TrecMeasure, parameters: Sequence[str] | None, **fixed: Any) -> list[Printed]:
    name = f"{self.name}_{','.join(parameters)}" if parameters else self.name
    return [Printed(name, parse(self.ours).replace(**fixed), by_query=self.by_query, summary=self.summary)]


def _gains(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    pairs = dict(pair.split("=", 1) for pair in parameters or ())
    return _with(self, parameters, **({"gains": pairs} if pairs else {}))


def _utility(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    values = list(parameters or self.defaults)
    if len(values) != 4:
        raise MeasureError(f"utility takes four coefficients, not {','.join(values)}.")
    return _with(self, parameters, **dict(zip("abcd", values, strict=True)))


def _first(parameter: str) -> Callable[[TrecMeasure, Sequence[str] | None], list[Printed]]:
    def lines(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
        return _with(self, parameters, **({parameter: parameters[0]} if parameters else {}))

    return lines


def _average_of_levels(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    return _with(self, parameters, **({"levels": parameters} if parameters else {}))


def _rbp(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    given = dict(pair.split("=", 1) for pair in parameters or ())
    return _with(self, parameters, p=given.get("p", "0.9"))


# In the order in which trec_eval calculates and prints them.
TREC_MEASURES: Mapping[str, TrecMeasure] = {
    m.name: m
    for m in (
        TrecMeasure("num_q", _one, "NumQ", whole=True, by_query=False),
        TrecMeasure("num_ret", _one, "NumRet", whole=True),
        TrecMeasure("num_rel", _one, "NumRel", whole=True),
        TrecMeasure("num_rel_ret", _one, "NumRelRet", whole=True),
        TrecMeasure("map", _one, "AP"),
        TrecMeasure("gm_map", _one, "gm_AP", by_query=False),
        TrecMeasure("Rprec", _one, "Rprec"),
        TrecMeasure("bpref", _one, "Bpref"),
        TrecMeasure("recip_rank", _one, "RR"),
        TrecMeasure("iprec_at_recall", _levels, "IPrec", LEVELS),
        TrecMeasure("P", _cutoffs, "P", CUTOFFS),
        TrecMeasure("relstring", _first("k"), "relstring", summary=False),
        TrecMeasure("recall", _cutoffs, "R", CUTOFFS),
        TrecMeasure("infAP", _one, "infAP"),
        TrecMeasure("gm_bpref", _one, "gm_Bpref", by_query=False),
        TrecMeasure("Rprec_mult", _levels, "Rprec_mult", MULTIPLES),
        TrecMeasure("utility", _utility, "utility", ("1", "-1", "0", "0")),
        TrecMeasure("11pt_avg", _average_of_levels, "AP11"),
        TrecMeasure("binG", _one, "binG"),
        TrecMeasure("G", _gains, "G"),
        TrecMeasure("dcg", _gains, "DCG"),
        TrecMeasure("ndcg", _gains, "nDCG"),
        TrecMeasure("ndcg_rel", _gains, "ndcg_rel"),
        TrecMeasure("Rndcg", _gains, "Rndcg"),
        TrecMeasure("ndcg_cut", _cutoffs, "nDCG", CUTOFFS),
        TrecMeasure("map_cut", _cutoffs, "AP", CUTOFFS),
        TrecMeasure("relative_P", _cutoffs, "relative_P", CUTOFFS),
        TrecMeasure("success", _cutoffs, "Success", ("1", "5", "10")),
        TrecMeasure("set_P", _one, "SetP"),
        TrecMeasure("set_relative_P", _one, "SetRelP"),
        TrecMeasure("set_recall", _one, "SetR"),
        TrecMeasure("set_map", _one, "SetAP"),
        TrecMeasure("set_F", _first("beta"), "SetF"),
        TrecMeasure("num_nonrel_judged_ret", _one, "num_nonrel_judged_ret", whole=True),
        TrecMeasure("yaap", _one, "yaap"),
        TrecMeasure("rbp", _rbp, "RBP"),
        TrecMeasure("rbp_resid", _one, "rbp_resid"),
        TrecMeasure("unj", _cutoffs, "Unjudged", ("5", "10", "20")),
    )
}
NEW_IN_10 = ("rbp", "rbp_resid", "unj")

NICKNAMES: Mapping[str, Sequence[str]] = {
    "official": [
        "runid",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "map",
        "gm_map",
        "Rprec",
        "bpref",
        "recip_rank",
        "iprec_at_recall",
        "P",
    ],
    "set": [
        "runid",
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "utility",
        "set_P",
        "set_recall",
        "set_relative_P",
        "set_map",
        "set_F",
    ],
    "all_trec": ["runid", *(name for name in TREC_MEASURES if name not in ("yaap", "dcg"))],
}


def chosen(requests: Sequence[str], version: int = 10) -> tuple[bool, list[Printed]]:
    """Whether the run's name is wanted, and the lines to print for ``-m`` arguments such as ``P.5,10`` or ``all_trec``."""
    parameters: dict[str, Sequence[str] | None] = {}
    for request in requests:
        name, dot, given = request.partition(".")
        known = NICKNAMES.get(name, [name])
        for member in known:
            if member != "runid" and member not in TREC_MEASURES:
                raise MeasureError(
                    f"There is no measure {name!r}: {nearest(name, [*NICKNAMES, *TREC_MEASURES])}"
                )
            if member not in parameters or (dot and parameters[member] is None):
                parameters[member] = given.split(",") if dot else None
    lines = []
    for name, measure in TREC_MEASURES.items():
        if name in parameters and (version >= 10 or name not in NEW_IN_10):
            try:
                lines += measure.printed(parameters[name])
            except ValueError as error:
                raise MeasureError(
                    f"{name}.{','.join(parameters[name] or ())} cannot be read: {error}"
                ) from None
    return "runid" in parameters, lines
