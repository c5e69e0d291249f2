"""Which format a file has: by its suffix, else by its content."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from ranklens.data.files import tables, trec
from ranklens.data.files.json_reading import holds_rows
from ranklens.data.files.parts import is_in_parts, parts_kind, visible_files
from ranklens.data.files.remote import (
    is_remote,
    lake_at,
    refuse_files_of_lakes,
    refuse_other_address,
    remote_kind,
)
from ranklens.data.files.sources import PathLike, Source, open_source
from ranklens.data.files.suffixes import TABLES, WORKBOOKS, suffix_of
from ranklens.data.files.systems import refuse_nested, several, system_folders
from ranklens.data.readers import frames, names
from ranklens.data.readers.names import plain
from ranklens.errors import InputError, nearest

FORMATS = (
    "trec",
    "trec-diversity",
    "msmarco",
    "csv",
    "tsv",
    "jsonl",
    "json",
    "parquet",
    "delta",
    "iceberg",
    "beir",
    "svmlight",
)

# The content decides about .tsv: MS MARCO and TREC files have that suffix, too.
_BY_SUFFIX = {
    **{suffix: kind for suffix, kind in TABLES.items() if kind != "tsv"},
    ".json": "json",
    **dict.fromkeys(WORKBOOKS, "parquet"),  # which their sheets are copied to
    **dict.fromkeys((".svm", ".svmlight", ".letor"), "svmlight"),
}
_QUESTIONS, _LISTS = (
    {*names.QUERY_IDS, *names.QUERY_TEXTS},
    {*names.EXPECTED, *names.EXPECTED_TEXTS, *names.RETRIEVED},
)
_KNOWN_COLUMNS = {*frames.QUERY_NAMES, *frames.DOC_NAMES}


def locate(path: PathLike, given: str | None, what: str) -> tuple[PathLike, str]:
    """What to read, and its format; the content helps to recognise it."""
    if given is not None and given not in FORMATS:
        raise InputError(f"there is no format {given!r}: {nearest(given, FORMATS)}")
    if is_remote(path):
        return path, given or remote_kind(str(path))
    lake = lake_at(path)
    if lake is not None:
        return str(path), lake
    refuse_other_address(path)
    if not isinstance(path, Source) and str(path) != "-" and is_in_parts(path):
        if what == "run":
            folders = system_folders(path)
            if len(folders) > 1:
                raise several(str(path), folders)
            refuse_nested(path)
        only = visible_files(path) if given is None else []
        if len(only) == 1 and suffix_of(only[0]) not in TABLES:
            return locate(only[0], None, what)
        return path, given or _folder_format(Path(path), what)
    source = open_source(path)
    if source.suffix == ".parquet":
        refuse_files_of_lakes([source.path])
    if given is None and source.suffix == ".json" and holds_rows(source.head()):
        given = "jsonl"
    return source, given or _BY_SUFFIX.get(source.suffix) or _by_content(source, what)


def locate_scores(path: PathLike) -> tuple[PathLike, str]:
    """What to read as a run for svmlight judgments, and its format: a file of bare scores is svmlight too."""
    place, kind = locate(path, None, "run")
    fields = trec.first_fields(place) if isinstance(place, Source) else []
    bare = len(fields) == 1 and (kind == "trec" or _is_number(fields[0]))
    return place, "svmlight" if bare else kind


def trec_tag(place: PathLike) -> str | None:
    """What a TREC run calls itself in its sixth field, unless that is a mere number or too long to be a name."""
    fields = trec.first_fields(open_source(place))
    tag = fields[5] if len(fields) == len(trec.TREC_RUN) else ""
    return tag if 0 < len(tag) <= 40 and not tag.replace(".", "").isdigit() else None


def has_trec_fields(place: PathLike) -> bool:
    """Whether the first line has as many fields as those of a TREC run."""
    return len(trec.first_fields(open_source(place))) >= len(trec.TREC_RUN)


def _folder_format(place: Path, what: str) -> str:
    """BEIR, or that of the parts; a run is never BEIR."""
    if what == "qrels" and place.is_dir() and ((place / "qrels").is_dir() or any(place.glob("*.tsv"))):
        return "beir"
    kind = parts_kind(place, named=what == "qrels" and not place.is_dir())
    if kind is not None:
        return kind
    if not place.is_dir():
        matches = glob(str(place), recursive=True)
        if what == "run" and len(matches) > 1:
            raise InputError(
                f"{place} matches {len(matches)} files, each a separate run; compare them with ranklens.compare(qrels, {str(place)!r}), or "
                "pass one of them."
            )
        what_is = "matches no Parquet, CSV, TSV or JSONL files" if matches else "does not exist"
        raise InputError(f"{place} {what_is}.")
    tables_are = "tables (.parquet, .csv, .tsv, .jsonl)"
    lacks = f"BEIR's qrels or {tables_are}" if what == "qrels" else tables_are
    raise InputError(f"{place} is a folder without {lacks}; pass the file itself.", path=str(place))


# What follows distinguishes JSON from an id in brackets.
_JSON_START = re.compile(rb"""\{\s*["}]|\[\s*["{\[\]]""")


def _by_content(source: Source, what: str) -> str:
    head = source.head().lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"PAR1"):
        return "parquet"
    if _JSON_START.match(head) and not _only_starts_as_json(head):
        return "jsonl" if holds_rows(head) else "json"
    fields = trec.first_fields(source)
    if len(fields) > 1 and fields[1].startswith("qid:"):
        return "svmlight"
    if _has_grade(fields) or _has_rank_and_score(fields):
        return "trec"
    kind = "tsv" if b"\t" in head.partition(b"\n")[0] else "csv"
    columns = {plain(name) for name in tables.header(head, tables.separator_of(head, kind))}
    if len(columns & _KNOWN_COLUMNS) >= 2 or (columns & _QUESTIONS and columns & _LISTS):
        return kind
    return "msmarco" if what == "run" and len(fields) == 3 else "trec"


def _only_starts_as_json(head: bytes) -> bool:
    """Whether this is a line of fields, such as one of a query called ``[]``."""
    text = head.decode(errors="replace").rstrip()
    fields = trec.fields_of(text.partition("\n")[0])
    number = {3: 2, len(trec.TREC_QRELS): 3}.get(len(fields), 4)  # the place of a rank, a grade or a score
    if len(fields) <= number or not _is_number(fields[number]):
        return False
    try:
        json.loads(text)
    except (
        json.JSONDecodeError
    ) as error:  # those in later lines, and where the text ends, are left to its reader
        return error.lineno == 1 and error.pos < len(text)
    except (ValueError, RecursionError):
        return False
    return False


def _has_grade(fields: Sequence[str]) -> bool:
    """Whether this is a line of TREC judgments, not a header."""
    return len(fields) == len(trec.TREC_QRELS) and _is_number(fields[3])


def _has_rank_and_score(fields: Sequence[str]) -> bool:
    """Whether this is a line of a TREC run, not a header."""
    return len(fields) == len(trec.TREC_RUN) and _is_number(fields[3]) and _is_number(fields[4])


def refuse_run(source: Source) -> None:
    """Raise if this is a run where judgments were expected."""
    fields = trec.first_fields(source)
    if _has_rank_and_score(fields) or (len(fields) == len(trec.TREC_RUN) and fields[1].upper() == "Q0"):
        raise InputError(
            f"{source.name} looks like a run (six fields: {', '.join(trec.TREC_RUN)}); pass the judgments first."
        )


def refuse_judgments(source: Source) -> None:
    """Raise if this is not a run, but judgments or bare scores."""
    fields = trec.first_fields(source)
    if _has_grade(fields):
        raise InputError(
            f"{source.name} looks like judgments (four fields: {', '.join(trec.TREC_QRELS)}); pass the run second."
        )
    if len(fields) == 1 and _is_number(fields[0]):
        raise InputError(f"{source.name} contains bare scores, which belong to svmlight judgments.")


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
