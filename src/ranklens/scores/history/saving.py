"""``save=True``: results go into the history of the project as they are made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ranklens.data.files.suffixes import name_of_file
from ranklens.errors import InputError
from ranklens.scores import Scores
from ranklens.scores.history.record import Record, digests_of
from ranklens.scores.history.store import History


def save(
    results: Mapping[str, Scores | Record],
    label: bool | str,
    kind: str,
    config: Mapping[str, object] | None = None,
) -> list[int]:
    """Keep results by system, in one transaction; ``label`` is what ``save=`` was given."""
    if not results:
        raise InputError(
            "There is nothing to save: values that were made elsewhere have no judgments to go with."
        )
    name = label if isinstance(label, str) else None
    return History().add(records(results), kind=kind, label=name, config=config)


def records(results: Mapping[str, Scores | Record]) -> dict[str, Record]:
    """Records by system; the judgments, which all share, are read once."""
    digests = next((digests_of(one) for one in results.values() if isinstance(one, Scores)), {})
    return {
        name: one if isinstance(one, Record) else Record.of(one, name, digests=digests)
        for name, one in results.items()
    }


def paths(**given: object) -> dict[str, str]:
    """Those of these that are files, by name.

    >>> paths(qrels="qrels.txt", run={"q": ["a"]})
    {'qrels': 'qrels.txt'}
    """
    return {name: str(value) for name, value in given.items() if isinstance(value, (str, Path))}


def name_of(run: object) -> str:
    """What a run is called: its file, else ``run``.

    >>> name_of("runs/bm25.txt.gz"), name_of({"q": ["a"]})
    ('bm25', 'run')
    """
    return name_of_file(os.fspath(run)) or "run" if isinstance(run, (str, os.PathLike)) else "run"
