"""Tables of judgments that know more than a grade, by the names of their columns; and tables of properties of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ranklens.data.readers import frames
from ranklens.data.readers.frames import by_query, ids, qrels_frame
from ranklens.data.readers.judgments import Judgments, by_subtopic
from ranklens.data.readers.mappings import Id
from ranklens.data.readers.names import EVIDENCE, JUNK, SUBTOPICS, plain
from ranklens.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def properties_of(documents: object) -> Any:
    """``{document: {property: value}}`` from a table; anything else as it is.

    >>> import polars as pl
    >>> properties_of(pl.DataFrame({"doc": ["a", "b", "b"], "group": ["x", "x", "y"]}))
    {'a': {'group': 'x'}, 'b': {'group': {'x': 0.5, 'y': 0.5}}}
    """
    if isinstance(documents, Mapping) or not frames.is_frame(documents):
        return documents
    table = frames.to_polars(documents)
    doc = frames.doc_column(table)
    if doc is None:
        raise InputError(
            f"documents: no column contains their ids; name it doc. The columns are {', '.join(table.columns)}."
        )
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, row in zip(frames.ids(table, doc, "documents"), table.drop(doc).to_dicts(), strict=True):
        rows.setdefault(name, []).append({key: value for key, value in row.items() if value is not None})
    properties: dict[str, dict[str, Any]] = {}
    for name, own in rows.items():
        properties[name] = {key: value for key, value in own[0].items() if key != "share"}
        shares: dict[Id, float] = {}  # several rows are for the groups that a document belongs to
        for row in own if len(own) > 1 else ():
            if "group" in row:
                shares[row["group"]] = shares.get(row["group"], 0.0) + float(row.get("share", 1 / len(own)))
        properties[name] |= {"group": shares} if shares else {}
    return properties


def further_columns(names: Iterable[str]) -> dict[str, str]:
    """The columns of a table that hold subtopics, evidence sets and junk, where they have usual names.

    >>> further_columns(["query_id", "subtopic_id", "doc_id", "grade"])
    {'subtopic': 'subtopic_id'}
    """
    by_plain = {plain(name): name for name in names}
    known = {"subtopic": SUBTOPICS, "evidence": EVIDENCE, "junk": JUNK}
    return {
        role: by_plain[present[0]]
        for role, usual in known.items()
        if (present := [name for name in usual if name in by_plain])
    }


def of_table(table: pl.DataFrame, columns: object = None) -> Any:
    """A table, with what its columns know besides grades; as it is, if that is nothing."""
    return of_rows(rows_of(table, columns)) if further_columns(table.columns) else table


def rows_of(table: pl.DataFrame, columns: Any = None, *, complete: bool = False) -> pl.DataFrame:
    """A part of a table of judgments as ``query, doc, grade``, with ``subtopic``, ``evidence`` and ``junk`` where they are there."""
    import polars as pl

    further = further_columns(table.columns)
    rows = qrels_frame(table.drop([*further.values()]), columns, complete=complete)
    if "subtopic" in further:
        rows = rows.insert_column(1, ids(table, further["subtopic"], "qrels").alias("subtopic"))
    if "evidence" in further:
        rows = rows.with_columns(table[further["evidence"]].cast(pl.String).alias("evidence"))
    if "junk" in further:
        said = table[further["junk"]].cast(pl.String).str.to_lowercase().fill_null("")
        rows = rows.with_columns(said.is_in(["true", "1", "1.0", "yes"]).alias("junk"))
    return rows


def of_rows(rows: Any) -> Any:
    """Whole judgments from what :func:`rows_of` made of the parts; anything else that a file may hold as it is."""
    columns = {*getattr(rows, "columns", ())} & {"subtopic", "evidence", "junk"}
    if not columns:
        return rows
    if "subtopic" in columns and rows["subtopic"].null_count():
        raise InputError(
            "qrels: some parts have no column of subtopics, and others do; every judgment needs a subtopic, or none."
        )
    if columns == {"subtopic"}:
        return Judgments.of_table(rows.select("query", "subtopic", "doc", "grade"))
    import polars as pl

    every = dict.fromkeys(rows["query"].unique(maintain_order=True).to_list())
    junk: dict[Id, set[Id]] = {}
    if "junk" in columns:  # which has no grade
        is_junk = rows["junk"].fill_null(value=False)  # parts without the column
        for query, doc in rows.filter(is_junk).select("query", "doc").iter_rows():
            junk.setdefault(query, set()).add(doc)
        rows = rows.filter(~is_junk)
    sets: dict[Id, dict[Id, set[Id]]] = {query: {} for query in every}
    if "evidence" in columns:  # a set is what has the same name within a query
        for query, name, doc in rows.drop_nulls("evidence").select("query", "evidence", "doc").iter_rows():
            sets[query].setdefault(name, set()).add(doc)
    grades, subtopics = None, None
    if "subtopic" in columns:
        subtopics = by_subtopic(rows.select("query", "subtopic", "doc", "grade").iter_rows())
    else:
        highest = rows.group_by("query", "doc", maintain_order=True).agg(pl.col("grade").max())
        pairs = by_query(highest.select("query", "doc", "grade"))
        grades = {query: dict(pairs.get(query, ())) for query in every}
    evidence = (
        {query: list(by_name.values()) for query, by_name in sets.items()} if any(sets.values()) else None
    )
    return Judgments(grades, subtopics=subtopics, evidence=evidence, junk=junk or None)
