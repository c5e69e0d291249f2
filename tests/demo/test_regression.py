"""The short demo: a change that looks harmless, and a gate that catches it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ranklens as rl
from ranklens.bench.demo import regression
from ranklens.cli.main import main


@pytest.fixture(scope="module")
def ran():
    return regression.Regression.run()


def test_each_answer_is_in_one_article_and_in_a_chunk_of_the_baseline():
    centre = regression.load()
    chunks = regression.cut(centre.articles, 120)
    assert len({question["question"] for question in centre.golden}) == len(centre.golden)
    for question in centre.golden:
        (answer,) = question["expected_answer"]
        assert sum(answer in text for text in centre.articles.values()) == 1
        assert any(answer in text for text in chunks.values())


def test_the_gate_fails_for_the_reason_that_it_prints(ran):
    assert not ran.gate.passed
    pair = ran.comparison.pair("hit@3", regression.BEFORE, regression.AFTER)
    assert pair.significant
    # The same numbers by hand: the texts of the top 3, in the order of the articles, hold the passage.
    answers = {question["id"]: question["expected_answer"][0] for question in ran.centre.golden}
    for log, mean in ((ran.before, pair.mean_a), (ran.after, pair.mean_b)):
        read = {one["question_id"]: sorted(one["retrieved"], key=lambda c: c["chunk_id"]) for one in log}
        hits = [answers[query] in " ".join(c["text"] for c in chunks) for query, chunks in read.items()]
        assert sum(hits) / len(hits) == pytest.approx(mean)


def test_the_texts_of_lost_questions_fit_80_columns(ran, capsys, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: name)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert str(ran) in out
    assert max(map(len, out.splitlines())) <= 80
    assert "How many days do I have to return an order?" in out
    assert "You have 45 days after delivery" in out


def test_the_commands_to_try_next_run_on_the_saved_data(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--save", "data"]) == 0
    golden, *_ = (tmp_path / "data" / "golden.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(golden)["question"] == "How do I return an order?"
    commands = [
        line.split()[1:] for line in capsys.readouterr().out.splitlines() if line.startswith("  ranklens ")
    ]
    assert [command[0] for command in commands] == ["compare", "evaluate", "report"]
    monkeypatch.chdir("data")
    for command in commands:
        assert main(command) == 0, command


def test_the_readme_begins_with_its_output(ran):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = readme.partition("```console\n$ ranklens demo\n")[2].partition("```")[0]
    assert len(shown.splitlines()) > 15
    assert str(ran).startswith(shown.rstrip("\n"))


def test_nothing_is_written_without_a_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "ranklens", "demo"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Gate failed" in done.stdout
    assert not list(tmp_path.iterdir())


def test_mistakes_of_the_command(tmp_path, capsys):
    assert main(["demo", "-o", "report.html"]) == 2
    assert "add --full" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["demo", "--save", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err
    with pytest.raises(rl.InputError, match="cannot be created"):
        regression.Regression.run().save(tmp_path / "file" / "below")
