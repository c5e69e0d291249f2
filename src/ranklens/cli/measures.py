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
    import polars as pl

    from ranklens.metrics import Definition
    from ranklens.tables.table import Lines, Table

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
    from ranklens.tables.table import Lines, Printout, Table

    if bibtex:
        if format is not None or (output is not None and format_of(None, output, Format) is not Format.table):
            raise InputError(
                "--bibtex writes BibTeX; leave out --format, and choose a name that ends in .bib."
            )
        from ranklens.metrics.literature import REFERENCES, references_of

        sources = list(REFERENCES.values() if name is None else references_of(registry.look_up(name)))
        if not sources and name is not None:
            raise InputError(f"No publication is known for {registry.look_up(name).name}.")
        out.write_text("\n\n".join(source.bibtex for source in sources) + "\n", output)
        return
    written = format_of(format, output, Format)
    if name is not None:
        one = registry.look_up(name)
        content, parts = [_content(one.name, one)], _description(one)
    else:
        if purpose is not None:
            purpose = registry.PRESET_ALIASES.get(purpose.lower(), purpose.lower())
        several = registry.measures() if purpose is None else registry.preset(purpose)
        content = [_content(str(measure), measure.definition) for measure in several]
        rows = [[str(measure), measure.definition.summary] for measure in several]
        parts = [Table(["measure", "description"], rows, left=2)]
        if purpose is None:
            presets = ", ".join(registry.PRESETS)
            purposes = f"{presets}: see ranklens measures --for NAME, or use -m NAME in place of measures."
            parts += [Lines("Which one", GUIDE), Lines("By purpose", [purposes])]
        else:
            use = Lines("Use it", [f"ranklens evaluate qrels.txt run.txt -m {purpose}"])
            parts = [Lines(f"For {purpose}", [ADVICE[purpose]]), *parts, use]

    def frame() -> pl.DataFrame:
        import polars as pl

        # Columns of text, one row per measure.
        texts = [
            {
                "aliases": ", ".join(one["aliases"]),
                "parameters": "; ".join(f"{name}: {how}" for name, how in one["parameters"].items()),
            }
            for one in content
        ]
        return pl.DataFrame([{**one, **text} for one, text in zip(content, texts, strict=True)])

    output_formats.write(written, output, shown=Printout(parts), rows=frame, content=lambda: content)


def _content(name: str, definition: Definition) -> dict[str, Any]:
    """What is known of a measure, for programs."""
    return {
        "measure": name,
        "description": definition.summary,
        "better": definition.better,
        "aggregate": definition.aggregate,
        "aliases": list(definition.aliases),
        "parameters": dict(_parameters(definition)),
    }


def _parameters(definition: Definition) -> list[tuple[str, str]]:
    return [(one.name, f"{one.allowed()}{one.default_in_words()}") for one in definition.parameters.values()]


def _description(definition: Definition) -> list[Table | Lines]:
    from ranklens.metrics.conventions.differences import in_sentences
    from ranklens.metrics.literature import references_of
    from ranklens.tables.table import Lines, Table

    described = [" ".join(paragraph.split()) for paragraph in definition.description.split("\n\n")]
    parts: list[Table | Lines] = [Lines(definition.name, described)]
    if parameters := _parameters(definition):
        parts.append(Table(["parameter", "allowed"], parameters, left=2))
    if definition.formula.latex:
        parts.append(Lines("Formula (LaTeX)", [definition.formula.latex]))
    if sources := references_of(definition):
        parts.append(Lines("References", [str(source) for source in sources]))
    if otherwise := in_sentences(definition.name):
        parts.append(Lines("Computed otherwise", otherwise))
    if definition.aliases:
        parts.append(Lines("Also called", [", ".join(definition.aliases)]))
    return parts
