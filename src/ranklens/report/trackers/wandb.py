"""Into Weights & Biases: numbers and tables of the active run, or of a new one, and the report as an artifact."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ranklens.report.trackers.content import REPORT, Content

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from types import ModuleType

PROJECT = "ranklens"  # if WANDB_PROJECT is not set
_ARTIFACT = "ranklens-report"


@runtime_checkable
class Run(Protocol):
    """A run of W&B."""

    summary: MutableMapping[str, object]

    def log(self, data: Mapping[str, object], /, *, step: int | None) -> object: ...

    def log_artifact(self, artifact: object, /) -> object: ...


def into(wandb: ModuleType, run: Run | None) -> Callable[[Content], None]:
    """A function that logs into a run, by default the active one; without one, into a new run, which it finishes."""

    def log(content: Content) -> None:
        active: Run | None = run if run is not None else wandb.run
        project = os.environ.get("WANDB_PROJECT", PROJECT)
        with nullcontext(active) if active is not None else wandb.init(project=project) as logging_run:
            tables = {
                name: wandb.Table(columns=table.columns, data=[list(row) for row in table.iter_rows()])
                for name, table in content.tables.items()
            }
            logging_run.log({**content.numbers, **tables}, step=content.step)
            logging_run.summary.update(dict(content.notes))
            with content.written_report(REPORT) as path:
                if path is not None:
                    metadata = {} if content.step is None else {"step": content.step}
                    artifact = wandb.Artifact(_ARTIFACT, type="report", metadata=metadata)
                    artifact.add_file(str(path))
                    logging_run.log_artifact(artifact)

    return log
