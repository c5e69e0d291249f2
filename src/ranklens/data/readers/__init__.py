"""Python objects → judgments and runs: mappings, tables of any library, and records of RAG tools.

Files are read by :mod:`ranklens.data.files`.
"""
