"""The queries of the demo and what answers them, read from ``queries.txt``.

How they were made: one assessor wrote the queries, in the words of a person who does not know the answer's name. For each, the
assessor listed the names that such a person would accept, from knowledge of the library and a list of its names, before any
retriever had run. Grade 2 is exactly the thing, 1 is useful: a part of the answer, a wider or a weaker way, or the module
where it is found. Then the first five documents of every retriever were pooled, and the same assessor judged those that were
new, in alphabetical order and without knowing who had found them (Python 3.11). What does not help has grade 0.

No query was written, dropped or changed after the retrievers had been compared. One retriever, the search in names, came
later; the first five documents of all were then pooled once more and judged in the same way. With one assessor there is no
agreement to report, and documents below the pool are not judged. The queries are hard on purpose: few share words with their answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ranklens.bench.demo.corpus import Corpus

FILE = Path(__file__).with_name("queries.txt")
TYPES = {
    "task": "what the user wants to do",
    "concept": "a thing or an idea, described",
    "problem": "something goes wrong",
    "name": "a name from another tool or language, or half remembered",
}
_HEAD = re.compile(r"\[(?P<id>\S+)\] (?P<type>\w+): (?P<text>.+)")


@dataclass(frozen=True)
class Query:
    """A question, its type (one of :data:`TYPES`), and the grades of the documents that answer it."""

    id: str
    type: str
    text: str
    grades: Mapping[str, int]


def load() -> tuple[Query, ...]:
    """All queries, in the order of the file.

    >>> query = load()[0]
    >>> query.id, query.type, query.text, query.grades["shutil.copytree"]
    ('copy-folder', 'task', 'copy a folder with everything inside', 2)
    """
    text = FILE.read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in re.split(r"\n\s*\n", text) if not block.startswith("#")]
    queries = []
    for head, *lines in blocks:
        parts = _HEAD.fullmatch(head)
        assert parts, head
        grades = {}
        for line in lines:
            grade, _, names = line.partition(":")
            grades.update(dict.fromkeys(names.split(), int(grade)))
        queries.append(Query(parts["id"], parts["type"], parts["text"], grades))
    return tuple(queries)


def present(queries: Iterable[Query], corpus: Corpus) -> tuple[dict[str, dict[str, int]], list[str]]:
    """The judgments on documents that this Python has, and the judged names that it lacks."""
    qrels: dict[str, dict[str, int]] = {}
    lacking = set()
    for query in queries:
        qrels[query.id] = {name: grade for name, grade in query.grades.items() if name in corpus.documents}
        lacking |= query.grades.keys() - qrels[query.id].keys()
    return qrels, sorted(lacking)
