"""Collections of ir_datasets: judgments and the texts of queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, runtime_checkable

from ranklens.data.readers.paths import follow
from ranklens.errors import InputError, MissingExtraError


class Qrel(Protocol):
    """One judgment."""

    query_id: str
    doc_id: str
    relevance: int


class Query(Protocol):
    """One query: the other fields depend on the collection."""

    query_id: str

    def default_text(self) -> str: ...


@runtime_checkable
class HasQrels(Protocol):
    """A collection with judgments."""

    def qrels_iter(self) -> Iterable[Qrel]: ...


@runtime_checkable
class HasQueries(Protocol):
    """A collection with queries."""

    def queries_iter(self) -> Iterable[Query]: ...


@dataclass(frozen=True)
class Topics:
    """Judgments, ``{query: {document: grade}}``, and the texts of queries; made by :func:`from_ir_datasets`."""

    qrels: dict[str, dict[str, int]]
    queries: dict[str, str]


def from_ir_datasets(dataset: object) -> Topics:
    """Judgments and queries of an ir_datasets collection, by its id or the loaded object.

    ir_datasets reads what is in its home folder (``IR_DATASETS_HOME``) and downloads what is not.
    """
    if isinstance(dataset, str):
        try:
            dataset = import_module("ir_datasets").load(dataset)
        except ImportError:
            raise MissingExtraError("ir_datasets is not installed: pip install ir-datasets") from None
        except KeyError:
            raise InputError(
                f"ir_datasets knows no {dataset!r}; its ids are listed on ir-datasets.com."
            ) from None
    if not isinstance(dataset, HasQrels):
        raise InputError(
            "This collection of ir_datasets has no judgments; choose a subset that has, such as beir/scifact/test."
        )
    qrels: dict[str, dict[str, int]] = {}
    for row in dataset.qrels_iter():
        qrels.setdefault(str(row.query_id), {})[str(row.doc_id)] = row.relevance
    queries = dataset.queries_iter() if isinstance(dataset, HasQueries) else ()
    texts = {  # queries have a text, or a title as TREC's topics do
        str(query.query_id): str(follow(query, "text") or follow(query, "title") or query.default_text())
        for query in queries
    }
    return Topics(qrels, texts)
