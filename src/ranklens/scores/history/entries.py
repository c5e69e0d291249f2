"""Entries and the rows that hold them: what is written of a record, and what is read back."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ranklens.errors import InputError
from ranklens.scores import Values
from ranklens.scores.history.record import Record, Setting
from ranklens.scores.history.schema import (
    MEASURED,
    MeasuredRow,
    checksum_of_entry,
    checksum_of_values,
    seal,
)
from ranklens.words import finite

COMMIT_LETTERS = 7  # of a commit that is named in short


class EntryRow(NamedTuple):
    """An entry as the table has it."""

    id: int
    run: str
    at: float
    kind: str
    system: str
    label: str | None
    git_commit: str | None
    dirty: int
    judgments: str
    policy: str
    config: str
    versions: str
    failed: int | None
    latency: str | None
    query_set: str
    checksum: str | None


COLUMNS = EntryRow._fields


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
    policy: Mapping[str, Setting]
    config: Mapping[str, object]
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


class Writing(NamedTuple):
    """All that is written of a record: its entry, its queries, and a row for each measure but for the number of the entry."""

    row: Mapping[str, object]
    queries: bytes
    measured: Sequence[tuple[int, str, float, float | None, float | None, bytes, str]]


def prepared(record: Record, shared: Mapping[str, object]) -> Writing:
    """What is written, made before the file is locked."""
    listed = [[query, record.digests.get(query, "")] for query in record.queries]
    text = json.dumps(listed, ensure_ascii=False).encode("utf-8", "surrogatepass")
    row = {
        **shared,
        "system": record.system,
        "judgments": record.judgments,
        "policy": json.dumps(dict(record.policy), sort_keys=True),
        "failed": record.failed,
        "latency": None if record.latency is None else json.dumps(dict(record.latency)),
        "query_set": _in_order(listed),
    }
    measured = []
    for place, name in enumerate(record.measures):
        around = record.interval(name)
        low, high = (finite(around.low), finite(around.high)) if around is not None else (None, None)
        values = np.asarray(record.values[name], dtype="<f8").tobytes()
        measured.append((place, name, record.mean(name), low, high, values, checksum_of_values(values)))
    return Writing(row, zlib.compress(text), measured)


def _in_order(listed: Sequence[Sequence[str]]) -> str:
    """Of the queries in their order, which values per query follow, and their judgments."""
    text = "\0".join(f"{query}\0{digest}" for query, digest in listed)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write(connection: sqlite3.Connection, new: Writing) -> int:
    """Write what :func:`prepared` made, within a transaction; the number of the entry."""
    # Queries that are there already are written again, in case they were damaged.
    connection.execute(
        "INSERT INTO query_set VALUES (?, ?) ON CONFLICT (digest) DO UPDATE SET queries = excluded.queries WHERE queries <> excluded.queries",
        [new.row["query_set"], new.queries],
    )
    names = [name for name in COLUMNS if name not in ("id", "checksum")]
    sql = f"INSERT INTO entry ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608  fixed names
    number = connection.execute(sql, [new.row[name] for name in names]).lastrowid or 0
    rows = [(number, *one) for one in new.measured]
    connection.executemany("INSERT INTO measured VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    seal(connection, number)
    return number


def entries_of(connection: sqlite3.Connection, rows: Sequence[EntryRow]) -> list[Entry]:
    """Entries from their rows, with their means; damaged ones are refused together."""
    measured: dict[int, list[MeasuredRow]] = {row.id: [] for row in rows}
    if measured:
        for one in map(MeasuredRow._make, connection.execute(MEASURED, [min(measured), max(measured)])):
            if one.entry in measured:
                measured[one.entry].append(one)
    entries = {row.id: _entry_of(row, measured[row.id]) for row in rows}
    damaged = [number for number, entry in entries.items() if entry is None]
    if damaged:
        raise DamagedError(*damaged)
    return [entry for entry in entries.values() if entry is not None]


class DamagedError(InputError):
    """Entries that are not what was written; the store says in which file, and what to do."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(f"damaged entries: {numbers}")
        self.numbers = sorted(numbers)


def _entry_of(row: EntryRow, measured: Sequence[MeasuredRow]) -> Entry | None:
    """An entry from its row; None if it is not what was written."""
    if row.checksum != checksum_of_entry(row._asdict(), measured):
        return None
    try:
        policy, config, versions = map(json.loads, (row.policy, row.config, row.versions))
        latency = None if row.latency is None else json.loads(row.latency)
    except (ValueError, TypeError, RecursionError):
        return None
    if not all(isinstance(one, dict) for one in (policy, config, versions, latency or {})):
        return None
    summaries = {one.measure: Summary(one.mean, one.low, one.high) for one in measured}
    where = (row.id, row.run, row.at, row.kind, row.system, row.label, row.git_commit, bool(row.dirty))
    return Entry(*where, row.judgments, policy, config, versions, row.failed, latency, summaries)


def record_of(connection: sqlite3.Connection, entry: Entry, query_set: str) -> Record:
    """An entry with its values per query, each checked against what was written."""
    packed = connection.execute("SELECT queries FROM query_set WHERE digest = ?", [query_set]).fetchone()
    measured = connection.execute(
        "SELECT measure, one_per_query, checksum FROM measured WHERE entry = ? ORDER BY place", [entry.id]
    ).fetchall()
    try:
        listed = json.loads(zlib.decompress(packed[0]))
        queries = tuple(query for query, _ in listed)
        digests = {query: digest for query, digest in listed if digest}
        is_whole = _in_order(listed) == query_set
        is_whole &= all(checksum_of_values(content) == checksum for _, content, checksum in measured)
        columns = {name: np.frombuffer(content, "<f8").astype(float) for name, content, _ in measured}
    except (zlib.error, ValueError, TypeError, RecursionError):
        raise DamagedError(entry.id) from None
    if not is_whole or not all(len(c) == len(queries) and np.isfinite(c).all() for c in columns.values()):
        raise DamagedError(entry.id)
    values = Values(queries, columns)
    return Record(entry.system, values, entry.policy, digests, entry.failed, entry.latency)
