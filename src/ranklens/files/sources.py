"""Where bytes come from: plain and compressed files, pipes and standard input.

Compressed files are unpacked while they are read. What can be read only once (standard input, a pipe) is copied to a
temporary file first, so that every source can be walked again.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from ranklens.errors import InputError
from ranklens.files.watching import report

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE = 1 << 24  # bytes read at a time
_HEAD = 1 << 16  # bytes that tell the format
BOM = b"\xef\xbb\xbf"
_DAMAGED = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)
_MAGIC: dict[bytes, str] = {
    b"\x1f\x8b": "gz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bz2",
}
_SUFFIXES = (".gz", ".zst", ".xz", ".bz2")


def without_bom(content: bytes) -> bytes:
    """What follows the byte-order marks; some tools put one before the one that is there.

    >>> without_bom(BOM + BOM + b"q1")
    b'q1'
    """
    while content.startswith(BOM):
        content = content[len(BOM) :]
    return content


@dataclass(frozen=True)
class Source:
    """A file to read: its name for messages, where it is, and how it is packed."""

    name: str
    path: Path
    packing: str | None = None

    @property
    def suffix(self) -> str:
        """The suffix that tells the format, without one that tells the compression."""
        name = Path(self.name)
        return (Path(name.stem) if name.suffix.lower() in _SUFFIXES else name).suffix.lower()

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size

    def pieces(self, size: int = PIECE) -> Iterator[bytes]:
        """The bytes, unpacked, at most ``size`` at a time."""
        try:
            with self.path.open("rb") as raw, self._unpack(raw) as file:
                while piece := file.read(size):
                    yield piece
                    if self.packing:
                        report(self.name, raw.tell(), self.size)
        except UnicodeError:
            raise InputError(f"{self.name}: a byte is not valid UTF-8; save the file as UTF-8.") from None
        except _DAMAGED as error:
            what = f"the {self.packing} archive is damaged or cut short" if self.packing else "cannot be read"
            raise InputError(f"{self.name}: {what}: {error}.") from None

    def head(self, size: int = _HEAD) -> bytes:
        """The first bytes."""
        return self._head[:size] if size <= _HEAD else self._first(size)

    @cached_property
    def _head(self) -> bytes:
        """Kept, because whoever recognises a file looks at it several times."""
        return self._first(_HEAD)

    def _first(self, size: int) -> bytes:
        content = b""
        for piece in self.pieces(size):
            content += piece
            if len(content) >= size:
                break
        return content[:size]

    def tail(self, size: int = 1 << 16) -> bytes:
        """The last bytes."""
        if self.packing is None:
            with self.path.open("rb") as file:
                file.seek(max(self.size - size, 0))
                return file.read()
        return b"".join(deque(self.pieces(size), maxlen=2))[-size:]

    def read(self) -> bytes:
        """All bytes."""
        return b"".join(self.pieces())

    def _unpack(self, raw: BinaryIO) -> BinaryIO:
        return cast("BinaryIO", _UNPACK[self.packing](raw))


PathLike: TypeAlias = "str | Path | Source"


def open_source(path: PathLike) -> Source:
    """A file, a pipe, or standard input as ``-``."""
    if isinstance(path, Source):
        return path
    if str(path) == "-":
        return _copied("standard input", cast("BinaryIO", sys.stdin.buffer))
    try:
        return _open(Path(path))
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}.") from None
    except ValueError as error:  # a NUL byte in the name
        raise InputError(f"{str(path)!r} is not the name of a file: {error}.") from None


def _open(path: Path) -> Source:
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind):
        raise InputError(f"{path} is a folder; give a file, a BEIR folder, or a folder of Parquet files.")
    if stat.S_ISREG(kind):
        return _recognised(str(path), path)
    with path.open("rb") as pipe:  # <(zcat run.gz), for example
        return _copied(str(path), pipe)


def _copied(name: str, stream: BinaryIO) -> Source:
    """What can be read only once, in a temporary file that is removed with the source."""
    handle, place = tempfile.mkstemp(prefix="ranklens-")
    try:
        with os.fdopen(handle, "wb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
        source = _recognised(name, Path(place))
    except BaseException:
        Path(place).unlink()
        raise
    weakref.finalize(source, os.unlink, place)
    return source


def _recognised(name: str, file: Path) -> Source:
    with file.open("rb") as opened:
        start = opened.read(6)
    if not start:
        raise InputError(f"{name}: there is nothing in it.")
    source = Source(
        name, file, next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    )
    if source.packing and not source.head(1):
        raise InputError(f"{name}: there is nothing in it.")
    return source


def _open_zst(raw: BinaryIO) -> Any:
    """Zstd is in no standard library before Python 3.14, but every Polars brings it, and reads lines with it."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return _ZstLines(Path(raw.name))
    return zstd.open(raw)


class _ZstLines(io.RawIOBase):
    """The unpacked bytes of a zstd archive of text, put together from the lines that Polars reads."""

    def __init__(self, path: Path) -> None:
        self._batches = _zst_batches(path)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            batch = next(self._batches, None)
            if batch is None:
                return b""
            self._rest = "".join(f"{line}\n" for line in batch).encode()
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece


def _zst_batches(path: Path) -> Iterator[list[str]]:
    import polars as pl

    try:
        for batch in pl.scan_lines(path, glob=False).collect_batches(chunk_size=1 << 17, maintain_order=True):
            yield batch.to_series().to_list()
    except pl.exceptions.PolarsError as error:
        message = str(error).splitlines()[0]
        raise (UnicodeError if "utf8" in message else ValueError)(message) from None


_UNPACK: dict[str | None, Callable[[Any], Any]] = {
    None: lambda raw: raw,
    "gz": gzip.open,
    "xz": lzma.open,
    "bz2": bz2.open,
    "zst": _open_zst,
}
