"""Benchmarks described in a file, and the one that comes with RankLens.

``config`` reads the file and carries it out; ``demo`` brings documents, queries and retrievers of its own.
"""
