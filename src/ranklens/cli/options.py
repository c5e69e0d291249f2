"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ranklens.cli import output_formats
from ranklens.cli.commands import Argument
from ranklens.cli.reading import MatchOptions
from ranklens.options import Description, descriptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
        "In csv and tsv, put a ' before text that a spreadsheet would take for a formula.",
        flags=("--spreadsheet",),
    ),
]
Save = Annotated[
    bool,
    Description("Keep the results in the history of the project: see ranklens history.", flags=("--save",)),
]
SkipBad = Annotated[
    bool, Description("Leave out runs that cannot be read, with a warning for each.", flags=("--skip-bad",))
]
Intents = Annotated[
    str | None,
    Description(
        "Probabilities of subtopics, in lines 'query subtopic probability'; without it, all are alike.",
        metavar="FILE",
    ),
]
QrelsFormat, RunFormat, Map, Match = (
    Annotated[kind, said]
    for kind, said in zip(
        (str | None, str | None, list[str] | None, str | None),
        descriptions(MatchOptions).values(),
        strict=True,
    )
)
Machine = Annotated[
    str | None,
    Description(
        "Judgments by a model, of the judged queries and of more: means and intervals then use both (PPI++).",
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


def with_options(
    command: Callable[..., None],
    argument: str,
    added: Mapping[str, tuple[Any, Any]],
    build: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """The command with options, each an annotation and a default, in place of one argument that is built from them."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        chosen = {name: arguments.pop(name, default) for name, (_, default) in added.items()}
        command(**arguments, **{argument: build(chosen)})

    return _signed(run, command, added, without=argument)


def _signed(
    run: Callable[..., None],
    command: Callable[..., None],
    added: Mapping[str, tuple[Any, Any]],
    *,
    without: str | None = None,
) -> Callable[..., None]:
    """``run`` with the signature of the command, with some options more and perhaps one argument less."""
    signature = inspect.signature(command, eval_str=True)
    only = inspect.Parameter.KEYWORD_ONLY
    left_out = {without, *added}
    own = [p.replace(kind=only) for p in signature.parameters.values() if p.name not in left_out]
    options = [
        inspect.Parameter(name, only, default=default, annotation=kind)
        for name, (kind, default) in added.items()
    ]
    parameters = [*own, *options]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    del run.__wrapped__  # type: ignore[attr-defined]  # its signature is no longer the command's
    return run
