"""What ``compare`` and ``report`` share: the options that say how runs are compared, and the comparison of files."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranklens.cli import options
from ranklens.errors import InputError, RankLensWarning
from ranklens.files.runs import run_names_by_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ranklens.comparison.systems import Comparison

_TESTS = "randomization, t, wilcoxon, sign, bootstrap, welch, tukey or tukey-randomized."
_BY = "FILE:COLUMN, to compare by groups of queries too; COLUMN alone is looked up in a BEIR folder."

# Options, each with its default, that `ranklens.compare` takes by the same names; but for `by`, `seed` and the formats.
_SETTINGS: dict[str, tuple[Any, Any]] = {
    "measures": (options.Measures, options.DEFAULT_MEASURES),
    "baseline": (
        Annotated[
            str | None, typer.Option(help="A run that all others are compared with; otherwise all pairs.")
        ],
        None,
    ),
    "test": (Annotated[str, typer.Option(help=_TESTS)], "randomization"),
    "correction": (
        Annotated[str, typer.Option(help="For several pairs: holm, bonferroni, hochberg, bh, by or none.")],
        "holm",
    ),
    "alpha": (
        Annotated[float, typer.Option(help="How often a difference may be claimed by mistake.")],
        0.05,
    ),
    "level": (Annotated[float, typer.Option(help="Of the intervals.")], 0.95),
    "by": (Annotated[str | None, typer.Option(help=_BY)], None),
    "seed": (Annotated[int, typer.Option(min=0, help="For what is random.")], 0),
    "qrels_format": (options.QrelsFormat, None),
    "run_format": (options.RunFormat, None),
}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with all options that say how runs are compared in place of its argument ``settings``."""
    return options.with_options(command, "settings", _SETTINGS, dict)


def compare_files(
    qrels: str,
    runs: Sequence[str],
    *,
    measures: str,
    by: str | None,
    seed: int,
    qrels_format: str | None,
    run_format: str | None,
    **settings: Any,
) -> Comparison:
    """Compare runs given as PATH or NAME=PATH."""
    from ranklens.comparison.systems import compare

    # The tests will need SciPy: load it while the files are read.
    Thread(target=import_module, args=("scipy.special",), daemon=True).start()
    column, table = _column(by, qrels)
    gold, read = _read(qrels, run_names_by_tag(runs), qrels_format, run_format)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankLensWarning)  # a comparison keeps them as cautions
        return compare(
            gold,
            read,
            measures,
            by=column,
            queries=table,
            rng=seed,
            progress=options.progress,
            **settings,
        )


def _column(by: str | None, qrels: str) -> tuple[str | None, str | None]:
    """The column and the file that holds it."""
    if by is None:
        return None, None
    file, _, column = by.rpartition(":")
    if not file and Path(qrels).is_dir():
        file = qrels
    if not file or not column:
        raise InputError(f"--by {by}: give the file and the column, as in queries.csv:language.")
    return column, file


def _read(
    qrels: str, named: dict[str, str], qrels_format: str | None, run_format: str | None
) -> tuple[Any, dict[str, Any]]:
    from ranklens.files import formats
    from ranklens.files.sources import kept

    place = kept(qrels)
    if (qrels_format or formats.recognise(place, "qrels")) == "svmlight":
        pairs = {name: formats.read_pair(place, path, "svmlight") for name, path in named.items()}
        return next(iter(pairs.values()))[0], {name: run for name, (_, run) in pairs.items()}
    gold = formats.read_qrels(place, qrels_format)
    return gold, {name: formats.stream_run(path, run_format) for name, path in named.items()}
