"""Real retrievers, end to end: SQLite's full-text search always; LangChain, LlamaIndex and Haystack where they are installed."""

import asyncio
import math
import sqlite3

import pytest

import ranklens as rl

CORPUS = {
    "peru": "Lima is the capital of Peru and lies on the Pacific coast.",
    "france": "Paris is the capital of France, on the river Seine.",
    "emma": "Emma is a novel by Jane Austen about youthful hubris.",
    "pride": "Pride and Prejudice is a novel of manners by Jane Austen.",
    "everest": "Mount Everest is the highest mountain above sea level.",
    "k2": "K2 is the second highest mountain on Earth.",
    "python": "Python is a programming language with dynamic types.",
    "snake": "The python is a large snake that is not venomous.",
}
GOLD = [
    {"id": "q1", "question": "capital Peru", "relevant": ["peru"], "kind": "place"},
    {"id": "q2", "question": "novel Austen Emma", "relevant": {"emma": 2, "pride": 1}, "kind": "book"},
    {"id": "q3", "question": "highest mountain", "relevant": {"everest": 2, "k2": 1}, "kind": "place"},
    {"id": "q4", "question": "python snake", "relevant": ["snake"], "kind": "animal"},
    {"id": "q5", "question": "quantum chromodynamics", "relevant": ["qcd"], "kind": "science"},
]


@pytest.fixture
def database():
    with sqlite3.connect(":memory:") as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE docs USING fts5(id UNINDEXED, text, tokenize='porter')")
        except sqlite3.OperationalError:
            pytest.skip("this Python's SQLite was built without FTS5")
        connection.executemany("INSERT INTO docs VALUES (?, ?)", CORPUS.items())
        yield connection
    connection.close()


def matching(connection, operator):
    def search(text, k):
        words = f" {operator} ".join(text.split())
        sql = "SELECT id, rank FROM docs WHERE docs MATCH ? ORDER BY rank LIMIT ?"
        return connection.execute(sql, (words, k)).fetchall()

    return search


def test_sqlite_full_text_search_end_to_end(database, tmp_path):
    bench = rl.Benchmark(GOLD, store=tmp_path / "store", corpus=CORPUS)
    bench.run("any word", matching(database, "OR"), k=5)
    bench.run("all words", matching(database, "AND"), k=5)
    assert bench.results["any word"].status == {"ok": 4, "empty": 1, "failed": 0}
    scores = bench.evaluate("RR, R@5, nDCG@5")
    # "any word" finds everything there is, but the short K2 before Everest; "all words" misses Pride and Prejudice.
    second = 1 / math.log2(3)
    swapped, missing = (1 + 2 * second) / (2 + second), 2 / (2 + second)
    assert scores["any word"].mean == pytest.approx({"RR": 0.8, "R@5": 0.8, "nDCG@5": (3 + swapped) / 5})
    assert scores["all words"].mean == pytest.approx(
        {"RR": 0.8, "R@5": 0.7, "nDCG@5": (2 + swapped + missing) / 5}
    )
    compared = bench.compare("R@5", baseline="all words", by="kind")
    assert compared.pair("R@5", "all words", "any word").wins == 1
    assert not compared.pair("R@5", "all words", "any word").significant
    paths = bench.save_runs(tmp_path / "runs")
    assert rl.evaluate(bench.qrels, paths["any word"], "nDCG@5").mean == {
        "nDCG@5": scores["any word"].mean["nDCG@5"]
    }
    database.execute("DROP TABLE docs")
    again = rl.Benchmark(GOLD, store=tmp_path / "store")
    assert again.run("any word", matching(database, "OR"), k=5).run == bench.results["any word"].run


def test_sqlite_tells_when_it_is_called_from_another_thread(database):
    bench = rl.Benchmark(GOLD)
    with pytest.warns(
        rl.RankLensWarning, match="SQLite objects created in a thread can only be used in that same thread"
    ):
        bench.run("any word", matching(database, "OR"), k=5, concurrency=2)


def test_an_embedding_model_in_batches():
    """Latent semantic analysis: dense vectors that need no download."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import normalize

    model = make_pipeline(TfidfVectorizer(), TruncatedSVD(5, random_state=0))
    vectors = normalize(model.fit_transform(CORPUS.values()))

    def nearest(texts: list[str], k: int):
        similarities = normalize(model.transform(texts)) @ vectors.T
        return [
            sorted(zip(CORPUS, row.tolist(), strict=True), key=lambda pair: -pair[1])[:k]
            for row in similarities
        ]

    bench = rl.Benchmark(GOLD)
    found = bench.run("lsa", nearest, k=3, batch_size=2, concurrency=2)
    assert found.status == {"ok": 5, "empty": 0, "failed": 0}
    alone = dict(zip(bench.queries, nearest(list(bench.queries.values()), 3), strict=True))
    expected = rl.evaluate(bench.qrels, alone, "nDCG@3, RR").mean
    assert bench.evaluate("nDCG@3, RR")["lsa"].mean == pytest.approx(expected)
    assert expected["RR"] >= 0.5


def one_query(text, relevant):
    bench = rl.Benchmark()
    bench.add_query("q", text, relevant)
    return bench


def everywhere(bench, name, retriever, **options):
    """The ids it finds, called here, in threads, and from a running loop."""
    found = [
        bench.run(name, retriever, **options),
        bench.run(name, retriever, **options, concurrency=2, timeout=60),
        asyncio.run(bench.arun(name, retriever, **options)),
    ]
    assert [one.status["ok"] for one in found] == [1, 1, 1], found[0].failures or found[1].failures
    assert len({one.answers["q"].ids for one in found}) == 1
    return found[0].answers["q"].ids


@pytest.mark.filterwarnings("ignore")
def test_langchain():
    reason = "langchain-core is not installed; scripts/test --all installs it"
    pytest.importorskip("langchain_core", reason=reason)
    from langchain_core.documents import Document
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents(
        [
            Document(id=doc, page_content=text, metadata={"source": f"{doc}.txt"})
            for doc, text in CORPUS.items()
        ]
    )
    bench = one_query(CORPUS["emma"], {"emma"})
    retriever = store.as_retriever(search_kwargs={"k": 3})
    ids = everywhere(bench, "vectors", retriever)
    assert ids[0] == "emma"
    assert len(ids) == 3
    assert everywhere(bench, "asynchronous", retriever.ainvoke) == ids
    assert everywhere(bench, "batches", retriever, batch_size=2) == ids
    assert everywhere(bench, "sources", retriever, id_from="metadata.source")[0] == "emma.txt"
    assert everywhere(bench, "pairs", store.similarity_search_with_score, k=3) == ids
    assert everywhere(bench, "chain", RunnableLambda(lambda text: retriever.invoke(text)[:2])) == ids[:2]

    class Own(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(page_content=query, metadata={"source": "a"})]

    assert everywhere(bench, "own", Own(), id_from="metadata.source") == ("a",)
    with pytest.raises(rl.InputError, match=r'id_from="metadata\.source"'):
        bench.run("own", Own())


@pytest.mark.filterwarnings("ignore")
def test_llama_index():
    reason = "llama-index-core is not installed; scripts/test --all installs it"
    pytest.importorskip("llama_index.core", reason=reason)
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [TextNode(id_=doc, text=text, metadata={"file": f"{doc}.md"}) for doc, text in CORPUS.items()]
    retriever = VectorStoreIndex(nodes, embed_model=MockEmbedding(8)).as_retriever(similarity_top_k=3)
    bench = one_query("Emma", {"emma"})
    ids = everywhere(bench, "vectors", retriever)
    assert len(set(ids) & set(CORPUS)) == 3
    assert everywhere(bench, "asynchronous", retriever.aretrieve) == ids
    assert everywhere(bench, "files", retriever, id_from="node.metadata.file") == tuple(
        f"{doc}.md" for doc in ids
    )

    class Own(BaseRetriever):
        def _retrieve(self, query_bundle):
            return [NodeWithScore(node=nodes[2], score=0.5), NodeWithScore(node=nodes[0], score=0.25)]

    assert everywhere(bench, "own", Own()) == ("emma", "peru")
    assert bench.results["own"].answers["q"].scores == (0.5, 0.25)


@pytest.mark.filterwarnings("ignore")
def test_haystack():
    reason = "haystack-ai is not installed; scripts/test --all installs it"
    pytest.importorskip("haystack", reason=reason)
    from haystack import Document, Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents(
        [Document(id=doc, content=text, meta={"file": doc[0]}) for doc, text in CORPUS.items()]
    )
    retriever = InMemoryBM25Retriever(store)
    bench = one_query("novel Austen Emma", {"emma", "pride"})
    ids = everywhere(bench, "bm25", retriever, k=2)
    assert ids == ("emma", "pride")
    assert bench.results["bm25"].told_k
    assert bench.results["bm25"].answers["q"].scores is not None
    assert everywhere(bench, "asynchronous", retriever.run_async, k=2) == ids
    assert everywhere(bench, "field", retriever, k=2, id_from="meta.file") == ("e", "p")
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    with pytest.raises(rl.InputError, match="has no parameter for the query text"):
        bench.run("pipeline", pipeline)
    wrapped = everywhere(
        bench,
        "pipeline",
        lambda text, k: pipeline.run({"retriever": {"query": text, "top_k": k}})["retriever"],
        k=2,
    )
    assert wrapped == ids
