"""What goes into a tracker: the mean, low and high of every measure, the values of each query, and the report."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ranklens.words import finite

if TYPE_CHECKING:
    import polars as pl

    from ranklens.scores import Scores

REPORT = "report.html"
WriteReport: TypeAlias = Callable[[Path], object]
_REFUSED = re.compile(r"\W+")  # W&B allows letters, digits and underscores; MLflow and TensorBoard allow more


@dataclass(frozen=True)
class Content:
    """Numbers and tables by name, the line that says what was averaged over, and what writes the report."""

    numbers: Mapping[str, float]
    tables: Mapping[str, pl.DataFrame]
    notes: Mapping[str, str]
    report: WriteReport | None = None
    step: int | None = None

    @contextmanager
    def written_report(self, name: str) -> Iterator[Path | None]:
        """The report in a temporary folder, to be uploaded; None if there is none."""
        if self.report is None:
            yield None
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            self.report(path)
            yield path

    def named(self, name: str) -> str:
        """A name for a file: with the step, if there is one, so that a later step does not replace it."""
        stem, dot, suffix = name.rpartition(".")
        return name if self.step is None else f"{stem}-{self.step}{dot}{suffix}"


def plain_name(measure: str) -> str:
    """A name that every tracker accepts.

    >>> plain_name("nDCG@10"), plain_name("P(rel=2)@5"), plain_name("RBP(p=0.8)"), plain_name("my run")
    ('nDCG_at_10', 'P_rel_2_at_5', 'RBP_p_0_8', 'my_run')
    """
    return _REFUSED.sub("_", measure.replace(")@", "@").replace("@", "_at_")).strip("_")


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """The same for several names, none of them twice.

    >>> plain_names(["a b", "a-b"])
    {'a b': 'a_b', 'a-b': 'a_b_2'}
    """
    plain_names: dict[str, str] = {}
    for name in names:
        plain, number = plain_name(name), 2
        while plain in plain_names.values():
            plain, number = f"{plain_name(name)}_{number}", number + 1
        plain_names[name] = plain
    return plain_names


def content_of(
    scores: Mapping[str, Scores],
    *,
    step: int | None = None,
    report: WriteReport | None = None,
    further: Mapping[str, Mapping[str, float | None]] | None = None,
) -> Content:
    """What is logged of scores by system; a system without a name, ``""``, needs no prefix.

    ``further`` are other numbers by system, such as the latency.
    """
    numbers: dict[str, float] = {}
    tables: dict[str, pl.DataFrame] = {}
    notes: dict[str, str] = {}
    for system, short in plain_names(scores).items():
        before = f"{short}/" if short else ""
        # Canonical names, so that other spellings give the same curve.
        rows = scores[system].to_summary()
        names = plain_names(row["measure"] for row in rows)
        values: dict[str, float | None] = {}
        for row in rows:
            name = names[row["measure"]]
            values |= {name: finite(row["mean"]), f"{name}_low": row["low"], f"{name}_high": row["high"]}
        values |= (further or {}).get(system, {})
        numbers |= {f"{before}{name}": value for name, value in values.items() if value is not None}
        tables[f"{before}per_query"] = scores[system].per_query
        notes[f"{before}averaged_over"] = scores[system].note
    return Content(numbers, tables, notes, report, step)
