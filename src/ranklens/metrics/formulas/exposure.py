"""Properties of documents: how different the documents of a ranking are, and how attention is shared among groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.errors import MeasureError
from ranklens.judging.views import Described
from ranklens.metrics import Chance, Cutoff, Measure, Rel, formula, measure, parse, working
from ranklens.metrics.formulas.own import own_name

TITLE = "Properties of documents: variety and exposure"
WHEN = (
    "For the variety of what is shown, and for who gets attention: documents have features and groups, "
    '`Judgments(grades, documents={document: {"group": …}})`.'
)

Target: TypeAlias = Literal["uniform", "relevant"]
_EXPOSURE = r"\epsilon_G = \sum_{i \le k,\, i \in G} \frac{1}{\log_2 \max(i, 2)}, \ G \text{ a group}"
_TARGET = r"\epsilon^*_G = t_G \sum_H \epsilon_H, \quad t_G \text{ the target share}"


@measure("ILD", "intra_list_diversity", high=np.inf)
@formula(
    r"\frac{2}{m(m-1)} \sum_{i<j} d(i, j), \quad m \text{ documents with features in the top } k, \ d \text{ their distance}",
    "ziegler2005",
)
@working("mean distance of the pairs of documents")
def intra_list_diversity(
    described: Described,
    *,
    k: Cutoff = None,
    distance: Literal["cosine", "euclidean", "jaccard", "hamming"] = "cosine",
) -> FloatArray:
    """The mean distance of the pairs of documents in the top k, from their property ``features``: a vector, or a set for ``jaccard``.

    Documents without features are left out; 0 where fewer than two are left. ``ranklens.diversity_from`` takes a distance of your own.
    """
    return _mean_distance(described, k, lambda known: _distances(known, distance))


def diversity_from(distance: Callable[[Any, Any], float], name: str | None = None) -> Measure:
    """ILD with a distance of your own between the ``features`` of two documents, whatever they are; known by its name from then on.

    >>> import ranklens as rl
    >>> years = rl.diversity_from(lambda a, b: abs(a - b), "YearsApart")
    >>> judged = rl.Judgments({"q": {"a": 1}}, documents={"a": {"features": 1990}, "b": {"features": 2020}})
    >>> rl.evaluate(judged, {"q": ["a", "b"]}, ["YearsApart@10"]).mean
    {'YearsApart@10': 30.0}
    >>> rl.registry.unregister("YearsApart")
    """
    called = own_name(name, distance, "A measure needs a name: diversity_from(function, name='Mine')")

    def diversity(described: Described, *, k: Cutoff = None) -> FloatArray:
        return _mean_distance(
            described, k, lambda known: np.array([[distance(a, b) for b in known] for a in known])
        )

    diversity.__doc__ = (
        distance.__doc__ or "The mean distance of the pairs of documents in the top k, by your own function."
    )
    measure(called, low=-np.inf, high=np.inf)(diversity)
    return parse(called)


def _mean_distance(
    described: Described, k: int | None, distances: Callable[[list[Any]], FloatArray]
) -> FloatArray:
    """The mean over the pairs of each query's documents, given the distances of each two."""
    listing = described.listing.top(k)
    features = described.values("features")
    out = np.zeros(listing.n_queries)
    for query in range(listing.n_queries):  # as many pairs as a list has, which are few
        vectors = [
            features[doc] for doc in listing.doc[listing.query == query].tolist() if features[doc] is not None
        ]
        if len(vectors) > 1:
            table = distances(vectors)
            out[query] = (table.sum() - np.trace(table)) / (len(vectors) * (len(vectors) - 1))
    return out


def _distances(features: list[Any], distance: str) -> FloatArray:
    """Between each two, 0 on the diagonal."""
    if distance == "jaccard":
        sets = [frozenset(one) for one in features]
        distances = [[1 - len(a & b) / len(a | b) if a | b else 0.0 for b in sets] for a in sets]
        return np.array(distances, dtype=np.float64)
    table = np.array(features, dtype=np.float64)
    if distance == "cosine":
        length = np.linalg.norm(table, axis=1, keepdims=True)
        unit = np.divide(table, length, out=np.zeros_like(table), where=length > 0)
        far = 1 - unit @ unit.T
        np.fill_diagonal(far, 0.0)
        return np.asarray(far, dtype=np.float64)
    apart = table[:, None, :] - table[None, :, :]
    between = (apart != 0).mean(axis=2) if distance == "hamming" else np.sqrt((apart**2).sum(axis=2))
    return np.asarray(between, dtype=np.float64)


@measure("uRBP", "urbp")
@formula(
    r"(1-p) \sum_{i=1}^{k} p^{i-1}\, r_i\, u_i, \quad u_i \text{ how well document } i \text{ is understood}",
    "zuccon2016",
)
@working("(1 - p) · sum of p^(rank - 1) · understandability over relevant documents")
def understandability_biased_precision(
    described: Described, *, p: Chance = 0.8, k: Cutoff = None, rel: Rel = 1
) -> FloatArray:
    """Understandability-biased RBP: what a relevant document adds to RBP is multiplied with how well it is understood (Zuccon 2016).

    That is its property ``understandability``, from 0 to 1; 0 for a document without it.
    """
    listing = described.listing.top(k)
    understood = np.array([value or 0.0 for value in described.values("understandability")], dtype=np.float64)
    wrong = understood[(understood < 0) | (understood > 1)]
    if len(wrong):
        raise MeasureError(
            f"{described.name}: an understandability of {wrong[0]:g} is not allowed; it is from 0 to 1."
        )
    worth = listing.marked(described.judged.relevant(rel))
    return (1 - p) * listing.sum(worth * understood[listing.doc] * np.power(p, listing.rank - 1.0))


@measure("AWRF", over_rankings=True)
@formula(
    r"1 - \mathrm{JS}(\epsilon \,\|\, \epsilon^*), \quad \mathrm{JS}(a \,\|\, b) = \frac{1}{2} \sum_G \Big( a_G \ln \frac{2 a_G}{a_G + b_G} + b_G \ln \frac{2 b_G}{a_G + b_G} \Big), \quad \epsilon_G \propto \sum_{i \le k,\, i \in G} \frac{1}{\log_2 \max(i, 2)}, \quad \epsilon^*_G \text{ the target share}",
    "sapiezynski2019",
)
@working("1 - distance of the groups' shares of attention from their target")
def attention_weighted_rank_fairness(
    described: Described, *, k: Cutoff = None, target: Target = "uniform", base: Literal["e", "2"] = "e"
) -> FloatArray:
    """1 minus the distance of the groups' shares of attention from their target (TREC Fair Ranking 2022).

    A document's property ``group`` is the name of its group, or its shares in several: ``{"a": 0.5, "b": 0.5}``. Attention falls with
    1 / log2(rank), the first two ranks equally. The target is the same for all groups that any document belongs to, shown or not. The distance is the Jensen-Shannon
    divergence (not its square root), with the natural logarithm as in the track.

    ``target=relevant`` takes the mean over relevant documents, retrieved or not.

    ``base=2`` takes the logarithm to base 2, with which disjoint groups have 0.
    """
    exposure, wanted = _exposures(described, k, target)
    e, t = _shares(exposure), _shares(wanted)
    middle = (e + t) / 2
    distance = (_divergence(e, middle) + _divergence(t, middle)) / 2 / (np.log(2) if base == "2" else 1.0)
    return np.where(exposure.sum(axis=1) > 0, 1 - distance, 0.0)


@measure("EE_D", "EE-D", high=np.inf, better="lower", over_rankings=True)
@formula(rf"\sum_G \epsilon_G^2, \quad {_EXPOSURE}", "diaz2020")
@working("sum of the squared exposures of the groups")
def expected_exposure_disparity(
    described: Described, *, k: Cutoff = None, target: Target = "uniform"
) -> FloatArray:
    """Disparity: the sum of the squared exposures of the groups (Diaz et al. 2020). Groups and attention as in AWRF."""
    exposure, _ = _exposures(described, k, target)
    return _added(exposure**2)


@measure("EE_R", "EE-R", high=np.inf, over_rankings=True)
@formula(rf"\sum_G \epsilon_G\, \epsilon^*_G, \quad {_EXPOSURE}, \quad {_TARGET}", "diaz2020")
@working("sum of exposure · target over the groups")
def expected_exposure_relevance(
    described: Described, *, k: Cutoff = None, target: Target = "uniform"
) -> FloatArray:
    """Relevance: the product of the exposures of the groups with their targets, added up."""
    exposure, wanted = _exposures(described, k, target)
    return _added(exposure * wanted)


@measure("EE_L", "EE-L", high=np.inf, better="lower", over_rankings=True)
@formula(rf"\sum_G (\epsilon_G - \epsilon^*_G)^2, \quad {_EXPOSURE}, \quad {_TARGET}", "diaz2020")
@working("sum of (exposure - target)² over the groups")
def expected_exposure_loss(
    described: Described, *, k: Cutoff = None, target: Target = "uniform"
) -> FloatArray:
    """Loss: the squared distance of the exposures of the groups from their targets: EE_D - 2 EE_R + that of the target itself."""
    exposure, wanted = _exposures(described, k, target)
    return _added((exposure - wanted) ** 2)


def _exposures(described: Described, k: int | None, target: Target) -> tuple[FloatArray, FloatArray]:
    """The attention that each group gets in each query, and what it should get; both add up to the same."""
    listing, details = described.listing.top(k), described.details
    # All groups: one that is never shown gets no attention, which is what is measured.
    every = details.once_for_all(
        "group names",
        lambda: sorted({name for one in described.documents.values() for name in _groups(one.get("group"))}),
    )
    names = {name: i for i, name in enumerate(every)}
    member = details.once("membership", lambda: _membership(described.values("group"), names))
    attention = 1 / np.log2(np.maximum(listing.rank, 2))
    # Documents without a group keep their rank, but no group gets their attention.
    exposure = np.stack(
        [listing.sum(attention * member[listing.doc, g]) for g in range(member.shape[1])], axis=1
    )
    share = np.full(exposure.shape, 1 / member.shape[1])
    if target == "relevant":
        share = _shares(_relevant_share(described, names, share))
    return exposure, share * exposure.sum(axis=1, keepdims=True)


def _relevant_share(described: Described, names: Mapping[str, int], otherwise: FloatArray) -> FloatArray:
    """What the groups of the relevant documents add up to, retrieved or not."""
    details, described_documents = described.details, described.documents
    relevant = np.flatnonzero(details.grade >= described.judged.policy.rel)
    docs = [details.names[i] for i in relevant.tolist()]
    member = _membership(
        [described_documents.get(doc, described_documents.get(str(doc), {})).get("group") for doc in docs],
        names,
    )
    shares = np.zeros_like(otherwise)
    np.add.at(shares, details.query[relevant], member)
    return np.where(shares.sum(axis=1, keepdims=True) > 0, shares, otherwise)


def _groups(given: Any) -> dict[str, float]:
    """The share of a document in each of its groups."""
    shares = {} if given is None else given if isinstance(given, Mapping) else {given: 1.0}
    return {str(name): float(share) for name, share in shares.items()}


def _membership(groups: list[Any], names: Mapping[str, int]) -> FloatArray:
    """The share of each document in each group."""
    table = np.zeros((len(groups), max(len(names), 1)))
    for i, one in enumerate(groups):
        for name, share in _groups(one).items():
            table[i, names[name]] = share
    return table


def _shares(table: FloatArray) -> FloatArray:
    whole = table.sum(axis=1, keepdims=True)
    out: FloatArray = np.zeros_like(table)
    np.divide(table, whole, out=out, where=whole > 0)
    return out


def _divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    logs = np.zeros_like(p)
    np.log(np.divide(p, q, out=np.ones_like(p), where=(p > 0) & (q > 0)), out=logs)
    return _added(p * logs)


def _added(table: FloatArray) -> FloatArray:
    sums: FloatArray = np.sum(table, axis=1)
    return sums
