"""``ranklens sweep``: the settings of a retriever, tried one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.data.files import output as out
from ranklens.errors import InputError
from ranklens.options import Description

EXAMPLES = """

Examples:

  ranklens sweep bench.yaml --over chunk_size=120,240,480 --over k=5,10

  ranklens sweep bench.yaml --retriever dense --over model=small,large -m mrr
"""


def sweep(
    config: Annotated[Path, Argument("Configuration whose retriever is tried, YAML or TOML.")],
    over: Annotated[
        list[str],
        Description(
            "Values of a parameter, the one in use first; k is the number of documents. Can be repeated.",
            flags=("--over",),
            metavar="NAME=VALUES",
        ),
    ],
    retriever: Annotated[str | None, Description("Name of the retriever, if there are several.")] = None,
    at_query: Annotated[
        list[str] | None,
        Description(
            "A parameter that is passed to each call, so that no index is built again for it. Can be repeated.",
            flags=("--at-query",),
            metavar="NAME",
        ),
    ] = None,
    measures: options.Measures = [],  # noqa: B006  nothing changes it
    folds: Annotated[
        int, Description("Number of folds; each is scored with the settings chosen on the others.", least=2)
    ] = 5,
    format: options.Written = None,  # noqa: A002
    output: options.Output = None,
) -> None:
    """Try settings of a retriever, choose on some queries and judge on the others.

    A configuration is code: its retriever is imported and called. Sweep only what you trust.
    """
    import yaml

    from ranklens.bench.config import load
    from ranklens.bench.config.execution import inputs
    from ranklens.bench.config.execution import sweep as try_all

    written = output_formats.format_of(format, output, output_formats.Format)
    loaded = load(config)
    out.check_output(output, inputs(loaded))
    if len(measures) > 1 or "," in "".join(measures):
        raise InputError("sweep takes one measure, which decides; pass -m once.")
    settings: dict[str, list[Any]] = {}
    for text in over:
        name, equals, values = text.partition("=")
        if not equals or not name or not values:
            raise InputError(f"--over {text}: expected NAME=VALUES, such as chunk_size=120,240.")
        # In YAML's spelling, so that numbers, true and false are what they look like.
        settings[name] = [yaml.safe_load(value) for value in values.split(",")]
    swept = try_all(
        loaded,
        retriever,
        settings,
        measure=next(iter(measures), None),
        at_query=at_query or (),
        folds=folds,
    )
    output_formats.write(written, output, shown=swept.printout(), rows=swept.to_frame, content=swept.to_dict)
