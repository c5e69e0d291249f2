"""Delta and Iceberg tables: folders with a log of which files count.

Reading every Parquet file in such a folder would revive deleted and overwritten rows, so the table's own library reads the log,
and the files of a table are refused on their own.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

LAKES = ("delta", "iceberg")


def lake_at(path: Any) -> str | None:
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
    folders = dict.fromkeys(
        file.resolve().parent for file in files
    )  # behind links, and above the current folder
    for folder in dict.fromkeys(above for one in folders for above in (one, *one.parents)):
        if kind := lake_at(folder):
            raise InputError(
                f"{folder} is {'a Delta' if kind == 'delta' else 'an Iceberg'} table, and some of its files may hold rows that "
                f"were deleted or replaced; pass the folder itself: {folder}",
                path=str(folder),
            )
        if (folder / ".hoodie").is_dir():
            raise InputError(
                f"{folder} is a Hudi table, and some of its files may contain rows that were deleted or replaced; write its current rows "
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
    newest = max(
        versions.values(), key=lambda version: (version.isdigit(), int(version) if version.isdigit() else 0)
    )
    current = [file for file, version in versions.items() if version == newest]
    if len(current) > 1:
        raise InputError(
            f"{path}: {current[0].name} and {current[1].name} both claim to be the newest version of this Iceberg table; pass the "
            "metadata file that its catalog names.",
            path=path,
        )
    return str(current[0])
