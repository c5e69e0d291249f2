from pathlib import Path

import polars as pl
import pytest

import ranklens as rl
from ranklens.cli import main
from ranklens.writers import convert

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "tsv", "txt"])
@pytest.mark.parametrize("name", ["qrels.txt", "run.txt"])
def test_round_trips_lose_nothing(tmp_path, name, suffix):
    """Byte for byte, with rank, tag and ids in any script."""
    there, back = tmp_path / f"there.{suffix}", tmp_path / "back.txt"
    assert convert(GOLDEN / name, there)[1] == name.partition(".")[0]
    convert(there, back)
    assert back.read_bytes() == (GOLDEN / name).read_bytes()


def test_what_a_trec_run_needs_is_added(tmp_path):
    source = tmp_path / "run.csv"
    source.write_text('qid,docno,score\nq,"a,b",1.5\nq,c,2.5\n')
    convert(source, tmp_path / "run.txt")
    assert (tmp_path / "run.txt").read_text() == "q Q0 a,b 2 1.5 ranklens\nq Q0 c 1 2.5 ranklens\n"


def test_beir_and_json(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t2\n")
    assert convert(tmp_path, tmp_path / "q.txt", "qrels") == (1, "qrels")
    assert (tmp_path / "q.txt").read_text() == "q 0 a 2\n"
    (tmp_path / "run.json").write_text('{"q": {"a": 1.5}}')
    assert convert(tmp_path / "run.json", tmp_path / "run.parquet") == (1, "run")
    assert pl.read_parquet(tmp_path / "run.parquet").row(0) == ("q", "a", 1.5)


def test_nothing_half_written(tmp_path):
    (tmp_path / "run.csv").write_text("query,doc,score\nq,two words,1\n")
    with pytest.raises(rl.InputError, match="'two words' holds white space"):
        convert(tmp_path / "run.csv", tmp_path / "run.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["run.csv"]


def test_the_command(tmp_path, capsys):
    target = tmp_path / "run.parquet"
    assert main(["convert", str(GOLDEN / "run.txt"), str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: 2,125 rows of a run\n"
    assert main(["convert", str(GOLDEN / "run.txt"), str(target), "--kind", "other"]) == 2
    assert "kind='other' is not allowed" in capsys.readouterr().err
