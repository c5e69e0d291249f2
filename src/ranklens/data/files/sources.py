"""Where bytes come from: plain and compressed files, pipes and standard input.

Compressed files are unpacked while they are read. What can be read only once (standard input, a pipe) is copied to a
temporary file first, so that every source can be walked again.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import mmap
import os
import re
import shutil
import signal
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

from ranklens.data.files import limits, temporary
from ranklens.data.files.binary import refuse_binary
from ranklens.data.files.forking import polars_is_used
from ranklens.data.files.suffixes import suffix_of
from ranklens.data.files.watching import report
from ranklens.errors import InputError, polars_failures

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE = 1 << 24  # bytes read at a time
_HEAD = 1 << 16  # bytes that show the format
BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_DAMAGED = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)
_ZST = b"\x28\xb5\x2f\xfd"
_MAGIC: dict[bytes, str] = {
    b"\x1f\x8b": "gz",
    _ZST: "zst",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bz2",
}


# How gzip, zlib and Zstandard begin; "x" with a control character or "^" may also begin an id.
_UNPACKED_BY_POLARS = (b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"\x28\xb5\x2f\xfd")


def would_be_unpacked(content: bytes) -> bool:
    r"""Whether Polars would take content that is unpacked already for something packed.

    >>> would_be_unpacked(b"x\x01 Q0 d1"), would_be_unpacked(b"q1 Q0 d1")
    (True, False)
    """
    return content.startswith(_UNPACKED_BY_POLARS)


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

    def __str__(self) -> str:
        return self.name

    @property
    def suffix(self) -> str:
        """The suffix of the format, without that of the compression."""
        return suffix_of(Path(self.name))

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size

    def pieces(self, size: int = PIECE) -> Iterator[bytes]:
        """The bytes, unpacked, at most ``size`` at a time; an archive that is packed far more than text is refused."""
        left = plausible(self.path) if self.packing else math.inf
        try:
            with self.path.open("rb") as raw, self._unpack(raw) as file:
                while piece := file.read(size):
                    left -= len(piece)
                    if left < 0:
                        raise _implausible(self.name)
                    yield piece
                    if self.packing:
                        report(self.name, raw.tell(), self.size)
        except InputError:
            raise
        except UnicodeError:
            raise InputError(f"{self.name}: a byte is not valid UTF-8; save the file as UTF-8.") from None
        except _DAMAGED as error:
            what = f"the {self.packing} archive is damaged or truncated" if self.packing else "cannot be read"
            raise InputError(f"{self.name}: {what}: {error}.") from None

    def head(self, size: int = _HEAD) -> bytes:
        """The first bytes."""
        return self._head[:size] if size <= _HEAD else self._first(size)

    @cached_property
    def _head(self) -> bytes:
        """Kept, because recognising a file looks at it several times."""
        found = self._first(_HEAD)
        refuse_binary(self.name, found)
        return found

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

    def check_start(self) -> None:
        """Refuse what begins with nothing but white space for so long that the search for data would never end."""
        if not self.head().strip() and len(self.head()) == _HEAD:
            head = self.head(limits.SEARCHED)
            if len(head) == limits.SEARCHED and not head.strip():
                raise no_data(self)

    def check_json(self) -> None:
        """Refuse what is no JSON before all of it is read."""
        if without_bom(self.head()).lstrip()[:1] not in (b"{", b"[", b""):
            raise InputError(f"{self.name}: this is not JSON: expected an object or a list.")

    def read(self) -> bytes:
        """All bytes; a small archive may not fill the memory."""
        self.check_start()
        found: list[bytes] = []
        size = 0
        for piece in self.pieces():
            found.append(piece)
            size += len(piece)
            if self.packing and size > limits.UNPACKED:
                raise InputError(
                    f"{self.name}: the archive contains more than {limits.UNPACKED >> 20:,} MB; unpack it first."
                )
        return b"".join(found)

    def _unpack(self, raw: BinaryIO) -> BinaryIO:
        return cast("BinaryIO", _UNPACK[self.packing](raw))


PathLike: TypeAlias = "str | os.PathLike[str] | Source"


def open_source(path: PathLike) -> Source:
    """A file, a pipe, or standard input as ``-``."""
    if isinstance(path, Source):
        return path
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed.")
        return _copied("standard input", cast("BinaryIO", sys.stdin.buffer))
    try:
        return _open(Path(path))
    except InputError:
        raise
    except FileNotFoundError:
        lost = re.match(r"[a-z0-9]{2,}:/(?!/)", str(path))
        hint = f" A Path drops a slash of an address; pass {lost[0]}/… as text." if lost else ""
        raise InputError(f"{path} does not exist.{hint}", path=str(path)) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}.", path=str(path)) from None
    except ValueError as error:  # a NUL byte in the name
        raise InputError(f"{str(path)!r} is not the name of a file: {error}.") from None


def _open(path: Path) -> Source:
    kind = path.stat().st_mode
    if stat.S_ISDIR(kind):
        raise InputError(f"{path} is a folder; pass a file, a BEIR folder, or a folder of tables.")
    if stat.S_ISREG(kind):
        return _recognised(str(path), path)
    with path.open("rb") as pipe:  # <(zcat run.gz), for example
        return _copied(str(path), pipe)


def copy_of(file: Any) -> Source:
    """What is left to read of an open file, of bytes or text, or of a BytesIO."""
    if isinstance(file, io.TextIOBase):
        file = getattr(file, "buffer", None) or io.BytesIO(file.read().encode())
    name = getattr(file, "name", None)
    return _copied(name if isinstance(name, str) else f"the {type(file).__name__}", file)


def _copied(name: str, stream: BinaryIO) -> Source:
    """What can be read only once, in a temporary file that is removed with the source."""
    place, copy = temporary.private_file()
    _let_ctrl_c_through()
    try:
        for piece in _bounded(name, _whole_lines(name, stream)):
            copy.write(piece)
        copy.flush()
        source = _recognised(name, place)
    except OSError as error:
        temporary.close_private(place, copy)
        what = f"no room for a copy of {name}: {error.strerror}"
        raise OSError(error.errno, what, tempfile.gettempdir()) from None
    except BaseException:
        temporary.close_private(place, copy)
        raise
    weakref.finalize(source, temporary.close_private, place, copy)
    return source


def _bounded(name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces, as long as they leave room for others in the folder of temporary files."""
    folder, size = tempfile.gettempdir(), 0
    most = min(limits.PIPED, shutil.disk_usage(folder).free // 2)
    for piece in pieces:
        size += len(piece)
        if size > most:
            raise InputError(
                f"{name} contains more than {most >> 20:,} MB, the most that is copied to {folder} ({limits.PIPED >> 30} GB, or half of what "
                "is free). Write it to a file and pass that, or set TMPDIR to a folder with more room.",
                path=name,
            )
        yield piece


def _let_ctrl_c_through() -> None:
    """Who waits for a pipe can stop that, as usual in Python: Polars, once loaded, has the system continue reading instead."""
    if hasattr(signal, "siginterrupt"):  # not on Windows
        signal.siginterrupt(signal.SIGINT, True)


def _whole_lines(name: str, stream: BinaryIO) -> Iterator[bytes]:
    """What the stream gives; text without an end of line would fill the folder of temporary files."""
    waiting, is_text = 0, None  # bytes since the last end of line
    while piece := stream.read(1 << 20):
        if is_text is None:
            is_text = not piece.lstrip(BOM + b" \t\r\n").startswith((*_MAGIC, b"PAR1", b"{", b"["))
        waiting = len(piece) - piece.rfind(b"\n") - 1 if b"\n" in piece else waiting + len(piece)
        if is_text and waiting > limits.LONGEST_LINE:
            raise endless_line(name)
        yield piece


def no_data(source: Source) -> InputError:
    """The search for a first line of data has an end."""
    most = limits.SEARCHED >> 20
    return InputError(f"{source.name}: there is no line of data within the first {most} MB.")


def endless_line(name: str) -> InputError:
    """What has no ends of lines is no text."""
    most = limits.LONGEST_LINE >> 20
    return InputError(f"{name}: more than {most} MB without a line break; this is not a text file.")


def _recognised(name: str, file: Path) -> Source:
    with file.open("rb") as opened:
        start = opened.read(6)
    if not start:
        raise InputError(f"{name}: the file is empty.", path=name)
    if start.startswith(_UTF_16):
        raise InputError(f"{name}: this is UTF-16; save the file as UTF-8.", path=name)
    source = Source(
        name, file, next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    )
    if source.packing and not source.head(1):
        raise InputError(f"{name}: the file is empty.", path=name)
    return source


def for_polars(path: Path) -> Path | bytes:
    """A path as Polars takes it; the content of a file whose name is not UTF-8, which it cannot open."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return path.read_bytes()
    return path


def _open_zst(raw: BinaryIO) -> Any:
    """Zstd is in no standard library before Python 3.14, but every Polars brings it, and reads lines with it."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        path = Path(raw.name)
        _refuse_bomb(path)
        return _ZstLines(path)
    return zstd.open(raw)


def _refuse_bomb(path: Path) -> None:
    """Polars unpacks a line as a whole, so the size of an archive that is packed far more than text has to be known before."""
    if most_unpacked(path) > plausible(path):
        raise _implausible(str(path))


def plausible(path: Path) -> int:
    """Bytes that an archive of this size may hold if it is text."""
    return max(limits.MODEST, limits.RATIO * path.stat().st_size)


def _implausible(name: str) -> InputError:
    return InputError(
        f"{name}: it contains more than {limits.RATIO} times its size, which text does not; unpack it first."
    )


def most_unpacked(path: Path) -> int:
    """The most bytes that a zstd archive can hold, told by the headers of its blocks, each of 128 KB at most."""
    total = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as packed:
        place = 0
        while place + 9 <= len(packed):
            kind = packed[place : place + 4]
            if kind[1:] == b"\x2a\x4d\x18" and 0x50 <= kind[0] <= 0x5F:  # a frame to skip
                place += 8 + int.from_bytes(packed[place + 4 : place + 8], "little")
                continue
            if kind != _ZST:
                break
            place, held = _frame(packed, place)
            total += held
    return total


def _frame(packed: mmap.mmap, place: int) -> tuple[int, int]:
    """Where a zstd frame ends, and the most it can hold (RFC 8878, 3.1.1)."""
    flags = packed[place + 4]
    single = flags >> 5 & 1
    size_of_size = (single, 2, 4, 8)[flags >> 6]
    place += 5 + (1 - single) + (0, 1, 2, 4)[flags & 3] + size_of_size
    held, last = 0, 0
    while not last and place + 3 <= len(packed):
        header = int.from_bytes(packed[place : place + 3], "little")
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        held += size if kind < 2 else 1 << 17
        place += 3 + (1 if kind == 1 else size)
    return place + 4 * (flags >> 2 & 1), held


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

    polars_is_used()

    try:
        for batch in pl.scan_lines(for_polars(path), glob=False).collect_batches(
            chunk_size=1 << 17, maintain_order=True
        ):
            yield batch.to_series().to_list()
    except polars_failures() as error:
        message = str(error).splitlines()[0]
        raise (UnicodeError if "utf8" in message else ValueError)(message) from None


_UNPACK: dict[str | None, Callable[[Any], Any]] = {
    None: lambda raw: raw,
    "gz": gzip.open,
    "xz": lzma.open,
    "bz2": bz2.open,
    "zst": _open_zst,
}
