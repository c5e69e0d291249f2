"""Reports of many systems: packed pairs hold the library's numbers, rankings are those of the best, teams are named."""

import base64
import gzip
import json
import random
import re

import needs
import numpy as np
import pytest

import ranklens as rl
from ranklens.report import crowd
from ranklens.report.html import render, write_report


def made(systems=60, n=12, **how):
    draw = random.Random(3)
    qrels = {f"q{i}": {f"d{j}": 1 for j in range(5)} for i in range(n)}
    runs = {
        f"team{s % 7}x{s:02d}": {
            q: {f"d{j}": draw.gauss((j < 5) * s / 20, 1) for j in range(30)} for q in qrels
        }
        for s in range(systems)
    }
    return rl.compare(qrels, runs, "nDCG@10,AP", test="t", **how)


@pytest.fixture(scope="module")
def many():
    return made(teams="tag")


@pytest.fixture(scope="module")
def elements(many):
    page = render(many)
    found = dict(
        re.findall(r'<script type="(?:text/plain|application/json)" id="([\w-]+)">(.*?)</script>', page)
    )
    return {
        name: json.loads(text) if name == "summary" else gzip.decompress(base64.b64decode(text))
        for name, text in found.items()
    }


def test_packed_pairs_are_those_of_the_library(many, elements):
    frame = many.pairs_frame().filter(measure="AP")
    pairs = len(frame)
    bytes_ = np.frombuffer(elements["piece-pairs-1"], dtype=np.uint8)
    assert len(bytes_) == pairs * (4 * len(crowd.PACKED) + 1)
    columns = bytes_[: 16 * pairs].reshape(4, 4, pairs).transpose(0, 2, 1).copy().view("<f4")[:, :, 0]
    for name, column in zip(crowd.PACKED, columns, strict=True):
        known = {"adjusted_p": "adjusted_p", "low": "low", "high": "high", "detectable": "detectable"}[name]
        assert np.allclose(column, frame[known].to_numpy(), rtol=1e-6, atol=1e-7), name
    assert np.array_equal(bytes_[16 * pairs :].astype(bool), frame["significant"].to_numpy())
    order = [(a, b) for i, a in enumerate(many.systems) for b in many.systems[i + 1 :]]
    assert list(zip(frame["a"], frame["b"], strict=True)) == order  # the page finds a pair by its place


def test_rankings_and_curves_are_those_of_the_best(many, elements):
    best = set(many.ranked("nDCG@10")[: crowd.BEST])
    summary = elements["summary"]
    assert {many.systems[s] for s in summary["documents"]["systems"]} == best
    assert {row["system"] for row in summary["charts"]["over_k"]} == best
    assert len(summary["results"]["AP"]) == 60
    assert summary["pairs"] == {"nDCG@10": [], "AP": []}


def test_few_systems_have_everything():
    found = made(systems=5)
    assert crowd.in_detail(found) == list(found.systems)
    assert '"crowd":null' in render(found)


def test_the_baseline_is_shown_in_detail():
    found = made(baseline="team0x00")
    assert "team0x00" in crowd.in_detail(found)
    summary = json.loads(re.search(r'id="summary">(.*?)</script>', render(found))[1])
    assert len(summary["pairs"]["AP"]) == 59
    assert not summary["crowd"]["packed"]


def test_intervals_are_left_out_beyond_the_room(many, monkeypatch):
    pairs = 60 * 59 // 2
    monkeypatch.setattr(crowd, "NUMBERS", 4 * pairs)
    found = crowd.packed_pairs(many)
    assert [len(found[f"pairs-{m}"]) for m in (0, 1)] == [17 * pairs, 5 * pairs]


def test_teams_come_from_names_tables_and_dicts(tmp_path, many):
    assert set(many.teams.values()) == {"team"}
    systems = made(systems=3).systems
    (tmp_path / "teams.csv").write_text("system,team\n" + "".join(f"{s},{s[4]}\n" for s in systems))
    for given in ({s: s[4] for s in systems}, tmp_path / "teams.csv"):
        found = made(systems=3, teams=given)
        assert found.teams == {s: s[4] for s in systems}
        best = found.ranked("AP")[0]
        assert re.search(rf"AP +{best[4]} +{best} ", str(found))
    with pytest.raises(rl.InputError, match="no team for team2x02"):
        made(systems=3, teams=dict.fromkeys(systems[:2], "x"))


@pytest.mark.slow
def test_the_page_of_many_systems_in_a_browser(tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    needs.skip_without(needs.browser())
    found = made(teams={f"team{s % 7}x{s:02d}": f"team{s % 7}" for s in range(60)})
    path = write_report(found, tmp_path / "report.html")
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        page = playwright.chromium.launch(executable_path=needs.chromium(), args=arguments).new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        rows = page.locator("#board tbody tr")
        assert rows.count() == 25
        page.select_option("#board-top", "all")
        assert rows.count() == 60
        page.select_option("#board-which", "rivals")
        best = found.ranked("nDCG@10")[0]
        assert rows.count() == 60 - len(found.told_apart("nDCG@10", best))
        page.select_option("#board-which", "teams")
        assert rows.count() == 7
        page.select_option("#board-which", "all")
        page.fill("#board-search", "x07")
        assert rows.count() == 1
        page.fill("#board-search", "")
        a, b = "team3x10", "team5x40"
        page.select_option("#choose-a", label=a)
        page.select_option("#choose-b", label=b)
        pair = found.pair("nDCG@10", a, b)
        tile = page.locator(".tile").nth(1).inner_text()
        low, high = (f"{end:.4f}".replace("-", "−") for end in pair.interval)
        assert f"[{low}, {high}]" in tile
        assert f"{pair.difference:+.4f}".replace("-", "−") in tile
        width = page.locator(".heat").bounding_box()["width"]
        page.locator(".heat").click(position={"x": width - 40, "y": 60})  # a good row, a poor column
        assert page.locator("#choose-b option:checked").inner_text() in found.ranked("nDCG@10")[:10]
        page.get_by_label("Zoom in").click()
        assert "places" in page.locator("#pairs .note").inner_text()
        assert page.locator("#choose-a option:checked").inner_text() in found.ranked("nDCG@10")[-10:]
        before = page.locator(".chip[aria-pressed=true]").count()
        page.locator(".chip[aria-pressed=false]").first.click()
        assert page.locator(".chip[aria-pressed=true]").count() == before + 1
        assert errors == []
