"""Ranks by counting on a GPU, with torch: the same ranks as on the processor, in three steps of rising precision.

1. A fast product counts the scores that lie clearly above each judged document's, and those too close to tell.
2. Where there are any of the latter, a product in float32 or float64 finds them.
3. The formula in float64 that defines the score decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ranklens.arrays import IntArray
from ranklens.models.embeddings import host
from ranklens.models.embeddings.chunks import Chunk, Product
from ranklens.models.embeddings.judged_ranks import Places, TieOrder, Wanted
from ranklens.models.embeddings.similarity import DOUBLE, SINGLE, Similarity
from ranklens.models.embeddings.tensor_scores import exact_scores
from ranklens.models.embeddings.transfer import (
    Arriving,
    has_strong_double,
    input_rounding,
    load_kernel,
    load_torch,
    widens,
)

Refuse = Callable[[int], Exception]
_PAIRS = 1 << 25  # numbers of the vectors that are scored again at once
_LARGE = 2.0**50  # lengths beyond this may overflow float32 when they are multiplied
_TENSOR_CORES = 4.0  # their sums are cut off rather than rounded, after every few products


class DeviceCounter:
    """Counts on a device; documents come as tensors there, chunk by chunk.

    ``judged`` has the vector of each wanted document; the scores of wanted pairs need not be known.
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
        self.wanted = wanted
        self.similarity, self.order, self.device = similarity, order, device
        self.kernel = load_kernel(device) if fused else None
        self.settings: dict[str, int] = {}  # of the kernel
        self.strong_double = has_strong_double(self.torch, device)
        self.places = Places(len(wanted))
        self._place_queries(self._on_device(queries))
        self._place_targets(self._on_device(judged))

    def _place_queries(self, double: Any) -> None:
        torch = self.torch
        self.queries = double
        norms = torch.linalg.vector_norm(double, dim=1)
        self.shift = norms**2 if self.similarity == "euclidean" else torch.zeros_like(norms)
        if self.similarity == "cosine":
            double = torch.where(norms[:, None] > 0, double / norms[:, None].clamp_min(1e-300), 0.0)
            norms = torch.where(norms.isfinite(), (norms > 0).double(), norms)
        self.double, self.norms = double, norms
        self.longest_query = float(norms.max()) if len(norms) else 0.0
        self._rounded: dict[Any, tuple[Any, Any]] = {}

    def _place_targets(self, judged: Any) -> None:
        """The scores to compare with: one column for each judged document of a query, infinite where there is none."""
        torch, wanted = self.torch, self.wanted
        self.column = wanted.ordinal()
        width = int(self.column.max(initial=-1)) + 1
        self.width = 1 << max(width - 1, 0).bit_length()
        query = torch.as_tensor(wanted.query, device=self.device)
        self.target = self.exact(query, judged)
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

    def read(
        self,
        chunks: Iterable[tuple[int, Any]],
        refuse: Refuse,
        *,
        resident: bool,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        """Count all chunks. Where they stay in memory, all are started before any is waited for; else one is, ahead.

        ``meanwhile`` is what the host can do while the device counts.
        """
        pending: list[Chunk] = []
        for first, documents in chunks:
            pending.append(self.start(first, documents))
            while len(pending) > 1 and not (resident and pending[0].counts is not None):
                self.finish(pending.pop(0), refuse)
        meanwhile()
        for chunk in pending:
            self.finish(chunk, refuse)

    def start(self, first: int, documents: Any, *, count: bool = True) -> Chunk:
        """A chunk with its lengths and, if wanted, with step 1 under way."""
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
            spoilt = torch.linalg.vector_norm(documents - chunk.documents, dim=1)
            spoilt = (spoilt if chunk.scale is None else spoilt * chunk.scale).max().double() * 1.0001
            # |q·d - q'·d'| is at most |q - q'||d| + |q'||d - d'|.
            margin = margin + (self.norms + lost) * spoilt
        low, high = self._bounds(margin, size, _TENSOR_CORES * SINGLE, torch.float32)
        counts = self.kernel.count(
            queries, documents, low, high, scale=chunk.scale, bias=chunk.bias, **self.settings
        )
        chunk.counts = Arriving(counts, chunk.longest)

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

    def finish(self, chunk: Chunk, refuse: Refuse) -> None:
        """Take the counts of a chunk, and decide what they leave open."""
        wanted = self.wanted
        self.check(chunk, refuse)
        if chunk.counts is None:
            self._decide(chunk, np.arange(len(wanted)))
            return
        inside = (wanted.doc >= chunk.first) & (wanted.doc < chunk.first + len(chunk.documents))
        counts = chunk.counts.get()[0][wanted.query, self.column]
        above, close = counts & 0xFFFFFFFF, counts >> 32
        unsure = close - above > inside
        clear = np.flatnonzero(~unsure)
        self.places.above[clear] += above[clear]
        self.places.same[clear] += inside[clear]
        if unsure.any():
            self._decide(chunk, np.flatnonzero(unsure))

    def check(self, chunk: Chunk, refuse: Refuse) -> None:
        """Where float32 cannot hold a length, the vector is not a number, or its numbers are large."""
        if np.isfinite(chunk.find_reach()):
            return
        self._measure(chunk, self.torch.float64)
        for row in (~chunk.norms.isfinite()).nonzero()[:1, 0].tolist():
            raise refuse(chunk.first + row)
        chunk.counts = chunk.reach = None

    def _decide(self, chunk: Chunk, pairs: IntArray) -> None:
        """Step 2 for some of the judged documents, a few queries at a time."""
        product = self.product(chunk, double=self.strong_double)
        bounds = self._bounds(product.before, product.size, product.unit, product.kind)
        for rows, scores in product.scores(np.unique(self.wanted.query[pairs])):
            here = pairs[np.isin(self.wanted.query[pairs], rows)]
            self._compare(chunk, scores, here, np.searchsorted(rows, self.wanted.query[here]), bounds)

    def product(self, chunk: Chunk, *, double: bool) -> Product:
        """The product by torch; in float64 also where the vectors are, or float32 might overflow."""
        torch = self.torch
        large = max(chunk.find_reach(), self.longest_query) > _LARGE
        double = chunk.documents.dtype == torch.float64 or large or double
        if double and chunk.norms.dtype != torch.float64:
            self._measure(chunk, torch.float64)  # a product is as exact as the lengths in it
        kind = torch.float64 if double else torch.float32
        given = chunk.documents.dtype
        if not double and widens(torch, self.device, given) and not self._in_precision(given)[1].any():
            kind = given  # as exact, since the queries lose nothing, and much faster
        queries, lost = self._in_precision(kind)
        size = chunk.longest.double() * 1.0001
        if kind == torch.float32:
            lost = lost + self.norms * 2.02 * input_rounding(torch, self.device)
        unit = DOUBLE if double else _TENSOR_CORES * SINGLE
        return Product(
            queries, chunk.documents.to(kind), chunk.scale, chunk.bias, lost * size, size, unit, self.device
        )

    def margin(self, product: Product) -> Any:
        """For each query: by how much the product's scores may differ from the formula, at most."""
        return self._margin(product.before, product.size, product.unit)

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
        """Step 3: documents that were too close to tell. A document ties with itself."""
        torch, wanted = self.torch, self.wanted
        step = self.pairs_at_once
        for begin in range(0, len(pair), step):
            some, rows = pair[begin : begin + step], doc[begin : begin + step]
            query = torch.as_tensor(wanted.query[some], device=self.device)
            score = self.exact(query, chunk.documents[rows])
            target = self.target[torch.as_tensor(some, device=self.device)]
            np.add.at(self.places.above, some[(score > target).cpu().numpy()], 1)
            tied = (score == target).nonzero()[:, 0]
            self.places.tie(
                wanted, some[tied.cpu().numpy()], rows[tied].cpu().numpy() + chunk.first, self.order
            )

    @property
    def pairs_at_once(self) -> int:
        """How many pairs :meth:`exact` may be asked for at once."""
        return max(_PAIRS // max(int(self.queries.shape[1]), 1), 1)

    def exact(self, query: Any, documents: Any) -> Any:
        """The scores of pairs by the formula: rows of the queries, and a vector for each."""
        return exact_scores(self.queries[query], documents.double(), self.similarity)
