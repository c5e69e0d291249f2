"""Entries and the rows that hold them: what is written of a record, and what is read back."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ranklens.history.record import Record
from ranklens.words import finite

COLUMNS = (
    "id", "run", "at", "kind", "system", "label", "git_commit", "dirty", "judgments", "policy", "config", "versions", "failed",
    "latency", "query_set",
)  # fmt: skip
COMMIT_LETTERS = 7  # of a commit that is named in short


@dataclass(frozen=True)
class Summary:
    """A mean with its interval; None where there is none."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Entry:
    """A result in the history, without its values per query: :meth:`History.record` has them."""

    id: int
    run: str
    at: float
    kind: str
    system: str
    label: str | None
    commit: str | None
    dirty: bool
    judgments: str
    policy: Mapping[str, Any]
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    failed: int | None
    latency: Mapping[str, float] | None
    measures: Mapping[str, Summary] = field(default_factory=dict)

    @property
    def short_commit(self) -> str:
        """The commit as Git abbreviates it, with a plus sign if files had changed since; nothing if there was none."""
        return "" if self.commit is None else f"{self.commit[:COMMIT_LETTERS]}{'+' if self.dirty else ''}"

    @property
    def name(self) -> str:
        """How people refer to it.

        >>> Entry(3, "", 0.0, "add", "bm25", None, None, False, "", {}, {}, {}, None, None).name
        '#3 bm25'
        """
        return f"#{self.id} {self.system}"


def prepared(
    record: Record, shared: Mapping[str, Any]
) -> tuple[dict[str, Any], bytes, list[tuple[Any, ...]]]:
    """All that is written, made before the file is locked."""
    listed = [[query, record.digests.get(query, "")] for query in record.queries]
    text = json.dumps(listed, ensure_ascii=False).encode("utf-8", "surrogatepass")
    row = {
        **shared,
        "system": record.system,
        "judgments": record.judgments,
        "policy": json.dumps(dict(record.policy), sort_keys=True),
        "failed": record.failed,
        "latency": None if record.latency is None else json.dumps(dict(record.latency)),
        "query_set": _in_order(record),
    }
    measured = []
    for place, name in enumerate(record.measures):
        around = record.interval(name)
        ends = (finite(around.low), finite(around.high)) if around is not None else (None, None)
        values = np.asarray(record.values[name], dtype="<f8").tobytes()
        measured.append((place, name, record.mean(name), *ends, values))
    return row, zlib.compress(text), measured


def _in_order(record: Record) -> str:
    """Of the queries in their order, which values per query follow, and their judgments."""
    text = "\0".join(f"{query}\0{record.digests.get(query, '')}" for query in record.queries)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write(
    connection: sqlite3.Connection,
    row: Mapping[str, Any],
    queries: bytes,
    measured: Sequence[tuple[Any, ...]],
) -> int:
    """Write what :func:`prepared` made, within a transaction; the number of the entry."""
    connection.execute("INSERT OR IGNORE INTO query_set VALUES (?, ?)", [row["query_set"], queries])
    names = [name for name in COLUMNS if name != "id"]
    sql = f"INSERT INTO entry ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608  fixed names
    number = connection.execute(sql, [row[name] for name in names]).lastrowid
    rows = [(number, *one) for one in measured]
    connection.executemany("INSERT INTO measured VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return int(number or 0)


def summaries_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, dict[str, Summary]]:
    """The means of entries, by number and measure."""
    found: dict[int, dict[str, Summary]] = {}
    if not numbers:
        return found
    sql = "SELECT entry, measure, mean, low, high FROM measured WHERE entry BETWEEN ? AND ? ORDER BY entry, place"
    for entry, measure, *ends in connection.execute(sql, [min(numbers), max(numbers)]):
        found.setdefault(entry, {})[measure] = Summary(*ends)
    return found


def entry_of(row: Sequence[Any], measures: Mapping[str, Summary]) -> Entry:
    """An entry from its row."""
    given = dict(zip(COLUMNS, row, strict=True))
    return Entry(
        given["id"],
        given["run"],
        given["at"],
        given["kind"],
        given["system"],
        given["label"],
        given["git_commit"],
        bool(given["dirty"]),
        given["judgments"],
        json.loads(given["policy"]),
        json.loads(given["config"]),
        json.loads(given["versions"]),
        given["failed"],
        None if given["latency"] is None else json.loads(given["latency"]),
        measures,
    )
