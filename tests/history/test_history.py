"""The history: nothing finished is lost, nothing incomparable is compared, and what comes out is what went in."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import run
from scipy import stats as scipy_stats

import ranklens as rl
from ranklens.errors import InputError
from ranklens.scores import Values
from ranklens.scores.history import History, Record, schema

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
    from ranklens.scores.history import origin, store

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
    moved = (b - a)[b != a]
    expected = scipy_stats.permutation_test(
        (moved,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert step.p_value == pytest.approx(expected * 2 * np.pi**2 * 2**2 / 6)  # two tests in the second look
    assert "DROP" in str(found)


def _grown(values):
    """The flags after each entry, as the history grows."""
    from ranklens.metrics import parse
    from ranklens.scores.history.trend import Watch

    names = tuple(map(str, range(values.shape[1])))
    watch = Watch(parse("RR"), 0.05)
    return [watch.look(n, Record("s", Values(names, {"RR": row}), {}, {})) for n, row in enumerate(values)]


def test_a_slow_slide_is_found_and_its_flag_stays():
    """One query loses half of its value per entry, which no single step shows; identical re-runs follow."""
    lost = np.minimum(np.arange(56), 30)
    seen = _grown(np.where(np.arange(40) < lost[:, None], 0.5, 1.0))
    assert [number for number, (*_, flag) in enumerate(seen) if flag] == [21]
    exact = (
        2.0 ** (1 - 20) * 2 * 20 * np.pi**2 * 20**2 / 6
    )  # two tests, and the best of 20 entries, in look 20
    assert seen[20][1].p_value == pytest.approx(exact)
    step, against, _ = seen[21]
    assert (step.flag, against.before, against.flag) == ("", 0, "drop")
    assert all(against.flag == "drop" for _, against, _ in seen[21:])


def test_a_slide_is_shown(history):
    for lost in (0, 6, 12, 18, 18):
        history.add(scores(*list(QRELS)[:lost]), "mine")
    found = history.trend("RR")
    assert [point.flag for point in found.points] == ["", "", "drop", "", ""]
    assert [point.step.flag for point in found.points[1:]] == [""] * 4
    assert "The last entry is significantly below #1." in str(found)
    assert max(map(len, str(found.table()).splitlines()[:7])) < 120
    assert history.trend("RR", last=2).points == found.points[-2:]  # fewer rows change no flag


def test_flags_do_not_depend_on_later_entries():
    values = np.random.default_rng(1).integers(0, 2, (12, 40)) * np.repeat([1.0, 0.2, 0.7], 4)[:, None]
    all_at_once = _grown(values)
    assert all(_grown(values[:n]) == all_at_once[:n] for n in range(1, 12))
    assert {flag for *_, flag in all_at_once} == {"", "drop", "rise"}


def test_repeated_entries_spend_no_alpha():
    rng = np.random.default_rng(0)
    values = rng.random((6, 30))
    plain, repeated = _grown(values), _grown(np.repeat(values, 5, axis=0))
    assert [step.p_value for step, *_ in plain[1:]] == [step.p_value for step, *_ in repeated[5::5]]
    assert all(step.p_value == 1.0 for number, (step, *_) in enumerate(repeated) if number % 5)


def test_entries_of_equal_quality_are_rarely_flagged():
    """5% of histories may have a flag after any number of entries; uncorrected, most of them have one."""
    rng = np.random.default_rng(0)
    flagged = sum(
        any(flag for *_, flag in _grown(np.clip(rng.normal(0.3, 0.4, (30, 60)), 0, 1))) for _ in range(40)
    )
    assert flagged <= 4


def test_a_reference_can_be_named(history, capsys):
    for lost in (20, 0, 8, 16, 24):
        history.add(scores(*list(QRELS)[:lost]), "mine", label=f"v{lost}")
    names = [
        point.reference and point.reference.before for point in history.trend("RR", reference="v8").points
    ]
    assert names == [None, 1, 2, 3, 3]  # the best so far, and from the named entry on that one
    assert [point.reference and point.reference.before for point in history.trend("RR").points] == [
        None,
        1,
        2,
        2,
        2,
    ]
    status, out, _ = run(capsys, "history", "trend", "RR", "--reference", "3", "--format", "json")
    assert status == 0
    assert [row["reference"] for row in json.loads(out)["entries"]] == names
    assert run(capsys, "history", "trend", "RR", "--reference", "v9")[0] == 2


def test_lower_is_better_turns_drops_around(history):
    from ranklens.metrics import parse
    from ranklens.scores.history.trend import Watch

    lower = next(m for m in ("RankingLoss", "Hole@5") if parse(m).definition.better == "lower")
    watch = Watch(parse(lower), 0.05)
    names = tuple(map(str, range(20)))
    one, two = (
        Record("s", Values(names, {str(parse(lower)): np.full(20, value)}), {}, {}) for value in (0.1, 0.5)
    )
    watch.look(1, one)
    assert watch.look(2, two)[2] == "drop"


def test_systems_have_trends_of_their_own(history):
    history.add(scores(), "a")
    history.add(scores(*QRELS), "b")
    history.add(scores(), "a")
    assert [point.step and point.step.before for point in history.trend().points] == [None, None, 1]
    assert [point.entry.id for point in history.trend(system="a").points] == [1, 3]
    assert [point.entry.id for point in history.trend(system="a", last=1).points] == [3]
    with pytest.raises(InputError, match="contains no entry of 'c': choose from 'a', 'b'"):
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
    from ranklens.scores.history.export import write_parquet

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
        assert connection.execute("PRAGMA user_version").fetchone() == (len(steps),)
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


@pytest.fixture
def three(history):
    """Three entries, and a function that changes the file."""
    for system in ("one", "two", "three"):
        history.add(scores("q1") if system == "two" else scores(), system)

    def change(sql, *values):
        with closing(sqlite3.connect(history.path, isolation_level=None)) as connection:
            connection.execute(sql, values)

    return history, change


WRONG_NUMBERS = np.full(40, 0.5).tobytes()
CHANGES = {
    "mean": ("UPDATE measured SET mean = 0.9 WHERE entry = 2 AND place = 0",),
    "interval": ("UPDATE measured SET low = NULL WHERE entry = 2",),
    "measure": ("UPDATE measured SET measure = 'AP' WHERE entry = 2 AND place = 0",),
    "a measure less": ("DELETE FROM measured WHERE entry = 2 AND place = 1",),
    "values": ("UPDATE measured SET one_per_query = ? WHERE entry = 2", WRONG_NUMBERS),
    "values cut": ("UPDATE measured SET one_per_query = substr(one_per_query, 1, 13) WHERE entry = 2",),
    "values as text": ("UPDATE measured SET one_per_query = 'x' WHERE entry = 2",),
    "policy": ("UPDATE entry SET policy = replace(policy, 'zero', 'skip') WHERE id = 2",),
    "no JSON": ("UPDATE entry SET config = '{' WHERE id = 2",),
    "no UTF-8": ("UPDATE entry SET system = CAST(x'ff' AS TEXT) WHERE id = 2",),
    "time": ("UPDATE entry SET at = at + 1 WHERE id = 2",),
    "no checksum": ("UPDATE entry SET checksum = NULL WHERE id = 2",),
    "other judgments": ("UPDATE entry SET judgments = 'x' WHERE id = 2",),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_entry_that_was_changed_is_named_and_can_be_removed(three, change, capsys, tmp_path):
    history, execute = three
    execute(*CHANGES[change])
    with pytest.raises(
        InputError, match=r"history\.db: entry 2 is damaged or changed by hand.* history remove 2$"
    ):
        [history.record(entry) for entry in history.entries()]
    status, _, err = run(capsys, "history", "export", str(tmp_path / "out.parquet"))
    assert (status, err.count("\n"), "entry 2 is damaged" in err) == (2, 1, True)
    assert run(capsys, "history", "remove", "2")[::2] == (
        0,
        f"ranklens: removed 1 entry from {history.path}\n",
    )
    assert [entry.id for entry in history.entries()] == [1, 3]
    assert run(capsys, "history", "export", str(tmp_path / "out.parquet"))[0] == 0
    assert pl.read_parquet(tmp_path / "out.parquet")["system"].unique().sort().to_list() == ["one", "three"]
    assert history.add(scores(), "four") == [4]


@pytest.mark.parametrize(
    "queries", [b"x", zlib.compress(b"{"), zlib.compress(b"[1, 2]"), zlib.compress(b"[]"), "x"]
)
def test_damaged_queries_are_noticed_and_mended_when_they_are_saved_again(three, queries):
    history, execute = three
    execute("UPDATE query_set SET queries = ?", queries)
    with pytest.raises(InputError, match=r"entry 3 is damaged"):
        history.record(3)
    history.add(scores(), "again")
    assert (history.record(3).of_measure("RR") == 1).all()


def test_all_damaged_entries_are_named_at_once(three):
    history, execute = three
    execute("UPDATE entry SET kind = 'x' WHERE id <> 2")
    with pytest.raises(InputError, match=r"entries 1 3 are damaged.*ranklens history remove 1 3$"):
        history.entries()
    assert history.record(2).system == "two"
    with pytest.raises(InputError, match="there is no entry 7"):
        history.remove(1, 7)
    history.remove(1, 3)
    assert [entry.id for entry in history.entries()] == [2]
    history.remove(2)
    assert history.entries() == []
    with closing(sqlite3.connect(history.path)) as connection:
        assert connection.execute(
            "SELECT (SELECT count(*) FROM query_set) + (SELECT count(*) FROM measured)"
        ).fetchone() == (0,)


def test_entries_without_checksums_get_them_once(history, monkeypatch):
    """As version 1 of the file wrote them."""
    from ranklens.scores.history import entries

    with monkeypatch.context() as old:
        old.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        with closing(sqlite3.connect(history.path, isolation_level=None)) as connection:
            schema.migrate(connection, "history.db")
            record = Record.of(scores("q1"), "old")
            shared = {"run": "r", "at": 5, "kind": "add", "label": None, "git_commit": None, "dirty": 0, "config": "{}", "versions": "{}"}  # fmt: skip
            row, queries, measured = entries.prepared(record, shared)
            connection.execute("INSERT INTO query_set VALUES (?, ?)", [row["query_set"], queries])
            columns = [name for name in entries.COLUMNS if name not in ("id", "checksum")]
            connection.execute(
                f"INSERT INTO entry ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                [row[name] for name in columns],
            )
            connection.executemany(
                "INSERT INTO measured VALUES (1, ?, ?, ?, ?, ?, ?)", [one[:-1] for one in measured]
            )
    assert [(entry.system, entry.at) for entry in history.entries()] == [("old", 5.0)]
    assert (history.record(1).of_measure("RR") == scores("q1")["RR"]).all()
    with closing(sqlite3.connect(history.path, isolation_level=None)) as connection:
        connection.execute("UPDATE entry SET checksum = NULL")
    with pytest.raises(InputError, match="entry 1 is damaged"):
        history.entries()


class Full(sqlite3.Connection):
    """A disk with no room for more than what is there."""

    def execute(self, sql, *values):
        if sql.startswith("BEGIN IMMEDIATE"):
            (pages,) = super().execute("PRAGMA page_count").fetchone()
            super().execute(f"PRAGMA max_page_count = {max(pages, 1)}")
        return super().execute(sql, *values)


@pytest.mark.parametrize("kept", [0, 3])
def test_a_full_disk_is_the_systems_failure(history, capsys, monkeypatch, tmp_path, kept):
    for number in range(kept):
        history.add(scores(f"q{number}"))
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 a 1\n" for n in range(2_000)))
    (tmp_path / "run.txt").write_text("".join(f"q{n} Q0 a 1 1 t\n" for n in range(2_000)))
    connect = sqlite3.connect
    with monkeypatch.context() as full:
        full.setattr(sqlite3, "connect", lambda *given, **how: connect(*given, **how, factory=Full))
        status, _, err = run(capsys, "evaluate", "qrels.txt", "run.txt", "-m", "RR", "--save")
    assert (status, err.splitlines()[-1]) == (
        3,
        f"ranklens evaluate: {history.path}: No space left on device.",
    )
    assert len(history.entries()) == kept


def _failing(text):
    class Failing(sqlite3.Connection):
        def execute(self, sql, *values):
            if sql.startswith("BEGIN"):
                raise sqlite3.OperationalError(text)
            return super().execute(sql, *values)

    return Failing


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("disk I/O error", 3, "Input/output error."),
        ("database disk image is malformed", 2, "Restore a copy, or write what can still be read to a new file: sqlite3"),
        ("attempt to write a readonly database", 2, "cannot be written: attempt to write a readonly database."),
        ("database is locked", 2, "is locked by another program"),
    ],
)  # fmt: skip
def test_what_sqlite_says_is_one_sentence(files, capsys, monkeypatch, text, status, message):
    files.add(scores())
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **how: connect(*given, **how, factory=_failing(text))
    )
    for command in (["list"], ["show", "1"], ["remove", "1"]):
        found, out, err = run(capsys, "history", *command)
        assert (found, out, err.count("\n")) == (status, "", 1)
        assert err.startswith(f"ranklens history: {files.path}")
        assert message in err


@pytest.mark.parametrize("seed", range(6))
def test_a_file_with_wrong_bytes_never_ends_in_an_internal_error(three, seed, capsys):
    history, _ = three
    rng = np.random.default_rng(seed)
    whole = bytearray(history.path.read_bytes())
    shown = [run(capsys, "history", *command)[1] for command in (["list"], ["show", "-q", "3"])]
    for _ in range(10):
        damaged = bytearray(whole)
        start = int(rng.integers(100, len(whole) - 100))
        damaged[start : start + int(rng.integers(1, 90))] = rng.bytes(int(rng.integers(1, 90)))
        history.path.write_bytes(damaged)
        for command, before in zip((["list"], ["show", "-q", "3"]), shown, strict=True):
            status, out, err = run(capsys, "history", *command)
            assert status == 2 or (status, out) == (0, before), (start, out, err)
            assert "internal error" not in err


def test_a_schema_that_is_no_text_never_ends_in_an_internal_error(three, capsys):
    history, _ = three
    whole = history.path.read_bytes()
    history.path.write_bytes(whole.replace(b"TABLE entry (", b"TABL\xda entry ("))
    for command in (["list"], ["show", "1"], ["trend"], ["remove", "1"]):
        status, out, err = run(capsys, "history", *command)
        assert (status, out, "is damaged" in err) == (2, "", True), err


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
    from ranklens.scores.history import store

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
    assert found >= finished > kills
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
