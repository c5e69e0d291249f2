"""Verdicts: what passes, fails and stays open, by how much, and which queries lost; against SciPy and by hand."""

import json

import numpy as np
import pytest
from command_line import run
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import ranklens as rl
from ranklens.bench.config import run_config
from ranklens.errors import InputError
from ranklens.guard import Baseline
from ranklens.guard.deciding import change_interval, decide
from ranklens.scores.history import Record
from ranklens.stats import Clusters, margin_test

QRELS = {f"q{i}": {"a": 1} for i in range(60)}
TYPES = {query: {"type": "how-to" if i % 3 else "fact"} for i, query in enumerate(QRELS)}


def scores(*worse, qrels=QRELS, measures="RR", **options):
    """RR is 1, but 0.5 for some queries."""
    return rl.evaluate(qrels, {q: ["x", "a"] if q in worse else ["a"] for q in qrels}, measures, **options)


PERFECT = scores()


def statuses(outcome):
    return [verdict.status for verdict in outcome.verdicts]


def test_a_floor():
    (verdict,) = rl.gate(scores("q1", "q2"), "RR >= 0.99").verdicts
    assert (verdict.status, verdict.passed, verdict.limit, verdict.queries) == ("failed", False, 0.99, 60)
    assert verdict.value == pytest.approx(59 / 60)
    assert verdict.excess == pytest.approx(0.99 - 59 / 60)
    assert [(loss.query, loss.before, loss.after) for loss in verdict.lost[:2]] == [
        ("q1", None, 0.5),
        ("q2", None, 0.5),
    ]
    assert verdict.text == "RR of run: 0.9833 < required 0.99"
    assert rl.gate(scores("q1", "q2"), "RR >= 0.98").passed


def test_a_drop_without_confidence_compares_means():
    worse = scores("q1", "q2")  # 1.67% below
    assert statuses(
        rl.gate(worse, ["RR drop <= 1%", "RR drop <= 2%", "RR drop <= 0.02"], baseline=PERFECT)
    ) == [
        "failed",
        "passed",
        "passed",
    ]
    (verdict,) = rl.gate(worse, "RR drop <= 1%", baseline=PERFECT).verdicts
    assert (verdict.baseline, verdict.limit) == (1.0, 0.99)
    assert verdict.change == pytest.approx(-1 / 60)
    assert [(loss.query, loss.before, loss.after) for loss in verdict.lost] == [
        ("q1", 1.0, 0.5),
        ("q2", 1.0, 0.5),
    ]


def test_a_drop_with_confidence_passes_fails_or_stays_open():
    some, half = scores("q1", "q2"), scores(*list(QRELS)[:30])
    unchanged = rl.gate(PERFECT, "RR drop <= 0 @ 95%", baseline=PERFECT)  # no query changed
    assert unchanged.passed
    assert "[+0.0000, +0.0000]" not in str(unchanged)  # which would be an interval without width
    assert statuses(rl.gate(some, "RR drop <= 0.1 @ 95%", baseline=PERFECT)) == ["passed"]
    assert statuses(rl.gate(half, "RR drop <= 0.1 @ 95%", baseline=PERFECT)) == ["failed"]
    assert statuses(rl.gate(some, "RR drop <= 0.01 @ 95%", baseline=PERFECT)) == ["undecided"]


def test_the_user_says_what_becomes_of_undecided_rules():
    rule, worse = "RR drop <= 0.01 @ 95%", scores("q1", "q2")
    assert not rl.gate(worse, rule, baseline=PERFECT).passed
    assert rl.gate(worse, rule, baseline=PERFECT, undecided="pass").passed
    with pytest.raises(InputError, match="undecided='maybe' is not known: choose from 'fail', 'pass'"):
        rl.gate(worse, rule, baseline=PERFECT, undecided="maybe")


def test_one_query_is_too_few_and_has_no_interval():
    one = {"q1": {"a"}}
    outcome = rl.gate(scores("q1", qrels=one), "RR drop <= 0.1 @ 95%", baseline=scores(qrels=one))
    assert "a change of -0.5000, with -0.1 allowed; 1 query is too few to tell" in str(outcome)
    assert "inf" not in str(outcome)


def test_it_is_no_looser_than_the_t_test_of_scipy():
    """Non-inferiority by a one-sided t test of the shifted differences; ours corrects it for skewness, never the other way."""
    rng = np.random.default_rng(1)
    agree = 0
    for _ in range(200):
        gain, margin = rng.normal(rng.uniform(-0.1, 0.1), 0.2, 80), 0.05
        p = scipy_stats.ttest_1samp(gain + margin, 0, alternative="greater").pvalue
        q = scipy_stats.ttest_1samp(gain + margin, 0, alternative="less").pvalue
        expected = "passed" if p <= 0.05 else "failed" if q <= 0.05 else "undecided"
        found = decide(gain, np.ones(80), margin, 0.95)
        agree += found == expected
        assert found in (expected, "undecided")
    assert agree > 180


@pytest.mark.parametrize("unit", ["number", "share"])
def test_the_interval_is_where_the_verdict_turns(unit):
    rng = np.random.default_rng(2)
    old = rng.uniform(0.2, 0.9, 100)
    gain = rng.normal(-0.03, 0.1, 100)
    one = np.ones(100) if unit == "number" else old
    around = change_interval(gain, one, 0.95)
    assert around.low < gain.mean() / one.mean() < around.high < 0 or around.high > 0
    assert decide(gain, one, -around.low + 1e-6, 0.95) == "passed"
    assert decide(gain, one, -around.low - 1e-6, 0.95) == "undecided"
    lost = np.asarray(gain - 0.2)  # surely worse
    end = change_interval(lost, one, 0.95).high
    assert decide(lost, one, -end - 1e-6, 0.95) == "failed"
    assert decide(lost, one, -end + 1e-6, 0.95) == "undecided"


def test_the_interval_is_that_of_students_t_where_nothing_is_skewed():
    half = np.random.default_rng(3).normal(0, 0.1, 5000)
    gain = np.concatenate([half, -half])  # no skewness
    t = scipy_stats.ttest_1samp(gain, 0).confidence_interval(0.9)
    around = change_interval(gain, np.ones(10_000), 0.95)
    assert t.low * 1.03 < around.low < t.low
    assert t.high < around.high < t.high * 1.03


def test_it_decides_as_by_hand():
    """Two gains and two losses of 0.1, of which 0.2 is allowed, and one more loss of 0.1 (1 + 4 / 4).

    The distances from the limit are 0.3, 0.1, 0.3 and 0.1: their sum is 0.8, their variance 0.04 / 3.
    """
    gain, one = np.array([0.1, -0.1, 0.1, -0.1]), np.ones(4)
    deviation = (4 * 0.04 / 3 + 0.2**2) ** 0.5
    p = scipy_stats.pearson3.sf((0.8 - 0.2) / deviation, 2 * 0.2**3 / deviation**3)
    assert 0.03 < p < 0.05  # a plain t test says 0.02
    assert decide(gain, one, 0.2, 1 - p - 1e-9) == "passed"
    assert decide(gain, one, 0.2, 1 - p + 1e-9) == "undecided"


def ranks_of_verdicts(losses, wins, queries, confidence, limits):
    """0 passed, 1 undecided, 2 failed: by number of losses, and by limit."""
    known = {"passed": 0, "undecided": 1, "failed": 2}
    rows = []
    for number in range(queries - wins + 1):
        gain = np.concatenate([np.full(wins, 0.5), np.full(number, -losses), np.zeros(queries)])[:queries]
        rows.append([known[decide(gain, np.ones(queries), limit, confidence)] for limit in limits])
    return np.array(rows)


@pytest.mark.parametrize("wins", [0, 1, 5])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("queries", [10, 25, 100])
def test_more_losses_never_make_a_verdict_milder(queries, confidence, wins):
    limits = (0.005, 0.01, 0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.25, 0.4)
    for size in (0.5, 1.0):
        ranks = ranks_of_verdicts(size, wins, queries, confidence, limits)
        assert (np.diff(ranks, axis=0) >= 0).all()
        assert queries < 25 or {*ranks.ravel().tolist()} == {0, 1, 2}


@pytest.mark.parametrize("confidence", [0.95, 0.99])
def test_the_end_of_the_interval_falls_with_every_loss(confidence):
    for queries, wins, size in [(100, 0, 0.5), (100, 3, 0.1), (40, 1, 0.05), (8, 0, 1.0)]:
        gains = [
            np.concatenate([np.full(wins, 1.0), np.full(lost, -size), np.zeros(queries)])[:queries]
            for lost in range(1, queries - wins + 1)
        ]
        lows = [change_interval(gain, np.ones(queries), confidence).low for gain in gains]
        assert (np.diff(lows) <= 1e-9).all()


@given(
    st.lists(st.integers(-20, 20).map(lambda step: step / 20), min_size=8, max_size=40),
    st.integers(0, 39),
    st.floats(0.01, 0.9),
)
def test_a_further_loss_never_turns_a_verdict_into_a_pass(gains, place, limit):
    """The query may have gained before, unless it stands out so much that it alone widens the interval."""
    gain = np.array(gains)
    worse = gain.copy()
    worse[place % len(gain)] = gain.min() - 0.05 if gain.any() else -0.5
    spread = gain.std() or 1.0
    if (gain[place % len(gain)] - gain.mean()) / spread > len(gain) ** 0.5 / 2.5:
        return
    one = np.ones(len(gain))
    assert decide(gain, one, limit, 0.95) == "passed" or decide(worse, one, limit, 0.95) != "passed"


@pytest.mark.parametrize("margin", [0.03, "5%"])
def test_it_passes_what_a_comparison_with_a_margin_calls_no_worse(margin):
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(100):
        old = rng.random(50)
        new = np.where(rng.random(50) < 0.4, old - rng.exponential(0.03, 50), old)
        share = isinstance(margin, str)
        found = decide(new - old, old if share else np.ones(50), 0.05 if share else margin, 0.95)
        assert (found == "passed") == (margin_test(old, new, margin).p_no_worse <= 0.05)
        seen.add(found)
    assert {"passed", "undecided"} <= seen


@pytest.mark.parametrize("losses", [1, 2, 3, 5, 7, 10, 15, 20, 50])
def test_with_few_losses_the_interval_is_no_narrower_than_that_of_a_count(losses):
    """So many losses of 0.5 among 200 queries: how many could be expected, by the exact interval of Clopper and Pearson?

    No bound may be bolder. Being careful about skewness costs up to as much again with few losses, and little from 20 on.
    """
    gain = np.zeros(200)
    gain[:losses] = -0.5
    exact = scipy_stats.binomtest(losses, 200).proportion_ci(0.9, method="exact")
    most, least = -0.5 * exact.high, -0.5 * exact.low
    low, high = change_interval(gain, np.ones(200), 0.95)
    assert 2 * most < low <= most
    assert high >= least
    if losses >= 20:
        assert (low, high) == pytest.approx((most, least), rel=0.1)


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(4)
    gain = np.repeat(rng.normal(-0.01, 0.1, 40), 5)  # five paraphrases that all say the same
    alone = change_interval(gain, np.ones(200), 0.95)
    grouped = change_interval(gain, np.ones(200), 0.95, Clusters.of(np.repeat(np.arange(40), 5).tolist()))
    forty = change_interval(gain[::5], np.ones(40), 0.95)
    assert (grouped.low, grouped.high) == pytest.approx((forty.low, forty.high))
    assert grouped.low < alone.low < alone.high < grouped.high


def test_a_limit_that_queries_keep_for_sure_is_open_for_their_clusters():
    worse, clusters = scores(*list(QRELS)[:4]), {q: str(i // 12) for i, q in enumerate(QRELS)}

    def verdict(limit, **options):
        return rl.gate(worse, f"RR drop <= {limit} @ 95%", baseline=PERFECT, **options).verdicts[0]

    alone, grouped = (verdict(0.1, **options).interval.low for options in ({}, {"clusters": clusters}))
    assert grouped < alone < 0
    between = -(alone + grouped) / 2
    assert verdict(between).status == "passed"
    assert verdict(between, clusters=clusters).status == "undecided"


def test_a_share_of_a_geometric_mean():
    qrels = {q: {"a": 1, "b": 1} for q in QRELS}
    old, new = (
        rl.evaluate(qrels, dict.fromkeys(qrels, docs), "gm_AP") for docs in (["a", "b"], ["x", "a", "b"])
    )
    (verdict,) = rl.gate(new, "gm_AP drop <= 10% @ 95%", baseline=old).verdicts
    assert verdict.status == "failed"
    assert verdict.interval.low < new.mean["gm_AP"] / old.mean["gm_AP"] - 1 < verdict.interval.high < -0.39
    with pytest.raises(InputError, match="the drop of a geometric mean is a share"):
        rl.gate(new, "gm_AP drop <= 0.1 @ 95%", baseline=old)


def test_a_floor_with_confidence_uses_the_interval_of_the_mean():
    worse = scores(*list(QRELS)[:30])
    low, high = worse.interval("RR", level=0.9)
    rules = [f"RR >= {limit} @ 95%" for limit in (low - 0.001, low + 0.001, high - 0.001, high + 0.001)]
    assert statuses(rl.gate(worse, rules)) == ["passed", "undecided", "undecided", "failed"]


def test_slices():
    facts = [q for q, row in TYPES.items() if row["type"] == "fact"]
    worse = scores(*facts)
    found = rl.gate(worse, ["RR[type=fact] >= 0.9", "RR[type=how-to] >= 0.9", "RR[type=fact] drop <= 1%"], baseline=PERFECT, queries=TYPES)  # fmt: skip
    assert statuses(found) == ["failed", "passed", "failed"]
    assert [(verdict.value, verdict.queries) for verdict in found.verdicts] == [
        (0.5, 20),
        (1.0, 40),
        (0.5, 20),
    ]
    with pytest.raises(InputError, match="no query has type=facts: did you mean 'fact'"):
        rl.gate(worse, "RR[type=facts] >= 0.9", queries=TYPES)
    with pytest.raises(InputError, match="needs the field 'type' of the queries; pass queries=…"):
        rl.gate(worse, "RR[type=fact] >= 0.9")


def test_calls_that_fail_are_counted_with_their_causes():
    bench = rl.Benchmark({"q1": "red", "q2": "blue", "q3": "green"}, {q: {"a"} for q in ("q1", "q2", "q3")})

    def search(text):
        if text != "blue":
            raise RuntimeError("the index is gone")
        return ["a"]

    bench.run("mine", search)
    rules = ["failed <= 1", "failed <= 70%", "p95 <= 60s", "p50 <= 0.0000001ms", "RR >= 0.3"]
    with pytest.raises(InputError, match="p95 <= 60000ms: only 1 of 3 queries of mine could be checked"):
        rl.gate(bench, "p95 <= 60s")
    found = rl.gate(bench, rules)  # what failed is the news; what could not be checked is a note
    assert statuses(found) == ["failed", "passed", "passed"]
    assert "p95 <= 60000ms: only 1 of 3 queries of mine could be checked" in found.notes[0]
    found = rl.gate(bench, rules, min_checked="30%")
    assert statuses(found) == ["failed", "passed", "passed", "failed", "passed"]
    assert found.verdicts[0].causes == (("RuntimeError: the index is gone", 2),)
    assert "2 calls failed: RuntimeError: the index is gone" in str(found)


def test_what_a_run_does_not_say_is_an_error():
    for rule, told in (("failed <= 0", "which calls failed"), ("p95 <= 1s", "how long calls took")):
        with pytest.raises(InputError, match=told):
            rl.gate(PERFECT, rule)


def test_measures_that_were_not_asked_for_are_computed():
    assert rl.gate(scores("q1"), "P@1 >= 0.9").passed
    assert rl.gate(scores("q1", rel=1), ["nDCG@10 drop <= 5%"], baseline=scores(measures="nDCG@10")).passed


def test_lower_is_better():
    from ranklens.metrics import measure, unregister

    @measure("Effort", better="lower", high=100.0)
    def effort(judged):
        """The rank of the first relevant document."""
        return judged.hits.max(judged.hits.rank)

    try:
        old, new = scores(measures="Effort"), scores("q1", "q2", "q3", measures="Effort")
        found = rl.gate(new, ["Effort <= 1.01", "Effort drop <= 10%", "Effort drop <= 1%", "Effort drop <= 0.3 @ 95%"], baseline=old)  # fmt: skip
        assert statuses(found) == ["failed", "passed", "failed", "passed"]
        assert (
            found.verdicts[2].text == "Effort of run: 1.0500 > allowed 1.01, 1% above the baseline's 1.0000"
        )
        assert [loss.query for loss in found.verdicts[2].lost] == ["q1", "q2", "q3"]
        assert -0.05 < found.verdicts[3].interval.low < 0.05 < found.verdicts[3].interval.high < 0.3
    finally:
        unregister("Effort")


def test_a_share_of_nothing_is_written_as_json():
    """The mean of the baseline is 0: no drop can be a share of it, and nothing can be below it."""
    qrels = {q: {"a": 1, "x": 0} for q in QRELS}
    nothing = rl.evaluate(qrels, {q: ["x"] for q in qrels}, "RR")
    for rule in ("RR drop <= 1% @ 95%", "RR drop <= 1%", "RR drop <= 0.1"):
        with pytest.raises(InputError, match="can never fail: the baseline's RR is 0"):
            rl.gate(scores("q1", qrels=qrels), rule, baseline=nothing)


# Baselines.


def test_a_baseline_file_holds_what_was_measured(tmp_path):
    path = tmp_path / "baseline.json"
    Baseline({"run": Record.of(scores("q7"), "run")}).write(path)
    assert rl.gate(scores("q7"), "RR drop <= 0 @ 95%", baseline=str(path)).passed
    (verdict,) = rl.gate(scores("q7", "q8"), "RR drop <= 0", baseline=path).verdicts
    assert [loss.query for loss in verdict.lost] == ["q8"]
    before = path.read_bytes()
    Baseline.read(path).write(path)
    assert path.read_bytes() == before
    assert len(before.splitlines()) > 60  # one line per query, for reviews


def test_a_baseline_that_was_changed_by_hand_is_refused(tmp_path):
    path = tmp_path / "baseline.json"
    Baseline({"run": Record.of(scores("q7"), "run")}).write(path)
    text = path.read_text()
    path.write_text(text.replace(", 0.5]", ", 0.4]"))
    with pytest.raises(InputError, match="was changed by hand, or badly merged"):
        Baseline.read(path)
    for content, told in (
        ("{", "not a baseline"),
        ("[]", "is not a baseline"),
        ('{"format": "x"}', "is not a baseline"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=told):
            Baseline.read(path)
    with pytest.raises(InputError, match="there is no baseline yet"):
        Baseline.read(tmp_path / "none.json")
    path.write_text(text.replace('"format_version": 1', '"format_version": 9'))
    with pytest.raises(InputError, match="has version 9 of the format"):
        Baseline.read(path)


def test_other_judgments_and_policies_are_never_compared_silently():
    rule, other = "RR drop <= 1%", {**QRELS, "q3": {"b": 1}, "q99": {"a": 1}}
    with pytest.raises(
        InputError,
        match=r"other queries or judgments: 1 query new \(q99\); 1 query with other judgments \(q3\)",
    ):
        rl.gate(scores(qrels=other), rule, baseline=PERFECT)
    found = rl.gate(scores(qrels=other), rule, baseline=PERFECT, common=True)
    assert found.passed
    assert found.verdicts[0].queries == 59
    assert "compared on 59 queries with the same judgments" in str(found)
    for common in (True, False):
        with pytest.raises(InputError, match="another policy: depth was None, and is 1"):
            rl.gate(scores(depth=1), rule, baseline=PERFECT, common=common)


def test_a_rule_that_needs_a_baseline_says_so():
    with pytest.raises(InputError, match="needs a baseline: pass baseline"):
        rl.gate(PERFECT, "RR drop <= 1%")
    with pytest.raises(InputError, match=r"has no P@1"):
        rl.gate(PERFECT, "P@1 drop <= 1%", baseline={"run": scores(measures="RR")})


def test_results_of_the_wrong_kind_are_refused():
    for wrong in (3, {"a": [1]}, {}):
        with pytest.raises(InputError, match=r"pass scores|no results"):
            rl.gate(wrong, "RR >= 0.1")
    with pytest.raises(InputError, match="no rule to check"):
        rl.gate(PERFECT, [])
    with pytest.raises(InputError, match="The baseline is an int"):
        rl.gate(PERFECT, "RR drop <= 1%", baseline=3)


# The command.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKLENS_HISTORY", str(tmp_path / "history.db"))
    rows = [{"id": q, "query": f"What is {q}?", "expected": ["a"], **TYPES[q]} for q in QRELS]
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    log("old")
    log("new", "q4", "q5", "q6", "q7")
    return tmp_path


def log(name, *worse):
    rows = [
        {"id": q, "query": f"What is {q}?", "retrieved": ["x", "a"] if q in worse else ["a"]} for q in QRELS
    ]
    with open(f"{name}.jsonl", "w") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def gated(capsys, name, *arguments):
    return run(capsys, "gate", "--qrels", "golden.jsonl", "--run", f"mine={name}.jsonl", *arguments)


def test_the_command_passes_fails_and_tells_why(folder, capsys):
    rule = "mrr drop <= 2%"
    status, out, _ = gated(capsys, "old", rule, "--baseline", "b.json", "--update")
    assert (status, "a baseline of 60 queries; commit it" in out) == (0, True)
    assert gated(capsys, "old", rule, "--baseline", "b.json")[0] == 0
    status, out, err = gated(capsys, "new", rule, "--baseline", "b.json")
    assert status == 1
    assert "FAILED: mrr of mine: 0.9667 < required 0.98, 2% below the baseline's 1.0000" in out
    assert "lost most: q4 “What is q4?” 1.00 → 0.50" in " ".join(out.split())
    assert "the gate failed: 1 of 1 verdict." in err
    status, out, err = gated(capsys, "new", rule, "--baseline", "b.json", "--format", "json")
    (verdict,) = json.loads(out)["verdicts"]
    assert (status, verdict["status"], verdict["rule"]) == (1, "failed", "mrr drop <= 2%")
    assert "q4 “What is q4?” 1.00 → 0.50" in err


def test_slices_and_clusters_of_a_golden_set(folder, capsys):
    assert gated(capsys, "new", "mrr[type=fact] >= 0.9")[0] == 0
    gated(capsys, "old", "mrr drop <= 0.2 @ 95%", "--baseline", "b.json", "--update")
    assert gated(capsys, "new", "mrr drop <= 0.2 @ 95%", "--baseline", "b.json")[0] == 0
    assert gated(capsys, "new", "mrr drop <= 0.2 @ 95%", "--baseline", "b.json", "--cluster", "type")[0] == 1
    flags = ("--cluster", "type", "--undecided", "pass")
    assert gated(capsys, "new", "mrr drop <= 0.2 @ 95%", "--baseline", "b.json", *flags)[0] == 0


def test_update_shows_what_changes(folder, capsys):
    gated(capsys, "old", "mrr drop <= 2%", "--baseline", "b.json", "--update")
    _, out, _ = gated(capsys, "new", "mrr drop <= 2%", "-m", "R@5", "--baseline", "b.json", "--update")
    assert "RR of mine: 1.0000 → 0.9667" in out
    assert "R@5 of mine: 1.0000" in out
    assert gated(capsys, "new", "mrr drop <= 2%", "R@5 drop <= 0", "--baseline", "b.json")[0] == 0


def test_update_names_the_measures_that_are_lost(folder, capsys):
    gated(capsys, "old", "mrr drop <= 2%", "-m", "R@5", "--baseline", "b.json", "--update")
    _, _, err = gated(capsys, "new", "mrr drop <= 2%", "--baseline", "b.json", "--update")
    assert "no longer has R@5; add -m R@5 to keep measuring it" in err


def test_a_baseline_from_the_history(folder, capsys):
    assert (
        run(capsys, "history", "add", "golden.jsonl", "mine=old.jsonl", "-m", "mrr", "--label", "v1")[0] == 0
    )
    assert run(capsys, "history", "add", "golden.jsonl", "mine=new.jsonl", "-m", "mrr")[0] == 0
    assert gated(capsys, "new", "mrr drop <= 2%", "--baseline", "history:last")[0] == 0
    status, out, _ = gated(capsys, "new", "mrr drop <= 2%", "--baseline", "history:v1")
    assert (status, "Compared with history:v1 (#1 mine)" in out) == (1, True)
    status, _, err = gated(capsys, "new", "mrr drop <= 2%", "--baseline", "history:v7")
    assert (status, "history:v7: there is no such entry" in err) == (2, True)


def test_a_configuration_is_gated_updated_and_saved(folder, capsys):
    (folder / "my_gated_search.py").write_text("def search(text, k):\n    return ['a', 'x'][:k]\n")
    (folder / "bench.yaml").write_text(
        "data: {queries: golden.jsonl}\nretrievers: [{name: mine, retriever: 'my_gated_search:search'}]\n"
        "retrieval_metrics: {enabled_metrics: [mrr]}\ngates: {rules: [mrr drop <= 1%], baseline: b.json}\n"
    )
    status, _, err = run(capsys, "gate", "--config", "bench.yaml")
    assert (status, "there is no baseline yet" in err) == (2, True)
    assert "mine: 1.0000" in run(capsys, "gate", "--config", "bench.yaml", "R@5 >= 0.5", "--update")[1]
    status, out, _ = run(capsys, "gate", "--config", "bench.yaml", "R@5 drop <= 0")
    assert (status, "Gate passed: 2 passed" in out, "Compared with b.json" in out) == (0, True, True)
    assert run(capsys, "gate", "--config", "bench.yaml", "p50 <= 0.00001ms")[0] == 1
    status, _, err = run(capsys, "gate", "--config", "bench.yaml", "--no-code")
    assert (status, "is code, which --no-code refuses" in err) == (2, True)
    status, out, err = run(capsys, "bench", "bench.yaml", "--save")
    assert (status, "saved #1 mine" in err, "passed: mrr of mine" in out) == (0, True, True)
    (entry,) = rl.History().entries()
    assert entry.latency is not None
    assert entry.config["gates"]["rules"] == ["mrr drop <= 1%"]
    assert run(capsys, "gate", "--config", "bench.yaml", "--baseline", "history:last")[0] == 0
    rows = (folder / "golden.jsonl").read_text().replace('"id": "q1"', '"id": "q1b"')
    (folder / "golden.jsonl").write_text(rows)
    status, _, err = run(capsys, "gate", "--config", "bench.yaml")
    assert (status, "1 query new (q1b); 1 query gone (q1)" in err) == (2, True)
    status, out, _ = run(capsys, "gate", "--config", "bench.yaml", "--common")
    assert (status, "compared on 59 queries with the same judgments" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["mrr >= 0.5"], "either --config FILE, or --qrels FILE and --run FILE"),
        (["mrr >= 0.5", "--qrels", "golden.jsonl"], "either --config FILE"),
        (["--qrels", "golden.jsonl", "--run", "new.jsonl"], "There is no rule to check"),
        (["mrr", "--qrels", "golden.jsonl", "--run", "new.jsonl"], "'mrr' is not a rule"),
        (["mrr drop <= 1%", "--qrels", "golden.jsonl", "--run", "new.jsonl"], "needs a baseline: pass --baseline"),
        (["mrr drop <= 1%", "--qrels", "golden.jsonl", "--run", "new.jsonl", "--baseline", "b.json"], "there is no baseline yet. Write it with ranklens gate … --update"),
        (["mrr >= 0.5", "--qrels", "golden.jsonl", "--run", "new.jsonl", "--update"], "--update writes a file"),
        (["mrr >= 0.5", "--qrels", "golden.jsonl", "--run", "new.jsonl", "--update", "--baseline", "history:last"], "--update writes a file"),
        (["mrr drop <= 1%", "--qrels", "golden.jsonl", "--run", "new.jsonl", "--baseline", "golden.jsonl"], "golden.jsonl:2: not a baseline"),
        (["mrr[kind=a] >= 0.5", "--qrels", "golden.jsonl", "--run", "new.jsonl"], "there is no 'kind'"),
    ],
)  # fmt: skip
def test_wrong_usage_exits_2(folder, capsys, arguments, told):
    status, _, err = run(capsys, "gate", *arguments)
    assert (status, told in err) == (2, True), err


def test_what_is_no_pass_is_false():
    scores = rl.evaluate({f"q{i}": {"a": 1} for i in range(30)}, {"q0": ["a"]}, "RR")
    failed, passed = rl.gate(scores, "RR >= 0.9"), rl.gate(scores, "RR >= 0.01")
    assert not failed
    assert passed
    assert [bool(one) for one in (*failed.verdicts, *passed.verdicts)] == [False, True]


def test_unanswerable_questions_are_counted(tmp_path):
    golden = [
        {"id": f"q{i}", "question": f"{i}?", "relevant_ids": ["a"] if i < 20 else []} for i in range(30)
    ]
    log = [{"id": row["id"], "retrieved": ["a"]} for row in golden]
    bench = rl.Benchmark(golden)
    bench.run("mine", lambda text: ["a"])
    for results in (rl.evaluate(golden, log, "RR"), bench):
        assert "10 unanswerable questions excluded." in rl.gate(results, "RR >= 0.9").notes
    for name, rows in (("golden", golden), ("log", log)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    data = {"qrels": tmp_path / "golden.jsonl", "runs": {"mine": tmp_path / "log.jsonl"}}
    outcome = run_config({"data": data, "gates": ["RR >= 0.9"]}).outcome
    assert "10 unanswerable questions excluded." in outcome.notes


def test_queries_that_count_as_one_are_counted():
    qrels = {f"q{i}": {"a": int(i < 5)} for i in range(30)}
    bad = rl.evaluate(qrels, {query: ["b"] for query in qrels} | {"q0": ["a"]}, "RR", empty="one")
    assert "run: 25 queries without relevant documents counted as 1." in rl.gate(bad, "RR >= 0.8").notes


@pytest.mark.parametrize("rules", [None, 5, True])
def test_what_are_no_rules(rules):
    with pytest.raises(InputError, match="is not a list of rules"):
        rl.gate(PERFECT, rules)


def test_a_failing_rule_says_why_queries_fail():
    qrels = {f"q{i}": {"a#1": 1} for i in range(10)}
    good = {query: ["a#1"] for query in qrels}
    bad = {**good, "q1": ["x", "a#1"], "q2": ["a#2"], "q3": ["a#3"], "q4": ["y"]}
    old, new = (rl.evaluate(qrels, run, "hit@1") for run in ({**good, "q4": ["y"]}, bad))
    outcome = rl.gate(new, ["hit@1 >= 0.9", "hit@1 drop <= 1%"], baseline=old)
    floor, drop = outcome.verdicts
    assert floor.why == (("right parent, wrong chunk", 2), ("below the cutoff", 1), ("not retrieved", 1))
    assert drop.why == (("right parent, wrong chunk", 2), ("below the cutoff", 1))  # q4 failed before
    assert "why they fail: right parent, wrong chunk (2), below the cutoff (1)" in str(outcome)
    assert drop.to_dict()["why"][1] == {"cause": "below the cutoff", "queries": 1}
    assert rl.gate(new, "hit@1 >= 0.6").verdicts[0].why == ()


def test_why_is_left_out_where_rankings_cannot_be_read_again():
    scores = rl.evaluate({"q": {"a"}}, {"q": iter(["x"])}, "RR")
    assert rl.gate(scores, "RR >= 0.5").verdicts[0].why == ()
