"""One query: its ranking document by document, its judgments, and both reduced to what measures see."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ranklens.data.matching.rules import Matching
from ranklens.data.qrels import Qrels
from ranklens.data.run import Run
from ranklens.errors import InputError, Option, PolicyError, RankLensWarning, nearest
from ranklens.judging.assembly import judge
from ranklens.judging.documents import judgments, ranking
from ranklens.judging.inputs import read_inputs
from ranklens.metrics.cuts import only
from ranklens.policy import Policy

if TYPE_CHECKING:
    import polars as pl

    from ranklens.judging.judged import Judged


@dataclass(frozen=True)
class OneQuery:
    """What was retrieved and judged for one query, under a policy.

    ``listed`` holds the documents in the order that measures see (rank, doc, grade, tied, repeats). With averaged ties that order is
    one of many, and documents below the policy's depth are included, as they can take a place above it. ``judged`` holds this
    query only.
    """

    query: str
    policy: Policy
    judged: Judged
    in_one_order: Judged  # the same, averaged ties broken by document id
    listed: pl.DataFrame
    gold: pl.DataFrame  # doc, grade
    retrieved: int  # before the policy removed any
    held: Mapping[str, Sequence[str]]  # by document: the other passages that were found with it

    @cached_property
    def grades(self) -> dict[str, float]:
        return dict(self.gold.select("doc", "grade").iter_rows())

    @property
    def documents(self) -> pl.Series:
        return self.listed["doc"]

    @property
    def ranked(self) -> int:
        """How many documents count as retrieved."""
        return int(self.judged.retrieved[0])

    @cached_property
    def tie_groups(self) -> dict[int, int]:
        """Averaged ties that hold a judged document: their first rank and their size."""
        spread = self.judged.hits.spread
        if spread is None:
            return {}
        pairs = zip(spread.start.tolist(), spread.size.tolist(), strict=True)
        return {start: size for start, size in pairs if size > 1}


def read(
    qrels: object,
    run: object,
    query: str,
    policy: Policy,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
) -> OneQuery:
    """Pick one query out of judgments and a run of any shape; both are read once."""
    judged, ranked = read_inputs(qrels, run, policy, columns=columns, match=match)
    held = ranked.held(query)
    gold = judgments(judged)
    # A dict can judge a query without judging any document; a table cannot.
    ids = gold["query"].unique(maintain_order=True) if judged.by_query is None else map(str, judged.by_query)
    judged_ids = list(ids)
    if query not in judged_ids:
        raise InputError(
            f"Query {query!r} is not among the judged ones, so it has no value: {nearest(query, judged_ids)}"
        )
    everything = replace(policy, depth=None, judged_only=False)
    whole = ranking(judged, ranked, everything, queries=[query])
    if policy.missing == "error" and not len(whole):
        raise PolicyError(
            f"Query {query!r} is judged but not in the run. Add it, or choose ",
            Option("missing", "zero"),
            " or ",
            Option("missing", "skip"),
            ".",
            query=query,
        )
    is_whole = held or ranked.contexts is not None
    rows = ranked.only([query]) if is_whole else Run(whole.select("query", "doc", "score"))
    # Some measures depend on the highest grade of all judgments, so all of them are judged; the other queries stay empty.
    everyone = Qrels(
        gold if judged.by_query is None else {str(q): docs for q, docs in judged.by_query.items()}
    )
    if judged.beyond_grades is not None:
        everyone = Qrels(judged.beyond_grades.under_text_ids())

    def judge_all(policy: Policy) -> Judged:
        """The one query as measures see it, even where the policy leaves it out of the mean."""
        with warnings.catch_warnings():
            # Warnings are about the other queries, which are not in the rows.
            warnings.simplefilter("ignore", RankLensWarning)
            return only(judge(everyone, rows, replace(policy, missing="zero", empty="zero")), query)

    return OneQuery(
        query=query,
        policy=policy,
        judged=judge_all(policy),
        in_one_order=judge_all(replace(policy, ties="descending") if policy.ties == "average" else policy),
        listed=_listed(gold, whole, query, policy),
        gold=gold.filter(gold["query"] == query).select("doc", "grade"),
        retrieved=len(whole),
        held=held,
    )


def _listed(gold: pl.DataFrame, whole: pl.DataFrame, query: str, policy: Policy) -> pl.DataFrame:
    """The documents that count, with how often each was repeated in the whole ranking."""
    # Documents that tie can take each other's places, also across the depth.
    listing = replace(policy, depth=None) if policy.ties == "average" else policy
    if listing.depth is None and not listing.judged_only:
        return whole
    counted = ranking(gold, whole.select("query", "doc", "score"), listing, queries=[query])
    repeats = whole.select("doc", "repeats")
    return counted.drop("repeats").join(repeats, on="doc", how="left", maintain_order="left")


def remarks(data: OneQuery) -> list[str]:
    """What the policy and the data did to this query, in sentences."""
    policy, shown = data.policy, data.listed.head(data.ranked)
    repeated, tied = int(shown["repeats"].sum()), int(shown["tied"].sum())
    unjudged = int((shown["grade"].is_null() | (shown["grade"] < 0)).sum())
    sentences = []
    if not data.retrieved:
        sentences.append("The run has no documents for this query" + _left_out(policy.missing == "skip"))
    if not any(grade >= policy.rel for grade in data.grades.values()):
        sentences.append("No document of this query is relevant" + _left_out(policy.empty == "skip"))
    if policy.ties == "average" and data.tie_groups:
        sentences.append(
            "Tied documents share one line, which shows what they add on average over all their orders."
        )
    elif tied and policy.ties != "average":
        by_id = f"they are ordered by document id, {policy.ties}"
        order = "they are in input order" if policy.ties == "input" else by_id
        sentences.append(f"{tied} documents share their score with another; {order}.")
    if data.held:
        sentences.append(
            "A document that contains several passages counts once for precision, and with all of them for recall, AP and nDCG."
        )
    if policy.depth is not None and data.retrieved > policy.depth:
        sentences.append(f"Only the first {policy.depth} of {data.retrieved} documents count.")
    if policy.judged_only:
        sentences.append("Unjudged documents are removed; ranks count the others.")
    if repeated:
        sentences.append(
            f"{repeated} repeated {'document is' if repeated == 1 else 'documents are'} dropped; the best rank counts."
        )
    if unjudged:
        sentences.append("A grade of – marks an unjudged document; it counts as not relevant.")
    return sentences


def _left_out(is_left_out: bool) -> str:
    return (
        ", so the query is left out of the mean." if is_left_out else "; the query still counts in the mean."
    )
