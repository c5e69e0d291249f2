"""Files in object stores and on the web, and tables of lakes: scanned by Polars, which finds credentials in the environment."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ranklens.data.files.forking import polars_is_used
from ranklens.data.files.lakes import LAKES, refuse_files_of_lakes, scan_lake
from ranklens.data.files.suffixes import TABLES
from ranklens.errors import InputError, InPython, RankLensError, polars_failures
from ranklens.words import brief

if TYPE_CHECKING:
    import polars as pl

_OTHER_ADDRESS = re.compile(r"(?:hdfs|dbfs|viewfs|webhdfs|wasbs?|ftp|sftp|oss|cosn?):/", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:s3a?|gs|gcs|az|azure|adl|abfss?|hf|https?|file)://", re.IGNORECASE)


def is_remote(path: Any) -> bool:
    """Whether this is the address of a file rather than its path.

    >>> is_remote("s3://bucket/run.parquet"), is_remote("run.parquet"), is_remote("mine=s3://bucket/run.parquet")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def refuse_other_address(path: Any) -> None:
    """Refuse addresses that only Spark reads, instead of looking for a file of that name."""
    if _OTHER_ADDRESS.match(str(path)):
        raise InputError(
            f"{path}: this kind of address is read by Spark only",
            InPython(
                "; pass spark.read.parquet(…) of it as the DataFrame.",
                ": add --engine spark, or copy the file here.",
            ),
        )


def remote_kind(address: str) -> str:
    """The format of what is at an address, by its suffix."""
    suffix = PurePosixPath(address).suffix.lower()
    kind = TABLES.get(suffix)
    if kind is not None:
        return kind
    if address.endswith("/") or not suffix:
        folder = address.rstrip("/")
        raise InputError(
            f"{address}: this looks like a folder, and nothing says what it contains. For the Parquet files of one table, pass "
            f"'{folder}/*.parquet'; for a Delta or Iceberg table, name the format",
            InPython(": format='delta'.", ": --run-format delta (or --qrels-format)."),
        )
    raise InputError(
        f"{address}: only Parquet, CSV, TSV and JSONL are read from there. Fetch the file first, or pipe it: "
        f"aws s3 cp {address} - | ranklens evaluate qrels.txt -"
    )


def is_scanned(path: Any, kind: str) -> bool:
    """Whether Polars scans this: an address, or the table of a lake."""
    return kind in LAKES or is_remote(path)


def scan(address: str, kind: str) -> pl.LazyFrame:
    """The table at an address or of a lake, to be read in pieces; ids and numbers of text files as text."""
    import polars as pl

    polars_is_used()
    if kind not in LAKES and address.lower().startswith("file://"):
        from urllib.parse import unquote

        refuse_files_of_lakes([Path(unquote(address[len("file://") :]))])
    scans: dict[str, Callable[[str], pl.LazyFrame]] = {
        "parquet": pl.scan_parquet,
        "csv": partial(_scan_csv, infer_schema=False),
        "tsv": partial(pl.scan_csv, infer_schema=False, separator="\t", quote_char=None),
        "jsonl": partial(pl.scan_ndjson, infer_schema_length=None),  # a key may come late
        **{lake: partial(scan_lake, kind=lake) for lake in LAKES},
    }
    try:
        found = scans[kind](address)
        found.collect_schema()
    except KeyError:
        raise InputError(f"{address}: {kind} files are not read from there; fetch the file first.") from None
    except RankLensError:
        raise
    except polars_failures(Exception) as error:
        reason = next(iter(str(error).splitlines()), "")
        if not is_remote(address):
            raise InputError(f"{address} cannot be read as {kind}: {reason}", path=address) from None
        raise InputError(
            f"{address} cannot be read: {reason}. If it exists, check the credentials, or fetch the file first."
        ) from None
    return found


def _scan_csv(address: str, **options: Any) -> pl.LazyFrame:
    """Rows of one line each: a quoted field that goes on over its end may have swallowed the rows after it."""
    import polars as pl

    def check(rows: pl.DataFrame) -> pl.DataFrame:
        broken = rows.select(
            pl.any_horizontal(pl.all().str.contains("\n", literal=True)).arg_true()
        ).to_series()
        if len(broken):
            shown = brief(str(rows.row(broken[0])), 120)
            raise InputError(
                f"{address}: a quoted field continues past the end of the line: {shown}. Is a closing quote missing? "
                "If the text does have several lines, write JSONL or Parquet."
            )
        return rows

    found = pl.scan_csv(address, **options)
    return found.map_batches(check, schema=found.collect_schema(), projection_pushdown=False, streamable=True)
