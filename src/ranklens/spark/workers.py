"""The Python processes of executors, which run many tasks one after the other."""

from __future__ import annotations

import gc
import sys
import zipimport
from functools import cache


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
