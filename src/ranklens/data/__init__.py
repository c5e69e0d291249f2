"""Everything that users hand in: files, Python objects, exported traces, and how retrieved items match judged ones.

Judgments become :class:`~ranklens.data.qrels.Qrels` and rankings :class:`~ranklens.data.run.Run` here, once.
"""
