"""How retrievers are called, and how ids are read out of what they return. Look-alikes stand for the libraries' objects."""

import asyncio
import functools
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from ranklens.data.readers.retrieved import Reading, ReadingError
from ranklens.errors import InputError
from ranklens.retrieval.adapters import adapt


def called(retriever, **options):
    """What adapt hands to the retriever when it is called with "why?" and k = 3."""
    return adapt(retriever, k=3, **options).call("why?")


class Invokes:
    def invoke(self, input, config=None, **kwargs):  # noqa: A002
        return [input, config, kwargs]

    async def ainvoke(self, input, config=None, **kwargs):  # noqa: A002
        return [input, config, kwargs]

    def batch(self, inputs, config=None):
        return [[text] for text in inputs]


class Retrieves:
    def retrieve(self, str_or_query_bundle):
        return [str_or_query_bundle]

    async def aretrieve(self, str_or_query_bundle):
        return [str_or_query_bundle]


class Runs:
    def run(self, query, filters=None, top_k=None):
        return {"documents": [query, top_k]}


class Searches:
    def search(self, q, k=10):
        return [q, k]


class OnlyAsync:
    async def ainvoke(self, text):
        return [text]


class Called:
    def __call__(self, text, limit):
        return [text, limit]


class CalledOrSearched:
    def __call__(self, text):
        return ["called", text]

    def search(self, vector):
        raise AssertionError


class CalledAsync:
    async def __call__(self, text):
        return [text]


@pytest.mark.parametrize(
    ("retriever", "expected"),
    [
        (lambda text: [text], ["why?"]),
        (lambda text, k: [text, k], ["why?", 3]),
        (lambda text, k=10: [text, k], ["why?", 3]),
        (lambda text, *, top_k=10: [text, top_k], ["why?", 3]),
        (lambda text, filters=None, limit=10: [text, filters, limit], ["why?", None, 3]),
        (lambda text, how_many: [text, how_many], ["why?", 3]),
        (lambda text, config=None: [text, config], ["why?", None]),
        (lambda text, **kwargs: [text, kwargs], ["why?", {}]),
        (lambda *texts: list(texts), ["why?"]),
        (lambda *, query, top_k: [query, top_k], ["why?", 3]),
        (functools.partial(lambda index, text, k: [index, text, k], "index"), ["index", "why?", 3]),
        (Searches().search, ["why?", 3]),
        (Invokes(), ["why?", None, {}]),
        (Retrieves(), ["why?"]),
        (Runs(), {"documents": ["why?", 3]}),
        (Searches(), ["why?", 3]),
        (Called(), ["why?", 3]),
        (CalledOrSearched(), ["called", "why?"]),
        (str.split, ["why?"]),
    ],
)
def test_every_shape_is_called_with_the_text_and_k_where_it_takes_one(retriever, expected):
    assert called(retriever) == expected


@pytest.mark.parametrize("retriever", [Invokes().ainvoke, Retrieves().aretrieve, OnlyAsync(), CalledAsync()])
def test_asynchronous_callables_are_known_as_such(retriever):
    caller = adapt(retriever)
    assert caller.is_async
    assert asyncio.run(caller.call("why?"))[0] == "why?"


def test_an_object_with_both_is_called_synchronously():
    assert not adapt(Invokes()).is_async
    assert not adapt(Retrieves()).is_async


@pytest.mark.parametrize(
    "retriever",
    [lambda text: [], Invokes(), Retrieves(), lambda text, config=None: []],
)
def test_who_is_not_told_k(retriever):
    assert not adapt(retriever).told_k


@pytest.mark.parametrize("retriever", [lambda text, k: [], lambda text, n: [], Runs(), Searches()])
def test_who_is_told_k(retriever):
    assert adapt(retriever).told_k


def test_batches_are_asked_for_or_annotated():
    def annotated(texts: list[str], k: int):
        return [[text] * k for text in texts]

    def as_text(texts: "Sequence[str]"):  # noqa: F821
        return [[text] for text in texts]

    assert adapt(annotated).batch_size == adapt(as_text).batch_size == 32
    assert adapt(annotated, batch_size=5).batch_size == 5
    assert adapt(annotated, k=2).call(["a", "b"]) == [["a", "a"], ["b", "b"]]
    assert adapt(lambda texts: texts, batch_size=8).batch_size == 8
    assert adapt(lambda texts: texts).batch_size is None
    assert adapt(Invokes(), batch_size=4).call(["a", "b"]) == [["a"], ["b"]]


def one_text(text: str):
    return [text]


@pytest.mark.parametrize(
    ("retriever", "options", "message"),
    [
        (Searches, {}, "is the class Searches; pass an instance"),
        (7, {}, "is an int, which cannot be called"),
        ({"q1": ["d1"]}, {}, "is a dict.*call compare"),
        (SimpleNamespace(run=lambda data: {}), {}, None),
        (one_text, {"batch_size": 4}, r"one_text takes a single text \(text: str\)"),
        (Retrieves(), {"batch_size": 4}, r"Retrieves has no \.batch"),
        (one_text, {"batch_size": 0}, "batch_size=0 is not allowed"),
        (lambda *, embedding: [], {}, "has no parameter for the query text"),
        (lambda: ["d1"], {}, r"<lambda>\(\) cannot be called with \(text\): too many positional arguments"),
        (
            lambda text, k, index: [],
            {},
            r"cannot be called with \(text, k=10\): missing a required argument: 'index'",
        ),
        (
            lambda text, one, two: [],
            {},
            r"cannot be called with \(text, 10\): missing a required argument: 'two'",
        ),
    ],
)
def test_what_is_no_retriever_is_refused(retriever, options, message):
    if message is None:
        assert adapt(retriever).call("why?") == {}
        return
    with pytest.raises(InputError, match=message):
        adapt(retriever, **options)


def test_a_component_that_takes_no_query_is_refused():
    class Embeds:
        def run(self, query_embedding, top_k=10):
            return {"documents": []}

    with pytest.raises(
        InputError, match=r"Embeds\.run\(query_embedding, top_k\) has no parameter for the query text"
    ):
        adapt(Embeds())


@dataclass
class Document:  # as LangChain's and Haystack's
    id: str | None = None
    page_content: str = ""
    metadata: dict = field(default_factory=dict)
    score: float | None = None


class Hit(NamedTuple):
    docid: str
    score: float


NODE = SimpleNamespace(node=SimpleNamespace(node_id="d1"), score=0.5)


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (["d1", "d2"], ("d1", "d2")),
        (("d1", "d2"), ("d1", "d2")),
        ([7, 8], ("7", "8")),
        ([], ()),
        ([("d1", 0.9), ("d2", 0.8)], ("d1", "d2")),
        ([["d1", 0.9]], ("d1",)),
        ([("d1",), ("d2",)], ("d1", "d2")),
        ([Hit("d1", 2.0)], ("d1",)),
        ([{"id": "d1"}, {"id": "d2", "score": 1}], ("d1", "d2")),
        ([{"_id": "d1", "_score": 2.0}], ("d1",)),
        ([{"docno": "d1"}], ("d1",)),
        ([Document("d1"), Document("d2")], ("d1", "d2")),
        ([(Document("d1"), 0.5)], ("d1",)),
        ([NODE], ("d1",)),
        ([{"document": {"id": "d1"}, "score": 1.0}], ("d1",)),
        ([SimpleNamespace(uuid=UUID(int=1))], ("00000000-0000-0000-0000-000000000001",)),
        ({"documents": [Document("d1")]}, ("d1",)),
        ({"results": [{"id": "d1"}]}, ("d1",)),
        ({"hits": {"total": 1, "hits": [{"_id": "d1"}]}}, ("d1",)),
        (
            {"ids": [["d1", "d2"]], "documents": [["text", "more text"]], "distances": [[0.1, 0.2]]},
            ("d1", "d2"),
        ),
        (SimpleNamespace(matches=[{"id": "d1"}]), ("d1",)),
        (SimpleNamespace(points=[SimpleNamespace(id=3, score=0.2)]), ("3",)),
        (SimpleNamespace(body={"hits": {"hits": [{"_id": "d1"}]}}), ("d1",)),
        ({"d2": 0.1, "d1": 0.9}, ("d1", "d2")),
        ({}, ()),
        (np.array(["d1", "d2"]), ("d1", "d2")),
        (np.array([4, 5]), ("4", "5")),
        (pd.DataFrame({"docno": ["d1", "d2"], "score": [2.0, 1.0]}), ("d1", "d2")),
        ((doc for doc in ["d1", "d2"]), ("d1", "d2")),
        ({"d1": None, "d2": None}.keys(), None),
    ],
)
def test_ids_are_found(value, ids):
    if ids is None:  # the keys of a dict are a set to Python, though they have an order
        with pytest.raises(ReadingError, match="has no order"):
            Reading(10).read(value)
        return
    assert Reading(10).read(value).ids == ids


def test_scores_are_kept_where_there_are_any():
    for answer in (
        [("d1", 0.9), ("d2", float("nan"))],
        {"d1": 0.9, "d2": float("nan")},
        [{"id": "d1", "score": 0.9}, {"id": "d2", "score": float("nan")}],
        {"hits": {"hits": [{"_id": "d1", "_score": 0.9}, {"_id": "d2", "_score": float("nan")}]}},
    ):
        with pytest.raises(ReadingError, match=r"is not a number \(NaN\), so it has no rank"):
            Reading(5).read(answer)
    assert Reading(5).read([Document("d1", score=0.25), Document("d2")]).scores == (0.25, None)
    assert Reading(5).read([("d1", 0.25), ("d2", None)]) == (("d1", "d2"), (0.25, None), False)
    assert Reading(5).read(["d1"]).scores is None
    assert Reading(5, score_from="metadata.s").read([Document("d1", metadata={"s": 3})]).scores == (3.0,)
    assert Reading(5, score_from=lambda d: 7).read(["d1"]).scores == (7.0,)


def test_the_order_is_that_of_the_list_whatever_the_scores_say():
    """Distances grow, rerankers leave old scores behind."""
    assert Reading(5).read([("d1", 0.1), ("d2", 0.9)]).ids == ("d1", "d2")


def test_ids_from_elsewhere():
    found = [
        Document(None, metadata={"source": "a.pdf", "page": {"n": 4}}),
        Document(None, metadata={"source": "b.pdf"}),
    ]
    assert Reading(5, id_from="metadata.source").read(found).ids == ("a.pdf", "b.pdf")
    assert Reading(5, id_from=lambda d: d.metadata["source"][0]).read(found).ids == ("a", "b")
    assert Reading(5, id_from="metadata.source").read([(found[0], 0.3)]).ids == ("a.pdf",)
    assert Reading(5, id_from="1").read([(0.5, "d1", "text")]).ids == ("d1",)
    assert Reading(5, id_from="a.b").read([{"a.b": "d1"}]).ids == ("d1",)


def test_an_item_without_an_id_keeps_its_rank_and_matches_nothing():
    found = [Document(None, metadata={"source": "a"}), Document(None)]
    assert Reading(5, id_from="metadata.source").read(found).ids == ("a", "<no-id-2>")
    assert Reading(5).read([None, "d1"]).ids == ("<no-id-1>", "d1")


def test_more_than_k_is_cut_and_said():
    assert Reading(2).read(["a", "b"]) == (("a", "b"), None, False)
    assert Reading(2).read(["a", "b", "c"]) == (("a", "b"), None, True)
    endless = (f"d{i}" for i in iter(int, 1))
    assert Reading(2).read(Reading(2).collect(endless)).cut


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("d1", {}, r"returned a str: 'd1'; it should be a list of ids"),
        (b"d1", {}, "returned bytes"),
        (7, {}, "returned an int: 7"),
        ({"d1", "d2"}, {}, "has no order; return a list"),
        ({"answer": "forty-two"}, {}, "returned a dict.*documents"),
        (object(), {}, "returned an object"),
        ([0.5, 0.25], {}, "is a float: 0.5, which is neither text"),
        ([True], {}, "a bool"),
        ([{"id": {"a": 1}}], {}, "is a dict.* neither text"),
        ([{"id": object()}], {}, "is an object.* neither text"),
        (
            [Document(None, metadata={"source": "a"})],
            {},
            r'none of id, .*id_from="metadata.source".*It has metadata.source, ',
        ),
        ([Document(None)], {"id_from": "metadata.sorce"}, "id_from='metadata.sorce' finds nothing"),
        ([(0.5, "d1", "text")], {}, 'id_from="1"'),
        ([{"text": "no id"}], {"id_from": lambda item: item["id"]}, "id_from failed with KeyError"),
        ([[1, 2, 3], [4, 5, 6]], {}, "have no ids"),
    ],
)
def test_what_cannot_be_read_says_what_came_and_what_to_do(value, options, message):
    with pytest.raises(ReadingError, match=message):
        Reading(10, **options).read(value)


def test_a_broken_repr_does_not_hide_the_message():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    with pytest.raises(ReadingError, match="returned a Broken"):
        Reading(10).read(Broken())
