"""Sessions: several queries of one user in order, where later queries and lower ranks cost more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ranklens.errors import InputError, MeasureError
from ranklens.judging.assembly import judge
from ranklens.metrics import Measure, parse
from ranklens.metrics.formulas.gain import worth
from ranklens.metrics.formulas.ratio import ratio
from ranklens.policy import Policy, make_policy

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ranklens.arrays import FloatArray, IntArray
    from ranklens.judging.hits import Hits
    from ranklens.judging.judged import Judged
    from ranklens.policy import PolicyOptions

Kind = Literal["jarvelin", "jiang"]


@dataclass(frozen=True)
class Sessions:
    """Rankings for the queries of sessions, judged; made by :func:`judge_sessions`.

    ``session`` and ``turn`` (from 1) belong to each query of ``judged``.
    """

    judged: Judged
    names: Sequence[str]
    session: IntArray
    turn: IntArray

    def sdcg(
        self, k: int | None = None, *, b: float = 2, bq: float = 4, kind: Kind = "jarvelin"
    ) -> dict[str, float]:
        """The discounted gain of each session (Järvelin et al. 2008): by rank, and by the query's place in the session.

        Järvelin divides by 1 + log_b(rank) and 1 + log_bq(turn), with grades as gains. ``kind="jiang"`` divides by log_b(rank + b - 1)
        and log_bq(turn + bq - 1), with 2^grade - 1.
        """
        return self._named(self._sdcg(self.judged.hits, k, b, bq, kind))

    def nsdcg(
        self, k: int | None = None, *, b: float = 2, bq: float = 4, kind: Kind = "jarvelin"
    ) -> dict[str, float]:
        """SDCG divided by that of a session in which every query has its ideal ranking."""
        ideal = self._sdcg(self.judged.ideal, k, b, bq, kind)
        return self._named(ratio(self._sdcg(self.judged.hits, k, b, bq, kind), ideal))

    def srbp(self, p: float = 0.8, b: float = 0.5, rel: float = 1) -> dict[str, float]:
        """Rank-biased precision over a session (Lipani et al. 2019).

        The user stops with chance 1 - p after each document, and else reads on with chance b, or asks the next query.
        """
        if not (0 < p < 1 and 0 < b <= 1):
            raise MeasureError(
                f"sRBP takes p between 0 and 1 and b above 0 and up to 1, not p = {p} and b = {b}."
            )
        hits = self.judged.relevant(rel)
        by_query = hits.sum(np.power(b * p, hits.rank - 1.0))
        again = (p - b * p) / (1 - b * p)
        turns = np.where(self.turn == 1, 1.0, np.power(again, self.turn - 1.0) if again else 0.0)
        return self._named((1 - p) * self._added(by_query * turns))

    def by_turn(self, measure: str | Measure) -> dict[int, float]:
        """The mean of any measure over the first queries of sessions, over the second ones, and so on."""
        values = (measure if isinstance(measure, Measure) else parse(measure))(self.judged)
        return {
            turn: float(values[self.turn == turn].mean())
            for turn in range(1, int(self.turn.max(initial=0)) + 1)
        }

    def _sdcg(self, hits: Hits, k: int | None, b: float, bq: float, kind: Kind) -> FloatArray:
        if kind not in ("jarvelin", "jiang") or b <= 1 or bq <= 1:
            raise MeasureError(
                f"sDCG takes kind jarvelin or jiang, and bases above 1, not {kind!r}, {b} and {bq}."
            )
        gained = worth(hits.top(k), "linear" if kind == "jarvelin" else "exp", None)
        by_query = gained.sum(gained.grade / _discount(gained.rank, b, kind))
        return self._added(by_query / _discount(self.turn, bq, kind))

    def _added(self, by_query: FloatArray) -> FloatArray:
        return np.bincount(self.session, by_query, len(self.names)).astype(np.float64, copy=False)

    def _named(self, values: FloatArray) -> dict[str, float]:
        return dict(zip(self.names, values.tolist(), strict=True))


def _discount(place: IntArray, base: float, kind: Kind) -> FloatArray:
    if kind == "jarvelin":
        return np.asarray(1 + np.log(place) / np.log(base))
    return np.asarray(np.log(place + base - 1) / np.log(base))


def judge_sessions(
    qrels: object,
    run: object,
    order: Mapping[Any, Sequence[object]],
    policy: Policy | None = None,
    **options: Unpack[PolicyOptions],
) -> Sessions:
    """Judge the queries of sessions; ``order`` is ``{session: [queries in order]}``.

    >>> sessions = judge_sessions({"q1": {"b": 1}, "q2": {"a": 2, "c": 1}}, {"q1": ["a", "b"], "q2": ["a", "b", "c"]}, {"s": ["q1", "q2"]})
    >>> round(sessions.sdcg()["s"], 4), round(sessions.srbp()["s"], 4), sessions.by_turn("RR")
    (2.0912, 0.2347, {1: 0.5, 2: 1.0})
    """
    chosen = replace(make_policy(policy, options), missing="zero", empty="zero")
    judged = judge(qrels, run, chosen)
    place = {
        str(query): (s, turn)
        for s, queries in enumerate(order.values())
        for turn, query in enumerate(queries, 1)
    }
    outside = [query for query in judged.queries if query not in place]
    if outside:
        raise InputError(
            f"Query {outside[0]!r} is judged, but in no session; add it to one.", query=outside[0]
        )
    places = np.array([place[query] for query in judged.queries], dtype=np.int64).reshape(-1, 2)
    return Sessions(judged, [str(name) for name in order], places[:, 0], places[:, 1])
