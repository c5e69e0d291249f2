"""Ranks by counting on a GPU, with torch: the same ranks as on the processor, in three steps of rising precision.

1. A fast product counts the scores that lie clearly above each judged document's, and those too close to tell.
2. Where there are any of the latter, a product in float32 or float64 finds them, and a sum in float64 decides most.
3. What remains, ties above all, is decided by the formula in float64 that defines the score, on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ranklens.arrays import FloatArray, IntArray
from ranklens.embeddings import host
from ranklens.embeddings import similarity as exact
from ranklens.embeddings.chunks import Chunk, Product
from ranklens.embeddings.places import Places, TieOrder, Wanted
from ranklens.embeddings.similarity import DOUBLE, SINGLE, Similarity
from ranklens.embeddings.transfer import has_strong_double, input_rounding, load_kernel, load_torch

Refuse = Callable[[int], Exception]
_PAIRS = 1 << 25  # numbers of the vectors that are scored again at once
_MORE = 64  # candidates beyond those asked for, among which ties can be found
_LARGE = 2.0**50  # lengths beyond this may overflow float32 when they are multiplied
_TENSOR_CORES = 4.0  # their sums are cut off rather than rounded, after every few products


class DeviceCounter:
    """Counts on a device; documents come as tensors there, chunk by chunk.

    ``judged`` has the vector of each wanted document. The exact scores of wanted pairs are computed only where they decide.
    """

    def __init__(
        self,
        queries: Any,
        judged: Any,
        wanted: Wanted,
        similarity: Similarity,
        order: TieOrder,
        device: Any,
        *,
        fused: bool = True,
    ) -> None:
        self.torch = load_torch()
        self.queries, self.judged, self.wanted = queries, judged, wanted
        self.similarity, self.order, self.device = similarity, order, device
        self.kernel = load_kernel(device) if fused else None
        self.settings: dict[str, int] = {}  # of the kernel
        self.strong_double = has_strong_double(self.torch, device)
        self.places = Places(len(wanted))
        self._place_queries()
        self._place_targets()

    def _place_queries(self) -> None:
        torch = self.torch
        double = self._on_device(self.queries)
        norms = torch.linalg.vector_norm(double, dim=1)
        self.shift = norms**2 if self.similarity == "euclidean" else torch.zeros_like(norms)
        if self.similarity == "cosine":
            double = torch.where(norms[:, None] > 0, double / norms[:, None].clamp_min(1e-300), 0.0)
            norms = torch.where(norms.isfinite(), (norms > 0).double(), norms)
        self.double, self.norms = double, norms
        self._rounded: dict[Any, tuple[Any, Any]] = {}

    def _place_targets(self) -> None:
        """The scores to compare with: one column for each judged document of a query, infinite where there is none."""
        torch, wanted = self.torch, self.wanted
        self.column = wanted.ordinal()
        width = int(self.column.max(initial=-1)) + 1
        self.width = 1 << max(width - 1, 0).bit_length()
        query = torch.as_tensor(wanted.query, device=self.device)
        self.target = self._score_pairs(query, self._on_device(self.judged))
        self.centre = torch.full((len(self.double), self.width), float("inf"), device=self.device).double()
        self.centre[query, torch.as_tensor(self.column, device=self.device)] = self.target
        self.centre += self.shift[:, None]

    def _on_device(self, vectors: Any) -> Any:
        """Vectors in float64, converted where they arrive."""
        tensor = vectors if host.is_torch(vectors) else self.torch.as_tensor(np.ascontiguousarray(vectors))
        return tensor.to(self.device).double()

    def _in_precision(self, kind: Any) -> tuple[Any, Any]:
        """The queries in another precision, and the length of what rounding took from each."""
        if kind not in self._rounded:
            low = self.double.to(kind).contiguous()
            lost = self.torch.linalg.vector_norm(low.double() - self.double, dim=1)
            self._rounded[kind] = (low, lost)
        return self._rounded[kind]

    def read(self, chunks: Iterable[tuple[int, Any]], refuse: Refuse, *, resident: bool) -> None:
        """Count all chunks. Where they stay in memory, all are started before any is waited for; else one is, ahead."""
        pending: list[Chunk] = []
        for first, documents in chunks:
            pending.append(self._start(first, documents))
            while len(pending) > 1 and not (resident and pending[0].counts is not None):
                self._finish(pending.pop(0), refuse)
        for chunk in pending:
            self._finish(chunk, refuse)

    def _start(self, first: int, documents: Any, *, count: bool = True) -> Chunk:
        torch = self.torch
        documents = (documents if documents.is_floating_point() else documents.float()).contiguous()
        kind = torch.float64 if documents.dtype == torch.float64 else torch.float32
        chunk = Chunk(first, documents, None, None)
        self._measure(chunk, kind)
        fits = self.width <= self.kernel.MOST_WANTED if self.kernel is not None else False
        if count and fits and documents.dtype != torch.float64:
            self._launch(chunk)
        return chunk

    def _measure(self, chunk: Chunk, kind: Any) -> None:
        """The lengths of the documents, and what follows from them."""
        torch = self.torch
        norms = lengths = torch.linalg.vector_norm(chunk.documents, dim=1, dtype=kind)
        if self.similarity == "cosine":
            chunk.scale = torch.where(norms > 0, 1 / norms, 0.0)
            lengths = torch.where(norms.isfinite(), (norms > 0).to(kind), norms)
        elif self.similarity == "euclidean":
            chunk.bias = norms**2
        chunk.norms, chunk.longest = norms, lengths.max()

    def _launch(self, chunk: Chunk) -> None:
        """Step 1, in the precision of the tensor cores."""
        torch = self.torch
        assert self.kernel is not None
        half = (torch.bfloat16, torch.float16)
        kind = chunk.documents.dtype if chunk.documents.dtype in half else torch.bfloat16
        queries, lost = self._in_precision(kind)
        documents = chunk.documents.to(kind)
        size = chunk.longest.double() * 1.0001
        margin = lost * size
        if documents is not chunk.documents:
            spoilt = torch.linalg.vector_norm(documents.float() - chunk.documents, dim=1)
            spoilt = (spoilt if chunk.scale is None else spoilt * chunk.scale).max().double() * 1.0001
            # |q·d - q'·d'| is at most |q - q'||d| + |q'||d - d'|.
            margin = margin + (self.norms + lost) * spoilt
        low, high = self._bounds(margin, size, _TENSOR_CORES * SINGLE, torch.float32)
        chunk.counts = self.kernel.count(
            queries, documents, low, high, scale=chunk.scale, bias=chunk.bias, **self.settings
        )

    def _bounds(self, before: Any, size: Any, unit: float, kind: Any) -> tuple[Any, Any]:
        """The interval around each judged score in which a product cannot be told from it, rounded outwards.

        ``before`` is what rounding the inputs may have changed, ``unit`` the rounding of each step of the sum.
        """
        torch, margin = self.torch, self._margin(before, size, unit)[:, None]
        infinite = torch.tensor(float("inf"), device=self.device, dtype=kind)
        low = torch.nextafter((self.centre - margin).to(kind), -infinite)
        high = torch.nextafter((self.centre + margin).to(kind), infinite)
        # A column without a judged document lies above every score.
        return torch.where(self.centre.isinf(), infinite, low), high

    def _margin(self, before: Any, size: Any, unit: float) -> Any:
        """For each query: by how much a product may differ from the formula, at most."""
        n = self.double.shape[1]
        steps = (n + 16) * (unit + 4 * DOUBLE)
        if self.similarity == "euclidean":
            margin = 2 * before + steps * (2 * self.norms * size + size**2 + self.norms**2)
        else:
            margin = before + steps * self.norms * size
        return (margin + n * 2.0**-126 * (1 + self.norms + size)).nan_to_num(nan=float("inf"))

    def _finish(self, chunk: Chunk, refuse: Refuse) -> None:
        """Take the counts of a chunk, and decide what they leave open."""
        wanted = self.wanted
        if not np.isfinite(float(chunk.longest)):
            self._measure_again(chunk, refuse)
        if chunk.counts is None:
            self._decide(chunk, np.arange(len(wanted)))
            return
        inside = (wanted.doc >= chunk.first) & (wanted.doc < chunk.first + len(chunk.documents))
        counts = chunk.counts.cpu().numpy()[wanted.query, self.column]
        above, close = counts & 0xFFFFFFFF, counts >> 32
        unsure = close - above > inside
        clear = np.flatnonzero(~unsure)
        self.places.above[clear] += above[clear]
        self.places.same[clear] += inside[clear]
        if unsure.any():
            self._decide(chunk, np.flatnonzero(unsure))

    def _measure_again(self, chunk: Chunk, refuse: Refuse) -> None:
        """A length that float32 cannot hold: the vector is not a number, or its numbers are large."""
        self._measure(chunk, self.torch.float64)
        for row in (~chunk.norms.isfinite()).nonzero()[:1, 0].tolist():
            raise refuse(chunk.first + row)
        chunk.counts = None

    def _decide(self, chunk: Chunk, pairs: IntArray) -> None:
        """Step 2 for some of the judged documents, a few queries at a time."""
        product = self._product(chunk)
        bounds = self._bounds(product.before, product.size, product.unit, product.documents.dtype)
        for rows, scores in product.scores(np.unique(self.wanted.query[pairs])):
            here = pairs[np.isin(self.wanted.query[pairs], rows)]
            self._compare(chunk, scores, here, np.searchsorted(rows, self.wanted.query[here]), bounds)

    def _product(self, chunk: Chunk) -> Product:
        """The product by torch: in float64 where that is fast or float32 might overflow."""
        torch = self.torch
        large = max(float(chunk.longest), float(self.norms.max())) > _LARGE
        double = chunk.documents.dtype == torch.float64 or large or self.strong_double
        kind = torch.float64 if double else torch.float32
        if double and chunk.norms.dtype != torch.float64:
            self._measure(chunk, kind)  # a product is as exact as the lengths in it
        queries, lost = self._in_precision(kind)
        size = chunk.longest.double() * 1.0001
        if not double:
            lost = lost + self.norms * 2.02 * input_rounding(torch, self.device)
        unit = DOUBLE if double else _TENSOR_CORES * SINGLE
        return Product(
            queries, chunk.documents.to(kind), chunk.scale, chunk.bias, lost * size, size, unit, self.device
        )

    def best(self, chunks: Iterable[tuple[int, Any]], k: int, refuse: Refuse) -> list[IntArray | None]:
        """Candidates for the best k of each query; None where so many tie that they cannot all be kept."""
        torch, kept = self.torch, k + _MORE
        values = torch.full((len(self.double), 0), 0.0, device=self.device, dtype=torch.float64)
        docs = torch.zeros((len(self.double), 0), device=self.device, dtype=torch.int64)
        margin = torch.zeros(len(self.double), device=self.device, dtype=torch.float64)
        seen = 0
        for first, documents in chunks:
            chunk = self._start(first, documents, count=False)
            if not np.isfinite(float(chunk.longest)):
                self._measure_again(chunk, refuse)
            product = self._product(chunk)
            margin = torch.maximum(margin, self._margin(product.before, product.size, product.unit))
            parts = [
                scores.topk(min(kept, scores.shape[1]), 1)
                for _, scores in product.scores(np.arange(len(self.double)))
            ]
            values = torch.cat([values, torch.cat([part.values for part in parts]).double()], 1)
            docs = torch.cat([docs, torch.cat([part.indices for part in parts]) + first], 1)
            values, order = values.topk(min(kept, values.shape[1]), 1)
            docs, seen = docs.gather(1, order), seen + len(documents)
        if not values.shape[1]:
            return [np.zeros(0, np.int64) for _ in range(len(values))]
        floor = values[:, min(k, values.shape[1]) - 1] - 2 * margin
        cut_off = (values[:, -1] >= floor) & (seen > values.shape[1])
        inside, found = (values >= floor[:, None]).cpu().numpy(), docs.cpu().numpy()
        return [
            None if lost else found[i][inside[i]] for i, lost in enumerate(cut_off.cpu().numpy().tolist())
        ]

    def _compare(
        self, chunk: Chunk, scores: Any, pairs: IntArray, row: IntArray, bounds: tuple[Any, Any]
    ) -> None:
        """Count what is clear in a block of scores, and look at the rest again."""
        torch, wanted = self.torch, self.wanted
        ordinal = np.arange(len(row)) - np.searchsorted(row, row)
        for layer in range(int(ordinal.max(initial=-1)) + 1):
            chosen = np.flatnonzero(ordinal == layer)
            members = pairs[chosen]
            query, column = (
                torch.as_tensor(one[members], device=self.device) for one in (wanted.query, self.column)
            )
            low, high = (bound[query, column][:, None] for bound in bounds)
            all_rows = len(chosen) == len(scores)
            values = scores if all_rows else scores[torch.as_tensor(row[chosen], device=self.device)]
            above = values > high
            self.places.above[members] += above.sum(1).cpu().numpy()
            near = ((values >= low) & ~above).nonzero()
            self._settle(chunk, members[near[:, 0].cpu().numpy()], near[:, 1])

    def _settle(self, chunk: Chunk, pair: IntArray, doc: Any) -> None:
        """Documents that were too close to tell: by a sum in float64 here, and what is still too close on the host."""
        torch, wanted = self.torch, self.wanted
        step = max(_PAIRS // max(self.double.shape[1], 1), 1)
        for begin in range(0, len(pair), step):
            some, rows = pair[begin : begin + step], doc[begin : begin + step]
            query = torch.as_tensor(wanted.query[some], device=self.device)
            score = self._score_pairs(query, chunk.documents[rows].double())
            margin = self._pair_margin(chunk, query, rows)
            target = self.target[torch.as_tensor(some, device=self.device)]
            above = score > target + margin
            np.add.at(self.places.above, some[above.cpu().numpy()], 1)
            tied = (~above & (score >= target - margin)).nonzero()[:, 0]
            self._settle_on_host(chunk, some[tied.cpu().numpy()], rows[tied])

    def _score_pairs(self, query: Any, documents: Any) -> Any:
        """Scores of pairs in float64, added in whatever order the device likes."""
        queries = self.double[query]
        if self.similarity == "euclidean":
            return -((documents - queries) ** 2).sum(1)
        score = (queries * documents).sum(1)
        if self.similarity == "cosine":
            lengths = self.torch.linalg.vector_norm(documents, dim=1)
            score = self.torch.where(lengths > 0, score / lengths.clamp_min(1e-300), 0.0)
        return score

    def _pair_margin(self, chunk: Chunk, query: Any, doc: Any) -> Any:
        """How far two scores of :meth:`_score_pairs` may be from the formula's, together."""
        own, norms, n = self.norms[query], chunk.norms[doc].double() * 1.001, self.double.shape[1]
        if self.similarity == "cosine":
            norms = self.torch.ones_like(norms)
        size = own**2 + norms**2 if self.similarity == "euclidean" else own * norms
        return 16 * (n + 8) * DOUBLE * size + n * 2.0**-1000

    def _settle_on_host(self, chunk: Chunk, pair: IntArray, doc: Any) -> None:
        """Step 3: the formula itself, for the documents and for the judged ones that they are compared with."""
        wanted = self.wanted
        rows = doc.cpu().numpy() + chunk.first
        itself = rows == wanted.doc[pair]
        np.add.at(self.places.same, pair[itself], 1)  # a document ties with itself
        others = np.flatnonzero(~itself)
        if len(others):
            pair, rows, vectors = pair[others], rows[others], chunk.documents[doc[host.rows_for(doc, others)]]
            known = np.unique(pair)
            wanted.score[known] = self._formula(
                wanted.query[known], self.judged[host.rows_for(self.judged, known)]
            )
            self.places.settle(wanted, pair, rows, self._formula(wanted.query[pair], vectors), self.order)

    def _formula(self, query: IntArray, documents: Any) -> FloatArray:
        queries = host.as_array(self.queries[host.rows_for(self.queries, query)], "queries")
        return exact.exact_scores(queries, host.as_array(documents, "documents"), self.similarity)
