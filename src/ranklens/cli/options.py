"""What several commands share: arguments, and policies as options."""

from __future__ import annotations

import inspect
import os
import sys
from contextlib import suppress
from dataclasses import fields
from functools import wraps
from glob import iglob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from ranklens.cli import output_formats
from ranklens.data.files.output import check_outputs
from ranklens.policy import Policy
from ranklens.process import loudness
from ranklens.words import documentation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


Qrels = Annotated[
    str, typer.Argument(help="Judgments: TREC, CSV, TSV, JSONL, JSON, Parquet, svmlight or a BEIR folder.")
]
Runs = Annotated[
    list[str],
    typer.Argument(
        help="Runs, each as PATH or NAME=PATH, or a pattern such as 'runs/*.txt'; - is standard input."
    ),
]
Measures = Annotated[
    list[str],
    typer.Option(
        "-m", "--measures", help="Measures or a preset, such as nDCG@10,RR or rag. Can be repeated."
    ),
]
Queries = Annotated[
    str | None,
    typer.Option(
        "--queries",
        metavar="FILE",
        help="Texts of the queries: JSONL, CSV, TSV, JSON or Parquet. A BEIR folder brings its own.",
    ),
]
Written = Annotated[output_formats.Format | None, output_formats.asked(output_formats.Format)]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write; - is standard output.")]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        help="In csv and tsv, put a ' before text that a spreadsheet would take for a formula.",
    ),
]
Save = Annotated[
    bool,
    typer.Option("--save", help="Keep the results in the history of the project: see ranklens history."),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Leave out runs that cannot be read, with a warning for each.")
]
Intents = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Probabilities of subtopics, in lines 'query subtopic probability'; without it, all are alike.",
    ),
]
QrelsFormat = Annotated[str | None, typer.Option(help="Format of the judgments, if it is not recognised.")]
RunFormat = Annotated[str | None, typer.Option(help="Format of the runs, if it is not recognised.")]


Load = Annotated[
    list[str] | None,
    typer.Option(
        "--load",
        metavar="FILE",
        help="Run this Python file first; it registers measures of your own. Can be repeated.",
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="ROLE=PATH",
        help="Where a field is, if it has another name: query, text, expected, retrieved, doc, score, rank or grade. Can be repeated.",
    ),
]
Match = Annotated[
    str | None,
    typer.Option(
        "--match",
        metavar="KIND[:ARGUMENT]",
        help="How retrieved items match expected ones: parent:#, field:metadata.source, text, text:overlap:0.7, spans:0.5 or groups:FILE.",
    ),
]


def first_line(command: Callable[..., None]) -> str:
    """What the list of commands says of one: its first sentence as a whole, which Typer would cut."""
    return documentation(command).partition("\n")[0]


def with_policy(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option for each field of :class:`~ranklens.policy.Policy` in place of its argument ``policy``, if it has one."""
    if "policy" not in inspect.signature(command).parameters:
        return command
    from ranklens.policy import Policy, questions

    asked, kinds = questions(), get_type_hints(Policy)
    added = {
        field.name: (
            Annotated[_plain(kinds[field.name]), typer.Option(help=asked[field.name].help)],
            field.default,
        )
        for field in fields(Policy)
    }
    return with_options(command, "policy", added, lambda chosen: Policy(**chosen))


def _plain(kind: Any) -> Any:
    """Choices are text on the command line; the policy itself says which are allowed."""
    return str if get_origin(kind) is Literal else kind


def with_load(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--load``, which registers measures of the user's own before anything else."""

    @wraps(command)
    def run(*, load: list[str], **arguments: Any) -> None:
        if load:
            from ranklens.cli.own_measures import load_measures

            load_measures(load)
        command(**arguments)

    return _signed(run, command, {"load": (Load, None)})


_ASKING = {
    "fresh": (
        Annotated[bool, typer.Option("--fresh", help="Ask every query again; use no stored answer.")],
        False,
    ),
    "max_age": (
        Annotated[
            str | None,
            typer.Option(
                "--max-age",
                metavar="AGE",
                help="Use no stored answer older than this: 7d, 12h, 30m, or seconds.",
            ),
        ],
        None,
    ),
    "keep_going": (
        Annotated[
            bool,
            typer.Option("--keep-going", help="Keep asking, even if every call fails with the same error."),
        ],
        False,
    ),
    "no_code": (
        Annotated[
            bool,
            typer.Option(
                "--no-code",
                help="Refuse configurations that name code or a URL; run files still work.",
            ),
        ],
        False,
    ),
}


def with_asking(command: Callable[..., None]) -> Callable[..., None]:
    """The command with options for how retrievers are asked in place of its argument ``asking``: those of ``config.execution.Asking``."""

    def built(chosen: dict[str, Any]) -> dict[str, Any]:
        return {"code": not chosen.pop("no_code"), **chosen}

    return with_options(command, "asking", _ASKING, built)


def with_options(
    command: Callable[..., None],
    argument: str,
    added: Mapping[str, tuple[Any, Any]],
    build: Callable[[dict[str, Any]], Any],
) -> Callable[..., None]:
    """The command with options, each an annotation and a default, in place of one argument that is built from them."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        chosen = {name: arguments.pop(name) for name in added}
        command(**arguments, **{argument: build(chosen)})

    return _signed(run, command, added, without=argument)


WRITTEN = (
    "output",
    "junit",
    "plot",
    "target",
)  # name files to write, as do plots; all other arguments may name files to read


def check_files(arguments: Mapping[str, Any]) -> None:
    """Refuse to write over what the command reads, or over another of its outputs, before it does anything."""
    written = [Path(text) for name in WRITTEN for text in _texts(arguments.get(name))]
    written += [Path(text.rpartition("=")[2]) for text in _texts(arguments.get("plots"))]
    if written:
        read = [
            file
            for name, value in arguments.items()
            if name not in (*WRITTEN, "plots")
            for file in _files(value)
        ]
        check_outputs(written, read)


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [os.fspath(one) for one in values if isinstance(one, (str, os.PathLike))]


def _files(value: Any) -> Iterator[str]:
    """Every existing file that a value may name: FILE, NAME=FILE, FILE:COLUMN, KIND:FILE or a pattern."""
    for text in _texts(value):
        for name in (text, text.partition("=")[2], text.rpartition(":")[0], text.partition(":")[2]):
            with suppress(OSError, ValueError):  # no name of a file
                if name and os.path.exists(name):
                    yield name
                elif any(letter in name for letter in "*?["):
                    yield from iglob(name, recursive=True)


def with_manners(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--quiet`` and ``--strict``; one that has warnings of its own takes ``strict`` as an argument."""
    own = [name for name in _MANNERS if name in inspect.signature(command).parameters]

    @wraps(command)
    def run(**arguments: Any) -> None:
        told = {name: arguments.pop(name) for name in _MANNERS}
        check_files(arguments)
        with loudness(**told):
            command(**arguments, **{name: told[name] for name in own})

    return _signed(run, command, _MANNERS)


_MANNERS: dict[str, tuple[Any, Any]] = {
    "quiet": (Annotated[bool, typer.Option("--quiet", help="No warnings and no progress.")], False),
    "strict": (
        Annotated[bool, typer.Option("--strict", help="Exit status 1 if there is a warning.")],
        False,
    ),
}


_NAMES = {Path: "FILE", int: "NUMBER", float: "NUMBER", str: "TEXT"}


def with_names(command: Callable[..., None]) -> Callable[..., None]:
    """The command with a word for the value of each option, which help would call by its type in Python."""
    for parameter in _signature(command).parameters.values():
        value, *told = get_args(parameter.annotation) or (None,)
        for info in told:
            if isinstance(info, typer.models.OptionInfo):
                info.metavar = info.metavar or _name_of(value)
    return command


def _name_of(kind: Any) -> str | None:
    """What a value of this type, or of one in a list or a choice, is called; flags have none."""
    found = (_name_of(one) for one in get_args(kind)) if get_args(kind) else iter([_NAMES.get(kind)])
    return next((name for name in found if name), None)


def _signature(command: Callable[..., None]) -> inspect.Signature:
    """With types rather than their names; commands may import Typer and options for type checkers only."""
    names = {"typer": typer, "options": sys.modules[__name__], "Policy": Policy}
    return inspect.signature(command, locals=names, eval_str=True)


def _signed(
    run: Callable[..., None],
    command: Callable[..., None],
    added: Mapping[str, tuple[Any, Any]],
    *,
    without: str | None = None,
) -> Callable[..., None]:
    """``run`` with the signature of the command, with some options more and perhaps one argument less."""
    signature = _signature(command)
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


Junit = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", help="Also write the verdicts as JUnit XML: one test case per rule."
    ),
]
