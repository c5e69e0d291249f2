"""What files hold, as RankLens understands them: :func:`inspect`, and how judgments join with runs and a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from ranklens.data.files.corpus import texts
from ranklens.data.matching.parsing import matching_of
from ranklens.data.matching.rules import Matching, chunk_separator
from ranklens.data.readers.mappings import rankings
from ranklens.data.readers.names import Names
from ranklens.data.run import Run, read_run
from ranklens.errors import InputError, RankLensError
from ranklens.judging.documents import judgments
from ranklens.judging.inputs import read_inputs
from ranklens.judging.mismatch import alike
from ranklens.policy import Policy
from ranklens.recipes.inspection.files import Reading
from ranklens.recipes.inspection.results import Inspection, Joined
from ranklens.words import several


def inspect(
    *files: str | Path, columns: Mapping[str, str] | None = None, match: Matching | str | None = None
) -> Inspection:
    r"""Say how RankLens reads files: format, encoding and role of each, which field became what, how they join, and what to mend.

    The options that mend a problem are tried before they are suggested. ``columns`` and ``match`` are those of
    :func:`ranklens.evaluate`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     golden = Path(folder, "golden.csv")
    ...     _ = golden.write_text("id,question,right\nq1,Why?,a|b\n")
    ...     inspect(golden).fixes
    ('--map expected=right',)
    """
    if not files:
        raise InputError("There are no files to inspect; pass the golden set first, then logs.")
    asked = dict(columns or {})
    matching = matching_of(match)
    readings: list[Reading] = []
    for number, file in enumerate(files):
        first = number == 0 and len(files) > 1
        reading = Reading(str(file), asked, matching, is_first=first, alone=len(files) == 1)
        readings.append(reading.look())
        matching = reading.matching
    gold = next((one for one in readings if one.gold is not None), None)
    joins = (
        [] if gold is None else [join for one in readings for join in _possible_joins(gold, one, matching)]
    )
    return Inspection(tuple(one.result() for one in readings), tuple(joins))


def _possible_joins(gold: Reading, other: Reading, matching: Matching | None) -> list[Joined]:
    """The joins of a file; none if joining uncovers an error that no reader has checked for, such as bad scores in a dict."""
    try:
        return list(_joins(gold, other, matching))
    except RankLensError as error:
        other.refuse(error)
        return []


def _joins(gold: Reading, other: Reading, matching: Matching | None) -> Iterator[Joined]:
    """How judgments join with a run, or with a corpus."""
    assert gold.gold is not None
    table = judgments(gold.gold)
    relevant = table.filter(table["grade"] > 0)
    expected = list(dict.fromkeys(relevant["doc"].to_list()))
    if other.role == "corpus" and expected and matching is None:
        there = {*texts(other.path, expected)}
        note = "" if there else f"No expected id is in {other.path}, such as {expected[0]!r}."
        yield Joined(gold.path, other.path, "expected documents", len(there), len(expected), note)
    for name, run in other.runs.items():
        if gold.gold.has_passages and run.log is not None:  # whose chunks are read with their texts
            run = read_run(other.place, gold.gold, Names.of(other.columns, other.matching))  # noqa: PLW2901
        yield from _joins_of_run(gold, name, run, matching)


def _joins_of_run(gold: Reading, name: str, run: Run, matching: Matching | None) -> Iterator[Joined]:
    """How many questions and expected documents are in a run as well."""
    assert gold.gold is not None
    table = judgments(gold.gold)
    own = run if run.log is None else read_run(run.log, gold.gold)  # under the ids of the golden set
    qrels, run = read_inputs(gold.gold, own, Policy(), match=matching)
    retrieved = _ranked(run)
    judged = list(dict.fromkeys(table["query"].to_list()))
    common = [query for query in judged if query in retrieved]
    if not judged:
        return
    note = ""
    if not common and retrieved:
        similar = alike(judged, list(retrieved))
        note = f"No question is in both, such as {judged[0]!r} and {next(iter(retrieved))!r}."
        note += f" They {similar}." if similar else ""
    by = f", by {own.log.joined}" if own.log is not None and own.log.joined == "text" else ""
    yield Joined(gold.path, name, f"questions{by}", len(common), len(judged), note)
    if not common:
        return
    by_query: dict[str, dict[str, float]] = {}
    for query, doc, grade in judgments(qrels).iter_rows():
        by_query.setdefault(query, {})[doc] = grade
    wanted = {(query, doc) for query in common for doc, grade in by_query.get(query, {}).items() if grade > 0}
    hit = sum(doc in retrieved[query] for query, doc in wanted)
    note, fix = "", ""
    if wanted and not hit:
        ids = {query: list(retrieved[query]) for query in islice(common, 100)}
        separator = chunk_separator(ids, {query: by_query.get(query, {}) for query in ids})
        ours, theirs = [doc for _, doc in wanted], [doc for docs in ids.values() for doc in docs]
        similar = alike(ours, theirs)
        note = f"No expected document was retrieved under its id, such as {ours[0]!r}; retrieved were {several(list(map(repr, theirs[:2])))}."
        note += (
            " Retrieved are chunks of expected documents."
            if separator
            else f" They {similar}."
            if similar
            else ""
        )
        fix = f"--match parent:{separator}" if separator and matching is None else ""
    yield Joined(gold.path, name, "expected documents retrieved", hit, len(wanted), note, fix)


def _ranked(run: Run) -> dict[str, set[str]]:
    """The documents of each query of a run."""
    if run.by_query is not None:
        return {str(query): {*map(str, docs)} for query, docs in rankings(run.by_query).by_query.items()}
    by_query: dict[str, set[str]] = {}
    for table in run.tables:
        for query, doc in table.select("query", "doc").iter_rows():
            by_query.setdefault(query, set()).add(doc)
    return by_query
