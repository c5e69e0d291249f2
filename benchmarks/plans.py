"""Whether as many queries as ``plan`` asks for show the difference, and how often its interval of the deviation holds.

A part of ``simulation.py``, which runs it.
"""

import numpy as np
from equal_systems import BATCH, DRAWS, KINDS, SHAPES, by_default

import ranklens as rl
from ranklens.stats.pairwise import pairwise_p
from ranklens.stats.power import deviation_interval

BETTER = (
    0.3,
    0.6,
    1.0,
    1.6,
    2.4,
)  # in the latent quality, of which a system's own luck has a deviation of 0.7
PILOTS = (10, 25, 50, 100)


def show_plans(options, pool):
    """Prints the power with as many queries as planned, and the coverage of the deviation; returns whether promises were kept."""
    fine = True
    print("\nthe default test finds the difference with as many queries as planned for 0.80\n")
    for kind in KINDS:
        tasks = [(kind, better, options.experiments, options.seed) for better in BETTER]
        for better, (n, promised, found) in zip(BETTER, pool.map(_power, tasks), strict=True):
            kept = found >= promised - 0.05
            fine = fine and kept
            print(f"{kind:14}{better:5.1f} better: {n:5} queries, promised {promised:.3f}, found {found:.3f}")
    print(f"\nthe interval of a pilot's deviation holds, with {', '.join(map(str, PILOTS))} queries\n")
    for shape in SHAPES:
        tasks = [(shape, n, min(options.experiments, 4 * BATCH), options.seed) for n in PILOTS]
        rates = list(pool.map(_covered, tasks))
        fine = (
            fine and min(rates[1:]) >= 0.93 and rates[0] >= 0.88
        )  # if anything differs in a small pilot, much does
        print(f"{shape:20}" + "  ".join(f"{rate:.3f}" for rate in rates), flush=True)
    return fine


def _pairs(rng, seen, experiments, queries, better):
    latent = rng.normal(0, 1, (experiments, 1, queries)) + rng.normal(0, 0.7, (experiments, 2, queries))
    latent[:, 1] += better
    return seen(latent)


def _power(task):
    """The number of queries, the power that the plan promises for it, and the share in which the test finds the difference."""
    kind, better, experiments, seed = task
    rng = np.random.default_rng([seed, [*KINDS].index(kind), int(10 * better)])
    a, b = _pairs(rng, KINDS[kind], 1, 1_000_000, better)[0]
    plan = rl.plan((b - a).tolist(), detect=float((b - a).mean()))
    found = 0
    for _ in range(0, experiments, BATCH):
        scores = _pairs(rng, KINDS[kind], BATCH, plan.queries, better)
        rows, first = scores.reshape(-1, plan.queries), 2 * np.arange(BATCH)
        p = pairwise_p([rows], first, first + 1, method=by_default(scores), rng=rng, resamples=DRAWS)[0]
        found += (p <= 0.05).sum()
    return plan.queries, plan.power_at(plan.queries), found / (-(-experiments // BATCH) * BATCH)


def _covered(task):
    """The share of pilots in which anything differs whose interval holds the deviation."""
    shape, n, experiments, seed = task
    rng = np.random.default_rng([seed, [*SHAPES].index(shape), n])
    a, b = _pairs(rng, SHAPES[shape], 1, 1_000_000, 0.3)[0]
    truth = float((b - a).std())
    a, b = _pairs(rng, SHAPES[shape], experiments, n, 0.3).swapaxes(0, 1)
    ends = [[*deviation_interval(row[None], most=1.0)] for row in b - a if np.ptp(row) > 0]
    return float(np.mean([low <= truth <= high for low, high in ends]))
