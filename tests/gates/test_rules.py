"""The grammar of rules: what is understood, what is refused and why."""

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranklens.errors import InputError
from ranklens.guard.rules import Limit, Rule, Slice
from ranklens.metrics import parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nDCG@10 >= 0.42", Rule(parse("nDCG@10"), ">=", Limit(0.42))),
        ("ndcg_cut_10>=0.42", Rule(parse("nDCG@10"), ">=", Limit(0.42))),
        ("nDCG@10 drop <= 1%", Rule(parse("nDCG@10"), "<=", Limit(0.01, relative=True), is_drop=True)),
        ("mrr drop<=0.01@95%", Rule(parse("RR"), "<=", Limit(0.01), is_drop=True, confidence=0.95)),
        ("P(rel=2)@5 drop <= 0 @ 99.5 %", Rule(parse("P(rel=2)@5"), "<=", Limit(0.0), is_drop=True, confidence=0.995)),
        ("nDCG@10 >= 0.42 @ 90%", Rule(parse("nDCG@10"), ">=", Limit(0.42), confidence=0.9)),
        ("failed <= 0", Rule("failed", "<=", Limit(0.0))),
        ("failed <= 2%", Rule("failed", "<=", Limit(0.02, relative=True))),
        ("p95 <= 200ms", Rule("p95", "<=", Limit(0.2))),
        ("p99 <= 1.5 s", Rule("p99", "<=", Limit(1.5))),
        ("nDCG@10[type=factoid] >= 0.4", Rule(parse("nDCG@10"), ">=", Limit(0.4), slice=Slice("type", "factoid"))),
        ("RR[lang=pt-BR] drop <= 2% @ 95%", Rule(parse("RR"), "<=", Limit(0.02, relative=True), is_drop=True, slice=Slice("lang", "pt-BR"), confidence=0.95)),
        ("R@5[type=how to] >= 0.4", Rule(parse("R@5"), ">=", Limit(0.4), slice=Slice("type", "how to"))),
    ],
)  # fmt: skip
def test_rules_that_are_understood(text, expected):
    found = Rule.parse(text)
    assert found == expected
    assert Rule.parse(str(found)) == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nDCG@10", "is not a rule. Write a rule as"),
        ("", "is not a rule"),
        ("nDCG@10 > 0.4", "Use >= or <=, which include the limit."),
        ("nDCG@10 = 0.4", "Use >= or <=."),
        ("nDGC@10 >= 0.4", "did you mean 'nDCG"),
        ("nDCG@10 >= high", "'high' is not a number"),
        ("nDCG@10 >= 80%", "a floor is a mean, so write 0.8"),
        ("nDCG@10 >= 42", "42 can never be reached: nDCG@10 is at most 1. For 42%, write 0.42."),
        ("nDCG@10 <= 0.4", "higher values of nDCG@10 are better; write >="),
        ("nDCG@10 drop >= 1%", "a drop has an upper limit"),
        ("nDCG@10 drop <= 1", "1 can never fail: give less than 1; for 1 percent of the baseline, write 1%"),
        ("nDCG@10 drop <= 100%", "can never fail: give less than 100%"),
        ("nDCG@10 drop <= -1%", "it is a number from 0"),
        ("nDCG@10 drop <= 1% @ 95", "the confidence is above 50% and below 100%"),
        ("nDCG@10 drop <= 1% @ 40%", "the confidence is above 50%"),
        ("NumRet >= 3", "NumRet is not a mean"),
        ("failed >= 1", "write 'failed <= 0'"),
        ("failed drop <= 1", "has an upper limit and nothing else"),
        ("p95 <= 200", "'200' is not a time; write 200ms or 0.2s"),
        ("p95[type=a] <= 2s", "has an upper limit and nothing else"),
        ("mrr <= 2s", "'2s' is not a number"),
    ],
)  # fmt: skip
def test_rules_that_are_refused_say_why(text, told):
    with pytest.raises(InputError, match=re.escape(told)) as error:
        Rule.parse(text)
    assert not text or repr(text) in str(error.value)  # what was given


numbers = st.floats(0, 0.99).map(lambda number: float(f"{number:.6g}"))


@given(
    measure=st.sampled_from(["nDCG@10", "P(rel=2)@5", "RBP(p=0.8)", "gm_AP", "mrr"]),
    amount=numbers,
    relative=st.booleans(),
    confidence=st.none() | st.sampled_from([0.9, 0.95, 0.995]),
    part=st.none()
    | st.builds(Slice, st.sampled_from(["type", "lang"]), st.sampled_from(["a", "b c", "ü-1", "1.5"])),
)
def test_what_is_printed_is_understood(measure, amount, relative, confidence, part):
    rule = Rule(
        parse(measure), "<=", Limit(amount / 100 if relative else amount, relative), True, part, confidence
    )
    again = Rule.parse(str(rule))
    assert again.limit.amount == pytest.approx(rule.limit.amount, rel=1e-9)
    assert str(again) == str(rule)


@given(st.text(max_size=60))
def test_any_text_is_a_rule_or_one_clear_error(text):
    with contextlib.suppress(InputError):
        assert Rule.parse(str(Rule.parse(text))) == Rule.parse(text)
