"""Measures of subtopics and evidence: invariants, every way in, averaged ties, values by hand."""

import random
from itertools import permutations, product
from statistics import mean

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from richer import RICH
from strategies import DOCS, QUERIES, examples, runs

import ranklens as rl
from ranklens.data.readers.judgments import Judgments

pytestmark = pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
DIVERSE = [rl.measure(name) for name, needs in RICH.items() if needs == "subtopics"]
EVIDENTIAL = [rl.measure(name) for name, needs in RICH.items() if needs == "evidence"]
GRADED = [rl.measure(name) for name in ("nDCG@5", "AP", "RBP", "Judged@3")]

documents = st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1)
topics = st.dictionaries(st.sampled_from(["1", "2", "10", "x"]), documents, min_size=1)
by_subtopic = st.dictionaries(st.sampled_from(QUERIES), topics, min_size=1)
sets = st.lists(st.sets(st.sampled_from(DOCS), min_size=1), min_size=1, max_size=3)
by_set = st.dictionaries(st.sampled_from(QUERIES), sets, min_size=1)


def values(qrels, run, measures, **policy):
    scores = rl.evaluate(qrels, run, measures, **policy)
    return {(str(m), q): v for m in measures for q, v in zip(scores.queries, scores[m].tolist(), strict=True)}


def test_every_measure_says_what_it_needs():
    for name, needs in RICH.items():
        assert rl.measure(name).definition.needs == needs


@pytest.mark.parametrize("measure", DIVERSE, ids=str)
def test_asking_without_subtopics_is_one_clear_sentence(measure):
    with pytest.raises(rl.MeasureError, match="needs judgments by subtopic") as error:
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, measure)
    assert str(error.value).startswith(str(measure))


@given(qrels=by_subtopic, run=runs())
def test_in_range_and_never_nan(qrels, run):
    scores = rl.evaluate(qrels, run, DIVERSE)
    for measure in DIVERSE:
        assert np.isfinite(scores[measure]).all(), measure
        assert (scores[measure] >= measure.definition.low - 1e-12).all(), measure
        assert (scores[measure] <= measure.definition.high + 1e-12).all(), measure


@given(qrels=by_set, run=runs())
def test_evidence_is_in_range(qrels, run):
    scores = rl.evaluate(qrels, run, EVIDENTIAL)
    for measure in EVIDENTIAL:
        assert ((scores[measure] >= 0) & (scores[measure] <= 1)).all(), measure


@given(qrels=by_subtopic, run=runs(), seed=st.integers(0, 9))
def test_the_order_of_queries_and_documents_does_not_matter(qrels, run, seed):
    def shuffled(table):
        items = list(table.items())
        random.Random(seed).shuffle(items)
        return {key: shuffled(value) if isinstance(value, dict) else value for key, value in items}

    found, expected = values(shuffled(qrels), shuffled(run), DIVERSE), values(qrels, run, DIVERSE)
    assert found == pytest.approx(expected, abs=1e-12)


@given(qrels=by_subtopic, run=runs())
def test_one_query_equals_the_batch(qrels, run):
    together = values(qrels, run, [*DIVERSE, *GRADED])
    for q in qrels:
        alone = values({q: qrels[q]}, {q: run[q]} if q in run else {}, [*DIVERSE, *GRADED])
        assert alone == {key: v for key, v in together.items() if key[1] == q}


@given(qrels=by_subtopic, run=runs(), ties=st.sampled_from(["descending", "ascending", "input", "average"]))
def test_measures_of_grades_see_the_highest_grade(qrels, run, ties):
    measures = [m for m in GRADED if ties != "average" or m.definition.average_ties]
    plain = {}
    for q, by_topic in qrels.items():
        plain[q] = {}
        for docs in by_topic.values():
            for doc, grade in docs.items():
                plain[q][doc] = max(grade, plain[q].get(doc, grade))
    for judged_only in (False, True):
        chosen = {"ties": ties, "judged_only": judged_only}
        assert values(qrels, run, measures, **chosen) == values(plain, run, measures, **chosen)


@given(
    qrels=by_subtopic,
    run=runs(min_docs=1).filter(bool),
    ties=st.sampled_from(["descending", "ascending", "input"]),
)
def test_every_way_in_gives_the_same(qrels, run, ties, tmp_path_factory):
    rows = [(q, s, d, float(g)) for q, by in qrels.items() for s, docs in by.items() for d, g in docs.items()]
    gold = pl.DataFrame(rows, schema=["query", "subtopic", "doc", "grade"], orient="row")
    ranked = [(q, d, float(x)) for q, docs in run.items() for d, x in docs.items()]
    table = pl.DataFrame(ranked, schema=["query", "doc", "score"], orient="row")
    expected = values(qrels, run, DIVERSE, ties=ties)
    for a, b in [(gold, run), (gold.to_pandas(), table), (qrels, table), (gold, table.to_arrow())]:
        assert values(a, b, DIVERSE, ties=ties) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "jsonl", "json"])
def test_tables_in_files_may_have_subtopics(tmp_path, suffix):
    rows = [("q", "s1", "a", 1), ("q", "s2", "a", 2), ("q", "s2", "b", 1)]
    table = pl.DataFrame(rows, schema=["query_id", "subtopic", "doc_id", "relevance"], orient="row")
    path = tmp_path / f"qrels.{suffix}"
    write = {
        "parquet": table.write_parquet,
        "csv": table.write_csv,
        "tsv": lambda path: table.write_csv(path, separator="\t"),
        "jsonl": table.write_ndjson,
        "json": table.write_json,
    }
    write[suffix](path)
    run = {"q": ["b", "a"]}
    measures = ["alpha_nDCG@2", "StRecall@1", "nDCG@2"]
    expected = values({"q": {"s1": {"a": 1}, "s2": {"a": 2, "b": 1}}}, run, measures)
    assert values(path, run, measures) == expected
    assert values(rl.judgments(path), run, measures) == expected


FURTHER = pl.DataFrame(
    [("q", "a", 1, "1", False), ("q", "b", 2, "1", False), ("q", "c", 1, "2", False), ("q", "b", 1, "2", False), ("q", "x", 1, None, True)],
    schema=["query", "doc", "grade", "evidence", "junk"],
    orient="row",
)  # fmt: skip


@pytest.mark.parametrize("suffix", [None, "parquet", "csv", "jsonl"])
def test_tables_may_have_evidence_and_junk(tmp_path, suffix):
    gold, run = FURTHER, {"q": ["x", "b", "a"]}
    if suffix:
        gold = tmp_path / f"qrels.{suffix}"
        getattr(FURTHER, {"jsonl": "write_ndjson"}.get(suffix, f"write_{suffix}"))(gold)
    measures = ["AllRecall@2", "EvidenceSuccess@1", "RR", "nDCG@3", "NumRel"]
    expected = Judgments(
        {"q": {"a": 1, "b": 2, "c": 1}}, evidence={"q": [{"a", "b"}, {"b", "c"}]}, junk={"q": {"x"}}
    )
    assert values(gold, run, measures) == values(expected, run, measures)
    assert values(gold, run, measures)["RR", "q"] == 1


def test_properties_may_be_a_table(tmp_path):
    rows = [("a", "A", 1.0, 2), ("b", "A", 0.25, 3), ("b", "B", 0.75, 3)]
    table = pl.DataFrame(rows, schema=["doc_id", "group", "share", "cost"], orient="row")
    table.write_csv(tmp_path / "groups.csv")
    by_hand = {"a": {"group": "A", "cost": 2}, "b": {"group": {"A": 0.25, "B": 0.75}, "cost": 3}}
    run, measures = {"q": ["b", "a"]}, ["AWRF", "EE_L", "INST(expect=ETC)"]
    expected = values(Judgments({"q": {"a": 1}}, documents=by_hand), run, measures)
    for documents in (table, table.to_pandas(), tmp_path / "groups.csv"):
        assert values(Judgments({"q": {"a": 1}}, documents=documents), run, measures) == expected
    with pytest.raises(rl.InputError, match="documents: no column contains their ids; name it doc"):
        Judgments({"q": {"a": 1}}, documents=table.select("group"))


def test_a_missing_subtopic_is_named(tmp_path):
    (tmp_path / "qrels.csv").write_text("query,subtopic,doc,grade\nq,s,a,1\nq,,b,1\n")
    with pytest.raises(rl.InputError, match=r"qrels.csv:3: the subtopic is missing"):
        rl.evaluate(tmp_path / "qrels.csv", {"q": ["a"]}, "StRecall")


def test_json_may_hold_subtopics_and_evidence(tmp_path):
    path = tmp_path / "qrels.json"
    path.write_text('{"q": {"s1": {"a": 1}, "s2": {"b": 1}}}')
    assert rl.evaluate(path, {"q": ["a"]}, "StRecall").mean == {"StRecall": 0.5}
    path.write_text('{"q": [["a", "b"], ["c"]]}')
    assert rl.evaluate(path, {"q": ["b", "a"]}, "EvidenceSuccess@2").mean == {"EvidenceSuccess@2": 1}


def all_orders(scores):
    groups = [
        [d for d, s in scores.items() if s == value] for value in sorted(set(scores.values()), reverse=True)
    ]
    for order in product(*(permutations(group) for group in groups)):
        yield [doc for group in order for doc in group]


@settings(max_examples=examples(80))
@given(
    scores=st.lists(st.sampled_from([1.0, 2.0]), min_size=1, max_size=5),
    grades=st.lists(st.sampled_from([None, -1, 0, 1, 2]), min_size=15, max_size=15),
    depth=st.sampled_from([None, None, 2]),
)
def test_averaged_ties_equal_the_mean_over_all_orders(scores, grades, depth):
    run = {f"d{i}": s for i, s in enumerate(scores)}
    gold = {
        str(s): {f"d{i}": g for i, g in enumerate(grades[s::3]) if g is not None} | {"missed": 2}
        for s in range(3)
    }
    measures = [m for m in DIVERSE if m.definition.average_ties]
    assert len(measures) == len(DIVERSE) - 2  # IA takes any measure
    averaged = rl.evaluate({"q": gold}, {"q": run}, measures, ties="average", depth=depth)
    orders = [rl.evaluate({"q": gold}, {"q": order}, measures, depth=depth) for order in all_orders(run)]
    for measure in measures:
        expected = mean(float(found[measure][0]) for found in orders)
        assert averaged[measure][0] == pytest.approx(expected, abs=1e-9), measure


def test_global_gains_by_hand():
    """Intents .7 and .3, gains {A 3, B 1} and {B 2, C 3}, run B, X, A, C: values by Sakai and Song's formulas."""
    qrels = Judgments(
        subtopics={"q": {"i1": {"A": 3, "B": 1}, "i2": {"B": 2, "C": 3}}},
        intents={"q": {"i1": 0.7, "i2": 0.3}},
    )
    names = [f"{m}@{k}" for m in ("D_nDCG", "D_sharp_nDCG") for k in (1, 2, 3, 4)]
    found = rl.evaluate(qrels, {"q": ["B", "X", "A", "C"]}, names).mean
    expected = [0.619048, 0.445174, 0.697286, 0.812297, 0.809524, 0.722587, 0.848643, 0.906148]
    assert [found[name] for name in names] == pytest.approx(expected, abs=1e-6)


def test_intent_awareness_is_the_mean_of_the_measure_by_subtopic():
    qrels = {"q": {"1": {"a": 1}, "2": {"b": 2, "c": 1}}}
    run = {"q": ["x", "b", "a"]}
    apart = [rl.evaluate({"q": docs}, run, "nDCG@5").mean["nDCG@5"] for docs in qrels["q"].values()]
    assert rl.evaluate(qrels, run, "IA(nDCG@5)").mean["IA(nDCG@5)"] == pytest.approx(mean(apart))


def test_evidence_by_hand():
    """Sets {a, b} and {c}; a and b are retrieved at ranks 1 and 3."""
    found = rl.evaluate(
        {"q": [{"a", "b"}, {"c"}]}, {"q": ["a", "x", "b", "d"]}, ["AllRecall@3", *EVIDENTIAL]
    ).mean
    assert found == {
        "AllRecall@3": 0.5, "AnyRecall@3": 0.5, "EvidenceSuccess@3": 1, "EvidenceRprec": 0.5,
        "KILT_P@3": 1 / 3, "KILT_R@3": 0.5, "KILT_Success@3": 1,
    }  # fmt: skip
    early = rl.evaluate(
        {"q": [{"a", "b"}, {"c"}]}, {"q": ["a", "x", "b", "d"]}, ["AllRecall@2", "AnyRecall@2"]
    ).mean
    assert early == {"AllRecall@2": 0, "AnyRecall@2": 0.5}


def collapsed(sets, ranking):
    """KILT's ranking, in which the retrieved documents of a set are one entry: whether the set is complete, at its last document."""
    left = [set(docs) for docs in dict.fromkeys(map(frozenset, sets))]
    entries = []
    for doc in dict.fromkeys(ranking):
        holders = [docs for docs in left if doc in docs]
        for docs in holders:
            docs.remove(doc)
            entries = [entry for entry in entries if entry is not docs]
            entries.append(docs)
        entries += [] if holders else [{"not evidence"}]
    return [not entry for entry in entries], len(left)


def test_ranks_of_kilt_are_those_after_collapsing():
    rng = random.Random("KILT")
    for _ in range(300):
        docs = [f"d{i}" for i in range(rng.randint(3, 9))]
        sets = [{*rng.sample(docs, rng.randint(1, 3))} for _ in range(rng.randint(1, 4))]
        ranking = [rng.choice([*docs, "x", "y", "z"]) for _ in range(rng.randint(1, 14))]
        k = rng.choice([1, 2, 3, 5])
        found = rl.evaluate(
            {"first": [{"a", "d1"}], "q": sets},
            {"first": ["a"], "q": ranking},
            [f"KILT_P@{k}", f"KILT_R@{k}", f"KILT_Success@{k}"],
        )
        entries, count = collapsed(sets, ranking)
        complete = sum(entries[:k])
        expected = [complete / k, complete / count, float(complete > 0)]
        assert found.per_query.row(1)[1:] == pytest.approx(expected, abs=1e-12), (sets, ranking, k)


def test_kilt_counts_ranks_otherwise():
    names = ["AllRecall@2", "EvidenceSuccess@2", "KILT_R@2", "KILT_Success@2", "KILT_P@2"]
    found = rl.evaluate({"q": [{"a", "b"}]}, {"q": ["a", "x", "b"]}, names).mean
    assert [*found.values()] == [0, 0, 1, 1, 0.5]
    assert [str(measure) for measure in rl.preset("kilt")] == ["EvidenceRprec", "KILT_R@5", "KILT_Success@5"]


def test_each_question_about_evidence_has_its_own_measure():
    names = ["AllRecall@10", "EvidenceSuccess@10", "FullRecall@10", "AnyRecall@10"]
    found = rl.evaluate({"q": [{"a", "b"}, {"c"}]}, {"q": ["a", "x", "b"]}, names).mean
    assert [*found.values()] == [0.5, 1, 0, 0.5]
    found = rl.evaluate({"q": [{"a", "b"}, {"c"}]}, {"q": ["a", "x", "b", "c"]}, names).mean
    assert [*found.values()] == [1, 1, 1, 1]


def test_a_repeated_evidence_set_counts_once():
    found = rl.evaluate({"q": [{"a"}, {"b"}, {"a"}]}, {"q": ["a"]}, ["AllRecall@1", "KILT_R@1"]).mean
    assert found == {"AllRecall@1": 0.5, "KILT_R@1": 0.5}


def test_without_evidence_sets_all_relevant_documents_are_one():
    found = rl.evaluate(
        {"q": {"a": 1, "b": 2, "n": 0}}, {"q": ["a", "x", "b"]}, ["AllRecall@2", "AllRecall@3", "AnyRecall@1"]
    )
    assert found.mean == {"AllRecall@2": 0, "AllRecall@3": 1, "AnyRecall@1": 1}


@given(qrels=st.dictionaries(st.sampled_from(QUERIES), documents, min_size=1), run=runs(), data=st.data())
def test_junk_is_taken_out_before_ranking(qrels, run, data):
    junk = {q: data.draw(st.sets(st.sampled_from(DOCS))) for q in qrels}
    clean_run = {q: {d: s for d, s in docs.items() if d not in junk.get(q, ())} for q, docs in run.items()}
    clean_qrels = {q: {d: g for d, g in docs.items() if d not in junk[q]} for q, docs in qrels.items()}
    for ties in ("descending", "average"):
        found = values(Judgments(qrels, junk=junk), run, GRADED, ties=ties)
        assert found == pytest.approx(values(clean_qrels, clean_run, GRADED, ties=ties), abs=1e-12)


def test_named_tuples_of_ir_datasets():
    from typing import NamedTuple

    class TrecSubQrel(NamedTuple):
        query_id: str
        doc_id: str
        relevance: int
        subtopic_id: str

    rows = [TrecSubQrel("q", "a", 1, "1"), TrecSubQrel("q", "b", 1, "2")]
    assert rl.evaluate(rows, {"q": ["a", "x"]}, "StRecall@2").mean == {"StRecall@2": 0.5}


def test_wrong_shapes_get_one_clear_error():
    with pytest.raises(rl.InputError, match="where other queries have subtopics"):
        rl.evaluate({"q": {"s": {"a": 1}}, "p": ["a"]}, {"q": ["a"]}, "StRecall")
    with pytest.raises(rl.InputError, match="the subtopic 't' contains 1, not"):
        rl.evaluate({"q": {"s": {"a": 1}, "t": 1}}, {"q": ["a"]}, "StRecall")
    with pytest.raises(rl.InputError, match="subtopic '2' of query 'q' has no probability"):
        rl.evaluate(
            Judgments(subtopics={"q": {"1": {"a": 1}, "2": {"b": 1}}}, intents={"q": {"1": 1.0}}),
            {"q": ["a"]},
            "D_nDCG",
        )


def test_preferences_equal_those_of_trec_eval():
    """The drop-in's golden data, whose values are trec_eval 10's own, as pairs through the main interface."""
    from pathlib import Path

    from ranklens.data.files.sources import open_source
    from ranklens.data.files.trec import USUAL
    from ranklens.exchange.trec import groups

    golden = Path(__file__).parents[1] / "golden"
    judged = groups.read_judgments(open_source(str(golden / "qrels.prefs.txt")), "qrels_prefs", USUAL)
    by_group, run = {}, {}
    for j in judged:
        by_group.setdefault(j.query, {}).setdefault(j.group, []).append(j)
    for line in (golden / "run.prefs.txt").read_text(encoding="utf-8").splitlines():
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, {})[doc] = float(score)
    pairs = {
        query: {
            name: [(a.doc, b.doc) for a in members for b in members if a.level > b.level]
            for name, members in named.items()
        }
        for query, named in by_group.items()
    }
    expected = groups.preferences(judged, run)
    names = [
        "prefs_simp",
        "prefs_simp_ret",
        "prefs_simp_imp",
        "prefs_avgjg",
        "prefs_avgjg_ret",
        "prefs_avgjg_imp",
    ]
    scores = rl.evaluate(Judgments(preferences=pairs), run, names, ties="ascending")
    for name in names:
        for query, value in zip(scores.queries, scores[rl.measure(name)].tolist(), strict=True):
            if query in expected:
                assert value == pytest.approx(expected[query][name], abs=1e-12), (name, query)


def test_asking_without_preferences_is_one_clear_sentence():
    with pytest.raises(rl.MeasureError, match="Prefs needs preferences"):
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "Prefs")
    with pytest.raises(rl.InputError, match="not a pair of a better and a worse document"):
        rl.evaluate(Judgments(preferences={"q": ["ab", "c"]}), {"q": ["a"]}, "Prefs")


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
def test_subtopics_of_no_query():
    found = rl.evaluate(rl.Judgments(subtopics={}), {"q": {"a": 1.0}}, "alpha_nDCG@5")
    assert (found.mean, len(found.queries)) == ({"alpha_nDCG@5": 0.0}, 0)


def test_holes_of_judgments_in_a_file(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text("query,doc,grade\nq,a,1\nq,b,0\n")
    assert rl.evaluate(str(path), {"q": ["x", "a"]}, "Hole@2").mean == {"Hole@2": 0.5}
    assert rl.evaluate(path, {"q": ["x", "a"]}, "Hole@2").mean == {"Hole@2": 0.5}


def test_the_highest_grade_is_reported_for_intent_aware_measures():
    qrels, run = {"q": {"i1": {"a": 3, "b": 1}, "i2": {"b": 2}}}, {"q": ["b", "a"]}
    scores = rl.evaluate(qrels, run, ["IA(ERR)", "IA(ERR(max_grade=3))"])
    assert "IA(ERR) with max_grade = 3 (highest judged)" in str(scores)
    assert scores.mean["IA(ERR)"] == scores.mean["IA(ERR(max_grade=3))"]
    assert "IA(ERR) with max_grade = 4, gain" in str(rl.evaluate(qrels, run, "IA(ERR)", max_grade=4))
