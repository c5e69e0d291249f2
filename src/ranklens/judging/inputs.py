"""What is given to be judged → what is judged: files and records read, logs joined, retrieved items matched."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import chain, islice
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from ranklens import words
from ranklens.data.files.collection import read_pair
from ranklens.data.readers import frames
from ranklens.data.readers.judgments import Judgments
from ranklens.data.readers.names import Names
from ranklens.data.readers.rankings import Rankings, listed
from ranklens.errors import InputError, warn
from ranklens.judging.prepared import PreparedJudgments, check_kind
from ranklens.policy import Policy

if TYPE_CHECKING:
    from ranklens.data.matching.rules import Matching
    from ranklens.data.readers.golden_and_logs import Entry, Question

# Queries, and documents of each, that tell whether judgments and run are swapped.
_LOOKED_AT, _LOOKED_AT_EACH = 20, 10
_TOO_MANY_GRADES = 8  # different fractions, which no scale of grades has


def read_inputs(
    qrels: Any,
    run: Any,
    policy: Policy,
    *,
    columns: Mapping[str, str] | None = None,
    match: Matching | None = None,
) -> tuple[Any, Any]:
    """Judgments and a run of any shape that RankLens knows, under the ids that were judged and the usual names of columns."""
    if match is not None and not _is_matching(match):
        raise InputError(
            f"match={match!r:.60} is not allowed; use one of ranklens.matching: ById, ByField, ByParent, ByText, Groups, Spans."
        )
    usual = match is None and columns is None and type(run) is dict
    if usual and isinstance(qrels, PreparedJudgments) and qrels.are_grades:
        return qrels, run  # which costs small calls nothing
    qrels, run = read_pair(qrels, run, Names.of(columns, match))
    check_kind("qrels", qrels)
    if isinstance(run, (list, tuple)) and run and all(isinstance(one, (str, os.PathLike)) for one in run):
        raise InputError(
            f"run is a list of {words.counted(len(run), 'path')}; compare them with ranklens.compare(qrels, […]), or pass one of them."
        )
    check_kind("run", run)
    _refuse_several(qrels, run)
    _refuse_swapped(qrels, run)
    return (qrels, run) if match is None else _matched(qrels, run, policy, match)


def _is_matching(match: Any) -> bool:
    from ranklens.data.matching.rules import Matching  # most calls need none

    return isinstance(match, Matching)


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


def facts(qrels: Any, run: Any, abstain_below: float | None = None) -> Facts:
    """What went wrong in calls, and what was asked that has no answer."""
    lost = getattr(run, "failed", None)
    unanswerable, asked = getattr(qrels, "unanswerable", ()), getattr(qrels, "questions", ())
    if lost is None and not asked:
        return NOTHING
    from ranklens.data.readers.golden_and_logs import Golden, Log

    questions = tuple(given.questions for given in (run, qrels) if isinstance(given, (Log, Golden)))
    failed = sum(query in qrels for query in lost or ()) if isinstance(qrels, Mapping) else 0
    answered = [query for query in unanswerable if query in run] if isinstance(run, Mapping) else []
    if not isinstance(run, Log):
        silent = sum(isinstance(run[query], Sized) and not len(run[query]) for query in answered)
        return Facts(
            failed,
            unanswerable=len(answered),
            abstained=silent,
            asked=asked,
            lost=lost or (),
            questions=questions,
        )
    abstained = sum(_abstained(run.entries[query], abstain_below) for query in answered)
    return Facts(failed, run.joined, run.again, len(answered), abstained, 1, asked, run.failed, questions)


NOTHING = Facts()


def _abstained(entry: Entry, below: float | None) -> bool:
    """Nothing was returned, or nothing that scores enough."""
    if below is None or not entry.ids:
        return not entry.ids
    return entry.scores is not None and all(score is not None and score < below for score in entry.scores)


def _refuse_several(qrels: Any, run: Any) -> None:
    """Refuse runs by name, whose names would be taken for queries."""
    if not isinstance(run, (dict, Mapping)):
        return
    name, first = next(iter(run.items()), (None, None))
    if isinstance(qrels, (dict, Mapping)) and name in qrels:
        return  # a query, whatever its documents are
    if isinstance(first, (dict, Mapping)):
        several = isinstance(next(iter(first.values()), None), (dict, Mapping, list, set))
    else:
        is_path = isinstance(first, os.PathLike) or (
            isinstance(first, str) and bool(os.path.splitext(first)[1])
        )
        several = is_path or (type(first) is not list and frames.is_frame(first))
    if several:
        shown = words.several([repr(name) for name in islice(run, 3)])
        raise InputError(
            f"run: this looks like runs by name ({shown}), not like rankings by query; compare them with ranklens.compare(qrels, runs), or "
            f"pass one of them: runs[{next(iter(run))!r}]."
        )


def _refuse_swapped(qrels: Any, run: Any) -> None:
    """Scores where grades should be, and grades where scores should be: a mistake that gives numbers all the same."""
    if not isinstance(qrels, (dict, Mapping)) or not isinstance(run, (dict, Mapping)):
        return
    given = [docs for docs in islice(qrels.values(), _LOOKED_AT) if isinstance(docs, (dict, Mapping))]
    if len(given) == _LOOKED_AT and {type(next(iter(docs.values()), 0)) for docs in given} == {int}:
        return  # no search engine gives its best documents whole numbers, query after query
    numbers = [*chain.from_iterable(map(_some, given))]
    if {*map(type, numbers)} <= {int}:
        return
    fractions = {number for number in numbers if _is_fraction(number)}
    if not fractions or not _look_like_grades(list(islice(run.values(), _LOOKED_AT))):
        return
    message = (
        "Judgments and run look swapped: the first argument holds scores, the second whole grades. The judgments come first: "
        "evaluate(qrels, run)."
    )
    if len(fractions) >= _TOO_MANY_GRADES:
        raise InputError(message)
    warn(message)


def _some(docs: Mapping[Any, Any]) -> Iterator[Any]:
    return islice(docs.values(), _LOOKED_AT_EACH)


def _is_fraction(number: Any) -> bool:
    return isinstance(number, float) and isfinite(number) and number != int(number)


def _look_like_grades(rankings: Sequence[Any]) -> bool:
    """Whether these are sets, or small whole numbers as people give them."""
    dicts = [docs for docs in rankings if isinstance(docs, Mapping)]
    numbers = {number for docs in dicts for number in _some(docs)}
    whole = all(isinstance(n, (int, float)) and n == n // 1 and -2 <= n <= 4 for n in numbers)
    sets = [docs for docs in rankings if isinstance(docs, (set, frozenset))]
    return whole and len(dicts) + len(sets) == len(rankings) and (bool(sets) or any(n > 0 for n in numbers))


def _matched(qrels: Any, run: Any, policy: Policy, match: Matching) -> tuple[Any, Any]:
    """Judgments and run under judged ids; a run becomes ordered lists."""
    from ranklens.data.matching.rules import ById
    from ranklens.data.readers.golden_and_logs import Golden, Log

    if isinstance(match, ById):
        return qrels, run
    grades = _grades(qrels)
    gold: Any = match.judgments(grades)
    if isinstance(qrels, Judgments):
        if gold != grades:
            raise InputError(
                f"match={type(match).__name__} gives documents other names, under which nothing is known of subtopics, evidence or junk; "
                "use ByField, ByParent or ByText with such judgments."
            )
        gold = qrels.under_text_ids()

    given = run if isinstance(run, Log) else _rankings(qrels, run, policy)
    found = {query: listed(match.matches(query, ids, gold.get(query, {}))) for query, ids in given.items()}
    further = {query: others for query, (_, others) in found.items() if others}
    rankings = Rankings({query: ids for query, (ids, _) in found.items()}, further)
    if isinstance(qrels, Golden):
        gold = qrels.with_judgments(gold)
    return gold, run.with_rankings(rankings) if isinstance(run, Log) else rankings


def _grades(qrels: Any) -> dict[str, dict[str, float]]:
    from ranklens.judging.documents import judgments

    found: dict[str, dict[str, float]] = {}
    if isinstance(qrels, Mapping):  # which may hold queries without documents
        found = {str(query): {} for query in qrels}
    for query, doc, grade in judgments(qrels).iter_rows():
        found.setdefault(query, {})[doc] = grade
    return found


def _rankings(qrels: Any, run: Any, policy: Policy) -> dict[str, list[str]]:
    """The ids of each query, best first."""
    from ranklens.judging.documents import ranking

    whole = replace(policy, depth=None, judged_only=False)
    if isinstance(run, Mapping):
        found: dict[str, list[str]] = {str(query): [] for query in run}
        rows = ranking(qrels, run, whole, queries=list(found))
    else:
        found, rows = {}, ranking(qrels, run, whole)
    for query, doc in rows.select("query", "doc").iter_rows():
        found.setdefault(query, []).append(doc)
    return found
