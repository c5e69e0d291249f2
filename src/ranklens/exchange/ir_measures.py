"""A provider for ir_measures, so that its functions, and PyTerrier's ``pt.Experiment``, compute with RankLens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import compress
from typing import Any

from ranklens.data.readers.judgments import Judgments, by_subtopic
from ranklens.errors import MissingExtraError, RankLensError
from ranklens.metrics import Measure, look_up, make, parse
from ranklens.policy import Policy, Ties, make_policy
from ranklens.scores.evaluation import evaluate

_GAINS = {"log2": "linear", "exp-log2": "exp"}  # its dcg=, our gain=
_OF_NDEVAL = (
    "ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall",
)  # fmt: skip
_OF_CWL = ("RBP", "BPM", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ")
# How the tools that ir_measures asks break ties, where not as trec_eval does.
_TIES: dict[str, Ties] = {
    **dict.fromkeys(("Compat", "Judged", *_OF_NDEVAL), "ascending"),
    **dict.fromkeys(("Accuracy", *_OF_CWL), "input"),
}
# What SetP and SetR mean with a cutoff, and what other measures are called here.
_CUT = {"SetP": "P", "SetR": "R"}
_NAMES = {"Accuracy": "AUC"}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "ERR": {"max_grade": 4},
    "alpha_DCG": {"compat": "ndeval"},
    "ERR_IA": {"compat": "ndeval"},
    "IPrec": {"rounding": "trec9"},  # pytrec_eval's
}
_GDEVAL_DECIMALS = 5


def provider(policy: Policy | None = None) -> Any:
    """A provider of ir_measures; ``policy`` decides about ties and the rest.

    Without a policy, values are those of the tool that ir_measures asks for each measure: ties are broken as in that tool, and
    gdeval's measures, ``ERR`` with its highest grade of 4 and ``nDCG(dcg="exp-log2")@k``, have its five decimals. Only ``Compat`` may
    differ, for tied documents of the same grade.
    """
    ir_measures = _library()

    class Evaluator(ir_measures.providers.Evaluator):  # type: ignore[misc,name-defined]
        def __init__(self, measures: Any, qrels: Any) -> None:
            self._given = list(measures)
            rows = [*ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter()]
            self._qrels = ir_measures.util.QrelsConverter(rows).as_dict_of_dict()
            self._topics = by_subtopic(
                (row.query_id, row.iteration, row.doc_id, row.relevance) for row in rows
            )
            super().__init__(self._given, set(self._qrels))

        def iter_calc(self, run: Any) -> Iterator[Any]:
            """Values by query; a query without a value has the measure's default, except in Accuracy, which leaves it out."""
            values = [*self._iter_calc(run)]
            yield from values
            known = {(value.measure, value.query_id) for value in values}
            for given in self._given:
                for query in sorted(self.qrel_qids) if given.NAME != "Accuracy" else ():
                    if (given, query) not in known:
                        yield ir_measures.Metric(query_id=query, measure=given, value=given.DEFAULT)

        def _iter_calc(self, run: Any) -> Iterator[Any]:
            ranked = ir_measures.util.RunConverter(run).as_dict_of_dict()
            known = {query: docs for query, docs in ranked.items() if query in self._qrels}
            for given in self._given if known else ():
                for query, value in self._values(given, known):
                    yield ir_measures.Metric(query_id=query, measure=given, value=value)

        def _gold(self, given: Any, queries: Iterable[str]) -> Any:
            """The judgments as the tool sees them."""
            if given.NAME in _OF_NDEVAL:  # only subtopics with a relevant document count
                topics = {query: self._topics[query].items() for query in queries}
                return Judgments(
                    subtopics={
                        query: {topic: _binary(docs, given["rel"]) for topic, docs in each}
                        for query, each in topics.items()
                    }
                )
            if given.NAME == "Judged":  # negative grades count
                return {query: dict.fromkeys(self._qrels[query], 0) for query in queries}
            return {query: self._qrels[query] for query in queries}

        def _values(self, given: Any, run: Any) -> Iterator[tuple[str, float]]:
            gold = self._gold(given, run)
            options = {"judged_only": True} if given.params.get("judged_only") else {}
            chosen = make_policy(policy or Policy(ties=_ties(given)), options)
            measure = translated(given)
            scores = evaluate(gold, run, measure, chosen)
            values = next(iter(scores.values.values())).tolist()
            if _is_of_gdeval(given):
                values = [round(value, _GDEVAL_DECIMALS) for value in values]
            pairs = zip(scores.queries, values, strict=True)
            if given.NAME != "Accuracy":
                return pairs
            # It has no value without a relevant document in the top k.
            success = evaluate(gold, run, make(look_up("Success"), dict(measure.params)), chosen)
            return compress(pairs, next(iter(success.values.values())).tolist())

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
    name, cutoff = measure.NAME, measure.params.get("cutoff")
    params = {key: value for key, value in measure.params.items() if key not in ("cutoff", "judged_only")}
    if name in _OF_NDEVAL:
        params.pop("rel", None)  # the judgments are made binary
    params |= _PARAMETERS.get(name, {})
    if "dcg" in params:
        params["gain"] = _GAINS[params.pop("dcg")]
    if "gains" in params and not isinstance(params["gains"], dict):
        raise KeyError("gains")
    if cutoff is not None and name == "SetP":
        params["over"] = "retrieved"
    if cutoff is not None:
        name = _CUT.get(name, name)
    name = _NAMES.get(name, name)
    inside = ", ".join(f"{key}={value}" for key, value in params.items())
    return parse(f"{name}{f'({inside})' if inside else ''}{'' if cutoff is None else f'@{cutoff}'}")


def _is_of_gdeval(measure: Any) -> bool:
    """Whether ir_measures asks gdeval, which prints few decimals."""
    is_exponential = measure.params.get("dcg") == "exp-log2" and "cutoff" in measure.params
    return measure.NAME == "ERR" or (measure.NAME == "nDCG" and is_exponential)


def _binary(grades: Mapping[str, float], rel: float) -> dict[str, int]:
    return {doc: int(grade >= rel) for doc, grade in grades.items()}


def _ties(measure: Any) -> Ties:
    """How the tool that ir_measures asks breaks ties; for RR with a cutoff it is MS MARCO's."""
    if measure.NAME == "RR" and "cutoff" in measure.params:
        return "ascending"
    return _TIES.get(measure.NAME, "descending")
