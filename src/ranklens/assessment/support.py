"""Support: whether the documents that an answer cites say what it says, by what assessors found (TREC RAG)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ranklens.assessment.answers import AnswerScores, one_of, parts_of, records_by_run, scores_of, unlabelled
from ranklens.errors import InputError

if TYPE_CHECKING:
    from ranklens.assessment.answers import Record

_SUPPORT = {
    **dict.fromkeys(("fs", "full_support", "full", "2"), 1.0),
    **dict.fromkeys(("ps", "partial_support", "partial", "1"), 0.5),
    **dict.fromkeys(("ns", "no_support", "not_support", "none", "0"), 0.0),
}
DEFINITIONS = {
    "weighted_precision": "support of the first citation, over sentences that cite something (TREC 2024)",
    "weighted_recall": "support of the first citation, over all sentences; none scores 0 (TREC 2024)",
    "open_rag_eval_precision": "mean over distinct documents cited of their mean support (open-rag-eval)",
    "open_rag_eval_recall": "mean over all sentences of the mean support of their citations (open-rag-eval)",
}


def support(answers: object, labels: Mapping[str, Mapping[int, object]] | None = None) -> AnswerScores:
    """How far citations support an answer, with intervals; ``.compare()`` compares several runs.

    ``answers`` are those of TREC RAG, ``{"metadata": {"narrative_id": …}, "references": [ids], "answer": [{"text": …, "citations": [indices or ids], "support": [labels]}]}``: a JSONL
    file, a list, or ``{run: one of these}``. Labels are full, partial or no support (FS, PS, NS, or 2, 1, 0), one for each citation, or for the first. They may also come
    apart, as ``{query: {number of the sentence, from 0: labels}}``. Citations without a label are left out and counted.

    Two tools call different numbers by the same name, so both are here under their own.

    >>> found = support([{"topic_id": "q", "answer": [
    ...     {"text": "A.", "citations": ["d1", "d2"], "support": ["FS", "NS"]}, {"text": "B.", "citations": ["d1"], "support": ["PS"]},
    ...     {"text": "C.", "citations": []}]}])
    >>> {name: round(value, 3) for name, value in found.mean.items()}
    {'weighted_precision': 0.75, 'weighted_recall': 0.5, 'open_rag_eval_precision': 0.375, 'open_rag_eval_recall': 0.333}
    """
    missing = 0
    found: dict[str, dict[str, dict[str, float]]] = {}
    for run, by_query in records_by_run(answers, "answers").items():
        found[run] = {}
        for query, record in by_query.items():
            sentences = _sentences(record, query, (labels or {}).get(query, {}))
            missing += sum(label is None for cited in sentences for _, label in cited)
            found[run][query] = _scored(sentences)
    return scores_of(found, DEFINITIONS, unlabelled(missing, "citation"))


def _sentences(
    record: Record, query: str, labels: Mapping[int, object]
) -> list[list[tuple[str, float | None]]]:
    """For each sentence its citations: the id of each document, and how far it supports the sentence; None without a label."""
    references = record.get("references") or ()
    found = []
    for number, part in enumerate(parts_of(record, "answer", query, "answers")):
        cited = [_document(one, references, query) for one in part.get("citations") or ()]
        given = labels.get(number, part.get("support"))
        found.append(
            list(
                zip(cited, _labels(given, cited, f"answers: query {query!r}, sentence {number}"), strict=True)
            )
        )
    return found


def _document(citation: object, references: object, query: str) -> str:
    """The id of a cited document, which may be given by its place among the references."""
    if isinstance(citation, int) and isinstance(references, (list, tuple)) and references:
        if not 0 <= citation < len(references):
            raise InputError(
                f"answers: query {query!r} cites reference {citation}, but has {len(references)} (from 0).",
                query=query,
            )
        return str(references[citation])
    return str(citation)


def _labels(given: object, cited: list[str], where: str) -> list[float | None]:
    """One per citation; labels may be a list, a dict by document, or one for the first citation."""
    if isinstance(given, Mapping):
        values = [given.get(doc) for doc in cited]
    elif isinstance(given, (list, tuple)):
        values = list(given)
    else:
        values = [given]
    if len(values) > len(cited) and any(value is not None for value in values[len(cited) :]):
        raise InputError(f"{where} has {len(values)} labels for {len(cited)} citations.")
    values += [None] * (len(cited) - len(values))
    return [None if value is None else one_of(value, _SUPPORT, where) for value in values[: len(cited)]]


def _scored(sentences: list[list[tuple[str, float | None]]]) -> dict[str, float]:
    first = [cited[0][1] if cited else None for cited in sentences]
    known = [label for label in first if label is not None]
    # A sentence whose first citation has no label says nothing; one without citations scores 0.
    counted = len(known) + sum(not cited for cited in sentences)
    by_document: dict[str, list[float]] = {}
    means: list[float] = []
    for cited in sentences:
        labels = [label for _, label in cited if label is not None]
        for doc, label in cited:
            if label is not None:
                by_document.setdefault(doc, []).append(label)
        if labels or not cited:
            means.append(_mean(labels))
    return {
        "weighted_precision": _mean(known),
        "weighted_recall": sum(known) / counted if counted else 0.0,
        "open_rag_eval_precision": _mean([_mean(labels) for labels in by_document.values()]),
        "open_rag_eval_recall": _mean(means),
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
