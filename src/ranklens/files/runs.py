"""Which runs are meant, and what they are called: ``PATH`` or ``NAME=PATH``, else the tag or the name of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ranklens.errors import InputError


def run_names(runs: Sequence[str]) -> dict[str, str]:
    """Runs by name: as given, else the file's name without its suffixes."""
    found: dict[str, str] = {}
    for run in runs:
        given, equals, path = run.partition("=")
        is_named = equals and not Path(run).exists()
        path = path if is_named else run
        name = (
            given
            if is_named
            else "standard input"
            if path == "-"
            else Path(path).name.partition(".")[0] or path
        )
        if name in found and not is_named:
            name = path
        if name in found:
            raise InputError(f"Two runs are called {name!r}; give each a name of its own: NAME={path}.")
        found[name] = path
    return found


def run_names_by_tag(runs: Sequence[str]) -> dict[str, str]:
    """Runs by name: as given, else the tags of TREC files where each has one of its own, else the files' names."""
    by_file = run_names(runs)
    unnamed = [path for path in by_file.values() if path in runs]
    tags = {path: _tag(path) for path in unnamed}
    names = {path: tags.get(path) or name for name, path in by_file.items()}
    usable = all(tags.values()) and len(set(names.values())) == len(names) == len(by_file)
    return {name: path for path, name in names.items()} if usable else by_file


def _tag(path: str) -> str | None:
    """The sixth field of a TREC run, unless it is a mere number or too long to be a name."""
    from ranklens.files import formats, trec
    from ranklens.files.sources import open_source

    can_be_read_once = path == "-" or Path(path).is_fifo()
    if can_be_read_once or formats.recognise(path, "run") != "trec":
        return None
    fields = trec.first_fields(open_source(path))
    tag = fields[5] if len(fields) == len(trec.TREC_RUN) else ""
    return tag if 0 < len(tag) <= 40 and not tag.replace(".", "").isdigit() else None
