"""Graded AP and PRES by the definitions of their papers, which are written differently from the code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl

grades = st.lists(st.integers(-1, 3), min_size=1, max_size=9)
relevance = st.lists(st.booleans(), min_size=1, max_size=12)


def evaluated(ranked, missed, measure):
    docs = [f"d{i}" for i in range(len(ranked) + len(missed))]
    judged = dict(zip(docs, [*ranked, *missed], strict=True))
    (value,) = rl.evaluate({"q": judged}, {"q": docs[: len(ranked)]}, measure).mean.values()
    return value


def gap(ranked, missed, chances):
    """Equation by equation: the mean over pairs of ranks, of the chance that a user wants both documents."""

    def wanted(*pair):
        return sum(chances[: max(0, min(pair))])

    found = sum(sum(wanted(g, h) for h in ranked[: n + 1]) / (n + 1) for n, g in enumerate(ranked))
    best = sum(wanted(g) for g in [*ranked, *missed])
    return found / best if best else 0.0


@given(ranked=grades, missed=grades)
def test_graded_ap_by_its_definition(ranked, missed):
    assert evaluated(ranked, missed, "GAP") == pytest.approx(gap(ranked, missed, [1 / 3] * 3))
    uneven = "GAP(thresholds=[0.2, 0.7, 0.1])"
    assert evaluated(ranked, missed, uneven) == pytest.approx(gap(ranked, missed, [0.2, 0.7, 0.1]))
    late = "GAP(thresholds=[0, 0, 1])"  # everybody wants grade 3
    assert evaluated(ranked, missed, late) == pytest.approx(evaluated(ranked, missed, "AP(rel=3)"))


def test_graded_ap_of_fractional_grades():
    """Grades 0.5 and 1.5: a third of the users is content with the lower one."""
    assert evaluated([0.5, 1.5], [], "GAP") == pytest.approx((0.5 * 1 + 1 * 0.5 + 0.5 * 1) / (0.5 + 1.5))


def test_negative_shares_are_refused():
    with pytest.raises(rl.MeasureError, match="shares of users are 0 or more"):
        evaluated([1], [], "GAP(thresholds=[1, -1])")


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [([1], 0.25), ([50, 51, 53, 54], 0.505), ([1, 2, 3, 4], 1.0), ([1, 98, 99, 100], 0.28)],
)
def test_pres_of_the_papers_four_systems(ranks, expected):
    """4 relevant documents, of which the first 100 ranks hold these; 1 - (mean rank - 2.5) / 100."""
    ranked = [int(rank in ranks) for rank in range(1, 101)]
    assert evaluated(ranked, [1] * (4 - len(ranks)), "PRES@100") == pytest.approx(expected)


@given(ranked=relevance, missed=st.integers(0, 4), k=st.integers(1, 14))
def test_pres_by_its_definition(ranked, missed, k):
    ranks = [rank for rank, here in enumerate(ranked, 1) if here and rank <= k]
    n = sum(ranked) + missed
    absent = [k + i for i in range(len(ranks) + 1, n + 1)]
    expected = 1 - (sum([*ranks, *absent]) / n - (n + 1) / 2) / k if n else 0
    found = evaluated([int(here) for here in ranked], [1] * missed, f"PRES@{k}")
    assert found == pytest.approx(expected)
    if n:  # "from R to nR^2/Nmax" on the authors' page
        recall = len(ranks) / n
        assert n * recall**2 / k - 1e-12 <= found <= recall + 1e-12
