"""Training data, test data and recommendations → one value per user, and values of the whole system."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.arrays import FloatArray
from ranklens.data.qrels import read_qrels
from ranklens.data.readers import frames, mappings
from ranklens.data.readers.judgments import Judgments
from ranklens.data.run import read_run
from ranklens.errors import InputError, MeasureError
from ranklens.judging.assembly import judge
from ranklens.judging.details import Details
from ranklens.judging.listing import Listing, listing
from ranklens.judging.views import Interactions
from ranklens.metrics import Measure, parse, with_rel
from ranklens.metrics.formulas.recommendation import popular_items
from ranklens.policy import Policy, make_policy
from ranklens.scores.evaluation import score
from ranklens.stats import Interval

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Unpack

    from ranklens.judging.judged import Judged
    from ranklens.policy import PolicyOptions
    from ranklens.scores import Scores

# Other names of measures here, where they mean something else than among measures of rankings.
_HERE = {"ARP": "Popularity"}
_SYSTEM = re.compile(r"(Coverage|Gini|Entropy|GAUC|PopREO|PopRSP)(?:\(kind=([\w-]+)\))?(?:@(\d+))?$")
_SAMPLES = 1000


@dataclass(frozen=True)
class Result:
    """What an evaluation of recommendations gives: values per user in ``scores``, values of the whole system in ``system``."""

    scores: Scores | None
    system: Mapping[str, float]
    asked: Mapping[str, str]  # the name that was asked for → that of the scores
    samples: Mapping[str, FloatArray]

    @property
    def mean(self) -> dict[str, float]:
        """The mean over users, or the value of the whole system, by the name that was asked for."""
        means = self.scores.mean if self.scores is not None else {}
        return {
            name: self.system[name] if name in self.system else means[ours]
            for name, ours in self.asked.items()
        }

    @property
    def per_user(self) -> pl.DataFrame:
        """A Polars frame: query (the user), one column per measure."""
        if self.scores is None:
            raise MeasureError(
                "Only measures of the whole system were asked for; they have no value per user."
            )
        return self.scores.per_query

    def interval(self, name: str) -> Interval:
        """The interval of a mean over users; for the whole system by a bootstrap over users."""
        if name in self.samples:
            low, high = np.quantile(self.samples[name], [0.025, 0.975]).tolist()
            return Interval(low, high, 0.95, "bootstrap")
        assert self.scores is not None
        return self.scores.interval(self.asked.get(name, name))

    def __str__(self) -> str:
        return "\n".join(f"{name:<24} {value:.4f}" for name, value in self.mean.items())


def evaluate(
    train: Any,
    test: Any,
    recommendations: Any,
    measures: str | Sequence[str | Measure],
    *,
    items: Collection[object] | None = None,
    features: Mapping[Any, Any] | None = None,
    policy: Policy | None = None,
    **options: Unpack[PolicyOptions],
) -> Result:
    """Score recommendations, given what users did before and what they did later.

    ``train`` and ``test`` are interactions: ``{user: {item: grade}}``, ``{user: {items}}`` or a table; ``recommendations`` is
    ``{user: [items, best first]}``, ``{user: {item: score}}`` or a table. ``items`` is the catalogue, by default all items of the
    training data. ``features`` is ``{item: vector or set}`` or ``{item: {"features": …, "group": …}}``. Measures are those of rankings
    (``nDCG@10``), of recommendations for each user (``Novelty@10``, ``ILD@10``, ``ARP@10``, ``APLT@10``, ``Serendipity@10``,
    ``Calibration@10``, ``pAUC@10``), and of the whole system (``Coverage@10``, ``Gini@10``, ``Entropy@10``, ``GAUC``, and whether popular items are favoured: ``PopRSP@10``, ``PopREO@10``).

    >>> train = {"u1": {"a", "b"}, "u2": {"a"}, "u3": {"a", "c"}}
    >>> found = evaluate(train, {"u1": {"c"}}, {"u1": ["c", "a"]}, ["Novelty@2", "Coverage@2", "RR"])
    >>> {name: round(value, 4) for name, value in found.mean.items()}
    {'Novelty@2': 0.7925, 'Coverage@2': 0.6667, 'RR': 1.0}
    """
    chosen = make_policy(policy, options)
    wanted = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    used = _interactions(train)
    properties = _properties(features)
    described = properties is not None and isinstance(test, Mapping)
    gold = read_qrels(Judgments(test, documents=properties) if described else test)
    run = read_run(recommendations, gold)
    judged = judge(gold, run, chosen)
    listed = listing(gold, run, chosen, list(judged.queries))
    catalogue = {str(item) for item in (items if items is not None else used.popularity)}
    details = _details(judged, used, listed, properties, len(catalogue))
    judged = replace(judged, details=details, _cache={})
    names = {str(one): _ours(str(one)) for one in wanted}
    system = {name: ours for name, ours in names.items() if _SYSTEM.match(ours)}
    by_user = {name: with_rel(parse(ours), chosen.rel) for name, ours in names.items() if name not in system}
    whole = _Whole(judged, listed, catalogue, used, test)
    samples = {name: _sampled(ours, whole) for name, ours in system.items()}
    return Result(
        score(judged, list(by_user.values())) if by_user else None,
        {name: _system(ours, whole) for name, ours in system.items()},
        {name: str(by_user[name]) if name in by_user else name for name in names},
        samples,
    )


def _ours(name: str) -> str:
    base = re.match(r"\w+", name)
    return name.replace(base[0], _HERE[base[0]], 1) if base and base[0] in _HERE else name


@dataclass(frozen=True)
class _Used:
    """Who used what in training."""

    by_user: Mapping[str, frozenset[str]]
    popularity: Mapping[str, int]

    @cached_property
    def users_of(self) -> Mapping[str, frozenset[str]]:
        """Who used each item."""
        found: dict[str, set[str]] = {item: set() for item in self.popularity}
        for user, items in self.by_user.items():
            for item in items:
                found[item].add(user)
        return {item: frozenset(users) for item, users in found.items()}


def _interactions(train: Any) -> _Used:
    if isinstance(train, Mapping):
        by_user = {
            str(user): frozenset(map(str, docs)) for user, docs in mappings.judgments(train).by_query.items()
        }
    elif frames.is_frame(train):
        found: dict[str, set[str]] = {}
        table = frames.qrels_frame(train)
        for user, item in table.select("query", "doc").iter_rows():
            found.setdefault(user, set()).add(item)
        by_user = {user: frozenset(docs) for user, docs in found.items()}
    else:
        raise InputError(
            "train: pass {user: {items}}, {user: {item: grade}} or a table with the columns user and item."
        )
    counts = Counter(item for docs in by_user.values() for item in docs)
    return _Used(by_user, counts)


def _properties(features: Mapping[Any, Any] | None) -> Mapping[Any, Mapping[str, Any]] | None:
    if features is None:
        return None
    return {
        str(item): value if isinstance(value, Mapping) else {"features": value, "group": value}
        for item, value in features.items()
    }


def _details(
    judged: Judged,
    used: _Used,
    listed: Listing,
    properties: Mapping[Any, Mapping[str, Any]] | None,
    items: int,
) -> Details:
    train = Interactions(
        users=len(used.by_user),
        items=items,
        total=sum(used.popularity.values()),
        count=np.array([used.popularity.get(name, 0) for name in listed.names], dtype=np.float64),
        history=[used.by_user.get(user, frozenset()) for user in judged.queries],
        popularity=used.popularity,
        users_of=used.users_of,
    )
    if judged.details is not None:
        return replace(judged.details, listing=listed, train=train, documents=properties)
    none = np.zeros(0, np.int64)
    return Details(
        len(judged),
        none,
        [],
        np.zeros(0),
        none,
        none,
        none,
        documents=properties,
        listing=listed,
        train=train,
    )


@dataclass(frozen=True)
class _Whole:
    """All recommendations together."""

    judged: Judged
    listed: Listing
    catalogue: set[str]
    used: _Used
    test: Any

    def rates(self, what: str, k: int | None) -> tuple[FloatArray, FloatArray]:
        """Of each user, how many items of the head and of the tail were recommended, and how many could have been.

        For PopREO only items that the user wanted count; users are never recommended what they have used.
        """
        if (what, k) not in self._rates:
            self._rates[what, k] = self._counted(what, k)
        return self._rates[what, k]

    @cached_property
    def _rates(self) -> dict[tuple[str, int | None], tuple[FloatArray, FloatArray]]:
        return {}

    def _counted(self, what: str, k: int | None) -> tuple[FloatArray, FloatArray]:
        popular, top, users = popular_items(self.used.popularity), self.listed.top(k), self.judged.queries
        wanted = self._wanted if what == "PopREO" else None
        shown: list[set[str]] = [set() for _ in users]
        for user, item in zip(top.query.tolist(), top.doc.tolist(), strict=True):
            shown[user].add(top.names[item])
        found, possible = np.zeros((len(users), 2)), np.zeros((len(users), 2))
        for i, user in enumerate(users):
            among = self.catalogue if wanted is None else wanted.get(user, set())
            new = among - self.used.by_user.get(user, frozenset())
            got = shown[i] if wanted is None else shown[i] & among
            found[i] = len(got & popular), len(got - popular)
            possible[i] = len(new & popular), len(new - popular)
        return found, possible

    @cached_property
    def _wanted(self) -> dict[str, set[str]]:
        """What each user wanted."""
        from ranklens.judging.documents import judgments

        found: dict[str, set[str]] = {}
        for user, item, grade in judgments(self.test).select("query", "doc", "grade").iter_rows():
            if grade >= self.judged.policy.rel:
                found.setdefault(user, set()).add(item)
        return found


def _inequality(rates: tuple[FloatArray, FloatArray], users: FloatArray) -> float:
    """The standard deviation of the rates of head and tail, divided by their mean; 0 where there is only one, or nothing was found."""
    found, possible = (users @ part for part in rates)
    rate = found[possible > 0] / possible[possible > 0]
    return float(rate.std() / rate.mean()) if len(rate) and rate.mean() else 0.0


def _system(name: str, whole: _Whole, weight: FloatArray | None = None) -> float:
    """A measure of all recommendations together; ``weight`` says how often each user counts."""
    parts = _SYSTEM.match(name)
    assert parts is not None
    judged, listed, catalogue = whole.judged, whole.listed, whole.catalogue
    what, kind, k = parts[1], parts[2], int(parts[3]) if parts[3] else None
    users = np.ones(len(judged)) if weight is None else weight
    if what in ("PopREO", "PopRSP"):
        return _inequality(whole.rates(what, k), users)
    if what == "GAUC":
        positives = judged.total(judged.policy.rel) * users
        return float((parse("AUC")(judged) * positives).sum() / max(positives.sum(), 1e-300))
    top = listed.top(k)
    counts = np.bincount(top.doc, users[top.query], len(listed.names))
    known = [counts[i] for i, item in enumerate(listed.names) if item in catalogue]
    every = np.concatenate([np.array(known), np.zeros(max(len(catalogue) - len(known), 0))])
    if what == "Coverage":
        return float((every > 0).mean()) if len(every) else 0.0
    return _gini(every, kind) if what == "Gini" else _entropy(every, kind)


def _gini(counts: FloatArray, kind: str | None) -> float:
    """0: all items alike; 1: one item has everything. RecBole divides by n, ``kind=elliot`` is 1 minus the form with n - 1."""
    n, total = len(counts), counts.sum()
    if n < 2 or not total:
        return 0.0
    ranked = np.sort(counts)
    value = float((2 * np.arange(1, n + 1) - n - 1) @ ranked / total)
    if kind in (None, "n", "recbole"):
        return value / n
    if kind not in ("n-1", "elliot"):
        raise MeasureError(f"Gini: kind={kind!r} is not allowed; it is one of n, n-1, recbole, elliot.")
    return value / (n - 1) if kind == "n-1" else 1 - value / (n - 1)


def _entropy(counts: FloatArray, kind: str | None) -> float:
    """In bits; ``kind=recbole`` is divided by the number of recommended items and in nats, as its code has it."""
    share = counts[counts > 0] / max(counts.sum(), 1e-300)
    value = float(-(share * np.log2(share)).sum()) if len(share) else 0.0
    return value * float(np.log(2)) / max(len(share), 1) if kind == "recbole" else value


def _sampled(name: str, whole: _Whole) -> FloatArray:
    """The measure over users drawn with replacement, many times."""
    rng, n = np.random.default_rng(0), len(whole.judged)
    draws: Iterable[FloatArray] = (
        np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        for _ in range(_SAMPLES if n else 0)
    )
    return np.array([_system(name, whole, weight) for weight in draws])
