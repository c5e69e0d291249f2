import json

import pytest

from ranklens.data.matching import ByField, ById, ByParent, ByText, Groups, Spans
from ranklens.data.matching.parsing import spelled
from ranklens.errors import InputError


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
    assert message in str(told.value)


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
