"""Search endpoints, called for real on a server of this machine."""

import json
import time
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from servers import search_server

import ranklens as rl
from ranklens.bench.config import load, run_config
from ranklens.bench.config.model import Retriever
from ranklens.cli.main import main
from ranklens.retrieval.http import Endpoint, EndpointError, split_path

RECORDED = Path(__file__).parents[1] / "readers" / "engines"
HITS = json.loads((RECORDED / "elasticsearch.json").read_text())


def test_an_engine_is_asked_and_its_answer_read():
    with search_server(HITS) as server:
        bench = rl.Benchmark(
            {"q1": 'a "quoted" question & more', "q2": "ünïcode"}, {"q1": {"5"}, "q2": {"0"}}
        )
        body = {"size": "{k}", "query": {"match": {"text": "about {query}"}}, "explain": False}
        bench.run("es", Endpoint(f"{server.url}/docs/_search", body), k=2)
    assert [asked["body"] for asked in server.asked] == [
        {"size": 2, "query": {"match": {"text": 'about a "quoted" question & more'}}, "explain": False},
        {"size": 2, "query": {"match": {"text": "about ünïcode"}}, "explain": False},
    ]
    assert server.asked[0]["method"] == "POST"
    assert server.asked[0]["headers"]["Content-Type"] == "application/json"
    assert bench.evaluate("RR")["es"].mean == {"RR": 0.75}


def test_without_a_body_it_is_a_get_with_the_query_in_the_address():
    with search_server({"response": {"docs": [{"id": "a"}]}}) as server:
        Endpoint(f"{server.url}/solr/select?q={{query}}&rows={{k}}")("a&b=c #é", 7)
    assert server.asked[0]["method"] == "GET"
    assert server.asked[0]["path"] == "/solr/select?q=a%26b%3Dc+%23%C3%A9&rows=7"


def test_a_body_may_be_text():
    with search_server([]) as server:
        Endpoint(server.url, '{"q": "{query}", "n": {k}}')('say "hi"\n', 3)
    assert server.asked[0]["body"] == {"q": 'say "hi"\n', "n": 3}


def test_secrets_come_from_the_environment(monkeypatch):
    with search_server([]) as server:
        endpoint = Endpoint(f"{server.url}?q={{query}}", headers={"Authorization": "Bearer ${SEARCH_KEY}"})
        with pytest.raises(rl.InputError, match="environment variable SEARCH_KEY is not set"):
            endpoint("x", 1)
        monkeypatch.setenv("SEARCH_KEY", "hush")
        endpoint("x", 1)
    assert server.asked[0]["headers"]["Authorization"] == "Bearer hush"
    assert "hush" not in repr(endpoint)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("results.*.doc.key", ("results", "doc.key")),
        ("results[*].doc.key", ("results", "doc.key")),
        ("results[].id", ("results", "id")),
        ("*.id", ("", "id")),
        ("[*]", ("", None)),
        ("data.ids.*", ("data.ids", None)),
        ("_source.sku", (None, "_source.sku")),
    ],
)
def test_paths(path, expected):
    assert split_path(path) == expected


def configured(folder, server, **keys):
    (folder / "golden.jsonl").write_text(
        json.dumps({"id": "q1", "question": "why?", "expected_ids": ["b"]}) + "\n"
    )
    content = {
        "data": {"queries": "golden.jsonl"},
        "retrievers": [{"name": "api", "url": f"{server.url}/s?q={{query}}", **keys}],
        "retrieval_metrics": {
            "enabled_metrics": ["RR"],
            "statistical_analysis": {"significance_testing": False},
        },
    }
    (folder / "bench.yaml").write_text(json.dumps(content))
    return folder / "bench.yaml"


@pytest.mark.parametrize(
    ("answer", "keys"),
    [
        ({"out": [{"meta": {"sku": "a"}}, {"meta": {"sku": "b"}}]}, {"id": "out.*.meta.sku"}),
        ({"out": {"keys": ["a", "b"]}}, {"id": "out.keys.*"}),
        ([{"sku": "a"}, {"sku": "b"}], {"id": "*.sku"}),
        (
            {
                "hits": {
                    "hits": [{"_id": "1", "_source": {"sku": "a"}}, {"_id": "2", "_source": {"sku": "b"}}]
                }
            },
            {"id": "_source.sku"},
        ),
        ({"hits": {"hits": [{"_id": "a"}, {"_id": "b"}]}}, {}),
        ({"results": [{"id": "a", "distance": 1}, {"id": "b", "distance": 2}]}, {}),
    ],
)
def test_a_configuration_needs_no_python(tmp_path, answer, keys):
    with search_server(answer) as server:
        found = run_config(configured(tmp_path, server, **keys))
    assert found.scores["api"].mean["RR"] == 0.5


def test_the_command_calls_it_and_no_code_does_not(tmp_path, capsys):
    with search_server(["a", "b"]) as server:
        path = configured(tmp_path, server)
        assert main(["bench", str(path), "--no-code"]) == 2
        assert not server.asked
        assert "is an address to call, which --no-code refuses" in capsys.readouterr().err
        assert main(["bench", str(path)]) == 0
    assert "0.5000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (
            {"error": {"msg": "undefined field txt"}},
            {"status": 400},
            r"answered with status 400 .*undefined field txt",
        ),
        (b"<html>proxy</html>", {}, "not JSON: <html>proxy</html>"),
        (
            b"",
            {"status": 302, "headers": {"Location": "http://elsewhere.example"}},
            "redirects to http://elsewhere.example",
        ),
    ],
)
def test_what_a_server_says_is_told(answer, options, message):
    with search_server(answer, **options) as server, pytest.raises(EndpointError, match=message):
        Endpoint(f"{server.url}/s?q={{query}}&key=hush")("x", 1)


def test_a_path_that_leads_nowhere():
    with search_server({"results": []}) as server:
        assert Endpoint(f"{server.url}?q={{query}}", results="results")("x", 1) == []
        with pytest.raises(EndpointError, match=r"no list at 'out'; it begins with {\"results\": \[\]}"):
            Endpoint(f"{server.url}?q={{query}}", results="out")("x", 1)


def test_a_server_that_is_not_there():
    with search_server([]) as server:
        pass
    with pytest.raises(EndpointError, match="cannot be reached") as told:
        Endpoint(f"{server.url}/s?q={{query}}&key=hush")("x", 1)
    assert "hush" not in str(told.value)


def test_a_server_that_does_not_answer_in_time():
    def slow(_):
        time.sleep(0.3)
        return []

    with search_server(slow) as server, pytest.raises(TimeoutError, match="did not answer in time"):
        Endpoint(f"{server.url}?q={{query}}", timeout=0.05)("x", 1)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"retriever": "m:f"}, r"retrievers\[0\].url: and retriever are both set; set one of them"),
        ({"url": None}, r"retrievers\[0\].retriever: is missing, and so is url"),
        ({"url": "file:///etc/passwd?{query}"}, "begins with http:// or https://"),
        ({"url": "http://localhost/search"}, r"Neither url nor body contains \{query\}"),
        ({"params": {"a": 1}}, "params: applies to functions only"),
        ({"id": "a.*.id", "score": "b.*.s"}, "not in the same list"),
        ({"id": "a.*.b.*.c"}, r"more than one '\*'"),
        ({"id": "a.*", "id_from": "b"}, "id: and id_from both say where the id is"),
        ({"method": "DELETE"}, "method: 'DELETE' is not allowed"),
        (
            {"url": None, "retriever": "m:f", "headers": {"a": "b"}},
            r"headers: applies to an address \(url\) only",
        ),
    ],
)
def test_keys_that_do_not_fit(keys, message):
    entry = {"name": "api", "url": "http://localhost/s?q={query}", **keys}
    with pytest.raises(rl.InputError, match=message):
        load({"data": {"qrels": "q.txt", "queries": "q.jsonl"}, "retrievers": [entry]})


def test_stored_answers_belong_to_the_request(tmp_path):
    with search_server(["a"]) as server:
        for body in ({"q": "{query}"}, {"q": "{query}"}, {"q": "{query}", "boost": 2}):
            bench = rl.Benchmark({"q1": "why?"}, store=tmp_path)
            bench.run("api", Endpoint(server.url, body), k=1)
    assert len(server.asked) == 2


def echoing(asked):
    return {"you sent": asked["headers"], "to": asked["path"], "results": [{"id": 1.5}]}


@pytest.mark.parametrize(("status", "path"), [(200, "results.*.no"), (200, "nothing.*"), (401, None), (500, None), (302, None)])  # fmt: skip
@pytest.mark.parametrize("key", ["s3cr+t/key:42", "s3cr+t/key:42\n", " \ts3cr+t/key:42\r\n", "s3cr+t/key:42\nx", "s3cr+t/key:42\u2026"])  # fmt: skip
def test_nothing_that_is_written_shows_a_secret(tmp_path, monkeypatch, capsys, caplog, status, path, key):
    monkeypatch.setenv("SECRET_KEY", key)
    monkeypatch.setenv("RANKLENS_HISTORY", str(tmp_path / "history.db"))
    monkeypatch.setenv("RANKLENS_DEBUG", "1")
    caplog.set_level("DEBUG", "ranklens")
    told = {"Location": "http://elsewhere.example/s3cr%2Bt%2fkey%3A42"} if status == 302 else {}
    with search_server(echoing, status=status, headers=told) as server:
        file = configured(
            tmp_path,
            server,
            url=f"{server.url}/${{SECRET_KEY}}/find?q={{query}}&key=${{SECRET_KEY}}",
            headers={"Authorization": "ApiKey ${SECRET_KEY}", "X-Token": "Bearer literal-token-1"},
            **({} if path is None else {"id": path}),
        )
        content = json.loads(file.read_text())
        outputs = {"json": "out.json", "markdown": "out.md", "store": "store"}
        file.write_text(json.dumps({**content, "outputs": outputs}))
        main(["bench", str(file), "--save"])
    shown = capsys.readouterr()
    written = [
        one.read_text(errors="replace") for one in tmp_path.rglob("*") if one.is_file() and one != file
    ]
    everything = unquote_plus("\n".join([shown.out, shown.err, caplog.text, *written]))
    assert everything.strip()
    assert "s3cr" not in everything.lower()
    assert "literal-token-1" not in everything


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/find me?key=s3cret&q={query}", "http://127.0.0.1:x/?key=s3cret&q={query}"]
)
def test_an_address_that_is_not_valid_is_shown_without_its_query(url):
    with pytest.raises(EndpointError, match="is not a valid address: check its port") as caught:
        Endpoint(url)("why?", 1)
    assert "s3cret" not in str(caught.value)


def test_a_secret_loses_the_white_space_around_it(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", " s3cret-value\n")
    with search_server([]) as server:
        Endpoint(f"{server.url}/${{SECRET_KEY}}?q={{query}}", headers={"X-Key": "Key ${SECRET_KEY}"})("x", 1)
    assert server.asked[0]["path"] == "/s3cret-value?q=x"
    assert server.asked[0]["headers"]["X-Key"] == "Key s3cret-value"


def test_the_history_keeps_no_text_that_may_be_a_secret(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RANKLENS_HISTORY", str(tmp_path / "history.db"))
    with search_server(["b"]) as server:
        file = configured(
            tmp_path,
            server,
            url=f"{server.url}/hush-2?q={{query}}&key=hush-3",
            headers={"X-Mine": "hush-4"},
            body={"deep": [{"key": "hush-5 {query}", "size": 7}]},
        )
        assert main(["bench", str(file), "--save"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert b"hush" not in (tmp_path / "history.db").read_bytes()
    assert main(["history", "show", "last", "--format", "json"]) == 0
    kept = json.loads(capsys.readouterr().out)["config"]["retrievers"][0]
    assert kept["url"].startswith(server.url)
    assert kept["body"] == {"deep": [{"key": "…{query}", "size": 7}]}
    assert kept["headers"] == {"X-Mine": "…"}
    called = Retriever(name="a", retriever="module:function", params={"key": "hush", "depth": 7})
    assert called.model_dump(mode="json")["params"] == {"key": "…", "depth": 7}
