"""A provider for ir_measures, so that its functions, and PyTerrier's ``pt.Experiment``, compute with RankLens."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ranklens.errors import MissingExtraError, RankLensError
from ranklens.evaluation import evaluate
from ranklens.policy import Policy
from ranklens.registry import Measure, parse

_GAINS = {"log2": "linear", "exp-log2": "exp"}  # its dcg=, our gain=


def provider(policy: Policy | None = None) -> Any:
    """A provider of ir_measures; ``policy`` decides about ties and the rest."""
    ir_measures = _library()

    class Evaluator(ir_measures.providers.Evaluator):  # type: ignore[misc,name-defined]
        def __init__(self, measures: Any, qrels: Any) -> None:
            self._given = list(measures)
            self._qrels = ir_measures.util.QrelsConverter(qrels).as_dict_of_dict()
            super().__init__(self._given, set(self._qrels))

        def _iter_calc(self, run: Any) -> Iterator[Any]:
            ranked = ir_measures.util.RunConverter(run).as_dict_of_dict()
            known = {query: docs for query, docs in ranked.items() if query in self._qrels}
            gold = {query: self._qrels[query] for query in known}
            if not gold:
                return
            for given in self._given:
                scores = evaluate(gold, known, translated(given), policy, **_options(given))
                for query, value in zip(
                    scores.queries, next(iter(scores.values.values())).tolist(), strict=True
                ):
                    yield ir_measures.Metric(query_id=query, measure=given, value=value)

    class Provider(ir_measures.providers.Provider):  # type: ignore[misc,name-defined]
        NAME = "ranklens"

        def supports(self, measure: Any) -> bool:
            try:
                translated(measure)
            except (RankLensError, KeyError):
                return False
            return True

        def _evaluator(self, measures: Any, qrels: Any) -> Evaluator:
            return Evaluator(measures, qrels)

    return Provider()


def install(policy: Policy | None = None) -> Any:
    """Put RankLens first among the providers that ir_measures asks; PyTerrier asks the same. Returns the provider.

    ``ir_measures.DefaultPipeline.providers.remove(provider)`` takes it back.
    """
    found = provider(policy)
    _library().DefaultPipeline.providers.insert(0, found)
    return found


def _library() -> Any:
    try:
        return import_module("ir_measures")
    except ImportError:
        raise MissingExtraError("ir_measures is not installed: pip install ir-measures") from None


def translated(measure: Any) -> Measure:
    """A measure of ir_measures as RankLens names it; a KeyError if it has no such parameter."""
    params = {name: value for name, value in measure.params.items() if name not in ("cutoff", "judged_only")}
    if "dcg" in params:
        params["gain"] = _GAINS[params.pop("dcg")]
    if "gains" in params and not isinstance(params["gains"], dict):
        raise KeyError("gains")
    inside = ", ".join(f"{name}={value}" for name, value in params.items())
    cutoff = measure.params.get("cutoff")
    return parse(f"{measure.NAME}{f'({inside})' if inside else ''}{'' if cutoff is None else f'@{cutoff}'}")


def _options(measure: Any) -> dict[str, Any]:
    return {"judged_only": True} if measure.params.get("judged_only") else {}
