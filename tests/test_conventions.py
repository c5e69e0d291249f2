"""Numbers of other tools from the same data: live where the tools are installed, by their published values where not."""

import random
from functools import partial

import numpy as np
import pytest
import sklearn.metrics
from sklearn.metrics import dcg_score, ndcg_score

import ranklens as rl
from ranklens import metrics as registry
from ranklens.cli.main import main
from ranklens.metrics.conventions import CONVENTIONS
from ranklens.metrics.conventions.differences import differences, in_sentences


def lists(seed, queries=20, positives=True):
    """Labels and scores by query, with ties; some queries have no positive label."""
    rng = random.Random(seed)
    found = []
    for _ in range(queries):
        n = rng.randint(3, 40)
        labels = [rng.choice([0, 0, 0, 1, 2, 3]) for _ in range(n)]
        if not positives and rng.random() < 0.3:
            labels = [0] * n
        elif not any(labels):
            labels[0] = 1
        found.append((labels, [float(rng.randint(0, 9)) for _ in range(n)]))
    return found


def as_dicts(data):
    qrels = {
        f"q{q}": {f"d{i}": label for i, label in enumerate(labels)} for q, (labels, _) in enumerate(data)
    }
    run = {f"q{q}": {f"d{i}": score for i, score in enumerate(scores)} for q, (_, scores) in enumerate(data)}
    return qrels, run


def mean(data, measure, tool):
    (value,) = rl.evaluate(*as_dicts(data), measure, convention=tool).mean.values()
    return value


PUBLISHED = [  # xgboost, tests/cpp/metric/test_rank_metric.h
    ([10, 0, 0, 1, 5], [0.1, 0.2, 0.3, 4, 70], {"ndcg": 0.409738}),
    ([0, 0, 1, 1], [0.1, 0.9, 0.1, 0.9], {"ndcg": 0.6509, "ndcg@2": 0.3868, "map": 0.5, "map@2": 0.25}),
]


@pytest.mark.parametrize(("labels", "scores", "expected"), PUBLISHED)
def test_published_values_of_xgboost(labels, scores, expected):
    for measure, value in expected.items():
        assert mean([(labels, scores)], measure, "xgboost") == pytest.approx(value, abs=1e-4), measure


@pytest.mark.parametrize("name", ["map@10", "ndcg", "ndcg_burges@5", "rbp.95", "precision@3"])
def test_a_level_of_ranx(name):
    """``-l2`` leaves out grades below 2."""
    data = lists(1)
    above = [([label if label >= 2 else 0 for label in labels], scores) for labels, scores in data]
    assert mean(data, f"{name}-l2", "ranx") == pytest.approx(mean(above, name, "ranx"))
    assert mean(data, f"{name}-l2", "ranx") != pytest.approx(mean(data, name, "ranx"))
    with pytest.raises(rl.MeasureError, match="xgboost has no measure"):
        mean(data, "map@10-l2", "xgboost")


def test_an_empty_query_of_xgboost():
    data = [([0, 0], [1.0, 2.0])]
    assert mean(data, "ndcg@5", "xgboost") == 1
    assert mean(data, "ndcg@5-", "xgboost") == 0


@pytest.mark.parametrize("measure", ["ndcg@5", "ndcg", "map@3", "map"])
def test_xgboost_live(measure):
    xgboost = pytest.importorskip("xgboost")
    data = lists(measure, positives=False)
    binary = measure.startswith("map")
    data = [([int(x > 0) for x in labels] if binary else labels, scores) for labels, scores in data]
    features = np.array([[score] for _, scores in data for score in scores])
    matrix = xgboost.DMatrix(features, label=[x for labels, _ in data for x in labels])
    matrix.set_group([len(labels) for labels, _ in data])
    matrix.set_base_margin([score for _, scores in data for score in scores])
    booster = xgboost.train(
        {"objective": "rank:ndcg", "eval_metric": measure, "eta": 0.0, "max_depth": 1},
        matrix,
        num_boost_round=1,
    )
    theirs = float(booster.eval(matrix).rpartition(":")[2])
    assert mean(data, measure, "xgboost") == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("measure", ["ndcg@5", "map@3"])
def test_lightgbm_live(measure):
    lightgbm = pytest.importorskip("lightgbm")
    data = lists(measure, positives=False)
    name, k = measure.split("@")
    if name == "map":
        data = [([int(x > 0) for x in labels], scores) for labels, scores in data]
    features = np.array([[0.0] for _, scores in data for _ in scores])
    sizes = [len(labels) for labels, _ in data]
    labels = [x for labels, _ in data for x in labels]
    start = [score for _, scores in data for score in scores]
    train = lightgbm.Dataset(features, labels, group=sizes, init_score=start, free_raw_data=False)
    seen = {}
    lightgbm.train(
        {
            "objective": "lambdarank",
            "metric": name,
            "eval_at": [int(k)],
            "verbose": -1,
            "learning_rate": 1e-12,
        },
        train,
        num_boost_round=1,
        valid_sets=[train],
        valid_names=["train"],
        callbacks=[lightgbm.record_evaluation(seen)],
    )
    assert mean(data, measure, "lightgbm") == pytest.approx(seen["train"][measure][0], abs=1e-6)


@pytest.mark.parametrize("k", [3, 10])
def test_scikit_learn_live(k):
    data = lists(k)
    theirs = np.mean([ndcg_score([labels], [scores], k=k) for labels, scores in data])
    assert mean(data, f"ndcg_score@{k}", "sklearn") == pytest.approx(theirs, abs=1e-12)
    theirs = np.mean([dcg_score([labels], [scores], k=k) for labels, scores in data])
    assert mean(data, f"dcg_score@{k}", "sklearn") == pytest.approx(theirs, abs=1e-12)


def live(call, labels, scores, k=None):
    return float(call([labels], [scores], **({"k": k} if k else {})))


SKLEARN = [
    "label_ranking_average_precision_score", "label_ranking_loss", "coverage_error", "roc_auc_score", "ndcg_score", "dcg_score@3",
    "average_precision_score",
]  # fmt: skip


@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn_live_with_ties(name):
    rng = random.Random(name)
    base, _, k = name.partition("@")
    call = getattr(sklearn.metrics, base)
    for _ in range(40):
        labels = [int(rng.random() < 0.4) for _ in range(rng.randint(2, 12))]
        scores = [float(rng.randint(0, 3)) for _ in labels]
        if base in ("roc_auc_score", "average_precision_score"):
            if not any(labels) or (
                base == "roc_auc_score" and all(labels)
            ):  # where scikit-learn warns or fails
                continue
            theirs = call(labels, scores)
        else:
            theirs = live(call, labels, scores, k and int(k))
        assert mean([(labels, scores)], name, "sklearn") == pytest.approx(theirs, abs=1e-12), (labels, scores)


@pytest.mark.parametrize(("name", "k"), [("ndcg_score", None), ("ndcg_score", 4), ("dcg_score", 3)])
def test_scikit_learn_live_with_ties_ignored(name, k):
    rng = random.Random(name)
    call = partial(getattr(sklearn.metrics, name), ignore_ties=True)
    measure = f"{name}(ignore_ties=True){f'@{k}' if k else ''}"
    for _ in range(20):
        labels = [rng.randint(0, 3) for _ in range(rng.randint(2, 12))]
        scores = rng.sample(range(50), len(labels))
        assert mean([(labels, scores)], measure, "sklearn") == pytest.approx(live(call, labels, scores, k))


@pytest.mark.parametrize("measure", ["pre", "pre@3", "pre@3-", "ndcg-", "map-", "map@3-"])
def test_xgboost_live_without_relevant_documents_and_without_a_cutoff(measure):
    """Down to 32 documents where no cutoff is given."""
    xgboost = pytest.importorskip("xgboost")
    rng = random.Random(measure)
    for n in (3, 20, 60, 60):
        labels = [int(rng.random() < 0.2) for _ in range(n)] if n > 3 else [0] * n
        scores = [float(rng.randint(0, 9)) for _ in range(n)]
        matrix = xgboost.DMatrix(np.array([[score] for score in scores]), label=labels)
        matrix.set_group([n])
        matrix.set_base_margin(scores)
        settings = {"objective": "rank:ndcg", "eval_metric": measure, "eta": 0.0, "max_depth": 1}
        booster = xgboost.train(settings, matrix, num_boost_round=1)
        theirs = float(booster.eval(matrix).rpartition(":")[2])
        assert mean([(labels, scores)], measure, "xgboost") == pytest.approx(theirs, abs=1e-5), (n, labels)


# What torchmetrics 1.9.0 prints for these scores and labels.
TORCHMETRICS = [
    ([0.1, 0.8], [1, 1], {"auroc": 0.0, "fall_out": 1.0, "map": 1.0}),
    ([0.5, 0.5, 0.2], [1, 0, 1], {"auroc": 0.25, "ndcg": 0.8065735964}),
    ([0.5, 0.5, 0.2], [0, 0, 1], {"ndcg@2": 0.0, "auroc": 0.0}),
]


@pytest.mark.parametrize(("scores", "labels", "expected"), TORCHMETRICS)
def test_values_of_torchmetrics(scores, labels, expected):
    for measure, value in expected.items():
        assert mean([(labels, scores)], measure, "torchmetrics") == pytest.approx(value, abs=1e-6), measure


def first_note(measure, labels, scores, tool):
    return rl.explain(measure, *as_dicts([(labels, scores)]), query="q0", convention=tool).notes[0]


@pytest.mark.parametrize(
    ("tool", "measure", "labels", "scores", "why"),
    [
        ("torchmetrics", "map", [1, 0], [0.5, 0.5], "leaves the order of tied documents open"),
        ("torchmetrics", "mrr", [1, 0], [-0.5, -0.7], "a score of 0 or less count as irrelevant"),
        ("torchmetrics", "auroc@1", [1, 0], [0.5, 0.5], "tie across the cutoff"),
        ("ranx", "map", [1, 0], [0.5, 0.5], "leaves the order of tied documents open"),
        ("ranx", "bpref", [1, 1], [0.5, 0.4], "divides by 0 if no judged document is irrelevant"),
        ("ranx", "bpref-l2", [2, 3], [0.5, 0.4], "divides by 0 if no judged document is irrelevant"),
        ("spark", "ndcgAt@5", [1, 2], [0.5, 0.4], "depends on the order in which labels are given"),
        ("sklearn", "roc_auc_score", [1, 1], [0.5, 0.4], "not defined without both"),
        (
            "sklearn",
            "ndcg_score(ignore_ties=true)",
            [1, 0],
            [0.5, 0.5],
            "leaves the order of tied documents open",
        ),
    ],
)
def test_an_unknown_number_is_not_stated(tool, measure, labels, scores, why):
    note = first_note(measure, labels, scores, tool)
    assert note.startswith(f"The number of {tool} for {measure} is not known: ")
    assert why in note


def test_a_known_number_is_stated():
    assert first_note("map", [1, 0], [0.5, 0.4], "torchmetrics").startswith("torchmetrics gives 1.0000")
    assert first_note("bpref-l2", [2, 1], [0.4, 0.5], "ranx").startswith("ranx gives 0.0000")
    assert first_note("ndcg", [1, 0], [0.5, 0.5], "torchmetrics").startswith("torchmetrics gives 0.8155")
    assert first_note("label_ranking_average_precision_score", [0, 0], [1.0, 2.0], "sklearn").startswith(
        "sklearn gives 1.0000"
    )


def test_rectools_averages_sufficient_lists_over_users_with_recommendations():
    notes = rl.explain("SufficientReco@1", {"u": {"a"}}, {"u": ["a"]}, query="u", convention="rectools").notes
    assert "RecTools averages over the users with recommendations only." in notes


def test_the_ideal_ranking_of_elasticsearch_is_not_known_if_documents_are_missing():
    notes = rl.explain(
        "ndcg", {"q": {"a": 2, "b": 1}}, {"q": ["a"]}, query="q", convention="elasticsearch"
    ).notes
    assert "is not known: its ideal ranking is cut at the documents returned" in notes[0]


@pytest.mark.parametrize(
    ("tool", "measures"),
    [
        ("xgboost", "ndcg@5 pre@5"),
        ("xgboost", "ndcg@5 ndcg@5-"),  # the same measure
        ("torchmetrics", "ndcg@5 map@5"),
        ("sklearn", "average_precision_score label_ranking_average_precision_score"),
    ],
)
def test_measures_that_a_tool_treats_differently_are_asked_for_one_by_one(tool, measures):
    with pytest.raises(rl.PolicyError, match="evaluate them in separate calls"):
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, measures, convention=tool)


@pytest.mark.parametrize("k", [5, 10])
def test_ndeval_breaks_ties_by_ascending_id(k):
    pyndeval = pytest.importorskip("pyndeval")
    rng = random.Random(k)
    for _ in range(20):
        topics = {t: {f"d{rng.randint(0, 9)}": 1 for _ in range(4)} for t in "12"}
        run = {f"d{i}": float(rng.randint(0, 2)) for i in range(10)}
        gold = [
            pyndeval.SubtopicQrel("1", t, doc, grade)
            for t, docs in topics.items()
            for doc, grade in docs.items()
        ]
        asked = [f"alpha-nDCG@{k}", f"ERR-IA@{k}", "MAP-IA", f"strec@{k}"]
        theirs = pyndeval.ndeval(gold, [pyndeval.ScoredDoc("1", d, s) for d, s in run.items()], asked)["1"]
        ours = rl.evaluate({"1": topics}, {"1": run}, asked, convention="ndeval").mean
        assert [*ours.values()] == pytest.approx([theirs[name] for name in asked], abs=1e-6)


def test_averages_of_map_at_k():
    """Hits 1, 0, 1 of 4 relevant documents, k = 3: the four numbers that tools give."""
    qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}}
    run = {"q": ["a", "x", "b"]}
    expected = {"beir": 0.4167, "lightgbm": 0.5556, "torchmetrics": 0.8333, "sentence-transformers": 0.5556}
    for tool, value in expected.items():
        (found,) = rl.evaluate(qrels, run, "map@3", convention=tool).mean.values()
        assert found == pytest.approx(value, abs=1e-4), tool


def test_the_number_of_the_tool_is_explained():
    qrels, run = as_dicts([([10, 0, 0, 1, 5], [0.1, 0.2, 0.3, 4, 70])])
    found = rl.explain("ndcg", qrels, run, query="q0", convention="xgboost")
    assert found.value == pytest.approx(0.409738, abs=1e-6)
    assert found.notes[0] == "xgboost gives 0.4097 for ndcg, nDCG@32 is 0.6957."
    assert "The gain is 2^grade - 1, not the grade." in found.notes


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_name_of_every_tool_is_a_measure(name):
    tool = rl.convention(name)
    for theirs in tool.names:
        for text in (f"{theirs.removesuffix('-')}@5{'-' * theirs.endswith('-')}", theirs):
            assert tool.measure(text).definition
    assert {*tool.why} <= {"", *tool.names}
    assert {*tool.bare} | tool.tied <= {*tool.names}


def test_wrong_names_get_one_clear_error():
    with pytest.raises(rl.InputError, match="did you mean 'xgboost'"):
        rl.convention("xgbost")
    with pytest.raises(rl.MeasureError, match="lightgbm has no measure 'recall@5'"):
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "recall@5", convention="lightgbm")


def test_who_computes_a_measure_otherwise():
    assert {found.tool for found in differences("nDCG")} == {
        "lightgbm", "xgboost", "tf-ranking", "torchmetrics", "sklearn", "spark", "elasticsearch", "gdeval", "rectools",
    }  # fmt: skip
    (lrap,) = [found for found in differences("map") if found.tool == "torchmetrics"]
    assert str(lrap.ours) == "LRAP"
    assert "map is what is called LRAP here." in lrap.reasons
    assert in_sentences("Rprec") == []
    assert in_sentences("R") == ["Without a cutoff, only the first documents count: 10 in elasticsearch."]


def test_every_reason_of_a_tool_is_told_with_some_measure():
    said = " ".join(line for name in registry.definitions() for line in in_sentences(name))
    for tool in CONVENTIONS.values():
        for called, reason in tool.why.items():
            assert not called or reason in said, (tool.name, called)


def test_the_command_tells_them(capsys):
    assert main(["measures", "err"]) == 0
    assert "gdeval (`ERR(max_grade=4)`): The highest grade is 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tool", "asked", "ours"),
    [
        ("spark", "nDCG@10", "nDCG(gain=exp)@10"),
        ("spark", "AP", "AP"),
        ("spark", "AP@5", "AP(norm=min)@5"),
        ("ndeval", "alpha_nDCG@20", "alpha_nDCG@20"),
        ("xgboost", "AP@5", "AP(norm=min)@5"),
    ],
)
def test_our_names_are_understood_too(tool, asked, ours):
    assert str(rl.convention(tool).measure(asked)) == ours


def test_our_parameters_are_not_the_tools():
    with pytest.raises(rl.MeasureError, match="spark has no measure"):
        rl.convention("spark").measure("nDCG(log_base=3)@10")
