"""A chunk may hold several expected passages, and several chunks one together: by hand, and against counting letters and words."""

import json
from itertools import accumulate, pairwise
from pathlib import Path

import command_line
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.data.matching import ByText, Spans

BOTH = {"30 days": 1, "unused item": 1}
CHUNK = "Refunds within 30 days, for an unused item only."
GOLDEN = [{"id": "q1", "question": "Refund?", "expected_answer": [*BOTH]}]


def log(*texts):
    return [{"id": "q1", "retrieved": [{"id": f"c{i}", "text": text} for i, text in enumerate(texts, 1)]}]


def measured(run, measures, gold=GOLDEN, match=None, **options):
    return dict(rl.evaluate(gold, run, measures, match=match or ByText(), **options).mean)


EVERYTHING = [
    "R@1",
    "R@5",
    "recall@5",
    "RR",
    "Success@1",
    "nDCG",
    "nDCG@1",
    "nDCG@5",
    "AP",
    "AP@1",
    "P@1",
    "F@1",
    "FullRecall@1",
]
EVERYTHING += ["Rprec", "SetR", "SetF", "SetAP", "AllRecall@1", "IPrec@1.0", "AP11", "Bpref", "AP_R", "R(cap=true)@1", "nCG@1"]  # fmt: skip


@pytest.mark.parametrize("measure", EVERYTHING)
def test_one_chunk_that_holds_everything_is_perfect(measure):
    assert set(measured(log(CHUNK), measure).values()) == {1.0}


@pytest.mark.parametrize("gold", [GOLDEN, {"q1": BOTH}, {"q1": {*BOTH}}, pl.DataFrame(GOLDEN)])
@pytest.mark.parametrize(
    "run",
    [
        log("nothing", CHUNK),
        {"q1": ["nothing", CHUNK]},
        {"q1": [("nothing", 2.0), (CHUNK, 1.0)]},
        pl.DataFrame({"query": ["q1", "q1"], "doc": ["nothing", CHUNK], "score": [2.0, 1.0]}),
        pl.DataFrame(log("nothing", CHUNK)),
    ],
)
def test_every_kind_of_input(gold, run):
    if not isinstance(run, list) and not (isinstance(run, pl.DataFrame) and "retrieved" in run.columns):
        corpus = {"nothing": "nothing", CHUNK: CHUNK}
        match = ByText(corpus=corpus)
    else:
        match = ByText()
    found = measured(run, ["R@1", "R@2", "P@2", "RR"], gold, match)
    assert found == {"R@1": 0, "R@2": 1, "P@2": 0.5, "RR": 0.5}


def test_values_by_hand():
    """Ranks: 1 nothing; 2 a (grade 2) and b (grade 1); 3 c (grade 1), once more with b; d is missed."""
    gold = {"q1": {"aa": 2, "bb": 1, "cc": 1, "dd": 1}}
    run = log("x", "bb and aa", "bb cc", "aa bb")
    found = measured(
        run, ["R@2", "R@3", "P@3", "RR", "AP", "DCG", "R(rel=2)@2", "NumRelRet", "NumRet", "F@3"], gold
    )
    p, r = 2 / 3, 3 / 4
    assert found == pytest.approx(
        {
            "R@2": 2 / 4,
            "R@3": r,
            "P@3": p,
            "RR": 1 / 2,
            "AP": (1 / 2 + 1 / 2 + 2 / 3) / 4,
            "DCG": 2 / 1.584962500721156 + 1 / 1.584962500721156 + 1 / 2,
            "R(rel=2)@2": 1,
            "NumRelRet": 3,
            "NumRet": 3,  # the last one repeats what is above it
            "F@3": 2 * p * r / (p + r),
        }
    )


def test_a_passage_that_is_divided_between_chunks_counts_from_the_last_of_them():
    run = log("paid within 30", "days of it; an unused", "item")
    assert measured(run, ["R@1", "R@2", "R@3", "RR", "P@3"]) == {
        "R@1": 0,
        "R@2": 0.5,
        "R@3": 1,
        "RR": 0.5,
        "P@3": 2 / 3,
    }


GRADED = {"aa": 3, "bb": 2, "cc": 1, "dd": 1}
chunks = st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "ee"]), min_size=1, max_size=4).map(" - ".join)


def usual(measure):
    known = measure.definition
    return known.aggregate != "none" and known.view is None and (known.low, known.high) == (0, 1)


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@pytest.mark.parametrize("k", [None, 1, 2, 5])
@given(run=st.lists(chunks, max_size=6))
def test_no_measure_leaves_its_range_and_recall_counts_passages(k, run):
    some = [m for m in rl.measures() if usual(m)]
    deep = [m.replace(k=k) if k and "k" in m.definition.parameters else m for m in some]
    judged = rl.judge({"q1": GRADED}, log(*run), match=ByText())
    for name, values in judged.evaluate(deep).values.items():
        assert 0 <= values[0] <= 1 + 1e-12, name
    held = [{*text.split(" - ")} - {"ee"} for text in run]
    so_far = [set(), *accumulate(held, set.union)]
    added = [now - before for before, now in pairwise(so_far)]
    listed = [
        new for new, all_held in zip(added, held, strict=True) if new or not all_held
    ]  # without repetitions
    found = set().union(*listed[:k])
    best = judged.evaluate([f"R@{k}", f"P@{k}"] if k else ["R", "NumRelRet"])
    assert best.mean[f"R@{k}" if k else "R"] == pytest.approx(len(found) / 4)
    if k:
        assert best.mean[f"P@{k}"] == pytest.approx(sum(map(bool, listed[:k])) / k)


spans = st.tuples(st.sampled_from("ab"), st.integers(0, 12), st.integers(1, 8)).map(
    lambda s: (s[0], s[1], s[1] + s[2])
)


@given(
    st.lists(spans, min_size=1, max_size=4, unique=True),
    st.lists(spans, max_size=6),
    st.sampled_from([0.3, 0.5, 0.9, 1.0]),
)
def test_spans_against_counting_letters(gold, retrieved, threshold):
    judged = {f"{doc}:{start}-{end}": 1 for doc, start, end in gold}
    ids = [f"{doc}:{start}-{end}" for doc, start, end in retrieved]
    found = {name for names in Spans(threshold=threshold).matches("q", ids, judged) for name in names} & {
        *judged
    }
    letters = {(doc, i) for doc, start, end in retrieved for i in range(start, end)}
    for name, (doc, start, end) in zip(judged, gold, strict=True):
        share = sum((doc, i) in letters for i in range(start, end)) / (end - start)
        assert (name in found) == (share >= threshold)


places = st.tuples(st.integers(0, 18), st.integers(1, 8)).map(lambda s: (s[0], min(20, s[0] + s[1])))


@given(places.filter(lambda s: s[1] - s[0] > 1), st.lists(places, max_size=6))
def test_texts_are_found_where_their_spans_are(passage, retrieved):
    words = [f"w{i:02}" for i in range(20)]
    texts = [" ".join(words[start:end]) for start, end in retrieved]
    expected = " ".join(words[slice(*passage)])
    by_span = Spans(threshold=1).matches(
        "q", [f"d:{a}-{b}" for a, b in retrieved], {"d:{}-{}".format(*passage): 1}
    )
    by_text = ByText().matches("q", [f"c{i}\x1f{text}" for i, text in enumerate(texts)], {expected: 1})
    is_found = [names == ["d:{}-{}".format(*passage)] for names in by_span]
    assert [names == [expected] for names in by_text] == is_found


@pytest.mark.parametrize("match", ["text", "text:overlap", "text:substring"])
def test_the_command(tmp_path, capsys, match):
    paths = [str(tmp_path / name) for name in ("golden.jsonl", "log.jsonl")]
    for path, rows in zip(paths, (GOLDEN, log("x", CHUNK)), strict=True):
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, out, _ = command_line.run(
        capsys, "evaluate", *paths, "-m", "recall@5,P@2", "--match", match, "--format", "json"
    )
    means = {row["measure"]: row["mean"] for row in json.loads(out)["log"]["measures"]}
    assert (status, means) == (0, {"R@5": 1.0, "P@2": 0.5})
    gate = ("gate", "R@5 >= 1", "--qrels", paths[0], "--run", paths[1], "--match", match)
    assert command_line.run(capsys, *gate)[0] == 0


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_a_benchmark_and_a_comparison():
    bench = rl.Benchmark([{"id": "q1", "question": "Refund?", "expected_ids": [*BOTH]}], match=ByText())
    bench.run("whole", lambda text: ["x", CHUNK], k=5)
    bench.run("parts", lambda text: ["in 30 days", "an unused item"], k=5)
    found = bench.evaluate("R@1, R@2, P@2")
    assert found["whole"].mean == {"R@1": 0, "R@2": 1, "P@2": 0.5}
    assert found["parts"].mean == {"R@1": 0.5, "R@2": 1, "P@2": 1}
    compared = rl.compare(GOLDEN, {"whole": log("x", CHUNK), "none": log("x")}, "R@5", match=ByText())
    assert compared.pair("R@5", "none", "whole").difference == 1
    assert compared.documents("q1", "none", "whole").drop("question").rows() == [
        ("c1", None, 1, 1, "same"),
        ("30 days", 1.0, None, 2, "new"),
        ("unused item", 1.0, None, 2, "new"),
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"depth": 2}, 2 / 3),
        ({"judged_only": True}, 1.0),
        ({"ties": "average"}, 1.0),
        ({"missing": "skip"}, 1.0),
    ],
)
def test_policies(options, expected):
    gold = {"q0": {"z": 1}, "q1": {**BOTH, "receipt": 1}}
    run = [*log("x", CHUNK, "y", "receipt")]
    scores = rl.evaluate(gold, run, ["R@4", "nDCG@3"], match=ByText(), **options)
    assert scores["R@4"][-1] == pytest.approx(expected)
    if options.get("judged_only"):
        assert scores["nDCG@3"][-1] == 1


def test_an_explanation_shows_all_passages_of_a_chunk():
    gold, run = {"q1": {**BOTH, "receipt": 1}}, log("x", CHUNK)
    for measure in ("R@5", "P@5", "nDCG@5", "AP", "F@5", "SetF", "HitCount@5"):
        found = rl.explain(measure, gold, run, query="q1", match=ByText())
        assert found.value == measured(run, measure, gold)[str(rl.measure(measure))]
        assert found.steps[-1].so_far == found.value or measure == "nDCG@5"
        assert [step.documents for step in found.steps][1] == ("30 days", "unused item")
        assert [(missed.document, missed.rank) for missed in found.missed] == [("receipt", None)]
        assert found.facts["found"] == 2
        last, value = found.calculation.rsplit(" = ", 2)[-2:]
        if measure in ("R@5", "P@5", "nDCG@5", "HitCount@5"):
            assert eval(last) == pytest.approx(float(value), abs=1e-3)


def test_failing_queries_know_all_passages_of_a_chunk():
    scores = rl.evaluate({"q1": {**BOTH, "receipt": 1}}, log("x", CHUNK), "R@5", match=ByText())
    (row,) = scores.failing()
    assert row.why(5) == "2 of 3 relevant in the top 5, first at rank 2"


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_the_report_does_not_call_a_passage_missed(tmp_path):
    from ranklens.report.drilldown import drilldown

    compared = rl.compare(GOLDEN, {"whole": log("x", CHUNK), "none": log("x")}, "R@5", match=ByText())
    shown = drilldown(compared)
    ranks = dict(zip(shown.documents["doc"].to_list(), shown.rows["rank_0"].to_list(), strict=True))
    assert ranks == {"c1": 1, "30 days": 2, "unused item": 2}


def test_evidence_and_subtopics_by_text():
    sets = {"q1": [{"30 days", "unused item"}, {"receipt"}]}
    assert measured(log(CHUNK), ["AllRecall@1", "EvidenceSuccess@1"], sets) == {
        "AllRecall@1": 0.5,
        "EvidenceSuccess@1": 1,
    }
    topics = {"q1": {"s1": {"30 days": 1}, "s2": {"unused item": 1}}}
    found = measured(log(CHUNK), ["StRecall@1", "alpha_nDCG@1", "D_nDCG@1", "P_IA@1"], topics)
    assert found == {"StRecall@1": 1, "alpha_nDCG@1": 1, "D_nDCG@1": 1, "P_IA@1": 1}


def test_scores_of_shards_are_merged():
    parts = [
        rl.evaluate({q: gold}, [{**log(CHUNK)[0], "id": q}], "R", match=ByText())
        for q, gold in (("a", BOTH), ("b", {"30 days": 1}))
    ]
    assert rl.Scores.concat(parts).judged.evaluate("R").mean == {"R": 1}
