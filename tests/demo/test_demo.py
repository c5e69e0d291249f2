"""The demo: a sound test collection, retrievers that do what they say, and files that the other commands read."""

import itertools
import json
import re
import sqlite3
import subprocess
import sys
from collections import Counter

import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.bench.demo import corpus, queries, retrievers, run_demo
from ranklens.cli.main import main

pytestmark = pytest.mark.slow  # six search engines over the whole of Python's documentation


@pytest.fixture(scope="module")
def demo():
    return run_demo(None)


@pytest.fixture(scope="module")
def documents():
    return corpus.build().documents


# --- the corpus ---------------------------------------------------------------------------------------------------


def test_building_the_corpus_prints_nothing_and_leaves_nothing_running():
    code = """
import sys, threading, warnings
from ranklens.bench.demo import corpus
found = corpus.build()
assert threading.enumerate() == [threading.main_thread()], threading.enumerate()
windows = {"tkinter", "turtle", "idlelib", "antigravity", "this", "curses", "readline", "test"}
assert not windows & set(sys.modules), windows & set(sys.modules)
sys.exit(0 if len(found) > 3000 else len(found))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_documents_have_the_names_that_people_know(documents):
    for name in (
        "print", "str.split", "os.path.join", "shutil.copytree", "collections.Counter.most_common", "array.array",
        "getpass.getpass", "argparse.ArgumentParser.add_argument", "FileNotFoundError", "json", "open", "random.choice",
    ):  # fmt: skip
        assert name in documents, name
    assert documents["staticmethod"] != documents["str.maketrans"]  # its own text, not that of its type
    assert "random.Random.choice" not in documents  # a copy of random.choice
    assert not [name for name in documents if re.search(r"(^|\.)_", name)]
    assert min(map(len, documents.values())) >= 10


def test_documents_do_not_depend_on_what_runs_around_them(documents, monkeypatch):
    monkeypatch.setattr("warnings.showwarning", lambda *_: None)
    monkeypatch.setattr("sys.excepthook", lambda *_: None)
    assert corpus.build().documents == documents


def test_without_docstrings_the_demo_says_so():
    done = subprocess.run(
        [sys.executable, "-OO", "-m", "ranklens.cli", "demo", "--full"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "started with -OO" in done.stderr
    assert "Traceback" not in done.stderr


# --- the queries --------------------------------------------------------------------------------------------------


def test_queries_make_a_sound_test_collection():
    asked = queries.load()
    assert len(asked) >= 100
    assert max(Counter(query.id for query in asked).values()) == 1
    assert max(Counter(query.text for query in asked).values()) == 1
    assert {query.type for query in asked} == set(queries.TYPES)
    assert min(Counter(query.type for query in asked).values()) >= 25
    assert {grade for query in asked for grade in query.grades.values()} == {0, 1, 2}
    assert all(any(grade > 0 for grade in query.grades.values()) for query in asked)
    exact = [query for query in asked if 2 in query.grades.values()]
    assert len(exact) >= 2 / 3 * len(asked)


def test_each_name_is_judged_once_for_a_query():
    text = queries.FILE.read_text(encoding="utf-8")
    for block in re.split(r"\n\s*\n", text):
        names = " ".join(line.partition(":")[2] for line in block.splitlines() if line[0] in "012").split()
        assert len(names) == len(set(names)), block.splitlines()[0]


def test_judged_names_exist_and_missing_ones_are_counted(documents):
    asked = queries.load()
    qrels, lacking = queries.present(asked, corpus.Corpus(documents))
    relevant = {name for query in asked for name, grade in query.grades.items() if grade}
    assert len(relevant & set(lacking)) <= (4 if sys.version_info >= (3, 11) else 12), lacking
    assert not {name for grades in qrels.values() for name in grades} - documents.keys()
    _, lacking = queries.present(asked, corpus.Corpus({"shutil.copytree": "Copy."}))
    assert "shutil.copytree" not in lacking
    assert "shutil.copy2" in lacking


def test_queries_are_not_the_documentation_in_other_words(documents):
    """A query must not be the first sentence of its answer; of its longer words few stand there."""
    shares = []
    for query in queries.load():
        words = {word for word in retrievers.words(query.text) if len(word) > 3}
        for name in (name for name, grade in query.grades.items() if grade == 2 and name in documents):
            first = set(retrievers.words(documents[name].partition("\n\n")[0]))
            shares.append(len(words & first) / max(1, len(words)))
    assert sum(shares) / len(shares) < 0.2


# --- the retrievers -----------------------------------------------------------------------------------------------

SMALL = {
    "os.getcwd": "Return the folder in which the process works.",
    "os.chdir": "Change the folder in which the process works.",
    "math.floor": "Round a number down.",
    "math.ceil": "Round a number up.",
    "copying.copies": "Copies of copied things that copy.",
}


def test_stemming_finds_other_forms_of_a_word():
    found, _ = retrievers.build(SMALL)
    assert found["bm25"]("working folders", 5) == []
    assert [name for name, _ in found["bm25-stemmed"]("working folders", 2)] == ["os.chdir", "os.getcwd"]
    assert {name for name, _ in found["trigram"]("working folders", 2)} == {"os.chdir", "os.getcwd"}


@pytest.mark.parametrize("question", ["", "?!", "zzzzzz", '" OR name:*', "NEAR(a b)", "é 漢字", "a" * 10_000])
def test_any_question_gets_an_answer(question):
    found, _ = retrievers.build(SMALL)
    for retriever in found.values():
        assert len(retriever(question, 3)) <= 3


def test_latent_semantics_equal_a_full_svd(documents):
    some = dict(itertools.islice(documents.items(), 0, None, 40))
    ours = retrievers.LatentSemantics(some, dimensions=12)
    weights = ours._weights(
        [Counter(re.findall(r"[^\W_]+", f"{n} {some[n]}".lower())) for n in ours.names]
    ).toarray()
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    _, strength, directions = np.linalg.svd(unit, full_matrices=False)
    projected = np.linalg.norm(ours.basis.T @ directions[:12].T, axis=0)
    # The strongest directions lie in the space found.
    assert projected[:4] == pytest.approx(np.ones(4), abs=1e-3)
    kept = np.linalg.norm(unit @ ours.basis) ** 2
    assert kept == pytest.approx((strength[:12] ** 2).sum(), rel=0.02)


def test_latent_semantics_repeat_themselves(documents):
    some = dict(itertools.islice(documents.items(), 0, None, 20))
    first, second = retrievers.LatentSemantics(some), retrievers.LatentSemantics(some)
    for question in ("open a file", "sort a list", "wait for a thread"):
        assert first(question, 10) == second(question, 10)


def test_reciprocal_rank_fusion_by_hand():
    fused = retrievers.Fusion(lambda *_: [("a", 9.0), ("b", 8.0)], lambda *_: [("b", 1.0), ("c", 0.5)])
    assert fused("?", 3) == [("b", 1 / 62 + 1 / 61), ("a", 1 / 61), ("c", 1 / 62)]


def test_what_sqlite_lacks_is_left_out_and_said(monkeypatch):
    class Without(retrievers.FullText):
        def __init__(self, documents, tokenizer, terms):
            if tokenizer == "trigram":
                raise sqlite3.OperationalError("no such tokenizer: trigram")
            super().__init__(documents, tokenizer, terms)

    monkeypatch.setattr(retrievers, "FullText", Without)
    found, left_out = retrievers.build(SMALL)
    assert list(found) == ["bm25", "bm25-stemmed", "names", "lsa", "fusion"]
    assert left_out == [
        "trigram is left out because this Python's SQLite does not support it (no such tokenizer: trigram)."
    ]


# --- all of it ----------------------------------------------------------------------------------------------------


def test_the_demo_compares_its_retrievers(demo):
    assert demo.comparison.systems == ("bm25", "bm25-stemmed", "trigram", "names", "lsa", "fusion")
    assert len(demo.comparison.query_ids) == len(demo.asked) >= 100
    assert {part.name for part in demo.comparison.slices} == set(queries.TYPES)
    assert not any(result.status["failed"] for result in demo.bench.results.values())
    for system in demo.comparison.systems:
        assert 0.02 < demo.comparison.result("nDCG@10", system).mean < 0.9
    assert demo.summary().startswith(f"{len(demo.documents):,} documents (docstrings of Python 3.")


def test_saved_files_give_the_same_numbers(demo, tmp_path):
    folder = demo.save(tmp_path / "data")
    for system in demo.comparison.systems:
        scores = rl.evaluate(folder, folder / "runs" / f"{system}.txt", ["nDCG@10", "R@100"])
        found = dict(zip(scores.queries, scores["nDCG@10"].tolist(), strict=True))
        row = demo.comparison.systems.index(system)
        for query, value in zip(
            demo.comparison.query_ids, demo.comparison.values("nDCG@10")[row], strict=True
        ):
            assert found[query] == pytest.approx(value, abs=1e-12)
    texts = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    assert texts[0] == {"_id": "copy-folder", "text": "copy a folder with everything inside", "type": "task"}
    assert len(pl.read_ndjson(folder / "corpus.jsonl")) == len(demo.documents)
    assert rl.compare(folder, {"bm25": folder / "runs" / "bm25.txt"}, "RR", by="type", queries=folder).slices


def test_the_command_writes_a_report_and_says_what_to_try(capsys, monkeypatch, tmp_path, demo):
    monkeypatch.setattr("ranklens.bench.demo.run_demo", lambda output: demo.report(output) and demo)
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--full", "--save", "data"]) == 0
    out = capsys.readouterr().out
    assert "<html" in (tmp_path / "ranklens-demo.html").read_text(encoding="utf-8")[:500]
    assert (tmp_path / "ranklens-demo.html").resolve().as_uri() in out
    assert "Verdict" in out
    commands = [line.split()[1:] for line in out.splitlines() if line.startswith("  ranklens ")]
    assert [command[0] for command in commands] == ["compare", "explain", "evaluate"]
    for command in commands:
        assert main(command) == 0, command


def test_mistakes_of_the_command_are_told(capsys, monkeypatch, tmp_path, demo):
    monkeypatch.setattr("ranklens.bench.demo.run_demo", None)  # told before anything runs
    assert main(["demo", "--full", "-o", str(tmp_path / "no" / "folder" / "x.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert main(["demo", "--full", "-o", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert main(["demo", "--full", "-o", str(tmp_path / "x.html"), "--save", str(tmp_path / "file")]) == 2
    assert "is a file" in capsys.readouterr().err
    with pytest.raises(rl.InputError, match="cannot be created"):
        demo.save(tmp_path / "file" / "below")
