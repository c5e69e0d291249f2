"""The Bayesian view, against values of baycomp 1.0.3."""

import numpy as np
import pytest

from ranklens.errors import InputError
from ranklens.stats import paired_test, probabilities

# Differences by query.
FEW = [0.0, 0.186, 0.1725, -0.001, 0.0202, -0.0027, 0.107, 0.0444]
SOME = [
    0.0,
    -0.1747,
    0.1667,
    0.0004,
    0.078,
    -0.0037,
    -0.0279,
    0.0563,
    0.0925,
    -0.0103,
    -0.0053,
    0.0786,
    -0.077,
    -0.1414,
    0.0495,
    -0.0571,
    -0.182,
    -0.0714,
    -0.0368,
    -0.1093,
    -0.1392,
    0.0137,
    0.0997,
    -0.0133,
    -0.0644,
    0.0485,
    0.0817,
    -0.02,
    0.0645,
    0.1143,
]
MANY = [
    0.0,
    -0.1114,
    0.0048,
    -0.0052,
    0.0799,
    -0.1585,
    -0.0962,
    -0.1138,
    -0.2034,
    -0.0174,
    0.0228,
    -0.1039,
    0.1086,
    0.0522,
    0.0327,
    0.0102,
    0.0656,
    -0.1632,
    0.0314,
    0.0303,
    -0.2068,
    0.0047,
    -0.055,
    0.0482,
    -0.0739,
    -0.0318,
    0.0043,
    -0.1176,
    0.0299,
    -0.0405,
    0.0192,
    -0.0822,
    0.0786,
    0.0305,
    -0.0478,
    0.0332,
    0.096,
    0.1491,
    -0.1874,
    0.0583,
    0.0165,
    -0.0394,
    -0.1307,
    0.0957,
    -0.1562,
    0.0267,
    0.1002,
    -0.19,
    -0.0603,
    -0.1609,
]
# Their rope; worse, equal, better: by the posterior of the t test, by the signed-rank test (200,000 samples; 50,000 for MANY).
BAYCOMP = [
    (FEW, 0.0, [0.025189816, 0.0, 0.974810184], [0.0215, 0.0, 0.9785]),
    (FEW, 0.013, [0.012782749, 0.037309612, 0.949907639], [0.0, 0.1138, 0.8862]),
    (FEW, 0.0503, [0.002112528, 0.295714301, 0.702173171], [0.0, 0.385, 0.615]),
    (SOME, 0.0, [0.651038111, 0.0, 0.348961889], [0.6083, 0.0, 0.3917]),
    (SOME, 0.013, [0.340532501, 0.539385573, 0.120081927], [0.5689, 0.0002, 0.4309]),
    (SOME, 0.0503, [0.005312879, 0.993954718, 0.000732403], [0.0094, 0.9892, 0.0014]),
    (MANY, 0.013, [0.845809893, 0.152158211, 0.002031895], [0.9334, 0.0, 0.0666]),
    (MANY, 0.0503, [0.037488618, 0.962511193, 1.9e-07], [0.0958, 0.9042, 0.0]),
]


@pytest.mark.parametrize(("change", "rope", "by_t", "by_rank"), BAYCOMP)
def test_equals_baycomp(change, rope, by_t, by_rank):
    a = np.zeros(len(change))
    found = probabilities(a, change, rope=rope)
    assert [found.worse, found.equal, found.better] == pytest.approx(by_t, abs=1e-8)
    ranked = probabilities(a, change, rope=rope, method="signed-rank")
    assert [ranked.worse, ranked.equal, ranked.better] == pytest.approx(by_rank, abs=0.011)
    assert (found.method, ranked.method) == ("t", "signed-rank")


def test_without_a_rope_t_mirrors_the_one_sided_test():
    found = probabilities(np.zeros(len(SOME)), SOME, rope=0)
    assert 2 * min(found.worse, found.better) == pytest.approx(
        paired_test(np.zeros(len(SOME)), SOME, method="t").p_value
    )


@pytest.mark.parametrize("method", ["t", "signed-rank"])
def test_exchanging_the_systems_exchanges_the_chances(method):
    a, b = np.zeros(len(SOME)), np.array(SOME)
    one, other = probabilities(a, b, rope=0.02, method=method), probabilities(b, a, rope=0.02, method=method)
    assert (one.worse, one.equal, one.better) == pytest.approx(
        (other.better, other.equal, other.worse), abs=0.011
    )


def test_differences_that_do_not_vary_are_ranked():
    found = probabilities([0.5, 0.5], [0.6, 0.6], rope=0.01)
    assert found.method == "signed-rank"
    assert 0.5 < found.better < 1
    assert 0.8 < probabilities([0.5] * 5, [0.5] * 5, rope=0.01).equal < 1


def test_a_negative_rope_is_refused():
    with pytest.raises(InputError, match=r"rope=-0.1 is not allowed: it must be 0 or more"):
        probabilities([0.1, 0.2], [0.2, 0.3], rope=-0.1)


def test_a_tied_query_does_not_make_two_systems_equal_for_certain():
    alone, few, many = (probabilities([0.5] * n, [0.5] * n) for n in (1, 5, 50))
    assert alone.equal < 0.7
    assert alone.better == pytest.approx(alone.worse, abs=0.02)
    assert alone.equal < few.equal < many.equal
    assert probabilities([0.5], [0.6]).better < 0.9
    assert probabilities([0.5] * 50, [0.6] * 50).better > 0.99
