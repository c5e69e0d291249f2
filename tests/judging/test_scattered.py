"""Rows in any order: the same values, and read as seldom as possible."""

import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.data.files.streams import TableStream
from ranklens.data.qrels import Qrels
from ranklens.judging.tables import from_tables
from ranklens.policy import Policy

QUERIES, DEPTH = 60, 200


@pytest.fixture(scope="module")
def collection():
    draw = np.random.default_rng(3)
    run = {
        f"q{q}": {
            f"d{d}": float(s) for d, s in zip(draw.permutation(500)[:DEPTH], draw.random(DEPTH), strict=True)
        }
        for q in range(QUERIES)
    }
    qrels = {q: {f"d{d}": int(draw.integers(0, 4)) for d in draw.permutation(500)[:30]} for q in run}
    return qrels, run


def table(run):
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    return pl.DataFrame(rows, ["query", "doc", "score"], orient="row")


def walked(pieces, qrels):
    """The ranks of the judged documents, and how often the pieces were read."""
    times = []

    def tables():
        times.append(1)
        return (lambda piece=piece: piece for piece in pieces)

    found = from_tables(Qrels(qrels), TableStream("run", tables), Policy())
    order = np.lexsort((found.rank, found.query))
    return [*zip(found.query[order], found.rank[order], found.grade[order], strict=True)], len(times)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_any_order_gives_the_same_ranks(collection, threads, monkeypatch):
    monkeypatch.setenv("RANKLENS_THREADS", threads)
    qrels, run = collection
    grouped = table(run)
    shuffled = grouped.sample(fraction=1, shuffle=True, seed=5)
    pieces = {
        "grouped": list(grouped.iter_slices(3000)),
        "shuffled": list(shuffled.iter_slices(3000)),
        "one piece": [shuffled],
        "grouped, then shuffled": [grouped[:6000], *grouped[6000:].sample(fraction=1, shuffle=True, seed=5).iter_slices(3000)],
        "shuffled, then grouped": [grouped[:6000].sample(fraction=1, shuffle=True, seed=5), *grouped[6000:].iter_slices(3000)],
        "every query again in each piece": [pl.concat([*grouped[::2].iter_slices(2), *grouped[1::2].iter_slices(2)][i::3]) for i in range(3)],
        "a query comes back": [*grouped[50:].iter_slices(3000), grouped[:50]],
    }  # fmt: skip
    found = {name: walked(some, qrels) for name, some in pieces.items()}
    assert all(ranks == found["grouped"][0] for ranks, _ in found.values())
    # Rows that are in any order from the beginning, and those that are grouped, are read once.
    assert {name for name, (_, times) in found.items() if times == 1} >= {"grouped", "shuffled", "one piece"}
    assert found["a query comes back"][1] == 2
    if threads == "1":  # else a later table may be seen first
        assert found["grouped, then shuffled"][1] == found["shuffled, then grouped"][1] + 1 == 2
    assert len(found["grouped"][0]) == rl.judge(qrels, run).hits.rank.size
