"""Benchmarks described in a file, and the one that comes with RankLens.

``config`` reads the file and carries it out; ``demo`` has its own documents, queries and retrievers.
"""
