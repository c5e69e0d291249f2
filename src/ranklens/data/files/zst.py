"""Zstd archives where Python itself cannot unpack them: their bytes from the lines that Polars reads."""

from __future__ import annotations

import io
import mmap
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from ranklens.data.files.forking import polars_is_used
from ranklens.data.files.sources import ZST, for_polars, implausible, plausible
from ranklens.errors import polars_failures


class ZstLines(io.RawIOBase):
    """The unpacked bytes of a zstd archive of text, put together from the lines that Polars reads."""

    def __init__(self, path: Path) -> None:
        # Polars unpacks a line as a whole, so the size of an archive that is packed far more than text has to be known before.
        if most_unpacked(path) > plausible(path):
            raise implausible(str(path))
        self._batches = _batches(path)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while not self._rest:
            batch = next(self._batches, None)
            if batch is None:
                return b""
            self._rest = "".join(f"{line}\n" for line in batch).encode()
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece


def _batches(path: Path) -> Iterator[list[str]]:
    polars_is_used()
    lines = pl.scan_lines(for_polars(path), glob=False)
    try:
        for batch in lines.collect_batches(chunk_size=1 << 17, maintain_order=True):
            yield batch.to_series().to_list()
    except polars_failures() as error:
        message = str(error).splitlines()[0]
        raise (UnicodeError if "utf8" in message else ValueError)(message) from None


def most_unpacked(path: Path) -> int:
    """The most bytes that a zstd archive can hold, according to the headers of its blocks, each of 128 KB at most."""
    total = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as packed:
        place = 0
        while place + 9 <= len(packed):
            kind = packed[place : place + 4]
            if kind[1:] == b"\x2a\x4d\x18" and 0x50 <= kind[0] <= 0x5F:  # a frame to skip
                place += 8 + int.from_bytes(packed[place + 4 : place + 8], "little")
                continue
            if kind != ZST:
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
