"""What retrievers found, for people to look at: a sheet to judge, and a page with the rankings side by side."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from ranklens.data.files.corpus import Text, texts

if TYPE_CHECKING:
    from ranklens.retrieval.answers import RetrieverRun

_LONGEST = 400  # characters of a document on the page


@dataclass(frozen=True)
class Row:
    """A document to judge: which systems found it, at which rank at best; ``grade`` is for the judge."""

    query: str
    question: str
    doc: str
    text: str
    systems: str
    best_rank: int
    grade: str = ""


def rows(
    results: Mapping[str, RetrieverRun], questions: Mapping[str, str], corpus: object, k: int
) -> Iterator[Row]:
    """Every document among the first ``k`` of any retriever, query by query; those that more retrievers found come first."""
    found = _texts(results, corpus, k)
    for query, question in questions.items():
        by_doc: dict[str, dict[str, int]] = {}
        for name, result in results.items():
            for rank, doc in enumerate(_first(result, query, k), 1):
                by_doc.setdefault(doc, {})[name] = rank
        order = sorted(by_doc, key=lambda doc: (-len(by_doc[doc]), min(by_doc[doc].values())))
        for doc in order:
            best = min(by_doc[doc].values())
            yield Row(query, question, doc, _told(found.get(doc)), ", ".join(by_doc[doc]), best)


def to_csv(sheet: Iterable[Row]) -> str:
    """A table that any spreadsheet opens."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows(asdict(row).values() for row in sheet)
    return out.getvalue()


def to_jsonl(sheet: Iterable[Row]) -> str:
    """One object per line."""
    return "".join(json.dumps({**asdict(row), "grade": None}, ensure_ascii=False) + "\n" for row in sheet)


def page(
    results: Mapping[str, RetrieverRun], questions: Mapping[str, str], corpus: object, k: int, *, note: str
) -> str:
    """The rankings of each query side by side, as one HTML page; what all retrievers found is marked."""
    found = _texts(results, corpus, k)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in results)
    parts = [
        f"<h2>{html.escape(question)} <small>{html.escape(query)}</small></h2>\n"
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>\n{_ranks(results, query, found, k)}</tbody></table>\n"
        for query, question in questions.items()
    ]
    return _PAGE.format(note=html.escape(note), content="".join(parts))


def _ranks(results: Mapping[str, RetrieverRun], query: str, found: Mapping[str, Text], k: int) -> str:
    lists = {name: _first(result, query, k) for name, result in results.items()}
    shared = set.intersection(*(set(docs) for docs in lists.values())) if len(lists) > 1 else set()
    deepest = max(map(len, lists.values()), default=0)
    lines = []
    for rank in range(max(deepest, 1)):
        cells = [_cell(results[name], query, docs, rank, found, shared) for name, docs in lists.items()]
        lines.append(f"<tr><th>{rank + 1}</th>{''.join(cells)}</tr>\n")
    return "".join(lines)


def _cell(
    result: RetrieverRun, query: str, docs: list[str], rank: int, found: Mapping[str, Text], shared: set[str]
) -> str:
    if rank < len(docs):
        doc = docs[rank]
        mark = ' class="shared"' if doc in shared else ""
        return f"<td{mark}><b>{html.escape(doc)}</b> {html.escape(_told(found.get(doc))[:_LONGEST])}</td>"
    if rank or docs:
        return "<td></td>"
    error = result.errors.get(query)
    told = "nothing found" if error is None else f"failed: {error}"
    return f"<td><i>{html.escape(told)}</i></td>"


def _first(result: RetrieverRun, query: str, k: int) -> list[str]:
    return list(dict.fromkeys(result.run.get(query, ())))[:k]


def _texts(results: Mapping[str, RetrieverRun], corpus: object, k: int) -> dict[str, Text]:
    wanted = {doc for result in results.values() for docs in result.run.values() for doc in docs[:k]}
    return texts(corpus, wanted)


def _told(text: Text | None) -> str:
    return "" if text is None else " ".join(part for part in text if part)


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Side by side</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem }}
h2 {{ font-size: 1.1rem; margin: 2rem 0 .5rem }}
small, thead th, tbody th {{ color: GrayText; font-weight: normal }}
table {{ border-collapse: collapse; table-layout: fixed; width: 100% }}
th:first-child {{ width: 2rem }}
th, td {{ border-top: 1px solid #8884; overflow-wrap: anywhere; padding: .3rem .5rem; text-align: left; vertical-align: top }}
.shared {{ background: #4a90d922 }}
</style></head><body>
<h1>Side by side</h1>
<p>{note}</p>
{content}</body></html>
"""
