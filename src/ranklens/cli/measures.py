"""``ranklens measures``: list, describe and recommend measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.cli.output_formats import Format, format_of
from ranklens.data.files import output as out
from ranklens.errors import InputError
from ranklens.metrics.presets import ADVICE
from ranklens.options import Description

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import polars as pl

    from ranklens.metrics import Definition, Measure
    from ranklens.tables.table import Lines, Printout, Table

EXAMPLES = "\n\nExamples:\n\n  ranklens measures\n\n  ranklens measures nDCG\n\n  ranklens measures RBP --bibtex\n\n  ranklens measures --for rag\n\n  ranklens measures -o measures.csv\n"

GUIDE = (
    "To find everything: recall (R@k).",
    "When order matters and there are grades: nDCG@k.",
    "When one answer is enough: RR.",
    "When any hit in the first k counts: Success@k.",
    "Otherwise: precision (P@k).",
)


def list_measures(
    name: Annotated[str | None, Argument("Measure to describe, in any spelling.")] = None,
    purpose: Annotated[
        str | None,
        Description(f"Recommend measures for a purpose: {', '.join(ADVICE)}.", flags=("--for",)),
    ] = None,
    bibtex: Annotated[
        bool, Description("Print the publications of the measure as BibTeX.", flags=("--bibtex",))
    ] = False,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """List, describe and recommend measures."""
    from ranklens import metrics as registry

    if bibtex:
        if format is not None or (output is not None and format_of(None, output, Format) is not Format.table):
            raise InputError(
                "--bibtex writes BibTeX; leave out --format, and choose a name that ends in .bib."
            )
        _write_references(name, output)
        return
    written = format_of(format, output, Format)
    if name is not None:
        known = registry.look_up(name)
        told, shown = [(known.name, known)], _description(known)
    else:
        if purpose is not None:
            purpose = registry.PRESET_ALIASES.get(purpose.lower(), purpose.lower())
        some = registry.measures() if purpose is None else registry.preset(purpose)
        told = [(str(measure), measure.definition) for measure in some]
        shown = _list(some, registry.PRESETS) if purpose is None else _advice(purpose, some)
    content = [_content(*one) for one in told]
    output_formats.write(written, output, shown=shown, rows=lambda: _frame(content), content=lambda: content)


def _content(name: str, definition: Definition) -> dict[str, Any]:
    """What is known of a measure, for programs."""
    return {
        "measure": name,
        "description": definition.summary,
        "better": definition.better,
        "aggregate": definition.aggregate,
        "aliases": list(definition.aliases),
        "parameters": {
            p.name: f"{p.allowed()}{p.default_in_words()}" for p in definition.parameters.values()
        },
    }


def _frame(content: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """One row per measure, in columns of text."""
    import polars as pl

    parameters = ["; ".join(f"{name}: {how}" for name, how in one["parameters"].items()) for one in content]
    return pl.DataFrame(
        [
            {**one, "aliases": ", ".join(one["aliases"]), "parameters": texts}
            for one, texts in zip(content, parameters, strict=True)
        ]
    )


def _write_references(name: str | None, output: Path | None) -> None:
    """Of one measure, or of all."""
    from ranklens import metrics as registry
    from ranklens.metrics.literature import REFERENCES, references_of

    found = list(REFERENCES.values() if name is None else references_of(registry.look_up(name)))
    if not found and name is not None:
        raise InputError(f"No publication is known for {registry.look_up(name).name}.")
    out.write_text("\n\n".join(reference.bibtex for reference in found) + "\n", output)


def _advice(purpose: str, measures: Sequence[Measure]) -> Printout:
    from ranklens.tables.table import Lines, Printout

    use = f"ranklens evaluate qrels.txt run.txt -m {purpose}"
    return Printout([Lines(f"For {purpose}", [ADVICE[purpose]]), _table(measures), Lines("Use it", [use])])


def _list(measures: Sequence[Measure], presets: Iterable[str]) -> Printout:
    from ranklens.tables.table import Lines, Printout

    purposes = f"{', '.join(presets)}: see ranklens measures --for NAME, or use -m NAME in place of measures."
    return Printout([_table(measures), Lines("Which one", GUIDE), Lines("By purpose", [purposes])])


def _table(measures: Sequence[Measure]) -> Table:
    from ranklens.tables.table import Table

    rows = [[str(m), m.definition.summary] for m in measures]
    return Table(["measure", "description"], rows, left=2)


def _description(definition: Definition) -> Printout:
    from ranklens.metrics.conventions.differences import in_sentences
    from ranklens.metrics.literature import references_of
    from ranklens.tables.table import Lines, Printout, Table

    parameters = [[p.name, f"{p.allowed()}{p.default_in_words()}"] for p in definition.parameters.values()]
    described = [" ".join(paragraph.split()) for paragraph in definition.description.split("\n\n")]
    parts: list[Table | Lines] = [Lines(definition.name, described)]
    if parameters:
        parts.append(Table(["parameter", "allowed"], parameters, left=2))
    if definition.formula.latex:
        parts.append(Lines("Formula (LaTeX)", [definition.formula.latex]))
    if sources := references_of(definition):
        parts.append(Lines("References", [str(source) for source in sources]))
    if otherwise := in_sentences(definition.name):
        parts.append(Lines("Computed otherwise", otherwise))
    if definition.aliases:
        parts.append(Lines("Also called", [", ".join(definition.aliases)]))
    return Printout(parts)
