"""The Python processes of executors, which run many tasks one after the other."""

from __future__ import annotations

import gc
import re
import sys
import zipimport
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from ranklens.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_REASON = re.compile(
    r"No module named '[\w.]+'|Cannot run program \"[^\"]+\"|Python in worker has different version: [\d.]+ than that in driver: [\d.]+"
)


def require_ranklens(spark: SparkSession) -> None:
    """Refuse a session whose executors cannot import RankLens, before the first job and not only once rows go to them."""
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "Spark hands rows over as Arrow batches, which needs pyarrow: pip install 'ranklens[spark]'"
        ) from None
    from pyspark.errors import PySparkException

    try:
        context = spark.sparkContext
    except PySparkException:  # Spark Connect does not tell where its executors are
        context = None
    if context is None or not context.master.startswith("local") or context.pythonExec != sys.executable:
        _probe(spark)


@cache  # one small job per session
def _probe(spark: SparkSession) -> None:
    try:
        spark.range(1).mapInArrow(_with_ranklens, "id long").collect()
    except Exception as error:  # noqa: BLE001  Spark's own, Py4J's, or those of gRPC
        reason = _REASON.search(str(error)) or re.match(".*", str(error))
        raise InputError(
            f"The Python of Spark's executors cannot run RankLens ({reason and reason[0]}). Before the session starts, set PYSPARK_PYTHON to "
            "a Python with RankLens; on one machine: os.environ['PYSPARK_PYTHON'] = sys.executable"
        ) from None


def _with_ranklens(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from ranklens.spark import tasks  # noqa: F401  with all that it needs

    yield from batches


@cache
def settle() -> None:
    """Make further tasks of this process cheaper; for the end of a task, when all that tasks need is loaded.

    Before each task PySpark reads the directory of its own archive again, once for each of its packages, and after each it goes
    through all objects to collect garbage: together a tenth of a second, in which 100,000 rows are judged. Neither finds anything,
    since the archive does not change, and modules are never garbage.
    """
    from pyspark import TaskContext

    if TaskContext.get() is None:  # on the driver, whose process belongs to someone else
        return
    gc.freeze()
    archive = getattr(sys.modules["pyspark"].__loader__, "archive", None)
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter) and finder.archive == archive:
            del sys.path_importer_cache[path]  # found again when something is imported from there
