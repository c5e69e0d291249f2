"""Do prediction-powered intervals hold the truth, with few queries that people judged, and whatever the model that judged the others is like?

A part of ``simulation.py``, which runs it. The model sees the same query and the same system as a person, with luck of its own, and may rate
everything too high, or one system alone (as a model does that likes its own kind). The truth is what people would say of all queries.
"""

import numpy as np
from coverage_of import chosen
from equal_systems import KINDS, batches

from ranklens.stats import Bounds
from ranklens.stats.ppi import grouped, powered, powered_interval

# How a model judges: its own luck with each query, by how much it rates too high, and by how much more for the second system.
JUDGES = {
    "close": (0.3, 0.0, 0.0),
    "close, rates too high": (0.3, 0.8, 0.0),
    "close, favours one": (0.3, 0.3, 0.6),
    "rough, rates too high": (1.0, 0.5, 0.0),
    "useless": (None, 0.5, 0.0),
}
HUMAN, MACHINE = (10, 20, 50), 300
LEAST = 0.93  # from 20 queries on
CLUSTER = 2  # queries, with half of the variance in common


def show_few_labels(options, pool):
    """Prints how often the intervals hold the truth, and how many queries they are worth; returns whether that is often enough."""
    fine = True
    print(
        f"\ncoverage with {', '.join(map(str, HUMAN))} human-judged queries and {MACHINE} of the model: mean; difference; by cluster; queries it is worth\n"
    )
    for kind in chosen(options.kind, KINDS):
        truth = of_all(kind)
        for number, judge in enumerate(JUDGES):
            cells = []
            for n in HUMAN:
                tasks = [
                    (kind, judge, n, truth, *batch)
                    for batch in batches(options.experiments, options.seed, number, n)
                ]
                held = np.sum(list(pool.map(_held, tasks)), axis=0) / options.experiments
                fine = fine and (n < 20 or held[:3].min() >= LEAST)
                cells.append(f"{held[0]:.3f} {held[1]:.3f} {held[2]:.3f} ({held[3]:.0f})")
            print(f"{kind:14}{judge:24}" + "   ".join(cells), flush=True)
    return fine


def of_all(kind):
    """The true mean of the first system, and its difference to the second, which is better."""
    rng = np.random.default_rng(0)
    parts = [KINDS[kind](_latent(rng, (1_000_000,))) for _ in range(5)]
    first, second = np.concatenate(parts, axis=1)
    return first.mean(), (second - first).mean()


def _latent(rng, shape, clusters=1):
    """Two systems by queries; those of a cluster have half of what makes them easy or hard in common."""
    common = rng.normal(0, 1, shape)
    if clusters > 1:
        of_cluster = rng.normal(0, 1, (*shape[:-1], shape[-1] // clusters)).repeat(clusters, axis=-1)
        common = (common + of_cluster) / 2**0.5
    return np.stack([common, common + 0.2]) + rng.normal(0, 0.7, (2, *shape))


def _judged(rng, latent, judge, seen):
    own, high, favour = JUDGES[judge]
    luck = rng.normal(0, 1.22 if own is None else own, latent.shape)
    lifted = np.array([high, high + favour]).reshape(2, *[1] * (latent.ndim - 1))
    return seen((0 if own is None else latent) + luck + lifted)


def _held(task):
    kind, judge, n, truth, experiments, seed = task
    rng, seen = np.random.default_rng(seed), KINDS[kind]

    def drawn(clusters):
        human, rest = (_latent(rng, (experiments, size), clusters) for size in (n, MACHINE))
        return seen(human), _judged(rng, human, judge, seen), _judged(rng, rest, judge, seen)

    def differs(values, clusters=None):
        labels = grouped(*values, clusters).changed(lambda both: both[1] - both[0])
        low, high = powered(labels, reach=2.0).ends(0.95)
        return ((low <= truth[1]) & (truth[1] <= high)).sum()

    values = drawn(1)
    found = [powered(grouped(*one), reach=1.0) for one in zip(*(part[0] for part in values), strict=True)]
    around = [
        powered_interval(one, human, 0.95, Bounds(0, 1))
        for one, human in zip(found, values[0][0], strict=True)
    ]
    together = drawn(CLUSTER)
    labels = [np.arange(size) // CLUSTER + 1_000 * size for size in (n, MACHINE)]
    return [
        sum(one.low <= truth[0] <= one.high for one in around),
        differs(values),
        differs(together, [one.tolist() for one in labels]),
        sum(n * float(one.gain) for one in found),
    ]
