"""The demo's data as files to play with: a BEIR folder with runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.data.files.output import write_whole
from ranklens.errors import InputError

if TYPE_CHECKING:
    from ranklens.bench.demo import Demo


def save(demo: Demo, folder: Path) -> Path:
    """Write ``corpus.jsonl``, ``queries.jsonl``, ``qrels/test.tsv`` and ``runs/*.txt``."""
    make_folder(folder / "qrels")
    documents = demo.documents.documents.items()
    write_lines(
        folder / "corpus.jsonl",
        (json.dumps({"_id": name, "title": name, "text": text}) for name, text in documents),
    )
    write_lines(
        folder / "queries.jsonl",
        (json.dumps({"_id": query.id, "text": query.text, "type": query.type}) for query in demo.asked),
    )
    judged = ((query, doc, grade) for query, docs in demo.bench.qrels.items() for doc, grade in docs.items())
    rows = (f"{query}\t{doc}\t{grade:.0f}" for query, doc, grade in judged)
    write_lines(folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *rows])
    demo.bench.save_runs(folder / "runs")
    return folder


def make_folder(folder: Path) -> None:
    """Create a folder with everything above it, unless it exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be created: {error.strerror}. Choose another folder.") from None


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a text file whole, or not at all."""
    text = "".join(f"{line}\n" for line in lines)
    write_whole(path, lambda place: place.write_text(text, encoding="utf-8"))
