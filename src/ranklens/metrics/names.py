"""Names of measures → measures: ``Name(parameter=value, …)@k``, and the spellings of other tools."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from ranklens.errors import InPython, MeasureError, closest, nearest
from ranklens.metrics.about import parameters
from ranklens.metrics.adoption import NUMBERED, adopted, after_dot, dotted, without_level
from ranklens.metrics.catalog import (
    READINGS,
    Definition,
    Measure,
    by_spelling,
    definition,
    definitions,
    load_built_in,
    load_further,
    load_plugins,
    make,
)
from ranklens.metrics.parameters import Nested
from ranklens.metrics.presets import PRESET_ALIASES, PRESETS
from ranklens.metrics.refusals import refuse_ambiguous, refuse_by_case, refuse_measures_of_answers


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
    known = PRESET_ALIASES.get(name.lower(), name.lower())
    if known not in PRESETS:
        raise MeasureError(f"There is no preset {name!r}: {nearest(name, PRESETS)}")
    return [parse(text) for text in PRESETS[known].split()]


def parse_many(given: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    """Measures from a name, several names in one string, a preset, a :class:`Measure`, or a list of these.

    >>> [str(m) for m in parse_many("rag, ndcg@10 AP(norm=min)@5")]
    ['R@5', 'P@5', 'RR', 'nDCG@10', 'AP(norm=min)@5']
    """
    if isinstance(given, Measure):
        return [given]
    key = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, (list, tuple)) else ()
    if key and {*map(type, key)} == {str}:
        return list(_parse_names(key))
    return _parse_each(given)


@lru_cache(maxsize=256)
def _parse_names(names: tuple[str, ...]) -> tuple[Measure, ...]:
    return tuple(_parse_each(names[0] if len(names) == 1 else names))


def _parse_each(given: object) -> list[Measure]:
    if isinstance(given, Measure):
        return [given]
    given = _spelled(given)
    found: list[Measure] = []
    if not isinstance(given, str):
        if not isinstance(given, Iterable):
            raise MeasureError(f"Expected the name of a measure, such as 'nDCG@10', not {given!r}.")
        for item in given:
            found += _parse_each(item)
    else:
        for text in _with_names(_split(given)):
            found += preset(text) if text.lower() in (*PRESETS, *PRESET_ALIASES) else [parse(text)]
    if not found:
        raise MeasureError(
            "No measures given; pass at least one, such as 'nDCG@10', or a preset such as 'rag'."
        )
    return list(dict.fromkeys(found))


def _spelled(given: object) -> object:
    """The name of a measure of ir_measures, such as ``ir_measures.nDCG@10``, which prints it; anything else as it is."""
    return str(given) if type(given).__module__.partition(".")[0] == "ir_measures" else given


def _with_names(texts: list[str]) -> list[str]:
    """trec_eval's ``P.5,10`` is ``P.5`` and ``P.10``: a number alone belongs to the name before it.

    >>> _with_names(["ndcg_cut.5", "10", "map", "iprec_at_recall.0.1", "0.5"])
    ['ndcg_cut.5', 'ndcg_cut.10', 'map', 'iprec_at_recall.0.1', 'iprec_at_recall.0.5']
    """
    found: list[str] = []
    for text in texts:
        before = re.fullmatch(r"([A-Za-z]\w*)\.[\d.]+", found[-1]) if found else None
        found.append(f"{before[1]}.{text}" if before and re.fullmatch(r"\d+(\.\d+)?", text) else text)
    return found


def parse(text: object) -> Measure:
    """The measure that a name stands for, in any common spelling.

    >>> [str(parse(t)) for t in ("ndcg_at_10", "map_cut_10", "MRR@10", "hit_rate@5", "P_5", "f1@3", "RBP(p=0.5)")]
    ['nDCG@10', 'AP@10', 'RR@10', 'Success@5', 'P@5', 'F@3', 'RBP(p=0.5)']
    >>> parse("nDGC@10")
    Traceback (most recent call last):
    ranklens.errors.MeasureError: There is no measure 'nDGC': did you mean 'nDCG'? ranklens.measures() lists them all.
    """
    text = _spelled(text)
    if not isinstance(text, str):
        raise MeasureError(f"Expected the name of a measure, such as 'nDCG@10', not {text!r}.")
    return _parse(text)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Measure:
    plain, level = without_level(text)
    base, inside, at = _take_apart(plain)
    base, rest = (base, None) if _known(base) else after_dot(base, _known)
    name, fixed = _find(base)
    params: dict[str, object] = {**fixed, **inside, **({} if level is None else _level(name, level))}
    if rest is not None:
        params |= dotted(name, base, rest, definition(name).at)
    name, params = adopted(name, params, definition(name).at)
    known = definition(name)
    if at is not None:
        number = NUMBERED.get(name) if "@" not in text else None
        if known.at is None and number is None:
            raise MeasureError(f"{text!r}: {name} takes no @{at}.")
        params[number or str(known.at)] = at
    measure, spelling = make(known, params), text.strip()
    return measure if spelling == str(measure) else replace(measure, asked=spelling)


def _level(name: str, level: str) -> dict[str, object]:
    """The relevance level of ranx: without a threshold of their own, measures of gains gain nothing from the (whole) grades below."""
    if {"rel", "gains"} & {*definition(name).parameters} == {"gains"}:
        return {"gains": dict.fromkeys(range(1, math.ceil(float(level))), 0)}
    return {"rel": level}


READINGS += [_parse.cache_clear, _parse_names.cache_clear]


def spellings(measures: Iterable[Measure]) -> list[str]:
    """What the spellings that were asked for stand for, where that is more than a matter of capitals.

    >>> spellings(parse_many("hit@5 mrr ndcg@10"))
    ['hit@5 is Success@5', 'mrr is RR']
    """
    return [f"{m.shown} is {m}" for m in measures if m.shown.lower() != str(m).lower()]


def with_rel(measure: Measure, rel: float) -> Measure:
    """``measure`` with the policy's relevance level, unless it sets its own; the name then shows it."""
    parameter = measure.definition.parameters.get("rel")
    if parameter is None or parameter.default == rel or "rel" in dict(measure.params):
        return measure
    return replace(measure.replace(rel=rel), asked=measure.asked)


# What a paper must state, whatever the default is.
_STATED = ("p", "alpha", "beta", "gamma", "T", "gain", "max_grade")


def stated(measure: str | Measure, max_grade: float | None = None) -> list[str]:
    """Parameters that a reader must know and that the canonical name leaves out, because they have their default.

    ``max_grade`` is the highest grade of the judgments, which some measures take where none is given.

    >>> stated("RBP"), stated("RBP(p=0.5)"), stated("ERR@20", 4)
    (['p = 0.8', 'gain = binary'], ['gain = binary'], ['max_grade = 4', 'gain = exp'])
    >>> stated("IA(ERR)", 4)
    ['max_grade = 4', 'gain = exp']
    """
    found = parse(measure) if isinstance(measure, str) else measure
    given = dict(found.params)
    told = stated(str(given["of"]), max_grade) if "of" in given else []
    for name, parameter in found.definition.parameters.items():
        if name not in _STATED or name in given or (name == "gain" and "gains" in given):
            continue
        if name == "max_grade" and parameters(found).get("gain") == "binary":
            continue
        value = max_grade if name == "max_grade" and parameter.default is None else parameter.default
        if value is not None and value is not inspect.Parameter.empty:
            told.append(f"{name} = {value:g}" if isinstance(value, (int, float)) else f"{name} = {value}")
    return told


_NAME = re.compile(r"\s*([^\s()@]+)\s*(?:\((.*)\))?\s*(?:@\s*([^\s@()]+))?\s*$", re.DOTALL)


def _take_apart(text: str) -> tuple[str, dict[str, str], str | None]:
    """``"P(rel=2)@5"`` → ``("P", {"rel": "2"}, "5")``; also ``P_5``, ``ndcg_at_10`` and ``ndcg_cut_10``."""
    match = _NAME.match(text)
    if not match:
        raise MeasureError(
            f"{text!r} is not the name of a measure; write it as in 'nDCG@10' or 'P(rel=2)@5'."
        )
    base, inside, at = match.groups()
    if at is None and not _known(base) and re.search(r"[^_\d]\d+$", base):
        load_further()  # NERR8 is a name, not nERR at 8
    if at is None and not _known(base):
        suffix = re.fullmatch(r"(.+?)(?:_at|_cut)?_?(\d*\.?\d+)", base)
        if suffix and _known(suffix[1]) and not suffix[2].startswith("."):
            base, at = suffix.groups()
    base = re.sub(r"_(at|cut)$", "", base) if not _known(base) else base
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
    if not _known(base):
        load_further()
    if not _known(base):
        return ""
    parameters = definition(_find(base)[0]).parameters
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


def _known(name: str) -> bool:
    load_built_in()
    return name.lower() in by_spelling()


def _find(name: str) -> tuple[str, Mapping[str, object]]:
    if not _known(name):
        load_further()
    if not _known(name):
        load_plugins()
    refuse_by_case(name)
    found = by_spelling().get(name) or by_spelling().get(name.lower())
    if found:
        return found
    refuse_ambiguous(name)
    if name.lower() == "all_trec":
        raise MeasureError(
            "There is no measure 'all_trec': the preset 'trec' has trec_eval's official measures; "
            "ranklens-trec-eval -m all_trec prints all of trec_eval's measures."
        )
    refuse_measures_of_answers(name)
    aliases = [alias for one in definitions().values() for alias in one.aliases]
    hint = closest(name, [*definitions(), *aliases, *PRESETS])
    listing = InPython("ranklens.measures()", command="ranklens measures")
    raise MeasureError(f"There is no measure {name!r}: {hint}", listing, " lists them all.")
