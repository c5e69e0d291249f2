"""Files and folders → what :func:`ranklens.judge` takes; the format is recognised by suffix and content.

==============  =================================================================================================
trec            judgments ``query iteration document grade``, runs ``query Q0 document rank score tag``; judgments whose
                second field differs within a query are read as trec-diversity; judgments of sampled pools have five fields:
                ``query 0 document stratum grade`` or ``query document grade method probability``, and those by models
                six: ``query Q0 document grade confidence run``
trec-diversity  judgments ``query subtopic document grade``
msmarco         runs ``query document rank`` (its judgments are trec)
csv, tsv        tables with a header
jsonl, json     one object per line; a dict of dicts or a list of objects
parquet         a file, a folder or a glob
delta, iceberg  the folder of a table, read through its log by deltalake or pyiceberg
beir            a folder with ``qrels/test.tsv``
svmlight        ``grade qid:7 1:0.3 … # document``; the run is a file with one score per line
==============  =================================================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import partial
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ranklens.data.files import samples, tables, trec
from ranklens.data.files.forking import polars_is_used
from ranklens.data.files.json_files import json_document, json_lines
from ranklens.data.files.parts import is_in_parts, one_after_the_other, part_files
from ranklens.data.files.recognition import locate, refuse_judgments, refuse_run
from ranklens.data.files.remote import is_scanned, scan
from ranklens.data.files.sources import PathLike, Source, open_source
from ranklens.data.files.streams import TableStream
from ranklens.data.files.systems import OneSystem, chosen_system, systems_in, systems_of_scan
from ranklens.data.files.traced import traced_runs
from ranklens.data.readers import frames, judgment_tables, mappings
from ranklens.data.readers.cells import lists_questions, with_lists
from ranklens.data.readers.names import USUAL, Names, plain
from ranklens.errors import InputError, errors_in
from ranklens.words import brief

if TYPE_CHECKING:
    import polars as pl

Half = Literal["golden", "log"]

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
    """The same, where :func:`locate` has found the file and its format; with subtopics, if there is a column of them."""
    read = _judgments_in(place, kind, names)
    return read if isinstance(read, dict) else judgment_tables.of_rows(read)


def _judgments_in(place: PathLike, kind: str, names: Names) -> Any:
    if kind == "beir":
        place, kind = open_source(_beir_qrels(Path(str(place)))), "tsv"
    convert = partial(judgment_tables.rows_of, columns=names.columns, complete=True)
    if kind == "parquet" or is_scanned(place, kind):
        golden = _records_of_table(place, kind, names, "golden")
        return _whole(_stream_typed(place, kind, convert, names=names)) if golden is None else golden
    if is_in_parts(place):
        return _whole(_stream_parts(place, kind, convert, "golden", names))
    source = open_source(place)
    if kind in ("trec", "trec-diversity", "msmarco"):
        return _trec_judgments(source, kind)
    if kind == "svmlight":
        from ranklens.data.files import svmlight

        return svmlight.read_qrels(source)
    return _whole(_stream_table(source, kind, convert, "golden", names))


def _trec_judgments(source: Source, kind: str) -> Any:
    if trec.has_confidences(source):
        return trec.read_fields(source, trec.TREC_LABELS, {"query": False, "doc": False, "grade": True})
    refuse_run(source)
    if kind == "trec-diversity" or (kind == "trec" and trec.has_subtopics(source)):
        names = ("query", "subtopic", "doc", "grade")
        return trec.read_fields(source, names, {name: name == "grade" for name in names}).select(names)
    fields = trec.first_fields(source)
    if len(fields) == samples.FIELDS:
        return samples.read_strata(source) if fields[1] in samples.ITERATIONS else samples.read_prels(source)
    return trec.read_short_judgments(source) or trec.read_fields(
        source, trec.TREC_QRELS, {"query": False, "doc": False, "grade": True}
    )


def read_intents(path: PathLike) -> dict[str, dict[str, float]]:
    """The probability of each subtopic of a query, from lines ``query subtopic probability``."""
    names = ("query", "subtopic", "probability")
    by_query: dict[str, dict[str, float]] = {}
    rows = trec.read_fields(open_source(path), names, {name: name == "probability" for name in names})
    for query, subtopic, probability in rows.iter_rows():
        by_query.setdefault(query, {})[subtopic] = probability
    return by_query


def read_properties(path: PathLike) -> pl.DataFrame:
    """Properties of documents from a table; columns that hold numbers only are numbers, but for ids and groups."""
    import polars as pl

    place, kind = locate(path, None, "qrels")
    if kind not in ("csv", "tsv", "jsonl", "parquet"):
        raise InputError(f"{path}: properties of documents are read from CSV, TSV, JSONL and Parquet.")
    table = read_table(place, kind)
    ids = {frames.doc_column(table), "group"}
    for column in (one for one in table if one.dtype == pl.String and one.name not in ids):
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() == column.null_count():
            table = table.with_columns(numbers)
    return table


def run_in(
    place: PathLike, kind: str, *, ranks: bool = False, names: Names = USUAL, system: str | None = None
) -> Any:
    """A run as a stream of tables ``query, doc, score`` where its format allows that, else as a table or a dict.

    :func:`locate` has found the file and its format. With ``ranks``, a rank column next to the scores is kept, with null for
    anything that is not a number. ``system`` chooses the rows of one system, where a column says whose they are.
    """
    name = place.name if isinstance(place, Source) else str(place)
    read = partial(frames.run_frame, columns=names.columns, ranks=ranks)
    convert = OneSystem(read, name, system, columns=names.columns)
    if kind == "parquet" or is_scanned(place, kind):
        log = _records_of_table(place, kind, names, "log", system)
        return _stream_typed(place, kind, convert, ranks=ranks, names=names) if log is None else log
    if is_in_parts(place):
        complete = OneSystem(partial(read, complete=True), name, system, columns=names.columns)
        return _stream_parts(place, kind, complete, "log", names)
    if kind in ("svmlight", "beir", "trec-diversity"):
        raise InputError(
            f"{name}: a run cannot be read as {kind}; give scores, one per line, with svmlight judgments."
        )
    source = open_source(place)
    if kind == "trec":
        refuse_judgments(source)
        few = None if ranks else trec.read_short_run(source)
        rows = trec.stream_fields(
            source, trec.TREC_RUN, _TREC_RUN_FIELDS | ({"rank": False} if ranks else {})
        )
        return few or (rows.then(read) if ranks else rows)
    if kind == "msmarco":

        def ranked(table: pl.DataFrame) -> pl.DataFrame:
            """Some tools write scores where MS MARCO has ranks: read as ranks, they would reverse every ranking."""
            odd = table.filter(table["rank"] != table["rank"].round())
            if len(odd):
                query, doc, rank = odd.row(0)
                raise InputError(
                    f"{name}: the third field of document {doc!r} for query {query!r} is {rank:g}, not a rank. If it is a score, add a header line 'query doc score' separated by tabs, and rename the file to .tsv."
                )
            return frames.run_frame(table)

        return trec.stream_fields(source, ("query", "doc", "rank"), _MSMARCO_FIELDS).then(ranked)
    runs = traced_runs(source, kind, names)
    if runs:
        return chosen_system(runs, name, system)
    complete = OneSystem(partial(read, complete=True), name, system, columns=names.columns)
    return _stream_table(source, kind, complete, "log", names)


def _scan_table(place: PathLike, kind: str) -> pl.LazyFrame | None:
    """A table whose columns have types, to be read; None for other formats."""
    if is_scanned(place, kind):
        return scan(str(place), kind)
    if kind != "parquet" or (isinstance(place, Source) and place.packing):
        return None
    from ranklens.data.files.parquet import scan_parquet

    return scan_parquet(place)


def _records_of_table(
    place: PathLike, kind: str, names: Names, half: Half, system: str | None = None
) -> Mapping[str, object] | None:
    """A golden set or a log from a table with one row per question and its documents as a list; None if it has other rows."""
    from ranklens.data.readers import records

    table = _scan_table(place, kind)
    of_records = None if table is None else records.names_of_records(table, half, names)
    if table is None or of_records is None:
        return None
    name = place.name if isinstance(place, Source) else str(place)
    rows = OneSystem(frames.to_polars, name, system)(table.collect())
    with errors_in(name):
        return _read_records(with_lists(rows.to_dicts(), of_records), half, of_records)


def _read_records(rows: Iterable[object], half: Half, names: Names) -> Mapping[str, object]:
    from ranklens.data.readers.golden_and_logs import read_golden, read_log

    return (read_golden if half == "golden" else read_log)(rows, names)


def scanned_columns(place: PathLike) -> list[str]:
    """The columns of a Parquet file; none if it is packed once more."""
    table = _scan_table(place, "parquet")
    return [] if table is None else frames.column_names(table)


def may_hold_records(source: Source, kind: str) -> bool:
    """Whether the first lines are those of records about questions; a JSON document always may be."""
    return kind == "json" or _holds_records(source)


def systems(path: PathLike, kind: str) -> list[str]:
    """The systems that a column names in a table; none in other formats, which have no columns."""

    def names_systems(file: PathLike) -> bool:
        """Whether the first line says that there is a column of systems."""
        head = open_source(file).head()
        if kind == "jsonl":
            return b'"system"' in head.partition(b"\n")[0].lower()
        return frames.SYSTEM in map(plain, tables.header(head, tables.separator_of(head, kind)))

    with errors_in(str(path)):
        if (table := _scan_table(path, kind)) is not None:
            return systems_of_scan(table)
        if (
            kind in ("json", "jsonl")
            and not is_in_parts(path)
            and (runs := traced_runs(open_source(path), kind))
        ):
            return list(runs)
        if kind not in ("csv", "tsv", "jsonl"):
            return []
        files = part_files(path, kind) if is_in_parts(path) else [path]
        if any(map(names_systems, files)):
            return systems_in(stream_table(path, kind))
        return []


def read_run(path: PathLike, format: str | None = None) -> Any:  # noqa: A002
    """A run from a file, as a table ``query, doc, score`` or a dict."""
    return _whole(run_in(*locate(path, format, "run")))


def stream_table(path: PathLike, kind: str) -> Any:
    """A table with all its columns, as text where the format does not know types; a dict where it holds records."""
    if is_scanned(path, kind):
        return _stream_scan(str(path), kind, lambda table: table)
    if kind != "parquet" and is_in_parts(path):
        return one_after_the_other(path, kind, partial(stream_table, kind=kind))
    if kind == "jsonl" and _holds_records(open_source(path)):
        return _stream_table(open_source(path), kind, lambda table: table, "golden", USUAL)
    if kind == "parquet":
        return _stream_parquet(path, lambda table: table, whole=True)
    return tables.stream_table(open_source(path), kind, lambda table: table, all_keys=True)


def read_table(path: PathLike, kind: str) -> pl.DataFrame:
    """A table with all its columns, as text where the format does not know types."""
    if is_scanned(path, kind):
        return scan(str(path), kind).collect()
    if kind == "parquet":
        return _as_one(_stream_parquet(path, lambda table: table, whole=True))
    return _as_one(tables.stream_table(open_source(path), kind, lambda table: table, all_keys=True))


def as_table(read: object, number: str) -> pl.DataFrame:
    """What :func:`read_qrels` or :func:`read_run` gives, as a table ``query, doc`` and the number."""
    import polars as pl

    polars_is_used()

    if not isinstance(read, Mapping):
        table: pl.DataFrame = _whole(read)
        return table
    listed = mappings.judgments(read) if number == "grade" else mappings.rankings(read)
    rows: list[tuple[str, str, float]] = []
    for query, docs in listed.by_query.items():
        for doc, given in docs.items():
            value = mappings.as_number(given) if isinstance(given, (Real, str)) else None
            if value is None:
                raise _not_a_number(given, number, query, doc)
            rows.append((str(query), str(doc), value))
    return pl.DataFrame(rows, schema={"query": pl.String, "doc": pl.String, number: pl.Float64}, orient="row")


def _not_a_number(value: object, name: str, query: object, doc: object) -> InputError:
    shown, of = brief(repr(value), 60), brief(repr(doc))
    return InputError(f"the {name} of document {of} for query {brief(repr(query))} is {shown}, not a number.")


def _stream_parts(
    path: str | os.PathLike[str], kind: str, convert: tables.Convert, half: Half, names: Names
) -> TableStream:
    return one_after_the_other(
        path, kind, lambda file: _stream_table(open_source(file), kind, convert, half, names)
    )


def _stream_typed(
    place: PathLike, kind: str, convert: tables.Convert, *, names: Names, ranks: bool = True
) -> TableStream:
    if is_scanned(place, kind):
        return _stream_scan(str(place), kind, convert)
    return _stream_parquet(place, convert, ranks=ranks, whole=bool(names.columns))


def _stream_scan(address: str, kind: str, convert: tables.Convert) -> TableStream:
    from ranklens.data.files.pieces import stream_scan

    return stream_scan(address, scan(address, kind), convert)


def _stream_parquet(place: PathLike, convert: tables.Convert, **options: bool) -> TableStream:
    from ranklens.data.files.parquet import stream_parquet

    if isinstance(place, Source) and place.packing:
        raise InputError(f"{place.name}: a Parquet file is compressed inside; unpack it first.")
    return stream_parquet(
        place, convert, **options
    )  # a source, as long as it is there, keeps a temporary copy


def _whole(read: object) -> Any:
    """A stream as one table, everything else as it is."""
    return _as_one(read) if isinstance(read, TableStream) else read


def _as_one(stream: TableStream) -> pl.DataFrame:
    import polars as pl

    return pl.concat(stream, how="diagonal_relaxed")


def _stream_table(source: Source, kind: str, convert: tables.Convert, half: Half, names: Names) -> Any:
    """``half`` says what is wanted from records, which may hold judgments, a run or both."""
    if kind in ("csv", "tsv"):
        return _stream_delimited(source, kind, convert, half, names)
    if kind == "jsonl" and not _holds_records(source, names):
        return tables.stream_table(source, kind, partial(_with_name, source, convert))
    from ranklens.data.readers.records import unwrapped

    read = json_lines(source) if kind == "jsonl" else json_document(source)
    with errors_in(source.name):
        rows = unwrapped(read, names)
    if isinstance(rows, Mapping):
        for query, docs in rows.items():
            texts = docs.items() if isinstance(docs, dict) and str in set(map(type, docs.values())) else ()
            for doc, value in texts:  # Python alone would take some of them for numbers
                if isinstance(value, str) and mappings.as_number(value) is None:
                    with errors_in(source.name):
                        raise _not_a_number(value, "grade" if half == "golden" else "score", query, doc)
        return rows
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{source.name}: expected objects with the keys query, doc and a number.")
    with errors_in(source.name):
        if not frames.has_documents_among(rows[0]) or _is_record(rows[0], names):
            return _read_records(rows, half, names)
        try:
            return convert(tables.frame_of_rows(rows))
        except UnicodeEncodeError as error:
            raise InputError(f"{source.name}: {error}") from None


def _stream_delimited(source: Source, kind: str, convert: tables.Convert, half: Half, names: Names) -> Any:
    """A table of documents block by block, or one of questions as a whole."""
    head = source.head()
    separator = tables.separator_of(head, kind)
    if lists_questions(tables.header(head, separator), half, names):
        rows = _as_one(tables.stream_table(source, kind, lambda table: table)).to_dicts()
        with errors_in(source.name):
            return _read_records(with_lists(rows, names), half, names)
    if separator == ";":
        convert = partial(
            tables.with_points, (*names.own.get("score", ()), *names.own.get("grade", ())), convert
        )
        return tables.stream_table(source, kind, partial(_with_name, source, convert))
    numbers = frames.SCORE_NAMES if half == "log" and not names.columns else ()
    return tables.stream_table(source, kind, partial(_with_name, source, convert), numbers=numbers)


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
            return _is_record(row, names)
    return False


def _is_record(row: Mapping[str, object], names: Names) -> bool:
    from ranklens.data.readers import records

    if frames.has_documents_among(row):  # which may be the source of a question that lists others
        return records.lists_documents(row, names)
    # A row without a document is a record, if perhaps one that does not say what it should.
    return "doc" not in names.own or records.is_record(row, names)


def _beir_qrels(folder: Path) -> Path:
    place = folder / "qrels" if (folder / "qrels").is_dir() else folder
    splits = sorted(place.glob("*.tsv"))
    chosen = place / "test.tsv"
    if chosen in splits:
        return chosen
    if len(splits) == 1:
        return splits[0]
    raise InputError(
        f"{folder}: several files could be the judgments ({[s.name for s in splits]}); pass the file itself."
    )
