"""trec_eval's measures over several judgment groups: preferences (``-R prefs``, ``qrels_prefs``) and ``-R qrels_jg``.

A judgment group is one user's view of a query. A preference says that one document should rank above another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ranklens.data.files import trec
from ranklens.data.files.sources import Source
from ranklens.errors import InputError
from ranklens.exchange.trec.measures import GROUP_MEASURES, Printed
from ranklens.judging.assembly import judge
from ranklens.policy import Policy

Matrix = npt.NDArray[np.int64]

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "prefs": ("query", "group", "subgroup", "doc", "level"),
    "qrels_prefs": ("query", "group", "doc", "level"),
    "qrels_jg": ("query", "group", "doc", "level"),
}
# In the order in which trec_eval prints them.
PREFERENCES: Mapping[str, str] = {
    "prefs_num_prefs_poss": "The number of preferences in the judgments.",
    "prefs_num_prefs_ful": "How many of them the ranking fulfils: the preferred document ranks above the other one, or is the only one retrieved.",
    "prefs_num_prefs_ful_ret": "How many of them it fulfils with both documents retrieved.",
    "prefs_simp": "The share of all preferences that the ranking fulfils.",
    "prefs_pair": "The same over pairs of documents: where groups disagree, each pair counts once.",
    "prefs_avgjg": "The share of fulfilled preferences of each judgment group, averaged over groups.",
    "prefs_avgjg_Rnonrel": "prefs_avgjg with as many irrelevant as relevant documents in each group.",
    "prefs_simp_ret": "prefs_simp over preferences between retrieved documents.",
    "prefs_pair_ret": "prefs_pair over retrieved documents.",
    "prefs_avgjg_ret": "prefs_avgjg over preferences between retrieved documents.",
    "prefs_avgjg_Rnonrel_ret": "prefs_avgjg_Rnonrel over retrieved documents.",
    "prefs_simp_imp": "prefs_simp over preferences with at least one retrieved document.",
    "prefs_pair_imp": "prefs_pair over pairs with at least one retrieved document.",
    "prefs_avgjg_imp": "prefs_avgjg over preferences with at least one retrieved document.",
}
NICKNAMES: Mapping[str, Sequence[str]] = {
    "all_prefs": ["runid", "num_q", *PREFERENCES],
    "prefs": ["runid", "num_q", *[*PREFERENCES][:6]],
    "qrels_jg": ["runid", "num_q", *GROUP_MEASURES],
}


class Judgment(NamedTuple):
    """A line of judgments with groups."""

    query: str
    group: str
    subgroup: str
    doc: str
    level: float


def read_judgments(source: Source, format: str, manner: trec.Manner = trec.USUAL) -> list[Judgment]:  # noqa: A002
    """All lines, sorted by query, group and subgroup."""
    names = _COLUMNS[format]
    rows = trec.read_fields(source, names, {name: name == "level" for name in names}, manner)
    found = [
        Judgment(r["query"], r["group"], r.get("subgroup", ""), r["doc"], r["level"])
        for r in rows.iter_rows(named=True)
    ]
    return sorted(found, key=lambda j: (j.query.encode(), j.group.encode(), j.subgroup.encode()))


def average_over_groups(
    judgments: list[Judgment],
    run: Mapping[str, Mapping[str, float]],
    policy: Policy,
    lines: Sequence[Printed],
) -> dict[str, dict[str, float]]:
    """``{query: {line: value}}``: measures for each group alone, averaged over the groups of a query."""
    groups = {(j.query, j.group): f"{j.query} {j.group}" for j in judgments}
    qrels: dict[str, dict[str, float]] = {name: {} for name in groups.values()}
    for j in judgments:
        grades = qrels[groups[j.query, j.group]]
        if j.doc in grades:
            raise InputError(f"Query {j.query!r}: group {j.group!r} judges document {j.doc!r} twice.")
        grades[j.doc] = float(np.trunc(j.level))
    judged = judge(qrels, {name: run[query] for (query, _), name in groups.items() if query in run}, policy)
    values = {
        line.name: dict(zip(judged.queries, line.measure.replace(rel=policy.rel)(judged), strict=True))
        for line in lines
    }
    members: dict[str, list[str]] = {}
    for (query, _), name in groups.items():
        if query in run:
            members.setdefault(query, []).append(name)
    return {
        query: {name: float(np.mean([column[g] for g in names])) for name, column in values.items()}
        for query, names in members.items()
    }


def preferences(
    judgments: list[Judgment], run: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """``{query: {measure: value}}`` for the queries that are in the run."""
    found = {}
    for query, members in groupby(judgments, key=lambda j: j.query):
        if query in run:
            found[query] = _scores(list(members), run[query])
    return found


@dataclass(frozen=True)
class _Group:
    """One judgment group: which documents are preferred to which, and the relevance of each (NaN: not judged here).

    Documents are numbered by rank; the first ``retrieved`` were retrieved.
    """

    prefers: Matrix
    level: npt.NDArray[np.float64]
    retrieved: int
    subgroups: int

    def counts(self, keep: npt.NDArray[np.bool_] | None = None) -> _Counts:
        a, r = self.prefers, self.retrieved
        if keep is not None:
            a = a * np.outer(keep, keep)
        both, upper = a[:r, :r], np.triu(a[:r, :r])
        return _Counts(
            int(upper.sum()),
            int(both.sum()),
            int(a[:r, r:].sum()),
            int(a[:r, r:].sum() + a[r:, :r].sum()),
            int(a[r:, r:].sum()),
        )


class _Counts(NamedTuple):
    """Preferences fulfilled and possible: with both documents retrieved, with one of them; and with none."""

    kept_both: int
    both: int
    kept_one: int
    one: int
    none: int


def _scores(judgments: list[Judgment], ranking: Mapping[str, float]) -> dict[str, float]:
    # Ties ascending, here alone.
    order = sorted(ranking, key=lambda doc: (-ranking[doc], doc.encode()))
    docs = {j.doc for j in judgments}
    ranked = [doc for doc in order if doc in docs]
    place = {doc: i for i, doc in enumerate([*ranked, *sorted(docs.difference(ranked), key=str.encode)])}
    groups = [_group(list(m), place, len(ranked)) for _, m in groupby(judgments, key=lambda j: j.group)]
    counts = [group.counts() for group in groups]
    total = _Counts(*(sum(column) for column in zip(*counts, strict=True)))
    pairs = _pairs(sum((group.prefers for group in groups), np.zeros_like(groups[0].prefers)), len(ranked))
    values: dict[str, float] = {
        "prefs_num_prefs_poss": total.both + total.one + total.none,
        "prefs_num_prefs_ful": total.kept_both + total.kept_one,
        "prefs_num_prefs_ful_ret": total.kept_both,
        "prefs_pair": _ratio(pairs[0] + pairs[2], pairs[1] + pairs[3] + pairs[4]),
        "prefs_pair_ret": _ratio(pairs[0], pairs[1]),
        "prefs_pair_imp": _ratio(pairs[0] + pairs[2], pairs[1] + pairs[3]),
    }
    for suffix, ratio in _KEPT.items():
        values[f"prefs_simp{suffix}"] = ratio(total)
        values[f"prefs_avgjg{suffix}"] = sum(ratio(c) for c in counts) / len(groups)
    for suffix, only_retrieved in (("", False), ("_ret", True)):
        equal = [_equal_irrelevant(g, only_retrieved) for g in groups]
        mean = sum(equal) / len(groups)
        values[f"prefs_avgjg_Rnonrel{suffix}"] = mean if mean > 0 else 0.0  # even if it is not a number
    return values


# The share of preferences that a ranking keeps: of all, of those between retrieved documents, of those with one retrieved.
_KEPT: Mapping[str, Callable[[_Counts], float]] = {
    "": lambda c: _ratio(c.kept_both + c.kept_one, c.both + c.one + c.none),
    "_ret": lambda c: _ratio(c.kept_both, c.both),
    "_imp": lambda c: _ratio(c.kept_both + c.kept_one, c.both + c.one),
}


def _group(judgments: list[Judgment], place: Mapping[str, int], retrieved: int) -> _Group:
    n = len(place)
    prefers, level = np.zeros((n, n), np.int64), np.full(n, np.nan)
    subgroups = [list(members) for _, members in groupby(judgments, key=lambda j: j.subgroup)]
    for members in subgroups:
        here = np.array([place[j.doc] for j in members])
        levels = np.array([j.level for j in members])
        _refuse_contradicting(members, level[here], levels)
        level[here] = levels
        prefers[np.ix_(here, here)] |= levels[:, None] > levels[None, :]
    if len(subgroups) > 1:
        prefers = _transitive(prefers)
    if (prefers & prefers.T).any():
        raise InputError(
            f"Query {judgments[0].query!r}: the preferences of group {judgments[0].group!r} contradict each other."
        )
    return _Group(prefers, level, retrieved, len(subgroups))


def _refuse_contradicting(
    judgments: list[Judgment], before: npt.NDArray[np.float64], now: npt.NDArray[np.float64]
) -> None:
    """A document is relevant to a group or it is not."""
    wrong = np.flatnonzero(((before > 0) & (now == 0)) | ((before == 0) & (now > 0)))
    if len(wrong):
        j = judgments[int(wrong[0])]
        raise InputError(
            f"Query {j.query!r}: document {j.doc!r} is both relevant and not relevant for group {j.group!r}."
        )


def _transitive(prefers: Matrix) -> Matrix:
    """What follows from two preferences is a preference too."""
    while True:
        more = prefers | (prefers @ prefers > 0)
        if (more == prefers).all():
            return prefers
        prefers = more.astype(np.int64)


def _pairs(counts: Matrix, retrieved: int) -> tuple[float, int, float, int, int]:
    """Over pairs with any preference: the sum of the shares that the ranking keeps, and how many pairs there are."""
    kept, either = np.triu(counts, 1).astype(np.float64), np.triu(counts + counts.T, 1)
    share = np.divide(kept, either, out=np.zeros_like(kept), where=either > 0)
    r, seen = retrieved, either > 0
    return (
        float(share[:r, :r].sum()),
        int(seen[:r, :r].sum()),
        float(share[:r, r:].sum()),
        int(seen[:r, r:].sum()),
        int(seen[r:, r:].sum()),
    )


def _equal_irrelevant(group: _Group, only_retrieved: bool) -> float:
    """The share of preferences kept, with as many irrelevant documents as relevant ones (trec_eval's Rnonrel)."""
    r = group.retrieved if only_retrieved else len(group.level)
    irrelevant = group.level == 0 if group.subgroups > 1 else group.level <= 0
    count, relevant = int(irrelevant[:r].sum()), int((group.level[:r] > 0).sum())
    found, everywhere = int((group.level[: group.retrieved] > 0).sum()), int((group.level > 0).sum())
    if relevant >= count:
        extra = relevant - count
        kept, possible = _kept_and_possible(group.counts(), only_retrieved)
        return _divide(kept + found * extra, possible + everywhere * extra)
    if group.subgroups > 1:
        keep = np.ones(len(group.level), dtype=bool)
        keep[np.flatnonzero(irrelevant)[everywhere:]] = False
        return _divide(*_kept_and_possible(group.counts(keep), only_retrieved))
    return _divide(*_recount(group, relevant, only_retrieved))


def _kept_and_possible(counts: _Counts, only_retrieved: bool) -> tuple[int, int]:
    if only_retrieved:
        return counts.kept_both, counts.both
    return counts.kept_both + counts.kept_one, counts.both + counts.one + counts.none


def _recount(group: _Group, relevant: int, only_retrieved: bool) -> tuple[int, int]:
    """As trec_eval counts: preferences above the lowest level, then each document against the first of that level."""
    limit, lowest = group.retrieved, np.nanmin(group.level)
    members, last = np.flatnonzero(~np.isnan(group.level)), np.flatnonzero(group.level == lowest)[:relevant]
    if only_retrieved:
        members, last = members[members < limit], last[last < limit]
    upper = members[group.level[members] > lowest]
    pairs = [(i, j) for i in upper for j in upper if group.level[i] > group.level[j]]
    pairs += [(i, j) for i in members for j in last]
    kept = sum(1 for i, j in pairs if i < j and i < limit)
    return kept, len(pairs)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _divide(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
