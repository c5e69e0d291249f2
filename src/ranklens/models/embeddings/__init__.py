"""What models give, evaluated without a run: embeddings of queries and documents, and arrays of scores.

The rank of a judged document is one plus the number of documents that score higher. So a block of scores is computed, compared
and thrown away: no top-k, any depth, memory of one block. Products are taken in the precision that is fast; what lies within
their rounding error of a judged document is scored again in float64, so the ranks are those of float64.
:func:`~ranklens.models.embeddings.evaluation.evaluate_embeddings` and :func:`~ranklens.models.embeddings.score_arrays.evaluate_scores` are the ways in.
"""
