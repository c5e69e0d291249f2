"""What was retrieved and what was judged belong together in several ways; repeated credit is dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.data.matching import ByField, ById, ByParent, Groups, Spans
from ranklens.data.readers.retrieved import Reading
from ranklens.errors import InputError


def evaluated(match, relevant, items, measures, **options):
    """One query through Benchmark."""
    bench = rl.Benchmark(match=match)
    bench.add_query("q", "why?", relevant)
    bench.run("mine", lambda text: items, **options)
    return bench.evaluate(measures)["mine"].mean


def test_by_id_and_by_field():
    items = [{"id": "c1", "meta": {"file": "f2"}}, {"id": "c2", "meta": {"file": "f1"}}]
    assert evaluated(None, {"c2"}, items, "RR") == {"RR": 0.5}
    assert evaluated(ById(), {"c2"}, items, "RR") == {"RR": 0.5}
    assert evaluated(ByField("meta.file"), {"f2"}, items, "RR") == {"RR": 1.0}


def test_a_missing_field_never_matches():
    """Haystack once matched None with None and reported perfect recall."""
    items = [{"meta": {}}, {"meta": {"file": "f1"}}]
    assert evaluated(ByField("meta.file"), {"None", "f1"}, items, "R@5, RR") == {"R@5": 0.5, "RR": 0.5}


PARENTS = {"c1": "d1", "c2": "d1", "c3": "d2"}


@pytest.mark.parametrize(
    ("match", "ids"),
    [
        (ByParent(PARENTS), ["c1", "c2", "c3", "c9"]),
        (ByParent(PARENTS.get), ["c1", "c2", "c3"]),
        (ByParent(separator="#"), ["d1#0", "d1#1", "d2#0"]),
        (ByParent(separator="#"), ["d1#a#0", "d1"]),
    ],
)
def test_chunks_stand_for_their_parents(match, ids):
    expected = {
        "c1": ["d1", "d1", "d2", "c9"][: len(ids)],
        "d1#0": ["d1", "d1", "d2"],
        "d1#a#0": ["d1#a", "d1"],
    }[ids[0]]
    assert match.judged_ids("q", ids, {}) == expected


def test_a_parent_that_is_none_matches_nothing():
    assert ByParent(PARENTS.get).judged_ids("q", ["x", "c1"], {}) == ["<no-id-1>", "d1"]


def test_several_chunks_of_a_document_count_once_and_close_up():
    """c1, c2 of d1, then c3 of d2: the documents' ranking is d1, d2, as for any document that comes twice."""
    items = ["c1", "c2", "c3"]
    found = evaluated(ByParent(PARENTS), {"d2"}, items, "RR, P@2")
    with pytest.warns(rl.RankLensWarning, match="1 repeated document"):
        same = rl.evaluate({"q": {"d2"}}, {"q": ["d1", "d1", "d2"]}, "RR, P@2").mean
    assert found == same == {"RR": 0.5, "P@2": 0.5}
    perfect = evaluated(ByParent(PARENTS), {"d1", "d2"}, items, "R@5, nDCG@5, AP")
    assert perfect == {"R@5": 1.0, "nDCG@5": 1.0, "AP": 1.0}


def test_what_the_retriever_itself_repeats_is_still_reported():
    with pytest.warns(rl.RankLensWarning, match="1 repeated document was dropped"):
        assert evaluated(ByParent(PARENTS), {"d2"}, ["c1", "c2", "c1", "c3"], "RR") == {"RR": 0.5}


def test_the_parent_may_be_a_field():
    items = [{"id": "c1", "metadata": {"doc_id": "d1"}}, {"id": "c2", "metadata": {"doc_id": "d2"}}]
    assert evaluated(ByParent(field="metadata.doc_id"), {"d2"}, items, "RR") == {"RR": 0.5}


def test_any_of_a_group_counts_once():
    """Two facts, each in two chunks: one chunk of each is all that is needed."""
    groups = Groups([["a1", "a2"], ["b1", "b2"]])
    relevant = {"a1", "a2", "b1", "b2"}
    assert evaluated(None, relevant, ["a2", "b1"], "R@5") == {"R@5": 0.5}
    assert evaluated(groups, relevant, ["a2", "b1"], "R@5, nDCG@5, AP") == {"R@5": 1, "nDCG@5": 1, "AP": 1}
    assert evaluated(groups, relevant, ["a2", "a1"], "R@5, P@2") == {"R@5": 0.5, "P@2": 0.5}


def test_groups_by_query_and_grades():
    groups = Groups({"q": [["a", "b"]], "p": [["a", "c"]]})
    assert groups.judgments({"q": {"a": 1, "b": 3, "c": 1}, "p": {"c": 2}, "r": {"b": 1}}) == {
        "q": {"a": 3, "c": 1},
        "p": {"a": 2},
        "r": {"b": 1},
    }
    assert groups.judged_ids("p", ["b", "c"], {}) == ["b", "a"]


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")
@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=12),
    st.sets(st.sampled_from("abcdefgh"), min_size=1),
    st.permutations("abcdefgh"),
)
def test_no_measure_leaves_its_range_however_groups_overlap_with_a_ranking(retrieved, relevant, order):
    groups = Groups([order[:3], order[3:5]])
    qrels, run = (
        groups.judgments({"q": dict.fromkeys(relevant, 1)}),
        {"q": groups.judged_ids("q", retrieved, {})},
    )
    for value in rl.evaluate(qrels, run, "R@5, nDCG@5, AP, P@5, RR").mean.values():
        assert 0 <= value <= 1


GOLD = {"g1": ("doc", 100, 200), "g2": ("doc", 300, 340), "g3": ("other", 0, 10)}
GRADES = {"g1": 1, "g2": 2, "g3": 1}


@pytest.mark.parametrize(
    ("ids", "options", "expected"),
    [
        (["doc:100-200"], {}, ["g1"]),
        (["doc:150-400"], {}, ["g2"]),  # half of g1 and all of g2: the higher grade
        (["doc:150-290"], {}, ["g1"]),  # exactly half
        (["doc:151-290"], {}, ["doc:151-290"]),
        (["other:100-200"], {}, ["other:100-200"]),
        (
            ["doc:0-1000", "doc:0-1000"],
            {},
            ["g2", "g2"],
        ),  # both at once, under the better one; then it repeats
        (["doc:100-130", "doc:170-200"], {}, ["doc:100-130", "g1"]),  # 30 and 30 of 100
        (["doc:100-130", "doc:110-140"], {}, ["doc:100-130", "doc:110-140"]),  # 40 of 100
        (["doc:100-150", "doc:150-200"], {"over": "union", "threshold": 0.9}, ["doc:100-150", "g1"]),
        (["doc:0-1000"], {"over": "union"}, ["doc:0-1000"]),  # 100 of 1,000
        (["doc:90-200"], {"over": "union", "threshold": 0.9}, ["g1"]),  # 100 of 110
        (["doc:80-200"], {"over": "union", "threshold": 0.9}, ["doc:80-200"]),  # 100 of 120
        (["<no-id-1>"], {}, ["<no-id-1>"]),
    ],
)
def test_spans_match_where_they_overlap_enough(ids, options, expected):
    assert Spans(GOLD, **options).judged_ids("q", ids, GRADES) == expected


def test_spans_through_a_benchmark():
    items = [
        {"metadata": {"source": "doc", "start": 0, "end": 120}},
        {"metadata": {"source": "doc", "start": 120, "end": 260}},
        {"metadata": {"source": "doc", "start": 120, "end": None}},
        {"metadata": {"source": "other", "start": 0, "end": 5}},
    ]
    match = Spans(GOLD, span_from=("metadata.source", "metadata.start", "metadata.end"))
    found = evaluated(match, {"g1": 1, "g3": 1}, items, "RR, R@4, P@4")
    assert found == {"RR": 0.5, "R@4": 1, "P@4": 0.5}
    by_name = Spans(span_from=lambda item: tuple(item["metadata"].values()))
    assert evaluated(by_name, {"doc:130-250", "other:0-10"}, items[:2] + items[3:], "R@4") == {"R@4": 1}


def test_judgments_that_name_spans_themselves():
    assert Spans().judged_ids("q", ["a:b:0-9"], {"a:b:1-8": 1}) == ["a:b:1-8"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (ByParent, "takes one of.*given nothing"),
        (lambda: ByParent({}, separator="#"), "given parent and separator"),
        (lambda: ByParent(separator=""), "takes one of"),
        (lambda: Groups(["abc"]), "'abc' is not a group"),
        (lambda: Groups([["a", "b"], ["b", "c"]]), "'b' is in two groups"),
        (lambda: Groups({"q": [["a"], ["a"]]}), "'a' of query 'q' is in two groups"),
        (lambda: Spans(threshold=0), "threshold=0 is not allowed"),
        (lambda: Spans(over="gold span"), "did you mean 'gold'"),
        (lambda: Spans({"g": ("d", 5, 5)}), "the end must come after the start"),
        (lambda: Spans({"g": "d:1-2"}), "is not a span"),
        (lambda: Spans(span_from=("a", "b")), "pass the paths of document, start and end"),
        (
            lambda: Spans({}).judged_ids("q", [], {"g": 1}),
            "'g' of query 'q' has no span: gold does not have it",
        ),
        (lambda: Spans().judged_ids("q", [], {"g": 1}), "is not written 'document:start-end'"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_two_places_for_the_id_are_refused():
    bench = rl.Benchmark(qrels={"q": {"a"}})
    with pytest.raises(InputError, match="id_from and match=ByField both say"):
        bench.run("mine", lambda text: [], id_from="id", match=ByField("file"))
    with pytest.raises(InputError, match="match=5 is not allowed"):
        bench.run("mine", lambda text: [], match=5)


def test_how_ids_are_read_is_part_of_what_a_store_remembers():
    described = [
        Reading(5, match.id_from).describe()
        for match in (
            ById(),
            ByField("a"),
            Spans(span_from=("a", "b", "c")),
            Spans(span_from=("a", "b", "d")),
        )
    ]
    assert described[0] == {}
    assert len({str(one) for one in described}) == 4


def test_chunks_of_judged_documents_are_recognised():
    bench = rl.Benchmark({"q1": "why?", "q2": "how?"}, {"q1": {"doc-1"}, "q2": {"doc-2"}})
    bench.run("chunks", lambda text: [f"doc-{i}#{i}" for i in range(3)], k=5)
    with pytest.warns(
        rl.RankLensWarning, match=r"the part before '#' is: .*match=ByParent\(separator=\"#\"\)"
    ):
        bench.evaluate("RR")
    bench.run("chunks", lambda text: [f"doc-{i}#{i}" for i in range(3)], k=5, match=ByParent(separator="#"))
    assert bench.cautions("RR") == []
    bench.run("chunks", lambda text: ["something-else"], k=5)
    assert bench.cautions("RR") == []


def test_judgments_that_know_more_stay_what_they_are():
    chunks = {"q": ["a#2", "x#1", "b#7"]}
    by_parent = ByParent(separator="#")
    topics = {"q": {"s1": {"a": 1}, "s2": {"b": 1}}}
    whole = {"q": ["a", "x", "b"]}
    measures = ["alpha_nDCG@3", "StRecall@1", "nDCG@3"]
    assert (
        rl.evaluate(topics, chunks, measures, match=by_parent).mean
        == rl.evaluate(topics, whole, measures).mean
    )
    together = {"q": [{"a", "b"}]}
    assert rl.evaluate(together, chunks, "AllRecall@2", match=by_parent).mean == {"AllRecall@2": 0.0}
    assert rl.evaluate(together, chunks, "AllRecall@3", match=by_parent).mean == {"AllRecall@3": 1.0}
    junk = rl.Judgments({"q": {"b": 1}}, junk={"q": {"a"}})
    assert rl.evaluate(junk, chunks, "RR", match=by_parent).mean == {"RR": 0.5}


def test_matchings_that_rename_documents_refuse_judgments_that_know_more():
    groups = Groups([["a", "b"]])
    with pytest.raises(rl.InputError, match="match=Groups gives documents other names"):
        rl.evaluate({"q": {"s": {"a": 1, "b": 1}}}, {"q": ["a"]}, "StRecall@1", match=groups)


@pytest.mark.parametrize(("gold", "run"), [("d:100-0", "d:0-50"), ("d:0-100", "d:50-50")])
def test_a_span_that_ends_before_it_starts_is_refused(gold, run):
    with pytest.raises(rl.InputError, match="the end must come after the start"):
        rl.evaluate({"q": {gold: 1}}, {"q": [run]}, "RR", match=Spans())


def test_a_run_of_bare_ids_is_not_matched_by_text():
    """As a fused run has none: every value would be 0, and a comparison would prefer the other system."""
    gold, run = {"q": {"within ten days": 1}}, {"q": ["c1", "c2"]}
    with pytest.raises(rl.InputError, match="have no texts, only ids such as 'c1'"):
        rl.evaluate(gold, run, "RR", match="text")
    assert rl.evaluate(gold, {"q": ["Paid within ten days."]}, "RR", match="text").mean["RR"] == 1
