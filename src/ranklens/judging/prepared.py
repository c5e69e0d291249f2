"""Judgments that are read and indexed once, for any number of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ranklens.data.qrels import Dicts, Id, Prepared, Qrels, read_qrels
from ranklens.data.readers import frames, mappings
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.names import Names
from ranklens.data.readers.rankings import Golden
from ranklens.judging.gold import GoldDicts

if TYPE_CHECKING:
    import polars as pl

    from ranklens.judging.segments import Gold


class Index:
    """What judging needs of judgments, made when the first run asks for it: dicts for dicts, a table for tables."""

    def __init__(self, source: Dicts | pl.DataFrame, *, copies: bool = True) -> None:
        self.source, self._copies = source, copies
        self.for_tables: Gold | None = None  # kept by ranklens.judging.tables

    @classmethod
    def of(cls, gold: GoldDicts) -> Index:
        """Of judgments that are ready for dicts."""
        index = cls(gold.given.by_query, copies=False)
        vars(index)["for_dicts"] = gold  # as a cached_property keeps what it made
        return index

    @cached_property
    def for_dicts(self) -> GoldDicts:
        """The dicts; copies of them, where later changes of what was given must not matter."""
        source = self.source if isinstance(self.source, Mapping) else frames.by_query(self.source)
        repaired = mappings.judgments(source)
        if self._copies:
            repaired = replace(
                repaired, by_query={query: dict(docs) for query, docs in repaired.by_query.items()}
            )
        found = GoldDicts.of(repaired, keeps=True)
        _ = found.ideal  # refuses what is not a number
        return found


class PreparedJudgments(Prepared, Mapping[Id, Mapping[Id, float]]):
    """Judgments that were prepared with :func:`judgments`: ``{query: {document: grade}}``, for reading."""

    def __init__(self, index: Index) -> None:
        self.index = index

    @cached_property
    def are_grades(self) -> bool:
        """Whether these cannot be scores that were passed in place of judgments by mistake."""
        return isinstance(self.index.source, Mapping) and self.index.for_dicts.are_whole

    def __getitem__(self, query: Id) -> Mapping[Id, float]:
        return self.index.for_dicts.given.by_query[query]

    def __iter__(self) -> Iterator[Id]:
        return iter(self.index.for_dicts.queries)

    def __len__(self) -> int:
        return len(self.index.for_dicts.queries)

    def __repr__(self) -> str:
        gold = self.index.for_dicts
        return f"PreparedJudgments({len(gold.queries):,} queries, {gold.documents:,} judged documents)"


class PreparedGolden(Prepared, Golden):
    """A golden set that was prepared."""

    index: Index


def judgments(
    qrels: object, *, columns: Mapping[str, str] | None = None
) -> PreparedJudgments | PreparedGolden | Judgments:
    """Read and index judgments once, to evaluate many runs against them.

    ``qrels`` is anything that :func:`ranklens.evaluate` takes, a path included; ``columns`` names columns that have other names.
    The result is accepted wherever judgments are, and gives the same values; only the second run and those after it are faster.
    Later changes of what was given make no difference.

    >>> import ranklens as rl
    >>> gold = judgments({"q1": {"a": 2, "b": 1}, "q2": {"c"}})
    >>> gold
    PreparedJudgments(2 queries, 3 judged documents)
    >>> [rl.evaluate(gold, run, "RR").mean["RR"] for run in ({"q1": ["a"], "q2": ["c"]}, {"q1": ["x", "b"]})]
    [1.0, 0.25]
    """
    if isinstance(qrels, (PreparedJudgments, PreparedGolden)):
        return qrels
    judged = read_qrels(qrels, Names.of(columns, None)).judged
    if isinstance(judged, Judgments):
        return judged.prepared(copies=True)
    if isinstance(judged, Golden):
        golden = PreparedGolden(judged, judged.questions, judged.unanswerable, judged.fields, judged.passages)
        golden.index = Index(golden)
        _ = golden.index.for_dicts
        return golden
    index = Index(judged)
    if isinstance(judged, Mapping):
        _ = index.for_dicts
    return PreparedJudgments(index)


def kept(qrels: Qrels) -> Qrels:
    """The same judgments, indexed once for all runs of a call; a golden set is returned unchanged."""
    judged = qrels.judged
    if isinstance(judged, (PreparedJudgments, Golden)):
        return qrels
    prepared = (
        judged.prepared() if isinstance(judged, Judgments) else PreparedJudgments(Index(judged, copies=False))
    )
    return replace(qrels, judged=prepared)
