"""Attempts to pass a gate that must not pass, to overwrite what was read, and to freeze what measured nothing.

Each attempt is one row: its name, what is tried, and the status and message that stop it (1 for a failed rule, 2 for misuse).
"""

import json
import math
import os
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from command_line import run

import ranklens as rl
from ranklens.data.matching import ByParent, ByText
from ranklens.errors import RankLensError
from ranklens.guard import Baseline
from ranklens.scores import Values
from ranklens.scores.history import Record

pytest_plugins = ["pytester"]
QUERIES = [f"q{i}" for i in range(40)]
QRELS = {query: {"a": 1} for query in QUERIES}
GOLDEN = [{"id": q, "question": f"What is {q}?", "relevant_ids": ["a"], "type": "easy" if i else "hard"} for i, q in enumerate(QUERIES)]  # fmt: skip
SEARCH = "def search(text, k=10):\n    return ['a']\n"


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def logged(queries, docs=("a",), **more):
    return jsonl({"id": query, "retrieved": list(docs), **more} for query in queries)


def trec(queries, doc="a"):
    return "".join(f"{query} Q0 {doc} 1 1.0 mine\n" for query in queries)


def golden(**changes):
    return jsonl({**row, **changes} for row in GOLDEN)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with judgments, good and bad runs and logs, and a baseline."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKLENS_HISTORY", str(tmp_path / "history.db"))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    texts = {
        "golden.jsonl": golden(),
        "qrels.txt": "".join(f"{query} 0 a 1\n" for query in QUERIES),
        "good.txt": trec(QUERIES),
        "bad.txt": trec(QUERIES, "b"),
        "few.txt": trec(QUERIES[:10]),
        "good.jsonl": logged(QUERIES, latency_s=0.1),
        "bad.jsonl": logged(QUERIES, ["b"], latency_s=0.1),
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    Baseline({"run": Record.of(rl.evaluate("qrels.txt", "good.txt", "RR"), "run")}).write(Path("base.json"))
    return tmp_path


class Attempt(NamedTuple):
    """A call of the command by files, after some files were written."""

    name: str
    arguments: str
    status: int
    message: str
    files: dict[str, Any] = {}  # noqa: RUF012  a tuple's default


# What a run or a log says, against judgments.
FILES = [
    Attempt("a rule that fails", "'RR >= 0.9' --qrels qrels.txt --run bad.txt", 1, "RR of mine: 0.0000 < required 0.9"),
    Attempt("one good run next to a bad one", "'RR >= 0.9' --qrels qrels.txt --run good.txt --run worse=bad.txt", 1, "RR of worse"),
    Attempt("two runs of one name", "'RR >= 0.9' --qrels qrels.txt --run a=bad.txt --run a=good.txt", 2, "'a'"),
    Attempt("a run of a few queries", "'RR >= 0.9' --qrels qrels.txt --run few.txt", 1, "RR of mine: 0.2500"),
    Attempt("a few queries, skipping the others", "'RR >= 0.9' --qrels qrels.txt --run few.txt --missing skip", 2, "only 10 of 40 queries"),
    Attempt("a few queries against a baseline", "'RR drop <= 2%' --qrels qrels.txt --run few.txt --missing skip --baseline base.json", 2, "another policy"),
    Attempt("a few queries in common", "'RR drop <= 2%' --qrels qrels.txt --run few.txt --missing skip --common --baseline base.json", 2, "another policy"),
    Attempt("missing queries where lower is better", "'RankingLoss <= 0.1' --qrels graded.txt --run one.txt", 1, "RankingLoss of mine", {"graded.txt": "".join(f"{q} 0 a 1\n{q} 0 b 0\n" for q in QUERIES), "one.txt": trec(QUERIES[:30]) + trec(QUERIES[:30], "b")}),
    Attempt("an empty run", "'RR >= 0.9' --qrels qrels.txt --run empty.txt", 2, "empty.txt", {"empty.txt": ""}),
    Attempt("a run of other queries", "'RR >= 0.9' --qrels qrels.txt --run other.txt --missing skip", 2, "", {"other.txt": trec(f"x{q}" for q in QUERIES)}),
    Attempt("the judgments as the run", "'RR >= 0.9' --qrels qrels.txt --run qrels.txt", 2, "qrels.txt"),
    Attempt("a link to the judgments as the run", "'RR >= 0.9' --qrels qrels.csv --run link.csv", 2, "link.csv", {"qrels.csv": "query,doc,grade\n" + "".join(f"{q},a,1\n" for q in QUERIES), "link.csv": None}),
    Attempt("the golden set as the log", "'RR >= 0.9' --qrels golden.jsonl --run golden.jsonl", 2, "golden.jsonl"),
    Attempt("an empty golden set", "'RR >= 0.9' --qrels empty.jsonl --run good.jsonl", 2, "empty.jsonl", {"empty.jsonl": ""}),
    Attempt("a golden set that expects nothing", "'RR >= 0.9' --qrels none.jsonl --run good.jsonl", 2, "", {"none.jsonl": golden(relevant_ids=[])}),
    Attempt("nothing is expected, and that counts as 1", "'RR >= 0.9' --qrels none.jsonl --run good.jsonl --empty one", 2, "", {"none.jsonl": golden(relevant_ids=[])}),
    Attempt("only irrelevant documents are judged, and that counts as 1", "'RR >= 0.9' --qrels zero.txt --run bad.txt --empty one", 2, "relevant", {"zero.txt": "".join(f"{q} 0 a 0\n" for q in QUERIES)}),
    Attempt("only irrelevant documents are judged, and that is skipped", "'RR >= 0.9' --qrels zero.txt --run bad.txt --empty skip", 2, "", {"zero.txt": "".join(f"{q} 0 a 0\n" for q in QUERIES)}),
    Attempt("a level that no grade reaches, and that counts as 1", "'RR >= 0.9' --qrels qrels.txt --run bad.txt --rel 3 --empty one", 2, "relevant"),
    Attempt("a level in the rule that no grade reaches, and that counts as 1", "'RR(rel=3) >= 0.9' --qrels qrels.txt --run bad.txt --empty one", 2, "relevant"),
    Attempt("an expected id without letters", "'RR >= 0.9' --qrels blank.jsonl --run blank-log.jsonl", 2, "", {"blank.jsonl": golden(relevant_ids=[""]), "blank-log.jsonl": logged(QUERIES, [""])}),
    Attempt("an expected text without words", "'RR >= 0.9' --qrels blank.jsonl --run words.jsonl --match text", 2, "", {"blank.jsonl": golden(relevant_ids=None, expected_answer=["…"]), "words.jsonl": logged(QUERIES, ["some words … here"])}),
    Attempt("an expected text that is empty", "'RR >= 0.9' --qrels blank.jsonl --run words.jsonl --match text", 2, "", {"blank.jsonl": golden(relevant_ids=None, expected_answer=[""]), "words.jsonl": logged(QUERIES, ["some words here"])}),
    Attempt("an expected text that every substring holds", "'RR >= 0.9' --qrels blank.jsonl --run words.jsonl --match text:substring", 2, "", {"blank.jsonl": golden(relevant_ids=None, expected_answer=[" "]), "words.jsonl": logged(QUERIES, ["some words here"])}),
    Attempt("a threshold that everything reaches", "'RR >= 0.9' --qrels texts.jsonl --run words.jsonl --match text:overlap:0", 2, "0", {"texts.jsonl": golden(relevant_ids=None, expected_answer=["other"]), "words.jsonl": logged(QUERIES, ["some words here"])}),
    Attempt("empty ids on both sides, in JSON", "'RR >= 0.9' --qrels empty.json --run empty.json", 2, "", {"empty.json": json.dumps({q: {"": 1} for q in QUERIES})}),
    Attempt("empty ids on both sides, by query", "'RR >= 0.9' --qrels empty.json --run log.json", 2, "is empty", {"empty.json": json.dumps({q: {"": 1} for q in QUERIES}), "log.json": json.dumps({q: {"": 0.5} for q in QUERIES})}),
    Attempt("nulls on both sides", "'RR >= 0.9' --qrels null.jsonl --run null-log.jsonl", 2, "", {"null.jsonl": golden(relevant_ids=[None]), "null-log.jsonl": logged(QUERIES, [None])}),
    Attempt("scores that are no numbers", "'RR >= 0.9' --qrels qrels.txt --run nan.txt", 2, "nan", {"nan.txt": trec(QUERIES).replace("1.0", "nan")}),
    Attempt("a log that says every call failed", "'RR >= 0.0001' 'failed <= 99%' --qrels golden.jsonl --run failed.jsonl", 1, "40 calls failed: down", {"failed.jsonl": jsonl({"id": q, "error": "down"} for q in QUERIES)}),
    Attempt("failed calls that are not logged", "'failed <= 0' --qrels golden.jsonl --run part.jsonl", 1, "failed calls of part: 2", {"part.jsonl": logged(QUERIES[2:])}),
    Attempt("a percentile of some calls", "'p95 <= 200ms' --qrels golden.jsonl --run part.jsonl", 2, "does not say how long", {"part.jsonl": logged(QUERIES[:39], latency_s=0.1) + logged(QUERIES[39:])}),
    Attempt("a percentile of fast failures", "'p95 <= 200ms' --qrels golden.jsonl --run part.jsonl", 2, "only 6 of 40 queries", {"part.jsonl": logged(QUERIES[:6], latency_s=0.1) + jsonl({"id": q, "error": "down", "latency_s": 0.001} for q in QUERIES[6:])}),
    Attempt("a percentile of failures alone", "'p95 <= 200ms' --qrels golden.jsonl --run part.jsonl", 2, "does not say how long", {"part.jsonl": logged(QUERIES[:6]) + jsonl({"id": q, "error": "down", "latency_s": 0.001} for q in QUERIES[6:])}),
    Attempt("a percentile of a run", "'p95 <= 200ms' --qrels qrels.txt --run good.txt", 2, "is a run"),
    Attempt("failed calls of a run", "'failed <= 0' --qrels qrels.txt --run good.txt", 2, "is a run"),
    Attempt("negative times", "'p95 <= 200ms' --qrels golden.jsonl --run back.jsonl", 2, "a time is a number from 0", {"back.jsonl": logged(QUERIES, latency_s=-1)}),
    Attempt("a floor with confidence on two queries", "'RR >= 0.9 @ 95%' --qrels two.txt --run good.txt", 1, "UNDECIDED", {"two.txt": "q0 0 a 1\nq1 0 a 1\n"}),
    Attempt("a drop with confidence in one cluster", "'RR drop <= 5% @ 95%' --qrels golden.jsonl --run run=almost.jsonl --baseline same.json --cluster all", 1, "UNDECIDED", {"golden.jsonl": golden(all="x"), "almost.jsonl": logged(QUERIES[1:]) + logged(QUERIES[:1], ["b", "a"]), "same.json": ("golden.jsonl", "good.jsonl")}),
    Attempt("a floor with confidence in one cluster", "'RR >= 0.5 @ 95%' --qrels golden.jsonl --run good.jsonl --cluster all", 1, "UNDECIDED", {"golden.jsonl": golden(all="x")}),
    Attempt("a slice that does not exist", "'RR[type=hardest] >= 0.9' --qrels golden.jsonl --run good.jsonl", 2, "no query has type=hardest"),
    Attempt("a field that does not exist", "'RR[kind=hard] >= 0.9' --qrels golden.jsonl --run good.jsonl", 2, "kind"),
    Attempt("an empty slice", "'RR[type=] >= 0.9' --qrels golden.jsonl --run good.jsonl", 2, "no query has type="),
    Attempt("a slice, left out", "'RR[type=hard] >= 0.9' --qrels golden.jsonl --run part.jsonl --missing skip", 2, "no query has type=hard", {"part.jsonl": logged(QUERIES[1:])}),
    Attempt("a slice without its queries' table", "'RR[type=hard] >= 0.9' --qrels qrels.txt --run good.txt", 2, "needs the field 'type'"),
    Attempt("the same rule twice", "'RR >= 0.9' 'RR >= 0.9' --qrels qrels.txt --run bad.txt", 1, "2 of 2 verdicts"),
    Attempt("a mild rule after a strict one", "'RR >= 0.9' 'RR >= 0.0001' --qrels qrels.txt --run few.txt", 1, "1 of 2 verdicts"),
    Attempt("two judgments, of which one counts", "'RR >= 0.9' --qrels other.txt --qrels qrels.txt --run good.txt", 2, "--qrels", {"other.txt": "q0 0 b 1\n"}),
    Attempt("two baselines, of which one counts", "'RR drop <= 2%' --qrels qrels.txt --run run=bad.txt --baseline base.json --baseline worse.json", 2, "--baseline", {"worse.json": ("qrels.txt", "few.txt")}),
    Attempt("two configurations, of which one counts", "--config bad.yaml --config good.yaml", 2, "--config", {"bad.yaml": "data: {qrels: qrels.txt, runs: {m: bad.txt}}\ngates: [RR >= 0.9]\n", "good.yaml": "data: {qrels: qrels.txt, runs: {m: good.txt}}\ngates: [RR >= 0.9]\n"}),
    Attempt("no rule", "--qrels qrels.txt --run good.txt", 2, "no rule"),
    Attempt("a blank rule", "' ' --qrels qrels.txt --run good.txt", 2, "is not a rule"),
    Attempt("two rules in one", "'RR >= 0.1, P@1 >= 0.9' --qrels qrels.txt --run bad.txt", 2, "0.1"),
    Attempt("two rules in one line", "'RR >= 0.1\nP@1 >= 0.9' --qrels qrels.txt --run bad.txt", 2, ""),
    Attempt("a comment for a limit", "'RR >= 0.0 # 0.9' --qrels qrels.txt --run bad.txt", 2, "is not a rule"),
    Attempt("a sum", "'num_ret >= 1' --qrels qrels.txt --run bad.txt", 2, "is not a mean"),
    Attempt("a count of relevant documents", "'num_rel >= 1' --qrels qrels.txt --run bad.txt", 2, "is not a mean"),
    Attempt("a relevance level that all documents reach", "'P(rel=0)@1 >= 0.9' --qrels qrels.txt --run bad.txt", 2, "rel"),
    Attempt("a policy that all documents reach", "'P@1 >= 0.9' --qrels qrels.txt --run bad.txt --rel 0", 2, "rel"),
    Attempt("a cutoff of nothing", "'P@0 >= 0.9' --qrels qrels.txt --run bad.txt", 2, "@0"),
    Attempt("a floor below what tables show", "'RR >= 0.00001' --qrels qrels.txt --run bad.txt", 1, "RR of mine"),
    Attempt("a share for a floor", "'RR >= 90%' --qrels qrels.txt --run bad.txt", 2, "write 0.9"),
    Attempt("the wrong way around", "'RR <= 0.9' --qrels qrels.txt --run bad.txt", 2, "write >="),
    Attempt("an unknown measure", "'RRR >= 0.9' --qrels qrels.txt --run bad.txt", 2, "RRR"),
    Attempt("undecided, by a spelling", "'RR >= 0.9' --qrels qrels.txt --run bad.txt --undecided passed", 2, "passed"),
    Attempt("no share to be checked", "'RR >= 0.9' --qrels qrels.txt --run few.txt --missing skip --min-checked 0", 2, "not allowed"),
    Attempt("an infinite share", "'RR >= 0.9' --qrels qrels.txt --run few.txt --missing skip --min-checked nan", 2, "not allowed"),
    Attempt("an explicit format that is not the run's", "'RR >= 0.9' --qrels qrels.txt --run bad.txt --run-format csv", 2, ""),
    Attempt("a run cut in the middle", "'RR >= 0.9' --qrels qrels.txt --run cut.txt", 2, "cut.txt", {"cut.txt": trec(QUERIES)[:-9]}),
    Attempt("a folder for a run", "'RR >= 0.9' --qrels qrels.txt --run folder", 2, "folder", {"folder/x.md": "x"}),
    # Baselines.
    Attempt("no baseline", "'RR drop <= 2%' --qrels qrels.txt --run bad.txt", 2, "needs a baseline"),
    Attempt("a baseline that is not there", "'RR drop <= 2%' --qrels qrels.txt --run bad.txt --baseline none.json", 2, "there is no baseline yet"),
    Attempt("a folder for a baseline", "'RR drop <= 2%' --qrels qrels.txt --run bad.txt --baseline .", 2, "cannot be read"),
    Attempt("nothing for a baseline", "'RR drop <= 2%' --qrels qrels.txt --run bad.txt --baseline /dev/null", 2, "not a baseline"),
    Attempt("the run for a baseline", "'RR drop <= 2%' --qrels qrels.txt --run bad.txt --baseline bad.txt", 2, "not a baseline"),
    Attempt("a baseline with other measures", "'P@1 drop <= 2%' --qrels qrels.txt --run run=bad.txt --baseline base.json", 2, "has no P@1"),
    Attempt("a baseline with other queries", "'RR drop <= 2%' --qrels less.txt --run run=bad.txt --baseline base.json", 2, "1 query gone", {"less.txt": "".join(f"{q} 0 a 1\n" for q in QUERIES[1:])}),
    Attempt("a baseline with other judgments", "'RR drop <= 2%' --qrels other.txt --run run=bad.txt --baseline base.json", 2, "1 query with other judgments", {"other.txt": "q0 0 b 1\n" + "".join(f"{q} 0 a 1\n" for q in QUERIES[1:])}),
    Attempt("judgments of other documents, in common", "'RR drop <= 2%' --qrels other.txt --run run=bad.txt --baseline base.json --common", 2, "other queries or judgments", {"other.txt": "".join(f"{q} 0 b 1\n" for q in QUERIES)}),
    Attempt("a baseline with another policy", "'RR drop <= 2%' --qrels qrels.txt --run run=bad.txt --baseline base.json --depth 5", 2, "another policy"),
    Attempt("a baseline with another matching", "'RR drop <= 2%' --qrels golden.jsonl --run run=good.jsonl --match parent:# --baseline base.json", 2, "another policy"),
    Attempt("a baseline that was edited", "'RR drop <= 2%' --qrels qrels.txt --run run=bad.txt --baseline edited.json", 2, "changed by hand", {"edited.json": ("qrels.txt", "good.txt", lambda text: text.replace(", 1.0]", ", 0.0]"))}),
    Attempt("a baseline of zeros", "'RR drop <= 2%' --qrels both.txt --run run=bad.txt --baseline zero.json", 2, "can never fail", {"both.txt": "".join(f"{q} 0 a 1\n{q} 0 b 0\n" for q in QUERIES), "zero.json": ("both.txt", "bad.txt")}),
    Attempt("a baseline of version 2", "'RR drop <= 2%' --qrels qrels.txt --run run=bad.txt --baseline two.json", 2, "version 2", {"two.json": ("qrels.txt", "good.txt", lambda text: text.replace('"format_version": 1', '"format_version": 2'))}),
    Attempt("an entry of the history that is not there", "'RR drop <= 2%' --qrels qrels.txt --run bad.txt --baseline history:last", 2, "history"),
    Attempt("a history without a name", "'RR drop <= 2%' --qrels qrels.txt --run bad.txt --baseline history:", 2, "there is no history yet"),
    # --update.
    Attempt("freeze results of a few queries", "'RR drop <= 2%' --qrels qrels.txt --run few.txt --baseline new.json --update", 2, "30 of 40 queries of mine were not answered"),
    Attempt("freeze zeros", "'RR drop <= 2%' --qrels qrels.txt --run bad.txt --baseline new.json --update", 2, "can never fail"),
    Attempt("freeze into nothing", "'RR drop <= 2%' --qrels qrels.txt --run good.txt --baseline /dev/null --update", 2, "/dev/null"),
    Attempt("freeze into a stream", "'RR drop <= 2%' --qrels qrels.txt --run good.txt --baseline - --update", 2, "-"),
    Attempt("freeze into a folder", "'RR drop <= 2%' --qrels qrels.txt --run good.txt --baseline . --update", 2, "folder"),
    Attempt("freeze into the history", "'RR drop <= 2%' --qrels qrels.txt --run good.txt --baseline history:last --update", 2, "--update writes a file"),
    Attempt("freeze without a file", "'RR drop <= 2%' --qrels qrels.txt --run good.txt --update", 2, "--update writes a file"),
    Attempt("freeze what fails its floor", "'RR >= 0.9' 'RR drop <= 2%' --qrels qrels.txt --run half.txt --baseline new.json --update", 1, "RR of mine", {"half.txt": trec(QUERIES[:20]) + trec(QUERIES[20:], "b")}),
    Attempt("freeze failed calls", "'failed <= 0' 'RR drop <= 2%' --qrels golden.jsonl --run part.jsonl --baseline new.json --update", 1, "failed calls", {"part.jsonl": logged(QUERIES[1:])}),
]  # fmt: skip


@pytest.mark.parametrize("attempt", FILES, ids=lambda attempt: attempt.name)
def test_files(place, capsys, attempt):
    for name, text in attempt.files.items():
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        if text is None:
            path.symlink_to("qrels.csv")
        elif isinstance(text, tuple):
            qrels, log, *change = text
            Baseline({"run": Record.of(rl.evaluate(qrels, log, "RR"), "run")}).write(path)
            for one in change:
                path.write_text(one(path.read_text()))
        else:
            path.write_text(text)
    before = kept(place)
    status, out, err = run(capsys, "gate", *shlex.split(attempt.arguments))
    assert status == attempt.status, out + err
    assert attempt.message in " ".join((out + err).split())
    assert kept(place) == before


def kept(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".db"}


class Configured(NamedTuple):
    """A configuration that is gated by ``ranklens gate --config`` and by ``ranklens bench``."""

    name: str
    yaml: str
    status: int
    message: str
    code: str = SEARCH
    options: str = ""
    commands: tuple = ("gate", "bench")


def of_search(gates, **more):
    """A configuration that asks ``search`` and checks these gates."""
    return f"data: {{queries: golden.jsonl}}\nretrievers: [{{name: mine, retriever: 'SEARCH:search'}}]\nretrieval_metrics: {{enabled_metrics: [RR]}}\n{gates}\n"


def of_runs(gates, runs="{mine: bad.txt}"):
    return (
        f"data: {{qrels: qrels.txt, runs: {runs}}}\nretrieval_metrics: {{enabled_metrics: [RR]}}\n{gates}\n"
    )


WRONG = SEARCH.replace("'a'", "'b'")
DOWN = "def search(text, k=10):\n    raise RuntimeError('the index is gone')\n"
CONFIGURED = [
    Configured("a retriever that is wrong", of_search("gates: [RR >= 0.9]"), 1, "RR of mine: 0.0000", WRONG),
    Configured("a retriever that always fails", of_search("gates: [RR drop <= 2%]\nbaseline: other").replace("retrievers: [", "retrievers: [{name: other, retriever: 'SEARCH:search'}, "), 2, "the index is gone", DOWN),
    Configured("a retriever that always fails, and is slow enough", of_search("gates: [failed <= 99%]"), 2, "the index is gone", DOWN),
    Configured("a retriever that returns nothing", of_search("gates: [RR >= 0.9]"), 1, "RR of mine: 0.0000", "def search(text, k=10):\n    return []\n"),
    Configured("a retriever that returns None", of_search("gates: [RR >= 0.0001]"), 2, "", "def search(text, k=10):\n    return None\n"),
    Configured("a retriever that returns ids that are None", of_search("gates: [RR >= 0.1]"), 2, "have no ids", "def search(text, k=10):\n    return [None, (None, 1.0)]\n"),
    Configured("a retriever whose scores are no numbers", of_search("gates: [RR >= 0.1]"), 2, "NaN", "def search(text, k=10):\n    return [('a', float('nan'))]\n"),
    Configured("a retriever that returns more than it is asked for", of_search("gates: ['R@100 >= 0.9']"), 1, "R@100 of mine: 0.0000", "def search(text, k=10):\n    return [f'x{i}' for i in range(50)] + ['a']\n"),
    Configured("a retriever that returns a set", of_search("gates: [RR >= 0.1]"), 2, "has no order", "def search(text, k=10):\n    return {'a'}\n"),
    Configured("a retriever that asks for the judgments", of_search("gates: [RR >= 0.1]"), 2, "", "def search(text, k, relevant_ids):\n    return relevant_ids\n"),
    Configured("a retriever that asks for the query's id", of_search("gates: [RR >= 0.1]"), 2, "", "def search(text, k, query_id):\n    return ['a']\n"),
    Configured("a retriever that leaves with success", of_search("gates: [RR >= 0.1]"), 2, "SystemExit: 0", "import sys\n\ndef search(text, k=10):\n    sys.exit(0)\n"),
    Configured("a module that leaves with success", of_search("gates: [RR >= 0.1]"), 2, "SystemExit: 0", "import sys\nsys.exit(0)\n"),
    Configured("a retriever that leaves with success in a thread", of_search("gates: [RR >= 0.1]").replace("search'}", "search', concurrency: 4}"), 2, "SystemExit: 0", "import sys\n\ndef search(text, k=10):\n    sys.exit(0)\n"),
    Configured("a factory that leaves with success", of_search("gates: [RR >= 0.1]").replace("search'}", "search', factory: true}"), 2, "SystemExit: 0", "import sys\n\ndef search():\n    sys.exit(0)\n"),
    Configured("a retriever that ends the generator", of_search("gates: [RR >= 0.1]"), 2, "", "def search(text, k=10):\n    raise StopIteration\n"),
    Configured("a retriever that fails for some", of_search("gates: [RR >= 0.9, failed <= 0, p95 <= 5s]"), 1, "failed calls of mine: 3 > allowed 0", "def search(text, k=10):\n    if text in ('What is q1?', 'What is q2?', 'What is q3?'):\n        raise KeyError('x')\n    return ['a']\n"),
    Configured("failed calls without a rule for them, where lower is better", of_search("gates: [p95 <= 5s]"), 2, "could be checked", "def search(text, k=10):\n    if '1' in text:\n        raise KeyError('x')\n    return ['a']\n"),
    Configured("texts for a few of the judged queries", "data: {queries: few.jsonl, qrels: qrels.txt}\nretrievers: [{name: mine, retriever: 'SEARCH:search'}]\ngates: [RR >= 0.9]", 2, "only 10 of 40 queries of mine"),
    Configured("texts for a few, without tests", "data: {queries: few.jsonl, qrels: qrels.txt}\nretrievers: [{name: mine, retriever: 'SEARCH:search'}]\nretrieval_metrics: {statistical_analysis: {significance_testing: false}}\ngates: [RR >= 0.9]", 2, "only 10 of 40 queries of mine"),
    Configured("a limit of infinity", of_search("gates: {max_latency_p95: .inf}"), 2, "max_latency_p95"),
    Configured("a limit that is no number", of_search("gates: {max_latency_p95: .nan}"), 2, "max_latency_p95"),
    Configured("a limit of true seconds", of_search("gates: {max_latency_p95: true}"), 2, "max_latency_p95"),
    Configured("true failures", of_search("gates: {max_failed: true}"), 2, "max_failed"),
    Configured("failures as text", of_search("gates: {max_failed: many}"), 2, "max_failed"),
    Configured("more failures than calls", of_search("gates: {max_failed: 40}"), 2, "can never fail"),
    Configured("a floor of no number", of_runs("gates: {floors: {RR: .nan}}"), 2, "can never be reached"),
    Configured("a floor of minus infinity", of_runs("gates: {floors: {RR: -.inf}}"), 2, "can never fail"),
    Configured("a floor of zero", of_runs("gates: {floors: {RR: 0}}"), 2, "can never fail"),
    Configured("a floor of false", of_runs("gates: {floors: {RR: false}}"), 2, "RR"),
    Configured("a floor of true", of_runs("gates: {floors: {RR: true}}", "{mine: good.txt}"), 2, "RR"),
    Configured("a floor as text", of_runs("gates: {floors: {RR: '0.9'}}"), 1, "RR of mine"),
    Configured("a drop of infinity", of_runs("baseline: good\ngates: {max_regression: {RR: .inf}}", "{mine: bad.txt, good: good.txt}"), 2, "not allowed"),
    Configured("a drop of true", of_runs("baseline: good\ngates: {max_regression: {RR: true}}", "{mine: bad.txt, good: good.txt}"), 2, "not allowed"),
    Configured("a drop of everything", of_runs("baseline: good\ngates: {max_regression: {RR: 1}}", "{mine: bad.txt, good: good.txt}"), 2, "can never fail"),
    Configured("a drop", of_runs("baseline: good\ngates: {max_regression: {RR: 2%}}", "{mine: bad.txt, good: good.txt}"), 1, "RR of mine"),
    Configured("a drop below itself, by another name", of_runs("baseline: good\ngates: {max_regression: {RR: 2%}}", "{mine: bad.txt, good: bad.txt}"), 2, "bad.txt"),
    Configured("a drop below itself, by a link", of_runs("baseline: good\ngates: [RR drop <= 2%]", "{mine: bad.txt, good: link.txt}"), 2, "are the same file"),
    Configured("only the baseline", of_runs("baseline: mine\ngates: [RR drop <= 2%]"), 2, "only the baseline"),
    Configured("only the baseline is gated", of_runs("baseline: good\ngates: {rules: [RR drop <= 2%], systems: [good]}", "{mine: bad.txt, good: good.txt}"), 2, "only the baseline"),
    Configured("no system", of_runs("gates: {rules: [RR >= 0.9], systems: []}"), 2, "is empty"),
    Configured("an unknown system", of_runs("gates: {rules: [RR >= 0.9], systems: [other]}"), 2, "there is no system 'other'"),
    Configured("a system twice", of_runs("gates: {rules: [RR >= 0.9], systems: [mine, mine]}"), 1, "RR of mine"),
    Configured("two retrievers of one name", of_search("gates: [RR >= 0.9]").replace("retrievers: [", "retrievers: [{name: mine, retriever: 'SEARCH:search'}, "), 2, "two systems are called 'mine'"),
    Configured("two runs of one name", of_runs("gates: [RR >= 0.9]", "{mine: bad.txt, mine: good.txt}"), 2, "already set"),
    Configured("gates set twice", of_runs("gates: [RR >= 0.9]\ngates: [RR >= 0.0001]"), 2, "already set"),
    Configured("floors set twice", of_runs("gates: {floors: {RR: 0.9, MRR: 0.00001}}"), 1, "RR of mine"),
    Configured("gates that are off", of_runs("gates: off"), 2, "gates"),
    Configured("gates under another name", of_runs("gate: [RR >= 0.9]"), 2, "gate"),
    Configured("an empty list of gates", of_runs("gates: []"), 2, "no gate", commands=("gate",)),
    Configured("gates that are null", of_runs("gates: null"), 2, "no gate", commands=("gate",)),
    Configured("no gates", of_runs(""), 2, "no gate", commands=("gate",)),
    Configured("a baseline, and no rule", of_runs("gates: {baseline: base.json}"), 2, "rule"),
    Configured("queries in common, and no rule", of_runs("gates: {common: true, rules: []}"), 2, "rule"),
    Configured("rules as keys", of_runs("gates: {rules: {RR: 0.9}}"), 2, "rules"),
    Configured("rules as numbers", of_runs("gates: [0.9]"), 2, "is not a rule"),
    Configured("a second document", of_runs("gates: [RR >= 0.9]") + "---\ngates: [RR >= 0.0001]\n", 2, "not valid YAML"),
    Configured("a rule about calls of runs", of_runs("gates: [failed <= 0]"), 2, "is a run"),
    Configured("calls of runs, by a key", of_runs("gates: {max_failed: 0}"), 2, "applies to retrievers"),
    Configured("no share", of_runs("gates: {rules: [RR >= 0.9], min_checked: 0}"), 2, "not allowed"),
    Configured("a share that is true", of_runs("gates: {rules: [RR >= 0.9], min_checked: true}"), 2, "not allowed"),
    Configured("a share that is no number", of_runs("gates: {rules: [RR >= 0.9], min_checked: .nan}"), 2, "not allowed"),
    Configured("queries that only one run has", of_runs("gates: [RR >= 0.9]\npolicy: {missing: skip}", "{mine: good.txt, other: few.txt}"), 2, "only 10 of 40 queries"),
    Configured("a folder as the baseline", of_runs("gates: {rules: [RR drop <= 2%], baseline: .}"), 2, "cannot be read"),
    Configured("nothing as the baseline", of_runs("gates: {rules: [RR drop <= 2%], baseline: /dev/null}"), 2, "not a baseline"),
    Configured("text that matches at no threshold", of_search("match: {by: text, how: overlap, threshold: 0}\ngates: [RR >= 0.1]"), 2, "threshold"),
    Configured("text that matches at a threshold that is no number", of_search("match: {by: text, how: overlap, threshold: .nan}\ngates: [RR >= 0.1]"), 2, "threshold"),
    Configured("a field for a separator", of_search("match: {by: parent, separator: ''}\ngates: [RR >= 0.1]"), 2, "separator"),
    Configured("further judgments by files", of_search("gates: [RR >= 0.9]"), 2, "--config", WRONG, "--cluster type", ("gate",)),
    Configured("a policy that is not the configuration's", of_runs("gates: [RR >= 0.2]", "{mine: few.txt}"), 2, "--config", SEARCH, "--missing error", ("gate",)),
    Configured("a table that is not the configuration's", of_runs("gates: [RR >= 0.9]", "{mine: good.txt}"), 2, "--config", SEARCH, "--queries golden.jsonl", ("gate",)),
    Configured("a matching that is not the configuration's", of_runs("gates: [RR >= 0.9]", "{mine: good.txt}"), 2, "--config", SEARCH, "--match parent:#", ("gate",)),
    Configured("measures that are not the configuration's", of_runs("gates: [RR >= 0.9]", "{mine: good.txt}"), 2, "--config", SEARCH, "-m P@1", ("gate",)),
    Configured("freeze a retriever that fails", of_search("gates: {rules: [RR drop <= 2%], baseline: new.json}"), 2, "the index is gone", DOWN, "--update", ("gate",)),
    Configured("freeze a retriever that fails for some", of_search("gates: {rules: [RR drop <= 2%], baseline: new.json}"), 2, "were not answered", "def search(text, k=10):\n    if '1' in text:\n        raise KeyError('x')\n    return ['a']\n", "--update", ("gate",)),
    Configured("freeze a retriever that is wrong", of_search("gates: {rules: [RR drop <= 2%], baseline: new.json}"), 2, "can never fail", WRONG, "--update", ("gate",)),
    Configured("freeze texts for a few of the judged queries", "data: {queries: few.jsonl, qrels: qrels.txt}\nretrievers: [{name: mine, retriever: 'SEARCH:search'}]\ngates: {rules: [RR drop <= 2%], baseline: new.json}", 2, "30 of 40 queries", SEARCH, "--update", ("gate",)),
    Configured("freeze over the configuration", of_search("gates: {rules: [RR drop <= 2%], baseline: bench.yaml}"), 2, "one of the files to read", SEARCH, "--update", ("gate",)),
    Configured("freeze over the golden set", of_search("gates: {rules: [RR drop <= 2%], baseline: golden.jsonl}"), 2, "one of the files to read", SEARCH, "--update", ("gate",)),
    Configured("freeze over the retriever", of_search("gates: {rules: [RR drop <= 2%], baseline: SEARCH.py}"), 2, "one of the files to read", SEARCH, "--update", ("gate",)),
    Configured("write the table over the retriever", of_search("gates: [RR >= 0.1]\noutputs: {table: SEARCH.py}"), 2, "one of the files to read"),
    Configured("write JSON over a run", of_runs("gates: [RR >= 0.1]\noutputs: {json: bad.txt}"), 2, "one of the files to read"),
    Configured("write Markdown over a run, by a link", of_runs("gates: [RR >= 0.1]\noutputs: {markdown: link.txt}"), 2, "one of the files to read"),
    Configured("write CSV over the configuration", of_runs("gates: [RR >= 0.1]\noutputs: {csv: bench.yaml}"), 2, "one of the files to read"),
    Configured("write LaTeX over the baseline", of_runs("gates: {rules: [RR drop <= 2%], baseline: base.json}\noutputs: {latex: base.json}"), 2, "one of the files to read"),
    Configured("write two tables into one file", of_runs("gates: [RR >= 0.1]\noutputs: {csv: x.csv, json: X.csv}"), 2, "written twice"),
    Configured("keep rankings over a run", of_search("gates: [RR >= 0.1]\noutputs: {runs: .}").replace("queries: golden.jsonl", "queries: golden.jsonl, runs: {other: mine.txt}"), 2, "one of the files to read"),
    Configured("keep answers in the golden set", of_search("gates: [RR >= 0.1]\noutputs: {store: golden.jsonl}"), 2, "golden.jsonl"),
    Configured("write results over the baseline", of_runs("gates: {rules: [RR drop <= 2%], baseline: base.json}"), 2, "one of the files to read", SEARCH, "-o base.json"),
    Configured("write results over a run", of_runs("gates: [RR >= 0.1]"), 2, "one of the files to read", SEARCH, "-o bad.txt"),
    Configured("write JUnit over the configuration", of_runs("gates: [RR >= 0.1]"), 2, "one of the files to read", SEARCH, "--junit bench.yaml"),
    Configured("write JUnit and results into one file", of_runs("gates: [RR >= 0.1]"), 2, "written twice", SEARCH, "--junit x.xml -o x.xml"),
]  # fmt: skip


@pytest.mark.parametrize("attempt", CONFIGURED, ids=lambda attempt: attempt.name)
def test_configurations(place, capsys, request, attempt):
    module = f"bypass_search_{CONFIGURED.index(attempt)}"  # a module is imported once
    Path(f"{module}.py").write_text(attempt.code)
    Path("bench.yaml").write_text(attempt.yaml.replace("SEARCH", module))
    Path("few.jsonl").write_text(jsonl({"id": q, "question": f"What is {q}?"} for q in QUERIES[:10]))
    Path("mine.txt").write_text(trec(QUERIES))
    Path("link.txt").symlink_to("bad.txt")
    before = kept(place)
    for command in attempt.commands:
        config = ["--config", "bench.yaml"] if command == "gate" else ["bench.yaml"]
        status, out, err = run(capsys, command, *config, *attempt.options.split())
        assert status == attempt.status, out + err
        assert attempt.message in " ".join((out + err).split())
        assert {path: content for path, content in kept(place).items() if path in before} == before
        assert not (place / "new.json").exists()


SCORES = rl.evaluate(QRELS, {q: ["a"] for q in QUERIES}, "RR")
WORSE = rl.evaluate(QRELS, {q: ["b", "a"] for q in QUERIES}, "RR")
OTHER_QRELS = {q: {"a": 1} if i % 2 else {"b": 1} for i, q in enumerate(QUERIES)}
RECORD = Record.of(SCORES, "run")


def of_file(change):
    """A baseline whose content was changed by somebody who knows how to write one."""
    from ranklens.guard import baselines

    content = json.loads(Baseline({"run": RECORD}).to_text())
    change(content["systems"]["run"])
    content["checksum"] = baselines._checksum(content["systems"])
    return Baseline.from_text(json.dumps(content), "base.json")


def rewritten(value):
    def change(system):
        system["means"]["RR"] = value
        for row in system["queries"].values():
            row[1] = value

    return change


def asked(retriever, queries=None, qrels=QRELS, **options):
    bench = rl.Benchmark(queries or {q: f"What is {q}?" for q in QUERIES}, qrels)
    bench.run("mine", retriever, progress=False, **options)
    return bench


def in_python(name, rules, results, message, **options):
    return pytest.param(rules, results, message, options, id=name)


IN_PYTHON = [
    in_python("a second system that was scored on other judgments", "RR drop <= 2%", lambda: {"a": SCORES, "b": rl.evaluate(OTHER_QRELS, {q: ["a", "b"] for q in QUERIES}, "RR")}, "20 queries with other judgments", baseline={"a": SCORES, "b": SCORES}),
    in_python("a first system that was scored on other judgments", "RR drop <= 2%", lambda: {"b": rl.evaluate(OTHER_QRELS, {q: [*docs] for q, docs in OTHER_QRELS.items()}, "RR"), "a": SCORES}, "20 queries with other judgments", baseline={"a": SCORES, "b": SCORES}),
    in_python("other grades", "RR drop <= 2%", lambda: rl.evaluate({q: {"a": 2} for q in QUERIES}, {q: ["a"] for q in QUERIES}, "RR"), "40 queries with other judgments", baseline=SCORES),
    in_python("further judged documents", "RR drop <= 2%", lambda: rl.evaluate({q: {"a": 1, "b": 1} for q in QUERIES}, {q: ["b"] for q in QUERIES}, "RR"), "40 queries with other judgments", baseline=SCORES),
    in_python("other subtopics", "alpha_nDCG@5 drop <= 2%", lambda: rl.evaluate({q: {"s1": {"b": 1}, "s2": {"a": 1}} for q in QUERIES}, {q: ["b", "a"] for q in QUERIES}, "alpha_nDCG@5"), "other judgments", baseline=lambda: rl.evaluate({q: {"s1": {"a": 1}, "s2": {"b": 1}} for q in QUERIES}, {q: ["a", "b"] for q in QUERIES}, "alpha_nDCG@5")),
    in_python("other evidence", "AllRecall@5 drop <= 2%", lambda: rl.evaluate({q: [{"a"}, {"b"}] for q in QUERIES}, {q: ["a"] for q in QUERIES}, "AllRecall@5"), "other judgments", baseline=lambda: rl.evaluate({q: [{"a", "b"}] for q in QUERIES}, {q: ["a", "b"] for q in QUERIES}, "AllRecall@5")),
    in_python("other passages", "RR drop <= 2%", lambda: by_text("x"), "other", baseline=lambda: by_text("some words")),
    in_python("another matching", "RR drop <= 2%", lambda: rl.evaluate(QRELS, {q: ["a"] for q in QUERIES}, "RR", match=ByParent(separator="#")), "another policy", baseline=SCORES),
    in_python("another matching of the same kind", "RR drop <= 2%", lambda: rl.evaluate(QRELS, {q: ["a"] for q in QUERIES}, "RR", match=ByParent({"x": "a"})), "another policy", baseline=lambda: rl.evaluate(QRELS, {q: ["a"] for q in QUERIES}, "RR", match=ByParent({"y": "a"}))),
    in_python("another best grade", "ERR@5 drop <= 2%", lambda: rl.evaluate(QRELS, {q: ["a"] for q in QUERIES}, "ERR@5", max_grade=1), "another policy", baseline=lambda: rl.evaluate(QRELS, {q: ["a"] for q in QUERIES}, "ERR@5", max_grade=4)),
    in_python("ties by another rule", "RR drop <= 2%", lambda: rl.evaluate(QRELS, {q: {"a": 1, "b": 1} for q in QUERIES}, "RR", ties="ascending"), "another policy", baseline=SCORES),
    in_python("a baseline of another relevance", "RR drop <= 2%", lambda: rl.evaluate(QRELS, {q: ["a"] for q in QUERIES}, "RR", rel=0.5), "another policy", baseline=SCORES),
    in_python("a baseline of few queries", "RR drop <= 2%", WORSE, "other queries or judgments", baseline=lambda: rl.evaluate({"q0": {"a": 1}}, {"q0": ["b", "a"]}, "RR")),
    in_python("a baseline of few queries, in common", "RR drop <= 2%", WORSE, "checked", baseline=lambda: rl.evaluate({"q0": {"a": 1}}, {"q0": ["b", "a"]}, "RR"), common=True),
    in_python("a baseline that was hardly answered", "RR drop <= 2%", WORSE, "not answered", baseline=lambda: rl.evaluate(QRELS, {q: ["a"] for q in QUERIES[:10]}, "RR")),
    in_python("a baseline whose calls failed", "RR drop <= 2%", {"run": WORSE}, "not answered", baseline=lambda: of_file(lambda system: system.update(failed=30))),
    in_python("a baseline of zeros", "RR drop <= 2%", WORSE, "can never fail", baseline=lambda: of_file(rewritten(0.0))),
    in_python("a baseline of negative values", "RR drop <= 2%", WORSE, "base.json", baseline=lambda: of_file(rewritten(-1.0))),
    in_python("a baseline of huge values", "RR drop <= 99%", WORSE, "base.json", baseline=lambda: of_file(rewritten(1e30))),
    in_python("a baseline of no numbers", "RR drop <= 2%", WORSE, "base.json", baseline=lambda: of_file(rewritten(math.nan))),
    in_python("a baseline of nulls", "RR drop <= 2%", WORSE, "base.json", baseline=lambda: of_file(rewritten(None))),
    in_python("a baseline of texts", "RR drop <= 2%", WORSE, "base.json", baseline=lambda: of_file(rewritten("low"))),
    in_python("a baseline without queries", "RR drop <= 2%", WORSE, "base.json", baseline=lambda: of_file(lambda system: system.update(queries={}))),
    in_python("a baseline without means", "RR drop <= 2%", WORSE, "base.json", baseline=lambda: of_file(lambda system: system.update(means={}))),
    in_python("a baseline without a policy", "RR drop <= 2%", WORSE, "another policy", baseline=lambda: of_file(lambda system: system.update(policy={}))),
    in_python("a baseline whose key is missing", "RR drop <= 2%", WORSE, "base.json", baseline=lambda: of_file(lambda system: system.pop("policy"))),
    in_python("a baseline without digests", "RR drop <= 2%", WORSE, "base.json", baseline=lambda: of_file(lambda system: [row.__setitem__(0, "") for row in system["queries"].values()])),
    in_python("a baseline of another system", "RR drop <= 2%", {"mine": WORSE}, "has no system 'mine'", baseline={"a": SCORES, "b": SCORES}),
    in_python("a baseline without a system", "RR drop <= 2%", WORSE, "has no system", baseline={}),
    in_python("no results", "RR >= 0.9", {}, "no results"),
    in_python("results without queries", "RR >= 0.9", lambda: Record("run", Values((), {"RR": np.array([])}), RECORD.policy, {}), ""),
    in_python("results without queries, by calls", "failed <= 0", lambda: Record("run", Values((), {"RR": np.array([])}), RECORD.policy, {}, failed=0), ""),
    in_python("a value that is no number", "RR >= 0.5", lambda: Record("run", Values(RECORD.queries, {"RR": np.where(np.arange(40) == 3, np.inf, 1.0)}), RECORD.policy, {}), "rules need numbers"),
    in_python("a text for rules", "", SCORES, "not a rule"),
    in_python("None for rules", [None], SCORES, "not a rule"),
    in_python("no rules", [], SCORES, "no rule"),
    in_python("limits that are values of a dict", {"RR >= 0.1": 0.9}, SCORES, "not a list of rules"),
    in_python("a geometric mean below what it counts 0 as", "gm_AP >= 0.000001", WORSE, "can never fail"),
    in_python("a geometric mean of nothing for a baseline", "gm_AP drop <= 2%", lambda: rl.evaluate(QRELS, {q: ["b"] for q in QUERIES}, "gm_AP"), "can never fail", baseline=lambda: rl.evaluate(QRELS, {q: ["b"] for q in QUERIES}, "gm_AP")),
    in_python("undecided as a number", "RR >= 0.5", SCORES, "undecided", undecided=True),
    in_python("clusters that no query has", "RR >= 0.5 @ 95%", SCORES, "none of the queries", clusters={"x": "1"}),
    in_python("a table of other queries", "RR[type=a] >= 0.5", SCORES, "none of the queries", queries={"x": {"type": "a"}}),
    in_python("a benchmark that did not run", "RR >= 0.9", lambda: rl.Benchmark({"q": "text"}, {"q": {"a"}}), "run"),
    in_python("texts for a few of the judged queries", "RR >= 0.9", lambda: asked(lambda text: ["a"], {q: q for q in QUERIES[:10]}), "only 10 of 40 queries"),
    in_python("a retriever that fails, like the baseline's", "RR drop <= 2%", lambda: asked(lambda text: 1 / 0, keep_going=True), "not answered", baseline=lambda: {"mine": asked(lambda text: 1 / 0, keep_going=True).evaluate("RR")["mine"]}),
    in_python("a slow retriever that fails for most", "p95 <= 5s", lambda: asked(lambda text: 1 / ("3" in text) and ["a"], keep_going=True), "could be checked"),
]  # fmt: skip


def by_text(passage):
    golden_set = [{"id": q, "question": q, "expected_answer": [passage]} for q in QUERIES]
    log = [{"id": q, "retrieved": ["some words and x"]} for q in QUERIES]
    return rl.evaluate(golden_set, log, "RR", match=ByText())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("rules", "results", "message", "options"), IN_PYTHON)
def test_in_python(rules, results, message, options):
    made = {
        name: value() if callable(value) else value for name, value in options.items() if name != "baseline"
    }
    with pytest.raises(RankLensError) as caught:  # noqa: PT012  what is attempted may be refused at any step
        found = results() if callable(results) else results
        against = options.get("baseline")
        outcome = rl.gate(found, rules, baseline=against() if callable(against) else against, **made)
        assert not outcome.passed, str(outcome)
        pytest.fail(str(outcome))
    assert message in str(caught.value)


# The plugin: what a test that checks retrieval could do to pass.

SUITE = """
import pytest, threading, ranklens as rl
QRELS = {f"q{i}": {"a": 1} for i in range(40)}
GOOD = rl.evaluate(QRELS, {q: ["a"] for q in QRELS}, "RR")
BAD = rl.evaluate(QRELS, {q: ["b", "a"] for q in QRELS}, "RR")
ZERO = rl.evaluate({q: {"a": 1, "b": 0} for q in QRELS}, {q: ["b"] for q in QRELS}, "RR")
FEW = rl.evaluate(QRELS, {q: ["a"] for q in [*QRELS][:10]}, "RR", missing="skip")
"""
TESTS = {
    "a check that fails": ("retrieval.check(BAD, 'RR >= 0.9')", "RR of test_it: 0.5000"),
    "a failure that is caught": ("try:\n        retrieval.check(BAD, 'RR >= 0.9')\n    except AssertionError:\n        pass", "RR of test_it: 0.5000"),
    "a failure that is expected": ("with pytest.raises(AssertionError):\n        retrieval.check(BAD, 'RR >= 0.9')", "RR of test_it: 0.5000"),
    "a refusal that is caught": ("try:\n        retrieval.check(FEW, 'RR >= 0.9')\n    except rl.RankLensError:\n        pass", "only 10 of 40 queries"),
    "a bare except": ("try:\n        retrieval.check(BAD, 'RR >= 0.9')\n    except:\n        pass", "RR of test_it: 0.5000"),
    "a skip after a failure": ("try:\n        retrieval.check(BAD, 'RR >= 0.9')\n    except AssertionError:\n        pytest.skip('later')", "RR of test_it: 0.5000"),
    "a thread": ("thread = threading.Thread(target=retrieval.check, args=(BAD, 'RR >= 0.9'))\n    thread.start()\n    thread.join()", "RR of test_it: 0.5000"),
    "a good check after a bad one": ("try:\n        retrieval.check(BAD, 'RR >= 0.9', name='one')\n    except AssertionError:\n        retrieval.check(GOOD, 'RR >= 0.9', name='two')", "RR of one: 0.5000"),
    "no rule": ("retrieval.check(GOOD)", "There is no rule to check"),
    "no results": ("retrieval.check({}, 'RR >= 0.9')", "no results"),
    "a rule that cannot fail": ("retrieval.check(BAD, 'RR >= 0')", "can never fail"),
    "no baseline": ("retrieval.check(BAD, 'RR drop <= 1%')", "there is no baseline yet"),
    "a marker, and no check": ("pass", "without checking RR >= 0.9", "RR >= 0.9"),
    "a marker, and a return before the check": ("return\n    retrieval.check(BAD)", "without checking", "RR >= 0.9"),
    "a marker, and another rule": ("retrieval.check(BAD, 'RR >= 0.1')", "without checking", "RR >= 0.9"),
    "a marker, and a refusal that is caught": ("try:\n        retrieval.check(FEW)\n    except rl.RankLensError:\n        pass", "only 10 of 40 queries", "RR >= 0.9"),
    "a marker that is no rule": ("retrieval.check(GOOD, 'RR >= 0.9')", "is not a rule", "nonsense"),
    "a marker that cannot fail": ("retrieval.check(BAD)", "can never fail", "RR >= -1"),
    "the same name twice": ("retrieval.check(GOOD, 'RR >= 0.1')\n    retrieval.check(BAD, 'RR >= 0.1')", "twice"),
}  # fmt: skip


for _module in ("numpy", "polars", "scipy.stats", "ranklens.guard.testing.retrieval"):
    import_module(_module)  # which runs within this process cannot load twice


def plugin():
    from importlib.metadata import entry_points

    loaded = any(point.value == "ranklens.guard.testing.plugin" for point in entry_points(group="pytest11"))
    return () if loaded else ("-p", "ranklens.guard.testing.plugin")


@pytest.mark.filterwarnings("ignore")
def test_pytest(pytester):
    """All tests in one run, each of which must fail for its own reason."""
    source = SUITE
    for number, (body, _, *marker) in enumerate(TESTS.values()):
        source += f"@pytest.mark.retrieval({marker[0]!r})\n" if marker else ""
        source += f"def test_{number}_it(retrieval):\n    {body}\n"
    pytester.makepyfile(source)
    done = pytester.runpytest_inprocess(
        *plugin(), "-p", "no:cacheprovider", "-p", "no:xdist", "-rN", "--tb=short"
    )
    done.assert_outcomes(failed=len(TESTS))
    out = " ".join(done.stdout.str().split())
    for number, (_, message, *_) in enumerate(TESTS.values()):
        part = out.split(f" test_{number}_it _")[1].split("_it _")[0]
        assert message.replace("test_it", f"test_{number}_it") in part, part


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("results", ["BAD", "ZERO", "FEW"])
def test_pytest_freezes_nothing(pytester, results):
    rules = "'RR >= 0.9', 'RR drop <= 1%'" if results == "BAD" else "'RR drop <= 1%'"
    body = f"try:\n        retrieval.check({results}, {rules})\n    except (AssertionError, rl.RankLensError):\n        pass"
    pytester.makepyfile(SUITE + f"def test_it(retrieval):\n    {body}\n")
    done = pytester.runpytest_inprocess(
        *plugin(), "-p", "no:cacheprovider", "-p", "no:xdist", "--retrieval-update"
    )
    done.assert_outcomes(failed=1)
    assert not (pytester.path / "retrieval-baseline.json").exists()


# The surroundings.


@pytest.mark.parametrize("command", ["gate --config bench.yaml", "bench bench.yaml", "gate 'RR >= 0.1' --qrels qrels.txt --run good.txt"])  # fmt: skip
@pytest.mark.parametrize("target", ["qrels.txt", "good.txt"])
def test_the_summary_of_a_job_is_not_appended_to_an_input(place, capsys, monkeypatch, command, target):
    Path("bench.yaml").write_text(of_runs("gates: [RR >= 0.1]", "{mine: good.txt}"))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", target)
    before = kept(place)
    status, _, err = run(capsys, *shlex.split(command))
    assert (status, "one of the files to read" in err) == (2, True)
    assert kept(place) == before


@pytest.mark.parametrize("target", ["qrels.txt", "bench.yaml", "good.txt"])
def test_the_history_is_not_kept_in_an_input(place, capsys, monkeypatch, target):
    Path("bench.yaml").write_text(of_runs("gates: [RR >= 0.1]", "{mine: good.txt}"))
    monkeypatch.setenv("RANKLENS_HISTORY", target)
    before = kept(place)
    status, _, err = run(capsys, "bench", "bench.yaml", "--save")
    assert (status, target in err) == (2, True), err
    assert kept(place) == before


@pytest.mark.parametrize("command", ["gate --config bench.yaml", "bench bench.yaml", "gate 'RR >= 0.1' --qrels qrels.txt --run mine.txt"])  # fmt: skip
def test_an_old_verdict_does_not_pass_for_a_new_one(place, capsys, command):
    Path("bench.yaml").write_text(of_runs("gates: [RR >= 0.1]", "{mine: mine.txt}"))
    Path("mine.txt").write_text(trec(QUERIES))
    written = ["--junit", "gate.xml", *(["-o", "gate.json"] if command.startswith("gate") else [])]
    assert run(capsys, *shlex.split(command), *written)[0] == 0
    assert 'failures="0"' in Path("gate.xml").read_text()
    Path("mine.txt").write_text("q0 Q0 a 1")
    assert run(capsys, *shlex.split(command), *written)[0] == 2
    assert [Path(name).read_text() for name in written[1::2]] == [""] * (len(written) // 2)


def test_no_gate_is_no_pass_in_annotations(place, capsys):
    Path("bench.yaml").write_text(of_runs("", "{mine: good.txt}"))
    status, out, _ = run(capsys, "bench", "bench.yaml", "--format", "github")
    assert (status, "passed" in out, "no gate was checked" in out) == (0, False, True)


@pytest.mark.parametrize("both", [False, True], ids=["output", "both streams"])
@pytest.mark.parametrize("command", ["gate --config bench.yaml", "bench bench.yaml", "gate 'RR >= 0.9' --qrels qrels.txt --run bad.txt --format markdown"])  # fmt: skip
def test_a_reader_that_left_does_not_make_a_gate_pass(place, command, both):
    Path("bench.yaml").write_text(of_runs("gates: [RR >= 0.9]"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "ranklens", *shlex.split(command)], stdout=write, stderr=write if both else subprocess.PIPE, env=environment, check=False, timeout=60,
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.returncode == 1, done.stderr


def test_there_are_enough_attempts():
    assert len(FILES) + len(CONFIGURED) + len(IN_PYTHON) + len(TESTS) >= 200
