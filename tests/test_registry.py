import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import NOT

import ranklens as rl
from ranklens import metrics as registry
from ranklens.metrics import formulas, measure, parse, parse_many, unregister

SPELLINGS = {
    "ndcg@10": "nDCG@10", "ndcg_at_10": "nDCG@10", "ndcg_cut_10": "nDCG@10", "NDCG@10": "nDCG@10", "nDCG @ 10": "nDCG@10",
    "MAP": "AP", "map": "AP", "map_cut_10": "AP@10", "MRR@10": "RR@10", "recip_rank": "RR", "hit@5": "Success@5",
    "hit_rate@5": "Success@5", "Success@5": "Success@5", "success_5": "Success@5", "precision@5": "P@5", "P_5": "P@5",
    "recall@5": "R@5", "recall_5": "R@5", "f1@5": "F@5", "P(rel=2)@5": "P(rel=2)@5", "RBP(p=0.8)": "RBP", "RBP(p=.5)": "RBP(p=0.5)",
    "nDCG(gain=exp)@10": "nDCG(gain=exp)@10", "AP(rel=1)": "AP", "AP( rel = 2.0 )": "AP(rel=2)", "R(cap=true)@5": "R(cap=true)@5",
    "R_cap@5": "R(cap=true)@5", "relative_P_5": "R(cap=true)@5", "iprec_at_recall_0.10": "IPrec@0.1", "IPrec@.25": "IPrec@0.25",
    "Rprec_mult_0.20": "Rprec_mult@0.2", "set_F": "SetF", "gm_map": "gm_AP", "bpref": "Bpref", "num_rel_ret": "NumRelRet",
    "11pt_avg": "AP11", "unj_20": "Unjudged@20", "rbp_resid": "RBPres(p=0.9)", "nDCG(judged_only=True)@5": "nDCG(judged_only=true)@5",
    "nDCG(dcg='exp-log2')@10": "nDCG(gain=exp)@10", "nDCG(dcg=log2)@10": "nDCG@10", "SetP(relative=True)": "SetRelP", "NumRet(rel=1)": "NumRelRet",
    "NumRet(rel=2)": "NumRelRet(rel=2)", "ndcg_burges@10": "nDCG(gain=exp)@10", "dcg_burges": "DCG(gain=exp)", "map@10-l2": "AP(rel=2)@10",
    "P.5": "P@5", "ndcg@10-l2": "nDCG(gains={1: 0})@10", "dcg_burges-l3": "DCG(gain=exp, gains={1: 0, 2: 0})", "ndcg-l1": "nDCG", "nDCG(gains={})": "nDCG", "ndcg_cut.10": "nDCG@10", "set_F_0.5": "SetF(beta=0.5)", "set_F.0.5": "SetF(beta=0.5)", "iprec_at_recall.0.10": "IPrec@0.1",
    "MSnDCG@10": "nDCG(discount=ms)@10", "Q-measure": "Q", "O-measure": "O", "P-plus": "P_plus", "U-IA": "IA(UMeasure)", "HR@5": "Success@5", "R-Prec": "Rprec",
    "mean_average_precision": "AP", "nDCG(cutoff=7)": "nDCG@7",
    "RBP": "RBP", "rbp": "RBP(p=0.9, gain=linear, scale=query)", "rbp.95": "RBP(p=0.95, gain=raw)", "hits@5": "HitCount@5",
    "nDCG(gains={1: 3, 2:9.0})@5": "nDCG(gains={1: 3, 2: 9})@5", "P+": "P_plus", "ndcg10": "nDCG@10", "recall5": "R@5", 'P(over="retrieved")@3': "P(over=retrieved)@3",
}  # fmt: skip


@pytest.mark.parametrize(("given", "canonical"), SPELLINGS.items())
def test_spellings_print_canonically(given, canonical):
    assert str(rl.measure(given)) == canonical


@pytest.mark.parametrize("name", [*NOT, *SPELLINGS])
def test_names_round_trip(name):
    parsed = rl.measure(name)
    assert rl.measure(str(parsed)) == parsed
    assert hash(rl.measure(str(parsed))) == hash(parsed)


@given(
    k=st.integers(1, 10**6),
    rel=st.one_of(st.integers(1, 9), st.floats(0.001, 1000)),
    p=st.floats(0.001, 0.999),
)
def test_parameters_round_trip(k, rel, p):
    for parsed in (
        rl.measure("P") @ k,
        rl.measure("P").replace(rel=rel) @ k,
        rl.measure("RBP").replace(p=p, rel=rel),
    ):
        assert rl.measure(str(parsed)) == parsed


WRONG = {
    "nDGC@10": "did you mean 'nDCG'",
    "precison@5": "did you mean 'precision'",
    "nonsense": "There is no measure 'nonsense'",
    "P@0": "k='0' is not allowed; k is a whole number from 1",
    "P@-3": "is not allowed",
    "P@2.5": "k is a whole number",
    "P@ten": "k is a whole number",
    "P(rel=0)@5": "rel is a number above 0",
    "P(rell=2)@5": "did you mean 'rel'",
    "P(2)@5": "write name=value",
    "P(over=all)@5": "over is one of k, retrieved",
    "RBP(p=1)": "p is a number above 0 and below 1",
    "RBP(p=nan)": "is not allowed",
    "IPrec": "IPrec needs recall",
    "IPrec@1.5": "recall is a number from 0 to 1",
    "NumQ@5": "takes no @",
    "nDCG(gains=7)@5": "a table such as {1: 3, 2: 9}",
    "R(cap=maybe)@5": "true or false",
    "Accuracy": "means different measures in different tools: write Success@k",
    "ERR@10-l2": "ERR has no parameter 'rel'",
    "P@5@6": "is not the name of a measure",
    "": "is not the name of a measure",
}


@pytest.mark.parametrize(("given", "message"), WRONG.items())
def test_wrong_names_get_one_clear_error(given, message):
    with pytest.raises(rl.MeasureError) as error:
        rl.measure(given)
    assert message in str(error.value)


def test_wrong_types_get_one_clear_error():
    with pytest.raises(rl.MeasureError, match="Expected the name of a measure"):
        rl.measure(5)
    with pytest.raises(rl.MeasureError, match="not None"):
        rl.evaluate({"q": {"a"}}, {"q": ["a"]}, None)
    with pytest.raises(rl.MeasureError, match="not 5"):
        rl.evaluate({"q": {"a"}}, {"q": ["a"]}, ["RR", 5])
    with pytest.raises(rl.MeasureError, match="k is a whole number from 1"):
        rl.measure(f"P@{10**22}")
    with pytest.raises(rl.MeasureError, match="did you mean 'rag'"):
        rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "ragg")
    with pytest.raises(rl.MeasureError, match="No measures given"):
        rl.evaluate({"q": {"a"}}, {"q": ["a"]}, [])


def test_presets():
    assert list(map(str, rl.preset("rag"))) == ["R@5", "P@5", "RR"]
    assert list(map(str, rl.preset("fact-check"))) == ["Success@3", "RR"]
    assert len(rl.preset("beir")) == 24
    assert list(map(str, rl.preset("trec")))[:5] == ["NumQ", "NumRet", "NumRel", "NumRelRet", "AP"]
    assert len(rl.preset("trec")) == 29
    with pytest.raises(rl.MeasureError, match="did you mean 'rag'"):
        rl.preset("rug")


def test_measures_come_as_strings_presets_and_objects():
    wanted = registry.parse_many(["rag", rl.measure("AP"), "nDCG@10, nDCG(gains={1: 2, 2: 4})@5 RR"])
    assert list(map(str, wanted)) == ["R@5", "P@5", "RR", "AP", "nDCG@10", "nDCG(gains={1: 2, 2: 4})@5"]


def test_a_user_defined_measure_works_everywhere():
    @measure("FirstRank", "first_rank", high=float("inf"))
    def first_rank(judged, *, rel: float = 1, k: int | None = None):
        """The rank of the first relevant document; 0 if there is none."""
        hits = judged.relevant(rel).top(k)
        return hits.sum(hits.first() * hits.rank)

    try:
        scores = rl.evaluate(
            {"q": {"b": 2, "c": 1}}, {"q": ["a", "c", "b"]}, ["first_rank", "FirstRank(rel=2)@5"]
        )
        assert scores.mean == {"FirstRank": 2, "FirstRank(rel=2)@5": 3}
        assert rl.measure("FirstRank") in rl.measures()
        assert rl.measure("FirstRank").definition.description.startswith("The rank of the first")
        with pytest.raises(rl.MeasureError, match="taken by the measure FirstRank"):
            measure("first_rank")(first_rank)
    finally:
        unregister("FirstRank")
    with pytest.raises(rl.MeasureError):
        rl.measure("FirstRank")


def test_parameters_of_a_measure_must_be_keyword_only():
    with pytest.raises(rl.MeasureError, match="keyword-only"):

        @measure("Wrong")
        def wrong(judged, k=None): ...


def test_measures_come_through_an_entry_point(monkeypatch):
    """What a plug-in's ``[project.entry-points."ranklens.measures"]`` leads to."""
    import importlib.metadata

    class Point:
        def load(self):
            @measure("FromPlugin")
            def from_plugin(judged):
                """Always 1."""
                return judged.retrieved * 0 + 1.0

    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: [Point()] if group == "ranklens.measures" else []
    )
    registry.catalog.load_plugins.cache_clear()
    try:
        assert rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "FromPlugin").mean == {"FromPlugin": 1}
    finally:
        unregister("FromPlugin")


def test_every_measure_is_described():
    for m in rl.measures():
        assert len(m.definition.description) > 20, m
        assert m.definition.family


def test_numbers_after_a_comma_belong_to_the_name_before_as_in_trec_eval():
    found = registry.parse_many("ndcg_cut.5,10,map P.5,10,15,iprec_at_recall.0.1,0.2")
    assert [str(m) for m in found] == [
        "nDCG@5",
        "nDCG@10",
        "AP",
        "P@5",
        "P@10",
        "P@15",
        "IPrec@0.1",
        "IPrec@0.2",
    ]
    for wrong in ("10", "map,10", "nDCG@5,10"):
        with pytest.raises(rl.MeasureError, match="There is no measure '10'"):
            registry.parse_many(wrong)


def test_the_spelling_asked_for_is_kept_and_makes_no_difference():
    asked = rl.measure(" hit@5 ")
    assert (asked.shown, str(asked), repr(asked)) == ("hit@5", "Success@5", "measure('Success@5')")
    assert asked == rl.measure("Success@5")
    assert hash(asked) == hash(rl.measure("Success@5"))
    assert rl.measure(str(asked)) == asked
    assert rl.measure(str(asked)).asked == ""
    assert asked.replace(k=3).shown == "Success@3"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("context_precision", "P@5, or AP"), ("ContextRecall", "R@5"), ("contextual_relevancy", "P@5"), ("llm_context_recall@5", "R@5")],
)  # fmt: skip
def test_measures_of_contexts_have_a_nearest(name, nearest):
    with pytest.raises(rl.MeasureError, match=f"The nearest is {nearest}"):
        rl.measure(name)


@pytest.mark.parametrize("name", ["faithfulness", "answer_relevancy", "AnswerCorrectness", "Hallucination"])
def test_measures_of_answers_are_refused_with_the_reason(name):
    with pytest.raises(rl.MeasureError, match="RankLens measures retrieval, not generated answers"):
        rl.measure(name)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("sDCG", "judge_sessions"),
        ("nsDCG@10", "judge_sessions"),
        ("sRBP", "judge_sessions"),
        ("URisk", r"stats\.urisk"),
        ("GeoRisk", r"stats\.georisk"),
        ("Coverage@10", r"recommend\.evaluate"),
        ("GAUC", r"recommend\.evaluate"),
        ("rsum", "both directions"),
    ],
)
def test_names_of_what_is_no_value_per_query_say_where_it_is(name, where):
    with pytest.raises(rl.MeasureError, match=where):
        rl.measure(name)


def test_what_differs_in_case_alone_is_not_mixed_up():
    assert str(rl.measure("SDCG")) == "SDCG"
    assert str(rl.measure("sdcg")) == "SDCG"


def headings():
    """The headings of the measures' page as a reader copies them, with a number for what stands behind the @."""
    page = (Path(__file__).parents[1] / "docs" / "measures.md").read_text(encoding="utf-8")
    page = page.replace("IA(of=…)", "IA(of=AP)").replace("HT(of=…)", "HT(of=P)")
    copied = [line.removeprefix("### ").strip("`") for line in page.splitlines() if line.startswith("### `")]
    numbers = {"@k": "@10", "@recall": "@0.5", "@x": "@0.5"}
    return [re.sub(r"@\w+$", lambda at: numbers[at[0]], one) for one in copied if not one.startswith(".")]


@pytest.mark.parametrize("heading", headings())
def test_headings_of_the_documentation_are_names_in_any_case(heading):
    written = rl.measure(heading)
    name, bracket, rest = heading.partition("(")
    shouted = re.sub(r"(\w+)(?==)", lambda key: key[0].upper(), rest)
    assert rl.measure(name + bracket + shouted) == written


def test_the_page_shows_no_internals_of_python():
    page = (Path(__file__).parents[1] / "docs" / "measures.md").read_text(encoding="utf-8")
    assert not re.findall(r"_empty|<class|<function|inspect\.|None", page)
    assert "### `IA(of=…)`" in page.splitlines()


def choices():
    """Each value of a parameter that is one of a few words."""
    known = [d for d in registry.definitions().values() if not d.is_foreign]
    each = [(d, p, one) for d in known for p in d.parameters.values() for one in p.choices or ()]
    return [f"{d.name}({'recall=0.5, ' * (d.name == 'IPrec')}{p.name}={one})" for d, p, one in each]


@pytest.mark.parametrize("written", choices())
def test_values_of_parameters_are_known_in_any_case(written):
    name, equals, value = written.rpartition("=")
    exact = rl.measure(written)
    for other in (value.upper(), value.lower(), value.swapcase()):
        assert rl.measure(name + equals + other) == exact


@pytest.mark.parametrize("written", ["nDCG(GAIN=Exp)@10", "ndcg(Gain='EXP')@10"])
def test_capitals_of_parameters_do_not_matter(written):
    assert str(rl.measure(written)) == "nDCG(gain=exp)@10"


def test_measures_of_ir_measures_are_taken_as_they_are():
    irm = pytest.importorskip("ir_measures")
    given = [irm.nDCG @ 10, irm.P(rel=2) @ 5, irm.nDCG(dcg="exp-log2") @ 5, irm.AP]
    assert [str(one) for one in parse_many(given)] == ["nDCG@10", "P(rel=2)@5", "nDCG(gain=exp)@5", "AP"]
    assert parse_many(irm.nDCG @ 10) == parse_many("nDCG@10")
    assert parse(irm.nDCG @ 10) == parse("nDCG@10")  # where one measure is asked for, as in rl.explain


def test_levels_of_ranx_drop_the_grades_below():
    """As ranx does: judgments below the level are removed, others keep their grades."""
    qrels = {"q": {"a": 3, "b": 1, "c": 2}}
    run = {"q": ["b", "x", "a", "c"]}
    above = {"q": {"a": 3, "c": 2}}
    for name in ("ndcg@10", "ndcg_burges@3", "dcg"):
        leveled, plain = rl.evaluate(qrels, run, f"{name}-l2").mean, rl.evaluate(above, run, name).mean
        assert [*leveled.values()] == pytest.approx([*plain.values()])


def test_every_family_is_listed():
    modules = {
        path.stem: path.read_text(encoding="utf-8") for path in Path(formulas.__file__).parent.glob("*.py")
    }
    families = [name for name, text in modules.items() if "\nTITLE = " in text]
    assert sorted(families) == sorted([*formulas.FAMILIES, *formulas.ON_DEMAND])
    assert all("\nWHEN = " in modules[name] for name in families)
