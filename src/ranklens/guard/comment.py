"""Verdicts as Markdown for people: a pull-request comment, or the summary of a CI job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ranklens.guard.wording import headline, printout, reasons
from ranklens.tables.digits import SHOWN
from ranklens.tables.table import Lines, Table
from ranklens.words import shortened

if TYPE_CHECKING:
    from ranklens.guard.verdicts import Loss, Outcome, Verdict

MARK = "<!-- ranklens gate -->"  # by which a comment is found again, to be replaced
_MOST = 5  # queries
_TEXT = 80  # letters of a question


def to_markdown(outcome: Outcome) -> str:
    """The verdict, one row per rule, the five queries that lost most, and the details folded."""
    parts = [MARK]
    for part in printout(outcome).parts:
        parts.append(part.to_markdown().rstrip())
        if isinstance(part, Table):
            break
    # The queries behind what failed, each once: the largest losses first, then those without a value before, the lowest first.
    losses = [(verdict, loss) for verdict in outcome.failed for loss in verdict.lost]
    largest: dict[str, tuple[Verdict, Loss]] = {}
    for verdict, loss in sorted(losses, key=lambda pair: pair[1].size, reverse=True):
        largest.setdefault(loss.query, (verdict, loss))
    if largest:
        parts.append(_losses(list(largest.values())[:_MOST]).to_markdown())
    details = [
        Lines(
            headline(verdict).partition(":")[0] + f": {verdict.rule}", [verdict.sentence, *reasons(verdict)]
        ).to_markdown()
        for verdict in outcome.verdicts
    ]
    return "\n\n".join([*parts, folded("Details", "\n\n".join(details))])


def folded(title: str, text: str) -> str:
    """Markdown that unfolds on a click."""
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _losses(lost: list[tuple[Verdict, Loss]]) -> Table:
    rows = [
        [
            loss.query,
            shortened(loss.text, _TEXT),
            str(verdict.rule),
            verdict.system,
            "" if loss.before is None else f"{loss.before:.{SHOWN}f}",
            f"{loss.after:.{SHOWN}f}",
        ]
        for verdict, loss in lost
    ]
    if any(loss.before is not None for _, loss in lost):
        header = ["query", "question", "rule", "system", "before", "after"]
        return Table(header, rows, title="Queries that lost most", left=4)
    header = ["query", "question", "rule", "system", "value"]
    return Table(header, [[*row[:4], row[5]] for row in rows], title="Lowest queries", left=4)
