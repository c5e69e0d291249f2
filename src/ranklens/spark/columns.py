"""Spark DataFrames → the columns query, doc and score or grade; array columns become one row per document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ranklens.data.readers import frames, names
from ranklens.data.readers.judgment_tables import further_columns
from ranklens.data.readers.records import list_column
from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

# Numbers next to an id in an array.
_INSIDE = {"run": ("rank", *names.SCORES, "rating"), "qrels": frames.GRADE_NAMES}
ROW = "row"  # where a row stood, if that decides ties


def run_rows(
    given: DataFrame, columns: Mapping[str, str] | None = None, *, keep_order: bool = False
) -> DataFrame:
    """A run as ``query, doc, score``; a null document stands for an empty list."""
    from pyspark.sql import functions as F  # noqa: N812  as everyone calls it

    rows = _lists(given, "run", columns)
    if rows is None:
        query, doc, number = _named(given, "run", columns)
        score = _number(given, number)
        own = names.Names.of(columns).own if columns else {}
        is_rank = names.plain(number) in names.RANKS or number in own.get("rank", ())
        rows = given.select(
            _text(query, "query"), _text(doc, "doc"), (-score if is_rank else score).alias("score")
        )
    return rows.withColumn(ROW, F.monotonically_increasing_id()) if keep_order else rows


_NOT_ON_A_CLUSTER = {
    "junk": "what is taken out before ranking",
    "evidence": "which documents answer together",
}


def gold_rows(given: DataFrame, columns: Mapping[str, str] | None = None) -> DataFrame:
    """Judgments as ``query, doc, grade``, and ``subtopic`` where there are some; a null document stands for an empty list."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = _lists(given, "qrels", columns)
    if rows is not None:
        return rows
    further = further_columns(given.columns)
    for kind, meaning in _NOT_ON_A_CLUSTER.items():
        if kind in further:
            raise InputError(
                f"qrels: the column {further[kind]} says {meaning}, which judgments on a cluster cannot; collect them first: qrels.toPandas()."
            )
    subtopic = further.get("subtopic")
    plain = given.drop(subtopic) if subtopic else given
    used = _named(plain, "qrels", columns)
    grade = _number(given, used[2]) if len(used) > 2 else F.lit(1.0)
    more = [_text(subtopic, "subtopic")] if subtopic else []
    return given.select(_text(used[0], "query"), _text(used[1], "doc"), grade.alias("grade"), *more)


def has_lists(given: DataFrame) -> bool:
    """Whether a DataFrame holds the documents of a query as an array."""
    return frames.is_spark(given) and any(one.dataType.typeName() == "array" for one in given.schema.fields)


def _named(given: DataFrame, what: str, columns: Mapping[str, str] | None) -> list[str]:
    """The columns of query, document and number, by the rules for any other table."""
    empty = _empty_like(given)
    if columns:
        own = names.Names.of(columns).own
        renamed = {next((n for n in wanted if n in empty.columns), ""): role for role, wanted in own.items()}
        renamed.pop("", None)
        (frames.qrels_frame if what == "qrels" else frames.run_frame)(empty, columns)  # says what is wrong
        used = frames.columns_used(empty.rename(renamed), what)
        back = {role: name for name, role in renamed.items()}
        return [back.get(name, name) for name in used]
    (frames.qrels_frame if what == "qrels" else frames.run_frame)(empty)
    return frames.columns_used(empty, what)


def _empty_like(given: DataFrame) -> pl.DataFrame:
    """A table without rows and with the same columns, for the readers of tables to look at."""
    import polars as pl

    kinds: dict[str, type[pl.DataType] | pl.DataType] = {
        "string": pl.String, "varchar": pl.String, "char": pl.String, "byte": pl.Int8, "short": pl.Int16, "integer": pl.Int32,
        "long": pl.Int64, "float": pl.Float32, "double": pl.Float64, "decimal": pl.Decimal(38, 0), "boolean": pl.Boolean,
        "void": pl.Null, "date": pl.Date, "timestamp": pl.Datetime, "array": pl.List(pl.Null), "binary": pl.Binary,
    }  # fmt: skip
    schema = {one.name: kinds.get(one.dataType.typeName(), pl.Object) for one in given.schema.fields}
    return pl.DataFrame(schema=schema)


def _text(name: str, role: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(_quoted(name)).cast("string").alias(role)


def _quoted(name: str) -> str:
    """A column whose name may hold a dot."""
    return f"`{name}`"


def _number(given: DataFrame, name: str) -> Column:
    """As a float; text that is no number becomes null, which is refused later by query and document."""
    from pyspark.sql import functions as F  # noqa: N812

    if given.schema[name].dataType.typeName() == "string":
        return F.expr(f"try_cast({_quoted(name)} as double)")
    return F.col(_quoted(name)).cast("double")


def _lists(given: DataFrame, what: str, columns: Mapping[str, str] | None) -> DataFrame | None:
    """One row per document, if a column holds all documents of a query as an array; None if none does."""
    from pyspark.sql import functions as F  # noqa: N812

    role = "expected" if what == "qrels" else "retrieved"
    where = names.Names.of(columns)
    arrays = [one.name for one in given.schema.fields if one.dataType.typeName() == "array"]
    for name in where.own.get(role, ()):
        if name not in arrays:
            raise InputError(
                f"columns: {role} should be {name!r}, which is not an array; the columns are {given.columns}."
            )
    column = list_column(arrays, role, where, what)
    if column is None:
        return None
    query = _query_column(given, what, columns)
    number = "grade" if what == "qrels" else "score"
    element = given.schema[column].dataType.elementType
    rows = given.select(_text(query, "query"), F.posexplode_outer(_quoted(column)).alias("place", "one"))
    if element.typeName() != "struct":
        _check_ids(element.typeName(), column, what)
        is_listed = F.when(F.col("place").isNotNull(), 1.0)
        value = is_listed if what == "qrels" else -(F.col("place") + 1).cast("double")
        return rows.select("query", F.col("one").cast("string").alias("doc"), value.alias(number))
    doc, beside = _fields(element, column, what)
    value = F.col(f"one.{_quoted(beside)}").cast("double")
    value = -value if what == "run" and names.plain(beside) == "rank" else value
    return rows.select("query", F.col(f"one.{_quoted(doc)}").cast("string").alias("doc"), value.alias(number))


def _query_column(given: DataFrame, what: str, columns: Mapping[str, str] | None) -> str:
    own = names.Names.of(columns).own.get("query", ())
    # A row is a query here, so that "id" can be nothing else.
    usual = (*names.QUERY_IDS, "query")
    by_plain = {names.plain(name): name for name in given.columns}
    query = next((name for name in own if name in given.columns), None)
    query = query or next((by_plain[name] for name in usual if name in by_plain and not own), None)
    if query is None:
        raise frames.lacking(what, "query", given.columns)
    _check_ids(given.schema[query].dataType.typeName(), query, what)
    return query


def _check_ids(kind: str, name: str, what: str) -> None:
    if kind not in ("string", "byte", "short", "integer", "long", "varchar", "char"):
        raise InputError(
            f"{what}: the ids in column {name!r} are of type {kind}; make them text or integers."
        )


def _fields(element: StructType, column: str, what: str) -> tuple[str, str]:
    """The fields of a document and its number in an array of structs: by name, else the first two."""
    fields: Sequence[str] = element.fieldNames()
    by_plain = {names.plain(name): name for name in fields}
    doc = next((by_plain[name] for name in names.DOCS_INSIDE if name in by_plain), None)
    number = next(
        (by_plain[name] for name in _INSIDE[what] if name in by_plain and by_plain[name] != doc), None
    )
    others = [name for name in fields if name not in (doc, number)]
    doc = doc or next(iter(others), None)
    number = number or next((name for name in others if name != doc), None)
    if doc is None or number is None:
        raise InputError(
            f"{what}: the entries of column {column!r} have the fields {list(fields)}; a document and its number are needed."
        )
    _check_ids(element[doc].dataType.typeName(), f"{column}.{doc}", what)
    return doc, number
