"""The command line: mistakes reported in one sentence, and a fast path for well-formed calls."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ranklens.errors import InputError
from ranklens.process import CheckFailed, guarded, program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer import Typer

    app: Typer


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status is that of :mod:`ranklens.process`, never a traceback for a user's mistake."""
    from ranklens.cli.commands import spoken_name

    given = list(sys.argv[1:] if arguments is None else arguments)
    runs_code = given[:1] in (["bench"], ["gate"])  # which may start programs that write to standard error
    begin = program if arguments is None else guarded
    return begin(spoken_name(given), lambda: _run(given), hides_panics=not runs_code)


def _run(arguments: Sequence[str]) -> int:
    # Reports take their date from it, and libraries stumble over it while they are loaded.
    date = os.environ.get("SOURCE_DATE_EPOCH", "")
    if date and not (date.isascii() and date.isdigit() and len(date) < 12):
        raise InputError(f"SOURCE_DATE_EPOCH is {date!r}, but must be a number of seconds.")
    name, rest = next(iter(arguments), ""), arguments[1:]
    if name in ("evaluate", "lint", "convert", "trec-eval"):  # which multiply no matrices
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting threads takes time
    try:
        if "_RANKLENS_COMPLETE" not in os.environ:
            if name == "trec-eval":
                from ranklens.exchange.trec.command import run as trec_eval

                return trec_eval(rest)
            from ranklens.cli.commands import COMMANDS, Command, command_of, understood

            if name in COMMANDS:
                known = command_of(name)
                command = known if isinstance(known, Command) else known.get(next(iter(rest), ""))
                words = rest if command is known else rest[1:]
                asked = understood(command, words) if command is not None else None
                if command is not None and asked is not None:
                    command.run(*asked)
                    return 0
        from ranklens.cli.app import run_app

        return run_app(arguments)
    except CheckFailed as stop:
        return stop.status


def __getattr__(name: str) -> object:
    if name == "app":  # the whole application, for documentation and tests
        from ranklens.cli.app import make_app

        return make_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    sys.exit(main())
