"""The history: nothing finished is lost, nothing incomparable is compared, and what comes out is what went in."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import run
from scipy import stats as scipy_stats

import ranklens as rl
from ranklens.errors import InputError
from ranklens.history import History, Record, schema

QRELS = {f"q{i}": {"a": 1} for i in range(40)}
HERE = Path(__file__).parent


def scores(*worse, qrels=QRELS, measures=("RR", "nDCG@10"), **options):
    return rl.evaluate(
        qrels, {q: ["x", "a"] if q in worse else ["a"] for q in qrels}, list(measures), **options
    )


@pytest.fixture
def history(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKLENS_HISTORY", str(tmp_path / "history.db"))
    return History()


def test_what_comes_out_is_what_went_in(history):
    given = scores("q1", "q2", rel=1)
    assert history.add({"bm25": given, "dense": scores("q3")}, label="v1", config={"k": 10}) == [1, 2]
    first, second = history.entries()
    assert (first.system, second.system, first.run) == ("bm25", "dense", second.run)
    assert (first.label, first.config, first.failed) == ("v1", {"k": 10}, None)
    assert first.versions["ranklens"] == rl.__version__
    record = history.record(first)
    assert record.queries == tuple(given.queries)
    for name in ("RR", "nDCG@10"):
        assert (record.values[name] == given[name]).all()
        found = first.measures[name]
        assert found.mean == given.mean[name]
        assert (found.low, found.high) == tuple(given.interval(name))
    assert record.judgments == first.judgments == Record.of(given, "x").judgments
    assert record.policy == Record.of(given, "x").policy


def test_queries_are_kept_once_for_many_entries(history):
    for _ in range(3):
        history.add(scores("q1"))
    with sqlite3.connect(history.path) as connection:
        assert connection.execute("SELECT count(*) FROM query_set").fetchone() == (1,)


def test_digests_follow_the_judgments_and_nothing_else():
    one = Record.of(scores(), "a")
    assert one.judgments == Record.of(scores("q1"), "b").judgments  # another run
    shuffled = dict(reversed(list(QRELS.items())))
    assert one.judgments == Record.of(scores(qrels=shuffled), "a").judgments
    frame = pl.DataFrame([(q, "a", 1) for q in QRELS], schema=["query", "doc", "grade"], orient="row")
    assert one.judgments == Record.of(rl.evaluate(frame, {q: ["a"] for q in QRELS}, "RR"), "a").judgments
    for other in ({**QRELS, "q1": {"a": 2}}, {**QRELS, "q1": {"b": 1}}, {**QRELS, "q1": {"a": 1, "b": 0}}, {**QRELS, "z": {"a": 1}}):  # fmt: skip
        assert one.judgments != Record.of(scores(qrels=other), "a").judgments


def test_entries_are_found_by_what_people_remember(history, monkeypatch):
    from ranklens.history import origin, store

    monkeypatch.setattr(store, "origin", lambda: origin.Origin("abcdef0123456789", True, {}))
    history.add(scores(), "bm25", label="v1")
    history.add(scores("q1"), "dense")
    history.add(scores("q2"), "bm25")
    assert [history.find(ref).id for ref in ("1", "v1", "last", "bm25", "dense", "abcdef0", "ABCDEF01")] == [1, 1, 3, 3, 2, 3, 3]  # fmt: skip
    assert history.find("abcdef0", system="dense").id == 2
    for ref in ("7", "abc", "v2"):
        with pytest.raises(InputError, match="there is no such entry"):
            history.find(ref)


def test_the_commit_is_that_of_the_project(history, tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    if subprocess.run([*git, "init", "-q"], check=False).returncode:
        pytest.skip("there is no git")
    (tmp_path / "file").write_text("1")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    history.add(scores())
    (tmp_path / "file").write_text("2")
    history.add(scores())
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert [(entry.commit, entry.dirty) for entry in history.entries()] == [(commit, False), (commit, True)]


def test_it_is_in_the_folder_of_the_repository(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKLENS_HISTORY", raising=False)
    inner = tmp_path / "src" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert History().path == inner / ".ranklens" / "history.db"
    (tmp_path / ".git").mkdir()
    assert History().path == tmp_path / ".ranklens" / "history.db"
    assert History("x.db").path == Path("x.db")


def test_save_keeps_what_python_measures(history):
    rl.evaluate(QRELS, {q: ["a"] for q in QRELS}, "RR", save=True)
    rl.compare(QRELS, {"a": {q: ["a"] for q in QRELS}, "b": {q: ["x", "a"] for q in QRELS}}, "RR", save="v1")
    bench = rl.Benchmark(QRELS and {q: q for q in QRELS}, QRELS)
    bench.run("mine", lambda text: ["a"])
    bench.evaluate("RR", save=True)
    bench.compare("RR", save=True)
    found = [(e.kind, e.system, e.label, e.latency is not None) for e in history.entries()]
    assert found == [
        ("evaluate", "run", None, False),
        ("compare", "a", "v1", False),
        ("compare", "b", "v1", False),
        ("bench", "mine", None, True),
        ("bench", "mine", None, True),
    ]
    assert len({entry.judgments for entry in history.entries()}) == 1


# Trends.


def test_a_log_in_a_file_is_kept_with_its_times_and_where_it_is(history, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKLENS_HISTORY", str(history.path))
    golden, log = tmp_path / "golden.jsonl", tmp_path / "log.jsonl"
    golden.write_text(json.dumps({"id": "q1", "question": "why?", "expected_ids": ["a"]}))
    log.write_text(json.dumps({"question_id": "q1", "retrieved": [{"id": "a"}], "latency_ms": 80}))
    rl.evaluate(golden, log, "mrr", save="v1")
    entry = history.find("v1")
    assert entry.latency["p95"] == pytest.approx(0.08)
    assert entry.failed == 0
    assert entry.config == {"qrels": str(golden), "run": str(log), "measures": ["mrr"]}


def test_a_drop_is_found_by_a_paired_test(history):
    some = list(QRELS)[:15]
    for worse in ([], ["q1"], some, some):
        history.add(scores(*worse), "mine")
    found = history.trend("mrr")
    assert [point.step and point.step.flag for point in found.points] == [None, "", "drop", ""]
    assert [point.entry.id for point in found.drops] == [3]
    step = found.points[2].step
    a, b = (history.record(number).of_measure("RR") for number in (2, 3))
    assert step.change == pytest.approx((b - a).mean())
    expected = scipy_stats.permutation_test((b - a,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1).pvalue  # fmt: skip
    assert step.p_value == pytest.approx(min(3 * expected, 1), abs=0.005)  # Holm: the smallest of three
    assert "DROP" in str(found)


def test_chance_is_rarely_flagged():
    """Many equal systems: Holm keeps the chance of any flag below alpha, where 20 single tests would flag one in most histories."""
    from ranklens.history.differences import Differences
    from ranklens.history.trend import Step, _tested
    from ranklens.registry import parse

    rng = np.random.default_rng(0)
    nothing = Differences({}, (), (), (), ())
    flagged = 0
    for _ in range(300):
        steps = [Step(0, nothing, 100, -0.1, float(p)) for p in rng.uniform(size=20)]
        flagged += any(step.flag for step in _tested(steps, parse("RR"), 0.05))
    assert flagged / 300 < 0.09


def test_systems_have_trends_of_their_own(history):
    history.add(scores(), "a")
    history.add(scores(*QRELS), "b")
    history.add(scores(), "a")
    assert [point.step and point.step.before for point in history.trend().points] == [None, None, 1]
    assert [point.entry.id for point in history.trend(system="a").points] == [1, 3]
    assert [point.entry.id for point in history.trend(system="a", last=1).points] == [3]
    with pytest.raises(InputError, match="holds no entry of 'c': choose from 'a', 'b'"):
        history.trend(system="c")
    with pytest.raises(InputError, match="P@5 is not in the history"):
        history.trend("P@5")


def test_what_differs_is_never_compared_silently(history):
    history.add(scores(), "mine")
    history.add(scores(*QRELS, qrels={**QRELS, "q1": {"b": 1}, "new": {"a": 1}}), "mine")
    history.add(scores(*QRELS, depth=1), "mine")
    history.add(rl.evaluate({"z": {"a"}}, {"z": ["a"]}, "RR", depth=1), "mine")
    _, judged, policy, apart = history.trend("RR").points
    assert judged.step.queries == 39
    assert judged.step.flag == "drop"
    told = (
        "compared on 39 queries with the same judgments: 1 query new (new); 1 query with other judgments (q1)"
    )
    assert told in str(history.trend("RR"))
    assert (policy.step.change, policy.step.p_value, policy.step.flag) == (None, None, "")
    table, _, notes = str(history.trend("RR")).partition("What else changed\n")
    assert "- #3: not compared with #2: depth was None, and is 1" in notes
    assert max(map(len, table.splitlines()[:6])) < 120  # notes do not widen the table
    assert apart.step.p_value is None


def test_a_trend_as_a_chart(history, tmp_path):
    for worse in ([], list(QRELS)):
        history.add(scores(*worse), "mine")
    spec = json.loads(history.trend().chart().to_json())
    assert any(row["flag"] == "drop" for rows in spec["datasets"].values() for row in rows)
    assert "1 drop by a paired test" in json.dumps(spec)
    history.add(scores(depth=1), "mine")
    drawn = json.loads(history.trend().chart().to_json())["datasets"].values()
    assert [row["stretch"] for row in max(drawn, key=len)] == [0, 0, 1]  # no line leads to another policy


# Export.


def test_an_export_is_tidy(history, tmp_path, capsys):
    history.add({"a": scores("q1"), "b": scores()}, label="v1")
    path = tmp_path / "out.parquet"
    assert run(capsys, "history", "export", str(path))[0] == 0
    table = pl.read_parquet(path)
    assert len(table) == 2 * 2 * 40
    assert table.group_by("entry", "measure", "query").len()["len"].max() == 1
    means = {
        (s, m): v for s, m, v in table.group_by("system", "measure").agg(pl.col("value").mean()).iter_rows()
    }
    assert means["a", "RR"] == pytest.approx(scores("q1").mean["RR"])
    import pyarrow.parquet as pq

    assert pq.read_table(path).num_rows == 160
    assert run(capsys, "history", "export", str(path), "--rows", "entries")[0] == 0
    assert pl.read_parquet(path).columns[-4:] == ["measure", "mean", "low", "high"]
    status, _, err = run(capsys, "history", "export", "x.csv")
    assert (status, "choose a name that ends in .parquet" in err) == (2, True)


def test_duckdb_reads_an_export_as_it_is(history, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    from ranklens.history.export import write_parquet

    history.add({"a": scores("q1"), "b": scores()})
    write_parquet(history, tmp_path / "out.parquet")
    sql = f"SELECT system, avg(value) FROM '{tmp_path / 'out.parquet'}' WHERE measure = 'RR' GROUP BY system ORDER BY system"
    assert duckdb.sql(sql).fetchall() == [("a", pytest.approx(scores("q1").mean["RR"])), ("b", 1.0)]
    table = pl.read_parquet(tmp_path / "out.parquet")
    for column in table.columns:  # none is a reserved word, in any version
        assert len(duckdb.sql(f"SELECT {column} FROM '{tmp_path / 'out.parquet'}'").pl()) == len(table)


# The file.


def test_a_file_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="SQLite file of another program"):
        History(path).add(scores())
    assert path.read_bytes() == before
    text = tmp_path / "text.db"
    text.write_text("This is a text, and not at all a database." * 50)
    with pytest.raises(InputError, match="is not a history, or is damaged"):
        History(text).entries()
    assert text.read_text().startswith("This")


def test_a_newer_file_is_refused(history):
    history.add(scores())
    with sqlite3.connect(history.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match=r"was written by a newer RankLens \(version 99"):
        history.entries()


def test_an_older_file_is_migrated_with_its_entries(history, monkeypatch):
    history.add(scores("q1"), "old")
    steps = (
        *schema.MIGRATIONS,
        "ALTER TABLE entry ADD COLUMN reviewer TEXT;\nCREATE INDEX by_label ON entry (label);",
    )
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    history.add(scores("q2"), "new")
    assert [entry.system for entry in history.entries()] == ["old", "new"]
    assert (history.record(1).of_measure("RR") == scores("q1")["RR"]).all()
    with sqlite3.connect(history.path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT reviewer FROM entry").fetchall() == [(None,), (None,)]


def test_a_migration_that_fails_changes_nothing(history, monkeypatch):
    history.add(scores(), "old")
    before = history.path.read_bytes()
    steps = (
        *schema.MIGRATIONS,
        "ALTER TABLE entry ADD COLUMN reviewer TEXT;\nALTER TABLE absent ADD COLUMN x TEXT;",
    )
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", steps)
        with pytest.raises(InputError, match="no such table"):
            history.entries()
    assert [entry.system for entry in history.entries()] == ["old"]
    assert history.path.read_bytes() == before


def test_the_schema_of_version_1_stays_as_it_is():
    """Files are out there; a change is a new step."""
    import hashlib

    assert hashlib.sha256(schema.MIGRATIONS[0].encode()).hexdigest()[:12] == "2992240d508a"


@pytest.mark.parametrize("place", range(4))
def test_a_history_that_another_process_is_just_making_is_no_file_of_another_program(tmp_path, place):
    """Whatever is read first, the other process may be done before the next look."""
    path, seen = tmp_path / "history.db", []

    class Interrupted(sqlite3.Connection):
        def execute(self, sql, *values):
            if len(seen) == place and not self.in_transaction:
                with closing(sqlite3.connect(path, isolation_level=None)) as other:
                    schema.migrate(other, "history.db")
            seen.append(sql)
            return super().execute(sql, *values)

    with closing(sqlite3.connect(path, isolation_level=None, factory=Interrupted)) as connection:
        schema.migrate(connection, "history.db")
        assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)


def test_an_error_in_the_middle_leaves_nothing(history, monkeypatch):
    history.add(scores(), "first")
    from ranklens.history import store

    real, calls = store.write, []

    def failing(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(store, "write", failing)
    with pytest.raises(KeyboardInterrupt):
        history.add({"a": scores(), "b": scores()})
    assert [entry.system for entry in history.entries()] == ["first"]


def hammered(path, kills):
    command = [sys.executable, str(HERE / "hammer.py"), str(path), "--processes", "8", "--kills", str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    finished, found = map(int, done.stdout.split())
    assert found >= finished > kills / 2
    return finished


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_writers_lose_nothing_that_was_finished(tmp_path):
    hammered(tmp_path / "history.db", 10)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_hundred_kills_lose_nothing_that_was_finished(tmp_path):
    hammered(tmp_path / "history.db", 200)


# The command.


@pytest.fixture
def files(history, tmp_path):
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 a 1\n" for q in QRELS))
    for name, docs in (("good", "ax"), ("bad", "xa")):
        lines = [
            f"{q} Q0 {doc} {rank} {9 - rank} {name}\n" for q in QRELS for rank, doc in enumerate(docs, 1)
        ]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    return history


def test_the_commands_of_the_history(files, capsys, tmp_path):
    status, _, err = run(capsys, "history", "list")
    assert (status, "there is no history yet" in err) == (2, True)
    assert "saved #1 good" in run(capsys, "evaluate", "qrels.txt", "good.txt", "-m", "RR", "--save")[2]
    assert "saved #2 bad, #3 good" in run(capsys, "compare", "qrels.txt", "bad.txt", "good.txt", "-m", "RR", "--save")[2]  # fmt: skip
    added = run(
        capsys,
        "history",
        "add",
        "qrels.txt",
        "good=bad.txt",
        "-m",
        "RR",
        "--label",
        "v2",
        "--at",
        "2999-01-01",
    )
    assert "saved #4 good" in added[2]
    status, out, _ = run(capsys, "history", "list", "--format", "csv")
    rows = [line.split(",") for line in out.splitlines()]
    assert [row[2] for row in rows] == ["system", "good", "bad", "good", "good"]
    assert rows[-1][1].startswith("2999-01-01")
    assert len(json.loads(run(capsys, "history", "list", "--format", "json", "--last", "2")[1])) == 2
    status, out, _ = run(capsys, "history", "show", "v2")
    assert "RR         0.5000" in out or "RR       0.5000" in out
    assert len(json.loads(run(capsys, "history", "show", "1", "--format", "json")[1])["values"]["RR"]) == 40
    assert run(capsys, "history", "show", "1", "-q", "--format", "csv")[1].count("\n") == 41
    status, out, _ = run(capsys, "history", "trend", "mrr", "--system", "good", "--plot", "trend.svg")
    assert (status, "DROP" in out) == (0, True)
    assert (tmp_path / "trend.svg").read_text().startswith("<svg")
    content = json.loads(run(capsys, "history", "trend", "--format", "json")[1])
    assert [row["flag"] for row in content["entries"]] == ["", "", "", "drop"]
    assert run(capsys, "history", "trend", "--format", "markdown")[1].startswith("| entry |")
    for wrong, told in ((["show", "9"], "no such entry"), (["add", "qrels.txt", "good.txt", "--at", "soon"], "not a date"), (["trend", "foo"], "There is no measure")):  # fmt: skip
        status, _, err = run(capsys, "history", *wrong)
        assert (status, told in err) == (2, True), err


COMMANDS = (
    "history list",
    "history show 1",
    "history show 1 -q",
    "history trend",
    "plan --deviation 0.25 --detect 0.1",
    "sensitivity qrels.txt bad.txt good.txt -m RR",
    "evaluate qrels.txt bad.txt good.txt -m RR",
    "compare qrels.txt bad.txt good.txt -m RR",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_suffix_decides_the_format_in_every_command(files, capsys, tmp_path, command):
    run(capsys, "history", "add", "qrels.txt", "good.txt", "-m", "RR")
    for suffix in ("json", "jsonl", "csv", "tsv", "parquet", "md", "tex", "txt"):
        assert run(capsys, *command.split(), "-o", f"out.{suffix}")[0] == 0, suffix
    tables = [
        pl.read_parquet("out.parquet"),
        pl.read_csv("out.csv"),
        pl.read_csv("out.tsv", separator="\t"),
        pl.read_ndjson("out.jsonl"),
    ]
    assert len({(len(table), *table.columns) for table in tables}) == 1
    assert len(tables[0]) > 0
    assert json.loads((tmp_path / "out.json").read_text())
    assert re.search(r"^\|[ :|-]+\|$", (tmp_path / "out.md").read_text(), re.MULTILINE)
    assert r"\begin{tabular}" in (tmp_path / "out.tex").read_text()
    assert "\\" not in (tmp_path / "out.txt").read_text()
