"""Asks retrievers and keeps their answers; :class:`~ranklens.retrieval.benchmark.Benchmark` is the way in.

- ``judged_queries``: what is asked, and what is relevant.
- ``session``: one retriever, all queries. ``store``: answers on disk.
- ``adapters``: how to call a retriever.
- ``calling``: many calls at once, by ``workers`` on ``loops``.
- ``answers``: what came back, per query and in total. ``scores``: how good that is.
- ``fingerprints``: what stored answers depend on. ``ages``: how old they are.
- ``agreement`` and ``sheets``: what can be said and done before anything is judged.
"""
