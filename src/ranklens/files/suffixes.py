"""Which suffix means which format, and which ones mean that a file is compressed."""

from __future__ import annotations

from pathlib import PurePath

TABLES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
_PACKINGS = (".gz", ".zst", ".xz", ".bz2")


def suffix_of(name: PurePath) -> str:
    """The suffix that says the format, in lower case.

    >>> suffix_of(PurePath("run.CSV.gz")), suffix_of(PurePath("run"))
    ('.csv', '')
    """
    inner = PurePath(name.stem) if name.suffix.lower() in _PACKINGS else name
    return inner.suffix.lower()
