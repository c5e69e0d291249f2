"""The command line: the commands of :mod:`ranklens.commands` put together, and mistakes told in one sentence."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ranklens import __version__
from ranklens.commands import bench, compare, convert, demo, evaluate, explain, lint, measures, report
from ranklens.commands.manners import leave_closed_pipe, warnings_in_one_line
from ranklens.errors import RankLensError

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="ranklens",
    help="Measure retrieval: every measure of the field, exact to trec_eval, with an interval beside every mean.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ranklens {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Measure retrieval: every measure of the field, exact to trec_eval, with an interval beside every mean."""


app.command(epilog=evaluate.EXAMPLES)(evaluate.evaluate)
app.command(epilog=compare.EXAMPLES)(compare.compare)
app.command(epilog=bench.EXAMPLES)(bench.bench)
app.command(epilog=explain.EXAMPLES)(explain.explain)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(name="measures", epilog=measures.EXAMPLES)(measures.list_measures)
app.command(epilog=lint.EXAMPLES)(lint.lint)
app.command(epilog=convert.EXAMPLES)(convert.convert)
app.command(epilog=demo.EXAMPLES)(demo.demo)


@app.command(
    name="trec-eval",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
def trec_eval(context: typer.Context) -> None:
    """What the trec_eval command does: the same flags, measures and output."""
    from ranklens.trec_eval import main as run_trec_eval

    raise typer.Exit(run_trec_eval(context.args))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: 0 fine, 1 a check failed, 2 wrong usage or input; never a traceback for a user's mistake."""
    try:
        with warnings_in_one_line("ranklens"):
            result = app(args=list(arguments) if arguments is not None else None, standalone_mode=False)
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


if __name__ == "__main__":
    sys.exit(main())
