"""Folders, patterns and addresses: parts of one run are one run, several systems are several."""

import gzip
import shutil

import polars as pl
import pytest
from command_line import run as command

import ranklens as rl
from ranklens.data.files.collection import open_collection
from ranklens.recipes.lint import lint

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}
RUN = pl.DataFrame(
    {"query": ["q1", "q1", "q2", "q2"], "doc": ["x", "a", "b", "y"], "score": [2.0, 1.0, 2.0, 1.0]}
)
WRITERS = {
    "csv": lambda frame, path: frame.write_csv(path),
    "tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
    "csv.gz": lambda frame, path: path.write_bytes(gzip.compress(frame.write_csv().encode())),
    "parquet": lambda frame, path: frame.write_parquet(path),
}


def spark(folder, kind):
    """As Spark writes: numbered parts, cut inside a query, and files that say something else."""
    folder.mkdir()
    for number, part in enumerate(RUN.iter_slices(3)):
        WRITERS[kind](part, folder / f"part-0000{number}-5d3c-4f1b.{kind}")
    (folder / "_SUCCESS").write_text("")
    (folder / f"._part.{kind}.crc").write_text("x")
    return folder


@pytest.mark.parametrize("kind", WRITERS)
def test_the_parts_of_a_run_are_one_run(tmp_path, kind):
    folder = spark(tmp_path / "run", kind)
    assert rl.evaluate(QRELS, folder, "RR").mean == {"RR": 0.75}
    assert rl.evaluate(QRELS, str(folder / f"*.{kind}"), "RR").mean == {"RR": 0.75}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_judgments_may_be_in_parts(tmp_path, kind):
    gold = pl.DataFrame({"query": ["q1", "q2"], "doc": ["a", "b"], "grade": [1, 1]})
    for number in range(2):
        WRITERS[kind](gold[number : number + 1], tmp_path / f"part-{number}.{kind}")
    assert rl.evaluate(tmp_path, {"q1": ["x", "a"], "q2": ["b"]}, "RR").mean == {"RR": 0.75}


def test_files_of_different_names_are_not_taken_for_parts(tmp_path):
    RUN.write_csv(tmp_path / "bm25.csv")
    RUN.write_csv(tmp_path / "dense.csv")
    with pytest.raises(
        rl.InputError, match=r"files of different names \(bm25\.csv and dense\.csv\): pass each"
    ):
        rl.evaluate(QRELS, tmp_path, "RR")
    for name in ("a1", "b2"):  # digits of a hash are many
        (tmp_path / "short").mkdir(exist_ok=True)
        RUN.write_csv(tmp_path / "short" / f"{name}.csv")
    with pytest.raises(rl.InputError, match=r"files of different names \(a1\.csv and b2\.csv\): pass each"):
        rl.evaluate(QRELS, tmp_path / "short", "RR")
    assert [*open_collection(QRELS, [str(tmp_path / "short" / "*.csv")]).runs] == ["a1", "b2"]
    shutil.rmtree(tmp_path / "short")
    RUN.write_ndjson(tmp_path / "dense.jsonl")
    with pytest.raises(
        rl.InputError, match=r"contains csv and jsonl files; pass a pattern, such as '.*/\*\.csv'"
    ):
        rl.evaluate(QRELS, tmp_path, "RR")
    for name in ("run.txt", "other.txt"):
        (tmp_path / name).write_text("q Q0 d 1 1 t\n")
    with pytest.raises(rl.InputError, match="matches 2 files, each a separate run; compare them with"):
        rl.evaluate(QRELS, str(tmp_path / "*.txt"), "RR")
    with pytest.raises(rl.InputError, match=r"none-\* does not exist"):
        rl.evaluate(QRELS, str(tmp_path / "none-*"), "RR")


def test_an_error_in_a_part_names_its_file(tmp_path):
    folder = spark(tmp_path / "run", "csv")
    last = max(folder.glob("part*"))
    last.write_text(last.read_text() + "q2,z,high\n")
    with pytest.raises(rl.InputError, match=r"part-00001-.*csv:3: 'high' in column 'score' is not a number"):
        rl.evaluate(QRELS, folder, "RR")


def of_two_systems(folder, kind):
    """The second system ranks the other way round."""
    if kind == "hive":
        for name, frame in (("bm25", RUN), ("de%20nse", RUN.with_columns(-pl.col("score")))):
            place = folder / "runs" / f"system={name}"
            place.mkdir(parents=True)
            frame.write_parquet(place / "part-0.parquet")
        return folder / "runs"
    both = pl.concat(
        [
            RUN.with_columns(system=pl.lit("bm25")),
            RUN.with_columns(-pl.col("score"), system=pl.lit("de nse")),
        ]
    )
    WRITERS[kind](both, folder / f"runs.{kind}")
    return folder / f"runs.{kind}"


@pytest.mark.parametrize("kind", ["hive", *WRITERS])
def test_several_systems_are_never_merged(tmp_path, kind):
    path = of_two_systems(tmp_path, kind)
    with pytest.raises(rl.InputError, match=r"contains several systems \('bm25' and 'de nse'\).*compare"):
        rl.evaluate(QRELS, path, "RR")
    runs = open_collection(QRELS, [str(path)]).runs
    assert {name: rl.evaluate(QRELS, run, "RR").mean["RR"] for name, run in runs.items()} == {
        "bm25": 0.75,
        "de nse": 0.75,
    }
    assert rl.evaluate(QRELS, runs["bm25"], "RR").per_query["RR"].to_list() == [0.5, 1.0]
    assert rl.evaluate(QRELS, runs["de nse"], "RR").per_query["RR"].to_list() == [1.0, 0.5]
    assert [*open_collection(QRELS, [f"mine={path}"]).runs] == ["mine/bm25", "mine/de nse"]


def test_several_systems_in_a_frame_are_never_merged(monkeypatch):
    monkeypatch.setattr("ranklens.data.files.pieces._ROWS", 4)
    both = pl.concat([RUN.with_columns(system=pl.lit(name)) for name in "ab"])
    for frame in (both, both.lazy(), both.to_pandas(), both.to_arrow(), iter(both.iter_slices(4)), both[2:6]):
        with pytest.raises(rl.InputError, match=r"run contains several systems \('a' and 'b'\)"):
            rl.evaluate(QRELS, frame, "RR")
    assert rl.evaluate(QRELS, both[:4], "RR").mean == {"RR": 0.75}  # one system


@pytest.mark.parametrize("kind", ["hive", *WRITERS])
def test_compare_takes_several_systems_from_one_place(tmp_path, kind):
    path = of_two_systems(tmp_path, kind)
    for given in (path, str(path), [path], (f"{path}",)):
        found = rl.compare(QRELS, given, "RR")
        assert found.systems == ("bm25", "de nse")
        assert found.values("RR").tolist() == [[0.5, 1.0], [1.0, 0.5]]
    assert rl.compare(QRELS, [f"mine={path}"], "RR").systems == ("mine/bm25", "mine/de nse")


def test_compare_takes_several_systems_from_one_table():
    both = pl.concat([RUN.with_columns(-pl.col("score") * sign, system=pl.lit(sign)) for sign in (-1, 1)])
    for frame in (both, both.to_pandas(), both.to_arrow()):
        assert rl.compare(QRELS, frame, "RR").values("RR").tolist() == [[0.5, 1.0], [1.0, 0.5]]
    with pytest.raises(rl.InputError, match=r"pass \{name: run\}"):
        rl.compare(QRELS, RUN, "RR")


def test_a_report_shows_the_systems_of_a_folder(tmp_path, capsys):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    path = of_two_systems(tmp_path, "hive")
    given = ("report", str(tmp_path / "qrels.txt"), str(path), "-m", "RR", "-o", str(tmp_path / "r.html"))
    status, out, _ = command(capsys, *given)
    assert status == 0
    assert "2 systems" in out


def test_commands_compare_the_systems_of_a_folder(tmp_path, capsys):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    path = of_two_systems(tmp_path, "hive")
    for name in ("compare", "evaluate"):
        given = (name, str(tmp_path / "qrels.txt"), str(path), "-m", "RR", "--format", "csv")
        status, out, _ = command(capsys, *given)
        assert status == 0
        assert [
            name in line for name, line in zip(("bm25", "de nse"), out.splitlines()[1:], strict=True)
        ] == [True] * 2


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "jsonl"])
def test_addresses_are_read_by_the_table_engine(tmp_path, kind):
    """Polars reads file:// by the same way as object stores."""
    numbers = RUN.with_columns(query=pl.col("query").replace({"q1": "007", "q2": "2"}))
    WRITERS[kind](numbers, tmp_path / f"run.{kind}")
    address = (tmp_path / f"run.{kind}").as_uri()
    assert rl.evaluate({"007": {"a": 1}, "2": {"b": 1}}, address, "RR").mean == {"RR": 0.75}


@pytest.mark.parametrize("end", ['q2,1,"x', 'q2,1,"x\nq3,1,c"\n'])
def test_a_quote_at_an_address_swallows_no_rows(tmp_path, end):
    (tmp_path / "run.csv").write_text(f'query,score,doc\nq1,1,"a\nq2,1,b"\n{end}')
    with pytest.raises(
        rl.InputError, match=r"quoted field continues past the end of the line|cannot be read"
    ):
        rl.evaluate(QRELS, (tmp_path / "run.csv").as_uri(), "RR")


def test_other_formats_at_an_address_have_a_recipe(tmp_path):
    with pytest.raises(rl.InputError, match=r"only Parquet, CSV, .*: aws s3 cp s3://b/run.txt - \| ranklens"):
        rl.evaluate(QRELS, "s3://b/run.txt", "RR")
    with pytest.raises(rl.InputError, match=r"none\.parquet cannot be read: "):
        rl.evaluate(QRELS, (tmp_path / "none.parquet").as_uri(), "RR")


def test_a_folder_of_several_formats_is_refused(tmp_path):
    RUN[:2].write_csv(tmp_path / "part-0.csv")
    RUN[2:].write_parquet(tmp_path / "part-1.parquet")
    with pytest.raises(rl.InputError, match="contains csv and parquet files; pass a pattern"):
        rl.evaluate(QRELS, tmp_path, "RR")


def test_parts_in_hidden_folders_do_not_count(tmp_path):
    folder = spark(tmp_path / "run", "parquet")
    (folder / "_checkpoints").mkdir()
    RUN.write_parquet(folder / "_checkpoints" / "00001.checkpoint.parquet")
    assert rl.evaluate(QRELS, folder, "RR", duplicates="error").mean == {"RR": 0.75}


def test_parquet_files_of_different_names_are_not_taken_for_parts(tmp_path):
    for name in ("bm25", "dense"):
        RUN.write_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(rl.InputError, match=r"files of different names \(bm25\.parquet and dense\.parquet\)"):
        rl.evaluate(QRELS, tmp_path, "RR")


def test_parts_of_two_jobs_are_parts_whatever_their_ids(tmp_path):
    for number, job in enumerate(
        ("0a1b2c3d-abcd-4bcd-9abc-00112233abcd", "ffffffff-0123-4567-8901-abcdefabcdef")
    ):
        RUN[2 * number : 2 * number + 2].write_csv(tmp_path / f"part-{number}-{job}-c000.csv")
    assert rl.evaluate(QRELS, tmp_path, "RR").mean == {"RR": 0.75}


def test_a_table_beside_the_folders_of_systems_is_refused(tmp_path):
    path = of_two_systems(tmp_path, "hive")
    RUN.write_parquet(path / "loose.parquet")
    for given in (path, path / "system=bm25" / ".."):
        with pytest.raises(rl.InputError, match=r"contains loose\.parquet next to its system= folders"):
            rl.evaluate(QRELS, given, "RR")
    with pytest.raises(rl.InputError, match=r"contains loose\.parquet next to its system= folders"):
        rl.compare(QRELS, path, "RR")


def test_a_pattern_or_folder_above_several_systems_is_refused(tmp_path):
    path = of_two_systems(tmp_path, "hive")
    for given in (str(path / "*" / "*.parquet"), tmp_path):
        with pytest.raises(
            rl.InputError, match=r"files of several systems \('bm25' and 'de nse'\); pass the folder"
        ):
            rl.evaluate(QRELS, given, "RR")
    assert rl.evaluate(QRELS, path / "system=bm25", "RR").mean == {"RR": 0.75}
    assert rl.evaluate(QRELS, str(path / "system=bm25" / "*"), "RR").mean == {"RR": 0.75}


def test_a_pattern_of_folders_is_one_run_for_each(tmp_path, monkeypatch):
    of_two_systems(tmp_path, "hive")
    monkeypatch.chdir(tmp_path)
    RUN.write_csv(tmp_path / "other.csv")  # which '*' alone would match
    assert [*open_collection(QRELS, ["runs/system=*"]).runs] == ["bm25", "de nse"]
    assert [*open_collection(QRELS, ["runs/system=bm25"]).runs] == ["bm25"]
    with pytest.raises(rl.InputError, match=r"runs/kind=\* does not exist"):
        open_collection(QRELS, ["runs/kind=*"])
    assert [*open_collection(QRELS, ["mine=*.csv"]).runs] == ["mine"]


def test_a_pattern_of_files_and_folders_is_one_run_for_each(tmp_path):
    (tmp_path / "dense").mkdir()
    RUN.write_csv(tmp_path / "dense" / "part-0.csv")
    RUN.write_csv(tmp_path / "bm25.csv")
    assert [*open_collection(QRELS, [str(tmp_path / "*")]).runs] == ["bm25", "dense"]


def test_a_folder_with_one_file_is_that_file(tmp_path):
    for name, order in (("a", "xa"), ("b", "ax")):
        place = tmp_path / f"system={name}"
        place.mkdir()
        lines = [f"q1 Q0 {doc} {i} {-i} tag\n" for i, doc in enumerate(order)]
        (place / "run.txt").write_text("".join(lines) + "q2 Q0 b 1 1 tag\n")
    assert rl.evaluate(QRELS, tmp_path / "system=a", "RR").mean == {"RR": 0.75}
    found = rl.compare(QRELS, tmp_path, "RR")
    assert (found.systems, found.values("RR").tolist()) == (("a", "b"), [[0.5, 1.0], [1.0, 1.0]])


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("systems", [["a", None], [None, "a"], ["a", "b", None]], ids=str)
def test_rows_without_a_system_are_refused_beside_those_with_one(tmp_path, kind, systems):
    frame = pl.concat([RUN.with_columns(system=pl.lit(name, pl.String)) for name in systems])
    WRITERS[kind](frame, tmp_path / f"runs.{kind}")
    given = (
        tmp_path / f"runs.{kind}",
        frame,
        frame.lazy(),
        frame.to_pandas(),
        [RUN, frame],
        iter([*frame.iter_slices(4)]),
    )
    wrong = r"'system' is empty in some rows, and '[ab]' in others; name the system of every row"
    for run in (given[0], frame):
        with pytest.raises(rl.InputError, match=wrong):
            rl.compare(QRELS, run, "RR")
    for run in given:
        with pytest.raises(rl.InputError, match=f"{wrong}|contains several systems|no query among"):
            rl.evaluate(QRELS, run, "RR")


def test_a_column_system_without_any_name_is_none(tmp_path):
    frame = RUN.with_columns(system=pl.lit(None, pl.String))
    frame.write_parquet(tmp_path / "run.parquet")
    for run in (frame, tmp_path / "run.parquet"):
        assert rl.evaluate(QRELS, run, "RR").mean == {"RR": 0.75}


def test_parts_of_several_writers_are_read_without_loss(tmp_path):
    """Scores of 32 bits beside those of 64, which keep all their digits, and a column that only one part has."""
    RUN[:2].with_columns(pl.col("score").cast(pl.Float32)).write_parquet(tmp_path / "part-0.parquet")
    close = RUN[2:].with_columns(score=pl.Series([1.00000001, 1.00000002]), tag=pl.lit("x"))
    close.write_parquet(tmp_path / "part-1.parquet")
    assert rl.evaluate(QRELS, tmp_path, "RR").mean == {"RR": 0.5}
    assert lint(QRELS, tmp_path) is not None
    ranked = RUN[:2].with_columns(rank=pl.Series([1, 2]))
    (tmp_path / "csv").mkdir()
    for number, part in enumerate((ranked, RUN[2:], RUN[:1])):
        part.write_csv(tmp_path / "csv" / f"part-{number}.csv")
    assert "duplicates" in {finding.kind for finding in lint(QRELS, tmp_path / "csv")}


def test_parts_with_and_without_a_system_are_refused(tmp_path):
    with_system = RUN[2:].with_columns(system=pl.lit("b"))
    for first, second in ((RUN[:2], with_system), (with_system, RUN[:2])):
        first.write_csv(tmp_path / "part-0.csv")
        second.write_csv(tmp_path / "part-1.csv")
        for given in (tmp_path, iter([first, second]), [first, second]):
            with pytest.raises(rl.InputError, match="'system' is empty in some rows, and 'b' in others"):
                rl.evaluate(QRELS, given, "RR")
        with pytest.raises(rl.InputError, match="'system' is empty in some rows, and 'b' in others"):
            rl.compare(QRELS, tmp_path, "RR")


def test_ranks_are_not_compared_with_scores(tmp_path):
    ranked = RUN[:2].select("query", "doc", rank=pl.Series([1, 2]))
    ranked.write_csv(tmp_path / "part-0.csv")
    RUN[2:].write_csv(tmp_path / "part-1.csv")
    for given in (tmp_path, iter([ranked, RUN[2:]])):
        with pytest.raises(rl.InputError, match="some parts have scores, others only ranks"):
            rl.evaluate(QRELS, given, "RR")
    with pytest.raises(rl.InputError, match=r"^run: some parts have scores"):  # a list has no name of its own
        rl.evaluate(QRELS, [ranked, RUN[2:]], "RR")


def test_ids_of_parts_are_text_or_whole_numbers(tmp_path):
    for doc, message in ((7, None), (7.0, None), (7.5, "doc")):
        RUN[:2].write_parquet(tmp_path / "part-0.parquet")
        pl.DataFrame({"query": ["q2"], "doc": [doc], "score": [1.0]}).write_parquet(
            tmp_path / "part-1.parquet"
        )
        if message is None:
            assert rl.evaluate({"q2": {"7": 1}}, tmp_path, "RR").mean == {"RR": 1.0}
        else:
            with pytest.raises(rl.InputError, match=message):
                rl.evaluate({"q2": {"7": 1}}, tmp_path, "RR")


def test_a_pattern_that_reaches_further_down_counts_nothing_twice(tmp_path):
    """** matches a folder, what is in it, and itself."""
    (tmp_path / "out").mkdir()
    spark(tmp_path / "out" / "bm25", "parquet")
    assert open_collection(QRELS, [str(tmp_path / "out" / "**")]).runs.keys() == {"out"}
    assert rl.evaluate(QRELS, str(tmp_path / "out" / "**"), "RR").mean == {"RR": 0.75}


def test_folders_of_something_else_beside_runs_are_left_out(tmp_path):
    for name in ("bm25", "dense"):
        (tmp_path / f"{name}.txt").write_text("q1 Q0 a 1 1 t\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "curve.png").write_bytes(b"\x89PNG")
    assert [*open_collection(QRELS, [str(tmp_path / "*")]).runs] == ["bm25", "dense"]


def test_the_name_of_a_pattern_may_be_that_of_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "BAAI").mkdir()
    spark(tmp_path / "runs", "parquet")
    assert [*open_collection(QRELS, ["BAAI/bge=runs/*.parquet"]).runs] == ["BAAI/bge"]


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_parts_of_judgments_all_have_subtopics_or_none(tmp_path, kind):
    rows = pl.DataFrame({"query": "q1", "subtopic": ["s", "s"], "doc": ["a", "b"], "grade": 1})
    (tmp_path / "qrels").mkdir()
    WRITERS[kind](rows, tmp_path / "qrels" / f"part-0.{kind}")
    WRITERS[kind](rows.drop("subtopic"), tmp_path / "qrels" / f"part-1.{kind}")
    with pytest.raises(rl.InputError, match="some parts have no column of subtopics, and others do"):
        rl.evaluate(tmp_path / "qrels", {"q1": ["a"]}, "StRecall@1")


def test_a_pattern_may_name_what_is_hidden(tmp_path):
    spark(tmp_path / "_exp1", "parquet")
    for pattern in ("_exp*/part-*.parquet", "_exp?/*.parquet", "_exp1/*"):
        assert rl.evaluate(QRELS, str(tmp_path / pattern), "RR").mean == {"RR": 0.75}


@pytest.mark.parametrize(
    "names", ["model-v1 model-v2", "seed1 seed2", "v1/run v2/run", "a/part-0 b/part-0", "1/part-0 2/part-0"]
)
def test_files_that_may_be_several_runs_are_not_taken_for_one(tmp_path, names):
    """Their mixture has a value, too, which nobody asked for."""
    for name in names.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        RUN.write_parquet(tmp_path / f"{name}.parquet")
    depth = "*/*" if "/" in names else "*"
    pattern = str(tmp_path / f"{depth}.parquet")
    assert len(open_collection(QRELS, [pattern]).runs) == 2
    for given in (tmp_path, pattern):
        with pytest.raises(
            rl.InputError, match=r"files of different names .*: pass each as a run, or NAME='"
        ):
            rl.evaluate(QRELS, given, "RR")
    assert [*open_collection(QRELS, [f"mine={pattern}"]).runs] == ["mine"]


@pytest.mark.parametrize(
    "names", ["0 1", "run-0000 run-0001", "data_1 data_2", "date=1/part-0 date=2/part-0"]
)
def test_names_that_parts_have(tmp_path, names):
    for name, part in zip(names.split(), (RUN[:2], RUN[2:]), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        part.write_parquet(tmp_path / f"{name}.parquet")
    assert rl.evaluate(QRELS, tmp_path, "RR").mean == {"RR": 0.75}


@pytest.mark.parametrize("folder", [".", "2024", "day=1"])
def test_what_spark_has_written_is_one_table_whatever_its_names(tmp_path, folder):
    tmp_path = tmp_path / folder
    tmp_path.mkdir(exist_ok=True)
    for number, name in enumerate(("tid-12-abc", "tid-34-def")):
        RUN[2 * number : 2 * number + 2].write_parquet(tmp_path / f"part-0000{number}-{name}.parquet")
    with pytest.raises(rl.InputError, match="files of different names"):
        rl.evaluate(QRELS, tmp_path, "RR")
    (tmp_path / "_SUCCESS").touch()
    assert rl.evaluate(QRELS, tmp_path, "RR").mean == {"RR": 0.75}


def test_lines_of_json_may_be_called_json(tmp_path):
    """As Spark calls them."""
    (tmp_path / "run").mkdir()
    for number, part in enumerate((RUN[:2], RUN[2:])):
        part.write_ndjson(tmp_path / "run" / f"part-{number}.json")
    RUN.write_ndjson(tmp_path / "run.json")
    for given in (tmp_path / "run", str(tmp_path / "run" / "*.json"), tmp_path / "run.json"):
        assert rl.evaluate(QRELS, given, "RR").mean == {"RR": 0.75}


def test_parts_without_a_byte_are_left_out(tmp_path):
    spark(tmp_path / "run", "csv")
    (tmp_path / "run" / "part-00009-5d3c-4f1b.csv").touch()
    assert rl.evaluate(QRELS, tmp_path / "run", "RR").mean == {"RR": 0.75}


def test_folders_of_rows_without_a_system_are_refused_beside_others(tmp_path):
    for name in ("a", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"system={name}").mkdir()
        RUN.write_parquet(tmp_path / f"system={name}" / "part-0.parquet")
    with pytest.raises(rl.InputError, match="is empty in some rows, and 'a' in others"):
        rl.compare(QRELS, tmp_path, "RR")


@pytest.mark.parametrize("kind", WRITERS)
def test_parts_are_converted(tmp_path, kind, capsys):
    spark(tmp_path / "run", kind)
    status, _, err = command(capsys, "convert", str(tmp_path / "run"), str(tmp_path / "out.parquet"))
    assert status == 0, err
    assert rl.evaluate(QRELS, tmp_path / "out.parquet", "RR").mean == {"RR": 0.75}


def test_parts_that_a_shell_gives_one_by_one_are_warned_of(tmp_path):
    files = sorted(map(str, spark(tmp_path / "run", "csv").glob("part-*.csv")))
    with pytest.warns(rl.RankLensWarning, match=r"put the pattern in quotes, or pass their folder \(.*run\)"):
        assert len(open_collection(QRELS, files).runs) == len(files) > 1
    assert len(open_collection(QRELS, [f"{place}={file}" for place, file in enumerate(files)]).runs) == len(
        files
    )
    for name in ("model-v1", "model-v2"):
        RUN.write_csv(tmp_path / f"{name}.csv")
    assert len(open_collection(QRELS, [str(tmp_path / f"model-v{i}.csv") for i in (1, 2)]).runs) == 2
