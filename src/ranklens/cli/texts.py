"""The texts of queries that a command shows: from a file, or from the BEIR folder of the judgments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ranklens.cli.spellings import instead
from ranklens.errors import InputError


def query_texts(queries: str | None, qrels: str, command: str) -> Mapping[str, str]:
    """The texts of queries in a file, or in the BEIR folder of the judgments."""
    place = queries or in_folder(qrels, "queries.jsonl")
    if place is None:
        return {}
    if queries is not None and queries != "-" and not Path(queries).exists():
        hint = instead(command, ["--queries"])
        raise InputError(f"--queries {queries}: there is no such file. {hint}".rstrip())
    from ranklens.data.files.queries import read_queries

    return read_queries(place).texts


def in_folder(qrels: str, name: str) -> str | None:
    """A BEIR folder brings its own texts."""
    files = [Path(qrels) / name, Path(qrels) / f"{name}.gz"]
    return next((str(path) for path in files if path.is_file()), None)
