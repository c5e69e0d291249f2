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
from functools import cached_property, partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from ranklens.data.files import limits, temporary
from ranklens.data.files.encodings import wide_encoding, write_as_utf8
from ranklens.data.files.suffixes import WORKBOOKS, suffix_of
from ranklens.data.files.watching import report
from ranklens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE = 1 << 24  # bytes read at a time
_HEAD = 1 << 16  # bytes that show the format
BOM = b"\xef\xbb\xbf"
_DAMAGED = (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)
ZST = b"\x28\xb5\x2f\xfd"
MAGIC: dict[bytes, str] = {
    b"\x1f\x8b": "gz",
    ZST: "zst",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bz2",
}

_TABLE = "write Parquet, CSV or JSONL from it"
_UNPACK_IT = "unpack it, and pass a file that was in it"
# How formats begin, what they are called, and what to do.
_BEGINNINGS: dict[bytes, tuple[str, str]] = {
    b"PK\x03\x04": ("a ZIP archive", _UNPACK_IT),
    b"PK\x05\x06": ("an empty ZIP archive", _UNPACK_IT),
    b"7z\xbc\xaf\x27\x1c": ("a 7-Zip archive", _UNPACK_IT),
    b"Rar!\x1a\x07": ("a RAR archive", _UNPACK_IT),
    b"\x04\x22\x4d\x18": ("an LZ4 archive", _UNPACK_IT),
    b"\xd0\xcf\x11\xe0": ("a file of an old version of Office", "save the sheet as CSV"),
    b"%PDF-": ("a PDF document", "pass the data that it was made from"),
    b"ARROW1": ("a Feather (Arrow IPC) file", f"{_TABLE}, or pass the table that polars.read_ipc reads"),
    b"FEA1": ("a Feather file of version 1", _TABLE),
    b"\xff\xff\xff\xff": (
        "an Arrow stream",
        f"{_TABLE}, or pass the table that polars.read_ipc_stream reads",
    ),
    b"Obj\x01": ("an Avro file", f"{_TABLE}, or pass the table that polars.read_avro reads"),
    b"SQLite format 3\0": ("an SQLite database", _TABLE),
    b"\x89HDF\r\n": ("an HDF5 file", _TABLE),
    b"\x93NUMPY": ("a NumPy array", "pass the array in Python"),
    **{
        bytes((0x80, version)): ("a pickle, which RankLens never loads", "write JSON or Parquet from it")
        for version in range(2, 6)
    },
}
_IN_ZIP = {
    b"xl/": ("an Excel workbook", "save the sheet as CSV"),
    b"mimetypeapplication/vnd.oasis": ("a spreadsheet of OpenDocument", "save the sheet as CSV"),
    b".npy": ("an archive of NumPy arrays", "pass the arrays in Python"),
}
_TAR = 257  # where a tar archive says that it is one

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
            with self.path.open("rb") as raw, _UNPACK[self.packing](raw) as file:
                while piece := file.read(size):
                    left -= len(piece)
                    if left < 0:
                        raise implausible(self.name)
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
        """Cached, because recognising a file needs it several times."""
        start = self._first(_HEAD)
        refuse_binary(self.name, start)
        return start

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
        """All bytes, up to a limit, so that a small archive cannot exhaust memory."""
        self.check_start()
        pieces: list[bytes] = []
        size = 0
        for piece in self.pieces():
            pieces.append(piece)
            size += len(piece)
            if self.packing and size > limits.UNPACKED:
                raise InputError(
                    f"{self.name}: the archive contains more than {limits.UNPACKED >> 20:,} MB; unpack it first."
                )
        return b"".join(pieces)


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
    if hasattr(signal, "siginterrupt"):  # not on Windows
        # Ctrl-C ends the wait for a pipe, as usual in Python: Polars, once loaded, has the system continue reading instead.
        signal.siginterrupt(signal.SIGINT, True)
    try:
        for piece in _whole_lines(name, stream):
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


def _whole_lines(name: str, stream: BinaryIO) -> Iterator[bytes]:
    """What the stream gives, as long as it leaves room in the folder of temporary files and, if it is text, has ends of lines."""
    folder, size = tempfile.gettempdir(), 0
    most = min(limits.PIPED, shutil.disk_usage(folder).free // 2)
    waiting, is_text = 0, None  # bytes since the last end of line
    while piece := stream.read(1 << 20):
        if is_text is None:
            is_text = not piece.lstrip(BOM + b" \t\r\n").startswith((*MAGIC, b"PAR1", b"{", b"["))
        waiting = len(piece) - piece.rfind(b"\n") - 1 if b"\n" in piece else waiting + len(piece)
        if is_text and waiting > limits.LONGEST_LINE:
            raise endless_line(name)
        size += len(piece)
        if size > most:
            raise InputError(
                f"{name} contains more than {most >> 20:,} MB, the most that is copied to {folder} ({limits.PIPED >> 30} GB, or half of what "
                "is free). Write it to a file and pass that, or set TMPDIR to a folder with more room.",
                path=name,
            )
        yield piece


def refuse_binary(name: str, head: bytes) -> None:
    """Say what a file is that no reader takes; its bytes might pass for text."""
    meaning = next((known for start, known in _BEGINNINGS.items() if head.startswith(start)), None)
    if head.startswith(b"PK\x03\x04"):
        meaning = next((known for sign, known in _IN_ZIP.items() if sign in head), meaning)
    if head[_TAR : _TAR + 5] == b"ustar":
        meaning = ("a tar archive", _UNPACK_IT)
    if head.startswith(b"ORC") and not head[3:4].decode("latin-1").isprintable():
        meaning = ("an ORC file", _TABLE)
    if meaning is not None:
        what, todo = meaning
        raise InputError(f"{name} is {what}: {todo}.", path=name)


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
        start = opened.read(64)
    if not start:
        raise InputError(f"{name}: the file is empty.", path=name)
    if encoding := wide_encoding(start):
        return _changed(name, partial(write_as_utf8, name, file, encoding))
    if suffix_of(PurePath(name)) in WORKBOOKS and not start.startswith(b"PAR1"):
        from ranklens.data.files.workbooks import write_as_parquet

        return _changed(name, partial(write_as_parquet, name, file))
    packing = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    source = Source(name, file, packing)
    if source.packing and not source.head(1):
        raise InputError(f"{name}: the file is empty.", path=name)
    return source


def _changed(name: str, write: Callable[[BinaryIO], None]) -> Source:
    """A copy in a form that readers take, which is removed with the source."""
    place, copy = temporary.private_file()
    try:
        write(copy)
        source = _recognised(name, place)
    except BaseException:
        temporary.close_private(place, copy)
        raise
    weakref.finalize(source, temporary.close_private, place, copy)
    return source


def for_polars(path: Path) -> Path | bytes:
    """A path as Polars takes it; the content of a file whose name is not UTF-8, which it cannot open."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return path.read_bytes()
    return path


def plausible(path: Path) -> int:
    """Bytes that an archive of this size may hold if it is text."""
    return max(limits.MODEST, limits.RATIO * path.stat().st_size)


def implausible(name: str) -> InputError:
    """What holds far more than its size is refused, before it fills the memory."""
    return InputError(
        f"{name}: it contains more than {limits.RATIO} times its size, which text does not; unpack it first."
    )


def _open_zst(raw: BinaryIO) -> Any:
    """Zstd is in no standard library before Python 3.14, but every Polars brings it, and reads lines with it."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from ranklens.data.files.zst import ZstLines

        return ZstLines(Path(raw.name))
    return zstd.open(raw)


_UNPACK: dict[str | None, Callable[[Any], Any]] = {
    None: lambda raw: raw,
    "gz": gzip.open,
    "xz": lzma.open,
    "bz2": bz2.open,
    "zst": _open_zst,
}
