"""Answers on disk, so that an interrupted run resumes where it stopped and no call is made twice.

A store is a folder with one JSON Lines file per retriever. Lines are only ever added, each in one piece and under a lock,
so that neither a killed process nor a second one can spoil what is there. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ranklens.errors import InputError, warn
from ranklens.retrieval.answers import Answer, counted

try:
    import fcntl
except ImportError:  # on Windows; lines are still added in one piece
    fcntl = None  # type: ignore[assignment]

FORMAT = "ranklens-answers"
FORMAT_VERSION = (
    2  # 1: first version; 2: when each answer was asked for, what it depends on, and a checksum per line
)

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)

_README = """\
Answers of retrievers, stored by RankLens so that an interrupted run resumes without repeating calls.

One file per retriever. Its first line names the format and the retriever; each further line is one answer:
  key        SHA-256 over the retriever's name, code, version, parameters, k, and the query's id and text
  at         when it was asked for, in seconds since 1970
  query, status ("ok", "empty" or "failed"), ids (best first), scores, seconds, attempts, error, traceback, tokens, cost
  check      a checksum of all this; a line that was changed is not trusted, and its query is asked again
Lines are only added. If several have the same key, the last answered one counts. Failed queries are asked again.
The folder can be deleted at any time; the retrievers are then asked again.
"""


def answer_key(
    name: str,
    version: str,
    params: Mapping[str, Any],
    k: int,
    query: tuple[str, str],
    reading: Mapping[str, str] | None = None,
    code: str = "",
) -> str:
    """Everything an answer depends on, as one name; ``query`` is its id and its text, ``code`` a digest of the retriever.

    >>> len(answer_key("bm25", "1", {"b": 0.4}, 10, ("q1", "why?")))
    64
    """
    content = [name, version, params, k, *query, reading or {}, code]
    try:
        text = json.dumps(content, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"params={params!r:.80} cannot be kept in a store: {error}. Use text, numbers, lists and dicts."
        ) from None
    return hashlib.sha256(text.encode()).hexdigest()


class Store:
    """A folder of answers; :class:`ranklens.Benchmark` opens one when given ``store=FOLDER``."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._paths: dict[str, Path] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            readme = self.folder / "README.txt"
            if not readme.exists():
                readme.write_text(_README, encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"store={str(folder)!r}: the folder cannot be created: {error.strerror}."
            ) from None

    def path(self, retriever: str) -> Path:
        """The file of one retriever."""
        if retriever not in self._paths:
            readable = re.sub(r"[^\w.-]+", "-", retriever).strip("-.")[:60]
            digest = hashlib.sha256(retriever.encode("utf-8", "replace")).hexdigest()
            self._paths[retriever] = self.folder / f"{readable or 'retriever'}-{digest[:8]}.jsonl"
        return self._paths[retriever]

    def read(self, retriever: str) -> dict[str, Answer]:
        """All answers by key: the last of several, unless it failed and an earlier one did not."""
        path = self.path(retriever)
        try:
            *lines, last = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from None
        found: dict[str, Answer] = {}
        damaged = 0
        for number, line in enumerate(lines):
            entry = _entry(line)
            if number == 0 and entry and "format" in entry[1]:
                _check_format(path, entry[1])
            elif entry is None or entry[0] is None:
                damaged += 1
            elif entry[0].status != "failed" or entry[1]["key"] not in found:
                found[entry[1]["key"]] = entry[0]
        if last and (entry := _entry(last)) and entry[0]:  # complete except for its line break
            found.setdefault(entry[1]["key"], entry[0])
        if damaged:
            skipped = counted(damaged, "damaged line is skipped", "damaged lines are skipped")
            warn(f"{path}: {skipped}; the queries are asked again.")
        return found

    def write(self, retriever: str, key: str, answer: Answer) -> None:
        """Add an answer."""
        record = {"key": key, **answer.to_record()}
        record["check"] = _checksum(record)
        with _locked(self.path(retriever)) as handle:
            end = _mend(handle)
            lines = json.dumps(record) + "\n"
            if end == 0:
                header = {"format": FORMAT, "format_version": FORMAT_VERSION, "retriever": retriever}
                lines = json.dumps(header) + "\n" + lines
            _append(handle, end, lines.encode())


def _entry(line: bytes) -> tuple[Answer | None, dict[str, Any]] | None:
    """The answer in a line, if it is one and was not changed, and the line's JSON object; None if it is not one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    is_sound = isinstance(record.get("key"), str) and record.pop("check", None) == _checksum(record)
    try:
        return (Answer.from_record(record) if is_sound else None), record
    except InputError:
        return None, record


def _checksum(record: Mapping[str, Any]) -> str:
    """It detects damage and edits by hand; it is no protection against an attacker, who can compute it again."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def _check_format(path: Path, header: Mapping[str, Any]) -> None:
    if header.get("format") != FORMAT or header.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{path} has the format {header.get('format')} {header.get('format_version')}, but this version of RankLens reads "
            f"{FORMAT} {FORMAT_VERSION}. Choose another store, or delete this one; the retriever is then asked again."
        )


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    try:
        handle = os.open(path, _FLAGS, 0o666)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)  # also releases the lock


def _mend(handle: int) -> int:
    """Remove a truncated last line, as a killed process leaves it; returns where the file then ends."""
    end = os.lseek(handle, 0, os.SEEK_END)
    if end == 0 or _bytes_at(handle, end - 1, 1) == b"\n":
        return end
    start, piece = end, b""
    while start > 0 and b"\n" not in piece:
        size = min(1 << 16, start)
        start -= size
        piece = _bytes_at(handle, start, size) + piece
    last = piece.rpartition(b"\n")[2]
    entry = _entry(last)
    if entry is not None:  # only the line end is missing
        return end + os.write(handle, b"\n")
    os.ftruncate(handle, end - len(last))
    return end - len(last)


def _bytes_at(handle: int, start: int, size: int) -> bytes:
    os.lseek(handle, start, os.SEEK_SET)
    return os.read(handle, size)


def _append(handle: int, end: int, content: bytes) -> None:
    try:
        written = 0
        while written < len(content):
            written += os.write(handle, content[written:])
    except OSError as error:
        os.ftruncate(handle, end)  # the disk may be full: leave no half line
        raise InputError(f"The store cannot be written: {error.strerror}.") from None
