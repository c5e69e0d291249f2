"""Results and collections in the shapes of others."""

import json
import random
import shutil
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
    with pytest.raises(rl.InputError, match="contains no results of MTEB"):
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
    assert [one["type"] for one in result["metrics"]] == ["ndcg_at_10", "NumRet"]
    hub = pytest.importorskip(
        "huggingface_hub.repocard_data", reason="pip install huggingface_hub", exc_type=ImportError
    )
    name, results = hub.model_index_to_eval_results(card["model-index"])
    assert (name, results[0].metric_value) == ("me/model", result["metrics"][0]["value"])


def test_both_exports_name_measures_alike():
    scores = rl.evaluate(QRELS, RUN, ["AP", "MRR@10", "Success@5", "P@5", "recall_5", "ndcg_cut_10"])
    card = yaml.safe_load(scores.to_hub("me/model", "mteb/scifact"))
    (entry,) = scores.to_mteb("SciFact")["scores"]["test"]
    named = {one["type"]: one["value"] for one in card["model-index"][0]["results"][0]["metrics"]}
    assert named == {name: entry[name] for name in named}
    assert set(named) == {"map", "mrr_at_10", "hit_rate_at_5", "precision_at_5", "recall_at_5", "ndcg_at_10"}


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
    assert not installed.supports(ir_measures.parse_measure("NERR8(min_rel=1, max_rel=3)@5"))
    found = ir_measures.calc_aggregate(measures, QRELS, RUN)
    ours = rl.evaluate(QRELS, RUN, ["nDCG@10", "AP", "P(rel=2)@5", "RR", "nDCG(gain=exp)@5"])
    for measure, name in zip(measures, ours.mean, strict=False):
        assert found[measure] == pytest.approx(ours.mean[name], abs=5e-6), name  # gdeval has five decimals
    ir_measures.DefaultPipeline.providers.remove(installed)
    try:
        assert ir_measures.calc_aggregate(measures[:4], QRELS, RUN) == pytest.approx(
            {m: found[m] for m in measures[:4]}
        )
    finally:
        ir_measures.DefaultPipeline.providers.insert(0, installed)


def tied_collection(seed, topics="0"):
    """Judgments and a run with ties, as ir_measures has them; one query is not in the run, one is not judged."""
    rnd = random.Random(seed)
    docs = [f"d{i}" for i in range(14)]
    qrels, run = [], [ir_measures.ScoredDoc("9", "d1", 1.0)]
    for query in "12345":
        for doc in rnd.sample(docs, rnd.randint(2, 10)):
            about = rnd.sample(topics, rnd.randint(1, len(topics)))
            qrels += [ir_measures.Qrel(query, doc, rnd.choice([0, 1, 1, 2, 3]), topic) for topic in about]
        found = rnd.sample(docs, rnd.randint(3, 12)) if query != "5" else []
        run += [ir_measures.ScoredDoc(query, doc, float(rnd.randint(0, 3))) for doc in found]
    return qrels, run


def by_query(pipeline, measure, qrels, run):
    return {found.query_id: found.value for found in pipeline.iter_calc([measure], qrels, run)}


PLAIN = [  # in ir_measures' spelling
    "Judged@3", "Judged", "RR@2", "RR@10", "AP", "nDCG@3", "IPrec@0.3", "P(judged_only=True)@3", "SetP(rel=2)", "SetP(relative=True)",
    "Accuracy", "Accuracy@3", "Accuracy(rel=2)",
]  # fmt: skip
BY_TOPIC = [
    "ERR_IA@1", "ERR_IA@5", "ERR_IA(rel=2)@10", "nERR_IA@5", "alpha_DCG@1", "alpha_DCG(alpha=0.3)@10", "alpha_nDCG@5", "NRBP",
    "nNRBP(alpha=0.2)", "AP_IA", "AP_IA(rel=2)", "P_IA@5", "StRecall@5", "StRecall(rel=2)@10",
]  # fmt: skip


@pytest.mark.parametrize("name", [*PLAIN, *BY_TOPIC])
def test_installing_changes_no_value(name):
    """With ties, each tool breaks them in its own way; queries without a value stay without one."""
    if name in BY_TOPIC:
        pytest.importorskip("pyndeval", reason="pyndeval is not installed; scripts/test --all installs it")
    measure = ir_measures.parse_measure(name)
    provider = plugin.provider()
    assert provider.supports(measure)
    compared = 0
    for seed in range(12):
        collection = tied_collection(f"{name} {seed}", topics="012" if name in BY_TOPIC else "0")
        try:
            theirs = by_query(ir_measures.DefaultPipeline, measure, *collection)
        except ZeroDivisionError:  # Accuracy, if every retrieved document is relevant
            continue
        compared += 1
        assert by_query(provider, measure, *collection) == pytest.approx(theirs, abs=1e-9), seed
    assert compared


@pytest.mark.parametrize("name", ["RBP(rel=1)", "BPM(max_rel=3)@5", "INST(max_rel=3)", "NERR11(max_rel=3)"])
def test_installing_changes_no_value_of_cwl_eval(name):
    pytest.importorskip("cwl", reason="cwl-eval is not installed; scripts/test --all installs it")
    measure = ir_measures.parse_measure(name)
    collection = tied_collection(name)
    theirs = by_query(ir_measures.cwl_eval, measure, *collection)
    assert by_query(plugin.provider(), measure, *collection) == pytest.approx(theirs, abs=1e-5)


def test_gdeval_measures_are_those_of_gdeval():
    """The highest grade of ERR is 4, whatever the judgments contain; values have five decimals."""
    provider = plugin.provider()
    for measure in (ir_measures.ERR @ 20, ir_measures.nDCG(dcg="exp-log2") @ 20):
        collection = tied_collection(str(measure))
        found = by_query(provider, measure, *collection)
        assert {query: round(value, 5) for query, value in found.items()} == found
        if shutil.which("perl"):
            assert found == by_query(ir_measures.gdeval, measure, *collection)
    gold = {"0": {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}}
    run = {"0": {"D0": 0.8, "D2": 0.7, "D1": 0.3, "D3": 0.4, "D4": 0.1}}
    assert by_query(provider, ir_measures.ERR @ 5, gold, run) == {"0": 0.10175}  # published by ir_measures


def test_sets_of_ir_measures_with_a_cutoff():
    found = by_query(
        plugin.provider(), ir_measures.SetP(rel=2) @ 2, {"q": {"a": 2, "b": 2}}, {"q": {"a": 1.0}}
    )
    assert found == {"q": 1.0}
    found = by_query(
        plugin.provider(), ir_measures.SetR @ 1, {"q": {"a": 2, "b": 2}}, {"q": {"a": 1.0, "b": 0.5}}
    )
    assert found == {"q": 0.5}


def test_a_policy_replaces_the_rules_of_the_tools():
    tied = {"q": {"a": 1.0, "b": 1.0}}
    mine = plugin.provider(rl.Policy(ties="descending"))
    assert by_query(mine, ir_measures.RR @ 10, {"q": {"b": 1, "a": 0}}, tied) == {"q": 1.0}
    assert by_query(plugin.provider(), ir_measures.RR @ 10, {"q": {"b": 1, "a": 0}}, tied) == {"q": 0.5}


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
