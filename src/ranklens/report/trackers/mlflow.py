"""Into MLflow: metrics, tags, and tables and the report as artifacts of the active run, or of a new one."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from ranklens.report.trackers.content import REPORT, Content

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

FOLDER = "ranklens"  # of artifacts
_LONGEST = 5000  # letters of a tag


def into(mlflow: ModuleType) -> Callable[[Content], None]:
    """A function that logs into the active run; without one, into a new run, which it ends."""

    def log(content: Content) -> None:
        with nullcontext() if mlflow.active_run() is not None else mlflow.start_run():
            mlflow.log_metrics(dict(content.numbers), step=content.step)
            notes = {f"ranklens.{name.replace('/', '.')}": note for name, note in content.notes.items()}
            mlflow.set_tags({name: note[:_LONGEST] for name, note in notes.items()})
            for name, table in content.tables.items():
                mlflow.log_text(table.write_csv(), f"{FOLDER}/{content.named(f'{name}.csv')}")
            with content.written_report(content.named(REPORT)) as path:
                if path is not None:
                    mlflow.log_artifact(str(path), FOLDER)

    return log
