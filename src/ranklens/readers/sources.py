"""Where bytes come from: plain and compressed files, and standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from ranklens.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

PathLike: TypeAlias = "str | Path"

_MAGIC: dict[bytes, str] = {
    b"\x1f\x8b": "gz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bz2",
}
_OPEN: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "xz": lzma.decompress,
    "bz2": bz2.decompress,
}
_SUFFIXES = (".gz", ".zst", ".xz", ".bz2")


@dataclass(frozen=True)
class Source:
    """A file to read: its name for messages, and either its path or, where it had to be unpacked, its content."""

    name: str
    path: Path | None
    content: bytes | None = None

    @property
    def suffix(self) -> str:
        """The suffix that tells the format, without one that tells the compression."""
        name = Path(self.name)
        return (Path(name.stem) if name.suffix in _SUFFIXES else name).suffix.lower()

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes."""
        if self.content is not None:
            return self.content[:size]
        assert self.path is not None
        with self.path.open("rb") as file:
            return file.read(size)

    def tail(self, size: int = 1 << 16) -> bytes:
        """The last bytes."""
        with self.open() as file:
            file.seek(0, io.SEEK_END)
            file.seek(max(file.tell() - size, 0))
            return file.read()

    def read(self) -> bytes:
        """All bytes."""
        if self.content is not None:
            return self.content
        assert self.path is not None
        return self.path.read_bytes()

    def open(self) -> BinaryIO:
        """A file object to read from."""
        if self.content is not None:
            return io.BytesIO(self.content)
        assert self.path is not None
        return self.path.open("rb")

    def for_polars(self) -> Path | io.BytesIO:
        """What Polars can read from."""
        return (
            self.path if self.content is None and self.path is not None else io.BytesIO(self.content or b"")
        )


def open_source(path: PathLike) -> Source:
    """A file, unpacked if it is compressed; ``-`` is standard input."""
    if str(path) == "-":
        return _unpacked("standard input", sys.stdin.buffer.read())
    file = Path(path)
    if not file.exists():
        raise InputError(f"{path}: there is no such file.")
    if file.is_dir():
        raise InputError(f"{path} is a folder; give a file, a BEIR folder, or a folder of Parquet files.")
    try:
        with file.open("rb") as opened:
            start = opened.read(6)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}.") from None
    if not start:
        raise InputError(f"{path}: the file is empty.")
    if any(start.startswith(magic) for magic in _MAGIC):
        return _unpacked(str(path), file.read_bytes())
    return Source(str(path), file)


def _unpacked(name: str, content: bytes) -> Source:
    kind = next((kind for magic, kind in _MAGIC.items() if content.startswith(magic)), None)
    try:
        if kind == "zst":
            content = _unpack_zst(content)
        elif kind:
            content = _OPEN[kind](content)
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise InputError(f"{name}: the {kind} archive is damaged or cut short: {error}") from None
    if not content:
        raise InputError(f"{name}: there is nothing in it.")
    return Source(name, None, content)


def _unpack_zst(content: bytes) -> bytes:
    """Polars brings its own zstd, so no other package is needed: read lines, and put them together again."""
    import polars as pl

    try:
        lines = pl.read_csv(
            io.BytesIO(content),
            has_header=False,
            separator="\x1f",
            quote_char=None,
            schema={"column_1": pl.String},
        )
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error).splitlines()[0]) from None
    return "\n".join(line or "" for line in lines["column_1"]).encode()
