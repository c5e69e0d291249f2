"""Delta and Iceberg tables: only the current rows count, and the files of a table are refused on their own."""

import sys

import polars as pl
import pytest
from command_line import run as command

import ranklens as rl

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}
OLD = pl.DataFrame({"query": ["q1", "q2"], "doc": ["a", "b"], "score": [2.0, 2.0]})
NEW = pl.DataFrame({"query": ["q1", "q2"], "doc": ["x", "b"], "score": [2.0, 2.0]})


@pytest.fixture
def delta(tmp_path):
    pytest.importorskip("deltalake")
    table = tmp_path / "delta"
    OLD.write_delta(table)
    NEW.write_delta(table, mode="overwrite")
    return table


@pytest.fixture
def iceberg(tmp_path):
    pytest.importorskip("sqlalchemy")
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    catalog = catalogs.SqlCatalog(
        "tests", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/lake"
    )
    try:
        catalog.create_namespace("search")
        table = catalog.create_table("search.runs", schema=OLD.to_arrow().schema)
        table.append(OLD.to_arrow())
        table.overwrite(NEW.to_arrow())
        return tmp_path / "lake" / "search" / "runs"
    finally:
        catalog.close()


@pytest.fixture(params=["delta", "iceberg"])
def lake(request):
    return request.getfixturevalue(request.param)


def test_only_the_current_rows_count(lake):
    assert rl.evaluate(QRELS, lake, "RR").mean == {"RR": 0.5}
    assert rl.evaluate(QRELS, str(lake), "RR").mean == {"RR": 0.5}


def test_judgments_may_be_in_a_lake(delta):
    (delta.parent / "gold").mkdir()
    pl.DataFrame({"query": ["q1", "q2"], "doc": ["x", "c"], "grade": [1, 1]}).write_delta(
        delta.parent / "gold"
    )
    assert rl.evaluate(delta.parent / "gold", delta, "RR").mean == {"RR": 0.5}


def test_commands_read_lakes(lake, tmp_path, capsys):
    (tmp_path / "qrels.csv").write_text("query,doc,grade\nq1,a,1\nq2,b,1\n")
    for arguments in (["evaluate"], ["compare"], ["lint"]):
        runs = [lake, f"again={lake}"] if arguments == ["compare"] else [lake]
        status, _, err = command(capsys, *arguments, str(tmp_path / "qrels.csv"), *map(str, runs))
        assert status == 0, err
    status, _, err = command(capsys, "convert", str(lake), str(tmp_path / "run.csv"))
    assert status == 0, err
    assert (tmp_path / "run.csv").read_text().splitlines()[1:] == ["q1,x,2.0", "q2,b,2.0"]


def test_files_of_a_lake_are_refused(lake):
    files = sorted(lake.rglob("*.parquet"))
    for place in (files[0], lake.parent, files[0].parent / "*.parquet", lake / "**" / "*.parquet"):
        if place == lake:
            continue
        with pytest.raises(
            rl.InputError, match=f"{lake.name} is an? (Delta|Iceberg) table.*pass the folder itself"
        ):
            rl.evaluate(QRELS, place, "RR")


def test_the_data_folder_of_an_iceberg_table_is_refused(iceberg):
    with pytest.raises(rl.InputError, match="is an Iceberg table"):
        rl.evaluate(QRELS, iceberg / "data", "RR")


def test_iceberg_metadata_of_one_version_and_of_two_newest(iceberg):
    *_, newest = sorted((iceberg / "metadata").glob("*.metadata.json"))
    assert rl.evaluate(QRELS, newest, "RR").mean == {"RR": 0.5}
    newest.with_name(newest.name.replace("-", "-0", 1)).write_bytes(newest.read_bytes())
    with pytest.raises(rl.InputError, match="both claim to be the newest version"):
        rl.evaluate(QRELS, iceberg, "RR")


def test_a_damaged_log_is_an_error(delta):
    for file in (delta / "_delta_log").iterdir():
        file.unlink()
    with pytest.raises(rl.InputError, match="cannot be read as delta"):
        rl.evaluate(QRELS, delta, "RR")


@pytest.mark.parametrize(("kind", "package"), [("delta", "deltalake"), ("iceberg", "pyiceberg")])
def test_without_the_package_the_install_command_is_the_answer(tmp_path, monkeypatch, kind, package):
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    if kind == "iceberg":
        (tmp_path / "table" / "_delta_log").rename(tmp_path / "table" / "metadata")
        (tmp_path / "table" / "metadata" / "v1.metadata.json").write_text("{}")
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(rl.MissingExtraError, match=rf"pip install 'ranklens\[{kind}\]'"):
        rl.evaluate(QRELS, tmp_path / "table", "RR")


def test_files_of_a_lake_are_refused_behind_links_and_from_inside(tmp_path, monkeypatch):
    day = tmp_path / "table" / "day=1"
    day.mkdir(parents=True)
    (tmp_path / "table" / "_delta_log").mkdir()
    pl.DataFrame({"query": ["q1"], "doc": ["a"], "score": [1.0]}).write_parquet(day / "1.parquet")
    (tmp_path / "link.parquet").symlink_to(day / "1.parquet")
    monkeypatch.chdir(day)
    for place in (tmp_path / "link.parquet", "1.parquet", "*.parquet"):
        with pytest.raises(rl.InputError, match="is a Delta table"):
            rl.evaluate(QRELS, place, "RR")


def test_files_of_a_lake_are_refused_at_an_address(delta):
    for place in ((delta / "*.parquet").as_uri(), f"file://{delta}/*.parquet"):
        with pytest.raises(rl.InputError, match="is a Delta table"):
            rl.evaluate(QRELS, place, "RR")


def test_the_files_of_a_hudi_table_are_refused(tmp_path):
    table = tmp_path / "hudi"
    (table / ".hoodie").mkdir(parents=True)
    OLD.write_parquet(table / "part.parquet")
    for place in (table, table / "part.parquet", f"{table}/*.parquet"):
        with pytest.raises(rl.RankLensError, match="is a Hudi table, and some of its files"):
            rl.evaluate(QRELS, place, "RR")
