"""Do the statistics keep their promises? Thousands of simulated experiments in which the truth is known.

Scores look like those of real evaluations: between 0 and 1, skewed, with many zeros, and easy for all systems or hard for all.
``nDCG-like`` and ``AP-like`` scores are continuous, the former with many at 0 and a few at 1; ``RR-like`` scores are 1, 1/2, 1/3 … or 0,
and ``Success-like`` ones 1 or 0.

Each line counts how often something happened that should happen with a known probability: a test that rejects where there
is nothing to find (5%, ``equal_systems.py``), an interval that contains the true mean (95%, ``coverage_of.py`` and ``rates``), a test that
finds the difference it promises to find (80%). Then come the verdicts of the gate on systems that are worse by a known amount, with the
share that stays undecided: a rule with a confidence of 95% passes a drop as large as the limit, and fails one no larger, in at most 5% of
cases. Resampling draws 1,999 times, shared by 250 experiments. The first line shows the time and memory of the largest test. The exit
status is 1 if a rate is outside its limits, which are made for 2,000 experiments: with fewer of them, chance alone may do that.
"""

import argparse
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from coverage_of import (
    BETTER,
    chosen,
    show_clustered_macro,
    show_differences,
    show_macro,
    show_means,
    show_shares,
    show_simultaneous,
)
from equal_systems import (
    ALPHA,
    DRAWS,
    KINDS,
    TESTS,
    batches,
    p_of_pairs,
    show_errors,
    show_families,
    show_recommendations,
    show_systems,
)
from few_labels import show_few_labels
from goals import record
from plans import show_plans
from trends import show_trends

from ranklens import stats
from ranklens.guard.deciding import decide
from ranklens.stats.intervals import bootstrap_ends, bootstrap_weights

METHODS = ("t", "percentile", "bca")


def draw(rng, kind, queries, systems=2, better=0.0):
    """One row per system; the last is better. Queries are hard or easy for all systems, and each system has its own luck."""
    return drawn_pairs(rng, kind, 1, queries, systems, better)[0]


def drawn_pairs(rng, kind, experiments, queries, systems=2, better=0.0):
    """The same for many experiments."""
    latent = rng.normal(0, 1, (experiments, 1, queries)) + rng.normal(0, 0.7, (experiments, systems, queries))
    latent[:, -1] += better
    return KINDS[kind](latent)


def population(kind):
    """The truth: mean of a system, mean and standard deviation of the difference of a better one; from ten million queries."""
    rng = np.random.default_rng(0)
    parts = [draw(rng, kind, 1_000_000, better=BETTER) for _ in range(10)]
    a, b = np.concatenate(parts, axis=1)
    return {
        "mean": a.mean(),
        "difference": (b - a).mean(),
        "deviation": (b - a).std(),
        "zeros": (a == 0).mean(),
        "skewness": ((a - a.mean()) ** 3).mean() / a.std() ** 3,
    }


def happened(task):
    """How often something happened in a batch of experiments."""
    kind, queries, truth, needed, experiments, seed = task
    rng = np.random.default_rng(seed)
    better = drawn_pairs(rng, kind, experiments, needed, better=BETTER)
    return {
        **intervals(rng, kind, queries, truth, experiments),
        **{
            ("difference found", test): (p_of_pairs(better, test, rng) <= ALPHA).sum()
            for test in ("default", "t")
        },
        **tests_of_a_lottery(rng, kind, queries, truth, experiments),
    }


def tests_of_a_lottery(rng, kind, queries, truth, experiments):
    """Only the means are equal: b loses a fifth everywhere except for a few random queries, which it answers perfectly."""
    a = drawn_pairs(rng, kind, experiments, queries, systems=1)[:, 0]
    prizes = 0.2 * truth["mean"] / (1 - 0.8 * truth["mean"])
    both = np.stack([a, np.where(rng.random(a.shape) < prizes, 1, 0.8 * a)], axis=1)
    return {("a lottery is rejected", test): (p_of_pairs(both, test, rng) <= ALPHA).sum() for test in TESTS}


def intervals(rng, kind, queries, truth, experiments):
    a, b = drawn_pairs(rng, kind, experiments, queries, better=BETTER).swapaxes(0, 1)
    held = {}
    for what, rows in (("mean", a), ("difference", b - a)):
        weights = np.concatenate([*bootstrap_weights(queries, rng, DRAWS)])
        means = rows @ weights.T / queries
        for method in METHODS:
            found = (_interval(row, drawn, method) for row, drawn in zip(rows, means, strict=True))
            held[f"coverage of a {what}", method] = sum(low <= truth[what] <= high for low, high in found)
    return held


def _interval(values, means, method):
    return (
        stats.interval(values, method="t")
        if method == "t"
        else bootstrap_ends(values, means, method, 1 - ALPHA)
    )


LIMITS = {
    (f"coverage of a {what}", method): (0.93, 0.97) for what in ("mean", "difference") for method in METHODS
}


GATES = {  # rule: what it allows as a share of the baseline, and its confidence
    "drop <= 2%": (0.02, None),
    "drop <= 2% @ 95%": (0.02, 0.95),
    "drop <= 5% @ 95%": (0.05, 0.95),
}
# A new system, whose luck is its own for every query; a change that touches one query in ten, as most changes do; and a rare one.
CHANGES = {1.0: (0.0, 0.02, 0.05, 0.1, 0.2), 0.1: (0.0, 0.02, 0.05), 0.03: (0.02,)}
RARE = (
    10  # a change that touches fewer queries on average often touches none of those asked; see docs/guard.md
)
VERDICTS = ("passed", "failed", "undecided")


def shift_for(kind, drop):
    """How far the latent quality of a system must fall for its mean to be lower by this share."""
    rng = np.random.default_rng(1)
    common, own, other = rng.normal(0, 1, (3, 1_000_000))
    whole = KINDS[kind](common + 0.7 * own).mean()
    low, high = -3.0, 0.0
    for _ in range(40):
        middle = (low + high) / 2
        lost = 1 - KINDS[kind](common + 0.7 * other + middle).mean() / whole
        low, high = (middle, high) if lost > drop else (low, middle)
    return high


def verdict(a, b, allowed, confidence):
    if confidence is None:
        return "passed" if b.mean() >= (1 - allowed) * a.mean() else "failed"
    return decide(b - a, np.abs(a), allowed, confidence)


def gated(task):
    kind, seed, queries, touched, shift = task
    rng = np.random.default_rng(seed)
    a, b = draw(rng, kind, queries, better=shift)
    b = np.where(rng.random(queries) < touched, b, a)
    return [verdict(a, b, *rule) for rule in GATES.values()]


def gate(kind, options, pool):
    """Prints how often each rule passes and fails systems of known quality; returns whether promises were kept."""
    fine = True
    print(
        f"\n{kind + ' gate':20}{'queries':>8}{'touched':>9}{'true drop':>11}{'passed':>9}{'failed':>9}{'undecided':>11}"
    )
    cells = [(n, t, d) for n in (options.queries, 5 * options.queries) for t in CHANGES for d in CHANGES[t]]
    for number, (queries, touched, drop) in enumerate(cells):
        shift = shift_for(kind, drop / touched) if drop else 0.0
        seeds = ([options.seed, number, i] for i in range(options.experiments))
        found = np.array(
            list(pool.map(gated, ((kind, s, queries, touched, shift) for s in seeds), chunksize=50))
        )
        for (name, (allowed, confidence)), column in zip(GATES.items(), found.T, strict=True):
            passed, failed, open_ = ((column == status).mean() for status in VERDICTS)
            wrong = max(passed if drop >= allowed else 0.0, failed if drop <= allowed else 0.0)
            most = 1.0 if confidence is None else 1 - confidence
            kept = wrong <= most + 3 * (most * (1 - most) / options.experiments) ** 0.5
            rare = queries * touched < RARE
            fine = fine and (kept or rare)
            row = f"{name:20}{queries:8}{touched:9.0%}{drop:11.0%}{passed:9.1%}{failed:9.1%}{open_:11.1%}"
            print(row + ("" if kept else "  rare: not promised" if rare else "  NO"))
    return fine


def simulate(kind, options, pool):
    """All rates, by name."""
    truth = population(kind)
    needed = stats.queries_needed(truth["difference"], truth["deviation"])
    print(
        f"\n{kind}: mean {truth['mean']:.3f}, {truth['zeros']:.0%} zeros, skewness {truth['skewness']:.2f}; the better system gains "
        f"{truth['difference']:.4f}, the standard deviation of its differences is {truth['deviation']:.3f}, which needs {needed} queries\n"
    )
    seeds = batches(options.experiments, options.seed, list(KINDS).index(kind))
    counts = list(pool.map(happened, ((kind, options.queries, truth, needed, *batch) for batch in seeds)))
    return {name: sum(one[name] for one in counts) / options.experiments for name in counts[0]}


def show(rates, experiments):
    """Prints the rates and returns whether all are within their limits."""
    fine = True
    for (what, how), rate in rates.items():
        error = (rate * (1 - rate) / experiments) ** 0.5
        low, high = LIMITS.get((what, how), (0, 1))
        within = low <= rate <= high
        fine = fine and within
        asked = f"{low:.2f} to {high:.2f}  {'yes' if within else 'NO'}" if (what, how) in LIMITS else ""
        print(f"{what:26}{how:18}{rate:7.4f} ± {error:.4f}  {asked}".rstrip())
    return fine


def largest_test():
    rng = np.random.default_rng(0)
    a, b = draw(rng, "nDCG-like", 10_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    stats.paired_test(a, b, rng=0, resamples=100_000)
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"100,000 permutations of 10,000 queries: {seconds:.2f} s, {grown:.0f} MB in addition to the data\n"
    )
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--only", choices=[*PARTS], help="one part; all take half an hour on two cores")
    parser.add_argument("--kind", help="one kind of scores, in a part that has several")
    options = parser.parse_args()
    print(f"{options.experiments:,} experiments, seed {options.seed}, alpha {ALPHA}")
    parts = [options.only] if options.only else [*PARTS]
    with ProcessPoolExecutor() as pool:
        results = [PARTS[part](options, pool) for part in parts]
    fine = all(results)
    what = f"statistics in {options.experiments:,} simulated experiments"
    kept = "kept" if fine else "not kept"
    record(what, kept, "false positives, coverage and power as promised", fine)
    sys.exit(not fine)


def of_every_kind(part, kinds):
    def each(options, pool):
        kept = [part(kind, options, pool) for kind in chosen(options.kind, kinds)]
        return all(kept)

    return each


def rates(kind, options, pool):
    return show(simulate(kind, options, pool), options.experiments)


# By name, what prints something and returns whether promises were kept.
PARTS = {
    "speed": lambda options, pool: largest_test(),
    "shares": show_shares,
    "means": show_means,
    "differences": show_differences,
    "macro": show_macro,
    "clustered-macro": show_clustered_macro,
    "simultaneous": show_simultaneous,
    "errors": show_errors,
    "systems": show_systems,
    "families": show_families,
    "recommendations": show_recommendations,
    "trends": show_trends,
    "plans": show_plans,
    "labels": show_few_labels,
    "rates": of_every_kind(rates, KINDS),
    "gate": of_every_kind(gate, ("nDCG-like", "RR-like")),
}


if __name__ == "__main__":
    main()
