"""``ranklens bench``: run what a configuration describes."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

from ranklens.cli import options, output_formats
from ranklens.cli.commands import Argument
from ranklens.data.files.output import check_outputs, clear, write_text
from ranklens.errors import InputError
from ranklens.options import Description
from ranklens.process import CheckFailed, reader_may_leave, say, say_result
from ranklens.retrieval.asking import Asking
from ranklens.words import counted, in_one_line

EXAMPLES = """

Examples:

  ranklens bench --init bench.yaml

  ranklens bench bench.yaml

  ranklens bench bench.toml --format markdown -o results.md
"""
EXAMPLE = Path(__file__).parents[1] / "bench" / "config" / "example.yaml"
_DEFAULT = Path("bench.yaml")


class Format(str, Enum):
    """How results are written."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    markdown = "markdown"
    csv = "csv"
    parquet = "parquet"
    latex = "latex"
    github = "github"


def bench(
    asking: Asking,
    config: Annotated[
        Path | None, Argument("Configuration, YAML or TOML; with --init, the file to write.")
    ] = None,
    init: Annotated[
        bool, Description("Create a commented example instead of running a benchmark.", flags=("--init",))
    ] = False,
    force: Annotated[
        bool, Description("Overwrite an existing file (with --init).", flags=("--force",))
    ] = False,
    format: Annotated[Format | None, output_formats.asked(Format)] = None,  # noqa: A002
    output: options.Output = None,
    junit: options.Junit = None,
    save: options.Save = False,
) -> None:
    """Run the retrievers in a configuration, compare them and check the gates; exit status 1 if a gate fails.

    A configuration is code: retriever: "module:function" is imported and called, url is called over HTTP. Run only what you trust, or use --no-code.
    """
    if init:
        path = config or _DEFAULT
        if path.suffix.lower() not in (".yaml", ".yml"):
            raise InputError(f"{path}: the example is YAML; choose a name that ends in .yaml.")
        if path.exists() and not force:
            raise InputError(f"{path} already exists; choose another name, or pass --force to overwrite it.")
        write_text(EXAMPLE.read_text(encoding="utf-8"), path)
        say_result(
            f"{path}: an example with every key. Set data and retrievers, then run: ranklens bench {path}"
        )
        return
    if config is None:
        raise InputError("No configuration given. Create an example with: ranklens bench --init bench.yaml")
    from ranklens.bench.config import load
    from ranklens.bench.config.execution import inputs, measure, outputs, write_outputs
    from ranklens.cli.reading import queries_in_common
    from ranklens.guard.comment import folded
    from ranklens.guard.github import add_to_summary, refuse_inputs
    from ranklens.guard.wording import reasons

    written = output_formats.format_of(format, output, Format)
    loaded = load(config)
    check_outputs([output, junit, *outputs(loaded)], inputs(loaded))
    refuse_inputs(inputs(loaded))
    clear(junit)
    with queries_in_common():
        result = measure(loaded, asking)
    # Before the files of the configuration, of which one may not be writable.
    with reader_may_leave():  # as in "ranklens bench … | head": the status is still that of the gates
        output_formats.write(
            written,
            output,
            shown=result.printout(),
            rows=result.to_frame,
            texts={
                "json": result.to_json,
                "latex": result.to_latex,
                "github": lambda: f"{result}\n\n{result.outcome.to_annotations(result.config.file)}",
            },
        )
    write_outputs(result)
    if junit is not None:
        write_text(result.outcome.to_junit(), junit)
    tables = result.to_markdown()
    if result.outcome.verdicts:
        tables = f"{result.outcome.to_markdown()}\n\n{folded('Results', tables)}"
    add_to_summary(tables)
    if save:
        from ranklens.bench.config.execution import records_of
        from ranklens.cli.history import keep

        records = records_of(result.scores, None, result.benchmark, digested=True)
        keep(records, "bench", loaded.model_dump(mode="json"))
    for run in result.unanswered:
        error = next(iter(run.errors.values()), "").rstrip(".")
        calls = counted(len(run.answers), "call")
        say(in_one_line(f"all {calls} of {run.name} failed, the first with: {error}."))
    for check in result.outcome.failed:
        name = str(check.rule) if check.gate == "rules" else check.gate
        say(in_one_line(f"gate {name} {check.status}: {check.sentence}"))
        for reason in reasons(check):
            say(in_one_line(f"  {reason}"))
    if not result.passed:
        raise CheckFailed
