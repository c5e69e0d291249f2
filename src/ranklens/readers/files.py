"""Files and folders → what :func:`ranklens.judge` takes; the format is recognised by suffix and content.

===========  ====================================================================================================
trec         judgments ``query iteration document grade``, runs ``query Q0 document rank score tag``
msmarco      runs ``query document rank`` (its judgments are trec)
csv, tsv     tables with a header
jsonl, json  one object a line; a dict of dicts or a list of objects
parquet      a file, a folder or a glob
beir         a folder with ``qrels/test.tsv``
svmlight     ``grade qid:7 1:0.3 … # document``; the run is a file with one score a line
===========  ====================================================================================================
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError, nearest
from ranklens.readers import frames, records, text
from ranklens.readers.ahead import ahead
from ranklens.readers.sources import PathLike, Source, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

_PIECE = 1 << 19  # rows of a Parquet file read at a time
FORMATS = ("trec", "msmarco", "csv", "tsv", "jsonl", "json", "parquet", "beir", "svmlight")

_BY_SUFFIX = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet", ".svm": "svmlight",
              ".svmlight": "svmlight", ".letor": "svmlight"}  # fmt: skip
_KNOWN_COLUMNS = {*frames.QUERY_NAMES, *frames.DOC_NAMES}


def read_qrels(path: PathLike, format: str | None = None) -> Any:  # noqa: A002  the name users expect
    """Judgments from a file, as a table ``query, doc, grade`` or a dict."""
    place, kind = _recognise(path, format, "qrels")
    if kind == "beir":
        place, kind = _beir_qrels(Path(path)), "tsv"
    if kind == "parquet":
        return frames.qrels_frame(_parquet(path))
    source = place if isinstance(place, Source) else open_source(place)
    if kind in ("trec", "msmarco"):
        _refuse_run(source)
        frame = text.read_fields(source, text.TREC_QRELS, {"query": False, "document": False, "grade": True})
        return frame.rename({"document": "doc"})
    if kind == "svmlight":
        return _svmlight(source)
    return _table(source, kind, frames.qrels_frame, 0)


@dataclass(frozen=True)
class RunStream:
    """A run, table after table ``query, doc, score``; can be walked more than once."""

    tables: Callable[[], Iterator[pl.DataFrame]]

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return self.tables()


def stream_run(path: PathLike, format: str | None = None) -> Any:  # noqa: A002
    """A run to be read piece by piece where its format allows that, else as :func:`read_run` gives it."""
    place, kind = _recognise(path, format, "run")
    if kind == "parquet":
        return RunStream(lambda: _parquet_pieces(path))
    if kind != "trec" or not isinstance(place, Source):
        return read_run(path, format)
    stream = text.FieldStream(place, text.TREC_RUN, {"query": False, "document": False, "score": True})
    return RunStream(lambda: (table.rename({"document": "doc"}) for table in stream))


def _parquet_pieces(path: PathLike) -> Iterator[pl.DataFrame]:
    scan, rows = _scan_parquet(path)
    pieces = (scan.slice(start, _PIECE) for start in range(0, max(rows, 1), _PIECE))
    return (frames.run_frame(piece) for piece in ahead(piece.collect for piece in pieces))


def read_run(path: PathLike, format: str | None = None) -> Any:  # noqa: A002
    """A run from a file, as a table ``query, doc, score`` or a dict."""
    place, kind = _recognise(path, format, "run")
    if kind == "parquet":
        return frames.run_frame(_parquet(path))
    source = place if isinstance(place, Source) else open_source(place)
    if kind == "trec":
        frame = text.read_fields(source, text.TREC_RUN, {"query": False, "document": False, "score": True})
        return frame.rename({"document": "doc"})
    if kind == "msmarco":
        frame = text.read_fields(
            source, ("query", "document", "rank"), {"query": False, "document": False, "rank": True}
        )
        return frames.run_frame(frame)
    if kind in ("svmlight", "beir"):
        raise InputError(
            f"{path}: a run cannot be read as {kind}; give scores, one a line, beside svmlight judgments."
        )
    return _table(source, kind, frames.run_frame, 1)


def read_pair(qrels: PathLike, run: PathLike, qrels_format: str | None = None) -> tuple[Any, Any]:
    """Judgments and run from two files; a run of bare scores belongs to svmlight judgments, line by line."""
    place, kind = _recognise(qrels, qrels_format, "qrels")
    if kind != "svmlight":
        return read_qrels(qrels, qrels_format), stream_run(run)
    import polars as pl

    judged = _svmlight(place if isinstance(place, Source) else open_source(place))
    scores = text.read_fields(open_source(run), ("score",), {"score": True})
    if len(scores) != len(judged):
        raise InputError(
            f"{run} holds {len(scores)} scores, but {qrels} {len(judged)} documents; give one score a line."
        )
    return judged, judged.select("query", "doc").with_columns(pl.Series("score", scores["score"]))


def read_table(path: PathLike, kind: str) -> pl.DataFrame:
    """A table with all its columns, as text where the format does not know types."""
    import polars as pl

    if kind == "parquet":
        return _parquet(path, whole=True)
    source = open_source(path)
    try:
        if kind == "jsonl":
            return pl.read_ndjson(source.for_polars(), infer_schema_length=None)
        separator, quote = (",", '"') if kind == "csv" else ("\t", None)
        return pl.read_csv(source.for_polars(), separator=separator, quote_char=quote, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{source.name} cannot be read as {kind}: {str(error).splitlines()[0]}") from None


def recognise(path: PathLike, what: str) -> str:
    """The format of a file of judgments (``"qrels"``) or a run."""
    return _recognise(path, None, what)[1]


def _recognise(path: PathLike, given: str | None, what: str) -> tuple[Source | PathLike, str]:
    """What to read, and its format."""
    if given is not None and given not in FORMATS:
        raise InputError(f"there is no format {given!r}: {nearest(given, FORMATS)}")
    place = Path(path)
    if str(path) != "-" and (place.is_dir() or "*" in str(path)):
        has_qrels = (place / "qrels").is_dir() or any(place.glob("*.tsv"))
        return path, given or ("beir" if has_qrels else "parquet")
    source = open_source(path)
    return source, given or _BY_SUFFIX.get(source.suffix) or _by_content(source, what)


def _by_content(source: Source, what: str) -> str:
    head = source.head().lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"{", b"[")):
        first_line = head.partition(b"\n")[0].strip()
        return (
            "jsonl"
            if first_line.startswith(b"{") and first_line.endswith(b"}") and _is_row(first_line)
            else "json"
        )
    fields = text.first_fields(source)
    if len(fields) > 1 and fields[1].startswith("qid:"):
        return "svmlight"
    plain = {re.sub(r"[-\s]", "_", name.lower()) for name in _split_header(source)}
    if len(plain & _KNOWN_COLUMNS) >= 2:
        return "tsv" if b"\t" in head.partition(b"\n")[0] else "csv"
    return "msmarco" if what == "run" and len(fields) == 3 else "trec"


def _is_row(line: bytes) -> bool:
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return not all(isinstance(value, (dict, list)) for value in row.values())


def _split_header(source: Source) -> list[str]:
    line = source.head().decode("utf-8-sig", errors="replace").partition("\n")[0].strip()
    return line.split("\t" if "\t" in line else ",")


def _refuse_run(source: Source) -> None:
    fields = text.first_fields(source)
    if len(fields) == 6 and fields[1].upper() == "Q0":
        raise InputError(
            f"{source.name} looks like a run (six fields, the second is Q0); the judgments come first."
        )


def _table(source: Source, kind: str, convert: Callable[[Any], pl.DataFrame], side: int) -> Any:
    import polars as pl

    rows: Any
    try:
        if kind in ("csv", "tsv"):
            separator, quote = (",", '"') if kind == "csv" else ("\t", None)
            return convert(
                pl.read_csv(source.for_polars(), separator=separator, quote_char=quote, infer_schema=False)
            )
        if kind == "jsonl":
            rows = [
                json.loads(line) for line in source.read().decode("utf-8-sig").splitlines() if line.strip()
            ]
        else:
            rows = json.loads(source.read().decode("utf-8-sig"))
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
    except (ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{source.name} cannot be read as {kind}: {str(error).splitlines()[0]}") from None
    if isinstance(rows, dict):
        return rows
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{source.name}: expected one object a line, with the keys query, doc and a number.")
    if {re.sub(r"-", "_", key.lower()) for key in rows[0]} & {*frames.DOC_NAMES}:
        return convert(pl.DataFrame(rows, infer_schema_length=None, strict=False))
    return records.from_records(rows)[side]


def _parquet(path: PathLike, *, whole: bool = False) -> pl.DataFrame:
    return _scan_parquet(path, whole=whole)[0].collect()


def _scan_parquet(path: PathLike, *, whole: bool = False) -> tuple[pl.LazyFrame, int]:
    """The columns that judging may need, or all of them; and the number of rows."""
    import polars as pl

    place = f"{path}/**/*.parquet" if Path(path).is_dir() else str(path)
    try:
        scan = pl.scan_parquet(place)
        names = scan.collect_schema().names()
        return scan.select(names if whole else frames.useful(names)), scan.select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path} cannot be read as parquet: {str(error).splitlines()[0]}") from None


def _beir_qrels(folder: Path) -> Path:
    place = folder / "qrels" if (folder / "qrels").is_dir() else folder
    splits = sorted(place.glob("*.tsv"))
    chosen = place / "test.tsv"
    if chosen in splits:
        return chosen
    if len(splits) == 1:
        return splits[0]
    raise InputError(
        f"{folder}: which of {[s.name for s in splits]} holds the judgments? Give the file itself."
    )


_SVMLIGHT = re.compile(r"^\s*([-+]?\d+(?:\.\d*)?)\s+qid:(\S+)[^#]*(?:#\s*(.*?)\s*)?$")


def _svmlight(source: Source) -> pl.DataFrame:
    import polars as pl

    rows: list[tuple[str, str, float]] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(source.read().decode("utf-8-sig", errors="replace").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _SVMLIGHT.match(line)
        if not match:
            raise InputError(
                f"{source.name}:{number}: expected 'grade qid:… features # document': {line[:60]!r}."
            )
        grade = float(match[1])
        query = match[2]
        counts[query] = counts.get(query, 0) + 1
        document = re.sub(r"^docid\s*=\s*", "", match[3] or "").split()
        rows.append((query, document[0] if document else str(counts[query]), grade))
    schema = {"query": pl.String, "doc": pl.String, "grade": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")
