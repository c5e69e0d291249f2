"""Compact letter displays against their definition, on any graph of differences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ranklens.comparison.groups import groups, letters


@st.composite
def differences(draw, most=8):
    n = draw(st.integers(1, most))
    found = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i + 1, n):
            found[i, j] = found[j, i] = draw(st.booleans())
    return found


@given(differences())
def test_two_share_a_letter_exactly_if_they_do_not_differ(different):
    found = groups(different)
    marks = [set(text) for text in letters(found, len(different))]
    for i in range(len(different)):
        assert marks[i]
        for j in range(len(different)):
            assert bool(marks[i] & marks[j]) == (i == j or not different[i, j])


@given(differences())
def test_no_group_is_part_of_another(different):
    found = [set(group) for group in groups(different)]
    assert not any(a < b for a in found for b in found)
    assert [min(group) for group in found] == sorted(min(group) for group in found)


@st.composite
def ordered_differences(draw):
    """Systems in the order of their means; two differ if their means are far apart, with some noise, as tests give it."""
    n, seed = draw(st.integers(5, 300)), draw(st.integers(0, 2**32 - 1))
    reach, noise = draw(st.sampled_from([0.01, 0.03, 0.1, 0.3, 0.8])), draw(st.sampled_from([0.0, 0.02, 0.3]))
    rng = np.random.default_rng(seed)
    means = np.sort(rng.random(n))
    limit = reach * (1 + noise * rng.random((n, n)))
    found = np.abs(means - means[:, None]) > np.triu(limit, 1) + np.triu(limit, 1).T
    np.fill_diagonal(found, False)
    return found


@given(ordered_differences())
def test_letters_of_many_systems_are_exact_or_there_are_none(different):
    found, n = groups(different), len(different)
    if found is None:
        return
    shares = np.eye(n, dtype=bool)
    for group in found:
        shares[np.ix_(group, group)] = True
    assert (shares == ~different).all()
    assert len(found) <= 26


def test_a_hundred_systems_get_letters_where_26_suffice():
    place = np.arange(100)
    found = groups(np.abs(place - place[:, None]) > 40)
    assert found is None  # sixty overlapping neighbourhoods
    found = groups(np.abs(place - place[:, None]) > 80)
    assert len(found) == 20
    assert groups(np.zeros((300, 300), dtype=bool)) == [list(range(300))]


def test_overlapping_neighbours():
    """Five in a row, each different from all but its neighbours."""
    place = np.arange(5)
    different = np.abs(place - place[:, None]) > 1
    assert letters(groups(different), 5) == ["a", "ab", "bc", "cd", "d"]


def test_more_groups_than_letters():
    n = 40
    place = np.arange(n)
    assert groups(np.abs(place - place[:, None]) > 1) is None
