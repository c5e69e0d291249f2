"""Tests, corrections and intervals are each described once; everything that names them agrees with that."""

import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import ranklens as rl
from ranklens.cli.bench import EXAMPLE
from ranklens.comparison import options
from ranklens.comparison.compare import compare_scores
from ranklens.comparison.options import CompareOptions
from ranklens.comparison.settings import CHOICES
from ranklens.stats import CORRECTIONS, INTERVALS, TESTS, intervals, paired_test, significance
from ranklens.stats.corrections import CORRECTIONS_BY_NAME, DEFAULT_CORRECTION
from ranklens.stats.effects import METHODS
from ranklens.stats.paired import TestResult
from ranklens.stats.pairwise import pairwise_p
from ranklens.stats.significance import (
    ALL_TESTS,
    DEFAULT_TEST,
    MAX_T,
    POWERED,
    SIGNIFICANCE_TESTS,
    SignificanceTest,
)

ROOT = Path(__file__).parents[2]
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def test_the_types_are_those_of_the_registry():
    assert get_args(options.Test) == ALL_TESTS
    assert get_args(options.Correction) == CORRECTIONS


@pytest.mark.parametrize("name", SIGNIFICANCE_TESTS)
def test_every_test_has_words_and_one_function(name):
    test = SIGNIFICANCE_TESTS[name]
    functions = [test.of_differences, test.of_draws, test.of_samples, test.of_all_pairs]
    assert test.words
    assert sum(function is not None for function in functions) == (name not in (MAX_T, POWERED))
    assert bool(test.most_resamples) == (test.nanoseconds is not None)
    assert SIGNIFICANCE_TESTS[test.instead].nanoseconds is None


def test_the_defaults_of_comparisons_are_those_of_the_registry():
    usual = CompareOptions()
    assert (usual.test or DEFAULT_TEST, usual.correction) == (DEFAULT_TEST, DEFAULT_CORRECTION)


def test_methods_of_intervals_have_words():
    assert all(method.words for method in intervals.INTERVAL_METHODS.values())
    assert {*INTERVALS, *METHODS} <= {*intervals.INTERVAL_METHODS}
    with pytest.raises(rl.InputError, match="did you mean 'wilson'"):
        intervals.interval([0.0, 1.0], method="wilsn")


def test_the_documentation_names_every_test_and_correction():
    pages = [(ROOT / "docs" / name).read_text() for name in ("comparing.md", "statistics.md")]
    for page, tests in zip(pages, (ALL_TESTS, TESTS), strict=True):
        assert [name for name in tests if f'`"{name}"`' not in page] == []
        assert [name for name in CORRECTIONS if name != "none" and f'`"{name}"`' not in page] == []


def test_pages_that_count_the_corrections_count_them_all():
    count = sum(bool(correction.words) for correction in CORRECTIONS_BY_NAME.values())
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        counted = re.findall(rf"\b({'|'.join(NUMBERS)}|\d+) corrections\b", page.read_text())
        assert {*counted} <= {NUMBERS[count], str(count)}, page


def test_the_example_of_a_configuration_names_every_test_and_correction():
    test, correction = re.findall("(?m)^(?:test|correction): .*", EXAMPLE.read_text())
    assert ", ".join(ALL_TESTS) in test
    assert sorted(re.findall(r"\w+", correction.replace(" or ", " ").partition(": ")[2])) == sorted(
        CORRECTIONS
    )


def test_a_new_test_needs_no_more_than_its_record(monkeypatch):
    """It can be asked for, it is named in words, and pairs, slices and left-out queries use it."""

    def median_test(change):
        return TestResult(
            min(1.0, 2.0 ** (1 - np.count_nonzero(change > 0))),
            float(np.median(change)),
            "median",
            len(change),
        )

    monkeypatch.setitem(
        SIGNIFICANCE_TESTS,
        "median",
        SignificanceTest("median test", of_differences=median_test, compares="medians"),
    )
    monkeypatch.setattr(significance, "TESTS", (*TESTS, "median"))
    monkeypatch.setitem(CHOICES, "test", (*ALL_TESTS, "median"))
    a, b = np.zeros(8), np.linspace(0.1, 0.4, 8)
    assert paired_test(a, b, method="median").p_value == 2**-7
    assert pairwise_p([np.stack([a, b])], np.array([0]), np.array([1]), method="median")[0].tolist() == [
        2**-7
    ]
    values = {
        name: {f"q{i}": {"RR": float(value)} for i, value in enumerate(row)}
        for name, row in (("a", a), ("b", b))
    }
    found = compare_scores(values, test="median")
    assert found.verdict("RR").startswith(
        "b is better by medians than a, p = 0.008 for medians; the means differ by"
    )
    assert "Median test, two-sided, n = 8" in str(found)
    assert found.influence("RR", "a", "b")["verdict_changes"].sum() == 0
