"""Files in object stores and on the web: read by Polars, which knows the stores and finds credentials in the environment."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError
from ranklens.files.forking import polars_is_used
from ranklens.files.suffixes import TABLES

if TYPE_CHECKING:
    import polars as pl

_ADDRESS = re.compile(r"(?:s3a?|gs|gcs|az|azure|adl|abfss?|hf|https?|file)://", re.IGNORECASE)


def is_remote(path: Any) -> bool:
    """Whether this is the address of a file rather than its path.

    >>> is_remote("s3://bucket/run.parquet"), is_remote("run.parquet"), is_remote("mine=s3://bucket/run.parquet")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def remote_kind(address: str) -> str:
    """The format of what is at an address, by its suffix."""
    kind = TABLES.get(PurePosixPath(address).suffix.lower())
    if kind is None:
        raise InputError(
            f"{address}: only Parquet, CSV, TSV and JSONL are read from there. Fetch the file first, or pipe it: "
            f"aws s3 cp {address} - | ranklens evaluate qrels.txt -"
        )
    return kind


def scan(address: str, kind: str) -> pl.LazyFrame:
    """The table at an address, to be read in pieces; ids and numbers of text files as text."""
    import polars as pl

    polars_is_used()
    scans: dict[str, Callable[[str], pl.LazyFrame]] = {
        "parquet": pl.scan_parquet,
        "csv": partial(pl.scan_csv, infer_schema=False),
        "tsv": partial(pl.scan_csv, infer_schema=False, separator="\t", quote_char=None),
        "jsonl": partial(pl.scan_ndjson, infer_schema_length=None),  # a key may come late
    }
    try:
        found = scans[kind](address)
        found.collect_schema()
    except KeyError:
        raise InputError(f"{address}: {kind} files are not read from there; fetch the file first.") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise InputError(
            f"{address} cannot be read: {reason}. If it is there, check the credentials, or fetch the file first."
        ) from None
    return found
