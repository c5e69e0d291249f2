"""What is given to be judged → what is judged: judgments and rankings read, retrieved items matched."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import isfinite
from typing import TYPE_CHECKING, Literal

from ranklens import words
from ranklens.data.files.suffixes import names_of_path
from ranklens.data.qrels import Dicts, Id, Qrels, read_qrels
from ranklens.data.readers import frames
from ranklens.data.readers.names import USUAL, Names
from ranklens.data.readers.rankings import listed
from ranklens.data.run import Run, read_run
from ranklens.errors import InputError, warn
from ranklens.judging.prepared import Index, PreparedGolden, PreparedJudgments
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.data.matching.rules import Matching
    from ranklens.data.readers.rankings import Question

# Queries, and documents of each, that tell whether judgments and run are swapped.
_LOOKED_AT, _LOOKED_AT_EACH = 20, 10
_TOO_MANY_GRADES = 8  # different fractions, which no scale of grades has


def read_inputs(
    qrels: object,
    run: object,
    policy: Policy,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
) -> tuple[Qrels, Run]:
    """Judgments and a run of any shape that RankLens knows, under the ids that were judged."""
    usual = match is None and columns is None
    if usual and type(run) is dict and isinstance(qrels, PreparedJudgments) and qrels.are_grades:
        return Qrels(qrels), Run(run)  # which costs small calls nothing
    names = USUAL if usual else Names.of(columns, match)
    if names.by_input and not isinstance(qrels, Qrels):
        names.refuse_unknown([*names_of_path(qrels), *names_of_path(run)])
    gold = read_qrels(qrels, names)
    if match is None and gold.has_passages:
        from ranklens.data.matching.evidence import ByEvidence

        match = ByEvidence()
    ranked = read_run(run, gold, names)
    if ranked.by_query is not None:
        _refuse_several(gold.by_query, ranked.by_query)
        if gold.by_query is not None:
            _refuse_swapped(gold.by_query, ranked.by_query)
    return (gold, ranked) if match is None else _matched(gold, ranked, policy, match)


def matching_of(match: object) -> Matching | None:
    """How ids match, from a matching or from text as after ``--match``; most calls need none."""
    from ranklens.data.matching import parsing

    return parsing.matching_of(match)


def index_of(qrels: Qrels) -> Index | None:
    """The index of judgments that were prepared."""
    judged = qrels.judged
    return judged.index if isinstance(judged, (PreparedJudgments, PreparedGolden)) else None


@dataclass(frozen=True, eq=False)
class Sources:
    """What was judged, to look at single queries later; texts and errors of queries where the caller knows them."""

    qrels: object  # as given, as is the run
    run: object
    columns: Mapping[str, str] | None = None
    match: Matching | None = None
    texts: Mapping[str, str] | None = None
    failed: Mapping[str, str] | None = None
    abstain_below: float | None = None  # scores that count as no answer to a question without one
    held: tuple[Qrels, Run] | None = None  # what was read; None where that is in files too large to keep

    def read(self, policy: Policy) -> tuple[Qrels, Run]:
        """Judgments and run, under judged ids."""
        return self.held or read_inputs(self.qrels, self.run, policy, columns=self.columns, match=self.match)


@dataclass(frozen=True)
class Facts:
    """What only golden sets and logs know."""

    failed: int = 0
    joined: Literal["id", "text"] = "id"
    logged_again: int = 0
    unanswerable: int = 0
    abstained: int = 0
    telling: int = 5  # queries without any judged document after which ids look wrong
    asked: Collection[str] = ()  # questions that the golden set has, those that are not averaged included
    lost: Collection[str] = ()  # queries whose call failed
    questions: tuple[Mapping[str, Question], ...] = ()  # later ones know better


def facts(qrels: Qrels, run: Run, abstain_below: float | None = None) -> Facts:
    """What went wrong in calls, and what was asked that has no answer."""
    if run.failed is None and not qrels.questions:
        return NOTHING
    judged, ranked = qrels.by_query, run.by_query or {}
    lost = run.failed or {}
    failed = 0 if judged is None else sum(query in judged for query in lost)
    answered = [query for query in qrels.unanswerable if query in ranked]
    log = run.log
    if log is None:
        silent = sum(isinstance(ranked[query], Sized) and not len(ranked[query]) for query in answered)
        return Facts(
            failed,
            unanswerable=len(answered),
            abstained=silent,
            asked=qrels.questions,
            lost=lost,
            questions=(qrels.questions,) if qrels.questions else (),
        )
    abstained = sum(log.entries[query].abstains(abstain_below) for query in answered)
    questions = (log.questions,) if qrels.golden is None else (log.questions, qrels.questions)
    return Facts(failed, log.joined, log.again, len(answered), abstained, 1, qrels.questions, lost, questions)


NOTHING = Facts()


def _refuse_several(judged: Dicts | None, ranked: Dicts) -> None:
    """Refuse runs by name, whose names would be taken for queries."""
    name, first = next(iter(ranked.items()), (None, None))
    if judged is not None and name in judged:
        return  # a query, whatever its documents are
    if isinstance(first, (dict, Mapping)):
        several = isinstance(next(iter(first.values()), None), (dict, Mapping, list, set))
    else:
        names_file = isinstance(first, str) and bool(os.path.splitext(first)[1])
        is_table = type(first) is not list and frames.is_frame(first)
        several = names_file or isinstance(first, os.PathLike) or is_table
    if several:
        shown = words.several([repr(name) for name in islice(ranked, 3)])
        raise InputError(
            f"run: this looks like runs by name ({shown}), not like rankings by query; compare them with ranklens.compare(qrels, runs), or "
            f"pass one of them: runs[{next(iter(ranked))!r}]."
        )


def _refuse_swapped(judged: Dicts, ranked: Dicts) -> None:
    """Scores where grades should be, and grades where scores should be: a mistake that would still produce numbers."""
    tables = [docs for docs in islice(judged.values(), _LOOKED_AT) if isinstance(docs, (dict, Mapping))]
    if len(tables) == _LOOKED_AT and {type(next(iter(docs.values()), 0)) for docs in tables} == {int}:
        return  # no search engine gives its best documents whole numbers, query after query
    numbers = [*chain.from_iterable(map(_first_numbers, tables))]
    if {*map(type, numbers)} <= {int}:
        return
    fractions = {n for n in numbers if isinstance(n, float) and isfinite(n) and n != int(n)}
    if not fractions or not _look_like_grades(list(islice(ranked.values(), _LOOKED_AT))):
        return
    message = (
        "Judgments and run look swapped: the first argument contains scores, the second whole-number grades. The judgments come first: "
        "evaluate(qrels, run)."
    )
    if len(fractions) >= _TOO_MANY_GRADES:
        raise InputError(message)
    warn(message)


def _first_numbers(docs: Mapping[Id, Hashable]) -> Iterator[Hashable]:
    return islice(docs.values(), _LOOKED_AT_EACH)


def _look_like_grades(rankings: Sequence[object]) -> bool:
    """Whether these are sets, or small whole numbers as people give them."""
    dicts = [docs for docs in rankings if isinstance(docs, Mapping)]
    numbers = {number for docs in dicts for number in _first_numbers(docs)}
    whole = all(isinstance(n, (int, float)) and n == n // 1 and -2 <= n <= 4 for n in numbers)
    sets = [docs for docs in rankings if isinstance(docs, (set, frozenset))]
    any_relevant = any(isinstance(n, (int, float)) and n > 0 for n in numbers)
    return whole and len(dicts) + len(sets) == len(rankings) and (bool(sets) or any_relevant)


def _refuse_bare_ids(
    gold_texts: Mapping[str, Mapping[str, float]], ranked: Mapping[str, Sequence[str]] | Dicts
) -> None:
    """Refuse to match ids without texts, such as those of a TREC run: nothing would be found, and everything be 0."""
    expected = [text for docs in gold_texts.values() for text in docs]
    retrieved = [str(doc) for query in islice(ranked, _LOOKED_AT) for doc in ranked[query]]
    are_sentences = expected and all(len(text.split()) > 1 for text in expected)
    if are_sentences and retrieved and not any(len(doc.split()) > 1 or "\x1f" in doc for doc in retrieved):
        raise InputError(
            f"run: the retrieved items have no texts, only ids such as {retrieved[0]!r}, so nothing can match the expected texts by text; "
            "pass a run with texts, or give them by id: ByText(corpus={id: text})."
        )


def _matched(qrels: Qrels, run: Run, policy: Policy, match: Matching) -> tuple[Qrels, Run]:
    """Judgments and run under judged ids; a run becomes ordered lists."""
    from ranklens.data.matching.evidence import ByEvidence
    from ranklens.data.matching.rules import ById
    from ranklens.data.matching.texts import ByText
    from ranklens.judging.documents import judgments, ranking

    if isinstance(match, ById) or run.contexts is not None:
        return qrels, run
    # Judgments by query may hold queries without documents.
    grades: dict[str, dict[str, float]] = {str(query): {} for query in qrels.by_query or ()}
    for query, doc, grade in judgments(qrels).iter_rows():
        grades.setdefault(query, {})[doc] = grade
    ranked: Mapping[str, list[str]] | Dicts = run.by_query or {}
    if run.entries is None:  # best first, as a log is already
        ordered: dict[str, list[str]] = {str(query): [] for query in ranked}
        queries = None if run.by_query is None else list(ordered)
        rows = ranking(qrels, run, replace(policy, depth=None, judged_only=False), queries=queries)
        for query, doc in rows.select("query", "doc").iter_rows():
            ordered.setdefault(query, []).append(doc)
        ranked = ordered
    if isinstance(match, ByText) and match.corpus is None:
        _refuse_bare_ids(gold_texts=grades, ranked=ranked)
    if isinstance(match, ByEvidence):
        return qrels, match.matched(qrels, run, qrels.golden or grades, run.log or ranked)
    gold: Dicts = match.judgments(grades)
    if qrels.beyond_grades is not None:
        if gold != grades:
            raise InputError(
                f"match={type(match).__name__} gives documents other names, under which nothing is known of subtopics, evidence or junk; "
                "use ByField, ByParent or ByText with such judgments."
            )
        gold = qrels.beyond_grades.under_text_ids()
    matches = {query: listed(match.matches(query, ids, gold.get(query, {}))) for query, ids in ranked.items()}
    further = {query: others for query, (_, others) in matches.items() if others}
    rankings = {query: ids for query, (ids, _) in matches.items()}
    return replace(qrels, judged=gold), replace(run, rankings=rankings, further=further)
