"""The scores of all retrievers in a benchmark: a dict that prints as a table."""

from __future__ import annotations

from ranklens.errors import InputError, nearest
from ranklens.scores import Scores
from ranklens.tables.table import Shown, Table


class RetrieverScores(Shown, dict[str, Scores]):
    """Scores by the name of the retriever; prints one row per retriever, with intervals."""

    def __missing__(self, name: str) -> Scores:
        raise InputError(f"No retriever {name!r} has run: {nearest(str(name), self)}")

    def table(self) -> Table:
        """One row per retriever, one column per measure."""
        from ranklens.scores.tables import by_run

        return by_run(self, "retriever")
