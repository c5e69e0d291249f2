"""Judgments and runs in another format, with every column that there was."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError
from ranklens.readers import files, frames, text
from ranklens.readers.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from ranklens.readers.sources import PathLike

_RUN: tuple[str, ...] = ("query", "Q0", "doc", "rank", "score", "tag")
_QRELS: tuple[str, ...] = ("query", "iteration", "doc", "grade")


def convert(source: PathLike, target: Path, kind: str | None = None) -> tuple[int, str]:
    """Write ``source`` to ``target`` in the format of its suffix; how many rows, and ``"qrels"`` or ``"run"``."""
    if kind not in (None, "qrels", "run"):
        raise InputError(f"kind={kind!r} is not allowed; it is 'qrels' or 'run'.")
    table, what = _read(source, kind)
    _write(table, target)
    return len(table), what


def write_run(run: Mapping[str, Mapping[str, float]], target: Path, *, tag: str = "ranklens") -> None:
    """Write ``{query: {document: score}}`` in the format of the target's suffix; TREC's where that says nothing."""
    import polars as pl

    _write(_rows(run, "score").with_columns(tag=pl.lit(tag)), target)


def _write(table: pl.DataFrame, target: Path) -> None:
    writers = {".parquet": _write_parquet, ".jsonl": _write_jsonl, ".csv": _write_csv, ".tsv": _write_tsv}
    write_whole(target, lambda place: writers.get(target.suffix.lower(), _write_trec)(_tidy(table), place))


def _read(source: PathLike, kind: str | None) -> tuple[pl.DataFrame, str]:
    format = files.recognise(source, kind or "run")  # noqa: A001
    if format == "trec":
        fields = text.first_fields(open_source(source))
        what = kind or ("qrels" if len(fields) == 4 else "run")
        names = _QRELS if what == "qrels" else _RUN
        return text.read_fields(
            open_source(source), names, {name: name in ("score", "grade") for name in names}
        ), what
    if format in ("csv", "tsv", "jsonl", "parquet"):
        table = files.read_table(source, format)
        what = kind or ("qrels" if frames.names_grade(table) else "run")
        read = frames.qrels_frame(table) if what == "qrels" else frames.run_frame(table)
        known = (*_QRELS, *_RUN)
        return read.with_columns(
            table[name] for name in table.columns if name in known and name not in read.columns
        ), what
    what = kind or "run"
    read = files.read_qrels(source) if what == "qrels" else files.read_run(source)
    if isinstance(read, dict):
        read = _rows(read, "grade" if what == "qrels" else "score")
    return read, what


def _rows(by_query: Mapping[str, Mapping[str, float]], number: str) -> pl.DataFrame:
    import polars as pl

    rows = [(query, doc, float(x)) for query, docs in by_query.items() for doc, x in docs.items()]
    return pl.DataFrame(rows, schema={"query": pl.String, "doc": pl.String, number: pl.Float64}, orient="row")


def _tidy(table: pl.DataFrame) -> pl.DataFrame:
    """In the order of TREC files, whole grades as whole numbers."""
    import polars as pl

    order = _QRELS if "grade" in table.columns else _RUN
    table = table.select(name for name in order if name in table.columns)
    if "grade" in table.columns and (table["grade"] == table["grade"].round()).all():
        table = table.with_columns(pl.col("grade").cast(pl.Int64))
    return table


def _write_parquet(table: pl.DataFrame, place: Path) -> None:
    table.write_parquet(place)


def _write_jsonl(table: pl.DataFrame, place: Path) -> None:
    table.write_ndjson(place)


def _write_csv(table: pl.DataFrame, place: Path) -> None:
    table.write_csv(place)


def _write_tsv(table: pl.DataFrame, place: Path) -> None:
    table.write_csv(place, separator="\t", quote_style="never")


def _write_trec(table: pl.DataFrame, place: Path) -> None:
    import polars as pl

    for name in ("query", "doc"):
        spaced = table.filter(table[name].str.contains(r"\s"))
        if len(spaced):
            raise InputError(
                f"The {name} {spaced[name][0]!r} holds white space, which a TREC file cannot; choose another format."
            )
    if "grade" in table.columns:
        missing: dict[str, Any] = {"iteration": pl.lit("0")}
        names = _QRELS
    else:
        rank = pl.col("score").rank("ordinal", descending=True).over("query").cast(pl.String)
        missing, names = {"Q0": pl.lit("Q0"), "rank": rank, "tag": pl.lit("ranklens")}, _RUN
    added = {name: value for name, value in missing.items() if name not in table.columns}
    table.with_columns(**added).select(names).write_csv(
        place, separator=" ", include_header=False, quote_style="never"
    )


def write_whole(target: Path, write: Callable[[Path], Any]) -> None:
    """Nothing half-written: a temporary file beside the target, then a rename."""
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}")
        os.close(handle)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}.") from None
    try:
        write(Path(name))
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
