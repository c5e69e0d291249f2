"""Files, records, logs and matchings, before anything is judged."""

import json
import random
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ranklens as rl
from ranklens.data.matching import ByParent, ByText, Groups

GOLDEN = [
    {"id": "q1", "question": "Why?", "expected_chunk_ids": ["c1", "c2"], "type": "deep"},
    {"id": "q2", "question": "Who?", "expected_chunk_ids": ["c3"], "type": "plain"},
    {"id": "q3", "question": "When?", "expected_chunk_ids": ["c4"], "type": "plain"},
    {"id": "q4", "question": "How tall?", "answerable": False},
    {"id": "q5", "question": "How wide?", "answerable": False},
]
LOG = [
    {"question_id": "q1", "question": "Why?", "retrieved": [{"chunk_id": "x", "score": 2}, {"chunk_id": "c1", "score": 1}]},
    {"question_id": "q3", "question": "When?", "error": "TimeoutError"},
    {"question_id": "q4", "question": "How tall?", "retrieved": []},
    {"question_id": "q5", "question": "How wide?", "retrieved": [{"chunk_id": "x", "score": 0.1}]},
]  # fmt: skip


def as_file(rows, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_json(rows, path):
    path.write_text(json.dumps(rows))
    return path.rename(path.with_suffix(".json"))


SHAPES = {
    "lists": lambda rows, path: rows,
    "jsonl": as_file,
    "json": as_json,
    "polars": lambda rows, path: pl.DataFrame(rows, strict=False),
    "pandas": lambda rows, path: pl.DataFrame(rows, strict=False).to_pandas(),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_golden_sets_and_logs_of_every_shape(shape, tmp_path):
    golden, log = (
        SHAPES[shape](rows, tmp_path / f"{name}.jsonl") for name, rows in (("g", GOLDEN), ("l", LOG))
    )
    scores = rl.evaluate(golden, log, ["RR", "R@5"])
    assert scores["RR"].tolist() == [0.5, 0, 0]
    applied = scores.judged.applied
    assert (applied.queries, applied.missing, applied.failed, applied.joined) == (3, 1, 1, "id")
    assert (applied.unanswerable, applied.abstained) == (2, 1)


def unsaid(rows):
    """The same golden set, which does not say what is unanswerable but expects nothing there."""
    plain = [{key: value for key, value in row.items() if key != "answerable"} for row in rows]
    return [{"expected_chunk_ids": [], **row} for row in plain]


@pytest.mark.parametrize("shape", SHAPES)
def test_questions_that_expect_nothing_are_not_averaged(shape, tmp_path):
    golden, log = (
        SHAPES[shape](rows, tmp_path / f"{name}.jsonl") for name, rows in (("g", unsaid(GOLDEN)), ("l", LOG))
    )
    scores = rl.evaluate(golden, log, ["RR", "R@5"])
    assert scores.mean == rl.evaluate(GOLDEN, LOG, ["RR", "R@5"]).mean
    assert scores.judged.applied == rl.evaluate(GOLDEN, LOG, "RR").judged.applied
    assert "2 unanswerable questions excluded (1 correctly returned nothing)" in scores.note


def test_golden_sets_know_what_is_unanswerable_whatever_the_run_is():
    run = {"q1": ["x", "c1"], "q4": [], "q5": ["x"]}
    scores = rl.evaluate(unsaid(GOLDEN), run, "RR")
    assert (scores.judged.applied.unanswerable, scores.judged.applied.abstained) == (2, 1)
    assert scores.judged.applied.ignored == 0


def test_plain_judgments_without_relevant_documents_keep_the_policy():
    assert rl.evaluate({"q1": {"a"}, "q2": []}, {"q1": ["a"], "q2": []}, "RR").mean == {"RR": 0.5}


def test_weak_answers_count_as_none_below_a_threshold():
    assert rl.evaluate(GOLDEN, LOG, "RR", abstain_below=0.5).judged.applied.abstained == 2


def test_a_log_without_ids_joins_by_question():
    log = [{key: value for key, value in row.items() if key != "question_id"} for row in LOG]
    scores = rl.evaluate(GOLDEN, log, "RR")
    assert scores["RR"].tolist() == [0.5, 0, 0]
    assert scores.judged.applied.joined == "text"


def test_fields_with_names_of_their_own(tmp_path):
    golden = [{"key": "q1", "gold": {"ids": ["c1"]}}]
    log = [{"key": "q1", "sources": [{"ref": "x"}, {"ref": "c1"}]}]
    columns = {"query": "key", "expected": "gold.ids", "retrieved": "sources", "doc": "ref"}
    assert rl.evaluate(golden, log, "RR", columns=columns).mean == {"RR": 0.5}
    paths = [as_file(rows, tmp_path / f"{n}.jsonl") for n, rows in enumerate((golden, log))]
    assert rl.evaluate(*paths, "RR", columns=columns).mean == {"RR": 0.5}
    table = tmp_path / "run.csv"
    table.write_text("frage,stelle,wert\nq1,x,2\nq1,c1,1\n")
    own = {"query": "frage", "doc": "stelle", "score": "wert"}
    assert rl.evaluate({"q1": ["c1"]}, table, "RR", columns=own).mean == {"RR": 0.5}


def test_a_comparison_of_logs_knows_texts_failures_and_fields(tmp_path):
    other = [{"question_id": f"q{i}", "retrieved": [f"c{i}"], "latency_ms": 5} for i in (1, 2, 3)]
    found = rl.compare(GOLDEN, {"a": LOG, "b": other}, "RR", by="type", test="t")
    assert found.errors == {"a": {"q3": "TimeoutError"}}
    assert found.latencies == {"b": [0.005] * 3}
    assert found.evidence.texts["q2"] == "Who?"
    assert {part.name for part in found.slices} == {"deep", "plain"}


RUNS = {
    "lists": {"q": ["d2#1", "d1#4", "d1#7"]},
    "scores": {"q": {"d1#7": 0.1, "d2#1": 0.9, "d1#4": 0.5}},
    "table": pl.DataFrame({"query": ["q"] * 3, "doc": ["d1#7", "d2#1", "d1#4"], "score": [0.1, 0.9, 0.5]}),
    "log": [{"id": "q", "retrieved": [{"chunk_id": "d2#1"}, {"chunk_id": "d1#4"}, {"chunk_id": "d1#7"}]}],
}


@pytest.mark.parametrize("shape", RUNS)
def test_matching_for_every_kind_of_run(shape):
    qrels, run, match = {"q": {"d1": 1, "d9": 1}}, RUNS[shape], ByParent(separator="#")
    scores = rl.evaluate(qrels, run, ["RR", "P@2", "NumRet"], match=match)
    assert scores.mean == {"RR": 0.5, "P@2": 0.5, "NumRet": 2}
    assert rl.explain("RR", qrels, run, query="q", match=match).value == 0.5
    compared = rl.compare(qrels, {"a": run, "b": {"q": ["d1#0"]}}, "RR", match=match, test="t")
    assert [compared.result("RR", name).mean for name in "ab"] == [0.5, 1]
    assert {*compared.documents("q", "a", "b")["doc"]} == {"d1", "d2", "d9"}


def test_groups_change_the_judgments_too():
    scores = rl.evaluate({"q": {"a2", "b"}}, {"q": ["a", "a2"]}, "R@2", match=Groups([["a", "a2"]]))
    assert scores.mean == {"R@2": 0.5}


def test_texts_instead_of_ids():
    golden = [{"id": "q", "question": "Where?", "expected_answer": "the capital of Peru"}]
    log = [
        {
            "id": "q",
            "retrieved": [
                {"id": 1, "text": "Peru is large."},
                {"id": 2, "text": "Lima is the capital of Peru!"},
            ],
        }
    ]
    assert rl.evaluate(golden, log, "RR", match=ByText()).mean == {"RR": 0.5}
    assert rl.evaluate({"q": ["Lima"]}, {"q": ["d1"]}, "RR", match=ByText(corpus={"d1": "Lima!"})).mean == {
        "RR": 1
    }


def test_a_match_that_is_none_is_refused():
    with pytest.raises(
        rl.InputError, match=r"match=7 is not allowed; use text such as .*, or one of ranklens\.matching"
    ):
        rl.evaluate({"q": ["a"]}, {"q": ["a"]}, "RR", match=7)


def test_ids_of_the_wrong_kind_are_noticed_from_the_first_question_on():
    with pytest.warns(rl.RankLensWarning, match="None of the retrieved documents is judged"):
        rl.evaluate([{"id": "q", "expected": ["a"]}], [{"id": "q", "retrieved": ["7"]}], "RR")


def test_chunks_of_judged_documents_are_noticed():
    with pytest.warns(rl.RankLensWarning) as told:
        rl.evaluate([{"id": "q", "expected": ["d1"]}], [{"id": "q", "retrieved": ["d1#3"]}], "RR")
    assert any("""choose match=ByParent(separator="#")""" in str(warning.message) for warning in told)


def test_swapped_arguments_are_noticed():
    rng = random.Random(1)
    run = {f"q{i}": {f"d{n}": rng.random() * 20 for n in range(10)} for i in range(5)}
    qrels = {f"q{i}": {"d1": 1, "d2": 2} for i in range(5)}
    for gold in (qrels, {query: {*docs} for query, docs in qrels.items()}):
        with pytest.raises(rl.InputError, match="look swapped"):
            rl.evaluate(run, gold, "RR")
    with pytest.warns(rl.RankLensWarning, match="look swapped"):
        rl.evaluate({"q": {"a": 0.5, "b": 1}}, {"q": {"a": 2, "b": 1}}, "nDCG")
    rl.evaluate({"q": {"a": 0.5, "b": 1}}, {"q": {"a": 12, "b": 7}}, "nDCG")  # grades may be fractions


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({"1": {"10": 1}}, {1: ["x"], "1": ["10"]}, r"1 and '1' among the queries are the same id"),
        (
            {"1": {"10": 1}},
            {1: {"10": 0.1, 10: 0.9}},
            r"'10' and 10 among the documents of query .1. are the same id",
        ),
        ({1: {"10": 1}, "1": {"9": 1}}, {"1": ["10"]}, r"1 and '1' among the queries are the same id"),
    ],
)
def test_ids_that_are_the_same_as_text_are_refused(qrels, run, message):
    with pytest.raises(rl.InputError, match=message):
        rl.evaluate(qrels, run, "RR")


def test_a_column_that_says_id_is_the_id():
    """Beside it, 'query' and 'doc' are texts."""
    rows = {"query_id": ["q1"], "query": ["who?"], "doc_id": ["a"], "doc": ["It was a."], "score": [1.0]}
    assert rl.evaluate({"q1": {"a": 1}}, pl.DataFrame(rows), "RR").mean == {"RR": 1.0}
    assert rl.evaluate(
        {"q1": {"a": 1}}, pl.DataFrame({"topic": ["t"], "query": ["q1"], "doc": ["a"], "score": [1.0]}), "RR"
    ).mean == {"RR": 1.0}


def test_an_iterator_cannot_be_two_systems():
    frame = pl.DataFrame({"query": ["q1"], "doc": ["a"], "score": [1.0]})
    pieces = iter([frame, frame])
    with pytest.raises(rl.InputError, match="'a' and 'b' are the same iterator, which can be read only once"):
        rl.compare({"q1": {"a": 1}}, {"a": pieces, "b": pieces}, "RR")


def test_messages_about_repeated_documents_know_where(tmp_path):
    rows = pl.DataFrame({"query": ["q1", "q1"], "doc": ["a", "a"], "score": [2.0, 1.0]})
    rows.write_csv(tmp_path / "run.csv")
    rows.with_columns(score=pl.Series([1.0, float("nan")]), doc=pl.Series(["a", "b"])).write_csv(
        tmp_path / "nan.csv"
    )
    gold = {"q1": {"a": 1}}
    for run in ({"q1": ["a", "a"]}, rows, tmp_path / "run.csv"):
        with pytest.warns(rl.RankLensWarning, match="1 repeated document was dropped") as told:
            rl.evaluate(gold, run, "RR")
        assert (told[0].message.query, told[0].message.document) == ("q1", "a")
        with pytest.raises(rl.PolicyError) as wrong:
            rl.evaluate(gold, run, "RR", duplicates="error")
        assert (wrong.value.query, wrong.value.document) == ("q1", "a")
    assert wrong.value.path == str(tmp_path / "run.csv")
    with pytest.raises(rl.InputError, match="the score of document 'b' for query 'q1' is nan") as wrong:
        rl.evaluate(gold, tmp_path / "nan.csv", "RR")
    assert wrong.value.path == str(tmp_path / "nan.csv")


def test_rows_may_be_a_list_of_dicts():
    """As json.load gives them, or a cursor of a database."""
    rows = [{"query": "q1", "doc": doc, "score": score} for doc, score in (("x", 1), ("a", 0.5))]
    gold = [{"query": "q1", "doc": "a", "grade": 1}]
    assert rl.evaluate(gold, rows, "RR").mean == {"RR": 0.5}
    assert rl.evaluate({"q1": {"a": 1}}, (dict(row) for row in rows), "RR").mean == {"RR": 0.5}
    mine = [{"query": "q1", "my_id": row["doc"], "score": row["score"]} for row in rows]
    assert rl.evaluate({"q1": {"a": 1}}, mine, "RR", columns={"doc": "my_id"}).mean == {"RR": 0.5}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.compare({}, {}, basline="a"), "There is no argument 'basline': did you mean 'baseline'?"),
        (lambda: rl.evaluate({}, {}, measure="RR"), "There is no argument 'measure': did you mean 'measures'?"),
        (lambda: rl.evaluate({}, {}, tise="input"), "There is no argument 'tise': did you mean 'ties'?"),
        (lambda: rl.evaluate_scores([], [], [], "RR", size=3), "There is no argument 'size': did you mean 'sizes'?"),
        (lambda: rl.evaluate_embeddings([[1]], [[1]], {}, "RR", exlude=1), "did you mean 'exclude'?"),
        (lambda: rl.evaluate({}, {}, policy={"ties": "average"}), "is not a Policy; pass its fields one by one, as in ties"),
        (lambda: rl.evaluate_embeddings([[1]], [[1]], {}, "RR", batch="large"), "batch='large' is not allowed"),
        (lambda: rl.evaluate({"q": {"a": 1}}, []), "run is an empty list"),
        (lambda: rl.evaluate({"q": {"a": 1}}, iter([pl.DataFrame({"query": ["q"], "doc": ["a"], "score": [1]}), None])), "a piece is None"),
        (lambda: rl.evaluate({"q": {"a": 1}}, pl.LazyFrame({"query": ["q"]}).select("doc")), "The LazyFrame cannot be read"),
    ],
)  # fmt: skip
def test_slips_get_one_clear_error(call, message):
    with pytest.raises(rl.RankLensError, match=re.escape(message)):
        call()


def test_nan_is_no_document():
    """As pandas has it where there is none; None is refused, too."""
    for nothing in (float("nan"), None):
        with pytest.raises(rl.InputError, match="where a document id, or a pair of id and number, should be"):
            rl.evaluate({"q1": {"nan": 1}}, {"q1": [nothing, "d1"]}, "RR")


def test_a_path_that_was_an_address_says_so():
    with pytest.raises(rl.InputError, match=r"A Path drops a slash of an address; pass s3://… as text"):
        rl.evaluate({"q1": {"a": 1}}, Path("s3://bucket/run.parquet"), "RR")


@pytest.mark.parametrize("odd", [7.0, b"7", True])
def test_ids_of_several_spellings_are_refused(odd):
    for qrels, run in (({"q": {"7": 1}}, {"q": {odd: 1.0}}), ({"7": {"d": 1}}, {odd: {"d": 1.0}})):
        with pytest.raises(rl.InputError, match=r"an id is a text or a whole number"):
            rl.evaluate(qrels, run, "RR")


def test_whole_numbers_are_the_same_id_in_all_rows():
    rows = [{"query": "q", "doc": doc, "score": score} for doc, score in (("x", 1), (7.0, 3), (8, 2))]
    assert rl.evaluate({"q": {"7": 1}}, rows, "RR").mean == {"RR": 1.0}
    assert rl.evaluate({"q": {"7": 1}}, pd.DataFrame(rows), "RR").mean == {"RR": 1.0}


@pytest.mark.parametrize("number", ["1_000", "٣", " 2", "2 ", "x", None])
def test_numbers_in_dicts_are_those_of_files(number):
    with pytest.raises(rl.InputError, match="not a number"):
        rl.evaluate({"q": {"a": 1}}, {"q": {"a": number, "b": "1"}}, "RR")
    with pytest.raises(rl.InputError, match="not a number"):
        rl.evaluate({"q": {"a": number, "b": "1"}}, {"q": {"a": 1}}, "RR")
    assert rl.evaluate({"q": {"a": "1"}}, {"q": {"a": "2.5", "b": "3"}}, "RR").mean == {"RR": 0.5}


def test_columns_that_differ_by_case_are_refused():
    frame = pl.DataFrame({"query": ["q1", "q1"], "doc": ["d1", "d2"], "score": [2, 1], "Score": [1, 2]})
    with pytest.raises(
        rl.InputError, match="The columns 'score' and 'Score' have the same name but for its spelling"
    ):
        rl.evaluate({"q1": {"d1": 1}}, frame, "RR")


def test_two_columns_of_one_name_are_refused():
    twice = pd.DataFrame([["q1", "d1", 1.0, 2.0]], columns=["query", "doc", "score", "score"])
    for frame in (twice, pa.table([["q1"], ["d1"], [1.0], [2.0]], names=["query", "doc", "score", "score"])):
        with pytest.raises(rl.InputError, match="Two columns are called 'score'"):
            rl.evaluate({"q1": {"d1": 1}}, frame, "RR")


def test_the_repeated_judgment_is_named():
    with pytest.warns(rl.RankLensWarning, match="first: document 'a' of query 'q'"):
        rl.evaluate({"q": ["a", "a", "b"]}, {"q": ["a"]}, "RR")


def test_rows_and_records_in_lists_are_told_apart():
    """A record may name a document beside what was retrieved or expected; a row is about that document."""
    logged = [{"question_id": "q", "document": "faq", "score": 0.9, "retrieved": ["a", "b"]}]
    assert rl.evaluate({"q": {"a": 1}}, logged, "RR").mean == {"RR": 1.0}
    golden = [{"id": "1", "question": "what", "document": "handbook.pdf", "expected_ids": ["a", "b"]}]
    answered = [{"id": "1", "question": "what", "retrieved": ["a", "x"]}]
    assert rl.evaluate(golden, answered, "RR").mean == {"RR": 1.0}
    rows = [{"query": "q", "doc": "a", "score": 0.5, "answer": "no list"}]
    assert rl.evaluate({"q": {"a": 1}}, rows, "RR").mean == {"RR": 1.0}


@pytest.mark.parametrize("given", [list, iter, pl.DataFrame])
def test_rows_know_more_than_a_grade(given):
    rows = [
        {"query": "q", "doc": "a", "grade": 1, "junk": False},
        {"query": "q", "doc": "b", "grade": 0, "junk": True},
    ]
    assert rl.evaluate(given(rows), {"q": ["b", "a"]}, "RR").mean == {"RR": 1.0}


@pytest.mark.parametrize("as_table", [False, True])
def test_queries_of_several_types_are_told_apart_as_text(as_table, tmp_path):
    """Whatever the first id is, and whatever the run comes in."""

    def run(ids):
        if not as_table:
            return {id_: ["a"] for id_ in ids}
        (tmp_path / "run.csv").write_text("query,doc,score\n" + "".join(f"{id_},a,1\n" for id_ in ids))
        return tmp_path / "run.csv"

    assert rl.evaluate({"1": {"a": 1}, 2: {"a": 1}}, run(["1", "2"]), "RR").mean == {"RR": 1.0}
    assert rl.evaluate({"1": {"a": 1}, "2": {"a": 1}}, run(["1", 2]), "RR").mean == {"RR": 1.0}
    with pytest.raises(rl.InputError, match="'1' and 1 among the queries are the same id"):
        rl.evaluate({"1": {"a": 1}, 1: {"b": 1}}, run(["1"]), "RR")
    with pytest.raises(rl.InputError, match=r"7\.0 among the documents of query '1' is a float"):
        rl.evaluate({"1": {7.0: 1}}, run(["1"]), "RR")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rl.evaluate({"1": {"7": 1}}, {1: {np.float32(7): 1.0}}, "RR"),
            "is a float32; an id is a text",
        ),
        (lambda: rl.evaluate({"1": {"7": 1}}, {1: {np.True_: 1.0}}, "RR"), "is a bool_?; an id is a text"),
        (
            lambda: rl.evaluate({"1": {"7": 1}}, {"1": ["7", pd.NA]}, "RR"),
            "contains <NA> where a document id",
        ),
        (
            lambda: rl.evaluate({"q": {"a": 1}}, [{"query": "q", "doc": "a", "score": 1, 5: 3}], "RR"),
            "The key 5 of a row is an int; the name of a column is a text",
        ),
    ],
)
def test_what_is_no_id_is_refused(call, message):
    with pytest.raises(rl.InputError, match=message):
        call()


MANY = {f"q{i}": {"0": 1.0, "x": 0.5} for i in range(5_000)}  # more than what is looked at closely


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ({"q": {"1": 1, "2": 1}}, {"q": {"2": 2.0, 1: 1.0}}),
        ({"q": {"1": 1, 2: 1}}, {"q": {"1": 2.0, "2": 1.0}}),
        ({"q": {"1": 1}, "p": {"1": 1}}, {"q": {"1": 2.0}, "p": {1: 2.0}}),
        ({"q": {"1": 1, "2": 1}}, {"q": ["2", 1]}),
        ({"q": {1, "2"}}, {"q": ["2", "1"]}),
        ({"q": ["a", 7]}, {"q": [("a", 2.0), ("7", 1.0)]}),
        ({"q": {"a": 1, 7: 1}}, pl.DataFrame({"query": "q", "doc": ["a", "7"], "score": [2.0, 1.0]})),
        ({q: {"0": 1} for q in MANY} | {"late": {"0": 1}}, MANY | {"late": {0: 1.0, 1: 0.5}}),
        ({q: {"0": 1} for q in MANY} | {"late": {0: 1}}, MANY | {"late": {"0": 1.0, "1": 0.5}}),
        ({"q": {"0": 1}}, {"other": {"0": 1.0}, "q": {0: 1.0}}),
    ],
)
def test_documents_of_several_types_are_told_apart_as_text(qrels, run):
    assert rl.evaluate(qrels, run, "AP").mean == {"AP": 1.0}
    assert rl.evaluate(rl.judgments(qrels), run, "AP").mean == {"AP": 1.0}


@pytest.mark.filterwarnings("ignore:None of the retrieved documents is judged")
@pytest.mark.parametrize("ids", [str, int])
def test_many_rankings_without_any_judgment(ids):
    """Nothing can be told of types then."""
    run = {q: {ids(7): 1.0} for q in MANY}
    for gold in ({q: {} for q in run}, {q: {ids(1000): 1} for q in run}):
        assert rl.evaluate(gold, run, "AP").mean == {"AP": 0.0}


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT])
def test_nothing_is_no_id_in_any_shape(nothing):
    gold = {"q": {"a": 1}}
    with pytest.raises(rl.InputError, match=r"an id is a text or a whole number|None never matches anything"):
        rl.evaluate(gold, {"q": {"a": 1.0, nothing: 2.0}}, "RR")
    rows = [{"query": "q", "doc": nothing, "score": 2.0}, {"query": "q", "doc": "a", "score": 1.0}]
    for run in (
        rows,
        pd.DataFrame(rows),
        pl.DataFrame({"query": "q", "doc": [None, "a"], "score": [2.0, 1.0]}),
    ):
        with pytest.raises(rl.InputError, match="run: row 1: the doc is missing"):
            rl.evaluate(gold, run, "RR")
    judged = [{"query": "q", "doc": "a", "grade": 1}, {"query": nothing, "doc": "b", "grade": 1}]
    with pytest.raises(rl.InputError, match="qrels: row 2: the query is missing"):
        rl.evaluate(judged, {"q": ["a"]}, "RR")


def test_bytes_in_rows_are_refused():
    with pytest.raises(rl.InputError, match="'doc' of a row is b'a', which is bytes; decode it"):
        rl.evaluate({"q": {"a": 1}}, [{"query": "q", "doc": b"a", "score": 1.0}], "RR")


def test_pyterrier_numbers_documents_beside_their_ids():
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["d1"], "label": [1]})
    run = pd.DataFrame(
        {
            "qid": "1",
            "docid": [17, 42],
            "docno": ["d1", "d2"],
            "rank": [0, 1],
            "score": [9.0, 8.0],
            "query": "who?",
        }
    )
    assert rl.evaluate(qrels, run, "RR").mean == {"RR": 1.0}


def test_a_log_may_begin_with_a_call_that_failed():
    log = [
        {"query_id": "q1", "retrieved": None, "item": "z", "error": "timeout"},
        {"query_id": "q2", "retrieved": ["c1"], "item": "z"},
    ]
    assert rl.evaluate({"q2": {"c1": 1}}, log, "RR").mean == {"RR": 1.0}


def test_names_of_columns_are_checked_for_prepared_judgments():
    with pytest.raises(rl.InputError, match="there is no 'quer': did you mean 'query'"):
        rl.evaluate(rl.judgments({"q": {"a": 1}}), {"q": ["a"]}, "RR", columns={"quer": "x"})


def test_a_column_of_systems_holds_names():
    run = pl.DataFrame({"system": [["a"]], "query": ["q"], "doc": ["a"], "score": [1.0]})
    with pytest.raises(
        rl.InputError, match=r"the column 'system' contains List\(String\), not the name of a system"
    ):
        rl.evaluate({"q": {"a": 1}}, run, "RR")


def test_judgments_in_pieces_know_more_than_a_grade():
    rows = pl.DataFrame({"query": "q", "subtopic": ["s", "t"], "doc": ["a", "b"], "grade": 1})
    for qrels in ([rows[:1], rows[1:]], iter([rows[:1], rows[1:]]), rows.to_arrow().to_reader(1)):
        assert rl.evaluate(qrels, {"q": ["a", "b"]}, "StRecall@1").mean == {"StRecall@1": 0.5}
    with pytest.raises(rl.InputError, match="some parts have no column of subtopics, and others do"):
        rl.evaluate([rows[:1], rows[1:].drop("subtopic")], {"q": ["a"]}, "RR")
    junk = pl.DataFrame({"query": "q", "doc": ["b"], "grade": 0, "junk": True})
    assert rl.evaluate([junk, rows[:1].drop("subtopic")], {"q": ["b", "a"]}, "RR").mean == {"RR": 1.0}


def test_ids_of_numpy_are_looked_at_without_adding_them_up():
    """Which would overflow, and warn: warnings are errors here."""
    found = np.random.default_rng(0).integers(1 << 30, (1 << 31) - 1, (60, 100), dtype=np.int32)
    run = {f"q{i}": dict(zip(docs, np.linspace(1, 0, 100), strict=True)) for i, docs in enumerate(found)}
    gold = {f"q{i}": {docs[1]: 1} for i, docs in enumerate(found)}
    assert rl.evaluate(gold, run, "RR").mean == {"RR": 0.5}


def test_none_is_refused_wherever_it_stands():
    run = {**{f"u{i}": {f"x{i}": 1.0} for i in range(6000)}, "q": {"b": 1.0, None: 0.7, "a": 0.5}}
    with pytest.raises(rl.InputError, match="run: the id of a query or document is None"):
        rl.evaluate({"q": {"a": 1}}, run, "RR")


def test_texts_of_another_class_are_texts():
    class Text(str):
        __slots__ = ()

        def __str__(self):
            return self

    run = {q: {Text("a") if i % 2 else "b": 1.0} for i, q in enumerate(MANY)}
    assert rl.evaluate({q: {"zz": 1, "a": 1} for q in run}, run, "Success@1").mean == {"Success@1": 0.5}


@pytest.mark.parametrize(
    "column", [pl.Series([["a"], ["b"]]), pl.Series([{}, None], dtype=pl.Object)], ids=["list", "object"]
)
def test_a_column_of_systems_holds_names_in_comparisons(column):
    runs = pl.DataFrame({"query": "q", "doc": ["a", "b"], "score": [1.0, 2.0]})
    for call in (rl.compare, rl.evaluate):
        with pytest.raises(rl.InputError, match="not the name of a system"):
            call({"q": {"a": 1}}, runs.with_columns(column.alias("system")), "RR")


def test_odd_values_of_pandas_columns():
    rows = {"query": "q", "doc": pd.Series(["a", np.datetime64("NaT")], dtype=object), "score": [1.0, 2.0]}
    with pytest.raises(rl.InputError, match="run: row 2: the doc is missing"):
        rl.evaluate({"q": {"a": 1}}, pd.DataFrame(rows), "RR")
    rows["doc"] = pd.Series(["a", Fraction(10**400)], dtype=object)
    assert rl.evaluate({"q": {"a": 1}}, pd.DataFrame(rows), "RR").mean == {"RR": 0.5}


@pytest.mark.parametrize("qrels", [{"q": {"": 1, "b": 1}}, {"q": {""}}, {"q": {"s": {"": 1}}}, pl.DataFrame({"query": ["q"], "doc": [""], "grade": [1]})])  # fmt: skip
@pytest.mark.parametrize("run", [{"q": [""]}, {"q": {"": 1.0}}])
def test_an_empty_id_is_not_judged(qrels, run):
    with pytest.raises(rl.InputError, match="is empty"):
        rl.evaluate(qrels, run, "RR")
    assert rl.evaluate({"q": {"a"}}, {"q": ["", "a"]}, "RR").mean["RR"] == 0.5
