import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.data.matching import ByText
from ranklens.data.matching.texts import TextId, contains, overlap, tokens
from ranklens.errors import InputError

LIMA = "Lima is the capital of Peru."
ANDES = "Peru lies in the Andes; its capital is Lima."


def ids(*texts):
    return [f"c{n}\x1f{text}" for n, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("how", "expected", "matches"),
    [
        ("contains", "capital of peru", [True, False]),
        ("contains", "CAPITAL OF PERU!", [True, False]),
        ("contains", "Lim", [False, False]),
        ("substring", "capital of Peru", [True, False]),
        ("substring", "capital of peru", [False, False]),
        ("substring", "Lim", [True, True]),
        ("overlap", "the capital of Peru", [True, True]),
        ("overlap", "Quito is the capital of Ecuador", [False, False]),
    ],
)
def test_what_matches(how, expected, matches):
    for chunk, is_match in zip(ids(LIMA, ANDES), matches, strict=True):
        assert (ByText(how).judged_ids("q", [chunk], {expected: 1}) == [expected]) is is_match


def test_a_chunk_is_listed_under_the_best_text_that_it_adds_else_under_that_of_the_chunk_it_repeats():
    match = ByText()
    assert match.matches("q", ids(LIMA, ANDES), {"Lima": 1, "Peru": 2}) == [["Peru", "Lima"], ["Peru"]]
    assert match.matches("q", ids(LIMA, ANDES), {"Peru": 1, "the Andes": 1}) == [["Peru"], ["the Andes"]]
    assert match.judged_ids("q", ids(LIMA, ANDES), {"Lima": 1}) == ["Lima", "Lima"]


IN_PARTS = "within 30 days of purchase"


@pytest.mark.parametrize(
    ("how", "chunks", "found_with"),
    [
        ("contains", ["Refunds are paid within", "30 days of purchase, in cash."], 2),
        ("contains", ["30 DAYS of purchase, in cash.", "Refunds are paid Within,"], 2),  # in either order
        (
            "contains",
            ["paid within 30 days", "other", "days of purchase, in cash"],
            3,
        ),  # with overlap, and apart
        ("contains", ["paid within", "30 days of", "purchase, in cash"], 3),
        ("contains", ["paid within 30 da", "ys of purchase"], 2),  # divided within a word
        ("contains", ["paid within 30 or", "days of purchase"], None),  # something is in between
        ("contains", ["paid within", "of purchase"], None),
        ("contains", ["paid there within", "the 30 days of purchase"], None),
        ("contains", ["herewithin", "30 days of purchase"], None),
        ("contains", ["within it, 30 days", "of it: purchase"], None),
        ("substring", ["Refunds are paid within", "30 days of purchase, in cash."], 2),
        ("substring", ["Refunds are paid Within", "30 days of purchase, in cash."], None),
        ("overlap", ["Refunds: paid within 30 days", "Part 2: of the purchase"], None),  # 3 of 5 words
        ("overlap", ["Refunds: paid within 30 days;", "30 days of purchase: part 2"], 2),
        ("overlap", ["purchase within a year", "30 of 80", "days"], None),  # words, but no runs of them
    ],
)
def test_a_text_that_is_divided_between_chunks(how, chunks, found_with):
    found = ByText(how).judged_ids("q", ids(*chunks), {IN_PARTS: 1})
    assert found == [f"c{i}" if i != found_with else IN_PARTS for i in range(1, len(chunks) + 1)]


def test_a_single_word_is_not_put_together():
    assert ByText().judged_ids("q", ids("the pur", "chase of it"), {"purchase": 1}) == ["c1", "c2"]
    assert ByText("substring").judged_ids("q", ids("a cat", "s so"), {"cats": 1}) == ["c1", "c2"]


def test_what_holds_nothing_expected_keeps_its_id():
    assert ByText().judged_ids("q", ids("no", LIMA), {"Lima": 1}) == ["c1", "Lima"]
    assert ByText().judged_ids("q", ["\x1fno"], {"Lima": 1}) == ["<no-id-1>"]
    assert ByText().judged_ids("q", ["Lima\x1fno"], {"Lima": 1}) == ["<no-id-1>"]  # an id is not a text


def test_languages_without_spaces():
    assert contains("秘鲁的首都是利马。", "首都是利马") == 1
    assert contains("서울은 대한민국의 수도이다", "대한민국의 수도") == 1
    assert contains("ペルーの首都はリマです", "エクアドル") == 0


class Node:
    def __init__(self, text):
        self.node = type("Inner", (), {"text": text, "id": None})()


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ("plain", "\x1fplain"),
        ({"id": "c1", "text": "t"}, "c1\x1ft"),
        ({"chunk_id": 7, "page_content": "t"}, "7\x1ft"),
        ({"id": "c1"}, None),
        (Node("t"), "\x1ft"),
    ],
)
def test_where_texts_are(item, found):
    assert TextId(None)(item) == found


def test_a_place_or_a_function_says_where_the_text_is():
    assert TextId("metadata.body")({"id": 1, "metadata": {"body": "t"}}) == "1\x1ft"
    assert TextId(lambda item: item["x"])({"id": 1, "x": "t"}) == "1\x1ft"
    assert TextId("x").described() == "x"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ByText("contain"), "how='contain' is not allowed: did you mean 'contains'?"),
        (lambda: ByText(threshold=0), "threshold=0 is not allowed"),
        (lambda: ByText(corpus={}, text_from="x"), "both say where texts are"),
        (lambda: ByText().judged_ids("q", ids("a"), {"?!": 1}), "the expected text '?!' of query 'q' contains no word"),
        (lambda: ByText(corpus={}).judged_ids("q", ["d"], {"a": 1}), "the corpus has no text of 'd'"),
    ],
)  # fmt: skip
def test_mistakes_are_told(make, message):
    with pytest.raises(InputError) as told:
        make()
    assert message in str(told.value)


words = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=6)


@given(words, words)
def test_containing_is_a_run_of_words_and_overlap_counts_them(chunk, answer):
    runs = [chunk[i : i + len(answer)] for i in range(len(chunk))]
    assert contains(" ".join(chunk), " ".join(answer)) == (answer in runs)
    held = sum(min(chunk.count(word), answer.count(word)) for word in {*answer})
    assert overlap(" ".join(chunk), " ".join(answer)) == held / len(answer)


@given(st.text(alphabet=string.printable))
def test_tokens_of_tokens_are_the_same(text):
    assert tokens(" ".join(tokens(text))) == tokens(text)
