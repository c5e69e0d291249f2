"""How far assessors agree, beyond what chance alone would give, and whether it matters for systems: :func:`agreement` → :class:`Agreement`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ranklens.assessment import coefficients
from ranklens.assessment.ratings import Ratings
from ranklens.assessment.systems import SystemsChange
from ranklens.errors import InputError, warn
from ranklens.stats import inputs
from ranklens.stats.intervals import Interval, bootstrap_weights
from ranklens.tables.table import Lines, Printout, Shown, Table
from ranklens.words import counted, finite, percent, several

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.metrics import Measure
    from ranklens.stats.inputs import Rng
    from ranklens.upward import Chart

RELIABLE, TENTATIVE = 0.8, 0.667  # Krippendorff's limits of alpha
_SKEWED = 0.2  # prevalence, below which agreement by chance is high
_FEW = 10  # queries
KAPPAS = ("kappa", "kappa_linear", "kappa_quadratic")  # in the order of their weights
# What is printed, in this order: name, and what it is.
COEFFICIENTS = {
    "kappa": "Cohen's kappa",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, quadratic weights",
    "fleiss": "Fleiss' kappa",
    "alpha_nominal": "Krippendorff's alpha, nominal",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
    "alpha_interval": "Krippendorff's alpha, interval",
    "overlap": "overlap of relevant documents",
    "positive": "agreement on relevant documents",
    "negative": "agreement on all others",
    "raw": "raw agreement",
}


@dataclass(frozen=True, eq=False)
class Agreement(Shown):
    """How far assessors agree; made by :func:`agreement`.

    With more than two assessors ``kappa`` and its weighted forms are the mean over their pairs. A coefficient is NaN where it is not defined, as
    nothing could differ.
    """

    ratings: Ratings  # of the documents that two assessors or more have judged
    rel: float
    level: float
    seed: int
    resamples: int
    left_out: int  # documents that one assessor alone has judged
    systems: SystemsChange | None = None
    _by_query: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    @property
    def kappa(self) -> float:
        """Cohen's kappa: how often assessors give the same grade, beyond chance."""
        return self.values["kappa"]

    @property
    def kappa_linear(self) -> float:
        """Cohen's kappa where grades that are two apart disagree twice as much as neighbours."""
        return self.values["kappa_linear"]

    @property
    def kappa_quadratic(self) -> float:
        """Cohen's kappa where they disagree four times as much."""
        return self.values["kappa_quadratic"]

    @property
    def fleiss(self) -> float:
        """Fleiss' kappa, over the documents that all assessors have judged."""
        return self.values["fleiss"]

    @property
    def overlap(self) -> float:
        """Of the documents that some assessor found relevant, the share that all did, among those that all have judged."""
        return self.values["overlap"]

    def alpha(self, level: str = "ordinal") -> float:
        """Krippendorff's alpha, which takes any number of assessors and missing grades."""
        return self.values[f"alpha_{inputs.choice(level, 'level', coefficients.LEVELS)}"]

    @cached_property
    def values(self) -> dict[str, float]:
        """All coefficients by name."""
        return {name: float(one) for name, one in self._coefficients(self._by_query.sum(axis=0)).items()}

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """How far each coefficient can be trusted: queries are drawn with replacement, as documents of a query are not independent."""
        ends = [(1 - self.level) / 2, (1 + self.level) / 2]
        if len(self._by_query) < 2:
            return {name: Interval(-1.0, 1.0, self.level, "percentile") for name in self.values}
        weights = bootstrap_weights(len(self._by_query), np.random.default_rng(self.seed), self.resamples)
        parts = [self._coefficients(some @ self._by_query) for some in weights]
        drawn = {name: np.concatenate([part[name] for part in parts]) for name in self.values}
        found = {}
        for name, one in drawn.items():
            low, high = np.nanquantile(one, ends).tolist() if np.isfinite(one).any() else (-1.0, 1.0)
            found[name] = Interval(low, high, self.level, "percentile")
        return found

    def interval(self, name: str = "alpha_ordinal") -> Interval:
        """The interval of a coefficient, over queries like these."""
        return self.intervals[inputs.choice(name, "name", COEFFICIENTS)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each two assessors."""
        return list(combinations(self.ratings.assessors, 2))

    @cached_property
    def tables(self) -> dict[tuple[str, str], FloatArray]:
        """For each two assessors, how often the first gave each grade (row) where the second gave each (column)."""
        found, _ = self._parted(self._by_query.sum(axis=0))
        return dict(zip(self.pairs, found, strict=True))

    @cached_property
    def confusion(self) -> pl.DataFrame:
        """How often the first assessor gave each grade (rows) where the second gave each (columns); over all pairs, if there are more."""
        import polars as pl

        total = np.sum([*self.tables.values()], axis=0).astype(np.int64)
        names = [f"{grade:g}" for grade in self.ratings.scale]
        first = self.ratings.assessors[0] if len(self.pairs) == 1 else "grade"
        return pl.DataFrame({first: names, **{name: total[:, i] for i, name in enumerate(names)}})

    @cached_property
    def prevalence(self) -> dict[str, float]:
        """The share of documents that each assessor found relevant, of those judged by others as well."""
        grades = self.ratings.grades
        judged = ~np.isnan(grades)
        return {
            name: float((grades[judged[:, i], i] >= self.rel).mean()) if judged[:, i].any() else float("nan")
            for i, name in enumerate(self.ratings.assessors)
        }

    @cached_property
    def queries(self) -> pl.DataFrame:
        """One row per query, those with the worst agreement first: documents, agreement (share of pairs), apart (mean distance of grades)."""
        import polars as pl

        tables, _ = self._parted(self._by_query)
        counts = np.sum(tables, axis=0)
        total, scale = counts.sum(axis=(1, 2)), self.ratings.scale
        same = np.trace(counts, axis1=1, axis2=2) / total
        apart = (counts * np.abs(scale[:, None] - scale)).sum(axis=(1, 2)) / total
        documents = np.bincount(self.ratings.query, minlength=len(self.ratings.queries))
        columns = {
            "query": list(self.ratings.queries),
            "documents": documents,
            "agreement": same,
            "apart": apart,
        }
        return pl.DataFrame(columns).sort("agreement", "apart", "query", descending=[False, True, False])

    def verdict(self) -> list[str]:
        """What follows, in sentences."""
        around, alpha = self.interval("alpha_ordinal"), self.alpha()
        where = f"alpha (ordinal) is {alpha:.3f} {_short(around)}"
        if np.isnan(alpha):
            said = ["All grades are the same, so nothing can be said about agreement beyond chance."]
        elif around.low >= RELIABLE:
            said = [f"Reliable: {where}; above {RELIABLE} judgments can be relied on (Krippendorff)."]
        elif alpha >= RELIABLE:
            said = [f"Probably reliable: {where}, but its interval goes below {RELIABLE}."]
        elif alpha >= TENTATIVE:
            said = [
                f"Tentative: {where}; between {TENTATIVE} and {RELIABLE} only tentative conclusions are safe (Krippendorff)."
            ]
        else:
            said = [
                f"Not reliable: {where}, below {TENTATIVE}. Clarify the guidelines with the queries and grades that differ most."
            ]
        raw, kappa = self.values["raw"], self.kappa
        if raw >= RELIABLE and not kappa >= TENTATIVE:
            rare = min(self.prevalence.values())
            why = f", as only {percent(rare)} of documents are relevant" if rare < _SKEWED else ""
            said.append(
                f"Assessors give the same grade to {percent(raw)} of documents, but chance alone explains most of that{why}: kappa is {kappa:.3f}."
            )
        said += self._of_leniency()
        if self.systems is not None:
            said += self.systems.lines()
        return said

    def _of_leniency(self) -> list[str]:
        """Who finds far more documents relevant than another."""
        least, most = (
            choose(self.prevalence, key=lambda name: self.prevalence[name]) for choose in (min, max)
        )
        low, high = self.prevalence[least], self.prevalence[most]
        if not high > 1.5 * low or high - low < 0.05:
            return []
        return [
            f"{most} finds {percent(high)} of the documents relevant, {least} {percent(low)}: they draw the line elsewhere."
        ]

    def table(self) -> Table:
        """All coefficients with their intervals."""
        rows = [
            [COEFFICIENTS[name], f"{value:.3f}" if np.isfinite(value) else "–", _short(self.intervals[name])]
            for name, value in self.values.items()
        ]
        shares = [f"{name} {percent(share)}" for name, share in self.prevalence.items()]
        pairs = (
            f"; kappa is the mean over {counted(len(self.pairs), 'pair')} of assessors"
            if len(self.pairs) > 1
            else ""
        )
        left = (
            f"; {counted(self.left_out, 'document')} judged by one assessor left out" if self.left_out else ""
        )
        note = (
            f"{counted(len(self.ratings), 'document')} of {counted(len(self.ratings.queries), 'query')}, judged by {several(self.ratings.assessors)}"
            f"{left}{pairs}; relevant from grade {self.rel:g}: {', '.join(shares)}. Intervals over queries (bootstrap)."
        )
        return Table(["agreement", "value", f"{self.level:.0%} interval"], rows, note=note)

    def printout(self, worst: int = 5) -> Printout:
        """Everything that people look at: coefficients, grades against grades, the queries with the worst agreement, what follows."""
        parts: list[Table | Lines] = [self.table()]
        frame = self.confusion
        rows = [[str(cell) for cell in row] for row in frame.iter_rows()]
        across = (
            f"{self.pairs[0][0]} (rows) and {self.pairs[0][1]} (columns)"
            if len(self.pairs) == 1
            else "all pairs of assessors"
        )
        parts.append(Table(frame.columns, rows, title=f"Grades given by {across}"))
        bad = [row for row in self.queries.head(worst).iter_rows() if row[2] < 1]
        if bad:
            cells = [[query, f"{n:,}", percent(same), f"{apart:.2f}"] for query, n, same, apart in bad]
            parts.append(
                Table(
                    ["query", "documents", "same grade", "grades apart"],
                    cells,
                    title="Queries with the worst agreement",
                )
            )
        if self.systems is not None:
            parts.append(self.systems.table())
        return Printout([*parts, Lines("Verdict", self.verdict())])

    def chart(self) -> Chart:
        """Grades against grades as a chart; needs the extra ``plots``."""
        from ranklens.upward import confusion_chart

        return confusion_chart(self)

    def to_dict(self) -> dict[str, object]:
        """All numbers, for JSON."""
        found: dict[str, object] = {
            "assessors": list(self.ratings.assessors),
            "documents": len(self.ratings),
            "queries": self.queries.to_dicts(),
            "coefficients": {
                name: {
                    "value": finite(value),
                    "low": self.intervals[name].low,
                    "high": self.intervals[name].high,
                }
                for name, value in self.values.items()
            },
            "prevalence": self.prevalence,
            "grades": self.ratings.scale.tolist(),
            "confusion": {
                " / ".join(pair): table.astype(int).tolist() for pair, table in self.tables.items()
            },
            "verdict": self.verdict(),
        }
        if self.systems is not None:
            found["systems"] = {
                "measure": self.systems.measure,
                "means": {name: dict(one) for name, one in self.systems.means.items()},
            }
        return found

    def to_frame(self) -> pl.DataFrame:
        """One row per coefficient: agreement, value, low, high."""
        import polars as pl

        rows = [(name, finite(value), *self.intervals[name]) for name, value in self.values.items()]
        return pl.DataFrame(
            rows,
            schema={"agreement": pl.String, **dict.fromkeys(("value", "low", "high"), pl.Float64)},
            orient="row",
        )

    def _parted(self, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The tables of counts by pair, and all other sums, from the numbers that are added up over queries."""
        size, pairs = len(self.ratings.scale), len(self.pairs)
        tables = totals[..., : pairs * size**2].reshape(*totals.shape[:-1], pairs, size, size)
        return np.moveaxis(tables, -3, 0), totals[..., pairs * size**2 :]

    def _coefficients(self, totals: FloatArray) -> dict[str, FloatArray]:
        """All of them from sums over queries; the last axis are the sums."""
        scale = self.ratings.scale
        size, (tables, rest) = len(scale), self._parted(totals)
        coincident = rest[..., : size**2].reshape(*rest.shape[:-1], size, size)
        agreed, items, union, both = (rest[..., size**2 + i] for i in range(4))
        categories = rest[..., size**2 + 4 :]
        relevant = scale >= self.rel
        pooled = tables.sum(axis=0)
        hits, misses = (pooled[..., mask, :][..., mask].sum(axis=(-1, -2)) for mask in (relevant, ~relevant))
        total = pooled.sum(axis=(-1, -2))
        found = {}
        for name, weights in zip(KAPPAS, coefficients.WEIGHTS, strict=True):
            kappas = coefficients.kappa(
                tables, weights, scale
            )  # over pairs, but for those of which it is not defined
            known = np.isfinite(kappas)
            found[name] = _share(np.where(known, kappas, 0.0).sum(axis=0), known.sum(axis=0))
        shares = _share(categories, categories.sum(axis=-1, keepdims=True))
        found["fleiss"] = coefficients.fleiss(_share(agreed, items), shares)
        found |= {
            f"alpha_{level}": coefficients.alpha(coincident, level, scale) for level in coefficients.LEVELS
        }
        found["overlap"] = _share(both, union)
        found["positive"] = _share(2 * hits, total + hits - misses)
        found["negative"] = _share(2 * misses, total + misses - hits)
        found["raw"] = _share(np.trace(pooled, axis1=-2, axis2=-1), total)
        return found


def agreement(
    *judgments: object,
    names: Sequence[str] | None = None,
    rel: float = 1,
    runs: object = None,
    measure: str | Measure = "nDCG@10",
    level: float = 0.95,
    resamples: int = 2_000,
    rng: Rng = 0,
) -> Agreement:
    """How far assessors agree on the documents that two or more of them have judged.

    ``judgments`` are one set per assessor, in any shape that :func:`ranklens.judge` takes, or one table of all with a column such as ``assessor``. ``rel`` is the grade from
    which a document is relevant. With ``runs``, the result also says how much the means of systems by ``measure`` and their order depend on who judged.
    Intervals come from drawing queries with replacement.

    >>> ann = {f"q{i}": {"a": 2, "b": 0, "c": 1, "d": 0, "e": 2} for i in range(10)}
    >>> bob = {f"q{i}": {"a": 2, "b": 0, "c": 0, "d": 0, "e": 1} for i in range(10)}
    >>> found = agreement(ann, bob, names=["ann", "bob"])
    >>> round(found.kappa, 3), round(found.kappa_quadratic, 3), round(found.alpha("ordinal"), 3), round(found.overlap, 3)
    (0.375, 0.75, 0.738, 0.667)
    """
    inputs.share(level, "level")
    every = Ratings.of(judgments, names)
    shared = every.shared
    if not len(shared):
        raise InputError(
            "No document was judged by two assessors, so their agreement is not known. Do ids of queries and documents have the same form?"
        )
    if len(shared.queries) < _FEW:
        warn(
            f"Only {counted(len(shared.queries), 'query has', 'queries have')} documents that two assessors judged: intervals over queries say little."
        )
    seed = (
        int(inputs.generator(rng).integers(2**32))
        if isinstance(rng, np.random.Generator) or rng is None
        else int(rng)
    )
    systems = None if runs is None else SystemsChange.of(judgments[0], every, runs, measure)
    return Agreement(
        shared,
        float(rel),
        level,
        seed,
        inputs.count(resamples, "resamples"),
        len(every) - len(shared),
        systems,
        _sums(shared, float(rel)),
    )


def _sums(ratings: Ratings, rel: float) -> FloatArray:
    """Queries × all numbers that coefficients are made of and that add up over queries."""
    size, n = len(ratings.scale), len(ratings.queries)
    grid = np.arange(size)
    parts = []
    for a, b in combinations(range(len(ratings.assessors)), 2):
        first, second = ratings.codes[:, a], ratings.codes[:, b]
        both = (first >= 0) & (second >= 0)
        cell = ratings.query[both] * size**2 + first[both] * size + second[both]
        parts.append(np.bincount(cell, minlength=n * size**2).reshape(n, -1))
    counts, number = ratings.counts, len(ratings.assessors)
    by_all = counts.sum(axis=1) == number
    agreed = (counts * (counts - 1)).sum(axis=1) / (number * (number - 1)) * by_all
    relevant = counts @ (ratings.scale[grid] >= rel)
    further = [agreed, by_all * 1.0, (relevant > 0) & by_all, (relevant == number) & by_all]
    per_document = np.column_stack(
        [coefficients.coincidences(counts).reshape(len(ratings), -1), *further, counts * by_all[:, None]]
    )
    added = [np.bincount(ratings.query, column, n) for column in per_document.T]
    return np.column_stack([*parts, *added])


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    shares: FloatArray = np.divide(part, whole, out=np.full(shape, np.nan), where=np.asarray(whole) > 0)
    return shares


def _short(around: Interval) -> str:
    return f"[{around.low:.3f}, {around.high:.3f}]"
