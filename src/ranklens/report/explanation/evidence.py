"""What users hand in to find out why questions fail, read: a corpus, a first stage, and what ids are chunks of."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ranklens.data.matching.rules import ByParent
from ranklens.data.matching.texts import ByText, named_texts
from ranklens.errors import InputError
from ranklens.judging.documents import ranking
from ranklens.judging.inputs import read_inputs
from ranklens.report.explanation.library import Library
from ranklens.words import kind

if TYPE_CHECKING:
    from ranklens.judging.inputs import Sources
    from ranklens.policy import Policy
    from ranklens.report.explanation.failing import Document


@dataclass(frozen=True)
class Looked:
    """Where to look for causes, as users say it; see :meth:`ranklens.Scores.failing`."""

    corpus: object = None
    first_stage: object = None
    parent: object = None

    @property
    def rule(self) -> ByParent | None:
        """What the id of a chunk says of its document."""
        if self.parent is None:
            return None
        if isinstance(self.parent, ByParent):
            return self.parent
        if isinstance(self.parent, str):
            return ByParent(separator=self.parent)
        if isinstance(self.parent, Mapping) or callable(self.parent):
            return ByParent(self.parent)
        raise InputError(
            f"parent is {kind(self.parent)}; pass what comes before a chunk's number, such as '#', a dict or a function."
        )


@dataclass(frozen=True)
class Evidence:
    """What is known about the documents of failing queries."""

    library: Library
    before: Mapping[str, Mapping[str, int]] | None  # ranks by query in the first stage; None without one
    texts: Mapping[str, dict[str, str]]  # by query, of retrieved documents, where texts are matched
    are_texts: bool

    @classmethod
    def of(
        cls,
        sources: Sources,
        policy: Policy,
        looked: Looked,
        cases: Sequence[tuple[str, Sequence[str], Sequence[Document]]],
    ) -> Evidence:
        """Of failing queries, each with what it expects and its first documents."""
        match, names = sources.match, [query for query, _, _ in cases]
        are_texts = match is not None and match.expects_texts
        docs = {document.doc for _, _, documents in cases for document in documents}
        expected = {doc for _, wanted, _ in cases for doc in wanted}
        library = Library.of(looked.corpus, docs, expected, match=match, rule=looked.rule)
        texts: dict[str, dict[str, str]] = {}
        if isinstance(match, ByText):
            entries = sources.read(policy)[1].entries or {}
            texts = {query: named_texts(entries[query].ids, match) for query in names if query in entries}
        before = None if looked.first_stage is None else _ranks(sources, policy, looked.first_stage, names)
        return cls(library, before, texts, are_texts)

    def texts_of(self, query: str, expected: Sequence[str]) -> Mapping[str, str]:
        """The texts of documents; an expected text is its own."""
        own = dict(zip(expected, expected, strict=True)) if self.are_texts else {}
        return ChainMap(own, self.texts.get(query, {}), self.library.texts)


def _ranks(
    sources: Sources, policy: Policy, run: object, queries: Sequence[str]
) -> dict[str, dict[str, int]]:
    qrels, first = read_inputs(sources.qrels, run, policy, columns=sources.columns, match=sources.match)
    table = ranking(qrels, first, policy, queries=queries)
    ranks: dict[str, dict[str, int]] = {}
    for query, doc, rank in table.select("query", "doc", "rank").iter_rows():
        ranks.setdefault(query, {})[doc] = rank
    if not ranks:
        raise InputError("first_stage: it has none of the failing queries; pass the run before reranking.")
    return ranks
