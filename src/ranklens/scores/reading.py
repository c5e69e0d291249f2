"""Files → :class:`~ranklens.scores.Scores`: what this and other tools have written of values by query."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import InputError, MeasureError, RankLensError, warn
from ranklens.judging.judged import Applied, Copied, Recalled
from ranklens.policy import Policy
from ranklens.registry import parse
from ranklens.scores.scores import FORMAT_VERSION, SCHEMA, Scores
from ranklens.words import several

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt


def read_scores(path: Any) -> dict[str, Scores]:
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
        text = _json_text(file)
        if text is None:
            return _copied_from(file)
        content = json.loads(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not JSON: {error}.", path=str(path)) from None
    single = isinstance(content, dict) and "values" in content
    named = {file.name.partition(".")[0]: content} if single else content
    if single and "systems" in content:
        named = of_comparison(content)
    if not isinstance(named, dict) or not named or "format_version" in named:  # something else of RankLens
        raise InputError(
            f"{path} holds no scores; ranklens evaluate -o scores.json writes them.", path=str(path)
        )
    try:
        return {str(name): recalled(one) for name, one in named.items()}
    except InputError as error:
        error.prefix(f"{path}: ")
        error.path = str(path)
        raise


def of_comparison(content: Mapping[str, Any]) -> dict[str, Any]:
    """What the JSON of a comparison says of each system, as the JSON of scores has it."""
    known = {row["name"] for row in content["measures"] if is_measure(row["name"])}
    shared = {"format_version": FORMAT_VERSION, "queries": content["queries"], "policy": content["policy"]}
    return {
        system: {
            **shared,
            "measures": [{**row, "measure": row["name"]} for row in content["measures"]],
            "values": {name: by[system] for name, by in content["values"].items() if name in known},
            "applied": content["applied"].get(system, {"queries": len(content["queries"])}),
        }
        for system in content["systems"]
    }


def _json_text(file: Path) -> str | None:
    """The text of one JSON object or list; None for a table, JSONL included."""
    with file.open("rb") as opened:
        head = opened.read(1 << 16).lstrip()
    if file.suffix.lower() != ".json" and (
        not head.startswith(b"{") or file.suffix.lower() in (".jsonl", ".ndjson", ".gz")
    ):
        return None
    return file.read_text(encoding="utf-8")


def _copied_from(file: Path) -> dict[str, Scores]:
    from ranklens.files.values import read_values

    found = {}
    for run, (queries, by_measure) in read_values(file).items():
        known = {name: values for name, values in by_measure.items() if is_measure(name)}
        others = [name for name in by_measure if name not in known]
        if not known:
            raise InputError(
                f"{file}: none of {several(others) or 'its columns'} is a measure. Pass the table to compare_scores to compare such values.",
                path=str(file),
            )
        if others:
            warn(
                f"{file}: {several(others)} left out, as RankLens knows no such measure. Pass the table to compare_scores to compare it."
            )
        measures = [parse(name) for name in known]
        values = {str(m): np.array(column) for m, column in zip(measures, known.values(), strict=True)}
        judged = Copied.of(queries, Policy(), Applied(queries=len(queries)))
        found[run] = Scores(measures, judged, values)
    return found


def is_measure(name: str) -> bool:
    """Whether the registry has a measure of that name."""
    try:
        parse(name)
    except MeasureError:
        return False
    return True


def recalled(content: Any) -> Scores:
    """Scores from what JSON says."""
    if not isinstance(content, dict) or content.get("format_version") != FORMAT_VERSION:
        given = content.get("format_version") if isinstance(content, dict) else content
        raise InputError(
            f"These are no scores that this version of RankLens reads: format_version is {given!r:.40}, and should be {FORMAT_VERSION}."
        )
    if content.get("schema", SCHEMA) != SCHEMA:
        raise InputError(
            f"These are no scores: schema is {content['schema']!r:.40}, and should be {SCHEMA!r}."
        )
    try:
        queries = [str(query) for query in content["queries"]]
        asked = {row["measure"]: row["asked"] for row in content["measures"]}
        measures = [parse(asked.get(name, name)) for name in content["values"]]
        kinds = {m: np.float64 if m.definition.aggregate != "none" else np.object_ for m in measures}
        values = {
            str(m): np.array(found, kinds[m])
            for m, found in zip(measures, content["values"].values(), strict=True)
        }
        policy, applied = content["policy"], Applied(**content["applied"])
        judged = (
            Copied.of(queries, Policy(), applied)
            if policy is None
            else Recalled.of(queries, Policy(**policy), applied)
        )
        _check_recalled(queries, content.get("n", len(queries)), content["values"], values)
    except RankLensError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"These scores are incomplete: {type(error).__name__}: {error}.") from None
    return Scores(measures, judged, values)


def _check_recalled(
    queries: list[str], n: Any, given: Mapping[str, list[Any]], values: Mapping[str, npt.NDArray[Any]]
) -> None:
    if n != len(queries):
        raise InputError(
            f"These scores are incomplete: they are of {n} queries, and {len(queries)} are listed."
        )
    repeated = next((query for query, times in Counter(queries).items() if times > 1), None)
    if repeated is not None:
        raise InputError(f"The query {repeated!r} is listed twice.", query=repeated)
    for (name, found), read in zip(given.items(), values.values(), strict=True):
        if len(found) != len(queries):
            raise InputError(f"These scores are incomplete: not every query has a value of {name}.")
        missing = [row for row, value in enumerate(found) if value is None or value != value]  # noqa: PLR0124  NaN
        if missing:
            query = queries[missing[0]]
            raise InputError(f"The value of {name} for query {query!r} is missing.", query=query)
        if read.ndim > 1:
            raise InputError(f"These scores are damaged: {name} has several values for a query.")
