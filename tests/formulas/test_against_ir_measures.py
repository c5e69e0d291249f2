"""Oracle: ir_measures, with its providers pytrec_eval, judged, gdeval (Perl) and cwl_eval."""

import math
import random
import shutil

import ir_measures
import pytest

import ranklens as rl

# It reads its measures by names of the module ast that newer Pythons are about to drop.
pytestmark = pytest.mark.filterwarnings(r"ignore:(ast\.|Attribute ).* is deprecated:DeprecationWarning")


def collection(seed, queries=30, grades=(0, 0, 1, 2, 3, 4)):
    """Distinct scores, so that the providers' different tie rules do not matter; numeric topics for gdeval."""
    rnd = random.Random(seed)
    docs = [f"d{i}" for i in range(80)]
    qrels = {str(q): {d: rnd.choice(grades) for d in rnd.sample(docs, 40)} for q in range(1, queries + 1)}
    run = {q: {d: rnd.random() for d in rnd.sample(docs, 50)} for q in qrels}
    run["1"] = dict(list(run["1"].items())[:3])
    return qrels, run


def compare(names, qrels, run, tolerance=1e-9):
    """``names``: our spelling → theirs.

    One call per measure: asked together, ir_measures 0.4 may compute a plain nDCG with the gains of another,
    because it puts it into whichever group comes first in a set.
    """
    theirs = {name: ir_measures.parse_measure(other) for name, other in names.items()}
    expected = {
        (value.query_id, value.measure): value.value
        for measure in theirs.values()
        for value in ir_measures.iter_calc([measure], qrels, run)
    }
    scores = rl.evaluate(qrels, run, list(names))
    for name, measure in theirs.items():
        for query, value in zip(scores.queries, scores[name], strict=True):
            assert value == pytest.approx(expected[query, measure], abs=tolerance), (name, query)


def same(*names):
    return {name: name for name in names}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_names_that_both_have(seed):
    names = same(
        "AP", "AP@10", "AP(rel=2)", "Bpref", "Bpref(rel=3)", "infAP", "IPrec@0.0", "Judged@5", "Judged@10", "Judged",
        "nDCG", "nDCG@10", "nDCG(judged_only=True)@10", "P@5", "P(rel=2)@5", "P(judged_only=True)@10", "R@20", "R(rel=4)@10",
        "Rprec", "Rprec(rel=2)", "RR", "RR(rel=3)", "SetP", "SetR", "SetF", "SetF(beta=0.5)", "SetF(beta=3.0)", "SetAP", "SetRelP",
        "Success@1", "Success(rel=3)@5",
    )  # fmt: skip
    names["nDCG(gains={1: 3, 2: 9})@10"] = "nDCG(gains={0:0,1:3,2:9,3:3,4:4})@10"
    compare(names, *collection(seed))


@pytest.mark.skipif(
    shutil.which("perl") is None, reason="ir_measures runs gdeval with perl, which is not installed"
)
@pytest.mark.parametrize("seed", [1, 2])
def test_gdeval(seed):
    """ERR with maximum grade 4 and exponential nDCG; gdeval prints five decimals."""
    names = {f"ERR(max_grade=4)@{k}": f"ERR@{k}" for k in (1, 5, 20)}
    names |= {f"nDCG(gain=exp)@{k}": f"nDCG(dcg='exp-log2')@{k}" for k in (1, 5, 20)}
    compare(names, *collection(seed), tolerance=6e-6)


def test_rbp_of_cwl_eval():
    pytest.importorskip("cwl", reason="cwl-eval is not installed; scripts/test --all installs it")
    names = {f"RBP(p={p}, rel={rel})": f"RBP(p={p}, rel={rel})" for p in (0.5, 0.8, 0.95) for rel in (1, 3)}
    compare(names, *collection(5), tolerance=1e-6)


def test_rbp_by_hand():
    """Relevant at ranks 1 and 3, p = 0.5: 0.5 (1 + 0.25); grades 4 and 2 of 4: 0.5 (1 + 0.5 · 0.25)."""
    qrels, run = {"q": {"a": 4, "b": 2}}, {"q": ["a", "x", "b", "y"]}
    scores = rl.evaluate(
        qrels, run, ["RBP(p=0.5)", "RBP(p=0.5, gain=linear)", "RBPres(p=0.5)", "RBPres(p=0.5, tail=always)"]
    )
    residual = 1 - 0.5 * (1 + 0.25)
    assert list(scores.mean.values()) == pytest.approx([0.625, 0.5625, residual, residual])
    judged = rl.evaluate(qrels, {"q": ["a", "b"]}, ["RBPres(p=0.5)", "RBPres(p=0.5, tail=always)"])
    assert list(judged.mean.values()) == pytest.approx([0, 0.25])


def test_err_by_hand():
    """Grades 3, 2 of 4: (7/16) / 1 + (9/16) (3/16) / 2; the ideal is the same."""
    scores = rl.evaluate(
        {"q": {"a": 3, "b": 2}}, {"q": ["a", "b"]}, ["ERR(max_grade=4)", "nERR(max_grade=4)", "ERR"]
    )
    assert scores.mean["ERR(max_grade=4)"] == pytest.approx(7 / 16 + 9 / 16 * 3 / 16 / 2)
    assert scores.mean["nERR(max_grade=4)"] == 1
    assert scores.mean["ERR"] == pytest.approx(7 / 8 + 1 / 8 * 3 / 8 / 2)  # the judgments' highest grade is 3


def test_geometric_means_by_hand():
    scores = rl.evaluate({"a": {"x"}, "b": {"x"}}, {"a": ["x"], "b": ["y", "x"]}, ["gm_AP", "gm_Bpref"])
    assert scores.mean["gm_AP"] == pytest.approx(math.sqrt(0.5))
    empty = rl.evaluate({"a": {"x"}, "b": {"x"}}, {"a": ["x"], "b": ["y"]}, ["gm_AP"])
    assert empty.mean["gm_AP"] == pytest.approx(math.sqrt(1e-5))


def test_compatibility():
    """With positive scores: ir_measures ranks a document that was not retrieved as if its score were 0. It orders ties by ascending id."""
    import random

    rng, qrels, run = random.Random(5), {}, {}
    for q in range(60):
        docs = [f"d{i}" for i in range(30)]
        qrels[f"q{q}"] = {doc: rng.choice([0, 0, 1, 2, 3]) for doc in rng.sample(docs, rng.randint(1, 20))}
        run[f"q{q}"] = {doc: float(rng.randint(1, 9)) for doc in rng.sample(docs, rng.randint(1, 25))}
    for name in ("Compat", "Compat(p=0.8, normalize=false)"):
        theirs_measure = ir_measures.parse_measure(name.replace("false", "False"))
        theirs = {m.query_id: m.value for m in ir_measures.iter_calc([theirs_measure], qrels, run)}
        scores = rl.evaluate(qrels, run, name, ties="ascending")
        ours = dict(zip(scores.queries, scores[name].tolist(), strict=True))
        assert ours == pytest.approx(theirs, abs=1e-9)
