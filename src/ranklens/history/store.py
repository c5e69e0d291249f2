"""The history: entries in one SQLite file. An entry is written in one transaction, completely or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.errors import InputError, nearest
from ranklens.history.origin import origin, project_folder
from ranklens.history.record import Record
from ranklens.history.schema import migrate
from ranklens.scores import Scores
from ranklens.words import finite

if TYPE_CHECKING:
    import polars as pl

    from ranklens.history.trend import Trend
    from ranklens.registry import Measure

PLACE = Path(".ranklens") / "history.db"
VARIABLE = "RANKLENS_HISTORY"
_PATIENCE = 60.0  # seconds to wait for other writers
_COMMIT_LETTERS = 7  # of a commit that is named in short
_COLUMNS = (
    "id", "run", "at", "kind", "system", "label", "git_commit", "dirty", "judgments", "policy", "config", "versions", "failed",
    "latency", "query_set",
)  # fmt: skip


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
    def name(self) -> str:
        """How people refer to it.

        >>> Entry(3, "", 0.0, "add", "bm25", None, None, False, "", {}, {}, {}, None, None).name
        '#3 bm25'
        """
        return f"#{self.id} {self.system}"


class History:
    """Results that are kept in an SQLite file; by default ``.ranklens/history.db`` in the folder of the repository.

    The variable ``RANKLENS_HISTORY`` names another file. Any number of processes may write at the same time.

    >>> import tempfile, ranklens as rl
    >>> history = History(Path(tempfile.mkdtemp()) / "history.db")
    >>> history.add(rl.evaluate({"q1": {"a"}}, {"q1": ["a"]}, "RR"), "bm25")
    [1]
    >>> [(entry.system, entry.measures["RR"].mean) for entry in history.entries()]
    [('bm25', 1.0)]
    """

    def __init__(self, path: str | Path | None = None) -> None:
        chosen = path if path is not None else os.environ.get(VARIABLE) or project_folder() / PLACE
        self.path = Path(chosen)

    def __repr__(self) -> str:
        return f"History({str(self.path)!r})"

    def add(
        self,
        results: Scores | Record | Mapping[str, Scores | Record],
        system: str = "run",
        *,
        kind: str = "add",
        label: str | None = None,
        config: Mapping[str, Any] | None = None,
        at: float | None = None,
    ) -> list[int]:
        """Keep scores, of one system or of several by name, in one transaction; the numbers of their entries.

        ``label`` is a name to find them by, ``at`` the time in seconds since 1970, by default now.
        """
        alone = results.system if isinstance(results, Record) else system
        given = results if isinstance(results, Mapping) else {alone: results}
        records = [
            replace(found, system=str(name)) if isinstance(found, Record) else Record.of(found, str(name))
            for name, found in given.items()
        ]
        if not records:
            raise InputError("There is nothing to keep: no system was measured.")
        where = origin()
        shared = {
            "run": uuid.uuid4().hex,
            "at": time.time() if at is None else at,
            "kind": kind,
            "label": label,
            "git_commit": where.commit,
            "dirty": int(where.dirty),
            "config": json.dumps(dict(config or {}), ensure_ascii=False, default=str),
            "versions": json.dumps(where.versions),
        }
        prepared = [_prepared(record, shared) for record in records]
        with self._open() as connection, _transaction(connection):
            return [_write(connection, *one) for one in prepared]

    def entries(self, *, system: str | None = None, last: int | None = None) -> list[Entry]:
        """The entries, oldest first; those of one system, or the last few."""
        where, values = ("WHERE system = ?", [system]) if system is not None else ("", [])
        limit = "" if last is None else f"LIMIT {int(last)}"
        sql = f"SELECT {', '.join(_COLUMNS)} FROM entry {where} ORDER BY at DESC, id DESC {limit}"  # noqa: S608  fixed names
        with self._open(existing=True) as connection, _transaction(connection, "BEGIN"):
            rows = connection.execute(sql, values).fetchall()
            summaries = _summaries(connection, [row[0] for row in rows])
        return [_entry(row, summaries.get(row[0], {})) for row in reversed(rows)]

    def record(self, entry: int | Entry) -> Record:
        """An entry with its values per query."""
        number = entry.id if isinstance(entry, Entry) else entry
        with self._open(existing=True) as connection, _transaction(connection, "BEGIN"):
            sql = f"SELECT {', '.join(_COLUMNS)} FROM entry WHERE id = ?"  # noqa: S608  fixed names
            row = connection.execute(sql, [number]).fetchone()
            if row is None:
                raise InputError(f"{self.path}: there is no entry {number}. See: ranklens history list")
            packed = connection.execute(
                "SELECT queries FROM query_set WHERE digest = ?", [row[-1]]
            ).fetchone()
            measured = connection.execute(
                "SELECT measure, one_per_query FROM measured WHERE entry = ? ORDER BY place", [number]
            ).fetchall()
        queries = json.loads(zlib.decompress(packed[0]))
        found = _entry(row, {})
        return Record(
            found.system,
            tuple(query for query, _ in queries),
            {name: np.frombuffer(values, dtype="<f8").astype(float) for name, values in measured},
            found.policy,
            {query: digest for query, digest in queries if digest},
            found.failed,
            found.latency,
        )

    def find(self, ref: str, *, system: str | None = None) -> Entry:
        """The newest entry that is meant by a number, ``last``, a label, a commit or the name of a system.

        With ``system``, entries of that system are preferred.
        """
        entries = self.entries()
        if not entries:
            raise InputError(f"{self.path} holds no entry yet. Add one with --save.")
        meant = [entry for entry in entries if _is_meant(entry, ref)]
        if not meant:
            known = dict.fromkeys(name for entry in entries for name in (entry.label, entry.system) if name)
            raise InputError(
                f"history:{ref}: there is no such entry. Give a number, last, a label, a commit or a system: {nearest(ref, known)}"
            )
        own = [entry for entry in meant if entry.system == system]
        return (own or meant)[-1]

    def trend(
        self, measure: str | Measure | None = None, *, system: str | None = None, last: int | None = None
    ) -> Trend:
        """A measure over time, by default the first of the newest entry; drops are found by paired tests."""
        from ranklens.history.trend import trend

        return trend(self, measure, system=system, last=last)

    def to_frame(self, rows: str = "queries") -> pl.DataFrame:
        """Everything as a tidy table: one row per entry, measure and query, or per entry and measure (``rows="entries"``)."""
        from ranklens.history.export import frame

        return frame(self, rows)

    @contextmanager
    def _open(self, *, existing: bool = False) -> Iterator[sqlite3.Connection]:
        if existing and not self.path.is_file():
            raise InputError(
                f"{self.path}: there is no history yet. Start one with: ranklens evaluate … --save, or ranklens history add"
            )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # A rollback journal, not a write-ahead log: one file at rest, which also works on network folders.
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA foreign_keys = ON")
                migrate(connection, str(self.path))
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise _told(self.path, error) from None


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All or nothing; a write waits for its turn at the beginning, so that it never has to give up in the middle."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _prepared(
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


def _write(
    connection: sqlite3.Connection,
    row: Mapping[str, Any],
    queries: bytes,
    measured: Sequence[tuple[Any, ...]],
) -> int:
    connection.execute("INSERT OR IGNORE INTO query_set VALUES (?, ?)", [row["query_set"], queries])
    names = [name for name in _COLUMNS if name != "id"]
    sql = f"INSERT INTO entry ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608  fixed names
    number = connection.execute(sql, [row[name] for name in names]).lastrowid
    rows = [(number, *one) for one in measured]
    connection.executemany("INSERT INTO measured VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return int(number or 0)


def _summaries(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, dict[str, Summary]]:
    found: dict[int, dict[str, Summary]] = {}
    if not numbers:
        return found
    sql = "SELECT entry, measure, mean, low, high FROM measured WHERE entry BETWEEN ? AND ? ORDER BY entry, place"
    for entry, measure, *ends in connection.execute(sql, [min(numbers), max(numbers)]):
        found.setdefault(entry, {})[measure] = Summary(*ends)
    return found


def _entry(row: Sequence[Any], measures: Mapping[str, Summary]) -> Entry:
    given = dict(zip(_COLUMNS, row, strict=True))
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


def _is_meant(entry: Entry, ref: str) -> bool:
    if ref == "last" or ref in (entry.label, entry.system, str(entry.id)):
        return True
    commit = entry.commit or ""
    return len(ref) >= _COMMIT_LETTERS and commit.startswith(ref.lower())


def _told(path: Path, error: Exception) -> Exception:
    """A full disk is the system's error; everything else is about the file that was named."""
    text = str(error)
    if isinstance(error, OSError):
        return InputError(f"{path} cannot be used as a history: {error.strerror}.")
    if "full" in text or "disk I/O" in text:
        return OSError(f"{path}: {text}")
    if "locked" in text:
        return InputError(
            f"{path} is locked by another program for more than {_PATIENCE:.0f} s; try again when that has ended."
        )
    if "readonly" in text or "unable to open" in text:
        return InputError(f"{path} cannot be written: {text}.")
    return InputError(f"{path} is not a history, or is damaged: {text}. Choose another file.")
