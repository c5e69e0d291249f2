"""Measures around retrieval: routing, gating and reranking.

Was the right expert asked, was retrieval rightly skipped, did reranking help?
"""

from ranklens.recipes.pipeline.reranking import (
    KPoint,
    KSweep,
    RerankingResult,
    k_sweep,
    reranking_improvement,
)
from ranklens.recipes.pipeline.routing import (
    ExpertResult,
    GateResult,
    RoutingResult,
    gate_efficiency,
    routing_accuracy,
)

__all__ = [
    "ExpertResult",
    "GateResult",
    "KPoint",
    "KSweep",
    "RerankingResult",
    "RoutingResult",
    "gate_efficiency",
    "k_sweep",
    "reranking_improvement",
    "routing_accuracy",
]
