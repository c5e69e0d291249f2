"""Values that nobody meant, in every command: one sentence, exit status 2; or a result."""

import datetime as dt
import decimal
import os
import sys

import polars as pl
import pytest
from command_line import run

from ranklens import metrics as registry
from ranklens.cli.main import main

BIG = str(10**20)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text("q1 0 d1 1\n")
    (tmp_path / "r").write_text("q1 Q0 d1 1 1 t\n")
    return tmp_path


def clean(capsys, *arguments, statuses=(0, 1, 2)):
    status, out, err = run(capsys, *arguments)
    lines = [line for line in err.splitlines() if "warning: " not in line]
    assert status in statuses, err
    assert "Traceback" not in err
    assert len(lines) == (status == 2) or lines[-1].startswith("Try "), err
    return status, out, err


@pytest.mark.parametrize(
    "value", ["null", '"x"', "[1]", "1" * 400, "{}", "true", "NaN", '{"a": 1}', '[["a", 1]]', '"\\ud800"']
)
@pytest.mark.parametrize(
    "shape",
    ['{"q1": %s}', '{"q1": {"d1": %s}}', '[{"query": "q1", "doc": "d1", "score": %s}]',
     '[{"query": "q1", "doc": %s, "score": 1}]', '{"q1": [{"id": %s}]}'],
)  # fmt: skip
def test_json_values(folder, capsys, shape, value):
    (folder / "x.json").write_text(shape % value)
    for command in ("convert x.json o.csv", "convert x.json o.parquet --kind qrels", "lint q x.json", "lint x.json r",
                    "evaluate x.json r", "evaluate q x.json", "explain RR q x.json"):  # fmt: skip
        clean(capsys, *command.split())


@pytest.mark.parametrize("name", ["deep.json", "deep.jsonl"])
def test_deep_json(folder, capsys, name):
    (folder / name).write_text('{"_id": "d1", "text": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    (folder / "bench.yaml").write_text(f"data: {{qrels: q, queries: {name}, runs: {{a: r}}}}\n")
    for command in (f"report q r b=r --corpus {name} -o o.html", f"report q r b=r --queries {name} -o o.html",
                    f"compare q r b=r --by {name}:kind", f"evaluate {name} r", f"evaluate q {name}", f"convert {name} o.csv",
                    "bench bench.yaml"):  # fmt: skip
        clean(capsys, *command.split(), statuses=(0, 2))


@pytest.mark.parametrize(
    "content",
    ['{"q1": {"d\\ud800": 1}}', '{"q\\uD800": {"d1": 1}}', '[{"query": "a", "expected": ["\\ud800"]}]'],
)
def test_half_a_surrogate_pair_is_no_id(folder, capsys, content):
    (folder / "x.json").write_text(content)
    for command in (
        "evaluate x.json x.json -q",
        "lint q x.json",
        "convert x.json o.csv",
        "compare x.json x.json b=x.json",
    ):
        assert "half a surrogate pair" in clean(capsys, *command.split(), statuses=(2,))[2]


KINDS = {
    "date": dt.date(2020, 1, 1), "moment": dt.datetime(2020, 1, 1), "decimal": decimal.Decimal("1.5"),
    "bytes": b"\xff", "duration": dt.timedelta(1), "list": [1], "struct": {"a": 1}, "bytes in a list": [b"\xff"],
    "infinite": float("inf"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", ["query", "doc", "score", "rank", "more"])
def test_columns_of_every_type(folder, capsys, kind, column):
    pl.DataFrame({"query": ["q1"], "doc": ["d1"], "score": [1.0]} | {column: [KINDS[kind]]}).write_parquet(
        "x.parquet"
    )
    for suffix in ("csv", "tsv", "jsonl", "txt", "parquet"):
        clean(capsys, "convert", "x.parquet", f"o.{suffix}", statuses=(0, 2))
    clean(capsys, "lint", "q", "x.parquet")


def test_dates_beside_infinity(folder, capsys):
    pl.DataFrame(
        {"query": ["q1"], "doc": ["d1"], "score": [float("inf")], "day": [dt.date(2020, 1, 2)]}
    ).write_parquet("x")
    assert main(["convert", "x", "o.jsonl"]) == 0
    assert '"day": "2020-01-02"' in (folder / "o.jsonl").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_that_are_not_utf8(folder, capsys):
    name = os.fsdecode(b"r\xff")
    (folder / f"{name}.txt").write_text("q1 Q0 d1 1 1 t\n")
    pl.DataFrame({"query": ["q1"], "doc": ["d1"], "score": [1.0]}).write_parquet(folder / "x")
    (folder / "x").rename(folder / f"{name}.parquet")
    for suffix in ("txt", "parquet"):
        path = f"{name}.{suffix}"
        for command in (["evaluate", "q", path, "b=r", "--format", "json", "-o", f"{name}.json"], ["convert", path, f"o{name}.parquet"],
                        ["compare", "q", path, "b=r"], ["report", "q", path, "b=r", "-o", "o.html"], ["explain", "RR", "q", path],
                        ["lint", "q", path]):  # fmt: skip
            clean(capsys, *command, statuses=(0, 1))


@pytest.mark.parametrize(("name", "content"), [
    ("g", "q1 0 d1 ٣\n"), ("g.csv", "query,doc,grade\nq1,d1,٣\n"), ("g.svm", "٣ qid:1 1:2 # d\n"), ("g.json", '{"q1": {"d1": "٣"}}'),
    ("g.json", '[{"query": "q1", "doc": "d1", "grade": "٣"}]'), ("g.jsonl", '{"query": "q1", "doc": "d1", "grade": "٣"}\n'),
    ("g.tsv", "query\tdoc\tgrade\nq1\td1\t٣\n"), ("g.jsonl", '{"query": "q1", "expected": [{"id": "d1", "grade": "٣"}]}\n'),
])  # fmt: skip
@pytest.mark.parametrize("digit", ["٣", "1_0", "３", "x"])
def test_digits_of_other_scripts_are_no_grades(folder, capsys, name, content, digit):
    (folder / name).write_text(content.replace("٣", digit), encoding="utf-8")
    for command in (["evaluate", name, "r"], ["lint", name, "r"], ["explain", "RR", name, "r"], ["compare", name, "r", "b=r"],
                    ["trec-eval", name, "r"]):  # fmt: skip
        clean(capsys, *command, statuses=(2,))


@pytest.mark.parametrize(
    "options",
    [["--depth", BIG], ["--depth", "-1"], ["--rel", "nan"], ["-m", "nDCG@1e400"], ["-m", "nDCG@" + "9" * 5000],
     ["-m", "RBP(p=1e400)"], ["-m", ","], ["-m", "x" * 100_000], ["-o", "a\0b"], ["-o", "a" * 5000], ["--format", "\ud800"]],
    ids=lambda option: f"{option[0]} {option[1][:12]!a}",
)  # fmt: skip
def test_options_out_of_range(folder, capsys, options):
    _, _, err = clean(capsys, "evaluate", "q", "r", *options, statuses=(2,))
    assert len(err) < 1000 or options[0] != "-m"


def test_files_that_cannot_be(folder, capsys):
    for name in ("a\0b", "a" * 5000, "x=" + "a" * 5000):
        clean(capsys, "evaluate", "q", name, statuses=(2,))
        clean(capsys, "evaluate", name, "r", statuses=(2,))


@pytest.mark.parametrize("value", ["abc", BIG, "nan", "1e400"])
def test_source_date_epoch(folder, capsys, monkeypatch, value):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    assert "SOURCE_DATE_EPOCH" in clean(capsys, "report", "q", "r", "b=r", "-o", "o.html", statuses=(2,))[2]


def test_a_plugin_that_cannot_be_imported_is_named(folder, capsys, monkeypatch):
    class Point:
        value = "broken.plugin"

        def load(self):
            raise ImportError("no such thing")

    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [Point()])
    registry.catalog.load_plugins.cache_clear()
    _, out, err = clean(capsys, "measures", statuses=(0,))
    registry.catalog.load_plugins.cache_clear()
    assert "warning: The measures of broken.plugin cannot be loaded: ImportError: no such thing" in err
    assert "nDCG" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    ["evaluate q r", "compare q r b=r", "measures", "measures nDCG", "explain RR q r", "--help", "gate --help",
     "history --help", "history show --help", "trec-eval -h -m ndcg"],
)  # fmt: skip
def test_without_docstrings_everything_says_the_same(folder, command):
    import subprocess

    def shown(*switches):
        line = [sys.executable, *switches, "-m", "ranklens", *command.split()]
        found = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
        return found.returncode, found.stdout, found.stderr

    assert shown("-OO") == shown()
    assert shown()[0] == 0
