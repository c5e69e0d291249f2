"""Do margins, clusters, simultaneous intervals and confidence sequences keep their promises? Part two of ``simulation.py``.

- **Margins**: b is worse than a by exactly the margin. It may pass (as better, no worse or equivalent) in 5% of experiments.
- **Clusters**: equal systems over topics with ten paraphrases each. A test may claim a difference in 5%, an interval contains the truth in
  95%. The naive test, which takes all queries as independent, is shown next to it.
- **Simultaneous intervals**: all differences of four systems lie in their intervals in 95%.
- **Confidence sequences**: someone who looks after every query is never wrong in 95%.

Scores are many zeros (``low``), many ones (``p = 0.98``), and like nDCG, AP, RR and Success. The exit status is 1 if a
rate is above its limit by more than two standard errors.
"""

import argparse
import sys
from functools import partial

import numpy as np
from coverage_of import ap_like, chosen, ndcg_like, rr_like, success_like

from ranklens import stats
from ranklens.stats.clusters import cluster_ends
from ranklens.stats.margins import careful_p, student_p

ALPHA = 0.05


SHAPES = {
    "nDCG-like": ndcg_like,
    "AP-like": ap_like,
    "RR-like": rr_like,
    "Success-like": success_like,
    "p = 0.98": lambda latent: (latent > -2.3).astype(float),
    "low": lambda latent: np.where(latent > 1.2, np.clip(0.3 * latent, 0, 1), 0.0),
}
# Differences of other kinds, on which no constant was fitted; most were seen while choosing among tests.
FRESH = {
    "exponential losses": lambda rng, size: -rng.exponential(0.1, size),
    "lognormal losses": lambda rng, size: -np.minimum(np.exp(rng.normal(-2.5, 1, size)), 1),
    "all scores times 0.7": lambda rng, size: -0.3 * np.minimum(np.exp(rng.normal(-1.5, 0.9, size)), 1),
    "a loss in every tenth": lambda rng, size: np.where(rng.random(size) < 0.1, -rng.random(size), 0.0),
    "70% ties": lambda rng, size: np.where(rng.random(size) < 0.3, rng.uniform(-0.5, 0.4, size), 0.0),
    "both near the ends": lambda rng, size: rng.beta(0.4, 0.5, size) - rng.beta(0.5, 0.4, size),
    "RR, unpaired": lambda rng, size: 1 / rng.geometric(0.3, size) - 1 / rng.geometric(0.4, size),
    "P@5": lambda rng, size: (rng.binomial(5, 0.3, size) - rng.binomial(5, 0.4, size)) / 5,
    "long tails": lambda rng, size: np.clip(rng.standard_t(3, size) * 0.1 - 0.02, -1, 1),
    "normal": lambda rng, size: rng.normal(-0.03, 0.2, size),
}
NUMBERS, MOST_PASS = (10, 25, 50, 100, 1000), 0.05  # queries; inferior systems that may pass
RARE = {("a loss in every tenth", 25): 0.07}  # where two or three losses say little about the size of others


def inferior(shape, rng, experiments, queries, worse):
    hard = rng.normal(0, 1, (experiments, queries))
    a, b = (hard + rng.normal(0, 0.4, hard.shape) for _ in range(2))
    return SHAPES[shape](b - worse) - SHAPES[shape](a)


def margins(rng, experiments, show, kind=None):
    """How often an inferior system passes: plain t tests, and those that comparisons use."""
    kinds = {
        f"{shape}, {worse}": partial(
            lambda rng, size, shape, worse: inferior(shape, rng, *size, worse), shape=shape, worse=worse
        )
        for shape in SHAPES
        for worse in (0.1, 0.4)
    }
    drawn = {**kinds, **FRESH}
    for name in chosen(kind, drawn):
        draw = drawn[name]
        margin = -float(np.mean([draw(rng, (20_000, 100)).mean() for _ in range(4)]))
        for queries in NUMBERS:
            change = draw(rng, (max(500, min(experiments, 2_000_000 // queries)), queries))
            reach = np.full(queries, margin)
            plain, careful = ((p(change, reach) <= ALPHA).mean() for p in (student_p, careful_p))
            what = f"inferior passes, {name}, margin {margin:.3f}, n = {queries}"
            show(what, careful, RARE.get((name, queries), MOST_PASS), f"plain t {plain:.3f}", len(change))


def clustered(shape, rng, topics, sizes):
    label = np.repeat(np.arange(topics), sizes)
    latent = rng.normal(0, 1, topics)[label] + rng.normal(0, 0.7, (2, topics))[:, label]
    return label, SHAPES[shape](latent + rng.normal(0, 0.5, (2, len(label))))


def clusters(rng, experiments, show, kind=None):
    """False claims and coverage by cluster."""
    for shape in chosen(kind, ("nDCG-like", "AP-like", "RR-like", "Success-like")):
        truth = np.mean([clustered(shape, rng, 20_000, np.ones(20_000, int))[1].mean() for _ in range(10)])
        for topics in (10, 20, 50):
            for uneven in (False, True):
                seen = []
                for _ in range(experiments // 4):
                    sizes = rng.integers(1, 20, topics) if uneven else np.full(topics, 10)
                    label, (a, b) = clustered(shape, rng, topics, sizes)
                    groups = stats.Clusters.of(label.tolist())
                    low, high, _ = cluster_ends(b - a, groups, 0.95, stats.Bounds())
                    mean = stats.cluster_interval(a, groups, bounds=stats.Bounds(0, 1))
                    claims = stats.paired_test(
                        groups.shares(a), groups.shares(b), rng=rng, resamples=1_999
                    ).p_value
                    naive = stats.paired_test(a, b, method="t").p_value
                    seen.append(
                        (claims <= ALPHA, naive <= ALPHA, low <= 0 <= high, mean.low <= truth <= mean.high)
                    )
                rate = np.mean(seen, axis=0)
                where = f"{shape}, {topics} topics{' of 1 to 19' if uneven else ' of 10'}"
                show(f"false claims, {where}", rate[0], 0.065, f"naive {rate[1]:.3f}", len(seen))
                show(f"difference not covered, {where}", 1 - rate[2], 0.07, "", len(seen))
                show(f"mean not covered, {where}", 1 - rate[3], 0.07, "", len(seen))


def together(rng, experiments, show, _=None):
    """Whether all intervals of four systems hold at once."""
    gaps, (first, second) = np.array([0, 0.1, 0.1, 0.3]), np.triu_indices(4, 1)
    for queries in (10, 25, 100):
        missed = 0
        for _ in range(experiments // 4):
            latent = rng.normal(0, 1, queries) + rng.normal(0, 0.7, (4, queries))
            values = gaps[:, None] + SHAPES["nDCG-like"](latent)
            found = stats.simultaneous(values, first, second, rng=rng, resamples=999)
            truth = gaps[second] - gaps[first]
            missed += not ((found.low <= truth) & (truth <= found.high)).all()
        show(
            f"any of 6 intervals misses, n = {queries}",
            missed / (experiments // 4),
            0.07,
            "",
            experiments // 4,
        )


def looks(rng, experiments, show, _=None):
    """Whether any of 300 looks misses the mean."""
    for shape in ("nDCG-like", "p = 0.98"):
        truth = SHAPES[shape](rng.normal(0, 1.2, 4_000_000)).mean()
        missed = 0
        for _ in range(experiments // 10):
            found = stats.confidence_sequence(SHAPES[shape](rng.normal(0, 1.2, 300)))
            missed += bool(((found.low > truth) | (found.high < truth)).any())
        show(f"any of 300 looks misses, {shape}", missed / (experiments // 10), 0.05, "", experiments // 10)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["margins", "clusters", "together", "looks"])
    parser.add_argument("--kind", help="one kind of scores or differences, in margins or clusters")
    options = parser.parse_args()
    fine = []

    def show(what, rate, limit, note, number):
        error = (max(rate, 0.01) * (1 - rate) / number) ** 0.5
        fine.append(rate <= limit + 2 * error)
        print(
            f"{what:62}{rate:7.3f} ± {error:.3f}  at most {limit:.3f}  {'yes' if fine[-1] else 'NO '}  {note}".rstrip(),
            flush=True,
        )

    for part in (margins, clusters, together, looks):
        if options.only in (None, part.__name__):
            part(np.random.default_rng(options.seed), options.experiments, show, options.kind)
    sys.exit(not all(fine))


if __name__ == "__main__":
    main()
