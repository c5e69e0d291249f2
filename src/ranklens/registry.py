"""Measures by name: the decorator that registers them, the parser of names, and how they print.

A name is ``Name(parameter=value, …)@k``. Parameters, their types and defaults come from the function's signature, the
description from its docstring, so a measure is defined in one place.
"""

from __future__ import annotations

import inspect
import math
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

from ranklens.errors import InPython, MeasureError, nearest, warn

if TYPE_CHECKING:
    from ranklens.arrays import FloatArray
    from ranklens.judging.judged import Judged

Aggregate = Literal["mean", "sum", "geometric", "none"]
Better = Literal["higher", "lower", "neither"]
Value: TypeAlias = "int | float | bool | str | tuple[tuple[float, float], ...] | tuple[float, ...] | None"
Function = TypeVar("Function", bound="Callable[..., Any]")

ENTRY_POINT_GROUP = "ranklens.measures"


@dataclass(frozen=True)
class Above:
    """The value must be greater than ``low``, and less than ``below`` if that is given."""

    low: float
    below: float = float("inf")

    def allows(self, value: float) -> bool:
        return self.low < value < self.below

    def __str__(self) -> str:
        return f"above {self.low:g}" + (f" and below {self.below:g}" if self.below < float("inf") else "")


@dataclass(frozen=True)
class Within:
    """The value must lie between ``low`` and ``high``, both included."""

    low: float
    high: float

    def allows(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"from {self.low:g} to {self.high:g}"


# How parameters are annotated: the type says how to read the value, the limit which values are allowed.
Cutoff: TypeAlias = Annotated[int | None, Within(1, 1e15)]
Rel: TypeAlias = Annotated[float, Above(0)]
Share: TypeAlias = Annotated[float, Within(0, 1)]
Chance: TypeAlias = Annotated[float, Above(0, below=1)]
Positive: TypeAlias = Annotated[float, Above(0)]
Gains: TypeAlias = Annotated[Mapping[float, float] | None, "gains"]
Levels: TypeAlias = Annotated[Sequence[float] | None, "levels"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a measure, as its function's signature declares it."""

    name: str
    kind: type
    default: Any
    choices: tuple[str, ...] = ()
    limit: Above | Within | None = None

    def read(self, value: Any, owner: str) -> Value:
        """``value`` checked and in its canonical form."""
        if value is None and self.default is None:
            return None
        try:
            result = self._convert(value)
        except (TypeError, ValueError):
            result = None
        if result is None or (self.limit and not self.limit.allows(typing.cast("float", result))):
            raise MeasureError(
                f"{owner}: {self.name}={value!r} is not allowed; {self.name} is {self.allowed()}."
            )
        return result

    def allowed(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        nouns = {
            bool: "true or false",
            dict: "a table such as {1: 3, 2: 9}",
            list: "a list such as [0.25, 0.5]",
        }
        noun = nouns.get(self.kind, "a whole number" if self.kind is int else "a number")
        return f"{noun} {self.limit}".replace(" to 1e+15", "").replace(" to inf", "") if self.limit else noun

    def default_in_words(self) -> str:
        """``", default 0.8"``, or that the parameter must be given."""
        if self.default is inspect.Parameter.empty:
            return ", must be given"
        return "" if self.default is None else f", default {_show(self.default)}"

    def _convert(self, value: Any) -> Value:  # noqa: PLR0911  one case per kind
        if self.choices:
            return str(value) if str(value) in self.choices else None
        if self.kind is bool:
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
                str(value).lower()
            )
        if self.kind is dict:
            table = dict(value) if isinstance(value, (Mapping, tuple)) else _read_table(str(value))
            return tuple(sorted((_tidy(float(k)), _tidy(float(v))) for k, v in table.items()))
        if self.kind is list:
            parts = value.strip().strip("[]").split(",") if isinstance(value, str) else value
            return tuple(_tidy(float(part)) for part in parts) or None
        if isinstance(value, bool):
            return None
        number = float(value)
        if self.kind is int:
            return int(number) if number.is_integer() else None
        return _tidy(number) if math.isfinite(number) else None


@dataclass(frozen=True)
class Definition:
    """A registered measure: its names, function, parameters and how its values are combined over queries."""

    name: str
    function: Callable[..., FloatArray]
    aliases: Mapping[str, Mapping[str, Any]]
    parameters: Mapping[str, Parameter]
    at: str | None
    aggregate: Aggregate
    low: float
    high: float
    average_ties: bool
    better: Better = "higher"
    like: str | None = None  # the measure whose parameters it takes

    @property
    def description(self) -> str:
        """The docstring of the function, and where its parameters are described if not there."""
        own = inspect.cleandoc(self.function.__doc__ or "")
        return f"{own}\n\nSame parameters as {self.like}." if self.like else own

    def told(self, given: Iterable[str]) -> list[str]:
        """The docstring by paragraph, without those that begin with the name of a parameter unless one they name is given.

        >>> look_up("R").told([])
        ['Recall: relevant documents in the top k, divided by all relevant documents R.']
        """
        chosen = [f"``{name}{end}" for name in given for end in "=`"]
        parts = inspect.cleandoc(self.function.__doc__ or "").split("\n\n")
        kept = [part for part in parts if not part.startswith("``") or any(name in part for name in chosen)]
        return [" ".join(part.replace("``", "").split()) for part in kept]

    @property
    def summary(self) -> str:
        """The first line of the description, which there is none of with ``python -OO``."""
        return next(iter(self.description.splitlines()), "").replace("``", "")

    @property
    def family(self) -> str:
        """The module that defines it, e.g. ``gain``."""
        return self.function.__module__.rpartition(".")[2]


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters, e.g. what ``nDCG@10`` stands for. Equal measures print the same.

    Tables and frames show a measure as it was asked for, which makes no difference to what it is.

    >>> measure = parse("ndcg_cut_10")
    >>> str(measure), measure.k, measure == parse("nDCG@10"), str(parse("P") @ 5)
    ('nDCG@10', 10, True, 'P@5')
    >>> measure.shown
    'ndcg_cut_10'
    """

    name: str
    params: tuple[tuple[str, Value], ...] = ()
    asked: str = field(default="", compare=False)  # the spelling that was asked for

    @property
    def shown(self) -> str:
        """The spelling that was asked for, else the canonical one."""
        return self.asked or str(self)

    @property
    def definition(self) -> Definition:
        return definitions()[self.name]

    @property
    def k(self) -> int | None:
        """The cutoff, if the measure has one."""
        value = dict(self.params).get("k")
        return value if isinstance(value, int) else None

    def __call__(self, judged: Judged) -> FloatArray:
        """One value per query."""
        if self._judged_only:
            judged = judged.condensed()
        return self.definition.function(judged, **self._arguments)

    @cached_property
    def _judged_only(self) -> bool:
        return bool(dict(self.params).get("judged_only", False))

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """What the formula is called with."""
        return {k: _argument(v) for k, v in self.params if k != "judged_only"}

    def __matmul__(self, at: float) -> Measure:
        if self.definition.at is None:
            raise MeasureError(f"{self.name} takes no @.")
        return self.replace(**{self.definition.at: at})

    def replace(self, **params: Any) -> Measure:
        """The same measure with other parameters.

        >>> str(parse("P@5").replace(rel=2))
        'P(rel=2)@5'
        """
        return make(self.definition, {**dict(self.params), **params})

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        at = self.definition.at
        inside = ", ".join(f"{k}={_show(v)}" for k, v in self.params if k != at)
        cutoff = f"@{_show(v)}" if at and (v := dict(self.params).get(at)) is not None else ""
        return self.name + (f"({inside})" if inside else "") + cutoff

    def __repr__(self) -> str:
        return f"measure({str(self)!r})"


_DEFINITIONS: dict[str, Definition] = {}


def measure(
    name: str,
    *aliases: str | Mapping[str, Mapping[str, Any]],
    aggregate: Aggregate = "mean",
    low: float = 0.0,
    high: float = 1.0,
    average_ties: bool = False,
    better: Better = "higher",
    like: str | None = None,
) -> Callable[[Function], Function]:
    """Register a function over :class:`~ranklens.judging.judged.Judged` as a measure.

    Its keyword-only parameters become the measure's parameters; ``k`` (or ``recall``, ``x``) is the number after ``@``.
    An alias may fix parameters: ``{"relative_P": {"cap": True}}``. ``average_ties`` says that the function is exact
    over averaged ties, which holds when it uses only :class:`~ranklens.judging.judged.Hits`' own sums (see CONTRIBUTING).
    ``better`` says which values are good, for comparisons in words, ``like`` which other measure has the same parameters.

    >>> from ranklens.registry import measure
    >>> @measure("LastRank", high=float("inf"))
    ... def last_rank(judged, *, rel: float = 1):
    ...     '''The rank of the last relevant document; 0 where none was retrieved.'''
    ...     hits = judged.relevant(rel)
    ...     return hits.max(hits.rank)
    >>> import ranklens as rl
    >>> rl.evaluate({"q": {"a": 1, "b": 1}}, {"q": ["a", "x", "b"]}, ["LastRank"]).mean
    {'LastRank': 3.0}
    >>> unregister("LastRank")
    """

    def register(function: Function) -> Function:
        parameters = _parameters(name, function)
        at = next((p for p in ("k", "recall", "x") if p in parameters), None)
        table: dict[str, Mapping[str, Any]] = {}
        for alias in aliases:
            table.update({alias: {}} if isinstance(alias, str) else alias)
        new = Definition(
            name, function, table, parameters, at, aggregate, low, high, average_ties, better, like
        )
        for spelling in (name, *table):
            known = _spellings().get(spelling.lower())
            if known and known[0] != name:
                raise MeasureError(
                    f"The name {spelling!r} is taken by the measure {known[0]}; choose another."
                )
        _DEFINITIONS[name] = new
        _forget()
        return function

    return register


def unregister(name: str) -> None:
    """Take a measure out of the registry, e.g. at the end of a test."""
    del _DEFINITIONS[name]
    _forget()


def _forget() -> None:
    """What was read of names before the registry changed."""
    _spellings.cache_clear()
    _parse.cache_clear()
    _parse_names.cache_clear()


def definitions() -> Mapping[str, Definition]:
    """All registered measures by their canonical name."""
    _load_built_in()
    return _DEFINITIONS


def look_up(name: str) -> Definition:
    """The definition behind any spelling of a measure's name, with or without parameters.

    >>> look_up("map").name
    'AP'
    """
    return definitions()[_find(_take_apart(name)[0])[0]]


def measures() -> list[Measure]:
    """Every measure of the registry, those of installed plug-ins included, with default parameters.

    >>> [str(m) for m in measures()][:3]
    ['P', 'R', 'F']
    """
    _load_plugins()
    required = {"recall": 0.5}
    return [make(d, {p: required[p] for p in required if p in d.parameters}) for d in definitions().values()]


PRESETS: Mapping[str, str] = {
    "qa": "RR Success@1",
    "search": "nDCG@10 P@10",
    "legal": "R@100 P@100",
    "recommendation": "nDCG@5 P@5",
    "fact-check": "Success@3 RR",
    "rag": "R@5 P@5 RR",
    "trec": "NumQ NumRet NumRel NumRelRet AP gm_AP Rprec Bpref RR "
    + " ".join(f"IPrec@{level / 10:g}" for level in range(11))
    + "".join(f" P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    "beir": " ".join(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in (1, 3, 5, 10, 100, 1000)),
}
_PRESET_ALIASES = {"official": "trec"}  # trec_eval's name for the same measures


def preset(name: str) -> list[Measure]:
    """The measures that people use together for a purpose.

    >>> preset("rag")
    [measure('R@5'), measure('P@5'), measure('RR')]
    """
    known = _PRESET_ALIASES.get(name.lower(), name.lower())
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


def _parse_each(given: str | Measure | Iterable[str | Measure]) -> list[Measure]:
    if isinstance(given, Measure):
        return [given]
    found: list[Measure] = []
    if not isinstance(given, str):
        if not isinstance(given, Iterable):
            raise MeasureError(f"Expected the name of a measure, such as 'nDCG@10', not {given!r}.")
        for item in given:
            found += _parse_each(item)
    else:
        for text in _split(given):
            found += preset(text) if text.lower() in (*PRESETS, *_PRESET_ALIASES) else [parse(text)]
    if not found:
        raise MeasureError(
            "No measures given; pass at least one, such as 'nDCG@10', or a preset such as 'rag'."
        )
    return list(dict.fromkeys(found))


def parse(text: Any) -> Measure:
    """The measure that a name stands for, in any common spelling.

    >>> [str(parse(t)) for t in ("ndcg_at_10", "map_cut_10", "MRR@10", "hit_rate@5", "P_5", "f1@3", "RBP(p=0.5)")]
    ['nDCG@10', 'AP@10', 'RR@10', 'Success@5', 'P@5', 'F@3', 'RBP(p=0.5)']
    >>> parse("nDGC@10")
    Traceback (most recent call last):
    ranklens.errors.MeasureError: There is no measure 'nDGC': did you mean 'nDCG'? ranklens.measures() lists them all.
    """
    if not isinstance(text, str):
        raise MeasureError(f"Expected the name of a measure, such as 'nDCG@10', not {text!r}.")
    return _parse(text)


@lru_cache(maxsize=1024)
def _parse(text: str) -> Measure:
    base, inside, at = _take_apart(text)
    name, fixed = _find(base)
    definition = definitions()[name]
    params: dict[str, Any] = {**fixed, **inside}
    if at is not None:
        if definition.at is None:
            raise MeasureError(f"{text!r}: {name} takes no @{at}.")
        params[definition.at] = at
    return _as_asked(make(definition, params), text.strip())


def _as_asked(measure: Measure, spelling: str) -> Measure:
    return measure if spelling == str(measure) else replace(measure, asked=spelling)


def spellings(measures: Iterable[Measure]) -> list[str]:
    """What the spellings that were asked for stand for, where that is more than a matter of capitals.

    >>> spellings(parse_many("hit@5 mrr ndcg@10"))
    ['hit@5 is Success@5', 'mrr is RR']
    """
    return [f"{m.shown} is {m}" for m in measures if m.shown.lower() != str(m).lower()]


def make(definition: Definition, params: Mapping[str, Any]) -> Measure:
    """A measure with checked parameters, in the order of the signature, defaults left out."""
    for key in params:
        if key not in definition.parameters:
            raise MeasureError(
                f"{definition.name} has no parameter {key!r}: {nearest(key, definition.parameters)}"
            )
    found: list[tuple[str, Value]] = []
    for key, parameter in definition.parameters.items():
        if key not in params:
            if parameter.default is inspect.Parameter.empty:
                raise MeasureError(
                    f"{definition.name} needs {key}: write {definition.name}@0.5, for example."
                )
            continue
        value = parameter.read(params[key], definition.name)
        if value != parameter.default:
            found.append((key, value))
    return Measure(definition.name, tuple(found))


def _parameters(name: str, function: Callable[..., Any]) -> dict[str, Parameter]:
    hints = typing.get_type_hints(function, include_extras=True)
    found = {}
    for key, argument in list(inspect.signature(function).parameters.items())[1:]:
        if argument.kind is not inspect.Parameter.KEYWORD_ONLY:
            raise MeasureError(f"{name}: parameter {key!r} must be keyword-only: put it after a '*'.")
        found[key] = _parameter(key, hints.get(key, float), argument.default)
    found["judged_only"] = Parameter("judged_only", bool, default=False)
    return found


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    limit = None
    # Before Python 3.11, a default of None puts one more "| None" around the type.
    hint = next((kind for kind in typing.get_args(hint) if typing.get_origin(kind) is Annotated), hint)
    if typing.get_origin(hint) is Annotated:
        hint, *extras = typing.get_args(hint)
        limit = next((extra for extra in extras if isinstance(extra, (Above, Within))), None)
        if "gains" in extras or "levels" in extras:
            return Parameter(name, dict if "gains" in extras else list, default)
    alternatives = [hint, *typing.get_args(hint)]  # of "int | None", for example
    for alternative in alternatives:
        if typing.get_origin(alternative) is Literal:
            return Parameter(name, str, default, choices=typing.get_args(alternative))
    kinds = [kind for kind in (bool, int, float) if kind in alternatives]
    return Parameter(name, kinds[0] if kinds else float, default, limit=limit)


_NAME = re.compile(r"\s*([^\s()@]+)\s*(?:\((.*)\))?\s*(?:@\s*([^\s@()]+))?\s*$", re.DOTALL)


def _take_apart(text: str) -> tuple[str, dict[str, str], str | None]:
    """``"P(rel=2)@5"`` → ``("P", {"rel": "2"}, "5")``; also ``P_5``, ``ndcg_at_10`` and ``ndcg_cut_10``."""
    match = _NAME.match(text)
    if not match:
        raise MeasureError(
            f"{text!r} is not the name of a measure; write it as in 'nDCG@10' or 'P(rel=2)@5'."
        )
    base, inside, at = match.groups()
    if at is None and not _known(base):
        suffix = re.fullmatch(r"(.+?)(?:_at|_cut)?_?(\d*\.?\d+)", base)
        if suffix and _known(suffix[1]):
            base, at = suffix.groups()
    base = re.sub(r"_(at|cut)$", "", base) if not _known(base) else base
    params = {}
    for part in _split(inside or "", separators=","):
        key, equals, value = part.partition("=")
        if not equals:
            raise MeasureError(f"{text!r}: {part.strip()!r} is not a parameter; write name=value.")
        params[key.strip()] = value.strip().strip("\"'")
    return base, params, at


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


def _read_table(text: str) -> dict[str, str]:
    pairs = [pair.split(":") for pair in text.strip().strip("{}").split(",") if pair.strip()]
    return {key.strip().strip("\"'"): value for key, value in pairs}


@cache
def _spellings() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Every lower-case spelling and what it stands for."""
    table: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for definition in _DEFINITIONS.values():
        table[definition.name.lower()] = (definition.name, {})
        for alias, params in definition.aliases.items():
            table[alias.lower()] = (definition.name, params)
    return table


def _known(name: str) -> bool:
    _load_built_in()
    return name.lower() in _spellings()


def _find(name: str) -> tuple[str, Mapping[str, Any]]:
    if not _known(name):
        _load_plugins()
    if name.lower() in _spellings():
        return _spellings()[name.lower()]
    if name.lower() == "all_trec":
        raise MeasureError(
            "There is no measure 'all_trec': the preset 'trec' holds trec_eval's official measures; "
            "ranklens-trec-eval -m all_trec prints all of trec_eval's measures."
        )
    _refuse_measures_of_answers(name)
    aliases = [alias for definition in _DEFINITIONS.values() for alias in definition.aliases]
    hint = nearest(name, [*_DEFINITIONS, *aliases, *PRESETS])
    listing = InPython("ranklens.measures()", command="ranklens measures")
    raise MeasureError(f"There is no measure {name!r}: {hint}", listing, " lists them all.")


# Measures of tools that let a model judge, and the measures over judgments that come nearest.
_OF_CONTEXTS = {
    "precision": "P@5, or AP, which counts the order, too",
    "relevancy": "P@5",
    "relevance": "P@5",
    "recall": "R@5",
}
_OF_ANSWERS = {
    "faithfulness", "answer_relevancy", "answer_relevance", "answer_correctness", "answer_similarity",
    "answer_accuracy", "response_relevancy", "response_groundedness", "semantic_similarity", "factual_correctness",
    "factuality", "hallucination", "groundedness", "noise_sensitivity", "correctness", "toxicity", "bias",
    "summarization", "bleu", "rouge", "meteor", "bertscore", "g_eval", "geval",
}  # fmt: skip


def _refuse_measures_of_answers(name: str) -> None:
    """Names that people know from tools that measure generated answers, too."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)  # ContextRecall
    plain = spaced.lower().replace("-", "_").removeprefix("llm_").removesuffix("_score")
    context = re.fullmatch(
        r"(?:context|contextual|retrieval)_(?:\w+_)?(precision|recall|relevance|relevancy)", plain
    )
    if context:
        raise MeasureError(
            f"There is no measure {name!r}: RankLens counts documents that are judged relevant, without a model. "
            f"The nearest is {_OF_CONTEXTS[context[1]]}."
        )
    if plain in _OF_ANSWERS:
        raise MeasureError(
            f"There is no measure {name!r}: RankLens measures retrieval, not generated answers. "
            "Measures of retrieval are R@5, RR and nDCG@10, for example."
        )


@cache
def _load_built_in() -> None:
    import ranklens.formulas  # noqa: F401  registers the measures


@cache
def _load_plugins() -> None:
    """Import what installed packages offer in the entry-point group; importing registers it."""
    from importlib.metadata import entry_points

    _load_built_in()
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            point.load()
        except Exception as error:  # noqa: BLE001, PERF203  a package that is broken does not break the others
            warn(f"The measures of {point.value} cannot be loaded: {type(error).__name__}: {error}")


def _tidy(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def _show(value: Value) -> str:
    if isinstance(value, tuple):
        shown = [f"{part[0]}: {part[1]}" if isinstance(part, tuple) else str(part) for part in value]
        return ("{%s}" if isinstance(value[0], tuple) else "[%s]") % ", ".join(shown)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _argument(value: Value) -> Any:
    is_table = isinstance(value, tuple) and isinstance(value[0], tuple)
    return dict(value) if is_table else value  # type: ignore[arg-type]


__all__: Sequence[str] = ["Definition", "Measure", "measure", "measures", "parse", "parse_many", "preset"]
