"""Nothing is judged: agreement, rates, the page and the sheet; and from the sheet back to measures."""

import csv
import json

import pytest

import ranklens as rl
from ranklens.errors import InputError

QUESTIONS = {"q1": "what is rag?", "q2": "who <b>asks</b>?", "q3": "why?", "q4": "when?"}
CORPUS = {"d1": "retrieval, augmented", "d2": {"title": "Two", "text": "says <script>alert(1)</script>"}}


@pytest.fixture
def bench():
    bench = rl.Benchmark(QUESTIONS, corpus=CORPUS)

    def second(text):
        if text == "when?":
            raise ConnectionError("gone <away>")
        return [] if text == "why?" else ["d2", "d1", "d4"]

    bench.run("first", lambda text: [] if text == "why?" else ["d1", "d2", "d3"])
    bench.run("second", second)
    bench.run("third", lambda text: ["d9", "d9"])
    return bench


def test_every_question_is_asked_and_rates_are_told(bench):
    assert bench.results["first"].status == {"ok": 3, "empty": 1, "failed": 0}
    assert bench.results["second"].status == {"ok": 2, "empty": 1, "failed": 1}
    assert bench.results["second"].latency is not None
    assert [row[0] for row in bench.table().rows] == ["first", "second", "third"]
    assert "without judgments not asked" not in str(bench)


def test_agreement_of_pairs(bench):
    pair = bench.agreement(k=3).pair("second", "first")
    assert pair.overlap == {"q1": 2 / 3, "q2": 2 / 3, "q3": 1.0}  # q4 failed; two empty answers agree
    assert pair.rbo["q1"] == rl.rbo(["d1", "d2", "d3"], ["d2", "d1", "d4"]).ext
    assert pair.mean_overlap == pytest.approx(7 / 9)
    assert (pair.n, pair.same_first) == (3, 1)
    shallow = bench.agreement(k=1, p=0.5).pair("first", "second")
    assert shallow.overlap["q1"] == 0
    other = bench.agreement().pair("first", "third")
    assert (other.n, other.mean_overlap, other.mean_rbo, other.same_first) == (4, 0, 0, 0)
    text = str(bench.agreement(k=3))
    assert "overlap@3" in text
    assert "first and second" in text
    assert "Agreement says nothing about quality" in text
    frame = bench.agreement(k=3).to_frame()
    assert frame.columns == ["a", "b", "query", "overlap", "rbo"]
    assert len(frame) == 3 + 4 + 3


def test_what_cannot_be_said_is_refused(bench):
    for ask in (bench.evaluate, bench.compare, lambda: bench.report("page.html")):
        with pytest.raises(
            InputError, match=r"There are no judgments: .* Without judgments there are agreement\(\)"
        ):
            ask()
    one = rl.Benchmark(["why?"])
    with pytest.raises(InputError, match="No retriever has run yet"):
        one.agreement()
    one.run("mine", lambda text: ["d1"])
    with pytest.raises(InputError, match="Only one retriever has run"):
        one.agreement()
    with pytest.raises(InputError, match="k=0 is not allowed"):
        bench.agreement(k=0)
    with pytest.raises(InputError, match="There is no retriever 'frist': did you mean 'first'"):
        bench.agreement().pair("second", "frist")
    with pytest.raises(InputError, match="not 'first' twice"):
        bench.agreement().pair("first", "first")
    with pytest.raises(InputError, match=r"a sheet is \.csv or \.jsonl"):
        bench.sheet("sheet.xlsx")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_sheet_that_is_filled_in_is_a_set_of_judgments(bench, tmp_path, suffix):
    path = bench.sheet(tmp_path / f"sheet{suffix}", k=3)
    if suffix == ".csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert list(rows[0]) == ["query", "question", "doc", "text", "systems", "best_rank", "grade"]
    first = [(row["doc"], row["systems"], int(row["best_rank"])) for row in rows if row["query"] == "q1"]
    assert first == [("d1", "first, second", 1), ("d2", "first, second", 1), ("d9", "third", 1),
                     ("d3", "first", 3), ("d4", "second", 3)]  # fmt: skip
    assert rows[0]["text"] == "retrieval, augmented"
    assert rows[1]["text"] == "Two says <script>alert(1)</script>"
    assert not any(row["grade"] for row in rows)
    for row in rows:
        row["grade"] = int(row["doc"] == "d1")
    with path.open("w", newline="") as file:
        if suffix == ".csv":
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    judged = rl.Benchmark(QUESTIONS, path)
    judged.run("first", lambda text: ["d2", "d1"])
    assert judged.evaluate("RR")["first"].per_query.rows()[0] == ("q1", 0.5)


def test_the_page_shows_rankings_side_by_side_and_escapes_what_others_wrote(bench, tmp_path):
    page = bench.side_by_side(tmp_path / "page.html", k=2).read_text()
    assert "who &lt;b&gt;asks&lt;/b&gt;?" in page
    assert "says &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert "<i>nothing found</i>" in page
    assert "<i>failed: ConnectionError: gone &lt;away&gt;</i>" in page
    assert "<b>d3</b>" not in page  # beyond k
    two = rl.Benchmark({"q": "x"})
    two.run("a", lambda text: ["d1", "d2"])
    two.run("b", lambda text: ["d2", "d7"])
    page = two.side_by_side(tmp_path / "page.html").read_text()
    assert page.count('<td class="shared"><b>d2</b>') == 2
    assert "<td><b>d7</b>" in page


def test_questions_can_be_added_one_by_one():
    bench = rl.Benchmark()
    bench.add_query("q1", "why?")
    bench.run("a", lambda text: ["d1"])
    bench.run("b", lambda text: ["d1"])
    assert bench.agreement().pair("a", "b").mean_rbo == 1
