"""The three shapes of retrieval data that the benchmarks use; random, but always the same."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Shape:
    name: str
    queries: int
    documents: int
    judged: int  # per query
    found: float  # the share of judged documents that are retrieved

    def smaller(self, factor):
        return Shape(self.name, max(self.queries // factor, 1), self.documents, self.judged, self.found)


SHAPES = {
    "passages": Shape("6,980 x 1,000, 1 judged (MS MARCO dev)", 6_980, 1_000, 1, 0.8),
    "deep": Shape("250 x 1,000, 1,200 judged (TREC ad hoc)", 250, 1_000, 1_200, 0.4),
    "short": Shape("100,000 x 10, 2 judged (recommendation)", 100_000, 10, 2, 0.5),
}


def make(shape, seed=1):
    """Judgments and a run as dicts. Scores are exact in 32 bits, so that all tools see the same ranking."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(shape.queries):
        ids = rng.choice(8_800_000, shape.documents + shape.judged, replace=False)
        scores = rng.random(shape.documents, dtype=np.float32).astype(float)
        run[f"q{q}"] = dict(zip(map(str, ids[: shape.documents].tolist()), scores.tolist(), strict=True))
        hits = rng.random(shape.judged) < shape.found
        judged = ids[-shape.judged :].copy()
        judged[hits] = rng.choice(ids[: shape.documents], hits.sum(), replace=False)
        grades = rng.choice([0, 0, 1, 2, 3], shape.judged) if shape.judged > 2 else np.ones(shape.judged, int)
        qrels[f"q{q}"] = dict(zip(map(str, judged.tolist()), grades.tolist(), strict=True))
    return qrels, run
