"""Judged queries that are missing from a run which has others: said with examples of both, and with what would make them match."""

import unicodedata
import warnings

import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.judging.mismatch import alike

NUMBERS = [str(number) for number in range(1, 21)]
NFC = [f"café {number}" for number in range(5)]


@pytest.mark.parametrize(
    ("ours", "theirs", "ignoring", "count"),
    [
        (NUMBERS, [f"{number:>02}" for number in NUMBERS], "leading zeros", 20),
        (["q1", "q2"], ["q001", "q002"], "leading zeros", 2),
        (["MED-1", "MED-2"], ["med-1", "med-2"], "upper and lower case", 2),
        (["a b", "c"], ["a  b ", " c"], "white space", 2),
        (["7", "8", "x"], ["7.0", "8.0"], "'.0' at the end", 2),
        (NFC, [unicodedata.normalize("NFD", name) for name in NFC], "the Unicode form (NFC or NFD)", 5),
        (["a", "b"], ["\ufeffa", "z"], "invisible characters", 1),
        (["7", "8"], ["msmarco:7", "msmarco:8", "y"], "the prefix 'msmarco:'", 2),
        (["doc/7", "doc/8"], ["7", "8"], "the prefix 'doc/'", 2),
        (["Q1", "q2"], ["q01", "q02"], "upper and lower case and leading zeros", 2),
    ],
)
def test_what_makes_ids_match_is_named(ours, theirs, ignoring, count):
    found = alike(ours, theirs)
    assert (found.ignoring, found.matching) == (ignoring, count)
    assert found.pair[0] in ours
    assert found.pair[1] in theirs


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["1", "2", "3"], ["11", "12", "13"]),  # numbers are no prefixes of numbers
        (["a", "b"], ["c", "d"]),
        (["1.05"], ["1.5"]),
        (["2.0.0"], ["2.0"]),
        (["ab", "b"], ["cab"]),
    ],
)
def test_ids_that_merely_resemble_each_other_do_not(ours, theirs):
    assert alike(ours, theirs) is None


QRELS = {query: {"a": 1} for query in NUMBERS}
PADDED = {f"{query:>02}": {"a": 1.0} for query in NUMBERS}


def rows(run):
    return pl.DataFrame([(q, d, s) for q, docs in run.items() for d, s in docs.items()], ["query", "doc", "score"], orient="row")  # fmt: skip


def as_records(run):
    return [{"id": query, "retrieved_ids": list(docs)} for query, docs in run.items()]


@pytest.mark.parametrize("shape", ["dicts", "lists", "table", "long table", "log", "prepared", "embeddings"])
def test_every_kind_of_run_is_looked_at(shape):
    qrels = QRELS
    if shape == "embeddings":
        vectors = np.eye(20)
        with pytest.warns(rl.MismatchWarning) as caught:
            rl.evaluate_embeddings(vectors, vectors[:1], qrels, "RR", query_ids=list(PADDED), doc_ids=["a"])
    else:
        run = PADDED
        if shape == "lists":
            run = {query: list(docs) for query, docs in PADDED.items()}
        if shape == "table":
            run = rows(PADDED)
        if shape == "long table":
            run = rows(
                {query: {**docs, **{f"x{i}": -i for i in range(400)}} for query, docs in PADDED.items()}
            )
        if shape == "log":
            qrels, run = [{"id": query, "expected_ids": ["a"]} for query in NUMBERS], as_records(PADDED)
        if shape == "prepared":
            qrels = rl.judgments(QRELS)
        with pytest.warns(rl.MismatchWarning) as caught:
            scores = rl.evaluate(qrels, run, "RR")
        assert scores.mean["RR"] == pytest.approx(0.55)
        with pytest.raises(rl.InputError, match="9 of 20 judged queries are not in the run"):
            rl.gate(scores, "RR >= 0.001")
    (told,) = [str(one.message) for one in caught]
    assert told == (
        "9 of 20 judged queries are not in the run ('1', '2', '3' and 6 more) and count as 0, but the run has 9 queries that are not "
        "judged ('01', '02', '03' and 6 more). 9 queries would match if you ignore leading zeros, such as '1' and '01'. Write the "
        "ids the same way in both."
    )


@pytest.mark.parametrize(
    "run",
    [
        {**{query: ["a"] for query in NUMBERS}, "extra": ["a"]},  # more topics than judged
        {query: ["a"] for query in NUMBERS[:5]},  # fewer, and no others
    ],
)
def test_a_run_over_more_or_fewer_queries_is_ordinary(run):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = rl.evaluate(QRELS, run, "RR")
    assert rl.gate(scores, "RR >= 0.001").passed


def test_unanswerable_questions_and_failed_calls_are_neither_missing_nor_unjudged():
    golden = [
        {"id": "q1", "expected_ids": ["a"]},
        {"id": "q2", "expected_ids": ["a"]},
        {"id": "none", "expected_ids": [], "answerable": False},
    ]
    log = [{"id": "none", "retrieved_ids": ["x"]}, {"id": "q1", "retrieved_ids": ["a"]}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rl.evaluate(golden, log, "RR").mean["RR"] == 0.5
        assert rl.evaluate(golden, {"none": ["x"], "q1": ["a"]}, "RR").mean["RR"] == 0.5
        failed = [*log, {"id": "q2", "error": "TimeoutError"}, {"id": "other", "retrieved_ids": ["x"]}]
        assert rl.evaluate(golden, failed, "RR").mean["RR"] == 0.5


def test_missing_is_error_says_what_would_match():
    with pytest.raises(
        rl.PolicyError, match=r"would match if you ignore leading zeros.*9 judged queries are not"
    ):
        rl.evaluate(QRELS, PADDED, "RR", missing="error")


def test_gates_take_missing_queries_only_where_that_was_chosen_and_ids_that_differ_in_spelling_never():
    run = {"1": ["a"], "other": ["a"]}
    with pytest.warns(rl.MismatchWarning, match="Do the query ids have the same format"):
        scores = rl.evaluate(QRELS, run, "RR")
    with pytest.raises(rl.InputError, match='for another reason, choose missing="skip"'):
        rl.gate(scores, "RR >= 0.001")
    with pytest.warns(rl.MismatchWarning, match="are left out"):
        assert rl.gate(rl.evaluate(QRELS, run, "RR", missing="skip"), "RR >= 1", min_checked=0.05).passed
    with pytest.warns(rl.MismatchWarning):
        padded = rl.evaluate(QRELS, PADDED, "RR", missing="skip")
    with pytest.raises(rl.InputError, match="leading zeros"):
        rl.gate(padded, "RR >= 0.001")


def test_a_benchmark_whose_queries_and_judgments_differ_in_spelling():
    texts = {f"{number:>02}": "why?" for number in NUMBERS}
    with pytest.warns(rl.MismatchWarning, match=r"9 of them would match if you ignore leading zeros"):
        bench = rl.Benchmark(texts, QRELS)
    bench.run("one", lambda query: ["a"], k=1)
    with pytest.raises(rl.InputError, match="leading zeros"):
        rl.gate(bench, "RR >= 0.001")


def test_comparisons_keep_the_warning():
    good = {query: ["a"] for query in QRELS}
    with pytest.warns(rl.MismatchWarning, match=r"^padded: 9 of 20 judged queries"):
        found = rl.compare(QRELS, {"good": good, "padded": PADDED}, "RR")
    assert any("would match if you ignore leading zeros" in caution for caution in found.cautions)


def test_shards_keep_what_gates_refuse():
    with pytest.warns(rl.MismatchWarning):
        odd = rl.evaluate({"1": {"a"}, "2": {"a"}}, {"01": ["a"], "2": ["a"]}, "RR")
    fine = rl.evaluate({"3": {"a"}}, {"3": ["a"]}, "RR")
    merged = rl.Scores.concat([fine, odd])
    with pytest.raises(rl.InputError, match="leading zeros"):
        rl.gate(merged, "RR >= 0.001")


def documents(spell, share, *, relevant=2, queries=40):
    """Judgments, and a run that finds most relevant documents, a share of them under another spelling."""
    rng = np.random.default_rng(0)
    qrels = {
        f"q{i}": {f"D{number:05}": 1 for number in rng.integers(10_000, size=relevant)}
        for i in range(queries)
    }
    run = {}
    for query, gold in qrels.items():
        found = [spell(doc) if rng.random() < share else doc for doc in gold if rng.random() < 0.8]
        others = [f"X{number:05}" for number in rng.integers(10_000, size=10)]
        run[query] = {doc: float(-rank) for rank, doc in enumerate([*found, *others])}
    return qrels, run


SPELLINGS = {
    "upper and lower case": str.lower,
    "leading zeros": lambda doc: doc[0] + doc[1:].lstrip("0"),
    "white space": lambda doc: f"{doc} ",
    "the prefix 'msmarco:'": lambda doc: f"msmarco:{doc}",
}


@pytest.mark.parametrize("ignoring", SPELLINGS)
@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("relevant", [1, 2])
@pytest.mark.parametrize("shape", ["dicts", "table", "rows in any order"])
def test_documents_that_are_spelled_in_two_ways_are_told(ignoring, share, relevant, shape):
    many = shape != "dicts"
    qrels, run = documents(SPELLINGS[ignoring], share, relevant=relevant, queries=800 if many else 40)
    given = rows(run) if many else run
    if shape == "rows in any order":
        given = given.sample(fraction=1, shuffle=True, seed=1)
    with pytest.warns(rl.MismatchWarning, match=f"would match if you ignore {ignoring}"):
        scores = rl.evaluate(qrels, given, "R@20")
    with pytest.raises(rl.InputError, match="would match if you ignore"):
        rl.gate(scores, "R@20 >= 0.001")


@pytest.mark.parametrize(
    ("relevant", "wrong"),
    [(3, lambda query, place: place == 2), (1, lambda query, _: query >= 117), (4, lambda query, place: query < 6 and place == 0)],
)  # fmt: skip
def test_a_few_documents_of_a_golden_set_that_are_spelled_otherwise_are_told(relevant, wrong):
    qrels = {f"q{query}": {f"D{query}-{place}": 1 for place in range(relevant)} for query in range(120)}
    run = {
        name: {(doc.lower() if wrong(query, place) else doc): -place for place, doc in enumerate(gold)}
        for query, (name, gold) in enumerate(qrels.items())
    }
    with pytest.warns(rl.MismatchWarning, match="would match if you ignore upper and lower case"):
        rl.evaluate(qrels, run, "R@20")


@pytest.mark.parametrize("spell", [lambda doc: doc, lambda doc: f"other{doc[1:]}"])
@pytest.mark.parametrize("many", [False, True])
def test_documents_that_were_not_found_are_ordinary(spell, many):
    qrels, run = documents(spell, 0.9, queries=800 if many else 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = rl.evaluate(qrels, rows(run) if many else run, "R@20")
    assert rl.gate(scores, "R@20 >= 0.001").passed


def test_one_document_that_resembles_another_is_no_mistake():
    qrels, run = documents(lambda doc: doc, 1.0)
    run = {
        query: {doc: score for doc, score in docs.items() if doc.startswith("X")}
        for query, docs in run.items()
    }
    run["q0"] = {next(iter(qrels["q0"])).lower(): 1.0, "X1": 0.5}
    with pytest.warns(rl.RankLensWarning, match="Do the document ids have the same format"):
        scores = rl.evaluate(qrels, run, "R@20")
    assert scores.judged.applied.alike == 0


def test_the_total_mismatch_of_documents_says_what_would_match():
    qrels, run = documents(str.lower, 1.0)
    with pytest.warns(
        rl.MismatchWarning,
        match=r"^None of the retrieved documents is judged .*: every value is 0. Of 80 judged",
    ):
        rl.evaluate(qrels, run, "R@20")


@pytest.mark.parametrize(
    ("ending", "ignoring"), [(".pdf", "the ending '.pdf'"), ("/", "the ending '/'"), ('"', "quotation marks")]
)
@pytest.mark.parametrize(
    "shape",
    [
        dict,
        lambda run: pl.DataFrame(
            [(q, d, s) for q, docs in run.items() for d, s in docs.items()],
            ["query", "doc", "score"],
            orient="row",
        ),
    ],
)
def test_documents_with_an_ending_or_quotes_are_told(ending, ignoring, shape):
    start = '"' if ending == '"' else ""
    gold = {f"q{n}": {f"file-{n}": 1} for n in range(40)}
    run = {f"q{n}": {f"{start}file-{n}{ending}" if n % 2 else f"file-{n}": 1.0} for n in range(40)}
    with pytest.warns(rl.MismatchWarning, match=f"20 would match if you ignore {ignoring}"):
        rl.evaluate(gold, shape(run), "RR")


def test_numbered_parts_of_documents_are_other_documents():
    assert alike(["a", "b"], ["a#1", "b#1"]) is None
