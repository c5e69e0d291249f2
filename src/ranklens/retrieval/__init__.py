"""From a retriever to answers: adapters for every shape, calls with time-outs and retries, and a store on disk.

:class:`~ranklens.retrieval.benchmark.Benchmark` is the way in.
"""
