"""The documents that the page shows, against whole rankings, under every policy and for every kind of run."""

import random
import warnings

import polars as pl
import pytest

import ranklens as rl
from ranklens.data.run import Run
from ranklens.judging.documents import judgments, ranking
from ranklens.report.drilldown import MISSED, drilldown
from ranklens.report.shortlist import shortlist


def made(seed=3, n=25):
    """Runs of 0 to 60 documents with many ties."""
    draw = random.Random(seed)
    ids = [f"d{i}" for i in range(120)]
    qrels = {f"q{i}": {d: draw.choice([-1, 0, 1, 2]) for d in draw.sample(ids, 12)} for i in range(n)}
    qrels["q3"] = dict.fromkeys(ids, 1)
    runs = {
        name: {q: {d: draw.randint(0, 25) / 2 for d in draw.sample(ids, draw.randint(0, 60))} for q in qrels}
        for name in ("a", "b", "c")
    }
    return qrels, runs


def table(run, names=("query", "doc", "score")):
    rows = [
        (q, d, s) for q, docs in run.items() for d, s in (docs.items() if isinstance(docs, dict) else docs)
    ]
    return pl.DataFrame(
        rows, schema=dict(zip(names, (pl.String, pl.String, pl.Float64), strict=True)), orient="row"
    )


def compared(qrels, runs, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rl.compare(qrels, runs, "P@10", test="t", **options)


def check(comparison, qrels, runs, **options):
    """Every row shown, and every row that has to be."""
    found = drilldown(comparison)
    names = found.documents["doc"].to_list()
    shown = {
        (comparison.query_ids[row["query"]], names[row["number"]]): row
        for row in found.rows.iter_rows(named=True)
    }
    assert len(shown) == len(found.rows)
    gold = {(q, d): g for q, d, g in judgments(qrels).iter_rows()}
    assert {key: row["grade"] for key, row in shown.items()} == {key: gold.get(key) for key in shown}
    for s, run in enumerate(runs.values()):
        whole = {(r["query"], r["doc"]): r for r in ranking(qrels, run, **options).to_dicts()}
        top = {key: r for key, r in whole.items() if r["rank"] <= found.depth}
        assert top.keys() <= shown.keys()
        assert {key: row[f"rank_{s}"] for key, row in shown.items()} == {
            key: whole[key]["rank"] if key in whole else 0 for key in shown
        }
        for key, row in shown.items():
            truth = top.get(key)
            assert (row[f"tied_{s}"], row[f"repeats_{s}"]) == (
                (truth["tied"], truth["repeats"]) if truth else (None, None)
            )
    for query in comparison.query_ids:
        relevant = {key for key, grade in gold.items() if key[0] == query and grade >= 1}
        assert len(relevant & shown.keys()) >= min(len(relevant), MISSED)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ties": "ascending"},
        {"ties": "input"},
        {"ties": "average"},
        {"depth": 7},
        {"depth": 15},
        {"judged_only": True},
        {"judged_only": True, "depth": 20},
        {"missing": "skip"},
        {"empty": "skip"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["dicts", "tables"])
def test_ranks_grades_ties_and_repeats(options, kind):
    qrels, runs = made()
    if kind == "tables":
        runs = {name: table(run) for name, run in runs.items()}
    check(compared(qrels, runs, **options), qrels, runs, **options)


def test_repeated_documents_and_scores_that_are_no_numbers():
    qrels, runs = made()
    rows = {q: [*docs.items(), *list(docs.items())[:3]] for q, docs in runs["a"].items()}
    rows["q1"] += [("odd", float("nan"))]
    runs["a"] = table(rows)
    check(compared(qrels, runs, nan="last"), qrels, runs, nan="last")


@pytest.mark.parametrize("held", [0, 1 << 22], ids=["read twice", "held"])
def test_files_whose_queries_stand_apart(held, tmp_path, monkeypatch):
    monkeypatch.setattr("ranklens.report.drilldown.HELD", held)
    qrels, runs = made()
    paths = {}
    for name, run in runs.items():
        rows = table(run).sample(fraction=1, shuffle=True, seed=1)
        paths[name] = tmp_path / f"{name}.txt"
        paths[name].write_text(
            "".join(f"{q} Q0 {d} 1 {s} {name}\n" for q, d, s in rows.iter_rows()), encoding="utf-8"
        )
    check(compared(qrels, paths), qrels, paths)


def test_tables_with_names_of_their_own():
    qrels, runs = made()
    columns = {"query": "frage", "doc": "antwort", "score": "wert", "grade": "note"}
    named = {name: table(run, ("frage", "antwort", "wert")) for name, run in runs.items()}
    gold = judgments(qrels).rename({"query": "frage", "doc": "antwort", "grade": "note"})
    check(compared(gold, named, columns=columns), qrels, runs)


def test_a_short_list_holds_the_first_documents_and_their_ties():
    _, runs = made(seed=8, n=60)
    for run in runs.values():
        for k in (1, 2, 10, 60, 100):
            kept = {(q, d) for q, d, _ in shortlist(Run(run), k).iter_rows()}
            for query, docs in run.items():
                bar = sorted(docs.values(), reverse=True)[min(k, len(docs)) - 1] if docs else 0
                assert {d for q, d in kept if q == query} == {d for d, score in docs.items() if score >= bar}


def test_scores_that_were_made_from_the_order_are_not_shown():
    """Lists, and files of ranks whose repeated or unjudged documents leave gaps."""
    qrels = {f"q{i}": {"b": 1, "e": 1, "c": 0} for i in range(4)}
    lists = {q: ["a", "b", "c", "d", "e"] for q in qrels}
    repeated = {"query": [], "doc": [], "rank": []}
    for q in qrels:
        for rank, doc in enumerate(["a", "a", "b", "c", "b", "e"], 1):
            for name, value in zip(repeated, (q, doc, rank), strict=True):
                repeated[name].append(value)
    scored = {q: {"a": 0, "b": -1, "c": -1.5} for q in qrels}
    low = {q: {"a": -20, "b": -30, "c": -31} for q in qrels}
    runs = {"lists": lists, "ranks": pl.DataFrame(repeated), "scored": scored, "low": low}
    assert list(drilldown(compared(qrels, runs)).scored) == [2, 3]
    assert list(drilldown(compared(qrels, {"lists": lists, "scored": scored}, judged_only=True)).scored) == [
        1
    ]
