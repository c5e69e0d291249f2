"""Recommendations: how novel, popular, surprising and fitting they are, given what users did before.

The same name means different things in different libraries; ``kind`` says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import MeasureError
from ranklens.judging.hits import Hits
from ranklens.judging.judged import Judged
from ranklens.judging.views import Recommended
from ranklens.metrics import Cutoff, Rel, Within, formula, measure, working
from ranklens.metrics.formulas.ratio import ratio

TITLE = "Recommendations"
WHEN = (
    "For recommender systems, through `rl.recommend.evaluate(train, test, recommendations, measures)`, which also knows Coverage, "
    "Gini, Entropy, GAUC, PopREO and PopRSP of the whole system."
)

Tail: TypeAlias = Annotated[float, Within(0, 1)]
Head: TypeAlias = Literal["interactions", "items"]


@measure("Novelty", high=np.inf)
@formula(
    r"\frac{1}{m} \sum_{i=1}^{m} -\log_2 \frac{u_i}{U}, \quad m = \min(k, n), \quad u_i \text{ of } U \text{ users used item } i",
    "vargas2011",
)
@working("mean novelty of the recommended items")
def novelty(
    recommended: Recommended,
    *,
    k: Cutoff = 10,
    kind: Literal["miuf", "surprisal", "self-information", "unseen", "unpopularity", "efd", "epc"] = "miuf",
) -> FloatArray:
    """How unknown the recommended items are; the mean over the top k.

    It is -log2 of the share of users who used the item (``miuf``, RecTools). An item without users counts as if it had one.

    ``kind=surprisal`` divides that by log2 of the number of users (RePlay). ``kind=self-information`` is -log2 of the item's share of
    all interactions (recommenders), ``kind=unseen`` the share of items that the user has not used (RePlay's Novelty), ``kind=unpopularity``
    1 minus the share of users.

    ``kind=efd`` and ``kind=epc`` (Vargas and Castells 2011, as in Elliot) take self-information and unpopularity of the wanted items alone, with the discount
    1 / log2(rank + 1), divided by the sum of discounts.
    """
    listing, train = recommended.listing.top(k), recommended.train
    if kind == "unseen":
        seen = [
            listing.names[d] in train.history[q]
            for q, d in zip(listing.query.tolist(), listing.doc.tolist(), strict=True)
        ]
        return listing.mean(1.0 - np.array(seen, dtype=np.float64))
    count = np.maximum(train.count[listing.doc], 1.0)
    users = max(train.users, 2)
    values = {
        "miuf": -np.log2(np.minimum(count / users, 1)),
        "surprisal": -np.log2(np.minimum(count / users, 1)) / np.log2(users),
        "self-information": -np.log2(count / max(train.total, 1)),
        "unpopularity": 1 - np.minimum(count / users, 1),
    }
    if kind not in ("efd", "epc"):
        return listing.mean(values[kind])
    discount = 1 / np.log2(listing.rank + 1)
    wanted = listing.marked(recommended.judged.relevant(recommended.judged.policy.rel))
    worth = values["self-information" if kind == "efd" else "unpopularity"]
    return ratio(listing.sum(wanted * discount * worth), listing.sum(discount))


@measure("Popularity", "avg_rec_popularity", "AvgRecPopularity", high=np.inf, better="neither")
@formula(r"\frac{1}{m} \sum_{i=1}^{m} \text{uses of item } i, \quad m = \min(k, n)")
@working("mean uses of the recommended items")
def popularity(recommended: Recommended, *, k: Cutoff = 10, normalize: bool = False) -> FloatArray:
    """How often the recommended items were used in training, on average over the top k: ARP of recommenders.

    ``normalize=true`` divides by all interactions, as RecTools can.
    """
    listing, train = recommended.listing.top(k), recommended.train
    return listing.mean(train.count[listing.doc] / (max(train.total, 1) if normalize else 1))


@measure("APLT", better="neither")
@formula(r"\frac{|\{i \le m : \text{item } i \text{ in the long tail}\}|}{m}, \quad m = \min(k, n)")
@working("recommended items of the long tail / recommended items")
def tail_share(
    recommended: Recommended,
    *,
    k: Cutoff = 10,
    head: Tail = 0.8,
    kind: Head = "interactions",
) -> FloatArray:
    """The share of the top k that is from the long tail: the items outside of the most popular ones.

    These collect the share ``head`` of all interactions (Elliot).

    ``kind=items`` takes that share of the items instead (RecBole, with 0.9).
    """
    listing = recommended.listing.top(k)
    return listing.mean(_in_tail(recommended, head, kind)[listing.doc])


@measure("ACLT", high=np.inf, better="neither", like="APLT")
@formula(r"|\{i \le k : \text{item } i \text{ in the long tail}\}|")
@working("recommended items of the long tail")
def tail_count(
    recommended: Recommended, *, k: Cutoff = 10, head: Tail = 0.8, kind: Head = "interactions"
) -> FloatArray:
    """How many of the top k are from the long tail (Elliot); APLT is their share."""
    listing = recommended.listing.top(k)
    return listing.sum(_in_tail(recommended, head, kind)[listing.doc])


def _in_tail(recommended: Recommended, head: float, kind: Head) -> FloatArray:
    """1 for each item of the listing that is not among the popular ones, else 0."""
    popular = popular_items(recommended.train.popularity, head, kind)
    return np.array([name not in popular for name in recommended.listing.names], dtype=np.float64)


def popular_items(popularity: Mapping[str, int], head: float = 0.8, kind: Head = "interactions") -> set[str]:
    """The most popular items, which collect this share of all interactions; or this share of the items."""
    ordered = sorted(popularity, key=lambda item: (-popularity[item], item))
    if kind == "items":
        return set(ordered[: round(head * len(ordered))])
    so_far = np.cumsum([popularity[item] for item in ordered])
    return set(ordered[: int(np.searchsorted(so_far, head * sum(popularity.values()))) + 1])


@measure("Serendipity")
@formula(
    r"\frac{1}{m} \sum_{i=1}^{m} r_i \max \big( 0, p(i) - p(\pi_i) \big), \quad m = \min(k, n), \quad p(i) = \frac{N + 1 - i}{N}, \quad \pi_i \text{ the item's rank by popularity among } N \text{ items}"
)
@working("sum of max(chance by rank - chance by popularity, 0) over wanted items / recommended items")
def serendipity(
    recommended: Recommended, *, k: Cutoff = 10, kind: Literal["popularity", "history"] = "popularity"
) -> FloatArray:
    """How much of what was wanted could not be had by recommending what is popular (RecTools).

    The mean over the top k of max(p - pu, 0) for each wanted item: p falls evenly with the rank, pu with the rank of the item by
    popularity, which items that were used equally often share; pu is 0 for an item without users. Both are 1 for the first of all items.

    ``kind=history`` is how unlike the user's history the wanted items are (recommenders): 1 minus the mean cosine with the items of the
    history, where items are similar if the same users have used them; averaged over all recommended items, 0 for those not wanted.
    """
    if kind == "history":
        return _unlike_history(recommended, k)
    train, n, all_wanted = recommended.train, max(recommended.train.items, 1), recommended.relevant
    counts = sorted({*train.popularity.values()}, reverse=True)
    chance_of = {count: (n - place) / n for place, count in enumerate(counts)}
    by_popularity = np.array([chance_of.get(count, 0.0) for count in train.count.tolist()] or [0.0])
    listing = recommended.listing
    value = np.maximum((n + 1 - listing.rank) / n - by_popularity[listing.doc], 0) * all_wanted
    if k is not None:
        listing, value = listing.top(k), value[listing.rank <= k]
    return listing.mean(value)


def _unlike_history(recommended: Recommended, k: int | None) -> FloatArray:
    listing, train = recommended.listing.top(k), recommended.train
    wanted = listing.marked(recommended.judged.relevant(recommended.judged.policy.rel))
    unlike = np.zeros(len(wanted))
    for row in np.flatnonzero(wanted).tolist():  # a few of each list
        one = train.users_of.get(listing.names[listing.doc[row]], frozenset())
        others = [train.users_of.get(item, frozenset()) for item in train.history[listing.query[row]]]
        cosines = [len(one & other) / np.sqrt(max(len(one) * len(other), 1)) for other in others]
        unlike[row] = 1 - sum(cosines) / len(cosines) if cosines else 1.0
    return listing.mean(unlike)


@measure("pAUC", "partial_auc", "PartialAUC", bounds="by rank at any depth")
@formula(
    r"\frac{1}{R} \sum_{i :\, r_i = 1} \max \Big( 1 - \frac{\sum_{j<i} (1 - r_j)}{k}, 0 \Big)",
    "hiranandani2020",
)
@working("wanted items above the first k others / (k · wanted items)")
def partial_auc(judged: Judged, *, k: Cutoff = 10, rel: Rel = 1) -> FloatArray:
    """The area under the ROC curve down to the k-th item that was not wanted (RecTools' PartialAUC).

    Each wanted item scores the share of the first k unwanted items that are ranked below it.
    """
    hits = judged.relevant(rel)
    return ratio(hits.sum(_above_misses(hits, k)), judged.total(rel))


@measure("PAP", "pAp", like="pAUC", bounds="by rank at any depth")
@formula(
    r"\frac{1}{\min(k, R)} \sum_{i :\, r_i = 1,\, \sum_{j \le i} r_j \le k} \max \Big( 1 - \frac{\sum_{j<i} (1 - r_j)}{k}, 0 \Big)",
    "hiranandani2020",
)
@working("the first k wanted items above the first k others / (k · min(k, wanted items))")
def partial_auc_and_precision(judged: Judged, *, k: Cutoff = 10, rel: Rel = 1) -> FloatArray:
    """PAUC over the first k wanted items, divided by min(k, wanted items) (RecTools' PAP, Hiranandani et al. 2020).

    It behaves like precision where more than k items are wanted, and like pAUC elsewhere.
    """
    hits = judged.relevant(rel)
    first = hits.where(hits.position() <= (k or np.inf))
    return ratio(first.sum(_above_misses(first, k)), np.minimum(judged.total(rel), k or np.inf))


def _above_misses(hits: Hits, k: int | None) -> FloatArray:
    """For each hit, the share of the first k unwanted items that are not above it."""
    assert k is not None
    return np.maximum(k - (hits.rank - hits.position()), 0) / k


@measure("MCC", low=-1)
@formula(
    r"\frac{\mathrm{TP} \cdot \mathrm{TN} - \mathrm{FP} \cdot \mathrm{FN}}{\sqrt{k\, R\, (N - R)(N - k)}}, \quad \mathrm{TP} + \mathrm{FP} = k, \quad N \text{ items, at least } \mathrm{TP} + \mathrm{FP} + \mathrm{FN}"
)
@working("correlation of recommended and wanted over all items")
def matthews(recommended: Recommended, *, k: Cutoff = 10) -> FloatArray:
    """Matthews' correlation between being in the top k and being wanted, over all items of the catalogue (RecTools).

    A list shorter than k counts as k items. 0 where the correlation is not defined.
    """
    assert k is not None
    judged = recommended.judged
    hits = judged.relevant(judged.policy.rel).top(k).sum()
    wanted = judged.total(judged.policy.rel)
    items = np.maximum(recommended.train.items, k + wanted - hits)  # a catalogue has at least these
    numerator = hits * (items - k - (wanted - hits)) - (k - hits) * (wanted - hits)
    squared = k * wanted * (items - wanted) * (items - k)
    return ratio(numerator, np.sqrt(np.maximum(squared, 0)))


@measure("SufficientReco", better="higher", bounds="monotone")
@formula(r"[\, n \ge k \,]")
@working("1 if there are at least k items, else 0")
def sufficient(judged: Judged, *, k: Cutoff = 10, deep: bool = False) -> FloatArray:
    """Whether a user got at least k items (RecTools).

    ``deep=true`` is the share of the k places that are filled.
    """
    assert k is not None
    filled = np.minimum(judged.retrieved / k, 1.0)
    return filled if deep else np.floor(filled)


@measure("CoveredUsers", bounds="monotone")
@formula(r"[\, n > 0 \,]")
@working("1 if there is any item, else 0")
def covered_users(judged: Judged) -> FloatArray:
    """Whether a user got any item (RecTools)."""
    return (judged.retrieved > 0).astype(np.float64)


@measure("Calibration", high=np.inf, better="lower")
@formula(
    r"\sum_c p(c) \ln \frac{p(c)}{(1-\alpha)\, q(c) + \alpha\, p(c)}, \quad p, q \text{ shares of group } c \text{ in the history and in the top } k, \ \alpha \text{ the smoothing}",
    "steck2018",
)
@working("sum of p ln(p / q) over the groups")
def calibration(recommended: Recommended, *, k: Cutoff = 10, smoothing: Tail = 0.01) -> FloatArray:
    """How far the groups of the recommended items are from those of the user's history: the divergence of Steck (2018).

    The sum of p ln(p / q'), with p the shares in the history, q in the top k, and q' = (1 - smoothing) q + smoothing p. Groups are the
    property ``group`` of items. 0 for a user without a history.
    """
    listing, train = recommended.listing.top(k), recommended.train
    details = recommended.judged.details
    documents = details.documents if details is not None else None
    if documents is None:
        raise MeasureError("Calibration needs the groups of items: pass features={item: {'group': …}}.")
    out = np.zeros(listing.n_queries)
    for user in range(listing.n_queries):
        past = _groups(train.history[user], documents)
        now = _groups([listing.names[d] for d in listing.doc[listing.query == user].tolist()], documents)
        for group, share in past.items():
            mixed = (1 - smoothing) * now.get(group, 0.0) + smoothing * share
            out[user] += share * np.log(share / mixed)
    return out


def _groups(items: Iterable[str], documents: Mapping[Any, Mapping[str, Any]]) -> dict[Any, float]:
    """The share of each group among items; an item of several groups counts in part for each."""
    weights: dict[Any, float] = {}
    for item in items:
        groups = documents.get(item, {}).get("group") or {}
        if not isinstance(groups, Mapping):
            groups = dict.fromkeys([groups] if isinstance(groups, str) else groups, 1.0)
        for group, weight in groups.items():
            weights[group] = weights.get(group, 0.0) + weight / sum(groups.values())
    return {group: weight / sum(weights.values()) for group, weight in weights.items()}
