"""The commands as a Typer application, for help, completion and mistakes; only those needed are imported."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, get_args

import typer

from ranklens import __version__
from ranklens.cli.commands import COMMANDS, Argument, Command, command_of, spoken_name
from ranklens.cli.help_groups import GroupedCommand
from ranklens.cli.spellings import instead
from ranklens.words import documentation, in_one_line

_HELP = {"help_option_names": ["-h", "--help"]}
_NAMES = {Path: "FILE", int: "NUMBER", float: "NUMBER", str: "TEXT"}  # of values in help


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The application with some of its commands, or all."""
    app = typer.Typer(
        name="ranklens",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # two columns, which leave room for words at the width of a terminal
        context_settings=_HELP,
    )
    app.callback(help=documentation(_main))(_main)
    for name in names:
        command, module = command_of(name), import_module(f"ranklens.cli.{name}")
        if isinstance(command, Command):
            _add(app, command, module.EXAMPLES)
            continue
        group = typer.Typer(
            help=module.HELP, no_args_is_help=True, rich_markup_mode=None, context_settings=_HELP
        )
        for inner in command.values():
            _add(group, inner)
        app.add_typer(group, name=name, epilog=module.EXAMPLES, short_help=module.HELP)
    passed_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    app.command(
        name="trec-eval", context_settings=passed_on, add_help_option=False, help=documentation(trec_eval)
    )(trec_eval)
    return app


def _add(app: typer.Typer, command: Command, examples: str | None = None) -> None:
    """Add a command, as a function whose signature says what it takes."""

    def run(context: typer.Context, **values: object) -> None:
        chosen: dict[str, str] = {}
        for parameter in command.parameters:
            source = context.get_parameter_source(parameter.name)
            if parameter.flags and source is not None and source.name == "COMMANDLINE":
                chosen[parameter.name] = parameter.flags[-1]
        command.run(values, chosen)

    only = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("context", only, annotation=typer.Context)]
    for one in command.parameters:
        said, kind = one.said, one.kind
        if isinstance(said, Argument):
            info = typer.Argument(help=said.help)
        else:
            named = said.metavar or _name_of(kind)
            info = typer.Option(*said.flags, help=said.help, metavar=named, min=said.least)
        parameters.append(
            inspect.Parameter(one.name, only, default=one.default, annotation=Annotated[kind, info])
        )
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    # The list of commands has the first sentence of its help as a whole, which Typer would cut.
    text = documentation(command.function)
    app.command(
        name=command.name, cls=GroupedCommand, epilog=examples, help=text, short_help=text.partition("\n")[0]
    )(run)


def _name_of(kind: object) -> str | None:
    """What a value of this type, or of one in a list or a choice, is called; flags have none."""
    if get_args(kind):
        return next((name for one in get_args(kind) if (name := _name_of(one))), None)
    return _NAMES.get(kind) if isinstance(kind, type) else None


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
    # One command is enough if it is clear which; help, completion and mistakes need all of them.
    only = [one for one in arguments[:1] if one in COMMANDS and "_RANKLENS_COMPLETE" not in os.environ]
    try:
        result = make_app(only or COMMANDS)(args=list(arguments), standalone_mode=False)
    except SystemExit as stop:
        cause = stop.__context__  # a closed pipe is no failed check, for which 1 stands
        raise (cause if isinstance(cause, BrokenPipeError) else stop) from None
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:  # Ctrl-C
        return 130
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        message = " ".join(error.format_message().split())
        wrong = getattr(error, "option_name", None)
        missed = hasattr(error, "param") and "--queries" in arguments  # it was a flag, and now takes a file
        hint = instead(next(iter(arguments), ""), [wrong or "", *(["--queries"] if missed else [])])
        if message and hint:  # what to use in place of a spelling that is not, or no longer, understood
            message = f"{message.partition(' (Possible')[0].rstrip('.')}. {hint}"
        if message:  # there is none where the help was shown instead
            name = spoken_name(arguments)
            sys.stderr.write(f"{name}: {in_one_line(message)}\nTry '{name} --help'.\n")
        return 2
    return result if isinstance(result, int) else 0
