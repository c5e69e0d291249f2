"""The history: entries in one SQLite file. An entry is written in one transaction, completely or not at all."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.data.files.output import SYSTEM
from ranklens.errors import InputError, nearest
from ranklens.scores import Scores
from ranklens.scores.history.entries import (
    COLUMNS,
    COMMIT_LETTERS,
    DamagedError,
    Entry,
    EntryRow,
    entries_of,
    prepared,
    record_of,
    write,
)
from ranklens.scores.history.origin import origin, project_folder
from ranklens.scores.history.record import Record
from ranklens.scores.history.schema import migrate, transaction

if TYPE_CHECKING:
    import polars as pl

    from ranklens.metrics import Measure
    from ranklens.scores.history.trend import Trend

PLACE = Path(".ranklens") / "history.db"
VARIABLE = "RANKLENS_HISTORY"
_PATIENCE = 60.0  # seconds to wait for other writers


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
        config: Mapping[str, object] | None = None,
        at: float | None = None,
    ) -> list[int]:
        """Keep scores, of one system or of several by name, in one transaction; the numbers of their entries.

        ``label`` is a name to find them by, ``at`` the time in seconds since 1970, by default now.
        """
        alone = results.system if isinstance(results, Record) else system
        by_system = results if isinstance(results, Mapping) else {alone: results}
        records = [
            replace(one, system=str(name)) if isinstance(one, Record) else Record.of(one, str(name))
            for name, one in by_system.items()
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
        rows = [prepared(record, shared) for record in records]
        with self._open() as connection, transaction(connection):
            return [write(connection, row) for row in rows]

    def entries(self, *, system: str | None = None, last: int | None = None) -> list[Entry]:
        """The entries, oldest first; those of one system, or the last few."""
        where, values = ("WHERE system = ?", [system]) if system is not None else ("", [])
        limit = "" if last is None else f"LIMIT {int(last)}"
        sql = f"SELECT {', '.join(COLUMNS)} FROM entry {where} ORDER BY at DESC, id DESC {limit}"  # noqa: S608  fixed names
        with self._open(existing=True) as connection, transaction(connection, "BEGIN"):
            rows = connection.execute(sql, values).fetchall()[::-1]
            return entries_of(connection, [EntryRow(*row) for row in rows])

    def record(self, entry: int | Entry) -> Record:
        """An entry with its values per query."""
        number = entry.id if isinstance(entry, Entry) else entry
        with self._open(existing=True) as connection, transaction(connection, "BEGIN"):
            sql = f"SELECT {', '.join(COLUMNS)} FROM entry WHERE id = ?"  # noqa: S608  fixed names
            rows = connection.execute(sql, [number]).fetchall()
            if not rows:
                raise InputError(f"{self.path}: there is no entry {number}. See: ranklens history list")
            row = EntryRow(*rows[0])
            return record_of(connection, entries_of(connection, [row])[0], row.query_set)

    def remove(self, *numbers: int) -> None:
        """Remove entries by number, damaged ones included; their numbers are not used again.

        >>> import tempfile, ranklens as rl
        >>> history = History(Path(tempfile.mkdtemp()) / "history.db")
        >>> history.add(rl.evaluate({"q1": {"a"}}, {"q1": ["a"]}, "RR"), "bm25")
        [1]
        >>> history.remove(1)
        >>> history.entries()
        []
        """
        with self._open(existing=True) as connection, transaction(connection):
            for number in numbers:
                if not connection.execute("DELETE FROM entry WHERE id = ?", [number]).rowcount:
                    raise InputError(f"{self.path}: there is no entry {number}. See: ranklens history list")
            connection.execute(
                "DELETE FROM query_set WHERE NOT EXISTS (SELECT 1 FROM entry WHERE query_set = query_set.digest)"
            )

    def find(self, ref: str, *, system: str | None = None) -> Entry:
        """The newest entry that is meant by a number, ``last``, a label, a commit or the name of a system.

        With ``system``, entries of that system are preferred.
        """
        entries = self.entries()
        if not entries:
            raise InputError(f"{self.path} contains no entry yet. Add one with --save.")
        is_commit = len(ref) >= COMMIT_LETTERS
        meant = [
            entry
            for entry in entries
            if ref in ("last", entry.label, entry.system, str(entry.id))
            or (is_commit and (entry.commit or "").startswith(ref.lower()))
        ]
        if not meant:
            names = dict.fromkeys(name for entry in entries for name in (entry.label, entry.system) if name)
            raise InputError(
                f"history:{ref}: there is no such entry: {nearest(ref, names)} A number, last and a commit work too."
            )
        own = [entry for entry in meant if entry.system == system]
        return (own or meant)[-1]

    def trend(
        self,
        measure: str | Measure | None = None,
        *,
        system: str | None = None,
        last: int | None = None,
        reference: str | None = None,
    ) -> Trend:
        """A measure over time, by default the first of the newest entry; drops are found by paired tests.

        Entries are compared with the one before and with ``reference``, an entry by number, label or commit; by default the best so far.
        """
        from ranklens.scores.history.trend import trend

        return trend(self, measure, system=system, last=last, reference=reference)

    def to_frame(self, rows: str = "queries") -> pl.DataFrame:
        """Everything as a tidy table: one row per entry, measure and query, or per entry and measure (``rows="entries"``)."""
        from ranklens.scores.history.export import frame

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
                # Text that is not UTF-8 was damaged, which the checksum tells of.
                connection.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA foreign_keys = ON")
                migrate(connection, str(self.path))
                yield connection
        except DamagedError as error:
            numbers = " ".join(map(str, error.numbers))
            what = f"entry {numbers} is" if len(error.numbers) == 1 else f"entries {numbers} are"
            raise InputError(
                f"{self.path}: {what} damaged or changed by hand. Restore a copy of the file, or keep the rest with: "
                f"ranklens history remove {numbers}"
            ) from None
        except UnicodeDecodeError:  # SQLite's message quotes a damaged schema
            raise _told(self.path, sqlite3.DatabaseError("malformed database schema")) from None
        except (sqlite3.Error, OSError) as error:
            raise _told(self.path, error) from None


def _told(path: Path, error: sqlite3.Error | OSError) -> Exception:
    """A full disk is the system's error; everything else is about the file that was named."""
    text = str(error)
    number = error.errno if isinstance(error, OSError) else _SYSTEM_NUMBERS.get(text)
    if number is not None and number in SYSTEM:
        return OSError(number, os.strerror(number), str(path))
    if isinstance(error, OSError):
        return InputError(f"{path} cannot be used as a history: {error.strerror}.")
    if "locked" in text:
        return InputError(
            f"{path} is locked by another program for more than {_PATIENCE:.0f} s; try again when that has ended."
        )
    if "readonly" in text or "unable to open" in text:
        return InputError(f"{path} cannot be written: {text}.")
    cure = f"Restore a copy, or write what can still be read to a new file: sqlite3 {path} .recover | sqlite3 recovered.db"
    return InputError(
        f"{path} is damaged: {text}. {cure}"
        if "malformed" in text
        else f"{path} is not a history, or is damaged: {text}. Choose another file."
    )


# What SQLite calls failures of the system.
_SYSTEM_NUMBERS = {"database or disk is full": errno.ENOSPC, "disk I/O error": errno.EIO}
