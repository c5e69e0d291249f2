"""Into Weights & Biases: numbers and tables of the active run, or of a new one, and the report as an artifact."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ranklens.report.trackers.content import REPORT, Content

PROJECT = "ranklens"  # if WANDB_PROJECT is not set
_ARTIFACT = "ranklens-report"


def into(wandb: Any, run: Any) -> Callable[[Content], None]:
    """What logs into a run, by default the active one; without one, into a run of its own that is finished again."""

    def log(content: Content) -> None:
        active = run if run is not None else wandb.run
        if active is not None:
            _log(wandb, active, content)
            return
        import os

        with wandb.init(project=os.environ.get("WANDB_PROJECT", PROJECT)) as own:
            _log(wandb, own, content)

    return log


def _log(wandb: Any, run: Any, content: Content) -> None:
    tables = {
        name: wandb.Table(columns=table.columns, data=[list(row) for row in table.iter_rows()])
        for name, table in content.tables.items()
    }
    run.log({**content.numbers, **tables}, step=content.step)
    run.summary.update(dict(content.notes))
    if content.report is not None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / REPORT
            content.report(path)
            artifact = wandb.Artifact(
                _ARTIFACT, type="report", metadata={} if content.step is None else {"step": content.step}
            )
            artifact.add_file(str(path))
            run.log_artifact(artifact)
