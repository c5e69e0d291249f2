"""Folders, patterns and addresses: parts of one run are one run, several systems are several."""

import gzip

import polars as pl
import pytest
from command_line import run as command

import ranklens as rl
from ranklens.files.collection import open_collection

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
    RUN.write_ndjson(tmp_path / "dense.jsonl")
    with pytest.raises(
        rl.InputError, match=r"holds csv and jsonl files; pass a pattern, such as '.*/\*\.csv'"
    ):
        rl.evaluate(QRELS, tmp_path, "RR")
    (tmp_path / "run.txt").write_text("q Q0 d 1 1 t\n")
    with pytest.raises(rl.InputError, match="matches no Parquet, CSV, TSV or JSONL files"):
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
    with pytest.raises(rl.InputError, match=r"holds several systems \('bm25' and 'de nse'\).*compare"):
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
    monkeypatch.setattr("ranklens.files.pieces._ROWS", 4)
    both = pl.concat([RUN.with_columns(system=pl.lit(name)) for name in "ab"])
    for frame in (both, both.lazy(), both.to_pandas(), both.to_arrow(), iter(both.iter_slices(4)), both[2:6]):
        with pytest.raises(rl.InputError, match=r"run holds several systems \('a' and 'b'\)"):
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


def test_other_formats_at_an_address_have_a_recipe(tmp_path):
    with pytest.raises(rl.InputError, match=r"only Parquet, CSV, .*: aws s3 cp s3://b/run.txt - \| ranklens"):
        rl.evaluate(QRELS, "s3://b/run.txt", "RR")
    with pytest.raises(rl.InputError, match=r"none\.parquet cannot be read: "):
        rl.evaluate(QRELS, (tmp_path / "none.parquet").as_uri(), "RR")
