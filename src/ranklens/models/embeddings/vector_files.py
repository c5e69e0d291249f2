"""Vectors in files: .npy, .safetensors and Parquet, one file or a folder of them; read in place, a few rows at a time."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import NumberArray
from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl

_SUFFIXES = (".npy", ".parquet", ".safetensors")
_LARGEST_HEADER = 100 << 20  # of a safetensors file
_KINDS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U8": "|u1",
}  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """The vectors of one file: how many, of which size, and how to read some of them."""

    path: Path
    rows: int
    size: int
    read: Callable[[int, int], NumberArray]  # rows from, to
    ids: Callable[[], Sequence[object]] | None = None


def pieces(path: str | Path, vectors: str | None = None) -> list[Piece]:
    """The pieces of a file, or of a folder in the order of their names, where 2 comes before 10; ``vectors`` names the column or tensor."""
    place = Path(path)
    files = [place]
    if place.is_dir():
        files = sorted((one for one in place.iterdir() if one.suffix in _SUFFIXES), key=_by_numbers)
    if not files:
        raise InputError(
            f"{place} contains no {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]} file.", path=str(place)
        )
    if not place.exists():
        raise InputError(f"{place} does not exist.", path=str(place))
    for file in files:
        if file.suffix not in _SUFFIXES:
            raise InputError(
                f"{file.name}: vectors are read from {', '.join(_SUFFIXES[:-1])} and {_SUFFIXES[-1]} files, or a folder of them.",
                path=str(file),
            )
    readers = {".npy": _npy, ".parquet": _parquet, ".safetensors": _safetensors}
    opened = [readers[file.suffix](file, vectors) for file in files]
    for piece in opened[1:]:
        if piece.size != opened[0].size:
            raise InputError(
                f"{piece.path.name} contains vectors of {piece.size} numbers, {opened[0].path.name} of {opened[0].size}; "
                "all must be the same.",
                path=str(piece.path),
            )
    return opened


def _by_numbers(path: Path) -> tuple[list[str | int], str]:
    """How people order names that hold numbers.

    >>> sorted(map(Path, ["p10.npy", "p9.npy", "p009.npy"]), key=_by_numbers)
    [PosixPath('p009.npy'), PosixPath('p9.npy'), PosixPath('p10.npy')]
    """
    parts = re.split(r"(\d+)", path.name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], path.name


def _npy(path: Path, _: str | None) -> Piece:
    try:
        array = np.load(path, mmap_mode="r")
    except ValueError:
        raise InputError(f"{path.name} is not a .npy file of numbers.", path=str(path)) from None
    return _in_place(path, array)


def _in_place(path: Path, array: NumberArray) -> Piece:
    if array.ndim != 2:
        raise InputError(
            f"{path.name} has the shape {array.shape}; one row per vector is needed.", path=str(path)
        )
    rows, size = array.shape
    return Piece(path, rows, size, lambda first, last: array[first:last])


def _safetensors(path: Path, vectors: str | None) -> Piece:
    """The format is a length, a JSON header and the numbers, so it needs no library."""
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else _LARGEST_HEADER + 1
        if length > _LARGEST_HEADER:
            raise InputError(f"{path.name} is not a safetensors file.", path=str(path))
        try:
            header = json.loads(file.read(length))
        except ValueError:
            raise InputError(f"{path.name} is not a safetensors file.", path=str(path)) from None
    tensors = {name: one for name, one in header.items() if name != "__metadata__"}
    name = _one_of([name for name, one in tensors.items() if len(one["shape"]) == 2], vectors, path, "tensor")
    tensor = tensors[name]
    if tensor["dtype"] not in _KINDS:
        raise InputError(
            f"{path.name}: {name!r} is {tensor['dtype']}; {', '.join(_KINDS)} can be read.", path=str(path)
        )
    offset = 8 + length + tensor["data_offsets"][0]
    stored = np.memmap(path, _KINDS[tensor["dtype"]], "r", offset, tuple(tensor["shape"]))
    if tensor["dtype"] != "BF16":
        return _in_place(path, stored)
    # bfloat16 is the upper half of a float32
    rows, size = stored.shape
    return Piece(
        path, rows, size, lambda first, last: (stored[first:last].astype(np.uint32) << 16).view(np.float32)
    )


def _parquet(path: Path, vectors: str | None) -> Piece:
    import polars as pl

    from ranklens.data.readers.names import DOCS_INSIDE, plain

    scan = pl.scan_parquet(path)
    schema = scan.collect_schema()
    nested = [name for name, kind in schema.items() if isinstance(kind, (pl.List, pl.Array))]
    name = _one_of(nested, vectors, path, "column")
    rows = int(scan.select(pl.len()).collect().item())
    id_column = next((column for column in schema if plain(column) in DOCS_INSIDE), None)

    def read(first: int, last: int) -> NumberArray:
        return _stacked(scan.slice(first, last - first).select(name).collect()[name], path, first)

    def ids() -> Sequence[object]:
        return list(scan.select(id_column).collect().to_series())

    size = read(0, 1).shape[1] if rows else 0
    return Piece(path, rows, size, read, ids if id_column else None)


def _stacked(column: pl.Series, path: Path, first: int) -> NumberArray:
    """A column of lists as one array; all must have the same length."""
    import polars as pl

    if isinstance(column.dtype, pl.Array):
        return column.to_numpy()
    lengths = column.list.len().unique()
    if column.null_count() or len(lengths) > 1:
        raise InputError(
            f"{path.name}: from row {first + 1:,} on, the vectors of {column.name!r} differ in length or are missing.",
            path=str(path),
        )
    return column.explode().to_numpy().reshape(len(column), -1)


def _one_of(names: Sequence[str], asked: str | None, path: Path, what: str) -> str:
    if asked is not None and asked in names:
        return asked
    if asked is None and len(names) == 1:
        return names[0]
    have = f"has {', '.join(map(repr, names))}" if names else f"has no {what} of vectors"
    advice = f"; name one with vectors=… ({what})" if names else ""
    missing = f"There is no {what} {asked!r}: " if asked is not None else ""
    raise InputError(f"{missing}{path.name} {have}{advice}.", path=str(path))


def rows_of(opened: Sequence[Piece], step: int) -> Iterator[tuple[int, NumberArray]]:
    """The first row and the vectors of each block, over all pieces."""
    before = 0
    for piece in opened:
        for first in range(0, piece.rows, step):
            yield before + first, piece.read(first, min(first + step, piece.rows))
        before += piece.rows
