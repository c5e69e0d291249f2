"""A text file in blocks of whole lines, each of which can be read on its own, in any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from ranklens.data.files import limits
from ranklens.data.files.sources import Source, endless_line, without_bom
from ranklens.data.files.watching import report

SIZE = 1 << 23  # bytes of a block


@dataclass(frozen=True)
class Block:
    """Whole lines: where they begin in the unpacked file, and how to get them."""

    start: int
    load: Callable[[], bytes]


def blocks(source: Source) -> Iterator[Block]:
    """The file in blocks of about `SIZE` bytes; a byte-order mark at its beginning is left out."""
    source.check_start()
    return _unpacked(source, SIZE) if source.packing else _plain(source, SIZE)


def _plain(source: Source, size: int) -> Iterator[Block]:
    """Only the ends of blocks are looked at here, so that the thread that works on a block can also read it."""
    end = source.size
    with source.path.open("rb", buffering=0) as file:
        head = source.head()
        start = len(head) - len(without_bom(head))
        while start < end:
            stop = start + size
            if stop < end:
                file.seek(stop)
                stop = min(_behind_line(source, file.read, stop), end)
            yield Block(start, partial(_read, source.path, start, min(stop, end)))
            start = stop
            report(source.name, min(start, end), end)


def _behind_line(source: Source, read: Callable[[int], bytes | None], stop: int) -> int:
    """The place behind the next end of line."""
    first = stop
    while piece := read(1 << 16):
        place = piece.find(b"\n")
        if place >= 0:
            return stop + place + 1
        stop += len(piece)
        if stop - first > limits.LONGEST_LINE:
            _refuse_endless_line(source, first)
    return stop


def _read(path: Path, start: int, stop: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        return file.read(stop - start)


def _unpacked(source: Source, size: int) -> Iterator[Block]:
    start, rest = 0, b""
    for number, piece in enumerate(source.pieces(size)):
        content = rest + (without_bom(piece) if number == 0 else piece)
        cut = content.rfind(b"\n") + 1
        if not cut and len(content) > limits.LONGEST_LINE:
            _refuse_endless_line(source, start)
        if cut:
            yield Block(start, partial(bytes, content[:cut]))
            start += cut
        rest = content[cut:]
    if rest:
        yield Block(start, partial(bytes, rest))


def _refuse_endless_line(source: Source, start: int) -> NoReturn:
    line = lines_before(source, start) + 1
    raise endless_line(f"{source.name}:{line}")


def lines_before(source: Source, place: int) -> int:
    """How many lines end before a place in the unpacked file; for messages."""
    count, behind = 0, 0
    for piece in source.pieces():
        piece = without_bom(piece) if behind == 0 and source.packing else piece  # noqa: PLW2901
        if behind >= place:
            break
        count += piece.count(b"\n", 0, place - behind)
        behind += len(piece)
    return count
