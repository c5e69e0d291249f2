"""A provider for ir_measures, so that its functions, and PyTerrier's ``pt.Experiment``, compute with RankLens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from typing import TYPE_CHECKING

from ranklens.data.readers.judgments import Judgments, by_subtopic
from ranklens.errors import MissingExtraError, RankLensError
from ranklens.metrics import Measure, look_up, make, parse
from ranklens.policy import Policy, Ties, make_policy
from ranklens.scores.evaluation import evaluate

if TYPE_CHECKING:
    from ir_measures.measures import Measure as TheirMeasure
    from ir_measures.providers import Provider
    from ir_measures.util import TYPE_QREL, TYPE_RUN, Metric

_GAINS = {"log2": "linear", "exp-log2": "exp"}  # its dcg=, our gain=
_OF_NDEVAL = (
    "ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall",
)  # fmt: skip
_OF_CWL = ("RBP", "BPM", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "INST", "INSQ")
# How the tools that ir_measures asks break ties, unless as trec_eval does; RR with a cutoff is MS MARCO's.
_TIES: dict[str, Ties] = {
    **dict.fromkeys(("Compat", "Judged", *_OF_NDEVAL), "ascending"),
    **dict.fromkeys(("Accuracy", *_OF_CWL), "input"),
}
# What SetP and SetR mean with a cutoff, and what other measures are called here.
_CUT = {"SetP": "P", "SetR": "R"}
_NAMES = {"Accuracy": "AUC"}
_PARAMETERS: dict[str, dict[str, object]] = {
    "ERR": {"max_grade": 4},
    "alpha_DCG": {"compat": "ndeval"},
    "ERR_IA": {"compat": "ndeval"},
    "IPrec": {"rounding": "trec9"},  # pytrec_eval's
}
_GDEVAL_DECIMALS = 5


def provider(policy: Policy | None = None) -> Provider:
    """A provider of ir_measures; ``policy`` decides about ties and the rest.

    Without a policy, values are those of the tool that ir_measures asks for each measure: ties are broken as in that tool, and
    gdeval's measures, ``ERR`` with its highest grade of 4 and ``nDCG(dcg="exp-log2")@k``, have its five decimals. Only ``Compat`` may
    differ, for tied documents of the same grade.
    """
    try:
        import ir_measures
    except ImportError:
        raise MissingExtraError("ir_measures is not installed: pip install ir-measures") from None

    class Evaluator(ir_measures.providers.Evaluator):
        def __init__(self, measures: Iterable[TheirMeasure], qrels: TYPE_QREL) -> None:
            self._asked = list(measures)
            rows = [*ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter()]
            self._qrels = ir_measures.util.QrelsConverter(rows).as_dict_of_dict()
            self._topics = by_subtopic(
                (row.query_id, row.iteration, row.doc_id, row.relevance) for row in rows
            )
            super().__init__(self._asked, set(self._qrels))

        def iter_calc(self, run: TYPE_RUN) -> Iterator[Metric]:
            """Values by query; a query without a value has the measure's default, except in Accuracy, which leaves it out."""
            ranked = ir_measures.util.RunConverter(run).as_dict_of_dict()
            judged = {query: docs for query, docs in ranked.items() if query in self._qrels}
            evaluated = set()
            for measure in self._asked if judged else ():
                for query, value in self._values(measure, judged):
                    evaluated.add((measure, query))
                    yield ir_measures.Metric(query_id=query, measure=measure, value=value)
            for measure in self._asked:
                for query in sorted(self.qrel_qids) if measure.NAME != "Accuracy" else ():
                    if (measure, query) not in evaluated:
                        yield ir_measures.Metric(query_id=query, measure=measure, value=measure.DEFAULT)

        def _values(
            self, measure: TheirMeasure, run: Mapping[str, Mapping[str, float]]
        ) -> Iterator[tuple[str, float]]:
            gold: dict[str, dict[str, int]] | Judgments = {query: self._qrels[query] for query in run}
            if measure.NAME in _OF_NDEVAL:  # only subtopics with a relevant document count
                rel = measure["rel"]
                subtopics = {
                    query: {
                        topic: {doc: int(grade >= rel) for doc, grade in docs.items()}
                        for topic, docs in self._topics[query].items()
                    }
                    for query in run
                }
                gold = Judgments(subtopics=subtopics)
            elif measure.NAME == "Judged":  # negative grades count
                gold = {query: dict.fromkeys(self._qrels[query], 0) for query in run}
            ours = translated(measure)
            options = {"judged_only": True} if measure.params.get("judged_only") else {}
            is_ms_marco = measure.NAME == "RR" and "cutoff" in measure.params
            ties = "ascending" if is_ms_marco else _TIES.get(str(measure.NAME), "descending")
            chosen = make_policy(policy or Policy(ties=ties), options)
            scores = evaluate(gold, run, ours, chosen)
            values = next(iter(scores.values.values())).tolist()
            is_exponential = measure.params.get("dcg") == "exp-log2" and "cutoff" in measure.params
            if measure.NAME == "ERR" or (measure.NAME == "nDCG" and is_exponential):
                values = [round(value, _GDEVAL_DECIMALS) for value in values]
            pairs = zip(scores.queries, values, strict=True)
            if measure.NAME != "Accuracy":
                return pairs
            # It has no value without a relevant document in the top k.
            success = evaluate(gold, run, make(look_up("Success"), dict(ours.params)), chosen)
            return compress(pairs, next(iter(success.values.values())).tolist())

    class Provider(ir_measures.providers.Provider):
        NAME = "ranklens"

        def supports(self, measure: TheirMeasure) -> bool:
            try:
                translated(measure)
            except (RankLensError, KeyError):
                return False
            return True

        def _evaluator(self, measures: Iterable[TheirMeasure], qrels: TYPE_QREL) -> Evaluator:
            return Evaluator(measures, qrels)

    return Provider()


def install(policy: Policy | None = None) -> Provider:
    """Put RankLens first among the providers that ir_measures asks; PyTerrier asks the same. Returns the provider.

    ``ir_measures.DefaultPipeline.providers.remove(provider)`` takes it back.
    """
    ours = provider(policy)
    import ir_measures

    ir_measures.DefaultPipeline.providers.insert(0, ours)
    return ours


def translated(measure: TheirMeasure) -> Measure:
    """A measure of ir_measures as RankLens names it; a KeyError if it has no such parameter."""
    name, cutoff = str(measure.NAME), measure.params.get("cutoff")
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
