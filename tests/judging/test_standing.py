"""The places of scores, found in whichever way is fastest, against counting them one by one."""

import numpy as np
import pytest

from ranklens.judging.standing import standing

ANY, ALL = 1, 10_000
SHAPES = {  # rankings, their shortest and longest length, and hits in each at most
    "few": (5, 1, 8, ANY),
    "alike": (60, 95, 120, ALL),
    "of any length": (80, 0, 300, ALL),
    "long, with a hit each": (200, 500, 900, ANY),
    "more than are looked at together": (900, 150, 200, ALL),
}


@pytest.mark.parametrize("scores", ["different", "tied", "infinite"])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_counting_one_by_one(shape, scores):
    rng = np.random.default_rng(len(shape))
    n, shortest, longest, most = SHAPES[shape]
    lengths = rng.integers(shortest, longest, n)
    rankings = [
        rng.random(length) if scores == "different" else rng.integers(0, 40, length).astype(float)
        for length in lengths
    ]
    if scores == "infinite":
        rankings = [np.where(one == 0, -np.inf, np.where(one == 39, np.inf, one)) for one in rankings]
    hits = [rng.permutation(one)[:most] for one in rankings]
    query = np.repeat(np.arange(n), [len(one) for one in hits])
    above, same = standing(np.concatenate(rankings), lengths, query, np.concatenate(hits))
    expected = [
        ((one > hit).sum(), (one == hit).sum())
        for one, wanted in zip(rankings, hits, strict=True)
        for hit in wanted
    ]
    assert [*zip(above.tolist(), same.tolist(), strict=True)] == expected
