"""Charts: their numbers against the library and against counting, and that each can be written in every format."""

import dataclasses
import json
import re
import sys
import warnings
from collections import Counter

import numpy as np
import pytest
from example import HOSTILE, example
from hypothesis import given
from strategies import judgments, runs

import ranklens as rl
from ranklens.cli.main import main
from ranklens.comparison.compare import compare_scores
from ranklens.errors import InputError, MeasureError, MissingExtraError
from ranklens.report import chart_data, charts
from ranklens.report.charts import style

RANKED = [name for name in charts.CHARTS if name != "over_tokens"]  # which needs passages, see tests/evidence


@pytest.fixture(scope="module")
def comparison():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _, _ = example()
    seconds = {"bm25": [0.01, 0.02, 0.03], HOSTILE: [0.05], "dense & sparse": [0.3], "ensemble": [0.4]}
    return dataclasses.replace(found, latencies=seconds)


def evaluated(comparison, system, measures):
    evidence = comparison.evidence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rl.evaluate(evidence.qrels, evidence.runs[system], measures)


def test_leaderboard_and_slices_are_the_results(comparison):
    table = chart_data.leaderboard(comparison, "RR")
    assert table["system"].to_list() == comparison.ranked("RR")
    for row in table.to_dicts():
        found = comparison.result("RR", row["system"])
        assert (row["mean"], row["low"], row["high"], row["group"]) == (
            found.mean,
            *found.interval,
            found.group,
        )
    parts = {part.name: part for part in comparison.slices}
    for row in chart_data.slices(comparison, "RR").to_dicts():
        found = next(r for r in parts[row["slice"]].results if (r.measure, r.system) == ("RR", row["system"]))
        assert (row["mean"], row["n"]) == (found.mean, found.n)


def test_charts_call_measures_as_they_were_asked_for():
    pytest.importorskip("altair")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rl.compare(
            {"q": {"a"}, "r": {"b"}}, {"x": {"q": ["a"]}, "y": {"r": ["a", "b"]}}, "mrr, hit@1"
        )
    assert chart_data.without_cutoff(found, "Success@1") == "hit"
    assert chart_data.without_cutoff(found, "nDCG@10") == "nDCG"  # which was not asked for
    for name in ("leaderboard", "deltas", "scatter", "significance"):
        drawn = charts.CHARTS[name](found, measure="Success@1").to_json()
        assert "hit@1" in drawn, name
        assert "Success@1" not in drawn, name


def test_quality_over_k_is_the_measure_at_each_k(comparison):
    table = chart_data.over_k(comparison, "nDCG@10")
    longest = max(int(s.judged.retrieved.max()) for s in comparison.scores.values())
    assert sorted(set(table["k"])) == [k for k in chart_data.KS if k <= longest]
    for row in table.to_dicts():
        scores = evaluated(comparison, row["system"], f"nDCG@{row['k']:.0f}")
        (name,) = scores.mean
        assert row["mean"] == pytest.approx(scores.mean[name], abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx(tuple(scores.interval(name)), abs=1e-12)


def test_precision_recall_is_interpolated_precision(comparison):
    for row in chart_data.precision_recall(comparison).to_dicts():
        (expected,) = evaluated(comparison, row["system"], f"IPrec@{row['recall']:g}").mean.values()
        assert row["mean"] == pytest.approx(expected, abs=1e-12)


@given(judgments(), runs())
def test_first_relevant_by_counting(qrels, run):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = rl.compare(qrels, {"only": run}, "RR")
    found = {r["rank"]: r["queries"] for r in chart_data.first_relevant(comparison).to_dicts()}
    ranks = [round(1 / x) if x else None for x in comparison.values("RR")[0]]
    ends = [tuple(map(int, label.split("–"))) for label in found if label[0].isdigit()]
    for low, high in ((e[0], e[-1]) for e in ends):
        label = str(low) if low == high else f"{low}–{high}"
        assert found[label] == sum(rank is not None and low <= rank <= high for rank in ranks)
    assert found["not found"] == ranks.count(None)
    assert sum(found.values()) == len(ranks)


def test_first_relevant_over_averaged_ties_is_expected():
    """Two documents tie, one is relevant: half of the time it is first."""
    comparison = rl.compare({"q": {"a": 1}}, {"only": {"q": {"a": 1.0, "x": 1.0}}}, "RR", ties="average")
    found = {r["rank"]: r["queries"] for r in chart_data.first_relevant(comparison).to_dicts()}
    assert (found["1"], found["2"], found["not found"]) == (0.5, 0.5, 0)


def test_queries_that_one_system_lacks_count_as_not_found():
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    scores = {"all": rl.evaluate(qrels, {q: ["a"] for q in qrels}, "RR"),
              "some": rl.evaluate(qrels, {"q1": ["a"]}, "RR", missing="skip")}  # fmt: skip
    comparison = compare_scores(scores, "RR", missing="zero")
    found = {(r["system"], r["rank"]): r["queries"] for r in chart_data.first_relevant(comparison).to_dicts()}
    assert (found["some", "1"], found["some", "not found"]) == (1, 1)
    curve = chart_data.over_k(comparison, "RR", [1])
    assert curve["mean"].to_list() == [1.0, 0.5]


def test_pareto_front(comparison):
    table = {r["system"]: r for r in chart_data.latency(comparison, "nDCG@10").to_dicts()}
    quality = {s: comparison.result("nDCG@10", s).mean for s in comparison.systems}
    time = {s: float(np.median(comparison.latencies[s])) for s in comparison.systems}
    beaten = {s for s in quality for o in quality if quality[o] > quality[s] and time[o] < time[s]}
    assert {s for s, row in table.items() if not row["front"]} == beaten
    assert table["bm25"]["p50"] == 0.02
    # The same twice, and one that is slower for the same quality.
    values = {"one": 0.5, "same": 0.5, "slower": 0.5, "best": 1.0}
    seconds = {"one": [1.0], "same": [1.0], "slower": [2.0], "best": [3.0]}
    scores = {system: {"q1": {"RR": value}, "q2": {"RR": value}} for system, value in values.items()}
    twice = dataclasses.replace(compare_scores(scores), latencies=seconds)
    front = chart_data.latency(twice, "RR").filter("front")["system"]
    assert {*front} == {"one", "same", "best"}


def test_significance_has_both_directions(comparison):
    table = chart_data.significance(comparison, "nDCG@10").to_dicts()
    assert len(table) == 4 * 3
    for row in table:
        pair = comparison.pair("nDCG@10", row["a"], row["b"])
        assert (row["difference"], row["adjusted_p"]) == pytest.approx((pair.difference, pair.adjusted_p))


def data(spec):
    return (
        [row for rows in spec["datasets"].values() for row in rows]
        if "datasets" in spec
        else spec["data"]["values"]
    )


def test_deltas_and_scatter_show_the_queries(comparison):
    truth = {r["query"]: r for r in comparison.queries("RR", "bm25", "ensemble").to_dicts()}
    shown = [
        row for row in data(comparison.plot.deltas("RR", "bm25", "ensemble").to_dict()) if "order" in row
    ]
    assert [row["difference"] for row in shown] == sorted(
        (r["difference"] for r in truth.values()), reverse=True
    )
    assert {row["query"]: row["difference"] for row in shown} == {
        q: r["difference"] for q, r in truth.items()
    }
    points = [
        row for row in data(comparison.plot.scatter("RR", "bm25", "ensemble").to_dict()) if "queries" in row
    ]
    places = Counter((r["bm25"], r["ensemble"]) for r in truth.values())
    assert {(row["a"], row["b"]): row["queries"] for row in points} == places
    assert max(places.values()) > 1  # which one point shows, larger
    assert [row["queries"] for row in points] == sorted((row["queries"] for row in points), reverse=True)
    assert all(
        (row["a"], row["b"]) == (truth[row["first"]]["bm25"], truth[row["first"]]["ensemble"])
        for row in points
    )


def test_the_axis_of_deltas_ends_with_the_queries(comparison):
    spec = comparison.plot.deltas("RR").to_dict()
    x = next(layer["encoding"]["x"] for layer in spec["layer"] if "x2" in layer["encoding"])
    assert x["scale"] == {"domain": [0, len(comparison.query_ids)], "nice": False}


def test_the_leaderboard_has_room_for_its_labels(comparison):
    spec = comparison.plot.leaderboard("RR").to_dict()
    (scale,) = (
        layer["encoding"]["x"]["scale"]
        for layer in spec["layer"]
        if "scale" in layer["encoding"].get("x", {})
    )
    highest = max(chart_data.leaderboard(comparison, "RR")["high"])
    assert scale["domain"][1] > highest


def test_one_query_can_be_drawn(tmp_path):
    values = compare_scores({"a": {"q": {"mine": 1.0}}, "b": {"q": {"mine": 1.0}}}, test="t")
    assert "Mean over 1 query," in charts.save(values.plot.leaderboard(), tmp_path / "x.svg").read_text()


def _rows(chart):
    spec = chart.to_dict()
    return spec["datasets"][spec["data"]["name"]] if "datasets" in spec else spec["data"]["values"]


def test_a_matrix_shows_only_what_was_tested(comparison, tmp_path):
    evidence = comparison.evidence
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rl.compare(evidence.qrels, evidence.runs, "RR", baseline="bm25", test="t")
    charts.save(found.plot.significance(), tmp_path / "some.svg")
    cells = _rows(found.plot.significance())
    assert {(cell["a"], cell["b"]) for cell in cells} == {
        ("bm25", other) for other in found.systems if other != "bm25"
    }
    everything = _rows(comparison.plot.significance())
    assert len(everything) == len(comparison.systems) * (len(comparison.systems) - 1)


SIGNATURES = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!DOCTYPE html>"}


@pytest.mark.parametrize("name", RANKED)
def test_every_chart_can_be_drawn(comparison, name, tmp_path):
    chart = charts.draw(comparison, name)
    assert chart == getattr(comparison.plot, name)()
    path = charts.save(chart, tmp_path / "chart.svg")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<svg")
    shown = "bm25" if name in ("deltas", "scatter") else "ensemble"
    assert shown in text


@pytest.mark.parametrize("kind", style.FORMATS)
def test_every_format_can_be_written(comparison, kind, tmp_path):
    path = charts.save(comparison.plot.leaderboard("RR"), tmp_path / f"chart.{kind.upper()}")
    content = path.read_bytes()
    assert content.lstrip()[:40].lower().startswith(SIGNATURES[kind].lower())
    if kind == "html":
        assert b"</script><img" not in content  # the name of a system
        assert b'src="http' not in content


@pytest.mark.parametrize("name", RANKED)
def test_a_notebook_shows_a_chart_without_the_network(comparison, name):
    chart = charts.draw(comparison, name)
    shown = chart._repr_mimebundle_()
    page = shown["image/svg+xml"]
    # An exported page would take these first.
    assert not {"text/html", "application/javascript"} & shown.keys()
    assert page.startswith("<svg")
    assert set(re.findall(r"https?://[^\"'\s<]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert not re.search(r"<(script|link|image|foreignObject)\b", page)
    (specification,) = (
        value for kind, value in shown.items() if kind.startswith("application/vnd.vegalite.v")
    )
    assert specification == chart.to_dict()
    assert shown["text/plain"].startswith("<")
    changed = chart.properties(background="ivory")
    assert changed._repr_mimebundle_().keys() == shown.keys()


def test_a_chosen_renderer_stays(comparison):
    import altair as alt

    with alt.renderers.enable("png"):
        assert "image/png" in str(comparison.plot.leaderboard()._repr_mimebundle_())


@pytest.mark.slow
def test_many_queries_are_no_problem(tmp_path):
    scores = {s: {f"q{i}": {"RR": (i * k) % 101 / 101} for i in range(6000)} for k, s in ((1, "a"), (7, "b"))}
    comparison = compare_scores(scores, test="t")
    assert charts.save(comparison.plot.deltas(), tmp_path / "x.svg").stat().st_size > 0


def test_what_cannot_be_drawn_is_told(comparison, tmp_path):
    values = compare_scores({"a": {"q": {"mine": 1.0}}})
    for draw, message in [
        (values.plot.over_k, "mine has no cutoff"),
        (values.plot.precision_recall, "needs the rankings"),
        (values.plot.latency, "There are no latencies"),
        (values.plot.slices, "has no slices"),
        (values.plot.significance, "only one was evaluated"),
        (values.plot.deltas, "only one system"),
        (lambda: comparison.plot.leaderboard("AP"), "AP was not compared"),
        (lambda: comparison.plot.deltas("RR", "bm52"), "did you mean 'bm25'?"),
        (lambda: charts.draw(comparison, "delta"), "did you mean 'deltas'?"),
        (
            lambda: charts.draw(comparison, "first_relevant", measure="RR"),
            "^first_relevant .* takes no measure",
        ),
        (
            lambda: charts.save(comparison.plot.leaderboard(), tmp_path / "x.jpg"),
            r"\.png, \.svg, \.pdf, \.html",
        ),
    ]:
        with pytest.raises((InputError, MeasureError), match=message):
            draw()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_a_missing_package_says_how_to_get_it(comparison, monkeypatch, tmp_path, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ranklens\[plots\]'"):
        charts.save(comparison.plot.leaderboard(), tmp_path / "x.png")


def test_command_draws(tmp_path, capsys, monkeypatch):
    from command_line import GOLDEN

    monkeypatch.chdir(GOLDEN)
    base = ["compare", "qrels.txt", "run.txt", "b=run.prefs.txt", "-m", "nDCG@10", "--test", "t"]
    svg, png = tmp_path / "a.svg", tmp_path / "b.png"
    assert main([*base, "--plot", str(svg), "--plot", f"deltas={png}"]) == 0
    assert (svg.read_bytes()[:4], png.read_bytes()[:4]) == (b"<svg", b"\x89PNG")
    two = [*base, "-m", "nDCG@10,AP(rel=2)"]
    assert main([*two, "--plot", f"leaderboard:AP(rel=2)={svg}"]) == 0
    assert "AP(rel=2) by system" in svg.read_text()
    capsys.readouterr()
    assert main([*base, "--plot", f"first_relevant:AP={svg}"]) == 2
    assert "and takes no measure" in capsys.readouterr().err
    assert main([*base, "--plot", f"deltas:AP={svg}"]) == 2
    assert "AP was not compared" in capsys.readouterr().err
    assert main([*base, "--plot", f"delta={png}"]) == 2
    assert "there is no chart 'delta': did you mean 'deltas'?" in capsys.readouterr().err
    assert main([*base, "--plot", str(tmp_path / "x.gif")]) == 2


def test_a_margin_is_drawn_as_a_band(comparison):
    plain = comparison.plot.differences("RR").to_json()
    assert "Band" not in plain
    found = rl.compare_scores(comparison.scores, ["RR"], margin=0.05)
    drawn = found.plot.differences("RR").to_dict()
    text = json.dumps(drawn)
    assert "Band: the margin of 0.05" in text
    assert any(rows == [{"from": -0.05, "to": 0.05}] for rows in _inline_rows(drawn))


def _inline_rows(drawn):
    own = [layer["data"]["values"] for layer in drawn["layer"] if "values" in layer.get("data", {})]
    return own + list(drawn.get("datasets", {}).values())


def test_charts_of_queries_with_their_texts():
    golden = [{"id": f"q{i}", "question": f"What is {i}?", "expected_chunk_ids": ["a"]} for i in range(6)]
    runs = {
        name: [{"id": f"q{i}", "retrieved": docs} for i in range(6)]
        for name, docs in (("one", ["a"]), ("two", ["x", "a"]))
    }
    compared = rl.compare(golden, runs, "RR")
    assert "question" in compared.queries("RR").columns
    assert charts.deltas(compared, "RR").to_dict()
    assert charts.scatter(compared, "RR").to_dict()
