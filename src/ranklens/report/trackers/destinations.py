"""Which tracker is meant, and what logs to it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens import words
from ranklens.errors import InputError, MissingExtraError, nearest
from ranklens.report.trackers.content import Content, content_of

if TYPE_CHECKING:
    from types import ModuleType

    from ranklens.scores import Scores

TRACKERS = ("mlflow", "wandb", "tensorboard")
_INSTALLED_BY = {"mlflow": "mlflow", "wandb": "wandb", "tensorboard": "tensorboardX"}
Log = Callable[[Content], None]


def log_to(
    scores: Scores, tracker: object, *, step: int | None = None, name: str = "", report: bool = True
) -> None:
    """Log scores; see :meth:`ranklens.Scores.log_to`."""

    def write_report(path: Path) -> None:
        from ranklens.comparison.compare import compare_scores

        compare_scores({name or "run": scores}).to_html(path)

    find(tracker)(content_of({name: scores}, step=step, report=write_report if report else None))


def find(tracker: object, folder: Path | None = None) -> Log:
    """What logs to a tracker: a name, ``tensorboard:FOLDER``, a W&B run, or a SummaryWriter.

    A relative ``FOLDER`` starts at ``folder``.
    """
    from ranklens.report.trackers import mlflow, tensorboard, wandb

    if isinstance(tracker, str):
        kind, _, place = check(tracker).partition(":")
        if kind == "tensorboard":
            # PyTorch's SummaryWriter only if PyTorch is loaded, because loading it takes seconds.
            modules = ["tensorboardX", "torch.utils.tensorboard"]
            package = _imported(kind, *(modules[::-1] if "torch" in sys.modules else modules))
            return tensorboard.in_folder(package.SummaryWriter, (folder or Path()) / (place or "runs"))
        return mlflow.into(_imported(kind)) if kind == "mlflow" else wandb.into(_imported(kind), None)
    if isinstance(tracker, tensorboard.Writer):
        return tensorboard.into(tracker)
    if isinstance(tracker, wandb.Run):
        return wandb.into(_imported("wandb"), tracker)
    raise InputError(
        f"The tracker is {words.kind(tracker)}; pass {', '.join(map(repr, TRACKERS))}, a W&B run, or a SummaryWriter."
    )


def check(tracker: str) -> str:
    """The same name, if there is such a tracker."""
    kind, colon, place = tracker.partition(":")
    if kind not in TRACKERS or (colon and (kind != "tensorboard" or not place)):
        raise InputError(
            f"There is no tracker {tracker!r}: {nearest(kind, TRACKERS)} TensorBoard may have a folder: tensorboard:logs."
        )
    return tracker


def _imported(kind: str, *modules: str) -> ModuleType:
    """The package of a tracker, or the first of these modules that is installed."""
    for module in modules or (kind,):
        with suppress(ImportError):
            return import_module(module)
    package = _INSTALLED_BY[kind]
    raise MissingExtraError(
        f"Logging to {kind} needs {package}, which is not installed: pip install {package}"
    )
