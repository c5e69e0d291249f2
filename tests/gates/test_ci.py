"""Verdicts as CI services read them: JUnit XML, GitHub's annotations and summaries, comments on pull requests."""

import json
from xml.etree import ElementTree as ET

import pytest

import ranklens as rl
from ranklens.cli.main import main
from ranklens.guard.comment import MARK
from ranklens.guard.verdicts import Outcome

QRELS = {f"q{i}": {"a": 1} for i in range(60)}
OLD = {query: ["a", "b"] for query in QRELS}
BAD = [f"q{i}" for i in range(7)]
NEW = {query: ["b", "a"] if query in BAD else ["a"] for query in QRELS}
RULES = ["RR >= 0.9", "RR drop <= 1%", "RR drop <= 0.05 @ 95%"]  # passed, failed, undecided


@pytest.fixture
def outcome():
    old, new = (rl.evaluate(QRELS, run, "RR") for run in (OLD, NEW))
    return rl.gate(new, RULES, baseline=old)


@pytest.fixture
def lenient():
    old, new = (rl.evaluate(QRELS, run, "RR") for run in (OLD, NEW))
    return rl.gate(new, [RULES[0], RULES[2]], baseline=old, undecided="pass")


def test_the_statuses_are_all_there(outcome):
    assert [verdict.status for verdict in outcome.verdicts] == ["passed", "failed", "undecided"]


def test_junit_has_one_case_per_rule(outcome, lenient):
    root = ET.fromstring(outcome.to_junit())
    suite = root.find("testsuite")
    assert suite.attrib | {"time": ""} == {
        "name": "ranklens gate", "tests": "3", "failures": "2", "errors": "0", "skipped": "0", "time": "",
    }  # fmt: skip
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == RULES
    assert [case.find("failure") is not None for case in cases] == [False, True, True]
    assert [case.find("failure").get("type") for case in cases[1:]] == ["failed", "undecided"]
    assert "0.9417 < required 0.99" in cases[1].find("failure").get("message")
    assert "lost most: q0 1.00 → 0.50" in cases[1].find("failure").text
    assert suite.find("system-out").text.startswith("Compared with ")
    skipped = ET.fromstring(lenient.to_junit()).find("testsuite")
    assert (skipped.get("failures"), skipped.get("skipped")) == ("0", "1")
    assert skipped.findall("testcase")[1].find("skipped") is not None


TEXT = (set(), {"type", "message"}, set())  # what must be there, what may, and which elements are inside
SCHEMA = {  # Jenkins' junit-10.xsd, the strictest of those in use, as far as it concerns us
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": TEXT,
    "skipped": TEXT,
    "system-out": (set(), set(), set()),
}


def test_the_xml_follows_the_schema_of_jenkins(outcome, lenient):
    for document in (outcome, lenient, Outcome(())):
        root = ET.fromstring(document.to_junit())
        assert root.tag == "testsuites"
        for element in root.iter():
            required, optional, inside = SCHEMA[element.tag]
            assert required <= set(element.attrib) <= required | optional
            assert {child.tag for child in element} <= inside
            if len(element):
                assert not (element.text or "").strip()  # no text between elements
            if "time" in element.attrib:
                assert float(element.get("time")) >= 0


def test_a_parser_reads_the_xml_back(outcome, lenient, tmp_path):
    junitparser = pytest.importorskip("junitparser")
    (tmp_path / "gate.xml").write_text(outcome.to_junit(), encoding="utf-8")
    read = junitparser.JUnitXml.fromfile(str(tmp_path / "gate.xml"))
    assert (read.tests, read.failures, read.errors) == (3, 2, 0)
    cases = [case for suite in read for case in suite]
    assert [case.name for case in cases] == RULES
    assert [case.is_passed for case in cases] == [True, False, False]
    assert "0.9417 < required 0.99" in cases[1].result[0].message
    (tmp_path / "gate.xml").write_text(lenient.to_junit(), encoding="utf-8")
    skipped = [case for suite in junitparser.JUnitXml.fromfile(str(tmp_path / "gate.xml")) for case in suite]
    assert [case.is_skipped for case in skipped] == [False, True]


def hostile(text):
    qrels = {text: {"a": 1}}
    return rl.gate(rl.evaluate(qrels, {text: ["b"]}, "RR"), "RR >= 0.5")


def test_nothing_in_the_data_breaks_the_xml():
    content = hostile("a]]>\x00\x1b<b>&\ufffe").to_junit()
    assert r"a]]>\x00\x1b<b>&�" in ET.fromstring(content).find(".//failure").text


def test_annotations(outcome, lenient, tmp_path):
    failed, undecided = outcome.to_annotations(tmp_path / "a,b.yaml").splitlines()
    assert failed.startswith(
        f"::error file={tmp_path}/a%2Cb.yaml,title=failed%3A RR drop <= 1%25 (run)::RR of run: "
    )
    assert "%0Alost most: q0 1.00 → 0.50; q1" in failed
    assert undecided.startswith("::error file=")
    assert lenient.to_annotations().startswith("::warning title=undecided%3A RR drop <= 0.05 @ 95%25 (run)::")
    assert (
        rl.gate(rl.evaluate(QRELS, OLD, "RR"), "RR >= 0.9").to_annotations()
        == "::notice title=ranklens gate::passed: 1 verdict"
    )


def test_data_cannot_give_commands():
    for line in hostile("x\n::set-output name=a::b\r\n::warning::").to_annotations().splitlines():
        assert line.startswith("::error title=")


def test_the_comment_has_the_verdict_a_table_five_losses_and_folded_details(outcome):
    text = outcome.to_markdown()
    assert text.startswith(
        f"{MARK}\n\n### Gate failed: 1 passed, 1 failed, 1 undecided\n\n|  | rule | system |"
    )
    assert "| FAILED | RR drop \\<= 1% | run | 0.9417 |" in text
    losses = text.partition("### Queries that lost most")[2].partition("<details>")[0]
    assert [line.split(" | ")[0] for line in losses.splitlines() if line.startswith("| q")][1:] == [
        f"| q{i}" for i in range(5)
    ]
    assert text.count("<details>") == text.count("</details>") == 1
    assert text.rstrip().endswith("</details>")


def test_a_comment_holds_no_markup_of_the_data():
    text = hostile("<img src=x>[a](javascript:b)|c").to_markdown()
    assert "<img" not in text.replace("\\<img", "")
    assert "](javascript" not in text.replace("\\](", "")


def test_nothing_to_check_gives_an_empty_document():
    assert ET.fromstring(Outcome(()).to_junit()).find("testsuite").get("tests") == "0"


# The commands


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    (tmp_path / "old.json").write_text(json.dumps(OLD))
    (tmp_path / "new.json").write_text(json.dumps(NEW))
    config = {
        "data": {"qrels": "qrels.json", "runs": {"old": "old.json", "new": "new.json"}},
        "retrieval_metrics": {"enabled_metrics": ["RR"]},
        "baseline": "old",
        "gates": {"rules": RULES[:2]},
    }
    (tmp_path / "bench.yaml").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [["gate", "--config", "bench.yaml"], ["bench", "bench.yaml"]])
def test_commands_write_for_ci(folder, command, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    (folder / "summary.md").write_text("# An earlier step\n")
    assert main([*command, "--format", "github", "--junit", "gate.xml"]) == 1
    printed = capsys.readouterr().out
    assert "\n::error file=bench.yaml,title=failed%3A RR drop <= 1%25 (new)::" in printed
    assert "0.9417" in printed
    assert ET.parse(folder / "gate.xml").getroot().get("failures") == "1"
    summary = (folder / "summary.md").read_text()
    assert summary.startswith("# An earlier step\n")
    assert MARK in summary
    assert "### Queries that lost most" in summary
    assert ("<summary>Results</summary>" in summary) == (command[0] == "bench")


def test_a_summary_that_cannot_be_written_is_told(folder, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "no" / "such.md"))
    assert main(["gate", "RR >= 0.5", "--qrels", "qrels.json", "--run", "new.json"]) == 0
    assert "The summary of the job (GITHUB_STEP_SUMMARY=" in capsys.readouterr().err


def test_what_is_printed_into_the_summary_is_not_there_twice(folder, monkeypatch):
    import subprocess
    import sys

    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    with (folder / "summary.md").open("a") as file:
        subprocess.run(
            [sys.executable, "-m", "ranklens", "gate", "RR >= 0.5", "--qrels", "qrels.json", "--run", "new.json", "--format", "markdown"],
            stdout=file, check=True, cwd=folder,
        )  # fmt: skip
    assert (folder / "summary.md").read_text().count(MARK) == 1
