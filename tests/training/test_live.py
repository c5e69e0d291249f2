"""Against the training libraries themselves: the same values as theirs, and real training of tiny models that our metric stops."""

import numpy as np
import pytest
from whole_numbers import RECORDED, WholeNumbers, whole_numbers

import ranklens as rl
from ranklens.models import training

pytestmark = pytest.mark.slow


def need(module, package):
    return pytest.importorskip(
        module, reason=f"{package} is not installed: pip install {package}", exc_type=ImportError
    )


def ranking_data(seed, queries=60):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 40, queries)  # of different sizes: means over queries and over documents differ
    features = rng.normal(size=(sizes.sum(), 5))
    labels = np.digitize(features[:, 0] + 0.5 * rng.normal(size=len(features)), [0.5, 1.2, 2.0])
    labels[: sizes[:2].sum()] = 0  # two queries without a relevant document: the libraries give those 1
    return features, labels, sizes


@pytest.fixture
def lightgbm():
    return need("lightgbm", "lightgbm")


@pytest.fixture
def xgboost():
    return need("xgboost", "xgboost-cpu")


def test_lightgbm_trains_and_stops(lightgbm):
    train, valid = (
        lightgbm.Dataset(features, labels, group=sizes)
        for features, labels, sizes in map(ranking_data, (0, 1))
    )
    valid.reference = train
    metric = training.lightgbm_metric("ndcg@5, map@5", convention="lightgbm")
    history = {}
    model = lightgbm.train(
        {
            "objective": "lambdarank",
            "metric": ["ndcg", "map"],
            "eval_at": [5],
            "verbosity": -1,
            "num_threads": 1,
        },
        train,
        200,
        valid_sets=[valid],
        feval=metric,
        callbacks=[lightgbm.early_stopping(5, verbose=False), lightgbm.record_evaluation(history)],
    )
    found = history["valid_0"]
    np.testing.assert_allclose(found["nDCG(gain=exp)@5"], found["ndcg@5"], atol=1e-9)
    np.testing.assert_allclose(found["AP(norm=min)@5"], found["map@5"], atol=1e-9)
    assert 0 < model.best_iteration < 200


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")  # older versions know no other
def test_lightgbm_ranker(lightgbm):
    features, labels, sizes = ranking_data(0)
    model = lightgbm.LGBMRanker(n_estimators=5, verbosity=-1, n_jobs=1)
    metric = training.lightgbm_metric("ndcg@5", convention="lightgbm")
    model.fit(
        features,
        labels,
        group=sizes,
        eval_set=[(features, labels)],
        eval_group=[sizes],
        eval_at=[5],
        eval_metric=[metric, "ndcg"],
    )
    found = next(iter(model.evals_result_.values()))
    np.testing.assert_allclose(found["nDCG(gain=exp)@5"], found["ndcg@5"], atol=1e-9)
    assert metric.scores.mean["nDCG(gain=exp)@5"] == found["nDCG(gain=exp)@5"][-1]


def test_xgboost_trains_and_stops(xgboost):
    matrices = []
    for features, labels, sizes in map(ranking_data, (0, 1)):
        matrix = xgboost.DMatrix(features, labels)
        matrix.set_group(sizes)
        matrices.append(matrix)
    history = {}
    model = xgboost.train(
        {"objective": "rank:ndcg", "eval_metric": "ndcg@5", "nthread": 1},
        matrices[0],
        200,
        evals=[(matrices[1], "valid")],
        custom_metric=training.xgboost_metric("ndcg@5", convention="xgboost"),
        maximize=True,
        early_stopping_rounds=5,
        evals_result=history,
        verbose_eval=False,
    )
    found = history["valid"]
    np.testing.assert_allclose(found["nDCG(gain=exp)@5"], found["ndcg@5"], atol=1e-6)
    assert model.best_iteration == np.argmax(found["nDCG(gain=exp)@5"])
    assert 0 < model.best_iteration < 199


def test_xgboost_ranker_is_refused(xgboost):
    """It would keep the worst round, and its mean counts a query as often as it has documents."""
    features, labels, sizes = ranking_data(0)
    queries = np.repeat(np.arange(len(sizes)), sizes)
    model = xgboost.XGBRanker(
        n_estimators=5,
        eval_metric=training.xgboost_metric("nDCG@5"),
        early_stopping_rounds=2,
        n_jobs=1,
    )
    with pytest.raises(rl.InputError, match=r"XGBRanker.*xgb\.train\(.*maximize=True"):
        model.fit(
            features, labels, qid=queries, eval_set=[(features, labels)], eval_qid=[queries], verbose=False
        )


# CatBoost's own, for every Python metric, with Numba and without.
@pytest.mark.filterwarnings("ignore:Can't optimze method", "ignore:Failed to import numba")
def test_catboost_stops(tmp_path):
    catboost = need("catboost", "catboost")
    pools = []
    for features, labels, sizes in (ranking_data(0), ranking_data(1, 50)):
        pools.append(catboost.Pool(features, labels, group_id=np.repeat(np.arange(len(sizes)), sizes)))
    groups = [
        np.repeat(np.arange(len(sizes)), sizes) for _, _, sizes in (ranking_data(0), ranking_data(1, 50))
    ]
    metric = training.catboost_metric("nDCG@5", groups)
    model = catboost.CatBoost(
        {
            "loss_function": "YetiRank",
            "eval_metric": metric,
            "iterations": 40,
            "verbose": False,
            "thread_count": 1,
            "train_dir": str(tmp_path),
        }
    )
    model.fit(pools[0], eval_set=pools[1], early_stopping_rounds=5)
    best = model.get_best_score()["validation"]
    features, labels, sizes = ranking_data(1, 50)
    expected = rl.evaluate_scores(model.predict(features), labels, sizes, "nDCG@5", relevant="labels").mean[
        "nDCG@5"
    ]
    assert best["_CatBoost"] == pytest.approx(expected), best
    assert metric.scores is not None


@pytest.fixture
def sentence_model():
    need("sentence_transformers", "sentence-transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = {word: i for i, word in enumerate(["[UNK]", *(f"w{i}" for i in range(50))])}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    import torch

    torch.manual_seed(0)
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu")


def texts(seed=0, documents=200, queries=40):
    rng = np.random.default_rng(seed)
    corpus = {f"d{i:03}": " ".join(f"w{w}" for w in rng.integers(0, 50, 8)) for i in range(documents)}
    asked = {f"q{i}": " ".join(rng.permutation(corpus[f"d{i:03}"].split())[:3]) for i in range(queries)}
    return asked, corpus, {f"q{i}": {f"d{i:03}", f"d{i + 100:03}"} for i in range(queries)}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_equal_to_the_evaluator_of_sentence_transformers(sentence_model, tmp_path):
    from sentence_transformers.evaluation import InformationRetrievalEvaluator

    asked, corpus, qrels = texts()
    qrels["q3"] = set()  # left out there
    ours = training.Evaluator(asked, corpus, qrels, name="dev")
    theirs = InformationRetrievalEvaluator(asked, corpus, qrels, name="dev")
    found, expected = (
        ours(sentence_model, tmp_path / "ours"),
        theirs(sentence_model, str(tmp_path / "theirs")),
    )
    assert found == pytest.approx(expected, abs=1e-9)
    assert ours.primary_metric == theirs.primary_metric
    name = "Information-Retrieval_evaluation_dev_results.csv"
    assert (tmp_path / "ours" / name).read_text().splitlines()[0] == (
        tmp_path / "theirs" / name
    ).read_text().splitlines()[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_what_was_recorded_of_sentence_transformers_still_holds():
    """The values that ``test_training`` compares with where sentence-transformers is not installed."""
    need("sentence_transformers", "sentence-transformers")
    import torch
    from sentence_transformers.evaluation import InformationRetrievalEvaluator

    class Model(WholeNumbers):
        def encode_query(self, texts, **_):
            return torch.from_numpy(self.encode(texts))

        encode_document = encode_query

    asked, corpus, qrels = whole_numbers()
    theirs = InformationRetrievalEvaluator(
        asked, corpus, qrels, name="dev", score_functions={"dot": lambda a, b: a @ b.T}
    )
    values = theirs.compute_metrices(Model())["dot"]
    found = {
        f"{name.removesuffix('@k')}@{k}": value for name, by_k in values.items() for k, value in by_k.items()
    }
    assert found == pytest.approx(RECORDED, abs=1e-9), found


@pytest.mark.filterwarnings("ignore")
def test_a_sentence_model_is_trained_until_our_metric_stops_it(sentence_model, tmp_path):
    datasets = need("datasets", "datasets")
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from transformers import EarlyStoppingCallback

    asked, corpus, _ = texts()
    qrels = {f"q{i}": {f"d{i:03}": 2} for i in range(len(asked))}
    evaluator = training.Evaluator(asked, corpus, qrels, "nDCG@10, RR@10", name="dev")
    pairs = datasets.Dataset.from_dict(
        {"anchor": list(asked.values()), "positive": [corpus[f"d{i:03}"] for i in range(len(asked))]}
    )
    arguments = SentenceTransformerTrainingArguments(
        str(tmp_path),
        num_train_epochs=30,
        per_device_train_batch_size=8,
        learning_rate=0.05,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="eval_dev_cosine_ndcg@10",
        report_to=[],
        use_cpu=True,
    )
    trainer = SentenceTransformerTrainer(
        sentence_model,
        arguments,
        pairs,
        loss=MultipleNegativesRankingLoss(sentence_model),
        evaluator=evaluator,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
    )
    trainer.train()
    assert 2 < len(evaluator.history) < 30
    assert trainer.state.best_metric == max(one.mean["nDCG@10"] for one in evaluator.history.values())
