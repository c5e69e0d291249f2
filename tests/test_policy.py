"""Each policy is described once; everything that speaks of policies reads it there."""

from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import ranklens as rl
from ranklens.policy import Policy, questions


def test_every_choice_has_an_answer():
    for name, kind in get_type_hints(Policy).items():
        answers = questions()[name].answers
        if get_origin(kind) is Literal:
            assert tuple(answers) == get_args(kind), name
        elif kind is bool:
            assert list(answers) == [False, True]
        else:
            assert questions()[name].number, name


def test_decisions_in_words():
    decisions = Policy(ties="average", depth=50, rel=2.0, judged_only=True).decisions()
    assert len(decisions) == len(questions())
    assert decisions["Documents with the same score"] == "averaged over all orders"
    assert decisions["Documents used per ranking"] == "the first 50"
    assert decisions["Unjudged documents"] == "are removed from the ranking"
    assert decisions["Relevant documents"] == "those from grade 2"


@pytest.mark.parametrize("rel", [0, -1, float("nan"), "2", None])
def test_the_lowest_relevant_grade_is_a_number_above_0(rel):
    with pytest.raises(rl.PolicyError, match=r"rel=.* is not allowed"):
        Policy(rel=rel)


def test_help_names_every_choice():
    for question in questions().values():
        assert question.about in Policy.__doc__
        assert all(answer in Policy.__doc__ for answer in question.answers.values())
