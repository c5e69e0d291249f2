"""A comparison from its JSON: the values are compared again as they were, and what else was said is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ranklens.comparison.compare import compare_scores
from ranklens.comparison.export import FORMAT_VERSION
from ranklens.errors import InputError
from ranklens.scores.reading import is_measure, of_comparison, recalled
from ranklens.stats import Margin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ranklens.comparison.comparison import Comparison


def from_json(text: str) -> Comparison:
    """What :meth:`ranklens.Comparison.to_json` wrote. It holds values but no rankings, so there are no documents to look at."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise InputError(f"This comparison is not JSON: {error}.") from None
    given = content.get("format_version") if isinstance(content, dict) else content
    if not isinstance(content, dict) or given != FORMAT_VERSION or "systems" not in content:
        raise InputError(
            f"This is not a comparison that this version of RankLens can read: format_version is {given!r:.40}, and should be {FORMAT_VERSION}."
        )
    try:
        return _compared(content)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"This comparison is incomplete: {type(error).__name__}: {error}.") from None


def _compared(content: Mapping[str, Any]) -> Comparison:
    settings, measures = content["settings"], content["measures"]
    found = compare_scores(
        _systems(content),
        [row["asked"] for row in measures],
        baseline=settings["baseline"],
        test=None if settings["is_default"] else settings["test"],
        correction=settings["correction"],
        alpha=settings["alpha"],
        level=settings["level"],
        primary=settings["primary"],
        family=settings["family"],
        better={row["name"]: row["better"] for row in measures if not is_measure(row["name"])},
        margin={name: Margin(**margin) for name, margin in settings["margins"].items()} or None,
        clusters=content["cluster_of"],
        intervals=settings["intervals"],
        by=content["slice_of"],
        rng=settings["seed"],
    )
    aligned = replace(found.aligned, missing=content["missing"], left_out=content["left_out"])
    return replace(
        found,
        aligned=aligned,
        told=tuple(content["cautions"]),
        untold=tuple,
        status=content["status"],
        latencies=content["latencies"],
        teams=content.get("teams"),  # what older versions wrote lacks them
    )


def _systems(content: Mapping[str, Any]) -> dict[str, Any]:
    """Scores where RankLens made them, else values by query."""
    if content["applied"]:
        scores = {name: recalled(one) for name, one in of_comparison(content).items()}
        if all(len(one.values) == len(content["measures"]) for one in scores.values()):
            return {
                name: scores[name] if name in content["applied"] else _rows(content, name) for name in scores
            }
    return {name: _rows(content, name) for name in content["systems"]}


def _rows(content: Mapping[str, Any], system: str) -> dict[str, dict[str, float]]:
    columns = {name: by[system] for name, by in content["values"].items()}
    return {
        query: dict(zip(columns, row, strict=True))
        for query, *row in zip(content["queries"], *columns.values(), strict=True)
    }
