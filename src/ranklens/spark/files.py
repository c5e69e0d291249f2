"""Files, folders and tables that Spark reads itself: for commands, which have paths rather than DataFrames."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.data.files.collection import names_of
from ranklens.data.files.suffixes import TABLES
from ranklens.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BY_SUFFIX = {**TABLES, ".orc": "orc"}
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
_READ_HERE = 1 << 26  # bytes of judgments that are read on the driver, in any format
_LOGS = {"delta": "_delta_log", "iceberg": "metadata/*.metadata.json"}  # of which files count
_FIELDS = {"run": (0, 2, 4, "score"), "qrels": (0, 2, 3, "grade")}  # of TREC: query, document, and number
FORMATS = ("parquet", "csv", "tsv", "jsonl", "orc", "trec", "table")


def session(master: str | None = None) -> SparkSession:
    """The session that is running, as under ``spark-submit``; else a new one, on ``master`` or this machine."""
    _check_master(master)
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError(
            "The engine spark needs PySpark, which is not installed: pip install 'ranklens[spark]'"
        ) from None
    builder = SparkSession.builder.appName("ranklens").config("spark.log.level", "ERROR")
    builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 1 << 16)
    if master is not None:
        builder = builder.master(master)
    if (master or "local").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the one that has RankLens
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        told = next(iter(str(error).splitlines()), "")
        raise InputError(
            f"Spark could not be started: {told} It needs Java 17 (apt install openjdk-17-jre-headless)"
            + (f" and a master at {master}." if master else ".")
        ) from None


def _check_master(master: str | None) -> None:
    """Before Java starts, which would answer with its own traceback."""
    if master is not None and not re.fullmatch(r"local(\[.+\])?|yarn|(spark|k8s)://.+", master):
        raise InputError(
            f"--master {master}: not a Spark master; use local[*], spark://HOST:PORT, k8s://ADDRESS or yarn."
        )


def open_on_spark(
    qrels: str,
    runs: Sequence[str],
    qrels_format: str | None = None,
    run_format: str | None = None,
    master: str | None = None,
) -> tuple[str | DataFrame, Mapping[str, DataFrame]]:
    """Judgments and runs by name, each PATH or NAME=PATH: a file, a folder, an address or the name of a table."""
    spark = session(master)
    found = {name: read(spark, path, run_format, "run") for name, path in names_of(runs).items()}
    return _judgments(spark, qrels, qrels_format), found


def _judgments(spark: SparkSession, path: str, given: str | None) -> str | DataFrame:
    """Judgments in a small file are read here, in any format that RankLens knows; all others by Spark."""
    place = Path(path)
    if given is None and place.exists() and (place.is_dir() or place.stat().st_size <= _READ_HERE):
        kind = _kind(path)
        if not place.is_dir() or kind not in ("parquet", "orc"):
            return path
    return read(spark, path, given, "qrels")


def read(spark: SparkSession, path: str, given: str | None, what: str) -> DataFrame:
    """A DataFrame with the columns that the file has; TREC gets names for its own."""
    kind = given or _kind(path)
    if kind not in FORMATS:
        raise InputError(f"{path}: the engine spark does not read {kind}; it reads {', '.join(FORMATS)}.")
    from pyspark.errors import PySparkException

    if kind != "table":
        _refuse_lakes(spark, path)
    try:
        return _READ[kind](spark, path, what)
    except PySparkException as error:
        told = next(iter(str(error).splitlines()), "")
        raise InputError(f"{path} cannot be read by Spark: {told}", path=path) from None


def _refuse_lakes(spark: SparkSession, path: str) -> None:
    """Refuse folders and files of a Delta or Iceberg table, some of whose files may hold rows that no longer count."""
    for folder in filter(None, (path[: end.start()] for end in re.finditer(r"(?<=[^/:])(/+|$)", path))):
        for kind, log in _LOGS.items():
            if _is_there(spark, f"{folder}/{log}"):
                raise InputError(
                    f"{path} belongs to {'a Delta' if kind == 'delta' else 'an Iceberg'} table, and some of its files may hold rows that "
                    "were deleted or replaced. Pass the name that the table has in Spark's catalog, or in Python the frame: "
                    f"spark.read.format({kind!r}).load({folder!r})",
                    path=path,
                )


def _is_there(spark: SparkSession, path: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        return bool(spark.read.text(path).schema)
    except PySparkException:
        return False


def _kind(path: str) -> str:
    """By the end of the name; what is no file and no address is a table."""
    name = Path(path)
    suffixes = [suffix for suffix in name.suffixes if suffix not in _PACKED]
    if suffixes and suffixes[-1] in _BY_SUFFIX:
        return _BY_SUFFIX[suffixes[-1]]
    is_somewhere = "/" in path or "\\" in path or "*" in path or name.exists()
    if not is_somewhere and suffixes[-1:] != [".txt"]:
        return "table"
    if name.is_dir():
        inside = next(
            (_BY_SUFFIX[one.suffix] for one in sorted(name.rglob("*.*")) if one.suffix in _BY_SUFFIX), None
        )
        return inside or "trec"
    return "trec" if "://" not in path or suffixes else "parquet"


def _trec(spark: SparkSession, path: str, what: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    query, doc, number, name = _FIELDS[what]
    fields = F.split(F.trim("value"), r"\s+")
    lines = spark.read.text(path).filter(F.trim("value") != "")
    return lines.select(
        fields.getItem(query).alias("query"),
        fields.getItem(doc).alias("doc"),
        fields.getItem(number).alias(name),
    )


def _separated(spark: SparkSession, path: str, separator: str) -> DataFrame:
    return spark.read.csv(path, header=True, sep=separator)  # ids stay as they are written


_READ: dict[str, Callable[[SparkSession, str, str], DataFrame]] = {
    "parquet": lambda spark, path, _: spark.read.parquet(path),
    "orc": lambda spark, path, _: spark.read.orc(path),
    "jsonl": lambda spark, path, _: spark.read.json(path),
    "csv": lambda spark, path, _: _separated(spark, path, ","),
    "tsv": lambda spark, path, _: _separated(spark, path, "\t"),
    "table": lambda spark, path, _: spark.table(path),
    "trec": _trec,
}
