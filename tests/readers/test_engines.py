"""Raw responses of engines become ids and scores: recorded from those that run in Python, written after the documentation of others,
and as clients return them."""

import importlib.util
import json
import sqlite3
from collections import UserDict
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from servers import search_server

import ranklens as rl
from ranklens.data.readers.engine_responses import ResponseError
from ranklens.errors import RankLensWarning

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


NEAR, FAR = {"login#2": "7", "billing#1": "8", "team#3": "9"}, [0.02, 0.58, 1.62]
COSINE = [0.99388373, 0.68467550, 0.11043155]
RUNS_HERE = {  # by record_engines.py
    "qdrant_cosine": (NEAR.values(), COSINE),
    "qdrant_euclid": (NEAR.values(), [-(distance**0.5) for distance in FAR]),
    "qdrant_groups": (NEAR.values(), COSINE),
    "qdrant_batch": (NEAR.values(), COSINE),
    "chroma": (NEAR, [-distance for distance in FAR]),
    "milvus_cosine": (NEAR, COSINE),
    "milvus_l2": (NEAR, [-distance for distance in FAR]),
    "lance": (NEAR, [-distance for distance in FAR]),
}


@pytest.mark.parametrize(("name", "expected"), RUNS_HERE.items())
def test_engines_that_run_in_python(name, expected):
    found = rl.hits(recorded(f"recorded/{name}"))
    assert [hit.id for hit in found] == list(expected[0])
    assert [hit.score for hit in found] == pytest.approx(expected[1], abs=1e-6)


@pytest.mark.parametrize(("name", "expected"), RUNS_HERE.items())
def test_engines_as_they_are_installed(name, expected):
    package = {"qdrant": "qdrant_client", "chroma": "chromadb", "milvus": "milvus_lite", "lance": "lancedb"}
    pytest.importorskip(package[name.partition("_")[0]])
    path = Path(__file__).parent / "record_engines.py"
    spec = importlib.util.spec_from_file_location("record_engines", path)
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    found = rl.hits(record.ANSWERS[name]())  # the client's own objects
    assert [hit.id for hit in found] == list(expected[0])
    assert [hit.score for hit in found] == pytest.approx(expected[1], abs=1e-6)
    if name == "lance":
        assert all(rl.hits(record.lance(form)) == found for form in ("to_arrow", "to_pandas", "to_polars"))


ELASTIC = {"Content-Type": "application/json", "X-Elastic-Product": "Elasticsearch"}


def test_elasticsearchs_client():
    elasticsearch = pytest.importorskip("elasticsearch")
    from elasticsearch.dsl import Search

    with search_server(recorded("elasticsearch"), headers=ELASTIC) as server:
        client = elasticsearch.Elasticsearch(server.url)
        assert rl.hits(client.search(index="docs", query={"match_all": {}})) == FOUND["elasticsearch"]
        assert rl.hits(Search(using=client, index="docs").execute()) == FOUND["elasticsearch"]
        client.close()


def test_opensearchs_client():
    opensearch = pytest.importorskip("opensearchpy")
    with search_server(recorded("elasticsearch"), headers=ELASTIC) as server:
        client = opensearch.OpenSearch(server.url)
        assert rl.hits(client.search(index="docs", body={})) == FOUND["elasticsearch"]
        assert rl.hits(opensearch.Search(using=client, index="docs").execute()) == FOUND["elasticsearch"]
        client.close()


def test_pinecones_client():
    pinecone = pytest.importorskip("pinecone")
    asked = {"inputs": {"text": "why?"}, "top_k": 2}
    with search_server(
        lambda request: recorded("pinecone_records" if "search" in request["path"] else "pinecone")
    ) as server:
        index = pinecone.Pinecone(api_key="key").Index(host=server.url)
        assert rl.hits(index.query(vector=[0.1, 0.2], top_k=2)) == FOUND["pinecone"]
        assert rl.hits(index.search_records(namespace="docs", query=asked)) == FOUND["pinecone_records"]


def test_weaviates_objects():
    weaviate = pytest.importorskip("weaviate.collections.classes.internal")

    def answer(**metadata):
        known = weaviate.MetadataReturn(**metadata)
        found = weaviate.Object(
            uuid=UUID(int=7), metadata=known, properties={}, references=None, vector={}, collection="Docs"
        )
        return weaviate.QueryReturn(objects=[found])

    assert rl.hits(answer(distance=0.25)) == [(str(UUID(int=7)), -0.25)]
    assert rl.hits(answer(score=0.75)) == [(str(UUID(int=7)), 0.75)]


class Fields:
    """An object that gives the names of its fields when it is iterated over, as Pinecone's do."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def keys(self):
        return self.__dict__.keys()

    def __iter__(self):
        return iter(self.__dict__)


def test_the_names_of_fields_are_no_hits():
    hits = [SimpleNamespace(id="rec3", score=0.5)]
    assert rl.hits(Fields(result=SimpleNamespace(hits=hits), usage=1)) == [("rec3", 0.5)]
    with pytest.raises(rl.InputError, match="The response is a Fields"):
        rl.hits(Fields(vectors={}, usage=1))


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
