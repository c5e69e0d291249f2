"""Per-item metrics: worked by hand, against pytrec_eval, and where other tools are known to go wrong."""

import asyncio
import copy
import json
import math
import pickle

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from strategies import DOCS, any_grades

import ranklens as rl
from ranklens.recipes.items import (
    AveragePrecisionAtK,
    DatasetItem,
    F1AtK,
    HitRateAtK,
    MeanReciprocalRank,
    MetricRunner,
    NDCGAtK,
    PrecisionAtK,
    RecallAtK,
)

AT_K = [HitRateAtK, NDCGAtK, PrecisionAtK, RecallAtK, AveragePrecisionAtK, F1AtK]
SEVEN = [*(metric(k=[1, 3, 10], main_k=3) for metric in AT_K), MeanReciprocalRank()]
FOURTEEN = DatasetItem(
    actual_ranking=[{"id": doc, "score": 1 / i} for i, doc in enumerate(["doc1", "doc4", "doc2", "doc5", "doc3"], 1)],
    expected_reference=[{"id": "doc1", "relevance": 3}, {"id": "doc2", "relevance": 2}, {"id": "doc3", "relevance": 1}],
)  # fmt: skip


def item(actual, expected, **rest):
    return DatasetItem(actual_ranking=actual, expected_reference=expected, **rest)


@st.composite
def items(draw):
    ranking = draw(st.lists(st.sampled_from(DOCS), unique=True))
    return item(ranking, draw(st.dictionaries(st.sampled_from(DOCS), any_grades)))


# Worked by hand


@pytest.mark.parametrize(
    ("metric", "score"),
    [(HitRateAtK, 1), (NDCGAtK, 0.9212), (PrecisionAtK, 0.6), (RecallAtK, 1)],
)
def test_example_14(metric, score):
    assert metric(k=5).evaluate(FOURTEEN).score == pytest.approx(score, abs=5e-5)
    assert MeanReciprocalRank().evaluate(FOURTEEN).score == 1


def test_example_14_with_three_documents():
    three = item(["doc1", "doc2", "doc3"], {"doc1": 3, "doc2": 1, "doc3": 2})
    assert NDCGAtK(k=10).evaluate(three).score == pytest.approx(0.9725, abs=5e-5)


def test_signals_by_hand():
    result = asyncio.run(NDCGAtK(k=[1, 3, 5]).execute(FOURTEEN))
    assert result.metric == "nDCG@5"
    signals = result.signals
    assert list(signals.results_by_k) == [1, 3, 5]
    at = signals.results_by_k[3]
    assert (at.hits_in_top_k, at.total_retrieved_at_k, at.total_relevant, at.is_hit) == (2, 3, 3, True)
    assert at.dcg == pytest.approx(3 + 2 / 2)
    assert at.idcg == pytest.approx(3 + 2 / math.log2(3) + 1 / 2)
    assert at.score == pytest.approx(at.dcg / at.idcg)
    assert signals.rank_of_first_relevant == 1
    assert signals["results_by_k"][3]["score"] == at.score  # either way of writing
    with pytest.raises(KeyError):
        signals["result_by_k"]


def test_the_score_is_at_main_k_or_the_largest():
    late = item(["x", "y", "a"], ["a"])
    assert HitRateAtK(k=[1, 3]).evaluate(late).score == 1
    assert HitRateAtK(k=[3, 1], main_k=1).evaluate(late).score == 0
    assert HitRateAtK(k=(1, 3), main_k=1).name == "Success@1"
    assert HitRateAtK(5).evaluate(late).signals.rank_of_first_relevant == 3


def test_a_table_of_gains_in_another_order_than_grades():
    """The ideal of nDCG is by gain; dcg / idcg must be the score there, too."""
    metric = NDCGAtK(k=2, gains={1: 9, 2: 1})
    at = metric.evaluate(item(["b", "a"], {"a": 1, "b": 2})).signals.results_by_k[2]
    assert at.dcg == pytest.approx(1 + 9 / math.log2(3))
    assert at.idcg == pytest.approx(9 + 1 / math.log2(3))
    assert at.score == pytest.approx(at.dcg / at.idcg)


def test_judged_only_counts_the_condensed_ranking():
    at = PrecisionAtK(k=1, judged_only=True).evaluate(item(["x", "a"], ["a"])).signals.results_by_k[1]
    assert (at.score, at.hits_in_top_k, at.is_hit) == (1, 1, True)


def test_explanations_are_sentences():
    assert NDCGAtK(5).evaluate(FOURTEEN).explanation == (
        "nDCG@5 is 0.9212: of 3 relevant, 3 of them in the top 5, the first at rank 1."
    )
    assert (
        RecallAtK(5).evaluate(item([], ["a"])).explanation
        == "R@5 is 0.0000: of 1 relevant, none was retrieved."
    )
    assert RecallAtK(5).evaluate(item(["a"], [])).explanation == "R@5 is 0.0000: nothing is relevant."


# Where other tools go wrong


@pytest.mark.parametrize("metric", SEVEN, ids=lambda m: m.name)
def test_an_empty_ranking_scores_0_and_stays_in_the_mean(metric):
    assert metric.evaluate(item([], ["a"])).score == 0
    result = MetricRunner([metric]).run([item([], ["a"]), item(["a", "b", "c"], ["a", "b", "c"])])
    assert result.mean[metric.name] == pytest.approx(0.5)


@pytest.mark.parametrize("metric", SEVEN, ids=lambda m: m.name)
def test_nothing_expected_scores_0(metric):
    assert metric.evaluate(item(["a"], [])).score == 0


@pytest.mark.parametrize("metric", SEVEN, ids=lambda m: m.name)
def test_duplicates_are_credited_once(metric):
    with pytest.warns(rl.RankLensWarning, match="repeated document"):
        twice = metric.evaluate(item(["a", "a"], {"a"}))
    assert twice == metric.evaluate(item(["a"], {"a"}))
    assert twice.score <= 1


def test_precision_divides_by_k_not_by_what_was_retrieved():
    assert PrecisionAtK(k=5).evaluate(item(["a"], ["a"])).score == 0.2


def test_metrics_of_the_same_class_do_not_get_in_each_others_way():
    """A cache or a threshold by class name would mix them up."""
    late = item(["x", "y", "a"], ["a"], id="same")
    early = item(["a"], ["a"], id="same")
    result = MetricRunner([NDCGAtK(1), NDCGAtK(10)], thresholds={"nDCG@1": 0.1, "ndcg@10": 0.4}).run(
        [late, early]
    )
    assert [r["nDCG@1"].score for r in result] == [0, 1]
    assert [r["nDCG@10"].score for r in result] == pytest.approx([0.5, 1])
    assert [r["nDCG@1"].passed for r in result] == [False, True]
    assert [r["nDCG@10"].passed for r in result] == [True, True]


# Against pytrec_eval, and against itself


@given(items())
def test_scores_equal_pytrec_eval(one):
    gold = {doc: int(grade) for doc, grade in one.expected_reference.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(
        {"q": {"_": 0, **gold}}, {"ndcg_cut", "P", "recall", "map_cut", "success", "recip_rank"}
    )
    run = {"q": {"-": -100.0, **{doc: float(-i) for i, doc in enumerate(one.actual_ranking)}}}
    theirs = evaluator.evaluate(run)["q"]
    ours = DatasetItem(actual_ranking=one.actual_ranking, expected_reference=gold)
    names = {
        HitRateAtK: "success",
        NDCGAtK: "ndcg_cut",
        PrecisionAtK: "P",
        RecallAtK: "recall",
        AveragePrecisionAtK: "map_cut",
    }
    for metric, name in names.items():
        assert metric(5).evaluate(ours).score == pytest.approx(theirs[f"{name}_5"], abs=1e-12), name
    assert MeanReciprocalRank().evaluate(ours).score == pytest.approx(theirs["recip_rank"], abs=1e-12)


@given(st.lists(items(), min_size=1, max_size=8))
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_one_item_equals_the_batch(some):
    together = MetricRunner(SEVEN).run(some)
    for one, found in zip(some, together, strict=True):
        assert found.item == one
        assert found.results == tuple(metric.evaluate(one) for metric in SEVEN)


@given(items())
@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_signals_agree_with_scores(one):
    for metric in SEVEN:
        result = metric.evaluate(one)
        assert 0 <= result.score <= 1
        if metric.ks:
            assert result.score == result.signals.results_by_k[3].score
        for k, at in result.signals.results_by_k.items():
            assert at.is_hit == (at.hits_in_top_k > 0)
            assert at.hits_in_top_k <= min(at.total_relevant, at.total_retrieved_at_k, k)
            if metric.measure == "P":
                assert at.score == pytest.approx(at.hits_in_top_k / k)
            if metric.measure == "nDCG" and at.idcg:
                assert at.score == pytest.approx(at.dcg / at.idcg)
        rank = result.signals.rank_of_first_relevant
        assert MeanReciprocalRank().evaluate(one).score == pytest.approx(1 / rank if rank else 0)


# Shapes of items


def test_every_shape_of_an_item_reads_alike():
    expected = [
        ["a", "b"],
        {"a", "b"},
        {"a": 1, "b": 1},
        [{"id": "a"}, {"id": "b", "relevance": 1.0}],
        ("a", "b"),
    ]
    actual = [["x", "a"], [{"id": "x", "score": 9}, {"id": "a"}], ["x", {"id": "a"}], {"a": 0.1, "x": 0.9}]
    for ranking in actual:
        for gold in expected:
            for name in ("expected_reference", "expected_ranking"):
                read = DatasetItem(actual_ranking=ranking, **{name: gold})
                assert read.expected_reference == read.expected_ranking == {"a": 1, "b": 1}
                assert MeanReciprocalRank().evaluate(read).score == 0.5


def test_numbers_and_texts_are_the_same_ids():
    assert HitRateAtK(1).evaluate(item([7], {"7": 1})).score == 1


def test_the_order_of_a_list_is_the_ranking_whatever_the_scores():
    reranked = item([{"id": "a", "score": 0.1}, {"id": "x", "score": 0.9}], ["a"])
    assert MeanReciprocalRank().evaluate(reranked).score == 1


def test_records_are_items_too():
    record = {"query": "why", "expected_ids": ["a"], "retrieved_ids": ["x", "a"]}
    assert MeanReciprocalRank().evaluate(record).score == 0.5
    assert MetricRunner(MeanReciprocalRank()).run([record, FOURTEEN]).mean == {"RR": 0.75}
    qrels, run = rl.from_records([FOURTEEN])
    assert (qrels["1"], run["1"]) == (FOURTEEN.expected_reference, FOURTEEN.actual_ranking)


WRONG_ITEMS = [
    ({"actual_ranking": ["a"]}, "The item: give expected_reference or expected_ranking; there is neither"),
    ({"actual_ranking": ["a"], "expected_reference": ["a"], "expected_ranking": ["b"], "id": 3}, "Item 3: give expected_reference or expected_ranking; there is both, and they differ"),
    ({"actual_ranking": {"a", "b"}, "expected_reference": ["a"]}, "actual_ranking is a set, which has no order"),
    ({"actual_ranking": None, "expected_reference": ["a"], "query": "why"}, "The item 'why' contains None; it should be a list"),
    ({"actual_ranking": [None], "expected_reference": ["a"]}, "The item: The results have no ids"),
    ({"actual_ranking": ["a"], "expected_reference": [{"id": None}]}, "has no document id"),
    ({"actual_ranking": ["a"], "expected_reference": {"a": "high"}}, "the grade 'high' is not a number"),
    ({"actual_ranking": "a", "expected_reference": ["a"]}, "contains a str: 'a'; it should be a list"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), WRONG_ITEMS, ids=[m for _, m in WRONG_ITEMS])
def test_wrong_items_get_one_clear_error(given, message):
    with pytest.raises(rl.InputError) as error:
        DatasetItem(**given)
    assert message in str(error.value)


@pytest.mark.parametrize("k", [0, -1, 2.5, "5", [], [1, 0], True, None])
def test_wrong_cutoffs_are_refused(k):
    with pytest.raises(rl.MeasureError, match="it is a whole number from 1, or a list of them"):
        PrecisionAtK(k=k)


def test_wrong_parameters_are_refused():
    with pytest.raises(rl.MeasureError, match=r"main_k=7 is not allowed; it is one of k, \[5, 10\]"):
        NDCGAtK(k=[5, 10], main_k=7)
    with pytest.raises(rl.MeasureError, match="main_k=7 needs k"):
        MeanReciprocalRank(main_k=7)
    with pytest.raises(rl.MeasureError, match="nDCG has no parameter 'gian': did you mean 'gain'"):
        NDCGAtK(k=5, gian="exp")


# The runner


def test_means_intervals_and_verdicts():
    some = [item(["a"], ["a"], id="good"), item(["x", "a"], ["a"], id="late"), item(["x"], ["a"], id="bad")]
    result = MetricRunner(
        [HitRateAtK([1, 2]), MeanReciprocalRank()], thresholds={"hit@2": 0.6, "RR": 0.75}
    ).run(some)
    assert result.mean == pytest.approx({"Success@1": 1 / 3, "Success@2": 2 / 3, "RR": 0.5})
    qrels, run = {"g": {"a"}, "l": {"a"}, "b": {"a"}}, {"g": ["a"], "l": ["x", "a"], "b": ["x"]}
    assert tuple(result.interval("rr")) == tuple(rl.evaluate(qrels, run, "RR").interval("RR"))
    assert [row.passed for row in result.summary] == [None, True, False]
    assert [row.passed_items for row in result.summary] == [None, 2, 1]
    assert result.passed is False
    assert [found.passed for found in result] == [True, False, False]
    assert result["late"]["RR"].passed is False
    assert result[1] is result["late"]
    assert result.per_item()["rank_of_first_relevant"].to_list() == [1, 2, None]
    assert result.per_item()["item"].to_list() == ["good", "late", "bad"]
    assert result.to_frame()["passed"].to_list() == [None, True, False]
    told = json.loads(result.to_json())
    assert [row["RR"] for row in told["items"]] == [1, 0.5, 0]
    assert "FAILED" in str(result)
    assert "<table>" in result._repr_html_()


def test_without_thresholds_there_is_no_verdict():
    result = MetricRunner([NDCGAtK(3)]).run([FOURTEEN])
    assert result.passed is None
    assert result[0].passed is None
    assert "threshold" not in str(result)


def test_a_threshold_is_compared_as_it_is_shown():
    """0.79996 reads 0.8000 in every table."""
    metric = Fixed(0.79996)
    assert MetricRunner([metric], thresholds={"fixed": 0.8}).run([FOURTEEN]).passed
    metric = Fixed(0.7999)
    assert not MetricRunner([metric], thresholds={"fixed": 0.8}).run([FOURTEEN]).passed


def test_thresholds_by_class_or_metric_mean_the_main_score():
    metric = PrecisionAtK(k=[1, 5], main_k=1)
    for key in ("PrecisionAtK", metric, "P@1", "precision@1"):
        assert MetricRunner([metric], thresholds={key: 0.5}).thresholds == {"P@1": 0.5}
    with pytest.raises(rl.MeasureError, match="PrecisionAtK was not evaluated"):
        MetricRunner([PrecisionAtK(1), PrecisionAtK(5)], thresholds={"PrecisionAtK": 0.5})


WRONG_RUNNERS = [
    (([],), {}, "No metrics given"),
    (([NDCGAtK],), {}, "NDCGAtK is a class; pass an instance: NDCGAtK()."),
    ((["nDCG@10"],), {}, "'nDCG@10' is not a metric"),
    (([NDCGAtK(5)],), {"concurrency": 0}, "concurrency=0 is not allowed"),
    (([NDCGAtK(5)],), {"thresholds": {"nDCG@10": 0.5}}, "nDCG@10 was not evaluated: did you mean 'nDCG@5'"),
    (([NDCGAtK(5)],), {"thresholds": {"nDCG@5": 85}}, "The threshold 85 for nDCG@5 is not allowed; it is a number up to 1"),
    (([NDCGAtK(5)],), {"thresholds": {"nDCG@5": "high"}}, "The threshold 'high' for nDCG@5 is not allowed"),
    (([NDCGAtK(5)],), {"tise": "input"}, "There is no argument 'tise': did you mean 'ties'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "options", "message"), WRONG_RUNNERS, ids=[m for *_, m in WRONG_RUNNERS]
)
def test_wrong_runners_get_one_clear_error(arguments, options, message):
    with pytest.raises(rl.RankLensError) as error:
        MetricRunner(*arguments, **options)
    assert message in str(error.value)


def test_the_runner_refuses_what_it_cannot_score():
    with pytest.raises(rl.InputError, match="no item"):
        MetricRunner([NDCGAtK(5)]).run([])
    with pytest.raises(rl.InputError, match="Item 2 does not say what is relevant"):
        MetricRunner([NDCGAtK(5)]).run([FOURTEEN, {"actual_ranking": ["a"]}])
    with pytest.raises(rl.PolicyError, match="ranks of documents"):
        MetricRunner([NDCGAtK(5)], ties="average").run([FOURTEEN])
    with pytest.raises(rl.InputError, match="There is no item 'x'"):
        MetricRunner([NDCGAtK(5)]).run([FOURTEEN])["x"]


def test_policies_decide_about_items_without_gold():
    some = [item(["a"], []), item(["a"], ["a"])]
    assert MetricRunner([HitRateAtK(1)]).run(some).mean["hit@1"] == 0.5
    left = MetricRunner([HitRateAtK(1), Fixed(0.5)], empty="skip").run(some)
    assert left.mean == {"Success@1": 1, "fixed": 0.5}
    assert len(left) == 1
    assert left[0].item == some[1]
    assert "1 without relevant documents left out" in left.note


def test_low_grades_are_not_silently_irrelevant():
    low = item(["a"], {"a": 0.5})
    with pytest.warns(rl.RankLensWarning, match=r"The grades of 1 item are all below 1.*rel=0.5"):
        assert MetricRunner([HitRateAtK(1)]).run([low]).mean["hit@1"] == 0
    assert MetricRunner([HitRateAtK(1, rel=0.5), NDCGAtK(1)]).run([low]).mean == {
        "Success(rel=0.5)@1": 1,
        "nDCG@1": 1,
    }


def test_names_of_items_are_unique():
    some = [
        item([], ["a"], id="a"),
        item([], ["a"], id="a (2)"),
        item([], ["a"], id="a"),
        item([], ["a"], query="a"),
        item([], ["a"]),
    ]
    names = [found.name for found in MetricRunner([HitRateAtK(1)]).run(some)]
    assert names == ["a", "a (2)", "a (3)", "a (4)", "5"]


# Metrics that are not RankLens's


class Fixed:
    """A metric of somebody else: no base class, just a method."""

    name = "fixed"

    def __init__(self, score):
        self.score = score

    def evaluate(self, item):
        return self.score


class Watching:
    """Remembers how many calls are under way at once."""

    name = "watching"

    def __init__(self):
        self.running = self.most = 0

    async def execute(self, item):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1
        return MeanReciprocalRank().evaluate(item)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_concurrency_is_how_many_calls_run_at_once(concurrency):
    metric = Watching()
    some = [item(["x", "a"], ["a"])] * 12
    result = MetricRunner([metric], concurrency=concurrency).run(some)
    assert metric.most == concurrency
    assert result.mean == {"watching": 0.5}
    assert result[0]["watching"].signals.rank_of_first_relevant == 2


def test_a_metric_that_belongs_to_its_thread_is_called_there():
    import threading

    class Threaded:
        name = "threaded"

        def evaluate(self, item):
            return float(threading.current_thread() is threading.main_thread())

    assert MetricRunner([Threaded()]).run([FOURTEEN] * 3).mean == {"threaded": 1}
    assert MetricRunner([Threaded()], concurrency=2).run([FOURTEEN] * 3).mean == {"threaded": 0}


def test_a_failing_metric_counts_as_0_and_says_why():
    class Failing:
        def evaluate(self, item):
            if not item.actual_ranking:
                raise RuntimeError("no answer")
            return "good" if item.actual_ranking == ["x"] else 1

    result = MetricRunner([Failing(), NDCGAtK(1)]).run(
        [FOURTEEN, item([], ["a"]), item(["x"], ["a"]), FOURTEEN]
    )
    assert result.mean["Failing"] == 0.5
    assert [found.results[0].error for found in result] == [
        None,
        "RuntimeError: no answer",
        "InputError: it returned 'good', which is not a number and has no score",
        None,
    ]
    assert "counts as 0: RuntimeError: no answer" in result[1].results[0].explanation
    assert "Failing failed for 2 of 4 items, which count as 0" in result.note


@pytest.mark.parametrize("answer", [math.nan, math.inf, None, object()])
def test_no_nan_gets_in(answer):
    result = MetricRunner([Fixed(answer)]).run([FOURTEEN])
    assert result.mean == {"fixed": 0}
    assert result[0].results[0].error
    told = json.loads(result.to_json(), parse_constant=pytest.fail)  # one item: its interval has no ends
    assert told["measures"][0]["low"] is None


def test_inside_a_running_loop():
    """A notebook calls run() while its own event loop runs."""

    async def cell():
        metrics = [Watching(), NDCGAtK(5)]
        return MetricRunner(metrics).run([FOURTEEN]), await MetricRunner(metrics).arun([FOURTEEN])

    first, second = asyncio.run(cell())
    assert first.mean == second.mean == pytest.approx({"watching": 1, "nDCG@5": 0.9212}, abs=5e-5)


def test_two_metrics_of_one_name_are_refused():
    with pytest.raises(rl.MeasureError, match="Two metrics are called 'fixed'"):
        MetricRunner([Fixed(1), Fixed(2)])


def test_progress_is_told():
    told = []
    MetricRunner([NDCGAtK(5), Fixed(1)], progress=lambda done, total: told.append((done, total))).run(
        [FOURTEEN] * 2
    )
    assert told == [(2, 4), (3, 4), (4, 4)]


def test_progress_true_shows_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr("ranklens.progress._SHORT", 0)
    MetricRunner([Fixed(1)], progress=True).run([FOURTEEN] * 3)
    assert "Metrics: 3 of 3" in capsys.readouterr().err
    MetricRunner([Fixed(1)]).run([FOURTEEN] * 3)
    assert capsys.readouterr().err == ""


def test_a_relevant_document_listed_twice_counts_once():
    gold = [{"id": "a", "relevance": 1}, {"id": "a", "relevance": 3}]
    with pytest.warns(rl.RankLensWarning, match="lists a relevant document twice; the highest grade counts"):
        assert item(["a"], gold).expected_reference == {"a": 3}
    with pytest.warns(rl.RankLensWarning, match="lists a relevant document twice"):
        assert RecallAtK(1).evaluate({"retrieved": ["a"], "relevant": ["a", "a"]}).score == 1


def test_scored_pairs_are_a_ranking():
    assert DatasetItem(actual_ranking=[("b", 0.9), ("a", 0.5)], expected_reference=["a"]).actual_ranking == [
        "b",
        "a",
    ]


def test_signals_are_computed_when_looked_at_and_are_ordinary_then():
    item = rl.DatasetItem(actual_ranking=["x", "a"], expected_reference={"a": 2})
    metric = rl.NDCGAtK(k=[1, 5])
    first, second = metric.evaluate(item), metric.evaluate(item)
    assert first == second
    assert pickle.loads(pickle.dumps(first)) == second
    assert copy.deepcopy(first) == second
    assert "rank_of_first_relevant=2" in repr(first.signals)
    assert first.signals["total_relevant"] == 1
    assert first.signals.results_by_k[5].score == first.score
    together = rl.MetricRunner([metric]).run([item])[0]["nDCG@5"]
    assert together.signals == first.signals
    with pytest.raises(KeyError):
        first.signals["_compute"]
    with pytest.raises(AttributeError):
        _ = first.signals.nothing
