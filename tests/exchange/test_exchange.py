"""Results and collections in the shapes of others."""

import json
from typing import NamedTuple

import ir_measures
import pytest
import yaml

import ranklens as rl
from ranklens.exchange import ir_measures as plugin


class Qrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int


class Query(NamedTuple):
    query_id: str
    text: str


QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"a": 1}}
RUN = {"q1": {"x": 3.0, "a": 2.0, "b": 1.0}, "q2": {"c": 1.0, "x": 0.5}}


def test_mteb_there_and_back(tmp_path):
    scores = rl.evaluate(QRELS, RUN, ["nDCG@10", "R@5", "RR@10", "AP(norm=min)@10"])
    content = scores.to_mteb("SciFact", revision="abc", languages=["eng-Latn"])
    entry = content["scores"]["test"][0]
    assert entry["ndcg_at_10"] == entry["main_score"] == round(scores.mean["nDCG@10"], 6)
    place = tmp_path / "me__model" / "rev1"
    place.mkdir(parents=True)
    (place / "SciFact.json").write_text(json.dumps(content))
    (place / "model_meta.json").write_text("{}")
    old = {
        "mteb_version": "1.0.2",
        "mteb_dataset_name": "NFCorpus",
        "test": {"ndcg_at_10": 0.25, "evaluation_time": 3.5},
    }
    (place / "NFCorpus.json").write_text(json.dumps(old))
    table = rl.read_mteb(tmp_path)
    assert set(table["task"]) == {"SciFact", "NFCorpus"}
    assert set(table["model"]) == {"me/model"}
    found = {(row["task"], row["measure"]): row["value"] for row in table.to_dicts()}
    assert found["SciFact", "R@5"] == pytest.approx(scores.mean["R@5"], abs=1e-6)
    assert found["SciFact", "main_score"] == found["SciFact", "nDCG@10"]
    assert found["NFCorpus", "nDCG@10"] == 0.25
    assert ("NFCorpus", "evaluation_time") not in found
    with pytest.raises(rl.InputError, match="main='AP' was not evaluated"):
        scores.to_mteb("SciFact", main="AP")
    (tmp_path / "empty").mkdir()
    with pytest.raises(rl.InputError, match="holds no results of MTEB"):
        rl.read_mteb(tmp_path / "empty")


def test_measures_of_mteb_without_a_cutoff(tmp_path):
    scores = rl.evaluate(QRELS, RUN, ["AP", "nDCG"])
    content = scores.to_mteb("Reranking", main="AP")
    # As tasks of reranking, which cut at 10, and tasks that pair sentences have them: not ours.
    content["scores"]["test"][0] |= {"mrr": 0.25, "recall": 0.5}
    (tmp_path / "Reranking.json").write_text(json.dumps(content))
    table = rl.read_mteb(tmp_path)
    found = dict(zip(table["measure"], table["value"], strict=True))
    others = {"main_score": scores.mean["AP"], "mrr": 0.25, "recall": 0.5}
    assert found == pytest.approx({**scores.mean, **others}, abs=1e-6)


def test_a_model_card():
    scores = rl.evaluate(QRELS, RUN, ["nDCG@10", "NumRet"])
    card = yaml.safe_load(scores.to_hub("me/model", "mteb/scifact", split="test"))
    result = card["model-index"][0]["results"][0]
    assert result["dataset"] == {"type": "mteb/scifact", "name": "mteb/scifact", "split": "test"}
    assert result["metrics"][0]["type"] == "ndcg_at_10"
    assert result["metrics"][0]["value"] == pytest.approx(scores.mean["nDCG@10"], abs=1e-6)
    hub = pytest.importorskip(
        "huggingface_hub.repocard_data", reason="pip install huggingface_hub", exc_type=ImportError
    )
    name, results = hub.model_index_to_eval_results(card["model-index"])
    assert (name, results[0].metric_value) == ("me/model", result["metrics"][0]["value"])


@pytest.fixture
def installed():
    provider = plugin.install()
    yield provider
    ir_measures.DefaultPipeline.providers.remove(provider)


def test_ir_measures_computes_with_ranklens(installed):
    measures = [
        ir_measures.parse_measure(name)
        for name in ("nDCG@10", "AP", "P(rel=2)@5", "RR", "nDCG(dcg='exp-log2')@5", "Judged@5")
    ]
    assert all(installed.supports(measure) for measure in measures)
    assert not installed.supports(ir_measures.parse_measure("Accuracy"))
    found = ir_measures.calc_aggregate(measures, QRELS, RUN)
    ours = rl.evaluate(QRELS, RUN, ["nDCG@10", "AP", "P(rel=2)@5", "RR", "nDCG(gain=exp)@5"])
    for measure, name in zip(measures, ours.mean, strict=False):
        assert found[measure] == pytest.approx(ours.mean[name]), name
    ir_measures.DefaultPipeline.providers.remove(installed)
    try:
        assert ir_measures.calc_aggregate(measures[:4], QRELS, RUN) == pytest.approx(
            {m: found[m] for m in measures[:4]}
        )
    finally:
        ir_measures.DefaultPipeline.providers.insert(0, installed)


def test_an_experiment_of_pyterrier_computes_with_ranklens(installed, monkeypatch):
    pt = pytest.importorskip("pyterrier", reason="pip install python-terrier", exc_type=ImportError)
    pd = pytest.importorskip("pandas", reason="pip install pandas", exc_type=ImportError)
    asked, evaluator = [], installed.evaluator

    def watched(measures, qrels):
        asked.extend(map(str, measures))
        return evaluator(measures, qrels)

    monkeypatch.setattr(installed, "evaluator", watched)
    run = pd.DataFrame(
        [(q, d, s, rank) for q, docs in RUN.items() for rank, (d, s) in enumerate(docs.items())],
        columns=["qid", "docno", "score", "rank"],
    )
    qrels = pd.DataFrame(
        [(q, d, grade) for q in RUN for d, grade in QRELS[q].items()], columns=["qid", "docno", "label"]
    )
    topics = pd.DataFrame({"qid": list(RUN), "query": ["one", "two"]})
    names = ["nDCG@10", "AP", "RR"]
    found = pt.Experiment(
        [run], topics, qrels, [ir_measures.parse_measure(name) for name in names], names=["mine"]
    )
    ours = rl.evaluate({q: QRELS[q] for q in RUN}, RUN, names).mean
    assert found[names].iloc[0].to_dict() == pytest.approx(ours)
    assert sorted(asked) == sorted(names)


def test_collections_of_ir_datasets():
    class Dataset:
        def qrels_iter(self):
            return iter([Qrel("q1", "a", 2), Qrel("q1", "b", 0)])

        def queries_iter(self):
            return iter([Query("q1", "why?")])

    topics = rl.from_ir_datasets(Dataset())
    assert (topics.qrels, topics.queries) == ({"q1": {"a": 2, "b": 0}}, {"q1": "why?"})
    with pytest.raises(rl.InputError, match="has no judgments"):
        rl.from_ir_datasets(object())


def test_ir_datasets_reads_a_collection_by_its_id(tmp_path, monkeypatch):
    library = pytest.importorskip("ir_datasets", reason="pip install ir-datasets", exc_type=ImportError)
    with pytest.raises(rl.InputError, match="knows no 'no/such/thing'"):
        rl.from_ir_datasets("no/such/thing")
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    (tmp_path / "queries").write_text("q1\twhy?\n")
    made = library.create_dataset(queries_tsv=str(tmp_path / "queries"), qrels_trec=str(tmp_path / "qrels"))
    monkeypatch.setattr(library, "load", lambda name: made)
    assert rl.from_ir_datasets("mine").qrels == {"q1": {"a": 1}}
