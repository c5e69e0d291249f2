"""How the LaTeX table of ``compare`` looks: its options, as :class:`~ranklens.comparison.paper.PaperTable` names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import options
from ranklens.options import Description

if TYPE_CHECKING:
    from collections.abc import Callable

_PANEL = "LaTeX (--format latex)"


def _option(text: str, kind: Any, default: Any) -> tuple[Any, Any]:
    return Annotated[kind, Description(text)], default


_TABLE: dict[str, tuple[Any, Any]] = {
    "order": _option("Order of rows: mean (of the first measure) or given.", str, "mean"),
    "marks": _option(
        "Marks of significant differences: letters, dagger, triangles or none.", str | None, None
    ),
    "against": _option(
        "Run that dagger, triangles and --delta refer to. Default: the baseline.",
        str | None,
        None,
    ),
    "delta": (
        Annotated[bool, Description("Add differences in percent.", flags=("--delta",))],
        False,
    ),
    "digits": _option("Digits after the decimal point.", int, 4),
    "align": _option("Align numbers at the decimal point (decimal) or right (right).", str, "decimal"),
    "caption": _option("Caption, instead of one that states what was tested.", str | None, None),
    "label": _option("Label of the table.", str | None, None),
    "wide": (
        Annotated[bool, Description("Span both columns of the page.", flags=("--wide",))],
        False,
    ),
    "notes": _option("Length of the caption: short (details as comments), full or none.", str, "short"),
}


def with_paper_table(command: Callable[..., None]) -> Callable[..., None]:
    """The command with all options of the table in place of its argument ``paper``."""
    return options.with_options(command, "paper", _TABLE, dict)
