import json

import pytest

import ranklens as rl
from ranklens.data.matching import ByField, ById, ByParent, ByText, Groups, Spans
from ranklens.data.matching.parsing import spelled
from ranklens.errors import InputError
from ranklens.process import as_option


def test_every_kind_can_be_spelled(tmp_path):
    groups = tmp_path / "groups.json"
    groups.write_text(json.dumps([["a", "b"]]))
    expected = {
        "id": ById(),
        "field:metadata.source": ByField("metadata.source"),
        "parent:#": ByParent(separator="#"),
        "parent:::": ByParent(separator="::"),
        "text": ByText(),
        "text:overlap": ByText("overlap"),
        "text:overlap:0.5": ByText("overlap", 0.5),
        "spans": Spans(),
        "spans:0.8": Spans(threshold=0.8),
        f"groups:{groups}": Groups([["a", "b"]]),
    }
    assert {text: spelled(text) for text in expected} == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parents:#", "--match parents:#: there is no 'parents': did you mean 'parent'?"),
        ("id:x", "--match id:x: id takes nothing after the colon."),
        ("field", "--match field: field needs something after a colon, e.g. --match field:metadata.source."),
        ("parent", "--match parent: parent needs something after a colon, e.g. --match parent:#."),
        (
            "groups:",
            "--match groups:: groups needs something after a colon, e.g. --match groups:groups.json.",
        ),
        ("spans:much", "--match spans:much: 'much' is not a number."),
        ("text:holds", "how='holds' is not allowed"),
        ("groups:nowhere.json", "nowhere.json cannot be read as JSON"),
    ],
)
def test_mistakes_are_told(text, message):
    with pytest.raises(InputError) as told:
        spelled(text)
    assert message in told.value.spelled(as_option)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 100_000 + "]" * 100_000, "cannot be read as JSON: it is nested too deeply"),
        ('{"q1": [["a"]], "q1": [["b"]]}', "the key 'q1' appears twice"),
        ('{"q1": 5}', "5 of query 'q1' is not a list of groups"),
        ('{"q1": "ab"}', "'ab' of query 'q1' is not a list of groups"),
        ("[1]", "1 is not a group"),
    ],
)
def test_groups_that_are_none(tmp_path, content, message):
    (tmp_path / "groups.json").write_text(content)
    with pytest.raises(InputError, match=message):
        spelled(f"groups:{tmp_path / 'groups.json'}")


GOLD = [{"id": "q1", "question": "Who?", "expected_answer": "Ada Lovelace"}]
LOG = [
    {
        "id": "q1",
        "retrieved": [{"id": "c#1", "text": "nothing"}, {"id": "c#2", "text": "It was Ada Lovelace."}],
    }
]


def test_python_takes_every_spelling_of_the_command_line():
    assert rl.evaluate(GOLD, LOG, "RR", match="text").mean == {"RR": 0.5}
    assert rl.evaluate(GOLD, LOG, "RR", match="text:overlap:0.9").mean == {"RR": 0.5}
    assert rl.evaluate({"q": ["a"]}, {"q": ["b#1", "a#2"]}, "RR", match="parent:#").mean == {"RR": 0.5}
    assert rl.judge({"q": ["a"]}, {"q": ["a#2"]}, match="parent:#").hits.rank.tolist() == [1]
    compared = rl.compare(GOLD, {"one": LOG, "two": [{**LOG[0], "retrieved": []}]}, "RR", match="text")
    assert [scores.mean["RR"] for scores in compared.scores.values()] == [0.5, 0.0]
    assert rl.explain("RR", GOLD, LOG, query="q1", match="text").value == 0.5
    bench = rl.Benchmark(qrels={"Who?": {"a"}}, match="parent:#")
    bench.run("one", lambda text, k: ["a#1"])
    bench.run("two", lambda text, k: [{"from": "a"}], match="field:from")
    assert [one.mean["RR"] for one in bench.evaluate("RR").values()] == [1.0, 1.0]


def test_python_and_the_command_line_name_a_wrong_match_in_their_own_way():
    with pytest.raises(
        InputError, match=r"match='parent': parent needs something after a colon, e\.g\. match=\"parent:#\""
    ):
        rl.evaluate({"q": ["a"]}, {"q": ["a"]}, "RR", match="parent")
    with pytest.raises(InputError, match="match=5 is not allowed; use text such as 'text'"):
        rl.evaluate({"q": ["a"]}, {"q": ["a"]}, "RR", match=5)


def test_golden_sets_of_texts_ask_for_match_text():
    with pytest.raises(InputError, match=r'It has expected texts; .* choose match="text"') as raised:
        rl.evaluate(GOLD, LOG, "RR")
    assert raised.value.spelled(as_option).endswith("choose --match text.")


@pytest.mark.parametrize(
    ("golden", "log", "python", "command"),
    [
        ([{"id": "q", "right": ["a"]}], [], 'columns={"expected": "right"}', "--map expected=right"),
        (
            [{"id": "q", "expected": ["a"]}],
            [{"id": "q", "ours": ["a"]}],
            'columns={"retrieved": "ours"}',
            "--map retrieved=ours",
        ),
        ([{"number": 1, "expected": ["a"]}], [], 'columns={"query": "number"}', "--map query=number"),
    ],
)
def test_errors_of_missing_fields_name_the_option_with_a_field_that_exists(golden, log, python, command):
    with pytest.raises(InputError) as raised:
        rl.evaluate(golden, log, "RR")
    assert python in str(raised.value)
    assert command in raised.value.spelled(as_option)
