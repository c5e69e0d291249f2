"""torch, its devices, and the way of documents to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from ranklens.embeddings import host
from ranklens.errors import InputError, MissingExtraError

RESIDENT, STREAMED = (
    1 << 20,
    1 << 16,
)  # documents that are compared at once: on the device already, or on their way
_COPIES = 4  # blocks that are on their way at once
_STRONG_DOUBLE = ((6, 0), (7, 0), (8, 0), (9, 0), (10, 0))  # compute capabilities


def load_torch() -> Any:
    """torch, or how to install it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError(
            "Counting on a device needs torch, which is not installed: pip install 'ranklens[gpu]'"
        ) from None
    return torch


def check_device(name: Any) -> Any:
    """A torch device that is there."""
    torch = load_torch()
    try:
        return torch.zeros(1, device=torch.device(name)).device
    except (RuntimeError, AssertionError) as wrong:
        raise InputError(
            f"device={str(name)!r} cannot be used: {str(wrong).splitlines()[0]} Leave device out to count on the processor."
        ) from None


def load_kernel(device: Any) -> Any:
    """The fused kernel, where Triton can run it; else None."""
    if device.type != "cuda":
        return None
    try:
        from ranklens.embeddings import kernel
    except ImportError:
        return None
    return kernel


def has_strong_double(torch: Any, device: Any) -> bool:
    """Whether float64 products are about as fast as float32 ones, as on GPUs for data centres."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) in _STRONG_DOUBLE


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


@cache
def widens(torch: Any, device: Any, kind: Any) -> bool:
    """Whether a product of numbers in half precision can be had in float32: newer versions of torch, on a GPU."""
    if kind not in (torch.bfloat16, torch.float16):
        return False
    little = torch.zeros((16, 16), device=device, dtype=kind)
    try:
        torch.mm(little, little, out_dtype=torch.float32)
    except (TypeError, RuntimeError):
        return False
    return True


def resident_chunks(documents: Any, step: int = RESIDENT) -> Iterator[tuple[int, Any]]:
    """Parts of a tensor that is on the device already."""
    return ((first, documents[first : first + step]) for first in range(0, len(documents), step))


def streamed_chunks(blocks: Iterable[tuple[int, Any]], device: Any) -> Iterator[tuple[int, Any]]:
    """Blocks from the host's memory, copied to the device while others are counted; not always in their order."""
    if device.type != "cuda":
        yield from ((first, _as_tensor(block)) for first, block in blocks)
        return
    lanes = _Lanes(blocks, device)
    with ThreadPoolExecutor(_COPIES) as pool:
        coming = deque((lane, pool.submit(lanes.fetch, lane)) for lane in range(_COPIES))
        while coming:
            lane, copied = coming.popleft()
            if (arrived := copied.result()) is None:
                continue
            coming.append((lane, pool.submit(lanes.fetch, lane)))
            first, moved = arrived
            moved.record_stream(load_torch().cuda.current_stream(device))
            yield first, moved


def _as_tensor(block: Any) -> Any:
    return block if host.is_torch(block) else load_torch().as_tensor(np.ascontiguousarray(block))


class _Lanes:
    """Several copies at once, each with its own stream and its own memory that the device can read."""

    def __init__(self, blocks: Iterable[tuple[int, Any]], device: Any) -> None:
        self.torch, self.device = load_torch(), device
        self._source, self._lock = iter(blocks), Lock()
        self._lanes: dict[int, tuple[Any, Any]] = {}

    def fetch(self, lane: int) -> tuple[int, Any] | None:
        with self._lock:
            block = next(self._source, None)
        if block is None:
            return None
        first, tensor = block[0], _as_tensor(block[1])
        stream, pinned = self._lanes.get(lane) or (self.torch.cuda.Stream(self.device), None)
        if not tensor.is_pinned():
            if pinned is None or pinned.shape[0] < len(tensor) or pinned.dtype != tensor.dtype:
                pinned = self.torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            tensor = pinned[: len(tensor)].copy_(tensor)
        self._lanes[lane] = (stream, pinned)
        with self.torch.cuda.stream(stream):
            moved = tensor.to(self.device, non_blocking=True)
        stream.synchronize()  # in this thread, so that the memory is not filled again too early
        return first, moved
