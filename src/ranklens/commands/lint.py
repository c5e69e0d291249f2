"""``ranklens lint``: what is wrong with this data."""

from __future__ import annotations

import typer

from ranklens.commands import options

EXAMPLES = "\n\nExamples:\n\n  ranklens lint qrels.txt run.txt\n\n  ranklens lint qrels.txt runs/*.txt\n"


def lint(
    qrels: options.Qrels,
    runs: options.Runs,
) -> None:
    """Report what is wrong with the data; status 1 if something would change results."""
    from ranklens.lint import lint as look

    found = {name: look(qrels, path) for name, path in options.run_names(runs).items()}
    for name, findings in found.items():
        typer.echo(f"{name}:" + (" nothing to report" if not findings else ""))
        for finding in sorted(findings, key=lambda f: not f.matters):
            typer.echo(f"  {'!' if finding.matters else ' '} {finding.kind}: {finding.message}")
    if any(finding.matters for findings in found.values() for finding in findings):
        typer.echo("\n! changes results: another tool or policy would give other numbers.")
        raise typer.Exit(1)
