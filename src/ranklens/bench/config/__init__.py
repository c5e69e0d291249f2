"""What ``ranklens bench`` reads: a YAML or TOML file, checked before anything runs.

``model`` describes every key once, ``execution`` carries the configuration out, ``result`` holds the outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ranklens.bench.config.model import Config
from ranklens.bench.config.syntax import read, tell

if TYPE_CHECKING:
    from ranklens.bench.config.result import BenchResult


def load(source: str | Path | Mapping[str, Any], *, folder: str | Path | None = None) -> Config:
    """A checked configuration from a YAML or TOML file, or from a dict; paths in it start at the file's folder.

    >>> load({"data": {"qrels": "qrels.txt", "runs": {"bm25": "run.txt"}}}).systems
    ['bm25']
    >>> load({"data": {"qrels": "qrels.txt", "rums": {"bm25": "run.txt"}}})
    Traceback (most recent call last):
    ranklens.errors.InputError: data.rums: unknown key: did you mean 'runs'? Allowed: 'qrels', 'queries', 'corpus', 'runs', 'map'.
    """
    path = None if isinstance(source, Mapping) else Path(source)
    content, lines = (source, {}) if isinstance(source, Mapping) else read(Path(source))
    place = Path(folder) if folder is not None else path.parent if path is not None else Path()
    try:
        return Config.model_validate(content, context={"folder": place, "file": path})
    except ValidationError as error:
        raise tell(error, Config, path, lines) from None


def run_config(config: Config | str | Path, **asking: Any) -> BenchResult:
    """Run what a configuration, or its file, describes, and write its outputs.

    A configuration names code that is run: use only what you trust. ``fresh``, ``max_age``, ``keep_going`` and ``code`` are those
    of :class:`ranklens.retrieval.asking.Asking`.
    """
    from ranklens.bench.config.execution import run
    from ranklens.retrieval.asking import Asking

    return run(config if isinstance(config, Config) else load(config), Asking(**asking))


__all__ = ["Config", "load", "run_config"]
