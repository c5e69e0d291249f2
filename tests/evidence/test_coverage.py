"""Coverage of evidence: Chroma's definitions by brute force over positions, texts against spans, and values by hand."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.matching import ByEvidence

pytestmark = pytest.mark.filterwarnings("ignore:No retrieved span is of a document")
LENGTH = 30
spans = st.tuples(st.sampled_from("ab"), st.integers(0, LENGTH - 1), st.integers(1, 12)).map(
    lambda span: (span[0], span[1], min(span[1] + span[2], LENGTH))
)
questions = st.lists(
    st.tuples(st.lists(st.tuples(spans, st.integers(1, 2)), min_size=1, max_size=3, unique_by=lambda x: x[0]), st.lists(spans, max_size=6)),
    min_size=1,
    max_size=3,
)  # fmt: skip
CUTS = ["@1", "@3", "", "(budget=10)", "(budget=25)"]
MEASURES = [
    "PassageRecall",
    "TokenRecall",
    "TokenPrecision",
    "TokenIoU",
    "TokenF1",
    "Redundancy",
    "ContextTokens",
]


def words(span):
    document, start, end = span
    return " ".join(f"{document}{place}" for place in range(start, end))


def places(span):
    return {(span[0], place) for place in range(*span[1:])}


def as_spans(asked):
    golden = [
        {
            "id": f"q{i}",
            "passages": [
                {"document": d, "start": s, "end": e, "grade": grade} for (d, s, e), grade in passages
            ],
        }
        for i, (passages, _) in enumerate(asked)
    ]
    log = [
        {"id": f"q{i}", "retrieved": [{"document": d, "start": s, "end": e} for d, s, e in chunks]}
        for i, (_, chunks) in enumerate(asked)
    ]
    return golden, log


def as_texts(asked):
    golden = [
        {
            "id": f"q{i}",
            "passages": [{"id": str(span), "text": words(span), "grade": grade} for span, grade in passages],
        }
        for i, (passages, _) in enumerate(asked)
    ]
    log = [
        {"id": f"q{i}", "retrieved": [{"text": words(span)} for span in chunks]}
        for i, (_, chunks) in enumerate(asked)
    ]
    return golden, log


def by_hand(passages, chunks, k=None, budget=None, threshold=0.9, rel=1):
    """Every measure by counting positions, as Chroma defines them."""
    chunks = chunks[:k]
    if budget is not None:
        fitting = [i for i in range(len(chunks) + 1) if sum(len(places(one)) for one in chunks[:i]) <= budget]
        chunks = chunks[: max(fitting)]
    wanted = [places(span) for span, grade in passages if grade >= rel]
    gold, read = set().union(*wanted), set().union(*map(places, chunks))
    tokens = sum(len(places(one)) for one in chunks)
    covered = len(gold & read)
    recall, precision = covered / len(gold) if gold else 0, covered / tokens if tokens else 0
    return {
        "PassageRecall": sum(len(one & read) >= threshold * len(one) - 1e-9 for one in wanted) / len(wanted)
        if wanted
        else 0,
        "TokenRecall": recall,
        "TokenPrecision": precision,
        "TokenIoU": covered / (len(gold) + tokens - covered) if gold or tokens else 0,
        "TokenF1": 2 * precision * recall / (precision + recall) if covered else 0,
        "Redundancy": 1 - len(read) / tokens if tokens else 0,
        "ContextTokens": tokens,
    }


def parameters(cut):
    number = "".join(filter(str.isdigit, cut))
    return {"budget" if "budget" in cut else "k": int(number)} if number else {}


@given(questions)
def test_measures_are_what_counting_gives(asked):
    found = rl.evaluate(*as_spans(asked), [name + cut for name in MEASURES for cut in CUTS])
    for cut in CUTS:
        for i, (passages, chunks) in enumerate(asked):
            expected = by_hand(passages, chunks, **parameters(cut))
            for name in MEASURES:
                assert found[name + cut][i] == pytest.approx(expected[name], abs=1e-9), (name, cut)


@given(questions, st.sampled_from(["words", "exact"]))
def test_texts_and_spans_agree(asked, how):
    measures = [
        *(name + cut for name in MEASURES for cut in CUTS),
        "PassageRecall(rel=2)",
        "TokenRecall(rel=2)",
        "RR",
        "nDCG",
        "R@2",
        "AP",
    ]
    from_spans = rl.evaluate(*as_spans(asked), measures)
    from_texts = rl.evaluate(*as_texts(asked), measures, match=ByEvidence(how=how))
    for measure in measures:
        assert from_spans[measure] == pytest.approx(from_texts[measure], abs=1e-9), measure


@given(questions, st.sampled_from([0.3, 0.5, 0.8, 1.0]))
def test_a_threshold_of_the_measure_is_that_of_the_matching(asked, threshold):
    golden, log = as_spans(asked)
    shown = f"PassageRecall(threshold={threshold:g})@3"
    by_measure = rl.evaluate(golden, log, [shown, f"PassageRecall(threshold={threshold:g}, rel=2)@3"])
    by_match = rl.evaluate(golden, log, ["PassageRecall@3", "R@3"], match=ByEvidence(threshold=threshold))
    assert by_measure[shown] == pytest.approx(by_match["PassageRecall@3"])
    assert by_match["PassageRecall@3"] == pytest.approx(by_match["R@3"])
    for i, (passages, chunks) in enumerate(asked):
        expected = by_hand(passages, chunks, k=3, threshold=threshold)["PassageRecall"]
        assert by_measure[shown][i] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("chunks", "recall", "precision", "iou"),
    [([(0, 20), (20, 40)], 2 / 3, 0.5, 0.4), ([(0, 20), (20, 40), (15, 35)], 2 / 3, 1 / 3, 20 / 70), ([(0, 100)], 1, 0.3, 0.3)],
)  # fmt: skip
def test_values_of_chromas_definitions(chunks, recall, precision, iou):
    golden = [{"id": "q", "passages": [("d", 10, 30), ("d", 50, 60)]}]
    log = [{"id": "q", "retrieved": [{"document": "d", "start": start, "end": end} for start, end in chunks]}]
    found = rl.evaluate(golden, log, ["TokenRecall", "TokenPrecision", "TokenIoU"]).mean
    assert [*found.values()] == pytest.approx([recall, precision, iou])


def test_one_chunk_with_everything_is_perfect():
    golden = [
        {
            "question": "Why?",
            "passages": ["one two three", {"text": "five six seven eight nine ten", "grade": 2}],
        }
    ]
    log = [
        {
            "question": "Why?",
            "retrieved": [
                {"text": "Zero, one two three; four five six seven eight nine ten."},
                {"text": "x"},
            ],
        }
    ]
    measures = ["RR", "nDCG", "nDCG@1", "R@1", "Success@1", "AP", "PassageRecall@1", "TokenRecall@1"]
    assert {*rl.evaluate(golden, log, measures).mean.values()} == {1.0}


def test_a_chunk_of_another_document_is_no_evidence():
    golden = [{"id": "q", "passages": [("d", 0, 10)]}]
    log = [{"id": "q", "retrieved": [{"document": "e", "start": 0, "end": 10}]}]
    with pytest.warns(rl.RankLensWarning, match="passages: 'd', retrieved: 'e'"):
        found = rl.evaluate(golden, log, ["TokenRecall", "TokenPrecision", "ContextTokens"])
    assert found.mean == {
        "TokenRecall": 0, "TokenPrecision": 0, "ContextTokens": 10,
    }  # fmt: skip


def test_a_changed_word_is_tolerated_unless_texts_must_be_exact():
    passage = " ".join(f"w{i}" for i in range(20))
    golden, log = (
        [{"id": "q", "passages": [passage]}],
        [{"id": "q", "retrieved": [{"text": f"Intro. {passage.replace('w9 ', 'x9 ')} end"}]}],
    )
    assert rl.evaluate(golden, log, "TokenRecall").mean["TokenRecall"] == 0.95
    assert rl.evaluate(golden, log, "TokenRecall", match=ByEvidence(how="exact")).mean["TokenRecall"] == 0


def test_exact_texts_heed_case_and_punctuation_but_not_spaces():
    golden = [{"id": "q", "passages": ["Lima, Peru"]}]
    for text, expected in (("in Lima,\n Peru!", 1), ("in lima, Peru", 0), ("in Lima Peru", 0)):
        log = [{"id": "q", "retrieved": [{"text": text}]}]
        assert (
            rl.evaluate(golden, log, "PassageRecall", match=ByEvidence(how="exact")).mean["PassageRecall"]
            == expected
        )
        assert rl.evaluate(golden, log, "PassageRecall").mean["PassageRecall"] == 1


def test_a_repeated_chunk_takes_its_rank_and_adds_nothing():
    golden = [{"id": "q", "passages": ["one two three", "four five six"]}]
    items = [
        {"id": "c1", "text": "one two three"},
        {"id": "c1", "text": "one two three"},
        {"id": "c2", "text": "four five six"},
    ]
    found = rl.evaluate(
        golden, [{"id": "q", "retrieved": items}], ["R@2", "R@3", "Redundancy", "TokenPrecision@2"]
    ).mean
    assert found == {"R@2": 0.5, "R@3": 1, "Redundancy": pytest.approx(1 / 3), "TokenPrecision@2": 0.5}


def test_a_phrase_that_the_evidence_repeats_is_no_more_than_the_chunk():
    golden = [{"id": "q", "passages": ["a b c d e x a b c d e"]}]
    found = rl.evaluate(
        golden, [{"id": "q", "retrieved": [{"text": "a b c d e"}]}], ["TokenPrecision", "TokenIoU"]
    ).mean
    assert found["TokenPrecision"] == 1
    assert found["TokenIoU"] <= 1


TEXT = "Lima is the capital of Peru"


@pytest.mark.parametrize(
    ("tokenizer", "length"),
    [("words", 6), ("characters", 27), (str.split, 6), (len, 27), (list, 27)],
)
def test_lengths_are_those_of_the_tokenizer(tokenizer, length):
    golden, log = [{"id": "q", "passages": ["is the capital"]}], [{"id": "q", "retrieved": [{"text": TEXT}]}]
    found = rl.evaluate(
        golden, log, ["ContextTokens", "TokenRecall", "TokenPrecision"], match=ByEvidence(tokenizer=tokenizer)
    ).mean
    assert found["ContextTokens"] == length
    assert found["TokenRecall"] == 1
    assert found["TokenPrecision"] == pytest.approx((3 if length == 6 else 14) / length)


def test_tiktoken_counts_where_it_is_installed():
    pytest.importorskip("tiktoken")
    from ranklens.data.evidence.tokens import lengths

    with pytest.raises(rl.InputError, match="cl100k_base"):
        lengths(["x"], "cl100k_bas")


def test_a_missing_tokenizer_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "tiktoken", None)
    golden, log = [{"id": "q", "passages": [TEXT]}], [{"id": "q", "retrieved": [{"text": TEXT}]}]
    with pytest.raises(rl.MissingExtraError, match="pip install tiktoken"):
        rl.evaluate(golden, log, "TokenRecall", match=ByEvidence(tokenizer="o200k_base"))


CHUNKS = {"c1": "Lima is the", "c2": "capital of Peru, they say"}


@pytest.mark.parametrize(
    "chunks", [CHUNKS, [{"chunk_id": key, "content": text} for key, text in CHUNKS.items()], "file"]
)
@pytest.mark.parametrize(
    "run", [{"q": ["c1", "c2"]}, {"q": {"c1": 2.0, "c2": 1.0}}, [{"id": "q", "retrieved": ["c1", "c2"]}]]
)
def test_texts_may_be_apart_from_the_run(chunks, run, tmp_path):
    if chunks == "file":
        chunks = tmp_path / "chunks.jsonl"
        chunks.write_text("".join(f'{{"id": "{key}", "text": "{text}"}}\n' for key, text in CHUNKS.items()))
        chunks = str(chunks)
    found = rl.evaluate(
        [{"id": "q", "passages": [TEXT]}], run, ["TokenRecall@1", "RR"], match=ByEvidence(chunks=chunks)
    ).mean
    assert found == {"TokenRecall@1": 0.5, "RR": 0.5}


@pytest.mark.parametrize(
    "golden",
    [
        [{"id": "q", "expected_answers": [TEXT]}],
        {"q": {TEXT: 1}},
        [{"id": "q", "passages": {TEXT: 1}}],
        [{"id": "q", "references": [{"content": TEXT}]}],
    ],
)
def test_passages_under_other_names(golden):
    log = [{"id": "q", "retrieved": [{"text": TEXT}]}]
    assert rl.evaluate(golden, log, "PassageRecall", match=ByEvidence()).mean == {"PassageRecall": 1}


def test_spans_as_chroma_and_langchain_write_them():
    golden = [
        {
            "question": "Why?",
            "references": [{"content": "x" * 20, "start_index": 10, "end_index": 30}],
            "corpus_id": "a.md",
        }
    ]
    item = {"page_content": "y" * 25, "metadata": {"source": "a.md", "start_index": 5}}
    found = rl.evaluate(
        golden, [{"question": "Why?", "retrieved": [item]}], ["TokenRecall", "ContextTokens"]
    ).mean
    assert found == {"TokenRecall": 1, "ContextTokens": 25}


@pytest.mark.parametrize(
    ("golden", "log", "said"),
    [
        ([{"id": "q", "passages": [("d", 30, 10)]}], [], "its end is the first position after it"),
        ([{"id": "q", "passages": [7]}], [], "is not a passage"),
        ([{"id": "q", "passages": [("d", 1, 2)]}], [{"id": "q", "retrieved": [{"text": "x"}]}], "not all retrieved items have a span"),
        ([{"id": "q", "passages": ["…"]}], [{"id": "q", "retrieved": [{"text": "x"}]}], "contains no word"),
        ([{"id": "q", "passages": ["x"]}], [{"id": "q", "retrieved": [{"id": "c1"}]}], "No retrieved item has a text"),
        ([{"id": "q", "passages": ["x"]}], {"q": ["c1"]}, "only the id is there"),
    ],
)  # fmt: skip
def test_what_cannot_be_matched_is_one_clear_error(golden, log, said):
    with pytest.raises(rl.InputError, match=said):
        rl.evaluate(golden, log or [{"id": "q", "retrieved": [{"text": "x"}]}], "TokenRecall")


def test_without_passages_the_error_says_what_to_pass():
    with pytest.raises(rl.MeasureError, match="TokenRecall@5 needs passages"):
        rl.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "TokenRecall@5")


def test_many_questions_in_blocks_and_threads_are_as_each_alone():
    rng = random.Random(5)
    asked = []
    for _ in range(60):
        document = [f"w{rng.randrange(500)}" for _ in range(3000)]
        chunks = [" ".join(document[start : start + 300]) for start in rng.sample(range(2700), 12)]
        asked.append(
            ([" ".join(document[start : start + 40]) for start in rng.sample(range(2900), 2)], chunks)
        )
    golden = [{"id": f"q{i}", "passages": passages} for i, (passages, _) in enumerate(asked)]
    log = [
        {"id": f"q{i}", "retrieved": [{"text": text} for text in chunks]}
        for i, (_, chunks) in enumerate(asked)
    ]
    together = rl.evaluate(golden, log, MEASURES)
    for i in (0, 17, 59):
        alone = rl.evaluate(golden[i : i + 1], log[i : i + 1], MEASURES)
        assert [together[name][i] for name in MEASURES] == [alone[name][0] for name in MEASURES]


def test_results_state_the_sizes_of_chunks_and_other_thresholds():
    golden = [{"id": "q", "passages": ["a b c d e f g h i j"]}]
    log = [{"id": "q", "retrieved": [{"text": "a b c d e f"}, {"text": "x " * 30}]}]
    text = str(rl.evaluate(golden, log, ["PassageRecall@2"]))
    assert "2.0 chunks per query of 18 words at the median (95% up to 29, longest 30)" in text
    assert "(PassageRecall@2 by threshold: 50%: 1.0000, 80%: 0.0000, 90%: 0.0000, 100%: 0.0000)" in text
    assert "judged" not in text


@pytest.fixture
def systems():
    asked = [
        ([(("a", start, start + 6), 1)], [("a", 0, 10), ("a", 10, 20), ("a", 20, 30)]) for start in range(24)
    ]
    golden, small = as_texts(asked)
    large = [{"id": f"q{i}", "retrieved": [{"text": words(("a", 0, 30))}]} for i in range(24)]
    return golden, {"small": small, "large": large}


def test_two_chunkings_are_compared_on_the_same_passages(systems):
    golden, logs = systems
    found = rl.compare(golden, logs, ["TokenRecall(budget=20)", "TokenRecall", "TokenPrecision"])
    assert found.result("TokenRecall", "small").mean == found.result("TokenRecall", "large").mean == 1
    assert found.result("TokenRecall(budget=20)", "large").mean == 0
    assert "small is better than large" in found.verdict("TokenRecall(budget=20)")
    assert "1.0 chunks per query of 30 words" in str(found)


def test_the_chart_shows_coverage_over_budgets(systems, tmp_path):
    from ranklens.report import chart_data, charts

    found = rl.compare(*systems, ["PassageRecall@3", "TokenRecall(budget=20)"])
    table = chart_data.over_tokens(found, "TokenRecall(budget=20)")
    assert table.filter(table["tokens"] == 20).select("system", "mean").rows() == [
        (name, found.result("TokenRecall(budget=20)", name).mean) for name in ("small", "large")
    ]
    assert table["tokens"].max() == 30
    assert (table["low"] <= table["mean"]).all()
    with pytest.raises(rl.MeasureError, match="takes no budget"):
        chart_data.of_coverage(rl.compare(*systems, ["RR", "TokenRecall"]), "RR")
    pytest.importorskip("altair")
    assert (
        charts.save(charts.draw(found, "over_tokens"), tmp_path / "chart.svg").read_text().startswith("<svg")
    )


def test_an_explanation_shows_what_each_chunk_adds(systems):
    golden, logs = systems
    found = rl.explain("TokenRecall@3", golden, logs["small"], query="q7")
    assert found.value == 1
    assert found.to_frame()["new evidence"].to_list() == [3, 3, 0]


def test_the_command_line(systems, tmp_path, capsys):
    import json

    from ranklens.cli.main import main

    golden, logs = systems
    paths = {}
    for name, rows in {"golden": golden, **logs}.items():
        paths[name] = str(tmp_path / f"{name}.jsonl")
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (
        main(["evaluate", paths["golden"], paths["small"], "-m", "PassageRecall@2,TokenRecall(budget=20)"])
        == 0
    )
    first = capsys.readouterr().out
    assert (
        main(
            [
                "evaluate",
                paths["golden"],
                paths["small"],
                "-m",
                "PassageRecall@2",
                "--match",
                "evidence:0.5:characters",
            ]
        )
        == 0
    )
    assert "passages are found at 90% coverage" in first
    second = capsys.readouterr().out
    assert "passages are found at 50% coverage" in second
    assert "characters" in second
    assert (
        main(["compare", paths["golden"], paths["small"], paths["large"], "-m", "TokenRecall(budget=20)"])
        == 0
    )
    assert main(["explain", "TokenRecall@3", paths["golden"], paths["small"], "--query", "q7"]) == 0
    assert (
        main(["gate", "TokenRecall(budget=30) >= 0.9", "--qrels", paths["golden"], "--run", paths["small"]])
        == 0
    )
    assert (
        main(["gate", "TokenRecall(budget=20) >= 0.9", "--qrels", paths["golden"], "--run", paths["large"]])
        == 1
    )
    assert (
        main(
            [
                "report",
                paths["golden"],
                paths["small"],
                paths["large"],
                "-m",
                "TokenRecall(budget=20)",
                "-o",
                str(tmp_path / "r.html"),
            ]
        )
        == 0
    )


def test_missing_and_failed_questions_count_as_nothing():
    golden = [{"id": f"q{i}", "passages": ["a b c"]} for i in range(4)]
    log = [
        {"id": "q0", "retrieved": [{"text": "a b c"}]},
        {"id": "q1", "error": "timeout"},
        {"id": "q2", "retrieved": []},
    ]
    found = rl.evaluate(golden, log, ["PassageRecall", "TokenIoU", "Calls"])
    assert found["PassageRecall"].tolist() == [1, 0, 0, 0]
    assert found["TokenIoU"].tolist() == [1, 0, 0, 0]
    assert rl.evaluate(golden, log, "PassageRecall", missing="skip").mean["PassageRecall"] == 0.5
    assert rl.evaluate(
        golden,
        [*log, {"id": "q3", "retrieved": [{"text": "z"}, {"text": "a b c"}]}],
        "PassageRecall",
        depth=1,
    ).mean == {"PassageRecall": 0.25}


def test_the_words_of_texts_are_those_of_other_matchings():
    from ranklens.data.evidence.words import words as numbered
    from ranklens.data.matching.texts import tokens

    rng, letters = random.Random(1), "aB1 _.,-éÉß“”…中文あ한\n\tﬁ²①\x1f"
    for _ in range(300):
        texts = ["".join(rng.choices(letters, k=rng.randrange(12))) for _ in range(3)]
        found, expected = numbered(texts), [tokens(text) for text in texts]
        assert found.count.tolist() == list(map(len, expected))
        assert len({*found.number.tolist()}) == len({word for some in expected for word in some})


def test_long_words_that_begin_alike_differ():
    from ranklens.data.evidence.words import words as numbered

    long = ["a" * n for n in range(1, 40)] + ["a" * 30 + "b"]
    assert len(np.unique(numbered(long).number)) == len(long)
    assert math.isclose(numbered(long).count.sum(), len(long))


def test_a_tokenizer_alone_is_enough():
    golden, log = [{"id": "q", "passages": ["a b"]}], [{"id": "q", "retrieved": [{"text": "a b c"}]}]
    assert rl.evaluate(golden, log, "ContextTokens", tokenizer=len).mean == {"ContextTokens": 5}
    found = rl.compare(golden, {"x": log}, "ContextTokens", tokenizer=len, match=ByEvidence(threshold=0.5))
    assert found.result("ContextTokens", "x").mean == 5
    with pytest.raises(rl.InputError, match="documents are judged"):
        rl.evaluate(golden, log, "RR", tokenizer=len, match=rl.matching.ByText())


def test_other_settings_are_tried(systems):
    found = rl.compare(*systems, ["PassageRecall@1", "RR"]).sensitivity()
    assert "as compared" in str(found)


@pytest.mark.parametrize(
    "passage", ["two three four", ("d", 1, 4), {"id": "p1", "text": "two three four", "grade": 2}]
)
def test_a_benchmark_asks_retrievers_and_matches_what_they_return(passage, tmp_path):
    golden = [
        {"id": "q1", "question": "Why?", "passages": [passage]},
        {"id": "q2", "question": "Who?", "passages": ["five"]},
    ]
    if isinstance(passage, tuple):
        golden = golden[:1]

    def search(query, k):
        items = [("one two", 0, 2), ("three four", 2, 4)][:k]
        return [
            {"id": text, "text": text, "document": "d", "start": start, "end": end}
            for text, start, end in items
        ]

    for _ in range(2):  # the second time from the store
        bench = rl.Benchmark(golden, store=tmp_path)
        bench.run("search", search, k=2)
        scores = bench.evaluate(["PassageRecall@2", "TokenRecall@1", "RR", "ContextTokens"])["search"]
        assert scores["PassageRecall@2"][0] == 1
        assert scores["TokenRecall@1"][0] == pytest.approx(1 / 3)
        assert scores["RR"][0] == 0.5
        assert scores["ContextTokens"][0] == 4
