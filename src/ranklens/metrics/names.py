"""Names of measures → measures: ``Name(parameter=value, …)@k``, and the spellings of other tools."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from ranklens.errors import InPython, MeasureError, closest, nearest
from ranklens.metrics.catalog import (
    SPELLINGS,
    WHEN_CHANGED,
    Definition,
    definition,
    definitions,
    load_built_in,
    load_further,
    load_plugins,
)
from ranklens.metrics.instances import Measure, make
from ranklens.metrics.parameters import Nested
from ranklens.metrics.presets import PRESET_ALIASES, PRESETS


def look_up(name: str) -> Definition:
    """The definition behind any spelling of a measure's name, with or without parameters.

    >>> look_up("map").name
    'AP'
    """
    return definition(_find(_take_apart(name)[0])[0])


def measures() -> list[Measure]:
    """Every measure of the registry, those of installed plug-ins included, with default parameters.

    >>> [str(m) for m in measures()][:3]
    ['P', 'R', 'F']
    """
    load_plugins()
    required: dict[str, object] = {"recall": 0.5, "of": "nDCG@10"}
    return [make(d, {p: required[p] for p in required if p in d.parameters}) for d in definitions().values()]


def preset(name: str) -> list[Measure]:
    """The measures that people use together for a purpose.

    >>> preset("rag")
    [measure('R@5'), measure('P@5'), measure('RR')]
    """
    canonical = PRESET_ALIASES.get(name.lower(), name.lower())
    if canonical not in PRESETS:
        raise MeasureError(f"There is no preset {name!r}: {nearest(name, PRESETS)}")
    return [parse(text) for text in PRESETS[canonical].split()]


def parse_many(names: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Measures from a name, several names in one string, a preset, a :class:`Measure`, or a list of these.

    >>> [str(m) for m in parse_many("rag, ndcg@10 AP(norm=min)@5")]
    ['R@5', 'P@5', 'RR', 'nDCG@10', 'AP(norm=min)@5']
    """
    if isinstance(names, Measure):
        return [names]
    texts = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, (list, tuple)) else ()
    if {*map(type, texts)} == {str}:
        return list(_parse_names(texts))
    if type(names).__module__.partition(".")[0] == "ir_measures":  # ir_measures.nDCG@10 prints its name
        return parse_many(str(names))
    if not isinstance(names, Iterable):
        raise MeasureError(f"Expected the name of a measure, such as 'nDCG@10', not {names!r}.")
    return _distinct(measure for item in names for measure in parse_many(item))


@lru_cache(maxsize=256)
def _parse_names(names: tuple[str, ...]) -> tuple[Measure, ...]:
    texts: list[str] = []
    for text in (text for name in names for text in _split(name)):
        # trec_eval's P.5,10 is P.5 and P.10: a number alone belongs to the name before it.
        before = re.fullmatch(r"([A-Za-z]\w*)\.[\d.]+", texts[-1]) if texts else None
        texts.append(f"{before[1]}.{text}" if before and re.fullmatch(r"\d+(\.\d+)?", text) else text)
    presets = {*PRESETS, *PRESET_ALIASES}
    return tuple(
        _distinct(
            measure
            for text in texts
            for measure in (preset(text) if text.lower() in presets else [parse(text)])
        )
    )


def _distinct(measures: Iterable[Measure]) -> list[Measure]:
    distinct = list(dict.fromkeys(measures))
    if not distinct:
        raise MeasureError(
            "No measures given; pass at least one, such as 'nDCG@10', or a preset such as 'rag'."
        )
    return distinct


def parse(text: object) -> Measure:
    """The measure that a name stands for, in any common spelling.

    >>> [str(parse(t)) for t in ("ndcg_at_10", "map_cut_10", "MRR@10", "hit_rate@5", "P_5", "f1@3", "RBP(p=0.5)")]
    ['nDCG@10', 'AP@10', 'RR@10', 'Success@5', 'P@5', 'F@3', 'RBP(p=0.5)']
    >>> parse("nDGC@10")
    Traceback (most recent call last):
    ranklens.errors.MeasureError: There is no measure 'nDGC': did you mean 'nDCG'? ranklens.measures() lists them all.
    """
    if type(text).__module__.partition(".")[0] == "ir_measures":
        text = str(text)
    if not isinstance(text, str):
        raise MeasureError(f"Expected the name of a measure, such as 'nDCG@10', not {text!r}.")
    return _parse(text)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Measure:
    plain, level = without_level(text)
    base, inside, at = _take_apart(plain)
    base, behind_dot = _split_at_dot(base)
    name, fixed = _find(base)
    params = {**fixed, **inside}
    if level is not None and {"rel", "gains"} & {*definition(name).parameters} == {"gains"}:
        # ranx's level: measures of gains without a threshold gain nothing from the (whole) grades below.
        params["gains"] = dict.fromkeys(range(1, math.ceil(float(level))), 0)
    elif level is not None:
        params["rel"] = level
    name, params = adopted(name, {**params, **behind_dot}, definition(name).at)
    own = definition(name)
    if at is not None:
        number = NUMBERED.get(name) if "@" not in text else None
        if own.at is None and number is None:
            raise MeasureError(f"{text!r}: {name} takes no @{at}.")
        params[number or str(own.at)] = at
    measure, spelling = make(own, params), text.strip()
    return measure if spelling == str(measure) else replace(measure, asked=spelling)


WHEN_CHANGED += [_parse.cache_clear, _parse_names.cache_clear]

_NAME = re.compile(r"\s*([^\s()@]+)\s*(?:\((.*)\))?\s*(?:@\s*([^\s@()]+))?\s*$", re.DOTALL)


def _take_apart(text: str) -> tuple[str, dict[str, str], str | None]:
    """``"P(rel=2)@5"`` → ``("P", {"rel": "2"}, "5")``; also ``P_5``, ``ndcg_at_10`` and ``ndcg_cut_10``."""
    match = _NAME.match(text)
    if not match:
        raise MeasureError(
            f"{text!r} is not the name of a measure; write it as in 'nDCG@10' or 'P(rel=2)@5'."
        )
    base, inside, at = match.groups()
    if at is None and not _is_name(base) and re.search(r"[^_\d]\d+$", base):
        load_further()  # NERR8 is a name, not nERR at 8
    if at is None and not _is_name(base):
        suffix = re.fullmatch(r"(.+?)(?:_at|_cut)?_?(\d*\.?\d+)", base)
        if suffix and _is_name(suffix[1]) and not suffix[2].startswith("."):
            base, at = suffix.groups()
    base = base if _is_name(base) else re.sub(r"_(at|cut)$", "", base)
    params = {}
    for part in _split(inside or "", separators=","):
        nested = "" if re.match(r"\s*\w+\s*=", part) else _nested(base)
        if nested:
            params[nested] = part.strip()
            continue
        key, equals, value = part.partition("=")
        if not equals:
            raise MeasureError(f"{text!r}: {part.strip()!r} is not a parameter; write name=value.")
        if value.strip() not in ("…", "..."):  # which stands for the default in the documentation
            params[key.strip()] = value.strip().strip("\"'")
    return base, params, at


def _nested(base: str) -> str:
    """The parameter of a measure that is itself a measure; empty if there is none."""
    if not _is_name(base):
        load_further()
    parameters = definition(_find(base)[0]).parameters if _is_name(base) else {}
    return next((key for key, parameter in parameters.items() if parameter.kind is Nested), "")


def _split(text: str, separators: str = ", \t\n") -> list[str]:
    """Split at separators outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "({[") - (letter in ")}]")
        if depth == 0 and letter in separators:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _is_name(text: str) -> bool:
    load_built_in()
    return text.lower() in SPELLINGS


def _find(name: str) -> tuple[str, Mapping[str, object]]:
    """The measure of a spelling, and the parameters that the spelling fixes."""
    # Most names need only the families that are always loaded, and no plug-in.
    if not _is_name(name):
        load_further()
    if not _is_name(name):
        load_plugins()
    if _is_name(name) and name != "sDCG":  # SDCG, in capitals, is another measure
        return SPELLINGS.get(name) or SPELLINGS[name.lower()]
    from ranklens.metrics.refusals import refuse

    refuse(name)
    aliases = [alias for one in definitions().values() for alias in one.aliases]
    hint = closest(name, [*definitions(), *aliases, *PRESETS])
    listing = InPython("ranklens.measures()", command="ranklens measures")
    raise MeasureError(f"There is no measure {name!r}: {hint}", listing, " lists them all.")


# Other tools write parameters in their own ways: P.5, map@10-l2, nDCG(dcg=exp-log2), SetP(relative=True).

# What a number behind the name stands for, if it is not the cutoff: set_F_0.5, rbp.95.
NUMBERED: Mapping[str, str] = {"SetF": "beta", "RBP": "p", "RBPres": "p"}

_LEVEL = re.compile(r"(.+)-l(\d+(?:\.\d+)?)\s*$", re.DOTALL)


def without_level(text: str) -> tuple[str, str | None]:
    """The name and the relevance level of ranx's ``map@10-l2``; and ``AP@R``, whose cutoff is a number of the query.

    >>> without_level("map@10-l2")
    ('map@10', '2')
    """
    if text.strip().lower() in ("ap@r", "map@r"):
        return "AP_R", None
    match = _LEVEL.match(text)
    return (match[1], match[2]) if match else (text, None)


def _split_at_dot(base: str) -> tuple[str, Mapping[str, object]]:
    """The name and the parameters behind its dot, as trec_eval and ranx write them: ``P.5``, ``rbp.95``, ``set_F.0.5``."""
    asked, _, rest = base.partition(".")
    asked = asked if _is_name(asked) else re.sub(r"_(at|cut)$", "", asked)  # ndcg_cut.10
    if not rest or _is_name(base) or not _is_name(asked):
        return base, {}
    if "=" in rest:
        return asked, dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
    name, _ = _find(asked)
    if name == "RBP" and rest.isdecimal():  # ranx writes rbp.95 for p = 0.95, and counts grades as they are
        return asked, {"p": f"0.{rest}", "gain": "raw", "scale": "all"}
    at = definition(name).at
    return asked, {NUMBERED.get(name) or at or asked: rest.lstrip(".") if at == "k" else rest}


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
    gain = {"log2": "linear", "exp-log2": "exp"}.get(str(params.get("dcg")))
    if gain and name in ("nDCG", "DCG", "IDCG"):
        params["gain"] = gain
        del params["dcg"]
    if name in ("P", "RR", "AP", "RBP") and {"expect", "residual"} & params.keys():
        name += "_CWL"
    if name == "SetP" and "relative" in params:
        name = "SetRelP" if str(params.pop("relative")).lower() in ("true", "1", "yes") else name
    if name == "NumRet" and "rel" in params:
        name = "NumRelRet"
    return name, params
