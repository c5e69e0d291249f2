"""Runs in pieces, and long frames: the same values as dicts, whatever library holds the rows and however they come."""

import io
import os
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import examples

import ranklens as rl
from ranklens.data.files import pieces, streams

MEASURES = ["nDCG@3", "AP", "RR", "R@2", "NumRet"]
SCHEMA = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
small = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ids = st.sampled_from([f"q{i}" for i in range(6)]), st.sampled_from([f"d{i}" for i in range(12)])
gold = st.dictionaries(ids[0], st.dictionaries(ids[1], st.integers(0, 3), min_size=1), min_size=1)
rows = st.lists(
    st.tuples(st.one_of(ids[0], st.just("unjudged")), ids[1], st.sampled_from([0.0, 0.5, 1.0, -3.0])),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:2],
)


def dataset(frame, folder):
    path = folder / "part.parquet"
    frame.write_parquet(path)
    return pa.dataset.dataset(folder, format="parquet")


def parquet(frame):
    file = io.BytesIO()
    frame.write_parquet(file)
    file.seek(0)
    return file


def parts(frame):
    return list(frame.iter_slices(5))


WAYS = {
    "polars": lambda frame, _: frame,
    "lazy": lambda frame, _: frame.lazy(),
    "pandas": lambda frame, _: frame.to_pandas(),
    "pandas objects": lambda frame, _: pd.DataFrame(frame.to_dict(as_series=False), dtype=object),
    "arrow": lambda frame, _: frame.to_arrow(),
    "arrow reader": lambda frame, _: frame.to_arrow().to_reader(3),
    "arrow dataset": dataset,
    "list of frames": lambda frame, _: parts(frame),
    "iterator of frames": lambda frame, _: iter(parts(frame)),
    "generator of pandas": lambda frame, _: (part.to_pandas() for part in parts(frame)),
    "record batches": lambda frame, _: iter(frame.to_arrow().to_batches(3)),
    "csv in BytesIO": lambda frame, _: io.BytesIO(frame.write_csv().encode()),
    "jsonl in StringIO": lambda frame, _: io.StringIO(frame.write_ndjson()),
    "parquet in BytesIO": lambda frame, _: parquet(frame),
}


@pytest.fixture
def tiny(monkeypatch):
    """Slices of a few rows, and hardly any memory to sort in."""
    monkeypatch.setattr(pieces, "_ROWS", 4)
    monkeypatch.setattr("ranklens.judging.scattered._IN_MEMORY", 200)
    monkeypatch.setattr("ranklens.judging.grouped._WAITING", 5)
    monkeypatch.setattr("ranklens.judging.segments._AT_ONCE", 8)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@small
@given(qrels=gold, rows=rows, grouped=st.booleans(), ties=st.sampled_from(["descending", "input", "average"]))
def test_every_way_to_give_rows_gives_what_dicts_give(tiny, tmp_path, way, qrels, rows, grouped, ties):
    rows = sorted(rows, key=lambda row: row[0]) if grouped else rows
    run = {}
    for query, doc, score in rows:
        run.setdefault(query, []).append((doc, score))
    expected = rl.evaluate(qrels, run, MEASURES, ties=ties)
    given_run = WAYS[way](pl.DataFrame(rows, schema=SCHEMA, orient="row"), tmp_path)
    found = rl.evaluate(qrels, given_run, MEASURES, ties=ties)
    assert found.per_query.equals(expected.per_query)
    assert found.judged.applied == expected.judged.applied


@pytest.mark.parametrize(
    "way", ["lazy", "list of frames", "iterator of frames", "arrow dataset", "csv in BytesIO"]
)
def test_judgments_may_come_in_pieces_too(tmp_path, way):
    frame = pl.DataFrame({"query": ["q", "q", "r"], "doc": ["a", "b", "a"], "grade": [1, 2, 1]})
    run = {"q": ["b", "a"], "r": ["x", "a"]}
    expected = rl.evaluate(frame, run, MEASURES).mean
    assert rl.evaluate(WAYS[way](frame, tmp_path), run, MEASURES).mean == expected


def test_own_names_of_columns_hold_for_pieces():
    frame = pl.DataFrame(
        {"question": ["q", "q"], "found": ["x", "a"], "how_good": [2.0, 1.0], "note": ["", ""]}
    )
    columns = {"query": "question", "doc": "found", "score": "how_good"}
    for run in (frame, frame.lazy(), iter([frame[:1], frame[1:]])):
        assert rl.evaluate({"q": {"a": 1}}, run, "RR", columns=columns).mean == {"RR": 0.5}


def test_what_can_be_read_once_is_not_read_twice():
    frame = pl.DataFrame({"query": ["q", "q"], "doc": ["x", "a"], "score": [2.0, 1.0]})
    scores = rl.evaluate({"q": {"a": 1}}, iter([frame]), "RR")
    assert scores.mean == {"RR": 0.5}
    stream = pieces.stream_pieces(pieces.looked_into(iter([frame])))
    assert [len(table) for table in stream] == [2]
    with pytest.raises(rl.InputError, match="can be read only once, and were; pass a list of frames"):
        list(stream)


def test_wrong_rows_are_counted_from_the_beginning(tiny):
    frame = pl.DataFrame({"query": ["q"] * 10, "doc": [f"d{i}" for i in range(9)] + [None], "score": 1.0})
    for run in (frame, frame.lazy(), parts(frame)):
        with pytest.raises(rl.InputError, match="run: row 10: the doc is missing"):
            rl.evaluate({"q": {"a": 1}}, run, "RR")


def test_a_lazy_frame_of_records_is_still_a_log():
    log = pl.LazyFrame({"id": ["q"], "retrieved": [["x", "a"]]})
    assert rl.evaluate({"q": {"a": 1}}, log, "RR").mean == {"RR": 0.5}


@pytest.mark.parametrize(
    "values",
    [
        [1, 2], ["1", 2], [True, "x"], ["a", "b"], [2**70, 1], pd.Categorical(["a", "b"]), pd.Categorical([1, 2]),
        pd.array([1, 2], dtype="Int64"), pd.array(["a", "b"], dtype="string"),
    ],
)  # fmt: skip
def test_ids_of_pandas_are_what_they_are_in_python(values):
    """However pandas holds them."""
    frame = pd.DataFrame({"query": pd.Series(values), "doc": "d", "score": [1.0, 2.0]})
    run = {str(query): {"d": 1.0} for query in list(values)}
    if list(values) == [True, "x"]:  # as Polars writes it
        run = {"true": {"d": 1.0}, "x": {"d": 1.0}}
    found = rl.evaluate({query: {"d": 1} for query in run}, frame, "RR")
    assert found.mean == {"RR": 1.0}


def test_missing_scores_of_pandas_are_not_numbers():
    for kind in ("float64", "Float64", object):
        scores = pd.Series([1.0, None], dtype=kind)
        frame = pd.DataFrame({"query": "q", "doc": ["x", "a"], "score": scores})
        with pytest.raises(rl.InputError, match="is nan, not a number"):
            rl.evaluate({"q": {"a": 1}}, frame, "RR", nan="error")


SCRIPT = """
import sys, ranklens as rl
scores = rl.evaluate(sys.argv[1], sys.argv[2], "nDCG@10,AP,RR")
print(scores.per_query.write_csv())
"""


def test_the_number_of_threads_changes_nothing(tmp_path):
    lines = [f"q{i % 97} Q0 d{i * 7919 % 1009} 1 {i % 13} t\n" for i in range(5_000)]
    qrels = "".join(f"q{q} 0 d{d} {d % 3}\n" for q in range(97) for d in range(0, 1009, 5))
    (tmp_path / "qrels").write_text(qrels)
    (tmp_path / "grouped").write_text("".join(sorted(lines)))
    (tmp_path / "scattered").write_text("".join(lines))
    for run in ("grouped", "scattered"):
        found = set()
        for threads in ("1", "2", "7"):
            command = [sys.executable, "-W", "ignore", "-c", SCRIPT, tmp_path / "qrels", tmp_path / run]
            given_threads = {**os.environ, "RANKLENS_THREADS": threads}
            found.add(subprocess.run(command, env=given_threads, check=True, capture_output=True).stdout)
        assert len(found) == 1


def test_threads_are_as_many_as_was_said(monkeypatch):
    monkeypatch.delenv("RANKLENS_THREADS", raising=False)
    assert streams.threads() == min(pl.thread_pool_size(), 8)
    monkeypatch.setenv("RANKLENS_THREADS", "3")
    assert streams.threads() == 3
    monkeypatch.setenv("RANKLENS_THREADS", "none")
    with pytest.raises(
        rl.InputError, match="RANKLENS_THREADS=none is not allowed; it is a number of threads"
    ):
        streams.threads()


def test_pandas_in_chunks(tmp_path):
    pd = pytest.importorskip("pandas")
    (tmp_path / "run.csv").write_text("query,doc,score\nq,a,1\nq,b,2\nr,a,3\n")
    chunks = pd.read_csv(tmp_path / "run.csv", chunksize=2)
    assert rl.evaluate({"q": {"a": 1}, "r": {"a": 1}}, chunks, "RR").mean["RR"] == 0.75


def test_an_iterator_that_was_read():
    used = iter([])
    with pytest.raises(rl.InputError, match=r"An iterator gave nothing\. It can be read only once"):
        rl.evaluate({"q": {"a": 1}}, used, "RR")
