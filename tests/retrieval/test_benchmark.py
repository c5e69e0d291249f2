"""Benchmark: queries and judgments of every shape in, numbers and files out."""

import asyncio
import json

import pandas as pd
import polars as pl
import pytest
from worked import BENCH_A, BENCH_B, BENCH_QRELS

import ranklens as rl
from ranklens.data.files.queries import read_queries
from ranklens.data.matching import ByParent, Groups
from ranklens.errors import InputError
from ranklens.retrieval.answers import Latency, RetrieverRun

TEXTS = {"ml": "what is machine learning?", "py": "what is python?", "rag": "what is rag?"}
EXPECTED = {
    "A": {"RR": 0.4833, "P@5": 0.2667, "R@5": 0.8333, "nDCG@5": 0.5235},
    "B": {"RR": 0.3611, "P@5": 0.2667, "R@5": 0.8333, "nDCG@5": 0.4627},
}


def worked_example():
    bench = rl.Benchmark()
    for query, text in TEXTS.items():
        bench.add_query(query, text, BENCH_QRELS[query])
    bench.run("A", lambda text, k: BENCH_A[:k], k=5)

    async def b(text):
        return [(doc, 1 / rank) for rank, doc in enumerate(BENCH_B, 1)]

    bench.run("B", b, k=5, concurrency=2)
    return bench


def test_worked_example_13():
    for name, scores in worked_example().evaluate("RR, P@5, R@5, nDCG@5").items():
        assert scores.mean == pytest.approx(EXPECTED[name], abs=5e-5)


def test_worked_example_13_compared():
    bench = worked_example()
    compared = bench.compare("RR, P@5, R@5, nDCG@5", baseline="A")
    for name, expected in EXPECTED.items():
        for measure, value in expected.items():
            assert compared.result(measure, name).mean == pytest.approx(value, abs=5e-5)
    assert compared.baseline == "A"
    assert {name: len(seconds) for name, seconds in compared.latencies.items()} == {"A": 3, "B": 3}
    assert compared.status["B"] == {"ok": 3, "empty": 0, "failed": 0}
    assert compared.documents("ml", "A", "B").height > 0


def test_the_preset_for_rag_is_the_default():
    bench = worked_example()
    assert list(bench.evaluate()["A"].mean) == ["R@5", "P@5", "RR"]
    assert bench.compare().measures == ("R@5", "P@5", "RR")


QUERY_SHAPES = {
    "dict": TEXTS,
    "dict of dicts": {query: {"text": text} for query, text in TEXTS.items()},
    "records": [{"_id": query, "text": text} for query, text in TEXTS.items()],
    "records of questions": [{"id": query, "question": text} for query, text in TEXTS.items()],
    "polars": pl.DataFrame({"query": list(TEXTS), "text": list(TEXTS.values())}),
    "pandas": pd.DataFrame({"qid": list(TEXTS), "query": list(TEXTS.values())}),
}


@pytest.mark.parametrize("queries", QUERY_SHAPES.values(), ids=QUERY_SHAPES)
def test_queries_of_every_shape(queries):
    assert rl.Benchmark(queries, BENCH_QRELS).queries == TEXTS


def write(path, content):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content, encoding="utf-8")
    return path


FILES = {
    "queries.jsonl": "\n".join(json.dumps({"_id": q, "text": t, "metadata": {}}) for q, t in TEXTS.items()),
    "queries.json": json.dumps(TEXTS),
    "queries.csv": "query_id,text\n" + "\n".join(f'{q},"{t}"' for q, t in TEXTS.items()),
    "queries.tsv": "\n".join(f"{q}\t{t}" for q, t in TEXTS.items()),
    "topics.txt": "qid\tquery\n" + "\n".join(f"{q}\t{t}" for q, t in TEXTS.items()),
}


@pytest.mark.parametrize("name", FILES)
def test_queries_from_files(name, tmp_path):
    path = write(tmp_path / name, FILES[name])
    qrels = write(
        tmp_path / "qrels.txt", "".join(f"{q} 0 {d} 1\n" for q, docs in BENCH_QRELS.items() for d in docs)
    )
    bench = rl.Benchmark(path, str(qrels))
    assert bench.queries == TEXTS
    assert {query: set(grades) for query, grades in bench.qrels.items()} == BENCH_QRELS


def test_queries_from_parquet(tmp_path):
    QUERY_SHAPES["polars"].write_parquet(tmp_path / "queries.parquet")
    assert read_queries(tmp_path / "queries.parquet").texts == TEXTS


@pytest.mark.parametrize("shape", ["list", "JSONL"])
def test_questions_that_say_themselves_what_is_relevant(shape, tmp_path):
    rows = [
        {"query": "what is python?", "expected_ids": ["py_1", "py_3"]},
        {"query": "what is rag?", "expected_ids": ["rag_1"]},
    ]
    if shape == "JSONL":
        rows = write(tmp_path / "golden.jsonl", "\n".join(map(json.dumps, rows)))
    bench = rl.Benchmark(rows)
    assert bench.queries == {"what is python?": "what is python?", "what is rag?": "what is rag?"}
    assert bench.qrels["what is rag?"] == {"rag_1": 1}


def test_without_queries_the_judged_ids_are_the_texts():
    asked = []
    bench = rl.Benchmark(qrels={"capital of peru": {"d1"}, "who wrote emma": {"d3": 2}})
    bench.run("mine", lambda text: asked.append(text) or ["d3"])
    assert asked == ["capital of peru", "who wrote emma"]
    assert bench.evaluate("RR")["mine"].mean == {"RR": 0.5}


@pytest.fixture
def beir(tmp_path):
    write(
        tmp_path / "queries.jsonl",
        FILES["queries.jsonl"] + '\n{"_id": "train", "text": "of another split"}\n',
    )
    write(tmp_path / "corpus.jsonl", '{"_id": "ml_1", "title": "Learning", "text": "Machines learn."}\n')
    rows = [f"{query}\t{doc}\t1" for query, docs in BENCH_QRELS.items() for doc in sorted(docs)]
    write(tmp_path / "qrels" / "test.tsv", "\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    write(tmp_path / "qrels" / "train.tsv", "query-id\tcorpus-id\tscore\ntrain\tml_1\t1\n")
    return tmp_path


def test_a_beir_folder(beir):
    bench = rl.Benchmark(beir)
    assert bench.queries == TEXTS
    assert bench.unjudged == 1
    assert bench.corpus == beir / "corpus.jsonl"
    bench.run("A", lambda text: BENCH_A)
    assert bench.evaluate("RR")["A"].mean["RR"] == pytest.approx(0.4833, abs=5e-5)
    assert "1 query without judgments not asked" in str(bench)
    other = rl.Benchmark(beir, beir / "qrels" / "train.tsv")
    assert list(other.queries) == ["train"]


def test_judgments_from_a_table():
    table = pl.DataFrame({"qid": ["ml", "ml"], "docno": ["a", "b"], "relevance": [2, 0]})
    assert rl.Benchmark({"ml": "text"}, table).qrels == {"ml": {"a": 2, "b": 0}}
    named = pl.DataFrame({"search": ["ml"], "sku": ["a"], "stars": [4]})
    columns = {"query": "search", "doc": "sku", "grade": "stars"}
    assert rl.Benchmark({"ml": "text"}, named, columns=columns).qrels == {"ml": {"a": 4}}


def test_judged_queries_without_text_are_left_out_and_said():
    with pytest.warns(rl.RankLensWarning, match=r"2 judged queries have no text \(first: 'py'\)"):
        bench = rl.Benchmark({"ml": TEXTS["ml"]}, BENCH_QRELS)
    bench.run("A", lambda text: BENCH_A)
    assert len(bench.evaluate("RR")["A"].queries) == 1
    assert "2 judged queries without text left out" in str(bench)


def test_repeated_judgments_are_said():
    with pytest.warns(rl.RankLensWarning, match="qrels: 1 repeated"):
        assert rl.Benchmark(qrels={"a": ["d1", "d1"]}).qrels == {"a": {"d1": 1}}


def test_unanswerable_questions_of_a_golden_set_are_not_asked():
    golden = [
        {"id": "q1", "question": "Why?", "expected_ids": ["a"]},
        {"id": "q2", "question": "Who?", "expected_ids": []},
        {"id": "q3", "question": "When?", "expected_ids": [], "answerable": True},
    ]
    bench = rl.Benchmark(golden)
    bench.run("mine", lambda text: ["a"])
    assert (bench.unanswerable, bench.unjudged) == (1, 0)
    assert "1 unanswerable question not asked" in str(bench)
    assert (
        bench.evaluate("RR")["mine"].mean
        == rl.evaluate(golden, {"q1": ["a"], "q2": ["a"]}, "RR").mean
        == {"RR": 0.5}
    )
    with pytest.raises(rl.InputError, match="expects nothing for 1 question, so all are unanswerable"):
        rl.Benchmark(golden[1:2])


def test_relevant_documents_are_sets_lists_or_grades():
    bench = rl.Benchmark()
    bench.add_query("a", "text", {"d1"})
    bench.add_query("b", "text", ["d1", "d2"])
    bench.add_query("c", "text", {"d1": 3, "d2": 0})
    bench.add_query(4, "text", [7])
    bench.add_query("none", "text", [])
    assert bench.qrels == {
        "a": {"d1": 1},
        "b": {"d1": 1, "d2": 1},
        "c": {"d1": 3, "d2": 0},
        "4": {"7": 1},
        "none": {},
    }
    bench.run("mine", lambda text: [7])
    assert bench.evaluate("R@5")["mine"].per_query["R@5"].to_list() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: b.add_query("ml", "again", {"x"}), "Query 'ml' already exists"),
        (lambda b: b.add_query("x", "", {"x"}), "Query 'x' has no text: ''"),
        (lambda b: b.add_query("x", None, {"x"}), "Query 'x' has no text: None"),
        (lambda b: b.add_query("x", "text", "d1"), "query 'x' contains the str 'd1'"),
        (lambda b: b.add_query("x", "text", {"d": "high"}), "'high'"),
        (
            lambda b: rl.Benchmark([{"_id": "a", "text": "x"}, {"_id": "a", "text": "y"}], {"a": {"d"}}),
            "1 and 2 have the same id 'a'",
        ),
        (lambda b: b.add_query("x", "text", {None: 1}), "is None, which never matches"),
        (lambda b: b.add_query("x", "text", [None]), "contains None where a document id"),
        (
            lambda b: b.run("A", lambda text: BENCH_A) and b.save_runs(__file__),
            "the folder cannot be created",
        ),
        (
            lambda b: asyncio.run(b.arun("A", lambda text: BENCH_A, time_out=3)),
            "no option 'time_out': did you mean 'timeout'",
        ),
        (
            lambda b: b.run("A", lambda text: BENCH_A) and b.compare("RR", by="kind"),
            "by='kind': no query has such a field",
        ),
        (lambda b: rl.Benchmark({"a": " "}, {"a": {"d"}}), "query 'a' has no text"),
        (lambda b: rl.Benchmark([{"_id": "a"}], {"a": {"d"}}), "query 'a' has no text.*A query has an id"),
        (lambda b: rl.Benchmark([7], {"a": {"d"}}), "entry 1 is an int 7"),
        (lambda b: rl.Benchmark(7, {"a": {"d"}}), "queries is an int"),
        (
            lambda b: rl.Benchmark(
                [{"id": "a", "question": "b", "relevant_docs": ["d"]}, {"id": "c", "question": "d"}]
            ),
            "Some queries have no judgments: record 2 does not say",
        ),
        (
            lambda b: rl.Benchmark({"a": "text"}, {"b": {"d"}}),
            "no id in common .queries: 'a', judgments: 'b'",
        ),
        (lambda b: rl.Benchmark({"a": "text"}, 7), "qrels is an int"),
        (lambda b: rl.Benchmark("nowhere.jsonl", {"a": {"d"}}), "nowhere.jsonl does not exist"),
        (lambda b: rl.Benchmark().run("x", lambda text: []), "There are no queries; add some"),
        (lambda b: b.run("", lambda text: []), "name='' is not allowed"),
        (lambda b: b.run(7, lambda text: []), "name=7 is not allowed"),
        (lambda b: b.evaluate("RR"), "No retriever has run yet"),
        (
            lambda b: b.run("A", lambda text: BENCH_A) and b.evaluate("RR", failed="drop"),
            "failed='drop' is not allowed",
        ),
    ],
)
def test_wrong_input_is_refused(make, message):
    bench = rl.Benchmark(TEXTS, BENCH_QRELS)
    with pytest.raises(InputError, match=message):
        make(bench)


def test_a_damaged_file_is_named(tmp_path):
    path = write(tmp_path / "queries.jsonl", '{"_id": "a", "text"')
    with pytest.raises(InputError, match=r"queries\.jsonl cannot be read"):
        rl.Benchmark(path, {"a": {"d"}})
    with pytest.raises(InputError, match=r"this folder has no queries\.jsonl"):
        rl.Benchmark(tmp_path / "..", {"a": {"d"}})


def test_queries_added_later_ask_for_another_run():
    bench = worked_example()
    bench.add_query("new", "text", {"d"})
    with pytest.raises(InputError, match=r"'A' ran before 1 query was added \(first: 'new'\); run it again"):
        bench.evaluate("RR")


def test_failed_queries_count_as_zero_or_are_left_out():
    bench = rl.Benchmark(TEXTS, BENCH_QRELS)

    def fails_for_rag(text):
        if "rag" in text:
            raise ConnectionError("no")
        return ["ml_1", "py_1"] if "machine" in text else []

    bench.run("mine", fails_for_rag)
    zero, skip = bench.evaluate("RR")["mine"], bench.evaluate("RR", failed="skip")["mine"]
    assert zero.mean["RR"] == pytest.approx(1 / 3)
    assert "1 failed, counted as 0" in str(zero)
    assert skip.mean["RR"] == 0.5
    assert "1 failed, left out" in str(skip)
    assert bench.results["mine"].status == {"ok": 1, "empty": 1, "failed": 1}
    assert [answer.query for answer in bench.results["mine"].failures] == ["rag"]


def test_a_measure_that_looks_deeper_than_k_is_said():
    bench = rl.Benchmark(TEXTS, BENCH_QRELS)
    bench.run("mine", lambda text: BENCH_A, k=5)
    with pytest.warns(
        rl.RankLensWarning, match="R@20 looks at 20 results, but 'mine' ran with k=5; run it with k=20"
    ):
        bench.evaluate("R@20, P@10, RR")
    with pytest.warns(rl.RankLensWarning, match="R@20 looks at"):
        compared = bench.compare("R@20")
    assert compared.cautions[0].startswith("R@20 looks at 20 results, but 'mine' ran with k=5")


def test_different_groups_cannot_be_compared():
    bench = rl.Benchmark(TEXTS, BENCH_QRELS)
    bench.run("A", lambda text: BENCH_A, match=Groups([["ml_1", "ml_2"]]))
    bench.run("B", lambda text: BENCH_B)
    with pytest.raises(InputError, match="'A' and 'B' change the judgments in different ways"):
        bench.compare("RR")
    both = rl.Benchmark(TEXTS, BENCH_QRELS, match=Groups([["ml_1", "ml_2"]]))
    both.run("A", lambda text: BENCH_A)
    asyncio.run(both.arun("B", lambda text: BENCH_B))
    compared = both.compare("R@5")
    assert (
        compared.result("R@5", "A").mean
        == compared.result("R@5", "B").mean
        == pytest.approx((1 + 0.5 + 1) / 3)
    )


def test_slices_by_a_field_of_the_queries():
    bench = rl.Benchmark()
    for query, kind in (("ml", "long"), ("py", "short"), ("rag", "short")):
        bench.add_query(query, TEXTS[query], BENCH_QRELS[query], kind=kind)
    bench.run("A", lambda text: BENCH_A)
    bench.run("B", lambda text: BENCH_B)
    assert [(part.name, part.n) for part in bench.compare("RR", by="kind").slices] == [
        ("long", 1),
        ("short", 2),
    ]
    rows = [{"_id": q, "query": t, "kind": "all"} for q, t in TEXTS.items()]
    given = rl.Benchmark(rows, BENCH_QRELS)
    given.run("A", lambda text: BENCH_A)
    given.run("B", lambda text: BENCH_B)
    assert [part.name for part in given.compare("RR", by="kind").slices] == ["all"]


@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".parquet", ".csv"])
def test_saved_runs_evaluate_to_the_same(suffix, tmp_path):
    bench = worked_example()
    bench.run("a b/c: tied", lambda text: [("py_1", 0.5), ("rag_1", 0.5), ("ml_1", 0.7)])
    bench.run("failing", lambda text: ["py_1"] if "python" in text else 1 / 0)
    paths = bench.save_runs(tmp_path / "runs", suffix=suffix)
    assert sorted(path.name for path in paths.values()) == sorted(
        f"{name}{suffix}" for name in ("A", "B", "a-b-c-tied", "failing")
    )
    for name, path in paths.items():
        assert rl.evaluate(BENCH_QRELS, path, "RR, nDCG@5").mean == bench.evaluate("RR, nDCG@5")[name].mean


def test_saved_scores_are_the_retrievers_own_where_they_give_its_order(tmp_path):
    bench = worked_example()
    assert bench.results["B"].scored()["ml"] == {
        "other": 1,
        "ml_1": 1 / 2,
        "rag_1": 1 / 3,
        "py_1": 1 / 4,
        "ml_2": 1 / 5,
    }
    assert bench.results["A"].scored()["ml"] == {"ml_1": -1, "other": -2, "ml_2": -3, "py_1": -4, "rag_1": -5}
    text = bench.save_runs(tmp_path)["B"].read_text()
    assert text.splitlines()[0] == "ml Q0 other 1 1.0 B"


def test_saved_scores_stay_with_their_documents_where_matching_drops_some(tmp_path):
    bench = rl.Benchmark(qrels={"q": {"d2"}}, match=ByParent(separator="#"))
    bench.run("mine", lambda text: [("d1#0", 0.9), ("d1#1", 0.8), ("d2#0", 0.7)])
    assert bench.results["mine"].scored() == {"q": {"d1": 0.9, "d2": 0.7}}
    assert "1 result dropped (document already found)" in str(bench)


def test_a_report_with_texts_latency_and_status(tmp_path):
    bench = rl.Benchmark(TEXTS, BENCH_QRELS, corpus={"ml_1": "Machines learn."})
    bench.run("A", lambda text: BENCH_A)
    with pytest.warns(rl.RankLensWarning, match="All 3 queries of 'bad' failed"):
        bench.run("bad", lambda text: 1 / 0)
    path = bench.report(tmp_path / "report.html", "RR, R@5", title="Retrievers of May")
    assert "Retrievers of May" in path.read_text(encoding="utf-8")


def test_two_names_that_make_the_same_file_are_refused(tmp_path):
    bench = rl.Benchmark(TEXTS, BENCH_QRELS)
    bench.run("a b", lambda text: [])
    bench.run("a-b", lambda text: [])
    with pytest.raises(InputError, match="'a b' and 'a-b' would both be written to a-b"):
        bench.save_runs(tmp_path)


def test_latency_is_that_of_numpys_percentiles():
    latency = Latency.of([0.1, 0.2, 0.3, 0.4, 1.0])
    assert (latency.p50, latency.mean) == (0.3, 0.4)
    assert latency.p90 == pytest.approx(0.4 + 0.6 * 0.6)
    assert latency.p99 == pytest.approx(0.4 + 0.96 * 0.6)
    assert latency.seconds == (0.1, 0.2, 0.3, 0.4, 1.0)


def test_throughput_is_what_was_answered_in_the_time_of_the_run():
    bench = worked_example()
    result = bench.results["A"]
    assert RetrieverRun("x", 5, result.answers, wall=0.5, asked=3).throughput == 6


def test_the_table_has_status_and_latency():
    bench = rl.Benchmark(TEXTS, BENCH_QRELS)
    bench.run("ok", lambda text, k: BENCH_A[:k], k=3)
    bench.run("cut", lambda text: BENCH_A, k=3)
    bench.run("short", lambda text: BENCH_A, k=9)
    with pytest.warns(rl.RankLensWarning, match="All 3 queries of 'bad' failed"):
        bench.run("bad", lambda text: 1 / 0, k=3)
    table = bench.table()
    assert list(table.header[:6]) == ["retriever", "k", "queries", "ok", "empty", "failed"]
    assert [list(row[:6]) for row in table.rows] == [
        ["ok", "3", "3", "3", "0", "0"],
        ["cut", "3", "3", "3", "0", "0"],
        ["short", "9", "3", "3", "0", "0"],
        ["bad", "3", "3", "0", "0", "3"],
    ]
    assert list(table.rows[-1][6:]) == ["–"] * 5 + ["0.0"]
    assert "cut: more than 3 results cut in 3 queries" in table.note
    assert "short: never more than 5 results (k=9 was not passed to it)" in table.note
    assert "bad: first failure: 'ml', ZeroDivisionError: division by zero" in table.note
    assert "ok:" not in table.note
    assert "<table>" in bench._repr_html_()
    assert repr(bench) == "Benchmark(3 queries; ok, cut, short, bad)"


def test_nothing_that_was_given_is_changed():
    relevant = {"d1": 2}
    answers = ["d2", "d1"]
    bench = rl.Benchmark()
    bench.add_query("q", "text", relevant)
    bench.run("mine", lambda text: answers)
    bench.qrels["q"]["d9"] = 1
    bench.queries["x"] = "y"
    bench.evaluate("RR")
    assert relevant == {"d1": 2}
    assert answers == ["d2", "d1"]
    assert bench.qrels == {"q": {"d1": 2}}
    assert bench.queries == {"q": "text"}


def test_evaluations_are_shown_as_one_table_with_a_row_a_retriever():
    found = worked_example().evaluate("RR, R@5")
    rows = str(found).splitlines()
    assert rows[0].split() == ["retriever", "RR", "R@5"]
    assert [row.split()[:2] for row in rows[2:4]] == [["A", "0.4833"], ["B", "0.3611"]]
    assert "[" in rows[2]
    assert "<table" in found._repr_html_()
    assert isinstance(found, dict)


def test_failed_calls_are_not_shown_as_empty(tmp_path):
    bench = rl.Benchmark(TEXTS, BENCH_QRELS)
    bench.run("A", lambda text: BENCH_A)
    bench.run("B", lambda text: BENCH_B if "rag" not in text else 1 / 0)
    compared = bench.compare("RR")
    assert compared.errors == {"B": {"rag": "ZeroDivisionError: division by zero"}}
    assert "(1 failed, counted as 0)" in str(compared)
    assert "missing from the run" not in str(compared)
    assert set(compared.documents("rag")["change"]) == {"failed"}
    assert "failed" not in set(compared.documents("ml")["change"])
    assert "ZeroDivisionError: division by zero" in bench.report(tmp_path / "r.html", "RR").read_text()


def test_a_report_takes_a_corpus_and_the_options_of_compare(tmp_path, monkeypatch):
    given = {}
    monkeypatch.setattr(
        rl.Comparison, "to_html", lambda self, path, **texts: given.update(texts, by=self.baseline)
    )
    worked_example().report(
        tmp_path / "r.html", "RR", baseline="A", corpus={"ml_1": "text"}, queries={"ml": "?"}
    )
    assert given == {"corpus": {"ml_1": "text"}, "queries": {"ml": "?"}, "title": None, "by": "A"}
    worked_example().report(tmp_path / "r.html", "RR")
    assert given["queries"] == TEXTS


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"id": 1, "question": "?", "relevant_ids": ["a"]}, {"id": 2, "question": "!"}],
         r"golden.jsonl: .* record 2 does not say what is relevant; its keys are id, question, accepted are relevant, .*relevant_ids"),
        ([{"id": 1, "question": "?", "truth": ["a"]}, {"id": 2, "question": "!", "truth": ["a"]}],
         "none of them says what is relevant; its keys are id, question, truth, accepted"),
    ],
)  # fmt: skip
def test_records_without_judgments_are_named(lines, message, tmp_path):
    path = tmp_path / "golden.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def measure():
        bench = rl.Benchmark(path)
        bench.run("mine", lambda text: ["a"])  # without any judgments there is still something to ask
        bench.evaluate("RR")

    with pytest.raises(InputError, match=message):
        measure()


@pytest.mark.parametrize(
    ("name", "text"), [("my.py", "import os\nprint(1)\n"), ("a.html", "<!doctype html>\n<p>x</p>\n")]
)
def test_a_wrong_file_is_no_table_of_questions(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=f"{name} is not a table of questions; use JSONL"):
        rl.Benchmark(tmp_path / name)


def test_ids_and_scores_apart_are_told_how_to_be_joined():
    bench = rl.Benchmark(TEXTS, BENCH_QRELS)
    with pytest.raises(InputError, match=r"ids and scores in two lists; give list\(zip\(ids, scores\)\)"):
        bench.run("apart", lambda text: (["d1", "d2"], [0.9, 0.8]))
    bench.run("pairs", lambda text: (("d1", 0.9), ("d2", 0.8)))
    assert bench.results["pairs"].answers["ml"].ids == ("d1", "d2")


@pytest.mark.parametrize(("policy", "told"), [("zero", "counted as 0"), ("skip", "left out")])
def test_failed_calls_stay_failed(policy, told):
    """They are never called missing: not in tables, not in cautions, not in verdicts."""
    queries = {f"q{i}": f"text {i}" for i in range(20)}
    bench = rl.Benchmark(queries, {query: {"d1"} for query in queries})
    bench.run("sound", lambda text: ["d1"])

    def fragile(text):
        if text[-1] in "37":
            raise ConnectionError("gone")
        return ["d2", "d1"]

    bench.run("fragile", fragile)
    scores = bench.evaluate("RR", failed=policy)
    assert f"(4 failed, {told})" in scores["fragile"].note
    assert scores["fragile"].judged.applied.failed == 4
    assert scores["fragile"].judged.applied.missing == 0
    compared = bench.compare("RR", failed=policy)
    text = " ".join(str(compared).split())
    assert f"- fragile: 20% of its calls failed (4 of 20), {told}." in text
    for word in ("missing", "lack"):
        assert word not in text
        assert word not in str(scores)


def test_a_name_that_has_not_run_is_told_with_those_that_have():
    bench = rl.Benchmark({"q1": "why?"}, {"q1": {"d1"}})
    bench.run("mine", lambda text: ["d1"])
    with pytest.raises(
        InputError, match=r"^No retriever 'mien' has run: did you mean 'mine'\? Allowed: 'mine'\.$"
    ):
        bench.evaluate("RR")["mien"]
    assert bench.evaluate("RR").get("mien") is None


@pytest.mark.parametrize(("judged", "told"), [({"d1"}, False), ({"d1", "x"}, False), ({"d1", "x", "y"}, True), ({"d1": 1, "x": 0}, True)])  # fmt: skip
def test_few_judged_documents_are_no_caution_where_gold_is_one_or_two(judged, told):
    queries = {f"q{i}": f"text {i}" for i in range(20)}
    bench = rl.Benchmark(queries, dict.fromkeys(queries, judged))
    bench.run("mine", lambda text: ["d1", *(f"other{i}" for i in range(9))])
    assert any("are judged" in caution for caution in bench.compare("RR@10").cautions) is told


def test_tokens_and_cost_are_kept_summed_and_shown(tmp_path):
    queries = {"q1": "why?", "q2": "how?", "q3": "who?"}

    def paid(text):
        spent = {"tokens": 380, "cost": 0.0004} if text != "how?" else {"tokens": None, "cost": float("nan")}
        return {"documents": ["d1"], **spent}

    for _ in range(2):  # the second time from the store
        bench = rl.Benchmark(queries, {query: {"d1"} for query in queries}, store=tmp_path)
        found = bench.run("paid", paid)
        assert found.answers["q1"].tokens == 380
        assert found.answers["q2"].cost is None
        assert (found.tokens, found.cost) == (760, 0.0008)
    bench.run("free", lambda text: {"cost": 0.9, "tokens": 0.1})  # documents with scores
    assert bench.results["free"].answers["q1"].ids == ("cost", "tokens")
    assert bench.results["free"].cost is None
    header, first, second = [bench.table().header, *bench.table().rows]
    assert header[-2:] == ["tokens", "cost"]
    assert (first[-2:], second[-2:]) == (["760", "0.0008"], ["–", "–"])
    bench = rl.Benchmark(queries, {query: {"d1"} for query in queries})
    bench.run("free", lambda text: ["d1"])
    assert bench.table().header[-1] == "per second"
