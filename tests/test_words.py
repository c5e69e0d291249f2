"""Counts, lists and percentages in words."""

import pytest

from ranklens.words import counted, either, finite, percent, plural, several


@pytest.mark.parametrize(
    ("number", "one", "many", "told"),
    [
        (0, "query", "", "0 queries"),
        (1, "query", "", "1 query"),
        (12345, "document", "", "12,345 documents"),
        (2, "day", "", "2 days"),
        (1, "query is", "queries are", "1 query is"),
        (2, "query is", "queries are", "2 queries are"),
    ],
)
def test_counts_with_their_noun(number, one, many, told):
    assert counted(number, one, many) == told
    assert told.endswith(plural(number, one, many))


def test_lists_in_a_sentence():
    assert [either(list("abc")[:n]) for n in range(4)] == ["", "a", "a or b", "a, b or c"]
    assert several(list("abcdef")) == "a, b, c, d, e and f"
    assert several(list("abcdefg")) == "a, b, c, d, e and 2 more"


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0, "0%"),
        (0.004, "under 1%"),
        (0.01, "1%"),
        (0.5, "50%"),
        (0.99, "99%"),
        (0.9951, "over 99%"),
        (1, "100%"),
    ],
)
def test_percentages_do_not_round_to_none_or_all(share, told):
    assert percent(share) == told


def test_json_has_no_word_for_infinity():
    assert [finite(x) for x in (0.5, float("inf"), float("nan"))] == [0.5, None, None]
