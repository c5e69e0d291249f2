"""Files → :class:`~ranklens.scores.Scores`: what this and other tools have written of values by query."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.data.files.hashes import Inputs
from ranklens.data.files.json_reading import loads
from ranklens.errors import InputError, RankLensError, warn
from ranklens.judging.judged import Applied
from ranklens.metrics import parse
from ranklens.policy import Policy
from ranklens.scores.account import Account
from ranklens.scores.checking import (
    ScoresJson,
    check_comparison,
    check_mean,
    check_scores,
    is_measure,
    is_text,
)
from ranklens.scores.powered import values_only
from ranklens.scores.scores import Scores
from ranklens.scores.values import Values
from ranklens.words import several

if TYPE_CHECKING:
    from collections.abc import Mapping


NO_SCORES = "This file contains no scores; ranklens evaluate -o scores.json writes them."


def read_scores(path: str | Path) -> dict[str, Scores]:
    """The scores in a file, by the name of the run.

    That is what ``ranklens evaluate -o`` and :meth:`Scores.to_json` write, values by query in CSV, TSV, JSONL or Parquet
    (:attr:`Scores.per_query`, :meth:`ranklens.Comparison.queries_frame`, ``ranklens evaluate -q -o``) and the JSON of a comparison; and what
    ``trec_eval -q`` prints. Scores of a single run without a name are called like the file.

    >>> import ranklens as rl, tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp(), "bm25.json")
    >>> _ = file.write_text(rl.evaluate({"q": {"a"}}, {"q": ["x", "a"]}, "RR").to_json())
    >>> read_scores(file)["bm25"].mean
    {'RR': 0.5}
    """
    file = Path(path)
    try:
        with file.open("rb") as opened:
            is_object = opened.read(1 << 16).lstrip().startswith(b"{")
        ending = file.suffix.lower()
        if ending != ".json" and (not is_object or ending in (".jsonl", ".ndjson", ".gz")):
            return _copied_from(file)
        content = loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not JSON: {error}.", path=str(path)) from None
    try:
        if not isinstance(content, dict) or not content:
            raise InputError(NO_SCORES)
        single = "values" in content
        if single and "systems" in content:
            return {name: scores_of(one) for name, one in of_comparison(check_comparison(content)).items()}
        named = {file.name.partition(".")[0]: content} if single else content
        if "format_version" in named:  # something else of RankLens
            raise InputError(NO_SCORES)
        return {name: recalled(one, "" if single else f"{name}: ") for name, one in named.items()}
    except RankLensError as error:
        error.prefix(f"{path}: ")
        error.path = str(path)
        raise


def of_comparison(content: Mapping[str, Any]) -> dict[str, ScoresJson]:
    """What the JSON of a comparison says of each system, as the JSON of scores has it."""
    measures = {row["name"] for row in content["measures"] if is_measure(row["name"])}
    found: dict[str, ScoresJson] = {
        system: {
            "n": len(content["queries"]),
            "queries": content["queries"],
            "policy": content["policy"],
            "measures": [{"measure": row["name"], "asked": row["asked"]} for row in content["measures"]],
            "values": {name: by[system] for name, by in content["values"].items() if name in measures},
            "applied": content["applied"].get(system, {"queries": len(content["queries"])}),
        }
        for system in content["systems"]
    }
    for system, one in found.items() if "machine" in content else ():
        values = {name: by[system] for name, by in content["machine"]["values"].items()}
        one["machine"] = {"queries": content["machine"]["queries"], "values": values}
    return found


def _copied_from(file: Path) -> dict[str, Scores]:
    from ranklens.scores.value_tables import read_values

    scores = {}
    for run, table in read_values(file).items():
        names = [name for name in table if is_measure(name)]
        others = [name for name in table if name not in names]
        if not names:
            raise InputError(
                f"{file}: none of {several(others) or 'its columns'} is a measure. Pass the table to compare_scores to compare such values.",
                path=str(file),
            )
        if others:
            warn(
                f"{file}: {several(others)} left out, as RankLens knows no such measure. Pass the table to compare_scores to compare it."
            )
        measures = [parse(name) for name in names]
        values = {str(measure): table[name] for measure, name in zip(measures, names, strict=True)}
        account = Account(Applied(queries=len(table.queries)), knows_policy=False)
        scores[run] = Scores(measures, account, Values(table.queries, values))
    return scores


def recalled(content: object, name: str = "") -> Scores:
    """Scores from what JSON says, once it is known to be right; ``name`` begins the message if it is not."""
    try:
        checked = check_scores(content)
        found = scores_of(checked)
        for place, row in enumerate(checked["measures"] if found.machine is not None else ()):
            check_mean(row["mean"], found.mean[row["measure"]], f"measures[{place}].mean")
    except RankLensError as error:
        error.prefix(name)
        raise
    return found


def scores_of(content: ScoresJson) -> Scores:
    """Scores from JSON that was checked."""
    asked = {row["measure"]: row["asked"] for row in content["measures"]}
    measures = [replace(parse(name), asked=asked.get(name, "")) for name in content["values"]]
    kinds = {name: np.object_ if is_text(name) else np.float64 for name in content["values"]}
    values = {name: np.array(column, kinds[name]) for name, column in content["values"].items()}
    policy = content["policy"]
    account = Account(
        Applied(**content["applied"]),
        Policy(**(policy or {})),
        knows_policy=policy is not None,
        texts=content.get("texts", {}),
    )
    inputs = Inputs(known=content.get("inputs", {}))
    labels = content.get("machine")
    machine = None if labels is None else values_only(measures, labels["queries"], labels["values"])
    return Scores(measures, account, Values(content["queries"], values), inputs=inputs, machine=machine)
