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
    lines = [
        Judgment(r["query"], r["group"], r.get("subgroup", ""), r["doc"], r["level"])
        for r in rows.iter_rows(named=True)
    ]
    return sorted(lines, key=lambda j: (j.query.encode(), j.group.encode(), j.subgroup.encode()))


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
    by_query = groupby(judgments, key=lambda j: j.query)
    return {query: _scores(list(members), run[query]) for query, members in by_query if query in run}


class _Counts(NamedTuple):
    """Preferences fulfilled and possible: with both documents retrieved, with one of them; and with none."""

    kept_both: float
    both: float
    kept_one: float
    one: float
    none: float


def _counts(kept: npt.NDArray[np.number], possible: Matrix, retrieved: int) -> _Counts:
    """Sums over the parts of two tables of documents by rank, of which the first ``retrieved`` were retrieved."""
    r = retrieved
    parts = (
        kept[:r, :r],
        possible[:r, :r],
        kept[:r, r:],
        np.append(possible[:r, r:], possible[r:, :r]),
        possible[r:, r:],
    )
    return _Counts(*(part.sum().item() for part in parts))


# Preferences that a ranking keeps, of how many: of all, of those between retrieved documents, of those with one retrieved.
_KEPT: Mapping[str, Callable[[_Counts], tuple[float, float]]] = {
    "": lambda c: (c.kept_both + c.kept_one, c.both + c.one + c.none),
    "_ret": lambda c: (c.kept_both, c.both),
    "_imp": lambda c: (c.kept_both + c.kept_one, c.both + c.one),
}


@dataclass(frozen=True)
class _Group:
    """One judgment group: which documents are preferred to which, and the relevance of each (NaN: not judged here).

    Documents are numbered by rank; the first ``retrieved`` were retrieved.
    """

    prefers: Matrix
    level: npt.NDArray[np.float64]
    retrieved: int
    subgroups: int

    @classmethod
    def of(cls, judgments: list[Judgment], place: Mapping[str, int], retrieved: int) -> _Group:
        n = len(place)
        prefers, level = np.zeros((n, n), np.int64), np.full(n, np.nan)
        subgroups = [list(members) for _, members in groupby(judgments, key=lambda j: j.subgroup)]
        for members in subgroups:
            here = np.array([place[j.doc] for j in members])
            levels = np.array([j.level for j in members])
            before = level[here]
            wrong = np.flatnonzero(((before > 0) & (levels == 0)) | ((before == 0) & (levels > 0)))
            if len(wrong):
                j = members[int(wrong[0])]
                raise InputError(
                    f"Query {j.query!r}: document {j.doc!r} is both relevant and not relevant for group {j.group!r}."
                )
            level[here] = levels
            prefers[np.ix_(here, here)] |= levels[:, None] > levels[None, :]
        more = prefers
        while len(subgroups) > 1:  # what follows from two preferences is a preference too
            prefers, more = more, (more | (more @ more > 0)).astype(np.int64)
            if (more == prefers).all():
                break
        if (prefers & prefers.T).any():
            raise InputError(
                f"Query {judgments[0].query!r}: the preferences of group {judgments[0].group!r} contradict each other."
            )
        return cls(prefers, level, retrieved, len(subgroups))

    def counts(self, keep: npt.NDArray[np.bool_] | None = None) -> _Counts:
        prefers = self.prefers if keep is None else self.prefers * np.outer(keep, keep)
        return _counts(np.triu(prefers), prefers, self.retrieved)

    def with_equal_irrelevant(self, suffix: str) -> float:
        """The share of preferences kept, with as many irrelevant documents as relevant ones (trec_eval's Rnonrel)."""
        r = self.retrieved if suffix else len(self.level)
        irrelevant = self.level == 0 if self.subgroups > 1 else self.level <= 0
        count, relevant = int(irrelevant[:r].sum()), int((self.level[:r] > 0).sum())
        retrieved, everywhere = int((self.level[: self.retrieved] > 0).sum()), int((self.level > 0).sum())
        if relevant >= count:
            extra = relevant - count
            kept, possible = _KEPT[suffix](self.counts())
            return _ratio(kept + retrieved * extra, possible + everywhere * extra, np.nan)
        if self.subgroups > 1:
            keep = np.ones(len(self.level), dtype=bool)
            keep[np.flatnonzero(irrelevant)[everywhere:]] = False
            return _ratio(*_KEPT[suffix](self.counts(keep)), np.nan)
        # As trec_eval counts: preferences above the lowest level, then each document against the first of that level.
        limit, lowest = self.retrieved, np.nanmin(self.level)
        members, last = np.flatnonzero(~np.isnan(self.level)), np.flatnonzero(self.level == lowest)[:relevant]
        if suffix:
            members, last = members[members < limit], last[last < limit]
        upper = members[self.level[members] > lowest]
        pairs = [(i, j) for i in upper for j in upper if self.level[i] > self.level[j]]
        pairs += [(i, j) for i in members for j in last]
        return _ratio(sum(1 for i, j in pairs if i < j and i < limit), len(pairs), np.nan)


def _scores(judgments: list[Judgment], ranking: Mapping[str, float]) -> dict[str, float]:
    # Ties ascending, here alone.
    order = sorted(ranking, key=lambda doc: (-ranking[doc], doc.encode()))
    docs = {j.doc for j in judgments}
    ranked = [doc for doc in order if doc in docs]
    place = {doc: i for i, doc in enumerate([*ranked, *sorted(docs.difference(ranked), key=str.encode)])}
    groups = [_Group.of(list(m), place, len(ranked)) for _, m in groupby(judgments, key=lambda j: j.group)]
    counts = [group.counts() for group in groups]
    total = _Counts(*(sum(column) for column in zip(*counts, strict=True)))
    # Over pairs with any preference: the share of the groups whose preference the ranking keeps.
    preferring = sum((group.prefers for group in groups), np.zeros_like(groups[0].prefers))
    either = np.triu(preferring + preferring.T, 1)
    kept = np.triu(preferring, 1) / np.maximum(either, 1)
    pairs = _counts(kept, (either > 0).astype(np.int64), len(ranked))
    values: dict[str, float] = {
        "prefs_num_prefs_poss": total.both + total.one + total.none,
        "prefs_num_prefs_ful": total.kept_both + total.kept_one,
        "prefs_num_prefs_ful_ret": total.kept_both,
    }
    for suffix, share in _KEPT.items():
        values[f"prefs_simp{suffix}"] = _ratio(*share(total))
        values[f"prefs_pair{suffix}"] = _ratio(*share(pairs))
        values[f"prefs_avgjg{suffix}"] = sum(_ratio(*share(c)) for c in counts) / len(groups)
    for suffix in ("", "_ret"):
        mean = sum(group.with_equal_irrelevant(suffix) for group in groups) / len(groups)
        values[f"prefs_avgjg_Rnonrel{suffix}"] = mean if mean > 0 else 0.0  # even if it is NaN
    return values


def _ratio(part: float, whole: float, otherwise: float = 0.0) -> float:
    return part / whole if whole else otherwise
