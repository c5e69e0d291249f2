"""One query: its ranking document by document, its judgments, and the same reduced to what measures see."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError, PolicyError, RankLensWarning, nearest
from ranklens.explanation.stepwise import only
from ranklens.files.collection import read_pair
from ranklens.judging.assembly import judge
from ranklens.judging.documents import judgments, ranking
from ranklens.policy import Policy

if TYPE_CHECKING:
    import polars as pl

    from ranklens.judging.judged import Judged


@dataclass(frozen=True)
class OneQuery:
    """What was retrieved and judged for one query, under a policy.

    ``listed`` holds the documents in the order of measures (rank, doc, grade, tied, repeats); averaged ties stand in some order
    there, with the documents below the policy's depth, as these can take a place above it. ``judged`` has the query alone.
    """

    query: str
    policy: Policy
    judged: Judged
    in_one_order: Judged  # the same, averaged ties broken by document id
    listed: pl.DataFrame
    gold: pl.DataFrame  # doc, grade
    retrieved: int  # before the policy took documents out

    @cached_property
    def grades(self) -> dict[str, float]:
        return dict(self.gold.select("doc", "grade").iter_rows())

    @cached_property
    def documents(self) -> list[str]:
        return self.listed["doc"].to_list()

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
    qrels: Any, run: Any, query: str, policy: Policy, columns: Mapping[str, str] | None = None
) -> OneQuery:
    """Pick one query out of judgments and a run of any shape; both are read once."""
    import polars as pl

    qrels, run = read_pair(qrels, run)
    gold = judgments(qrels, columns=columns)
    # A dict can judge a query without judging any document; a table cannot.
    known = (
        [str(q) for q in qrels] if isinstance(qrels, Mapping) else gold["query"].unique(maintain_order=True)
    )
    if query not in known:
        raise InputError(_not_judged(query, list(known)))
    everything = replace(policy, depth=None, judged_only=False)
    whole = ranking(qrels, run, everything, queries=[query], columns=columns)
    if policy.missing == "error" and not len(whole):
        raise PolicyError(
            f'Query {query!r} is judged but not in the run. Add it, or choose missing="zero" or missing="skip".'
        )
    rows = whole.select("query", "doc", "score")
    averaged = policy.ties == "average"
    # The highest grade of all judgments matters to some measures, so all of them are judged; the other queries are empty.
    judged = {str(q): docs for q, docs in qrels.items()} if isinstance(qrels, Mapping) else gold
    quiet = replace(policy, missing="zero", empty="zero")
    listed = ranking(gold, rows, replace(policy, depth=None) if averaged else policy, queries=[query])
    return OneQuery(
        query=query,
        policy=policy,
        judged=_judge(judged, rows, quiet, query),
        in_one_order=_judge(
            judged, rows, replace(quiet, ties="descending" if averaged else policy.ties), query
        ),
        listed=listed.drop("repeats").join(
            whole.select("doc", "repeats"), on="doc", how="left", maintain_order="left"
        ),
        gold=gold.filter(pl.col("query") == query).select("doc", "grade"),
        retrieved=len(whole),
    )


def _not_judged(query: str, known: Sequence[str]) -> str:
    many = f"{len(known):,} queries are judged, the first is {known[0]!r}." if len(known) > 12 else ""
    hint = nearest(query, known) if known else "no query is."
    return f"Query {query!r} is not judged, so it has no value: {hint}{many}"


def _judge(gold: Any, rows: pl.DataFrame, policy: Policy, query: str) -> Judged:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RankLensWarning
        )  # they are about the other queries, which are left out
        return only(judge(gold, rows, policy), query)


def remarks(data: OneQuery) -> list[str]:
    """What the policy and the data did to this query, in sentences."""
    policy, shown = data.policy, data.listed.head(data.ranked)
    repeated, tied = int(shown["repeats"].sum()), int(shown["tied"].sum())
    unjudged = int((shown["grade"].is_null() | (shown["grade"] < 0)).sum())
    found = []
    if not data.retrieved:
        found.append("The run has no documents for this query" + _left_out(policy.missing == "skip"))
    if not any(grade >= policy.rel for grade in data.grades.values()):
        found.append("No document of this query is relevant" + _left_out(policy.empty == "skip"))
    if policy.ties == "average" and data.tie_groups:
        found.append("Documents that tie stand in one line: what they add on average over all their orders.")
    elif tied and policy.ties != "average":
        order = (
            "they stand in input order"
            if policy.ties == "input"
            else f"they stand by document id, {policy.ties}"
        )
        found.append(f"{tied} documents have the same score as another one; {order}.")
    if policy.depth is not None and data.retrieved > policy.depth:
        found.append(f"Of {data.retrieved} documents the first {policy.depth} count.")
    if policy.judged_only:
        found.append("Documents that nobody judged are taken out; ranks count the others.")
    if repeated:
        found.append(
            f"{repeated} repeated {'document is' if repeated == 1 else 'documents are'} dropped; the best rank counts."
        )
    if unjudged:
        found.append("A grade of –: nobody judged the document, so it counts as not relevant.")
    return found


def _left_out(is_left_out: bool) -> str:
    return ", so the query is left out of the mean." if is_left_out else "; it counts as it stands."
