"""Spans of retrievers and rerankers → runs with the texts of their queries.

=============================================  =======================================================
OpenInference, kind ``RETRIEVER``              ``input.value``, ``retrieval.documents``
OpenInference, kind ``RERANKER``               ``reranker.query``, ``reranker.input_documents``, ``reranker.output_documents``
OpenTelemetry, operation ``retrieval``         ``gen_ai.retrieval.query.text``, ``gen_ai.retrieval.documents``
=============================================  =======================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from ranklens.data.files.json_reading import loads
from ranklens.data.files.rows import each_row
from ranklens.data.files.sources import open_source
from ranklens.data.readers import frames
from ranklens.data.readers.golden_and_logs import read_log
from ranklens.data.readers.names import QUERY_TEXTS, Names, given
from ranklens.data.readers.rankings import Log
from ranklens.data.traces.spans import Span, parsed, read_spans
from ranklens.errors import Given, InputError, nearest

Asked = Literal["span", "root"]
BEFORE, AFTER = "before", "after"  # a reranker


class Traces(dict[str, Log]):
    """Runs by name: one for every retriever, and two for every reranker, ``NAME before`` and ``NAME after``.

    Each is a run ``{query: [documents, best first]}`` whose queries go by their texts. Of a question that was asked several times
    the last answer counts. ``texts`` has the texts of all queries.
    """

    @property
    def texts(self) -> dict[str, str]:
        return {name: text for run in self.values() for name, text in run.texts.items()}

    @property
    def run(self) -> Log:
        """The only run; an :class:`InputError` names them if there are several."""
        if len(self) != 1:
            raise InputError(
                f"The traces contain {len(self)} runs; choose one by name: {', '.join(map(repr, self))}."
            )
        return next(iter(self.values()))


def from_traces(
    source: object,
    *,
    query: Asked = "span",
    id_from: str | None = None,
    texts: bool = False,
    steps: bool = False,
) -> Traces:
    """Runs from production traces: what retrievers and rerankers found for the queries of real users.

    ``source`` is a file (JSONL, JSON or Parquet), a table, or a list of spans, with OpenInference's or OpenTelemetry's attributes.
    A query is what the span itself was asked, or with ``query="root"`` what the whole request was asked, before it was rewritten.
    ``id_from`` says where the id of a document is, if not in ``document.id``, such as ``"metadata.source"`` or ``"content"``.
    ``texts=True`` keeps the texts of documents, for golden sets with passages; documents then need no id. ``steps=True`` makes one run
    ``"steps"`` in which all that the retrievers found in a trace is one answer to what the request was asked: what an agent read.

    >>> span = {"name": "search", "attributes": {"openinference.span.kind": "RETRIEVER", "input.value": "why?",
    ...         "retrieval.documents.0.document.id": "d7", "retrieval.documents.1.document.id": "d2"}}
    >>> from_traces([span])
    {'search': {'why?': ['d7', 'd2']}}
    """
    if query not in get_args(Asked):
        raise InputError(Given("query", query), f" is not allowed: {nearest(str(query), get_args(Asked))}")
    spans = sorted(read_spans(_rows(source)), key=lambda span: span.start or 0)
    asked: dict[str, str | None] = {}
    if query == "root" or steps:  # by the first span of a trace that has no parent
        asked = {span.trace: _text(span) for span in reversed(spans) if span.parent is None and span.trace}
    retrievers = [span for span in spans if span.kind == "RETRIEVER"]
    # What each trace searched for last is the question of a reranker whose span has none, as in Haystack.
    searches = {span.trace: text for span in retrievers if span.trace and (text := _text(span)) is not None}
    retriever_ids = {(span.trace, span.id) for span in retrievers}
    logged: dict[str, list[dict[str, object]]] = {}
    trajectories: dict[str, list[dict[str, object]]] = {}
    for span in spans:
        # LlamaIndex has one span for ``retrieve`` and within it one for ``_retrieve``, which may hold no documents.
        is_inner = span.kind == "RETRIEVER" and (span.trace, span.parent) in retriever_ids
        if is_inner and span.get("retrieval.documents") is None:
            continue
        for name, place, documents in _answers(span):
            text = asked.get(span.trace) or _text(span, place) or searches.get(span.trace)
            row: dict[str, object] = {"question": text, "retrieved": _documents(documents, span)}
            if span.seconds is not None:
                row["seconds"] = span.seconds
            if span.error:
                row["error"] = span.error
            if not text:
                row["query_id"] = span.trace or span.id
            if steps and span.kind != "RERANKER":
                trajectories.setdefault(span.trace or span.id or "", []).append(row)
            else:
                logged.setdefault(name, []).append(row)
    if steps:
        logged = (
            {"steps": [_trajectory(trace, rows) for trace, rows in trajectories.items()]}
            if trajectories
            else {}
        )
    if not logged:
        kinds = sorted({str(span.get("openinference.span.kind") or "unknown") for span in spans})
        of_kind = f"there are {len(spans):,}, of kind {', '.join(kinds)}"
        raise InputError(
            f"No span of a retriever or reranker was found; {of_kind if spans else 'there are no spans at all'}. They are known by "
            "openinference.span.kind RETRIEVER or RERANKER, or by gen_ai.operation.name retrieval."
        )
    places = Names(id_from=id_from, with_chunks=texts, option="id_from")
    return Traces({name: read_log(rows, places) for name, rows in logged.items()})


def _trajectory(trace: str, rows: list[dict[str, object]]) -> dict[str, object]:
    """What was retrieved for one request, one search after the other."""
    text = rows[0]["question"]
    return {"question": text, "steps": rows} if text else {"query_id": trace, "steps": rows}


def _rows(source: object) -> Iterable[object]:
    if isinstance(source, (str, Path)) and Path(source).suffix.lower() == ".json":
        try:
            source = loads(open_source(Path(source)).read())
        except ValueError as error:
            raise InputError(f"{source} is not valid JSON: {error}.", path=str(source)) from None
    elif isinstance(source, (str, Path)) or frames.is_frame(source):
        return each_row(source, "spans")
    if isinstance(source, Mapping):
        return [source]
    if isinstance(source, Iterable):
        return source
    raise InputError(f"The traces are a {type(source).__name__}; pass a file, a table, or a list of spans.")


def _answers(span: Span) -> Iterator[tuple[str, str, object]]:
    """What a span found, by the name of its run: where its question is, and the documents. A reranker has two runs, others at most one."""
    if span.kind == "RERANKER":
        yield f"{span.name} {BEFORE}", "reranker.query", span.get("reranker.input_documents")
        yield f"{span.name} {AFTER}", "reranker.query", span.get("reranker.output_documents")
    elif span.kind == "RETRIEVER":
        yield span.name, "input.value", span.get("retrieval.documents")
    else:
        documents = span.get("gen_ai.retrieval.documents")
        if documents is not None or span.get("gen_ai.operation.name") == "retrieval":
            yield span.name, "gen_ai.retrieval.query.text", documents


def _documents(listed: Any, span: Span) -> list[object]:
    """Documents without their wrapping, with their metadata as a dict."""
    documents = [
        entry.get("document", entry) if isinstance(entry, Mapping) else entry for entry in listed or []
    ]
    documents = [
        {**one, "metadata": parsed(one["metadata"])}
        if isinstance(one, Mapping) and "metadata" in one
        else one
        for one in documents
    ]
    # LangChain's instrumentation has the ids of documents in the output alone.
    output = span.get("output.value")
    outputs = given(output, ("documents",)) if isinstance(output, Mapping) else output
    if not isinstance(outputs, list) or len(outputs) != len(documents):
        return documents
    return [
        {**further, **document} if isinstance(document, dict) and isinstance(further, dict) else document
        for document, further in zip(documents, outputs, strict=True)
    ]


def _text(span: Span, place: str = "input.value") -> str | None:
    """What was asked: at that place, else the input, which may be JSON with the question in it."""
    return _question(span.get(place)) or _question(span.get("input.value"))


def _question(value: object) -> str | None:
    """A question, or the one in a dict: under a known name, else in a dict inside of it, else its first text."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) and value else None
    inside = (_question(inner) for inner in value.values() if isinstance(inner, Mapping))
    texts = (text for text in value.values() if isinstance(text, str) and text)
    named = given(value, QUERY_TEXTS)
    return named if isinstance(named, str) and named else next((t for t in (*inside, *texts) if t), None)
