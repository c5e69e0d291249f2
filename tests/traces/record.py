"""Makes the spans in ``recorded/`` that frameworks really write: LangChain, LlamaIndex and Haystack, instrumented by OpenInference.

``python tests/traces/record.py`` writes ``langchain.jsonl``, ``llama_index.jsonl`` and ``haystack.jsonl`` (what OpenTelemetry's SDK writes), the
same spans of LlamaIndex as OTLP (``llama_index.otlp.json``), spans with OpenTelemetry's own attributes (``gen_ai.otlp.json``), and
``versions.json``. It needs ``opentelemetry-sdk``, ``opentelemetry-exporter-otlp-proto-common``, ``langchain-core``, ``llama-index-core``,
``haystack-ai`` and ``openinference-instrumentation-`` for the three of them. The documents are those of an imaginary help centre.
"""

import json
import re
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
DOCUMENTS = {
    "login#2": "You log in with your work address.",
    "billing#1": "Invoices are sent on the first of every month.",
    "team#3": "Admins see the invoices of their team.",
}
QUESTION, LOGIN, BROKEN = "When are invoices sent?", "Who can log in?", "Can I pay in bitcoin?"
SCORES = (0.83, 0.81, 0.7)
PACKAGES = (
    "opentelemetry-sdk",
    "opentelemetry-semantic-conventions",
    "langchain-core",
    "llama-index-core",
    "haystack-ai",
    "openinference-instrumentation-langchain",
    "openinference-instrumentation-llama-index",
    "openinference-instrumentation-haystack",
)


def recorded(instrumentor, work):
    """The spans that ``work`` leaves, as objects of the SDK."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    if instrumentor is not None:
        instrumentor.instrument(tracer_provider=provider)
    try:
        work(provider.get_tracer("help-centre"))
    finally:
        if instrumentor is not None:
            instrumentor.uninstrument()
    return exporter.get_finished_spans()


def langchain_spans():
    """A chain that rewrites the question, a call without a chain, and a call that fails."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda
    from openinference.instrumentation.langchain import LangChainInstrumentor

    class HelpCentre(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            if query == BROKEN:
                raise TimeoutError("upstream")
            return [
                Document(id=doc, page_content=text, metadata={"source": f"{doc[:-2]}.md"})
                for doc, text in DOCUMENTS.items()
            ]

    def work(_):
        chain = RunnableLambda(lambda asked: asked["question"].lower()) | HelpCentre()
        chain.invoke({"question": QUESTION})
        HelpCentre().invoke(LOGIN)
        with suppress(TimeoutError):
            HelpCentre().invoke(BROKEN)

    return recorded(LangChainInstrumentor(), work)


def llama_index_spans():
    """A query engine with a retriever and a reranker, which turns the first two around; and a call that fails."""
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.llms import MockLLM
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers.no_text import NoText
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    class Turned(BaseNodePostprocessor):
        """Tells of itself as LlamaIndex's own rerankers do."""

        def _postprocess_nodes(self, nodes, query_bundle=None):
            events = get_dispatcher("help-centre")
            events.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=2, model_name="turned"))
            ranked = [NodeWithScore(node=nodes[at].node, score=score) for at, score in ((1, 0.9), (0, 0.4))]
            events.event(ReRankEndEvent(nodes=ranked))
            return ranked

    class HelpCentre(BaseRetriever):
        def _retrieve(self, query_bundle):
            if query_bundle.query_str == BROKEN:
                raise TimeoutError("upstream")
            nodes = [TextNode(id_=doc, text=text) for doc, text in DOCUMENTS.items()]
            return [NodeWithScore(node=node, score=score) for node, score in zip(nodes, SCORES, strict=True)]

    def work(_):
        engine = RetrieverQueryEngine(HelpCentre(), NoText(llm=MockLLM()), node_postprocessors=[Turned()])
        engine.query(QUESTION)
        with suppress(TimeoutError):
            engine.query(BROKEN)

    return recorded(LlamaIndexInstrumentor(), work)


def haystack_spans():
    """A pipeline of keyword search and a ranker by a field, which turns the two results around."""
    from haystack import Document, Pipeline
    from haystack.components.rankers import MetaFieldRanker
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from openinference.instrumentation.haystack import HaystackInstrumentor

    def work(_):
        store = InMemoryDocumentStore()
        numbered = enumerate(DOCUMENTS.items())
        store.write_documents([Document(id=doc, content=text, meta={"n": n}) for n, (doc, text) in numbered])
        pipeline = Pipeline()
        pipeline.add_component("retriever", InMemoryBM25Retriever(store))
        pipeline.add_component("ranker", MetaFieldRanker("n", weight=1.0))
        pipeline.connect("retriever.documents", "ranker.documents")
        pipeline.run({"retriever": {"query": "invoices sent", "top_k": 2}})

    return recorded(HaystackInstrumentor(), work)


def gen_ai_spans():
    """OpenTelemetry's own attributes, by the names in its package; documents as a list and, as older SDKs need it, as JSON."""
    from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai

    found = [{"id": doc, "score": score} for doc, score in zip(DOCUMENTS, SCORES, strict=True)]

    def work(tracer):
        for question, documents in ((QUESTION, found), (LOGIN, json.dumps(found[:1]))):
            with tracer.start_as_current_span("retrieval help-centre") as span:
                span.set_attribute(gen_ai.GEN_AI_OPERATION_NAME, "retrieval")
                span.set_attribute(gen_ai.GEN_AI_DATA_SOURCE_ID, "help-centre")
                span.set_attribute(gen_ai.GEN_AI_RETRIEVAL_QUERY_TEXT, question)
                span.set_attribute(gen_ai.GEN_AI_RETRIEVAL_DOCUMENTS, documents)

    return recorded(None, work)


def sdk_json(spans):
    """One span per line, as ``ReadableSpan.to_json`` writes it."""
    return "".join(_without_paths(span.to_json(indent=None)) + "\n" for span in spans)


def otlp_json(spans):
    """One request of OTLP over HTTP, as collectors write it to files: ids in hexadecimal digits."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    request = MessageToDict(encode_spans(spans))
    listed = [span for part in request["resourceSpans"] for s in part["scopeSpans"] for span in s["spans"]]
    for encoded, span in zip(listed, spans, strict=True):
        encoded["traceId"] = f"{span.context.trace_id:032x}"
        encoded["spanId"] = f"{span.context.span_id:016x}"
        if span.parent is not None:
            encoded["parentSpanId"] = f"{span.parent.span_id:016x}"
    return _without_paths(json.dumps(request)) + "\n"


def _without_paths(text):
    """Tracebacks without the folders of this machine."""
    return re.sub(r'File \\"[^"]*?([^/"\\]+)\\"', r'File \\"\1\\"', text)


def main():
    llama_index, gen_ai = llama_index_spans(), gen_ai_spans()
    contents = {
        "langchain.jsonl": sdk_json(langchain_spans()),
        "llama_index.jsonl": sdk_json(llama_index),
        "llama_index.otlp.json": otlp_json(llama_index),
        "haystack.jsonl": sdk_json(haystack_spans()),
        "gen_ai.otlp.json": otlp_json(gen_ai),
        "versions.json": json.dumps({name: version(name) for name in PACKAGES}, indent=1) + "\n",
    }
    for name, content in contents.items():
        (RECORDED / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
