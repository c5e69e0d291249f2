"""Scores and labels in arrays → :class:`~ranklens.Scores`: what rankers and cross-encoders give, without a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ranklens.arrays import BoolArray, IntArray, NumberArray
from ranklens.errors import InputError
from ranklens.judging.assembly import assemble
from ranklens.judging.inputs import Sources
from ranklens.judging.judged import Applied
from ranklens.judging.order import nan_last, not_a_number
from ranklens.judging.standing import Standings
from ranklens.metrics import Measure, parse_many, with_rel
from ranklens.metrics.conventions import Convention, read
from ranklens.models.embeddings.judged_ranks import TieOrder
from ranklens.models.embeddings.relevant import warn_of_candidates, with_all_relevant
from ranklens.models.embeddings.rows import Groups, Rows, flat
from ranklens.models.embeddings.tensors import Tensor, load_torch
from ranklens.models.embeddings.vectors import as_array, as_list, is_torch
from ranklens.policy import Policy, PolicyOptions, make_policy
from ranklens.scores import Scores
from ranklens.scores.evaluation import score

if TYPE_CHECKING:
    from typing_extensions import Unpack


def evaluate_scores(
    scores: object,
    labels: object,
    queries: object = None,
    measures: str | Measure | Sequence[str | Measure] = "rag",
    policy: Policy | None = None,
    *,
    sizes: object = None,
    offsets: object = None,
    mask: object = None,
    query_ids: Sequence[object] | None = None,
    doc_ids: Sequence[object] | None = None,
    relevant: object = None,
    convention: str | Convention | None = None,
    **options: Unpack[PolicyOptions],
) -> Scores:
    """Score a ranker by the scores that it gives to labelled documents.

    ``scores`` and ``labels`` are arrays or tensors of any library: flat, one number per document, or with one row per query and
    one column per document, where ``mask`` says which are documents at all. Flat ones need ``queries``: the query of each
    document, or how many documents each query has (their sum is the number of documents), or where each query starts and
    the last one ends (from 0 to the number of documents). Where that could be two of these, ``sizes`` or ``offsets`` says it.
    ``query_ids`` names the queries, ``doc_ids`` the documents; without names they are numbers. Ties, NaN and the other policies, and
    ``convention``, are those of :func:`ranklens.evaluate`; every document counts as judged.

    A first stage that chose the documents may have missed relevant ones, on which recall, AP and nDCG depend. ``relevant`` holds all of
    them: judgments of any shape, by query, or how many documents are relevant for each query. ``relevant="labels"`` says that the labels
    are all there is, those of documents behind ``mask`` included, and silences the warning.

    >>> import numpy as np
    >>> scores = np.array([0.9, 0.2, 0.5, 0.1, 0.7])
    >>> evaluate_scores(scores, [0, 1, 2, 0, 1], [3, 2], ["nDCG@10", "RR"], relevant="labels").mean
    {'nDCG@10': 0.83483..., 'RR': 0.75}
    >>> evaluate_scores(np.array([[0.1, 0.8], [0.6, 0.4]]), [[1, 0], [1, 0]], measures="RR").mean
    {'RR': 0.75}
    >>> evaluate_scores([0.9, 0.2], [0, 1], ["q", "q"], "R@10", relevant={"q": 2}).mean  # the first stage missed one
    {'R@10': 0.5}
    """
    measures, policy = read(measures, convention, policy)
    chosen = make_policy(policy, options)
    rows = flat(scores, labels, mask, Groups(queries, sizes, offsets, query_ids))
    if doc_ids is not None:
        rows = _with_names(rows, as_list(doc_ids, "doc_ids"))
    return score_rows(rows, parse_many(measures), chosen, relevant)


def _with_names(rows: Rows, docs: Sequence[object]) -> Rows:
    if len(docs) != len(rows.score):
        raise InputError(
            f"doc_ids has {len(docs):,} ids for {len(rows.score):,} documents; pass one for each."
        )
    seen: set[tuple[int, str]] = set()
    for pair in zip(rows.query.tolist(), map(str, docs), strict=True):
        if pair in seen:
            raise InputError(
                f"doc_ids: document {pair[1]!r} appears twice in query {rows.queries[pair[0]]!r}; keep one of them."
            )
        seen.add(pair)
    return replace(rows, docs=docs)


def score_rows(rows: Rows, measures: Sequence[Measure], policy: Policy, relevant: object = None) -> Scores:
    """:func:`evaluate_scores` of rows."""
    wanted = [with_rel(measure, policy.rel) for measure in measures]
    for row in np.flatnonzero(~np.isfinite(rows.label))[:1].tolist():
        query, label = rows.queries[rows.query[row]], float(rows.label[row])
        raise not_a_number("labels", "grade", query, rows.doc(row), label)
    rows = with_all_relevant(rows, relevant, policy)
    scores = score(assemble(_standings(rows, policy), policy), wanted)
    if relevant is None:
        warn_of_candidates(wanted)
    return replace(scores, sources=Sources(_Judged(rows, rows.label), _ByQuery(rows, rows.score)))


def _standings(rows: Rows, policy: Policy) -> Standings:
    """The rank of every document."""
    order, tied = _order(rows, policy)
    query = rows.query[order]
    start_of_query = np.searchsorted(query, np.arange(len(rows.queries)))
    position = np.arange(len(order)) - start_of_query[query]
    first = np.flatnonzero(~np.concatenate([np.zeros(1, bool), tied]))[: len(order)]
    group = np.cumsum(~np.concatenate([np.zeros(1, bool), tied]))[: len(order)] - 1
    size = np.diff(np.append(first, len(order)))[group]
    if policy.ties not in ("input", "average") and tied.any():
        members = np.flatnonzero(size > 1)
        place = TieOrder(policy.ties, rows.docs).place(order[members])
        order[members] = order[members][np.lexsort((place, group[members]))]
    grade = rows.label[order]
    n = len(rows.queries)
    lengths, more = (np.bincount(some, minlength=n) for some in (query, rows.unscored_query))
    by_query = np.argsort(np.concatenate([query, rows.unscored_query]), kind="stable")
    return Standings(
        queries=list(rows.queries),
        retrieved=lengths,
        in_run=np.arange(n) < n - rows.absent,
        judged=lengths + more,
        gold=np.concatenate([grade, rows.unscored])[by_query],
        query=query,
        rank=position + 1,
        grade=grade,
        start=position[first][group] + 1 if len(order) else position,
        size=size,
        applied=Applied(ignored=len(rows.unjudged)),
        unjudged=lambda: rows.unjudged,
    )


def _order(rows: Rows, policy: Policy) -> tuple[IntArray, BoolArray]:
    """Rows by query, best first, equal ones as they came; and which have the score of their successor."""
    if is_torch(rows.score) and not rows.score.isnan().any():
        return _order_on_device(rows.query, rows.score)
    score = rows.host_scores()
    wrong = np.flatnonzero(np.isnan(score))
    if len(wrong):
        if policy.nan == "error":
            row = int(wrong[0])
            raise not_a_number("scores", "score", rows.queries[rows.query[row]], rows.doc(row), float("nan"))
        score = nan_last(score)
    order = np.lexsort((-score, rows.query))
    ordered, query = score[order], rows.query[order]
    return order, (ordered[1:] == ordered[:-1]) & (query[1:] == query[:-1])


def _order_on_device(queries: IntArray, score: Tensor) -> tuple[IntArray, BoolArray]:
    """The same where the scores are: only the order comes back."""
    query = load_torch().as_tensor(queries, device=score.device)
    # Two stable sorts, by score and then by query, are one by both; torch has no lexsort.
    order = score.argsort(stable=True, descending=True)
    order = order[query[order].argsort(stable=True)]
    ordered, query = score[order], query[order]
    tied = ordered[1:].eq(ordered[:-1]) & query[1:].eq(query[:-1])
    return order.cpu().numpy(), tied.cpu().numpy()


class _ByQuery(Mapping[str, dict[str, float]]):
    """Numbers of documents by query, for single queries; computed on first access."""

    def __init__(self, rows: Rows, values: NumberArray | Tensor) -> None:
        self._rows, self._values = rows, values
        self._number = {name: number for number, name in enumerate(rows.queries)}

    def __getitem__(self, query: str) -> dict[str, float]:
        chosen = np.flatnonzero(self._rows.query == self._number[query])
        values = np.asarray(as_array(self._values, "values"), np.float64)[chosen]
        return {
            self._rows.doc(row): value for row, value in zip(chosen.tolist(), values.tolist(), strict=True)
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __len__(self) -> int:
        return len(self._number)


class _Judged(_ByQuery):
    """The labels, and the judged documents without a score, whose names are not known."""

    def __getitem__(self, query: str) -> dict[str, float]:
        more = self._rows.unscored[self._rows.unscored_query == self._number[query]]
        return {
            **super().__getitem__(query),
            **{f"unscored {number}": grade for number, grade in enumerate(more.tolist(), 1)},
        }
