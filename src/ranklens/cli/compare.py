"""``ranklens compare``: which of several runs is better, and how certain that is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import options, output_formats
from ranklens.cli.comparison_options import compare_files, inputs, with_settings
from ranklens.cli.output_formats import Format
from ranklens.cli.texts import query_texts
from ranklens.data.files import output as out
from ranklens.errors import InputError
from ranklens.options import Description, option
from ranklens.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.tables.table import Printout, Table

EXAMPLES = """

Examples:

  ranklens compare qrels.txt bm25.txt dense.txt hybrid.txt

  ranklens compare qrels.txt bm25=runs/1.txt dense=runs/2.txt --baseline bm25 -m nDCG@10,R@100

  ranklens compare qrels.txt runs/*.txt --test tukey --format latex -o table.tex

  ranklens compare qrels.txt runs/*.txt --baseline bm25 --format latex --marks triangles --delta --digits 3 --wide

  ranklens compare beir/ a.txt b.txt --by type --most 10

  ranklens compare qrels.txt a.txt b.txt --by queries.csv:language --format csv --rows pairs

  ranklens compare qrels.txt old.txt new.txt --baseline old --risk 1

  ranklens compare qrels.txt a.txt b.txt --plot leaderboard.pdf --plot deltas=deltas.png
"""


class Rows(str, Enum):
    """What the rows of a table of values are."""

    systems = "systems"
    pairs = "pairs"
    queries = "queries"


@dataclass(frozen=True)
class PaperOptions:
    """How the LaTeX table looks, as :class:`~ranklens.comparison.paper.PaperTable` names it."""

    order: str = option("mean", "Rows by mean (of the first measure) or as given.")
    marks: str | None = option(None, "Marks of significant differences: letters, dagger, triangles or none.")
    against: str | None = option(
        None, "LaTeX: the run that dagger, triangles and --delta refer to; by default the baseline."
    )
    delta: bool = option(False, "LaTeX: add differences in percent.", flags=("--delta",))
    digits: int = option(4, "LaTeX: digits after the decimal point.")
    align: str = option("decimal", "LaTeX: align numbers at the decimal point (decimal) or right (right).")
    caption: str | None = option(None, "LaTeX: caption, in place of one that says what was tested.")
    label: str | None = option(None, "LaTeX: label.")
    wide: bool = option(False, "LaTeX: span both columns of the page.", flags=("--wide",))
    notes: str = option(
        "short", "LaTeX: how much the caption says: short (details as comments), full or none."
    )


@with_settings
def compare(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    settings: dict[str, Any],
    most: Annotated[int, Description("Show the N queries that differ most.", metavar="N", least=0)] = 0,
    document: Annotated[
        str | None, Description("Show the two rankings of this query side by side.", flags=("--documents",))
    ] = None,
    pair: Annotated[
        tuple[str, str] | None,
        Description(
            "The two runs for --most and --documents; by default the baseline (or the first run) and the best other run.",
            metavar="A B",
        ),
    ] = None,
    risk: Annotated[
        float | None,
        Description(
            "Also show URisk, TRisk and GeoRisk: losses against the baseline (or the first run) count 1 + ALPHA times.",
            metavar="ALPHA",
            least=0,
        ),
    ] = None,
    effect_sizes: Annotated[
        bool,
        Description(
            "Also show Cohen's dz, Hedges' g and the probability of improvement per pair.",
            flags=("--effect-sizes",),
        ),
    ] = False,
    rows: Annotated[
        Rows,
        Description("Rows of csv, tsv, jsonl and parquet: systems, pairs or queries.", flags=("--rows",)),
    ] = Rows.systems,
    plots: Annotated[
        list[str],
        Description(
            "Draw a chart as .png, .svg, .pdf or .html: leaderboard (default), differences, deltas, scatter, first_relevant, "
            "precision_recall, over_k, over_tokens, significance or slices. It shows the first measure; name another as in "
            "deltas:AP=ap.png. Can be repeated.",
            flags=("--plot",),
            metavar="[CHART[:MEASURE]=]FILE",
        ),
    ] = [],  # noqa: B006  typer does not change it
    figure: Annotated[
        str | None,
        Description("Size --plot for a paper: column (240 pt), text (504 pt) or a width in points."),
    ] = None,
    highlight: Annotated[
        list[str],
        Description("Runs to highlight in --plot; the others are grey. Can be repeated."),
    ] = [],  # noqa: B006  typer does not change it
    queries: options.Queries = None,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
    spreadsheet: options.Spreadsheet = False,
    save: options.Save = False,
    paper: PaperOptions = PaperOptions(),
) -> None:
    """Compare runs on the same queries: which is better, by how much, and how certain that is."""
    written = output_formats.format_of(format, output, Format)
    in_rows = written in (Format.csv, Format.tsv, Format.jsonl, Format.parquet)
    if (most or document is not None or risk is not None) and written not in (Format.table, Format.markdown):
        raise InputError(
            f"--most, --documents and --risk need --format table or markdown; {written.value} cannot show them."
        )
    if rows is not Rows.systems and not in_rows:
        raise InputError(
            f"--rows needs --format csv, tsv, jsonl or parquet; {written.value} shows systems and pairs."
        )
    if effect_sizes and written not in (Format.table, Format.markdown, Format.latex):
        raise InputError(
            "--effect-sizes needs --format table, markdown or latex. JSON always has them, and so have csv, tsv, jsonl and parquet with --rows pairs."
        )
    from ranklens.comparison.paper import PaperTable, latex

    table = PaperTable(**asdict(paper))
    if written is not Format.latex and (unused := table.given()):
        raise InputError(f"--{unused[0]} concerns the table of a paper; it needs --format latex.")
    planned: list[tuple[str, str | None, Path]] = []
    if plots:
        from ranklens.report import charts

        planned = [charts.planned(plot) for plot in plots]
    for file in [output, *(file for _, _, file in planned)]:
        out.check_output(file, inputs(qrels, runs, settings["by"]))
    needs_texts = queries is not None or most or document is not None or rows is Rows.queries
    texts = query_texts(queries, qrels, "compare") if needs_texts else {}
    comparison = compare_files(qrels, runs, policy=policy, **settings)
    both: tuple[str | None, str | None] = pair or (None, None)
    sizes = comparison.effect_sizes() if effect_sizes else None
    if planned:
        from ranklens.report.charts import figures

        width = float(figure) if figure is not None and figure.replace(".", "", 1).isdecimal() else figure
        with figures.drawn_as(figures.Figure.checked(width, figure is None, None, highlight or None)):
            for name, measure, file in planned:
                charts.save(charts.draw(comparison, name, *both, measure), file)

    def frame() -> pl.DataFrame:
        frames = {
            Rows.systems: comparison.to_frame,
            Rows.pairs: comparison.pairs_frame,
            Rows.queries: comparison.queries_frame,
        }
        table, known = frames[rows](), {**comparison.texts, **texts}
        if known and rows is Rows.queries:
            table.insert_column(1, table["query"].replace_strict(known, default=None).alias("question"))
        return table

    output_formats.write(
        written,
        output,
        shown=_printout(comparison, texts, most, document, both, sizes, risk),
        rows=frame,
        texts={
            "json": lambda: comparison.to_json(indent=2),
            "latex": lambda: "\n\n".join([latex(comparison, table), *([sizes.to_latex()] if sizes else [])]),
        },
        guarded=spreadsheet,
    )
    if save:
        from ranklens.cli.history import keep

        keep(comparison.scores, "compare", {"qrels": qrels, "runs": list(runs), **settings})


def _printout(
    comparison: Comparison,
    texts: Mapping[str, str],
    most: int,
    query: str | None,
    pair: tuple[str | None, str | None],
    effect_sizes: Table | None,
    risk: float | None,
) -> Printout:
    from ranklens.comparison import tables
    from ranklens.comparison.risk import risk_table
    from ranklens.tables.table import Printout

    parts = [tables.queries(comparison, comparison.measures[0], *pair, most, texts)] if most else []
    if query is not None:
        parts.append(tables.documents(comparison, query, *pair, texts.get(query)))
    parts += [effect_sizes] if effect_sizes is not None else []
    parts += [risk_table(comparison, risk)] if risk is not None else []
    return Printout([*tables.printout(comparison).parts, *parts])
