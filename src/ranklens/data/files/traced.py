"""Files of spans where a run is expected: one run for each retriever."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ranklens.data.files.json_files import json_document, json_lines
from ranklens.data.readers.names import USUAL, Names
from ranklens.errors import errors_in

if TYPE_CHECKING:
    from ranklens.data.files.sources import Source

_MAY_BE_SPANS = re.compile(
    rb'"(resource_?spans|scope_?spans|spans|trace_?id|span_?id|context\.span_id|attributes)"\s*:',
    re.IGNORECASE,
)


def traced_runs(source: Source, kind: str, names: Names = USUAL) -> Mapping[str, object]:
    """The runs by retriever in a file of spans; none in other files."""
    if kind not in ("json", "jsonl") or not _MAY_BE_SPANS.search(source.head()):
        return {}
    from ranklens.data.traces.runs import from_traces
    from ranklens.data.traces.spans import are_spans

    content = json_document(source) if kind == "json" else json_lines(source)
    if not are_spans(content):
        return {}
    place = names.id_from if isinstance(names.id_from, str) else next(iter(names.own.get("doc", ())), None)
    with errors_in(source.name):
        return from_traces(content if isinstance(content, list) else [content], id_from=place)
