import io
import sys

import pytest

from ranklens.cli.main import main
from ranklens.recipes.lint import lint

GOOD_QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\n"
GOOD_RUN = "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 a 1 1 t\n"


@pytest.fixture
def kinds(tmp_path):
    def kinds(qrels, run):
        (tmp_path / "q").write_text(qrels)
        (tmp_path / "r").write_text(run)
        return {finding.kind: finding.severity for finding in lint(tmp_path / "q", tmp_path / "r")}

    return kinds


def test_good_data_has_nothing_to_report(kinds):
    assert kinds(GOOD_QRELS, GOOD_RUN) == {}


CASES = {
    "duplicates": (GOOD_QRELS, GOOD_RUN + "q2 Q0 a 2 0.5 t\n", "error"),
    "ties": (GOOD_QRELS, GOOD_RUN.replace("q1 Q0 b 2 1", "q1 Q0 b 2 2"), "note"),
    "missing queries": (GOOD_QRELS + "q3 0 a 1\n", GOOD_RUN, "warning"),
    "unjudged queries": (GOOD_QRELS, GOOD_RUN + "q3 Q0 a 1 1 t\n", "note"),
    "no relevant document": (GOOD_QRELS + "q3 0 a 0\n", GOOD_RUN + "q3 Q0 a 1 1 t\n", "note"),
    "scores": (GOOD_QRELS, GOOD_RUN.replace("q2 Q0 a 1 1", "q2 Q0 a 1 nan"), "error"),
    "ranks": (GOOD_QRELS, GOOD_RUN.replace("q1 Q0 b 2 1", "q1 Q0 b 2 3"), "warning"),
    "32 bits": (
        GOOD_QRELS,
        GOOD_RUN.replace("a 1 2 t", "a 1 1.00000002 t").replace("b 2 1 t", "b 2 1.00000001 t"),
        "warning",
    ),
    "query among documents": (GOOD_QRELS + "q2 0 q2 1\n", GOOD_RUN + "q2 Q0 q2 2 0.5 t\n", "warning"),
    "queries": (GOOD_QRELS, GOOD_RUN.replace("q1", "1").replace("q2", "2"), "error"),
    "holes": (GOOD_QRELS, GOOD_RUN + "q2 Q0 unknown 2 0.5 t\n", "note"),
}


@pytest.mark.parametrize("kind", CASES)
def test_each_kind_is_found_alone(kinds, kind):
    qrels, run, severity = CASES[kind]
    assert kinds(qrels, run) == {kind: severity}


def test_repeated_judgments(kinds):
    assert kinds(GOOD_QRELS + "q1 0 a 2\n", GOOD_RUN) == {"duplicates": "error"}


def test_what_is_repeated_is_counted_without_the_first(tmp_path):
    (tmp_path / "q").write_text(GOOD_QRELS + "q1 0 a 2\nq1 0 a 2\n")
    (tmp_path / "r").write_text(GOOD_RUN + "q2 Q0 a 2 0.5 t\n")
    messages = [finding.message for finding in lint(tmp_path / "q", tmp_path / "r")]
    assert messages == [
        "judgments: 2 rows judge a document of their query again (first: document 'a' of query 'q1').",
        "run: 1 row repeats a document of its query (first: document 'a' of query 'q2').",
    ]


def test_no_query_in_common_is_told_as_evaluate_tells_it(tmp_path):
    (tmp_path / "q").write_text(GOOD_QRELS)
    (tmp_path / "r").write_text(GOOD_RUN.replace("q1", "1").replace("q2", "2"))
    (finding,) = lint(tmp_path / "q", tmp_path / "r")
    assert "have no query in common (judged: 'q1', in the run: '1')" in finding.message
    assert "would match if you ignore the prefix 'q', such as 'q1' and '1'" in finding.message
    (tmp_path / "r.json").write_text('{"1": []}')  # a query without documents
    (finding,) = lint(tmp_path / "q", tmp_path / "r.json")
    assert "in the run: '1'" in finding.message


def test_status_is_1_for_errors_and_with_strict_for_warnings(tmp_path, capsys):
    for name, (qrels, run, severity) in {**CASES, "good": (GOOD_QRELS, GOOD_RUN, "note")}.items():
        (tmp_path / "q").write_text(qrels)
        (tmp_path / "r").write_text(run)
        files = [str(tmp_path / "q"), str(tmp_path / "r")]
        assert main(["lint", *files, "--strict"]) == int(severity != "note"), name
        capsys.readouterr()
        assert main(["lint", *files]) == int(severity == "error"), name
        out = capsys.readouterr().out
        assert name in out if name != "good" else "nothing to report" in out


def test_ranks_of_tables_are_looked_at_too(tmp_path):
    (tmp_path / "q").write_text(GOOD_QRELS)
    (tmp_path / "r.csv").write_text("query,doc,rank,score\nq1,a,1,1\nq1,b,2,2\nq2,a,first,1\n")
    findings = lint(tmp_path / "q", tmp_path / "r.csv")
    assert [finding.kind for finding in findings] == ["ranks"]
    assert "in 1 query, first at document 'b' of query 'q1'" in findings[0].message


def test_repeated_documents_that_stand_far_apart(kinds):
    run = "".join(f"q{i} Q0 a 1 2 t\nq{i} Q0 b 2 1 t\n" for i in (1, 2)) + "q1 Q0 a 3 0.5 t\n"
    assert kinds(GOOD_QRELS, run)["duplicates"] == "error"


def test_json_and_standard_input(tmp_path, monkeypatch, capsys):
    (tmp_path / "r.json").write_text('{"q1": {"a": 2.0, "b": 1.0}, "q2": ["a"]}')
    (tmp_path / "s.json").write_text('{"q1": {"a": 2.0, "b": 1.0}, "q2": ["a"]}')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD_QRELS.encode())))
    assert main(["lint", "-", str(tmp_path / "r.json"), str(tmp_path / "s.json")]) == 0
    assert capsys.readouterr().out == "r: nothing to report\ns: nothing to report\n"


def test_unjudged_share_at_several_depths(tmp_path):
    (tmp_path / "q").write_text("q 0 d0 1\n")
    (tmp_path / "r").write_text("".join(f"q Q0 d{i} {i + 1} {-i} t\n" for i in range(200)))
    (finding,) = lint(tmp_path / "q", tmp_path / "r")
    assert finding.message.startswith(
        "Unjudged documents: 80% of the top 5, 90% of the top 10, 99% of the top 100;"
    )


def test_nothing_judged_matters(kinds):
    assert kinds(GOOD_QRELS, "q1 Q0 x 1 1 t\nq2 Q0 y 1 1 t\n") == {"holes": "error"}


def test_candidates_that_look_sampled(tmp_path):
    """One relevant document among 99 others for each query, which a search engine would not always find."""
    (tmp_path / "q").write_text("".join(f"q{q} 0 d0 1\n" for q in range(3)))
    for others, expected in ((99, True), (100, True), (98, False)):
        rows = [f"q{q} Q0 d{i} 0 {(i * 37 + q) % 101} t\n" for q in range(3) for i in range(others + 1)]
        (tmp_path / "r").write_text("".join(rows))
        found = {finding.kind for finding in lint(tmp_path / "q", tmp_path / "r")}
        assert ("sampled" in found) is expected, others


def test_rows_that_are_not_grouped_are_counted_all_the_same(tmp_path):
    """The last query of a table waits for the next one, so a query that is in two places was seen as two."""
    rows = [f"q{i} Q0 d{doc} {doc} {-doc} t\n" for i in range(3) for doc in (1, 2)]
    grouped, scattered = tmp_path / "grouped.txt", tmp_path / "scattered.txt"
    grouped.write_text("".join(row for row in rows for _ in range(2)))
    scattered.write_text("".join(rows * 2))
    qrels = {"q0": {"d1": 1}, "q1": {"d1": 1}, "q2": {"d1": 1}}
    assert lint(qrels, scattered)[0].message.startswith("run: 6 rows repeat a document of their query")
    assert lint(qrels, scattered)[0] == lint(qrels, grouped)[0]
