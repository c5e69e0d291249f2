"""Values that were written before: a comparison from its JSON, long tables, and what ``trec_eval -q`` printed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError
from ranklens.readers import frames

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison

LONG = ("query", "measure", "system", "value")
_FIELDS = ("systems", "measures", "queries", "settings", "values")


def comparison_from_json(text: str) -> Comparison:
    """The comparison that was written, made again from its values with its settings and seed."""
    from ranklens.comparison.systems import compare_scores

    try:
        content = json.loads(text)
    except ValueError as error:
        raise InputError(f"This is not JSON: {error}.") from None
    if not isinstance(content, dict) or any(name not in content for name in _FIELDS):
        raise InputError(
            "This is not the JSON of a comparison, which has systems, measures, queries and values."
        )
    settings, measures = content["settings"], content["measures"]
    systems = {
        system: {
            query: {
                measure["name"]: content["values"][measure["name"]][system][place] for measure in measures
            }
            for place, query in enumerate(content["queries"])
        }
        for system in content["systems"]
    }
    from ranklens.comparison.alignment import Quantity

    foreign = {m["name"]: m["better"] for m in measures if not Quantity.named(m["name"]).is_known}
    return compare_scores(
        systems,
        [m["asked"] for m in measures],
        baseline=settings["baseline"],
        test=settings["test"],
        correction=settings["correction"],
        alpha=settings["alpha"],
        level=settings["level"],
        primary=settings["primary"],
        family=settings["family"],
        intervals=settings["intervals"],
        margin=_margins(settings["margins"]),
        better={name: better for name, better in foreign.items() if better in ("higher", "lower")} or None,
        clusters=content["cluster_of"],
        by=content["slice_of"],
        rng=settings["seed"],
    )


def _margins(margins: Mapping[str, Any]) -> dict[str, Any] | None:
    found = {
        name: f"{100 * margin['size']:.12g}%" if margin["relative"] else margin["size"]
        for name, margin in margins.items()
    }
    return found or None


def by_system(given: Any) -> Any:
    """Systems by name: a long table is split, and files that trec_eval wrote are read; everything else as it is."""
    if frames.is_frame(given) and {*LONG} <= {*frames.column_names(given)}:
        table = frames.to_polars(given).select(LONG)
        return {
            str(name): part.pivot("measure", index="query", values="value")
            for (name,), part in table.group_by("system", maintain_order=True)
        }
    if not isinstance(given, Mapping):
        return given
    return {
        name: read_trec_eval(system) if isinstance(system, (str, os.PathLike)) else system
        for name, system in given.items()
    }


def read_trec_eval(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Values by query and measure from what ``trec_eval -q`` printed: measure, query, value; the summary is left out."""
    found: dict[str, dict[str, float]] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or (len(fields) == 3 and fields[1] == "all"):
            continue
        try:
            measure, query, value = fields
            if measure not in ("runid", "relstring"):
                found.setdefault(query, {})[measure] = float(value)
        except ValueError:
            raise InputError(
                f"{path}, line {number}: expected measure, query and value, as trec_eval -q prints them."
            ) from None
    if not found:
        raise InputError(f"{path} has no values by query; trec_eval prints them with -q.")
    return found
