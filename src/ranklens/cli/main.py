"""The command line: mistakes reported in one sentence, and a fast path for the most common call."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError
from ranklens.process import guarded, program

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status is that of :mod:`ranklens.process`, never a traceback for a user's mistake."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    runs_code = given[:1] in (["bench"], ["gate"])  # which may start programs that write to standard error
    begin = program if arguments is None else guarded
    return begin("ranklens", lambda: _run(given), hides_panics=not runs_code)


def _run(arguments: Sequence[str]) -> int:
    _check_date()
    command, *rest = [*arguments, ""]
    rest = rest[:-1]
    if command in ("evaluate", "lint", "convert", "trec-eval"):  # which multiply no matrices
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # starting threads takes time
    if "_RANKLENS_COMPLETE" not in os.environ:
        if command == "trec-eval":
            from ranklens.exchange.trec.command import run as trec_eval

            return trec_eval(rest)
        if command == "evaluate":
            from ranklens.cli.quick import quick_evaluate

            if quick_evaluate(rest):
                return 0
    from ranklens.cli.app import run_app

    return run_app(arguments)


def _check_date() -> None:
    """Reports take their date from it, and libraries stumble over it while they are loaded."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given and not (given.isascii() and given.isdigit() and len(given) < 12):
        raise InputError(f"SOURCE_DATE_EPOCH is {given!r}; it is a number of seconds, or not set.")


def __getattr__(name: str) -> Any:
    if name == "app":  # the whole application, for documentation and tests
        from ranklens.cli.app import make_app

        return make_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    sys.exit(main())
