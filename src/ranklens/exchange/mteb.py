"""MTEB's result files: one JSON file per model, revision and task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.data.files.json_reading import loads
from ranklens.errors import InputError
from ranklens.metrics import parse

if TYPE_CHECKING:
    import polars as pl

    from ranklens.scores import Scores

_WORDS = {"nDCG": "ndcg", "AP": "map", "R": "recall", "P": "precision", "RR": "mrr", "Success": "hit_rate"}
_MEASURES = {word: name for name, word in _WORDS.items()}
# "mrr" is cut at 10 in MTEB's tasks of reranking; "recall" and "precision" are those of other tasks, which pair sentences.
_WITHOUT_CUTOFF = {"map", "ndcg"}
_NOT_VALUES = {
    "hf_subset", "languages", "evaluation_time", "mteb_version", "mteb_dataset_name", "dataset_revision",
}  # fmt: skip


def to_mteb(
    scores: Scores,
    task: str,
    *,
    split: str = "test",
    subset: str = "default",
    languages: Sequence[str] = ("eng-Latn",),
    revision: str = "",
    main: str = "nDCG@10",
) -> dict[str, Any]:
    """The result of a task as MTEB writes it, ready for ``json.dump``; ``main`` is the measure that stands for the task."""
    values = {key(name): round(value, 6) for name, value in scores.mean.items()}
    main_key = key(str(parse(main)))
    if main_key not in values:
        raise InputError(f"main={main!r} was not evaluated; choose one of {', '.join(scores.mean)}.")
    entry = {**values, "main_score": values[main_key], "hf_subset": subset, "languages": list(languages)}
    return {
        "dataset_revision": revision,
        "task_name": task,
        "mteb_version": "",
        "scores": {split: [entry]},
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }


def key(name: str) -> str:
    """MTEB's name of a measure.

    >>> key("nDCG@10"), key("AP"), key("RR@10")
    ('ndcg_at_10', 'map', 'mrr_at_10')
    """
    word, at, k = name.partition("@")
    return f"{_WORDS.get(word, word)}_at_{k}" if at else _WORDS.get(word, word)


def read_mteb(folder: str | Path) -> pl.DataFrame:
    """The results in a folder as MTEB keeps them (``model/revision/task.json``), or in one file: one row per value.

    Columns: model, revision, task, split, subset, measure, value. Measures that RankLens has are named as here (``nDCG@10``), others as
    in the file; ``main_score`` is one of them.
    """
    import polars as pl

    place = Path(folder)
    if not place.exists():
        raise InputError(f"{place} does not exist.", path=str(place))
    files = sorted(place.rglob("*.json")) if place.is_dir() else [place]
    rows = [row for file in files for row in _rows(file, place)]
    if not rows:
        raise InputError(f"{place} contains no results of MTEB (model/revision/task.json).", path=str(place))
    columns = ("model", "revision", "task", "split", "subset", "measure")
    return pl.DataFrame(rows, schema={**dict.fromkeys(columns, pl.String), "value": pl.Float64}, orient="row")


def _rows(file: Path, folder: Path) -> Iterator[tuple[str, str, str, str, str, str, float]]:
    try:
        content = loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError(f"{file.name} is not JSON.", path=str(file)) from None
    if not isinstance(content, dict) or file.name == "model_meta.json":
        return
    above = file.relative_to(folder).parts[:-1] if folder.is_dir() else ()
    model, revision = (above[-2], above[-1]) if len(above) > 1 else (above[0] if above else "", "")
    task = str(content.get("task_name") or content.get("mteb_dataset_name") or file.stem)
    try:
        values = [
            (split, subset, name, float(value))
            for split, subset, entry in _entries(content)
            for name, value in entry.items()
            if isinstance(value, (int, float)) and name not in _NOT_VALUES
        ]
    except OverflowError:
        raise InputError(f"{file.name} contains a number that is too large.", path=str(file)) from None
    except InputError as error:
        error.prefix(f"{file.name}: ")
        error.path = str(file)
        raise
    for split, subset, name, value in values:
        word, at, k = name.partition("_at_")
        measure = name
        if at and word in _MEASURES:
            measure = f"{_MEASURES[word]}@{k}"
        elif name in _WITHOUT_CUTOFF:
            measure = _MEASURES[word]
        yield (model.replace("__", "/"), revision, task, split, subset, measure, value)


def _entries(content: Mapping[str, object]) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Split, subset and values; before version 1.11 splits stood at the top, without subsets."""
    scores = content.get("scores")
    if isinstance(scores, Mapping):
        for split, entries in scores.items():
            if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
                raise InputError(f"scores.{split} must be a list of objects, one per subset.")
            for entry in entries:
                yield str(split), str(entry.get("hf_subset", "default")), entry
        return
    for split, values in content.items():
        if isinstance(values, Mapping):
            nested = {name: one for name, one in values.items() if isinstance(one, Mapping)}
            for subset, one in (nested or {"default": values}).items():
                yield split, subset, one
