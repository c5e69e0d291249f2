"""Documents on their way from the host's memory to a GPU, while it counts others.

Memory that a GPU can read by itself ("pinned") is scarce, so documents pass through a little of it: threads copy piece after piece
there, and the GPU fetches them on its own, into a chunk of its memory. Chunks are large, because each costs the host some
time; pieces are small, so that both copies begin soon and go on side by side.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np

from ranklens.arrays import NumberArray
from ranklens.models.embeddings.tensors import Device, GpuEvent, HostArray, Kind, Tensor, load_torch
from ranklens.models.embeddings.vectors import is_torch

RESIDENT = 1 << 20  # documents that are compared at once, if they are on the device already
READ = 1 << 16  # documents that are read at once
_PIECE, _CHUNK = 1 << 24, 1 << 29  # bytes, at most
_SHARE = 16  # of the free memory: several chunks exist at once, and counting needs some
THREADS = min(8, os.cpu_count() or 1)  # that fill pinned memory
_AHEAD = 2  # chunks that are on their way while others are counted

Blocks = Iterable[tuple[int, NumberArray]] | Iterable[tuple[int, Tensor]]


def resident_chunks(documents: Tensor, step: int = RESIDENT) -> Iterator[tuple[int, Tensor]]:
    """Parts of a tensor that is on the device already."""
    return ((first, documents[first : first + step]) for first in range(0, len(documents), step))


def streamed_chunks(blocks: Blocks, device: Device, batch: int | None = None) -> Iterator[tuple[int, Tensor]]:
    """Chunks of documents on the device, each with the number of its first one; at most ``batch`` at once, if given."""
    if device.type != "cuda":
        torch = load_torch()
        return (
            (first, block if is_torch(block) else torch.as_tensor(np.ascontiguousarray(block)))
            for first, block in blocks
        )
    return carried(blocks, Road(device), batch)


class Road:
    """The way to a GPU: a stream of copies beside the one that counts."""

    def __init__(self, device: Device) -> None:
        self.torch, self.device = load_torch(), device
        cuda = self.torch.cuda
        self._stream = cuda.Stream(device)
        unused = cuda.memory_reserved(device) - cuda.memory_allocated(device)
        self.room = min(_CHUNK, (cuda.mem_get_info(device)[0] + unused) // _SHARE)  # of a chunk

    def there(self, rows: int, size: int, kind: Kind) -> Tensor:
        """Memory of the device. It belongs to the stream of copies, so that none writes where another is still read."""
        with self.torch.cuda.stream(self._stream):
            return self.torch.empty((rows, size), dtype=kind, device=self.device)

    def here(self, size: int) -> Tensor:
        """Bytes of the host that the device can read."""
        return self.torch.empty(size, dtype=self.torch.uint8, pin_memory=True)

    def send(self, source: Tensor, target: Tensor) -> GpuEvent:
        """Start a copy; returns what tells its end."""
        sent = self.torch.cuda.Event(blocking=True)
        with self.torch.cuda.stream(self._stream):
            target.copy_(source, non_blocking=True)
            sent.record(self._stream)
        return sent

    def receive(self, chunk: Tensor, sent: Iterable[GpuEvent]) -> None:
        """What is counted from here on sees the chunk: the device waits for it, the host does not."""
        counting = self.torch.cuda.current_stream(self.device)
        for one in sent:
            counting.wait_event(one)
        chunk.record_stream(counting)


@dataclass(frozen=True)
class _Piece:
    """A few documents: a tensor that the device can read, or an array of the bits of one."""

    first: int
    values: Tensor | NumberArray
    kind: Kind

    def __len__(self) -> int:
        return len(self.values)

    @property
    def row_bytes(self) -> int:
        return self.values.shape[1] * self.kind.itemsize


@dataclass
class _Load:
    """A chunk that is being filled."""

    first: int
    chunk: Tensor
    rows: int = 0
    sending: list[Future[GpuEvent]] = field(default_factory=list)

    def takes(self, piece: _Piece) -> bool:
        follows = piece.first == self.first + self.rows and piece.kind == self.chunk.dtype
        return follows and self.rows + len(piece) <= len(self.chunk)


def carried(blocks: Blocks, road: Road, batch: int | None) -> Iterator[tuple[int, Tensor]]:
    """Chunks as they arrive, in their order."""
    belt, under_way = _Belt(road), deque[_Load]()
    pool = ThreadPoolExecutor(THREADS)

    def arrived() -> tuple[int, Tensor]:
        load = under_way.popleft()
        road.receive(load.chunk, [one.result() for one in load.sending])
        return load.first, load.chunk[: load.rows]

    try:
        for piece in _pieces(blocks, batch):
            if not under_way or not under_way[-1].takes(piece):
                if len(under_way) > _AHEAD:
                    yield arrived()
                rows = max(batch or road.room // max(piece.row_bytes, 1), len(piece))
                under_way.append(_Load(piece.first, road.there(rows, piece.values.shape[1], piece.kind)))
            load = under_way[-1]
            target = load.chunk[load.rows : load.rows + len(piece)]
            load.sending.append(pool.submit(belt.carry, piece, target))
            load.rows += len(piece)
        while under_way:
            yield arrived()
    finally:  # without waiting: Python may close this walk wherever it looks for garbage, see files/streams.py
        pool.shutdown(wait=False, cancel_futures=True)


def _pieces(blocks: Blocks, batch: int | None) -> Iterator[_Piece]:
    """Blocks cut into pieces of about the same size."""
    for first, block in blocks:
        whole = _Piece(first, *_readable(block))
        most = max(_PIECE // max(whole.row_bytes, 1), 1)
        parts = -(-len(whole) // min(most, batch or most))
        step = -(-len(whole) // max(parts, 1))
        for row in range(0, len(whole), max(step, 1)):
            yield _Piece(first + row, whole.values[row : row + step], whole.kind)


def _readable(block: Tensor | NumberArray) -> tuple[Tensor | NumberArray, Kind]:
    """A block as a piece holds it. The bits of numbers can be copied whatever these are, and NumPy does not know all."""
    if not is_torch(block):
        array = np.asarray(block, block.dtype.newbyteorder("="))
        return array.view(f"i{array.itemsize}"), load_torch().from_numpy(np.empty(0, array.dtype)).dtype
    if block.device.type != "cpu" or block.is_pinned():
        return block, block.dtype
    return _bits(block), block.dtype


def _bits(tensor: Tensor) -> HostArray:
    return tensor.view(getattr(load_torch(), f"int{8 * tensor.element_size()}")).numpy()


class _Belt:
    """Buffers that go round: filled, fetched by the device, filled again."""

    def __init__(self, road: Road) -> None:
        self._road = road
        self._free: SimpleQueue[tuple[Tensor | None, GpuEvent | None]] = SimpleQueue()
        for _ in range(2 * THREADS):  # one is fetched while another is filled
            self._free.put((None, None))

    def carry(self, piece: _Piece, target: Tensor) -> GpuEvent:
        """Copy a piece to its place in a chunk; returns what tells the end."""
        if is_torch(piece.values):
            return self._road.send(piece.values, target)
        buffer, sent = self._free.get()
        try:
            if sent is not None:
                sent.synchronize()
            size = len(piece) * piece.row_bytes
            if buffer is None or len(buffer) < size:
                buffer = self._road.here(max(size, _PIECE))
            filled = buffer[:size].view(piece.kind).reshape(target.shape)
            np.copyto(_bits(filled), piece.values)  # in this thread alone, and without holding up others
            sent = self._road.send(filled, target)
        finally:
            self._free.put((buffer, sent))
        return sent
