"""Spans of retrievers and rerankers → runs with the texts of their queries.

=============================================  =======================================================
OpenInference, kind ``RETRIEVER``              ``input.value``, ``retrieval.documents``
OpenInference, kind ``RERANKER``               ``reranker.query``, ``reranker.input_documents``, ``reranker.output_documents``
OpenTelemetry, operation ``retrieval``         ``gen_ai.retrieval.query.text``, ``gen_ai.retrieval.documents``
=============================================  =======================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from ranklens.data.files.json_reading import loads
from ranklens.data.files.rows import each_row
from ranklens.data.files.sources import open_source
from ranklens.data.readers import frames
from ranklens.data.readers.golden_and_logs import Log, read_log
from ranklens.data.readers.names import QUERY_TEXTS, Names, given
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
                f"The traces hold {len(self)} runs; choose one by name: {', '.join(map(repr, self))}."
            )
        return next(iter(self.values()))


def from_traces(source: Any, *, query: Asked = "span", id_from: str | None = None) -> Traces:
    """Runs from production traces: what retrievers and rerankers found for the queries of real users.

    ``source`` is a file (JSONL, JSON or Parquet), a table, or a list of spans, with OpenInference's or OpenTelemetry's attributes.
    A query is what the span itself was asked, or with ``query="root"`` what the whole request was asked, before it was rewritten.
    ``id_from`` says where the id of a document is, if not in ``document.id``, such as ``"metadata.source"`` or ``"content"``.

    >>> span = {"name": "search", "attributes": {"openinference.span.kind": "RETRIEVER", "input.value": "why?",
    ...         "retrieval.documents.0.document.id": "d7", "retrieval.documents.1.document.id": "d2"}}
    >>> from_traces([span])
    {'search': {'why?': ['d7', 'd2']}}
    """
    if query not in get_args(Asked):
        raise InputError(Given("query", query), f" is not allowed: {nearest(str(query), get_args(Asked))}")
    spans = sorted(read_spans(_rows(source)), key=lambda span: span.start or 0)
    asked = _requests(spans) if query == "root" else {}
    searched = _searches(spans)
    logged: dict[str, list[dict[str, Any]]] = {}
    for span in _outermost(spans):
        for name, row in _answers(span):
            text = asked.get(span.trace) or row["question"] or searched.get(span.trace)
            known = {} if text else {"query_id": span.trace or span.id}
            logged.setdefault(name, []).append({**row, "question": text, **known})
    if not logged:
        raise InputError(_nothing(spans))
    places = Names(id_from=id_from, option="id_from")
    return Traces({name: read_log(rows, places) for name, rows in logged.items()})


def _rows(source: Any) -> Iterable[Any]:
    if isinstance(source, (str, Path)):
        if Path(source).suffix.lower() != ".json":
            return each_row(source, "spans")
        try:
            return _listed(loads(open_source(Path(source)).read()))
        except ValueError as error:
            raise InputError(f"{source} is not valid JSON: {error}.", path=str(source)) from None
    if frames.is_frame(source):
        return each_row(source, "spans")
    return _listed(source)


def _listed(content: Any) -> Iterable[Any]:
    if isinstance(content, Mapping):
        return [content]
    if isinstance(content, Iterable):
        return content
    raise InputError(f"The traces are a {type(content).__name__}; pass a file, a table, or a list of spans.")


def _outermost(spans: Sequence[Span]) -> Iterator[Span]:
    """All spans but those without documents inside of a retriever's: LlamaIndex has one for ``retrieve`` and one for ``_retrieve``."""
    retrievers = {(span.trace, span.id) for span in spans if _kind(span) == "RETRIEVER"}
    for span in spans:
        inside = (span.trace, span.parent) in retrievers and _kind(span) == "RETRIEVER"
        if not inside or span.get("retrieval.documents") is not None:
            yield span


def _kind(span: Span) -> str:
    return str(span.get("openinference.span.kind") or "").upper()


def _answers(span: Span) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a span found, as rows of a log: none, one, or for a reranker what it got and what it gave."""
    kind = _kind(span)
    if kind == "RERANKER":
        for when, place in ((BEFORE, "reranker.input_documents"), (AFTER, "reranker.output_documents")):
            yield f"{span.name} {when}", _row(span, _text(span, "reranker.query"), span.get(place))
    elif kind == "RETRIEVER":
        yield span.name, _row(span, _text(span), span.get("retrieval.documents"))
    elif (
        span.get("gen_ai.operation.name") == "retrieval" or span.get("gen_ai.retrieval.documents") is not None
    ):
        found = span.get("gen_ai.retrieval.documents")
        yield span.name, _row(span, _text(span, "gen_ai.retrieval.query.text"), found)


def _row(span: Span, text: str | None, documents: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "question": text,
        "retrieved": _with_ids([_document(entry) for entry in parsed(documents) or []], span),
    }
    if span.seconds is not None:
        row["seconds"] = span.seconds
    return {**row, "error": span.error} if span.error else row


def _document(entry: Any) -> Any:
    """A document without its wrapping, and its metadata as a dict."""
    inner = entry.get("document", entry) if isinstance(entry, Mapping) else entry
    if not isinstance(inner, Mapping):
        return inner
    return {**inner, "metadata": parsed(inner["metadata"])} if "metadata" in inner else dict(inner)


def _with_ids(documents: list[Any], span: Span) -> list[Any]:
    """Documents with what the output says of them, if it lists as many: LangChain's instrumentation has their ids there alone."""
    output = parsed(span.get("output.value"))
    listed = given(output, ("documents",)) if isinstance(output, Mapping) else output
    if not isinstance(listed, list) or len(listed) != len(documents):
        return documents
    pairs = zip(documents, listed, strict=True)
    return [{**b, **a} if isinstance(a, dict) and isinstance(b, dict) else a for a, b in pairs]


def _text(span: Span, *places: str) -> str | None:
    """What was asked: at one of the places, else the input, which may be JSON with the question in it."""
    texts = (_question(parsed(span.get(place))) for place in (*places, "input.value"))
    return next((text for text in texts if text), None)


def _question(value: Any) -> str | None:
    """A question, or the one in a dict: under a known name, else in a dict inside of it, else its first text."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, str) and value else None
    inside = (_question(inner) for inner in value.values() if isinstance(inner, Mapping))
    texts = (text for text in value.values() if isinstance(text, str) and text)
    named = given(value, QUERY_TEXTS)
    return named if isinstance(named, str) and named else next((t for t in (*inside, *texts) if t), None)


def _searches(spans: Sequence[Span]) -> dict[str, str]:
    """What each trace searched for last: the question of a reranker that was not told it, as in Haystack."""
    asked = ((span.trace, _text(span)) for span in spans if _kind(span) == "RETRIEVER" and span.trace)
    return {trace: text for trace, text in asked if text is not None}


def _requests(spans: Sequence[Span]) -> dict[str, str]:
    """What each trace was asked as a whole: by its first span without a parent."""
    roots = {span.trace: _text(span) for span in reversed(spans) if span.parent is None and span.trace}
    return {trace: text for trace, text in roots.items() if text is not None}


def _nothing(spans: Sequence[Span]) -> str:
    kinds = sorted({str(span.get("openinference.span.kind") or "unknown") for span in spans})
    there = f"there are {len(spans):,}, of kind {', '.join(kinds)}" if spans else "there are no spans at all"
    return (
        f"No span of a retriever or reranker was found; {there}. They are known by openinference.span.kind RETRIEVER or RERANKER, "
        "or by gen_ai.operation.name retrieval."
    )
