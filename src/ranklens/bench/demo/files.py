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
    try:
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be created: {error.strerror}. Choose another folder.") from None
    documents = demo.documents.documents.items()
    _write(
        folder / "corpus.jsonl",
        (json.dumps({"_id": name, "title": name, "text": text}) for name, text in documents),
    )
    _write(
        folder / "queries.jsonl",
        (json.dumps({"_id": query.id, "text": query.text, "type": query.type}) for query in demo.asked),
    )
    judged = ((query, doc, grade) for query, docs in demo.bench.qrels.items() for doc, grade in docs.items())
    rows = (f"{query}\t{doc}\t{grade:.0f}" for query, doc, grade in judged)
    _write(folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *rows])
    demo.bench.save_runs(folder / "runs")
    return folder


def _write(path: Path, lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    write_whole(path, lambda place: place.write_text(text, encoding="utf-8"))
