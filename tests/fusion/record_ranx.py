"""Records what ranx gives for random runs, in ``ranx.json``: ``pip install ranx; python tests/fusion/record_ranx.py``."""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

NORMS = {
    "min-max": "min-max",
    "min-max-inverted": "min-max-inverted",
    "max": "max",
    "sum": "sum",
    "z-score": "zmuv",
    "rank": "rank",
    "borda": "borda",
}
WEIGHTS = [0.5, 0.3, 0.2]
METHODS = {
    "min": ("min", {}),
    "max": ("max", {}),
    "med": ("med", {}),
    "sum": ("sum", {}),
    "anz": ("anz", {}),
    "mnz": ("mnz", {}),
    "gmnz": ("gmnz", {"gamma": 0.7}),
    "wsum": ("wsum", {"weights": WEIGHTS}),
    "wmnz": ("wmnz", {"weights": WEIGHTS}),
    "mixed": ("mixed", {"weights": WEIGHTS}),
    "rrf": ("rrf", {"k": 42}),
    "isr": ("isr", {}),
    "log_isr": ("log_isr", {}),
    "logn_isr": ("logn_isr", {"sigma": 0.2}),
    "borda": ("bordafuse", {}),
    "weighted_borda": ("w_bordafuse", {"weights": WEIGHTS}),
    "rbc": ("rbc", {"phi": 0.7}),
}


def runs(rng):
    """Three runs of four queries; scores without ties, two of them negative now and then."""
    return {
        name: {
            f"q{query}": {
                f"d{doc}": float(score)
                for doc, score in zip(
                    rng.choice(16, size, replace=False), np.round(rng.normal(scale, 1, size), 6), strict=True
                )
            }
            for query, size in enumerate(rng.integers(3, 12, 4))
        }
        for name, scale in (("a", 10), ("b", 0), ("c", 1))
    }


def by_query(run):
    return {query: dict(docs) for query, docs in run.to_dict().items()}


def main():
    from ranx import Qrels, Run, fuse
    from ranx.fusion import bayesfuse, mapfuse, posfuse, probfuse, segfuse, slidefuse
    from ranx.fusion.bayesfuse import bayesfuse_train
    from ranx.fusion.mapfuse import mapfuse_train
    from ranx.fusion.posfuse import posfuse_train
    from ranx.fusion.probfuse import probfuse_train
    from ranx.fusion.segfuse import segfuse_train
    from ranx.fusion.slidefuse import slidefuse_train

    trained = {
        "posfuse": (posfuse_train, posfuse, {}),
        "slidefuse": (slidefuse_train, slidefuse, {"w": 2}),
        "probfuse": (probfuse_train, probfuse, {"segments": 4}),
        "segfuse": (segfuse_train, segfuse, {}),
        "mapfuse": (mapfuse_train, mapfuse, {}),
        "bayesfuse": (bayesfuse_train, bayesfuse, {}),
    }
    rng = np.random.default_rng(7)
    given = runs(rng)
    qrels = {query: {f"d{doc}": 1 for doc in rng.choice(16, 4, replace=False)} for query in given["a"]}
    as_runs = [Run(run) for run in given.values()]
    results = {
        f"{ours}|{norm}": {
            "params": params,
            "run": by_query(fuse(as_runs, norm=theirs_norm, method=theirs, params=params)),
        }
        for ours, (theirs, params) in METHODS.items()
        for norm, theirs_norm in {"": None, **NORMS}.items()
    }
    for name, (train, apply, params) in trained.items():
        extra = {"n_segments": 4} if name == "probfuse" else {}
        learnt = train(Qrels(qrels), as_runs, **extra)
        fused = apply(as_runs, learnt, **({"w": 2} if name == "slidefuse" else {}))
        results[f"{name}|"] = {"params": params, "run": by_query(fused)}
    content = {"ranx": version("ranx"), "runs": given, "qrels": qrels, "results": results}
    Path(__file__).with_name("ranx.json").write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main()
