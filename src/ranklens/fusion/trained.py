"""Methods that learn from judged queries how much each rank of each run is worth: fitted on some queries, applied to others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.data.files.output import write_whole
from ranklens.errors import InputError, nearest
from ranklens.fusion.lists import Lists
from ranklens.judging.judged import Judged
from ranklens.metrics import parse

_ODDS_ENDS = np.array([0, 5, 10, 15, 20, 30, 100, 200, 500, 1000])  # of Aslam and Montague
_SEGMENT_ENDS = np.array([0, *(10 * 2 ** (k - 1) - 5 for k in range(1, 11))])  # of Shokouhi
_LEAST_ODDS = float(np.log(0.001 / 0.999))
_FORMAT = 1


@dataclass(frozen=True)
class Fitted:
    """A fusion method with what it learnt of each run; made by :func:`ranklens.fit_fusion`."""

    method: str
    runs: tuple[str, ...]
    learnt: tuple[
        tuple[float, ...], ...
    ]  # of each run: probabilities or log odds by rank or segment, or its MAP
    params: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, lists: Lists) -> FloatArray:
        """One score per candidate."""
        learnt = [np.array(values) for values in self.learnt]
        return _TRAINED[self.method].apply(lists, learnt, **self.params)

    def save(self, path: str | Path) -> None:
        """Write what was learnt as JSON."""
        content = json.dumps({"format": _FORMAT, **asdict(self)}, indent=1)
        write_whole(Path(path), lambda place: place.write_text(content, encoding="utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> Fitted:
        """What :meth:`save` wrote."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            learnt = tuple(tuple(map(float, values)) for values in content["learnt"])
            params = {str(name): int(value) for name, value in content["params"].items()}
            fitted = cls(str(content["method"]), tuple(map(str, content["runs"])), learnt, params)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(
                f"{path}: this is no fitted fusion method as save() writes it ({error})."
            ) from None
        if fitted.method not in _TRAINED or len(learnt) != len(fitted.runs):
            raise InputError(f"{path}: this is no fitted fusion method as save() writes it.")
        return fitted


Learn = Callable[..., FloatArray]  # judged rankings of one run → what is learnt
Apply = Callable[..., FloatArray]


@dataclass(frozen=True)
class Trained:
    """How a method learns from the judged rankings of a run, and how it applies what it learnt of all runs."""

    learn: Learn
    apply: Apply
    params: Mapping[str, int] = field(default_factory=dict)


def fit(name: str, judged: Mapping[str, Judged], params: Mapping[str, int]) -> Fitted:
    """Learn from judged rankings of each run."""
    trained = _TRAINED[trained_name(name)]
    chosen = {**trained.params, **params}
    for param, value in chosen.items():
        if param not in trained.params:
            raise InputError(f"{name} has no parameter {param!r}: {nearest(param, trained.params)}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{param}={value!r} is not allowed; it is a whole number from 1.")
    learnt = (tuple(trained.learn(one, **chosen).tolist()) for one in judged.values())
    return Fitted(trained_name(name), tuple(judged), tuple(learnt), chosen)


def trained_name(name: str) -> str:
    """The canonical name of a trained method."""
    spelled = name.lower().replace("-", "")
    if spelled not in _TRAINED:
        raise InputError(f"there is no trained fusion method {name!r}: {nearest(spelled, _TRAINED)}")
    return spelled


def _by_rank(lists: Lists, column: int, values: FloatArray, missing: float = 0.0) -> FloatArray:
    """The value of the rank of each candidate in one run; 0 beyond the last value, ``missing`` where it was not retrieved."""
    padded = np.append(values, 0.0)
    rank = np.nan_to_num(lists.ranks[:, column], nan=1).astype(np.int64)
    return np.where(lists.retrieved[:, column], padded[np.minimum(rank, len(padded)) - 1], missing)


def _hits_by_rank(judged: Judged, depth: int) -> FloatArray:
    ranks = judged.relevant(1).rank
    return np.bincount(ranks[ranks <= depth] - 1, minlength=depth).astype(float)


# --- posfuse and slidefuse: the probability of relevance at each rank


def _learn_positions(judged: Judged, **_: int) -> FloatArray:
    depth = int(judged.retrieved.max(initial=0))
    lists = np.cumsum(np.bincount(judged.retrieved, minlength=depth + 1)[::-1])[::-1][
        1:
    ]  # of at least this length
    return np.asarray(_hits_by_rank(judged, depth) / np.maximum(lists, 1))


def _positions(lists: Lists, learnt: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.sum([_by_rank(lists, run, values) for run, values in enumerate(learnt)], axis=0))


def _slide(lists: Lists, learnt: Sequence[FloatArray], w: int) -> FloatArray:
    total = np.zeros(len(lists.query))
    for run, values in enumerate(learnt):
        length = lists.lengths[:, run]
        rank = np.where(lists.retrieved[:, run], lists.ranks[:, run], 1)
        first, last = np.maximum(rank - w, 1), np.maximum(np.minimum(rank + w, length), 1)
        sums = np.append(0.0, np.cumsum(values))
        upto = sums[np.minimum(last, len(values)).astype(np.int64)]
        before = sums[np.minimum(first - 1, len(values)).astype(np.int64)]
        total += np.where(lists.retrieved[:, run], (upto - before) / (last - first + 1), 0)
    return total


# --- probfuse: as many segments for each ranking, however long it is


def _learn_shares(judged: Judged, segments: int) -> FloatArray:
    hits = judged.relevant(1)
    size = np.maximum(-(-judged.retrieved // segments), 1)  # rounded up
    place = np.arange(segments)
    length = np.clip(judged.retrieved[:, None] - place * size[:, None], 0, size[:, None])
    counts = np.zeros((len(judged.retrieved), segments))
    np.add.at(counts, (hits.query, (hits.rank - 1) // size[hits.query]), 1)
    return np.asarray((counts / np.maximum(length, 1)).mean(axis=0))


def _shares(lists: Lists, learnt: Sequence[FloatArray], segments: int) -> FloatArray:
    total = np.zeros(len(lists.query))
    for run, values in enumerate(learnt):
        size = np.maximum(np.ceil(lists.lengths[:, run] / segments), 1)
        segment = ((np.nan_to_num(lists.ranks[:, run], nan=1) - 1) // size).astype(np.int64)
        segment = np.minimum(segment, segments - 1)
        total += np.where(lists.retrieved[:, run], values[segment] / (segment + 1), 0)
    return total


# --- segfuse: segments that grow with the rank


def _learn_segments(judged: Judged) -> FloatArray:
    return _per_segment(judged, _SEGMENT_ENDS)


def _per_segment(judged: Judged, ends: np.ndarray[tuple[int], np.dtype[np.int64]]) -> FloatArray:
    """The share of relevant documents in each segment, on average over queries."""
    hits = _hits_by_rank(judged, int(ends[-1]))
    shares: FloatArray = np.add.reduceat(hits, ends[:-1]) / np.diff(ends) / max(len(judged.retrieved), 1)
    return shares


def _segments(lists: Lists, learnt: Sequence[FloatArray]) -> FloatArray:
    by_rank = [values.repeat(np.diff(_SEGMENT_ENDS)) for values in learnt]
    weighed = [
        _by_rank(lists, run, values) * (np.nan_to_num(lists.scores[:, run]) + 1)
        for run, values in enumerate(by_rank)
    ]
    return np.asarray(np.sum(weighed, axis=0))


# --- mapfuse and bayesfuse


def _learn_map(judged: Judged) -> FloatArray:
    return np.array([parse("AP")(judged).mean()])


def _maps(lists: Lists, learnt: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.nansum(np.concatenate(learnt) / lists.ranks, axis=1))


def _learn_odds(judged: Judged) -> FloatArray:
    shares = _per_segment(judged, _ODDS_ENDS)
    shares = np.where(shares == 0, 0.001, shares)
    against = np.where(shares == 1, 0.001, 1 - shares)
    return np.asarray(np.log(shares / against).repeat(np.diff(_ODDS_ENDS)))


def _odds(lists: Lists, learnt: Sequence[FloatArray]) -> FloatArray:
    beyond = lists.ranks > _ODDS_ENDS[-1]
    columns = [_by_rank(lists, run, values, _LEAST_ODDS) for run, values in enumerate(learnt)]
    return np.asarray(np.where(beyond, _LEAST_ODDS, np.stack(columns, axis=1)).sum(axis=1))


_TRAINED: dict[str, Trained] = {
    "posfuse": Trained(_learn_positions, _positions),
    "slidefuse": Trained(_learn_positions, _slide, {"w": 5}),
    "probfuse": Trained(_learn_shares, _shares, {"segments": 25}),
    "segfuse": Trained(_learn_segments, _segments),
    "mapfuse": Trained(_learn_map, _maps),
    "bayesfuse": Trained(_learn_odds, _odds),
}
TRAINED = MappingProxyType(_TRAINED)
