"""Help in groups: what a command reads, measures, tests and writes, the most used options first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import HelpFormatter
    from typer._click.core import Context, Parameter

FIRST = "Options"  # of options that are not listed below: what is special to a command
GROUPS = {
    "Measures": "measures measure as for load",
    "Data": (
        "config qrels run query map match queries corpus intents machine again probed judge threshold first-stage parent kind abstain-below skip-bad qrels-format run-format "
        "engine master init force"
    ),
    "Tests": (
        "detect deviation baseline test correction margin by cluster primary family alpha level intervals power systems "
        "per-cluster correlation seed by-team update undecided common min-checked reference risk"
    ),
    "Fusion": "method norm window weights param bounds over folds one-standard-error fused fitted",
    "Retrievers": "retriever at-query fresh max-age keep-going no-code",
    "Output": (
        "output report format per-query failing failing-measure abstention worst most documents pair rows effect-sizes plot figure highlight title "
        "bibtex junit full save label at system last history spreadsheet"
    ),
    "LaTeX": "marks against delta digits order align caption label wide notes",
    "Policies": "ties missing unjudged-queries empty duplicates judged-only nan depth rel max-grade",
    "General": "quiet strict help",
}
_PAPER = "marks"  # an option of commands that write tables for papers


def grouped(parameters: list[Parameter]) -> Iterator[tuple[str, list[Parameter]]]:
    """The options under their headings; headings without options are left out."""
    options = {
        max(one.opts, key=len).lstrip("-"): one for one in parameters if one.param_type_name == "option"
    }
    listed = [name for names in GROUPS.values() for name in names.split()]
    yield FIRST, [one for name, one in options.items() if name not in listed]
    for title, names in GROUPS.items():
        # The label of a table for papers, or that of an entry of the history.
        others = {
            "Output": {"label"} if _PAPER in options else set(),
            "LaTeX": set() if _PAPER in options else {"label"},
        }
        own = [name for name in names.split() if name not in others.get(title, ())]
        yield title, [options[name] for name in own if name in options]


class GroupedCommand(TyperCommand):
    """A command whose help has a heading for each group of options."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the arguments, then the groups."""
        parameters = self.get_params(ctx)
        arguments = [one for one in parameters if one.param_type_name == "argument"]
        for title, members in [("Arguments", arguments), *grouped(parameters)]:
            records = [record for one in members if (record := one.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
