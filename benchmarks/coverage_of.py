"""How often intervals hold the truth, near the ends of the range in particular.

Parts of ``simulation.py``, which runs them. Coverage of shares is counted, not simulated: all numbers of successes, with their probabilities.
"""

import sys

import numpy as np
from scipy.stats import binom

from ranklens import stats
from ranklens.stats.effects import effect_sizes
from ranklens.stats.inputs import differences
from ranklens.stats.intervals import bootstrap_ends, bootstrap_weights, student_ends
from ranklens.stats.strata import macro_interval

SIZES = (10, 25, 50, 100, 1000)
UNIT = stats.Bounds(0, 1)
LEAST = 0.93  # coverage from 25 queries on
BETTER = 0.25  # the advantage of the better system, on the scale of the latent quality


def ndcg_like(latent):
    return np.clip(0.1 + 0.35 * latent, 0, 1) ** 1.25


def rr_like(latent):
    rank = np.ceil(np.exp(1.2 - 1.3 * latent))
    return np.where(rank <= 10, 1 / rank, 0.0)


def ap_like(latent):
    return np.clip(np.exp(-1.5 + 0.9 * latent), 0, 1)


def success_like(latent):
    return (latent > -0.5) * 1.0


def sparse(rng, size, share, at, others):
    """Values that are ``at`` in a share of the queries."""
    return np.where(rng.random(size) < share, at, others)


# Scores near an end of their range, as very good and very bad systems have them.
SHAPES = {
    "nDCG-like, many zeros": lambda rng, size: ndcg_like(rng.normal(0, 1.22, size)),
    "nDCG-like, many ones": lambda rng, size: 1 - ndcg_like(rng.normal(0, 1.22, size)),
    "AP-like, mean 0.05": lambda rng, size: rng.beta(0.25, 4.75, size),
    "AP-like, 80% zeros": lambda rng, size: sparse(rng, size, 0.8, 0, rng.beta(1, 3, size)),
    "RR-like, 88% zeros": lambda rng, size: sparse(rng, size, 0.88, 0, 1 / rng.integers(1, 11, size)),
    "R-like, 96% ones": lambda rng, size: sparse(rng, size, 0.96, 1, rng.random(size)),
}
# Of successes, with the coverage that is expected from 25 queries on: that of a share goes up and down, as there are few numbers of successes.
SHARES = {0.98: LEAST, 0.05: LEAST, 0.99: LEAST, 0.9: LEAST, 0.7: 0.92, 0.5: LEAST}


def low_and_high(rng, size, shift):
    """Two systems of which the second is better, both near an end of the range."""
    easy, luck = rng.normal(shift, 1, size), rng.normal(0, 0.7, (2, *size))
    return np.clip(0.35 * (easy + luck[0]), 0, 1), np.clip(0.35 * (easy + luck[1] + BETTER), 0, 1)


def paired_successes(rng, size, more, less):
    """Two systems that succeed or fail; ``more`` and ``less``: how often only the second, only the first succeeds."""
    drawn = rng.random(size)
    both = drawn > 0.6
    return ((drawn < less) | both) * 1.0, (both | ((drawn >= less) & (drawn < less + more))) * 1.0


def draw_pairs(rng, kind, size):
    latent = rng.normal(0, 1, size) + rng.normal(0, 0.7, (2, *size))
    return kind(latent[0]), kind(latent[1] + BETTER)


PAIRS = {
    "nDCG-like": lambda rng, size: draw_pairs(rng, ndcg_like, size),
    "AP-like": lambda rng, size: draw_pairs(rng, ap_like, size),
    "RR-like": lambda rng, size: draw_pairs(rng, rr_like, size),
    "Success-like": lambda rng, size: draw_pairs(rng, success_like, size),
    "nearly all zero": lambda rng, size: low_and_high(rng, size, -1.3),
    "nearly all one": lambda rng, size: low_and_high(rng, size, 4.2),
    "Success, 5% to 1%": lambda rng, size: paired_successes(rng, size, 0.05, 0.01),
    "Success, 20% to 10%": lambda rng, size: paired_successes(rng, size, 0.2, 0.1),
}


def chosen(kind, kinds):
    """The kind asked for, or all of them."""
    if kind and kind not in kinds:
        sys.exit(f"--kind {kind!r} is not simulated here; choose one of: {'; '.join(kinds)}.")
    return [kind] if kind else [*kinds]


def show_shares(*_):
    """Prints the exact coverage of a share by t, by Wilson's interval and by what is chosen by default, and the worst over all shares."""
    fine = True
    print(
        "\ncoverage of a share, exactly: t, Wilson, the default; last, over all shares between 0.0001 and 0.9999, the worst\n"
    )
    for n in SIZES:
        hits, cells = np.arange(n + 1), []
        ends = {method: ends_of_shares(n, method) for method in ("t", "wilson", "auto")}
        for share, least in SHARES.items():
            rates = [float(coverage(hits, n, *of, np.array([share]))[0]) for of in ends.values()]
            fine = fine and (n < 25 or rates[-1] >= least)
            cells.append(f"{share}: " + " ".join(f"{rate:.3f}" for rate in rates))
        worst = []
        for low, high in ends.values():
            edges = np.concatenate([low, high])  # where the coverage drops
            shares = np.concatenate([edges - 1e-9, edges + 1e-9])
            shares = shares[(shares > 0.0001) & (shares < 0.9999)]
            worst.append(coverage(hits, n, low, high, shares).min())
        print(
            f"n = {n:5}  " + "  ".join(cells) + "  worst: " + " ".join(f"{rate:.3f}" for rate in worst),
            flush=True,
        )
    return fine


def ends_of_shares(n, method):
    found = [
        stats.interval(np.repeat([1.0, 0.0], [hits, n - hits]), method=method, bounds=UNIT)
        for hits in range(n + 1)
    ]
    return np.array([one.low for one in found]), np.array([one.high for one in found])


def coverage(hits, n, low, high, share):
    held = (low <= share[:, None]) & (share[:, None] <= high)
    return (binom.pmf(hits, n, share[:, None]) * held).sum(axis=1)


def show_means(options, _):
    """Prints the coverage of means by t, BCa and what is chosen by default; returns whether that is at least 0.93 from 25 queries on."""
    return _show("mean", SHAPES, _means, options)


def show_differences(options, _):
    """The same for differences."""
    return _show("difference", PAIRS, _differences, options)


def _show(what, shapes, measure, options):
    fine = True
    print(f"\ncoverage of a {what}: t, BCa, the default, with {', '.join(map(str, SIZES))} queries\n")
    for shape in chosen(options.kind, shapes):
        rng = np.random.default_rng(options.seed)
        drawn = shapes[shape](rng, (1, 4_000_000))
        truth = drawn.mean() if what == "mean" else (drawn[1] - drawn[0]).mean()
        rates = [measure(rng, shape, n, options.experiments, truth) for n in SIZES]
        fine = fine and min(rate[-1] for n, rate in zip(SIZES, rates, strict=True) if n >= 25) >= LEAST
        print(f"{shape:24}" + "  ".join(" ".join(f"{one:.3f}" for one in rate) for rate in rates), flush=True)
    return fine


def _means(rng, shape, n, experiments, truth):
    rows = SHAPES[shape](rng, (experiments, n))
    found = [stats.interval(values, bounds=UNIT) for values in rows]
    default = np.array([one.low for one in found]), np.array([one.high for one in found])
    return _held(rng, rows, default, truth)


def _differences(rng, shape, n, experiments, truth):
    a, b = PAIRS[shape](rng, (experiments, n))
    changes = differences(a, b)
    found = effect_sizes(changes, level=0.95, bounds=UNIT)
    return _held(rng, changes, (found.low, found.high), truth)


def _held(rng, rows, default, truth):
    """How often t, BCa and the default hold the truth."""
    ends = [student_ends(rows, 0.95), bca_ends(rng, rows), default]
    return [((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean() for low, high in ends]


def bca_ends(rng, rows, at_once=250):
    """Of each row, from 1,999 samples that all rows share."""
    found = []
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        weights = np.concatenate([*bootstrap_weights(rows.shape[1], rng, 1_999)])
        means = some @ weights.T / rows.shape[1]
        found += [
            tuple(bootstrap_ends(row, drawn, "bca", 0.95)) for row, drawn in zip(some, means, strict=True)
        ]
    return np.array(found).T


def show_simultaneous(options, _):
    """Prints how often all simultaneous intervals of four systems hold, and how often one has no width."""
    rng, fine = np.random.default_rng(options.seed), True
    gaps, (first, second) = np.array([0, 0.25, 0.5, 0])[:, None], np.triu_indices(4, 1)
    print("\nall intervals of four systems hold, with 10, 25, 50 and 100 queries; intervals without width\n")
    for name, seen in SEEN.items():
        means = seen(rng.normal(0, 1, 1_000_000) + rng.normal(0, 0.7, (4, 1_000_000)) + gaps).mean(axis=1)
        truth, rates, flat = means[second] - means[first], [], 0
        for n in SIZES[:4]:
            held = 0
            for _ in range(options.experiments):
                scores = seen(rng.normal(0, 1, n) + rng.normal(0, 0.7, (4, n)) + gaps)
                found = stats.simultaneous(scores, first, second, rng=rng, resamples=999, reach=1.0)
                held += ((found.low <= truth + 1e-12) & (truth <= found.high + 1e-12)).all()
                flat += int((found.high <= found.low).sum())
            rates.append(held / options.experiments)
        fine = fine and min(rates[1:]) >= LEAST and not flat
        print(f"{name:24}" + "  ".join(f"{rate:.3f}" for rate in rates) + f"  {flat}", flush=True)
    return fine


SEEN = {
    "nDCG-like": ndcg_like,
    "AP-like": ap_like,
    "RR-like": rr_like,
    "Success-like": success_like,
    "AP-like, mean 0.05": lambda latent: np.clip(np.exp(-3.9 + 1.1 * latent), 0, 1),
    "many zeros": lambda latent: np.clip(0.35 * (latent - 1.3), 0, 1),
    "Success, p = 0.98": lambda latent: (latent > -2.507) * 1.0,
}


def show_clustered_macro(options, _):
    """Prints how often the interval of a macro-average holds the truth where queries come in clusters, inside slices or across them."""
    rng, fine = np.random.default_rng(options.seed), True
    print("\ncoverage of a macro-average of three slices by cluster: equal, and unequal clusters\n")
    for where, topics in ((w, t) for w in ("inside slices", "across slices") for t in (6, 12, 20)):
        rates = []
        for unequal in (False, True):
            held = [
                _clustered_holds(rng, topics, unequal, across=where[0] == "a")
                for _ in range(options.experiments)
            ]
            rates.append(np.mean(held))
        fine = fine and min(rates) >= LEAST
        print(f"{topics:3} clusters {where:16}" + "  ".join(f"{rate:.3f}" for rate in rates), flush=True)
    return fine


def _clustered_holds(rng, topics, unequal, *, across):
    means, groups, labels = (0.3, 0.45, 0.6), [], []
    shared = rng.normal(0, 0.15, topics)
    for number, mean in enumerate(means):
        effect = shared if across else rng.normal(0, 0.15, topics)
        sizes = rng.integers(1, 8, topics) if unequal else np.full(topics, 4)
        own = np.repeat(np.arange(topics), sizes)
        groups.append(mean + effect[own] + rng.normal(0, 0.1, len(own)))
        labels.append([(0 if across else number, topic) for topic in own.tolist()])
    found = macro_interval(groups, clusters=labels)
    return found.low <= np.mean(means) <= found.high


SLICES = {
    "20 slices of 1 or 2": [1, 2] * 10,
    "19 of 1, one of 2": [1] * 19 + [2],
    "10 of 2": [2] * 10,
    "10 of 1, 10 of 5": [1] * 10 + [5] * 10,
    "6 of 1 to 60": [1, 2, 5, 10, 30, 60],
    "5 of 20": [20] * 5,
}
# The means of slices lie between two numbers; the scores of a slice follow a beta distribution, or are successes.
LEVELS = {
    "0.2 to 0.8": (0.2, 0.8, 8),
    "0.02 to 0.1": (0.02, 0.1, 6),
    "0.9 to 0.98": (0.9, 0.98, 6),
    "Success, 0.5 to 0.95": (0.5, 0.95, None),
    "Success, 0.9 to 0.99": (0.9, 0.99, None),
}


def show_macro(options, _):
    """Prints how often the interval of a macro-average holds the mean of the slices' true means."""
    rng, fine = np.random.default_rng(options.seed), True
    print(f"\ncoverage of a macro-average, means of slices {'; '.join(LEVELS)}\n")
    for name, sizes in SLICES.items():
        rates = [
            np.mean([_macro_holds(rng, sizes, *level) for _ in range(options.experiments)])
            for level in LEVELS.values()
        ]
        fine = fine and min(rates) >= LEAST - 0.02
        print(f"{name:24}" + "  ".join(f"{rate:.3f}" for rate in rates), flush=True)
    return fine


def _macro_holds(rng, sizes, low, high, weight):
    means = rng.uniform(low, high, len(sizes))
    groups = [
        rng.binomial(1, mean, n).astype(float)
        if weight is None
        else rng.beta(weight * mean, weight * (1 - mean), n)
        for mean, n in zip(means, sizes, strict=True)
    ]
    found = macro_interval(groups, bounds=UNIT)
    return found.low <= means.mean() <= found.high
