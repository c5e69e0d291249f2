"""torch, its devices, what they can do, and what comes back from them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ranklens.errors import InputError, MissingExtraError

RESIDENT = 1 << 20  # documents that are compared at once, if they are on the device already
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
        from ranklens.models.embeddings import kernel
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


class Arriving:
    """Numbers on their way from the device. Whoever asks waits for these alone, and not for work that was started later."""

    def __init__(self, *tensors: Any) -> None:
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

    def get(self) -> list[Any]:
        """NumPy arrays, in the order of the tensors."""
        if self._event is not None:
            self._event.synchronize()
        return [one.numpy() for one in self._tensors]
