"""``ranklens compare``: which of several runs is better, and how certain that is."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import options, output_formats
from ranklens.cli.comparison_options import compare_files, inputs, with_settings
from ranklens.cli.latex import with_paper_table
from ranklens.cli.output_formats import Format
from ranklens.cli.texts import query_texts
from ranklens.data.files import output as out
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.paper import PaperTable
    from ranklens.tables.table import Printout

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


_Look = tuple[str | None, list[str]]  # the width of a figure, and the runs that stand out


class Rows(str, Enum):
    """What the rows of a table of values are."""

    systems = "systems"
    pairs = "pairs"
    queries = "queries"


@with_settings
@with_paper_table
def compare(
    qrels: options.Qrels,
    runs: options.Runs,
    policy: Policy,
    settings: dict[str, Any],
    paper: dict[str, Any],
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
            "precision_recall, over_k, significance or slices. It shows the first measure; name another as in "
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
) -> None:
    """Compare runs on the same queries: which is better, by how much, and how certain that is."""
    written = output_formats.format_of(format, output, Format)
    _refuse_what_is_not_shown(
        written, rows, shows_more=bool(most) or document is not None or risk is not None
    )
    if effect_sizes and written not in (Format.table, Format.markdown, Format.latex):
        raise InputError(
            "--effect-sizes needs --format table, markdown or latex. JSON always has them, and so have csv, tsv, jsonl and parquet with --rows pairs."
        )
    from ranklens.comparison.paper import PaperTable

    table = PaperTable(**paper)
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
    found = compare_files(qrels, runs, policy=policy, **settings)
    shown = _printout(found, texts, most, document, *(pair or (None, None)))
    if effect_sizes:
        shown = shown.with_part(found.effect_sizes())
    if risk is not None:
        from ranklens.comparison.risk import risk_table

        shown = shown.with_part(risk_table(found, risk))
    for plan in planned:
        _draw(found, plan, pair or (None, None), (figure, highlight))
    output_formats.write(
        written,
        output,
        shown=shown,
        rows=lambda: _frame(found, texts, rows),
        texts={"json": lambda: found.to_json(indent=2), "latex": lambda: _latex(found, table, effect_sizes)},
        guarded=spreadsheet,
    )
    if save:
        from ranklens.cli.history import keep

        keep(found.scores, "compare", {"qrels": qrels, "runs": list(runs), **settings})


def _refuse_what_is_not_shown(format: Format, rows: Rows, *, shows_more: bool) -> None:  # noqa: A002
    if shows_more and format not in (Format.table, Format.markdown):
        raise InputError(
            f"--most, --documents and --risk need --format table or markdown; {format.value} cannot show them."
        )
    if rows is not Rows.systems and format not in (Format.csv, Format.tsv, Format.jsonl, Format.parquet):
        raise InputError(
            f"--rows needs --format csv, tsv, jsonl or parquet; {format.value} shows systems and pairs."
        )


def _draw(
    found: Comparison, plan: tuple[str, str | None, Path], pair: tuple[str | None, str | None], look: _Look
) -> None:
    from ranklens.report import charts
    from ranklens.report.charts import figures

    name, measure, file = plan
    width, highlight = look
    points = float(width) if width is not None and width.replace(".", "", 1).isdecimal() else width
    figure = figures.Figure.checked(points, width is None, None, highlight or None)
    with figures.drawn_as(figure):
        charts.save(charts.draw(found, name, *pair, measure), file)


def _printout(
    found: Comparison, texts: Mapping[str, str], most: int, query: str | None, a: str | None, b: str | None
) -> Printout:
    from ranklens.comparison import tables

    shown = tables.printout(found)
    if most:
        shown = shown.with_part(tables.queries(found, found.measures[0], a, b, most, texts))
    if query is not None:
        shown = shown.with_part(tables.documents(found, query, a, b, texts.get(query)))
    return shown


def _latex(found: Comparison, paper: PaperTable, effect_sizes: bool) -> str:
    from ranklens.comparison.paper import latex

    text = latex(found, paper)
    return f"{text}\n\n{found.effect_sizes().to_latex()}" if effect_sizes else text


def _frame(found: Comparison, texts: Mapping[str, str], rows: Rows) -> pl.DataFrame:
    frames = {Rows.systems: found.to_frame, Rows.pairs: found.pairs_frame, Rows.queries: found.queries_frame}
    frame = frames[rows]()
    texts = {**found.texts, **texts}
    if texts and rows is Rows.queries:
        frame.insert_column(1, frame["query"].replace_strict(dict(texts), default=None).alias("question"))
    return frame
