"""Into TensorBoard: scalars and histograms of each measure, tables as text, and the report next to the event file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import time_ns
from typing import Protocol, TypeAlias, runtime_checkable

from ranklens.arrays import FloatArray
from ranklens.data.readers.paths import follow
from ranklens.errors import InputError
from ranklens.report.trackers.content import REPORT, Content, plain_name
from ranklens.tables.table import Table

_ROWS = 1_000  # of a table that is shown as text


@runtime_checkable
class Writer(Protocol):
    """A SummaryWriter, of tensorboardX or of PyTorch."""

    def add_scalar(self, name: str, value: float, step: int | None, /) -> object: ...

    def add_histogram(self, name: str, values: FloatArray, step: int | None, /) -> object: ...

    def add_text(self, name: str, text: str, step: int | None, /) -> object: ...

    def flush(self) -> object: ...


class OwnWriter(Writer, Protocol):
    """A SummaryWriter that was made here, and so is closed here."""

    def close(self) -> object: ...


MakeWriter: TypeAlias = Callable[..., OwnWriter]


def in_folder(make_writer: MakeWriter, folder: Path) -> Callable[[Content], None]:
    """A function that logs into a new event file."""

    def log(content: Content) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder} cannot be written: {error.strerror}.") from None
        # Two writers of the same second would share a file, and the second empty it.
        writer = make_writer(str(folder), filename_suffix=f".{time_ns()}")
        try:
            into(writer)(content)
        finally:
            writer.close()

    return log


def into(writer: Writer) -> Callable[[Content], None]:
    """A function that logs with a SummaryWriter."""

    def log(content: Content) -> None:
        for name, value in content.numbers.items():
            writer.add_scalar(name, value, content.step)
        for name, table in content.tables.items():
            before = name.removesuffix("per_query")
            for measure in table.columns[1:]:
                writer.add_histogram(
                    f"{before}{plain_name(measure)}_by_query", table[measure].to_numpy(), content.step
                )
            rows = [list(map(str, row)) for row in table.head(_ROWS).iter_rows()]
            more = f"The first {_ROWS:,} of {len(table):,} queries." if len(table) > _ROWS else ""
            shown = Table(table.columns, rows, note=more).to_markdown()
            writer.add_text(name, shown, content.step)
        for name, note in content.notes.items():
            writer.add_text(name, note, content.step)
        # Of tensorboardX and of PyTorch.
        folder = follow(writer, "logdir") or follow(writer, "log_dir")
        if content.report is not None and folder is not None:
            content.report(Path(folder) / content.named(REPORT))
        writer.flush()

    return log
