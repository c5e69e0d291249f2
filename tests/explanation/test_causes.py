"""Why queries fail: each cause by an example that has it, and by one that is nearly the same and has not."""

import json
import re
from pathlib import Path

import pytest
from command_line import run

import ranklens as rl
from ranklens.matching import ByField, ByParent, ByText, Groups, Spans
from ranklens.report.explanation.causes import CAUSES
from ranklens.report.explanation.library import Library, share_held

REFUND = "Refunds take five to seven working days after we receive the parcel."
CORPUS = {
    "refunds#1": REFUND,
    "refunds#2": "Shipping costs are not refunded unless the article was broken.",
    "copy#9": f"Answers. {REFUND} Ask us for more.",
    "other#1": "We send parcels on every working day.",
    "other#2": "Gift cards never expire.",
}


def cause_of(expected, retrieved, measure="hit@2", **looked):
    found = rl.evaluate({"q": expected}, {"q": retrieved}, measure).failing(**looked)
    assert len(found) == 1
    assert found.by_cause == {found[0].cause: ("q",)}
    return found[0].cause, found[0].why(found.measure.k)


def test_every_cause_has_a_name_of_its_own():
    assert len({one.name for one in CAUSES}) == len(CAUSES)


def test_the_documentation_lists_every_cause_in_order():
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text(encoding="utf-8")
    section = page.partition("## Why do they fail?")[2].partition("\n## ")[0]
    assert re.findall(r"^\| ([\w ,-]+) \|", section, re.MULTILINE)[2:] == [one.name for one in CAUSES]


def test_not_in_the_corpus():
    name, why = cause_of({"refunds#7"}, ["other#1", "other#2"], corpus=CORPUS)
    assert (name, why) == ("not in the corpus", "not retrieved; not in the corpus: refunds#7")
    # One of two is there, so the question could be answered.
    assert cause_of({"refunds#7", "refunds#1"}, ["other#1"], corpus=CORPUS)[0] == "not retrieved"
    assert cause_of({"refunds#7"}, ["other#1"])[0] == "not retrieved"


def test_near_duplicate_of_the_expected():
    found = cause_of({"refunds#1"}, ["other#1", "copy#9", "refunds#1"], corpus=CORPUS)
    assert found == (
        "near-duplicate of the expected",
        "first relevant at rank 3; copy#9 at rank 2 says the same",
    )
    below = cause_of({"refunds#1"}, ["other#1", "other#2", "copy#9"], corpus=CORPUS)
    assert below[0] == "not retrieved"  # below the cutoff, a copy does not help


@pytest.mark.parametrize(("same", "share"), [(12, 1.0), (10, 10 / 12), (9, 0.75), (2, 0.0)])
def test_a_copy_shares_four_fifths_of_the_words_in_runs_of_three(same, share):
    words = REFUND.split()
    assert share_held(" ".join(["so", *words[:same], "or", "not"]), REFUND) == pytest.approx(share)
    text = " ".join(words[:same])
    found = cause_of({"refunds#1"}, ["x"], corpus={**CORPUS, "x": text})[0]
    assert (found == "near-duplicate of the expected") == (share >= 0.8)


def test_words_in_another_order_are_no_copy():
    assert share_held(" ".join(reversed(REFUND.split())), REFUND) == 0


def test_lost_by_the_reranker():
    before = {"q": ["x", "refunds#1", "y", "z"]}
    found = cause_of({"refunds#1"}, ["x", "y", "refunds#1"], first_stage=before)
    assert found == (
        "lost by the reranker",
        "first relevant at rank 3; rank 2 before reranking, rank 3 after",
    )
    found = cause_of({"refunds#1"}, ["x", "y"], first_stage=before)
    assert found == ("lost by the reranker", "not retrieved; rank 2 before reranking, not there after")
    # It was too low before as well.
    assert cause_of({"z"}, ["x", "y"], first_stage=before) == (
        "below the cutoff",
        "not retrieved; rank 4 before reranking",
    )
    assert cause_of({"w"}, ["x", "y"], first_stage=before)[0] == "not retrieved"
    assert cause_of({"z"}, ["x", "y"], "RR", first_stage=before)[0] == "lost by the reranker"


def test_below_the_cutoff():
    assert cause_of({"a"}, ["x", "y", "a"]) == ("below the cutoff", "first relevant at rank 3")
    assert cause_of({"a", "b"}, ["x", "a", "b"], "R@2")[0] == "below the cutoff"
    assert cause_of({"a", "b"}, ["x", "a", "c"], "R@2")[0] == "not retrieved"


def test_not_at_the_top():
    assert cause_of({"a"}, ["x", "a"], "RR")[0] == "not at the top"
    assert cause_of({"a", "b"}, ["x", "a"], "RR@5")[0] == "not at the top"  # one of them is enough
    assert cause_of({"a", "b"}, ["x", "a", "b"], "nDCG@5")[0] == "not at the top"
    assert cause_of({"a", "b"}, ["x", "a"], "AP")[0] == "not retrieved"


def test_right_parent_wrong_chunk():
    found = cause_of({"refunds#1"}, ["other#1", "refunds#2"])
    assert found == (
        "right parent, wrong chunk",
        "not retrieved; refunds#2 at rank 2 is from the same document",
    )
    assert cause_of({"refunds#1"}, ["other#1", "x", "refunds#2"])[0] == "not retrieved"
    assert cause_of({"doc1"}, ["doc2"])[0] == "not retrieved"  # nothing says that these are chunks
    assert cause_of({"FT911-3"}, ["FT911-4"])[0] == "not retrieved"


def test_what_ids_are_chunks_of_can_be_told():
    assert cause_of({"a-1"}, ["a-2"], parent="-")[0] == "right parent, wrong chunk"
    assert cause_of({"1"}, ["2"], parent={"1": "a", "2": "a"})[0] == "right parent, wrong chunk"
    assert cause_of({"1"}, ["2"], parent=lambda doc: f"of {doc}")[0] == "not retrieved"
    rows = [{"id": "1", "text": "One.", "source": "a.pdf"}, {"id": "2", "text": "Two.", "source": "a.pdf"}]
    assert cause_of({"1"}, ["2"], corpus=rows)[0] == "right parent, wrong chunk"
    inside = [{"id": row["id"], "text": row["text"], "metadata": {"source": "a.pdf"}} for row in rows]
    assert cause_of({"1"}, ["2"], corpus=inside)[0] == "right parent, wrong chunk"
    with pytest.raises(rl.InputError, match="parent is an int"):
        cause_of({"a"}, ["b"], parent=7)


def test_unjudged_at_the_top_only_where_others_are_judged():
    qrels = {"q": {"a": 1, "b": 0, "c": 0}}
    found = rl.evaluate(qrels, {"q": ["b", "x", "y"]}, "hit@2").failing()[0]
    assert (found.cause, found.why(2)) == ("unjudged at the top", "not retrieved; 1 of the top 2 unjudged")
    assert rl.evaluate(qrels, {"q": ["b", "c", "x"]}, "hit@2").failing()[0].cause == "not retrieved"
    assert cause_of({"a"}, ["x", "y"])[0] == "not retrieved"


def test_calls_without_an_answer():
    golden = [{"id": name, "expected": ["a"]} for name in ("lost", "silent", "absent", "good")]
    log = [
        {"id": "lost", "error": "TimeoutError"},
        {"id": "silent", "retrieved": []},
        {"id": "good", "retrieved": ["a"]},
    ]
    found = rl.evaluate(golden, log, "hit@1").failing()
    assert found.by_cause == {
        "retriever failed": ("lost",),
        "empty answer": ("silent",),
        "missing from the run": ("absent",),
    }
    none = rl.evaluate({"q": {"a": 0}}, {"q": ["a"]}, "hit@1").failing()
    assert [*none.by_cause] == ["nothing judged relevant"]


def test_all_failing_queries_are_counted_and_few_shown():
    qrels = {f"q{i:02}": {"a"} for i in range(20)}
    run_of = {query: (["x", "a"] if query < "q08" else ["x"] if query < "q15" else ["a"]) for query in qrels}
    found = rl.evaluate(qrels, run_of, "hit@1").failing(n=3)
    assert len(found) == 3
    assert {name: len(queries) for name, queries in found.by_cause.items()} == {
        "below the cutoff": 8,
        "not retrieved": 7,
    }
    assert [row[0] for row in found.causes_table().rows] == ["below the cutoff", "not retrieved"]
    assert [row[-2:] for row in found.causes_table().rows] == [["8", "53%"], ["7", "47%"]]
    assert "Why they fail" in str(found)


GOLDEN = [
    {"id": "q", "question": "When?", "expected_texts": [REFUND]},
    {"id": "good", "question": "Why?", "expected_texts": ["because"]},
]
GOOD = {"id": "good", "retrieved": [{"id": "z#1", "text": "Just because."}]}


def of_text(chunks, **looked):
    log = [{"id": "q", "retrieved": [{"id": name, "text": text} for name, text in chunks.items()]}, GOOD]
    found = rl.evaluate(GOLDEN, log, "hit@5", match=ByText()).failing(**looked)
    return found[0].cause


def test_expected_texts():
    halves = {"a#1": " ".join(REFUND.split()[:6]), "a#2": " ".join(REFUND.split()[6:]), "b#1": "No."}
    assert of_text({"b#1": "No."}, corpus=halves) == "not retrieved"  # it is divided, but there
    assert of_text({"b#1": "No."}, corpus={"b#1": "No.", "a#1": halves["a#1"]}) == "not in the corpus"
    assert of_text({"a#3": "Why?"}, corpus={**halves, "a#3": "Why?"}) == "right parent, wrong chunk"
    assert of_text({"b#1": REFUND.replace("parcel", "box")}) == "near-duplicate of the expected"
    assert of_text({"b#1": REFUND.replace("five", "5")}) == "not retrieved"  # 9 of 12 words in runs of three


def test_a_corpus_without_documents():
    with pytest.raises(rl.InputError, match="no documents"):
        cause_of({"a"}, ["b"], corpus={})
    with pytest.raises(rl.InputError, match="none of the failing queries"):
        cause_of({"a"}, ["b"], first_stage={"other": ["a"]})
    assert Library().parents_of(["a#1", "b"]) == {"a"}


def test_what_was_not_checked():
    def note(**looked):
        return rl.evaluate({"q": {"a"}}, {"q": ["b"]}, "hit@1").failing(**looked).causes_table().note

    assert note(corpus={"a": "A.", "b": "B."}, first_stage={"q": ["b"]}) == ""
    assert note(corpus={"a": "A.", "b": "B."}) == "Not checked: lost by the reranker (needs the first stage)."
    assert "near-duplicate of the expected (needs texts)" in note()


def test_the_command_says_the_same(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, doc in {"golden": "a-1", "log": "a-2", "before": "a-1"}.items():
        key = "expected" if name == "golden" else "retrieved"
        rows = [{"id": "q", key: [doc]}, {"id": "good", key: ["b"]}]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "corpus.jsonl").write_text('{"id": "a-1", "text": "One."}\n{"id": "a-2", "text": "Two."}')
    base = ("evaluate", "golden.jsonl", "log.jsonl", "-m", "hit@1")
    options = ("--corpus", "corpus.jsonl", "--first-stage", "before.jsonl", "--parent", "-")
    status, out, err = run(capsys, *base, "--failing", "1", *options)
    assert (status, err) == (0, "")
    looked = {"corpus": "corpus.jsonl", "first_stage": "before.jsonl", "parent": "-"}
    found = rl.evaluate("golden.jsonl", "log.jsonl", "hit@1").failing(**looked)
    assert out.endswith(f"\n\n{found}\n")
    assert found[0].causes == ("lost by the reranker", "right parent, wrong chunk")
    status, _, err = run(capsys, *base, *options)
    assert status == 2
    assert "add --failing N" in err


ROWS = [
    {"id": "a#1", "text": REFUND, "metadata": {"file": "a.pdf"}},
    {"id": "a#2", "text": "More.", "metadata": {"file": "a.pdf"}},
    {"id": "b#1", "text": "Gift cards never expire.", "metadata": {"file": "b.pdf"}},
]


@pytest.mark.parametrize(
    ("match", "there", "absent"),
    [
        (ByParent(separator="#"), "a", "c"),
        (ByParent({"a#1": "A", "a#2": "A", "b#1": "B"}), "A", "C"),
        (ByField("metadata.file"), "a.pdf", "c.pdf"),
        (Groups([["z#1", "a#1"]]), "z#1", "c#1"),
    ],
)
def test_a_corpus_has_what_its_rows_are_matched_to(match, there, absent):
    def cause(expected):
        retrieved = [{"id": "b#1", "metadata": {"file": "b.pdf"}}]
        golden = [{"id": "q", "expected": [expected]}, {"id": "good", "expected": ["x"]}]
        log = [
            {"id": "q", "retrieved": retrieved},
            {"id": "good", "retrieved": [{"id": "x", "metadata": {"file": "x"}}]},
        ]
        return rl.evaluate(golden, log, "hit@1", match=match).failing(corpus=ROWS)[0].cause

    assert cause(there) == "not retrieved"
    assert cause(absent) == "not in the corpus"


def test_a_corpus_does_not_say_which_spans_it_has():
    golden = [{"id": "q", "expected": ["doc:0-50"]}, {"id": "good", "expected": ["x:0-5"]}]
    spans = {
        "q": {"document": "doc", "start": 60, "end": 90},
        "good": {"document": "x", "start": 0, "end": 5},
    }
    log = [{"id": query, "retrieved": [span]} for query, span in spans.items()]
    found = rl.evaluate(golden, log, "hit@1", match=Spans()).failing(corpus=ROWS)
    assert found[0].cause != "not in the corpus"
