"""The shapes in which teams keep golden sets and logs: lists in cells, other encodings, decimal commas, pandas' ids."""

import json

import pandas as pd
import polars as pl
import pytest

import ranklens as rl
from ranklens.data.matching import ByText

QUESTIONS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {}}
RUN = {"q1": ["x", "b"], "q2": ["c"], "q3": []}
CELLS = {
    "bar": "|".join,
    "semicolon": "; ".join,
    "comma": ", ".join,
    "lines": "\n".join,
    "json": json.dumps,
    "python": lambda ids: str(list(ids)),
}


def written(path, column, lists, divide, **options):
    rows = {"id": list(lists), "topic": ["billing"] * 3, "question": ["Why?", "Who?", "When?"]}
    rows[column] = [divide(list(ids)) if ids else "" for ids in lists.values()]
    pl.DataFrame(rows).write_csv(path, **options)
    return path


@pytest.mark.parametrize("divide", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_lists_in_cells_are_read_however_they_are_divided(tmp_path, divide, suffix, separator):
    if suffix == "tsv" and divide in (CELLS["lines"], CELLS["json"], CELLS["python"]):
        pytest.skip("TSV has no quotes around cells")
    golden = written(tmp_path / f"golden.{suffix}", "expected_ids", QUESTIONS, divide, separator=separator)
    log = written(tmp_path / f"log.{suffix}", "retrieved_ids", RUN, divide, separator=separator)
    judged = rl.judge(golden, log)
    assert list(judged.queries) == ["q1", "q2"]  # by id, not by topic
    assert judged.evaluate(["RR", "R@5"]).mean == {"RR": 0.75, "R@5": 0.75}
    assert judged.applied.unanswerable == 1
    frames = [pd.read_csv(path, sep=separator) for path in (golden, log)]
    assert rl.evaluate(*frames, ["RR", "R@5"]).mean == {"RR": 0.75, "R@5": 0.75}


def test_a_comma_divides_nothing_where_a_bar_divides(tmp_path):
    golden = tmp_path / "golden.csv"
    golden.write_text('id,relevant\nq1,"Terms, part 1|Terms, part 2"\nq2,"Faq, part 1"\n')
    assert list(
        rl.judge(golden, {"q1": ["Terms, part 2"], "q2": ["Faq, part 1"]}).evaluate("RR").values["RR"]
    ) == [1, 1]


def test_grades_texts_failures_and_times_in_cells(tmp_path):
    (tmp_path / "golden.csv").write_text("id,expected_ids,grades,answerable\nq1,a|b,1|3,yes\nq2,,,no\n")
    (tmp_path / "log.csv").write_text("id,retrieved_ids,error,latency_ms\nq1,b|a,,250\nq2,,timeout,9000\n")
    judged = rl.judge(tmp_path / "golden.csv", tmp_path / "log.csv")
    assert judged.evaluate(["nDCG@2"]).mean == {"nDCG@2": 1}
    assert judged.hits.grade.tolist() == [3, 1]
    (tmp_path / "texts.csv").write_text('id,expected_answer\nq1,"30 days, or more"\n')
    log = [{"id": "q1", "retrieved": [{"id": "c", "text": "Within 30 days or more."}]}]
    assert rl.evaluate(tmp_path / "texts.csv", log, "RR", match="text").mean == {"RR": 1}


def test_columns_of_the_user_hold_lists_too(tmp_path):
    (tmp_path / "golden.csv").write_text("number,right ones\n1,a|b\n2,c\n")
    columns = {"query": "number", "expected": "right ones"}
    assert rl.evaluate(tmp_path / "golden.csv", {"1": ["b"], "2": ["c"]}, "R@5", columns=columns).mean == {
        "R@5": 0.75
    }


def test_several_rows_of_a_question_with_one_document_each_are_refused(tmp_path):
    (tmp_path / "log.csv").write_text("id,retrieved\nq1,a\nq1,b\n")
    with pytest.raises(
        rl.InputError, match=r"log\.csv: Question 'q1' has 2 rows, each with one retrieved document"
    ):
        rl.judge({"q1": ["a"]}, tmp_path / "log.csv")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "txt"])
def test_utf_16_is_read_with_and_without_its_mark(tmp_path, encoding, suffix):
    text = {
        "csv": "query,doc,score\nq1,Größe,0.5\n",
        "jsonl": json.dumps({"id": "q1", "retrieved": ["Größe"]}, ensure_ascii=False) + "\n",
        "txt": "q1 Q0 Größe 1 0.5 tag\n",
    }[suffix]
    (tmp_path / f"run.{suffix}").write_bytes(text.encode(encoding))
    assert rl.evaluate({"q1": {"Größe"}}, tmp_path / f"run.{suffix}", "RR").mean == {"RR": 1}


def test_utf_16_that_is_damaged_is_named(tmp_path):
    (tmp_path / "run.csv").write_bytes("query,doc,score\nq1,a,0.5\n".encode("utf-16")[:-1])
    with pytest.raises(rl.InputError, match=r"run\.csv begins as UTF-16, but is not"):
        rl.judge({"q1": {"a"}}, tmp_path / "run.csv")


def test_decimal_commas_between_semicolons(tmp_path):
    (tmp_path / "run.csv").write_text("query;doc;score\nq1;a;0,25\nq1;b;1\nq1;c;-1,5e2\n")
    table = rl.judge({"q1": {"a", "b", "c"}}, tmp_path / "run.csv")
    assert table.evaluate("RR").judged.hits.rank.tolist() == [1, 2, 3]
    (tmp_path / "run.csv").write_text('query,doc,score\nq1,a,"0,25"\n')  # may be a thousand in English
    with pytest.raises(rl.InputError, match=r"'0,25' in column 'score' is not a number"):
        rl.judge({"q1": {"a"}}, tmp_path / "run.csv")


def test_ids_that_pandas_made_numbers_with_a_point(tmp_path):
    run = pd.DataFrame({"query": [1.0, 2.0], "doc": [7.0, 8.0], "score": [1, 1]})
    assert rl.evaluate({"1": {"7"}, "2": {"8"}}, run, "RR").mean == {"RR": 1}
    with pytest.raises(rl.InputError, match="contains floating-point numbers"):
        rl.judge({"1": {"7"}}, run.assign(doc=[7.0, 7.5]))
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": 1.0, "retrieved": [{"id": 7.0}]}\n')
    assert rl.evaluate([{"id": 1, "expected_ids": [7.0]}], log, "RR").mean == {"RR": 1}


@pytest.mark.parametrize(
    "name", ["contexts", "context_ids", "source_documents", "nodes", "documents", "passages"]
)
def test_names_of_frameworks_for_what_was_retrieved(tmp_path, name):
    items = [{"id": "x", "text": "no"}, {"id": "a", "text": "yes"}]
    log = [
        {
            "id": "q1",
            "topic": "billing",
            "question": "Why?",
            name: ["x", "a"] if name == "context_ids" else items,
        }
    ]
    (tmp_path / "log.json").write_text(json.dumps({"data": {"records": log}, "page": 1}))
    for run in (log, tmp_path / "log.json"):
        assert rl.evaluate({"q1": {"a"}}, run, "RR").mean == {"RR": 0.5}
    if name != "context_ids":
        assert rl.evaluate([{"id": "q1", "expected_answer": "yes"}], log, "RR", match=ByText()).mean == {
            "RR": 0.5
        }


def test_an_object_around_records_may_have_a_name_and_a_title(tmp_path):
    content = {"id": "run-7", "title": "Nightly", "results": [{"question": "Why?", "retrieved": ["a"]}]}
    (tmp_path / "log.json").write_text(json.dumps(content))
    assert rl.evaluate([{"question": "Why?", "expected": ["a"]}], tmp_path / "log.json", "RR").mean == {
        "RR": 1
    }
    (tmp_path / "golden.json").write_text(json.dumps({"records": [{"id": "q", "right": ["a"]}]}))
    assert rl.evaluate(tmp_path / "golden.json", {"q": ["a"]}, "RR", columns={"expected": "right"}).mean == {
        "RR": 1
    }


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_the_id_of_a_question_wins_over_its_topic(tmp_path, suffix):
    rows = pl.DataFrame(
        {
            "topic": ["billing"] * 2,
            "id": ["q1", "q2"],
            "question": ["Why?", "Who?"],
            "doc_id": ["a", "b"],
            "relevance": [1, 1],
        }
    )
    path = tmp_path / f"golden.{suffix}"
    {"csv": rows.write_csv, "parquet": rows.write_parquet, "jsonl": rows.write_ndjson}[suffix](path)
    for golden in (path, rows):
        assert rl.evaluate(golden, {"q1": ["a"], "q2": ["x", "b"]}, "RR").mean == {"RR": 0.75}
