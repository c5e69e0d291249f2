"""Judgments and the runs that go with them: recognised once, named by one rule, read in any format.

Every command and every function that takes files comes through here, so that all of them accept the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ranklens.data.files.suffixes import name_of_file
from ranklens.data.readers import judgments
from ranklens.data.readers.names import USUAL, Names
from ranklens.errors import InputError, RankLensError

if TYPE_CHECKING:
    import polars as pl

    from ranklens.data.files.sources import PathLike


_TELLING = 100  # records, one of which surely lists documents if any does
Bad: TypeAlias = "dict[str, RankLensError] | None"  # runs that cannot be read, where these are skipped


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
    system: str | None = None  # whose rows are read, where a column says that

    def __fspath__(self) -> str:
        return str(self.path)

    def read(self, *, ranks: bool = False) -> Any:
        """The run as :func:`ranklens.data.files.formats.run_in` gives it."""
        from ranklens.data.files import formats

        place, kind = self._located
        if kind == "svmlight" and self.scored is not None:
            from ranklens.data.files import svmlight

            return svmlight.read_scores(place, self.scored.lines, self.scored.name)
        return formats.run_in(place, kind, ranks=ranks, names=self.names, system=self.system)

    def systems(self) -> dict[str, RunFile]:
        """Each system as a run, where there are several in the file or folder."""
        from ranklens.data.files import formats
        from ranklens.data.files.systems import system_folders

        folders = system_folders(self.path)
        if len(folders) > 1:
            return {name: replace(self, path=folder) for name, folder in folders.items()}
        if _can_be_read_once(self.path):
            return {}
        names = formats.systems(*self._located)
        return {name: replace(self, system=name) for name in names} if len(names) > 1 else {}

    @property
    def may_be_log(self) -> bool:
        """Whether the format can hold records: what was retrieved for a question, one question per line."""
        return self._located[1] in ("json", "jsonl", "parquet", "delta", "iceberg")

    @cached_property
    def tag(self) -> str | None:
        """What a TREC run calls itself, unless that is a mere number or too long to be a name."""
        from ranklens.data.files import recognition

        return recognition.trec_tag(self._located[0]) if self._is_trec else None

    @property
    def is_broken(self) -> bool:
        """Whether this would be a TREC run, but its first line is none."""
        from ranklens.data.files import recognition

        return self._is_trec and not recognition.has_trec_fields(self._located[0])

    @property
    def _is_trec(self) -> bool:
        return not _can_be_read_once(self.path) and self._located[1] == "trec"

    @cached_property
    def _located(self) -> tuple[PathLike, str]:
        from ranklens.data.files import recognition

        if self.scored is not None and self.format is None:
            return recognition.locate_scores(self.path)
        return recognition.locate(self.path, self.format, "run")


@dataclass(frozen=True, eq=False)
class Scored:
    """Svmlight judgments: one score per line is a run for them, in a file or an array."""

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
    bad: Bad = None,
) -> Collection:
    """Judgments, a path or read already, and runs: paths, ``NAME=PATH``, or a mapping from names to paths or runs.

    Judgments are read here, once; of the runs only the first lines, for format and name. ``bad`` is filled with runs that cannot
    be read, if it is given; else the first of them is an error.

    >>> open_collection({"q": {"a": 1}}, {"mine": {"q": ["a"]}}).runs
    {'mine': {'q': ['a']}}
    """
    gold, scored = _judgments(qrels, qrels_format, names)
    if not isinstance(runs, Mapping):
        return Collection(gold, open_runs(runs, run_format, scored, names, bad))
    return Collection(gold, {name: _run(run, run_format, scored, names) for name, run in runs.items()})


def with_intents(data: Collection, path: PathLike | None) -> Collection:
    """The same with the probabilities of subtopics from a file, if one is given."""
    if path is None:
        return data
    qrels = data.qrels
    if not isinstance(qrels, judgments.Judgments) or not qrels.has_subtopics:
        raise InputError(
            f"{path}: there are probabilities of subtopics, but the judgments have no subtopics; pass a table with a column subtopic, "
            "or a file of the lines 'query subtopic document grade'."
        )
    return replace(data, qrels=_read_parts(qrels.replace(intents=path)))


def open_runs(
    runs: Sequence[str],
    format: str | None = None,  # noqa: A002
    scored: Scored | None = None,
    names: Names = USUAL,
    bad: Bad = None,
) -> dict[str, Any]:
    """Runs by name, from paths, ``NAME=PATH`` and patterns; those that cannot be recognised are put into ``bad``, if it is given."""
    from ranklens.data.files.parts import warn_of_parts

    found: list[tuple[str | None, RunFile]] = []
    warn_of_parts(runs)
    given = [one for run in runs for one in _each_file(run)]
    for name, path in given:
        file = RunFile(path, format or _format_of_parts(name, path), scored, names)
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


def read_judgments(qrels: Any, names: Names = USUAL) -> Any:
    """Judgments alone: read from a path, records as a golden set, everything else as given."""
    return _judgments(qrels, None, names)[0]


def _each_system(name: str | None, file: RunFile) -> list[tuple[str | None, RunFile]]:
    """A run; or several, if the file or folder holds those of several systems."""
    found = file.systems()
    if not found:
        return [(name, file)]
    return [(system if name is None else f"{name}/{system}", one) for system, one in found.items()]


def read_pair(qrels: Any, run: Any, names: Names = USUAL) -> tuple[Any, Any]:
    """Judgments and one run, read where they are in files, and a log under the ids of its golden set."""
    if isinstance(qrels, (dict, Mapping)) and isinstance(run, (dict, Mapping)):
        qrels = _with_details(qrels)
        return qrels, _joined(qrels, run)
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
    from ranklens.data.readers.golden_and_logs import join

    return join(qrels, run)


def _run(run: Any, format: str | None, scored: Scored | None, names: Names) -> Any:  # noqa: A002
    if isinstance(run, RunFile):
        return run
    run = _opened(run)
    if is_path(run) or hasattr(run, "packing"):
        return RunFile(run, format, scored, names)
    if scored is not None:
        from ranklens.data.files import svmlight

        if svmlight.are_scores(run):
            return svmlight.with_scores(run, scored.lines, scored.name)
    return _records(run, names, "log")


def _opened(value: Any) -> Any:
    """An open file or a BytesIO as a source; everything else as it is."""
    if is_path(value) or not callable(getattr(value, "read", None)) or isinstance(value, Mapping):
        return value
    if hasattr(value, "get_chunk"):  # frames, as pandas reads a file in pieces
        return value
    from ranklens.data.files.sources import copy_of

    return copy_of(value)


def _records(value: Any, names: Names, half: Literal["golden", "log"]) -> Any:
    """A golden set or a log, if the value is a list or table of records; any other value as it is."""
    if isinstance(value, Mapping) or hasattr(value, "tables"):
        return value
    from ranklens.data.files import pieces
    from ranklens.data.readers import frames

    value = _as_table(value, names)
    usual = frames.is_frame(value) and {"query", "doc"} <= {*frames.column_names(value)}
    if usual and not pieces.is_in_pieces(value):
        return _renamed(value, names, half)  # as most tables have it
    from ranklens.data.readers import records

    of_records = records.names_of_records(value, half, names)
    if pieces.is_in_pieces(value) and not (frames.is_frame(value) and of_records):
        read = pieces.read_pieces if half == "golden" else pieces.stream_pieces
        return read(value, names.columns)
    if of_records is None:
        return _renamed(value, names, half)
    from ranklens.data.readers.golden_and_logs import read_golden, read_log

    rows = records.rows_of(value)
    return (read_golden if half == "golden" else read_log)(rows, of_records)


def _as_table(value: Any, names: Names) -> Any:
    """A list or an iterator of rows as a table; everything else as it is."""
    from ranklens.data.files import pieces

    value = pieces.looked_into(value)
    if isinstance(value, (list, tuple)) and value and all(hasattr(type(row), "_asdict") for row in value):
        value = [row._asdict() for row in value]  # named tuples, such as those of ir_measures and ir_datasets
    if not isinstance(value, (list, tuple)) or not value or not _are_rows(value, names):
        return value
    from ranklens.data.files.tables import frame_of_rows

    try:
        return frame_of_rows(value)
    except UnicodeEncodeError as error:
        raise InputError(f"The rows cannot be read as a table: {error}.") from None


def _are_rows(value: Sequence[Any], names: Names) -> bool:
    """Whether each item is a row of a table, about one document, rather than a record about one question."""
    from ranklens.data.readers import frames, records

    if not all(isinstance(row, Mapping) for row in value):
        return False
    first = value[0]
    if any(
        records.lists_documents(row, names) for row in islice(value, _TELLING)
    ):  # the first call may have failed
        return False
    if frames.has_documents_among(first):
        return True
    return not {*names.own.get("doc", ())}.isdisjoint(first) and not records.is_record(first, names)


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
    from ranklens.data.readers import frames

    if not names.columns or not frames.is_frame(value):
        return value
    return (frames.qrels_frame if half == "golden" else frames.run_frame)(value, names.columns)


def _judgments(qrels: Any, format: str | None, names: Names) -> tuple[Any, Scored | None]:  # noqa: A002
    qrels = _opened(qrels)
    if not is_path(qrels) and not hasattr(qrels, "packing"):
        return _given(qrels, names), None
    from ranklens.data.files import formats, recognition

    place, kind = recognition.locate(qrels, format, "qrels")
    gold = formats.judgments_in(place, kind, names)
    if type(gold) is dict:  # as JSON holds it
        gold = judgments.enriched(gold)
    return gold, Scored(str(qrels), gold) if kind == "svmlight" else None


def _given(qrels: Any, names: Names) -> Any:
    """Judgments in Python: with all that they know."""
    from ranklens.data.readers import frames, judgment_tables

    if isinstance(qrels, Mapping):
        return _with_details(qrels)
    qrels = _as_table(qrels, names)
    if frames.is_frame(qrels) and judgment_tables.further_columns(frames.column_names(qrels)):
        return judgment_tables.of_table(frames.to_polars(qrels), names.columns)
    return _records(judgments.enriched(qrels), names, "golden")


def _with_details(qrels: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Judgments by query; those that were prepared have been looked at then."""
    if hasattr(qrels, "index"):
        return qrels
    found = judgments.enriched(qrels)
    return _read_parts(found) if isinstance(found, judgments.Judgments) else found


def _read_parts(qrels: judgments.Judgments) -> judgments.Judgments:
    """Judgments whose subtopics, intents or properties of documents are in files, read."""
    in_a_file = (qrels.intents, qrels.documents, None if qrels.table is not None else qrels.subtopics)
    if not any(map(is_path, in_a_file)):
        return qrels
    from ranklens.data.files import formats

    parts: dict[str, Any] = {}
    if is_path(qrels.documents):
        parts["documents"] = formats.read_properties(qrels.documents)
    if is_path(qrels.subtopics):
        parts["subtopics"] = formats.read_qrels(qrels.subtopics, "trec-diversity").subtopics
    if is_path(qrels.intents):
        parts["intents"] = formats.read_intents(qrels.intents)
    return qrels.replace(**parts)


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


def _named(files: Sequence[tuple[str | None, RunFile]]) -> dict[str, Any]:
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


def _can_be_read_once(path: PathLike) -> bool:
    return str(path) == "-" or (os.path.exists(str(path)) and Path(str(path)).is_fifo())
