"""What is particular to Spark: where rows are judged, arrays, mistakes, and many partitions."""

import numpy as np
import polars as pl
import pytest
from engines import Engine, messy, same, table
from table import NOT

import ranklens as rl
from ranklens.metrics import parse_many
from ranklens.policy import Policy
from ranklens.spark import carried, files, placement
from ranklens.spark.evaluation import evaluate
from ranklens.spark.plan import Plan, sorted_by_query

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
MEASURES = ["nDCG@10", "AP", "RR", "ERR@5"]


PLANS = {
    "counted": (Plan(longest=50), "descending"),
    "counted in order": (Plan(longest=0), "input"),
    "together": (Plan(carried=5), "descending"),
    "together and counted, in order": (Plan(carried=5, longest=50), "input"),
    "shuffled": (Plan(in_place=False), "average"),
    "on the driver": (Plan(), "descending"),
    "on the driver, in order": (Plan(), "input"),
    "on the driver, averaged": (Plan(), "average"),
}


@pytest.mark.parametrize("name", PLANS)
def test_every_plan(spark, name):
    plan, ties = PLANS[name]
    judgments, run = messy()
    wanted = [one for one in NOT if ties != "average" or parse_many([one])[0].definition.average_ties]
    policy = Policy(nan="last", ties=ties)
    expected = Engine("frame").evaluate(judgments, run, wanted, policy=policy)
    given = Engine("spark", spark=spark).given(judgments, run)
    same(evaluate(*given, parse_many(wanted), policy, plan=plan), expected)


def test_few_rows_need_few_tasks(spark):
    """Spark makes 200 tasks of whatever is kept, unless it is told how many."""
    gold, ranked = Engine("spark", spark=spark).given(*messy())
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    try:
        for plan in (Plan(in_place=False), Plan(carried=5), Plan(longest=0)):
            scores = evaluate(gold, ranked, parse_many(MEASURES), Policy(nan="last"), plan=plan)
            assert scores.frame.rdd.getNumPartitions() < 10
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")


def test_rows_of_unjudged_queries_stay_where_they_are(spark, monkeypatch):
    shuffled = []
    monkeypatch.setattr(
        carried, "sorted_by_query", lambda rows, tasks: shuffled.append(rows) or sorted_by_query(rows, tasks)
    )
    gold, ranked = Engine("spark", spark=spark).given(*messy())
    evaluate(gold.filter("query = 'q1'"), ranked.repartition(5), parse_many(MEASURES), Policy(nan="last"))
    assert [row["query"] for row in shuffled[0].select("query").distinct().collect()] == ["q1"]


def test_partitions_do_not_matter(spark):
    judgments, run = messy(queries=60)
    gold, ranked = Engine("spark", spark=spark).given(judgments, run)
    found = [
        evaluate(gold, one, parse_many(MEASURES), Policy(nan="last"), plan=plan).mean
        for one in (ranked.coalesce(1), ranked.repartition(7))
        for plan in (Plan(), Plan(handed=0))
    ]
    assert all(one == found[0] for one in found)  # to the last bit


@pytest.mark.parametrize("ties", ["descending", "input"])
def test_queries_in_two_partitions_come_to_the_driver(spark, monkeypatch, ties):
    """As where a file is split in the middle of a query: the others are judged in place, and nothing is shuffled."""
    judgments, run = messy(queries=60)
    ranked = sorted(run, key=lambda row: row[0])
    gold, _ = Engine("spark", spark=spark).given(judgments, [])
    parts = spark.createDataFrame(
        spark.sparkContext.parallelize(ranked, 5), "query string, doc string, score double"
    )
    monkeypatch.setattr(carried, "sorted_by_query", None)
    monkeypatch.setattr(carried, "judge_absent", None)  # which is for runs that come as a whole
    policy = Policy(nan="last", ties=ties)
    found = evaluate(gold, parts, parse_many(MEASURES), policy, plan=Plan(handed=len(run) // 2))
    assert 0 < len(found.kept.here) < 5
    same(found, Engine("frame").evaluate(judgments, ranked, MEASURES, policy=policy))
    assert found.to_spark().count() == len(found.queries)


def test_run_of_which_most_queries_are_not_judged(spark, monkeypatch):
    """Only the judged ones come to the driver, which must not depend on where that is found out."""
    judgments, run = messy(queries=60)
    judgments = [row for row in judgments if row[0] in ("q1", "q2", "q3")]
    given = Engine("spark", spark=spark).given(judgments, run)
    expected = Engine("frame").evaluate(judgments, run, MEASURES, nan="last")
    for queries, plan in [(50, Plan()), (50, Plan(handed=0)), (1 << 20, Plan())]:
        monkeypatch.setattr(placement, "_QUERIES", queries)
        same(evaluate(*given, parse_many(MEASURES), Policy(nan="last"), plan=plan), expected)


@pytest.mark.parametrize("dropped", ["doc = 'd1'", "query = 'q1'"])
def test_run_that_changes(spark, anywhere, tmp_path, dropped):
    """A run that is computed anew, and comes out differently the second time, is an error rather than a wrong number."""
    import pyarrow.compute as pc

    column, _, value = dropped.partition(" = ")

    def changing(batches):
        passes = len(list(tmp_path.iterdir()))
        (tmp_path / str(passes)).touch()
        for batch in batches:
            keep = pc.or_(pc.not_equal(batch.column(column), value.strip("'")), passes == 0)
            yield batch.filter(keep)

    rows = [(f"q{q}", f"d{d}", float(d)) for q in range(3) for d in range(4)]
    stable = spark.createDataFrame(rows, "query string, doc string, score double").coalesce(1)
    run = stable.mapInArrow(changing, stable.schema)
    with pytest.raises(rl.InputError, match="gives other rows each time it is computed"):
        rl.evaluate({f"q{q}": {"d1": 1} for q in range(3)}, run, "RR")


def test_values_stay_on_the_cluster(spark, anywhere):
    gold, ranked = Engine("spark", spark=spark).given(*messy())
    scores = rl.evaluate(gold, ranked, ["nDCG@10", "map"], nan="last")
    frame = scores.to_spark()
    assert frame.columns == ["query", "nDCG@10", "map"]
    assert frame.count() == len(scores.queries)
    assert frame.selectExpr("avg(map)").collect()[0][0] == pytest.approx(scores.mean["AP"], abs=1e-12)
    assert scores.per_query.columns == ["query", "nDCG@10", "map"]
    here = rl.Scores.from_json(scores.to_json())
    assert here.mean == pytest.approx(scores.mean)
    for method in ("percentile", "bca"):
        around, expected = (one.interval("AP", method=method, rng=0) for one in (scores, here))
        assert (around.low, around.high) == pytest.approx((expected.low, expected.high), abs=0.02)
    with pytest.raises(rl.InputError, match="values but no rankings"):
        scores.bounds("AP")
    scores.free()


def test_recommendations_as_arrays(spark, anywhere):
    from pyspark.ml.recommendation import ALS

    seen = [(u, i, float((u * i) % 5 + 1)) for u in range(12) for i in range(15) if (u + i) % 3]
    model = ALS(userCol="user", itemCol="item", ratingCol="rating", rank=3, maxIter=2, seed=1).fit(
        spark.createDataFrame(seen, "user int, item int, rating float")
    )
    lists = model.recommendForAllUsers(5)
    wanted = [(u, i, 1.0) for u in range(14) for i in range(15) if (u + i) % 3 == 0]
    test = spark.createDataFrame(wanted, "user int, item int, rating double")
    exploded = {
        str(row["user"]): {str(one["item"]): one["rating"] for one in row["recommendations"]}
        for row in lists.collect()
    }
    judged = {}
    for user, item, _ in wanted:
        judged.setdefault(str(user), {})[str(item)] = 1
    expected = rl.evaluate(judged, exploded, MEASURES)
    same(rl.evaluate(test, lists, MEASURES), expected)
    ids = lists.selectExpr("user", "recommendations.item as items")  # best first, without scores
    gold = test.groupBy("user").agg({"item": "collect_list"}).toDF("user", "relevant")
    same(rl.evaluate(gold, ids, MEASURES), expected)
    same(evaluate(gold, ids, parse_many(MEASURES), Policy(), plan=Plan(carried=1)), expected)


@pytest.mark.parametrize("fields", ["id string, rank int", "id string, rank int, score double"])
def test_ranks_in_arrays(spark, fields):
    found = [("b", 2, 0.9), ("a", 1, 0.1)]
    found = [one[: fields.count(",") + 1] for one in found]
    lists = spark.createDataFrame(
        [("q1", found)], f"qid string, retrieved array<struct<{fields.replace(' ', ':').replace(',:', ',')}>>"
    )
    expected = rl.evaluate({"q1": {"a": 1}}, lists.toPandas(), "RR").mean
    assert rl.evaluate({"q1": {"a": 1}}, lists, "RR").mean == expected == {"RR": 1.0}


def test_empty_lists(spark, anywhere):
    run = {"q1": ["a"], "q2": [], "q3": ["b"]}
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {}, "q4": {"c": 1}}
    lists = spark.createDataFrame(list(run.items()), "qid string, retrieved array<string>")
    expected = rl.evaluate(qrels, run, ["RR", "P@1"], missing="skip")
    same(rl.evaluate(qrels, lists, ["RR", "P@1"], missing="skip"), expected)
    gold = spark.createDataFrame(
        [(q, list(docs)) for q, docs in qrels.items()], "qid string, expected array<string>"
    )
    same(rl.evaluate(gold, lists, ["RR", "P@1"], missing="skip"), expected)


def test_names_of_columns(spark):
    run = spark.createDataFrame([(1, 7, 1), (1, 8, 2)], "`my query` int, item int, place int")
    qrels = spark.createDataFrame([(1, 8)], "`my query` int, item int")
    columns = {"query": "my query", "rank": "place"}
    assert rl.evaluate(qrels, run, "RR", columns=columns).mean == {"RR": 0.5}


def test_mistakes(spark, anywhere):
    def frame(rows, schema="query string, doc string, score double"):
        return spark.createDataFrame(rows, schema)

    gold = {"q1": {"a": 1}, "q2": {"b": 1}}
    twice = frame([("q1", "a", 1.0), ("q1", "a", 2.0)])
    with pytest.raises(rl.PolicyError, match="document 'a' of query 'q1' appears twice"):
        rl.evaluate(gold, twice, "RR", duplicates="error")
    with pytest.raises(rl.PolicyError, match=r"1 judged query is not in the run \(first: 'q2'\)"):
        rl.evaluate(gold, twice, "RR", missing="error")
    with pytest.raises(rl.PolicyError, match="not judged"):
        rl.evaluate({"q9": {"a": 1}}, twice, "RR", unjudged_queries="error")
    with pytest.raises(rl.InputError, match="score of document 'a' for query 'q1' is nan"):
        rl.evaluate(gold, frame([("q1", "a", float("nan"))]), "RR")
    with pytest.raises(rl.InputError, match="the doc is missing"):
        rl.evaluate(gold, frame([("q1", None, 1.0)]), "RR")
    with pytest.raises(rl.InputError, match="the query is missing"):
        rl.evaluate(gold, frame([(None, "a", 1.0)]), "RR")


def test_mistakes_that_need_no_job(spark):
    floats = spark.createDataFrame([(1.0, "a", 1.0)], "query double, doc string, score double")
    with pytest.raises(rl.InputError, match="floating-point"):
        rl.evaluate({"q": {"a": 1}}, floats, "RR")
    with pytest.raises(rl.InputError, match="no doc among the columns"):
        rl.evaluate({"q": {"a": 1}}, floats.selectExpr("'q' as query", "score"), "RR")
    with pytest.raises(rl.InputError, match="the run is not"):
        rl.evaluate(floats, {"q": ["a"]}, "RR")
    run = floats.selectExpr("'q' as query", "doc", "score")
    junk = spark.createDataFrame(
        [("q", "a", 1, True)], "query string, doc string, grade int, is_junk boolean"
    )
    with pytest.raises(rl.InputError, match="is_junk says what is taken out before ranking"):
        rl.evaluate(junk, run, "RR")
    evidence = spark.createDataFrame(
        [("q", "a", 1, "e")], "query string, doc string, grade int, evidence string"
    )
    with pytest.raises(rl.InputError, match="evidence says which documents answer together"):
        rl.evaluate(evidence, run, "RR")
    with pytest.raises(rl.InputError, match="This is a Spark DataFrame"):
        rl.judge({"q": {"a": 1}}, floats)
    for refused in (
        lambda: rl.recommend.evaluate(floats, {"q": {"a"}}, {"q": ["a"]}, ["Novelty@1"]),
        lambda: rl.recommend.evaluate({"q": {"a"}}, {"q": {"a"}}, floats, ["Novelty@1"]),
        lambda: rl.explain("RR", {"q": {"a": 1}}, floats, query="q"),
        lambda: rl.from_records(floats),
    ):
        with pytest.raises(rl.InputError, match=r"only ranklens\.evaluate and ranklens\.compare take"):
            refused()


def test_one_query_with_very_many_documents(spark):
    n = 200_000
    run = spark.range(n).selectExpr("'q' as query", "concat('d', id) as doc", "double(id % 1000) as score")
    gold = {"q": {"d999": 1, "d1500": 2, f"d{n - 1}": 1}}
    here = table([("q", f"d{i}", float(i % 1000)) for i in range(n)], "score")
    expected = rl.evaluate(gold, here, ["AP", "nDCG"])
    same(evaluate(gold, run, parse_many(["AP", "nDCG"]), Policy(), plan=Plan(longest=1000)), expected)


def test_comparison(spark, monkeypatch):
    from ranklens.spark import comparing

    judgments, _ = messy(queries=60)
    runs = [[row for row in messy(seed, 60)[1] if row[2] == row[2]] for seed in (1, 2)]
    here = {name: table(run, "score") for name, run in zip("ab", runs, strict=True)}
    there = {
        name: Engine("spark", spark=spark).given(judgments, run)[1]
        for name, run in zip("ab", runs, strict=True)
    }
    gold = Engine("spark", spark=spark).given(judgments, [])[0]
    measures = ["nDCG@10", "RR", "Success@1", "gm_AP"]
    expected = rl.compare(table(judgments, "grade"), here, measures)
    found = rl.compare(gold, there, measures)
    assert found.verdict() == expected.verdict()
    monkeypatch.setattr(comparing, "COLLECTED", 10)
    expected = rl.compare(table(judgments, "grade"), here, measures, test="t")
    large = rl.compare(gold, there, measures, test="t")
    assert isinstance(large, comparing.LargeComparison)
    for measure in measures:
        one, other = large.pair(measure, "b", "a"), expected.pair(measure, "b", "a")
        assert one.p_value == pytest.approx(other.p_value, rel=1e-9)
        assert (one.difference, one.interval.low, one.wins, one.ties) == pytest.approx(
            (other.difference, other.interval.low, other.wins, other.ties)
        )
        assert one.effect.hedges_g == pytest.approx(other.effect.hedges_g)
        assert large.result(measure, "a").mean == expected.result(measure, "a").mean
        assert one.verdict == other.verdict
    assert large.to_frame().height == len(measures)
    assert f"{large.results[0].n} queries" in str(large)
    drawn = rl.compare(gold, there, ["nDCG@10"], test="randomization").pair("nDCG@10", "a", "b")
    exact = rl.compare(table(judgments, "grade"), here, ["nDCG@10"], test="randomization").pair(
        "nDCG@10", "a", "b"
    )
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.02)
    kept = {name: rl.evaluate(gold, run, ["nDCG@10", "RR"]) for name, run in there.items()}
    again = rl.compare(None, kept, ["RR"], test="t")  # of scores that are on the cluster already
    assert isinstance(again, comparing.LargeComparison)
    assert again.measures == ("RR",)
    assert again.pair("RR", "a", "b").p_value == large.pair("RR", "a", "b").p_value
    with pytest.raises(rl.MeasureError, match="AP was not evaluated for a"):
        rl.compare(None, kept, ["AP"])
    with pytest.raises(rl.InputError, match="needs the values of all queries"):
        rl.compare(gold, there, ["RR"], test="wilcoxon")


def test_workers_load_modules_after_a_task(spark):
    """A worker that was made faster for further tasks still finds the modules of PySpark, which may be in an archive."""
    gold, ranked = Engine("spark", spark=spark).given(*messy())
    rl.evaluate(gold, ranked, ["RR"], nan="last").free()

    def look(batches):
        import gc
        from importlib import import_module

        import pyarrow as pa

        for _ in batches:
            found = import_module("pyspark.ml.tree").__name__
            yield pa.RecordBatch.from_pydict({"module": [found], "frozen": [gc.get_freeze_count()]})

    seen = spark.range(4).coalesce(1).mapInArrow(look, "module string, frozen long").collect()
    assert {row["module"] for row in seen} == {"pyspark.ml.tree"}
    assert all(row["frozen"] > 10_000 for row in seen)


def test_nothing_stays_in_memory_after_a_mistake(spark, monkeypatch):
    from ranklens.spark import comparing

    def kept():
        return spark.sparkContext._jsc.getPersistentRDDs().size()

    def broken(frame, *_):
        frame.count()  # since nothing is kept before it is used
        raise ValueError("broken")

    gold, ranked = Engine("spark", spark=spark).given(*messy())
    scores = {name: rl.evaluate(gold, ranked, ["RR"], nan="last") for name in "ab"}
    before = kept()
    monkeypatch.setattr(comparing, "COLLECTED", 10)
    monkeypatch.setattr(comparing, "added_up", broken)
    with pytest.raises(ValueError, match="broken"):
        rl.compare(None, scores, ["RR"], test="t")
    for plan in (Plan(handed=0), Plan(longest=0)):
        with pytest.raises(rl.InputError, match="is nan"):
            evaluate(gold, ranked, parse_many(["RR"]), Policy(), plan=plan)
    assert kept() == before
    for one in scores.values():
        one.free()
    assert kept() == before - 2


def test_command(spark, tmp_path, capsys):
    from ranklens.cli.main import main

    judgments, run = messy()
    run = [row for row in run if row[2] == row[2]]
    table(judgments, "grade").write_parquet(tmp_path / "qrels.parquet")
    table(run, "score").write_parquet(tmp_path / "run.parquet")
    (tmp_path / "run.txt").write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, d, s in run), encoding="utf-8")
    spark.createDataFrame(run, "query string, doc string, score double").createOrReplaceTempView("my_run")
    runs = [f"parquet={tmp_path / 'run.parquet'}", f"trec={tmp_path / 'run.txt'}"]
    printed = []
    for arguments in (
        [*runs, "table=my_run", "--engine", "spark"],
        [*runs, f"table={tmp_path / 'run.parquet'}"],
    ):
        assert (
            main(
                [
                    "evaluate",
                    str(tmp_path / "qrels.parquet"),
                    *arguments,
                    "-m",
                    "nDCG@10,RR",
                    "--format",
                    "csv",
                ]
            )
            == 0
        )
        printed.append(capsys.readouterr().out)
    here, there = (pl.read_csv(text.encode()).drop("run") for text in printed)
    for column in ("mean", "low", "high"):
        np.testing.assert_allclose(here[column], there[column], atol=1e-9)


def test_a_run_that_lacks_judged_queries_and_has_others_is_told(spark, anywhere):
    qrels = {str(number): {"a": 1} for number in range(1, 21)}
    run = spark.createDataFrame(
        [(f"{number:02}", "a", 1.0) for number in range(1, 21)], ["query", "doc", "score"]
    )
    judged = spark.createDataFrame([(query, "a", 1) for query in qrels], ["query", "doc", "grade"])
    for gold in (qrels, judged):
        with pytest.warns(
            rl.MismatchWarning, match=r"9 of 20 judged queries .*'1' and 8 more.*ignore leading zeros"
        ):
            scores = rl.evaluate(gold, run, "RR")
        assert scores.mean["RR"] == 0.55
    with pytest.raises(rl.InputError, match="leading zeros"):
        rl.gate(scores, "RR >= 0.001")


@pytest.mark.parametrize("log", ["_delta_log/0.json", "metadata/v1.metadata.json"])
def test_the_files_of_lakes_are_refused_with_the_call_to_make(spark, tmp_path, log):
    table = tmp_path / "runs"
    (table / log).parent.mkdir(parents=True)
    (table / log).write_text("{}")
    pl.DataFrame({"query": ["q1"], "doc": ["a"], "score": [1.0]}).write_parquet(table / "part-0.parquet")
    for path in (table, f"{table}/", table / "*.parquet", table.as_uri(), table / "part-0.parquet"):
        with pytest.raises(rl.InputError, match=r"an? (Delta|Iceberg) table.*spark\.read\.format\("):
            files.read(spark, str(path), None, "run")
