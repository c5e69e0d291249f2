"""Ranks by counting on a GPU, with torch: the same ranks as on the processor, in three steps of rising precision.

1. A fast product counts the scores that lie clearly above each judged document's, and those too close to tell.
2. Where there are any of the latter, a product in float32 or float64 finds them.
3. The formula in float64 that defines the score decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ranklens.arrays import IntArray, NumberArray
from ranklens.models.embeddings.judged_ranks import Places, TieOrder, Wanted
from ranklens.models.embeddings.similarity import DOUBLE, SINGLE, Similarity
from ranklens.models.embeddings.tensor_scores import exact_scores
from ranklens.models.embeddings.tensors import (
    Device,
    HostArray,
    Kind,
    Tensor,
    has_strong_double,
    input_rounding,
    load_torch,
    widens,
)
from ranklens.models.embeddings.vectors import is_torch

Refuse = Callable[[int], Exception]
_PAIRS = 1 << 25  # numbers of the vectors that are scored again at once
_SCORES = 1 << 28  # scores that are held at once
_LARGE = 2.0**50  # lengths beyond this may overflow float32 when they are multiplied
_TENSOR_CORES = 4.0  # their sums are cut off rather than rounded, after every few products


class Kernel(Protocol):
    """The module :mod:`ranklens.models.embeddings.kernel`, which not every machine can import."""

    MOST_WANTED: int

    def count(
        self,
        queries: Tensor,
        documents: Tensor,
        low: Tensor,
        high: Tensor,
        *,
        scale: Tensor | None,
        bias: Tensor | None,
        **settings: int,
    ) -> Tensor: ...


def load_kernel(device: Device) -> Kernel | None:
    """The fused kernel, where Triton can run it."""
    if device.type != "cuda":
        return None
    try:
        from ranklens.models.embeddings import kernel
    except ImportError:
        return None
    return kernel


class Arriving:
    """Numbers on their way from the device. The caller waits for these alone, and not for work that was started later."""

    def __init__(self, *tensors: Tensor) -> None:
        self._tensors, self._event = list(tensors), None
        if tensors[0].device.type != "cuda":
            return
        torch = load_torch()
        self._tensors = [
            torch.empty(one.shape, dtype=one.dtype, pin_memory=True).copy_(one, non_blocking=True)
            for one in tensors
        ]
        self._event = torch.cuda.Event()
        self._event.record(torch.cuda.current_stream(tensors[0].device))

    def get(self) -> list[HostArray]:
        """NumPy arrays, in the order of the tensors."""
        if self._event is not None:
            self._event.synchronize()
        return [one.numpy() for one in self._tensors]


@dataclass
class Chunk:
    """Documents on the device, and what was started on them."""

    first: int
    documents: Tensor
    norms: Tensor
    longest: Tensor  # length of the longest vector, as the product has it
    scale: Tensor | None
    bias: Tensor | None
    counts: Arriving | None = None  # and the longest length
    reach: float | None = None  # the longest length on the host, once it was asked for

    def find_reach(self) -> float:
        """The longest length, on the host."""
        if self.reach is None:
            self.reach = float(self.longest if self.counts is None else self.counts.get()[1])
        return self.reach


@dataclass(frozen=True)
class Product:
    """All scores of some queries with a chunk, as torch computes them; and what their error depends on."""

    queries: Tensor
    documents: Tensor
    scale: Tensor | None
    bias: Tensor | None
    before: Tensor  # what rounding the inputs may have changed, for each query
    size: Tensor  # the longest document
    unit: float  # the rounding of each step of a sum
    device: Device

    @property
    def kind(self) -> Kind:
        """The number type of the scores: float32, or float64 if the vectors are."""
        torch = load_torch()
        return torch.float64 if self.documents.dtype == torch.float64 else torch.float32

    def scores(self, rows: IntArray) -> Iterator[tuple[IntArray, Tensor]]:
        """A few queries at a time: their rows, and the scores."""
        torch = load_torch()
        step = max(_SCORES // max(len(self.documents), 1), 1)
        for begin in range(0, len(rows), step):
            some = rows[begin : begin + step]
            scores = self._multiply(self.queries[torch.as_tensor(some, device=self.device)])
            if self.scale is not None:
                scores *= self.scale.to(scores.dtype)
            if self.bias is not None:
                scores = 2 * scores - self.bias.to(scores.dtype)
            yield some, scores

    def _multiply(self, queries: Tensor) -> Tensor:
        if self.documents.dtype == self.kind:
            return queries @ self.documents.T
        return load_torch().mm(queries, self.documents.T, out_dtype=self.kind)


class DeviceCounter:
    """Counts on a device; documents come as tensors there, chunk by chunk.

    ``judged`` has the vector of each wanted document; the scores of wanted pairs need not be known.
    """

    def __init__(
        self,
        queries: Tensor | NumberArray,
        judged: Tensor | NumberArray,
        wanted: Wanted,
        similarity: Similarity,
        order: TieOrder,
        device: Device,
        *,
        fused: bool = True,
    ) -> None:
        self.torch = load_torch()
        self.wanted = wanted
        self.similarity, self.order, self.device = similarity, order, device
        self.kernel = load_kernel(device) if fused else None
        self.settings: dict[str, int] = {}  # of the kernel
        self.strong_double = has_strong_double(device)
        self.places = Places(len(wanted))
        self._place_queries(self._on_device(queries))
        self._place_targets(self._on_device(judged))

    def _on_device(self, vectors: Tensor | NumberArray) -> Tensor:
        """Vectors in float64, converted where they arrive."""
        tensor = vectors if is_torch(vectors) else self.torch.as_tensor(np.ascontiguousarray(vectors))
        return tensor.to(self.device).double()

    def _place_queries(self, double: Tensor) -> None:
        torch = self.torch
        self.queries = double
        norms = torch.linalg.vector_norm(double, dim=1)
        self.shift = norms**2 if self.similarity == "euclidean" else torch.zeros_like(norms)
        if self.similarity == "cosine":
            double = torch.where(norms[:, None] > 0, double / norms[:, None].clamp_min(1e-300), 0.0)
            norms = torch.where(norms.isfinite(), (norms > 0).double(), norms)
        self.double, self.norms = double, norms
        self.longest_query = float(norms.max()) if len(norms) else 0.0
        self._rounded: dict[Kind, tuple[Tensor, Tensor]] = {}

    def _place_targets(self, judged: Tensor) -> None:
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

    def _in_precision(self, kind: Kind) -> tuple[Tensor, Tensor]:
        """The queries in another precision, and the length of what rounding took from each."""
        if kind not in self._rounded:
            low = self.double.to(kind).contiguous()
            lost = self.torch.linalg.vector_norm(low.double() - self.double, dim=1)
            self._rounded[kind] = (low, lost)
        return self._rounded[kind]

    def read(
        self,
        chunks: Iterable[tuple[int, Tensor]],
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

    def start(self, first: int, documents: Tensor, *, count: bool = True) -> Chunk:
        """A chunk with its lengths and, if wanted, with step 1 under way."""
        torch = self.torch
        documents = (documents if documents.is_floating_point() else documents.to(torch.float32)).contiguous()
        double = documents.dtype == torch.float64
        chunk = self._measured(first, documents, torch.float64 if double else torch.float32)
        if count and not double and self.kernel is not None and self.width <= self.kernel.MOST_WANTED:
            self._launch(chunk, self.kernel)
        return chunk

    def _measured(self, first: int, documents: Tensor, kind: Kind) -> Chunk:
        """A chunk with the lengths of the documents, and what follows from them."""
        torch, scale, bias = self.torch, None, None
        norms = lengths = torch.linalg.vector_norm(documents, dim=1, dtype=kind)
        if self.similarity == "cosine":
            scale = torch.where(norms > 0, 1 / norms, 0.0)
            lengths = torch.where(norms.isfinite(), (norms > 0).to(kind), norms)
        elif self.similarity == "euclidean":
            bias = norms**2
        return Chunk(first, documents, norms, lengths.max(), scale, bias)

    def _launch(self, chunk: Chunk, kernel: Kernel) -> None:
        """Step 1, in the precision of the tensor cores."""
        torch = self.torch
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
        counts = kernel.count(
            queries, documents, low, high, scale=chunk.scale, bias=chunk.bias, **self.settings
        )
        chunk.counts = Arriving(counts, chunk.longest)

    def _bounds(self, before: Tensor, size: Tensor, unit: float, kind: Kind) -> tuple[Tensor, Tensor]:
        """The interval around each judged score in which a product cannot be told from it, rounded outwards.

        ``before`` is what rounding the inputs may have changed, ``unit`` the rounding of each step of the sum.
        """
        torch, margin = self.torch, self._margin(before, size, unit)[:, None]
        infinite = torch.tensor(float("inf"), device=self.device, dtype=kind)
        low = torch.nextafter((self.centre - margin).to(kind), -infinite)
        high = torch.nextafter((self.centre + margin).to(kind), infinite)
        # A column without a judged document lies above every score.
        return torch.where(self.centre.isinf(), infinite, low), high

    def _margin(self, before: Tensor, size: Tensor, unit: float) -> Tensor:
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
        chunk = self.checked(chunk, refuse)
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

    def checked(self, chunk: Chunk, refuse: Refuse) -> Chunk:
        """Where float32 cannot hold a length, the vector is not a number, or its numbers are large: then it is measured again."""
        if np.isfinite(chunk.find_reach()):
            return chunk
        again = self._measured(chunk.first, chunk.documents, self.torch.float64)
        for row in (~again.norms.isfinite()).nonzero()[:1, 0].tolist():
            raise refuse(chunk.first + row)
        return again

    def _decide(self, chunk: Chunk, pairs: IntArray) -> None:
        """Step 2 for some of the judged documents, a few queries at a time."""
        product = self.product(chunk, double=self.strong_double)
        bounds = self._bounds(product.before, product.size, product.unit, product.kind)
        for rows, scores in product.scores(np.unique(self.wanted.query[pairs])):
            here = pairs[np.isin(self.wanted.query[pairs], rows)]
            self._compare(chunk, scores, here, np.searchsorted(rows, self.wanted.query[here]), bounds)

    def product(self, chunk: Chunk, *, double: bool) -> Product:
        """The product by torch; in float64 even if the vectors are in float64, or float32 might overflow."""
        torch, documents = self.torch, chunk.documents
        large = max(chunk.find_reach(), self.longest_query) > _LARGE
        double = documents.dtype == torch.float64 or large or double
        if double and chunk.norms.dtype != torch.float64:  # a product is as exact as the lengths in it
            chunk = self._measured(chunk.first, documents, torch.float64)
        kind = torch.float64 if double else torch.float32
        if (
            not double
            and widens(self.device, documents.dtype)
            and not self._in_precision(documents.dtype)[1].any()
        ):
            kind = documents.dtype  # as exact, since the queries lose nothing, and much faster
        queries, lost = self._in_precision(kind)
        size = chunk.longest.double() * 1.0001
        if kind == torch.float32:
            lost = lost + self.norms * 2.02 * input_rounding(self.device)
        unit = DOUBLE if double else _TENSOR_CORES * SINGLE
        return Product(
            queries, documents.to(kind), chunk.scale, chunk.bias, lost * size, size, unit, self.device
        )

    def margin(self, product: Product) -> Tensor:
        """For each query: by how much the product's scores may differ from the formula, at most."""
        return self._margin(product.before, product.size, product.unit)

    def _compare(
        self, chunk: Chunk, scores: Tensor, pairs: IntArray, row: IntArray, bounds: tuple[Tensor, Tensor]
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

    def _settle(self, chunk: Chunk, pair: IntArray, doc: Tensor) -> None:
        """Step 3: documents that were too close to tell. A document ties with itself."""
        torch, wanted = self.torch, self.wanted
        step = self.pairs_at_once
        for begin in range(0, len(pair), step):
            some, rows = pair[begin : begin + step], doc[begin : begin + step]
            query = torch.as_tensor(wanted.query[some], device=self.device)
            score = self.exact(query, chunk.documents[rows])
            target = self.target[torch.as_tensor(some, device=self.device)]
            np.add.at(self.places.above, some[(score > target).cpu().numpy()], 1)
            tied = score.eq(target).nonzero()[:, 0]
            self.places.tie(
                wanted, some[tied.cpu().numpy()], rows[tied].cpu().numpy() + chunk.first, self.order
            )

    @property
    def pairs_at_once(self) -> int:
        """How many pairs :meth:`exact` may be asked for at once."""
        return max(_PAIRS // max(int(self.queries.shape[1]), 1), 1)

    def exact(self, query: Tensor, documents: Tensor) -> Tensor:
        """The scores of pairs by the formula: rows of the queries, and a vector for each."""
        return exact_scores(self.queries[query], documents.double(), self.similarity)
