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
    lost = _lost(outcome)
    if lost:
        parts.append(_losses(lost).to_markdown())
    return "\n\n".join([*parts, folded("Details", _details(outcome))])


def folded(title: str, text: str) -> str:
    """Markdown that unfolds on a click."""
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _lost(outcome: Outcome) -> list[tuple[Verdict, Loss]]:
    """The queries behind what failed, the largest losses first, each once."""
    found = [(verdict, loss) for verdict in outcome.failed for loss in verdict.lost]
    first: dict[str, tuple[Verdict, Loss]] = {}
    for verdict, loss in sorted(found, key=lambda pair: _size(pair[1]), reverse=True):
        first.setdefault(loss.query, (verdict, loss))
    return list(first.values())[:_MOST]


def _size(loss: Loss) -> tuple[bool, float]:
    """How much was lost; queries that have no value before come after all others, the lowest first."""
    return (loss.before is not None, -loss.after if loss.before is None else abs(loss.before - loss.after))


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


def _details(outcome: Outcome) -> str:
    told = [(verdict, [verdict.sentence, *reasons(verdict)]) for verdict in outcome.verdicts]
    return "\n\n".join(
        Lines(headline(verdict).partition(":")[0] + f": {verdict.rule}", lines).to_markdown()
        for verdict, lines in told
    )
