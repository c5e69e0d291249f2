"""Two demos that need nothing but Python.

:mod:`ranklens.bench.demo.regression` catches a harmful change of the chunk size in two seconds. The whole benchmark asks people's
questions to the documentation of the standard library:

- :mod:`ranklens.bench.demo.corpus`: about 4,800 documents, made at run time from docstrings.
- :mod:`ranklens.bench.demo.queries`: 160 questions with graded judgments, and how they were made.
- :mod:`ranklens.bench.demo.retrievers`: six search engines.
- :func:`run_demo`: all search engines, compared and reported.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.bench.demo import corpus, queries, retrievers

if TYPE_CHECKING:
    from ranklens.comparison.comparison import Comparison
    from ranklens.retrieval.benchmark import Benchmark

MEASURES = "R@100, nDCG@10, RR"  # found at all, found near the top, found first
_DEPTH = 100
_TITLE = "RankLens demo: six search engines on the documentation of Python's standard library"


@dataclass(frozen=True)
class Demo:
    """What the demo ran on, what it found, and notes on what this Python lacks."""

    documents: corpus.Corpus
    asked: tuple[queries.Query, ...]
    bench: Benchmark
    comparison: Comparison
    notes: tuple[str, ...]

    def summary(self) -> str:
        """What was searched and asked, in a sentence, with the notes below it."""
        judgments = sum(len(grades) for grades in self.bench.qrels.values())
        first = (
            f"{len(self.documents):,} documents (docstrings of Python {platform.python_version()}), {len(self.asked)} "
            f"questions, {judgments:,} judgments, {len(self.bench.results)} search engines."
        )
        return "\n".join([first, *self.notes])

    def report(self, path: str | Path) -> Path:
        """Write the HTML report, with the texts of questions and documents."""
        texts = {query.id: query.text for query in self.asked}
        return self.comparison.to_html(path, queries=texts, corpus=self.documents.documents, title=_TITLE)

    def save(self, folder: str | Path) -> Path:
        """Write corpus, queries and judgments as a BEIR folder, with the runs as TREC files."""
        from ranklens.bench.demo.files import save

        return save(self, Path(folder))


def run_demo(output: str | Path | None = "ranklens-demo.html") -> Demo:
    """Build the corpus, ask every search engine every question, compare them, and write the report to ``output``."""
    from ranklens.retrieval.benchmark import Benchmark

    documents = corpus.build()
    asked = queries.load()
    qrels, lacking = queries.present(asked, documents)
    engines, notes = retrievers.build(documents.documents)
    if documents.lacking:
        notes.append(f"This Python lacks the modules {', '.join(documents.lacking)}.")
    if lacking:
        notes.append(f"{len(lacking)} judged names are left out because this Python does not document them.")
    bench = Benchmark()
    for query in asked:
        bench.add_query(query.id, query.text, qrels[query.id], type=query.type)
    for name, engine in engines.items():
        bench.run(name, engine, k=_DEPTH)
    demo = Demo(documents, asked, bench, bench.compare(MEASURES, by="type"), tuple(notes))
    if output is not None:
        demo.report(output)
    return demo
