"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ranklens.cli import output_formats
from ranklens.cli.commands import Argument
from ranklens.cli.reading import MatchOptions
from ranklens.options import Description, descriptions

_READING = descriptions(MatchOptions)
Qrels = Annotated[
    str, Argument("Judgments: TREC, CSV, TSV, JSONL, JSON, Parquet, svmlight or a BEIR folder.")
]
Runs = Annotated[
    list[str],
    Argument("Runs, each as PATH or NAME=PATH, or a pattern such as 'runs/*.txt'; - is standard input."),
]
Measures = Annotated[
    list[str],
    Description(
        "Measures or a preset, such as nDCG@10,RR or rag. Can be repeated.", flags=("-m", "--measures")
    ),
]
Queries = Annotated[
    str | None,
    Description(
        "Texts of the queries: JSONL, CSV, TSV, JSON or Parquet. A BEIR folder brings its own.",
        flags=("--queries",),
        metavar="FILE",
    ),
]
Written = Annotated[output_formats.Format | None, output_formats.asked(output_formats.Format)]
Output = Annotated[Path | None, Description("File to write; - is standard output.", flags=("-o", "--output"))]
Spreadsheet = Annotated[
    bool,
    Description(
        "In csv and tsv, put a ' before text that a spreadsheet would read as a formula.",
        flags=("--spreadsheet",),
    ),
]
Save = Annotated[
    bool,
    Description("Save the results to the project's history; see ranklens history.", flags=("--save",)),
]
SkipBad = Annotated[
    bool, Description("Leave out runs that cannot be read, with a warning for each.", flags=("--skip-bad",))
]
Intents = Annotated[
    str | None,
    Description(
        "Probabilities of subtopics, in lines 'query subtopic probability'. Default: all equally likely.",
        metavar="FILE",
    ),
]
QrelsFormat = Annotated[str | None, _READING["qrels_format"]]
RunFormat = Annotated[str | None, _READING["run_format"]]
Map = Annotated[list[str] | None, _READING["places"]]
Match = Annotated[str | None, _READING["match"]]
Machine = Annotated[
    str | None,
    Description(
        "Judgments by a model, of the judged queries and additional ones: means and intervals then use both (PPI++).",
        flags=("--machine",),
        metavar="FILE",
    ),
]
Junit = Annotated[
    Path | None,
    Description(
        "Also write the verdicts as JUnit XML: one test case per rule.", flags=("--junit",), metavar="FILE"
    ),
]
