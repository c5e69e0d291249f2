"""The report as a file: its data against the comparison's own, its safety by construction, the command."""

import base64
import gzip
import hashlib
import itertools
import json
import re
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from example import ARABIC, CHINESE, HOSTILE, example

import ranklens as rl
from ranklens.cli.main import main
from ranklens.comparison.compare import compare_scores
from ranklens.errors import InputError
from ranklens.judging.documents import ranking
from ranklens.report import content, html, palette
from ranklens.report.charts import style

GOLDEN = Path(__file__).parents[1] / "golden"


class Elements(HTMLParser):
    """Every element with its attributes and text, as a browser's parser would cut them."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes), []))

    def handle_endtag(self, tag):
        self.found.append(("text after", {}, []))

    def handle_data(self, data):
        if self.found:
            self.found[-1][2].append(data)

    def by_id(self, name):
        return next("".join(text) for _, attributes, text in self.found if attributes.get("id") == name)

    def of(self, tag):
        return [(attributes, "".join(text)) for found, attributes, text in self.found if found == tag]


def unpacked(elements, name):
    return gzip.decompress(base64.b64decode(elements.by_id(f"piece-{name}")))


@pytest.fixture(scope="module")
def made():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison, queries, corpus = example()
    return comparison, queries, corpus


@pytest.fixture(scope="module")
def page(made):
    comparison, queries, corpus = made
    return html.render(comparison, queries=queries, corpus=corpus, title=HOSTILE)


@pytest.fixture(scope="module")
def elements(page):
    return Elements(page)


@pytest.fixture(scope="module")
def summary(elements):
    return json.loads(elements.by_id("summary"))


def test_summary_holds_the_numbers_of_the_json(made, summary):
    expected = json.loads(made[0].to_json())
    places = [(summary, expected), *zip(summary["slices"], expected["slices"], strict=True)]
    for shown, truth in places:
        for kind in ("results", "pairs"):
            rows = [{"measure": m, **row} for m, found in shown[kind].items() for row in found]
            for row in rows:
                pairs = truth.get("open", {}).get(
                    row["measure"], []
                )  # over all queries, the better system first
                assert row.pop("open", False) == ({row.get("a"), row.get("b")} in map(set, pairs))
            kept = {"measure", *(content.PAIR_FIELDS if kind == "pairs" else rows[0])}
            plain = [{k: v for k, v in row.items() if k in kept} for row in truth[kind]]
            assert kept <= truth[kind][0].keys()
            key = lambda row: (row["measure"], row.get("system"), row.get("a"), row.get("b"))  # noqa: E731
            assert sorted(rows, key=str_key(key)) == sorted(plain, key=str_key(key))
    assert summary["cautions"] == expected["cautions"]
    assert summary["conclusion"] == expected["conclusion"]
    claims = {m["name"]: m["verdict"]["claim"] for m in summary["measures"]}
    assert claims.keys() == expected["verdicts"].keys()
    assert all(expected["verdicts"][name].startswith(claim) for name, claim in claims.items())


def str_key(key):
    return lambda row: tuple(map(str, key(row)))


def test_values_by_query_are_exact(made, elements):
    comparison = made[0]
    found = np.frombuffer(unpacked(elements, "values"), dtype="<f8")
    truth = np.concatenate([comparison.values(m).ravel() for m in comparison.measures])
    assert np.array_equal(found, truth)
    queries = json.loads(unpacked(elements, "queries"))
    assert tuple(queries["ids"]) == comparison.query_ids
    assert queries["texts"][:3] == [HOSTILE, ARABIC, CHINESE]
    names = [part.name for part in comparison.slices]
    assert [names[i] for i in queries["slices"]] == [comparison.slice_of[q] for q in comparison.query_ids]


def by_query_shown(columns):
    """The rows of each query, out of the columns of a piece."""
    systems = [name.removeprefix("rank_") for name in columns if name.startswith("rank_")]
    for start, end in zip(columns["starts"], columns["starts"][1:], strict=False):
        per_system = {
            f"{key}s": [
                columns[name][start:end] if (name := f"{key}_{s}") in columns else None for s in systems
            ]
            for key in ("rank", "score")
        }
        plain = {f"{key}s": columns[key][start:end] for key in ("number", "grade")}
        yield {"start": start, **plain, **per_system}


def test_rankings_are_those_of_the_library(made, elements, summary):
    """Rank, grade, score, ties and repeats of everything shown, against :func:`ranklens.judging.documents.ranking`."""
    comparison = made[0]
    names = json.loads(unpacked(elements, "documents-0"))["ids"]
    columns = json.loads(unpacked(elements, "rankings-0"))
    rows = list(by_query_shown(columns))
    for s, system in enumerate(comparison.systems):
        whole = ranking(comparison.evidence.qrels, comparison.evidence.runs[system]).to_dicts()
        by_query = {q: {r["doc"]: r for r in whole if r["query"] == q} for q in comparison.query_ids}
        for query, row in zip(comparison.query_ids, rows, strict=True):
            truth = by_query[query]
            repeats = {i - row["start"]: n for k, i, n in columns["repeats"] if k == s}
            tied = {i - row["start"] for k, i, _ in columns["tied"] if k == s}
            shown = {names[number]: row["ranks"][s][i] for i, number in enumerate(row["numbers"])}
            assert {d: r for d, r in shown.items() if r} == {d: truth[d]["rank"] for d in shown if d in truth}
            top = {d for d, r in truth.items() if r["rank"] <= summary["documents"]["depth"]}
            assert top <= set(shown)
            for i, number in enumerate(row["numbers"]):
                known = truth.get(names[number])
                if known and known["rank"] <= summary["documents"]["depth"]:
                    assert (repeats.get(i, 0), i in tied) == (known["repeats"], known["tied"])
                    assert row["scores"][s] is None or row["scores"][s][i] == known["score"]
    assert columns["relevant"] == [
        sum(g >= 1 for g in comparison.evidence.qrels.judged[q].values()) for q in comparison.query_ids
    ]
    assert rows[0]["scores"][0] is None  # an ordered list has no scores


def test_every_relevant_document_is_there_with_its_grade(made, elements):
    comparison = made[0]
    names = json.loads(unpacked(elements, "documents-0"))["ids"]
    rows = by_query_shown(json.loads(unpacked(elements, "rankings-0")))
    for query, row in zip(comparison.query_ids, rows, strict=True):
        grades = {names[number]: grade for number, grade in zip(row["numbers"], row["grades"], strict=True)}
        gold = comparison.evidence.qrels.judged[query]
        assert {d: g for d, g in gold.items() if g >= 1}.items() <= grades.items()
        assert {d: g for d, g in grades.items() if g is not None}.items() <= gold.items()


def test_data_cannot_end_their_element_or_run(page, elements):
    scripts = elements.of("script")
    kinds = [attributes.get("type") for attributes, _ in scripts]
    assert kinds.count(None) == 1
    assert set(kinds) == {None, "application/json", "text/plain"}
    assert not elements.of("img")
    assert "onerror" not in str([attributes for _, attributes, _ in elements.found])
    assert "<" not in elements.by_id("summary")
    assert elements.of("title")[0][1] == HOSTILE


def test_security_policy_allows_the_own_script_and_style_only(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    directives = dict(part.strip().split(" ", 1) for part in policy.replace("&#x27;", "'").split(";"))
    assert directives["default-src"] == "'none'"
    for tag in ("script", "style"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert directives[f"{tag}-src"] == f"'sha256-{digest}'"
    assert set(directives) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action",
                               "require-trusted-types-for", "trusted-types"}  # fmt: skip


def test_nothing_is_named_that_could_be_requested(page):
    own = re.sub(r'<script type="[^"]*"[^>]*>.*?</script>', "", page, flags=re.DOTALL)
    assert set(re.findall(r"https?://[^\s\"']*", own)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|@import", own
    )


def test_colours_have_one_home(page):
    """The palette is the only file with colours, and holds all that the page uses, for light and for dark."""
    folder = Path(html.__file__).parent
    others = [path for path in folder.rglob("*") if path.suffix in {".py", ".js", ".css", ".html"}]
    assert len(others) > 15
    for path in others:
        if path.name != "palette.py":
            assert not re.search(r"#[0-9a-fA-F]{6}\b|rgb\(", path.read_text(encoding="utf-8")), path
    used = set(re.findall(r"var\(--([\w-]+)", page))
    assert used - palette.LIGHT.keys() == {"sans", "mono", "c", "g", "columns", "share"}
    assert palette.LIGHT.keys() == palette.DARK.keys()
    assert tuple(palette.LIGHT[f"s{i}"] for i in range(len(palette.SYSTEMS))) == style.COLOURS
    assert len(palette.DASHES) == len(palette.SYSTEMS)


def test_equal_input_gives_equal_bytes(made, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    comparison, queries, corpus = made
    first, second = (html.render(comparison, queries=queries, corpus=corpus) for _ in range(2))
    assert first == second
    assert '"created":"2023-11-14"' in first


def test_texts_are_cut_and_left_out_within_a_budget(made, monkeypatch):
    comparison, _, corpus = made
    whole = content.content(comparison, corpus=corpus).summary["documents"]["texts"]
    assert (whole["left_out"], whole["cut"], whole["unknown"]) == (0, 0, 1)
    monkeypatch.setattr(content, "TEXT_BUDGET", 3000)
    found = content.content(comparison, corpus=corpus)
    told = found.summary["documents"]["texts"]
    piece = json.loads(found.pieces["documents-0"])
    kept = [bool(text) for text in piece["texts"]]
    assert told["left_out"] == told["known"] - sum(kept) > 0
    assert sum(len((a + b).encode()) for a, b in zip(piece["titles"], piece["texts"], strict=True)) <= 3000
    relevant = {d for gold in comparison.evidence.qrels.judged.values() for d, g in gold.items() if g >= 1}
    assert all(name in relevant for name, is_kept in zip(piece["ids"], kept, strict=True) if is_kept)


@pytest.mark.parametrize("given", ["dicts", "files"])
def test_of_very_many_queries_a_sample_is_shown_and_everything_else_is_whole(given, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    qrels = {f"q{i}": {f"d{i % 7}": 2, "z": 1} for i in range(90)}
    runs = {
        name: {q: {f"d{j}": float(rng.random()) for j in range(9)} for q in qrels} for name in ("one", "two")
    }
    if given == "files":
        for name, run in runs.items():
            lines = [f"{q} Q0 {d} 1 {score!r} t" for q, docs in run.items() for d, score in docs.items()]
            (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
        runs = {name: tmp_path / f"{name}.txt" for name in runs}
    comparison = rl.compare(qrels, runs, ["RR", "AP"])
    whole = content.content(comparison)
    monkeypatch.setattr("ranklens.report.sample.QUERIES", 20)
    found = content.content(comparison)
    assert (found.summary["n"], found.summary["shown"], whole.summary["shown"]) == (90, 20, 90)
    assert {**found.summary, "shown": 0, "documents": 0} == {**whole.summary, "shown": 0, "documents": 0}
    ids = json.loads(found.pieces["queries"])["ids"]
    assert len({*ids}) == 20
    assert ids == sorted(ids, key=list(qrels).index)
    places = [comparison.query_ids.index(query) for query in ids]
    shown = np.frombuffer(found.pieces["values"]).reshape(2, 2, 20)
    for m, measure in enumerate(comparison.measures):
        assert np.array_equal(shown[m], comparison.values(measure)[:, places])
    few, all_of_them = (
        [*map(ranks_alone, by_query_shown(json.loads(one.pieces["rankings-0"])))] for one in (found, whole)
    )
    assert few == [all_of_them[place] for place in places]
    assert content.content(comparison).pieces["queries"] == found.pieces["queries"]


def ranks_alone(rows):
    """Without the numbers of documents and rows, which depend on what else is shown."""
    return {key: rows[key] for key in ("grades", "ranks", "scores")}


def test_a_report_is_written_whole_or_not_at_all(made, tmp_path):
    comparison, queries, corpus = made
    target = tmp_path / "report.html"
    with pytest.raises(InputError, match=r"no text among"):
        comparison.to_html(target, queries={"q1": {"words": "x"}})
    assert list(tmp_path.iterdir()) == []
    assert comparison.to_html(target, queries=queries, corpus=corpus, title="T") == target
    assert "<title>T</title>" in target.read_text(encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        comparison.to_html(tmp_path / "no folder" / "report.html")


def test_values_alone_make_a_report_without_documents():
    values = {"a": {"q1": {"my score": 0.5, "NumRel": 3}}, "b": {"q1": {"my score": 0.25, "NumRel": 3}}}
    found = content.content(compare_scores(values))
    assert "documents" not in found.summary
    assert found.summary["measures"][0]["definition"] == ["Given values, not computed by RankLens."]
    assert found.summary["charts"]["over_k"].startswith("This chart needs the rankings")


def test_the_verdict_is_told_in_two_parts_that_are_the_whole(made):
    comparison = made[0]
    for measure in content.content(comparison).summary["measures"]:
        whole, told = comparison.verdict(measure["name"]), measure["verdict"]
        assert whole.startswith(told["claim"])
        assert whole.endswith(told["reasons"])
        between = whole[len(told["claim"]) : len(whole) - len(told["reasons"])]
        assert between in (": ", "; ", ". ", " ", ".")


def test_measures_stay_as_they_were_asked_for():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rl.compare({"q": {"a"}, "r": {"b"}}, {"x": {"q": ["a"]}, "y": {"r": ["a", "b"]}}, "hit@1, RR")
    summary = content.content(found).summary
    assert [m["name"] for m in summary["measures"]] == ["hit@1", "RR"]
    assert [list(summary[key]) for key in ("results", "pairs")] == [["hit@1", "RR"]] * 2
    assert summary["measures"][0]["definition"][0] == "The same as Success@1."
    assert not summary["measures"][1]["definition"][0].startswith("The same")


def test_parameters_that_were_not_given_are_not_explained():
    values = {"a": {"q": {"R@5": 1.0, "DCG@5": 1.0, "DCG(gain=exp)@5": 1.0}}}
    told = {
        m["name"]: " ".join(m["definition"])
        for m in content.content(compare_scores(values)).summary["measures"]
    }
    assert told["R@5"] == "Recall: relevant documents in the top k, divided by all relevant documents R."
    assert "The gain is the grade. A negative grade gains 0." in told["DCG@5"]
    assert not re.search(r"gain=exp|log_base|discount|``", told["DCG@5"])
    assert "gain=exp takes 2^grade - 1" in told["DCG(gain=exp)@5"]


def colours_of_systems():
    return [
        [colours[f"s{i}"] for i in range(len(palette.SYSTEMS))] for colours in (palette.LIGHT, palette.DARK)
    ]


def linear(colour):
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light):
    """CIE L*a*b* of linear sRGB."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(light, 0, 1) / (0.9505, 1, 1.089)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


SIGHT = {  # Machado, Oliveira and Fernandes 2009, severity 1
    "all cones": np.eye(3),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
}  # fmt: skip


@pytest.mark.parametrize("sight", SIGHT)
def test_systems_differ_for_colour_blind_readers(sight):
    for colours in colours_of_systems():
        seen = [lab(SIGHT[sight] @ linear(colour)) for colour in colours]
        apart = [np.linalg.norm(p - q) for p, q in itertools.combinations(seen, 2)]
        assert min(apart) > 10
        first = [np.linalg.norm(p - q) for p, q in itertools.combinations(seen[:6], 2)]
        assert min(first) > 12.5


def test_no_system_is_grey():
    """Grey looks switched off, and the winner may have any colour."""
    for colour in itertools.chain(*colours_of_systems()):
        parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        assert max(parts) - min(parts) > 60


def test_command_takes_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    (tmp_path / "queries.tsv").write_text("q1\tfirst question\n", encoding="utf-8")
    status = main(
        ["report", "qrels.txt", "run.txt", "other=run.prefs.txt", "-m", "nDCG@10,AP", "--title", "Mine",
         "--queries", str(tmp_path / "queries.tsv"), "--depth", "50", "-o", str(tmp_path / "out.html")]
    )  # fmt: skip
    printed = capsys.readouterr().out
    assert status == 0
    assert printed.startswith(f"{tmp_path / 'out.html'}: 2 systems, 32 queries, ")
    elements = Elements((tmp_path / "out.html").read_text(encoding="utf-8"))
    summary = json.loads(elements.by_id("summary"))
    assert [m["name"] for m in summary["measures"]] == ["nDCG@10", "AP"]
    assert ["Documents used per ranking", "the first 50"] in summary["policy"]
    assert "first question" in json.loads(unpacked(elements, "queries"))["texts"]
    means = rl.evaluate("qrels.txt", "run.txt", ["AP"], depth=50).mean
    assert summary["results"]["AP"][0]["mean"] == pytest.approx(means["AP"], abs=1e-12)


def test_command_takes_judgments_from_standard_input(tmp_path):
    command = [
        sys.executable,
        "-m",
        "ranklens.cli",
        "report",
        "-",
        "run.txt",
        "-m",
        "RR",
        "-o",
        tmp_path / "out.html",
    ]
    with (GOLDEN / "qrels.txt").open("rb") as judgments:
        done = subprocess.run(
            command, cwd=GOLDEN, stdin=judgments, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0
    assert [
        line
        for line in done.stderr.splitlines()
        if "1 of 32 judged queries is not in the run ('q6')" not in line
    ] == []
    assert done.stdout.startswith(f"{tmp_path / 'out.html'}: 1 system, 32 queries, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "bm52"], "bm52"),
        (["-o", "no/such/folder/r.html"], "there is no folder no/such/folder"),
        (["--queries", "nothing.tsv"], "nothing.tsv does not exist"),
        (["--corpus", "run.txt"], "run.txt: no id among"),
        (["-m", "nDGC"], "did you mean 'nDCG'?"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(GOLDEN)
    base = ["report", "qrels.txt", "run.txt", "-o", str(tmp_path / "r.html")]
    status = main([*base, *arguments])
    assert status == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
