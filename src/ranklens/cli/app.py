"""The commands as a Typer application; only those needed are imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from ranklens import __version__
from ranklens.cli import options
from ranklens.cli.spellings import instead
from ranklens.process import Strict
from ranklens.words import documentation, in_one_line

# Each command, in the order of the help, with its function (or application) in the module of the same name.
_COMMANDS = {
    "evaluate": "evaluate",
    "compare": "compare",
    "bench": "bench",
    "gate": "gate",
    "history": "app",
    "sensitivity": "sensitivity",
    "plan": "plan",
    "explain": "explain",
    "report": "report",
    "measures": "list_measures",
    "lint": "lint",
    "convert": "convert",
    "demo": "demo",
}
# Those that name measures, which may be the user's own.
_WITH_MEASURES = (
    "evaluate",
    "compare",
    "bench",
    "gate",
    "plan",
    "sensitivity",
    "explain",
    "report",
    "measures",
)


def make_app(names: Iterable[str] = _COMMANDS) -> typer.Typer:
    """The application with some of its commands, or all."""
    app = typer.Typer(
        name="ranklens",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # two columns, which leave room for words at the width of a terminal
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=documentation(_main))(_main)
    for name in names:
        module = import_module(f"ranklens.cli.{name}")
        found = getattr(module, _COMMANDS[name])
        if isinstance(found, typer.Typer):  # a command with commands of its own
            app.add_typer(found, name=name, epilog=module.EXAMPLES, short_help=found.info.help or "")
            continue
        command = options.with_policy(found)
        command = options.with_load(command) if name in _WITH_MEASURES else command
        command = command if name == "measures" else options.with_manners(command)
        command, said = options.with_names(command), documentation(found)
        app.command(name=name, epilog=module.EXAMPLES, help=said, short_help=options.first_line(found))(
            command
        )
    passed_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    app.command(
        name="trec-eval", context_settings=passed_on, add_help_option=False, help=documentation(trec_eval)
    )(trec_eval)
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
    """Measure retrieval: over a hundred measures, matching trec_eval, with a confidence interval for every mean."""


def trec_eval(context: typer.Context) -> None:
    """A drop-in for trec_eval: the same flags, measures and output."""
    from ranklens.exchange.trec.command import run as run_trec_eval

    raise typer.Exit(run_trec_eval(context.args))


def run_app(arguments: Sequence[str]) -> int:
    """Run a command; wrong usage is reported in one sentence."""
    try:
        result = _app_for(arguments)(args=list(arguments), standalone_mode=False)
    except SystemExit as stop:
        cause = stop.__context__  # a closed pipe is no failed check, for which 1 stands
        raise (cause if isinstance(cause, BrokenPipeError) else stop) from None
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:  # Ctrl-C
        return 130
    except Strict as stop:
        return stop.status
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        message = _with_hint(" ".join(error.format_message().split()), error, arguments)
        if message:  # there is none where the help was shown instead
            sys.stderr.write(f"ranklens: {in_one_line(message)}\nTry 'ranklens --help'.\n")
        return 2
    return result if isinstance(result, int) else 0


def _with_hint(message: str, error: Exception, arguments: Sequence[str]) -> str:
    """The message, with what to use in place of a spelling that is not, or no longer, understood."""
    wrong = getattr(error, "option_name", None)
    missed = hasattr(error, "param") and "--queries" in arguments  # it was a flag, and now takes a file
    hint = instead(next(iter(arguments), ""), [wrong or "", *(["--queries"] if missed else [])])
    return f"{message.partition(' (Possible')[0].rstrip('.')}. {hint}" if message and hint else message


def _app_for(arguments: Sequence[str]) -> typer.Typer:
    """With one command if that is clear; with all of them for help, completion and mistakes."""
    completes = "_RANKLENS_COMPLETE" in os.environ
    first = next(iter(arguments), "")
    return make_app([first]) if first in _COMMANDS and not completes else make_app()
