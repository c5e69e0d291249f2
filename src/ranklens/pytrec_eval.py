"""pytrec_eval's interface, so that code written for it changes one import: ``from ranklens import pytrec_eval``.

Results are those of pytrec_eval, which is trec_eval 9.0.8: scores are rounded to 32 bits, recall levels rounded its way,
and only queries that are both judged and in the run have a value.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import index
from typing import Any, TypeVar

import numpy as np

from ranklens.judging.assembly import judge
from ranklens.scores import logs_with_floor
from ranklens.trec import groups
from ranklens.trec.measures import NEW_IN_10, NICKNAMES, NOT_IN_ALL, TREC_MEASURES, Printed, printed_lines

T = TypeVar("T")

__all__ = [
    "RelevanceEvaluator",
    "compute_aggregated_measure",
    "parse_qrel",
    "parse_run",
    "supported_measures",
    "supported_nicknames",
]

_EMPTY = ("runid", "relstring")  # pytrec_eval lists them, with the value 0
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
        self._lines = _lines(measures)
        judged = {query: docs for query, docs in query_relevance.items() if len(docs) > 0}
        for query, docs in judged.items():
            _check_judgments(query, docs)
        try:
            level = index(relevance_level)
        except TypeError:
            raise TypeError("Expected object_relevance_per_qid dictionary and measures set.") from None
        if level < 1:
            raise TypeError("Argument relevance_level should be positive.")
        self._qrels = {query: dict(docs) for query, docs in judged.items()}
        self._level, self._judged_only = level, judged_docs_only_flag

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """``{query: {measure: value}}`` for the queries that are judged and in the run."""
        if not scores:
            return {}
        if not isinstance(scores, Mapping):
            raise TypeError("Argument object scores should be of type dictionary.")
        for query, docs in scores.items():
            _check_scores(query, docs)
        run = {query: _in_32_bits(docs) for query, docs in scores.items() if query in self._qrels}
        if not run:
            return {}
        qrels = {query: self._qrels[query] for query in run}
        judged = judge(qrels, run, rel=self._level, judged_only=self._judged_only, nan="last")
        results: dict[str, dict[str, float]] = {query: {} for query in judged.queries}
        for line in self._lines:
            column = self._column(line, judged)
            for query, value in zip(judged.queries, column, strict=True):
                results[query][line if isinstance(line, str) else line.name] = value
        return results

    def _column(self, line: Printed | str, judged: Any) -> list[float]:
        if isinstance(line, str) or line.name.startswith("relstring"):
            return [0.0] * len(judged)
        measure = line.measure
        if self._level != 1 and "rel" in measure.definition.parameters:
            measure = measure.replace(rel=self._level)
        if "rounding" in measure.definition.parameters:
            measure = measure.replace(rounding="trec9")
        values = measure(judged)
        is_geometric = measure.definition.aggregate == "geometric"
        found: list[float] = (logs_with_floor(values) if is_geometric else values).tolist()
        return found


def _parse(
    lines: Iterable[str], count: int, number: int, read: Callable[[str], T]
) -> dict[str, dict[str, T]]:
    found: dict[str, dict[str, T]] = defaultdict(dict)
    for line in lines:
        fields = line.strip().split()
        if len(fields) != count:
            more = "too many" if len(fields) > count else "not enough"
            raise ValueError(
                f"{more} values to unpack (expected {count}, got {len(fields)}): {line.strip()!r}"
            )
        docs = found[fields[0]]
        if fields[2] in docs:
            raise AssertionError(f"document {fields[2]!r} appears twice for query {fields[0]!r}")
        docs[fields[2]] = read(fields[number])
    return found


def _lines(measures: Iterable[str]) -> list[Printed | str]:
    """What to calculate, in trec_eval's order."""
    parameters: dict[str, set[str]] = {}
    for measure in chain.from_iterable(supported_nicknames.get(m, {m}) for m in measures):
        name, given = (measure, "") if measure in supported_measures else _take_apart(measure)
        parameters.setdefault(name, set()).update(given.split(",") if given else ())
    lines: list[Printed | str] = ["runid"] if "runid" in parameters else []
    for name, trec_measure in TREC_MEASURES.items():
        if name in parameters:
            printed = printed_lines(trec_measure, sorted(parameters[name]) or None)
            lines += printed if trec_measure.by_cutoff else [replace(line, name=name) for line in printed]
    return lines


def _take_apart(measure: str) -> tuple[str, str]:
    """``P_5,10`` or ``P.5,10`` → ``("P", "5,10")``."""
    for name in supported_measures:
        match = re.match(re.escape(name) + r"[._](\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)*)", measure)
        if match:
            return name, match[1]
    raise ValueError(f"unsupported measure {measure}")


def _check_judgments(query: Any, docs: Any) -> None:
    if not isinstance(query, str):
        raise TypeError("Expected string as key.")
    if not isinstance(docs, Mapping):
        raise TypeError("Expected dictionary as value.")
    if not all(isinstance(grade, int) for grade in docs.values()):
        raise TypeError("Expected relevance to be integer.")
    if not all(isinstance(doc, str) for doc in docs):
        raise TypeError("Expected mapping of document id to query relevance or matching score.")


def _check_scores(query: Any, docs: Any) -> None:
    texts, numbers = {str}, {int, float, bool}
    if not isinstance(query, str) or not isinstance(docs, Mapping):
        raise TypeError("Unable to extract query/object scores.")
    # Types as sets: looking at every document in Python would take longer than evaluating them.
    if not ({*map(type, docs)} <= texts and {*map(type, docs.values())} <= numbers):
        all_text = all(isinstance(doc, str) for doc in docs)
        if not all_text or not all(isinstance(score, (int, float)) for score in docs.values()):
            raise TypeError("Unable to extract query/object scores.")


def _in_32_bits(docs: Mapping[str, float]) -> dict[str, float]:
    rounded = np.fromiter(docs.values(), np.float64, len(docs)).astype(np.float32).astype(np.float64)
    return dict(zip(docs, rounded.tolist(), strict=True))
