"""The tables of a history, and how an older file becomes a newer one: one step per version, in one transaction."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ranklens.errors import InputError

APPLICATION = 0x524C4853  # "RLHS": tells a history from any other SQLite file

_LETTERS = 32  # of a checksum


class MeasuredRow(NamedTuple):
    """A measure of an entry as the table has it, without its values."""

    entry: int
    place: int
    measure: str
    mean: float
    low: float | None
    high: float | None
    checksum: str


def checksum_of_values(values: bytes) -> str:
    """The checksum of the values of one measure."""
    return hashlib.sha256(values).hexdigest()[:_LETTERS]


def checksum_of_entry(row: Mapping[str, object], measured: Iterable[Sequence[object]]) -> str:
    """The checksum of an entry with its means and the checksums of its values; columns that are empty do not count, so new ones may come."""
    filled = {name: value for name, value in row.items() if name != "checksum" and value is not None}
    text = json.dumps([filled, [list(one) for one in measured]], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:_LETTERS]


def seal(connection: sqlite3.Connection, number: int) -> None:
    """Give an entry its checksum, from what SQLite has made of it."""
    entry = connection.execute("SELECT * FROM entry WHERE id = ?", [number])
    row = dict(zip((column[0] for column in entry.description), entry.fetchone(), strict=True))
    checksum = checksum_of_entry(row, connection.execute(MEASURED, [number, number]))
    connection.execute("UPDATE entry SET checksum = ? WHERE id = ?", [checksum, number])


MEASURED = "SELECT entry, place, measure, mean, low, high, checksum FROM measured WHERE entry BETWEEN ? AND ? ORDER BY entry, place"


def _add_checksums(connection: sqlite3.Connection) -> None:
    """What was written without a checksum is taken as it is, once."""
    for table in ("entry", "measured"):
        connection.execute(f"ALTER TABLE {table} ADD COLUMN checksum TEXT")
    connection.create_function("checksum_of_values", 1, checksum_of_values, deterministic=True)
    connection.execute("UPDATE measured SET checksum = checksum_of_values(one_per_query)")
    for (number,) in connection.execute("SELECT id FROM entry").fetchall():
        seal(connection, number)


# Each step leads from the version before to the next; a released one is never changed.
MIGRATIONS: tuple[str | Callable[[sqlite3.Connection], None], ...] = (
    """
    CREATE TABLE query_set (  -- shared by the entries over the same queries and judgments
        digest TEXT PRIMARY KEY,
        queries BLOB NOT NULL  -- zlib of a JSON list of [query, digest of its judgments]
    ) WITHOUT ROWID;
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL,  -- the same for all systems that were saved together
        at REAL NOT NULL,  -- seconds since 1970
        kind TEXT NOT NULL,  -- evaluate, compare, bench or add
        system TEXT NOT NULL,
        label TEXT,
        git_commit TEXT,
        dirty INTEGER NOT NULL,
        judgments TEXT NOT NULL,  -- digest
        policy TEXT NOT NULL,  -- JSON
        config TEXT NOT NULL,  -- JSON
        versions TEXT NOT NULL,  -- JSON
        failed INTEGER,
        latency TEXT,  -- JSON, seconds by percentile
        query_set TEXT NOT NULL REFERENCES query_set (digest)
    );
    CREATE TABLE measured (
        entry INTEGER NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        measure TEXT NOT NULL,
        mean REAL NOT NULL,
        low REAL,
        high REAL,
        one_per_query BLOB NOT NULL,  -- little-endian float64, in the order of the query set
        PRIMARY KEY (entry, place)
    ) WITHOUT ROWID;
    CREATE INDEX entry_by_system ON entry (system, at);
    """,
    _add_checksums,
)

# One statement, so that all three are of the same moment: another process may be making the tables right now.
_STATE = """
    SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master)
    FROM pragma_user_version, pragma_application_id
"""


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Bring a file to the newest version; a new file starts empty. Nothing is written if it is there already."""
    if _version(connection, name) == len(MIGRATIONS):
        return
    with transaction(connection):
        # Another process may have done it while this one waited.
        for step in MIGRATIONS[_version(connection, name) :]:
            if not isinstance(step, str):
                step(connection)
                continue
            statement = ""  # one at a time: executescript would commit before the first
            for line in step.splitlines(keepends=True):
                statement += line
                if sqlite3.complete_statement(statement):
                    connection.execute(statement)
                    statement = ""
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """All or nothing; a write waits for its turn at the beginning, so that it never has to give up in the middle."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends it by itself when the disk is full
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, name: str) -> int:
    version, application, tables = connection.execute(_STATE).fetchone()
    if application not in (0, APPLICATION) or (tables and application != APPLICATION):
        raise InputError(f"{name} is an SQLite file of another program, not a history; choose another name.")
    if version > len(MIGRATIONS):
        raise InputError(
            f"{name} was written by a newer RankLens (version {version} of the format; this one knows {len(MIGRATIONS)}). "
            "Update it: pip install --upgrade ranklens"
        )
    return int(version)
