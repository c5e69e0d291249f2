"""Many runs at once: patterns and lists of paths, threads, runs that cannot be read."""

import json
import warnings
from importlib.resources import files
from threading import current_thread, main_thread

import pytest

import ranklens as rl
from ranklens.cli.main import main


@pytest.fixture
def track(tmp_path):
    """Twelve runs of four topics, one per file, as tracks hand them out."""
    (tmp_path / "qrels.txt").write_text("".join(f"{t} 0 d{t} 1\n" for t in range(4)))
    runs = tmp_path / "runs"
    runs.mkdir()
    for s in range(12):
        lines = (
            f"{t} Q0 d{d} {d} {10 - abs(d - t) * (s % 3 + 1) - s % 5} team{s:02d}\n"
            for t in range(4)
            for d in range(6)
        )
        (runs / f"input.team{s:02d}").write_text("".join(lines))
    return tmp_path


def test_a_pattern_and_a_list_of_paths_name_the_runs(track):
    qrels, paths = track / "qrels.txt", sorted((track / "runs").iterdir())
    one = rl.compare(qrels, str(track / "runs" / "*"), "RR")
    other = rl.compare(qrels, paths, "RR")
    assert rl.compare(qrels, str(track / "runs" / "*0?"), "RR").systems == one.systems[:10]
    assert rl.compare(qrels, str(track / "runs" / "*[14]"), "RR").systems == ("team01", "team04", "team11")
    by_hand = rl.compare(qrels, {path.name.removeprefix("input."): path for path in paths}, "RR")
    assert one.systems == other.systems == by_hand.systems
    assert [one.result("RR", s).mean for s in one.systems] == [
        by_hand.result("RR", s).mean for s in one.systems
    ]


def test_a_pattern_of_parts_is_one_run_and_of_other_tables_several(tmp_path):
    qrels = {"q": {"a": 1}, "p": {"a": 1}}
    for name, query in (("part-0", "q"), ("part-1", "p")):
        (tmp_path / f"{name}.csv").write_text(f"query,doc,score\n{query},a,1\n")
    assert len(rl.compare(qrels, [str(tmp_path / "part-*.csv")], "RR").systems) == 1
    for name in ("bm25", "dense"):
        (tmp_path / f"{name}.csv").write_text("query,doc,score\nq,a,1\np,a,1\n")
    assert rl.compare(qrels, str(tmp_path / "[bd]*.csv"), "RR").systems == ("bm25", "dense")


def test_the_command_takes_a_pattern(track, capsys):
    assert (
        main(["evaluate", str(track / "qrels.txt"), str(track / "runs" / "*"), "-m", "RR", "--format", "csv"])
        == 0
    )
    assert len(capsys.readouterr().out.splitlines()) == 13


def test_threads_change_nothing(track, monkeypatch):
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv("RANKLENS_THREADS", threads)
        found.append(rl.compare(track / "qrels.txt", str(track / "runs" / "*"), "RR,AP").to_frame())
    assert found[0].equals(found[1])


def test_small_files_are_read_side_by_side_in_one_layer_of_threads(track, monkeypatch):
    """A thread that reads a run starts no threads of its own, so none can wait for another."""
    from ranklens.data.files import streams

    started = []

    class Helpers(streams._Helpers):
        def __init__(self, *given):
            started.append(current_thread() is main_thread())
            super().__init__(*given)

    monkeypatch.setattr(streams, "_Helpers", Helpers)
    monkeypatch.setenv("RANKLENS_THREADS", "3")
    rl.compare(track / "qrels.txt", str(track / "runs" / "*"), "RR")
    assert started
    assert all(started)
    inner = list(
        streams.ahead(lambda: list(streams.ahead(lambda i=i: i for i in range(3))) for _ in range(4))
    )
    assert inner == [[0, 1, 2]] * 4
    assert all(started)


def test_warnings_of_runs_that_are_read_side_by_side_are_told_once_and_by_name(track):
    for s in (3, 7):
        path = track / "runs" / f"input.team{s:02d}"
        path.write_text(path.read_text() + "9 Q0 d1 1 1 x\n0 Q0 d0 9 0 x\n".replace(" x", f" team{s:02d}"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = rl.compare(track / "qrels.txt", str(track / "runs" / "*"), "RR")
    told = [str(one.message) for one in caught if "repeated" in str(one.message)]
    assert len(told) == 1
    assert told[0].startswith("team03 and team07: ")
    assert told[0] in found.cautions


@pytest.mark.parametrize("content", ["", "not a run at all\n", "0 Q0 d1 1 nan team99\n"])
def test_a_bad_run_is_named_and_skipped_only_on_request(track, content, capsys):
    bad = track / "runs" / "input.team99"
    bad.write_text(content)
    pattern = str(track / "runs" / "*")
    with pytest.raises(rl.RankLensError, match="team99"):
        rl.compare(track / "qrels.txt", pattern, "RR")
    with pytest.warns(rl.RankLensWarning, match=r"team99.* was skipped"):
        found = rl.compare(track / "qrels.txt", pattern, "RR", skip_bad=True)
    assert found.systems == tuple(f"team{s:02d}" for s in range(12))  # as without the bad one
    assert not any(
        caution.partition(" was skipped: ")[2].startswith("team99: ") for caution in found.cautions
    )
    assert any("skipped" in caution for caution in found.cautions)
    for command in ("evaluate", "compare"):
        words = [command, str(track / "qrels.txt"), pattern, "-m", "RR"]
        assert main(words) == 2
        assert "team99" in capsys.readouterr().err
        assert main([*words, "--skip-bad"]) == 0
        told = capsys.readouterr()
        assert "team99" in told.err + told.out
        assert "skipped" in told.err + told.out


def test_no_run_that_can_be_read_is_an_error(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("nothing\n")
    with pytest.raises(rl.RankLensError):
        rl.compare({"q": {"a": 1}}, str(tmp_path / "*.txt"), "RR", skip_bad=True)


def test_a_judgments_error_is_not_a_bad_run(track):
    with pytest.raises(rl.RankLensError, match="qrels"):
        rl.compare(track / "qrels.missing", str(track / "runs" / "*"), "RR", skip_bad=True)


def test_something_else_than_runs_is_refused():
    with pytest.raises(rl.InputError, match="a list of paths"):
        rl.compare({"q": {"a": 1}}, [{"q": ["a"]}], "RR")


def test_teams_are_in_frames_files_and_json(track, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((files("ranklens.comparison") / "comparison.schema.json").read_text(encoding="utf-8"))
    teams = {f"team{s:02d}": "odd" if s % 2 else "even" for s in range(12)}
    found = rl.compare(track / "qrels.txt", str(track / "runs" / "*"), "RR", teams=teams)
    frame = found.to_frame()
    assert dict(zip(frame["system"], frame["team"], strict=True)) == teams
    assert "team" not in rl.compare(track / "qrels.txt", str(track / "runs" / "*"), "RR").to_frame().columns
    content = json.loads(found.to_json())
    jsonschema.validate(content, schema)
    again = rl.Comparison.from_json(found.to_json())
    assert again.teams == content["teams"] == teams
    assert str(again) == str(found)
    paths = [str(track / "qrels.txt"), str(track / "runs" / "*")]
    assert main(["compare", *paths, "-m", "RR", "--by-team", "tag", "-o", str(tmp_path / "x.csv")]) == 0
    assert (tmp_path / "x.csv").read_text().splitlines()[0].endswith(",team")
