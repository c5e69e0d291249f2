"""What tracing and evaluation platforms export: spans of production traffic as runs, and datasets as judgments.

``spans`` reads a span in any of its shapes, ``runs`` makes runs of them, ``datasets`` makes judgments of datasets.
"""
