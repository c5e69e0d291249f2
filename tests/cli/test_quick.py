"""The quick way of ``ranklens evaluate`` understands what Typer understands, in the same way, or leaves it to Typer."""

import inspect
import subprocess
import sys
from dataclasses import fields
from functools import wraps
from pathlib import Path

import pytest
import typer.main
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.cli import evaluate, quick
from ranklens.cli.app import make_app
from ranklens.cli.main import main
from ranklens.policy import Policy

GOLDEN = Path(__file__).parents[1] / "golden"


# What is rare, and slow enough anyway.
LEFT_TO_TYPER = {
    "--queries", "--failing", "--failing-measure", "--map", "--match", "--abstain-below", "--save", "--quiet", "--strict",
    "--load", "--engine", "--master", "--intents",
}  # fmt: skip


def test_it_knows_every_option_and_no_other():
    command = typer.main.get_command(make_app(["evaluate"])).commands["evaluate"]
    known = {flag for parameter in command.params for flag in [*parameter.opts, *parameter.secondary_opts]}
    assert known - {"--help", "-h", "qrels", "runs"} - LEFT_TO_TYPER == {*quick.OPTIONS}


value = st.sampled_from(["rag", "nDCG@10,RR", "zero", "skip", "average", "3", "0.5", "0", "007", "1e3", "-1", "x y", "", "-", "csv", "json", "--", "table"])  # fmt: skip
token = st.one_of(
    st.sampled_from(["q.txt", "r.txt", "a=b", "-", "--help", "-h", "--", "-qm", "-mRR", "--quer", "-x", "--unknown", "-q=1"]),
    st.sampled_from([*quick.OPTIONS]),
    value,
    st.tuples(st.sampled_from([*quick.OPTIONS]), value).map("=".join),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(token, max_size=7).map(lambda tokens: ["q.txt", "r.txt", *tokens]))
def test_both_ways_ask_for_the_same(arguments):
    asked = []
    patch = pytest.MonkeyPatch()
    patch.setattr(evaluate, "evaluate", _recording(asked))
    try:
        if not _quick(arguments):
            return
        status = _by_typer(arguments)
    finally:
        patch.undo()
    assert status == 0, "what is wrong is left to Typer"
    by_quick, by_typer = asked
    assert by_quick == by_typer


def _recording(asked):
    """In place of the command: notes what it was asked for, defaults included."""
    signature = inspect.signature(evaluate.evaluate)

    @wraps(evaluate.evaluate)
    def record(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        asked.append(bound.arguments)

    return record


def _quick(arguments):
    try:
        return quick.quick_evaluate(arguments)
    except ValueError:  # a policy that does not exist: both ways build it alike
        return False


def _by_typer(arguments):
    from ranklens.cli.app import run_app

    return run_app(["evaluate", *arguments])


def test_a_plain_call_loads_neither_typer_nor_pydantic():
    code = (
        "import sys; from ranklens.cli.main import main; main(['evaluate', 'qrels.txt', 'run.txt', '-m', 'RR', '-m', 'AP', '-q']); "
        "print({'typer', 'pydantic', 'rich', 'scipy'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=GOLDEN, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_mistakes_are_told_by_typer(capsys, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    assert main(["evaluate", "qrels.txt", "run.txt", "--tie", "average"]) == 2
    assert "No such option" in capsys.readouterr().err
    assert main(["evaluate", "qrels.txt"]) == 2
    assert "Missing argument" in capsys.readouterr().err
    assert {field.name for field in fields(Policy)} <= {name for name, _ in quick.OPTIONS.values()}
