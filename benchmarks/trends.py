"""How often a history raises an alarm when nothing changed, and whether it finds a slow slide.

A part of ``simulation.py``, which runs it. An entry follows another a hundred times, and is looked at each time.
"""

import numpy as np
from equal_systems import BATCH, KINDS

from ranklens.metrics import parse
from ranklens.scores import Values
from ranklens.scores.history.record import Record
from ranklens.scores.history.trend import Watch

LOOKS, ALPHA = 100, 0.05
MEASURES = {"nDCG-like": parse("nDCG@10"), "RR-like": parse("RR"), "Success-like": parse("Success@10")}
# What changes from entry to entry: everything, one query in ten, or one query in fifty; by chance alone.
TOUCHED = {"every query": 1.0, "one in ten": 0.1, "one in fifty": 0.02}
SLIDES = {  # queries, entries, and how many ranks of hits at rank 1 are lost in each entry
    "0.013 per entry, 40 queries, 40 entries": (40, 40, 1),
    "0.003 per entry, 160 queries, 40 entries": (160, 40, 1),
    "0.003 per entry, 320 queries, 40 entries": (320, 40, 2),
}


def show_trends(options, pool):
    """Prints how often any flag is raised in 100 looks at equal entries, and how often and when slides are found."""
    fine, experiments = True, max(1, options.experiments // 5)
    print(f"\nany flag in {LOOKS} looks at entries of equal quality: {experiments} histories\n")
    for kind in MEASURES:
        for n in (25, 100):
            rates = []
            for number, share in enumerate(TOUCHED.values()):
                seeds = [[options.seed, [*KINDS].index(kind), n, number, i] for i in range(experiments)]
                tasks = ((kind, n, share, seed) for seed in seeds)
                rates.append(np.mean(list(pool.map(_alarms, tasks, chunksize=BATCH // 25))))
            error = 3 * (ALPHA * (1 - ALPHA) / experiments) ** 0.5
            fine = fine and max(rates) <= ALPHA + error
            told = "  ".join(f"{name} {rate:.3f}" for name, rate in zip(TOUCHED, rates, strict=True))
            print(f"{kind:14}{n:5} queries: {told}", flush=True)
    print("\na slide is found, and at which entry in half of the histories that find it\n")
    for number, name in enumerate(SLIDES):
        for luck in (0.0, 0.1):
            seeds = [[options.seed, 99, number, i] for i in range(max(1, experiments // 5))]
            found = np.array(list(pool.map(_slide, ((name, luck, seed) for seed in seeds))))
            share = (found > 0).mean()
            fine = fine and share >= 0.8
            at = f"{np.median(found[found > 0]):.0f}" if share else "never"
            print(f"{name:44}{luck:5.0%} of other queries redrawn: {share:.3f}, entry {at}", flush=True)
    return fine


def _alarms(task):
    kind, queries, share, seed = task
    rng = np.random.default_rng(seed)
    difficulty, luck = rng.normal(0, 1, queries), rng.normal(0, 0.7, queries)
    watch = Watch(MEASURES[kind], ALPHA)
    for entry in range(LOOKS):
        luck = np.where(rng.random(queries) < share, rng.normal(0, 0.7, queries), luck)
        if watch.look(entry, _record(KINDS[kind](difficulty + luck), MEASURES[kind]))[2]:
            return True
    return False


def _slide(task):
    """The entry at which a drop is flagged, or 0: every entry pushes some hits from rank 1 to rank 2."""
    name, luck, seed = task
    queries, entries, lost = SLIDES[name]
    rng, watch = np.random.default_rng(seed), Watch(parse("RR"), ALPHA)
    ranks, order = np.ones(queries), rng.permutation(queries)
    for entry in range(entries + 1):
        if entry:
            ranks[order[lost * (entry - 1) : lost * entry]] += 1
        noisy = np.where(rng.random(queries) < luck, rng.integers(1, 3, queries), ranks)
        if watch.look(entry, _record(1 / noisy, parse("RR")))[2] == "drop":
            return entry
    return 0


def _record(values, measure):
    return Record("system", Values(tuple(map(str, range(len(values)))), {str(measure): values}), {}, {})
