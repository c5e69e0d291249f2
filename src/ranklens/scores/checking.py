"""Whether JSON that is read is what RankLens wrote: shapes by its schemas, then whatever has to agree within it."""

from __future__ import annotations

from dataclasses import fields
from math import isclose
from typing import TYPE_CHECKING, Any, TypedDict, cast

import numpy as np

from ranklens.data.files.json_schema import fault, schema, shown
from ranklens.errors import InputError, MeasureError
from ranklens.judging.judged import Applied
from ranklens.metrics import parse
from ranklens.policy import Policy
from ranklens.scores.scores import FORMAT_VERSION, SCHEMA, NamesOfMeasure, total
from ranklens.words import counted, several

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import NotRequired

    from ranklens.policy import PolicyOptions

_ROUNDING = 1e-9  # by which values may leave a measure's range, and means differ


class MeanOfMeasure(NamesOfMeasure):
    """A measure with its mean."""

    mean: NotRequired[float]


class MachineJson(TypedDict):
    """The values by the labels of a model."""

    queries: list[str]
    values: dict[str, list[float]]


class ScoresJson(TypedDict):
    """What :meth:`~ranklens.scores.Scores.to_json` writes, as far as it is read."""

    n: int
    measures: list[MeanOfMeasure]
    queries: list[str]
    values: dict[str, list[float] | list[str]]
    policy: PolicyOptions | None
    applied: dict[str, Any]  # the fields of Applied
    texts: NotRequired[dict[str, str]]
    inputs: NotRequired[dict[str, str]]
    machine: NotRequired[MachineJson]


def check_scores(given: object) -> ScoresJson:
    """Refuse what is no scores, or was damaged or changed by hand so that it contradicts itself."""
    version = given.get("format_version") if isinstance(given, dict) else given
    if not isinstance(given, dict) or version != FORMAT_VERSION:
        raise InputError(
            f"This version of RankLens cannot read these scores: format_version is {shown(version)}, and should be {FORMAT_VERSION}."
        )
    if given.get("schema", SCHEMA) != SCHEMA:
        raise InputError(
            f"These are not scores: schema is {shown(given['schema'])}, and should be {SCHEMA!r}."
        )
    wrong = fault(given, schema("scores.schema.json"))
    if wrong:
        raise damaged(wrong)
    content = cast("ScoresJson", given)  # as the schema has it
    queries, values = content["queries"], content["values"]
    if content["n"] != len(queries):
        raise damaged(f"n is {content['n']}, but {len(queries)} queries are listed")
    check_fields(content["applied"], Applied, "applied")
    if content["policy"] is not None:
        check_fields(content["policy"], Policy, "policy")
    for name, found in values.items():
        if str(parse(name)) != name:
            raise damaged(f"values.{name} must be called {parse(name)}")
        check_values(name, found, queries, f"values.{name}")
    rows = {row["measure"]: row for row in given["measures"]}
    numbers = [name for name in values if not is_text(name)]
    if [row["measure"] for row in content["measures"]] != numbers:
        raise damaged(f"measures lists {several([*rows])}, but there are values of {several(numbers)}")
    if len({row["asked"] for row in rows.values()}) < len(rows):
        raise damaged("measures has the same spelling (asked) twice")
    if "machine" in content:
        check_machine(content["machine"], numbers, queries, "machine")
        return content  # means use both kinds of values: see recalled()
    for place, name in enumerate(numbers):
        check_mean(
            rows[name]["mean"],
            total(parse(name).definition.aggregate, np.array(values[name], float)),
            f"measures[{place}].mean",
        )
    return content


def check_machine(given: MachineJson, names: Sequence[str], human: Sequence[str], place: str) -> None:
    """Whether a model's labels gave a value by each measure to every query that people judged."""
    _check_keys(given["values"], names, f"{place}.values", complete=True)
    for name, found in given["values"].items():
        check_values(name, found, given["queries"], f"{place}.values.{name}")
    lacking = next((query for query in human if query not in {*given["queries"]}), None)
    if lacking is not None:
        raise damaged(f"{place}.queries lacks {lacking!r:.80}")


def _check_labels(content: Mapping[str, Any]) -> None:
    """The same in a comparison, for every system."""
    for system in content["systems"] if "machine" in content else ():
        values = {name: by.get(system, ()) for name, by in content["machine"]["values"].items()}
        labels: MachineJson = {"queries": content["machine"]["queries"], "values": values}
        check_machine(labels, [*content["values"]], content["queries"], f"machine ({system})")


def check_comparison(content: object) -> Mapping[str, Any]:
    """Refuse what is no comparison, or was damaged or changed by hand so that it contradicts itself."""
    rules = schema("comparison/comparison.schema.json")
    version = rules["properties"]["format_version"]["const"]
    stated = content.get("format_version") if isinstance(content, dict) else content
    if not isinstance(content, dict) or stated != version or "systems" not in content:
        raise InputError(
            f"This is not a comparison that this version of RankLens can read: format_version is {shown(stated)}, and should be {version}."
        )
    wrong = fault(content, rules)
    if wrong:
        raise damaged(wrong)
    systems, queries, values = content["systems"], content["queries"], content["values"]
    names = [row["name"] for row in content["measures"]]
    if len({*names}) < len(names):
        raise damaged("measures contains a name twice")
    _check_keys(values, names, "values", complete=True)
    for name, by_system in values.items():
        _check_keys(by_system, systems, f"values.{name}", complete=True)
        for system, found in by_system.items():
            check_values(name, found, queries, f"values.{name}.{system}")
    _check_labels(content)
    for key in ("applied", "missing", "teams", "status", "latencies"):
        _check_keys(content[key] or {}, systems, key, complete=key == "teams" and content[key] is not None)
    for key in ("slice_of", "cluster_of"):
        _check_keys(content[key] or {}, queries, key, complete=content[key] is not None)
    for system, applied in content["applied"].items():
        check_fields(applied, Applied, f"applied.{system}")
    if content["policy"] is not None:
        check_fields(content["policy"], Policy, "policy")
        if not content["applied"]:
            raise damaged("applied is empty, but there is a policy, which was applied to some system")
    for name, margin in content["settings"]["margins"].items():
        if margin["relative"] and margin["size"] >= 1:
            raise damaged(f"settings.margins.{name}.size is {margin['size']:g} and must be a share below 1")
    return content


def _check_keys(given: Mapping[str, object], known: Sequence[str], place: str, *, complete: bool) -> None:
    """Whether an object has nothing but what is known, or has exactly that."""
    keys = {*known}
    odd = next((name for name in given if name not in keys), None)
    lacking = next((name for name in known if name not in given), None)
    if odd is not None:
        raise damaged(f"{place} has the unknown key {odd!r:.80}")
    if complete and lacking is not None:
        raise damaged(f"{place} lacks {lacking!r:.80}")


def check_fields(given: Mapping[str, Any], kind: type, place: str) -> None:
    """Whether an object has the fields of a class: another value would take the place of a missing one."""
    names = {field.name for field in fields(kind)}
    if odd := sorted(names ^ {*given}):
        raise damaged(f"{place} {'lacks' if odd[0] in names else 'has the unknown key'} {odd[0]!r:.80}")
    if kind is Policy:
        Policy(**given)


def check_values(name: str, values: Sequence[object], queries: Sequence[str], place: str) -> None:
    """Whether there is a value for each query, within the range of a measure that is known."""
    if len(values) != len(queries):
        raise damaged(f"{place} has {counted(len(values), 'value')} for {counted(len(queries), 'query')}")
    is_known = is_measure(name)
    has_texts = is_known and is_text(name)
    types, what = ({str}, "a text") if has_texts else ({int, float}, "a number")
    if {*map(type, values)} - types:
        row = next(row for row, value in enumerate(values) if type(value) not in types)
        raise damaged(f"{place}[{row}] (query {queries[row]!r}) is {shown(values[row])} and must be {what}")
    if not is_known or has_texts:
        return
    definition, numbers = parse(name).definition, np.array(values, float)
    outside = (numbers < definition.low - _ROUNDING) | (numbers > definition.high + _ROUNDING)
    for row in np.flatnonzero(outside)[:1].tolist():
        raise damaged(
            f"{place}[{row}] (query {queries[row]!r}) is {shown(values[row])}, but {name} goes from {definition.low:g} to {definition.high:g}"
        )


def check_mean(given: float, found: float, place: str) -> None:
    """Whether a mean is that of the values: neither can be changed alone."""
    if not isclose(given, found, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
        raise damaged(f"{place} is {given:g}, but the values have {found:g}")


def damaged(what: str) -> InputError:
    """The error for a document that RankLens did not write like this."""
    return InputError(f"{what}. The file is damaged or was changed by hand: restore it, or write it again.")


def is_text(name: str) -> bool:
    """Whether the values of a measure are texts."""
    return parse(name).definition.aggregate == "none"


def is_measure(name: str) -> bool:
    """Whether the registry has a measure of that name."""
    try:
        parse(name)
    except MeasureError:
        return False
    return True
