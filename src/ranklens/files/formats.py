"""Files and folders → what :func:`ranklens.judge` takes; the format is recognised by suffix and content.

==============  =================================================================================================
trec            judgments ``query iteration document grade``, runs ``query Q0 document rank score tag``; judgments whose
                second field differs within a query are read as trec-diversity
trec-diversity  judgments ``query subtopic document grade``
msmarco         runs ``query document rank`` (its judgments are trec)
csv, tsv        tables with a header
jsonl, json     one object per line; a dict of dicts or a list of objects
parquet         a file, a folder or a glob
beir            a folder with ``qrels/test.tsv``
svmlight        ``grade qid:7 1:0.3 … # document``; the run is a file with one score per line
==============  =================================================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from glob import glob
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ranklens.errors import InputError, nearest
from ranklens.files import tables, trec
from ranklens.files.forking import polars_is_used
from ranklens.files.json_reading import RepeatedKeyError, loads_ids
from ranklens.files.parts import is_in_parts, one_after_the_other, parts_kind
from ranklens.files.remote import is_remote, remote_kind, scan
from ranklens.files.sources import PathLike, Source, open_source, without_bom
from ranklens.files.streams import TableStream
from ranklens.files.systems import OneSystem, several, system_folders, systems_in, systems_of_scan
from ranklens.readers import frames, mappings
from ranklens.readers.names import USUAL, Names, plain
from ranklens.words import brief

if TYPE_CHECKING:
    import polars as pl

Half = Literal["golden", "log"]
FORMATS = ("trec", "trec-diversity", "msmarco", "csv", "tsv", "jsonl", "json", "parquet", "beir", "svmlight")

_BY_SUFFIX = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet", ".svm": "svmlight",
              ".svmlight": "svmlight", ".letor": "svmlight"}  # fmt: skip
_KNOWN_COLUMNS = {*frames.QUERY_NAMES, *frames.DOC_NAMES}
_TREC_RUN_FIELDS = {"query": False, "doc": False, "score": True}
_MSMARCO_FIELDS = {"query": False, "doc": False, "rank": True}


def read_qrels(
    path: PathLike,
    format: str | None = None,  # noqa: A002  the name users expect
    names: Names = USUAL,
) -> Any:
    """Judgments from a file, as a table ``query, doc, grade`` or a dict."""
    return judgments_in(*locate(path, format, "qrels"), names)


def judgments_in(place: PathLike, kind: str, names: Names = USUAL) -> Any:
    """The same, where :func:`locate` has found the file and its format."""
    if kind == "beir":
        place, kind = open_source(_beir_qrels(Path(str(place)))), "tsv"
    convert = partial(frames.qrels_frame, columns=names.columns, complete=True)
    if is_remote(place):
        return _whole(_stream_remote(str(place), kind, convert))
    if kind == "parquet":
        return _whole(_stream_parquet(place, convert, ranks=True))
    if is_in_parts(place):
        return _whole(_stream_parts(place, kind, convert, "golden", names))
    source = open_source(place)
    if kind in ("trec", "trec-diversity", "msmarco"):
        return _trec_judgments(source, kind)
    if kind == "svmlight":
        from ranklens.files import svmlight

        return svmlight.read_qrels(source)
    return _whole(_stream_table(source, kind, convert, "golden", names))


def _trec_judgments(source: Source, kind: str) -> Any:
    _refuse_run(source)
    if kind == "trec-diversity" or (kind == "trec" and trec.has_subtopics(source)):
        return _by_subtopic(source)
    _refuse_samples(source)
    return trec.read_fields(source, trec.TREC_QRELS, {"query": False, "doc": False, "grade": True})


def _by_subtopic(source: Source) -> Any:
    from ranklens.readers.judgments import Judgments

    names = ("query", "subtopic", "doc", "grade")
    rows = trec.read_fields(source, names, {name: name == "grade" for name in names})
    return Judgments.of_table(rows.select(names))


def read_intents(path: PathLike) -> dict[str, dict[str, float]]:
    """The probability of each subtopic of a query, from lines ``query subtopic probability``."""
    names = ("query", "subtopic", "probability")
    found: dict[str, dict[str, float]] = {}
    rows = trec.read_fields(open_source(path), names, {name: name == "probability" for name in names})
    for query, subtopic, probability in rows.iter_rows():
        found.setdefault(query, {})[subtopic] = probability
    return found


def run_in(
    place: PathLike, kind: str, *, ranks: bool = False, names: Names = USUAL, system: str | None = None
) -> Any:
    """A run as a stream of tables ``query, doc, score`` where its format allows that, else as a table or a dict.

    :func:`locate` has found the file and its format. With ``ranks``, a rank column next to the scores is kept, with null for
    anything that is not a number. ``system`` chooses the rows of one system, where a column says whose they are.
    """
    name = place.name if isinstance(place, Source) else str(place)
    read = partial(frames.run_frame, columns=names.columns, ranks=ranks)
    convert = OneSystem(read, name, system)
    if is_remote(place):
        return _stream_remote(str(place), kind, convert)
    if kind == "parquet":
        return _stream_parquet(place, convert, ranks=ranks)
    if is_in_parts(place):
        return _stream_parts(place, kind, OneSystem(partial(read, complete=True), name, system), "log", names)
    if kind in ("svmlight", "beir", "trec-diversity"):
        raise InputError(
            f"{name}: a run cannot be read as {kind}; give scores, one per line, with svmlight judgments."
        )
    source = open_source(place)
    if kind == "trec":
        _refuse_judgments(source)
        stream = trec.stream_fields(
            source, trec.TREC_RUN, _TREC_RUN_FIELDS | ({"rank": False} if ranks else {})
        )
        return stream.then(read) if ranks else stream
    if kind == "msmarco":
        stream = trec.stream_fields(source, ("query", "doc", "rank"), _MSMARCO_FIELDS)
        return stream.then(partial(_whole_ranks, source.name)).then(frames.run_frame)
    complete = OneSystem(partial(read, complete=True), name, system)
    return _stream_table(source, kind, complete, "log", names)


def systems(path: PathLike, kind: str) -> list[str]:
    """The systems that a column names in a table; none in other formats, which have no columns."""
    if is_remote(path):
        return systems_of_scan(scan(str(path), kind))
    if kind == "parquet":
        from ranklens.files.parquet import scan_parquet

        return systems_of_scan(scan_parquet(path))
    if kind not in ("csv", "tsv", "jsonl"):
        return []
    if is_in_parts(path):
        return systems_in(one_after_the_other(path, kind, partial(stream_table, kind=kind)))
    head = open_source(path).head()
    first = {plain(name) for name in tables.header(head, "\t" if kind == "tsv" else ",")}
    found = frames.SYSTEM in first if kind != "jsonl" else b'"system"' in head.partition(b"\n")[0].lower()
    return systems_in(stream_table(path, kind)) if found else []


def _whole_ranks(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Some tools write scores where MS MARCO has ranks: read as ranks, they would reverse every ranking."""
    wrong = table.filter(table["rank"] != table["rank"].round())
    if len(wrong):
        query, doc, rank = wrong.row(0)
        raise InputError(
            f"{name}: the third field of document {doc!r} for query {query!r} is {rank:g}, not a rank. If it is a score, add a header line 'query doc score' separated by tabs, and rename the file to .tsv."
        )
    return table


def read_run(path: PathLike, format: str | None = None) -> Any:  # noqa: A002
    """A run from a file, as a table ``query, doc, score`` or a dict."""
    return _whole(run_in(*locate(path, format, "run")))


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


def stream_table(path: PathLike, kind: str) -> Any:
    """A table with all its columns, as text where the format does not know types; a dict where it holds records."""
    if kind == "jsonl" and _holds_records(open_source(path)):
        return _stream_table(open_source(path), kind, lambda table: table, "golden", USUAL)
    if kind == "parquet":
        return _stream_parquet(path, lambda table: table, whole=True)
    return tables.stream_table(open_source(path), kind, lambda table: table, all_keys=True)


def read_table(path: PathLike, kind: str) -> pl.DataFrame:
    """A table with all its columns, as text where the format does not know types."""
    if kind == "parquet":
        return _as_one(_stream_parquet(path, lambda table: table, whole=True))
    return _as_one(tables.stream_table(open_source(path), kind, lambda table: table, all_keys=True))


def as_table(read: Any, number: str) -> pl.DataFrame:
    """What :func:`read_qrels` or :func:`read_run` gives, as a table ``query, doc`` and the number."""
    import polars as pl

    polars_is_used()

    if not isinstance(read, Mapping):
        found: pl.DataFrame = _whole(read)
        return found
    listed = mappings.judgments(read) if number == "grade" else mappings.rankings(read)
    rows = [
        (str(q), str(d), _number(x, number, q, d))
        for q, docs in listed.by_query.items()
        for d, x in docs.items()
    ]
    return pl.DataFrame(rows, schema={"query": pl.String, "doc": pl.String, number: pl.Float64}, orient="row")


def _number(value: Any, name: str, query: Any, doc: Any) -> float:
    number = mappings.as_number(value) if isinstance(value, (Real, str)) else None
    if number is not None:
        return number
    raise _not_a_number(value, name, query, doc)


def _not_a_number(value: Any, name: str, query: Any, doc: Any) -> InputError:
    shown, of = brief(repr(value), 60), brief(repr(doc))
    return InputError(f"the {name} of document {of} for query {brief(repr(query))} is {shown}, not a number.")


def locate(path: PathLike, given: str | None, what: str) -> tuple[PathLike, str]:
    """What to read, and its format; the content helps to recognise it."""
    if given is not None and given not in FORMATS:
        raise InputError(f"there is no format {given!r}: {nearest(given, FORMATS)}")
    if is_remote(path):
        return path, given or remote_kind(str(path))
    if not isinstance(path, Source) and str(path) != "-" and is_in_parts(path):
        folders = system_folders(path) if what == "run" else {}
        if len(folders) > 1:
            raise several(str(path), folders)
        return path, given or _folder_format(Path(path), what)
    source = open_source(path)
    return source, given or _BY_SUFFIX.get(source.suffix) or _by_content(source, what)


def _folder_format(place: Path, what: str) -> str:
    """BEIR, or that of the parts; a run is never BEIR."""
    if what == "qrels" and place.is_dir() and ((place / "qrels").is_dir() or any(place.glob("*.tsv"))):
        return "beir"
    kind = parts_kind(place)
    if kind is not None:
        return kind
    if not place.is_dir():
        found = glob(str(place), recursive=True)
        what_is = "matches no Parquet, CSV, TSV or JSONL files" if found else "does not exist"
        raise InputError(f"{place} {what_is}.")
    lacks = "BEIR's qrels or Parquet files" if what == "qrels" else "Parquet files"
    raise InputError(f"{place} is a folder without {lacks}; pass the file itself.")


def _stream_parts(
    path: PathLike, kind: str, convert: tables.Convert, half: Half, names: Names
) -> TableStream:
    return one_after_the_other(
        path, kind, lambda file: _stream_table(open_source(file), kind, convert, half, names)
    )


def _stream_remote(address: str, kind: str, convert: tables.Convert) -> TableStream:
    from ranklens.files.pieces import stream_scan

    return stream_scan(address, scan(address, kind), convert)


def _stream_parquet(place: PathLike, convert: tables.Convert, **options: bool) -> TableStream:
    from ranklens.files.parquet import stream_parquet

    if isinstance(place, Source) and place.packing:
        raise InputError(f"{place.name}: a Parquet file is compressed inside; unpack it first.")
    return stream_parquet(
        place, convert, **options
    )  # a source, as long as it is there, keeps a temporary copy


# What follows distinguishes JSON from an id in brackets.
_JSON_START = re.compile(rb"""\{\s*["}]|\[\s*["{\[\]]""")


def _by_content(source: Source, what: str) -> str:
    head = source.head().lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"PAR1"):
        return "parquet"
    if _JSON_START.match(head):
        first_line = head.partition(b"\n")[0].strip()
        is_row = first_line.startswith(b"{") and first_line.endswith(b"}") and _is_row(first_line)
        return "jsonl" if is_row else "json"
    fields = trec.first_fields(source)
    if len(fields) > 1 and fields[1].startswith("qid:"):
        return "svmlight"
    if _has_grade(fields) or _has_rank_and_score(fields):
        return "trec"
    separator = "\t" if b"\t" in head.partition(b"\n")[0] else ","
    found = {plain(name) for name in tables.header(head, separator)}
    if len(found & _KNOWN_COLUMNS) >= 2:
        return "tsv" if separator == "\t" else "csv"
    return "msmarco" if what == "run" and len(fields) == 3 else "trec"


def _is_row(line: bytes) -> bool:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return not all(isinstance(value, (dict, list)) for value in row.values())


def _has_grade(fields: Sequence[str]) -> bool:
    """Whether this is a line of TREC judgments, not a header."""
    return len(fields) == len(trec.TREC_QRELS) and _is_number(fields[3])


def _has_rank_and_score(fields: Sequence[str]) -> bool:
    """Whether this is a line of a TREC run, not a header."""
    return len(fields) == len(trec.TREC_RUN) and _is_number(fields[3]) and _is_number(fields[4])


def _refuse_run(source: Source) -> None:
    fields = trec.first_fields(source)
    if _has_rank_and_score(fields) or (len(fields) == len(trec.TREC_RUN) and fields[1].upper() == "Q0"):
        raise InputError(
            f"{source.name} looks like a run (six fields: {', '.join(trec.TREC_RUN)}); pass the judgments first."
        )


def _refuse_samples(source: Source) -> None:
    """Judgments of sampled pools, whose fifth field says how a document was drawn: without it every mean is biased."""
    fields = trec.first_fields(source)
    if len(fields) == 5:
        raise InputError(
            f"{source.name} has five fields, as judgments of sampled pools have: query, document, grade, method and probability (prels), "
            f"or query, 0, document, stratum and grade. Measures for samples are not known here; to use the grades as they are, keep "
            f"{', '.join(trec.TREC_QRELS)}."
        )


def _refuse_judgments(source: Source) -> None:
    fields = trec.first_fields(source)
    if _has_grade(fields):
        raise InputError(
            f"{source.name} looks like judgments (four fields: {', '.join(trec.TREC_QRELS)}); pass the run second."
        )
    if len(fields) == 1 and _is_number(fields[0]):
        raise InputError(f"{source.name} holds bare scores, which belong to svmlight judgments.")


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _whole(read: Any) -> Any:
    """A stream as one table, everything else as it is."""
    return _as_one(read) if isinstance(read, TableStream) else read


def _as_one(stream: TableStream) -> pl.DataFrame:
    import polars as pl

    return pl.concat(stream, how="diagonal_relaxed")


def _stream_table(source: Source, kind: str, convert: tables.Convert, half: Half, names: Names) -> Any:
    """``half`` says what is wanted from records, which may hold judgments, a run or both."""
    if kind in ("csv", "tsv"):
        numbers = frames.SCORE_NAMES if half == "log" and not names.columns else ()
        return tables.stream_table(source, kind, partial(_with_name, source, convert), numbers=numbers)
    if kind == "jsonl" and not _holds_records(source, names):
        return tables.stream_table(source, kind, partial(_with_name, source, convert))
    rows = _json_lines(source) if kind == "jsonl" else _json(source)
    if isinstance(rows, Mapping):
        _check_texts(source, rows, "grade" if half == "golden" else "score")
        return rows
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{source.name}: expected objects with the keys query, doc and a number.")
    try:
        if _is_table_row(rows[0]):
            return convert(tables.frame_of_rows(rows))
        from ranklens.readers.golden_and_logs import read_golden, read_log

        return (read_golden if half == "golden" else read_log)(rows, names)
    except InputError as error:
        error.prefix(f"{source.name}: ")
        raise
    except UnicodeEncodeError as error:
        raise InputError(f"{source.name}: {error}") from None


def _check_texts(source: Source, by_query: Mapping[Any, Any], number: str) -> None:
    """Refuse text that Python alone would take for a number."""
    for query, docs in by_query.items():
        if isinstance(docs, dict) and str in set(map(type, docs.values())):
            for doc, value in docs.items():
                if isinstance(value, str) and mappings.as_number(value) is None:
                    error = _not_a_number(value, number, query, doc)
                    error.prefix(f"{source.name}: ")
                    raise error


def _with_name(source: Source, convert: tables.Convert, table: pl.DataFrame) -> pl.DataFrame:
    try:
        return convert(table)
    except frames.RowError:
        raise
    except InputError as error:
        error.prefix(f"{source.name}: ")
        raise


def _holds_records(source: Source, names: Names = USUAL) -> bool:
    """Whether the rows are questions that say what was retrieved or what is expected, rather than documents."""
    for line in source.head(1 << 20).lstrip().split(b"\n"):
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            # A row without a document is a record, if perhaps one that does not say what it should.
            return _says_documents(row, names) if "doc" in names.own else not _is_table_row(row)
    return False


def _says_documents(row: Mapping[str, Any], names: Names) -> bool:
    from ranklens.readers import records

    return not _is_table_row(row) and records.is_record(row, names)


def _is_table_row(row: Mapping[str, Any]) -> bool:
    return bool({plain(key) for key in row} & {*frames.DOC_NAMES})


def _json_lines(source: Source) -> list[Any]:
    rows: list[Any] = []
    for number, line in enumerate(_decode(source).split("\n"), 1):
        if line.strip():
            try:
                rows.append(loads_ids(line))
            except RepeatedKeyError as error:
                raise InputError(f"{source.name}:{number}: {error}.", path=source.name, line=number) from None
            except ValueError as error:
                raise InputError(
                    f"{source.name}:{number}: this is not JSON: {error}.", path=source.name, line=number
                ) from None
    return rows


def _json(source: Source) -> Any:
    source.check_json()
    content = _decode(source)
    try:
        found = loads_ids(content)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source.name}:{error.lineno}: this is not JSON: {error.msg}.",
            path=source.name,
            line=error.lineno,
        ) from None
    except ValueError as error:
        raise InputError(f"{source.name} cannot be read as JSON: {error}.", path=source.name) from None
    if isinstance(found, Mapping) and not found:
        raise InputError(f"{source.name}: there is nothing in it.", path=source.name)
    return found


def _decode(source: Source) -> str:
    try:
        return trec.decode(without_bom(source.read()))
    except trec.WrongLine as wrong:
        raise InputError(
            f"{source.name}:{wrong.line}: {wrong.message}", path=source.name, line=wrong.line
        ) from None


def _beir_qrels(folder: Path) -> Path:
    place = folder / "qrels" if (folder / "qrels").is_dir() else folder
    splits = sorted(place.glob("*.tsv"))
    chosen = place / "test.tsv"
    if chosen in splits:
        return chosen
    if len(splits) == 1:
        return splits[0]
    raise InputError(
        f"{folder}: several files could hold the judgments ({[s.name for s in splits]}); pass the file itself."
    )
