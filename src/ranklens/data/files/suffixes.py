"""Which suffix means which format, and which ones mean that a file is compressed."""

from __future__ import annotations

import os
from pathlib import PurePath

TABLES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_OTHERS = (
    *WORKBOOKS,
    ".json",
    ".txt",
    ".trec",
    ".run",
    ".res",
    ".out",
    ".dat",
    ".qrels",
    ".svm",
    ".svmlight",
    ".letor",
)
PACKINGS = (".gz", ".zst", ".xz", ".bz2")


def suffix_of(name: PurePath) -> str:
    """The suffix that says the format, in lower case.

    >>> suffix_of(PurePath("run.CSV.gz")), suffix_of(PurePath("run"))
    ('.csv', '')
    """
    inner = PurePath(name.stem) if name.suffix.lower() in PACKINGS else name
    return inner.suffix.lower()


def names_of_path(value: object) -> tuple[str, ...]:
    """What a file may be called: its path, its name, and its name without what says the format; nothing for anything else.

    >>> names_of_path("logs/a.jsonl.gz")
    ('logs/a.jsonl.gz', 'a.jsonl.gz', 'a')
    """
    if not isinstance(value, (str, os.PathLike)):
        return ()
    path = os.fspath(value)
    return path, PurePath(path).name, name_of_file(path)


def name_of_file(path: str) -> str:
    """The name without what says the format; other dots belong to it.

    >>> name_of_file("runs/bm25.txt.gz"), name_of_file("bm25-v1.2.parquet"), name_of_file("input.mine")
    ('bm25', 'bm25-v1.2', 'input.mine')
    """
    name = PurePath(path)
    name = name.with_suffix("") if name.suffix.lower() in PACKINGS else name
    return name.stem if name.suffix.lower() in (*TABLES, *_OTHERS) else name.name
