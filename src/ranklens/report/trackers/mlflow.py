"""Into MLflow: metrics, tags, and tables and the report as artifacts of the active run, or of a new one."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.report.trackers.content import REPORT, Content

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

FOLDER = "ranklens"  # of artifacts
_LONGEST = 5000  # letters of a tag


def into(mlflow: ModuleType) -> Callable[[Content], None]:
    """What logs into the active run; without one, into a run of its own that is ended again."""

    def log(content: Content) -> None:
        with nullcontext() if mlflow.active_run() is not None else mlflow.start_run():
            mlflow.log_metrics(dict(content.numbers), step=content.step)
            mlflow.set_tags(
                {
                    f"ranklens.{name.replace('/', '.')}": note[:_LONGEST]
                    for name, note in content.notes.items()
                }
            )
            for name, table in content.tables.items():
                mlflow.log_text(table.write_csv(), f"{FOLDER}/{content.named(f'{name}.csv')}")
            if content.report is None:
                return
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / content.named(REPORT)
                content.report(path)
                mlflow.log_artifact(str(path), FOLDER)

    return log
