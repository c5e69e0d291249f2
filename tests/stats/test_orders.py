"""How far two orders agree: published values, SciPy, and tau AP pair by pair."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

import ranklens as rl


def test_values_of_the_literature():
    assert rl.tau("ABCDE", "BACDE") == rl.tau("ABCDE", "ABCED") == pytest.approx(0.8)
    assert (rl.tau("ABCDE", "BACDE", kind="ap"), rl.tau("ABCDE", "ABCED", kind="ap")) == (0.5, 0.875)
    ties = (
        dict(zip("abcd", (0.5, 0.4, 0.4, 0.3), strict=True)),
        dict(zip("abcd", (0.6, 0.5, 0.4, 0.4), strict=True)),
    )
    assert rl.tau(*ties) == pytest.approx(0.8)


orders = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=9)


@given(orders)
def test_tau_b_is_scipys(pairs):
    a, b = ({i: values[side] for i, values in enumerate(pairs)} for side in (0, 1))
    expected = kendalltau(list(a.values()), list(b.values())).statistic
    assert rl.tau(a, b) == pytest.approx(expected, nan_ok=True)


@given(st.permutations("abcdef"))
def test_tau_ap_by_its_definition(order):
    place = {name: i for i, name in enumerate("abcdef")}
    shares = [sum(place[above] < place[order[i]] for above in order[:i]) / i for i in range(1, 6)]
    assert rl.tau(order, "abcdef", kind="ap") == pytest.approx(2 / 5 * sum(shares) - 1)
    discordant = sum(place[x] > place[y] for x, y in combinations(order, 2))
    assert rl.tau(order, "abcdef") == pytest.approx(1 - 4 * discordant / 30)


def test_what_is_no_order_is_refused():
    with pytest.raises(rl.InputError, match="'c' is in a alone"):
        rl.tau("abc", "ab")
    with pytest.raises(rl.InputError, match="something twice"):
        rl.tau("aa", "ab")
    with pytest.raises(rl.InputError, match="fewer than two"):
        rl.tau("a", "a")
    with pytest.raises(rl.InputError, match="choose from 'b', 'ap'"):
        rl.tau("ab", "ba", kind="c")
