"""SVMlight and LETOR files: ``grade qid:7 1:0.3 … # document``; the run is a separate file with one score per line."""

from __future__ import annotations

from functools import partial

import polars as pl

from ranklens.data.files import trec
from ranklens.data.files.blocks import blocks
from ranklens.data.files.sources import PathLike, Source, open_source
from ranklens.data.files.streams import TableStream
from ranklens.errors import InputError

_LINE = r"^\s*([-+]?[0-9]+(?:\.[0-9]*)?)\s+qid:(\S+)[^#]*(?:#\s*(.*?)\s*)?$"


def read_qrels(source: Source) -> pl.DataFrame:
    """Judgments ``query, doc, grade``; a document without a comment is called by its number within the query."""
    parse = partial(trec.parse_block, source, _parse)
    stream = TableStream(source.name, lambda: (partial(parse, block) for block in blocks(source)))
    number = pl.int_range(1, pl.len() + 1).over("query").cast(pl.String)
    return pl.concat(stream).with_columns(pl.col("doc").fill_null(number))


def read_scores(run: PathLike, judged: pl.DataFrame, judgments: str) -> pl.DataFrame:
    """A run from a file with one score for each line of the judgments."""
    source = open_source(run)
    scores = trec.read_fields(source, ("score",), {"score": True})
    if len(scores) != len(judged):
        raise InputError(
            f"{source.name} contains {len(scores):,} scores, but {judgments} {len(judged):,} documents; give one score per line."
        )
    return judged.select("query", "doc").with_columns(scores["score"])


def with_scores(scores: object, judged: pl.DataFrame, judgments: str) -> pl.DataFrame:
    """A run from one score for each line of the judgments: a list, or an array or tensor of one dimension."""
    import numpy as np

    given = scores.detach().cpu() if hasattr(scores, "detach") else scores
    numbers = np.asarray(given, dtype=np.float64).reshape(-1)
    if len(numbers) != len(judged):
        raise InputError(
            f"There are {len(numbers):,} scores, but {judgments} contains {len(judged):,} documents; give one score for each, in the order of its lines."
        )
    return judged.select("query", "doc", pl.Series("score", numbers))


def are_scores(value: object) -> bool:
    """Whether these are plain numbers, one after the other."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(one, (int, float)) for one in value)
    return (
        len(getattr(value, "shape", ())) in (1, 2)
        and hasattr(value, "__array__")
        and not hasattr(value, "columns")
    )


def _parse(content: bytes) -> pl.DataFrame:
    lines = pl.DataFrame({"text": trec.decode(content).split("\n")}).with_row_index("line", 1)
    lines = lines.filter(~pl.col("text").str.contains(r"^\s*(#|$)"))
    fields = lines.with_columns(pl.col("text").str.extract_groups(_LINE).struct.unnest())
    wrong = fields.filter(fields["2"].is_null())
    if len(wrong):
        shown = wrong["text"][0].strip()[:60]
        raise trec.WrongLine(wrong["line"][0], f"expected 'grade qid:… features # document': {shown!r}.")
    document = pl.col("3").str.replace(r"^docid\s*=\s*", "").str.extract(r"^(\S+)")
    return fields.select(query="2", doc=document, grade=pl.col("1").cast(pl.Float64))
