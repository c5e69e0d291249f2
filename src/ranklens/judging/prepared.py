"""Judgments that are read and indexed once, for any number of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ranklens import words
from ranklens.data.files.collection import read_judgments
from ranklens.data.readers import frames, mappings
from ranklens.data.readers.golden_and_logs import Golden
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.names import Names
from ranklens.errors import InputError
from ranklens.judging.gold import GoldDicts

if TYPE_CHECKING:
    import polars as pl


class Index:
    """What judging needs of judgments, made when the first run asks for it: dicts for dicts, a table for tables."""

    def __init__(self, source: Mapping[Any, Any] | pl.DataFrame, *, copies: bool = True) -> None:
        self.source, self._copies = source, copies
        self.for_tables: Any = None  # kept by ranklens.judging.tables

    @classmethod
    def of(cls, gold: GoldDicts) -> Index:
        """Of judgments that are ready for dicts."""
        found = cls(gold.given.by_query, copies=False)
        vars(found)["for_dicts"] = gold  # as a cached_property keeps what it made
        return found

    @cached_property
    def for_dicts(self) -> GoldDicts:
        """The dicts; copies of them, where later changes of what was given must not matter."""
        source = self.source if isinstance(self.source, Mapping) else frames.by_query(self.source)
        given = mappings.judgments(source)
        if self._copies:
            given = replace(given, by_query={query: dict(docs) for query, docs in given.by_query.items()})
        found = GoldDicts.of(given, keeps=True)
        _ = found.ideal  # refuses what is not a number
        return found


class PreparedJudgments(Mapping[Any, Mapping[Any, float]]):
    """Judgments that were prepared with :func:`judgments`: ``{query: {document: grade}}``, for reading."""

    def __init__(self, index: Index) -> None:
        self.index = index

    @cached_property
    def are_grades(self) -> bool:
        """Whether these are plainly no scores, which somebody may pass by mistake."""
        return isinstance(self.index.source, Mapping) and self.index.for_dicts.are_whole

    def __getitem__(self, query: Any) -> Mapping[Any, float]:
        return self.index.for_dicts.given.by_query[query]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.index.for_dicts.queries)

    def __len__(self) -> int:
        return len(self.index.for_dicts.queries)

    def __repr__(self) -> str:
        gold = self.index.for_dicts
        return f"PreparedJudgments({len(gold.queries):,} queries, {gold.documents:,} judged documents)"


class PreparedGolden(Golden):
    """A golden set that was prepared."""

    index: Index


def judgments(
    qrels: Any, *, columns: Mapping[str, str] | None = None
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
    found = read_judgments(qrels, Names.of(columns, None))
    if isinstance(found, Judgments):
        return found.prepared(copies=True)
    if isinstance(found, Golden):
        golden = PreparedGolden(found, found.questions, found.unanswerable, found.fields)
        golden.index = Index(golden)
        _ = golden.index.for_dicts
        return golden
    check_kind("qrels", found)
    index = Index(found if isinstance(found, Mapping) else frames.qrels_frame(found))
    if isinstance(found, Mapping):
        _ = index.for_dicts
    return PreparedJudgments(index)


def check_kind(what: str, value: Any) -> None:
    """Refuse what is neither a dict, a table nor a run of pieces."""
    if isinstance(value, (dict, Mapping)) or frames.is_frame(value) or hasattr(value, "tables"):
        return
    if isinstance(value, (list, tuple)) and not value:
        raise InputError(f"{what} is an empty {type(value).__name__}: there is nothing to read.")
    by_place = isinstance(value, (list, tuple)) or hasattr(value, "__array__")
    raise InputError(
        f"{what} is {words.kind(value)}; pass a dict by query, a Polars, pandas or Arrow table, a list of records or rows, or a path."
        + (" If it has one entry for each query, in order, pass dict(enumerate(…))." if by_place else "")
    )


def kept(qrels: Any) -> Any:
    """The same judgments, indexed once for all runs of a call; a golden set stays what it is."""
    if isinstance(qrels, (PreparedJudgments, Golden)):
        return qrels
    if isinstance(qrels, Judgments):
        return qrels.prepared()
    if isinstance(qrels, Mapping):
        return PreparedJudgments(Index(qrels, copies=False))
    return PreparedJudgments(Index(frames.qrels_frame(qrels))) if frames.is_frame(qrels) else qrels


def index_of(qrels: Any) -> Index | None:
    """The index of judgments that were prepared."""
    return qrels.index if isinstance(qrels, (PreparedJudgments, PreparedGolden)) else None
