"""Makes the answers of engines that run inside of Python: Qdrant, Chroma, Milvus and LanceDB, as their clients return them.

``python tests/readers/record_engines.py`` writes them as JSON to ``engines/recorded/``, with the versions of the packages:
``qdrant-client``, ``chromadb``, ``milvus-lite`` (with ``pymilvus``) and ``lancedb``. Each holds three documents in the plane, and is asked
for what is near to a point.
"""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path

RECORDED = Path(__file__).parent / "engines" / "recorded"
PLACES = {"login#2": (1.0, 0.0), "billing#1": (0.6, 0.8), "team#3": (0.0, 1.0)}
ASKED = [0.9, 0.1]
PACKAGES = ("qdrant-client", "chromadb", "pymilvus", "milvus-lite", "lancedb")


def qdrant(distance="COSINE", ask="query_points"):
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    space = models.VectorParams(size=2, distance=models.Distance[distance])
    client.create_collection("docs", vectors_config=space)
    points = enumerate(PLACES.items(), 7)
    client.upsert(
        "docs",
        [models.PointStruct(id=n, vector=list(at), payload={"doc": doc}) for n, (doc, at) in points],
    )
    if ask == "groups":
        return client.query_points_groups("docs", query=ASKED, group_by="doc", limit=3)
    if ask == "batch":
        return client.query_batch_points("docs", [models.QueryRequest(query=ASKED, limit=3)])
    return client.query_points("docs", query=ASKED, limit=3)


def chroma():
    import chromadb

    client = chromadb.EphemeralClient()
    name = f"docs-{id(object())}"  # clients in memory share their collections
    collection = client.create_collection(name, embedding_function=None)
    collection.add(ids=list(PLACES), embeddings=[list(at) for at in PLACES.values()], documents=list(PLACES))
    return collection.query(query_embeddings=[ASKED], n_results=3)


def milvus(metric="COSINE"):
    from pymilvus import DataType, MilvusClient

    with tempfile.TemporaryDirectory() as folder:
        client = MilvusClient(f"{folder}/milvus.db")
        schema, index = client.create_schema(), client.prepare_index_params()
        schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=50)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
        index.add_index("vector", index_type="FLAT", metric_type=metric)
        client.create_collection("docs", schema=schema, index_params=index)
        client.insert("docs", [{"key": doc, "vector": list(at)} for doc, at in PLACES.items()])
        found = client.search("docs", data=[ASKED], limit=3)
        client.close()
        return found


def lance(form="to_list"):
    import lancedb

    with tempfile.TemporaryDirectory() as folder:
        rows = [{"id": doc, "vector": list(at)} for doc, at in PLACES.items()]
        table = lancedb.connect(folder).create_table("docs", rows)
        return getattr(table.search(ASKED).limit(3), form)()


ANSWERS = {
    "qdrant_cosine": qdrant,
    "qdrant_euclid": lambda: qdrant("EUCLID"),
    "qdrant_groups": lambda: qdrant(ask="groups"),
    "qdrant_batch": lambda: qdrant(ask="batch"),
    "chroma": chroma,
    "milvus_cosine": milvus,
    "milvus_l2": lambda: milvus("L2"),
    "lance": lance,
}


def as_json(answer):
    """What a client returns, as the JSON that is nearest to it."""
    if hasattr(answer, "model_dump"):
        return answer.model_dump(exclude_none=True)
    return [as_json(part) for part in answer] if isinstance(answer, list) else answer


def main():
    RECORDED.mkdir(exist_ok=True)
    contents = {name: as_json(answer()) for name, answer in ANSWERS.items()}
    contents["versions"] = {name: version(name) for name in PACKAGES}
    for name, content in contents.items():
        text = json.dumps(content, indent=1, default=dict) + "\n"
        (RECORDED / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
