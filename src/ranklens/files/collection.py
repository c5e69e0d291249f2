"""Judgments and the runs that go with them: recognised once, named by one rule, read in any format.

Every command and every function that takes files comes through here, so that all of them accept the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ranklens.errors import InputError
from ranklens.readers.names import USUAL, Names

if TYPE_CHECKING:
    import polars as pl

    from ranklens.files.sources import PathLike


@dataclass(frozen=True, eq=False)
class Collection:
    """Judgments as they were read or given, and runs by name: a :class:`RunFile` for each file, everything else as given."""

    qrels: Any
    runs: dict[str, Any]

    def with_logs(self) -> Collection:
        """The same with every log read and under the ids of the golden set."""
        return Collection(self.qrels, {name: _log(self.qrels, run) for name, run in self.runs.items()})


@dataclass(frozen=True, eq=False)
class RunFile(os.PathLike[str]):
    """A path that knows how to read its run: recognised once, and read as often as it is needed."""

    path: PathLike
    format: str | None = None
    scored: Scored | None = None  # where the judgments allow a file of bare scores
    names: Names = USUAL

    def __fspath__(self) -> str:
        return str(self.path)

    def read(self, *, ranks: bool = False) -> Any:
        """The run as :func:`ranklens.files.formats.run_in` gives it."""
        from ranklens.files import formats

        place, kind = self._located
        if kind == "svmlight" and self.scored is not None:
            from ranklens.files import svmlight

            return svmlight.read_scores(place, self.scored.lines, self.scored.name)
        return formats.run_in(place, kind, ranks=ranks, names=self.names)

    @property
    def may_be_log(self) -> bool:
        """Whether the format can hold records: what was retrieved for a question, one question per line."""
        return self._located[1] in ("json", "jsonl")

    @cached_property
    def tag(self) -> str | None:
        """What a TREC run calls itself, unless that is a mere number or too long to be a name."""
        from ranklens.files import formats

        if _can_be_read_once(self.path) or self._located[1] != "trec":
            return None
        return formats.trec_tag(self._located[0])

    @cached_property
    def _located(self) -> tuple[PathLike, str]:
        from ranklens.files import formats

        if self.scored is not None and self.format is None:
            return formats.locate_scores(self.path)
        return formats.locate(self.path, self.format, "run")


@dataclass(frozen=True, eq=False)
class Scored:
    """Svmlight judgments: a file with one score per line is a run for them."""

    name: str
    lines: pl.DataFrame


def is_path(value: Any) -> bool:
    """Whether a file is meant rather than what it holds."""
    return isinstance(value, (str, os.PathLike))


def open_collection(
    qrels: Any,
    runs: Sequence[str] | Mapping[str, Any],
    qrels_format: str | None = None,
    run_format: str | None = None,
    names: Names = USUAL,
) -> Collection:
    """Judgments, a path or read already, and runs: paths, ``NAME=PATH``, or a mapping from names to paths or runs.

    Judgments are read here, once; of the runs only the first lines, for format and name.

    >>> open_collection({"q": {"a": 1}}, {"mine": {"q": ["a"]}}).runs
    {'mine': {'q': ['a']}}
    """
    gold, scored = _judgments(qrels, qrels_format, names)
    if not isinstance(runs, Mapping):
        given = [_name_and_path(run) for run in runs]
        files = [(name, RunFile(path, run_format, scored, names)) for name, path in given]
        return Collection(gold, _named(files))
    return Collection(gold, {name: _run(run, run_format, scored, names) for name, run in runs.items()})


def read_pair(qrels: Any, run: Any, names: Names = USUAL) -> tuple[Any, Any]:
    """Judgments and one run, read where they are in files, and a log under the ids of its golden set."""
    if not isinstance(run, RunFile):  # which comes from a collection, with judgments that were read
        opened = open_collection(qrels, {"run": run}, names=names)
        qrels, run = opened.qrels, opened.runs["run"]
    return qrels, _joined(qrels, run.read() if isinstance(run, RunFile) else run)


def _log(qrels: Any, run: Any) -> Any:
    """A log as it was logged, if the run is one; any other run as it is."""
    if not isinstance(run, RunFile):
        return _joined(qrels, run)
    read = run.read() if run.may_be_log else None
    return _joined(qrels, read) if hasattr(read, "entries") else run


def _joined(qrels: Any, run: Any) -> Any:
    if not hasattr(qrels, "unanswerable") or not hasattr(run, "entries"):
        return run
    from ranklens.readers.golden_and_logs import join

    return join(qrels, run)


def _run(run: Any, format: str | None, scored: Scored | None, names: Names) -> Any:  # noqa: A002
    if isinstance(run, RunFile):
        return run
    if is_path(run):
        return RunFile(run, format, scored, names)
    return _records(run, names, "log")


def _records(value: Any, names: Names, half: Literal["golden", "log"]) -> Any:
    """A golden set or a log, if the value is a list or table of records; any other value as it is."""
    if isinstance(value, Mapping) or hasattr(value, "tables"):
        return value
    from ranklens.readers import frames

    if frames.is_frame(value) and "doc" in frames.column_names(value):  # as most tables have it
        return _renamed(value, names, half)
    from ranklens.readers import records
    from ranklens.readers.golden_and_logs import read_golden, read_log

    if not records.holds_lists(value, names):
        return _renamed(value, names, half)
    rows = records.rows_of(value)
    return (read_golden if half == "golden" else read_log)(rows, names)


def names_of(runs: Sequence[str]) -> dict[str, str]:
    """Paths by name: the given one, else the file's. Nothing is opened, so that files may appear later.

    >>> names_of(["runs/bm25.txt.gz", "mine=runs/dense.txt"])
    {'bm25': 'runs/bm25.txt.gz', 'mine': 'runs/dense.txt'}
    """
    return _by_file([_name_and_path(run) for run in runs])


def paths_of(runs: Sequence[str]) -> list[str]:
    """Where runs are that are given as PATH or NAME=PATH.

    >>> paths_of(["mine=runs/dense.txt", "b.txt"])
    ['runs/dense.txt', 'b.txt']
    """
    return [_name_and_path(run)[1] for run in runs]


def _renamed(value: Any, names: Names, half: Literal["golden", "log"]) -> Any:
    """A table under the names of the roles, if the user has other names for them; from then on nothing is called otherwise."""
    from ranklens.readers import frames

    if not names.columns or not frames.is_frame(value):
        return value
    return (frames.qrels_frame if half == "golden" else frames.run_frame)(value, names.columns)


def _judgments(qrels: Any, format: str | None, names: Names) -> tuple[Any, Scored | None]:  # noqa: A002
    if not is_path(qrels):
        return _given(qrels, names), None
    from ranklens.files import formats

    place, kind = formats.locate(qrels, format, "qrels")
    gold = formats.judgments_in(place, kind, names)
    return gold, Scored(str(qrels), gold) if kind == "svmlight" else None


def _given(qrels: Any, names: Names) -> Any:
    """Judgments in Python: with all that they know."""
    from ranklens.readers import frames, judgments

    if frames.is_frame(qrels) and (column := judgments.subtopic_column(frames.column_names(qrels))):
        return judgments.of_table(frames.to_polars(qrels), column, names.columns)
    return _records(judgments.enriched(qrels), names, "golden")


def _name_and_path(run: str) -> tuple[str | None, str]:
    """``NAME=PATH`` in two, unless a file is called like that."""
    name, equals, path = run.partition("=")
    if not equals or os.path.exists(run):  # which says no where a name cannot be one
        return None, run
    return _printable(name), path


def _printable(name: str) -> str:
    """What is shown of a name that is not UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def _named(files: Sequence[tuple[str | None, RunFile]]) -> dict[str, Any]:
    """By the given name, else by tag if every file without a name has its own tag, else by file name."""
    tagged = [(name or file.tag, file) for name, file in files]
    if all(name for name, _ in tagged) and len({name for name, _ in tagged}) == len(files):
        return {str(name): file for name, file in tagged}
    names = _by_file([(name, str(file.path)) for name, file in files])
    return dict(zip(names, (file for _, file in files), strict=True))


def _by_file(given: Sequence[tuple[str | None, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for own, path in given:
        name = own if own is not None else _file_name(path)
        if name in found and own is None:
            name = path
        if name in found:
            raise InputError(f"Two runs are called {name!r}; give each its own name: NAME={path}.")
        found[name] = path
    return found


def _file_name(path: str) -> str:
    """Without its suffixes."""
    return "standard input" if path == "-" else _printable(Path(path).name.partition(".")[0] or path)


def _can_be_read_once(path: PathLike) -> bool:
    return str(path) == "-" or (os.path.exists(str(path)) and Path(str(path)).is_fifo())
