"""Judgments and the runs that go with them: recognised once, named by one rule, read in any format.

Every command and every function that takes files comes through here, so that all of them accept the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from ranklens.data.files.suffixes import name_of_file
from ranklens.data.qrels import Qrels, Scored, read_qrels
from ranklens.data.readers.names import USUAL, Names
from ranklens.data.run import RunFile, opened_run, read_run
from ranklens.errors import InputError, RankLensError

Bad: TypeAlias = "dict[str, RankLensError] | None"  # runs that cannot be read, where these are skipped


@dataclass(frozen=True, eq=False)
class Collection:
    """Judgments that were read, and runs by name: a :class:`RunFile` for each file, everything else as given."""

    qrels: Qrels
    runs: dict[str, object]

    def with_logs(self) -> Collection:
        """The same with every log read and under the ids of the golden set."""
        return Collection(self.qrels, {name: self._log(run) for name, run in self.runs.items()})

    def _log(self, run: object) -> object:
        if not isinstance(run, Mapping) and not (isinstance(run, RunFile) and run.may_be_log):
            return run
        read = read_run(run, self.qrels)
        return run if read.entries is None else read


def open_collection(
    qrels: object,
    runs: Sequence[str] | Mapping[str, object],
    qrels_format: str | None = None,
    run_format: str | None = None,
    names: Names = USUAL,
    bad: Bad = None,
) -> Collection:
    """Judgments, a path or read already, and runs: paths, ``NAME=PATH``, or a mapping from names to paths or runs.

    Judgments are read here, once; of the runs only the first lines, for format and name. ``bad`` is filled with runs that cannot
    be read, if it is given; else the first of them is an error.

    >>> open_collection({"q": {"a": 1}}, {"mine": {"q": ["a"]}}).runs
    {'mine': {'q': ['a']}}
    """
    gold = read_qrels(qrels, names, qrels_format)
    names = gold.names_of_runs(names)
    if not isinstance(runs, Mapping):
        return Collection(gold, open_runs(runs, run_format, gold.scored, names, bad))
    opened = {name: opened_run(run, gold, names, run_format) for name, run in runs.items()}
    return Collection(gold, {name: _among(run, len(runs)) for name, run in opened.items()})


def _among(run: object, count: int) -> object:
    return replace(run, among=count) if isinstance(run, RunFile) and run.among < count else run


def open_runs(
    runs: Sequence[str],
    format: str | None = None,  # noqa: A002
    scored: Scored | None = None,
    names: Names = USUAL,
    bad: Bad = None,
) -> dict[str, object]:
    """Runs by name, from paths, ``NAME=PATH`` and patterns; those that cannot be recognised are put into ``bad``, if it is given."""
    from ranklens.data.files.parts import warn_of_parts

    found: list[tuple[str | None, RunFile]] = []
    warn_of_parts(runs)
    given = [one for run in runs for one in _each_file(run)]
    for name, path in given:
        file = RunFile(path, format or _format_of_parts(name, path), scored, names, among=len(given))
        try:
            systems = _each_system(name, file)
            _ = [one.tag for own, one in systems if own is None]
            found += systems
        except RankLensError as error:
            if bad is None or len(given) < 2:
                raise
            bad[name or path] = error
    if bad and not found:
        raise next(iter(bad.values()))
    return _named(found)


def _each_file(run: str) -> list[tuple[str | None, str]]:
    """A run's name and path; several, for a pattern without a name whose files are not the parts of one run."""
    from ranklens.data.files.parts import files_of_runs

    name, path = _name_and_path(run)
    return (
        [(None, file) for file in files_of_runs(path)] or [(name, path)] if name is None else [(name, path)]
    )


def _format_of_parts(name: str | None, path: str) -> str | None:
    """That of a pattern whose files are one run because they were given a name."""
    from ranklens.data.files.parts import is_in_parts, parts_kind

    is_pattern = name is not None and is_in_parts(path) and not os.path.isdir(path)
    return parts_kind(path, named=True) if is_pattern else None


def _each_system(name: str | None, file: RunFile) -> list[tuple[str | None, RunFile]]:
    """A run; or several, if the file or folder holds those of several systems."""
    found = file.systems()
    if not found:
        return [(name, file)]
    return [(system if name is None else f"{name}/{system}", one) for system, one in found.items()]


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


def _name_and_path(run: str) -> tuple[str | None, str]:
    """``NAME=PATH`` in two, unless a file is called like that, a pattern reaches into a folder, or it is an address."""
    name, equals, path = run.partition("=")
    if not equals or "://" in name or os.path.exists(run):  # which says no where a name cannot be one
        return None, run
    from ranklens.data.files.parts import reaches_into_a_folder

    return (None, run) if reaches_into_a_folder(run) else (_printable(name), path)


def _printable(name: str) -> str:
    """What is shown of a name that is not UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def _named(files: Sequence[tuple[str | None, RunFile]]) -> dict[str, object]:
    """By the given name, else by tag if every file without a name has its own tag, else by file name.

    A file that is no run after all goes by its path, so that the others keep their tags.
    """
    tagged = [
        (name or file.tag or (str(file.path) if file.is_broken else None), file) for name, file in files
    ]
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
    """Without its suffixes; the system's, if a folder is called so."""
    if path == "-":
        return "standard input"
    from ranklens.data.files.systems import system_of

    name = name_of_file(path)
    folders = [folder.name for folder in Path(path).parents]
    name = next(
        (one for one in (name, *folders) if any(map(str.isalnum, one))), name
    )  # of runs/*.parquet, runs
    return _printable(system_of(Path(path)) or name or path)
