"""Models evaluated without a run: embeddings, arrays of scores, and measures inside training loops.

``embeddings`` ranks by vectors; ``training`` holds evaluators, callbacks and metrics for training libraries.
"""
