"""pytrec_eval's interface, so that code written for it changes one import: ``from ranklens import pytrec_eval``.

Results are those of pytrec_eval, which is trec_eval 9.0.8: scores are rounded to 32 bits, recall levels rounded its way,
and only queries that are both judged and in the run have a value.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from operator import index
from typing import TypeVar

import numpy as np

from ranklens.data.readers import mappings
from ranklens.exchange.trec import groups
from ranklens.exchange.trec.measures import (
    NEW_IN_10,
    NICKNAMES,
    NOT_IN_ALL,
    TREC_MEASURES,
    Printed,
    printed_lines,
)
from ranklens.judging.assembly import assemble
from ranklens.judging.dicts import NotPlain, are_plain, from_dicts, turn
from ranklens.judging.gold import GoldDicts, values_of
from ranklens.metrics import Measure
from ranklens.policy import Policy
from ranklens.scores import logs_with_floor

T = TypeVar("T")

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

supported_measures = {name for name in TREC_MEASURES if name not in (*NEW_IN_10, *NOT_IN_ALL)} | {"runid"}
supported_nicknames = {name: supported_measures.intersection(members) for name, members in NICKNAMES.items()}
supported_nicknames |= {name: set(members) for name, members in groups.NICKNAMES.items()}


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """The lines of a TREC run as ``{query: {document: score}}``.

    >>> parse_run(["q1 Q0 d1 1 2.5 tag"])
    defaultdict(<class 'dict'>, {'q1': {'d1': 2.5}})
    """
    return _parse(f_run, 6, 4, float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """The lines of TREC judgments as ``{query: {document: grade}}``.

    >>> parse_qrel(["q1 0 d1 2"])
    defaultdict(<class 'dict'>, {'q1': {'d1': 2}})
    """
    return _parse(f_qrel, 4, 3, int)


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """The sum of a ``num_`` measure, the geometric mean of a ``gm_`` measure (its values are logarithms), else the mean.

    >>> compute_aggregated_measure("num_ret", [2.0, 3.0]), compute_aggregated_measure("map", [0.5, 1.0])
    (5.0, 0.75)
    """
    if measure.startswith("num_"):
        return float(np.sum(values))
    mean = float(np.mean(values))
    return math.exp(mean) if measure.startswith("gm_") else mean


class RelevanceEvaluator:
    """Evaluates runs against judgments: ``{query: {document: grade}}``, with whole grades.

    >>> evaluator = RelevanceEvaluator({"q1": {"d1": 1, "d2": 0}}, {"map", "ndcg_cut.5,10"})
    >>> evaluator.evaluate({"q1": {"d1": 0.5, "d2": 0.9}})
    {'q1': {'map': 0.5, 'ndcg_cut_5': 0.63092..., 'ndcg_cut_10': 0.63092...}}
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        judged = {query: docs for query, docs in query_relevance.items() if len(docs) > 0}
        for query, docs in judged.items():  # refused in pytrec_eval's order and words
            if not isinstance(query, str):
                raise TypeError("Expected string as key.")
            if not isinstance(docs, Mapping):
                raise TypeError("Expected dictionary as value.")
            if not all(isinstance(grade, int) for grade in docs.values()):
                raise TypeError("Expected relevance to be integer.")
            if not all(isinstance(doc, str) for doc in docs):
                raise TypeError("Expected mapping of document id to query relevance or matching score.")
        try:
            level = index(relevance_level)
        except TypeError:
            raise TypeError("Expected object_relevance_per_qid dictionary and measures set.") from None
        if level < 1:
            raise TypeError("Argument relevance_level should be positive.")
        self._policy = Policy(rel=level, judged_only=judged_docs_only_flag, nan="last")
        self._gold = GoldDicts.of(
            mappings.Repaired({query: dict(docs) for query, docs in judged.items()}), keeps=True
        )
        # None for what pytrec_eval lists with the value 0.
        self._columns: dict[str, Measure | None] = {}
        for line in _lines(measures):
            if isinstance(line, str) or line.name.startswith("relstring"):
                self._columns[line if isinstance(line, str) else line.name] = None
                continue
            accepted = line.measure.definition.parameters
            changes: dict[str, object] = {"rel": level} if level != 1 and "rel" in accepted else {}
            changes |= {"rounding": "trec9"} if "rounding" in accepted else {}
            self._columns[line.name] = line.measure.replace(**changes)

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """``{query: {measure: value}}`` for the queries that are judged and in the run."""
        if not scores:
            return {}
        if not isinstance(scores, Mapping):
            raise TypeError("Argument object scores should be of type dictionary.")
        judged = self._gold.place
        whole = list(scores) == self._gold.queries  # then there is no need to look at each query
        run = scores if whole else {query: docs for query, docs in scores.items() if query in judged}
        if len(run) < len(scores):
            _check_scores({query: docs for query, docs in scores.items() if query not in judged})
        if not run:
            return {}
        with suppress(NotPlain), turn():
            if isinstance(run, dict) and {*map(type, run.values())} == {dict}:
                return self._evaluate(run, whole=whole, only_plain=True)
        _check_scores(run)
        with turn():
            return self._evaluate({query: dict(docs) for query, docs in run.items()}, whole=whole)

    def _evaluate(
        self, run: Mapping[str, Mapping[str, float]], *, whole: bool, only_plain: bool = False
    ) -> dict[str, dict[str, float]]:
        # Judgments are used as they were prepared, unless few of their queries are asked for.
        gold = self._gold if 2 * len(run) >= len(self._gold.place) else self._gold.only(list(run))
        ranked = from_dicts(gold, run, self._policy, in_32_bits=True, only_plain=only_plain)
        judged = assemble(ranked, self._policy)
        values = []
        for measure in self._columns.values():
            column = np.zeros(len(judged)) if measure is None else measure(judged)
            is_geometric = measure is not None and measure.definition.aggregate == "geometric"
            values.append((logs_with_floor(column) if is_geometric else column).tolist())
        rows = _row_maker(tuple(self._columns))(*values) if values else [{} for _ in range(len(judged))]
        if not whole and (len(run) < len(judged) or list(run) != gold.queries):
            rows = [*map(rows.__getitem__, map(gold.place.__getitem__, run))]
        return dict(zip(run, rows, strict=True))


@lru_cache(maxsize=64)
def _row_maker(names: tuple[str, ...]) -> Callable[..., list[dict[str, float]]]:
    """A function of one list per name, of which there is one or more, that makes one dict per query.

    It is written out, as :mod:`collections` does for named tuples: a dict whose keys stand in the code is made in a
    third of the time of any other, and making them is a third of the work where rankings are short.
    """
    values = [f"value{i}" for i in range(len(names))]
    row = ", ".join(f"{name!r}: {value}" for name, value in zip(names, values, strict=True))
    code = f"lambda *columns: [{{{row}}} for {', '.join(values)}, in zip(*columns, strict=True)]"
    maker: Callable[..., list[dict[str, float]]] = eval(code)  # noqa: S307 - of names that trec_eval has
    return maker


def _parse(
    lines: Iterable[str], count: int, number: int, read: Callable[[str], T]
) -> dict[str, dict[str, T]]:
    by_query: dict[str, dict[str, T]] = defaultdict(dict)
    for line in lines:
        fields = line.strip().split()
        if len(fields) != count:
            more = "too many" if len(fields) > count else "not enough"
            raise ValueError(
                f"{more} values to unpack (expected {count}, got {len(fields)}): {line.strip()!r}"
            )
        docs = by_query[fields[0]]
        if fields[2] in docs:
            raise AssertionError(f"document {fields[2]!r} appears twice for query {fields[0]!r}")
        docs[fields[2]] = read(fields[number])
    return by_query


def _lines(measures: Iterable[str]) -> list[Printed | str]:
    """What to calculate, in trec_eval's order."""
    parameters: dict[str, set[str]] = {}
    number = r"\d+(?:\.\d+)?"
    pattern = rf"({'|'.join(map(re.escape, supported_measures))})[._]({number}(?:,{number})*)"
    for measure in chain.from_iterable(supported_nicknames.get(m, {m}) for m in measures):
        match = re.match(pattern, measure)  # P_5,10 or P.5,10
        if measure in supported_measures:
            parameters.setdefault(measure, set())
        elif match:
            parameters.setdefault(match[1], set()).update(match[2].split(","))
        else:
            raise ValueError(f"unsupported measure {measure}")
    lines: list[Printed | str] = ["runid"] if "runid" in parameters else []
    for name, trec_measure in TREC_MEASURES.items():
        if name in parameters:
            printed = printed_lines(trec_measure, sorted(parameters[name]) or None)
            lines += printed if trec_measure.by_cutoff else [replace(line, name=name) for line in printed]
    return lines


def _check_scores(scores: Mapping[str, object]) -> None:
    """Refuse what pytrec_eval refuses."""
    tables = [table for table in scores.values() if type(table) is dict]
    if {*map(type, scores)} == {str} and len(tables) == len(scores) and are_plain(tables, values_of(tables)):
        return
    for query, docs in scores.items():
        if not isinstance(query, str) or not isinstance(docs, Mapping):
            raise TypeError("Unable to extract query/object scores.")
        all_text = all(isinstance(doc, str) for doc in docs)
        if not all_text or not all(isinstance(score, (int, float)) for score in docs.values()):
            raise TypeError("Unable to extract query/object scores.")
