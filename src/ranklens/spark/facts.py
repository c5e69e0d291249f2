"""What is known about some queries besides their values: counted where they were judged, added up on the driver."""

from __future__ import annotations

import base64
import io
import json
import pickle
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ranklens.data.readers.mappings import Place
from ranklens.errors import MismatchWarning, RankLensError, warn
from ranklens.judging.assembly import NOTHING_JUDGED, none_is_judged, not_in_the_run
from ranklens.judging.judged import Applied, Judged
from ranklens.judging.merging import added
from ranklens.judging.mismatch import nothing_in_common, queries_mismatch
from ranklens.judging.order import check_duplicates
from ranklens.judging.standing import check_unjudged
from ranklens.metrics.formulas.counts import judged_of_retrieved
from ranklens.scores import FEW_EXPECTED, cutoffs_of, deepest, logs_with_floor
from ranklens.scores.account import ones_of
from ranklens.stats.intervals import Bounds
from ranklens.stats.moments import Moments, exact_sum, value_of

if TYPE_CHECKING:
    import polars as pl

    from ranklens.arrays import FloatArray
    from ranklens.metrics import Measure
    from ranklens.policy import Policy

_TELLING = 5  # queries without any judged document after which ids look wrong


@dataclass
class Facts:
    """Facts about some queries; those of others are added to them."""

    applied: Applied = field(default_factory=Applied)
    moments: dict[str, Moments] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    judged_of_each: Counter[int] = field(
        default_factory=Counter
    )  # how many queries have each number of judged documents
    longest: int = 0
    first: dict[str, Any] = field(
        default_factory=dict
    )  # examples for messages: the first by id, wherever it was met
    errors: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)  # tables of rows that the driver judges

    @classmethod
    def of_error(cls, error: RankLensError) -> Facts:
        return cls(errors=[base64.b64encode(pickle.dumps(error)).decode()])

    @classmethod
    def of_rows(cls, table: pl.DataFrame) -> Facts:
        buffer = io.BytesIO()
        table.write_ipc(buffer)
        return cls(rows=[base64.b64encode(buffer.getvalue()).decode()])

    def tables(self) -> list[pl.DataFrame]:
        import polars as pl

        return [pl.read_ipc(io.BytesIO(base64.b64decode(one))) for one in self.rows]

    def __add__(self, other: Facts) -> Facts:
        keys = {*self.first, *other.first}
        return Facts(
            added([self.applied, other.applied]),
            {
                name: self.moments.get(name, Moments()) + other.moments.get(name, Moments())
                for name in {**self.moments, **other.moments}
            },
            self.counts + other.counts,
            self.judged_of_each + other.judged_of_each,
            max(self.longest, other.longest),
            {
                key: min((one.first[key] for one in (self, other) if key in one.first), key=str)
                for key in keys
            },
            self.errors + other.errors,
            self.rows + other.rows,
        )

    def to_json(self) -> str:
        return json.dumps(
            {
                "applied": asdict(self.applied),
                "moments": {name: one.to_dict() for name, one in self.moments.items()},
                "counts": self.counts,
                "judged_of_each": self.judged_of_each,
                "longest": self.longest,
                "first": self.first,
                "errors": self.errors,
                "rows": self.rows,
            },
            default=str,  # ids of any type
        )

    @classmethod
    def from_json(cls, text: str) -> Facts:
        found = json.loads(text)
        return cls(
            Applied(**found["applied"]),
            {name: Moments.from_dict(one) for name, one in found["moments"].items()},
            Counter(found["counts"]),
            Counter({int(size): n for size, n in found["judged_of_each"].items()}),
            found["longest"],
            {key: Place(*one) if isinstance(one, list) else one for key, one in found["first"].items()},
            found["errors"],
            found["rows"],
        )

    def share_judged(self, policy: Policy) -> float | None:
        """How much of what was retrieved is judged; None where that says nothing, as :func:`ranklens.scores.share_judged` has it."""
        retrieved = self.counts["retrieved"]
        if not retrieved or policy.judged_only or (not self.counts["not relevant"] and self._is_golden_set()):
            return None
        return value_of(self.counts["judged and retrieved"]) / retrieved

    def _is_golden_set(self) -> bool:
        sizes = sorted(self.judged_of_each.items())
        ends = np.cumsum([n for _, n in sizes])
        if not len(ends):
            return False
        middle = [
            sizes[int(np.searchsorted(ends, at, side="right"))][0]
            for at in ((ends[-1] - 1) // 2, ends[-1] // 2)
        ]
        return sum(middle) / 2 <= FEW_EXPECTED

    def complain(self, policy: Policy) -> None:
        """Raise and warn as :func:`ranklens.judge` does, about all queries together."""
        # They were met by our own tasks.
        errors: list[RankLensError] = [pickle.loads(base64.b64decode(one)) for one in self.errors]  # noqa: S301
        if errors:
            raise min(errors, key=lambda error: (str(error.query), str(error)))
        applied = self.applied
        check_duplicates("qrels", applied.duplicate_judgments, self.first.get("repeated in qrels"), policy)
        check_duplicates("run", applied.duplicates, self.first.get("repeated in run"), policy)
        check_unjudged(applied.ignored, policy, lambda: self.first["unjudged query"])
        if policy.missing == "error" and applied.missing:
            raise not_in_the_run(applied.missing, self.first["missing query"])
        if not self.counts["judged queries"]:
            warn(NOTHING_JUDGED)
        elif applied.missing == self.counts["judged queries"] and applied.ignored:
            self._tell(nothing_in_common(*self._odd))
        elif applied.missing and applied.ignored:
            counts = applied.missing, applied.ignored
            self._tell(queries_mismatch(*self._odd, self.counts["judged queries"], policy, counts))
        elif not self.counts["hits"] and self.counts["answered"] >= _TELLING and self.counts["judgments"]:
            warn(
                none_is_judged(
                    self.first.get("judged document", ""), self.first.get("retrieved document", "")
                )
            )

    @property
    def _odd(self) -> tuple[list[str], list[str]]:
        """A judged query that the run lacks, and a query of the run without judgments."""
        return [str(self.first["missing query"])], [str(self.first["unjudged query"])]

    def _tell(self, odd: MismatchWarning) -> None:
        self.applied.mismatch, self.applied.alike = str(odd), odd.alike
        warn(odd)


def facts_of(
    judged: Judged,
    measures: Sequence[Measure],
    values: Mapping[str, FloatArray],
    first: Mapping[str, object],
) -> Facts:
    """Of queries that were judged together; ``first`` has examples for messages."""
    found, retrieved = judged_of_retrieved(judged, deepest(measures))
    ideal = np.bincount(judged.ideal.query, minlength=len(judged)) if len(judged) else np.zeros(0, np.int64)
    counts: dict[str, int] = {
        "retrieved": int(retrieved.sum()),
        "judged and retrieved": exact_sum(found),  # no whole number where ties are averaged
        "not relevant": int((judged.ideal.grade <= 0).sum()),
        "hits": len(judged.hits),
        "answered": int(np.count_nonzero(judged.retrieved)),
        "judgments": len(judged.ideal),
        "tied": judged.tied,
        "graded": judged.graded or 0,
        **{f"across {k}": judged.tied_across(k) for k in cutoffs_of(measures)},
        **{f"1 in {name}": count for name, count in ones_of(judged, measures).items()},
    }
    return Facts(
        judged.applied,
        {str(m): moments_of(m, values[str(m)]) for m in measures if m.definition.aggregate != "none"},
        Counter(counts),
        Counter(ideal.tolist()),
        judged.longest,
        dict(first),
    )


def moments_of(measure: Measure, values: FloatArray) -> Moments:
    """Of what is averaged: the values, or their logarithms for a geometric mean."""
    definition = measure.definition
    if definition.aggregate == "geometric":
        return Moments.of(logs_with_floor(values))
    return Moments.of(np.asarray(values, np.float64), Bounds(definition.low, definition.high))


def sum_of(facts: Iterable[Facts]) -> Facts:
    """All of them together, in any order."""
    total = Facts()
    for one in facts:
        total += one
    return total
