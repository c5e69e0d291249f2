"""``ranklens measures``: list, describe and recommend measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ranklens.registry import Definition

EXAMPLES = (
    "\n\nExamples:\n\n  ranklens measures\n\n  ranklens measures nDCG\n\n  ranklens measures --for rag\n"
)


def list_measures(
    name: Annotated[str | None, typer.Argument(help="A measure to describe.")] = None,
    purpose: Annotated[
        str | None, typer.Option("--for", help="A purpose: the measures that people use for it.")
    ] = None,
) -> None:
    """List, describe and recommend measures."""
    from ranklens import registry

    if name is not None:
        typer.echo(_description(registry.look_up(name)))
        return
    chosen = registry.preset(purpose) if purpose else registry.measures()
    width = max(len(str(measure)) for measure in chosen)
    for measure in chosen:
        typer.echo(f"{measure!s:<{width}}  {measure.definition.description.splitlines()[0]}")
    if not purpose:
        typer.echo(f"\n{_ADVICE}\nPurposes (--for, or in place of measures): {', '.join(registry.PRESETS)}.")


_ADVICE = (
    "To find everything: recall (R@k). Order matters and there are grades: nDCG@k. One answer is enough: RR.\n"
    "Any hit in the first k counts: Success@k. Otherwise: P@k."
)


def _description(definition: Definition) -> str:
    parameters = [f"  {p.name}: {p.allowed()}{p.default_in_words()}" for p in definition.parameters.values()]
    aliases = f"Also called {', '.join(definition.aliases)}." if definition.aliases else ""
    return "\n".join(
        [definition.name, "", definition.description, "", "Parameters", *parameters, "", aliases]
    ).rstrip()
