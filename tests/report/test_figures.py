"""Figures of papers: as wide as asked for, no taller than a page, and no two systems alike, however many there are."""

import re
from collections import Counter

import numpy as np
import pytest

import ranklens as rl
from ranklens.report import charts
from ranklens.report.charts import figures, style

pytest.importorskip("altair")
CHARTS = [name for name in charts.CHARTS if name not in ("latency", "over_tokens")]


def rows(chart, layer=0):
    """The data of a layer, which Altair keeps beside it under a name."""
    spec = chart.to_dict()
    found = spec["layer"][layer].get("data") or spec["data"]
    return found.get("values") or spec["datasets"][found["name"]]


def compared(n, **options):
    rng = np.random.default_rng(n)
    queries = [f"q{i}" for i in range(20)]
    qrels = {q: {f"d{j}": int(rng.integers(0, 3)) for j in range(12)} for q in queries}
    runs = {
        f"system {i:02d}": {
            q: {d: g * i / n + rng.normal() for d, g in docs.items()} for q, docs in qrels.items()
        }
        for i in range(n)
    }
    by = {q: "even" if i % 2 else "odd" for i, q in enumerate(queries)}
    return rl.compare(qrels, runs, ["nDCG@10", "AP"], test="t", by=by, **options)


@pytest.mark.parametrize("n", [2, 8, 17, pytest.param(50, marks=pytest.mark.slow)])
def test_every_chart_fits_a_column_and_a_page(n, tmp_path):
    found = compared(n)
    for name in CHARTS:
        for width, points in figures.WIDTHS.items():
            file = tmp_path / f"{name}.svg"
            charts.save(getattr(found.plot, name)().figure(width=width), file)
            wide, tall = (
                float(x) for x in re.search(r'width="([\d.]+)" height="([\d.]+)"', file.read_text()).groups()
            )
            assert points - 12 <= wide <= points + 1, (name, width, n)
            assert tall <= figures.TALLEST + 4, (name, width, n)


@pytest.mark.parametrize("n", [2, 8, 9, 17, 50])
def test_no_two_systems_look_alike_unless_they_are_grey(n):
    found = compared(n)
    looks = Counter(
        (style.look(found, s, style.COLOURS), style.look(found, s, style.SHAPES), str(style.look(found, s, style.DASHES)))
        for s in found.systems
    )  # fmt: skip
    alike = {look[0] for look, count in looks.items() if count > 1}
    assert alike <= {style.GREY}
    assert (n > figures.MOST_LOOKS) == bool(alike)


def test_chosen_systems_are_drawn_and_named_ones_stand_out():
    found = compared(12, baseline="system 03")
    chart = found.plot.leaderboard().figure(systems=["system 01", "system 02"])
    assert {row["system"] for row in rows(chart)} == {
        "system 01",
        "system 02",
    }
    assert "title" not in chart.to_dict()
    assert found.plot.leaderboard().figure(title=True).to_dict()["title"]["text"] == "nDCG@10 by system"
    with figures.drawn_as(figures.Figure(highlight=("system 07",))):
        assert style.look(found, "system 07", style.COLOURS) == style.COLOURS[0]
        assert style.look(found, "system 11", style.COLOURS) == style.GREY
    assert figures.standing_out(found)[0] == "system 03"  # the baseline always


def test_lines_of_many_systems_are_named_where_they_end():
    chart = compared(17).plot.over_k().figure()
    kinds = [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    assert kinds == ["line", "line", "point", "text"]
    places = sorted(row["mean"] for row in rows(chart, 3))
    assert len(places) == 5
    assert min(np.diff(places)) > 0.03  # the names do not cover each other


@pytest.mark.parametrize("n", [2, 4, 5, 17])
@pytest.mark.parametrize("name", ["over_k", "precision_recall"])
def test_a_chart_claims_intervals_only_where_it_draws_them(n, name):
    chart = getattr(compared(n).plot, name)().figure(title=True).to_dict()
    drawn = "area" in [layer["mark"]["type"] for layer in chart["layer"]]
    assert drawn == (n <= 4)
    about = chart["title"]["subtitle"]
    assert about == "Mean over 20 queries, " + ("95% interval" if drawn else "without intervals")


def test_charts_of_two_systems_colour_both():
    found = compared(17)
    worst, second = found.ranked("nDCG@10")[-1], found.ranked("nDCG@10")[-2]
    colours = found.plot.deltas("nDCG@10", worst, second).to_dict()["layer"][0]["encoding"]["color"]["scale"][
        "range"
    ]
    assert style.GREY not in colours
    assert len({*colours}) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": "colum"}, "did you mean 'column'"),
        ({"width": 20}, "from 100 to 2,000 points"),
        ({"systems": ["system 99"]}, "There is no system 'system 99'"),
        ({"highlight": "nobody"}, "There is no system 'nobody'"),
        ({"highlight": [f"system 0{i}" for i in range(9)]}, "highlight at most 8"),
    ],
)
def test_wrong_wishes_are_refused(options, message):
    with pytest.raises(rl.InputError, match=message):
        compared(3).plot.leaderboard().figure(**options)


def test_a_figure_of_differences_names_the_system_that_all_are_compared_with_once():
    chart = compared(4, baseline="system 02").plot.differences()
    assert rows(chart, 1)[0]["pair"] == "system 03 − system 02"
    figure = chart.figure()
    assert [row["pair"] for row in rows(figure, 1)] == ["system 03", "system 01", "system 00"]
    titles = [layer["encoding"]["x"].get("title") for layer in figure.to_dict()["layer"]]
    assert "difference from system 02 in nDCG@10" in titles


def test_an_axis_has_no_ticks_in_the_room_for_labels():
    """Where no mean can be."""
    encoding = [layer["encoding"] for layer in compared(17).plot.leaderboard().figure().to_dict()["layer"]]
    values = next(one["x"]["axis"]["values"] for one in encoding if "axis" in one["x"])
    assert values
    assert max(values) <= 1


def test_a_legend_names_only_what_is_there():
    legend = compared(2).plot.scatter().figure().to_dict()["layer"][1]["encoding"]["color"]["scale"]["domain"]
    assert legend == ["system 00", "system 01"]
