"""Configurations that nobody means well with: one sentence and exit status 2, never 1, which says that a gate failed."""

import json
import os
import sys

import pytest
import yaml

import ranklens as rl
from ranklens.bench.config import load
from ranklens.cli.main import main
from ranklens.errors import InputError

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
MERGED = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 25)
)
DATA = "data: {qrels: qrels.txt, runs: {a: run.txt}}\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bomb.yaml", BOMB, "with its aliases written out, this has more than 100,000 values"),
        ("merged.yaml", MERGED, "with its aliases written out"),
        ("self.yaml", "data: &d {qrels: *d}\n", ":1: a value contains itself"),
        ("self.yaml", "data: &d [x, [*d]]\n", ":1: a value contains itself"),
        ("date.yaml", DATA + "seed: 2020-99-99\n", "not valid YAML: month must be in 1..12"),
        ("deep.yaml", "data: " + "[" * 3000 + "]" * 3000, "nested too deeply"),
        ("deep.yaml", "data: " + "{a: " * 3000 + "}" * 3000, "nested too deeply"),
        ("deep.toml", "data = " + "[" * 3000 + "]" * 3000, "nested too deeply"),
        ("long.yaml", DATA + "seed: " + "9" * 5000, "not valid YAML: Exceeds the limit"),
        ("long.toml", "seed = " + "9" * 5000, "not valid TOML: Exceeds the limit"),
        ("hex.yaml", DATA + "seed: -0x" + "f" * 5000, "seed: a number of more than 4,300 digits is not allowed"),
        ("hex.yaml", DATA + "gates: {max_regression: {rr: 0x" + "f" * 5000 + "}}", "max_regression"),
        ("hex.yaml", DATA + "match: 0x" + "f" * 5000, "match: "),
        ("hex.yaml", DATA + "policy: 0x" + "f" * 5000, "policy: "),
        ("nul.yaml", 'data: {qrels: "a\\0b", runs: {a: run.txt}}\n', "a path cannot contain NUL"),
        ("nul.toml", 'data = {qrels = "a\\u0000b"}\n', "a path cannot contain NUL"),
        ("home.yaml", "data: {qrels: ~nobody-of-this-name/x, runs: {a: run.txt}}\n", "is not allowed: "),
    ],
)  # fmt: skip
def test_one_sentence_and_exit_status_2(tmp_path, capsys, name, content, message):
    (tmp_path / name).write_text(content)
    assert main(["bench", str(tmp_path / name)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert len(err) < 1000


def test_aliases_as_people_use_them_are_fine(tmp_path):
    (tmp_path / "bench.yaml").write_text(
        "data: {qrels: q, queries: q}\n"
        "retrievers:\n- &one {name: one, retriever: 'm:f', k: 7}\n- {<<: *one, name: two}\n"
    )
    assert [r.k for r in load(tmp_path / "bench.yaml").retrievers] == [7, 7]


def test_a_path_with_a_nul_is_refused():
    with pytest.raises(InputError, match="cannot be read: embedded null"):
        load("a\0b.yaml")


@pytest.mark.parametrize("end", ["sys.exit(0)", "os._exit(0)", "os.execv('/bin/true', ['true'])"])
@pytest.mark.parametrize("where", ["module", "factory", "function", "attribute", "answer"])
def test_exit_in_a_retriever_never_passes_a_gate(tmp_path, capsys, where, end):
    code = (
        {
            "module": "import sys\nsys.exit(0)\n",
            "factory": "import sys\ndef search(): sys.exit(0)\n",
            "function": "import sys\ndef search(text, k): sys.exit(0)\n",
            "attribute": "import sys\nclass search:\n    def __getattr__(self, name): sys.exit(0)\n",
            "answer": "import sys\nclass A:\n    def __iter__(self): sys.exit(0)\ndef search(text, k): return A()\n",
        }[where]
        .replace("import sys", "import os, sys")
        .replace("sys.exit(0)", end)
    )
    (tmp_path / f"exits_in_{where}.py").write_text(code)
    (tmp_path / "queries.jsonl").write_text(
        json.dumps({"id": "q", "question": "why?", "relevant_ids": ["a"]}) + "\n"
    )
    made = "()" if where in ("factory", "attribute") else ""
    content = {
        "data": {"queries": "queries.jsonl"},
        "retrievers": [{"name": "mine", "retriever": f"exits_in_{where}:search{made}"}],
        "gates": {"floors": {"mrr": 0.5}},
        "retrieval_metrics": {"enabled_metrics": ["mrr"]},
    }
    (tmp_path / "bench.yaml").write_text(yaml.safe_dump(content))
    status = main(["bench", str(tmp_path / "bench.yaml")])
    told = capsys.readouterr()
    sys.modules.pop(f"exits_in_{where}", None)
    assert status == (1 if where in ("function", "answer") else 2)
    called = end.partition("(")[0]
    assert (
        f"{called}()" in told.err
        if called != "sys.exit"
        else "SystemExit: 0" in told.err or "sys.exit(0)" in told.err
    )


@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)  # the child ends at once
@pytest.mark.parametrize("how", ["threads=1", "timeout=5", "concurrency=3"])
def test_os_exit_is_a_failed_call_and_child_processes_end_as_they_like(how):
    def search(text):
        child = os.fork() if hasattr(os, "fork") else None
        if child == 0:
            os._exit(7)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if child else 7)
        os._exit(0)

    ended, own = [], os._exit
    options = dict([how.split("=")]) if "threads" not in how else {}
    bench = rl.Benchmark({"q1": "a", "q2": "b"}, {"q1": {"d"}, "q2": {"d"}})
    with pytest.warns(rl.RankLensWarning, match=r"os\._exit\(\) was called"):
        found = bench.run("mine", search, **{name: int(value) for name, value in options.items()})
    assert found.status == {"ok": 0, "empty": 0, "failed": 2}
    assert ended == [7, 7]
    assert os._exit is own


def test_no_code_refuses_code_and_takes_runs(tmp_path, capsys):
    (tmp_path / "qrels.json").write_text('{"q": {"a": 1}}')
    (tmp_path / "run.json").write_text('{"q": ["a"]}')
    content = {"data": {"qrels": "qrels.json", "runs": {"old": "run.json"}}}
    (tmp_path / "bench.yaml").write_text(yaml.safe_dump(content))
    assert main(["bench", str(tmp_path / "bench.yaml"), "--no-code"]) == 0
    content["data"]["queries"] = "queries.jsonl"
    content["retrievers"] = [{"name": "mine", "retriever": "os:system"}]
    (tmp_path / "bench.yaml").write_text(yaml.safe_dump(content))
    capsys.readouterr()
    assert main(["bench", str(tmp_path / "bench.yaml"), "--no-code"]) == 2
    err = capsys.readouterr().err
    assert "retrievers[0].retriever: 'os:system' is code, which --no-code refuses" in err


def test_the_help_says_that_a_configuration_is_code(capsys):
    main(["bench", "--help"])
    assert "A configuration is code" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        (10, "10 can never fail: give less than 1; for 10 percent of the baseline, write 10%."),
        (1, "1 can never fail: give less than 1"),
        ("100%", "100% can never fail: give less than 100%."),
        (1000, "1000 can never fail: give less than 1."),
    ],
)
def test_a_regression_that_can_never_fail_is_refused(drop, message):
    content = {
        "data": {"qrels": "q", "runs": {"a": "r", "b": "s"}},
        "baseline": "a",
        "retrieval_metrics": {"enabled_metrics": ["ndcg@10"]},
    }
    with pytest.raises(InputError) as told:
        load({**content, "gates": {"max_regression": {"ndcg@10": drop}}})
    assert message in str(told.value)
    for fine in ("10%", 0.1, "99%", 0):
        load({**content, "gates": {"max_regression": {"ndcg@10": fine}}})
