"""Datasets of evaluation platforms → judgments: Langfuse, LangSmith, Phoenix and MLflow keep questions and what is expected.

=========  ==================  ======================================
Langfuse   ``input``           ``expectedOutput``
LangSmith  ``inputs``          ``outputs`` (also ``reference_outputs``)
Phoenix    ``input``           ``output``
MLflow     ``inputs``          ``expectations``
=========  ==================  ======================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ranklens.data.files.rows import each_row
from ranklens.data.readers import frames, names
from ranklens.data.readers.golden_and_logs import Golden, read_golden
from ranklens.data.readers.names import Names, given
from ranklens.data.readers.paths import follow
from ranklens.data.readers.records import as_mapping
from ranklens.data.traces.spans import parsed
from ranklens.errors import Given, InputError, warn
from ranklens.words import counted, kind

_INPUTS = ("inputs", "input")
_OUTPUTS = ("reference_outputs", "expected_output", "expectations", "outputs", "output")
_EXPECTED = (
    *names.EXPECTED,
    "ids",
    "doc_ids",
    "chunk_ids",
    "document_ids",
    "contexts",
    "expected_retrieved_context",
)


def from_dataset(
    rows: Any,
    *,
    query: str | None = None,
    relevant: str | None = None,
    id: str | None = None,  # noqa: A002
) -> Golden:
    """Judgments from the rows of a dataset, ``{query: {document: grade}}``, which also know the texts of questions.

    ``rows`` is a file (JSONL, JSON, CSV, Parquet), a table, or a list of dicts or objects, as Langfuse, LangSmith, Phoenix and
    MLflow export them. ``query`` and ``relevant`` are paths to the question and to the ids that are expected; without them the
    usual places are searched. Rows that do not say what is expected are left out with a warning.

    >>> rows = [{"id": "e1", "inputs": {"question": "why?"}, "outputs": {"ids": ["d7", "d2"]}}]
    >>> golden = from_dataset(rows, query="inputs.question", relevant="outputs.ids")
    >>> golden, golden.texts
    ({'e1': {'d7': 1.0, 'd2': 1.0}}, {'e1': 'why?'})
    """
    found = [_unfolded(row, number) for number, row in enumerate(_each(rows), 1)]
    if not found:
        raise InputError("The dataset has no rows.")
    questions = [_question(row, query) for row in found]
    expected = [_relevant(row, relevant) for row in found]
    _refuse_what_is_nowhere("query", query, questions, found)
    _refuse_what_is_nowhere("relevant", relevant, expected, found)
    lacking = [number for number, value in enumerate(expected, 1) if value is None]
    if lacking:
        warn(
            f"{counted(len(lacking), 'row does', 'rows do')} not say what is relevant (first: row {lacking[0]}); left out."
        )
    golden = [
        {"id": _id(row, id), "question": question, "expected": value}
        for row, question, value in zip(found, questions, expected, strict=True)
        if value is not None
    ]
    return read_golden(golden, Names.of({"query": "id", "text": "question", "expected": "expected"}))


def _each(rows: Any) -> Iterable[Any]:
    if isinstance(rows, (str, Path)) or frames.is_frame(rows):
        return each_row(rows, "rows")
    if isinstance(rows, Mapping):
        return list(given(rows, ("data", "items", "examples", "rows")) or [rows])  # a page of a web API
    if isinstance(rows, Iterable):
        return rows
    raise InputError(f"The dataset is {kind(rows)}; pass a file, a table, or a list of rows.")


def _unfolded(row: Any, number: int) -> Mapping[str, Any]:
    """A row as a dict, with JSON in texts as what it holds: tables have it like this."""
    return {key: parsed(value) for key, value in as_mapping(row, f"Row {number}").items()}


def _question(row: Mapping[str, Any], path: str | None) -> Any:
    if path is not None:
        return follow(row, path)
    asked = given(row, _INPUTS)
    if isinstance(asked, Mapping):
        return given(asked, names.QUERY_TEXTS) or next(
            (v for v in asked.values() if isinstance(v, str)), None
        )
    return asked if isinstance(asked, str) else given(row, names.QUERY_TEXTS)


def _relevant(row: Mapping[str, Any], path: str | None) -> Any:
    """What is expected: ids, one of them, or documents with ids."""
    if path is not None:
        found = parsed(follow(row, path))
    else:
        outputs = [row.get(key) for key in row if names.plain(key) in _OUTPUTS]
        inside = (value if isinstance(value, list) else _inside(value) for value in [*outputs, row])
        found = parsed(next((value for value in inside if value is not None), None))
    if isinstance(found, list):
        return [_with_id(entry) for entry in found]
    return [found] if isinstance(found, (str, int)) else found


def _inside(outputs: Any) -> Any:
    return given(outputs, _EXPECTED) if isinstance(outputs, Mapping) else None


def _with_id(entry: Any) -> Any:
    """MLflow names documents by ``doc_uri``."""
    if isinstance(entry, Mapping) and "doc_uri" in entry and "id" not in entry:
        return {**entry, "id": entry["doc_uri"]}
    return entry


def _id(row: Mapping[str, Any], path: str | None) -> Any:
    return follow(row, path) if path is not None else given(row, ("dataset_record_id", "example_id", "id"))


def _refuse_what_is_nowhere(
    name: str, path: str | None, values: Sequence[Any], rows: Sequence[Mapping[str, Any]]
) -> None:
    if any(value is not None for value in values):
        return
    there = ", ".join(_paths(rows[0]))
    if path is None:
        raise InputError(
            f"No row says where the {name} is; pass {name}= with a path. The first row has {there}."
        )
    raise InputError(Given(name, path), f" finds nothing in any row. The first row has {there}.")


def _paths(value: Any, before: str = "") -> list[str]:
    """The paths to everything in a row, two levels deep."""
    if not isinstance(value, Mapping) or before.count(".") > 1 or not value:
        return [before.rstrip(".")]
    return [path for key, inner in value.items() for path in _paths(inner, f"{before}{key}.")][:20]
