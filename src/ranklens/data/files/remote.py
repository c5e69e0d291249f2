"""Files in object stores and on the web, and tables of lakes: scanned by Polars, which finds credentials in the environment."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ranklens.data.files.forking import polars_is_used
from ranklens.data.files.suffixes import TABLES
from ranklens.errors import InputError, InPython, MissingExtraError, RankLensError, polars_failures
from ranklens.words import brief

if TYPE_CHECKING:
    import polars as pl

LAKES = ("delta", "iceberg")
_OTHER_ADDRESS = re.compile(r"(?:hdfs|dbfs|viewfs|webhdfs|wasbs?|ftp|sftp|oss|cosn?):/", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:s3a?|gs|gcs|az|azure|adl|abfss?|hf|https?|file)://", re.IGNORECASE)


def is_remote(path: object) -> bool:
    """Whether this is the address of a file rather than its path.

    >>> is_remote("s3://bucket/run.parquet"), is_remote("run.parquet"), is_remote("mine=s3://bucket/run.parquet")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def refuse_other_address(path: object) -> None:
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


def is_scanned(path: object, kind: str) -> bool:
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
        rows = scans[kind](address)
        rows.collect_schema()
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
    return rows


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

    rows = pl.scan_csv(address, **options)
    return rows.map_batches(check, schema=rows.collect_schema(), projection_pushdown=False, streamable=True)


# --- Delta and Iceberg tables: folders with a log of which files count. Reading every Parquet file in such a folder would revive deleted
# and overwritten rows, so the table's own library reads the log, and the files of a table are refused on their own.


def lake_at(path: object) -> str | None:
    """The kind of table whose folder (or Iceberg metadata file) this is, if any.

    >>> lake_at("no such folder")
    """
    if not isinstance(path, (str, os.PathLike)):
        return None
    place = Path(path)
    if (place / "_delta_log").is_dir():
        return "delta"
    is_metadata = place.name.endswith(".metadata.json") and place.is_file()
    return "iceberg" if is_metadata or _metadata_files(place) else None


def refuse_files_of_lakes(files: Iterable[Path]) -> None:
    """Refuse data files of a Delta, Iceberg or Hudi table that were picked by a folder, a pattern or one by one."""
    # Behind links, and above the current folder.
    folders = dict.fromkeys(file.resolve().parent for file in files)
    for folder in dict.fromkeys(above for one in folders for above in (one, *one.parents)):
        if kind := lake_at(folder):
            raise InputError(
                f"{folder} is {'a Delta' if kind == 'delta' else 'an Iceberg'} table, and some of its files may hold rows that "
                f"were deleted or replaced; pass the folder itself: {folder}",
                path=str(folder),
            )
        if (folder / ".hoodie").is_dir():
            raise InputError(
                f"{folder} is a Hudi table, and some of its files may hold rows that were deleted or replaced; write its current rows "
                "to Parquet with Spark, and pass that.",
                path=str(folder),
            )


def scan_lake(path: str, kind: str) -> pl.LazyFrame:
    """The current rows of a table."""
    import polars as pl

    package, article = ("deltalake", "a Delta") if kind == "delta" else ("pyiceberg", "an Iceberg")
    try:
        import_module(package)  # Polars does so once it reads
    except ImportError:
        raise MissingExtraError(
            f"{path} is {article} table, which {package} reads; it is not installed: pip install 'ranklens[{kind}]'"
        ) from None
    if kind == "delta":
        return pl.scan_delta(path)
    warnings.filterwarnings("ignore", "Iceberg scan planning")  # advertises a further package
    return pl.scan_iceberg(_current_metadata(path))


def _metadata_files(place: Path) -> list[Path]:
    return sorted((place / "metadata").glob("*.metadata.json")) if place.is_dir() else []


def _current_metadata(path: str) -> str:
    """The metadata file of the newest version; a catalog may know better, so two candidates are an error."""
    files = _metadata_files(Path(path))
    hint = Path(path, "metadata", "version-hint.text")
    if not files or hint.is_file():  # a metadata file, an address, or a table that names its version
        return path
    versions = {file: file.name.removeprefix("v").split("-")[0].split(".")[0] for file in files}
    newest = max(versions.values(), key=lambda one: (one.isdigit(), int(one) if one.isdigit() else 0))
    current = [file for file, version in versions.items() if version == newest]
    if len(current) > 1:
        raise InputError(
            f"{path}: {current[0].name} and {current[1].name} both claim to be the newest version of this Iceberg table; pass the "
            "metadata file that its catalog names.",
            path=path,
        )
    return str(current[0])
