"""Collections of ir_datasets: judgments and the texts of queries."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ranklens.errors import InputError, MissingExtraError


@dataclass(frozen=True)
class Topics:
    """Judgments, ``{query: {document: grade}}``, and the texts of queries; made by :func:`from_ir_datasets`."""

    qrels: dict[str, dict[str, int]]
    queries: dict[str, str]


def from_ir_datasets(dataset: Any) -> Topics:
    """Judgments and queries of an ir_datasets collection, by its id or the loaded object.

    ir_datasets reads what is in its home folder (``IR_DATASETS_HOME``) and downloads what is not.
    """
    if isinstance(dataset, str):
        try:
            library: Any = import_module("ir_datasets")
        except ImportError:
            raise MissingExtraError("ir_datasets is not installed: pip install ir-datasets") from None
        try:
            dataset = library.load(dataset)
        except KeyError:
            raise InputError(
                f"ir_datasets knows no {dataset!r}; its ids are listed on ir-datasets.com."
            ) from None
    if not hasattr(dataset, "qrels_iter"):
        raise InputError(
            "This collection of ir_datasets has no judgments; choose a subset that has, such as beir/scifact/test."
        )
    qrels: dict[str, dict[str, int]] = {}
    for row in dataset.qrels_iter():
        qrels.setdefault(str(row.query_id), {})[str(row.doc_id)] = row.relevance
    queries = (
        {str(row.query_id): _text(row) for row in dataset.queries_iter()}
        if hasattr(dataset, "queries_iter")
        else {}
    )
    return Topics(qrels, queries)


def _text(row: Any) -> str:
    """Queries have a text, or a title as TREC's topics do."""
    return str(getattr(row, "text", None) or getattr(row, "title", None) or row.default_text())
