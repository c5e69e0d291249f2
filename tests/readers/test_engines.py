"""Raw responses of engines, written after their documentation and as their clients return them, become ids and scores."""

import json
import sqlite3
from collections import UserDict
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

import ranklens as rl
from ranklens.errors import RankLensWarning
from ranklens.readers.engines import ResponseError

RECORDED = Path(__file__).parent / "engines"


def recorded(name):
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


FOUND = {
    "elasticsearch": [("0", 1.3862942), ("5", 0.6931471)],
    "opensearch_sorted": [("32437", None), ("83798", None)],
    "solr": [("0553293354", 5.1), ("0812550706", 2.25)],
    "solr_grouped": [("SOLR1000", None), ("VS1GB400C3", None), ("VDBDB1A16", None)],
    "vespa": [("a-head-full-of-dreams", 0.16343879032006287), ("hardwired::live", 0.08)],
    "vespa_nothing": [],
    "qdrant_query": [("4", 1.362), ("5c56c793-69f3-4fbf-87e6-c4bf54c28c26", 1.273)],
    "qdrant_search": [("10", 0.81), ("14", 0.75)],
    "weaviate_distance": [
        ("e76ec9ae-1b84-3995-939a-1365b2215312", -0.15422738),
        ("a2d51619-dd22-337a-8950-e1a407dab3d2", -0.15683109),
    ],
    "weaviate_hybrid": [
        ("e76ec9ae-1b84-3995-939a-1365b2215312", 0.016393442),
        ("a2d51619-dd22-337a-8950-e1a407dab3d2", 0.016129032),
    ],
    "chroma": [("id1", -1.0404009819030762), ("id2", -1.2430799007415771)],
    "pinecone": [("C", -1.76717265e-07), ("B", -0.080000028)],
    "pinecone_records": [("rec3", 0.11741558462381363), ("rec2", 0.0971)],
    "milvus_cosine": [("551", 0.08821295201778412), ("296", 0.0800950899720192), ("43", 0.0749)],
    "milvus_rest_l2": [("448300048035776800", -0.25), ("448300048035776801", -0.75)],
    "pgvector_rows": [("12", -0.5), ("7", -1.25)],
}
ERRORS = {
    "elasticsearch_error": r"an error instead of hits: no such index \[docs\]\.",
    "vespa_error": "Could not parse yql",
    "qdrant_error": "Collection `docs` doesn't exist",
    "weaviate_error": "fail with status 500",
    "milvus_error": "can't find collection",
}


def test_every_recording_is_used():
    assert {path.stem for path in RECORDED.glob("*.json")} == {*FOUND, *ERRORS}


@pytest.mark.parametrize(("name", "expected"), FOUND.items())
def test_recorded_responses(name, expected):
    assert rl.hits(recorded(name)) == expected
    ids = [doc for doc, _ in expected]
    bench = rl.Benchmark({"q": "why?"})
    bench.run(name, lambda text: recorded(name), k=10)  # a retriever may return it as it is
    assert bench.results[name].run["q"] == ids


@pytest.mark.parametrize(("name", "message"), ERRORS.items())
def test_errors_of_engines_are_told(name, message):
    with pytest.raises(ResponseError, match=message):
        rl.hits(recorded(name))


def weaviate_object(uuid, **metadata):
    everything = {"distance": None, "certainty": None, "score": None, "rerank_score": None, **metadata}
    return SimpleNamespace(uuid=UUID(int=uuid), metadata=SimpleNamespace(**everything), properties={})


class MilvusHit(UserDict):
    """As pymilvus 2.6 has it: under the name of the primary key, and as an attribute."""

    @property
    def id(self):
        return self["pk"]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (SimpleNamespace(body=recorded("elasticsearch"), meta=None), FOUND["elasticsearch"]),
        (SimpleNamespace(status_code=200, json=lambda: recorded("solr")), FOUND["solr"]),
        (SimpleNamespace(status_code=200, json=recorded("vespa")), FOUND["vespa"]),
        ({"took": 5, "responses": [recorded("elasticsearch")]}, FOUND["elasticsearch"]),
        (SimpleNamespace(docs=[{"id": "a", "score": 2.0}], hits=1), [("a", 2.0)]),
        (SimpleNamespace(points=[SimpleNamespace(id=4, score=0.5, payload={})]), [("4", 0.5)]),
        (SimpleNamespace(matches=[SimpleNamespace(id="A", score=0.5)], namespace=""), [("A", 0.5)]),
        (
            SimpleNamespace(objects=[weaviate_object(1, distance=0.1), weaviate_object(2, distance=0.3)]),
            [(str(UUID(int=1)), -0.1), (str(UUID(int=2)), -0.3)],
        ),
        (SimpleNamespace(objects=[weaviate_object(1, score=0.7)]), [(str(UUID(int=1)), 0.7)]),
        ([[MilvusHit(pk=9, distance=0.5, entity={})]], [("9", -0.5)]),
        ([(3, 0.2), (1, 0.7)], [("3", -0.2), ("1", -0.7)]),  # psycopg: id, embedding <-> query
        ([(3, 0.7), (1, 0.2)], [("3", 0.7), ("1", 0.2)]),
        ([SimpleNamespace(id=3, distance=0.2)], [("3", -0.2)]),  # SQLAlchemy
        ({"ids": ["a"], "distances": [0.5]}, [("a", -0.5)]),
        ({"error": 0.5, "code": 0.25}, [("error", 0.5), ("code", 0.25)]),  # documents, by score
        ({"documents": [{"id": "a"}], "errors": ["slow"]}, [("a", None)]),  # not an engine's
        ([], []),
    ],
)
def test_clients_and_rows(response, expected):
    assert rl.hits(response) == expected


def test_rows_that_are_neither_dicts_nor_tuples():
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    rows = connection.execute("select 7 as id, 'text' as body, 0.5 as distance").fetchall()
    assert rl.hits(rows) == [("7", -0.5)]
    connection.close()


def test_ids_and_scores_from_elsewhere():
    response = recorded("elasticsearch")
    assert [hit.id for hit in rl.hits(response, id_from="_source.sku")] == ["B-7", "A-1"]
    assert rl.hits(response, id_from="_source.sku", score_from="_source.rank", k=1) == [("B-7", None)]
    assert [hit.id for hit in rl.hits(recorded("chroma"), id_from="metadata.source")] == [
        "florida.txt",
        "hawaii.txt",
    ]
    # What the caller points at is taken as it is.
    assert rl.hits(recorded("pgvector_rows"), score_from="distance")[0].score == 0.5


@pytest.mark.parametrize(
    "response",
    [
        {"responses": [recorded("elasticsearch")] * 2},
        {"ids": [["a"], ["b"]], "distances": [[0.1], [0.2]]},
        [[{"id": 1, "distance": 0.1}], [{"id": 2, "distance": 0.1}]],
    ],
)
def test_results_of_several_queries_are_refused(response):
    with pytest.raises(ResponseError, match="results of 2 queries; pass those of one at a time"):
        rl.hits(response)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"timed_out": True}, "it ran out of time"),
        ({"_shards": {"total": 5, "failed": 2}}, "2 shards failed"),
    ],
)
def test_incomplete_responses_are_used_with_a_warning(change, words):
    with pytest.warns(RankLensWarning, match=f"incomplete.*{words}"):
        assert rl.hits({**recorded("elasticsearch"), **change}) == FOUND["elasticsearch"]


def test_what_is_no_response_says_so():
    with pytest.raises(rl.InputError, match="The response is a str"):
        rl.hits("d1 d2")
