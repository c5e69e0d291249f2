"""Verdicts for GitHub Actions: annotations in the log, and the summary of the job."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ranklens.data.files.output import check_output
from ranklens.errors import warn
from ranklens.guard.wording import reasons
from ranklens.words import counted, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ranklens.guard.verdicts import Outcome

SUMMARY = "GITHUB_STEP_SUMMARY"


def to_annotations(outcome: Outcome, file: Path | None = None) -> str:
    """One command of a workflow per rule that did not pass, at the file of the configuration if there is one.

    A rule that is undecided but passes is a warning.
    """
    if not outcome.verdicts:
        return "::notice title=ranklens gate::no gate was checked"
    commands = []
    for verdict in outcome.verdicts:
        if verdict.status != "passed":
            properties = {"file": str(file)} if file is not None else {}
            properties["title"] = f"{verdict.status}: {verdict.rule} ({verdict.system})"
            written = ",".join(
                f"{name}={_message(value).replace(':', '%3A').replace(',', '%2C')}"
                for name, value in properties.items()
            )
            text = _message("\n".join([verdict.sentence, *reasons(verdict)]))
            commands.append(f"::{'warning' if verdict.passed else 'error'} {written}::{text}")
    rules = counted(len(outcome.verdicts), "verdict")
    return "\n".join(commands) or f"::notice title=ranklens gate::{_message(f'passed: {rules}')}"


def _message(text: str) -> str:
    r"""Text in which nothing ends the line, so that data cannot inject commands.

    >>> _message("100%\n::set-env")
    '100%25%0A::set-env'
    """
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def summary() -> Path | None:
    """The file that the summary of the job is appended to, if this is one and results are not printed there anyway."""
    place = os.environ.get(SUMMARY)
    if not place:
        return None
    try:  # standard output may go there: ``ranklens gate … >> "$GITHUB_STEP_SUMMARY"``
        is_printed_there = os.path.samestat(os.fstat(sys.stdout.fileno()), Path(place).stat())
    except (OSError, ValueError):  # no such file yet, or no file behind standard output
        is_printed_there = False
    return None if is_printed_there else Path(place)


def refuse_inputs(reads: Iterable[str | Path | None]) -> None:
    """Whatever is appended to the summary must not end up in a file that is read."""
    place = summary()
    if place is not None and place.is_file():
        check_output(place, reads)


def add_to_summary(markdown: str) -> None:
    """Append to the summary of the job, if this is one; what other steps wrote stays."""
    place = summary()
    if place is None:
        return
    try:
        with place.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{markdown}\n\n")
    except OSError as error:
        warn(f"The summary of the job ({SUMMARY}={place}) cannot be written: {error.strerror}.")
