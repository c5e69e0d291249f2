"""Several runs combined into one: :func:`fuse`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.data.files.output import naming
from ranklens.data.files.temporary import temporary_folder
from ranklens.data.qrels import Qrels
from ranklens.data.readers import mappings
from ranklens.data.readers.objects import is_path
from ranklens.data.run import Run, read_run
from ranklens.errors import Given, InputError, nearest, warn
from ranklens.fusion import lists as side_by_side
from ranklens.fusion.lists import Lists
from ranklens.fusion.methods import METHODS, method
from ranklens.fusion.norms import BOUNDED, INVERTED, norm_name, normalised
from ranklens.fusion.trained import TRAINED, Fitted, fit
from ranklens.judging.assembly import judge
from ranklens.metrics import Measure, parse_many
from ranklens.options import option
from ranklens.words import counted, either, several

if TYPE_CHECKING:
    import polars as pl

Weights: TypeAlias = "Sequence[float] | Mapping[str, float]"
_MISSING, _QUERIES = ("nothing", "lowest"), ("any", "common", "error")
_SHARES = 64  # of the queries, if the runs are too large to be held
_IN_MEMORY = 1 << 29  # bytes of all runs
_OTHER_SCALE = 10  # times as large: scores that no sum should mix


@dataclass(frozen=True)
class FuseOptions:
    """How runs are fused; :func:`fuse` explains each option."""

    method: str = option("rrf", f"How to fuse: {', '.join([*METHODS, *TRAINED])}.")
    norm: str | None = option(
        None,
        "Put the scores of all runs on one scale first: min-max, min-max-inverted (distances), max, sum, z-score, rank, borda, "
        "or theoretical with --bounds.",
    )
    missing: str = option(
        "nothing",
        "What a run adds to a document that it lacks: nothing, or as much as to its lowest document (lowest).",
        choices=_MISSING,
    )
    queries: str = option(
        "any",
        "Queries that some runs lack: fuse the other runs (any), leave them out (common), or stop (error).",
        choices=_QUERIES,
    )
    window: int | None = option(None, "Use only the first N documents of each run.", least=1, metavar="N")
    depth: int | None = option(
        None, "Keep only the first N documents of the fused run.", least=1, metavar="N"
    )

    def __post_init__(self) -> None:
        for name, choices in (("missing", _MISSING), ("queries", _QUERIES)):
            if getattr(self, name) not in choices:
                raise InputError(
                    Given(name, getattr(self, name)), f" is not allowed; it is {either(choices)}."
                )
        for name in ("window", "depth"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(Given(name, value), " is not allowed; it is a whole number from 1.")


@dataclass(frozen=True)
class Fusion:
    """A way to fuse the runs of these names, and what it met on the way."""

    runs: tuple[str, ...]
    score: Callable[[Lists], FloatArray]
    described: str
    options: FuseOptions
    by_scores: bool
    bounds: FloatArray | None = None
    met: Met = field(default_factory=lambda: Met(), compare=False)  # noqa: PLW0108  defined below

    def __call__(self, lists: Lists) -> tuple[Lists, FloatArray]:
        """The candidates and their fused scores; queries and documents that a run lacks are treated as the options say."""
        if self.options.window is not None:
            lists = lists.first(self.options.window)
        lacking = lists.lacking
        self.met.note(lists, lacking)
        if lacking.any():
            if self.options.queries == "error":
                query, run = np.argwhere(lacking)[0]
                raise InputError(
                    f"the run {self.runs[run]!r} has no documents for query {lists.queries[query]!r}; pass queries='any' to fuse what there "
                    "is, or queries='common' to leave such queries out."
                )
            if self.options.queries == "common":
                complete = ~np.asarray(lacking.any(axis=1))
                lists = lists.where(complete[lists.query])
        lists = normalised(lists, norm_name(self.options.norm or ""), self.bounds)
        if self.options.missing == "lowest":
            lists = lists.filled()
        return lists, self.score(lists)

    @property
    def sign(self) -> int:
        """-1 for distances, where the lowest is best."""
        return -1 if norm_name(self.options.norm or "") == INVERTED else 1

    def order(self, lists: Lists, fused: FloatArray) -> IntArray:
        """The rows from the best to the worst of each query, as deep as asked for."""
        order = lists.order(fused)
        if self.options.depth is None:
            return order
        place = np.arange(len(order)) - lists.starts.repeat(np.diff(lists.starts, append=len(order)))
        return order[place < self.options.depth]

    @property
    def notes(self) -> str:
        """What was fused, and what happened to queries and documents that a run lacks."""
        return self.met.in_words(self)


@dataclass
class Met:
    """What was fused, repeated or missing, counted while the runs are read."""

    queries: int = 0
    repeated: int = 0
    lacking: dict[int, tuple[int, str]] = field(
        default_factory=dict
    )  # by run: how many queries, and one of them
    largest: FloatArray | None = None  # score of each run

    def note(self, lists: Lists, lacking: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
        """Count the queries of one block."""
        self.queries += len(lists.queries)
        self.repeated += lists.repeated
        for run in np.flatnonzero(lacking.any(axis=0)).tolist():
            number, example = self.lacking.get(run, (0, lists.queries[int(np.argmax(lacking[:, run]))]))
            self.lacking[run] = number + int(lacking[:, run].sum()), example
        if len(lists.scores):
            largest = np.nan_to_num(np.fmax.reduce(np.abs(lists.scores), axis=0))
            self.largest = largest if self.largest is None else np.maximum(self.largest, largest)

    def in_words(self, fusion: Fusion) -> str:
        """Three sentences at most."""
        parts = [
            f"{counted(self.queries, 'query', 'queries')} of {counted(len(fusion.runs), 'run')} fused by {fusion.described}"
        ]
        what = "adds nothing" if fusion.options.missing == "nothing" else "counts as the last of that run"
        parts.append(f"a document that a run lacks {what}")
        parts.append("ties by document id, descending")
        if self.repeated:
            parts.append(f"{counted(self.repeated, 'repeated document')}: the best rank is used")
        for run, (number, example) in sorted(self.lacking.items()):
            done = "left out" if fusion.options.queries == "common" else "fused from the other runs"
            parts.append(
                f"{counted(number, 'query', 'queries')} without documents from {fusion.runs[run]} (e.g. {example}), {done}"
            )
        return "; ".join(parts) + "."

    def warn(self, fusion: Fusion) -> None:
        """Warn of what may be a mistake."""
        lost = {fusion.runs[run]: number for run, (number, _) in self.lacking.items()}
        if lost:
            done = "left out" if fusion.options.queries == "common" else "fused from the other runs"
            shown = several([f"{name} lacks {number}" for name, number in lost.items()])
            warn(f"Not every run has every query: {shown} of {self.queries:,}. These queries are {done}.")
        if fusion.by_scores and not fusion.options.norm and self.largest is not None:
            low, high = self.largest.argmin(), self.largest.argmax()
            if self.largest[low] > 0 and self.largest[high] / self.largest[low] > _OTHER_SCALE:
                warn(
                    f"The scores of {fusion.runs[high]} go up to {self.largest[high]:g}, those of {fusion.runs[low]} to "
                    f"{self.largest[low]:g}, and {fusion.described} adds them as they are. norm='min-max' puts them on one scale."
                )


def fuse(
    runs: object,
    method: str | Fitted = "rrf",
    norm: str | None = None,
    weights: Weights | None = None,
    depth: int | None = None,
    *,
    window: int | None = None,
    missing: str = "nothing",
    queries: str = "any",
    bounds: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    **params: float,
) -> Any:
    """Combine several runs into one.

    ``runs`` is ``{name: run}`` or a list of runs, of any shape that :func:`ranklens.evaluate` takes. If all are dicts, the result is
    ``{query: {document: score}}``, best first; otherwise a Polars frame ``query, doc, score``. ``method`` is one of
    :data:`ranklens.fusion.METHODS`, or a fitted one (:func:`fit_fusion`); its parameters follow (``k=60``). ``norm`` puts the scores of each
    run and query on one scale first; ``theoretical`` uses the ``bounds`` of the scores: (-1, 1) for cosines. ``weights`` are one number per
    run. ``window`` uses only the first documents of each run, ``depth`` keeps only the first of the result.

    A document that a run lacks adds ``"nothing"``, or counts as the run's ``"lowest"``. ``queries`` that a run lacks are fused from the others
    (``"any"``, with a warning), left out (``"common"``), or an ``"error"``. Ties are broken by document id, descending.

    >>> fuse({"bm25": {"q": ["a", "b", "c"]}, "dense": {"q": ["b", "d"]}})["q"]
    {'b': 0.03252247488101534, 'a': 0.01639344262295082, 'd': 0.016129032258064516, 'c': 0.015873015873015872}
    """
    opened = opened_runs(runs)
    name = method if isinstance(method, str) else method.method
    options = FuseOptions(name, norm, missing, queries, window, depth)
    fusion = fusion_of(tuple(opened), method, options, weights=weights, bounds=bounds, params=params)
    in_dicts = all(run.by_query is not None for run in opened.values())
    result: Any = _as_dict(fusion, opened) if in_dicts else _as_frame(fused_tables(fusion, opened))
    fusion.met.warn(fusion)
    return result


def fit_fusion(qrels: object, runs: object, method: str, **params: int) -> Fitted:
    """Fit a trained method (posfuse, slidefuse, probfuse, segfuse, mapfuse, bayesfuse) on judged queries.

    >>> runs = {"a": {"q": ["x", "y"]}, "b": {"q": ["y", "z"]}}
    >>> fitted = fit_fusion({"q": {"y"}}, runs, "posfuse")
    >>> fuse(runs, fitted)["q"]
    {'y': 2.0, 'z': 0.0, 'x': 0.0}
    """
    return fit(method, {name: judge(qrels, run) for name, run in opened_runs(runs).items()}, params)


def opened_runs(runs: object) -> dict[str, Run]:
    """Runs by name, read."""
    if isinstance(runs, Mapping):
        named = {str(name): run for name, run in runs.items()}
    elif isinstance(runs, Sequence) and not isinstance(runs, (str, bytes)):
        stems = [Path(run).stem if is_path(run) else str(number) for number, run in enumerate(runs, 1)]
        named = dict(zip(stems, runs, strict=True))
        if len(named) < len(runs):
            named = {str(number): run for number, run in enumerate(runs, 1)}
    else:
        raise InputError(f"runs is {type(runs).__name__}; pass {{name: run}} or a list of runs.")
    if len(named) < 2:
        raise InputError(f"fusion takes two or more runs, and there is {counted(len(named), 'run')}.")
    no_judgments = Qrels({})
    return {name: read_run(run, no_judgments) for name, run in named.items()}


def one_measure(measure: str | Measure) -> Measure:
    """The measure that decides; an error if several are named."""
    parsed = parse_many(measure)
    if len(parsed) != 1:
        raise InputError(f"one measure decides, and {several([str(one) for one in parsed])} are given.")
    return parsed[0]


def fusion_of(
    names: tuple[str, ...],
    chosen: str | Fitted,
    options: FuseOptions,
    *,
    weights: Weights | None = None,
    bounds: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
    params: Mapping[str, float] = MappingProxyType({}),
) -> Fusion:
    """The fusion that was asked for; an error for parameters that it does not have."""
    norm = norm_name(options.norm or "")
    limits = _bounds(names, norm, bounds)
    if isinstance(chosen, Fitted):
        if chosen.runs != names:
            raise InputError(
                f"{chosen.method} was fitted on {several(chosen.runs)}, in this order, and is applied to {several(names)}."
            )
        if params or weights is not None:
            raise InputError(f"{chosen.method} is fitted, so it takes no further parameters.")
        return Fusion(names, chosen, chosen.method, options, by_scores=False, bounds=limits)
    if chosen.lower() in TRAINED:
        raise InputError(
            f"{chosen} has to be fitted first: pass ranklens.fit_fusion(qrels, runs, {chosen!r}) as the method."
        )
    found = method(chosen)
    for name, value in params.items():
        if name not in found.parameters or name == "weights":
            raise InputError(f"{found.name} has no parameter {name!r}: {nearest(name, found.parameters)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise InputError(f"{name}={value!r} is not allowed; it is a number.")
    called: dict[str, Any] = dict(params)
    if found.is_weighted:
        called["weights"] = _weights(names, weights)
    elif weights is not None:
        raise InputError(
            f"{found.name} takes no weights; wsum, rrf, mixed, wmnz, borda, condorcet and rbc do."
        )
    defaults = {name: value for name, value in found.parameters.items() if name != "weights"}
    shown = [f"{name}={value:g}" for name, value in {**defaults, **params}.items()]
    if weights is not None:
        shown.append(f"weights {', '.join(f'{weight:g}' for weight in called['weights'])}")
    if norm:
        shown.append(f"{norm} scores")
    described = f"{found.name} ({', '.join(shown)})" if shown else found.name
    return Fusion(names, partial(found.function, **called), described, options, found.by == "scores", limits)


def _weights(names: tuple[str, ...], given: Weights | None) -> FloatArray:
    if given is None:
        return np.ones(len(names))
    if isinstance(given, Mapping):
        if {*given} != {*names}:
            raise InputError(
                f"weights name {several([*map(str, given)])}, and the runs are {several(names)}."
            )
        given = [given[name] for name in names]
    weights = np.array([*given], float)
    if (
        len(weights) != len(names)
        or not np.isfinite(weights).all()
        or (weights < 0).any()
        or not weights.any()
    ):
        raise InputError(
            f"weights={given!r} is not allowed; pass one number from 0 per run ({several(names)}), not all 0."
        )
    return weights


def _bounds(
    names: tuple[str, ...], norm: str, given: tuple[float, float] | Mapping[str, tuple[float, float]] | None
) -> FloatArray | None:
    if (norm == BOUNDED) != (given is not None):
        raise InputError(
            "norm='theoretical' and bounds=(lowest, highest) go together: (-1, 1) for cosines, for example."
        )
    if given is None:
        return None
    pairs = (
        [given.get(name, (0.0, 0.0)) for name in names]
        if isinstance(given, Mapping)
        else [given] * len(names)
    )
    bounds = np.array(pairs, float)
    if bounds.shape != (len(names), 2) or not (bounds[:, 0] < bounds[:, 1]).all():
        raise InputError(
            f"bounds={given!r} is not allowed; pass (lowest, highest), or one such pair for each of {several(names)}."
        )
    return bounds


# --- dicts


def _as_dict(fusion: Fusion, runs: Mapping[str, Run]) -> dict[str, dict[str, float]]:
    fused: dict[str, dict[str, float]] = {}
    for block in blocks(runs, fusion.sign):
        lists, scores = fusion(block)
        order = fusion.order(lists, scores)
        docs, values = lists.ids(order), scores[order].tolist()
        ends = np.cumsum(np.bincount(lists.query[order], minlength=len(lists.queries))).tolist()
        left_out = (
            {*np.flatnonzero(lists.lacking.any(axis=1)).tolist()}
            if fusion.options.queries == "common"
            else ()
        )
        for place, (query, first, end) in enumerate(zip(lists.queries, [0, *ends], ends, strict=False)):
            if place not in left_out:
                fused[query] = dict(zip(docs[first:end], values[first:end], strict=True))
    return fused


# --- tables


def _as_frame(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
    return pl.concat([pl.DataFrame(schema=schema), *(table.drop("rank") for table in tables)], rechunk=True)


def fused_tables(fusion: Fusion, runs: Mapping[str, Run]) -> Iterator[pl.DataFrame]:
    """The fused run as tables ``query, doc, rank, score``, some queries at a time; runs may be larger than memory."""
    import polars as pl

    for block in blocks(runs, fusion.sign):
        lists, scores = fusion(block)
        order = fusion.order(lists, scores)
        query = lists.query[order]
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        rank = np.arange(1, len(order) + 1) - starts.repeat(np.diff(starts, append=len(order)))
        yield pl.DataFrame(
            {
                "query": pl.Series(lists.queries, dtype=pl.String)[query],
                "doc": pl.Series(lists.ids(order), dtype=pl.String),
                "rank": rank,
                "score": scores[order],
            }
        )


def blocks(runs: Mapping[str, Run], sign: int = 1) -> Iterator[Lists]:
    """The runs side by side, some queries at a time: those of the first run in its order, then those of the others."""
    mapped = [run.by_query for run in runs.values() if run.by_query is not None]
    if len(mapped) == len(runs):
        repaired = [mappings.rankings(run) for run in mapped]
        repeated = sum(run.duplicates for run in repaired)
        by_query = [mappings.under_text(run.by_query.items(), "the queries") for run in repaired]
        for block in side_by_side.of_dicts(by_query, dict.fromkeys(chain.from_iterable(by_query)), sign):
            yield replace(block, repeated=block.repeated + repeated)
            repeated = 0
        return
    from ranklens.data.files.formats import as_table

    tables = [
        run.tables if run.by_query is None else (as_table(run.by_query, "score"),) for run in runs.values()
    ]
    for share in _shares(tables):
        yield from side_by_side.of_tables(share, sign)


def _shares(runs: Sequence[Iterable[pl.DataFrame]]) -> Iterator[list[pl.DataFrame]]:
    """The rows of all runs; those of a share of the queries at a time if there are too many to be held."""
    import polars as pl

    empty = pl.DataFrame(schema={"query": pl.String, "doc": pl.String, "score": pl.Float64})
    held: list[list[pl.DataFrame]] = [[] for _ in runs]
    size = spills = 0
    with temporary_folder() as folder:
        for run, tables in enumerate(runs):
            for table in tables:
                held[run].append(table.select(pl.col(name).cast(kind) for name, kind in empty.schema.items()))
                size += int(table.estimated_size())
                if size > _IN_MEMORY:
                    _spill(held, folder, spills)
                    held, size, spills = [[] for _ in runs], 0, spills + 1
        if not spills:
            yield [pl.concat([empty, *tables]) for tables in held]
            return
        _spill(held, folder, spills)
        for share in range(_SHARES):
            files = [sorted(folder.glob(f"{share}-{run}-*")) for run in range(len(runs))]
            yield [pl.concat([empty, *map(pl.read_ipc, of_run)]) for of_run in files]


def _spill(held: Sequence[Sequence[pl.DataFrame]], folder: Path, number: int) -> None:
    """Write the rows, one file per run and share of the queries."""
    import polars as pl

    share = (pl.col("query").hash(0) % _SHARES).alias("share")
    for run, tables in enumerate(held):
        if tables:
            shares = (
                pl.concat(tables).with_columns(share).partition_by("share", as_dict=True, include_key=False)
            )
            for (place,), rows in shares.items():
                with naming(folder):
                    rows.write_ipc(folder / f"{place}-{run}-{number:06}", compression="lz4")
