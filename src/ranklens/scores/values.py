"""One value for each query and measure, wherever it comes from: files, evaluation, baselines or the history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ranklens.arrays import IntArray

Column: TypeAlias = "npt.NDArray[Any]"  # floats, but for the few measures that are texts


class Values(Mapping[str, "Column"]):
    """Values by measure, each in the order of :attr:`queries`. Never changed.

    >>> values = Values(["q1", "q2"], {"RR": np.array([1.0, 0.5])})
    >>> values.over(["q3", "q2"])["RR"]
    array([0. , 0.5])
    """

    def __init__(self, queries: Sequence[str], columns: Mapping[str, Column]) -> None:
        self.queries, self.columns = queries, columns

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"Values({len(self.queries)} queries, {list(self)})"

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each query is in the columns."""
        return {query: number for number, query in enumerate(self.queries)}

    def over(self, queries: Sequence[str], names: Sequence[str] | None = None) -> Values:
        """The values of these queries, in this order; 0 where a query is lacking. ``names`` are the measures, by default all."""
        columns = self.columns if names is None else {name: self[name] for name in names}
        if len(queries) == len(self.queries) and list(queries) == list(self.queries):
            return Values(queries, columns)
        place = self.place.get
        rows: IntArray = np.array([place(query, -1) for query in queries], dtype=np.int64)
        return Values(queries, {name: np.append(column, 0)[rows] for name, column in columns.items()})

    def with_columns(self, columns: Mapping[str, Column]) -> Values:
        """The same with more measures of the same queries."""
        return Values(self.queries, {**self.columns, **columns})

    @classmethod
    def concat(cls, parts: Sequence[Values]) -> Values:
        """Values of different queries as one; all parts have the same measures."""
        queries = [query for part in parts for query in part.queries]
        return cls(queries, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
