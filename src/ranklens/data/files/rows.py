"""Tables of anything with named fields: from dicts, lists, frames and files → one dict per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ranklens import words
from ranklens.data.files import formats
from ranklens.data.files.blocks import blocks
from ranklens.data.files.json_reading import RepeatedKeyError, loads
from ranklens.data.files.sources import Source, open_source, without_bom
from ranklens.data.readers import frames
from ranklens.data.readers.records import unwrapped
from ranklens.errors import InputError

_HEADERLESS = ("_id", "text")  # as the queries of MS MARCO


def read_rows(value: object, what: str = "queries") -> list[dict[str, Any]]:
    """Rows of a dict by id, a list of dicts, a table, a file, or that file of a BEIR folder which ``what`` names.

    Files are JSONL, JSON, CSV, TSV or Parquet, compressed or not. The keys of a dict go to the field ``_id``, its plain values to ``text``. A tab-separated file of two columns without a
    header holds ids and texts.

    >>> read_rows({"q1": "why?"})
    [{'_id': 'q1', 'text': 'why?'}]
    """
    return list(each_row(value, what))


def each_row(value: Any, what: str = "queries") -> Iterator[dict[str, Any]]:
    """The same one after the other, so that a large file of lines need not fit in memory."""
    if isinstance(value, (str, Path)):
        yield from _from_file(value, what)
    elif isinstance(value, Mapping):
        for key, row in value.items():
            yield {"_id": key, **(row if isinstance(row, Mapping) else {"text": row})}
    elif frames.is_frame(value):
        if getattr(getattr(value, "index", None), "name", None):
            value = value.reset_index()  # pandas
        yield from frames.to_polars(value).iter_rows(named=True)
    elif isinstance(value, Iterable):
        for number, row in enumerate(value, 1):
            if not isinstance(row, Mapping):
                raise InputError(
                    f"{what}: entry {number} is {words.kind(row)} {row!r:.60}; give dicts with an id."
                )
            yield dict(row)
    else:
        raise InputError(
            f"{what} is {words.kind(value)}; pass a dict by id, a list of dicts, a table, or the path of a file or "
            "of a BEIR folder."
        )


def _from_file(path: str | Path, what: str) -> Iterator[dict[str, Any]]:
    place = Path(path)

    def objects() -> Iterator[object]:
        for number, line in enumerate(_lines(source), 1):
            if line.strip():
                try:
                    yield loads(line)
                except RepeatedKeyError as error:
                    raise InputError(
                        f"{source.name}:{number}: {error}.", path=source.name, line=number
                    ) from None
                except ValueError as error:
                    raise InputError(
                        f"{source.name} cannot be read: line {number} is not a JSON object: {error}."
                    ) from None

    if place.is_dir():
        named = sorted(place.glob(f"{what}.*"))
        if not named:
            raise InputError(f"{path}: this folder has no {what}.jsonl; a BEIR folder has one.")
        place = named[0]
    source = open_source(place)
    head = source.head().lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        if head.startswith(b"PAR1"):
            yield from formats.read_table(source, "parquet").iter_rows(named=True)
        elif source.suffix == ".json" or head.startswith(b"["):
            source.check_json()
            yield from each_row(unwrapped(loads(without_bom(source.read()).decode()), any_rows=True), what)
        elif head.startswith(b"{"):
            yield from each_row(objects(), what)
        else:
            yield from _separated(place, source)
    except InputError as error:
        if source.name not in str(error):
            error.prefix(f"{source.name}: ")
        raise
    except ValueError as error:
        raise InputError(
            f"{source.name} cannot be read: {error}. {what.capitalize()} come as JSONL, JSON, CSV, TSV or Parquet."
        ) from None


def _separated(place: Path, source: Source) -> Iterator[dict[str, Any]]:
    first = without_bom(source.head()).decode(errors="replace").partition("\n")[0]
    names = first.rstrip("\r").split("\t")
    kind = "tsv" if len(names) > 1 or source.suffix == ".tsv" else "csv"
    known = {*frames.QUERY_NAMES, *frames.DOC_NAMES, "id", "_id", "text"}
    if len(names) == 2 and not {name.strip().lower() for name in names} & known:
        for line in _lines(source):
            if line.strip():
                yield dict(zip(_HEADERLESS, line.rstrip("\r\n").split("\t"), strict=False))
        return
    yield from formats.read_table(place, kind).iter_rows(named=True)


def _lines(source: Source) -> Iterator[str]:
    """Line by line; what Unicode calls a line separator belongs to the text."""
    for block in blocks(source):
        yield from block.load().removesuffix(b"\n").decode().split("\n")
