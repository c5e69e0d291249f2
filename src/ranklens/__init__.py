"""RankLens measures how good a ranking is.

>>> import ranklens as rl
>>> scores = rl.evaluate({"q1": {"d1": 1}}, {"q1": ["d2", "d1"]}, ["nDCG@10", "RR"])
>>> scores.mean["RR"]
0.5

Names are imported on first use, so ``import ranklens`` is fast.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing takes a while to import
if TYPE_CHECKING:
    from typing import Any

    from ranklens.assessment.agreement import Agreement, agreement
    from ranklens.assessment.budget import LabelPlan, plan_labels
    from ranklens.assessment.merging import fill, merge_judgments
    from ranklens.assessment.nuggets import nuggets
    from ranklens.assessment.reusability import Reusability, reusability
    from ranklens.assessment.support import support
    from ranklens.assessment.trust import Trust, probes, trust
    from ranklens.comparison.compare import compare, compare_scores
    from ranklens.comparison.comparison import Comparison
    from ranklens.comparison.planning import Plan, plan
    from ranklens.data.evidence.remap import remap
    from ranklens.data.matching.answers import answers
    from ranklens.data.readers.golden_and_logs import from_records
    from ranklens.data.readers.judgments import Judgments
    from ranklens.data.readers.retrieved import hits
    from ranklens.data.traces.datasets import from_dataset
    from ranklens.data.traces.runs import from_traces
    from ranklens.errors import (
        InputError,
        MeasureError,
        MismatchWarning,
        MissingExtraError,
        PolicyError,
        RankLensError,
        RankLensWarning,
    )
    from ranklens.exchange.ir_datasets import from_ir_datasets
    from ranklens.exchange.mteb import read_mteb
    from ranklens.fusion.fusing import fit_fusion, fuse
    from ranklens.fusion.potential import fusion_potential
    from ranklens.fusion.reranking import rerank
    from ranklens.fusion.sweeping import sweep
    from ranklens.fusion.tuning import tune
    from ranklens.guard.checking import gate
    from ranklens.judging.assembly import judge
    from ranklens.judging.hits import Hits
    from ranklens.judging.judged import Judged
    from ranklens.judging.prepared import judgments
    from ranklens.metrics import Measure, measures, preset
    from ranklens.metrics import parse as measure
    from ranklens.metrics.conventions import Convention, convention
    from ranklens.metrics.formulas.exposure import diversity_from
    from ranklens.metrics.formulas.gain import cumulated_gain_from
    from ranklens.metrics.formulas.own import measure_from
    from ranklens.metrics.formulas.user_models import user_model
    from ranklens.models.embeddings.ann import ann_recall
    from ranklens.models.embeddings.evaluation import evaluate_embeddings
    from ranklens.models.embeddings.score_arrays import evaluate_scores
    from ranklens.policy import Policy
    from ranklens.recipes.inspection.inspect import inspect
    from ranklens.recipes.items import (
        AveragePrecisionAtK,
        DatasetItem,
        F1AtK,
        HitRateAtK,
        MeanReciprocalRank,
        MetricRunner,
        NDCGAtK,
        PrecisionAtK,
        RecallAtK,
    )
    from ranklens.recipes.pipeline import gate_efficiency, k_sweep, reranking_improvement, routing_accuracy
    from ranklens.recipes.recommend.sampling import sampled_metric
    from ranklens.recipes.sessions import Sessions, judge_sessions
    from ranklens.recipes.single import (
        average_precision_at_k,
        dcg_at_k,
        f1_at_k,
        hit_rate_at_k,
        mean_reciprocal_rank,
        ndcg_at_k,
        precision_at_k,
        precision_recall_f1,
        recall_at_k,
        reciprocal_rank,
        success_at_k,
    )
    from ranklens.recipes.trajectories import trajectories
    from ranklens.report.explanation.explain import Explanation, explain
    from ranklens.retrieval.benchmark import Benchmark
    from ranklens.scores import Scores
    from ranklens.scores.evaluation import evaluate, evaluate_rankings
    from ranklens.scores.history.store import History
    from ranklens.scores.reading import read_scores
    from ranklens.stats import Interval, rbo, tau

__version__ = "0.1.0"

_HOME = {
    "retrieval.benchmark": "Benchmark",
    "comparison.comparison": "Comparison",
    "comparison.planning": "Plan plan",
    "comparison.compare": "compare compare_scores",
    "models.embeddings.ann": "ann_recall",
    "models.embeddings.evaluation": "evaluate_embeddings",
    "models.embeddings.score_arrays": "evaluate_scores",
    "metrics.conventions": "Convention convention",
    "errors": "InputError MeasureError MismatchWarning MissingExtraError PolicyError RankLensError RankLensWarning",
    "scores.evaluation": "evaluate evaluate_rankings",
    "exchange.ir_datasets": "from_ir_datasets",
    "exchange.mteb": "read_mteb",
    "report.explanation.explain": "Explanation explain",
    "metrics.formulas.gain": "cumulated_gain_from",
    "metrics.formulas.own": "measure_from",
    "fusion.fusing": "fit_fusion fuse",
    "fusion.potential": "fusion_potential",
    "fusion.reranking": "rerank",
    "fusion.sweeping": "sweep",
    "fusion.tuning": "tune",
    "guard.checking": "gate",
    "scores.history.store": "History",
    "metrics.formulas.exposure": "diversity_from",
    "metrics.formulas.user_models": "user_model",
    "recipes.items": "AveragePrecisionAtK DatasetItem F1AtK HitRateAtK MeanReciprocalRank MetricRunner NDCGAtK PrecisionAtK RecallAtK",
    "judging.assembly": "judge",
    "judging.hits": "Hits",
    "judging.judged": "Judged",
    "judging.prepared": "judgments",
    "data.evidence.remap": "remap",
    "assessment.agreement": "Agreement agreement",
    "assessment.budget": "LabelPlan plan_labels",
    "assessment.merging": "fill merge_judgments",
    "assessment.nuggets": "nuggets",
    "assessment.reusability": "Reusability reusability",
    "assessment.support": "support",
    "assessment.trust": "Trust probes trust",
    "data.matching.answers": "answers",
    "recipes.inspection.inspect": "inspect",
    "recipes.pipeline": "gate_efficiency k_sweep reranking_improvement routing_accuracy",
    "policy": "Policy",
    "data.readers.golden_and_logs": "from_records",
    "data.readers.retrieved": "hits",
    "data.readers.judgments": "Judgments",
    "recipes.recommend.sampling": "sampled_metric",
    "metrics": "Measure measures preset",
    "scores": "Scores",
    "scores.reading": "read_scores",
    "recipes.sessions": "Sessions judge_sessions",
    "recipes.trajectories": "trajectories",
    "recipes.single": "average_precision_at_k dcg_at_k f1_at_k hit_rate_at_k mean_reciprocal_rank ndcg_at_k precision_at_k "
    "precision_recall_f1 recall_at_k reciprocal_rank success_at_k",
    "stats": "Interval rbo tau",
    "data.traces.datasets": "from_dataset",
    "data.traces.runs": "from_traces",
}
_WHERE = {name: (module, name) for module, names in _HOME.items() for name in names.split()}
_WHERE["measure"] = ("metrics", "parse")  # looks a measure up; the decorator is ranklens.registry.measure

__all__ = [
    "Agreement",
    "AveragePrecisionAtK",
    "Benchmark",
    "Comparison",
    "Convention",
    "DatasetItem",
    "Explanation",
    "F1AtK",
    "History",
    "HitRateAtK",
    "Hits",
    "InputError",
    "Interval",
    "Judged",
    "Judgments",
    "LabelPlan",
    "MeanReciprocalRank",
    "Measure",
    "MeasureError",
    "MetricRunner",
    "MismatchWarning",
    "MissingExtraError",
    "NDCGAtK",
    "Plan",
    "Policy",
    "PolicyError",
    "PrecisionAtK",
    "RankLensError",
    "RankLensWarning",
    "RecallAtK",
    "Reusability",
    "Scores",
    "Sessions",
    "Trust",
    "agreement",
    "ann_recall",
    "answers",
    "average_precision_at_k",
    "compare",
    "compare_scores",
    "convention",
    "cumulated_gain_from",
    "dcg_at_k",
    "diversity_from",
    "evaluate",
    "evaluate_embeddings",
    "evaluate_rankings",
    "evaluate_scores",
    "explain",
    "f1_at_k",
    "fill",
    "fit_fusion",
    "from_dataset",
    "from_ir_datasets",
    "from_records",
    "from_traces",
    "fuse",
    "fusion_potential",
    "gate",
    "gate_efficiency",
    "hit_rate_at_k",
    "hits",
    "inspect",
    "judge",
    "judge_sessions",
    "judgments",
    "k_sweep",
    "mean_reciprocal_rank",
    "measure",
    "measure_from",
    "measures",
    "merge_judgments",
    "ndcg_at_k",
    "nuggets",
    "plan",
    "plan_labels",
    "precision_at_k",
    "precision_recall_f1",
    "preset",
    "probes",
    "rbo",
    "read_mteb",
    "read_scores",
    "recall_at_k",
    "reciprocal_rank",
    "remap",
    "rerank",
    "reranking_improvement",
    "reusability",
    "routing_accuracy",
    "sampled_metric",
    "success_at_k",
    "support",
    "sweep",
    "tau",
    "trajectories",
    "trust",
    "tune",
    "user_model",
]


# Reached without an import of their own: ranklens.recommend.evaluate.
_ROOMS = (
    "config",
    "exchange",
    "matching",
    "pipeline",
    "pytrec_eval",
    "recommend",
    "registry",
    "stats",
    "training",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        from importlib import import_module

        return import_module(f"ranklens.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'ranklens' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _WHERE[name]
    value = getattr(import_module(f"ranklens.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
