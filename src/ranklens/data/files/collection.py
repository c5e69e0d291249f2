"""Judgments and the runs that go with them: recognised once, named by one rule, read in any format.

Every command and every function that takes files comes through here, so that all of them accept the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from ranklens.data.files.suffixes import name_of_file, names_of_path
from ranklens.data.qrels import Qrels, Scored, read_qrels
from ranklens.data.readers.names import RUN, USUAL, Names
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
        runs = dict(self.runs)
        for name, run in self.runs.items():
            if isinstance(run, Mapping) or (isinstance(run, RunFile) and run.may_be_log):
                read = read_run(run, self.qrels)
                runs[name] = run if read.entries is None else read
        return Collection(self.qrels, runs)


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
        found = open_runs(runs, run_format, gold.scored, names, bad)
        files = [part for path in (qrels, *paths_of(runs)) for part in names_of_path(path)]
        if not isinstance(qrels, Qrels):  # else they were checked where the judgments were read
            names.refuse_unknown([*found, *files])
        return Collection(gold, dict(found))
    if not isinstance(qrels, Qrels):
        names.refuse_unknown(
            [*runs, *(part for path in (qrels, *runs.values()) for part in names_of_path(path))]
        )
    opened = {
        name: opened_run(run, gold, names.for_input(*RUN, *names_of_path(run), name), run_format)
        for name, run in runs.items()
    }
    for name, run in opened.items():
        if isinstance(run, RunFile) and run.among < len(runs):
            opened[name] = replace(run, among=len(runs))
    return Collection(gold, opened)


def open_runs(
    runs: Sequence[str],
    format: str | None = None,  # noqa: A002
    scored: Scored | None = None,
    names: Names = USUAL,
    bad: Bad = None,
) -> Mapping[str, object]:
    """Runs by name, from paths, ``NAME=PATH`` and patterns; those that cannot be recognised are put into ``bad``, if it is given."""
    from ranklens.data.files.parts import files_of_runs, is_in_parts, parts_kind, warn_of_parts

    opened: list[tuple[str | None, RunFile]] = []
    warn_of_parts(runs)
    given: list[tuple[str | None, str]] = []
    for name, path in map(_name_and_path, runs):
        # A pattern without a name whose files are not the parts of one run stands for several runs.
        several = files_of_runs(path) if name is None else []
        given += [(None, file) for file in several] or [(name, path)]
    for name, path in given:
        kind = format
        if not kind and name is not None and is_in_parts(path) and not os.path.isdir(path):
            kind = parts_kind(
                path, named=True
            )  # the files of a pattern are one run because they were given a name
        file = RunFile(path, kind, scored, names, among=len(given))
        try:
            systems: list[tuple[str | None, RunFile]] = [
                (system if name is None else f"{name}/{system}", one)
                for system, one in file.systems().items()
            ] or [(name, file)]
            _ = [one.tag for own, one in systems if own is None]
            opened += systems
        except RankLensError as error:
            if bad is None or len(given) < 2:
                raise
            bad[name or path] = error
    if bad and not opened:
        raise next(iter(bad.values()))
    by_name = _named(opened)
    if not names.by_input:
        return by_name
    return {
        name: replace(file, names=names.for_input(*RUN, *names_of_path(file), name))
        for name, file in by_name.items()
    }


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


def _named(files: Sequence[tuple[str | None, RunFile]]) -> dict[str, RunFile]:
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
    from ranklens.data.files.systems import system_of

    paths: dict[str, str] = {}
    for own, path in given:
        name = own
        if name is None and path == "-":
            name = "standard input"
        elif name is None:  # without suffixes; the system's, if a folder is called so
            file_name = name_of_file(path)
            folders = [folder.name for folder in Path(path).parents]  # of runs/*.parquet, runs
            spoken = next((one for one in (file_name, *folders) if any(map(str.isalnum, one))), file_name)
            name = _printable(system_of(Path(path)) or spoken or path)
        if name in paths and own is None:
            name = path
        if name in paths:
            raise InputError(f"Two runs are called {name!r}; give each its own name: NAME={path}.")
        paths[name] = path
    return paths
