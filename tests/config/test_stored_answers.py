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
    again = command(folder)
    assert again.returncode == 0
    assert (
        "all 5 answers come from the store, the oldest is less than a minute old; --fresh asks again"
        in again.stdout
    )
    helper.write_text("def dense(text):\n    return []\n" + made.format("[]"))
    broken = command(folder)
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
    assert main(["bench", path]) == 0
    out = capsys.readouterr().out
    told = "all 5 answers come from the store, the oldest is 3 days old; --fresh asks again"
    assert f"- passed: mrr of mine: 1.0000 >= required 0.8 ({told})" in " ".join(out.split())
    assert f"- mine: {told}." in " ".join(out.split())
    assert main(["bench", path, "--format", "json", "--max-age", "4d"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["retrievers"]
    assert (found["stored"], round(found["oldest"])) == (5, 3 * 86400 + 60)
    assert main(["bench", path, "--max-age", "2d"]) == 1
    assert "mrr of mine: 0.0000 < required 0.8\n" in capsys.readouterr().err
    answers.append("a")
    assert main(["bench", path]) == 1
    assert "0.0000 < required 0.8 (all 5 answers come from the store" in capsys.readouterr().err
    assert main(["bench", path, "--fresh"]) == 0


def test_a_store_of_an_older_version_is_refused_in_one_sentence(folder, capsys):
    (folder / "embedder.py").write_text("def dense(text): return ['a']\n")
    configure(folder, "my_search:search")
    old = store.Store(folder / ".ranklens").path("mine")
    old.write_text('{"format": "ranklens-answers", "format_version": 1, "retriever": "mine"}\n')
    assert main(["bench", str(folder / "bench.yaml")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ranklens: {old} has the format ranklens-answers 1, but")
    assert line.endswith("delete this one; the retriever is then asked again.")


def test_the_example_keeps_no_answers(tmp_path):
    assert main(["bench", "--init", str(tmp_path / "bench.yaml")]) == 0
    content = yaml.safe_load((tmp_path / "bench.yaml").read_text())
    assert content["retrieval_metrics"]["performance"]["caching_enabled"] is False
