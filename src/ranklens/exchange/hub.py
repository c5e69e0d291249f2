"""The Hub's model cards: results as the ``model-index`` of a card's front matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranklens.exchange.mteb import key

if TYPE_CHECKING:
    from ranklens.scores import Scores


def to_hub(
    scores: Scores,
    model: str,
    dataset: str,
    *,
    name: str | None = None,
    split: str | None = None,
    revision: str | None = None,
) -> str:
    """YAML for the front matter of a model card: every mean under MTEB's name, with its interval in the name that people read.

    ``dataset`` is the dataset's id on the Hub, ``name`` how people call it.
    """
    import yaml

    about = {"type": dataset, "name": name or dataset, "split": split, "revision": revision}
    task = {"type": "information-retrieval", "name": "Information Retrieval"}
    rows = scores.to_frame().to_dicts()
    metrics = [_metric(str(measure), row) for measure, row in zip(scores.measures, rows, strict=True)]
    result = {
        "task": task,
        "dataset": {key: one for key, one in about.items() if one is not None},
        "metrics": metrics,
    }
    content = {"model-index": [{"name": model, "results": [result]}]}
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _metric(measure: str, row: dict[str, Any]) -> dict[str, Any]:
    low, high = row["low"], row["high"]
    interval = "" if low is None or high is None else f" [{low:.4f}, {high:.4f}]"
    return {"type": key(measure), "value": round(row["mean"], 6), "name": f"{row['measure']}{interval}"}
