"""Tables given in Python → streams: long frames a slice at a time, and what comes in pieces or is not read yet.

LazyFrames and Arrow datasets are walked as often as needed, without ever being held as a whole; iterators of frames and
Arrow readers once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from ranklens import words
from ranklens.data.files.forking import polars_is_used
from ranklens.data.files.streams import ReadTable, TableStream
from ranklens.data.files.systems import OneSystem
from ranklens.data.readers import frames, judgment_tables
from ranklens.data.readers.frames import is_table
from ranklens.errors import InputError, polars_failures

if TYPE_CHECKING:
    import polars as pl

Convert: TypeAlias = "Callable[[Any], pl.DataFrame]"
Pieces: TypeAlias = Callable[[], Iterable[Any]]

_ROWS = 1 << 18  # at a time


def rows_of(run: Any, *, ranks: bool = False) -> pl.DataFrame | TableStream:
    """A table of any library as rows ``query, doc, score``: a stream of slices if it is long."""
    convert = OneSystem(partial(frames.run_frame, ranks=ranks))
    if hasattr(run, "num_rows") and run.num_rows > _ROWS:  # Arrow, which is converted a slice at a time
        starts = range(0, run.num_rows, _ROWS)
        return _stream("run", lambda: (run.slice(start, _ROWS) for start in starts), convert)
    frame = frames.to_polars(run)
    if len(frame) <= _ROWS:
        return convert(frame)
    frame = frame.select(frames.useful(frame.columns, ranks=True))
    return _stream("run", lambda: frame.iter_slices(_ROWS), convert)


def stream_pieces(value: object, columns: Mapping[str, Any] | None = None) -> TableStream | None:
    """A run that comes in pieces as a stream; None if it does not."""
    pieces, once = _pieces(value, columns)
    if pieces is None:
        return None
    convert = OneSystem(partial(frames.run_frame, columns=columns), columns=columns)
    return _stream("run", pieces, convert, once=once)


def stream_scan(name: str, scan: pl.LazyFrame, convert: Convert) -> TableStream:
    """What ``convert`` makes of the batches of a scan, which may fail on the way."""
    return _stream(name, partial(_batches, name, scan, None), convert)


def read_pieces(value: object, columns: Mapping[str, object] | None = None) -> Any:
    """Judgments that come in pieces as one, with all that their columns know; None if they do not."""
    import polars as pl

    pieces, _ = _pieces(value, columns)
    if pieces is None:
        return None

    def read(piece: object) -> pl.DataFrame:
        return judgment_tables.rows_of(frames.to_polars(piece), columns, complete=True)

    return judgment_tables.of_rows(pl.concat(_stream("qrels", pieces, read), how="diagonal_relaxed"))


def is_in_pieces(value: object) -> bool:
    """Whether this gives tables one after the other, rather than being one."""
    return _pieces(value)[0] is not None


def _pieces(value: Any, columns: Mapping[str, object] | None = None) -> tuple[Pieces | None, bool]:
    """How to walk the pieces, if there are any, and whether that is possible only once."""
    if hasattr(value, "collect_batches"):  # a LazyFrame
        return partial(_batches, "The LazyFrame", value, columns), False
    if hasattr(value, "read_next_batch"):  # an Arrow reader
        return _only_once(value), True
    if hasattr(value, "to_batches") and not frames.is_frame(value):  # an Arrow dataset or scanner
        return value.to_batches, False
    if isinstance(value, (list, tuple)) and value and all(map(is_table, value)):
        return lambda: value, False
    return None, False


def looked_into(value: object) -> Any:
    """An iterator of frames as an Arrow-like reader, one of anything else as a list; all other values as they are."""
    if not isinstance(value, Iterator) or hasattr(value, "read_next_batch"):
        return value
    first = next(value, None)
    if first is None:
        raise InputError(
            "An iterator gave nothing. It can be read only once; to use it again, pass a list or a file."
        )
    rest = chain([first], value)
    return _Reader(rest) if is_table(first) else list(rest)


class _Reader:
    """Frames from an iterator."""

    def __init__(self, pieces: Iterator[object]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[object]:
        return self._pieces

    def read_next_batch(self) -> Any:
        return next(self._pieces)


def _only_once(reader: Iterable[object]) -> Pieces:
    used: list[bool] = []

    def pieces() -> Iterable[object]:
        if used:
            raise InputError(
                "run: these pieces can be read only once, and were; pass a list of frames, a LazyFrame or a file."
            )
        used.append(True)
        return reader

    return pieces


def _batches(name: str, scan: pl.LazyFrame, columns: Mapping[str, object] | None) -> Iterator[pl.DataFrame]:
    """The batches of a scan, which may fail on the way."""
    try:
        if not columns:
            scan = scan.select(frames.useful(scan.collect_schema().names(), ranks=True))
        yield from scan.collect_batches(chunk_size=_ROWS, maintain_order=True)
    except polars_failures(OSError) as error:
        raise InputError(f"{name} cannot be read: {next(iter(str(error).splitlines()), '')}") from None


def _stream(name: str, pieces: Pieces, convert: Convert, *, once: bool = False) -> TableStream:
    return TableStream(name, lambda: _reads(name, pieces, convert), once)


def _reads(name: str, pieces: Pieces, convert: Convert) -> Iterator[ReadTable]:
    polars_is_used()
    start = 0
    for piece in pieces():
        if not frames.is_frame(piece):
            raise InputError(f"{name}: a piece is {words.kind(piece)}, not a table.")
        yield partial(frames.converted, name, start, partial(convert, piece))
        start += int(piece.num_rows) if hasattr(piece, "num_rows") else len(piece)
