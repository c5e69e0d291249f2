"""The scores of all retrievers of a benchmark: a dict that is shown as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.scores import Scores

if TYPE_CHECKING:
    from ranklens.tables.table import Table


class RetrieverScores(dict[str, Scores]):
    """Scores by the name of the retriever; printed, a row a retriever with the intervals of its means."""

    def table(self) -> Table:
        """A row a retriever, a column a measure."""
        from ranklens.tables.scores import by_run

        return by_run(self, "retriever")

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table().to_html()
