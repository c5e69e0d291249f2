"""Compact letter displays against their definition, on any graph of differences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ranklens.comparison.groups import groups, letters, tiers


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


@given(differences(most=12))
def test_tiers_divide_the_systems(different):
    found = tiers(different)
    assert sorted(system for tier in found for system in tier) == list(range(len(different)))
    for tier in found:
        assert not different[tier[0], tier].any()


def test_overlapping_neighbours():
    """Five in a row, each told apart from all but its neighbours."""
    place = np.arange(5)
    different = np.abs(place - place[:, None]) > 1
    assert letters(groups(different), 5) == ["a", "ab", "bc", "cd", "d"]


def test_more_groups_than_letters():
    n = 40
    place = np.arange(n)
    assert groups(np.abs(place - place[:, None]) > 1) is None
