"""Rankings of any shape → :class:`Run`: the one door, and what everything behind it takes."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from ranklens import words
from ranklens.data.files.suffixes import names_of_path
from ranklens.data.qrels import Dicts, Qrels, Scored, texts_beside
from ranklens.data.readers import objects
from ranklens.data.readers.names import RUN, USUAL, Names
from ranklens.data.readers.objects import is_path
from ranklens.data.readers.rankings import Log, Rankings
from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from ranklens.data.evidence.contexts import Contexts
    from ranklens.data.files.sources import PathLike
    from ranklens.data.files.streams import TableStream
    from ranklens.data.readers.rankings import Entry, Further

    Rows: TypeAlias = "pl.DataFrame | TableStream"  # query, doc, score


@runtime_checkable
class WithFailures(Protocol):
    """A dict of rankings that also holds the queries whose calls failed, and why."""

    failed: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Run:
    """Rankings that were read, and what came with them; made by :func:`read_run`.

    The two fast forms stay as they are: dicts by query, and rows, in one table or in a stream of them.
    """

    rankings: Dicts | Rows
    # Passages that items hold besides those they are listed under.
    further: Further = field(default_factory=dict)
    log: Log | None = None  # that the rankings came from, under the ids of its golden set
    contexts: Contexts | None = None  # the chunks of each query, matched with passages

    @classmethod
    def of(cls, rankings: Dicts | Rows) -> Run:
        """From rankings that are read, with all that they know."""
        if type(rankings) is dict or not isinstance(rankings, Mapping):  # which know nothing else
            return cls(rankings)
        log = rankings if isinstance(rankings, Log) else None
        if not isinstance(rankings, Rankings):
            return cls(rankings, log=log)
        return cls(rankings, rankings.further, log, rankings.contexts)

    @cached_property
    def failed(self) -> Mapping[str, str] | None:
        """The errors of failed calls, by query; None where nothing was called, as in a file of rankings."""
        if self.log is not None:
            return self.log.failed
        if type(self.rankings) is dict or not isinstance(self.rankings, Mapping):
            return None
        return self.rankings.failed if isinstance(self.rankings, WithFailures) else None

    @property
    def entries(self) -> Mapping[str, Entry] | None:
        """What a log says of each question, failed calls included; None for any other run."""
        return None if self.log is None else self.log.entries

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The texts of queries, as far as the run knows them."""
        return texts_beside(self.rankings) if self.log is None else self.log.texts

    @property
    def by_query(self) -> Dicts | None:
        """The rankings as a mapping; None if they are rows."""
        return self.rankings if isinstance(self.rankings, Mapping) else None

    @property
    def stream(self) -> TableStream | None:
        """The rows as a stream of tables; None if they are one table, or dicts."""
        from ranklens.data.files.streams import TableStream

        return self.rankings if isinstance(self.rankings, TableStream) else None

    @property
    def table(self) -> pl.DataFrame | None:
        """The rows as one table; None if they are a stream, or dicts."""
        from ranklens.data.files.streams import TableStream

        return None if isinstance(self.rankings, (Mapping, TableStream)) else self.rankings

    @property
    def tables(self) -> TableStream | tuple[pl.DataFrame, ...]:
        """The rows, one table after the other; none for dicts."""
        return self.stream or (() if self.table is None else (self.table,))

    @property
    def can_be_read_again(self) -> bool:
        """Whether the rankings can be walked more than once, as pieces from an iterator cannot."""
        return self.stream is None or not self.stream.once

    def held(self, query: str) -> dict[str, Sequence[str]]:
        """The further passages of a query, by the id under which their item is listed."""
        by_rank = self.further.get(query)
        if not by_rank or self.by_query is None:
            return {}
        ids = list(dict.fromkeys(self.by_query.get(query, ())))
        return {ids[rank - 1]: passages for rank, passages in by_rank.items()}

    def only(self, queries: Collection[str]) -> Run:
        """The same for some of the queries."""
        if self.by_query is not None:
            some = {query: docs for query, docs in self.by_query.items() if str(query) in queries}
            return replace(self, rankings=some)
        import polars as pl

        wanted = pl.col("query").is_in(list(queries))
        if self.stream is not None:
            return replace(self, rankings=self.stream.then(lambda table: table.filter(wanted)))
        assert self.table is not None
        return replace(self, rankings=self.table.filter(wanted))


@dataclass(frozen=True, eq=False)
class RunFile(os.PathLike[str]):
    """A path that knows how to read its run: recognised once, and kept if it is small enough to be looked at again."""

    path: PathLike
    format: str | None = None
    scored: Scored | None = None  # where the judgments allow a file of bare scores
    names: Names = USUAL
    system: str | None = None  # whose rows are read, where a column says that
    among: int = 1  # runs, which share what may be held

    def __fspath__(self) -> str:
        return str(self.path)

    def read(self, *, ranks: bool = False) -> Dicts | Rows:
        """The run as :func:`ranklens.data.files.formats.run_in` gives it."""
        from ranklens.data.files import formats

        place, kind = self._located
        if kind == "svmlight" and self.scored is not None:
            from ranklens.data.files import svmlight

            return svmlight.read_scores(place, self.scored.lines, self.scored.name)
        read: Dicts | Rows = formats.run_in(place, kind, ranks=ranks, names=self.names, system=self.system)
        return read

    @cached_property
    def is_large(self) -> bool:
        """Whether the run is walked again for a second look, rather than held."""
        return self.path == "-" or objects.is_large_file(self, self.among)

    @cached_property
    def held(self) -> dict[bool, Run]:
        """The run as it was read, without and with ranks, unless it is large."""
        return {}

    def systems(self) -> dict[str, RunFile]:
        """Each system as a run, where there are several in the file or folder."""
        from ranklens.data.files import formats
        from ranklens.data.files.systems import system_folders

        folders = system_folders(self.path)
        if len(folders) > 1:
            return {name: replace(self, path=folder) for name, folder in folders.items()}
        if self.can_be_read_once:
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
    def can_be_read_once(self) -> bool:
        """Whether this is standard input or a pipe, which nothing may read before its time."""
        path = str(self.path)
        return path == "-" or (os.path.exists(path) and Path(path).is_fifo())

    @property
    def _is_trec(self) -> bool:
        return not self.can_be_read_once and self._located[1] == "trec"

    @cached_property
    def _located(self) -> tuple[PathLike, str]:
        from ranklens.data.files import recognition

        if self.scored is not None and self.format is None:
            return recognition.locate_scores(self.path)
        return recognition.locate(self.path, self.format, "run")


def read_run(value: object, qrels: Qrels, names: Names = USUAL, *, ranks: bool = False) -> Run:
    """Rankings of any shape that RankLens knows, those in files included; a log comes under the ids of its golden set.

    With ``ranks``, rows keep a rank that stands next to their score.

    >>> from ranklens.data.qrels import read_qrels
    >>> read_run([{"query": "q", "doc": "a", "score": 2}], read_qrels({"q": {"a"}})).rankings.rows()
    [('q', 'a', 2.0)]
    """
    if isinstance(value, Run):
        return value
    if type(value) is dict:
        return Run(value)
    opened = opened_run(value, qrels, names)
    if not isinstance(opened, RunFile):
        return _run(opened, qrels, ranks=ranks)
    if ranks in opened.held:
        return opened.held[ranks]
    run = _run(opened.read(ranks=ranks), qrels, ranks=ranks)
    if opened.is_large:
        return run
    opened.held[ranks] = run if run.stream is None else replace(run, rankings=run.stream.held())
    return opened.held[ranks]


def _run(rankings: object, qrels: Qrels, *, ranks: bool) -> Run:
    from ranklens.data.files.streams import TableStream

    if isinstance(rankings, Log) and qrels.golden is not None:
        from ranklens.data.readers.golden_and_logs import join

        rankings = join(qrels.golden, rankings)
    if isinstance(rankings, (Mapping, TableStream)):
        return Run.of(rankings)
    if isinstance(rankings, (list, tuple)) and rankings and all(map(is_path, rankings)):
        raise InputError(
            f"run is a list of {words.counted(len(rankings), 'path')}; compare them with ranklens.compare(qrels, […]), or pass one of them."
        )
    objects.check_kind("run", rankings)
    from ranklens.data.files import pieces

    return Run(pieces.rows_of(rankings, ranks=ranks))


def opened_run(value: object, qrels: Qrels, names: Names = USUAL, format: str | None = None) -> object:  # noqa: A002
    """A :class:`RunFile` for a path or an open file, a log for records; everything else as it is."""
    if isinstance(value, (RunFile, Run, Mapping)):
        return value
    names = qrels.names_of_runs(names).for_input(*RUN, *names_of_path(value))
    source = objects.as_source(value)
    if source is not None:
        return RunFile(source, format, qrels.scored, names)
    if qrels.scored is not None:
        from ranklens.data.files import svmlight

        if svmlight.are_scores(value):
            return svmlight.with_scores(value, qrels.scored.lines, qrels.scored.name)
    return objects.as_records(value, names, "log")
