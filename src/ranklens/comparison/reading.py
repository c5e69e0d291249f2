"""A comparison from its JSON: the values are compared again as they were, and what else was said is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.comparison.compare import compare_scores
from ranklens.comparison.export import measure_row
from ranklens.comparison.settings import Settings
from ranklens.data.files.hashes import Inputs
from ranklens.data.files.json_reading import loads
from ranklens.data.files.json_schema import shown
from ranklens.errors import InputError
from ranklens.metrics import parse
from ranklens.scores import Values
from ranklens.scores.checking import check_comparison, check_mean, damaged, is_measure
from ranklens.scores.reading import of_comparison, scores_of
from ranklens.stats import Margin
from ranklens.words import several

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.options import ComparisonArguments
    from ranklens.scores import Scores


def from_json(text: str) -> Comparison:
    """What :meth:`ranklens.Comparison.to_json` wrote. It holds values but no rankings, so there are no documents to look at."""
    try:
        content = loads(text)
    except ValueError as error:
        raise InputError(f"This comparison is not JSON: {error}.") from None
    check_comparison(content)
    comparison = _compared(content)
    _check_results(comparison, content)
    return comparison


def _check_results(comparison: Comparison, content: Mapping[str, Any]) -> None:
    """Whether measures, systems, sizes and means are those of the values."""
    for place, (name, row) in enumerate(zip(comparison.measures, content["measures"], strict=True)):
        for key, value in measure_row(comparison, name).items():
            if row[key] != value:
                raise damaged(f"measures[{place}].{key} is {shown(row[key])} and must be {shown(value)}")
    slices = [part.name for part in comparison.slices]
    if slices != [part["name"] for part in content["slices"]]:
        raise damaged(f"slices must be {several(slices) or 'empty'}, as slice_of has them")
    if len(comparison.results) != len(content["results"]):
        raise damaged(f"results has {len(content['results'])} rows and must have {len(comparison.results)}")
    for place, (one, row) in enumerate(zip(comparison.results, content["results"], strict=True)):
        for key in ("measure", "system", "slice", "n"):
            if row[key] != getattr(one, key):
                raise damaged(
                    f"results[{place}].{key} is {shown(row[key])} and must be {shown(getattr(one, key))}"
                )
        check_mean(row["mean"], one.mean, f"results[{place}].mean")


def _compared(content: Mapping[str, Any]) -> Comparison:
    measures = content["measures"]
    margins = {name: Margin(**one) for name, one in content["settings"]["margins"].items()}
    settings = Settings(**{**content["settings"], "margins": margins})
    options: ComparisonArguments = {
        **settings.options(),
        "primary": settings.primary,
        "margin": margins or None,
        "clusters": content["cluster_of"],
        "by": content["slice_of"],
    }
    columns = content["values"].items()
    systems: dict[str, Scores | Values] = {
        system: Values(content["queries"], {name: np.array(by[system], float) for name, by in columns})
        for system in content["systems"]
    }
    if content["applied"]:
        scores = {name: scores_of(one) for name, one in of_comparison(content).items()}
        if all(len(one.values) == len(measures) for one in scores.values()):
            systems |= {name: one for name, one in scores.items() if name in content["applied"]}
    comparison = compare_scores(
        systems,
        [
            replace(parse(row["name"]), asked=row["asked"]) if is_measure(row["name"]) else row["name"]
            for row in measures
        ],
        better={row["name"]: row["better"] for row in measures if not is_measure(row["name"])},
        **options,
    )
    aligned = replace(comparison.aligned, missing=content["missing"], left_out=content["left_out"])
    return replace(
        comparison,
        aligned=aligned,
        told=tuple(content["cautions"]),
        untold=tuple,
        status=content["status"],
        latencies=content["latencies"],
        inputs=Inputs(known=content.get("inputs", {})),
        teams=content["teams"],
        spent=content["spent"],
    )
