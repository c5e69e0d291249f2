"""Gates look at all queries, or say which ones they do not; rules that cannot fail are no rules."""

import json
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from command_line import run

import ranklens as rl
from ranklens.errors import InputError
from ranklens.guard import Rule
from ranklens.scores import Values
from ranklens.scores.history import Record

QRELS = {f"q{i}": {"a": 1} for i in range(50)}
GOOD = {query: ["a"] for query in QRELS}
FEW = {query: ["a"] for query in [*QRELS][:10]}


class Told(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def logged(folder, *, answered=50, timed=50, seconds=0.1, **more):
    """A golden set of 50 questions, and a log that answers some of them and times some of these."""
    golden = write(folder / "golden.jsonl", [{"id": q, "question": q, "relevant_ids": ["a"]} for q in QRELS])
    rows = [{"id": q, "retrieved": ["a"], **more} for q in [*QRELS][:answered]]
    for row in rows[:timed]:
        row["latency_s"] = seconds
    return golden, write(folder / "log.jsonl", rows)


@pytest.fixture
def check(tmp_path, capsys):
    return partial(checked, tmp_path, capsys)


def checked(folder, capsys, *rules, options=(), **log):
    golden, path = logged(folder, **log)
    return Told(*run(capsys, "gate", *rules, "--qrels", golden, "--run", path, *options))


def test_missing_skip_does_not_hide_queries(check):
    told = check("RR >= 0.9", options=["--missing", "skip"], answered=10)
    assert told.exit_code == 2
    assert (
        "RR >= 0.9: only 10 of 50 queries of log could be checked, and at least 95% are needed" in told.stderr
    )
    assert "--min-checked" in told.stderr
    assert check("RR >= 0.9", answered=10).exit_code == 1  # the others count as 0
    lowered = check("RR >= 0.9", options=["--missing", "skip", "--min-checked", "20%"], answered=10)
    assert lowered.exit_code == 0
    assert "log: 10 of 50 queries were checked; the others were not answered" in " ".join(
        lowered.stdout.split()
    )


@pytest.mark.parametrize("rule", ["RR drop <= 2%", "RR drop <= 0.9 @ 95%"])
def test_common_and_skip_do_not_compare_a_few_queries(rule):
    old = rl.evaluate(QRELS, GOOD, "RR", missing="skip")
    for answered in (1, 10, 47):
        new = rl.evaluate(QRELS, {q: ["a"] for q in [*QRELS][:answered]}, "RR", missing="skip")
        with pytest.raises(InputError, match=rf"only {answered} of 50 queries of run could be checked"):
            rl.gate(new, rule, baseline=old, common=True)
    new = rl.evaluate(QRELS, {q: ["a"] for q in [*QRELS][:48]}, "RR", missing="skip")
    outcome = rl.gate(new, rule, baseline={"run": old}, common=True)
    assert outcome.passed
    assert outcome.about == "Compared with the baseline: 48 of its 50 queries checked."


def test_other_judgments_count_as_not_checked():
    old = rl.evaluate(QRELS, GOOD, "RR")
    changed = {**QRELS, **{query: {"b": 1} for query in [*QRELS][:40]}}
    new = rl.evaluate(changed, GOOD, "RR")
    with pytest.raises(InputError, match="only 10 of 50 queries of run could be checked"):
        rl.gate(new, "RR drop <= 2%", baseline=old, common=True)
    outcome = rl.gate(new, "RR drop <= 2%", baseline=old, common=True, min_checked=0.2)
    assert "10 of baseline's 50 queries checked" in outcome.about


def test_a_gate_says_how_many_queries_it_compared():
    scores = rl.evaluate(QRELS, GOOD, "RR")
    outcome = rl.gate({"a": scores, "b": scores}, "RR drop <= 2%", baseline={"a": scores, "b": scores})
    assert outcome.about == "Compared with the baseline: 50 of its 50 queries checked."
    assert "50 of its 50 queries checked" in str(outcome)


def test_all_that_is_missing_may_belong_to_a_slice():
    kinds = {query: {"type": "hard" if i < 10 else "easy"} for i, query in enumerate(QRELS)}
    new = rl.evaluate(QRELS, {q: ["a"] for q in [*QRELS][1:]}, "RR", missing="skip")
    assert rl.gate(new, "RR >= 0.9", queries=kinds).passed
    with pytest.raises(InputError, match="only 9 of 10 queries of run could be checked"):
        rl.gate(new, "RR[type=hard] >= 0.9", queries=kinds)


def test_failed_calls_include_questions_that_nothing_was_logged_for(check):
    told = check("failed <= 0", answered=48)
    assert told.exit_code == 1
    assert "failed calls of log: 2 > allowed 0" in told.stdout
    assert "2 calls failed: no answer was logged" in told.stdout
    for options in ((), ("--missing", "skip")):
        assert check("failed <= 3%", answered=48, options=options).exit_code == 1
        assert check("failed <= 4%", answered=48, options=options).exit_code == 0
    assert check("failed <= 0").exit_code == 0


def test_a_percentile_needs_the_time_of_every_answer(check):
    assert check("p95 <= 200ms").exit_code == 0
    told = check("p95 <= 200ms", timed=49)
    assert told.exit_code == 2
    assert "of 1 answered query of log, the log does not say how long the call took" in told.stderr
    told = check("p95 <= 200ms", answered=40)
    assert told.exit_code == 2
    assert "only 40 of 50 queries of log could be checked" in told.stderr


def test_times_of_questions_that_nobody_judged_do_not_count(tmp_path, capsys):
    golden, log = logged(tmp_path, seconds=5.0)
    with open(log, "a", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"id": f"x{i}", "retrieved": ["a"], "latency_s": 0.001}) + "\n" for i in range(5000)
        )
    assert run(capsys, "gate", "p95 <= 200ms", "--qrels", golden, "--run", log)[0] == 1


@pytest.mark.parametrize("seconds", [-1.0, -0.001, float("inf")])
def test_impossible_times_are_refused(check, seconds):
    told = check("p95 <= 200ms", seconds=seconds)
    assert told.exit_code == 2
    assert "seconds; a time is a number from 0" in told.stderr


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("RR >= -1", "can never fail: RR is always at least 0"),
        ("RR >= 0", "can never fail"),
        ("RR >= -0.0", "can never fail"),
        ("RR >= 1e-400", "can never fail"),
        ("RR[type=hard] >= 0", "can never fail"),
        ("RR >= 0 @ 95%", "can never fail"),
        ("RR >= nan", "can never be reached"),
        ("RR >= -inf", "can never fail"),
        ("RR <= 1", "higher values of RR are better"),
        ("RankingLoss <= 1", "can never fail"),
        ("RankingLoss <= inf", "can never fail"),
        ("Judged@10 >= 0", "can never fail"),
        ("Judged@10 <= 1", "can never fail"),
        ("failed <= 100%", "can never fail"),
        ("failed <= 250%", "can never fail"),
        ("failed <= inf", "not allowed"),
        ("failed <= -1", "not allowed"),
        ("p95 <= inf", "not a time"),
        ("p95 <= 1e99s", "not a time"),
        ("p95 <= 200", "not a time"),
        ("RR drop <= 1", "can never fail"),
        ("RR drop <= 100%", "can never fail"),
        ("RR drop <= 99.9999999999999999999%", "can never fail"),
        ("RR drop <= inf", "not allowed"),
        ("RR drop <= nan", "not allowed"),
        ("RR drop >= 0.1", "upper limit"),
        ("RR drop <= 0.1 @ 100%", "not allowed"),
        ("RR drop <= 0.1 @ 50%", "not allowed"),
        ("RR drop <= 0.1 @ nan%", "not allowed"),
        ("RR drop <= 0.1 @ 0.95", "not allowed"),
        ("", "not a rule"),
    ],
)  # fmt: skip
def test_rules_that_cannot_fail_are_refused(rule, why):
    with pytest.raises(InputError, match=why):
        Rule.parse(rule)


@pytest.mark.parametrize("limit", ["50", "1e9", "99999"])
def test_a_number_of_failed_calls_that_is_never_reached_is_refused(check, limit):
    told = check(f"failed <= {limit}")
    assert told.exit_code == 2
    assert "can never fail: log was asked 50 queries" in told.stderr


def test_a_drop_below_the_worst_value_is_refused():
    judged = {query: {"a": 1, "x": 0} for query in QRELS}
    weak, nothing = (
        rl.evaluate(judged, {q: [*further, "x"] for q in QRELS}, "RR")
        for further in ([*(f"y{i}" for i in range(60)), "a"], [])
    )
    for rule in ("RR drop <= 0.05", "RR drop <= 0.05 @ 95%"):
        with pytest.raises(InputError, match="can never fail: the baseline's RR is"):
            rl.gate(nothing, rule, baseline=weak)


def test_without_verdict_nothing_passes():
    scores = rl.evaluate(QRELS, GOOD, "RR")
    for results, rules in (({}, ["RR >= 0.5"]), (scores, []), (scores, "")):
        with pytest.raises(InputError):
            rl.gate(results, rules)
    from ranklens.guard import Outcome

    assert not Outcome(()).passed


def test_values_that_are_no_numbers_are_refused():
    """Records can be made by hand, and an entry of a history can be damaged."""
    record = Record.of(rl.evaluate(QRELS, GOOD, "RR"), "run")
    for number in (np.nan, np.inf, -np.inf):
        broken = replace(
            record, values=Values(record.queries, {"RR": np.where(np.arange(50) == 3, number, 1.0)})
        )
        for rule in ("RR >= 0.5", "RR >= 0.5 @ 95%", "RR drop <= 1%", "RR drop <= 1% @ 95%"):
            with pytest.raises(InputError, match=f"RR of run is {number} for query 'q3'"):
                rl.gate(broken, rule, baseline={"run": record}, undecided="pass")
    with pytest.raises(InputError, match="RR of run is nan"):
        rl.gate(
            record,
            "RR drop <= 1% @ 95%",
            baseline={"run": replace(broken, values=Values(record.queries, {"RR": np.full(50, np.nan)}))},
        )


@pytest.mark.parametrize("given", [0, -1, 1.5, "0%", "101%", "x", "nan", True, None])
def test_an_impossible_share_is_refused(given):
    scores = rl.evaluate(QRELS, GOOD, "RR")
    with pytest.raises(InputError, match="share of queries that must be checked"):
        rl.gate(scores, "RR >= 0.5", min_checked=given)


def test_a_percentile_says_how_many_queries_it_is_of():
    queries = [f"q{number}" for number in range(40)]
    golden = [{"id": query, "question": query, "relevant_ids": ["a"]} for query in queries]
    log = [{"id": query, "retrieved": ["a"], "latency_s": 0.1} for query in queries[:39]]
    outcome = rl.gate(rl.evaluate(golden, log, "RR"), "p95 <= 1s")
    assert (outcome.passed, outcome.verdicts[0].queries) == (True, 39)
