"""Tables of parameters for the API reference: name, type, default and meaning. Options are described where the program has them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from html import escape
from importlib import import_module
from typing import Any

from ranklens.comparison.options import CompareOptions
from ranklens.options import descriptions
from ranklens.policy import Policy
from ranklens.retrieval.asking import AskOptions

_LEAST = 3  # functions with fewer parameters need no table
_OPTIONS = {
    "PolicyOptions": Policy,
    "CompareArguments": Policy,
    "AskArguments": AskOptions,
}  # behind **options
_TOLD = {
    name: said.key or said.help
    for options in (Policy, AskOptions, CompareOptions)
    for name, said in descriptions(options).items()
    if said.key or said.help
}
_SHARED = {
    "qrels": "Judgments of any shape: a dict, a table, a golden set, a path.",
    "run": "A run of any shape: a dict, a table, a log, a path.",
    "runs": "Runs by name, a list of paths, or a pattern.",
    "measures": "Names of measures, or a preset.",
    "measure": "A measure, in any spelling.",
    "policy": "All policies as one object.",
    "columns": "Names or paths of fields, where they differ from the usual ones.",
    "match": "How retrieved items match expected ones.",
    "convention": "Compute the number of another tool.",
    "abstain_below": "For unanswerable questions, treat an answer as empty if all its scores are below this.",
    "save": "Save to the history of the project: true, or a label.",
    "rng": "Random seed, a NumPy generator, or None.",
    "seed": "Random seed.",
    "progress": "Called with an iterable of the systems, to show progress.",
    "k": "Cutoff.",
    "retrieved": "Ids, best first; or a list of such lists.",
    "relevant": "Ids of relevant documents, or grades by id.",
    "clusters": "The cluster of each query: a dict, or a column of queries.",
    "queries": "Texts and fields of the queries.",
    "corpus": "Texts of the documents.",
    "device": "Where to compute, such as cuda or cpu.",
    "path": "The file to write.",
}


def table(path: str, docstring: str) -> str:
    """The parameters of a function by its dotted path, as a Markdown table; empty if there are few."""
    function = _function(path)
    rows = [] if function is None else list(_rows(function, docstring))
    if len(rows) < _LEAST:
        return ""
    head = ["| parameter | type | default | meaning |", "| --- | --- | --- | --- |"]
    return "\n".join(head + ["| " + " | ".join(row) + " |" for row in rows]) + "\n\n"


def _function(path: str) -> Callable[..., Any] | None:
    module, rest = path, []
    while module:
        try:
            value: Any = import_module(module)
        except ImportError:
            module, _, name = module.rpartition(".")
            rest.insert(0, name)
            continue
        for name in rest:
            value = getattr(value, name, None)
        return value if inspect.isfunction(value) else None
    return None


def _rows(function: Callable[..., Any], docstring: str) -> Iterator[list[str]]:
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("self", "cls"):
            continue
        kind = _kind(parameter.annotation)
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            options = _OPTIONS.get(kind.removeprefix("Unpack[").rstrip("]"))
            for option in descriptions(options) if options else ():
                yield [f"`{option}`", "", f"`{getattr(options(), option)!r}`", _cell(_TOLD.get(option, ""))]
            continue
        default = "" if parameter.default is inspect.Parameter.empty else f"`{_shown(parameter.default)}`"
        meaning = _SHARED.get(name) or _TOLD.get(name) or _sentence(name, docstring)
        yield [f"`{name}`", _code(kind), default, _cell(meaning)]


def _kind(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return "" if annotation is inspect.Parameter.empty else text


def _shown(default: object) -> str:
    return getattr(default, "__name__", repr(default))


def _sentence(name: str, docstring: str) -> str:
    """The first sentence of the docstring that names the parameter."""
    prose = " ".join(re.split(r"^>>>", docstring, maxsplit=1, flags=re.MULTILINE)[0].split())
    sentences = re.split(r"(?<=\.) +(?=[A-Z`])", prose)
    return next((one for one in sentences if re.search(rf"``{name}\b", one)), "")


def _code(kind: str) -> str:
    """A type as code; a bar in backticks would end the cell."""
    return f"<code>{escape(kind).replace('|', '&#124;')}</code>" if kind else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
