"""Questions that got nothing back, rightly or wrongly: counts, intervals, the curve of thresholds, and rules."""

import json
import random

import polars as pl
import pytest
from command_line import run
from scipy.stats import binomtest

import ranklens as rl
from ranklens.guard.rules import Rule


def some(seed, n=40):
    """A golden set with unanswerable questions, and a log with scores on a coarse scale, so that some tie."""
    draw = random.Random(seed)
    golden, log = [], []
    for number in range(n):
        query, answerable = f"q{number}", draw.random() < 0.6
        golden.append({"id": query, "question": f"Q{number}?", "expected": ["a"] if answerable else []})
        docs = draw.sample(["a", "b", "c", "d"], draw.choice([0, 2, 3]))
        scores = sorted((draw.randint(1, 9) + 3 * answerable for _ in docs), reverse=True)
        row = {"id": query, "retrieved": [{"id": d, "score": s} for d, s in zip(docs, scores, strict=True)]}
        log.append({"id": query, "error": "down"} if draw.random() < 0.1 else row)
    return golden, log


def by_hand(golden, log, measure, below):
    """Coverage, risk and both shares, question by question."""
    expected = {row["id"]: row["expected"] for row in golden}
    rows = [row for row in log if "error" not in row]
    silent = {
        row["id"]
        for row in rows
        if not row["retrieved"] or (below is not None and max(d["score"] for d in row["retrieved"]) < below)
    }
    values = rl.evaluate(golden, log, measure)
    value = dict(zip(values.queries, values[measure], strict=True))
    answered = [row["id"] for row in rows if row["id"] not in silent]
    losses = [1 - value[query] if expected[query] else 1 for query in answered]
    none = [row["id"] for row in rows if not expected[row["id"]]]
    others = [row["id"] for row in rows if expected[row["id"]]]
    return (
        len(answered) / len(rows),
        sum(losses) / len(losses) if losses else None,
        sum(query in silent for query in none) / len(none),
        sum(query in silent for query in others) / len(others),
    )


@pytest.mark.parametrize("seed", range(8))
def test_every_threshold_by_hand(seed):
    golden, log = some(seed)
    found = rl.evaluate(golden, log, "mrr").abstentions()
    curve = found.curve()
    assert curve["threshold"][0] is None
    assert curve["threshold"][1:].is_sorted()
    for threshold, answered, *numbers in curve.iter_rows():
        assert numbers == pytest.approx(by_hand(golden, log, "mrr", threshold))
        assert answered == round(numbers[0] * len(found.answers))
        # The share that an evaluation counts.
        scores = rl.evaluate(golden, log, "mrr", abstain_below=threshold)
        assert numbers[2] == scores.abstention == scores.abstentions().unanswerable.share
        assert numbers[3] == scores.abstentions().answerable.share
    # Every threshold in between does what the next one does.
    tried = [(a + b) / 2 for a, b in zip(curve["threshold"][1:], curve["threshold"][2:], strict=False)]
    for threshold, row in zip(tried, curve.rows()[2:], strict=True):
        assert row[2:] == pytest.approx(by_hand(golden, log, "mrr", threshold))


def test_the_shares_are_a_roc_curve():
    sklearn = pytest.importorskip("sklearn.metrics")
    golden, log = some(3, 80)
    log = [row for row in log if row.get("retrieved")]
    unanswerable = {row["id"]: not row["expected"] for row in golden}
    tops = [-max(d["score"] for d in row["retrieved"]) for row in log]
    wrong, right, _ = sklearn.roc_curve(
        [unanswerable[row["id"]] for row in log], tops, drop_intermediate=False
    )
    curve = rl.evaluate(golden, log, "hit@1", missing="skip").abstentions().curve()
    assert curve["abstained"].to_list() == pytest.approx(right[:-1])  # the last leaves everything out
    assert curve["false_abstentions"].to_list() == pytest.approx(wrong[:-1])


GOLDEN = [{"id": f"q{i}", "expected": ["a"] if i < 60 else []} for i in range(80)]


def log_of(nothing):
    """A log in which these questions got nothing back."""
    return [
        {"id": row["id"], "retrieved": [] if row["id"] in nothing else [{"id": "a", "score": 0.5}]}
        for row in GOLDEN
    ]


NOTHING = {"q3", "q4", *(f"q{i}" for i in range(65, 80))}


def test_intervals_are_wilsons():
    found = rl.evaluate(GOLDEN, log_of({*NOTHING, "q5", "q6"}), "hit@1").abstentions()
    for side, hits, n in ((found.unanswerable, 15, 20), (found.answerable, 4, 60)):
        assert (len(side.nothing), len(side.queries), side.share) == (hits, n, hits / n)
        expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
        around = side.interval()
        assert around.method == "wilson"
        assert (around.low, around.high) == pytest.approx((expected.low, expected.high))
    row = found.to_frame().row(1, named=True)
    assert (row["questions"], row["asked"], row["nothing"], row["share"]) == ("answerable", 60, 4, 4 / 60)


def test_runs_of_any_kind():
    golden = [{"id": "q1", "expected": ["a"]}, {"id": "q2", "expected": []}, {"id": "q3", "expected": []}]
    scored = {"q1": {"a": 0.9, "b": 0.2}, "q2": {"a": 0.1}, "q3": {}}
    rows = pl.DataFrame(
        [("q1", "b", 0.2), ("q1", "a", 0.9), ("q2", "a", 0.1)], ["query", "doc", "score"], orient="row"
    )

    def counts(ranked):
        found = rl.evaluate(golden, ranked, "hit@1").abstentions(below=0.5)
        return found.unanswerable.nothing, found.answerable.nothing, found.unasked

    assert counts(scored) == (("q2", "q3"), (), 0)
    assert counts({query: [*docs.items()] for query, docs in scored.items()}) == (("q2", "q3"), (), 0)
    assert counts({query: [*docs] for query, docs in scored.items()}) == (("q3",), (), 0)  # without scores
    assert counts(rows) == (("q2",), (), 1)  # a table does not say that nothing was retrieved


def test_a_threshold_for_an_allowed_share():
    golden = [{"id": f"q{i}", "expected": ["a"]} for i in range(4)] + [{"id": "none", "expected": []}]
    log = [{"id": f"q{i}", "retrieved": [{"id": "a", "score": i / 10}]} for i in range(4)]
    log.append({"id": "none", "retrieved": [{"id": "a", "score": 0.15}]})
    found = rl.evaluate(golden, log, "hit@1").abstentions()
    assert found.threshold(false_abstentions=0.25) == 0.1
    assert found.threshold(false_abstentions=0.5) == 0.2
    assert found.threshold(false_abstentions=0) is None
    assert "false abstentions" in str(found)


def test_what_cannot_be_counted():
    scores = rl.evaluate(GOLDEN, log_of(NOTHING), "hit@1")
    for measure in ("NumRet", "relstring_10"):
        with pytest.raises(rl.MeasureError, match="not between 0 and 1"):
            scores.abstentions(measure).curve()
        assert str(scores.abstentions(measure)) == str(scores.abstentions().table())
    plain = rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "hit@1")
    assert plain.abstentions().unanswerable.interval() is None
    assert plain.abstentions().to_frame()["share"].to_list() == [None, 0.0]
    with pytest.raises(rl.InputError, match="has no scores"):
        plain.abstentions().curve()
    with pytest.raises(rl.InputError, match="do not know the rankings"):
        rl.Scores.from_json(scores.to_json()).abstentions()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("abstained>=0.8", "abstained >= 80%"),
        ("false_abstentions <= 5% @ 95%", "false_abstentions <= 5% @ 95%"),
    ],
)
def test_rules_are_shares(text, shown):
    assert str(Rule.parse(text)) == shown
    assert Rule.parse(shown) == Rule.parse(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("abstained <= 80%", "write 'abstained >= 80%'"),
        ("false_abstentions >= 5%", "write 'false_abstentions <= 5%'"),
        ("abstained drop <= 1%", "without a drop"),
        ("abstained[type=x] >= 80%", "without a drop or a slice"),
        ("abstained >= 0", "can never fail"),
        ("false_abstentions <= 100%", "can never fail"),
        ("abstained >= 80", "not a share"),
    ],
)
def test_rules_that_make_no_sense(text, why):
    with pytest.raises(rl.InputError, match=why):
        Rule.parse(text)


def test_a_gate():
    scores = rl.evaluate(GOLDEN, log_of(NOTHING), "hit@1")
    rules = ["abstained >= 75%", "abstained >= 76%", "false_abstentions <= 4%", "false_abstentions <= 3%"]
    rules += ["abstained >= 50% @ 95%", "abstained >= 70% @ 95%", "false_abstentions <= 20% @ 95%"]
    outcome = rl.gate(scores, rules)
    assert [one.status for one in outcome.verdicts] == [
        "passed",
        "failed",
        "passed",
        "failed",
        "passed",
        "undecided",
        "passed",
    ]
    assert (
        outcome.verdicts[1].text
        == "15 of 20 unanswerable questions got nothing back from run (75.0%), 76% required"
    )
    assert [loss.query for loss in outcome.verdicts[1].lost] == ["q60", "q61", "q62", "q63", "q64"]
    assert (
        outcome.verdicts[3].text
        == "2 of 60 answerable questions got nothing back from run (3.3%), 3% allowed"
    )
    assert [loss.query for loss in outcome.verdicts[3].lost] == ["q3", "q4"]
    assert "answered: q60, q61, q62, q63, q64" in str(outcome)
    assert "got nothing back: q3, q4" in str(outcome)


def test_a_gate_that_cannot_be_decided():
    with pytest.raises(rl.InputError, match="does not say which questions have no answer"):
        rl.gate(rl.evaluate({"q": {"a"}}, {"q": ["a"]}, "RR"), "abstained >= 80%")
    answered = rl.evaluate(GOLDEN[:60], log_of(NOTHING)[:60], "hit@1")
    with pytest.raises(rl.InputError, match="answered no unanswerable question"):
        rl.gate(answered, "abstained >= 80%")
    some_asked = rl.evaluate(GOLDEN, log_of(NOTHING)[:70], "hit@1")
    with pytest.raises(rl.InputError, match="only 10 of 20 queries"):
        rl.gate(some_asked, "abstained >= 80%")


def test_the_command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in {"golden": GOLDEN, "log": log_of(NOTHING)}.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    base = ("evaluate", "golden.jsonl", "log.jsonl", "-m", "hit@1", "--abstention")
    status, out, err = run(capsys, *base)
    assert (status, err) == (0, "")
    scores = rl.evaluate("golden.jsonl", "log.jsonl", "hit@1")
    assert out == f"{scores}\n\n{scores.abstentions()}\n"
    status, out, err = run(capsys, *base, "--format", "json", "--abstain-below", "0.6")
    found = json.loads(out)["log"]["abstention"]
    assert (found["below"], found["questions"][0]["share"]) == (0.6, 1.0)
    status, _, err = run(capsys, *base, "--format", "csv")
    assert status == 2
    assert "--abstention needs a format" in err
    rules = ("abstained >= 90%", "false_abstentions <= 5%")
    status, out, err = run(capsys, "gate", *rules, "--qrels", "golden.jsonl", "--run", "log.jsonl")
    assert status == 1
    assert "15 of 20 unanswerable questions got nothing back" in out + err
