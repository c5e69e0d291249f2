"""Polars, pandas and Arrow tables → Polars frames with the columns query, doc and score or grade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ranklens.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

QUERY_NAMES = (
    "query",
    "query_id",
    "queryid",
    "qid",
    "q_id",
    "topic",
    "topic_id",
    "user",
    "user_id",
    "session_id",
)
DOC_NAMES = [
    "doc",
    "doc_id",
    "docid",
    "docno",
    "did",
    "document",
    "document_id",
    "corpus_id",
    "pid",
    "passage_id",
    "item",
    "item_id",
    "product_id",
    "chunk_id",
]
GRADE_NAMES = ("grade", "relevance", "rel", "label", "rating", "gain", "judgment", "judgement", "score")
SCORE_NAMES = ("score", "sim", "similarity", "prediction", "relevance_score")
RANK_NAMES = ("rank", "position")
_ROLES = ("query", "doc", "score", "rank", "grade")


def is_frame(value: Any) -> bool:
    """Whether ``value`` is a table of some library; found by its methods, so nothing is imported."""
    return any(hasattr(value, name) for name in ("collect_schema", "columns", "column_names"))


def to_polars(value: Any) -> pl.DataFrame:
    """Any table as a Polars frame."""
    import polars as pl

    if isinstance(value, pl.LazyFrame):
        return value.collect()
    if isinstance(value, pl.DataFrame):
        return value
    if type(value).__module__.partition(".")[0] == "pandas":
        return pl.DataFrame({str(name): _pandas_column(value[name]) for name in value.columns}, strict=False)
    return pl.DataFrame(value)


def _pandas_column(column: Any) -> list[Any]:
    """Values with None for what pandas calls missing; NaN stays only where there are numbers."""
    values: list[Any] = column.tolist()
    return values if column.dtype.kind in "iufb" else [None if x is None or x != x else x for x in values]  # noqa: PLR0124


def run_frame(value: Any, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """A run as ``query, doc, score``; a rank without a score becomes the score -rank."""
    import polars as pl

    frame = to_polars(value)
    query, doc = _ids(frame, columns or {}, "run")
    score = _column(frame, columns or {}, "score", SCORE_NAMES)
    rank = _column(frame, columns or {}, "rank", RANK_NAMES)
    if score is None and rank is None:
        raise InputError(f"run: no score or rank among the columns {frame.columns}. {_advice('score')}")
    number = _numbers(frame, score, "run") if score is not None else -_numbers(frame, str(rank), "run")
    return (
        frame.select(query, doc)
        .with_columns(number.alias("score"))
        .pipe(_check_ids, "run")
        .with_columns(pl.col("score").fill_null(float("nan")))
    )


def qrels_frame(value: Any, columns: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Judgments as ``query, doc, grade``; a table of just query and document lists the relevant ones."""
    import polars as pl

    frame = to_polars(value)
    query, doc = _ids(frame, columns or {}, "qrels")
    grade = _column(frame, columns or {}, "grade", GRADE_NAMES)
    if grade is None and len(frame.columns) > 2:
        raise InputError(f"qrels: no grade among the columns {frame.columns}. {_advice('grade')}")
    number = pl.lit(1.0) if grade is None else _numbers(frame, grade, "qrels")
    return frame.select(query, doc).with_columns(number.alias("grade")).pipe(_check_ids, "qrels")


def useful(columns: Sequence[str]) -> list[str]:
    """The columns that may hold a query, a document, a score, a rank or a grade; all, if that leaves too few."""
    known = {*QUERY_NAMES, *DOC_NAMES, *GRADE_NAMES, *SCORE_NAMES}
    plain = {name: _plain(name) for name in columns}
    found = [name for name in columns if plain[name] in known]
    has_number = any(plain[name] in (*SCORE_NAMES, *GRADE_NAMES) for name in found)
    return found if len(found) > 2 and has_number else list(columns)


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def names_grade(table: pl.DataFrame) -> bool:
    """Whether a table has a column that can only be a grade."""
    return _column(table, {}, "grade", GRADE_NAMES[:-1]) is not None


def query_column(table: pl.DataFrame) -> str | None:
    """The column that holds the queries' ids, if one has a usual name."""
    return _column(table, {}, "query", QUERY_NAMES)


def has_documents(table: pl.DataFrame, columns: Mapping[str, str] | None = None) -> bool:
    """Whether a table lists documents, as runs and judgments do."""
    return _column(table, columns or {}, "doc", tuple(DOC_NAMES)) is not None


def ids(table: pl.DataFrame, name: str, what: str) -> pl.Series:
    """A column of ids as text; neither empty nor floating-point."""
    import polars as pl

    if table.schema[name].is_float():
        raise InputError(
            f"{what}: the column {name!r} holds floating-point numbers; make it text or integers."
        )
    if table[name].null_count():
        raise InputError(f"{what}: row {table[name].is_null().arg_true()[0] + 1} has no {name}.")
    return table[name].cast(pl.String)


def by_query(qrels: pl.DataFrame) -> dict[str, list[tuple[str, float]]]:
    """A table of judgments as lists of pairs, so that repeated documents are still seen."""
    found: dict[str, list[tuple[str, float]]] = {}
    for query, doc, grade in qrels.iter_rows():
        found.setdefault(query, []).append((doc, float("nan") if grade is None else grade))
    return found


def _ids(frame: pl.DataFrame, columns: Mapping[str, str], what: str) -> tuple[pl.Expr, pl.Expr]:
    import polars as pl

    found = []
    for role, names in (("query", QUERY_NAMES), ("doc", DOC_NAMES)):
        name = _column(frame, columns, role, tuple(names))
        if name is None:
            raise InputError(f"{what}: no {role} among the columns {frame.columns}. {_advice(role)}")
        if frame.schema[name].is_float():
            raise InputError(
                f"{what}: the {role} column {name!r} holds floating-point numbers; make it text or integers."
            )
        found.append(pl.col(name).cast(pl.String).alias(role))
    return found[0], found[1]


def _column(frame: pl.DataFrame, columns: Mapping[str, str], role: str, names: tuple[str, ...]) -> str | None:
    unknown = next((key for key in columns if key not in _ROLES), None)
    if unknown is not None:
        raise InputError(f"columns: there is no {unknown!r}: {nearest(str(unknown), _ROLES)}")
    if role in columns:
        given = [columns[role]] if isinstance(columns[role], str) else list(columns[role])
        found = next((name for name in given if name in frame.columns), None)
        if found is None:
            raise InputError(
                f"columns: {role} should be {' or '.join(given)}, but the columns are {frame.columns}."
            )
        return found
    plain = {_plain(name): name for name in frame.columns}
    return next((plain[name] for name in names if name in plain), None)


def _numbers(frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    import polars as pl

    column = frame[name]
    numbers = column.cast(pl.Float64, strict=False)
    wrong = numbers.is_null() & column.is_not_null()
    if wrong.any():
        row = wrong.arg_true()[0]
        raise InputError(f"{what}: row {row + 1}: {column[row]!r} in column {name!r} is not a number.")
    return numbers


def _check_ids(frame: pl.DataFrame, what: str) -> pl.DataFrame:
    for role in ("query", "doc"):
        if frame[role].null_count():
            row = frame[role].is_null().arg_true()[0]
            raise InputError(f"{what}: row {row + 1} has no {role}.")
    return frame


def _advice(role: str) -> str:
    return f"Rename the column to {role!r}, or name it: columns={{{role!r}: 'your_column'}}."
