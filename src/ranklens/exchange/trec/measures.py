"""trec_eval's measures: their parameters, order and lines. Their names are spellings of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ranklens.errors import MeasureError, closest
from ranklens.metrics import Measure, parse
from ranklens.metrics.parameters import Value

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
    level: float | None = None  # the recall level of an interpolated precision, which may become 0 / 0


@dataclass(frozen=True)
class TrecMeasure:
    """A measure of trec_eval, which may print several lines: one per cutoff."""

    name: str
    lines: Callable[[TrecMeasure, Sequence[str] | None], list[Printed]]
    defaults: Sequence[str] = ()
    whole: bool = False
    by_query: bool = True
    summary: bool = True
    ours: str = ""  # our name for it, where its own is not understood

    @property
    def understood(self) -> str:
        """A name that our parser of measures understands."""
        return self.ours or self.name

    @property
    def by_cutoff(self) -> bool:
        """Whether each parameter produces its own line."""
        return self.lines in (_cutoffs, _levels)

    def printed(self, parameters: Sequence[str] | None = None) -> list[Printed]:
        """The lines for the given parameters, or for the default ones."""
        return self.lines(self, parameters)


def whole_number(text: str) -> int:
    """The number that a text begins with, as C reads it.

    >>> whole_number("23.4")
    23
    """
    match = re.match(r"\s*([-+]?\d+)", text)
    if not match:
        raise ValueError(f"{text!r} is not a whole number")
    return int(match[1])


def _one(self: TrecMeasure, _: Sequence[str] | None) -> list[Printed]:
    """trec_eval passes over the parameters of measures that take none."""
    return [Printed(self.name, parse(self.understood), self.whole, self.by_query, self.summary)]


def _cutoffs(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    values = sorted(map(whole_number, parameters or self.defaults))
    _refuse_repeated(self, values)
    return [Printed(f"{self.name}_{k}", parse(self.understood) @ k) for k in values]


def _levels(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    values = sorted(map(float, parameters or self.defaults))
    _refuse_repeated(self, values)
    is_recall = self.name == "iprec_at_recall"
    return [
        Printed(
            f"{self.name}_{x:4.2f}",
            # trec_eval takes recall levels above 1, too, at which precision is 0.
            with_any(parse(f"{self.understood}@1"), recall=x)
            if is_recall and x > 1
            else parse(f"{self.understood}@{x}"),
            level=x if is_recall else None,
        )
        for x in values
    ]


def with_any(measure: Measure, **params: Value) -> Measure:
    """The measure with parameters outside of their limits, which trec_eval does not have: a relevance level of 0, say."""
    others = [(key, value) for key, value in measure.params if key not in params]
    return replace(measure, params=(*others, *params.items()))


def _refuse_repeated(self: TrecMeasure, values: Sequence[float]) -> None:
    if len(set(values)) < len(values):
        raise MeasureError(f"{self.name}: a cutoff appears twice in {', '.join(f'{x:g}' for x in values)}.")


def _with(self: TrecMeasure, parameters: Sequence[str] | None, **fixed: object) -> list[Printed]:
    """One line; what is None keeps its default."""
    name = f"{self.name}_{','.join(parameters)}" if parameters else self.name
    measure = parse(self.understood).replace(**{key: one for key, one in fixed.items() if one is not None})
    return [Printed(name, measure, by_query=self.by_query, summary=self.summary)]


def _pairs(self: TrecMeasure, parameters: Sequence[str] | None, example: str) -> dict[str, str]:
    """What ``name=value`` parameters set."""
    for parameter in parameters or ():
        if "=" not in parameter:
            request = f"{self.name}.{','.join(parameters or ())}"
            raise MeasureError(f"{request} cannot be read: write it as {self.name}.{example}.")
    return dict(parameter.split("=", 1) for parameter in parameters or ())


def _gains(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    return _with(self, parameters, gains=_pairs(self, parameters, "1=3,2=9") or None)


def _utility(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    values = list(parameters or self.defaults)
    if len(values) != 4:
        raise MeasureError(f"utility takes four coefficients, not {','.join(values)}.")
    return _with(self, parameters, **dict(zip("abcd", values, strict=True)))


def _persistence(self: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    pairs = _pairs(self, parameters, "p=0.8")
    if pairs.keys() - {"p"}:
        raise MeasureError(f"{self.name} takes p, as in {self.name}.p=0.8, not {','.join(parameters or ())}.")
    return _with(self, parameters, p=pairs.get("p", "0.9"))


# In the order in which trec_eval calculates and prints them.
TREC_MEASURES: Mapping[str, TrecMeasure] = {
    m.name: m
    for m in (
        TrecMeasure("num_q", _one, whole=True, by_query=False),
        TrecMeasure("num_ret", _one, whole=True),
        TrecMeasure("num_rel", _one, whole=True),
        TrecMeasure("num_rel_ret", _one, whole=True),
        TrecMeasure("map", _one),
        TrecMeasure("gm_map", _one, by_query=False),
        TrecMeasure("Rprec", _one),
        TrecMeasure("bpref", _one),
        TrecMeasure("recip_rank", _one),
        TrecMeasure("iprec_at_recall", _levels, LEVELS),
        TrecMeasure("P", _cutoffs, CUTOFFS),
        TrecMeasure(
            "relstring",
            lambda self, given: _with(self, given, k=whole_number(given[0]) if given else None),
            summary=False,
        ),
        TrecMeasure("recall", _cutoffs, CUTOFFS),
        TrecMeasure("infAP", _one),
        TrecMeasure("gm_bpref", _one, by_query=False),
        TrecMeasure("Rprec_mult", _levels, MULTIPLES),
        TrecMeasure("utility", _utility, ("1", "-1", "0", "0")),
        TrecMeasure("11pt_avg", lambda self, given: _with(self, given, levels=given)),
        TrecMeasure("binG", _one),
        TrecMeasure("G", _gains),
        TrecMeasure("dcg", _gains),
        TrecMeasure("ideal_dcg", _gains),
        TrecMeasure("ndcg", _gains),
        TrecMeasure("ndcg_rel", _gains),
        TrecMeasure("Rndcg", _gains),
        TrecMeasure("ndcg_cut", _cutoffs, CUTOFFS),
        TrecMeasure("map_cut", _cutoffs, CUTOFFS),
        TrecMeasure("relative_P", _cutoffs, CUTOFFS),
        TrecMeasure("success", _cutoffs, ("1", "5", "10")),
        TrecMeasure("set_P", _one),
        TrecMeasure("set_relative_P", _one),
        TrecMeasure("set_recall", _one),
        TrecMeasure("set_map", _one),
        TrecMeasure("set_F", lambda self, given: _with(self, given, beta=given[0] if given else None)),
        TrecMeasure("num_nonrel_judged_ret", _one, whole=True),
        TrecMeasure("yaap", _one),
        TrecMeasure("rbp", _persistence),
        TrecMeasure("rbp_resid", _persistence),
        TrecMeasure("unj", _cutoffs, ("5", "10", "20")),
    )
}
NEW_IN_10 = ("rbp", "rbp_resid", "unj")

# Averaged over the judgment groups of a query (``-R qrels_jg``).
GROUP_MEASURES: Mapping[str, TrecMeasure] = {
    m.name: m
    for m in (
        TrecMeasure("map_avgjg", _one, ours="AP"),
        TrecMeasure("P_avgjg", _cutoffs, CUTOFFS, ours="P"),
        TrecMeasure("Rprec_mult_avgjg", _levels, MULTIPLES, ours="Rprec_mult"),
    )
}

# In no nickname, because trec_eval has them in none.
NOT_IN_ALL = ("yaap", "dcg", "ideal_dcg")

_COUNTS = ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret"]
NICKNAMES: Mapping[str, Sequence[str]] = {
    "official": [*_COUNTS, *["map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"]],
    "set": [*_COUNTS, *["utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"]],
    "all_trec": ["runid", *(name for name in TREC_MEASURES if name not in NOT_IN_ALL)],
}


def requested(
    requests: Sequence[str], nicknames: Mapping[str, Sequence[str]], known: Sequence[str]
) -> dict[str, Sequence[str] | None]:
    """The measures that ``-m`` arguments such as ``P.5,10`` or ``all_trec`` ask for, with their parameters.

    Where a measure is asked for more than once, its first parameters hold; a nickname takes none.
    """
    wanted: dict[str, Sequence[str] | None] = {}
    for request in requests:
        name, dot, parameters = request.partition(".")
        if dot and not parameters:
            raise MeasureError(f"{request!r}: the parameters after the dot are missing.")
        if name in nicknames:
            wanted |= {member: None for member in nicknames[name] if member not in wanted}
        elif name != "runid" and name not in known:
            hint = (
                closest(name, [*nicknames, *known])
                + f"-h -m {next(iter(nicknames))} describes what there is."
            )
            raise MeasureError(f"There is no measure {name!r} for these judgments: {hint}")
        elif wanted.get(name) is None:
            wanted[name] = parameters.split(",") if dot else None
    return wanted


def chosen(requests: Sequence[str], version: int = 10) -> tuple[bool, list[Printed]]:
    """Whether the run's name is wanted, and the lines to print, in trec_eval's order."""
    wanted = requested(requests, NICKNAMES, list(TREC_MEASURES))
    lines = []
    for name, measure in TREC_MEASURES.items():
        if name in wanted and (version >= 10 or name not in NEW_IN_10):
            lines += printed_lines(measure, wanted[name])
    return "runid" in wanted, lines


def printed_lines(measure: TrecMeasure, parameters: Sequence[str] | None) -> list[Printed]:
    """The lines of a measure; an error that names it where its parameters cannot be read."""
    try:
        return measure.printed(parameters)
    except MeasureError:
        raise
    except ValueError as error:
        raise MeasureError(f"{measure.name}.{','.join(parameters or ())} cannot be read: {error}.") from None
