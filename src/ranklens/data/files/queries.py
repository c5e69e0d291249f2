"""Queries of any shape → ids, texts and other fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ranklens.data.files.rows import each_row, read_rows
from ranklens.data.files.sources import open_source
from ranklens.data.readers import frames, names, records
from ranklens.data.readers.cells import with_lists
from ranklens.data.readers.golden_and_logs import from_records
from ranklens.errors import InputError

# "query" is the text where another field holds the id, else the id.
ID_NAMES = ("_id", "id", *names.QUERY_IDS, "query")
TEXT_NAMES = ("text", *(name for name in names.QUERY_TEXTS if name != "text"))

_TABLES = {".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet"}


@dataclass(frozen=True)
class Queries:
    """Texts by query id, what else is said of each query, and the judgments if the same records hold them.

    ``unjudged`` says where they do not.
    """

    texts: Mapping[str, str]
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    qrels: Mapping[str, Mapping[str, float]] | None = None
    unjudged: str = ""


def read_queries(value: object) -> Queries:
    """Queries from ``{id: text}``, a list of texts or of dicts, a table, a file or a BEIR folder.

    A query without an id goes by its text. Records that say what is relevant (as for :func:`ranklens.from_records`) bring
    judgments along.

    >>> read_queries([{"_id": "q1", "text": "why?", "relevant_docs": ["d1"]}]).qrels
    {'q1': {'d1': 1.0}}
    """
    if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) and not frames.is_frame(value):
        value = [{"text": item} if isinstance(item, str) else item for item in value]
    try:
        return _queries(read_rows(value))
    except InputError as error:
        if isinstance(value, (str, Path)) and Path(value).is_file() and not _TABLES & {*Path(value).suffixes}:
            raise InputError(
                f"{value} is not a table of questions; use JSONL, JSON, CSV, TSV or Parquet. ({error})"
            ) from None
        if isinstance(value, (str, Path)) and str(value) not in str(error):
            error.prefix(f"{value}: ")
        raise


def golden(path: str | Path) -> Queries | None:
    """The questions of a file that says of each both its text and what is relevant; None for any other file.

    Only JSON, JSONL, Parquet, workbooks, and cells of CSV and TSV can hold lists of relevant documents, so nothing else is read.
    """
    if not Path(path).is_file():
        return None
    source = open_source(Path(path))
    is_json = source.head().lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[", b"PAR1"))
    if not is_json and source.suffix not in (".csv", ".tsv"):
        return None
    try:
        first = next(each_row(path), {})
        of_documents = not is_json and frames.has_documents_among(first)
        if (
            of_documents
            or not records.says_what_is_relevant(first)
            or not any(first.get(name) for name in TEXT_NAMES)
        ):
            return None
    except InputError:
        return None
    questions = read_queries(path)
    return questions if questions.qrels is not None else None


def read_judgments(path: str | Path) -> Any:
    """The judgments of a file of them, of a BEIR folder, or of questions that say what is relevant."""
    both = golden(path)
    if both is not None:
        return both.qrels
    from ranklens.data.files.formats import read_qrels

    return read_qrels(path)


def _queries(rows: list[dict[str, Any]]) -> Queries:
    if any(isinstance(names.given(row, names.EXPECTED), str) for row in rows):  # a table has lists in cells
        rows = with_lists(rows, names.USUAL)
    texts: dict[str, str] = {}
    first_row: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        query, text = _id_and_text(number, row)
        if query in texts:
            raise InputError(
                f"queries: entries {first_row[query]} and {number} have the same id {query!r}; give each its own."
            )
        texts[query], first_row[query] = text, number
    known = {*ID_NAMES, *TEXT_NAMES}
    fields = {
        query: {name: value for name, value in row.items() if names.plain(str(name)) not in known}
        for query, row in zip(texts, rows, strict=True)
    }
    without = [n for n, row in enumerate(rows, 1) if not records.says_what_is_relevant(row)]
    if not rows:
        return Queries(texts, fields, unjudged="there are none.")
    if without:
        which = f"record {without[0]} does not say"
        if len(without) == len(rows) > 1:
            which = "none of them says"
        keys = [key for key, value in rows[without[0] - 1].items() if value is not None]
        accepted = ", ".join(names.EXPECTED)
        unjudged = f"{which} what is relevant; its keys are {', '.join(keys)}, accepted are {accepted}."
        return Queries(texts, fields, unjudged=unjudged)
    named = [{**row, "id": query} for query, row in zip(texts, rows, strict=True)]
    return Queries(texts, fields, from_records(named, results={})[0])


def _id_and_text(number: int, row: Mapping[str, object]) -> tuple[str, str]:
    said = {names.plain(str(name)): value for name, value in row.items() if value is not None}
    text_name = next((name for name in TEXT_NAMES if name in said), None)
    id_name = next((name for name in ID_NAMES if name in said and name != text_name), None)
    query = None if id_name is None else str(said[id_name])
    text = None if text_name is None else said[text_name]
    if not isinstance(text, str) or not text.strip():
        which = f"query {query!r}" if query is not None else f"entry {number}"
        raise InputError(
            f"queries: {which} has no text: {dict(row)!r:.80}. A query has an id (_id, id, query_id …) and a text "
            "(text, question, query …)."
        )
    return query if query is not None else text, text
