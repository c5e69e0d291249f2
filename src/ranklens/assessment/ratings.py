"""Several assessors on the same documents: one row per document, one column per assessor."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ranklens.data.files.suffixes import name_of_file
from ranklens.data.readers import frames
from ranklens.data.readers.names import ASSESSORS, plain
from ranklens.data.readers.objects import is_path
from ranklens.errors import InputError
from ranklens.judging.documents import judgments
from ranklens.words import counted

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Ratings:
    """The grades that several assessors gave to documents; NaN where one gave none."""

    assessors: tuple[str, ...]
    queries: tuple[str, ...]
    query: IntArray  # of each document, as a place in ``queries``
    docs: tuple[str, ...]
    grades: FloatArray  # documents × assessors

    @classmethod
    def of(cls, given: Sequence[object], names: Sequence[str] | None = None) -> Ratings:
        """From one set of judgments per assessor, or a table of all with a column that names the assessor."""
        by_assessor = _by_assessor(given, names)
        if len(by_assessor) < 2:
            raise InputError(
                "Agreement is between two or more assessors: pass several sets of judgments, or one table with a column 'assessor'."
            )
        import polars as pl

        # A negative grade means that the document was pooled and not judged.
        tables = [table.filter(pl.col("grade") >= 0) for table in by_assessor.values()]
        every = pl.concat([table.select("query", "doc") for table in tables]).unique(maintain_order=True)
        places = every.with_row_index("place")
        grades = np.full((len(every), len(tables)), np.nan)
        for column, table in enumerate(tables):
            found = table.join(places, on=["query", "doc"])
            grades[found["place"].to_numpy(), column] = found["grade"].to_numpy()
        queries = every["query"].unique(maintain_order=True)
        number = pl.DataFrame({"query": queries}).with_row_index("number")
        query = (
            every.join(number, on="query", how="left", maintain_order="left")["number"]
            .to_numpy()
            .astype(np.int64)
        )
        return cls(tuple(by_assessor), tuple(queries.to_list()), query, tuple(every["doc"].to_list()), grades)

    def __len__(self) -> int:
        return len(self.docs)

    @cached_property
    def scale(self) -> FloatArray:
        """All grades that were given, in ascending order; whole ones without gaps, so that 0 and 2 are two steps apart."""
        seen = np.unique(self.grades[~np.isnan(self.grades)])
        is_whole = bool((seen == np.rint(seen)).all()) and len(seen) > 0
        return np.arange(seen[0], seen[-1] + 1) if is_whole and np.ptp(seen) <= 100 else seen

    @cached_property
    def codes(self) -> IntArray:
        """The place of each grade on the scale; -1 where there is none."""
        codes = np.searchsorted(self.scale, self.grades)
        return np.where(np.isnan(self.grades), -1, codes)

    @cached_property
    def counts(self) -> FloatArray:
        """Documents × grades: how many assessors gave each."""
        given = self.codes[:, :, None] == np.arange(len(self.scale))
        return np.asarray(given.sum(axis=1), dtype=np.float64)

    def where(self, keep: BoolArray) -> Ratings:
        """Some of the documents, with the queries that these belong to."""
        rows = np.flatnonzero(keep)
        used, query = np.unique(self.query[rows], return_inverse=True)
        return Ratings(
            self.assessors,
            tuple(self.queries[place] for place in used.tolist()),
            query.astype(np.int64),
            tuple(self.docs[row] for row in rows.tolist()),
            self.grades[rows],
        )

    @property
    def shared(self) -> Ratings:
        """The documents that two assessors or more have judged."""
        return self.where((~np.isnan(self.grades)).sum(axis=1) > 1)

    def by_query(self, grades: FloatArray) -> dict[str, dict[str, float]]:
        """One grade per document as judgments; those that are NaN are left out."""
        found: dict[str, dict[str, float]] = {}
        for query, doc, grade in zip(self.query.tolist(), self.docs, grades.tolist(), strict=True):
            if grade == grade:  # noqa: PLR0124  not NaN
                found.setdefault(self.queries[query], {})[doc] = int(grade) if grade == int(grade) else grade
        return found


def _by_assessor(given: Sequence[object], names: Sequence[str] | None) -> dict[str, pl.DataFrame]:
    """The judgments of each assessor as a table ``query, doc, grade``."""
    if len(given) == 1 and (long := _with_assessors(given[0])) is not None:
        return long
    called = _names(given) if names is None else [str(name) for name in names]
    if len({*called}) < len(given) or len(called) != len(given):
        raise InputError(
            f"{counted(len(given), 'assessor')} but {len({*called})} different names; give each one its own."
        )
    return {name: judgments(one) for name, one in zip(called, given, strict=True)}


def _with_assessors(value: object) -> dict[str, pl.DataFrame] | None:
    """A table of all assessors, by assessor; None if this is no table with such a column."""
    if is_path(value):
        from ranklens.data.files import formats, recognition

        place, kind = recognition.locate(os.fspath(value), None, "qrels")  # type: ignore[call-overload]
        table = formats.read_table(place, kind) if kind in ("csv", "tsv", "jsonl", "parquet") else None
    else:
        table = frames.to_polars(value) if frames.is_frame(value) else None
    column = (
        None if table is None else next((name for name in table.columns if plain(name) in ASSESSORS), None)
    )
    if table is None or column is None:
        return None
    parts = table.partition_by(column, as_dict=True, maintain_order=True, include_key=False)
    return {str(name): judgments(part) for (name,), part in parts.items()}


def _names(given: Sequence[object]) -> list[str]:
    """Those of files, as far as they differ; else letters."""
    stems = [name_of_file(os.fspath(one)) if is_path(one) else "" for one in given]  # type: ignore[call-overload]
    if all(stems) and len({*stems}) == len(stems):
        return stems
    return [chr(ord("A") + place) if len(given) <= 26 else str(place + 1) for place in range(len(given))]


def assessors_named(given: Mapping[str, object]) -> Ratings:
    """From judgments by the name of their assessor."""
    return Ratings.of([*given.values()], [*given])
