"""trec_eval's measures over several judgment groups: preferences (``-R prefs``, ``qrels_prefs``) and ``-R qrels_jg``.

A judgment group is one user's view of a query. A preference says that one document should stand above another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ranklens.errors import InputError, MeasureError, nearest
from ranklens.judging import judge
from ranklens.policy import Policy
from ranklens.readers import text
from ranklens.readers.sources import Source
from ranklens.trec_measures import CUTOFFS, MULTIPLES, TREC_MEASURES

Matrix = npt.NDArray[np.int64]

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "prefs": ("query", "group", "subgroup", "doc", "level"),
    "qrels_prefs": ("query", "iteration", "doc", "level"),
    "qrels_jg": ("query", "group", "doc", "level"),
}
PREFERENCES = [
    *("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
    *("prefs_simp", "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel"),
    *("prefs_simp_ret", "prefs_pair_ret", "prefs_avgjg_ret", "prefs_avgjg_Rnonrel_ret"),
    *("prefs_simp_imp", "prefs_pair_imp", "prefs_avgjg_imp"),
]
NICKNAMES = {
    "all_prefs": PREFERENCES,
    "prefs": PREFERENCES[:6],
    "qrels_jg": ["map_avgjg", "P_avgjg", "Rprec_mult_avgjg"],
}


class Judgment(NamedTuple):
    """A line of judgments with groups."""

    query: str
    group: str
    subgroup: str
    doc: str
    level: float


def read_judgments(source: Source, format: str) -> list[Judgment]:  # noqa: A002
    """All lines, sorted by query, group and subgroup."""
    names = _COLUMNS[format]
    wanted = {name: name == "level" for name in names if name != "iteration"}
    rows = text.read_fields(source, names, wanted).iter_rows(named=True)
    found = [
        Judgment(r["query"], r.get("group", ""), r.get("subgroup", ""), r["doc"], r["level"]) for r in rows
    ]
    return sorted(found, key=lambda j: (j.query.encode(), j.group.encode(), j.subgroup.encode()))


def average_over_groups(judgments: list[Judgment], run: Any, policy: Policy) -> dict[str, dict[str, float]]:
    """``{query: {line: value}}``: map, P and Rprec_mult for each group alone, averaged over the groups of a query."""
    groups = {(j.query, j.group): f"{j.query} {j.group}" for j in judgments}
    qrels: dict[str, dict[str, float]] = {}
    for j in judgments:
        qrels.setdefault(groups[j.query, j.group], {})[j.doc] = j.level
    judged = judge(qrels, {name: run[query] for (query, _), name in groups.items() if query in run}, policy)
    lines = {"map_avgjg": TREC_MEASURES["map"].printed()[0].measure}
    lines |= {
        f"P_avgjg_{k}": line.measure for k, line in zip(CUTOFFS, TREC_MEASURES["P"].printed(), strict=True)
    }
    multiples = TREC_MEASURES["Rprec_mult"].printed()
    lines |= {
        f"Rprec_mult_avgjg_{float(x):4.2f}": m.measure for x, m in zip(MULTIPLES, multiples, strict=True)
    }
    with_level = {n: m.replace(rel=policy.rel) for n, m in lines.items()}
    values = {
        name: dict(zip(judged.queries, measure(judged), strict=True)) for name, measure in with_level.items()
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
    judgments: list[Judgment], run: Mapping[str, Mapping[str, float]], depth: int | None
) -> dict[str, dict[str, float]]:
    """``{query: {measure: value}}`` for the queries that are in the run."""
    found = {}
    for query, members in groupby(judgments, key=lambda j: j.query):
        if query in run:
            found[query] = _scores(list(members), run[query], depth)
    return found


@dataclass(frozen=True)
class _Group:
    """One judgment group: which documents are preferred to which, and the relevance of each (-1: not judged here).

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


def _scores(judgments: list[Judgment], ranking: Mapping[str, float], depth: int | None) -> dict[str, float]:
    order = sorted(ranking, key=lambda doc: (-ranking[doc], doc.encode()))[
        :depth
    ]  # ties ascending, here alone
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
    kinds: Mapping[str, Callable[[_Counts], float]] = {
        "": lambda c: _ratio(c.kept_both + c.kept_one, c.both + c.one + c.none),
        "_ret": lambda c: _ratio(c.kept_both, c.both),
        "_imp": lambda c: _ratio(c.kept_both + c.kept_one, c.both + c.one),
    }
    for suffix, ratio in kinds.items():
        values[f"prefs_simp{suffix}"] = ratio(total)
        values[f"prefs_avgjg{suffix}"] = sum(ratio(c) for c in counts) / len(groups)
    for suffix, only_retrieved in (("", False), ("_ret", True)):
        equal = [_equal_irrelevant(g, only_retrieved) for g in groups]
        mean = sum(equal) / len(groups)
        values[f"prefs_avgjg_Rnonrel{suffix}"] = mean if mean > 0 else 0.0  # also where it is not a number
    return values


def _group(judgments: list[Judgment], place: Mapping[str, int], retrieved: int) -> _Group:
    n = len(place)
    prefers, level = np.zeros((n, n), np.int64), np.full(n, -1.0)
    subgroups = [list(members) for _, members in groupby(judgments, key=lambda j: j.subgroup)]
    for members in subgroups:
        here = np.array([place[j.doc] for j in members])
        levels = np.array([j.level for j in members])
        level[here] = levels
        prefers[np.ix_(here, here)] |= levels[:, None] > levels[None, :]
    if len(subgroups) > 1:
        prefers = _transitive(prefers)
    if (prefers & prefers.T).any():
        raise InputError(
            f"Query {judgments[0].query!r}: the preferences of group {judgments[0].group!r} contradict each other."
        )
    return _Group(prefers, level, retrieved, len(subgroups))


def _transitive(prefers: Matrix) -> Matrix:
    """What follows from two preferences is one, too."""
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
    relevant = int((group.level[:r] > 0).sum())
    irrelevant = int((group.level[:r] == 0).sum())
    found, everywhere = int((group.level[: group.retrieved] > 0).sum()), int((group.level > 0).sum())
    if relevant >= irrelevant:
        c, extra = group.counts(), relevant - irrelevant
        kept, possible = (
            (c.kept_both, c.both) if only_retrieved else (c.kept_both + c.kept_one, c.both + c.one + c.none)
        )
        return _divide(kept + found * extra, possible + everywhere * extra)
    places = np.flatnonzero(group.level == 0)
    if group.subgroups > 1:
        keep = np.ones(len(group.level), dtype=bool)
        keep[places[everywhere:]] = False
        c = group.counts(keep)
        return _divide(
            *(
                (c.kept_both, c.both)
                if only_retrieved
                else (c.kept_both + c.kept_one, c.both + c.one + c.none)
            )
        )
    return _divide(*_recount(group, places[:relevant], only_retrieved))


def _recount(group: _Group, irrelevant: npt.NDArray[np.int64], only_retrieved: bool) -> tuple[int, int]:
    """As trec_eval counts: each document of the group, irrelevant ones included, against the irrelevant ones left."""
    limit = group.retrieved
    members = np.flatnonzero(group.level >= 0)
    if only_retrieved:
        members, irrelevant = members[members < limit], irrelevant[irrelevant < limit]
    upper = members[group.level[members] > 0]
    pairs = [(i, j) for i in upper for j in upper if group.level[i] > group.level[j]]
    pairs += [(i, j) for i in members for j in irrelevant]
    kept = sum(1 for i, j in pairs if i < j and i < limit)
    return kept, len(pairs)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _divide(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def wanted(requests: Sequence[str], lines: Sequence[str]) -> list[str]:
    """The lines that requests such as ``all_prefs`` or ``P_avgjg`` stand for, in trec_eval's order."""
    names = [name for request in requests for name in NICKNAMES.get(request, [request])]
    for name in names:
        if not any(_is_line_of(line, name) for line in lines):
            raise MeasureError(
                f"There is no measure {name!r} for these judgments: {nearest(name, [*NICKNAMES, *lines])}"
            )
    order = [*PREFERENCES, *lines]
    return sorted((line for line in lines if any(_is_line_of(line, name) for name in names)), key=order.index)


def _is_line_of(line: str, name: str) -> bool:
    """``P_avgjg_5`` is a line of ``P_avgjg``."""
    base, _, parameter = line.rpartition("_")
    return line == name or (base == name and parameter[0].isdigit())
