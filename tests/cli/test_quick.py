"""The quick way understands what Typer understands, in the same way, or leaves it to Typer."""

import inspect
import subprocess
import sys
from functools import wraps
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranklens.cli.commands import COMMANDS, Command, command_of, understood
from ranklens.cli.main import main

GOLDEN = Path(__file__).parents[1] / "golden"

EVALUATE = [flag for parameter in command_of("evaluate").parameters for flag in parameter.flags]
value = st.sampled_from(["rag", "nDCG@10,RR", "zero", "skip", "average", "3", "0.5", "0", "007", "1e3", "-1", "x y", "", "-", "csv", "json", "--", "table"])  # fmt: skip
token = st.one_of(
    st.sampled_from(["q.txt", "r.txt", "a=b", "-", "--help", "-h", "--", "-qm", "-mRR", "--quer", "-x", "--unknown", "-q=1", "--no-judged-only"]),
    st.sampled_from(EVALUATE),
    value,
    st.tuples(st.sampled_from(EVALUATE), value).map("=".join),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(token, max_size=7).map(lambda tokens: ["q.txt", "r.txt", *tokens]))
def test_both_ways_ask_for_the_same(arguments):
    compare_both_ways("evaluate", arguments)


PLAIN = {
    "compare": ["q.txt", "a.txt", "b.txt", "--baseline", "a", "--most", "3", "--effect-sizes", "--plot", "a.png"],
    "bench": ["bench.yaml", "--fresh", "--max-age", "7d", "--no-code"],
    "gate": ["AP >= 0.1", "--qrels", "q.txt", "--run", "r.txt", "--missing", "skip", "--undecided", "pass", "--map", "doc=id"],
    "sensitivity": ["q.txt", "a.txt", "b.txt", "--seed", "3"],
    "plan": ["q.txt", "a.txt", "b.txt", "--detect", "0.02", "--systems", "3"],
    "fuse": ["a.txt", "b.txt", "--method", "wsum", "--weights", "1,2", "--depth", "5", "-o", "c.txt"],
    "tune": ["q.txt", "a.txt", "b.txt", "--norm", "min-max", "--folds", "3", "--one-standard-error"],
    "sweep": ["bench.yaml", "--over", "size=1,2", "--at-query", "k"],
    "explain": ["AP", "q.txt", "r.txt", "--query", "q1", "--rows", "3", "--as", "xgboost"],
    "report": ["q.txt", "a.txt", "b.txt", "-o", "r.html"],
    "measures": ["RR", "--bibtex"],
    "agreement": ["a.txt", "b.txt", "--rel", "2", "--run", "r.txt", "--run", "s.txt", "-m", "AP"],
    "trust": ["a.txt", "b.txt", "--judge", "gpt-4o", "--again", "c.txt"],
    "reusability": ["q.txt", "a.txt", "b.txt", "--depth", "100", "--by-team", "tag"],
    "inspect": ["golden.csv", "log.jsonl", "--map", "golden:query=id", "--match", "parent:#", "--format", "json"],
    "lint": ["q.txt", "r.txt", "--quiet"],
    "convert": ["a.txt", "b.jsonl", "--kind", "run"],
    "remap": ["golden.jsonl", "old.jsonl", "new.jsonl", "-o", "out.jsonl", "--report", "moved.csv"],
    "demo": ["--full"],
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_plain_calls_of_every_command_are_understood(name):
    assert compare_both_ways(name, PLAIN[name])


def test_commands_that_name_measures_load_those_of_the_user():
    loading = {
        name for name in PLAIN if "--load" in {f for p in command_of(name).parameters for f in p.flags}
    }
    assert loading == {*PLAIN} - {"fuse", "inspect", "lint", "convert", "remap", "demo"}
    assert "--load" in {flag for p in command_of("history")["add"].parameters for flag in p.flags}


def test_commands_with_commands_are_understood(monkeypatch):
    asked = []
    show = command_of("history")["show"]
    recording = Command("show", _recording(show.function, asked), has_manners=False)
    assert run_quickly(recording, ["last", "-q"])
    assert {**PLAIN, "evaluate": [], "history": []}.keys() == COMMANDS.keys()
    assert (asked[0]["ref"], asked[0]["per_query"], asked[0]["store"]) == ("last", True, None)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("plan", ["--systems", "1"]), ("convert", ["a.txt"]), ("explain", ["AP", "q", "r", "s"]), ("compare", ["q", "a", "--pair", "a", "b"])],
)  # fmt: skip
def test_what_is_wrong_or_rare_is_left_to_typer(name, arguments):
    assert not run_quickly(command_of(name), arguments)


def run_quickly(command, arguments):
    """Whether the arguments were understood, and the command was run."""
    asked = understood(command, arguments)
    if asked is not None:
        command.run(*asked)
    return asked is not None


def compare_both_ways(name, arguments):
    """Whether the quick way understood; then Typer asks for the same."""
    asked = []
    module, function = import_module(f"ranklens.cli.{name}"), COMMANDS[name]
    patch = pytest.MonkeyPatch()
    patch.setattr(module, function, _recording(getattr(module, function), asked))
    patch.setattr("ranklens.cli.commands.check_files", lambda arguments: None)
    try:
        if not _quick(name, arguments):
            return False
        status = _by_typer(name, arguments)
    finally:
        patch.undo()
    assert status == 0, "what is wrong is left to Typer"
    by_quick, by_typer = asked
    assert by_quick == by_typer
    return True


def _recording(function, asked):
    """In place of the command: notes what it was asked for, defaults included."""
    signature = inspect.signature(function, eval_str=True)

    @wraps(function)
    def record(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        asked.append(bound.arguments)

    record.__signature__ = signature
    return record


def _quick(name, arguments):
    try:
        return run_quickly(command_of(name), arguments)
    except ValueError:  # a policy that does not exist: both ways build it alike
        return False


def _by_typer(name, arguments):
    from ranklens.cli.app import run_app

    return run_app([name, *arguments])


@pytest.mark.parametrize("call", [
    "'evaluate', 'qrels.txt', 'run.txt', '-m', 'RR', '-m', 'AP', '-q'",
    "'lint', 'qrels.txt', 'run.txt'",
    "'convert', 'run.txt', '-', '--format', 'csv'",
    "'measures', 'RR'",
])  # fmt: skip
def test_a_plain_call_loads_neither_typer_nor_pydantic(call):
    code = (
        f"import sys; from ranklens.cli.main import main; main([{call}]); "
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
