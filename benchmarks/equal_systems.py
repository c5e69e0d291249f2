"""How often tests find differences that are not there: between two systems, among five, and over six measures.

Parts of ``simulation.py``, which runs them. Experiments come in batches that share their random draws, as the pairs of a comparison do:
1,999 for each batch of 250.
"""

from itertools import combinations

import numpy as np
from coverage_of import SIZES, ap_like, chosen, ndcg_like, paired_successes, rr_like, success_like

import ranklens as rl
from ranklens import stats
from ranklens.stats.bounded import is_binary
from ranklens.stats.pairwise import pairwise_p
from ranklens.stats.randomization import range_p

ALPHA, DRAWS, BATCH = 0.05, 1_999, 250
LIMIT = 0.06  # of a rate that should be alpha: two standard errors above it in 2,000 experiments
SYSTEMS = 5
MEASURES = ["nDCG@10", "AP", "RR", "R@100", "P@10", "nDCG@20"]

# What is seen of the latent quality of a system in a query, which has a standard deviation of 1.22.
KINDS = {"nDCG-like": ndcg_like, "AP-like": ap_like, "RR-like": rr_like, "Success-like": success_like}
SHAPES = {
    **KINDS,
    "AP-like, mean 0.05": lambda latent: np.clip(np.exp(-3.9 + 1.1 * latent), 0, 1),
    "many zeros": lambda latent: np.clip(0.35 * (latent - 1.3), 0, 1),
    "many ones": lambda latent: np.clip(0.35 * (latent + 4.2), 0, 1),
    "Success, p = 0.98": lambda latent: (latent > -2.507) * 1.0,
}
TESTS = ("default", "t", "bootstrap", "wilcoxon", "sign")


def batches(experiments, *seed):
    """Sizes of batches, each with a seed of its own."""
    return [(min(BATCH, experiments - start), [*seed, start]) for start in range(0, experiments, BATCH)]


def drawn(rng, seen, experiments, systems, queries):
    """Scores of equally good systems: queries are easy or hard, and each system has its luck with each."""
    return seen(
        rng.normal(0, 1, (experiments, 1, queries)) + rng.normal(0, 0.7, (experiments, systems, queries))
    )


def by_default(scores):
    """The test that comparisons choose if none is named."""
    return "mcnemar" if is_binary(scores, 0, 1) else "randomization"


def p_of_pairs(scores, test, rng):
    """One p-value per experiment of two systems: experiments × systems × queries."""
    test = by_default(scores) if test == "default" else test
    rows, first = scores.reshape(-1, scores.shape[-1]), 2 * np.arange(len(scores))
    return pairwise_p([rows], first, first + 1, method=test, rng=rng, resamples=DRAWS)[0]


def show_errors(options, pool):
    """Prints how often two equal systems are called different, by number of queries, and whether the default stays within its limit."""
    print(f"\ntwo equal systems are called different, with {', '.join(map(str, SIZES))} queries\n")
    fine = True
    for shape in chosen(options.kind, SHAPES):
        number, found = [*SHAPES].index(shape), []
        for n in SIZES:
            tasks = [(shape, n, *batch) for batch in batches(options.experiments, options.seed, number, n)]
            found.append(np.sum(list(pool.map(_errors, tasks)), axis=0) / options.experiments)
        for test, rates in zip(TESTS, np.transpose(found), strict=True):
            fine = fine and (test != "default" or max(rates) <= LIMIT)
            print(f"{shape:20}{test:14}" + "  ".join(f"{rate:.3f}" for rate in rates), flush=True)
    return fine


def _errors(task):
    shape, queries, experiments, seed = task
    rng = np.random.default_rng(seed)
    scores = drawn(rng, SHAPES[shape], experiments, 2, queries)
    return [(p_of_pairs(scores, test, rng) <= ALPHA).sum() for test in TESTS]


def show_systems(options, pool):
    """Prints how often some pair of five equal systems is called different, and whether corrections keep that below alpha."""
    fine = True
    for kind in chosen(options.kind, KINDS):
        number = [*KINDS].index(kind)
        print(f"\nsome pair of five equal systems is called different: {kind}\n")
        for n in SIZES[:-1]:
            tasks = [(kind, n, *batch) for batch in batches(options.experiments, options.seed, number, n)]
            counts = list(pool.map(_of_five, tasks))
            rates = {how: sum(one[how] for one in counts) / options.experiments for how in counts[0]}
            fine = fine and all(rate <= LIMIT for how, rate in rates.items() if how != "none")
            print(f"n = {n:4}  " + "  ".join(f"{how} {rate:.4f}" for how, rate in rates.items()), flush=True)
    return fine


def _of_five(task):
    kind, queries, experiments, seed = task
    rng = np.random.default_rng(seed)
    scores = drawn(rng, KINDS[kind], experiments, SYSTEMS, queries)
    first, second = (
        (np.arange(experiments)[:, None] * SYSTEMS + side).ravel() for side in np.triu_indices(SYSTEMS, 1)
    )
    rows = scores.reshape(-1, queries)
    how = {"method": by_default(scores), "rng": rng, "resamples": DRAWS}
    p = pairwise_p([rows], first, second, **how)[0].reshape(experiments, -1)
    least = {how: [stats.adjust(one, method=how).min() for one in p] for how in ("none", "holm", "hommel")}
    least["tukey"] = [stats.tukey_hsd(one, rng=rng).p_values.min() for one in scores]
    least["randomized tukey"] = [one.min() for one in range_p([*scores], rng, DRAWS)]
    return {how: int((np.array(smallest) <= ALPHA).sum()) for how, smallest in least.items()}


def show_families(options, pool):
    """Prints how often comparisons of equal systems by six measures find some difference, and whether families keep that below the limit."""
    print("\nsome pair of equal systems is called different, over six measures of 50 queries\n")
    fine, cases = True, [(s, k) for s in (2, 4) for k in (("alike", 0.4), ("independent", 3.0))]
    for number, (systems, (kind, own)) in enumerate(cases):
        tasks = [(systems, own, *batch) for batch in batches(options.experiments, options.seed, number)]
        counts = list(pool.map(_over_measures, tasks))
        for how in counts[0]:
            rate = sum(one[how] for one in counts) / options.experiments
            error = (rate * (1 - rate) / options.experiments) ** 0.5
            fine = fine and (how == "each measure" or rate <= LIMIT)
            print(f"{systems} systems, {kind:14}{how:28}{rate:.4f} ± {error:.4f}", flush=True)
    rng = np.random.default_rng(options.seed)
    pairs = np.stack(paired_successes(rng, (options.experiments, 50), 0.15, 0.15), axis=1)
    rejected = (p_of_pairs(pairs, "mcnemar", rng) <= ALPHA).mean()
    print(f"McNemar's mid-p test on equal systems, 50 queries of which 30% differ: {rejected:.4f}")
    return fine


def show_recommendations(options, pool):
    """Prints how often a comparison with all defaults recommends one of two equal systems, and names a number of queries."""
    print("\none of two equal systems is recommended, by default, over three measures of 50 queries\n")
    fine = True
    for number, (kind, own) in enumerate((("alike", 0.4), ("independent", 3.0))):
        tasks = [(own, *batch) for batch in batches(options.experiments, options.seed, 100 + number)]
        counts = list(pool.map(_recommended, tasks))
        rates = {what: sum(one[what] for one in counts) / options.experiments for what in counts[0]}
        fine = fine and rates["recommended"] <= LIMIT and rates["a number of queries"] <= 0.01
        print(f"{kind:14}" + "  ".join(f"{what} {rate:.4f}" for what, rate in rates.items()), flush=True)
    return fine


def _recommended(task):
    own, experiments, seed = task
    rng, found = np.random.default_rng(seed), {"recommended": 0, "a number of queries": 0}
    for _ in range(experiments):
        given = {
            name: table.select("query", *MEASURES[:3]) for name, table in _equal_systems(rng, 2, own).items()
        }
        said = rl.compare_scores(given).verdict()
        found["recommended"] += "Choose" in said or "Prefer" in said
        found["a number of queries"] += "you would need" in said
    return found


def _over_measures(task):
    systems, own, experiments, seed = task
    rng, found = np.random.default_rng(seed), {"each measure": 0, "primary": 0, 'family="all"': 0}
    for _ in range(experiments):
        given = _equal_systems(rng, systems, own)
        plain = rl.compare_scores(given, test="t", primary=MEASURES[0])
        found["each measure"] += _any(plain)
        found["primary"] += any(plain.pair(MEASURES[0], *pair).significant for pair in combinations(given, 2))
        found['family="all"'] += _any(rl.compare_scores(given, test="t", family="all"))
    return found


def _any(comparison):
    return any(part.significant.any() for part in comparison.pairs.parts)


def _equal_systems(rng, systems, own, queries=50):
    """Queries are easy or hard, each system has its luck with each, and each measure sees that with noise of its own."""
    import polars as pl

    latent = rng.normal(0, 1, queries) + rng.normal(0, 0.7, (systems, queries))
    seen = (latent[:, None] + rng.normal(0, own, (systems, len(MEASURES), queries))) / (1 + own**2) ** 0.5
    ids = [f"q{i}" for i in range(queries)]
    return {
        f"s{i}": pl.DataFrame({"query": ids, **dict(zip(MEASURES, ndcg_like(rows), strict=True))})
        for i, rows in enumerate(seen)
    }
