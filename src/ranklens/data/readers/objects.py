"""Objects that users hand in: open files, tables of any library, lists of rows or of records. What each is, is asked here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from ranklens import words
from ranklens.data.files import limits
from ranklens.data.readers import frames
from ranklens.data.readers.names import Names
from ranklens.errors import InputError

if TYPE_CHECKING:
    from ranklens.data.files.sources import PathLike

_TELLING = 100  # records, one of which surely lists documents if any does


def is_path(value: object) -> bool:
    """Whether a file is meant rather than what it holds."""
    return isinstance(value, (str, os.PathLike))


def is_large_file(value: object, among: int = 1) -> bool:
    """Whether this is a file too large to keep what it holds next to ``among`` - 1 others, or a folder or an address, whose size is unknown."""
    if not isinstance(value, (str, os.PathLike)):
        return False
    try:
        return not os.path.isfile(value) or os.path.getsize(value) * among > limits.HELD
    except (OSError, ValueError):
        return True


def as_source(value: object) -> PathLike | None:
    """A path, an open file or a BytesIO as what files are read from; None for anything else."""
    if isinstance(value, (str, os.PathLike)):
        return value
    if isinstance(value, Mapping):
        return None
    from ranklens.data.files.sources import Source, copy_of

    if isinstance(value, Source):
        return value
    # pandas' reader of a file in chunks can read, but gives frames.
    is_file = callable(getattr(value, "read", None)) and not hasattr(value, "get_chunk")
    return copy_of(value) if is_file else None


def as_table(value: object, names: Names) -> Any:
    """A list or an iterator of rows as a table; everything else as it is."""
    from ranklens.data.files import pieces

    value = pieces.looked_into(value)
    if isinstance(value, (list, tuple)) and value and all(hasattr(type(row), "_asdict") for row in value):
        value = [row._asdict() for row in value]  # named tuples, such as those of ir_measures and ir_datasets
    if not isinstance(value, (list, tuple)) or not value or not _are_rows(value, names):
        return value
    from ranklens.data.files.tables import frame_of_rows

    try:
        return frame_of_rows(value)
    except UnicodeEncodeError as error:
        raise InputError(f"The rows cannot be read as a table: {error}.") from None


def as_records(value: object, names: Names, half: Literal["golden", "log"]) -> Any:
    """A golden set or a log, if the value is a list or table of records; any other value as it is, but under the usual names of columns."""
    if isinstance(value, Mapping):
        return value
    from ranklens.data.files import pieces

    value = as_table(value, names)
    usual = frames.is_frame(value) and {"query", "doc"} <= {*frames.column_names(value)}
    if usual and not pieces.is_in_pieces(value):
        return _renamed(value, names, half)  # as most tables have it
    from ranklens.data.readers import records

    of_records = records.names_of_records(value, half, names)
    if pieces.is_in_pieces(value) and not (frames.is_frame(value) and of_records):
        read = pieces.read_pieces if half == "golden" else pieces.stream_pieces
        return read(value, names.columns)
    if of_records is None:
        return _renamed(value, names, half)
    from ranklens.data.readers.golden_and_logs import read_golden, read_log

    rows = records.rows_of(value)
    if frames.is_frame(value):
        from ranklens.data.readers.cells import with_lists

        rows = with_lists(rows, of_records)
    return (read_golden if half == "golden" else read_log)(rows, of_records)


def check_kind(what: str, value: object) -> None:
    """Refuse what is neither a dict nor a table."""
    if isinstance(value, (dict, Mapping)) or frames.is_frame(value):
        return
    if isinstance(value, (list, tuple)) and not value:
        raise InputError(f"{what} is an empty {type(value).__name__}: there is nothing to read.")
    by_place = isinstance(value, (list, tuple)) or hasattr(value, "__array__")
    raise InputError(
        f"{what} is {words.kind(value)}; pass a dict by query, a Polars, pandas or Arrow table, a list of records or rows, or a path."
        + (" If it has one entry for each query, in order, pass dict(enumerate(…))." if by_place else "")
    )


def _are_rows(value: Sequence[Any], names: Names) -> bool:
    """Whether each item is a row of a table, about one document, rather than a record about one question."""
    from ranklens.data.readers import records

    if not all(isinstance(row, Mapping) for row in value):
        return False
    first = value[0]
    if any(
        records.lists_documents(row, names) for row in islice(value, _TELLING)
    ):  # the first call may have failed
        return False
    if frames.has_documents_among(first):
        return True
    return not {*names.own.get("doc", ())}.isdisjoint(first) and not records.is_record(first, names)


def _renamed(value: object, names: Names, half: Literal["golden", "log"]) -> Any:
    """A table under the names of the roles, if the user has other names for them; from then on nothing is called otherwise."""
    if not names.columns or not frames.is_frame(value):
        return value
    return (frames.qrels_frame if half == "golden" else frames.run_frame)(value, names.columns)
