"""``ranklens compare`` from files to every format."""

import csv
import io
import json
import os
import re
from threading import Thread

import polars as pl
import pytest

import ranklens as rl
from ranklens.cli import reading
from ranklens.cli.main import main
from ranklens.data.files import writing

QUERIES = [f"q{i}" for i in range(10)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two runs of ten queries: good finds the document first, bad second."""
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 a 1\n" for q in QUERIES))
    for name, first, second in (("good", "a", "b"), ("bad", "b", "a")):
        lines = (f"{q} Q0 {first} 1 2.0 {name}\n{q} Q0 {second} 2 1.0 {name}\n" for q in QUERIES)
        (tmp_path / f"run.{name}.txt").write_text("".join(lines))
    rows = "".join(f"{q},{'long' if i % 2 else 'short'}\n" for i, q in enumerate(QUERIES))
    (tmp_path / "queries.csv").write_text("query,length\n" + rows)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("warnings.showwarning", None)
    return tmp_path


def run(capsys, *arguments):
    status = main(["compare", "qrels.txt", "run.bad.txt", "run.good.txt", "-m", "RR", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_table_is_what_print_shows(capsys):
    status, out, err = run(capsys)
    assert (status, err) == (0, "")
    found = rl.compare("qrels.txt", {"bad": "run.bad.txt", "good": "run.good.txt"}, "RR")
    assert out == f"{found}\n"
    assert "good is better than bad by 0.500 [0.224, 0.609], p = 0.002. Choose good." in out


@pytest.mark.parametrize("kind", ["csv", "tsv", "markdown", "latex"])
def test_other_formats_are_those_of_the_library(capsys, kind):
    found = rl.compare("qrels.txt", {"bad": "run.bad.txt", "good": "run.good.txt"}, "RR")
    expected = {
        "csv": found.to_csv(),
        "tsv": found.to_csv("\t"),
        "markdown": found.to_markdown() + "\n",
        "latex": found.to_latex() + "\n",
    }
    assert run(capsys, "--format", kind) == (0, expected[kind], "")


def test_json_is_that_of_the_library(capsys):
    found = rl.compare("qrels.txt", {"bad": "run.bad.txt", "good": "run.good.txt"}, "RR")
    assert json.loads(run(capsys, "--format", "json")[1]) == json.loads(found.to_json())


def test_rows_of_pairs_and_queries(capsys):
    pairs = list(csv.DictReader(io.StringIO(run(capsys, "--format", "csv", "--rows", "pairs")[1])))
    assert [(row["a"], row["b"], float(row["difference"])) for row in pairs] == [("bad", "good", 0.5)]
    queries = list(csv.DictReader(io.StringIO(run(capsys, "--format", "csv", "--rows", "queries")[1])))
    assert len(queries) == 20
    assert queries[0] == {"query": "q0", "slice": "", "measure": "RR", "system": "bad", "value": "0.5"}


def test_settings_reach_the_comparison(capsys):
    given = [
        "--baseline",
        "good",
        "--test",
        "sign",
        "--correction",
        "bh",
        "--alpha",
        "0.01",
        "--level",
        "0.9",
        "--margin",
        "2%",
        "--seed",
        "5",
        "--family",
        "all",
        "--primary",
        "RR",
    ]
    content = json.loads(run(capsys, *given, "--ties", "average", "--format", "json")[1])
    assert content["settings"] | {"resamples": 0} == {
        "baseline": "good", "test": "sign", "correction": "bh", "alpha": 0.01, "level": 0.9, "seed": 5, "resamples": 0,
        "family": "all", "primary": "RR", "intervals": "separate", "margins": {"RR": {"size": 0.02, "relative": True}},
            "is_default": False,
    }  # fmt: skip
    assert content["policy"]["ties"] == "average"
    assert content["pairs"][0]["a"] == "good"


def test_slices_of_a_file_and_of_a_beir_folder(capsys, folder):
    content = json.loads(run(capsys, "--by", "queries.csv:length", "--format", "json")[1])
    assert [(part["name"], part["n"]) for part in content["slices"]] == [("long", 5), ("short", 5)]
    beir = folder / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\ta\t1\n" for q in QUERIES)
    )
    lines = [json.dumps({"_id": q, "text": "?", "metadata": {"length": len(q)}}) for q in QUERIES]
    (beir / "queries.jsonl").write_text("\n".join(lines))
    assert (
        main(
            [
                "compare",
                "beir",
                "run.bad.txt",
                "run.good.txt",
                "-m",
                "RR",
                "--by",
                "length",
                "--format",
                "json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["slices"][0]["name"] == "2"


def test_queries_and_documents_can_be_shown(capsys):
    out = run(capsys, "--most", "3", "--documents", "q4")[1]
    assert "RR: the 3 queries of 10 that differ most\n\nquery     bad    good  difference\n" in out
    assert out.endswith(
        "doc  grade  rank_bad  rank_good  change\n---  -----  --------  ---------  ------\n"
        "a        1         2          1      up\nb                  1          2    down\n"
    )
    turned = run(capsys, "--most", "3", "--pair", "good", "bad")[1]
    assert "query    good     bad  difference\n" in turned


def test_texts_of_queries_are_shown(capsys, folder):
    (folder / "texts.csv").write_text("id,text\n" + "".join(f"{q},Is {q} | there?\n" for q in QUERIES))
    out = run(capsys, "--most", "2", "--documents", "q4", "--queries", "texts.csv")[1]
    assert "query  question" in out
    assert "Is q0 | there?" in out
    assert "Query q4 (Is q4 | there?): the first documents of both" in out
    shown = run(capsys, "--most", "2", "--queries", "texts.csv", "--format", "markdown")[1]
    assert "| q0 | Is q0 \\| there? | 0.5000 | 1.0000 | +0.5000 |" in shown
    rows = run(capsys, "--queries", "texts.csv", "--format", "csv", "--rows", "queries")[1].splitlines()
    assert rows[0] == "query,question,slice,measure,system,value"
    assert rows[1] == "q0,Is q0 | there?,,RR,bad,0.5"


def test_old_spellings_are_answered_in_a_sentence(capsys):
    status, out, err = run(capsys, "-q", "10")
    assert (status, out) == (2, "")
    assert "For the queries that differ most use --most N." in err
    status, out, err = run(capsys, "--queries", "10")
    assert (status, out) == (2, "")
    assert "--queries 10: there is no such file. --queries takes a file with the texts of the queries" in err
    assert "use --most N" in err


def test_repeated_measures_add_up(capsys):
    assert [*json.loads(run(capsys, "-m", "map,P@1", "--format", "json")[1])["values"]] == ["RR", "AP", "P@1"]


def test_nothing_is_written_when_something_is_wrong(capsys, folder):
    assert run(capsys, "-o", "out.txt")[:2] == (0, "")
    assert "Choose good" in (folder / "out.txt").read_text()
    assert run(capsys, "-m", "nDGC", "-o", "other.txt")[0] == 2
    assert not (folder / "other.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "god"], "The baseline 'god' is not a system: did you mean 'good'"),
        (["--test", "student"], "--test student is not known"),
        (["--correction", "scheffe"], "--correction scheffe is not known"),
        (["--family", "some"], "--family some is not known"),
        (["--primary", "AP"], "The primary measure AP is not compared"),
        (["--alpha", "5"], "--alpha 5.0 is not allowed"),
        (["--by", "queries.csv"], "--by queries.csv: expected FILE:COLUMN"),
        (["--by", "queries.csv:size"], "queries: there is no 'size'"),
        (["--by", "none.csv:size"], "none.csv does not exist"),
        (["--documents", "q99"], "There is no query 'q99'"),
        (["--pair", "good", "best", "--most", "1"], "There is no system 'best'"),
        (
            ["--most", "3", "--format", "json"],
            "--most, --documents and --risk need --format table or markdown; json cannot show them",
        ),
        (["--rows", "pairs"], "--rows needs --format csv, tsv, jsonl or parquet"),
        (["--seed", "-1"], "--seed"),
        (["--format", "xml"], "--format"),
        (["missing.txt"], "missing.txt does not exist"),
    ],
)
def test_mistakes_are_told_in_a_sentence(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_warnings_are_part_of_the_comparison(capsys, folder):
    path = folder / "run.good.txt"
    path.write_text(path.read_text() + "q0 Q0 b 3 0.5 good\n")
    status, out, err = run(capsys)
    assert (status, err) == (0, "")
    assert "good: run: 1 repeated document was dropped" in out


def test_other_formats_of_files(capsys, folder):
    writing.convert("run.good.txt", folder / "good.parquet", "run")
    pl.DataFrame({"query": QUERIES, "doc": ["b"] * 10, "score": [1.0] * 10}).write_ndjson(
        folder / "bad.jsonl"
    )
    assert main(["compare", "qrels.txt", "good.parquet", "bad.jsonl", "-m", "RR", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["system"], float(row["mean"])) for row in rows] == [("good", 1), ("bad", 0)]


def test_scores_beside_svmlight_judgments(capsys, folder):
    (folder / "gold.svm").write_text(
        "1 qid:1 1:0.5 # a\n0 qid:1 1:0.1 # b\n1 qid:2 1:0.5 # a\n0 qid:2 1:0.4 # b\n"
    )
    (folder / "one.txt").write_text("2\n1\n2\n1\n")
    (folder / "two.txt").write_text("1\n2\n1\n2\n")
    assert main(["compare", "gold.svm", "one.txt", "two.txt", "-m", "RR", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["system"], float(row["mean"])) for row in rows] == [("one", 1), ("two", 0.5)]
    found = rl.compare("gold.svm", {"one": "one.txt", "two": "two.txt"}, "RR")
    assert [r.mean for r in found.results] == [1, 0.5]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_can_be_read_only_once(folder):
    """As in the shell: ranklens compare <(zcat qrels.gz) bad=<(zcat bad.gz) run.good.txt."""
    for name in ("qrels", "bad"):
        os.mkfifo(folder / f"{name}.pipe")
        content = (folder / ("qrels.txt" if name == "qrels" else "run.bad.txt")).read_bytes()
        Thread(target=(folder / f"{name}.pipe").write_bytes, args=(content,), daemon=True).start()
    assert main(["compare", "qrels.pipe", "bad=bad.pipe", "run.good.txt", "-m", "RR", "-o", "out.txt"]) == 0
    assert "good is better than bad by 0.500" in (folder / "out.txt").read_text()


def test_one_run_is_shown_without_pairs(capsys):
    assert main(["compare", "qrels.txt", "run.good.txt", "-m", "RR"]) == 0
    assert "for good; there is no other system to compare it with" in capsys.readouterr().out


def test_a_bar_is_shown_on_a_terminal_only(monkeypatch, capsys):
    assert list(reading.progress([1, 2])) == [1, 2]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(reading.progress([1, 2])) == [1, 2]


def test_the_table_of_a_paper_has_its_options(capsys):
    found = rl.compare("qrels.txt", {"bad": "run.bad.txt", "good": "run.good.txt"}, "RR", baseline="bad")
    wishes = {"marks": "triangles", "digits": 2, "label": "tab:rr", "caption": "Ours.", "order": "given"}
    flags = [part for name, value in wishes.items() for part in (f"--{name}", str(value))]
    status, out, err = run(capsys, "--baseline", "bad", "--format", "latex", "--delta", "--wide", *flags)
    assert (status, err) == (0, "")
    assert out == found.to_latex(**wishes, delta=True, wide=True) + "\n"
    assert r"\begin{table*}" in out
    status, out, err = run(capsys, "--marks", "dagger")
    assert (status, out) == (2, "")
    assert "--marks concerns the table of a paper; it needs --format latex" in err
    assert "did you mean 'dagger'" in run(capsys, "--format", "latex", "--marks", "daggers")[2]


def test_risk_stands_below_the_comparison(capsys):
    status, out, err = run(capsys, "--risk", "1")
    assert (status, err) == (0, "")
    title, _, header, _, *rows = out.rstrip().splitlines()[-6:]
    assert title == "Risk against bad: losses count 2 times"
    assert header.split() == ["measure", "system", "URisk", "TRisk", "GeoRisk"]
    found = rl.compare("qrels.txt", {"bad": "run.bad.txt", "good": "run.good.txt"}, "RR").risk("RR")
    assert [row.split()[:-1][:2] for row in rows] == [["RR", "bad"], ["good", "0.5000"]]
    assert rows[1].split()[1] == f"{found['urisk'][1]:.4f}" == "0.5000"
    assert "--risk need --format table or markdown" in run(capsys, "--risk", "1", "--format", "csv")[2]


def test_subtopics_may_have_probabilities(capsys, folder):
    (folder / "qrels.txt").write_text("".join(f"{q} {s} {d} 1\n" for q in QUERIES for s, d in ("1a", "2c")))
    (folder / "intents.txt").write_text("".join(f"{q} 1 0.9\n{q} 2 0.1\n" for q in QUERIES))
    files = ("qrels.txt", "run.bad.txt", "run.good.txt")
    for command in ("compare", "evaluate"):
        status = main([command, *files, "-m", "P_IA@1", "--intents", "intents.txt", "--format", "csv"])
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        rows = {
            row.get("system") or row["run"]: float(row["mean"]) for row in csv.DictReader(io.StringIO(out))
        }
        assert rows == pytest.approx({"bad": 0, "good": 0.9})


def test_a_report_and_other_settings_know_the_probabilities_of_subtopics(capsys, folder):
    """The systems cover both subtopics in a different order, so only their probabilities tell them apart."""
    (folder / "qrels.txt").write_text("".join(f"{q} {s} {d} 1\n" for q in QUERIES for s, d in ("1a", "2c")))
    (folder / "intents.txt").write_text("".join(f"{q} 1 0.9\n{q} 2 0.1\n" for q in QUERIES))
    for name, order in (("bad", "ca"), ("good", "ac")):
        rows = [f"{q} Q0 {d} {i} {-i} {name}\n" for q in QUERIES for i, d in enumerate(order)]
        (folder / f"run.{name}.txt").write_text("".join(rows))
    asked = ["qrels.txt", "run.bad.txt", "run.good.txt", "-m", "AP_IA"]

    for intents, means in ([], {0.75}), (["--intents", "intents.txt"], {0.55, 0.95}):
        assert main(["sensitivity", *asked, *intents, "--format", "csv"]) == 0
        out, err = capsys.readouterr()
        best = {row["best"] for row in csv.DictReader(io.StringIO(out))}
        assert (best == {"good"}, err) == (bool(intents), "")

        assert main(["report", *asked, *intents, "-o", "page.html"]) == 0
        assert capsys.readouterr().err == ""
        page = (folder / "page.html").read_text()
        shown = {round(float(mean), 9) for mean in re.findall(r'"mean": ?([0-9.]+)', page)}
        assert shown & {0.55, 0.75, 0.95} == means, shown


def test_probabilities_need_subtopics(capsys, folder):
    (folder / "intents.txt").write_text("q0 1 1\n")
    for command in ("compare", "evaluate", "report", "sensitivity"):
        assert main([command, "qrels.txt", "run.bad.txt", "run.good.txt", "--intents", "intents.txt"]) != 0
        err = capsys.readouterr().err
        assert "intents.txt: there are probabilities of subtopics, but the judgments have no subtopics" in err
