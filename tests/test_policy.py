"""Each policy is described once; everything that speaks of policies reads it there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import ranklens as rl
from ranklens.cli.main import main
from ranklens.comparison import options
from ranklens.policy import Policy, PolicyOptions, questions
from ranklens.stats import CORRECTIONS
from ranklens.stats.significance import ALL_TESTS


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


def test_the_types_of_options_are_those_of_policies():
    assert get_type_hints(PolicyOptions) == get_type_hints(Policy)
    assert {*get_args(options.Test)} == {*ALL_TESTS}
    assert {*get_args(options.Correction)} == {*CORRECTIONS}


@pytest.mark.slow
def test_a_type_checker_sees_typos(tmp_path):
    lines = {
        'rl.evaluate(q, r, "RR", ties="averge")': 'Argument "ties" to "evaluate" has incompatible type',
        'rl.evaluate(q, r, "RR", missin="zero")': 'Unexpected keyword argument "missin" for "evaluate"',
        'rl.compare(q, {"a": r}, test="wilcoxn")': 'Argument "test" to "compare" has incompatible type',
        'x: float = rl.recall_at_k(["a"], {"a"}, 1)': "",
        'y: list[float] = rl.recall_at_k([["a"]], [{"a"}], 1)': "",
        'rl.evaluate(q, r, "RR", ties="average", depth=10)': "",
    }
    file = tmp_path / "snippet.py"
    file.write_text("\n".join(['import ranklens as rl; q = {"q": {"a": 1}}; r = {"q": ["a"]}', *lines]))
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        "--ignore-missing-imports",
        "--no-incremental",
        str(file),
    ]
    environment = {**os.environ, "MYPYPATH": str(Path(rl.__file__).parents[1])}
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout
    for number, message in enumerate(lines.values(), 2):
        about = [line for line in told.splitlines() if f"snippet.py:{number}: error" in line]
        assert any(message in line for line in about) if message else not about, told


def test_the_best_grade_is_fixed_once_for_all_measures(tmp_path, capsys):
    """Otherwise the values of a query depend on the grades of the others."""
    qrels, run = {"q1": {"a": 2}, "q2": {"b": 4}}, {"q1": ["a"], "q2": ["x", "b"]}
    measures = ["ERR@10", "RBP(gain=linear)", "INST"]
    alone = rl.evaluate({"q1": qrels["q1"]}, run | {}, measures, max_grade=4, unjudged_queries="ignore")
    together = rl.evaluate(qrels, run, measures, max_grade=4)
    for name in measures:
        assert alone.values[name][0] == together.values[name][0]
        explicit = (
            name.replace("(", "(max_grade=4, ")
            if "(" in name
            else name.replace("@", "(max_grade=4)@")
            if "@" in name
            else f"{name}(max_grade=4)"
        )
        assert rl.evaluate({"q1": qrels["q1"]}, run, explicit).mean[explicit] == alone.mean[name]
    assert "max_grade = 4" in str(alone)
    assert "(highest judged)" not in str(alone)
    assert "(highest judged)" in str(rl.evaluate(qrels, run, "ERR@10"))
    for wrong in (0, -1, float("inf"), "four"):
        with pytest.raises(rl.PolicyError, match=r"max_grade=.* is not allowed"):
            rl.evaluate(qrels, run, "ERR", max_grade=wrong)
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\n")
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 1.0 t\n")
    for more in ([], ["--quiet"]):
        status = main(
            [
                "evaluate",
                str(tmp_path / "qrels.txt"),
                str(tmp_path / "run.txt"),
                "-m",
                "ERR@10",
                "--max-grade",
                "4",
                "--format",
                "json",
                *more,
            ]
        )
        told = capsys.readouterr()
        assert status == 0, told.err
        assert json.loads(told.out)["t"]["measures"][0]["mean"] == pytest.approx(alone.values["ERR@10"][0])
