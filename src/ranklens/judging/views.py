"""What measures see of judgments that know more than a grade: a measure says by the type of its first argument what it needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ranklens.arrays import BoolArray, FloatArray, IntArray
from ranklens.errors import MeasureError
from ranklens.judging.details import Details, Labels
from ranklens.judging.hits import Hits, Spread, spread_ties
from ranklens.judging.judged import Judged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from typing_extensions import Self

    from ranklens.judging.listing import Listing


_PART = 1e-9  # of a document, which rounding may add


class Richer:
    """Judgments that know more than a grade, and the rankings of the queries that have such judgments."""

    needs: ClassVar[str]

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        """What the measure of that name sees; an error where the judgments do not know it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Diverse(Richer):
    """Rankings whose documents are judged by subtopic. Its ``intents`` are a :class:`Judged` over (query, subtopic)."""

    needs: ClassVar[str] = "subtopics"

    judged: Judged
    details: Details
    labels: Labels

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        details = judged.details
        if details is None or details.subtopics is None:
            raise MeasureError(
                f"{name} needs judgments by subtopic: pass {{query: {{subtopic: {{document: grade}}}}}}, a table with a column "
                "subtopic, or a file of the lines 'query subtopic document grade'."
            )
        return cls(judged, details, details.subtopics)

    def __len__(self) -> int:
        return len(self.judged)

    @property
    def count(self) -> FloatArray:
        """How many subtopics of each query have a relevant document."""
        return np.bincount(self.labels.query, minlength=len(self)).astype(np.float64)

    @property
    def weight(self) -> FloatArray:
        """The weight of each subtopic, 1 on average."""
        return self.labels.weight * self.count[self.labels.query]

    def total(self, by_intent: FloatArray) -> FloatArray:
        """Values by subtopic, added up by query."""
        return np.bincount(self.labels.query, by_intent, len(self)).astype(np.float64, copy=False)

    def hits(self, k: int | None, rel: float) -> Hits:
        """The relevant documents in the top k, by subtopic and rank."""
        return self.details.once(("intent hits", k), lambda: self.details.hits(self.labels, k)).relevant(rel)

    @property
    def intents(self) -> Judged:
        """Each subtopic of each query as if it were a query of its own."""

        def compute() -> Judged:
            labels = self.labels
            hits, further = self.details.hits(labels).one_a_rank()
            return replace(
                self.judged,
                queries=[self.judged.queries[q] for q in labels.query.tolist()],
                hits=hits,
                further=further,
                ideal=_best_first(labels.label, labels.grade, len(labels)),
                retrieved=self.judged.retrieved[labels.query],
                ties=None,
                details=None,
                _cache={},
            )

        return self.details.once("intents", compute)

    @property
    def overall(self) -> Judged:
        """The queries with the global gain of each document in place of its grade: its grades weighted by the subtopics' probability."""

        def compute() -> Judged:
            labels, details = self.labels, self.details
            worth = labels.weight[labels.label] * np.maximum(labels.grade, 0)
            gain = np.bincount(labels.doc, worth, len(details.query)).astype(np.float64, copy=False)
            row = np.flatnonzero(details.rank > 0)
            query, rank, n = details.query[row], details.rank[row], details.n_queries
            if details.averaged:
                retrieved = spread_ties(query, details.start[row], details.size[row], gain[row], n)
            else:
                order = np.lexsort((rank, query))
                retrieved = Hits(query[order], rank[order], gain[row[order]], n)
            hits, further = retrieved.top(details.depth).one_a_rank()
            return replace(
                self.judged,
                hits=hits,
                further=further,
                ideal=_best_first(details.query, gain, len(self)),
                max_grade=float(gain.max(initial=0)),
                details=None,
                _cache={},
            )

        return self.details.once("overall", compute)


@dataclass(frozen=True)
class Navigational(Diverse):
    """The same where it is known which subtopics one document satisfies: their ``navigational`` is true."""

    needs: ClassVar[str] = "navigational"

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        diverse = super().of(judged, name)
        if diverse.labels.navigational is None:
            raise MeasureError(
                f"{name} needs to know which subtopics one document satisfies: pass "
                "Judgments(subtopics=…, navigational={query: {subtopics}})."
            )
        return diverse

    @property
    def navigational(self) -> BoolArray:
        """By subtopic."""
        kinds = self.labels.navigational
        assert kinds is not None
        return kinds


def _best_first(query: IntArray, grade: FloatArray, n: int) -> Hits:
    order = np.lexsort((-grade, query))
    ideal = Hits(query[order], query[order], grade[order], n)
    return replace(ideal, rank=ideal.ordinal())


@dataclass(frozen=True)
class Evidential(Richer):
    """Rankings with evidence sets: any complete set answers the query. Without sets, all relevant documents of a query are one.

    ``complete``, ``touched`` and ``collapsed`` are :class:`Judged` with evidence sets for documents. They differ in the rank of a set:
    that of its last member, if all were retrieved; that of its first; or that of its last member after collapsing each set to one rank.
    """

    needs: ClassVar[str] = "evidence"

    judged: Judged
    query: IntArray  # of each set
    size: IntArray
    member: IntArray  # the set of each retrieved member
    rank: IntArray  # of each retrieved member

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        del name  # any judgments will do
        details = judged.details
        if details is None or details.evidence is None:
            relevant = judged.relevant(judged.policy.rel)
            total = judged.total(judged.policy.rel).astype(np.int64)
            query = np.flatnonzero(total)
            passages = judged.passages(relevant, judged.policy.rel)
            times = np.ones(len(relevant), np.int64) if passages is None else passages.astype(np.int64)
            member = np.searchsorted(query, relevant.query).repeat(times)
            return cls(judged, query, total[query], member, relevant.rank.repeat(times))
        labels = details.evidence
        size = np.bincount(labels.label, minlength=len(labels))
        rank = details.rank[labels.doc]
        retrieved = np.flatnonzero((rank > 0) & (rank <= (details.depth or np.inf)))
        return cls(judged, labels.query, size, labels.label[retrieved], rank[retrieved])

    @property
    def complete(self) -> Judged:
        """Evidence sets of which all members were retrieved, at the rank of the last."""
        return self._at(np.where(self._whole, self._last, 0))

    @property
    def collapsed(self) -> Judged:
        """Complete evidence sets in a ranking where a set, complete or not, takes one rank in total: that of its last retrieved member."""
        last = self._last
        retrieved_sets = np.flatnonzero(last)
        retrieved_sets = retrieved_sets[
            np.lexsort((last[retrieved_sets], self.query[retrieved_sets]))
        ]  # of equal ranks, the first set first
        query, width = self.query[retrieved_sets], int(last.max(initial=0)) + 1
        sets_above = np.arange(len(retrieved_sets)) - np.searchsorted(query, query)
        members = np.unique(self.query[self.member] * width + self.rank)
        members_above = np.searchsorted(members, query * width + last[retrieved_sets]) - np.searchsorted(
            members, query * width
        )
        rank = np.zeros_like(last)
        rank[retrieved_sets] = last[retrieved_sets] - members_above + sets_above
        n = len(self.judged)
        retrieved = (
            self.judged.retrieved
            - np.bincount(members // width, minlength=n)
            + np.bincount(query, minlength=n)
        )
        return replace(self._at(np.where(self._whole, rank, 0)), retrieved=retrieved)

    @property
    def _last(self) -> IntArray:
        """The rank of the last retrieved member of each set; 0 if there is none."""
        last = np.zeros(len(self.query), np.int64)
        np.maximum.at(last, self.member, self.rank)
        return last

    @property
    def _whole(self) -> BoolArray:
        is_whole: BoolArray = np.bincount(self.member, minlength=len(self.query)) == self.size
        return is_whole

    @property
    def touched(self) -> Judged:
        """Evidence sets of which a member was retrieved, at the rank of the first."""
        never = np.iinfo(np.int64).max
        first = np.full(len(self.query), never)
        np.minimum.at(first, self.member, self.rank)
        return self._at(np.where(first == never, 0, first))

    def _at(self, rank: IntArray) -> Judged:
        sets = np.flatnonzero(rank)
        sets = sets[np.lexsort((rank[sets], self.query[sets]))]
        n = len(self.judged)
        hits = Hits(self.query[sets], rank[sets], np.ones(len(sets)), n)
        return replace(
            self.judged,
            hits=hits,
            ideal=_best_first(self.query, np.ones(len(self.query)), n),
            details=None,
            further=None,
            _cache={},
        )


@dataclass(frozen=True)
class Preferring(Richer):
    """Rankings with preferences between two documents, which may come from several judgment groups."""

    needs: ClassVar[str] = "preferences"

    judged: Judged
    owner: IntArray  # the query of each group
    group: IntArray  # of each preference
    better: IntArray  # ranks; 0: not retrieved
    worse: IntArray

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        details = judged.details
        if details is None or details.preferences is None:
            raise MeasureError(
                f"{name} needs preferences: pass Judgments(preferences={{query: [(better document, worse document), …]}})."
            )
        pairs = details.preferences
        rank = np.where(details.rank <= (details.depth or np.iinfo(np.int64).max), details.rank, 0)
        # Pairs are labels with two documents each: the better one first.
        return cls(judged, pairs.query, pairs.label[::2], rank[pairs.doc[::2]], rank[pairs.doc[1::2]])

    @property
    def fulfilled(self) -> BoolArray:
        """Whether the better document ranks above the other one, or is the only one retrieved."""
        is_fulfilled: BoolArray = (self.better > 0) & ((self.worse == 0) | (self.better < self.worse))
        return is_fulfilled

    def counts(self, over: str) -> BoolArray:
        """Which preferences are looked at: all, those with both documents retrieved, or with any."""
        if over == "all":
            return np.ones(len(self.better), dtype=bool)
        both: BoolArray = (self.better > 0) & (self.worse > 0)
        return both if over == "retrieved" else (self.better > 0) | (self.worse > 0)

    def total(self, values: FloatArray) -> FloatArray:
        """Values by preference, added up by query."""
        return np.bincount(self.owner[self.group], values, len(self.judged)).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Sampled(Richer):
    """Rankings with a random sample of judgments: each judged document represents ``weight`` documents."""

    needs: ClassVar[str] = "probabilities"

    judged: Judged
    hits: Hits  # the sampled documents that were retrieved
    weight: FloatArray  # of these
    sample: Hits  # all sampled documents, whatever their ranks
    sample_weight: FloatArray

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        details = judged.details
        if details is not None and details.probabilities is not None:
            chances = details.probabilities
            return cls._of(judged, details, chances.doc, 1 / chances.grade)
        if details is not None and details.strata is not None:
            strata = details.strata
            drawn = np.flatnonzero(details.grade[strata.doc] >= 0)
            return cls._of(judged, details, strata.doc[drawn], _worth(details, strata)[strata.label[drawn]])
        raise MeasureError(
            f"{name} needs judgments of a random sample: pass Judgments(grades, probabilities={{query: {{document: probability}}}}) or strata=, "
            "or a file of the lines 'query document grade method probability'."
        )

    @classmethod
    def _of(cls, judged: Judged, details: Details, doc: IntArray, weight: FloatArray) -> Self:
        ranked, order = _retrieved(details, doc)
        sample = Hits(details.query[doc], details.rank[doc], details.grade[doc], details.n_queries)
        return cls(judged, ranked, weight[order], sample, weight)

    @property
    def estimated(self) -> Judged:
        """The rankings as if each sampled document were as many as it represents: sums over them are estimates for the whole pool."""
        ranks = self.hits.rank
        hits = replace(self.hits, spread=Spread(self.weight, ranks, np.ones_like(ranks)))
        ideal = _whole_pool(self.sample, self.sample_weight)
        return replace(
            self.judged,
            hits=hits,
            ideal=ideal,
            ties=None,
            details=None,
            further=None,
            _cache={},
            _prepared=None,
        )


def _whole_pool(sample: Hits, weight: FloatArray) -> Hits:
    """A ranking of as many documents of each grade as are estimated, the best first; at some ranks a part of a document."""
    order = np.lexsort((-sample.grade, sample.query))
    query, grade, weight = sample.query[order], sample.grade[order], weight[order]
    first_row = np.searchsorted(query, query)
    end = np.cumsum(weight)
    end = end - (end - weight)[first_row] if len(end) else end
    start = end - weight
    rows = np.maximum(np.ceil(end - _PART).astype(np.int64) - np.floor(start + _PART).astype(np.int64), 1)
    row = np.repeat(np.arange(len(query)), rows)
    step = np.arange(len(row)) - np.repeat(np.cumsum(rows) - rows, rows)
    rank = np.floor(start + _PART).astype(np.int64)[row] + step + 1
    share = np.minimum(end[row], rank) - np.maximum(start[row], rank - 1)
    return Hits(query[row], rank, grade[row], sample.n_queries, Spread(share, rank, np.ones_like(rank)))


@dataclass(frozen=True)
class Stratified(Richer):
    """Rankings whose pool was divided into strata, with a random sample of each stratum judged."""

    needs: ClassVar[str] = "strata"

    judged: Judged
    hits: Hits  # the pooled documents that were retrieved; those that were not sampled have a negative grade
    stratum: IntArray  # of each of these
    query: IntArray  # of each stratum
    worth: FloatArray  # of each stratum: how many pooled documents a sampled one stands for
    sampled: Sampled

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        details = judged.details
        if details is None or details.strata is None:
            raise MeasureError(
                f"{name} needs the strata of a sampled pool: pass Judgments(grades, strata={{query: {{document: stratum}}}}), or a file of "
                "the lines 'query 0 document stratum grade'."
            )
        strata = details.strata
        hits, order = _retrieved(details, strata.doc)
        worth = _worth(details, strata)
        sampled = Sampled.of(replace(judged, details=replace(details, probabilities=None)), name)
        return cls(judged, hits, strata.label[order], strata.query, worth, sampled)


def _retrieved(details: Details, doc: IntArray) -> tuple[Hits, IntArray]:
    """Those of these documents that were retrieved, by query and rank; and their places in ``doc``."""
    rank = details.rank[doc]
    hits = np.flatnonzero((rank > 0) & (rank <= (details.depth or np.inf)))
    order = hits[np.lexsort((rank[hits], details.query[doc[hits]]))]
    row = doc[order]
    return Hits(details.query[row], details.rank[row], details.grade[row], details.n_queries), order


def _worth(details: Details, strata: Labels) -> FloatArray:
    """For how many pooled documents of its stratum a sampled one stands."""
    drawn = strata.label[details.grade[strata.doc] >= 0]
    pooled = np.bincount(strata.label, minlength=len(strata))
    return pooled / np.maximum(np.bincount(drawn, minlength=len(strata)), 1)


@dataclass(frozen=True)
class Surveyed(Richer):
    """Whole rankings, and which of their documents are judged for any query at all."""

    needs: ClassVar[str] = "rankings"

    judged: Judged
    listing: Listing
    judged_anywhere: BoolArray  # by place among the names of the listing

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        if judged.source is None:
            raise MeasureError(
                f"{name} needs the unjudged documents: pass a run that can be read twice, such as a dict, a table or a file."
            )
        from ranklens.judging.documents import judgments
        from ranklens.judging.listing import listing

        qrels, run = judged.source.read(judged.policy)
        place = {query: i for i, query in enumerate(dict.fromkeys(judged.queries))}
        whole = listing(qrels, run, judged.policy, list(place))
        # The same query may be there several times, down to different ranks.
        listing_of_queries = whole.take(
            np.array([place[query] for query in judged.queries], np.int64), judged.retrieved
        )
        judged_ids = {*judgments(qrels)["doc"].to_list()}
        return cls(
            judged,
            listing_of_queries,
            np.array([doc in judged_ids for doc in listing_of_queries.names], dtype=bool),
        )


@dataclass(frozen=True)
class Described(Richer):
    """Whole rankings of documents with properties, such as a group or features."""

    needs: ClassVar[str] = "documents"

    judged: Judged
    details: Details
    listing: Listing
    documents: Mapping[Any, Mapping[str, Any]]
    name: str

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        details = judged.details
        if details is None or details.listing is None or details.documents is None:
            raise MeasureError(
                f"{name} needs properties of documents: pass Judgments(grades, documents={{document: {{property: value}}}})."
            )
        return cls(judged, details, details.listing, details.documents, name)

    def values(self, key: str) -> list[Any]:
        """A property of each document of the listing, by the document's place among its names; None if it is not known."""
        values = [self.documents.get(name, {}).get(key) for name in self.listing.names]
        if all(value is None for value in values) and values:
            raise MeasureError(
                f"{self.name} needs the property {key!r} of documents; none of those retrieved has it."
            )
        return values


@dataclass(frozen=True)
class Interactions:
    """What is known from training: how often each recommended item was used, and what each user has used."""

    users: int
    items: int  # in the catalogue
    total: int
    count: FloatArray  # of each item, by its place among the names of the listing
    history: Sequence[frozenset[str]]  # of each user that is evaluated
    popularity: Mapping[str, int]  # of all items
    users_of: Mapping[str, frozenset[str]]  # who used each item


@dataclass(frozen=True)
class Recommended(Richer):
    """Recommendations with what is known from training."""

    needs: ClassVar[str] = "train"

    judged: Judged
    listing: Listing
    train: Interactions
    relevant: FloatArray  # of each row of the listing: 1 if the user wanted it

    @classmethod
    def of(cls, judged: Judged, name: str) -> Self:
        details = judged.details
        if details is None or details.train is None or details.listing is None:
            raise MeasureError(
                f"{name} needs training data: use ranklens.recommend.evaluate(train, test, recommendations, …)."
            )
        hits = judged.relevant(judged.policy.rel)
        wanted = details.listing.marked(hits)
        return cls(judged, details.listing, details.train, wanted)
