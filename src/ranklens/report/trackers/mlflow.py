"""Into MLflow: metrics, tags, and tables and the report as artifacts of the active run, or of a new one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ranklens.report.trackers.content import REPORT, Content

FOLDER = "ranklens"  # of artifacts
_LONGEST = 5000  # letters of a tag


def into(mlflow: Any) -> Callable[[Content], None]:
    """What logs into the active run; without one, into a run of its own that is ended again."""

    def log(content: Content) -> None:
        if mlflow.active_run() is not None:
            _log(mlflow, content)
            return
        with mlflow.start_run():
            _log(mlflow, content)

    return log


def _log(mlflow: Any, content: Content) -> None:
    mlflow.log_metrics(dict(content.numbers), step=content.step)
    mlflow.set_tags(
        {f"ranklens.{name.replace('/', '.')}": note[:_LONGEST] for name, note in content.notes.items()}
    )
    for name, table in content.tables.items():
        mlflow.log_text(table.write_csv(), f"{FOLDER}/{content.named(f'{name}.csv')}")
    if content.report is not None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / content.named(REPORT)
            content.report(path)
            mlflow.log_artifact(str(path), FOLDER)
