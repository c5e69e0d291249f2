"""Ranks by counting on a GPU, with torch: the same ranks as on the processor, in three steps of rising precision.

1. A fast product counts the scores that lie clearly above each judged document's, and those too close to tell.
2. Where there are any of the latter, a float32 product finds them, and a float64 sum decides most.
3. What remains, ties above all, is decided by the formula in float64 that defines the score, on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranklens.arrays import IntArray
from ranklens.embeddings import host
from ranklens.embeddings import similarity as exact
from ranklens.embeddings.places import Places, TieOrder, Wanted
from ranklens.embeddings.similarity import DOUBLE, SINGLE, Similarity
from ranklens.errors import InputError, MissingExtraError

CHUNK = 1 << 18  # documents that are compared at once
_SCORES = 1 << 28  # scores that are held at once where a product is taken in torch
_PAIRS = 1 << 25  # numbers of the vectors that are scored again at once
_LARGE = 2.0**50  # lengths beyond this may overflow float32 when they are multiplied
_TENSOR_CORES = 4.0  # their sums are cut off rather than rounded, after each few products


def load_torch() -> Any:
    """torch, or how to install it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError(
            "Counting on a device needs torch, which is not installed: pip install 'ranklens[gpu]'"
        ) from None
    return torch


def load_kernel(device: Any) -> Any:
    """The fused kernel, where Triton can run it; else None."""
    if device.type != "cuda":
        return None
    try:
        from ranklens.embeddings import kernel
    except ImportError:
        return None
    return kernel


def check_device(name: Any) -> Any:
    """A torch device that is there."""
    torch = load_torch()
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as wrong:
        raise InputError(
            f"device={str(name)!r} cannot be used: {str(wrong).splitlines()[0]} Leave device out to count on the processor."
        ) from None
    return device


class DeviceCounter:
    """Counts on a device; documents come as tensors there, chunk by chunk."""

    def __init__(
        self,
        queries: Any,
        wanted: Wanted,
        similarity: Similarity,
        order: TieOrder,
        device: Any,
        *,
        fused: bool = True,
    ) -> None:
        self.torch = load_torch()
        self.wanted, self.similarity, self.order, self.device = wanted, similarity, order, device
        self.host_queries = host.as_array(queries, "queries")
        self.kernel = load_kernel(device) if fused else None
        self.places = Places(len(wanted))
        self.settings: dict[str, int] = {}  # of the kernel
        self._place_queries()

    def _place_queries(self) -> None:
        """Queries and judged scores on the device; one column for each judged document of a query, missing ones infinite."""
        torch, wanted = self.torch, self.wanted
        double = torch.as_tensor(np.asarray(self.host_queries, np.float64), device=self.device)
        norms = torch.linalg.vector_norm(double, dim=1)
        self.shift = norms**2 if self.similarity == "euclidean" else torch.zeros_like(norms)
        if self.similarity == "cosine":
            double = torch.where(norms[:, None] > 0, double / norms[:, None].clamp_min(1e-300), 0.0)
            norms = (norms > 0).double()
        self.double, self.norms = double, norms
        self.single = double.float()
        self.rounded: dict[Any, tuple[Any, Any]] = {}
        width = int(wanted.ordinal().max(initial=-1)) + 1
        self.width = max(1 << max(width - 1, 0).bit_length(), 1)
        self.column = wanted.ordinal()
        centre = np.full((len(self.host_queries), self.width), np.inf)
        centre[wanted.query, self.column] = wanted.score
        self.centre = torch.as_tensor(centre, device=self.device) + self.shift[:, None]

    def _rounded(self, kind: Any) -> tuple[Any, Any]:
        """The queries in a low precision, and the length of what rounding took from each."""
        if kind not in self.rounded:
            low = self.double.to(kind)
            lost = self.torch.linalg.vector_norm(low.double() - self.double, dim=1)
            self.rounded[kind] = (low.contiguous(), lost)
        return self.rounded[kind]

    def read(
        self, chunks: Iterable[tuple[int, Any]], refuse: Callable[[int], Exception], *, resident: bool
    ) -> None:
        """Count all chunks. Where they stay in memory, all are launched before any is waited for; else one is, ahead."""
        pending: list[_Chunk] = []
        for first, documents in chunks:
            pending.append(self._start(first, documents))
            while len(pending) > 1 and not (resident and pending[0].counts is not None):
                self._finish(pending.pop(0), refuse)
        for chunk in pending:
            self._finish(chunk, refuse)

    def _start(self, first: int, documents: Any) -> _Chunk:
        torch = self.torch
        if not documents.is_floating_point():
            documents = documents.to(torch.float32)
        documents = documents.contiguous()
        norms = torch.linalg.vector_norm(
            documents, dim=1, dtype=torch.float64 if documents.dtype == torch.float64 else torch.float32
        )
        scale = bias = None
        lengths = norms
        if self.similarity == "cosine":
            scale = torch.where(norms > 0, 1 / norms, 0.0).float()
            lengths = torch.where(torch.isfinite(norms), (norms > 0).to(norms.dtype), norms)
        elif self.similarity == "euclidean":
            bias = (norms.double() ** 2).float()
        chunk = _Chunk(first, documents, norms, lengths.max(), scale, bias)
        if (
            self.kernel is not None
            and self.width <= self.kernel.MOST_WANTED
            and documents.dtype != torch.float64
        ):
            self._launch(chunk)
        return chunk

    def _launch(self, chunk: _Chunk) -> None:
        """Step 1, in the precision of the tensor cores."""
        torch = self.torch
        assert self.kernel is not None
        half = (torch.bfloat16, torch.float16)
        kind = chunk.documents.dtype if chunk.documents.dtype in half else torch.bfloat16
        queries, lost = self._rounded(kind)
        documents = chunk.documents.to(kind)
        size = chunk.longest.double() * 1.0001
        spoilt = torch.zeros((), dtype=torch.float64, device=self.device)
        if documents is not chunk.documents:
            difference = torch.linalg.vector_norm(documents.float() - chunk.documents.float(), dim=1)
            spoilt = (difference if chunk.scale is None else difference * chunk.scale).max().double() * 1.0001
        # |q·d - q'·d'| is at most |q - q'||d| + |q'||d - d'|, then come the errors of the sum.
        margin = lost * size + (self.norms + lost) * spoilt
        low, high = self._bounds(margin, size, _TENSOR_CORES)
        chunk.counts = self.kernel.count(
            queries, documents, low, high, scale=chunk.scale, bias=chunk.bias, **self.settings
        )

    def _bounds(self, before: Any, size: Any, slack: float) -> tuple[Any, Any]:
        """The interval around each judged score, given what rounding the inputs may have changed; in float32, rounded outwards."""
        torch, n = self.torch, self.double.shape[1]
        unit = (n + 16) * (slack * SINGLE + 2 * DOUBLE)
        if self.similarity == "euclidean":
            margin = 2 * before + unit * (2 * self.norms * size + size**2 + self.norms**2)
        else:
            margin = before + unit * self.norms * size
        margin = (margin + n * 2.0**-126 * (1 + self.norms + size))[:, None]
        margin = torch.nan_to_num(margin, nan=float("inf"))
        low, high = (self.centre - margin).float(), (self.centre + margin).float()
        infinite = torch.tensor(float("inf"), device=self.device)
        low = torch.where(torch.isnan(low), -infinite, torch.nextafter(low, -infinite))
        high = torch.where(torch.isnan(high), infinite, torch.nextafter(high, infinite))
        # A column without a judged document lies above every score.
        return torch.where(torch.isinf(self.centre), infinite, low), high

    def _finish(self, chunk: _Chunk, refuse: Callable[[int], Exception]) -> None:
        """Take the counts of a chunk, and decide what they leave open."""
        wanted = self.wanted
        if not np.isfinite(float(chunk.longest)):
            self._measure_again(chunk, refuse)
        if chunk.counts is None:
            self._decide(chunk, np.arange(len(wanted)))
            return
        last = chunk.first + len(chunk.documents)
        inside = (wanted.doc >= chunk.first) & (wanted.doc < last)
        counts = chunk.counts.cpu().numpy()[wanted.query, self.column]
        above, close = counts & 0xFFFFFFFF, counts >> 32
        unsure = close - above > inside
        clear = np.flatnonzero(~unsure)
        self.places.above[clear] += above[clear]
        self.places.same[clear] += inside[clear]
        if unsure.any():
            self._decide(chunk, np.flatnonzero(unsure))

    def _measure_again(self, chunk: _Chunk, refuse: Callable[[int], Exception]) -> None:
        """A length that float32 cannot hold: the vector is not a number, or its numbers are large."""
        torch = self.torch
        chunk.norms = torch.linalg.vector_norm(chunk.documents, dim=1, dtype=torch.float64)
        for row in (~torch.isfinite(chunk.norms)).nonzero()[:1, 0].tolist():
            raise refuse(chunk.first + row)
        chunk.counts, lengths = None, chunk.norms
        if self.similarity == "cosine":
            chunk.scale, lengths = (
                torch.where(chunk.norms > 0, 1 / chunk.norms, 0.0),
                (chunk.norms > 0).double(),
            )
        elif self.similarity == "euclidean":
            chunk.bias = chunk.norms**2
        chunk.longest = lengths.max()

    def _decide(self, chunk: _Chunk, pairs: IntArray) -> None:
        """Step 2 for some of the judged documents, a few queries at a time."""
        torch = self.torch
        documents = chunk.documents.float() if chunk.documents.dtype != torch.float64 else chunk.documents
        double = (
            documents.dtype == torch.float64 or max(float(chunk.longest), float(self.norms.max())) > _LARGE
        )
        if double:
            documents = documents.double()
        queries = self.double if double else self.single
        low, high = self._bounds_of_step_2(chunk, double)
        used = np.unique(self.wanted.query[pairs])
        step = max(_SCORES // len(documents), 1)
        for begin in range(0, len(used), step):
            rows = used[begin : begin + step]
            scores = queries[torch.as_tensor(rows, device=self.device)] @ documents.T
            if chunk.scale is not None:
                scores *= chunk.scale
            if chunk.bias is not None:
                scores = 2 * scores - chunk.bias
            here = pairs[np.isin(self.wanted.query[pairs], rows)]
            self._compare(chunk, scores, here, np.searchsorted(rows, self.wanted.query[here]), low, high)

    def _bounds_of_step_2(self, chunk: _Chunk, double: bool) -> tuple[Any, Any]:
        size = chunk.longest.double() * 1.0001
        coarse = 0.0 if double else input_rounding(self.torch, self.device)
        lost = self.norms * (2 * coarse * 1.01) * size
        if not double:
            single = self.torch.linalg.vector_norm(self.single.double() - self.double, dim=1)
            lost = lost + single * size
        return self._bounds(lost, size, _TENSOR_CORES)

    def _compare(
        self, chunk: _Chunk, scores: Any, pairs: IntArray, row: IntArray, low: Any, high: Any
    ) -> None:
        """Count what is clear in a block of scores, and look at the rest again."""
        torch, wanted = self.torch, self.wanted
        ordinal = np.arange(len(row)) - np.searchsorted(row, row)
        for layer in range(int(ordinal.max(initial=-1)) + 1):
            chosen = np.flatnonzero(ordinal == layer)
            members = pairs[chosen]
            at = torch.as_tensor(row[chosen], device=self.device)
            where = (
                torch.as_tensor(wanted.query[members], device=self.device),
                torch.as_tensor(self.column[members], device=self.device),
            )
            values = scores if len(chosen) == len(scores) else scores[at]
            above = values > high[where][:, None]
            self.places.above[members] += above.sum(1).cpu().numpy()
            near = ((values >= low[where][:, None]) & ~above).nonzero()
            pair, doc = members[near[:, 0].cpu().numpy()], near[:, 1]
            self._settle(chunk, pair, doc)

    def _settle(self, chunk: _Chunk, pair: IntArray, doc: Any) -> None:
        """Documents that were too close to tell: by a sum in float64 here, and what is still too close on the host."""
        torch, wanted = self.torch, self.wanted
        step = max(_PAIRS // max(self.double.shape[1], 1), 1)
        for begin in range(0, len(pair), step):
            some, rows = pair[begin : begin + step], doc[begin : begin + step]
            query = torch.as_tensor(wanted.query[some], device=self.device)
            score, margin = self._double_scores(chunk, query, rows)
            target = torch.as_tensor(wanted.score[some], device=self.device)
            above = score > target + margin
            np.add.at(self.places.above, some[above.cpu().numpy()], 1)
            tied = (~above & (score >= target - margin)).nonzero()[:, 0]
            self._settle_on_host(chunk, some[tied.cpu().numpy()], rows[tied])

    def _double_scores(self, chunk: _Chunk, query: Any, doc: Any) -> tuple[Any, Any]:
        """Scores of pairs in float64 with their margins: the order of the sum is not the one of the formula."""
        documents, queries = chunk.documents[doc].double(), self.double[query]
        norms = chunk.norms[doc].double() * 1.001
        n = queries.shape[1]
        if self.similarity == "euclidean":
            size = self.norms[query] ** 2 + norms**2
            return -((documents - queries) ** 2).sum(1), 8 * (n + 8) * DOUBLE * size
        score = (queries * documents).sum(1)
        if self.similarity == "cosine":
            lengths = self.torch.linalg.vector_norm(documents, dim=1)
            score = self.torch.where(lengths > 0, score / lengths.clamp_min(1e-300), 0.0)
            norms = self.torch.ones_like(norms)
        return score, 8 * (n + 8) * DOUBLE * self.norms[query] * norms + n * 2.0**-1000

    def _settle_on_host(self, chunk: _Chunk, pair: IntArray, doc: Any) -> None:
        wanted = self.wanted
        rows = doc.cpu().numpy() + chunk.first
        score = wanted.score[pair].copy()  # a document ties with itself
        others = np.flatnonzero(rows != wanted.doc[pair])
        if len(others):
            vectors = (
                chunk.documents[doc[self.torch.as_tensor(others, device=self.device)]].double().cpu().numpy()
            )
            score[others] = exact.exact_scores(
                self.host_queries[wanted.query[pair[others]]], vectors, self.similarity
            )
        self.places.settle(wanted, pair, rows, score, self.order)


@dataclass
class _Chunk:
    """Documents on the device, and what was started on them."""

    first: int
    documents: Any
    norms: Any
    longest: Any  # length of the longest vector, as the product has it
    scale: Any
    bias: Any
    counts: Any = None


def input_rounding(torch: Any, device: Any) -> float:
    """How far torch may round the inputs of a float32 product: users can allow it to, and that is theirs to decide."""
    if device.type != "cuda":
        return 0.0
    try:
        allowed = torch.get_float32_matmul_precision()
        newer = getattr(torch.backends.cuda.matmul, "fp32_precision", "ieee")
    except RuntimeError:  # torch refuses to answer where both of its switches were used
        return 2.0**-8
    if allowed == "medium" or newer == "bf16":
        return 2.0**-8
    return 0.0 if allowed == "highest" and newer in ("ieee", "none") else 2.0**-11


def resident_chunks(documents: Any, step: int = CHUNK) -> Iterator[tuple[int, Any]]:
    """Parts of a tensor that is on the device already."""
    return ((first, documents[first : first + step]) for first in range(0, len(documents), step))


def streamed_chunks(blocks: Iterable[tuple[int, Any]], device: Any) -> Iterator[tuple[int, Any]]:
    """Blocks from the host's memory, each copied to the device while the one before is counted."""
    from concurrent.futures import ThreadPoolExecutor

    torch = load_torch()
    if device.type != "cuda":
        for first, block in blocks:
            yield (
                first,
                torch.as_tensor(np.ascontiguousarray(block)) if isinstance(block, np.ndarray) else block,
            )
        return
    stream = torch.cuda.Stream(device)
    source = iter(blocks)
    buffers: dict[int, Any] = {}

    def fetch(turn: int) -> tuple[int, Any, Any] | None:
        block = next(source, None)
        if block is None:
            return None
        first, vectors = block
        tensor = vectors if host.is_torch(vectors) else torch.from_numpy(np.ascontiguousarray(vectors))
        with torch.cuda.stream(stream):
            if not tensor.is_pinned():
                pinned = buffers.get(turn % 2)
                if pinned is None or pinned.shape[0] < len(tensor) or pinned.dtype != tensor.dtype:
                    pinned = buffers[turn % 2] = torch.empty(
                        tensor.shape, dtype=tensor.dtype, pin_memory=True
                    )
                pinned = pinned[: len(tensor)]
                pinned.copy_(tensor)
                tensor = pinned
            moved = tensor.to(device, non_blocking=True)
            done = torch.cuda.Event()
            done.record(stream)
        done.synchronize()  # in this thread, so that a buffer is not filled again too early
        return first, moved, done

    with ThreadPoolExecutor(1) as reader:
        turn = 0
        coming = reader.submit(fetch, turn)
        while (arrived := coming.result()) is not None:
            turn += 1
            coming = reader.submit(fetch, turn)
            first, moved, done = arrived
            torch.cuda.current_stream(device).wait_event(done)
            moved.record_stream(torch.cuda.current_stream(device))
            yield first, moved
