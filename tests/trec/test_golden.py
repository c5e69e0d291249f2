"""Against the output of trec_eval 10.0 on a synthetic collection (see golden/README.md)."""

from collections import defaultdict
from pathlib import Path

import pytest

import ranklens as rl

GOLDEN = Path(__file__).parents[1] / "golden"
FLAGS = {
    "trec_eval10.c.txt": {},
    "trec_eval10.c.l2.txt": {"rel": 2},
    "trec_eval10.c.M10.txt": {"depth": 10},
    "trec_eval10.c.J.txt": {"judged_only": True},
}
# -m iprec_at_recall..10,… and so on: how our names spell what the parameters in trec_eval10.params.args ask for
PARAMETERS = {
    "utility_2,-1,0,0": "utility(a=2, b=-1)",
    "ndcg_1=3,2=9,4=4.5": "nDCG(gains={1: 3, 2: 9, 4: 4.5})",
    "set_F_0.5": "SetF(beta=0.5)",
}


def read_table(name, number):
    table = defaultdict(dict)
    for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines():
        fields = line.split()
        table[fields[0]][fields[2]] = float(fields[number])
    return table


def golden(name):
    """``{measure: {query or "all": text}}``"""
    table = defaultdict(dict)
    for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines():
        measure, query, value = line.split("\t")
        table[measure.strip()][query] = value
    table.pop("runid", None)
    return table


@pytest.fixture(scope="module")
def collection():
    return read_table("qrels.txt", 3), read_table("run.txt", 4)


def shown(value, like):
    if isinstance(value, str):
        return f"'{value}'"
    return f"{value:.4f}" if "." in like else f"{value:.0f}"


def differences(collection, expected, names, **policy):
    """What differs from trec_eval's text, at its four decimals."""
    scores = rl.evaluate(*collection, list(names.values()), **policy)
    rel = policy.get("rel", 1)
    found = []
    for measure, values in expected.items():
        parsed = rl.measure(names[measure])
        if rel != 1 and "rel" in parsed.definition.parameters:
            parsed = parsed.replace(rel=rel)
        ours = dict(zip(scores.queries, scores[parsed].tolist(), strict=True))
        if parsed.definition.aggregate != "none":
            ours["all"] = scores.mean[str(parsed)]
        found += [
            (measure, q, text, shown(ours[q], text))
            for q, text in values.items()
            if shown(ours[q], text) != text
        ]
    return found


@pytest.mark.parametrize("name", FLAGS)
def test_all_trec(collection, name):
    expected = golden(name)
    assert len(expected) > 90
    found = differences(collection, expected, {m: m for m in expected}, **FLAGS[name])
    # trec_eval divides 0 by 0 where -J leaves nothing retrieved; RankLens has no NaN.
    found = [row for row in found if row[2].strip() != "-nan"]
    if name == "trec_eval10.c.l2.txt":
        # trec_eval's total of num_rel ignores -l; ours is the sum of the values that both print by query.
        assert found == [("num_rel", "all", "596", "308")]
    else:
        assert found == []


def test_parameters(collection):
    expected = golden("trec_eval10.params.txt")
    average = expected.pop("11pt_avg_.25,.5,.75")
    names = {m: PARAMETERS.get(m, m) for m in expected}
    assert len(expected) > 15
    found = differences(collection, expected, names)
    # With these arguments, but not with all_trec above, trec_eval 10.0 takes the query that the run lacks for one with
    # a single unjudged document.
    assert [row[:3] for row in found] == [
        ("relstring_20", "q6", "'-'"),
        ("utility_2,-1,0,0", "q6", "-1.0000"),
        ("utility_2,-1,0,0", "all", "-46.2188"),
    ]
    # 11pt_avg..25,.5,.75 is the mean of the interpolated precision at these three levels
    scores = rl.evaluate(*collection, ["IPrec@0.25", "IPrec@0.5", "IPrec@0.75"])
    three = sum(scores[m] for m in ("IPrec@0.25", "IPrec@0.5", "IPrec@0.75")) / 3
    assert {q: f"{v:.4f}" for q, v in zip(scores.queries, three, strict=True)} == {
        q: text for q, text in average.items() if q != "all"
    }
