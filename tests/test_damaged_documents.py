"""Every small damage to a JSON document is refused in one sentence, or changes what is free text and nothing else."""

import copy
import itertools
import json
import re

import jsonschema
import pytest

import ranklens as rl
from ranklens.data.files.json_schema import fault, schema
from ranklens.guard import baselines
from ranklens.guard.baselines import Baseline
from ranklens.scores.history import Record

REPLACEMENTS = (None, -1, 1e30, float("nan"), "x", "", [], {}, True, [["x", [1]]], 10**400)
QRELS = {f"q{i}": {"a": 2, "b": 1} for i in range(4)}
ONE = {q: ["a", "b"] if i % 3 else ["x", "b", "a"] for i, q in enumerate(QRELS)}
TWO = {q: ["x", "a"] for q in QRELS}
MEASURES = ["mrr", "nDCG@5", "NumRel", "relstring@3"]


def damages(document, every=1):
    """``(place, damaged document)``: values and containers replaced, deleted, renamed or duplicated; every so many."""
    changes = [
        *(lambda owner, key, other=other: owner.__setitem__(key, other) for other in REPLACEMENTS),
        lambda owner, key: owner.pop(key),
        _again,
    ]
    found = ((place, change) for place in _places(document) for change in changes)
    for place, change in itertools.islice(found, 0, None, every):
        yield place, _changed(document, place, change)


def _again(owner, key):
    if isinstance(owner, list):
        owner.insert(key, copy.deepcopy(owner[key]))
    else:
        owner["another name"] = owner.pop(key)


def _places(value, place=()):
    if place:
        yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from _places(one, (*place, key))


def _changed(document, place, change):
    found = owner = copy.deepcopy(document)
    for key in place[:-1]:
        owner = owner[key]
    change(owner, place[-1])
    return found


def scores():
    return rl.evaluate(QRELS, ONE, MEASURES).to_json()


def comparison():
    by = {q: str(i % 2) for i, q in enumerate(QRELS)}
    how = {"by": by, "clusters": by, "margin": 0.1, "teams": {"one": "A", "two": "B"}}
    return rl.compare(QRELS, {"one": ONE, "two": TWO}, MEASURES[1:3], **how).to_json()


def given_values():
    values = {s: {q: {"latency_ms": n * i} for i, q in enumerate(QRELS)} for n, s in enumerate("ab", 1)}
    return rl.compare_scores(values, better={"latency_ms": "lower"}).to_json()


def baseline():
    return Baseline({"mine": Record.of(rl.evaluate(QRELS, ONE, MEASURES), "mine")}).to_text()


def read_baseline(text):
    content = json.loads(text)
    content["checksum"] = baselines._checksum(content.get("systems"))  # whoever edits it can do that, too
    return Baseline.from_text(json.dumps(content), "baseline.json")


# What may be anything, or any text, and options of which another value is as good.
FREE = {
    "scores": r"measures\.\d+\.asked|queries\.\d+|values\.relstring.*|policy|policy\.(judged_only|rel|max_grade)|applied\.(mismatch|sources)",
    "comparison": r"teams.*|applied\.(one|two)(\.(mismatch|sources))?|policy|policy\.(judged_only|rel|max_grade)|measures\.\d+\.asked|settings\.margins.*|slice_of\..*|cluster_of.*|cautions.*",
    "given_values": r"queries\.\d+|cautions.*",
    "baseline": r"systems\.mine|systems\.mine\.policy.*",
}
READ = {
    "scores": (scores, rl.Scores.from_json, rl.Scores.to_json),
    "comparison": (comparison, rl.Comparison.from_json, rl.Comparison.to_json),
    "given_values": (given_values, rl.Comparison.from_json, rl.Comparison.to_json),
    "baseline": (baseline, read_baseline, Baseline.to_text),
}


def check(name, every):
    write, read, again = READ[name]
    document = json.loads(write())
    unchanged = again(read(json.dumps(document)))
    count = 0
    for place, damaged in damages(document, every):
        count += 1
        path = ".".join(map(str, place))
        try:
            found = read(json.dumps(damaged))
        except rl.RankLensError as error:
            assert len(str(error)) < 500  # noqa: PT017
            continue
        assert again(found) == unchanged or re.fullmatch(FREE[name], path), path
    assert count > 50


@pytest.mark.parametrize(
    ("name", "every"), [("scores", 3), ("comparison", 83), ("given_values", 23), ("baseline", 3)]
)
def test_no_damage_goes_unnoticed(name, every):
    check(name, every)


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_no_damage_at_all_goes_unnoticed(name):
    check(name, 1)


@pytest.mark.parametrize(
    ("name", "file", "every"),
    [("scores", "scores.schema.json", 2), ("comparison", "comparison/comparison.schema.json", 97)],
)
def test_our_reading_of_a_schema_is_that_of_jsonschema(name, file, every):
    """Except for unknown keys, which newer versions may write, and for NaN, which is no JSON."""
    document, rules = json.loads(READ[name][0]()), schema(file)
    validator = jsonschema.Draft202012Validator(rules)
    text = re.compile(
        r"must be a whole number|finite number|must be an? .*number"
    )  # 1e30 is whole there, NaN a number
    for place, damaged in damages(document, every):
        ours, theirs = fault(damaged, rules), validator.is_valid(damaged)
        assert not ours or not theirs or text.search(ours), (place, ours)
        if not theirs and not ours:
            assert "another name" in json.dumps(damaged), place


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "[" * 5000, '{"schema": NaN', "\ud800", "1" * 5000])
def test_what_is_no_json_is_refused(text):
    for read in (rl.Scores.from_json, rl.Comparison.from_json, lambda one: Baseline.from_text(one, "b.json")):
        with pytest.raises(rl.InputError):
            read(text)


def test_a_damaged_file_is_named_with_its_run_and_place(tmp_path):
    content = json.loads(scores())
    content["values"]["RR"][1] = 1e30
    (tmp_path / "scores.json").write_text(json.dumps({"bm25": json.loads(scores()), "dense": content}))
    with pytest.raises(
        rl.InputError,
        match=r"scores.json: dense: values.RR\[1\] \(query 'q1'\) is 1e\+30, but RR goes from 0 to 1",
    ):
        rl.read_scores(tmp_path / "scores.json")
    made = json.loads(comparison())
    made["values"]["nDCG@5"]["two"][0] = -1
    (tmp_path / "comparison.json").write_text(json.dumps(made))
    for read in (lambda path: rl.Comparison.from_json(path.read_text()), rl.read_scores):
        with pytest.raises(
            rl.InputError, match=r"values.nDCG@5.two\[0\] \(query 'q0'\) is -1, but nDCG@5 goes from 0 to 1"
        ):
            read(tmp_path / "comparison.json")


def test_a_damaged_result_of_mteb_is_refused_or_read(tmp_path):
    """Its schema is not ours, so only the shape is checked."""
    content = rl.evaluate(QRELS, ONE, ["nDCG@10"]).to_mteb("SciFact")
    (tmp_path / "SciFact.json").write_text(json.dumps(content | {"scores": {"test": ["x"]}}))
    with pytest.raises(rl.InputError, match=r"SciFact.json: scores.test must be a list of objects"):
        rl.read_mteb(tmp_path)
    for _, damaged in damages(content):
        (tmp_path / "SciFact.json").write_text(json.dumps(damaged))
        try:
            rl.read_mteb(tmp_path)
        except rl.RankLensError as error:
            assert len(str(error)) < 500  # noqa: PT017
