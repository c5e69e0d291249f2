import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import typer.main
from command_line import GOLDEN, run

import ranklens as rl
from ranklens.cli.app import make_app
from ranklens.errors import Given, Option, PolicyError
from ranklens.metrics.presets import ADVICE, PRESETS
from ranklens.policy import questions
from ranklens.process import in_options

pytestmark = pytest.mark.usefixtures("in_golden")


def test_one_run_prints_what_the_library_prints(capsys):
    expected = rl.evaluate("qrels.txt", "run.txt", ["nDCG@10", "AP"])
    assert run(capsys, "evaluate", "qrels.txt", "run.txt", "-m", "nDCG@10,AP", "--quiet") == (
        0,
        f"{expected}\n",
        "",
    )


def test_several_runs_give_one_table(capsys):
    status, out, _ = run(capsys, "evaluate", "qrels.txt", "run.txt", "other=run.prefs.txt", "-m", "rag")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].split() == ["run", "R@5", "P@5", "RR"]
    assert [line.split()[0] for line in lines[2:4]] == ["synth", "other"]
    assert lines[-1].startswith("other: 32 queries averaged (3 missing")


def test_formats_hold_the_same_numbers(capsys):
    expected = rl.evaluate("qrels.txt", "run.txt", ["AP", "RR"]).mean
    base = ("evaluate", "qrels.txt", "run.txt", "-m", "AP,RR", "--format")
    assert {
        r["measure"]: r["mean"] for r in map(json.loads, run(capsys, *base, "jsonl")[1].splitlines())
    } == expected
    assert {
        r["measure"]: r["mean"] for r in json.loads(run(capsys, *base, "json")[1])["synth"]["measures"]
    } == expected
    for name, separator in (("csv", ","), ("tsv", "\t")):
        frame = pl.read_csv(run(capsys, *base, name)[1].encode(), separator=separator)
        assert dict(zip(frame["measure"], frame["mean"], strict=True)) == expected
    assert "| AP | 0.0826 | [0.0491, 0.1359] |" in run(capsys, *base, "markdown")[1]
    latex = run(capsys, *base, "latex")[1]
    assert r"AP & 0.0826 & [0.0491, 0.1359] \\" in latex
    assert r"36\%" not in latex or r"\caption" in latex


def test_values_by_query(capsys):
    scores = rl.evaluate("qrels.txt", "run.txt", ["AP"])
    _, out, _ = run(capsys, "evaluate", "qrels.txt", "run.txt", "-m", "AP", "-q", "--format", "csv")
    frame = pl.read_csv(out.encode(), schema_overrides={"query": pl.String})
    assert dict(zip(frame["query"], frame["AP"], strict=True)) == dict(
        zip(scores.queries, scores["AP"].tolist(), strict=True)
    )
    _, out, _ = run(
        capsys, "evaluate", "qrels.txt", "run.txt", "b=run.txt", "-m", "AP", "-q", "--format", "jsonl"
    )
    assert json.loads(out.splitlines()[-1])["run"] == "b"


POLICIES = {
    ("--ties", "average"): {"ties": "average"},
    ("--missing", "skip"): {"missing": "skip"},
    ("--empty", "skip"): {"empty": "skip"},
    ("--judged-only",): {"judged_only": True},
    ("--depth", "10"): {"depth": 10},
    ("--rel", "2"): {"rel": 2},
}


@pytest.mark.parametrize(("flags", "policy"), POLICIES.items(), ids=lambda x: str(x)[:20])
def test_every_policy_is_an_option(capsys, flags, policy):
    expected = rl.evaluate("qrels.txt", "run.txt", ["AP", "RR"], **policy)
    status, out, _ = run(capsys, "evaluate", "qrels.txt", "run.txt", "-m", "AP,RR", *flags)
    assert (status, out) == (0, f"{expected}\n")


def test_output_goes_to_a_file_as_a_whole(capsys, tmp_path):
    target = tmp_path / "table.md"
    asked = ["evaluate", "qrels.txt", "run.txt", "--format", "markdown", "--quiet"]
    assert run(capsys, *asked, "-o", str(target)) == (0, "", "")
    assert target.read_text().startswith("| measure |")
    assert list(tmp_path.iterdir()) == [target]
    status, _, err = run(capsys, "evaluate", "qrels.txt", "run.txt", "-o", str(tmp_path / "no" / "folder"))
    assert status == 2
    assert "there is no folder" in err


def test_no_colour_codes(capsys):
    assert "\x1b" not in run(capsys, "evaluate", "qrels.txt", "run.txt")[1]


WRONG = [
    (["evaluate", "qrels.txt"], "Missing argument"),
    (["evaluate", "nothing", "run.txt"], "nothing does not exist"),
    (["evaluate", "qrels.txt", "run.txt", "-m", "nDGC"], "did you mean 'nDCG'"),
    (
        ["evaluate", "qrels.txt", "run.txt", "--ties", "random"],
        "--ties random is not allowed: choose from 'descending'",
    ),
    (["evaluate", "qrels.txt", "run.txt", "--depth", "x"], "Invalid value for '--depth'"),
    (["evaluate", "qrels.txt", "run.txt", "--format", "pdf"], "Invalid value for '--format'"),
    (["evaluate", "qrels.txt", "run.txt", "--run-format", "trek"], "did you mean 'trec'"),
    (["evaluate", "run.txt", "qrels.txt"], "pass the judgments first"),
    (["evaluate", "qrels.txt", "a=run.txt", "a=run.txt"], "Two runs are called"),
    (
        ["evaluate", "qrels.txt", "."],
        ". is a folder without tables (.parquet, .csv, .tsv, .jsonl); pass the file itself.",
    ),
    (["evaluate", ".", "run.txt"], ". is a folder without BEIR's qrels or tables"),
    (["evaluate", "qrels.txt", "run.txt", "-m", "all_trec"], "the preset 'trec' has trec_eval's official"),
    (["evaluate", "qrels.txt", "run.txt", "-m", "XYZ"], "ranklens measures lists them all."),
    (
        ["evaluate", "qrels.txt", "run.prefs.txt", "--missing", "error"],
        "choose --missing zero or --missing skip.",
    ),
    (["evaluat"], "No such command"),
    (["measures", "nDGC"], "did you mean 'nDCG'"),
    (["measures", "--for", "rug"], "did you mean 'rag'"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[w[1] for w in WRONG])
def test_mistakes_get_one_message_and_status_2(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_warnings_go_to_standard_error(capsys, tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n")
    status, _, err = run(capsys, "evaluate", "qrels.txt", str(path), "-m", "RR")
    assert status == 0
    assert err.startswith("ranklens evaluate: warning: run: 1 repeated document was dropped")


@pytest.mark.parametrize(
    "command", [["evaluate"], ["compare"], ["gate"], ["plan"], ["lint"], ["history", "trend"]]
)
def test_help_names_values_in_words_rather_than_by_their_types(capsys, command):
    _, out, _ = run(capsys, *command, "--help")
    options = [line for line in out.splitlines() if line.lstrip().startswith("-")]
    assert any(" FILE" in line for line in options)
    assert not [line for line in options if re.search(r"<(str|path|int|float|list)", line)]


def test_measures_are_listed_described_and_recommended(capsys):
    status, out, _ = run(capsys, "measures")
    assert status == 0
    for measure in rl.measures():
        assert str(measure) in out
    assert "nDCG@k" in out
    assert "Also called\n- MRR, recip_rank" in run(capsys, "measures", "MRR@10")[1]
    assert "a number from 0 to 1, must be given" in run(capsys, "measures", "iprec")[1]


@pytest.mark.parametrize("purpose", PRESETS)
def test_every_purpose_gets_advice_in_words_and_a_command_to_use(capsys, purpose):
    status, out, _ = run(capsys, "measures", "--for", purpose)
    assert status == 0
    assert " ".join(ADVICE[purpose].split()[:8]) in out
    assert f"-m {purpose}" in out
    table = out.partition("---\n")[2].partition("\n\n")[0]
    assert [line.split("  ")[0] for line in table.splitlines()] == [str(m) for m in rl.preset(purpose)]


def test_trec_eval_is_a_command_too(capsys):
    status, out, _ = run(capsys, "trec-eval", "-c", "-m", "map", "qrels.txt", "run.txt")
    assert (status, out) == (0, "map                   \tall\t0.0826\n")
    assert run(capsys, "trec-eval", "qrels.txt")[0] == 1


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"ranklens {rl.__version__}\n", "")


def test_official_is_the_preset_trec(capsys):
    printed = [run(capsys, "evaluate", "qrels.txt", "run.txt", "-m", name) for name in ("official", "trec")]
    assert printed[0][0] == 0
    assert printed[0] == printed[1]


def _messages():
    """Every text that the library raises or warns with, with x for what is filled in."""
    raised = {"InputError", "MeasureError", "PolicyError", "MissingExtraError", "RankLensWarning", "warn"}
    for file in Path(rl.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in raised:
                for text in node.args:
                    parts = getattr(text, "values", [text])
                    yield "".join(part.value if isinstance(part, ast.Constant) else "x" for part in parts)


def test_messages_name_options_as_such():
    """An option in plain text would be spelled as Python does, also by the command line."""
    names = "|".join([*questions(), "alpha", "correction", "level", "test", "columns"])
    messages = list(_messages())
    assert len(messages) > 200
    plain = [re.sub(r"\(.*?\)", "", message) for message in messages]
    found = [text for text in plain if re.search(rf"(?<![(\w])({names})=", text)]
    # Item metrics have arguments of these names, and no command.
    assert [text for text in found if not text.startswith("The grades of x")] == []


MISTAKES = {
    ("evaluate", "--ties", "avrage"): "--ties avrage is not allowed: did you mean 'average'?",
    ("evaluate", "--depth", "0"): "--depth 0 is not allowed: it is a whole number from 1",
    ("evaluate", "--rel", "-1"): "--rel -1.0 is not allowed",
    ("evaluate", "--missing", "error"): "choose --missing zero or --missing skip.",
    ("evaluate", "-m", "infAP", "--ties", "average"): "choose --ties descending, ascending or input.",
    ("evaluate", "-m", "nDGC@10"): "did you mean 'nDCG'? ranklens measures lists them all.",
    ("compare", "--level", "95"): "--level 95.0 is not allowed: it must be a number between 0 and 1",
    ("compare", "--alpha", "5"): "--alpha 5.0 is not allowed",
    ("compare", "--test", "tt"): "--test tt is not known: did you mean 't'?",
    ("compare", "--correction", "none!"): "--correction none! is not known",
}  # fmt: skip


@pytest.mark.parametrize("given", MISTAKES, ids=" ".join)
def test_mistakes_are_told_in_options(capsys, given):
    status, _, err = run(capsys, given[0], "qrels.txt", "run.txt", *given[1:])
    assert status == 2
    assert MISTAKES[given] in err


def test_files_are_not_told_of_arguments_in_python(capsys, tmp_path):
    (tmp_path / "run.csv").write_text("query,what,score\nq1,a,1\n")
    status, _, err = run(capsys, "evaluate", "qrels.txt", str(tmp_path / "run.csv"))
    assert status == 2
    assert err.endswith("Rename the column to 'doc', or pass --map doc=COLUMN.\n")


def test_options_are_spelled_by_the_front_end():
    told = PolicyError("choose ", Option("ties", "descending", "ascending", "input"), ".")
    assert str(told) == 'choose ties="descending", "ascending" or "input".'
    assert in_options(told) == "choose --ties descending, ascending or input."
    assert (
        in_options(PolicyError(Given("judged_only", "x"), " is not allowed"))
        == "--judged-only x is not allowed"
    )
    assert in_options(PolicyError("nDCG(judged_only=True)@5")) == "nDCG(judged_only=True)@5"


def complete(*words):
    """What the shell is offered behind these words."""
    environment = {
        **os.environ, "_RANKLENS_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    command = [
        sys.executable,
        "-c",
        "import sys; sys.argv = ['ranklens']; from ranklens.cli.main import main; sys.exit(main())",
    ]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    ).stdout.split()


def test_the_shell_completes_commands_and_options():
    assert complete("ranklens", "eva") == ["evaluate"]
    assert "--ties" in complete("ranklens", "evaluate", "--ti")
    assert {"lint", "convert", "trec-eval"} <= {*complete("ranklens", "")}


def test_svmlight_judgments_with_several_files_of_scores(capsys, tmp_path):
    (tmp_path / "gold.svm").write_text("2 qid:1 1:0.3 # a\n0 qid:1 1:0.1 # b\n")
    for name, scores in (("good", "0.9\n0.1\n"), ("bad", "0.1\n0.9\n")):
        (tmp_path / name).write_text(scores)
    runs = [str(tmp_path / name) for name in ("good", "bad")]
    for extra in ([], ["--run-format", "svmlight"], ["--qrels-format", "svmlight"]):
        status, out, _ = run(
            capsys, "evaluate", str(tmp_path / "gold.svm"), *runs, "-m", "RR", "--format", "csv", *extra
        )
        assert status == 0
        assert [line.split(",")[:3] for line in out.splitlines()[1:]] == [
            ["good", "RR", "1.0"],
            ["bad", "RR", "0.5"],
        ]
    status, _, err = run(capsys, "evaluate", str(GOLDEN / "qrels.txt"), *runs, "-m", "RR")
    assert status == 2
    assert "good contains bare scores, which belong to svmlight judgments" in err


def test_messages_name_the_run_where_there_are_several(capsys, tmp_path):
    (tmp_path / "a.txt").write_text("q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n")
    (tmp_path / "b.txt").write_text("q1 Q0 a 1 nan t\n")
    (tmp_path / "q").write_text("q1 0 a 1\n")
    status, _, err = run(
        capsys, "evaluate", str(tmp_path / "q"), str(tmp_path / "a.txt"), str(tmp_path / "b.txt")
    )
    assert status == 2
    assert "ranklens evaluate: warning: a: run: 1 repeated document was dropped" in err
    assert "ranklens evaluate: b: run: the score of document 'a' for query 'q1' is nan, not a number" in err


def test_a_reader_that_leaves_early_gets_no_complaint():
    command = f"{sys.executable} -m ranklens.cli.main evaluate qrels.txt run.txt --quiet -q -m trec | head -1"
    done = subprocess.run(command, shell=True, cwd=GOLDEN, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_findings_fail_whoever_reads_them(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 nan t\n")
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "ranklens", "lint", "qrels.txt", "run.txt"]
    done = subprocess.run(command, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def _commands(group, *path):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, *path, name)
        elif name != "trec-eval":  # which has a help of its own
            yield (*path, name), command


@pytest.mark.parametrize(("path", "command"), list(_commands(typer.main.get_command(make_app()))))
def test_help_says_all_there_is_to_say(capsys, path, command):
    status, printed, _ = run(capsys, *path, "--help")
    shown = re.sub(r"\s", "", printed)
    texts = [command.help, *(getattr(parameter, "help", None) for parameter in command.params)]
    assert (status, len(texts) > 2) == (0, True)
    for text in filter(None, texts):
        assert re.sub(r"\s", "", text) in shown


@pytest.mark.parametrize("group", [(), ("history",)])
def test_the_list_of_commands_cuts_no_sentence(capsys, group):
    assert "..." not in run(capsys, *group, "--help")[1].partition("Commands:")[2]


def test_a_master_that_is_none_is_refused_before_java_starts(capsys):
    status, _, err = run(
        capsys, "evaluate", "qrels.test", "results.test", "--engine", "spark", "--master", "nowhere"
    )
    assert (status, err.count("\n")) == (2, 1)
    assert "use local[*], spark://HOST:PORT" in err
