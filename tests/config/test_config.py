"""The configuration: every key does something, every mistake is told with its place, nothing is run that should not be."""

import json
import re
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from scipy import stats as scipy_stats
from servers import search_server

import ranklens as rl
from ranklens.bench.config import Config, load, run_config
from ranklens.cli.bench import EXAMPLE
from ranklens.cli.main import main

MODULE = '''
import asyncio, time
from pathlib import Path

HERE = Path(__file__).parent
DOCS = ["a", "b", "c", "d", "e", "f"]

def _told(what):
    with (HERE / "calls.txt").open("a") as file:
        file.write(f"{what}\\n")

def good(text, k):
    """In the order of the alphabet, which begins with what is relevant."""
    _told(text)
    return DOCS[:k]

def bad(text, k):
    return DOCS[::-1][:k]

def shifted(text, k, by=0):
    return (DOCS[by:] + DOCS[:by])[:k]

def failing(text, k):
    _told(text)
    if "red" in text:
        raise RuntimeError("no red")
    return DOCS[:k]

def flaky(text, k):
    path = HERE / f"seen-{text[:3]}"
    if not path.exists():
        path.touch()
        raise RuntimeError("not yet")
    return DOCS[:k]

def slow(text, k):
    time.sleep(0.2)
    return DOCS[:k]

def hanging(text, k):
    if "red" in text:
        time.sleep(2)
    return DOCS[:k]

def chunks(text, k):
    return [f"{doc}#{i}" for i, doc in enumerate(DOCS[:k])]

def weighted(text, k):
    return [{"id": doc, "metadata": {"weight": 6 - i}} for i, doc in enumerate(DOCS[:k])]

def passages(text, k):
    return [{"document": "x", "start": 4, "end": 14}]

def batch(texts: list[str], k):
    _told(len(texts))
    return [DOCS[:k] for _ in texts]

def any_batch(texts, k):
    _told(len(texts))
    return [DOCS[:k] for _ in texts]

async def waiting(text, k):
    _told("in")
    await asyncio.sleep(0.02)
    _told("out")
    return DOCS[:k]

def nested(text, k):
    return [{"id": f"chunk-{i}", "metadata": {"source": doc}} for i, doc in enumerate(DOCS[:k])]

def make(by=0):
    return lambda text, k: shifted(text, k, by)

class Searcher:
    def __init__(self, by=0):
        self.by = by
    def search(self, text, k):
        return shifted(text, k, self.by)

searcher = Searcher()
not_callable = 5

def broken_factory():
    raise OSError("no index")
'''  # fmt: skip
QUERIES = [
    {"_id": "q1", "text": "red apple", "colour": "red"},
    {"_id": "q2", "text": "red pear", "colour": "red"},
    {"_id": "q3", "text": "green apple", "colour": "green"},
    {"_id": "q4", "text": "green pear", "colour": "green"},
]
QRELS = {q["_id"]: {"a": 3, "c": 1} for q in QUERIES}
GOOD = {"name": "good", "retriever": "my_search:good", "k": 6}
BAD = {"name": "bad", "retriever": "my_search:bad", "k": 6}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "my_search.py").write_text(MODULE)
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in QUERIES))
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    (tmp_path / "reversed.json").write_text(json.dumps({q: list("fedcba") for q in QRELS}))
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "title": "", "text": "text of document a"}\n')
    monkeypatch.delitem(sys.modules, "my_search", raising=False)
    yield tmp_path
    sys.modules.pop("my_search", None)


def plain_report(self, path, *, queries=None, corpus=None, title=None):
    """Stands for the page, which has tests of its own: the texts that it was given."""
    Path(path).write_text(f"{title or ''} {queries} {Path(corpus).read_text() if corpus else ''}")
    return path


@pytest.fixture
def bench(folder, monkeypatch):
    """Runs a configuration with some keys changed: ``bench(baseline="good")``."""
    monkeypatch.setattr(rl.Comparison, "to_html", plain_report)

    def run(**changes):
        content = {
            "data": {"qrels": "qrels.json", "queries": "queries.jsonl"},
            "retrievers": [GOOD],
            "retrieval_metrics": {"enabled_metrics": ["nDCG@5", "P@1", "RR"]},
        }
        return run_config(load({**content, **changes}, folder=folder))

    run.folder = folder
    run.calls = lambda: (folder / "calls.txt").read_text().split("\n")[:-1]
    return run


def metrics(**changes):
    return {"retrieval_metrics": {"enabled_metrics": ["nDCG@5", "P@1", "RR"], **changes}}


def retriever(function="good", **changes):
    return {"retrievers": [{"name": "mine", "retriever": f"my_search:{function}", "k": 6, **changes}]}


def data(**changes):
    return {"data": {"qrels": "qrels.json", "queries": "queries.jsonl", **changes}}


# Every key has an effect


def enabled_metrics(bench):
    assert list(bench(**metrics(enabled_metrics=["hit@1", "map"])).scores["good"].mean) == ["Success@1", "AP"]


def graded_relevance(bench):
    graded, flat = (
        bench(**metrics(graded_relevance=on), **retriever("shifted", params={"by": 1}))
        for on in (True, False)
    )
    assert graded.scores["mine"].mean["nDCG@5"] == pytest.approx(rl.ndcg_at_k([*"bcdefa"], QRELS["q1"], 5))
    assert flat.scores["mine"].mean["nDCG@5"] == pytest.approx(rl.ndcg_at_k([*"bcdefa"], {"a", "c"}, 5))
    assert graded.scores["mine"].mean["nDCG@5"] != flat.scores["mine"].mean["nDCG@5"]


def confidence_intervals(bench):
    for tested in (True, False):
        shown, hidden = (
            bench(
                **metrics(statistical_analysis={"confidence_intervals": on, "significance_testing": tested})
            )
            for on in (True, False)
        )
        for text in (str(shown), str(shown.table()), shown.to_markdown()):
            assert re.search(
                r"1\.0000 +\|? *\[0\.\d{4}, 1\.0000\]", text
            )  # Wilson's: a few successes are not certainty
        whole = hidden.to_latex().replace(r"} & \textbf{", ".")  # the point stands between two columns
        for text in (str(hidden), str(hidden.table()), hidden.to_markdown(), whole):
            assert "1.0000" in text
            assert "[1.0000" not in text


def significance_testing(bench):
    tested, plain = (
        bench(retrievers=[GOOD, BAD], **metrics(statistical_analysis={"significance_testing": on}))
        for on in (True, False)
    )
    assert tested.comparison.pair("nDCG@5", "good", "bad").p_value == 0.125
    assert plain.comparison is None
    assert "comparison" not in json.loads(plain.to_json())


def alpha_level(bench):
    some = [retriever("shifted", params={"by": 1})["retrievers"][0], GOOD]
    found = bench(retrievers=some, **metrics(statistical_analysis={"alpha_level": 0.2}))
    assert (found.comparison.alpha, found.comparison.level) == (0.2, 0.8)
    assert found.comparison.pair("nDCG@5", "mine", "good").significant  # p = 0.125
    assert not bench(retrievers=some).comparison.pair("nDCG@5", "mine", "good").significant


def level(bench):
    found = bench(retrievers=[GOOD, BAD], level=0.8)
    assert (found.comparison.alpha, found.comparison.level) == (0.05, 0.8)
    untested = bench(
        retrievers=[GOOD], level=0.8, **metrics(statistical_analysis={"significance_testing": False})
    )
    assert json.loads(untested.to_json())["level"] == 0.8


def batch_size(bench):
    bench(**retriever("batch"), **metrics(performance={"batch_size": 3}))
    assert sorted(bench.calls()) == ["1", "3"]
    # It takes one text, so the batch size is not for it.
    bench(**retriever("good"), **metrics(performance={"batch_size": 3}))


def caching_enabled(bench):
    for on, calls in ((False, 4), (True, 8), (True, 8), (False, 12)):
        bench(**metrics(performance={"caching_enabled": on}))
        assert len(bench.calls()) == calls
    assert (bench.folder / ".ranklens").is_dir()


def most_at_once(bench):
    calls, running, most = bench.calls(), 0, 0
    for call in calls:
        running += 1 if call == "in" else -1
        most = max(most, running)
    (bench.folder / "calls.txt").unlink()
    return most


def max_age(bench):
    now = time.time()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: now - 3600)
        bench(**metrics(performance={"caching_enabled": True}))
    for age, calls in (("2h", 4), (7200, 4), ("30m", 8)):
        bench(**metrics(performance={"caching_enabled": True, "max_age": age}))
        assert len(bench.calls()) == calls, age


def stop_after(bench):
    with pytest.raises(
        rl.InputError, match="after 2 calls in a row with the same error: RuntimeError: no red"
    ):
        bench(**retriever("failing"), **metrics(performance={"stop_after": 2}))
    assert len(bench.calls()) == 2
    bench(**retriever("failing"), **metrics(performance={"stop_after": 3}))


def parallel_processing(bench):
    bench(**retriever("waiting"), **metrics(performance={"parallel_processing": True}))
    assert most_at_once(bench) == 4
    bench(**retriever("waiting"), **metrics(performance={"parallel_processing": False}))
    assert most_at_once(bench) == 1
    bench(**retriever("waiting"))
    assert most_at_once(bench) == 1


def qrels(bench):
    (bench.folder / "other.json").write_text(json.dumps({q: {"f": 1} for q in QRELS}))
    assert bench(**data(qrels="other.json")).scores["good"].mean["RR"] == pytest.approx(1 / 6)


def queries(bench):
    (bench.folder / "fewer.jsonl").write_text(json.dumps(QUERIES[0]) + "\n")
    with pytest.warns(rl.RankLensWarning, match="3 judged queries have no text"):
        bench(**data(queries="fewer.jsonl"))
    assert bench.calls() == ["red apple"]


def corpus(bench):
    bench(**data(corpus="corpus.jsonl"), outputs={"report": "r.html"})
    assert "text of document a" in (bench.folder / "r.html").read_text()
    bench(outputs={"report": "r.html"})
    assert "text of document a" not in (bench.folder / "r.html").read_text()


def runs(bench):
    for given in ({"old": "reversed.json"}, ["old=reversed.json"]):
        found = bench(**data(runs=given))
        assert found.scores["old"].mean["P@1"] == 0
        assert found.scores["good"].mean["P@1"] == 1
    assert list(bench(**data(runs=["reversed.json"])).scores) == ["reversed", "good"]


def retriever_name(bench):
    assert list(bench(**retriever(name="my best")).scores) == ["my best"]


def retriever_function(bench):
    assert bench(**retriever("bad")).scores["mine"].mean["P@1"] == 0
    assert bench(**retriever("searcher.search")).scores["mine"].mean["P@1"] == 1
    assert bench(**retriever("searcher")).scores["mine"].mean["P@1"] == 1
    assert bench(**retriever("make()", params={"by": 1})).scores["mine"].mean["P@1"] == 0


def retriever_k(bench):
    assert bench(**retriever("shifted", k=1, params={"by": 1})).scores["mine"].mean["RR"] == 0
    assert bench(**retriever("shifted", k=2, params={"by": 1})).scores["mine"].mean["RR"] == 0.5


def retriever_factory(bench):
    assert bench(**retriever("Searcher", factory=True)).scores["mine"].mean["P@1"] == 1
    assert bench(**retriever("make", factory=True)).scores["mine"].mean["P@1"] == 1


def retriever_params(bench):
    for function in ("shifted", "make()", "Searcher()"):
        assert bench(**retriever(function)).scores["mine"].mean["RR"] == 1
        assert bench(**retriever(function, params={"by": 1})).scores["mine"].mean["RR"] == 0.5


def retriever_version(bench):
    cached = metrics(performance={"caching_enabled": True})
    for version, calls in (("1", 4), ("1", 4), (2, 8), (None, 12), (None, 12)):
        bench(**retriever("good", version=version), **cached)
        assert len(bench.calls()) == calls, version
    source = bench.folder / "my_search.py"
    source.write_text(source.read_text() + "\n# changed")
    bench(**retriever("good"), **cached)
    assert len(bench.calls()) == 16


def retriever_concurrency(bench):
    bench(**retriever("waiting", concurrency=3))
    assert most_at_once(bench) == 3


def retriever_batch_size(bench):
    bench(**retriever("any_batch", batch_size=2))
    assert bench.calls() == ["2", "2"]


def retriever_timeout(bench):
    with pytest.warns(rl.RankLensWarning, match="'mine' failed"):
        failed = bench(**retriever("slow", timeout=0.01, concurrency=4))
    assert failed.benchmark.results["mine"].status["failed"] == 4
    assert (
        bench(**retriever("slow", timeout=5, concurrency=4)).benchmark.results["mine"].status["failed"] == 0
    )


def retriever_retries(bench):
    assert bench(**retriever("flaky", retries=1)).benchmark.results["mine"].status == {
        "ok": 4,
        "empty": 0,
        "failed": 0,
    }
    for path in bench.folder.glob("seen-*"):
        path.unlink()
    found = bench(**retriever("flaky")).benchmark.results["mine"].status
    assert found["failed"] == 2  # "red" and "gre", each once


def retriever_rate_limit(bench):
    started = time.monotonic()
    bench(**retriever("good", rate_limit=20))
    assert time.monotonic() - started >= 3 / 20  # the least that three pauses take: not a matter of speed


def retriever_backoff(bench):
    paused = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ranklens.retrieval.workers.time.sleep", paused.append)
        bench(**retriever("flaky", retries=1, backoff=3))
    assert len(paused) == 2
    assert all(1.5 <= seconds <= 3 for seconds in paused)


def retriever_score_from(bench):
    answers = bench(**retriever("weighted", score_from="metadata.weight")).benchmark.results["mine"].answers
    assert {answer.scores[:2] for answer in answers.values()} == {(6, 5)}


def retriever_id_from(bench):
    assert bench(**retriever("nested", id_from="metadata.source")).scores["mine"].mean["P@1"] == 1
    assert bench(**retriever("nested", id_from="id")).scores["mine"].mean["P@1"] == 0


def retriever_match(bench):
    for kind, function, precision in (
        ({"by": "id"}, "good", 1),
        ({"by": "field", "field": "metadata.source"}, "nested", 1),
        ({"by": "field", "field": "id"}, "nested", 0),
        ({"by": "parent", "separator": "#"}, "chunks", 1),
        ({"by": "parent", "field": "metadata.source"}, "nested", 1),
        ({"by": "parent", "parent": {"b": "a"}}, "bad", 0),
        ({"by": "parent", "parent": {"f": "a"}}, "bad", 1),
        ({"by": "groups", "groups": [["a", "f"]]}, "bad", 1),
        ({"by": "groups", "groups": {"q1": [["a", "f"]]}}, "bad", 0.25),
        ({"by": "spans", "gold": {"a": ["x", 0, 10], "c": ["y", 0, 10]}}, "passages", 1),
        ({"by": "spans", "gold": {"a": ["x", 0, 10], "c": ["y", 0, 10]}, "threshold": 0.9}, "passages", 0),
        ({"by": "spans", "gold": {"a": ["x", 0, 10], "c": ["y", 0, 10]}, "over": "union"}, "passages", 0),
    ):
        assert bench(**retriever(function, match=kind)).scores["mine"].mean["P@1"] == precision, kind
        assert bench(**retriever(function), match=kind).scores["mine"].mean["P@1"] == precision, kind
    assert (
        bench(**retriever("chunks", match={"by": "parent", "separator": "#"}), match={"by": "id"})
        .scores["mine"]
        .mean["P@1"]
        == 1
    )


def baseline(bench):
    assert bench(retrievers=[GOOD, BAD], baseline="bad").comparison.baseline == "bad"


def the_test(bench):
    (bench.folder / "varied.json").write_text(
        json.dumps({q: {doc: 1} for q, doc in zip(QRELS, "abcd", strict=True)})
    )
    first, second = ([1 / rank for rank in ranks] for ranks in ((1, 2, 3, 4), (6, 5, 4, 3)))
    for name, p in (("sign", 0.625), ("t", scipy_stats.ttest_rel(first, second).pvalue)):
        found = bench(retrievers=[GOOD, BAD], test=name, **data(qrels="varied.json"))
        assert found.comparison.pair("RR", "good", "bad").p_value == pytest.approx(p)


def correction(bench):
    three = [GOOD, BAD, retriever("shifted", params={"by": 1})["retrievers"][0]]
    for name, p in (("none", 0.125), ("bonferroni", 0.375)):
        assert bench(retrievers=three, correction=name).comparison.pair("RR", "good", "bad").adjusted_p == p


def by(bench):
    assert [part.name for part in bench(by="colour").comparison.slices] == ["green", "red"]


def clusters(bench):
    found = bench(retrievers=[GOOD, BAD], clusters="colour").comparison
    assert set(found.cluster_of.values()) == {"green", "red"}


def margin(bench):
    found = bench(retrievers=[GOOD, BAD], margin={"mrr": "2%"}).comparison
    assert {name: str(one) for name, one in found.settings.margins.items()} == {"RR": "2%"}
    assert str(bench(retrievers=[GOOD, BAD], margin=0.01).comparison.settings.margins["RR"]) == "0.01"


def primary(bench):
    assert bench(retrievers=[GOOD, BAD], primary="mrr").comparison.primary == "RR"


def family(bench):
    assert bench(retrievers=[GOOD, BAD], family="all").comparison.pairs.parts[0].family.measures == 3


def joint_intervals(bench):
    found = bench(retrievers=[GOOD, BAD], intervals="simultaneous")
    assert found.comparison.pairs[0].interval.method == "simultaneous"


def seed(bench):
    assert bench(seed=7).comparison.seed == 7


def policy(bench):
    assert bench(policy={"depth": 1}, **metrics(enabled_metrics=["R@5"])).scores["good"].mean == {"R@5": 0.5}
    assert list(bench(policy={"rel": 2}).scores["good"].mean) == ["nDCG@5", "P(rel=2)@1", "RR(rel=2)"]


def checked(result):
    return [(check.gate, check.system, check.passed) for check in result.checks]


def floors(bench):
    (told,) = bench(gates={"floors": {"mrr": 1.0}}).checks
    assert (told.measure, told.text) == ("RR", "mrr of good: 1.0000 >= required 1")
    assert checked(bench(gates={"floors": {"mrr": 1, "p@1": 0.5}})) == [("floors", "good", True)] * 2
    assert checked(bench(retrievers=[GOOD, BAD], gates={"floors": {"RR": 0.5}})) == [
        ("floors", "good", True),
        ("floors", "bad", False),
    ]
    # The same spelling, whatever the relevance level.
    strict = bench(policy={"rel": 2}, gates={"floors": {"RR": 0.5}})
    assert strict.checks[0].measure == "RR(rel=2)"


def max_regression(bench):
    shifted = retriever("shifted", params={"by": 1})["retrievers"][0]  # RR 0.5
    for limit, passed in ((0.5, True), (0.49, False), ("50%", True), ("49%", False)):
        found = bench(retrievers=[GOOD, shifted], baseline="good", gates={"max_regression": {"RR": limit}})
        assert checked(found) == [("max_regression", "mine", passed)]


def max_failed(bench):
    for limit, passed in ((1, False), (2, True)):
        assert checked(bench(**retriever("failing"), gates={"max_failed": limit})) == [
            ("max_failed", "mine", passed)
        ]


def max_latency_p95(bench):
    for limit, passed in ((0.1, False), (30, True)):
        found = bench(**retriever("slow", concurrency=4), gates={"max_latency_p95": limit})
        assert checked(found) == [("max_latency_p95", "mine", passed)]
    late = bench(**retriever("hanging", concurrency=4, timeout=0.5), gates={"max_latency_p95": 0.2})
    assert checked(late) == [("max_latency_p95", "mine", False)]  # hanging is not a way to be fast
    assert sorted(late.comparison.latencies["mine"])[2:] == [0.5, 0.5]
    assert "2 calls timed out; latency includes the time waited" in str(late)


def rules(bench):
    (told,) = bench(gates={"rules": ["mrr >= 1"]}).checks
    assert (told.gate, told.measure, told.text) == ("rules", "RR", "mrr of good: 1.0000 >= required 1")
    for gates in ("mrr >= 1", ["mrr >= 1"]):  # rules alone will do
        assert checked(bench(gates=gates)) == [("rules", "good", True)]
    added = bench(gates=["R@3 >= 0.1", "failed <= 0", "p95 <= 60s"])
    assert [str(m) for m in added.config.measures][-1] == "R@3"
    assert [check.status for check in added.checks] == ["passed"] * 3
    shifted = retriever("shifted", params={"by": 1})["retrievers"][0]
    found = bench(retrievers=[GOOD, shifted], baseline="good", gates=["RR drop <= 49%", "RR drop <= 60%"])
    assert checked(found) == [("rules", "mine", False), ("rules", "mine", True)]


def test_a_rule_about_calls_needs_calls(folder):
    (folder / "run.txt").write_text("q1 Q0 a 1 1 x\n")
    content = {"data": {"qrels": "qrels.json", "runs": {"old": "run.txt"}}, "gates": ["failed <= 0"]}
    with pytest.raises(rl.InputError, match="old is a run, which does not say which calls failed"):
        run_config(load(content, folder=folder))


def gates_baseline(bench):
    from ranklens.bench.config.execution import records_of
    from ranklens.guard import Baseline

    first = bench()
    kept = records_of(first.scores, first.comparison, first.benchmark, digested=True)
    Baseline(kept).write(bench.folder / "frozen.json")
    for answers, passed in ((GOOD, True), ({**BAD, "name": "good"}, False)):
        found = bench(retrievers=[answers], gates={"rules": "RR drop <= 1%", "baseline": "frozen.json"})
        assert checked(found) == [("rules", "good", passed)]
    with pytest.raises(rl.InputError, match="measured with another policy: depth was None, and is 1"):
        bench(gates={"rules": "RR drop <= 1%", "baseline": "frozen.json"}, policy={"depth": 1})


def undecided(bench):
    gates = {"rules": "RR >= 0.99 @ 95%"}
    assert [check.status for check in bench(gates=gates).checks] == ["undecided"]
    assert not bench(gates=gates).passed
    assert bench(gates={**gates, "undecided": "pass"}).passed


def gates_clusters(bench):
    rule = {"rules": "P@1 >= 0.1 @ 95%"}
    one, two = bench(gates=rule).checks[0], bench(gates={**rule, "clusters": "colour"}).checks[0]
    assert one.interval != two.interval


def common(bench):
    from dataclasses import replace

    from ranklens.bench.config.execution import records_of
    from ranklens.guard import Baseline

    first = bench()
    (record,) = records_of(first.scores, first.comparison, first.benchmark, digested=True).values()
    other = replace(record, digests={**record.digests, record.queries[0]: "0" * 16})
    Baseline({"good": other}).write(bench.folder / "frozen.json")
    gates = {"rules": "RR drop <= 1%", "baseline": "frozen.json"}
    with pytest.raises(rl.InputError, match=r"with other judgments .* gates.common: true"):
        bench(gates=gates)
    with pytest.raises(
        rl.InputError, match=r"only 3 of 4 queries of good could be checked.*gates\.min_checked"
    ):
        bench(gates={**gates, "common": True})
    (told,) = bench(gates={**gates, "common": True, "min_checked": "75%"}).checks
    assert told.queries == len(record.queries) - 1


def min_checked(bench):
    common(bench)


def gated_systems(bench):
    found = bench(retrievers=[GOOD, BAD], gates={"floors": {"RR": 0.5}, "systems": ["good"]})
    assert checked(found) == [("floors", "good", True)]


def output(name, expected):
    def check(bench):
        found = bench(
            retrievers=[GOOD, BAD], gates={"floors": {"RR": 0.5}}, outputs={name: f"made/for/{name}.out"}
        )
        assert (bench.folder / f"made/for/{name}.out").read_text() == expected(found).rstrip("\n") + "\n"

    return check


def report(bench):
    bench(outputs={"report": "made/report.html"})
    assert "red apple" in (bench.folder / "made/report.html").read_text()


def fused(bench, **changes):
    """The documents of q1 that good (a b c d e f) and bad (f e d c b a) make together."""
    fusion = {"name": "both", "systems": ["good", "bad"], **changes}
    bench(retrievers=[GOOD, BAD], fusions=[fusion], outputs={"runs": "rankings"})
    lines = (bench.folder / "rankings" / f"{fusion['name']}.txt").read_text().splitlines()
    return [line.split()[2] for line in lines if line.startswith("q1 ")]


def fusion_setting(key, value, expected, **others):
    """The order with a setting, which differs from the one without."""

    def check(bench):
        changed = "".join(fused(bench, **{**others, key: value}))
        assert changed == expected
        assert changed != "".join(fused(bench, **others))

    return check


def fusion_name(bench):
    assert len(fused(bench, name="hybrid")) == 6
    with pytest.raises(rl.InputError, match="two systems are called 'good'"):
        fused(bench, name="good")


def fusion_systems(bench):
    with pytest.raises(rl.InputError, match="there is no retriever 'god': did you mean 'good'"):
        fused(bench, systems=["god", "bad"])


def output_runs(bench):
    bench(outputs={"runs": "rankings"})
    written = rl.evaluate(QRELS, bench.folder / "rankings" / "good.txt", "nDCG@5")
    assert written.mean["nDCG@5"] == pytest.approx(rl.ndcg_at_k([*"abcdef"], QRELS["q1"], 5))


def store(bench):
    bench(**metrics(performance={"caching_enabled": True}), outputs={"store": "kept"})
    assert (bench.folder / "kept").is_dir()
    assert not (bench.folder / ".ranklens").exists()


def log_to(bench):
    """tests/trackers has the details."""
    logged = {}

    class Writer:
        def __init__(self, folder, filename_suffix):
            self.log_dir = folder

        def add_scalar(self, name, value, step):
            logged[name] = value

        def ignored(self, *_):
            pass

        add_text = add_histogram = flush = close = ignored

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tensorboardX", SimpleNamespace(SummaryWriter=Writer))
        found = bench(outputs={"log_to": "tensorboard:logs"})
    assert logged["good/nDCG_at_5"] == found.scores["good"].mean["nDCG@5"]
    assert logged["good/failed"] == 0
    assert logged["good/latency_p95"] > 0
    assert (bench.folder / "logs" / "report.html").exists()


def places(bench):
    rows = [{"key": query, "found": {"docs": ["a"]}} for query in QRELS]
    (bench.folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = bench(**data(runs={"log": "log.jsonl"}, map={"query": "key", "retrieved": "found.docs"}))
    assert found.scores["log"].mean["P@1"] == 1


def endpoint(key):
    """Every key of an endpoint reaches the server; tests/retrieval/test_http.py has the details."""

    def check(bench):
        with search_server(
            {"found": [{"doc": {"key": "c"}, "s": 0.5}, {"doc": {"key": "a"}, "s": 0.25}]}
        ) as server:
            entry = {"name": "mine", "url": f"{server.url}/s?n={{k}}", "body": {"q": "{query}"}, "k": 6}
            entry |= {
                "headers": {"X-Key": "secret"},
                "method": "PUT",
                "id": "found.*.doc.key",
                "score": "found.*.s",
            }
            found = bench(retrievers=[entry], **data(runs={"old": "reversed.json"}))
        assert {asked["body"]["q"] for asked in server.asked} == {query["text"] for query in QUERIES}
        told = server.asked[0]
        assert (told["path"], told["method"], told["headers"]["X-Key"]) == ("/s?n=6", "PUT", "secret")
        assert found.benchmark.results["mine"].scored()["q1"] == {"c": 0.5, "a": 0.25}, key

    return check


EFFECTS = {
    "retrieval_metrics.enabled_metrics": enabled_metrics,
    "retrieval_metrics.graded_relevance": graded_relevance,
    "retrieval_metrics.statistical_analysis.confidence_intervals": confidence_intervals,
    "retrieval_metrics.statistical_analysis.significance_testing": significance_testing,
    "retrieval_metrics.statistical_analysis.alpha_level": alpha_level,
    "retrieval_metrics.performance.batch_size": batch_size,
    "retrieval_metrics.performance.caching_enabled": caching_enabled,
    "retrieval_metrics.performance.max_age": max_age,
    "retrieval_metrics.performance.stop_after": stop_after,
    "retrieval_metrics.performance.parallel_processing": parallel_processing,
    "data.qrels": qrels,
    "data.queries": queries,
    "data.corpus": corpus,
    "data.runs": runs,
    "data.map": places,
    "retrievers.name": retriever_name,
    "retrievers.retriever": retriever_function,
    "retrievers.url": endpoint("url"),
    "retrievers.body": endpoint("body"),
    "retrievers.headers": endpoint("headers"),
    "retrievers.method": endpoint("method"),
    "retrievers.id": endpoint("id"),
    "retrievers.score": endpoint("score"),
    "retrievers.k": retriever_k,
    "retrievers.factory": retriever_factory,
    "retrievers.params": retriever_params,
    "retrievers.version": retriever_version,
    "retrievers.concurrency": retriever_concurrency,
    "retrievers.batch_size": retriever_batch_size,
    "retrievers.timeout": retriever_timeout,
    "retrievers.retries": retriever_retries,
    "retrievers.rate_limit": retriever_rate_limit,
    "retrievers.backoff": retriever_backoff,
    "retrievers.id_from": retriever_id_from,
    "retrievers.score_from": retriever_score_from,
    "retrievers.match": retriever_match,
    "match": retriever_match,
    "fusions.name": fusion_name,
    "fusions.systems": fusion_systems,
    "fusions.method": fusion_setting("method", "round_robin", "afbecd"),
    "fusions.norm": fusion_setting("norm", "min-max", "faeb", method="wsum", weights=[1, 3], window=2),
    "fusions.weights": fusion_setting("weights", [1, 0], "abcdef"),
    "fusions.window": fusion_setting("window", 1, "fa"),
    "fusions.depth": fusion_setting("depth", 2, "fa"),
    "fusions.params": fusion_setting("params", {"k": 0}, "afbced", weights=[1, 0.5]),
    "baseline": baseline,
    "test": the_test,
    "correction": correction,
    "level": level,
    "by": by,
    "clusters": clusters,
    "margin": margin,
    "primary": primary,
    "family": family,
    "intervals": joint_intervals,
    "seed": seed,
    "policy": policy,
    "gates.rules": rules,
    "gates.baseline": gates_baseline,
    "gates.undecided": undecided,
    "gates.clusters": gates_clusters,
    "gates.common": common,
    "gates.min_checked": min_checked,
    "gates.floors": floors,
    "gates.max_regression": max_regression,
    "gates.max_failed": max_failed,
    "gates.max_latency_p95": max_latency_p95,
    "gates.systems": gated_systems,
    "outputs.table": output("table", str),
    "outputs.json": output("json", lambda found: found.to_json()),
    "outputs.markdown": output("markdown", lambda found: found.to_markdown()),
    "outputs.csv": output("csv", lambda found: found.to_csv()),
    "outputs.latex": output("latex", lambda found: found.to_latex()),
    "outputs.report": report,
    "outputs.runs": output_runs,
    "outputs.log_to": log_to,
    "outputs.store": store,
}


def keys(model=Config, before=""):
    from ranklens.bench.config.syntax import keys_of, model_at

    for key in keys_of(model):
        inside = model_at((key,), model)
        yield from keys(inside, f"{before}{key}.") if inside else [f"{before}{key}"]


@pytest.mark.parametrize("key", [*keys()])
def test_every_key_has_an_effect(key, bench):
    EFFECTS[key](bench)


def test_effects_are_of_keys_that_exist():
    assert set(EFFECTS) == {*keys()}
    required = yaml.safe_load(
        """
        retrieval_metrics:
          enabled_metrics: [hit@1, hit@3, hit@5, hit@10, ndcg@5, ndcg@10, mrr, map@10]
          graded_relevance: false
          statistical_analysis: {confidence_intervals: true, significance_testing: true, alpha_level: 0.05}
          performance: {batch_size: 100, caching_enabled: true, parallel_processing: true}
        """
    )
    read = load({**required, "data": {"qrels": "q", "runs": {"a": "r"}}})
    assert [str(m) for m in read.measures][-3:] == ["nDCG@10", "RR", "AP@10"]


# Files


def test_yaml_and_toml_say_the_same(folder):
    content = {
        "data": {"qrels": "qrels.json", "queries": "queries.jsonl", "runs": {"old": "reversed.json"}},
        "retrievers": [GOOD],
        "gates": {"floors": {"P@5": 0.1}},
    }
    (folder / "bench.yaml").write_text(yaml.safe_dump(content))
    (folder / "bench.toml").write_text(
        textwrap.dedent(
            """
            [data]
            qrels = "qrels.json"
            queries = "queries.jsonl"
            runs = {old = "reversed.json"}
            [[retrievers]]
            name = "good"
            retriever = "my_search:good"
            k = 6
            [gates.floors]
            "P@5" = 0.1
            """
        )
    )
    first, second = load(folder / "bench.yaml"), load(folder / "bench.toml")
    assert first.model_dump() == second.model_dump() == load(content, folder=folder).model_dump()
    assert first.data.qrels == folder / "qrels.json"
    assert run_config(first).scores["good"].mean["R@5"] == 1


def test_the_example_has_every_key_and_loads(tmp_path):
    content = yaml.safe_load(EXAMPLE.read_text())

    def named(value, before=""):
        for key, inside in value.items():
            entries = isinstance(inside, list) and bool(inside) and isinstance(inside[0], dict)
            inside = inside[0] if entries else inside  # noqa: PLW2901
            nested = isinstance(inside, dict) and inside
            yield from named(inside, f"{before}{key}.") if nested else [f"{before}{key}"]

    commented = re.search(r"^fusions: \[\] *# (.*)$", EXAMPLE.read_text(), re.MULTILINE)[
        1
    ]  # which needs two retrievers
    content["fusions"] = [{**yaml.safe_load(commented)[0], "params": 1}]
    assert {*named(content)} == {*keys()}
    read = load(EXAMPLE)
    defaults = load(
        {"data": content["data"], "retrievers": [{"name": "mine", "retriever": "my_search:search"}]},
        folder=EXAMPLE.parent,
    )
    same = ("baseline", "test", "correction", "by", "seed", "policy", "gates", "outputs", "retrievers")
    assert [getattr(read, name) for name in same] == [getattr(defaults, name) for name in same]


@pytest.mark.parametrize("keys", [["queries"], ["qrels"], ["queries", "qrels"]])
def test_one_file_of_questions_with_what_is_relevant_is_enough(keys, folder):
    lines = [
        {"id": q["_id"], "question": q["text"], "relevant_ids": ["b"], "colour": q["colour"]} for q in QUERIES
    ]
    (folder / "golden.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = dict.fromkeys(keys, "golden.jsonl")
    found = run_config(load({"data": given, "retrievers": [GOOD], "by": "colour"}, folder=folder))
    assert found.scores["good"].mean["RR"] == 0.5
    assert (folder / "calls.txt").read_text().splitlines() == [q["text"] for q in QUERIES]
    found = run_config(load({"data": {**given, "runs": {"old": "reversed.json"}}}, folder=folder))
    assert found.scores["old"].mean["RR"] == 0.2


def test_queries_that_do_not_say_what_is_relevant_need_judgments(folder):
    with pytest.raises(
        rl.InputError, match=r"data.qrels: is missing, and queries.jsonl does not say for every query"
    ):
        load({"data": {"queries": "queries.jsonl"}, "retrievers": [GOOD]}, folder=folder)


def test_a_beir_folder_brings_its_queries(folder):
    beir = folder / "beir"
    (beir / "qrels").mkdir(parents=True)
    rows = [f"{q}\t{doc}\t{grade}\n" for q, docs in QRELS.items() for doc, grade in docs.items()]
    (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    (beir / "queries.jsonl").write_text((folder / "queries.jsonl").read_text())
    found = run_config(load({"data": {"qrels": "beir"}, "retrievers": [GOOD], "by": "colour"}, folder=folder))
    assert found.scores["good"].mean["RR"] == 1
    assert len(found.comparison.slices) == 2


# Mistakes

BASE = "data: {qrels: q, queries: t, runs: {old: r}}\n"
WRONG = [
    ("", "bench.yaml is empty; 'ranklens bench --init' writes an example"),
    ("- 1", "bench.yaml is a list"),
    ("data: [", "bench.yaml:1: not valid YAML"),
    ("x: !!python/object/apply:os.system ['touch hacked']", "bench.yaml:1: not valid YAML: could not determine a constructor"),
    ("data: {qrels: q}\ndata: {}", "bench.yaml:2: data is already set on line 1."),
    (BASE + "retreivers: []", "bench.yaml:2: retreivers: unknown key: did you mean 'retrievers'?"),
    (BASE + "retrievers:\n  - {name: a, retriever: 'm:f'}\n  - name: b\n    retriever: m:f\n    k: ten", "bench.yaml:6: retrievers[1].k: 'ten' is not allowed. Documents per query: a whole number from 1."),
    (BASE + "retrievers:\n  - name: a\n    retriever: foo", "bench.yaml:4: retrievers[0].retriever: 'foo' is not allowed. The function or object, as module:function"),
    (BASE + "retrievers:\n  - retriever: m:f", "bench.yaml:3: retrievers[0].name: is missing. Name in tables"),
    (BASE + "retrievers: {name: a}", "bench.yaml:2: retrievers: {'name': 'a'} is not allowed."),
    (BASE + "retrievers: [a]", "bench.yaml:2: retrievers[0]: 'a' is not allowed. Retrievers to run: a list. Its keys are name, retriever, k"),
    ("data: 5", "bench.yaml:1: data: 5 is not allowed. Judgments, queries, documents and runs. Its keys are qrels, queries, corpus, runs, map."),
    ("retrieval_metrics: {}", "bench.yaml: data: is missing. Judgments, queries, documents and runs."),
    (BASE + "retrieval_metrics: {enabled_metrics: [ndgc@10]}", "bench.yaml:2: retrieval_metrics.enabled_metrics: There is no measure 'ndgc': did you mean 'nDCG'"),
    (BASE + "retrieval_metrics: {enabled_metrics: []}", "retrieval_metrics.enabled_metrics: [] is not allowed. Measures in any spelling"),
    (BASE + "retrieval_metrics: {statistical_analysis: {alpha_level: 5}}", "alpha_level: 5 is not allowed. Significance level, between 0 and 1"),
    (BASE + "retrieval_metrics: {graded_relevance: false, enabled_metrics: [P(rel=2)@5]}", "P(rel=2)@5 asks for grades, but graded_relevance is false"),
    (BASE + "test: tt", "bench.yaml:2: test: 'tt' is not allowed: did you mean 't'? Allowed: 'randomization', 't'"),
    (BASE + "policy: {tise: input}", "bench.yaml:2: policy: There is no policy 'tise': did you mean 'ties'?"),
    (BASE + "policy: {ties: avrage}", "bench.yaml:2: policy: ties: avrage is not allowed: did you mean 'average'?"),
    (BASE + "policy: input", "bench.yaml:2: policy: 'input' is not allowed: give names with values"),
    (BASE + "baseline: odl", "bench.yaml:2: baseline: there is no system 'odl': did you mean 'old'?"),
    (BASE + "gates: {systems: [new]}", "bench.yaml:2: gates.systems: there is no system 'new': choose from 'old'."),
    (BASE + "gates: {floors: {R@7: 0.5}}", "bench.yaml:2: gates.floors.R@7: R@7 is not a mean among enabled_metrics for which higher is better: did you mean 'R@5'"),
    (BASE + "gates: {floors: {R@5: 60}}", "bench.yaml:2: gates.floors.R@5: 60 can never be reached: R@5 is at most 1. For 60%, write 0.6."),
    (BASE + "gates: {floors: {R@5: 80%}}", "bench.yaml:2: gates.floors.R@5: '80%' is not allowed: a floor is a mean, so write 0.8."),
    (BASE + "gates: {floors: {R@5: .nan}}", "gates.floors.R@5: nan can never be reached"),
    (BASE + "gates: {floors: {foo: 0.5}}", "bench.yaml:2: gates.floors.foo: There is no measure 'foo'"),
    (BASE + "gates: {max_regression: {RR: 0.1}}", "bench.yaml:2: gates.max_regression: needs a baseline to compare with."),
    (BASE + "baseline: old\ngates: {max_regression: {RR: lots}}", "gates.max_regression.RR: 'lots' is not allowed: it is a number from 0, or text such as '2%'"),
    (BASE + "baseline: old\ngates: {max_regression: {RR: 0.1}}", "bench.yaml:3: gates.max_regression: there is only the baseline to check."),
    (BASE + "gates: {floors: {NumRet: 1}}", "NumRet is not a mean among enabled_metrics"),
    (BASE + "outputs: {jsn: null}", "bench.yaml:2: outputs.jsn: unknown key: did you mean 'json'?"),
    ("data: {qrels: null, runs: {a: r}}", "bench.yaml:1: data.qrels: is missing: a file of judgments"),
    (BASE + "match: parent", "bench.yaml:2: match: 'parent' is not allowed: give by (one of id, field, parent, groups, spans, text, evidence)"),
    (BASE + "match: {by: parents}", "match: by: 'parents' is not allowed: did you mean 'parent'?"),
    (BASE + "match: {by: parent}", "match: by: parent takes one of separator, field, parent; it was given nothing."),
    (BASE + "match: {by: parent, seperator: '#'}", "match: by: parent has no 'seperator': did you mean 'separator'?"),
    (BASE + "match: {by: parent, separator: 5}", "match: separator: 5 is not allowed; it is text."),
    (BASE + "match: {by: field}", "match: by: field needs field: text such as metadata.source."),
    (BASE + "match: {by: spans, threshold: 2}", "match: Spans: threshold=2 is not allowed"),
    (BASE + "match: {by: groups, groups: [a]}", "match: Groups: 'a' is not a group"),
    (BASE + "match: {by: groups, groups: [[a]]}\nretrievers: [{name: a, retriever: 'm:f'}]", "bench.yaml:2: match: groups change the judgments"),
    (BASE + "retrievers: [{name: a, retriever: 'm:f', id_from: x, match: {by: field, field: y}}]", "retrievers[0].id_from: and match both say where the id is"),
    (BASE + "gates: {max_failed: 0}", "bench.yaml:2: gates.max_failed: applies to retrievers, and there are none to check."),
    (BASE + "outputs: {runs: folder}", "bench.yaml:2: outputs.runs: applies to the rankings of retrievers"),
    (BASE + "outputs: {report: r.html}\nretrieval_metrics: {statistical_analysis: {significance_testing: false}}", "bench.yaml:2: outputs.report: needs retrieval_metrics.statistical_analysis.significance_testing: true."),
    (BASE + "retrievers: [{name: old, retriever: 'm:f'}]", "bench.yaml:2: retrievers[0].name: two systems are called 'old'; give each its own name."),
    (BASE + "retrievers: [{name: a, retriever: 'm:f', concurrency: 2}]\nretrieval_metrics: {performance: {parallel_processing: false}}", "bench.yaml:2: retrievers[0].concurrency: more than 1, but"),
    ("data: {qrels: q}", "bench.yaml: retrievers: Nothing to measure"),
    ("data: {qrels: q}\nretrievers: [{name: a, retriever: 'm:f'}]", "bench.yaml:1: data.queries: is missing: retrievers are called with the texts of the queries."),
    ("data: {qrels: q, runs: {a: r}}\nby: colour", "bench.yaml:1: data.queries: is missing: by needs the fields of the queries."),
    ("data: {qrels: q, runs: [r.txt, other/r.txt, other/r.txt]}", "data.runs: Two runs are called"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[m for _, m in WRONG])
def test_mistakes_are_told_with_their_place(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.yaml").write_text(text)
    with pytest.raises(rl.InputError) as error:
        load("bench.yaml")
    assert message in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["bench.yaml"]


def test_null_is_the_default(tmp_path):
    (tmp_path / "bench.yaml").write_text(
        BASE + "gates:\noutputs:\npolicy:\nretrieval_metrics: {enabled_metrics: rag}\n"
    )
    read = load(tmp_path / "bench.yaml")
    assert (
        read.model_dump()
        == load({"data": {"qrels": "q", "queries": "t", "runs": {"old": "r"}}}, folder=tmp_path).model_dump()
    )


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path):
    (tmp_path / "bench.yaml").write_text(BASE + "seeed: 1\nby: []\nretrievers:\n  - {name: a}\n")
    with pytest.raises(rl.InputError) as error:
        load(tmp_path / "bench.yaml")
    assert [line.split(":")[1] for line in str(error.value).splitlines()] == ["2", "3", "5"]


def test_toml_that_cannot_be_read(tmp_path):
    (tmp_path / "bench.toml").write_text("data = = 1")
    with pytest.raises(rl.InputError, match=r"bench.toml is not valid TOML: .*line 1"):
        load(tmp_path / "bench.toml")
    (tmp_path / "bench.toml").write_text('[data]\nqrels = "q"\nrums = {a = "r"}\n')
    with pytest.raises(rl.InputError, match=r"bench.toml: data.rums: unknown key: did you mean 'runs'"):
        load(tmp_path / "bench.toml")


WRONG_RETRIEVERS = [
    ("nowhere:search", {}, "there is no module 'nowhere'. RankLens looked in the folder of the configuration"),
    ("my_search.deeper:search", {}, "there is no module 'my_search.deeper'"),
    ("my_search:goood", {}, "my_search has no 'goood': did you mean 'good'?"),
    ("my_search:Searcher", {}, "is a class; write my_search:Searcher() to create an instance."),
    ("my_search:searcher", {"params": {"by": 1}}, "is an object, so it takes no params"),
    ("my_search:not_callable", {}, "The retriever is an int, which cannot be called"),
    ("my_search:shifted", {"params": {"bye": 1}}, "takes no 'bye' (params): did you mean 'by'? Allowed: 'text', 'k', 'by'."),
    ("my_search:not_callable()", {}, "is an int, which cannot be called to make a retriever"),
    ("my_search:broken_factory()", {}, "did not create a retriever: OSError: no index ("),
    ("my_search:make()", {"params": {"bye": 1}}, "did not create a retriever: TypeError: make() got an unexpected keyword argument 'bye'"),
    ("needs_faiss:search", {}, "the module 'needs_faiss' cannot be imported: ModuleNotFoundError: No module named 'faiss_of_tomorrow' ("),
    ("wrong_syntax:search", {}, "the module 'wrong_syntax' cannot be imported: SyntaxError:"),
    ("exits:search", {}, "the module 'exits' cannot be imported: ValueError: no key (")
]  # fmt: skip


@pytest.mark.parametrize(("name", "more", "message"), WRONG_RETRIEVERS, ids=[m for *_, m in WRONG_RETRIEVERS])
def test_retrievers_that_cannot_be_had(name, more, message, bench):
    (bench.folder / "needs_faiss.py").write_text("import faiss_of_tomorrow\n")
    (bench.folder / "wrong_syntax.py").write_text("def search(:\n")
    (bench.folder / "exits.py").write_text("raise ValueError('no key')\n")
    before = list(sys.path)
    with pytest.raises(rl.InputError) as error:
        bench(retrievers=[GOOD, {"name": "mine", "retriever": name, **more}])
    assert str(error.value).startswith("retrievers[1].retriever: ")
    assert message in str(error.value)
    assert sys.path == before
    assert not (bench.folder / "calls.txt").exists()  # nobody is asked before all are there


def test_outputs_that_cannot_be_written_are_refused_before_anything_runs(bench):
    (bench.folder / "taken").mkdir()
    for path, message in (("taken", "is a folder"), ("my_search.py/out.json", "cannot be written")):
        with pytest.raises(rl.InputError, match=f"outputs.json: .*{message}"):
            bench(outputs={"json": path})
    assert not (bench.folder / "calls.txt").exists()


def test_measures_that_look_deeper_than_a_retriever_was_asked_are_told_everywhere(bench):
    told = "R@5 looks at 5 results, but 'mine' ran with k=3; run it with k=5."
    found = bench(**retriever(k=3), **metrics(enabled_metrics=["R@5"]))
    assert told in found.comparison.cautions
    assert told in found.to_json()
    assert told.split(";", maxsplit=1)[0] in " ".join(str(found).split())
    with pytest.warns(rl.RankLensWarning, match="R@5 looks at 5 results"):
        bench(
            **retriever(k=3),
            **metrics(enabled_metrics=["R@5"], statistical_analysis={"significance_testing": False}),
        )


def test_gates_look_at_the_means_that_are_shown(bench):
    """Where a failed query is left out, it is left out of all systems."""
    some = {"retrievers": [GOOD, {"name": "failing", "retriever": "my_search:failing", "k": 6}]}
    found = bench(**some, policy={"missing": "skip"}, gates={"floors": {"RR": 1}, "min_checked": 0.5})
    assert found.comparison.result("RR", "failing").n == 2
    assert [check.value for check in found.checks] == [1, 1]


def test_messages_about_policies_name_keys(bench):
    """A configuration has neither arguments nor options."""
    failing = {"name": "failing", "retriever": "my_search:failing", "k": 6}
    with pytest.raises(rl.PolicyError, match=r"choose missing: zero or missing: skip\.$"):
        bench(retrievers=[failing], policy={"missing": "error"})


# The command


@pytest.fixture
def config(folder):
    path = folder / "bench.yaml"
    path.write_text(yaml.safe_dump({**data(), "retrievers": [GOOD, BAD], "gates": {"floors": {"RR": 0.1}}}))
    return path


def test_the_command_prints_and_exits_0(config, capsys):
    assert main(["bench", str(config)]) == 0
    out = capsys.readouterr().out
    for part in ("good", "bad", "RR", "Gates", "- passed: RR of good: 1.0000 >= required 0.1", "ok"):
        assert part in out


def test_a_gate_that_fails_exits_1_and_says_which(config, capsys):
    content = yaml.safe_load(config.read_text())
    config.write_text(
        yaml.safe_dump({**content, "gates": {"floors": {"RR": 0.5}}, "outputs": {"json": "out.json"}})
    )
    assert main(["bench", str(config), "--format", "json"]) == 1
    told = capsys.readouterr()
    assert "ranklens: gate floors failed: RR of bad: 0.2500 < required 0.5\n" in told.err
    assert json.loads(told.out)["passed"] is False
    written = (config.parent / "out.json").read_text()  # although a gate failed
    assert json.loads(written) == json.loads(told.out)


@pytest.mark.parametrize("format", ["table", "json", "markdown", "csv", "latex"])
def test_every_format_to_a_file(config, format, tmp_path):  # noqa: A002
    assert main(["bench", str(config), "--format", format, "-o", str(tmp_path / "out")]) == 0
    assert "good" in (tmp_path / "out").read_text()


def test_without_testing_and_intervals(config, capsys):
    content = yaml.safe_load(config.read_text())
    off = {"statistical_analysis": {"significance_testing": False, "confidence_intervals": False}}
    config.write_text(yaml.safe_dump({**content, "retrieval_metrics": {"enabled_metrics": ["RR"], **off}}))
    assert main(["bench", str(config)]) == 0
    assert "good    1.0000" in capsys.readouterr().out
    for format in ("csv", "latex", "markdown", "json"):  # noqa: A001
        assert main(["bench", str(config), "--format", format]) == 0
        assert "RR" in capsys.readouterr().out


def test_wrong_usage_exits_2_without_a_traceback(config, capsys, tmp_path):
    assert main(["bench"]) == 2
    assert "ranklens bench --init" in capsys.readouterr().err
    assert main(["bench", str(tmp_path / "none.yaml")]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err
    config.write_text("data: 5")
    assert main(["bench", str(config)]) == 2
    assert "Traceback" not in capsys.readouterr().err
    config.write_text(yaml.safe_dump({"data": {"qrels": "none.txt", "runs": {"a": "b"}}}))
    assert main(["bench", str(config)]) == 2
    assert "none.txt does not exist" in capsys.readouterr().err


def test_init_writes_once_and_never_over_something(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "--init"]) == 0
    assert load("bench.yaml").systems == ["mine"]
    (tmp_path / "bench.yaml").write_text("mine")
    assert main(["bench", "--init"]) == 2
    assert "bench.yaml already exists" in capsys.readouterr().err
    assert (tmp_path / "bench.yaml").read_text() == "mine"
    assert main(["bench", "--init", "bench.yaml", "--force"]) == 0
    assert load("bench.yaml").systems == ["mine"]
    assert main(["bench", "--init", "bench.toml"]) == 2


def test_modules_in_the_current_folder_are_found_too(config, monkeypatch, tmp_path):
    elsewhere = config.parent / "configs"
    elsewhere.mkdir()
    content = yaml.safe_load(config.read_text())
    content["data"] = {"qrels": "../qrels.json", "queries": "../queries.jsonl"}
    (elsewhere / "bench.yaml").write_text(yaml.safe_dump(content))
    monkeypatch.chdir(config.parent)
    assert main(["bench", "configs/bench.yaml", "-o", str(tmp_path / "out")]) == 0
