"""How the files of a command are read: formats, where fields are, and what matches what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ranklens.data.files.collection import Collection, open_collection
from ranklens.data.readers.names import Names
from ranklens.errors import InputError, RankLensError
from ranklens.options import option

if TYPE_CHECKING:
    from ranklens.data.matching.rules import Matching


@dataclass(frozen=True)
class ReadOptions:
    """How files are read, where their names and contents do not say."""

    qrels_format: str | None = option(None, "Format of the judgments, if it is not recognised.")
    run_format: str | None = option(None, "Format of the runs, if it is not recognised.")
    places: list[str] | None = option(
        None,
        "Path of a field that has another name: query, text, expected, retrieved, doc, score, rank or grade. Can be repeated.",
        flags=("--map",),
        metavar="ROLE=PATH",
    )

    @cached_property
    def columns(self) -> dict[str, str] | None:
        """``--map ROLE=PATH`` as :func:`ranklens.evaluate` takes it."""
        columns: dict[str, str] = {}
        for text in self.places or ():
            role, equals, path = text.partition("=")
            if not equals or not role or not path:
                raise InputError(f"--map {text}: expected ROLE=PATH, e.g. expected=gold.ids.")
            columns[role] = path
        return columns or None

    @property
    def names(self) -> Names:
        """Where fields are."""
        return Names.of(self.columns)

    def open(
        self, qrels: str, runs: Sequence[str], bad: dict[str, RankLensError] | None = None
    ) -> Collection:
        """Judgments with their runs; those that cannot be read go to ``bad``, if there is one."""
        return open_collection(qrels, runs, self.qrels_format, self.run_format, self.names, bad)


@dataclass(frozen=True)
class MatchOptions(ReadOptions):
    """The same where retrieved items may match what is expected in other ways than by id."""

    match: str | None = option(
        None,
        "How retrieved items match expected ones: parent:#, field:metadata.source, text, text:overlap:0.7, spans:0.5 or groups:FILE.",
        flags=("--match",),
        metavar="KIND[:ARGUMENT]",
    )

    @cached_property
    def matching(self) -> Matching | None:
        """``--match KIND:ARGUMENT`` as :func:`ranklens.evaluate` takes it."""
        if self.match is None:
            return None
        from ranklens.data.matching.parsing import spelled

        return spelled(self.match)

    @property
    def names(self) -> Names:
        return Names.of(self.columns, self.matching)
