"""Polars, pandas and Arrow tables → Polars frames with the columns query, doc and score or grade."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager, suppress
from math import isnan
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any, TypeAlias

from ranklens.data.readers import names
from ranklens.data.readers.mappings import is_nothing
from ranklens.data.readers.names import Names, plain
from ranklens.errors import InputError, InPython, errors_in, polars_failures
from ranklens.words import either, several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import polars as pl

QUERY_NAMES = names.QUERY_COLUMNS
DOC_NAMES = names.DOCS
GRADE_NAMES = (*names.GRADES, "score")
SCORE_NAMES = names.SCORES
RANK_NAMES = names.RANKS
SYSTEM = "system"  # a column that says whose row it is


Columns: TypeAlias = "Mapping[str, str | Sequence[str]]"


class RowError(InputError):
    """Something is wrong with a row, counted from 0; callers that know the file add the line."""

    def __init__(self, what: str, row: int, message: str) -> None:
        super().__init__(f"{what}: row {row + 1}: {message}")
        self.row, self.message = row, message


def converted(name: str, start: int, convert: Callable[[], pl.DataFrame]) -> pl.DataFrame:
    """What becomes of the rows from ``start`` on; errors say where they are, and in which table."""
    with errors_in(name):
        try:
            return convert()
        except RowError as wrong:
            raise InputError(f"{name}: row {start + wrong.row + 1:,}: {wrong.message}") from None


def is_frame(value: object) -> bool:
    """Whether ``value`` is a table of some library; found by its methods, so nothing is imported."""
    # Of its class: pandas takes long to say no, and a LazyFrame to tell its columns.
    return any(hasattr(type(value), name) for name in ("collect_schema", "columns", "column_names"))


def is_table(value: object) -> bool:
    """The same, for values that may also be a dict of a user, whose methods may have any names."""
    return not isinstance(value, Mapping) and is_frame(value)


def is_spark(value: object) -> bool:
    """Whether ``value`` is a DataFrame on a Spark cluster, classic or through Spark Connect."""
    return hasattr(type(value), "mapInArrow")


def refuse_spark(value: object) -> None:
    """Where rows are needed on this machine."""
    if is_spark(value):
        raise InputError(
            "This is a Spark DataFrame, which only ranklens.evaluate and ranklens.compare take; collect what you need of it first: .toPandas()."
        )


def column_names(value: Any) -> list[str]:
    """The names of a table's columns, of whatever library it is."""
    if hasattr(value, "column_names"):  # Arrow
        return [str(name) for name in value.column_names]
    if hasattr(value, "collect_schema"):
        with _readable():  # the steps of a LazyFrame may not fit together
            return list(value.collect_schema().names())
    return [str(name) for name in value.columns]


def list_columns(value: object) -> list[str]:
    """The columns of a table, of whatever library it is, that hold lists."""
    import polars as pl

    schema = value.collect_schema() if isinstance(value, pl.LazyFrame) else to_polars(value).schema
    return [name for name, kind in schema.items() if isinstance(kind, (pl.List, pl.Array))]


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except polars_failures() as error:
        reason = next(iter(str(error).splitlines()), "")
        raise InputError(f"The LazyFrame cannot be read: {reason}") from None


def to_polars(value: Any) -> pl.DataFrame:
    """Any table as a Polars frame."""
    import polars as pl

    if isinstance(value, pl.LazyFrame):
        with _readable():
            return value.collect()
    refuse_spark(value)
    if isinstance(value, pl.DataFrame):
        return value
    given = column_names(value)
    if len({*given}) < len(given):
        twice = next(name for name in given if given.count(name) > 1)
        raise InputError(f"Two columns are called {twice!r}; drop or rename one.")
    if type(value).__module__.partition(".")[0] == "pandas":
        return pl.DataFrame({str(name): _pandas_column(value[name]) for name in value.columns}, strict=False)
    try:
        return pl.DataFrame(value)
    except (TypeError, ValueError):
        kind = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
        raise InputError(
            f"A {kind} is not read; collect its rows first (.compute(), .to_pandas() or .to_arrow(), whatever {kind} calls it)."
        ) from None


def _pandas_column(column: Any) -> pl.Series | list[object]:
    """Values with null for what pandas calls missing; NaN stays only among numbers.

    Polars' own conversion makes no Python object for each value; what it cannot convert, such as ids of several types, goes
    through a list.
    """
    import polars as pl

    if column.dtype.kind in "iufb" and type(column.dtype).__module__.partition(".")[0] == "numpy":
        return pl.Series(column.to_numpy())
    with suppress(ImportError, ValueError, TypeError, ArithmeticError):
        converted_column: pl.Series = pl.from_pandas(column)  # type: ignore[assignment]  # a column gives a Series
        if converted_column.dtype.is_numeric() or converted_column.dtype in (
            pl.String,
            pl.Categorical,
            pl.Enum,
            pl.Boolean,
        ):
            return converted_column
    import numpy as np

    values: list[Any] = [None if is_nothing(value) else value for value in column.tolist()]
    return whole_among_text([value.tolist() if isinstance(value, np.ndarray) else value for value in values])


def whole_among_text(values: list[object]) -> list[object]:
    """Whole numbers for those that end with .0, where there is text among them: 7, 7.0 and "7" are the same document.

    >>> whole_among_text([7.0, "x", None]), whole_among_text([7.0, 7.5])
    ([7, 'x', None], [7.0, 7.5])
    """
    if not any(isinstance(value, str) for value in values):
        return values
    return [
        int(float(value))
        if isinstance(value, Real) and not isinstance(value, Rational) and float(value).is_integer()
        else value
        for value in values
    ]


def run_frame(
    value: object, columns: Columns | None = None, *, complete: bool = False, ranks: bool = False
) -> pl.DataFrame:
    """A run as ``query, doc, score``; a rank without a score becomes the score -rank.

    A missing score is not a number, or with ``complete`` an error. With ``ranks``, a rank next to a score is kept as
    ``rank``, with null for anything that is not a number.
    """
    import polars as pl

    frame = to_polars(value)
    query, doc = _ids(frame, columns or {}, "run")
    score = _column(frame.columns, columns or {}, "score", SCORE_NAMES)
    rank = _column(frame.columns, columns or {}, "rank", RANK_NAMES)
    if score is None and rank is None:
        raise lacking("run", "score", frame.columns, "score or rank")
    name = str(rank) if score is None else score
    number = _numbers(frame, name, "run", complete=complete).alias("score")
    number = -number if score is None else number
    number = number.fill_null(float("nan")) if number.null_count() else number
    columns_read = [query, doc, number]
    if ranks and score and rank:
        try:
            beside = frame[rank].cast(pl.Float64, strict=False)
        except pl.exceptions.InvalidOperationError:  # lists, bytes
            beside = pl.repeat(None, len(frame), dtype=pl.Float64, eager=True)
        columns_read.append(beside.alias("rank"))
    return _check_ids(pl.DataFrame(columns_read), "run")


def qrels_frame(value: object, columns: Columns | None = None, *, complete: bool = False) -> pl.DataFrame:
    """Judgments as ``query, doc, grade``; a table of just query and document lists the relevant ones.

    With ``complete``, a missing grade is an error.
    """
    import polars as pl

    frame = to_polars(value)
    query, doc = _ids(frame, columns or {}, "qrels")
    grade = _column(frame.columns, columns or {}, "grade", GRADE_NAMES)
    if grade is None and len(frame.columns) > 2:
        raise lacking("qrels", "grade", frame.columns)
    if grade is not None and plain(grade) == "score" and _column(frame.columns, {}, "rank", RANK_NAMES):
        raise InputError(f"qrels: the columns {frame.columns} are those of a run; pass the judgments first.")
    if grade is None:
        number = pl.repeat(1.0, len(frame), eager=True)
    else:
        number = _numbers(frame, grade, "qrels", complete=complete)
    return _check_ids(pl.DataFrame([query, doc, number.alias("grade")]), "qrels")


def ordered_by(table: object, columns: Columns | None = None) -> str:
    """Whether a table says by ``score`` which document is better, or by ``rank`` alone."""
    return "rank" if _column(column_names(table), columns or {}, "score", SCORE_NAMES) is None else "score"


def useful(columns: Sequence[str], *, ranks: bool) -> list[str]:
    """The columns that may hold a query, a document, a score, a grade, a rank, or what else judgments may know; all, if that leaves too few."""
    in_short = {name: plain(name) for name in columns}
    ranks = ranks or {*in_short.values()}.isdisjoint(SCORE_NAMES)  # then a rank decides
    known = {*QUERY_NAMES, *DOC_NAMES, *GRADE_NAMES, *SCORE_NAMES, *(RANK_NAMES if ranks else ())}
    besides = {*_beside_questions(in_short.values()), SYSTEM, *names.SUBTOPICS, *names.EVIDENCE, *names.JUNK}
    wanted = [name for name in columns if in_short[name] in known | besides]
    has_number = any(in_short[name] in (*SCORE_NAMES, *GRADE_NAMES) for name in wanted)
    enough = len([name for name in wanted if in_short[name] not in besides]) > 2
    return wanted if enough and has_number else list(columns)


def names_grade(table: pl.DataFrame) -> bool:
    """Whether a table has a column that can only be a grade."""
    return _column(table.columns, {}, "grade", GRADE_NAMES[:-1]) is not None


def query_column(table: pl.DataFrame) -> str | None:
    """The column that holds the queries' ids, if one has a usual name."""
    return _column(table.columns, {}, "query", _query_names(table.columns))


def doc_column(table: pl.DataFrame) -> str | None:
    """The column that holds the documents' ids, if one has a usual name."""
    return _column(table.columns, {}, "doc", (*DOC_NAMES, "id", "_id"))


def system_column(table: object) -> str | None:
    """The column that says which system a row belongs to, if there is one."""
    return next((name for name in column_names(table) if plain(name) == SYSTEM), None)


def has_documents(table: object, columns: Columns | None = None) -> bool:
    """Whether a table of any library lists documents, as runs and judgments do."""
    return _column(column_names(table), columns or {}, "doc", DOC_NAMES) is not None


def has_documents_among(names: Iterable[Any]) -> bool:
    """Whether one of these names is usual for the id of a document.

    >>> has_documents_among(["queryId", "docId"]), has_documents_among(["question", "retrieved"])
    (True, False)
    """
    return bool({plain(name) for name in names if isinstance(name, str)} & {*DOC_NAMES})


def ids(table: pl.DataFrame, name: str, what: str) -> pl.Series:
    """A column of ids as text; neither empty nor floating-point."""
    import polars as pl

    _check_id_type(table.schema[name], name, "id", what)
    if table[name].null_count():
        raise RowError(what, table[name].is_null().arg_true()[0], f"the {name} is missing.")
    return table[name].cast(pl.String)


def columns_used(table: pl.DataFrame, what: str) -> list[str]:
    """The columns that are read as query, document, and grade or score (or the rank in its place)."""
    numbers = [("grade", GRADE_NAMES)] if what == "qrels" else [("score", SCORE_NAMES), ("rank", RANK_NAMES)]
    roles = [("query", _query_names(table.columns)), ("doc", DOC_NAMES), *numbers]
    by_role = [_column(table.columns, {}, role, known) for role, known in roles]
    kept = by_role[:3] if by_role[2] is not None else by_role
    return [name for name in kept if name is not None]


def by_query(qrels: pl.DataFrame) -> dict[str, list[tuple[str, float]]]:
    """A table of judgments as lists of pairs, so that repeated documents are still seen."""
    pairs: dict[str, list[tuple[str, float]]] = {}
    for query, doc, grade in qrels.iter_rows():
        pairs.setdefault(query, []).append((doc, float("nan") if grade is None else grade))
    return pairs


def as_dicts(table: pl.DataFrame) -> dict[str, dict[str, float]] | None:
    """A small table ``query, doc, number`` as ``{query: {document: number}}``; None if a document is repeated or a number missing.

    >>> import polars as pl
    >>> as_dicts(pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "score": [2.0, 1.0]}))
    {'q': {'a': 2.0, 'b': 1.0}}
    """
    columns = [table[name] for name in table.columns[:3]]
    queries, docs, numbers = (column.to_list() for column in columns)
    if columns[2].null_count() or isnan(sum(numbers)):
        return None
    tables: dict[str, dict[str, float]] = {query: {} for query in dict.fromkeys(queries)}
    for query, doc, number in zip(queries, docs, numbers, strict=True):
        tables[query][doc] = number
    return tables if sum(map(len, tables.values())) == len(docs) else None


def _ids(frame: pl.DataFrame, columns: Columns, what: str) -> tuple[pl.Series, pl.Series]:
    import polars as pl

    ids_read = []
    for role, known in (("query", _query_names(frame.columns)), ("doc", DOC_NAMES)):
        # Of judgments only: the user's name may be that of the run, which is read later, and has to have it.
        has_own = not {*Names.of(columns).own.get(role, ())}.isdisjoint(frame.columns)
        own = columns if what == "run" or has_own else {}
        name = _column(frame.columns, own, role, known)
        if name is None:
            raise lacking(what, role, frame.columns)
        column = whole_ids(frame[name])
        _check_id_type(column.dtype, name, role, what)
        ids_read.append((column if column.dtype == pl.String else column.cast(pl.String)).alias(role))
    return ids_read[0], ids_read[1]


def _query_names(columns: Sequence[str]) -> tuple[str, ...]:
    """The usual names of the column that identifies the query: ``id`` before ``topic`` where questions have a column of their own."""
    return (*names.SAY_ID, *_beside_questions(map(plain, columns))[:1], *QUERY_NAMES)


def _beside_questions(in_short: Iterable[str]) -> tuple[str, ...]:
    """``id`` and the text, if both are there: then an id is that of the question, where it else may be that of the row.

    >>> _beside_questions(["id", "topic", "question", "doc_id"]), _beside_questions(["id", "topic", "doc_id"])
    (('id', 'question'), ())
    """
    present = {*in_short}
    text = next((name for name in ("question", "query_text", "user_input") if name in present), None)
    return ("id", text) if text and "id" in present else ()


def whole_ids(column: pl.Series) -> pl.Series:
    """Ids as whole numbers where pandas made 7.0 of 7, because another cell is empty; anything else as it is."""
    import polars as pl

    if not column.dtype.is_float() or not len(column):
        return column
    numbers = column.fill_nan(None)
    is_whole = ((numbers == numbers.round()) & (numbers.abs() < 2**53)).fill_null(value=True).all()
    return numbers.cast(pl.Int64) if is_whole else column


def _check_id_type(kind: pl.DataType, name: str, role: str, what: str) -> None:
    import polars as pl

    if kind.is_float():
        raise InputError(
            f"{what}: the {role} column {name!r} contains floating-point numbers; make it text or integers."
        )
    if not (kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum, pl.Null)):
        is_list = role == "doc" and isinstance(kind, (pl.List, pl.Array))
        listed = "expected" if what == "qrels" else "retrieved"
        hint = (
            f"call it {listed!r} if it lists the documents of a query"
            if is_list
            else "make it text or integers"
        )
        raise InputError(f"{what}: the {role} column {name!r} contains {kind}; {hint}.")


def _column(given: Sequence[str], columns: Columns, role: str, known: tuple[str, ...]) -> str | None:
    own = Names.of(columns).own if columns else {}
    if role in own:
        wanted = own[role]
        chosen = next((name for name in wanted if name in given), None)
        if chosen is None:
            raise InputError(f"columns: {role} should be {either(wanted)}, but the columns are {[*given]}.")
        return chosen
    by_plain: dict[str, list[str]] = {}
    for name in given:
        by_plain.setdefault(plain(name), []).append(name)
    alike = next((by_plain[name] for name in known if name in by_plain), [])
    if len(alike) > 1:
        raise InputError(
            f"The columns {several([*map(repr, alike)])} have the same name but for its spelling; drop or rename one."
        )
    return alike[0] if alike else None


def _numbers(frame: pl.DataFrame, name: str, what: str, *, complete: bool) -> pl.Series:
    import polars as pl

    column = frame[name]
    if not (
        column.dtype.is_numeric() or column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)
    ):
        raise InputError(f"{what}: the column {name!r} contains {column.dtype}, not numbers.")
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    numbers = column.cast(pl.Float64, strict=False)
    if numbers.null_count() > column.null_count():
        row = (numbers.is_null() & column.is_not_null()).arg_true()[0]
        raise RowError(what, row, f"{str(column[row])[:80]!r} in column {name!r} is not a number.")
    if complete and column.null_count():
        raise RowError(what, column.is_null().arg_true()[0], f"the {name} is missing.")
    return numbers


def _check_ids(frame: pl.DataFrame, what: str) -> pl.DataFrame:
    import polars as pl

    for role in ("query", "doc"):
        if frame[role].null_count():
            row = frame[role].is_null().arg_true()[0]
            raise RowError(what, row, f"the {role} is missing.")
        # Of judgments alone: an empty id in a run then matches nothing.
        if what == "qrels" and frame.schema[role] == pl.String and (empty := frame[role] == "").any():
            raise RowError(what, empty.arg_true()[0], f"the {role} is empty.")
    return frame


def lacking(what: str, role: str, columns: Sequence[str], wanted: str = "") -> InputError:
    """The error where no column has a usual name for this, with a column that may be meant."""
    listed = {*names.RETRIEVED, *names.EXPECTED} if role == "doc" else ()
    column = next((name for name in columns if plain(name) in listed), "")
    return InputError(
        f"{what}: no {wanted or role} among the columns {columns}. Rename the column to {role!r}",
        InPython(
            f", or pass columns={{{role!r}: {column or 'your_column'!r}}}",
            f", or pass --map {role}={column or 'COLUMN'}",
            f", or set map: {{{role}: {column or 'COLUMN'}}}",
        ),
        ".",
    )
