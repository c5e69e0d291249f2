"""How runs are compared: the options that ``compare`` and ``report`` share, and the comparison that they ask for."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import options
from ranklens.cli.bars import progress
from ranklens.cli.evaluate import DEFAULT_MEASURES
from ranklens.cli.mismatch import only_mismatches
from ranklens.cli.reading import MatchOptions
from ranklens.data.files.collection import paths_of, with_intents
from ranklens.data.files.hashes import Inputs
from ranklens.errors import InputError, RankLensError, RankLensWarning, warn
from ranklens.options import Description

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ranklens.comparison.comparison import Comparison

_TESTS = "Significance test: randomization, t, wilcoxon, sign, mcnemar, bootstrap, welch, tukey or tukey-randomized; by default randomization, and mcnemar for measures that are 0 or 1."
_CLUSTER = "Queries that belong together, by FILE:COLUMN; with a BEIR folder, COLUMN is enough. Tests and intervals are then by cluster."
_BY = "Also compare slices of the queries, by FILE:COLUMN; with a BEIR folder, COLUMN is enough."

# Options, each with its default, that `ranklens.compare` takes by the same names, except `by`, `seed` and the formats.
_SETTINGS: dict[str, tuple[Any, Any]] = {
    "measures": (options.Measures, DEFAULT_MEASURES),
    "baseline": (
        Annotated[
            str | None,
            Description("Compare every run with this one; without it, all pairs are compared."),
        ],
        None,
    ),
    "test": (Annotated[str | None, Description(_TESTS)], None),
    "correction": (
        Annotated[
            str,
            Description("Correction for multiple pairs: holm, bonferroni, hochberg, hommel, bh, by or none."),
        ],
        "holm",
    ),
    "alpha": (
        Annotated[float, Description("Significance level.")],
        0.05,
    ),
    "level": (Annotated[float, Description("Confidence level.")], 0.95),
    "primary": (
        Annotated[
            str | None,
            Description(
                "The measure that a recommendation rests on; the others are described. Default: the first."
            ),
        ],
        None,
    ),
    "family": (
        Annotated[str, Description("Correct over the pairs of each measure (measure) or of all (all).")],
        "measure",
    ),
    "by": (Annotated[str | None, Description(_BY)], None),
    "margin": (
        Annotated[
            str | None,
            Description("The largest difference that does not matter: a number, or a share such as 2%."),
        ],
        None,
    ),
    "cluster": (Annotated[str | None, Description(_CLUSTER, metavar="FILE:COLUMN")], None),
    "intervals": (
        Annotated[
            str,
            Description("Intervals of differences: separate, or simultaneous, which agree with the tests."),
        ],
        "separate",
    ),
    "seed": (Annotated[int, Description("Random seed.", least=0)], 0),
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
    "qrels_format": (options.QrelsFormat, None),
    "run_format": (options.RunFormat, None),
    "places": (options.Map, None),
    "match": (options.Match, None),
}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with all options that say how runs are compared in place of its argument ``settings``."""
    return options.with_options(command, "settings", _SETTINGS, dict)


def compare_files(
    qrels: str,
    runs: Sequence[str],
    *,
    measures: Sequence[str],
    by: str | None,
    seed: int,
    cluster: str | None = None,
    qrels_format: str | None,
    run_format: str | None,
    places: Sequence[str] | None,
    match: str | None,
    by_team: str | None = None,
    skip_bad: bool = False,
    intents: str | None = None,
    **settings: Any,
) -> Comparison:
    """Compare runs given as PATH or NAME=PATH."""
    from ranklens.comparison.compare import compare

    # The tests will need SciPy: load it while the files are read.
    Thread(target=import_module, args=("scipy.special",), daemon=True).start()
    bad: dict[str, RankLensError] = {}
    reading = MatchOptions(qrels_format, run_format, list(places or ()), match)
    read = Inputs.of([*inputs(qrels, (), by, intents), *inputs(qrels, (), cluster)])
    data = with_intents(reading.open(qrels, runs, bad if skip_bad else None), intents)
    for name, error in bad.items():
        warn(RankLensWarning(f"{name} was skipped: ", *error.parts))
    column, table = _column("by", by, qrels, data.qrels)
    belonging = _clusters(cluster, qrels, data.qrels)
    with only_mismatches():
        found = compare(
            data.qrels,
            data.runs,
            measures,
            by=column,
            clusters=belonging,
            queries=table,
            rng=seed,
            match=reading.matching,
            teams=by_team,
            skip_bad=skip_bad,
            progress=progress,
            **settings,
        )
    return replace(found, inputs=Inputs.merged([read, found.inputs]))


def inputs(qrels: str, runs: Sequence[str], by: str | None, *more: str | None) -> list[str | None]:
    """The files that are read."""
    table = by.rpartition(":")[0] if by is not None else None
    return [qrels, *paths_of(runs), table or None, *more]


def _clusters(cluster: str | None, qrels: str, judgments: Any) -> Any:
    """The cluster of each query; the name of a column where a golden set has it."""
    from ranklens.comparison.slices import values_of

    column, table = _column("cluster", cluster, qrels, judgments)
    return column if table is None else values_of(str(column), table)


def _column(option: str, by: str | None, qrels: str, judgments: Any) -> tuple[str | None, str | None]:
    """The column and the file that holds it; a golden set has columns itself."""
    if by is None or (":" not in by and hasattr(judgments, "fields")):
        return by, None
    file, _, column = by.rpartition(":")
    if not file and Path(qrels).is_dir():
        file = qrels
    if not file or not column:
        raise InputError(f"--{option} {by}: expected FILE:COLUMN, e.g. queries.csv:language.")
    return column, file
