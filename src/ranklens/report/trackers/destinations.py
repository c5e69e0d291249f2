"""Which tracker is meant, and what logs to it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens import words
from ranklens.errors import InputError, MissingExtraError, nearest
from ranklens.report.trackers.content import Content, content_of

if TYPE_CHECKING:
    from ranklens.scores import Scores

TRACKERS = ("mlflow", "wandb", "tensorboard")
_INSTALLED_BY = {"mlflow": "mlflow", "wandb": "wandb", "tensorboard": "tensorboardX"}
Log = Callable[[Content], None]


def log_to(
    scores: Scores, tracker: Any, *, step: int | None = None, name: str = "", report: bool = True
) -> None:
    """Log scores; see :meth:`ranklens.Scores.log_to`."""
    destination = find(tracker)
    destination(content_of({name: scores}, step=step, report=_report(scores, name) if report else None))


def _report(scores: Scores, name: str) -> Callable[[Path], Any]:
    from ranklens.comparison.compare import compare_scores

    return lambda path: compare_scores({name or "run": scores}).to_html(path)


def find(tracker: Any, folder: Path | None = None) -> Log:
    """What logs to a tracker: a name, ``tensorboard:FOLDER``, a W&B run, or a SummaryWriter.

    A relative ``FOLDER`` starts at ``folder``.
    """
    if not isinstance(tracker, str):
        return _of_object(tracker)
    kind, _, place = tracker.partition(":")
    check(tracker)
    if kind == "tensorboard":
        from ranklens.report.trackers import tensorboard

        logs = (folder or Path()) / (place or "runs")
        return tensorboard.in_folder(_writer_class(), logs)
    module = _imported(kind)
    if kind == "mlflow":
        from ranklens.report.trackers import mlflow

        return mlflow.into(module)
    from ranklens.report.trackers import wandb

    return wandb.into(module, None)


def check(tracker: str) -> str:
    """The same name, if it is one that is known."""
    kind, colon, place = tracker.partition(":")
    if kind not in TRACKERS or (colon and (kind != "tensorboard" or not place)):
        raise InputError(
            f"There is no tracker {tracker!r}: {nearest(kind, TRACKERS)} TensorBoard may have a folder: tensorboard:logs."
        )
    return tracker


def _of_object(tracker: Any) -> Log:
    if hasattr(tracker, "add_scalar") and hasattr(tracker, "add_text"):
        from ranklens.report.trackers import tensorboard

        return tensorboard.into(tracker)
    if hasattr(tracker, "log") and hasattr(tracker, "log_artifact") and hasattr(tracker, "summary"):
        from ranklens.report.trackers import wandb

        return wandb.into(_imported("wandb"), tracker)
    raise InputError(
        f"The tracker is {words.kind(tracker)}; pass {', '.join(map(repr, TRACKERS))}, a W&B run, or a SummaryWriter."
    )


def _imported(kind: str) -> Any:
    module = _if_installed(kind)
    if module is None:
        raise _missing(kind)
    return module


def _if_installed(place: str) -> Any:
    try:
        return import_module(place)
    except ImportError:
        return None


def _writer_class() -> Any:
    """A SummaryWriter; PyTorch's only if PyTorch is loaded, because loading it takes seconds."""
    places = ["tensorboardX", "torch.utils.tensorboard"]
    ordered = reversed(places) if "torch" in sys.modules else places
    found = next((module for place in ordered if (module := _if_installed(place)) is not None), None)
    if found is None:
        raise _missing("tensorboard")
    return found.SummaryWriter


def _missing(kind: str) -> MissingExtraError:
    package = _INSTALLED_BY[kind]
    return MissingExtraError(
        f"Logging to {kind} needs {package}, which is not installed: pip install {package}"
    )
