"""A matrix product on the GPU whose scores are compared and counted where they arise, and never written to memory.

Triton ships with torch on Linux; without it, :mod:`ranklens.models.embeddings.device` takes the product in torch, with the same results.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, misc"
# Triton reads annotations of its kernels as they are, so they are not postponed here.
import torch
import triton
import triton.language as tl

from ranklens.models.embeddings.tensors import Tensor

MOST_WANTED = 16  # judged documents of one query that one pass can count
_SHAPE = {"BM": 128, "BN": 256, "BK": 64, "GROUP": 8}


@triton.jit
def _count(
    q_ptr,
    d_ptr,
    low_ptr,
    high_ptr,
    scale_ptr,
    bias_ptr,
    out_ptr,
    M,
    N,
    K: tl.constexpr,
    J: tl.constexpr,
    SCALED: tl.constexpr,
    BIASED: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    # Neighbouring programs share documents, so that these come from the cache.
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    per_group = GROUP * nm
    first = (pid // per_group) * GROUP
    size = min(nn - first, GROUP)
    pn = first + (pid % per_group) % size
    pm = (pid % per_group) // size
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    q = q_ptr + (rm % M).to(tl.int64)[:, None] * K + rk[None, :]
    d = d_ptr + (rn % N).to(tl.int64)[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        if K % BK == 0:
            acc = tl.dot(tl.load(q + k), tl.load(d + k), acc)
        else:
            inside = rk < K - k
            left = tl.load(q + k, mask=inside[None, :], other=0.0)
            acc = tl.dot(left, tl.load(d + k, mask=inside[:, None], other=0.0), acc)
    real = rn < N
    if SCALED:
        acc = acc * tl.load(scale_ptr + rn, mask=real, other=0.0)[None, :]
    if BIASED:
        acc = 2.0 * acc - tl.load(bias_ptr + rn, mask=real, other=0.0)[None, :]
    acc = tl.where(real[None, :], acc, float("-inf"))
    for j in tl.static_range(J):
        low = tl.load(low_ptr + rm * J + j, mask=rm < M, other=float("inf"))
        high = tl.load(high_ptr + rm * J + j, mask=rm < M, other=float("inf"))
        # Both counts in one sum: scores above the interval in the low half, scores in or above it in the high half.
        both = (acc > high[:, None]).to(tl.int32) + ((acc >= low[:, None]).to(tl.int32) << 16)
        packed = tl.sum(both, axis=1)
        counts = (packed & 0xFFFF).to(tl.int64) + ((packed >> 16).to(tl.int64) << 32)
        tl.atomic_add(out_ptr + rm * J + j, counts, mask=rm < M, sem="relaxed")


def count(
    queries: Tensor,
    documents: Tensor,
    low: Tensor,
    high: Tensor,
    *,
    scale: Tensor | None = None,
    bias: Tensor | None = None,
    warps: int = 8,
    stages: int = 3,
    **shape: int,
) -> Tensor:
    """For each interval, as one number: scores above it, plus 2³² times the scores in or above it.

    ``low`` and ``high`` have one row per query and one column per judged document; ``scale`` and ``bias`` belong to documents.
    """
    out: Tensor = torch.zeros(low.shape, dtype=torch.int64, device=queries.device)
    settings = {**_SHAPE, **shape}
    grid = (triton.cdiv(len(queries), settings["BM"]) * triton.cdiv(len(documents), settings["BN"]),)
    nothing = low  # a pointer is needed even where it is not read
    # Triton launches on the current device, which need not be the one that holds the vectors.
    with torch.cuda.device_of(queries):
        _count[grid](
            queries,
            documents,
            low,
            high,
            nothing if scale is None else scale,
            nothing if bias is None else bias,
            out,
            len(queries),
            len(documents),
            queries.shape[1],
            low.shape[1],
            scale is not None,
            bias is not None,
            num_warps=warps,
            num_stages=stages,
            **settings,
        )
    return out
