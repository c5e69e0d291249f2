"""Writes docs/cli.md from the commands' own help. Run by scripts/docs; a test keeps the page up to date."""

from __future__ import annotations

from pathlib import Path

import typer.main

from ranklens.cli.help_groups import grouped
from ranklens.cli.main import app
from ranklens.exchange.trec.command import USAGE

PAGE = Path(__file__).parent / "cli.md"

HEAD = """<!-- Generated from the commands' help by scripts/docs. Do not edit. -->
# Command line

Exit status: 0 for success, 1 if a check failed, 2 for wrong usage or input, 3 if the system or RankLens failed. Results go to standard output, messages to standard
error. `-o` writes the format of the file's suffix; [more](services.md#files-in-the-format-of-their-suffix).
Formats are detected by suffix and content; `.gz`, `.zst`, `.xz` and `.bz2` files are decompressed, `-` is standard input.
"""


def page() -> str:
    """The whole page as text."""
    group = typer.main.get_command(app)
    parts = [HEAD]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        help_text = USAGE.rstrip() if name == "trec-eval" else _help(command, name)
        inside = getattr(command, "commands", {}).items()
        texts = [help_text, *(_help(one, f"{name} {own}") for own, one in inside)]
        parts.append("\n".join([f"## ranklens {name}\n", *(f"```text\n{text}\n```\n" for text in texts)]))
    return "\n".join(parts)


def _help(command: typer.core.TyperCommand, name: str) -> str:
    """Arguments and options, one per line; laid out here, so that the page does not depend on the width of a terminal."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    lines = [f"ranklens {name}: {(command.help or '').strip()}"]
    for title, members in [("Arguments", arguments), *grouped(command.params)]:
        if members:
            lines += ["", f"{title}:", *map(_line, members)]
    lines += ["", *[line for line in (command.epilog or "").strip().splitlines() if line.strip()]]
    return "\n".join(lines).rstrip()


def _line(parameter: typer.core.TyperOption | typer.core.TyperArgument) -> str:
    is_option = parameter.param_type_name == "option"
    spelling = ", ".join(parameter.opts) if is_option else (parameter.name or "").upper()
    default = getattr(parameter.default, "value", parameter.default)
    default = ",".join(default) if isinstance(default, list) else default
    has_default = is_option and default not in (None, "") and default is not False
    return f"  {spelling:<24} {getattr(parameter, 'help', '') or ''}" + (
        f" [{default}]" if has_default else ""
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
