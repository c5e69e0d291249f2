"""The Hub's model cards: results as the ``model-index`` of a card's front matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    metrics = []
    for row in scores.to_summary():
        low, high = row["low"], row["high"]
        interval = "" if low is None or high is None else f" [{low:.4f}, {high:.4f}]"
        metrics.append(
            {"type": key(row["measure"]), "value": round(row["mean"], 6), "name": f"{row['asked']}{interval}"}
        )
    dataset_fields = {field: value for field, value in about.items() if value is not None}
    result = {"task": task, "dataset": dataset_fields, "metrics": metrics}
    content = {"model-index": [{"name": model, "results": [result]}]}
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
