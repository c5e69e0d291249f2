"""What tasks tell of their queries, before it is added up on the driver."""

import numpy as np
import pytest

import ranklens as rl
from ranklens.data.readers.mappings import Place
from ranklens.spark.facts import Facts
from ranklens.spark.gold import Dicts


def test_ids_of_any_type_are_examples():
    told = [Facts(first={"repeated in qrels": place}) for place in (Place(np.int64(7), "q1"), Place("a", 2))]
    assert (told[0] + told[1]).first == (told[1] + told[0]).first
    read = [Facts.from_json(facts.to_json()).first["repeated in qrels"] for facts in told]
    assert [(str(place.document), str(place.query)) for place in read] == [("7", "q1"), ("a", "2")]


def test_queries_that_are_the_same_as_text_are_refused():
    assert list(Dicts({1: {"a": 1}, "2": {"b": 1}}).judgments) == ["1", "2"]
    with pytest.raises(rl.InputError, match="1 and '1' among the queries are the same id"):
        Dicts({1: {"a": 1}, "1": {"b": 1}})
