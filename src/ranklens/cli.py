"""The command line: the commands of :mod:`ranklens.commands` put together, and mistakes told in one sentence.

Only the command that was asked for is imported, so that starting is quick.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranklens import __version__
from ranklens.commands.manners import leave_closed_pipe, warnings_in_one_line
from ranklens.errors import RankLensError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HELP = (
    "Measure retrieval: every measure of the field, exact to trec_eval, with an interval beside every mean."
)
# Each command in the order of the help: the function of the same name in the module of the same name, unless it is told.
_COMMANDS = {
    "evaluate": "evaluate",
    "compare": "compare",
    "bench": "bench",
    "explain": "explain",
    "report": "report",
    "measures": "list_measures",
    "lint": "lint",
    "convert": "convert",
    "demo": "demo",
}


def make_app(names: Iterable[str] = _COMMANDS) -> typer.Typer:
    """The application with some of its commands, or all."""
    app = typer.Typer(
        name="ranklens",
        help=HELP,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for name in names:
        module = import_module(f"ranklens.commands.{name}")
        app.command(name=name, epilog=module.EXAMPLES)(getattr(module, _COMMANDS[name]))
    passed_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    app.command(name="trec-eval", context_settings=passed_on, add_help_option=False)(trec_eval)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ranklens {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure retrieval: every measure of the field, exact to trec_eval, with an interval beside every mean."""


def trec_eval(context: typer.Context) -> None:
    """What the trec_eval command does: the same flags, measures and output."""
    from ranklens.trec_eval import main as run_trec_eval

    raise typer.Exit(run_trec_eval(context.args))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: 0 fine, 1 a check failed, 2 wrong usage or input; never a traceback for a user's mistake."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # no command needs more, and starting them takes time
    try:
        with warnings_in_one_line("ranklens"):
            result = _app_for(given)(args=given, standalone_mode=False)
            sys.stdout.flush()
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        return 2
    except RankLensError as error:
        sys.stderr.write(f"ranklens: {error}\n")
        return 2
    except BrokenPipeError:
        leave_closed_pipe()
        return 0
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message()
        sys.stderr.write(f"ranklens: {message}\nTry 'ranklens --help'.\n")
        return 2
    return result if isinstance(result, int) else 0


def _app_for(arguments: Sequence[str]) -> typer.Typer:
    """With one command if that is clear; with all of them for help, completion and mistakes."""
    completes = "_RANKLENS_COMPLETE" in os.environ
    first = next(iter(arguments), "")
    return make_app([first]) if first in _COMMANDS and not completes else make_app()


def __getattr__(name: str) -> Any:
    if name == "app":  # the whole application, for documentation and tests
        return make_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if __name__ == "__main__":
    sys.exit(main())
