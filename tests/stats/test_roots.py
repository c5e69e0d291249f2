"""Roots are SciPy's."""

import math

import pytest
from scipy.optimize import brentq

from ranklens.stats.student import root

FUNCTIONS = {
    "a cubic": (lambda x: x**3 - 2, 0, 2),
    "a step": (lambda x: math.tanh(50 * (x - 0.3)), -5, 9),
    "flat at one end": (lambda x: math.exp(x) - 1e-6, -40, 3),
    "steep at one end": (lambda x: math.expm1(x) - 1e6, 0, 40),
    "falling": (lambda x: 1 - x, -3, 7),
    "the root at an end": (lambda x: x, 0, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_roots_are_those_of_scipy(name):
    function, low, high = FUNCTIONS[name]
    assert root(function, low, high) == pytest.approx(brentq(function, low, high), rel=1e-10, abs=1e-10)
