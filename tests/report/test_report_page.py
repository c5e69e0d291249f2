"""The report in a real browser: everything works, nothing leaves, nothing in the data runs.

Needs Playwright (dependency group ``all``) and a Chromium or Chrome on the machine; accessibility needs npm for axe-core.
"""

import dataclasses
import itertools
import json
import math
import os
import re
import subprocess
import tarfile
import tempfile
import warnings
from pathlib import Path

import needs
import pytest
from example import ARABIC, CHINESE, HOSTILE, example

import ranklens as rl
from ranklens.comparison import wording
from ranklens.comparison.compare import compare_scores
from ranklens.report.html import write_report

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not installed; scripts/test --all installs it"
)
needs.skip_without(needs.browser(), ", so the report's page is not tested")

pytestmark = pytest.mark.slow
expect = sync_api.expect  # waits; wait_for_function would need eval, which the page forbids
WIDE, NARROW = {"width": 1600, "height": 1000}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        yield playwright.chromium.launch(executable_path=needs.chromium(), args=arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A comparison and the path of its report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison, queries, corpus = example()
    path = tmp_path_factory.mktemp("report") / "report.html"
    return comparison, write_report(comparison, path, queries=queries, corpus=corpus, title=HOSTILE)


@pytest.fixture
def visit(browser):
    """Open a report; afterwards nothing may have been requested but the file, and nothing complained of."""
    contexts, complaints, requests, allowed = [], [], [], set()

    def visit(path, fragment="", *, ready=True, setup=None, **options):
        context = browser.new_context(**{"viewport": WIDE, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        if setup:
            page.add_init_script(setup)
        allowed.add(path.as_uri())
        page.goto(f"{path.as_uri()}{fragment}")
        if ready:
            page.wait_for_selector("html[data-ready]")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert complaints == []
    asked = {url.partition("#")[0] for url in requests}
    assert {url for url in asked if not url.startswith("data:")} == allowed


def texts(page, selector):
    return page.locator(selector).all_inner_texts()


def values(page, column=1):
    return [float(x) for x in page.eval_on_selector_all(
        f"#rows tbody tr td[data-value]:nth-of-type({column})", "cells => cells.map(c => c.dataset.value)")]  # fmt: skip


def differences(page):
    return [float(x) for x in page.eval_on_selector_all(
        "#rows tbody td.strong", "cells => cells.map(c => c.dataset.value)")]  # fmt: skip


def choose(page, name, label):
    page.select_option(f"#choose-{name}", label=label)


def open_queries(page):
    return [
        page.locator("#rows a code").nth(i).inner_text() for i in range(page.locator("#rows a code").count())
    ]


# --- Numbers


def unjudged(runs):
    qrels = {f"q{i}": {f"d{j}": int(j < 5) for j in range(15)} for i in range(20)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rl.compare(qrels, {name: dict.fromkeys(qrels, docs) for name, docs in runs.items()}, "P@4")


def test_bounds_are_drawn_and_a_pair_that_they_leave_open_is_called_so(visit, tmp_path):
    comparison = unjudged({"old": ["d0", "d9", "d1", "d2"], "new": ["d0", "x1", "x2", "d8"]})
    assert comparison.open_pairs == {"P@4": [("old", "new")]}
    page = visit(write_report(comparison, tmp_path / "open.html"))
    table = page.locator("#trust table", has_text="What unjudged documents leave open, P@4")
    bounds = comparison.bounds("P@4")
    lowest, highest = bounds["low"].min(), bounds["high"].max()
    for i, (system, mean, low, high, _) in enumerate(bounds.rows()):
        row = table.locator("tbody tr").nth(i)
        assert row.locator("th bdi").inner_text() == system
        assert row.locator("td.num").all_inner_texts() == [f"{low:.4f}", f"{high:.4f}"]
        assert row.locator("svg.interval").get_attribute("aria-label") == f"from {low:.4f} to {high:.4f}"
        scale = [1 + 98 * (value - lowest) / (highest - lowest) for value in (low, high, mean)]
        bar, line = row.locator("rect.difference"), row.locator("line.zero")
        start, width = (float(bar.get_attribute(name).rstrip("%")) for name in ("x", "width"))
        assert (start, width) == pytest.approx((scale[0], max(scale[1] - scale[0], 0.5)), abs=0.01)
        assert float(line.get_attribute("x1").rstrip("%")) == pytest.approx(scale[2], abs=0.01)
        assert bar.bounding_box()["width"] > 0
    assert "the order of the two is open although their difference is significant" in page.inner_text(
        "#trust"
    )
    assert "Open: unjudged documents could reverse their order" in texts(page, ".tile .decision")
    assert "with caution: unjudged documents could reverse their order" in page.inner_text("#verdict")


def test_nothing_is_open_where_bounds_stay_apart(visit, tmp_path):
    comparison = unjudged({"old": ["d0", "d1", "d2", "d3"], "new": ["d0", "x1", "d8", "d9"]})
    assert comparison.pair("P@4", "old", "new").significant
    page = visit(write_report(comparison, tmp_path / "closed.html"))
    assert "What unjudged documents leave open" in page.inner_text("#trust")
    assert page.locator(".tile .decision").count() == 0


def test_leaderboard_shows_the_numbers_of_the_json(made, visit):
    comparison, path = made
    truth = json.loads(comparison.to_json())
    page = visit(path)
    for measure in comparison.measures:
        choose(page, "measure", measure)
        rows = page.locator("#leaderboard tbody tr")
        ranked = comparison.ranked(measure)
        assert texts(page, "#leaderboard tbody th bdi") == ranked
        for i, system in enumerate(ranked):
            row = next(r for r in truth["results"] if (r["measure"], r["system"]) == (measure, system))
            shown = rows.nth(i).inner_text()
            assert f"{row['mean']:.4f}" in shown
            assert f"[{row['low']:.4f}, {row['high']:.4f}]" in shown
            assert row["group"] in shown.split()
        assert comparison.verdict(measure)[:30] in page.inner_text("#verdict .verdict")


def test_every_pair_shows_difference_and_adjusted_p(made, visit):
    comparison, path = made
    page = visit(path)
    measure = comparison.measures[0]
    ranked = comparison.ranked(measure)
    for i, row in enumerate(ranked):
        for j, column in enumerate(ranked):
            if i == j:
                continue
            pair = comparison.pair(measure, column, row)
            cell = page.locator(f"#pairs tbody tr:nth-child({i + 1}) td:nth-of-type({j + 1})")
            shown = cell.locator("span:not(.hidden)").inner_text()
            assert shown.replace("−", "-").split()[0] == f"{pair.difference:+.3f}"
            assert ("★" in shown) == pair.significant
            p = "< 0.001" if pair.adjusted_p < 0.001 else f"{pair.adjusted_p:.3f}"
            assert cell.locator("small").inner_text() == f"p {p}"
    page.locator("#pairs tbody tr:nth-child(1) td:nth-of-type(3) button").click()
    assert page.eval_on_selector("#choose-b", "s => s.selectedOptions[0].text") == ranked[0]
    assert page.eval_on_selector("#choose-a", "s => s.selectedOptions[0].text") == ranked[2]


def test_table_shows_every_query_exactly(made, visit):
    comparison, path = made
    page = visit(path)
    a, b = comparison.systems[0], comparison.ranked(comparison.measures[0])[0]
    table = {row["query"]: row for row in comparison.queries(comparison.measures[0], a, b).to_dicts()}
    seen = {}
    while True:
        for i in range(page.locator("#rows tbody tr").count()):
            row = page.locator("#rows tbody tr").nth(i)
            cells = [
                float(x)
                for x in row.locator("td[data-value]").evaluate_all("c => c.map(x => x.dataset.value)")
            ]
            seen[row.locator("a code").inner_text()] = cells
            assert f"{cells[0]:.4f}" in row.inner_text()
        if page.get_by_label("Next page").is_disabled():
            break
        page.get_by_label("Next page").click()
    assert seen == {q: [row[a], row[b], row["difference"]] for q, row in table.items()}


def test_numbers_are_rounded_as_python_rounds(visit, tmp_path):
    """Halves exactly between two decimals go to the even one, in Python; JavaScript's toFixed rounds them up."""
    numbers = [1 / 32, 3 / 32, 5 / 32, 7 / 32, 0.5, 0.03125000001, 0.1 + 0.2]
    scores = {f"q{i}": {"RR": x} for i, x in enumerate(numbers)}
    path = write_report(compare_scores({"one": scores}), tmp_path / "r.html")
    page = visit(path)
    page.get_by_role("button", name="Query").click()
    assert texts(page, "#rows tbody td.num") == [f"{x:.4f}" for x in numbers]


# --- The table of queries


def test_sorting(made, visit):
    page = visit(made[1])
    sizes = [abs(d) for d in differences(page)]
    assert sizes == sorted(sizes, reverse=True)
    header = page.locator("#rows [data-sort=difference]")
    for direction, reverse in (("descending", True), ("ascending", False)):
        header.click()
        assert differences(page) == sorted(differences(page), reverse=reverse)
        assert header.locator("xpath=..").get_attribute("aria-sort") == direction
    page.locator("#rows [data-sort=a]").click()
    assert values(page) == sorted(values(page), reverse=True)
    page.locator("#rows [data-sort=query]").click()
    assert open_queries(page)[:3] == ["q0", "q1", "q2"]
    assert page.evaluate("document.activeElement.dataset.sort") == "query"  # the focus stays


def test_filters_and_search(made, visit):
    comparison, path = made
    page = visit(path)
    page.select_option("#outcome", label="B is higher")
    assert min(differences(page)) > 0
    page.select_option("#outcome", label="all queries")
    page.select_option("#slice", label=HOSTILE)
    assert {comparison.slice_of[q] for q in open_queries(page)} == {HOSTILE}
    page.select_option("#slice", label="all")
    page.fill("#search", "THING3 question")
    wanted = {f"q{i}" for i in range(60) if i % 7 == 3}
    expect(page.locator("#rows tbody tr")).to_have_count(len(wanted))
    assert set(open_queries(page)) == wanted
    page.fill("#search", ARABIC.split()[2])
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    assert open_queries(page) == ["q1"]
    page.fill("#search", "nowhere to be found")
    page.wait_for_selector("#rows .empty")
    assert page.inner_text("#found") == "0 of 61 queries"


def test_queries_below_a_value(made, visit):
    comparison, path = made
    page = visit(path)
    assert not page.is_visible("#limit")
    page.select_option("#outcome", label="A is below …")
    page.fill("#limit", "0.25")
    first, _ = comparison.values("nDCG@10")[0], page.wait_for_selector("#rows tbody tr")
    expect(page.locator("#found")).to_have_text(f"{(first < 0.25).sum()} of 61 queries")
    page.select_option("#outcome", label="all queries")
    assert not page.is_visible("#limit")
    assert "A or B failed" not in texts(page, "#outcome option")  # nothing failed


def test_queries_that_failed(visit, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison, _, _ = example(systems=("steady", "shaky"))
    comparison = dataclasses.replace(comparison, errors={"shaky": {"q7": "timed out", "q9": "timed out"}})
    page = visit(write_report(comparison, tmp_path / "r.html"))
    page.select_option("#outcome", label="A or B failed")
    expect(page.locator("#rows tbody tr")).to_have_count(2)
    assert set(open_queries(page)) == {"q7", "q9"}


def test_pages(made, visit):
    page = visit(made[1])
    first = open_queries(page)
    assert len(first) == 50
    page.get_by_label("Next page").click()
    assert len(open_queries(page)) == 11
    assert not set(first) & set(open_queries(page))
    assert page.get_by_label("Next page").is_disabled()
    page.get_by_label("First page").click()
    assert open_queries(page) == first


# --- One query


def test_drill_down_shows_both_rankings(made, visit):
    comparison, path = made
    page = visit(path)
    a, b = comparison.systems[0], comparison.ranked(comparison.measures[0])[0]
    page.locator("#rows a code", has_text="q3").first.click()
    page.wait_for_selector("dialog[open]")
    query = page.locator("dialog header code").inner_text()
    columns = page.locator("dialog .ranking")
    assert texts(page, "dialog .ranking > h3 bdi") == [a, b]
    table = comparison.documents(query, a, b)
    for system, column in ((a, columns.nth(0)), (b, columns.nth(1))):
        ranks = {r["doc"]: r[f"rank_{system}"] for r in table.to_dicts() if (r[f"rank_{system}"] or 99) <= 10}
        assert column.locator("ol code").all_inner_texts() == sorted(ranks, key=ranks.get)
        assert column.locator("ol .rank").all_inner_texts() == [str(r) for r in sorted(ranks.values())]
        missed = {r["doc"] for r in table.to_dicts() if (r["grade"] or 0) >= 1 and r["doc"] not in ranks}
        assert set(column.locator("ul code").all_inner_texts()) == missed
    change = {r["doc"]: r["change"] for r in table.to_dicts()}
    for item in columns.nth(1).locator("ol > li").all():
        kinds = item.locator(".badge").evaluate_all("b => b.flatMap(x => [...x.classList])")
        assert change[item.get_attribute("data-doc")] in kinds
    grades = comparison.evidence.qrels.judged[query]
    for item in columns.nth(0).locator("ol > li").all():
        grade = grades.get(item.get_attribute("data-doc"))
        assert item.locator(".grade").inner_text() == ("unjudged" if grade is None else f"grade {grade}")
    lost = columns.nth(0).locator("ol > li:has(.badge.lost)").evaluate_all("l => l.map(x => x.dataset.doc)")
    assert set(lost) == {d for d, c in change.items() if c == "lost"}


def written_out(page):
    """Pieces of text that are the name of a missing value."""
    return page.evaluate("""() => {
        const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode())
            if (!walker.currentNode.parentElement.closest("script, style") &&
                /^\\s*(null|undefined|false|true|NaN)\\s*$/.test(walker.currentNode.data))
                found.push(`${walker.currentNode.data} in ${walker.currentNode.parentElement.outerHTML.slice(0, 80)}`);
        return found;
    }""")


def test_missing_parts_leave_no_words_behind(made, visit, tmp_path):
    comparison, path = made
    page = visit(path)
    assert written_out(page) == []
    for query in ("q0", "q2", "q4"):
        page.evaluate(f"location.hash = 'query={query}'")
        expect(page.locator("dialog header code")).to_have_text(query)
        assert written_out(page) == []
    page.check("#all-systems")
    expect(page.locator("dialog .ranking")).to_have_count(4)
    assert page.locator("dialog").evaluate("d => d.lastChild.nodeType") == 1  # an element, not a word
    values = compare_scores({name: comparison.scores[name].per_query for name in comparison.systems}, "RR")
    page = visit(write_report(values, tmp_path / "values.html"), "#query=q2")
    page.wait_for_selector("dialog[open]")
    assert written_out(page) == []


@pytest.mark.parametrize("pair", ["ab", "cf"])
def test_the_notes_of_charts_name_the_systems_with_bands(visit, tmp_path, pair):
    qrels = {f"q{i}": {"x": 1} for i in range(6)}
    runs = {
        name: {q: [*(f"y{j}" for j in range(i % (n + 1))), "x"] for i, q in enumerate(qrels)}
        for n, name in enumerate("abcdef")
    }
    page = visit(
        rl.compare(qrels, runs, ["nDCG@5"]).to_html(tmp_path / "six.html"), f"#a={pair[0]}&b={pair[1]}"
    )
    card = page.locator("#charts figure", has_text="Quality by cutoff k")
    note = f"Bands: intervals of {pair[0]} and {pair[1]}; the others are listed under Numbers."
    expect(card.locator("figcaption")).to_contain_text(note)
    assert card.locator("path.band").count() == 2


def test_the_page_gives_elements_other_children_in_one_place_only():
    """The DOM writes null out as a word, so what may be null is left out there."""
    sources = Path(rl.__file__).parent / "report" / "page"
    assert [path.name for path in sources.glob("*.js") if "replaceChildren(" in path.read_text()] == [
        "dom.js"
    ]


def test_duplicates_ties_and_missed_documents_are_marked(made, visit):
    comparison, path = made
    page = visit(path, "#query=q3")
    page.wait_for_selector("dialog[open]")
    assert page.locator("dialog .badge.duplicate").count() == 1
    assert page.locator("dialog .badge.tied").count() > 0
    page.evaluate("location.hash = 'query=q4'")
    expect(page.locator("dialog header code")).to_have_text("q4")
    missed = page.locator("dialog .ranking").nth(0).locator("ul li", has_text="not in the corpus")
    assert "not retrieved" in missed.inner_text()
    page.evaluate("location.hash = 'query=q5'")
    expect(page.locator("dialog header code")).to_have_text("q5")
    choose(page, "b", comparison.systems[-1])
    expect(page.locator("dialog .ranking").nth(1)).to_contain_text("Nothing was retrieved")


def test_all_systems_and_whole_texts(made, visit):
    comparison, path = made
    page = visit(path, "#query=q2")
    page.wait_for_selector("dialog[open]")
    page.check("#all-systems")
    expect(page.locator("dialog .ranking")).to_have_count(4)
    assert texts(page, "dialog .ranking > h3 bdi") == list(comparison.systems)
    text = page.locator("dialog .doc .text").first
    assert text.evaluate("t => getComputedStyle(t).webkitLineClamp") == "2"
    page.check("#whole-texts")
    page.wait_for_selector(".rankings.whole")
    assert page.locator("dialog .doc .text").first.evaluate("t => getComputedStyle(t).display") == "block"


def test_deep_links(made, visit):
    path = made[1]
    page = visit(path, "#query=q7&measure=RR&a=ensemble&b=bm25")
    page.wait_for_selector("dialog[open]")
    assert page.locator("dialog header code").inner_text() == "q7"
    assert page.eval_on_selector("#choose-measure", "s => s.selectedOptions[0].text") == "RR"
    assert texts(page, "dialog .ranking > h3 bdi") == ["ensemble", "bm25"]
    page.get_by_label("Close").click()
    expect(page).not_to_have_url(re.compile("query="))
    page.locator("#rows a").first.click()
    page.wait_for_selector("dialog[open]")
    page.go_back()
    expect(page.locator("dialog")).not_to_be_visible()
    odd = visit(path, "#query=" + page.evaluate("encodeURIComponent", HOSTILE))
    odd.wait_for_selector("dialog[open]")
    assert odd.locator("dialog header code").inner_text() == HOSTILE
    lost = visit(path, "#query=q99")
    assert lost.inner_text("#found") == "This report has no query “q99”."


def test_keyboard(made, visit):
    page = visit(made[1])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    order = open_queries(page)
    page.locator("#rows a").first.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"  # visible focus
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("ArrowRight")
    expect(page.locator("dialog header code")).to_have_text(order[1])
    page.keyboard.press("ArrowLeft")
    expect(page.locator("dialog header code")).to_have_text(order[0])
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog:not([open])", state="attached")
    assert page.evaluate("document.activeElement.querySelector('code').textContent") == order[0]


# --- Looks


def test_light_and_dark(made, visit):
    background = "getComputedStyle(document.body).backgroundColor"
    light = visit(made[1])
    assert light.evaluate(background) == "rgb(250, 249, 247)"
    dark = visit(made[1], color_scheme="dark")
    assert dark.evaluate(background) == "rgb(18, 21, 26)"
    dark.click("#theme")
    assert dark.evaluate(background) == "rgb(250, 249, 247)"
    dark.reload()
    dark.wait_for_selector("html[data-ready]")
    assert dark.evaluate(background) == "rgb(250, 249, 247)"  # what was chosen stays


def test_print_is_light_and_has_no_controls(made, visit):
    page = visit(made[1], color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible(".rail")
    assert not page.is_visible("#search")
    assert page.is_visible("#leaderboard table")


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["390", "1600"])
@pytest.mark.parametrize("fragment", ["", "#query=q0", "#query=q2"])
def test_nothing_overflows(made, visit, size, fragment):
    page = visit(made[1], fragment, viewport=size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    outside = page.evaluate(
        "[...document.querySelectorAll('main *, dialog *')].filter(e => !e.closest('.scroll, .rankings, .hidden')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert outside == []


def test_a_sentence_that_begins_with_a_system_keeps_its_name(made, visit):
    comparison, path = made
    expected = wording.of_slices(comparison, comparison.measures[0])
    assert expected.startswith("ensemble is")
    assert visit(path).text_content("#slices .reasons") == expected


def test_charts_are_drawn_and_have_names(made, visit):
    page = visit(made[1])
    titles = texts(page, "#charts h3")
    assert titles == ["Difference on every query", "A against B", "Rank of the first relevant document",
                      "Quality by cutoff k", "Precision and recall"]  # fmt: skip
    expect(page.locator("#charts svg[role=img][aria-label]")).to_have_count(5)
    details = page.locator("#charts details").first
    details.locator("summary").click()
    expect(details.locator("tbody tr").nth(3)).to_be_visible()
    page.locator("#charts .point").first.dispatch_event("click")
    page.wait_for_selector("dialog[open]")


def overlapping(page, selector):
    """Texts of one line that run into the next one, or stand closer than 4 pixels to it."""
    boxes = page.eval_on_selector_all(
        selector, "all => all.map(e => [e.textContent, e.getBoundingClientRect()]).map(([t, b]) => [t, b.left, b.right, b.top])"
    )  # fmt: skip
    assert boxes
    row = sorted((box for box in boxes if box[3] == max(b[3] for b in boxes)), key=lambda box: box[1])
    return [(p[0], q[0]) for p, q in itertools.pairwise(row) if q[1] - p[2] < 4]


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["390", "1600"])
@pytest.mark.parametrize("fast", [0.0001, 0.05, 0.19, 0.4])
def test_labels_of_latency_stand_apart(visit, tmp_path, size, fast):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison, _, _ = example(systems=("slow", "fast"))
    comparison = dataclasses.replace(comparison, latencies={"slow": [0.2, 30 * fast], "fast": [fast]})
    page = visit(write_report(comparison, tmp_path / "r.html"), viewport=size)
    chart = "#charts figure:last-of-type .canvas text.tick[text-anchor=middle]"
    page.locator("#charts figure").last.scroll_into_view_if_needed()
    expect(page.locator(chart).nth(1)).to_be_visible()
    assert overlapping(page, chart) == []


def test_coinciding_queries_are_one_larger_point(visit, tmp_path):
    values = [(0, 0)] * 9 + [(0.5, 1)] * 4 + [(0.2, 0.1)]
    scores = {
        name: {f"q{i}": {"RR": pair[s]} for i, pair in enumerate(values)} for s, name in enumerate("ab")
    }
    page = visit(write_report(compare_scores(scores, test="t"), tmp_path / "r.html"))
    points = page.locator("#charts .point").evaluate_all(
        "all => all.map(p => [Number(p.dataset.queries), Number(p.getAttribute('r'))])"
    )
    assert [n for n, _ in points] == [9, 4, 1]  # the small ones drawn last, over the others
    areas = [r * r for _, r in points]
    assert [area / areas[-1] for area in areas] == pytest.approx([9, 4, 1])


def test_a_sample_is_called_one(visit, tmp_path, monkeypatch):
    monkeypatch.setattr("ranklens.report.sample.QUERIES", 40)
    scores = {name: {f"q{i}": {"RR": (i + s) % 5 / 5} for i in range(1200)} for s, name in enumerate("ab")}
    page = visit(write_report(compare_scores(scores, test="t"), tmp_path / "r.html"))
    assert "a random sample: 40 of 1,200." in page.inner_text("#queries")
    assert "A random sample of 40 queries." in page.inner_text("#charts")
    assert page.inner_text("#found") == "40 queries"
    assert "1,200 queries" in page.inner_text("#facts")


def test_the_pair_of_two_systems_is_folded_away(made, visit, tmp_path):
    assert visit(made[1]).is_visible("#pairs table")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison, _, _ = example(systems=("one", "two"))
    page = visit(write_report(comparison, tmp_path / "r.html"))
    assert not page.is_visible("#pairs table")
    page.click("#pairs summary")
    assert page.is_visible("#pairs table")
    choose(page, "measure", "RR")
    assert page.is_visible("#pairs table")  # stays open


def test_a_wide_table_shows_that_it_goes_on(made, visit):
    page = visit(made[1], viewport=NARROW)
    box = page.locator("#pairs .scroll")
    expect(page.locator("#pairs .more")).to_be_visible()
    box.evaluate("box => { box.scrollLeft = box.scrollWidth }")
    expect(page.locator("#pairs .more")).not_to_be_visible()
    expect(visit(made[1]).locator("#leaderboard .more")).not_to_be_visible()


@pytest.fixture(scope="module")
def axe():
    """axe-core from npm, fetched once into the virtual environment's folder."""
    cache = Path(os.environ.get("VIRTUAL_ENV", Path(__file__).parents[2] / ".venv")) / "axe-core"
    script = cache / "axe.min.js"
    if not script.exists():
        needs.skip_without(needs.npm(), ", so accessibility is not checked with axe-core")
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:  # another worker may fetch it at the same time
            packed = subprocess.run(
                ["npm", "pack", "axe-core@4", "--silent"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
            )  # fmt: skip
            if packed.returncode:
                pytest.skip(f"npm could not fetch axe-core: {packed.stderr.strip()[-200:]}")
            with tarfile.open(Path(folder, packed.stdout.split()[-1])) as archive:
                unpacked = Path(folder, script.name)
                unpacked.write_bytes(archive.extractfile("package/axe.min.js").read())
            unpacked.replace(script)
    return script.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fragment", ["", "#query=q3"])
@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["390", "1600"])
def test_accessibility(made, visit, axe, scheme, fragment, size):
    page = visit(made[1], fragment, color_scheme=scheme, viewport=size)
    for details in page.locator("main details summary").all():
        details.click() if not fragment else None
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in found] == []


# --- Safety


def test_hostile_data_change_nothing(made, visit):
    page = visit(made[1])
    for query in ("q0", HOSTILE):
        page.evaluate("q => { location.hash = new URLSearchParams({query: q}) }", query)
        expect(page.locator("dialog header code")).to_have_text(query)
        page.check("#all-systems") if page.locator("#all-systems").count() else None
    assert page.title() == HOSTILE
    assert page.locator("img, iframe, object, embed, base").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == page.evaluate(
        "document.querySelectorAll('script[type], script:not([type])').length"
    )
    assert page.locator("script:not([type])").count() == 1
    assert page.evaluate("'hacked' in window") is False
    assert HOSTILE in texts(page, "#leaderboard tbody th bdi")
    assert HOSTILE in texts(page, "dialog .ranking > h3 bdi")
    assert page.locator("dialog .title", has_text="</script>").count() > 0


def test_hostile_names_of_measures(visit, tmp_path):
    scores = {f"q{i}": {HOSTILE: i / 7, "RR": 1.0} for i in range(5)}
    comparison = compare_scores({"a": scores, "b": scores})
    page = visit(write_report(comparison, tmp_path / "r.html"))
    assert page.eval_on_selector("#choose-measure", "s => s.options[0].text") == HOSTILE
    assert HOSTILE in texts(page, "#leaderboard thead th")
    assert page.evaluate("'hacked' in window") is False


def test_no_request_can_leave(made, browser):
    """Whatever a script tried, the policy would stop it: here the test itself tries."""
    context = browser.new_context()
    page = context.new_page()
    reached = []
    context.route("http*://**", lambda route: (reached.append(route.request.url), route.abort()))
    page.goto(made[1].as_uri())
    page.wait_for_selector("html[data-ready]")
    blocked = page.evaluate(
        """async () => {
          const found = new Set();
          addEventListener("securitypolicyviolation", (event) => found.add(event.effectiveDirective));
          await fetch("https://example.org/a").catch(() => null);
          new Image().src = "https://example.org/b.png";
          navigator.sendBeacon("https://example.org/c", "x");
          for (const [name, key] of [["script", "src"], ["iframe", "src"], ["link", "href"]]) {
            const node = document.createElement(name);
            if (name === "link") node.rel = "stylesheet";
            try { node[key] = "https://example.org/" + name; } catch { found.add("trusted types"); }
            document.body.append(node);
          }
          try { document.body.innerHTML = "<p>markup</p>"; } catch { found.add("markup"); }
          setTimeout(() => { try { eval("1"); } catch { found.add("eval"); } });
          await new Promise((resolve) => setTimeout(resolve, 300));
          return [...found].sort();
        }"""
    )
    context.close()
    assert {
        "connect-src",
        "img-src",
        "frame-src",
        "style-src-elem",
        "trusted types",
        "markup",
        "eval",
    } <= set(blocked)
    assert reached == []


# --- Other shapes


def test_right_to_left_and_chinese(made, visit):
    page = visit(made[1], "#query=q1")
    page.wait_for_selector("dialog[open]")
    heading = page.locator("#query-title")
    assert heading.inner_text() == ARABIC
    assert heading.evaluate("h => getComputedStyle(h).direction") == "rtl"
    page.get_by_label("Close").click()
    page.fill("#search", CHINESE[:4])
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    assert open_queries(page) == ["q2"]


def test_one_query_and_one_system(visit, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = rl.compare({"q": {"d": 1}}, {"only": {"q": ["x", "d"]}}, "nDCG@10, RR")
    page = visit(write_report(comparison, tmp_path / "r.html"))
    assert f"{comparison.result('nDCG@10', 'only').mean:.4f}" in page.inner_text("#leaderboard")
    assert not page.is_visible("#pairs")
    assert not page.is_visible("#choose-a")
    page.locator("#rows a").click()
    page.wait_for_selector("dialog[open]")
    assert texts(page, "dialog ol code") == ["x", "d"]
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_counts_geometric_means_and_lower_is_better(visit, tmp_path):
    """Measures that are sums have no interval and no test; of geometric means factors are shown; lower can be better."""
    qrels = {f"q{i}": {"a": 1, "b": 1} for i in range(8)}
    runs = {"one": {q: ["a", "x", "b"] for q in qrels}, "two": {q: ["x", "a", "y", "z"] for q in qrels}}
    comparison = rl.compare(qrels, runs, "NumRelRet, gm_AP, Unjudged@2")
    page = visit(write_report(comparison, tmp_path / "r.html"))
    choose(page, "measure", "NumRelRet")
    assert texts(page, "#leaderboard tbody td.strong") == ["16", "8"]
    assert texts(page, "#rows tbody td.num")[:3] == ["2", "1", "−1"]
    choose(page, "measure", "gm_AP")
    pair = comparison.pair("gm_AP", "one", "two")
    assert f"×{math.exp(pair.difference):.3f}" in page.inner_text("#verdict")
    choose(page, "measure", "Unjudged@2")
    assert texts(page, "#leaderboard tbody th bdi") == comparison.ranked("Unjudged@2")


def test_latency_and_status(visit, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison, _, _ = example(systems=("slow", "fast"))
    comparison = dataclasses.replace(
        comparison, latencies={"slow": [0.2, 0.4], "fast": [0.01, 0.03]}, status={"slow": {"ok": 60, "failed": 1}, "fast": {"ok": 61}}
    )  # fmt: skip
    page = visit(write_report(comparison, tmp_path / "r.html"))
    assert "300 ms" in page.inner_text("#speed tbody tr:nth-child(1)")
    assert page.locator("#speed .alarm").all_inner_texts() == ["1"]
    assert "Quality against latency" in texts(page, "#charts h3")


def test_values_alone(visit, tmp_path):
    scores = {
        name: {f"q{i}": {"mine": (i * k) % 7 / 7} for i in range(9)} for k, name in ((1, "a"), (3, "b"))
    }
    page = visit(write_report(compare_scores(scores), tmp_path / "r.html"))
    page.locator("#rows a").first.click()
    page.wait_for_selector("dialog[open]")
    assert "no documents to show" in page.inner_text("dialog")
    assert "no rankings and no judgments" in page.inner_text("#trust")


def test_an_old_browser_shows_the_summary_and_says_what_it_lacks(made, visit):
    """Without DecompressionStream (Safari before 16.4, Firefox before 113) nothing can be unpacked."""
    new, old = visit(made[1]), visit(made[1], setup="delete window.DecompressionStream")
    for section in ("#verdict", "#leaderboard"):
        assert old.inner_text(section) == new.inner_text(section)
    for section in ("#charts", "#queries"):
        assert "too old" in old.inner_text(section)


def test_without_script_the_results_are_told(made, visit):
    page = visit(made[1], ready=False, java_script_enabled=False)
    assert "needs JavaScript" in page.inner_text("noscript")
    assert f"{made[0].result('nDCG@10', 'bm25').mean:.4f}" in page.inner_text("noscript")


def test_ten_thousand_queries_and_five_systems(visit, tmp_path):
    """Small enough to send, and all of it works; how fast it is drawn is measured in benchmarks/report.py."""
    n, depth = 10_000, 10
    ids = [f"MARCO_{i * 7919 % 8_841_823}" for i in range(n * 4)]
    qrels = {f"{i}": {ids[i * 4]: 1, ids[i * 4 + 1]: 2} for i in range(n)}
    runs = {
        f"system {s}": {
            f"{i}": {ids[(i * 4 + k * (s + 1)) % len(ids)]: 9 - k for k in range(depth)} for i in range(n)
        }
        for s in range(5)
    }
    queries = {f"{i}": f"what is the meaning of number {i} and of its neighbours" for i in range(n)}
    corpus = {d: f"A passage about {d} that goes on for quite some words, as passages do. " * 4 for d in ids}
    comparison = rl.compare(qrels, runs, "nDCG@10, RR@10, R@10, P@5, AP", test="t")
    path = write_report(comparison, tmp_path / "big.html", queries=queries, corpus=corpus)
    assert path.stat().st_size < 25e6
    page = visit(path)
    assert page.inner_text("#found") == "10,000 queries"
    page.fill("#search", "number 9999 ")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    page.locator("#rows a").click()
    page.wait_for_selector("dialog[open]")
    assert texts(page, "dialog .ranking >> nth=0 >> ol code")[0] == next(iter(runs["system 0"]["9999"]))


def test_the_page_opens_with_the_primary_measure_and_says_which_others_contradict_it(visit, tmp_path):
    base = {f"q{i}": 0.2 + 0.01 * i for i in range(20)}
    rows = {
        "a": {q: {"nDCG@10": v, "R@100": v + 0.3} for q, v in base.items()},
        "b": {q: {"nDCG@10": v + 0.1 + v / 10, "R@100": v} for q, v in base.items()},
    }
    found = compare_scores(rows, primary="R@100")
    page = visit(found.to_html(tmp_path / "report.html"))
    told = page.inner_text("#verdict")
    assert "a is better than b" in told
    assert "By nDCG@10, however, b is better than a." in told
    assert page.input_value("#choose-measure") == "1"
    page.select_option("#choose-measure", "0")
    expect(page.locator("#verdict")).to_contain_text("Any recommendation rests on R@100 alone")
