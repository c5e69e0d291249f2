import inspect
import json
import pickle
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import ranklens as rl
from ranklens.report import chart_data

QRELS = {f"q{i}": {"a": 1, "b": 2} for i in range(8)}
RUN = {f"q{i}": ["x"] * 0 + [f"x{j}" for j in range(i % 4)] + ["a", "b"] for i in range(8)}
MEASURES = ["nDCG@10", "RR", "P@2", "NumRet", "gm_AP"]


@pytest.fixture
def scores():
    return rl.evaluate(QRELS, RUN, MEASURES)


def test_means_and_values(scores):
    assert list(scores.mean) == MEASURES
    assert scores.mean["RR"] == pytest.approx(np.mean([1 / (i % 4 + 1) for i in range(8)]))
    assert scores.mean["NumRet"] == sum(i % 4 + 2 for i in range(8))
    assert scores.mean["mrr"] == scores.mean["RR"]
    with pytest.raises(rl.MeasureError, match="AP was not evaluated"):
        scores.mean["map"]
    low, high = scores.interval("RR")
    assert low < scores.mean["RR"] < high
    assert scores.policy == rl.Policy()
    assert repr(scores.judged) == "Judged(8 queries, 16 judged documents retrieved of 16)"
    assert scores["MRR"].tolist() == [1 / (i % 4 + 1) for i in range(8)]
    with pytest.raises(rl.MeasureError, match="AP was not evaluated"):
        scores["AP"]


@pytest.mark.parametrize("options", [{}, {"rel": 2}, {"convention": "ranx"}])
def test_means_are_found_as_they_were_asked_for(options):
    scores = rl.evaluate(QRELS, RUN, ["mrr", "hit@5", "ndcg_cut_5"], **options)
    canonical = [*scores.mean]
    for asked, name, other in zip(
        ["mrr", "hit@5", "ndcg_cut_5"], canonical, ["RR", "Success_5", "nDCG@5"], strict=True
    ):
        for spelling in (asked, name, other):
            assert spelling in scores.mean
            assert scores.mean[spelling] == scores.mean.get(spelling) == dict(scores.mean)[name]
            assert scores.interval(spelling) == scores.interval(rl.measure(name))
            assert scores[spelling].tolist() == scores.per_query[asked].to_list()
    assert len(scores.mean) == 3
    assert json.loads(json.dumps(scores.mean)) == {name: scores.mean[name] for name in canonical}
    for wrong in ("map", "nothing of the kind", 5, None):
        assert wrong not in scores.mean
        assert scores.mean.get(wrong, 0.5) == 0.5
    again = pickle.loads(pickle.dumps(scores.mean))
    assert again["hit@5"] == scores.mean["hit@5"]


def test_comparisons_find_measures_as_they_were_asked_for():
    compared = rl.compare(QRELS, {"a": RUN, "b": QRELS}, ["mrr", "hit@1"], rel=2)
    assert compared.measures == ("RR(rel=2)", "Success(rel=2)@1")
    for asked, name in zip(["mrr", "hit@1"], compared.measures, strict=True):
        assert compared.pair(asked, "a", "b") == compared.pair(name, "a", "b")


def test_the_type_does_not_depend_on_how_many_measures_were_asked():
    one = rl.evaluate(QRELS, RUN, "RR")
    assert isinstance(one, rl.Scores)
    assert one.mean == {"RR": pytest.approx(0.5208333)}
    assert one.per_query.columns == ["query", "RR"]


def test_per_query_frame(scores):
    frame = scores.per_query
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["query", *MEASURES]
    assert frame["query"].to_list() == list(QRELS)
    assert frame["RR"].to_list() == scores["RR"].tolist()


def test_interval_equals_scipy(scores):
    values = scores["nDCG@10"]
    low, high = stats.t.interval(0.9, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
    interval = scores.interval("ndcg@10", level=0.9)
    assert (interval.low, interval.high) == pytest.approx((low, high))
    assert (interval.level, interval.method, interval.clipped) == (0.9, "t", False)


def test_interval_of_a_geometric_mean_is_one_of_logarithms(scores):
    logs = np.log(scores["gm_AP"])
    expected = np.exp(stats.t.interval(0.95, len(logs) - 1, loc=logs.mean(), scale=stats.sem(logs)))
    interval = scores.interval("gm_AP")
    assert (interval.low, interval.high) == pytest.approx((expected[0], min(expected[1], 1)))


def test_intervals_of_little_data_answer_sensibly():
    one = rl.evaluate({"q": {"a"}}, {"q": ["a"]}, ["RR", "DCG"])
    assert (one.interval("RR").low, one.interval("RR").high) == (0, 1)  # one query tells nothing
    assert one.interval("DCG").high == np.inf
    assert "[0.0000, 1.0000]" in str(one)
    constant = rl.evaluate({"p": {"a"}, "q": {"a"}}, {"p": ["a"], "q": ["a"]}, "RR").interval("RR")
    assert (constant.low, constant.high) == pytest.approx(
        proportion_confint(2, 2, method="wilson")
    )  # the third may fail
    wide = rl.evaluate({"p": {"a"}, "q": {"a"}}, {"p": ["a"], "q": ["b"]}, "RR").interval("RR")
    assert (wide.low, wide.high) == pytest.approx(proportion_confint(1, 2, method="wilson"))
    assert (wide.method, wide.clipped) == ("wilson", False)


def test_a_sum_has_no_interval(scores):
    with pytest.raises(rl.MeasureError, match="not a mean"):
        scores.interval("NumRet")
    with pytest.raises(rl.InputError, match="level=95"):
        scores.interval("RR", level=95)


def test_tables_and_frames(scores):
    frame = scores.to_frame()
    assert frame.columns == ["measure", "mean", "low", "high"]
    assert frame.row(0, named=True)["mean"] == scores.mean["nDCG@10"]
    assert frame.filter(pl.col("measure") == "NumRet")["low"].to_list() == [None]
    pandas = scores.to_pandas()
    assert pandas.index.name == "query"
    assert pandas["RR"].tolist() == scores["RR"].tolist()


def test_a_missing_package_is_named_with_its_install_command(scores, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(rl.MissingExtraError, match="pip install pandas"):
        scores.to_pandas()


def test_json_has_everything_and_a_version(scores):
    content = json.loads(scores.to_json())
    assert content["format_version"] == 1
    assert content["measures"][1]["measure"] == "RR"
    assert content["values"]["RR"] == scores["RR"].tolist()
    assert content["policy"]["ties"] == "descending"
    assert content["applied"]["queries"] == 8


def test_print_states_what_was_averaged_over():
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"b": 0}, "q4": {"a": 1}}
    run = {"q1": {"a": 2.0, "c": 1.0}, "q3": {"b": 1.0}, "q4": {"a": 1.0, "c": 1.0}, "q5": {"a": 1.0}}
    text = str(rl.evaluate(qrels, run, ["P@1", "NumRet"]))
    assert text.splitlines()[0].split() == ["measure", "mean", "95%", "interval"]
    assert text.splitlines()[-1] == (
        "4 queries averaged (1 missing from the run counts as 0, 1 without relevant documents); "
        "1 unjudged query of the run ignored; ties by document id, descending (judged documents tie in 1 query, across the cutoff 1 in 1); "
        "67% of the top 1 judged; modified Wilson intervals."
    )


def test_notebook_table_is_escaped():
    from ranklens.tables.table import Table

    assert "<script>" not in Table(["<script>"], [["<b>"]], note="<i>").to_html()
    assert "<table>" in rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "RR")._repr_html_()


def test_repr_is_short(scores):
    assert repr(scores).startswith("Scores(nDCG@10=0.")


def test_more_measures_without_judging_again(monkeypatch):
    judged = rl.judge(QRELS, RUN)
    monkeypatch.setattr("ranklens.judging.assembly.from_dicts", None)
    more = judged.evaluate(["P@1", "rag"])
    assert list(more.mean) == ["P@1", "R@5", "P@5", "RR"]
    assert more.judged is judged


def test_tables_and_frames_show_measures_as_they_were_asked_for():
    scores = rl.evaluate(QRELS, RUN, "hit@5, mrr, ndcg@10, P@2")
    asked = ["hit@5", "mrr", "ndcg@10", "P@2"]
    assert [row[0] for row in scores.table().rows] == asked
    assert scores.to_frame()["measure"].to_list() == asked
    assert scores.per_query.columns == ["query", *asked]
    assert scores.to_pandas().columns.to_list() == asked
    assert scores.note.endswith(
        "descending; hit@5 is Success@5; mrr is RR; ndcg@10 with gain = linear; intervals by Wilson (hit@5), score (mrr, ndcg@10 and P@2)."
    )
    assert scores.mean["hit@5"] == scores.mean["Success@5"] == scores.mean["hit_rate@5"] == 1
    found = json.loads(scores.to_json())
    assert [row["measure"] for row in found["measures"]] == ["Success@5", "RR", "nDCG@10", "P@2"]
    assert [row["asked"] for row in found["measures"]] == asked
    assert [*found["values"]] == [*scores.mean] == ["Success@5", "RR", "nDCG@10", "P@2"]


def test_a_spelling_stays_when_the_policy_adds_its_relevance_level():
    scores = rl.evaluate(QRELS, RUN, "hit@1, P@2", rel=2)
    assert [row[0] for row in scores.table().rows] == ["hit@1", "P(rel=2)@2"]
    assert "hit@1 is Success(rel=2)@1" in scores.note


def test_the_default_measures_are_those_of_a_benchmark():
    functions = (rl.evaluate, rl.compare, rl.Benchmark.evaluate, rl.Benchmark.compare)
    assert {inspect.signature(function).parameters["measures"].default for function in functions} == {"rag"}
    assert list(rl.evaluate(QRELS, RUN).mean) == [str(m) for m in rl.preset("rag")]


GRADED = {f"q{i}": {"a": 1, "b": 0, "c": 1, "d": 0} for i in range(4)}


def test_the_share_of_judged_documents_counts_what_was_returned():
    run = {"q0": ["a", "x"], "q1": ["b", "c", "x", "y", "z", "w"], "q2": [], "q3": ["x", "x1"]}
    assert "30% of the retrieved documents judged" in rl.evaluate(GRADED, run, "P@10").note
    # a; b, c; nothing; nothing, of the first two of each
    assert "50% of the top 2 judged" in rl.evaluate(GRADED, run, "P@2").note


def test_nothing_is_said_of_judged_documents_where_gold_is_one_or_two_per_query():
    run = {"q0": ["a", "x"], "q1": ["x"]}
    assert " judged" not in rl.evaluate({"q0": {"a": 1}, "q1": {"a": 1, "b": 1}}, run, "P@2").note
    assert (
        "33% of the retrieved documents judged"
        in rl.evaluate({"q0": {"a": 1}, "q1": {"b": 0}}, run, "P@2").note
    )
    three = {"q0": {"a", "b", "c"}, "q1": {"a", "b", "c"}}
    assert "33% of the retrieved documents judged" in rl.evaluate(three, run, "P@2").note


def test_scores_are_read_back(tmp_path):
    import jsonschema

    qrels = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}, "q3": {"d": 0}}
    run = {"q1": {"b": 1.0, "x": 1.0}, "q2": {"y": 1.0, "c": 0.5}}
    scores = rl.evaluate(qrels, run, ["ndcg@10", "mrr", "NumRel", "gm_AP"], missing="skip", rel=1)
    text = scores.to_json()
    schema = json.loads((Path(rl.__file__).parent / "scores.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(text), schema)
    again = rl.Scores.from_json(text)
    assert again.to_json() == text
    levels = rl.evaluate(qrels, run, ["mrr", "P@5"], rel=2).to_json()
    assert rl.Scores.from_json(levels).to_json() == levels
    assert again.mean == scores.mean
    assert again.policy == scores.policy
    assert again.interval("mrr") == scores.interval("mrr")
    assert again.per_query.equals(scores.per_query)
    file = tmp_path / "mine.json"
    file.write_text(text)
    assert rl.read_scores(file)["mine"].mean == scores.mean
    with pytest.raises(rl.InputError, match=r"no rankings, so AP cannot be added"):
        again.measured("AP")
    with pytest.raises(rl.InputError, match=r"values but no rankings. Evaluate the run again"):
        again.judged.evaluate("AP")
    compared = rl.compare_scores({"old": again, "new": scores})
    assert compared.pair("mrr", "old", "new").difference == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "contains no scores"),
        ('{"run": {"format_version": 9}}', "format_version is 9, and should be 1"),
        ('{"run": {"format_version": 1, "queries": []}}', "run: the document lacks 'schema'"),
    ],
)
def test_files_without_scores_are_refused(tmp_path, text, message):
    file = tmp_path / "scores.json"
    file.write_text(text)
    with pytest.raises(rl.InputError, match=message) as told:
        rl.read_scores(file)
    assert told.value.path == str(file)
    with pytest.raises(rl.InputError, match="cannot be read"):
        rl.read_scores(tmp_path / "none.json")


@pytest.mark.parametrize("ties", ["descending", "average"])
def test_shards_together_are_the_whole(ties):
    qrels = {f"q{i}": {"a": i % 3, "b": 1} for i in range(9)}
    run = {f"q{i}": {"a": 1.0, "x": 1.0, "b": float(i % 2)} for i in range(8)}
    measures = ["nDCG@2", "RR", "AP", "NumRet"]
    whole = rl.evaluate(qrels, run, measures, ties=ties)
    shards = [
        rl.evaluate({q: qrels[q] for q in part}, {q: run[q] for q in part if q in run}, measures, ties=ties)
        for part in (list(qrels)[:4], list(qrels)[4:])
    ]
    merged = rl.Scores.concat(shards)
    assert merged.queries == whole.queries
    assert str(merged) == str(whole)
    assert merged.judged.evaluate("P@2").mean == whole.judged.evaluate("P@2").mean
    recalled = rl.Scores.concat([rl.Scores.from_json(one.to_json()) for one in shards])
    assert recalled.mean == whole.mean


def test_what_cannot_be_merged_is_told():
    one = rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "RR")
    other = rl.evaluate({"p": {"a"}}, {"p": ["a"]}, "AP")
    with pytest.raises(rl.MeasureError, match="different measures cannot be merged: RR, and AP"):
        rl.Scores.concat([one, other])
    with pytest.raises(rl.InputError, match="Query 'q' is in two") as told:
        rl.Scores.concat([one, one])
    assert told.value.query == "q"
    with pytest.raises(rl.InputError, match="different policies"):
        rl.Scores.concat([one, rl.evaluate({"p": {"a"}}, {"p": ["a"]}, "RR", depth=1)])
    with pytest.raises(rl.InputError, match="no scores to merge"):
        rl.Scores.concat([])


def test_every_table_of_values_is_read_back(tmp_path):
    qrels = {"q1": {"a": 1, "b": 2}, "2": {"c": 1}, "q3": {"d": 1}}
    runs = {"one": {"q1": ["b", "x"], "2": ["y", "c"]}, "two": {"q1": ["x", "a"], "2": ["c"], "q3": ["d"]}}
    found = {name: rl.evaluate(qrels, run, ["ndcg@10", "mrr", "NumRel"]) for name, run in runs.items()}
    comparison = rl.compare(qrels, runs, ["ndcg@10", "mrr", "NumRel"])
    long, wide = comparison.queries_frame(), found["one"].per_query
    long.write_csv(tmp_path / "long.csv")
    long.write_parquet(tmp_path / "long.parquet")
    long.write_ndjson(tmp_path / "long.jsonl")
    (tmp_path / "comparison.json").write_text(comparison.to_json())
    wide.write_csv(tmp_path / "one.csv")
    wide.write_csv(tmp_path / "one.tsv", separator="\t")
    wide.write_parquet(tmp_path / "one.parquet")
    wide.write_ndjson(tmp_path / "one.ndjson")
    for file in sorted(tmp_path.iterdir()):
        again = rl.read_scores(file)
        assert [*again] == (["one"] if file.stem == "one" else ["one", "two"]), file.name
        for name, scores in again.items():
            assert scores.per_query.equals(found[name].per_query), file.name
            assert scores.mean == found[name].mean
    assert "ties" not in rl.read_scores(tmp_path / "one.csv")["one"].note
    assert "ties by document id" in rl.read_scores(tmp_path / "comparison.json")["one"].note
    copied = rl.read_scores(tmp_path / "one.csv")["one"]
    assert json.loads(copied.to_json())["policy"] is None
    assert rl.Scores.from_json(copied.to_json()).to_json() == copied.to_json()


PRINTED = """runid                 \tall\tbm25
num_ret               \t301\t20
map                   \t301\t0.2500
P_10                  \t301\t0.3000
num_ret               \t302\t10
map                   \t302\t0.7500
P_10                  \t302\t0.1000
num_ret               \tall\t30
map                   \tall\t0.5000
P_10                  \tall\t0.2000
"""


def test_what_trec_eval_printed_is_read(tmp_path):
    file = tmp_path / "result.txt"
    file.write_text(PRINTED)
    (scores,) = rl.read_scores(file).values()
    assert [*rl.read_scores(file)] == ["bm25"]
    assert scores.per_query.rows() == [("301", 20.0, 0.25, 0.3), ("302", 10.0, 0.75, 0.1)]
    assert (scores.mean["AP"], scores.mean["P@10"], scores.mean["num_ret"]) == (0.5, 0.2, 30.0)
    file.write_text("\n".join(line for line in PRINTED.splitlines() if "runid" not in line))
    assert [*rl.read_scores(file)] == ["result"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "query,RR\nq1,0.5\nq1,1\n", "query 'q1' appears twice"),
        ("x.csv", "query,RR\nq1,high\n", "row 1: 'high' in column 'RR' is not a number"),
        ("x.csv", "name,RR\nq1,0.5\n", "no query among the columns"),
        ("x.csv", "query,speed\nq1,0.5\n", "none of speed is a measure"),
        ("x.csv", "query,measure,value\nq1,RR,1\nq2,AP,1\n", "query 'q2' has no value of RR"),
        ("x.txt", "map all 0.5\n", "print them with trec_eval -q"),
        ("x.txt", "map q1 0.5\nmap q2\n", "x.txt:2: 'map q2' is not a line of trec_eval"),
        ("x.txt", "map q1 0.5\nmap q1 0.5\n", "query 'q1' has two values of map"),
    ],
)
def test_values_that_are_wrong_are_told(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(rl.InputError, match=message) as told:
        rl.read_scores(tmp_path / name)
    assert told.value.path == str(tmp_path / name)


def test_columns_that_are_no_measure_are_named(tmp_path):
    (tmp_path / "x.csv").write_text("query,RR,latency_ms\nq1,0.5,120\n")
    with pytest.warns(rl.RankLensWarning, match="latency_ms left out"):
        assert rl.read_scores(tmp_path / "x.csv")["x"].mean == {"RR": 0.5}


def test_what_is_not_known_of_a_file_is_not_stated(tmp_path):
    """The highest grade, and parameters of a column that any tool may have written."""
    scores = rl.evaluate({"q": {"a": 3}}, {"q": ["a"]}, "ERR, RBP")
    assert (
        "ERR with max_grade = 3 (highest judged), gain = exp; RBP with p = 0.8, gain = binary" in scores.note
    )
    recalled = rl.Scores.from_json(scores.to_json())
    assert "max_grade" not in recalled.note + str(recalled.methods())
    assert "RBP with p = 0.8" in recalled.note
    scores.per_query.write_csv(tmp_path / "x.csv")
    assert "with p" not in rl.read_scores(tmp_path / "x.csv")["x"].note


def test_a_gain_is_stated_where_it_matters():
    graded, binary = {"q": {"a": 2, "b": 1}}, {"q": {"a": 1, "b": 0}}
    assert "nDCG@5 and DCG@5 with gain = linear" in rl.evaluate(graded, {"q": ["a"]}, "nDCG@5, DCG@5").note
    assert "RBP(p=0.5) with gain = binary" in rl.evaluate(graded, {"q": ["a"]}, "RBP(p=0.5)").note
    told = rl.evaluate(binary, {"q": ["a"]}, "nDCG@5, RBP").note
    assert "gain" not in told
    assert "RBP with p = 0.8" in told


def test_merged_with_values_of_an_unknown_policy_it_is_unknown(tmp_path):
    averaged = rl.evaluate({"q1": {"a"}}, {"q1": {"a": 1, "b": 1}}, "RR", ties="average")
    averaged.per_query.write_csv(tmp_path / "values.csv")
    (read,) = rl.read_scores(tmp_path / "values.csv").values()
    known = rl.evaluate({"q2": {"a"}}, {"q2": ["a"]}, "RR")
    for parts in ([read, known], [known, read]):
        whole = rl.Scores.concat(parts)
        assert whole.mean["RR"] == 0.875
        assert "ties by" not in str(whole)
        assert json.loads(whole.to_json())["policy"] is None
    with pytest.raises(rl.InputError, match="different policies"):
        rl.Scores.concat([averaged, known])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"queries": ["q1", "q1"]}, "queries contains 'q1' twice"),
        ({"n": 3}, "n is 3, but 2 queries are listed"),
        ({"values": {"RR": [0.5, None]}}, r"values\.RR\[1\] is null and must be a number"),
        ({"values": {"RR": [0.5, float("nan")]}}, r"values\.RR\[1\] is NaN and must be a finite number"),
        ({"values": {"RR": [[1], [2]]}}, r"values\.RR\[0\] is a list and must be a number"),
        ({"values": {"RR": ["a", "b"]}}, r"values\.RR\[0\] \(query 'q1'\) is 'a' and must be a number"),
        ({"values": {"RR": 5}}, "values.RR is 5 and must be a list"),
        ({"values": {"RR": [0.5]}}, "values.RR has 1 value for 2 queries"),
        ({"values": {"RR": [1.0, -1]}}, r"values\.RR\[1\] \(query 'q2'\) is -1, but RR goes from 0 to 1"),
        ({"values": {"RR": [1.0, 0.25]}}, r"measures\[0\]\.mean is 0.75, but the values have 0.625"),
        ({"schema": "ranklens.gate"}, "schema is 'ranklens.gate', and should be 'ranklens.scores'"),
    ],
)
def test_damaged_scores_are_refused(changes, message):
    good = rl.evaluate({"q1": {"a"}, "q2": {"b"}}, {"q1": ["a"], "q2": ["x", "b"]}, "RR").to_json()
    assert rl.Scores.from_json(good).mean == {"RR": 0.75}
    with pytest.raises(rl.InputError, match=message):
        rl.Scores.from_json(json.dumps({**json.loads(good), **changes}))


def test_other_files_of_ranklens_are_no_scores(tmp_path):
    file = tmp_path / "gate.json"
    file.write_text('{"format_version": 1, "passed": true}')
    with pytest.raises(
        rl.InputError, match=r"gate\.json: This file contains no scores; ranklens evaluate -o"
    ):
        rl.read_scores(file)


def test_scores_by_name_are_for_another_reader():
    one = json.loads(rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR").to_json())
    with pytest.raises(rl.InputError, match=r"scores by name \(bm25 and dense\).*read_scores reads the file"):
        rl.Scores.from_json(json.dumps({"bm25": one, "dense": one}))


def test_the_note_says_what_empty_queries_count_as():
    data = {"q": {"a": 1}, "e": {"a": 0}}, {"q": ["a"], "e": ["a"]}
    notes = {choice: rl.evaluate(*data, "RR", empty=choice).note for choice in ("zero", "one", "skip")}
    assert "1 without relevant documents counted as 1" in notes["one"]
    assert "1 without relevant documents left out" in notes["skip"]
    assert len({*notes.values()}) == 3


def test_the_note_counts_empty_queries_by_the_level_of_each_measure():
    """At grade 2, P has no relevant document in low and in none, nDCG in none alone; DCG has no best value to count as."""
    qrels, run = (
        {"low": {"a": 1}, "high": {"a": 2}, "none": {"a": 0}},
        {q: ["a"] for q in ("low", "high", "none")},
    )
    for measures, policy, said in (
        ("nDCG@2", {"rel": 2}, "1 without relevant documents counted as 1)"),
        (
            "P@1,nDCG@2",
            {"rel": 2},
            "2 without relevant documents counted as 1 by P(rel=2)@1 and 1 by nDCG@2)",
        ),
        ("P(rel=2)@1", {}, "2 without relevant documents counted as 1)"),
        ("DCG@2", {}, "1 without relevant documents)"),
        ("DCG@2,RR", {}, "1 without relevant documents counted as 1 by RR)"),
    ):
        found = rl.evaluate(qrels, run, measures, empty="one", **policy)
        assert said in found.note
        assert said in found.methods().text


def test_methods_say_which_grade_makes_a_query_empty():
    data = {"q": {"a": 2}, "e": {"a": 1}}, {"q": ["a"], "e": ["a"]}
    skipped = rl.evaluate(*data, "nDCG@2", rel=2, empty="skip").methods().text
    assert "1 without relevant documents left out" in skipped
    assert "Documents with grade 2 or higher are relevant." in skipped
    assert "or higher are relevant" not in rl.evaluate(*data, "nDCG@2").methods().text


def test_a_relevance_level_does_not_empty_queries_for_measures_of_grades():
    """At grade 2, q has no relevant document for P; nDCG knows no level, and its document of grade 1 counts."""
    qrels, run = {"q": {"a": 1, "b": 1}, "e": {"a": 0}}, {"q": ["x", "a"], "e": ["a"]}
    found = rl.evaluate(qrels, run, ["nDCG@2", "P@2"], rel=2, empty="one")
    plain = rl.evaluate(qrels, run, ["nDCG@2"], empty="one")
    assert found["nDCG@2"].tolist() == plain["nDCG@2"].tolist() == [pytest.approx(0.3868528), 1.0]
    assert found["P(rel=2)@2"].tolist() == [1.0, 1.0]


def test_scores_from_a_file_are_compared_with_new_ones():
    """Of those from a file the ranks are not known, so nothing is said or drawn of them."""
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
    new = rl.evaluate(qrels, {query: ["a", "x"] for query in qrels}, "RR")
    old = rl.Scores.from_json(rl.evaluate(qrels, {query: ["b", "a"] for query in qrels}, "RR").to_json())
    comparison = rl.compare_scores({"old": old, "new": new})
    assert comparison.pair("RR", "old", "new").difference == 0.5
    assert "RR" in comparison.to_json()
    with pytest.raises(rl.InputError, match="values but no rankings"):
        chart_data.first_relevant(comparison)
