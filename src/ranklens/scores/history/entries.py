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

from ranklens.errors import InputError
from ranklens.scores import Values
from ranklens.scores.history.record import Record
from ranklens.scores.history.schema import MEASURED, checksum_of_entry, checksum_of_values, seal
from ranklens.words import finite

COLUMNS = (
    "id", "run", "at", "kind", "system", "label", "git_commit", "dirty", "judgments", "policy", "config", "versions", "failed",
    "latency", "query_set", "checksum",
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
        "query_set": _in_order(listed),
    }
    measured = []
    for place, name in enumerate(record.measures):
        around = record.interval(name)
        ends = (finite(around.low), finite(around.high)) if around is not None else (None, None)
        values = np.asarray(record.values[name], dtype="<f8").tobytes()
        measured.append((place, name, record.mean(name), *ends, values, checksum_of_values(values)))
    return row, zlib.compress(text), measured


def _in_order(listed: Sequence[Sequence[str]]) -> str:
    """Of the queries in their order, which values per query follow, and their judgments."""
    text = "\0".join(f"{query}\0{digest}" for query, digest in listed)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write(
    connection: sqlite3.Connection,
    row: Mapping[str, Any],
    queries: bytes,
    measured: Sequence[tuple[Any, ...]],
) -> int:
    """Write what :func:`prepared` made, within a transaction; the number of the entry."""
    # Queries that are there already are written again, in case they were damaged.
    connection.execute(
        "INSERT INTO query_set VALUES (?, ?) ON CONFLICT (digest) DO UPDATE SET queries = excluded.queries WHERE queries <> excluded.queries",
        [row["query_set"], queries],
    )
    names = [name for name in COLUMNS if name not in ("id", "checksum")]
    sql = f"INSERT INTO entry ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608  fixed names
    number = connection.execute(sql, [row[name] for name in names]).lastrowid
    rows = [(number, *one) for one in measured]
    connection.executemany("INSERT INTO measured VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    seal(connection, int(number or 0))
    return int(number or 0)


def entries_of(connection: sqlite3.Connection, rows: Sequence[Sequence[Any]]) -> list[Entry]:
    """Entries from their rows, with their means; damaged ones are refused together."""
    numbers = [row[0] for row in rows]
    measured: dict[int, list[tuple[Any, ...]]] = {number: [] for number in numbers}
    if numbers:
        for one in connection.execute(MEASURED, [min(numbers), max(numbers)]):
            if one[0] in measured:
                measured[one[0]].append(one)
    found = [_entry_of(row, measured[row[0]]) for row in rows]
    wrong = [number for number, entry in zip(numbers, found, strict=True) if entry is None]
    if wrong:
        raise DamagedError(*wrong)
    return [entry for entry in found if entry is not None]


class DamagedError(InputError):
    """Entries that are not what was written; the store says in which file, and what to do."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(f"damaged entries: {numbers}")
        self.numbers = sorted(numbers)


def _entry_of(row: Sequence[Any], measured: Sequence[tuple[Any, ...]]) -> Entry | None:
    """An entry from its row; None if it is not what was written."""
    given = dict(zip(COLUMNS, row, strict=True))
    if given["checksum"] != checksum_of_entry(given, measured):
        return None
    try:
        policy, config, versions = (json.loads(given[name]) for name in ("policy", "config", "versions"))
        latency = None if given["latency"] is None else json.loads(given["latency"])
    except (ValueError, TypeError, RecursionError):
        return None
    if not all(isinstance(one, dict) for one in (policy, config, versions, latency or {})):
        return None
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
        policy,
        config,
        versions,
        given["failed"],
        latency,
        {name: Summary(*ends) for _, _, name, *ends, _ in measured},
    )


def record_of(connection: sqlite3.Connection, entry: Entry, query_set: str) -> Record:
    """An entry with its values per query, each checked against what was written."""
    packed = connection.execute("SELECT queries FROM query_set WHERE digest = ?", [query_set]).fetchone()
    measured = connection.execute(
        "SELECT measure, one_per_query, checksum FROM measured WHERE entry = ? ORDER BY place", [entry.id]
    ).fetchall()
    try:
        listed = json.loads(zlib.decompress(packed[0]))
        queries, digests = (
            [query for query, _ in listed],
            {query: digest for query, digest in listed if digest},
        )
        is_whole = _in_order(listed) == query_set and all(
            checksum_of_values(values) == checksum for _, values, checksum in measured
        )
        values = {name: np.frombuffer(found, dtype="<f8").astype(float) for name, found, _ in measured}
    except (zlib.error, ValueError, TypeError, RecursionError):
        raise DamagedError(entry.id) from None
    if not is_whole or not all(
        len(one) == len(queries) and np.isfinite(one).all() for one in values.values()
    ):
        raise DamagedError(entry.id)
    return Record(
        entry.system, Values(tuple(queries), values), entry.policy, digests, entry.failed, entry.latency
    )
