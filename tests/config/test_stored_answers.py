"""A store must not turn a broken retriever green: what can be seen is asked again, and what cannot is told with its age."""

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from ranklens.cli.main import main
from ranklens.retrieval import store

SEARCH = """
from embedder import dense

def search(text, k):
    return dense(text)[:k]

class Index:
    def __call__(self, text, k):
        return dense(text)[:k]

def make():
    from embedder import MADE
    return MADE
"""
REMOTE = """
import json
from urllib.request import urlopen

def search(text, k, url):
    with urlopen(url) as answer:
        return json.load(answer)[:k]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "my_search.py").write_text(SEARCH)
    (tmp_path / "queries.jsonl").write_text(
        "".join(
            json.dumps({"id": f"q{i}", "question": f"text {i}", "relevant_ids": ["a"]}) + "\n"
            for i in range(5)
        )
    )
    yield tmp_path
    for name in ("my_search", "remote_search", "embedder"):
        sys.modules.pop(name, None)


def configure(folder, retriever, **changes):
    content = {
        "data": {"queries": "queries.jsonl"},
        "retrievers": [{"name": "mine", "retriever": retriever, **changes}],
        "retrieval_metrics": {"enabled_metrics": ["mrr"], "performance": {"caching_enabled": True}},
        "gates": {"floors": {"mrr": 0.8}},
    }
    (folder / "bench.yaml").write_text(yaml.safe_dump(content))


def command(folder, *options):
    """The command in a process of its own, which imports everything anew."""
    return subprocess.run(
        [sys.executable, "-m", "ranklens", "bench", "bench.yaml", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("target", ["my_search:search", "my_search:make()"])
def test_a_changed_helper_module_is_seen(folder, target):
    configure(folder, target)
    helper = folder / "embedder.py"
    made = "MADE = [].__class__\nimport functools\ndef _made(text, found): return found\nMADE = functools.partial(_made, found={})\n"
    helper.write_text("def dense(text):\n    return ['a', 'b']\n" + made.format("['a', 'b']"))
    assert command(folder).returncode == 0
    again = command(folder, "--max-age", "7d")
    assert again.returncode == 0
    assert (
        "all 5 answers come from the store, the oldest is less than a minute old; --fresh asks again"
        in again.stdout
    )
    helper.write_text("def dense(text):\n    return []\n" + made.format("[]"))
    broken = command(folder, "--max-age", "7d")
    assert broken.returncode == 1
    assert "mrr of mine: 0.0000 < required 0.8\n" in broken.stderr
    assert "from the store" not in broken.stdout


@pytest.fixture
def service():
    """A remote service: what it returns can change, and nobody sees it."""
    answers = ["a", "b"]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            content = json.dumps(answers).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", answers
    server.shutdown()
    server.server_close()


def test_a_changed_remote_service_is_told_with_the_age_of_its_answers(folder, service, capsys, monkeypatch):
    url, answers = service
    (folder / "remote_search.py").write_text(REMOTE)
    configure(folder, "remote_search:search", params={"url": url})
    path = str(folder / "bench.yaml")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3 * 86400 - 60)
    assert main(["bench", path]) == 0
    assert "store" not in capsys.readouterr().out
    monkeypatch.setattr(time, "time", lambda: now)
    answers.clear()
    assert main(["bench", path, "--max-age", "7d"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("5 of 5 answers of mine from the store, the oldest 3 days old.\n")
    told = "all 5 answers come from the store, the oldest is 3 days old; --fresh asks again"
    assert f"- passed: mrr of mine: 1.0000 >= required 0.8 ({told})" in " ".join(out.split())
    assert f"- mine: {told}." in " ".join(out.split())
    assert main(["bench", path, "--format", "json", "--max-age", "4d"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["retrievers"]
    assert (found["stored"], round(found["oldest"])) == (5, 3 * 86400 + 60)
    assert main(["bench", path, "--max-age", "2d"]) == 1
    assert "mrr of mine: 0.0000 < required 0.8\n" in capsys.readouterr().err
    answers.append("a")
    assert main(["bench", path, "--max-age", "7d"]) == 1
    assert "0.0000 < required 0.8 (all 5 answers come from the store" in capsys.readouterr().err
    assert main(["bench", path, "--fresh"]) == 0


def in_format(folder, capsys, path, *options):
    """The exit status, and what the gate prints in one format."""
    status = main(["gate", "--config", path, "--max-age", "7d", *options])
    return status, capsys.readouterr().out


def test_a_gate_asks_the_retriever_unless_told_how_old_answers_may_be(folder, service, capsys, monkeypatch):
    """With a store and an index that broke since, yesterday's answers are no reason to pass."""
    url, answers = service
    (folder / "remote_search.py").write_text(REMOTE)
    configure(folder, "remote_search:search", params={"url": url})
    path, now = str(folder / "bench.yaml"), time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86400 - 60)
    assert main(["gate", "--config", path]) == 0
    monkeypatch.setattr(time, "time", lambda: now)
    answers.clear()
    capsys.readouterr()
    assert main(["gate", "--config", path]) == 1
    assert "from the store" not in capsys.readouterr().out
    assert main(["bench", path]) == 1
    baseline = str(folder / "baseline.json")
    assert main(["gate", "--config", path, "--baseline", baseline, "--update"]) == 1
    assert "mrr of mine: 0.0000" in capsys.readouterr().out
    assert not (folder / "baseline.json").exists()


def test_stored_answers_are_the_first_thing_that_a_gate_says(folder, service, capsys, monkeypatch):
    url, _ = service
    (folder / "remote_search.py").write_text(REMOTE)
    configure(folder, "remote_search:search", params={"url": url})
    path, now = str(folder / "bench.yaml"), time.time()
    monkeypatch.setattr(time, "time", lambda: now - 86400 - 60)
    assert main(["gate", "--config", path]) == 0
    monkeypatch.setattr(time, "time", lambda: now)
    queries = folder / "queries.jsonl"
    queries.write_text(
        queries.read_text() + json.dumps({"id": "q9", "question": "new", "relevant_ids": ["a"]}) + "\n"
    )
    capsys.readouterr()
    told = "5 of 6 answers of mine from the store, the oldest 1 day old."
    status, out = in_format(folder, capsys, path)
    assert (status, out.splitlines()[0]) == (0, told)
    assert in_format(folder, capsys, path, "--format", "github")[1].startswith("6 of 6 answers")
    assert (
        in_format(folder, capsys, path, "--format", "markdown")[1]
        .splitlines()[2]
        .startswith("**6 of 6 answers")
    )
    (stored,) = json.loads(in_format(folder, capsys, path, "--format", "json")[1])["stored"]
    assert stored.startswith("6 of 6 answers of mine from the store")


def test_where_every_call_fails_nothing_passes_and_nothing_is_frozen(folder, capsys):
    (folder / "embedder.py").write_text("def dense(text): raise RuntimeError('the index is gone')\n")
    configure(folder, "my_search:search")
    path, baseline = folder / "bench.yaml", folder / "baseline.json"
    content = yaml.safe_load(path.read_text())
    del content["gates"]
    path.write_text(yaml.safe_dump(content))
    assert main(["bench", str(path)]) == 1
    told = "all 5 calls of mine failed, the first with: RuntimeError: the index is gone."
    assert told in capsys.readouterr().err
    assert (
        main(["gate", "mrr drop <= 2%", "--config", str(path), "--baseline", str(baseline), "--update"]) == 2
    )
    assert "mine was not measured: none of 5 queries was answered; the first error" in capsys.readouterr().err
    assert not baseline.exists()
    assert main(["gate", "p95 <= 10s", "mrr >= 0.1", "--config", str(path)]) == 1
    assert main(["gate", "mrr >= 0.1", "--config", str(path), "--undecided", "pass"]) == 1


def test_a_baseline_of_a_retriever_that_mostly_failed_is_refused(folder, capsys):
    (folder / "embedder.py").write_text(
        "def dense(text):\n    if '3' in text: raise RuntimeError('gone')\n    return ['a']\n"
    )
    configure(folder, "my_search:search")
    baseline = folder / "baseline.json"
    update = ["gate", "--config", str(folder / "bench.yaml"), "--baseline", str(baseline), "--update"]
    assert main(update) == 2
    assert "1 of 5 queries of mine were not answered, and at least 95% are needed" in capsys.readouterr().err
    assert not baseline.exists()
    assert main([*update, "--min-checked", "80%"]) == 0


def test_a_store_of_an_older_version_is_refused_in_one_sentence(folder, capsys):
    (folder / "embedder.py").write_text("def dense(text): return ['a']\n")
    configure(folder, "my_search:search")
    old = store.Store(folder / ".ranklens").path("mine")
    old.write_text('{"format": "ranklens-answers", "format_version": 1, "retriever": "mine"}\n')
    assert main(["bench", str(folder / "bench.yaml")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ranklens bench: {old} has the format ranklens-answers 1, but")
    assert line.endswith("delete this one; the retriever is then asked again.")


def test_the_example_keeps_no_answers(tmp_path):
    assert main(["bench", "--init", str(tmp_path / "bench.yaml")]) == 0
    content = yaml.safe_load((tmp_path / "bench.yaml").read_text())
    assert content["retrieval_metrics"]["performance"]["caching_enabled"] is False
