"""Datasets of evaluation platforms → judgments: Langfuse, LangSmith, Phoenix and MLflow keep questions and what is expected.

=========  ==================  ======================================
Langfuse   ``input``           ``expectedOutput``
LangSmith  ``inputs``          ``outputs`` (also ``reference_outputs``)
Phoenix    ``input``           ``output``
MLflow     ``inputs``          ``expectations``
=========  ==================  ======================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ranklens.data.files.rows import each_row
from ranklens.data.readers import frames, names
from ranklens.data.readers.golden_and_logs import read_golden
from ranklens.data.readers.names import Names, given
from ranklens.data.readers.paths import follow
from ranklens.data.readers.rankings import Golden
from ranklens.data.readers.records import as_mapping
from ranklens.data.traces.spans import parsed
from ranklens.errors import Given, InputError, warn
from ranklens.words import counted, kind

_INPUTS = ("inputs", "input")
_OUTPUTS = ("reference_outputs", "expected_output", "expectations", "outputs", "output")
_IDS = ("dataset_record_id", "example_id", "id")
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
    rows: object,
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
    examples = [
        # Tables have JSON in texts.
        {key: parsed(value) for key, value in as_mapping(row, f"Row {number}").items()}
        for number, row in enumerate(_each(rows), 1)
    ]
    if not examples:
        raise InputError("The dataset has no rows.")
    questions: list[object] = []
    for row in examples:
        asked = follow(row, query) if query is not None else given(row, _INPUTS)
        if query is None and isinstance(asked, Mapping):
            texts = (value for value in asked.values() if isinstance(value, str))
            asked = given(asked, names.QUERY_TEXTS) or next(texts, None)
        elif query is None and not isinstance(asked, str):
            asked = given(row, names.QUERY_TEXTS)
        questions.append(asked)
    expected = [_relevant(row, relevant) for row in examples]
    for name, path, values in (("query", query, questions), ("relevant", relevant, expected)):
        if all(value is None for value in values):
            there = f"The first row has {', '.join(_paths(examples[0]))}."
            if path is None:
                raise InputError(f"No row says where the {name} is; pass {name}= with a path. {there}")
            raise InputError(Given(name, path), f" finds nothing in any row. {there}")
    lacking = [number for number, value in enumerate(expected, 1) if value is None]
    if lacking:
        warn(
            f"{counted(len(lacking), 'row does', 'rows do')} not say what is relevant (first: row {lacking[0]}); left out."
        )
    golden = [
        {
            "id": follow(row, id) if id is not None else given(row, _IDS),
            "question": question,
            "expected": value,
        }
        for row, question, value in zip(examples, questions, expected, strict=True)
        if value is not None
    ]
    return read_golden(golden, Names.of({"query": "id", "text": "question", "expected": "expected"}))


def _each(rows: object) -> Iterable[object]:
    if isinstance(rows, (str, Path)) or frames.is_frame(rows):
        return each_row(rows, "rows")
    if isinstance(rows, Mapping):
        return list(given(rows, ("data", "items", "examples", "rows")) or [rows])  # a page of a web API
    if isinstance(rows, Iterable):
        return rows
    raise InputError(f"The dataset is {kind(rows)}; pass a file, a table, or a list of rows.")


def _relevant(row: Mapping[str, object], path: str | None) -> object:
    """What is expected: ids, one of them, or documents with ids."""
    if path is not None:
        expected = parsed(follow(row, path))
    else:
        outputs = [row[key] for key in row if names.plain(key) in _OUTPUTS]
        inside = (
            given(value, _EXPECTED) if isinstance(value, Mapping) else value
            for value in (*outputs, row)
            if isinstance(value, (list, Mapping))
        )
        expected = parsed(next((value for value in inside if value is not None), None))
    if not isinstance(expected, list):
        return [expected] if isinstance(expected, (str, int)) else expected
    return [
        # MLflow names documents by doc_uri.
        {**entry, "id": entry["doc_uri"]}
        if isinstance(entry, Mapping) and "doc_uri" in entry and "id" not in entry
        else entry
        for entry in expected
    ]


def _paths(value: object, before: str = "") -> list[str]:
    """The paths to everything in a row, two levels deep."""
    if not isinstance(value, Mapping) or before.count(".") > 1 or not value:
        return [before.rstrip(".")]
    return [path for key, inner in value.items() for path in _paths(inner, f"{before}{key}.")][:20]
