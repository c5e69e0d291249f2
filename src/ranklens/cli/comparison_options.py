"""How runs are compared: the options that ``compare`` and ``report`` share, and the comparison that they ask for."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import options
from ranklens.cli.evaluate import DEFAULT_MEASURES
from ranklens.cli.reading import MatchOptions, progress, queries_in_common
from ranklens.comparison.options import USUAL, CompareOptions
from ranklens.data.files.collection import paths_of
from ranklens.data.files.hashes import Inputs
from ranklens.data.qrels import with_intents
from ranklens.errors import InputError, RankLensError, RankLensWarning, warn
from ranklens.options import Description, descriptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ranklens.comparison.comparison import Comparison
    from ranklens.data.qrels import Qrels


# Each option, with its annotation and its default. Those of ``ranklens.compare`` have their names in a command; without a default they
# take text.
_SETTINGS: dict[str, tuple[Any, Any]] = {
    "measures": (options.Measures, DEFAULT_MEASURES),
    **{
        described.flags[0].removeprefix("--") if described.flags else name: (
            Annotated[str | None if default is None else type(default), described],
            default,
        )
        for name, described in descriptions(CompareOptions).items()
        for default in [getattr(USUAL, name)]
    },
    "by_team": (
        Annotated[
            str | None,
            Description(
                "Also show the best run of each team: by the beginning of its name (tag), or a table with columns system and team.",
                metavar="tag|FILE",
            ),
        ],
        None,
    ),
    "skip_bad": (options.SkipBad, False),
    "intents": (options.Intents, None),
    "machine": (options.Machine, None),
    "qrels_format": (options.QrelsFormat, None),
    "run_format": (options.RunFormat, None),
    "places": (options.Map, None),
    "match": (options.Match, None),
}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with all options that say how runs are compared in place of its argument ``settings``."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        settings = {name: arguments.pop(name, default) for name, (_, default) in _SETTINGS.items()}
        command(**arguments, settings=settings)

    signature, only = inspect.signature(command, eval_str=True), inspect.Parameter.KEYWORD_ONLY
    own = [one.replace(kind=only) for one in signature.parameters.values() if one.name != "settings"]
    added = [
        inspect.Parameter(name, only, default=default, annotation=kind)
        for name, (kind, default) in _SETTINGS.items()
    ]
    vars(run)["__signature__"] = signature.replace(parameters=[*own, *added])
    return run


def compare_files(
    qrels: str,
    runs: Sequence[str],
    *,
    measures: Sequence[str],
    seed: int,
    by: str | None = None,
    cluster: str | None = None,
    qrels_format: str | None = None,
    run_format: str | None = None,
    places: Sequence[str] | None = None,
    match: str | None = None,
    by_team: str | None = None,
    skip_bad: bool = False,
    intents: str | None = None,
    machine: str | None = None,
    **settings: Any,
) -> Comparison:
    """Compare runs given as PATH or NAME=PATH."""
    from ranklens.comparison.compare import compare

    # The tests will need SciPy: load it while the files are read.
    Thread(target=import_module, args=("scipy.special",), daemon=True).start()
    bad: dict[str, RankLensError] = {}
    reading = MatchOptions(qrels_format, run_format, list(places or ()), match)
    read = Inputs.of([*inputs(qrels, (), by, intents, machine), *inputs(qrels, (), cluster)])
    data = reading.open(qrels, runs, bad if skip_bad else None)
    judgments = data.qrels if intents is None else with_intents(data.qrels, intents)
    for name, error in bad.items():
        warn(RankLensWarning(f"{name} was skipped: ", *error.parts))
    column, table = _column("by", by, qrels, judgments)
    belonging = clusters_in(cluster, qrels, judgments)
    with queries_in_common(others=False):
        comparison = compare(
            judgments,
            data.runs,
            measures,
            by=column,
            clusters=belonging,
            queries=table,
            rng=seed,
            match=reading.matching,
            teams=by_team,
            machine=machine,
            skip_bad=skip_bad,
            progress=progress,
            **settings,
        )
    return replace(comparison, inputs=Inputs.merged([read, comparison.inputs]))


def inputs(qrels: str, runs: Sequence[str], by: str | None, *more: str | None) -> list[str | None]:
    """The files that are read."""
    table = by.rpartition(":")[0] if by is not None else None
    return [qrels, *paths_of(runs), table or None, *more]


def clusters_in(cluster: str | None, qrels: str, judgments: Qrels) -> Any:
    """The cluster of each query; the name of a column where a golden set has it."""
    from ranklens.comparison.slices import values_of

    column, table = _column("cluster", cluster, qrels, judgments)
    return column if table is None else values_of(str(column), table)


def _column(option: str, by: str | None, qrels: str, judgments: Qrels) -> tuple[str | None, str | None]:
    """The column and the file that holds it; a golden set has columns itself."""
    if by is None or (":" not in by and judgments.fields is not None):
        return by, None
    file, _, column = by.rpartition(":")
    if not file and Path(qrels).is_dir():
        file = qrels
    if not file or not column:
        raise InputError(f"--{option} {by}: expected FILE:COLUMN, e.g. queries.csv:language.")
    return column, file
