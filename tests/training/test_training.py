"""Metrics inside training loops, without the training libraries: values, shapes and errors."""

import copy
import pickle

import numpy as np
import pytest
from whole_numbers import RECORDED, WholeNumbers, whole_numbers

import ranklens as rl
from ranklens.models import training


class Data:
    """What LightGBM and XGBoost hand to a metric."""

    def __init__(self, labels, sizes):
        self.labels, self.sizes = labels, sizes

    def get_label(self):
        return self.labels

    def get_group(self):
        return self.sizes

    def get_uint_info(self, name):
        assert name == "group_ptr"
        return [] if self.sizes is None else np.cumsum([0, *self.sizes])


LABELS, PREDICTIONS, SIZES = [1, 0, 0, 2, 1], [0.1, 0.9, 0.2, 0.8, 0.9], [2, 3]


def expected(measures):
    return rl.evaluate_scores(PREDICTIONS, LABELS, SIZES, measures, relevant="labels").mean


def test_boosting_metrics_are_the_measures():
    data, mean = Data(LABELS, SIZES), expected("nDCG@10, RR")
    assert training.lightgbm_metric("nDCG@10, RR")(PREDICTIONS, data) == [
        ("nDCG@10", mean["nDCG@10"], True),
        ("RR", mean["RR"], True),
    ]
    assert training.lightgbm_metric("RR")(LABELS, PREDICTIONS, None, SIZES) == [("RR", mean["RR"], True)]
    metric = training.xgboost_metric("RR")
    assert metric(PREDICTIONS, data) == ("RR", mean["RR"])
    assert metric.scores["RR"].tolist() == [0.5, 1.0]  # per query
    with pytest.raises(rl.InputError, match=r"cannot be the eval_metric of XGBRanker.*xgb\.train"):
        metric(np.array([1, 0]), np.array([0.1, 0.9]))
    with pytest.raises(rl.InputError, match="maximize=False"):
        training.xgboost_metric("RankingLoss")(np.array([1, 0]), np.array([0.1, 0.9]))
    catboost = training.catboost_metric("RR", [["a", "a", "b", "b", "b"], ["x"]])
    assert catboost.evaluate([PREDICTIONS], LABELS, None) == (mean["RR"], 1.0)
    with pytest.raises(rl.InputError, match="knows the groups of 5, 1 documents, but CatBoost evaluates 2"):
        catboost.evaluate([[1, 2]], [1, 0], None)


def test_the_mean_of_a_call_is_its_own_while_another_thread_calls():
    class Interrupted(list):
        def __iter__(self):
            metric.names = ["RR"]
            assert metric([0.9, 0.1, 0.2, 0.8, 0.9], Data(LABELS, SIZES)) != whole
            return iter(["RR"])

    metric, whole = training.lightgbm_metric("RR"), [("RR", expected("RR")["RR"], True)]
    metric.names = Interrupted()
    assert metric(PREDICTIONS, Data(LABELS, SIZES)) == whole


def test_a_copy_of_a_metric_shows_its_scores():
    """LightGBM's scikit-learn classes train with a deep copy."""
    metric = training.lightgbm_metric("RR")
    copy.deepcopy(metric)(PREDICTIONS, Data(LABELS, SIZES))
    assert metric.scores.mean == expected("RR")


def test_groups_are_needed():
    with pytest.raises(rl.InputError, match="LightGBM gave no groups"):
        training.lightgbm_metric()(PREDICTIONS, Data(LABELS, None))
    with pytest.raises(rl.InputError, match="XGBoost gave no groups"):
        training.xgboost_metric()(PREDICTIONS, Data(LABELS, None))


def test_a_meter_adds_up_over_batches_and_processes():
    rng = np.random.default_rng(0)
    scores, labels, queries = rng.random(60), rng.integers(0, 3, 60), rng.integers(0, 7, 60)
    whole = rl.evaluate_scores(scores, labels, queries, "nDCG@10", ties="input", relevant="labels")
    meters = [training.Meter("nDCG@10", ties="input") for _ in range(2)]
    for i in range(0, 60, 10):
        part = slice(i, i + 10)
        meters[i // 30].update(scores[part], labels[part], queries[part])
    first = meters[0].merge(pickle.loads(pickle.dumps(meters[1])))
    found = first.gather().compute("labels")
    assert dict(zip(found.queries, found["nDCG@10"], strict=True)) == dict(
        zip(whole.queries, whole["nDCG@10"], strict=True)
    )
    first.reset()
    first.update([[0.1, 0.9], [0.9, 0.1]], [[1, 0], [1, 0]])
    first.update([[0.1, 0.9]], [[1, 0]], mask=[[1, 0]])
    assert first.compute("labels").mean["nDCG@10"] == pytest.approx((1 / np.log2(3) + 1 + 1) / 3)
    with pytest.raises(rl.InputError, match="queries has 1 entries for 2 documents"):
        first.update([1, 2], [0, 1], ["a"])


def test_a_scorer_for_cross_validation():
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import GroupKFold, cross_val_score

    rng = np.random.default_rng(0)
    features = np.column_stack([np.repeat(np.arange(30), 5), rng.normal(size=(150, 2))])
    best = features[:, 1].reshape(30, 5)
    labels = (best >= np.sort(best)[:, 3:4]).astype(int).reshape(-1)  # the two best of every query
    folds = GroupKFold(3).split(features, labels, features[:, 0])
    found = cross_val_score(
        LinearRegression(), features, labels, scoring=training.scorer("AP", query=0), cv=folds
    )
    assert (found > 0.95).all()
    with pytest.raises(rl.InputError, match="query='qid' is not a column"):
        training.scorer("AP", query="qid")(LinearRegression().fit(features, labels), features, labels)


class Lengths:
    """A model whose vectors get better from call to call."""

    similarity_fn_name = None

    def __init__(self, noise):
        self.noise, self.rng = noise, np.random.default_rng(0)

    def encode(self, texts, batch_size, show_progress_bar, convert_to_tensor=False):
        angles = np.array([float(text) for text in texts])
        angles = angles + self.noise * self.rng.normal(size=len(texts))
        return np.column_stack([np.cos(angles), np.sin(angles)])


def an_evaluator(**options):
    texts = {f"t{i}": str(i / 50) for i in range(100)}
    return training.Evaluator(texts, texts, {name: {name: 1} for name in texts}, name="dev", **options)


def test_the_evaluator_speaks_as_sentence_transformers_does(tmp_path):
    evaluator = an_evaluator()
    means = evaluator(Lengths(0.0), str(tmp_path), 1, 500)
    assert list(means)[:3] == ["dev_cosine_accuracy@1", "dev_cosine_accuracy@3", "dev_cosine_accuracy@5"]
    assert {
        "dev_cosine_mrr@10",
        "dev_cosine_map@100",
        "dev_cosine_precision@10",
        "dev_cosine_recall@1",
    } < set(means)
    assert evaluator.primary_metric == "dev_cosine_ndcg@10"
    assert means[evaluator.primary_metric] == 1.0
    evaluator(Lengths(0.05), str(tmp_path), 2, 500)
    lines = (tmp_path / "Information-Retrieval_evaluation_dev_results.csv").read_text().splitlines()
    assert lines[0].startswith("epoch,steps,cosine-Accuracy@1,cosine-Accuracy@3")
    assert lines[0].endswith("cosine-MRR@10,cosine-NDCG@10,cosine-MAP@100")
    assert [line.split(",")[:2] for line in lines[1:]] == [["1", "500"], ["2", "500"]]
    with pytest.raises(rl.InputError, match="primary='AP' is not among the measures"):
        an_evaluator(primary="AP")


def test_a_best_step_within_noise_is_called_noise():
    evaluator = an_evaluator(measures="RR@10, nDCG@10")
    for step, noise in ((100, 1.0), (200, 0.021), (300, 0.02)):
        evaluator(Lengths(noise), steps=step)
    found = training.compare_checkpoints(evaluator, "RR@10")
    assert list(evaluator.history) == ["step 100", "step 200", "step 300"]
    assert {found.best, *found.within_noise} == {"step 200", "step 300"}
    assert found.first == "step 200"
    assert found.is_noise
    other = next(step for step in found.within_noise)
    assert (
        f"No significant difference between it and {other} on these queries. The earliest of them is step 200."
        in str(found)
    )
    with pytest.raises(rl.InputError, match="needs the scores of two steps"):
        training.compare_checkpoints({"1": evaluator.history["step 100"]})


class Writer:
    """What a SummaryWriter is asked for."""

    def __init__(self, folder):
        self.log_dir, self.scalars, self.texts = folder, [], {}

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def add_histogram(self, name, values, step):
        assert len(values)

    def add_text(self, name, text, step):
        self.texts[name] = text

    def flush(self):
        pass


def test_each_call_is_logged_with_its_step(tmp_path):
    writer = Writer(tmp_path)
    evaluator = an_evaluator(measures="RR@10, nDCG@10", log_to=writer)
    for step, noise in ((100, 1.0), (200, 0.021), (300, 0.02)):
        evaluator(Lengths(noise), steps=step)
    logged = {(name, step): value for name, value, step in writer.scalars}
    assert {step for _, _, step in writer.scalars} == {100, 200, 300}
    for step in (100, 200, 300):
        assert logged["dev/nDCG_at_10", step] == evaluator.history[f"step {step}"].mean["nDCG@10"]
    assert not list(tmp_path.iterdir())  # no report for every step
    found = training.compare_checkpoints(evaluator, "RR@10")
    found.log_to(writer)
    best = ("RR_at_10_best", found.comparison.result("RR@10", found.best).mean, None)
    assert writer.scalars[-2:] == [best, ("RR_at_10_best_held_out", found.held_out, None)]
    assert writer.texts["checkpoints"] == str(found)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_calls_without_a_step_are_counted(tmp_path):
    writer = Writer(tmp_path)
    evaluator = an_evaluator(measures="RR@10", log_to=writer)
    evaluator(Lengths(0.1))
    evaluator(Lengths(0.1), epoch=2)
    assert [step for name, _, step in writer.scalars if name == "dev/RR_at_10"] == [1, 2]
    with pytest.raises(rl.InputError, match="There is no tracker 'mlfow'"):
        an_evaluator(measures="RR@10", log_to="mlfow")


def test_conventions_are_those_of_evaluate():
    scores, labels = [0.1, 0.9, 0.5, 0.5, 0.2, 0.3], [2, 0, 0, 1, 0, 0]
    queries = ["a", "a", "b", "b", "c", "c"]  # c has nothing relevant
    qrels = {q: {} for q in queries}
    run = {q: {} for q in queries}
    for i, (query, score, label) in enumerate(zip(queries, scores, labels, strict=True)):
        qrels[query][str(i)], run[query][str(i)] = label, score
    expected = rl.evaluate(qrels, run, "ndcg@5", convention="lightgbm").mean
    assert (
        rl.evaluate_scores(scores, labels, queries, "ndcg@5", convention="lightgbm", relevant="labels").mean
        == expected
    )
    meter = training.Meter("ndcg@5", convention="lightgbm")
    meter.update(scores, labels, queries)
    assert meter.compute("labels").mean == expected
    assert meter.gather().compute("labels").mean == expected
    value = expected["nDCG(gain=exp)@5"]
    metric = training.catboost_metric("ndcg@5", queries, convention="lightgbm")
    assert metric.evaluate([scores], labels, None) == (value, 1.0)
    features = np.column_stack([np.repeat([0, 1, 2], 2), scores])

    class Model:
        def predict(self, features):
            return features[:, 1]

    assert training.scorer("ndcg@5", query=0, convention="lightgbm")(Model(), features, labels) == value
    assert (
        value
        > rl.evaluate_scores(scores, labels, queries, "nDCG(gain=exp)@5", relevant="labels").mean[
            "nDCG(gain=exp)@5"
        ]
    )


def test_the_evaluator_takes_the_names_of_a_convention():
    evaluator = an_evaluator(measures="ndcg@10, map@100, accuracy@1", convention="sentence-transformers")
    assert list(evaluator(Lengths(0.02))) == [
        "dev_cosine_ndcg@10",
        "dev_cosine_map@100",
        "dev_cosine_accuracy@1",
    ]
    assert [str(one) for one in evaluator.measures] == ["nDCG@10", "AP(norm=min)@100", "Success@1"]
    (scores,) = evaluator.history.values()
    assert (scores.judged.policy.ties, scores.judged.policy.empty) == ("ascending", "skip")


def test_the_values_of_sentence_transformers():
    asked, corpus, qrels = whole_numbers()
    for options in ({}, {"convention": "sentence-transformers"}):
        evaluator = training.Evaluator(asked, corpus, qrels, similarity="dot", **options)
        found = {name.removeprefix("dot_"): value for name, value in evaluator(WholeNumbers()).items()}
        assert found == pytest.approx(RECORDED, abs=1e-9)
    usual = training.Evaluator(asked, corpus, qrels, similarity="dot", policy=rl.Policy())(WholeNumbers())
    assert usual["dot_mrr@10"] != pytest.approx(
        RECORDED["mrr@10"], abs=1e-3
    )  # ties and the empty query matter here


def test_pools_of_one_size_need_one_metric_each():
    same = training.catboost_metric("RR", [["a", "a", "b"], ["a", "a", "b"]])
    assert same.evaluate([[1, 2, 3]], [1, 0, 1], None) == (0.75, 1.0)
    with pytest.raises(rl.InputError, match="two pools have 3 documents but other groups"):
        training.catboost_metric("RR", [["a", "a", "b"], ["a", "b", "b"]])


def test_checkpoints_are_tested_as_systems_are():
    """Successes by McNemar's test, like everywhere else."""
    qrels = {f"q{i}": {"a"} for i in range(30)}
    runs = {str(step): {q: ["a"] if int(q[1:]) < 15 + step else ["x"] for q in qrels} for step in (0, 8)}
    scores = {step: rl.evaluate(qrels, run, "Success@1") for step, run in runs.items()}
    found = training.compare_checkpoints(scores).comparison.pair("Success@1", "0", "8")
    assert found.p_value == pytest.approx(0.5**8)  # eight gained, none lost, mid-p


def _steps(values):
    """Scores of steps, one row each."""
    return {
        f"step {i}": {f"q{q}": {"RR": float(v)} for q, v in enumerate(row)} for i, row in enumerate(values)
    }


def test_steps_that_truly_differ_are_not_called_noise():
    """Twelve queries do not show a difference of 0.1; that is no evidence that there is none."""
    rng = np.random.default_rng(1)
    values = np.clip(rng.normal(0.5, 0.3, (4, 12)) + np.array([0.0, 0.0, 0.0, 0.1])[:, None], 0, 1)
    found = training.compare_checkpoints(_steps(values))
    assert found.is_noise
    assert "No significant difference between it and any other step on these 12 queries." in str(found)
    assert "noise" not in str(found)
    assert "told apart" not in str(found)
    assert (
        f"on queries that did not pick it, the best step has a mean of {found.held_out:.4f} (cross-fitted)."
        in str(found)
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_the_best_of_thirty_steps_is_not_reported_too_high(sign):
    """Equal steps: the best mean is too high by 0.05, its mean on held-out queries is right."""
    from ranklens.stats.selection import cross_fitted

    rng = np.random.default_rng(0)
    best, held_out = [], []
    for _ in range(60):
        values = np.clip(rng.normal(0.5, 0.2, (1, 60)) + rng.normal(0, 0.19, (30, 60)), 0, 1)
        means = sign * values.mean(axis=1)
        best.append(sign * means.max())
        held_out.append(cross_fitted(values, better="higher" if sign > 0 else "lower").mean())
    assert sign * (np.mean(best) - 0.5) > 0.04
    assert np.mean(held_out) == pytest.approx(0.5, abs=0.015)  # three standard errors


def test_the_held_out_mean_is_that_of_the_steps_picked_elsewhere():
    values = np.array([[0.5] * 20, [0.6] * 20, [0.1] * 20])
    found = training.compare_checkpoints(_steps(values))
    assert found.held_out == pytest.approx(0.6)  # the same step is best on all queries
    one = training.compare_checkpoints(_steps(values[:, :1]))
    assert one.held_out is None
    assert "cross-fitted" not in str(one)


@pytest.mark.parametrize("shape", ["rows", "mask", "sizes"])
def test_queries_without_ids_stay_apart_when_meters_are_merged(shape):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(6, 4, 5)), rng.integers(0, 2, (6, 4, 5))
    meters = [training.Meter("RR"), training.Meter("RR")]
    for i, (score, label) in enumerate(zip(scores, labels, strict=True)):
        if shape == "sizes":
            meters[i % 2].update(score.ravel(), label.ravel(), [5] * 4)
        else:
            meters[i % 2].update(score, label, mask=np.ones((4, 5)) if shape == "mask" else None)
    expected = rl.evaluate_scores(scores.reshape(24, 5), labels.reshape(24, 5), measures="RR")
    found = meters[0].merge(pickle.loads(pickle.dumps(meters[1]))).compute()
    assert len(found.queries) == len({*found.queries}) == 24
    assert found.mean["RR"] == pytest.approx(expected.mean["RR"])
    assert repr(meters[0]) == "Meter(RR: 120 documents in 6 batches)"


def test_only_meters_of_the_same_measures_are_merged():
    with pytest.raises(
        rl.InputError, match="Meters are merged if measures and policies are the same: here nDCG@10 and RR"
    ):
        training.Meter("nDCG@10").merge(training.Meter("RR"))
    with pytest.raises(rl.InputError, match="merge takes a Meter, not a list"):
        training.Meter("RR").merge([training.Meter("RR")])
    assert training.Meter("ndcg_cut_10").merge(training.Meter("nDCG@10")).compute is not None


def test_measures_in_the_place_of_queries():
    with pytest.raises(
        rl.InputError, match="queries='RR' is a text, not a list of ids; name measures with measures='RR'"
    ):
        rl.evaluate_scores(np.eye(2), np.eye(2), "RR")


def test_steps_in_a_list():
    with pytest.raises(rl.InputError, match="it was given a list"):
        training.compare_checkpoints([1, 2, 3])
