"""The best k documents of every query on a device, exactly: candidates by a fast product, then their scores by the formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.models.embeddings.device import DeviceCounter, Refuse
from ranklens.models.embeddings.nearest import Best, best_first, with_ties
from ranklens.models.embeddings.tensors import Tensor, input_rounding

Chunks = Iterable[tuple[int, Tensor]]  # all documents, from the first on
_MORE = 64  # candidates beyond those asked for, among which ties can be found


def best_on_device(
    counter: DeviceCounter, chunks: Callable[[], Chunks], k: int, refuse: Refuse
) -> tuple[list[Best], IntArray]:
    """Documents and scores of each query, best first; and the queries with too many ties to keep all candidates."""
    torch = counter.torch
    query, doc, cut_off = _candidates(counter, chunks(), k, refuse)
    score = _exact(counter, chunks(), query, doc)
    # By query, and within it by score; both sorts keep the order of what is equal.
    order = torch.argsort(score, descending=True, stable=True)
    order = order[torch.argsort(query[order], stable=True)]
    rows, docs, scores = (one[order].cpu().numpy() for one in (query, doc, score))
    return _by_query(rows, docs, scores, len(counter.queries), k, counter), cut_off


def _candidates(
    counter: DeviceCounter, chunks: Chunks, k: int, refuse: Refuse
) -> tuple[Tensor, Tensor, IntArray]:
    """Pairs of query and document that may be among the best, given how far off scores can be; and queries that have too many."""
    torch, count, device = counter.torch, len(counter.queries), counter.device
    rows, kept = np.arange(count), k + _MORE
    values = torch.zeros((count, 0), device=device, dtype=torch.float64)
    docs = torch.zeros((count, 0), device=device, dtype=torch.int64)
    margin = torch.zeros(count, device=device, dtype=torch.float64)
    double = counter.strong_double and input_rounding(device) > 0
    seen = 0
    for first, documents in chunks if count else ():
        chunk = counter.checked(counter.start(first, documents, count=False), refuse)
        product = counter.product(chunk, double=double)
        margin = torch.maximum(margin, counter.margin(product))
        parts = [scores.topk(min(kept, scores.shape[1]), 1) for _, scores in product.scores(rows)]
        values = torch.cat([values, torch.cat([part.values for part in parts])], 1)
        docs = torch.cat([docs, torch.cat([part.indices for part in parts]) + first], 1)
        values, order = values.topk(min(kept, values.shape[1]), 1)
        docs, seen = docs.gather(1, order), seen + len(documents)
    if not seen:
        return docs.reshape(-1), docs.reshape(-1), np.zeros(0, np.int64)
    floor = values[:, min(k, values.shape[1]) - 1] - 2 * margin
    too_many = (values[:, -1] >= floor) & (seen > values.shape[1])
    query, place = ((values >= floor[:, None]) & ~too_many[:, None]).nonzero().unbind(1)
    return query, docs[query, place], too_many.nonzero()[:, 0].cpu().numpy()


def _exact(counter: DeviceCounter, chunks: Chunks, query: Tensor, doc: Tensor) -> Tensor:
    """The score of each pair. Documents that do not stay on the device come a second time."""
    score = counter.torch.zeros(len(doc), device=counter.device, dtype=counter.torch.float64)
    for first, documents in chunks if len(doc) else ():
        here = ((doc >= first) & (doc < first + len(documents))).nonzero()[:, 0]
        for some in here.split(counter.pairs_at_once):
            score[some] = counter.exact(query[some], documents[doc[some] - first])
    return score


def _by_query(
    query: IntArray, doc: IntArray, score: FloatArray, queries: int, k: int, counter: DeviceCounter
) -> list[Best]:
    """The best of each query. Only where scores are equal does the host have to order them."""
    edges = np.searchsorted(query, np.arange(queries + 1)).tolist()
    equal = (score[1:] == score[:-1]) & (query[1:] == query[:-1])
    tied = set(query[1:][equal].tolist())
    best_by_query = []
    for row, (first, last) in enumerate(pairwise(edges)):
        if row in tied:
            best = best_first(doc[first:last], score[first:last], counter.order) + first
            best_by_query.append(with_ties(doc[best], score[best], k))
        else:
            kept = slice(first, min(last, first + k))
            best_by_query.append(Best(doc[kept], score[kept]))
    return best_by_query
