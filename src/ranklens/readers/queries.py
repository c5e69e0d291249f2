"""Queries of any shape → ids, texts and whatever else stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranklens.errors import InputError
from ranklens.readers import files, frames, records
from ranklens.readers.sources import open_source

ID_NAMES = ("_id", "id", "query_id", "query-id", "queryid", "qid", "topic", "topic_id")
TEXT_NAMES = ("text", "query_text", "question", "user_input", "input", "query", "title")

_SHAPES = (
    "{id: text}, a list of texts, a table or a list of dicts with an id and a text, or the path of such a file "
    "or of a BEIR folder"
)


@dataclass(frozen=True)
class Queries:
    """Texts by query id, all fields of each query, and the judgments if the same records hold them."""

    texts: Mapping[str, str]
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    qrels: Mapping[str, Mapping[str, float]] | None = None


def read_queries(value: Any) -> Queries:
    """Queries from a dict, a list, a table or a file.

    >>> read_queries([{"_id": "q1", "text": "why?", "kind": "short"}]).texts
    {'q1': 'why?'}
    """
    if isinstance(value, (str, Path)):
        return _from_path(Path(value))
    if frames.is_frame(value):
        return _from_rows(frames.to_polars(value).to_dicts())
    if isinstance(value, Mapping):
        rows = [
            {**text, "_id": query} if isinstance(text, Mapping) else {"_id": query, "text": text}
            for query, text in value.items()
        ]
        return _from_rows(rows)
    if isinstance(value, Iterable):
        items = list(value)
        if any(isinstance(item, str) for item in items):
            items = [{"text": item} if isinstance(item, str) else item for item in items]
        return _from_rows(items)
    raise InputError(f"queries is a {type(value).__name__}; give {_SHAPES}.")


def read_corpus(value: Any) -> dict[str, str]:
    """Documents as ``{id: text}``, the title first; from a dict, a list of dicts, a table or a file such as corpus.jsonl.

    >>> read_corpus([{"_id": "d1", "title": "Lima", "text": "The capital of Peru."}])
    {'d1': 'Lima: The capital of Peru.'}
    """
    if isinstance(value, (str, Path)):
        value = _rows_of_file(Path(value))
    elif frames.is_frame(value):
        value = frames.to_polars(value).to_dicts()
    if isinstance(value, Mapping):
        return {str(doc): _document_text(content) for doc, content in value.items()}
    found = {}
    for number, row in enumerate(value, 1):
        name = next((row[key] for key in (*ID_NAMES, *frames.DOC_NAMES) if row.get(key) is not None), None)
        if name is None:
            raise InputError(f"corpus: row {number} has no id; its keys are {list(row)}.")
        found[str(name)] = _document_text(row)
    return found


def _document_text(content: Any) -> str:
    if not isinstance(content, Mapping):
        return str(content)
    title, text = content.get("title"), content.get("text", content.get("content", ""))
    return f"{title}: {text}" if title else str(text)


def _from_path(path: Path) -> Queries:
    if path.is_dir():
        found = next(iter(sorted(path.glob("queries.*"))), None)
        if found is None:
            raise InputError(f"{path}: there is no queries.jsonl in this folder; a BEIR folder has one.")
        path = found
    try:
        return _from_rows(_rows_of_file(path))
    except InputError as error:
        message = str(error)
        raise InputError(message if str(path) in message else f"{path}: {message}") from None


def _rows_of_file(path: Path) -> list[dict[str, Any]]:
    import polars as pl

    kind = files.recognise(path, "queries")
    if kind == "json":
        import json

        content = json.loads(open_source(path).read())
        return [{"_id": q, "text": t} for q, t in content.items()] if isinstance(content, dict) else content
    if kind not in ("jsonl", "csv", "tsv", "parquet"):
        kind = "tsv"  # as the queries of MS MARCO: id and text, without a header
    table = files.read_table(path, kind)
    plain = {name.strip().lower() for name in table.columns}
    if kind == "tsv" and len(table.columns) == 2 and not plain & {*ID_NAMES, *TEXT_NAMES}:
        first = pl.DataFrame([table.columns], schema=["_id", "text"], orient="row")
        table = pl.concat([first, table.rename(dict(zip(table.columns, ("_id", "text"), strict=True)))])
    return table.to_dicts()


def _from_rows(rows: list[Any]) -> Queries:
    texts: dict[str, str] = {}
    fields: dict[str, Mapping[str, Any]] = {}
    first_row: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError(
                f"queries: entry {number} is a {type(row).__name__} {row!r:.60}; give {_SHAPES}."
            )
        query, text = _id_and_text(number, row)
        if query in texts:
            raise InputError(
                f"queries: entries {first_row[query]} and {number} have the same id {query!r}; give each its own."
            )
        texts[query], fields[query], first_row[query] = text, row, number
    judged = bool(rows) and all(records.says_what_is_relevant(row) for row in rows)
    qrels = None
    if judged:
        named = [{**row, "id": query} for query, row in fields.items()]
        qrels = records.from_records(named, results={})[0]
    return Queries(texts, fields, qrels)


def _id_and_text(number: int, row: Mapping[str, Any]) -> tuple[str, str]:
    text_name = next((name for name in TEXT_NAMES if row.get(name) is not None), None)
    id_name = next(
        (name for name in (*ID_NAMES, "query") if row.get(name) is not None and name != text_name), None
    )
    query = None if id_name is None else str(row[id_name])
    text = None if text_name is None else row[text_name]
    if not isinstance(text, str) or not text.strip():
        which = f"query {query!r}" if query is not None else f"entry {number}"
        raise InputError(f"queries: {which} has no text ({dict(row)!r:.80}); give {_SHAPES}.")
    return query if query is not None else text, text
