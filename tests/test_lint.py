import pytest

from ranklens.cli import main
from ranklens.lint import lint

GOOD_QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\n"
GOOD_RUN = "q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 a 1 1 t\n"


@pytest.fixture
def kinds(tmp_path):
    def kinds(qrels, run):
        (tmp_path / "q").write_text(qrels)
        (tmp_path / "r").write_text(run)
        return {finding.kind: finding.matters for finding in lint(tmp_path / "q", tmp_path / "r")}

    return kinds


def test_good_data_has_nothing_to_report(kinds):
    assert kinds(GOOD_QRELS, GOOD_RUN) == {}


CASES = {
    "duplicates": (GOOD_QRELS, GOOD_RUN + "q2 Q0 a 2 0.5 t\n", True),
    "ties": (GOOD_QRELS, GOOD_RUN.replace("q1 Q0 b 2 1", "q1 Q0 b 2 2"), True),
    "missing queries": (GOOD_QRELS + "q3 0 a 1\n", GOOD_RUN, True),
    "unjudged queries": (GOOD_QRELS, GOOD_RUN + "q3 Q0 a 1 1 t\n", False),
    "no relevant document": (GOOD_QRELS + "q3 0 a 0\n", GOOD_RUN + "q3 Q0 a 1 1 t\n", False),
    "scores": (GOOD_QRELS, GOOD_RUN.replace("q2 Q0 a 1 1", "q2 Q0 a 1 nan"), True),
    "ranks": (GOOD_QRELS, GOOD_RUN.replace("q1 Q0 b 2 1", "q1 Q0 b 2 3"), True),
    "query among documents": (GOOD_QRELS + "q2 0 q2 1\n", GOOD_RUN + "q2 Q0 q2 2 0.5 t\n", True),
    "holes": (GOOD_QRELS, GOOD_RUN + "q2 Q0 unknown 2 0.5 t\n", False),
}


@pytest.mark.parametrize("kind", CASES)
def test_each_kind_is_found_alone(kinds, kind):
    qrels, run, matters = CASES[kind]
    assert kinds(qrels, run) == {kind: matters}


def test_repeated_judgments(kinds):
    assert kinds(GOOD_QRELS + "q1 0 a 2\n", GOOD_RUN) == {"duplicates": True}


def test_status_is_1_only_if_results_would_change(tmp_path, capsys):
    for name, (qrels, run, matters) in {**CASES, "good": (GOOD_QRELS, GOOD_RUN, False)}.items():
        (tmp_path / "q").write_text(qrels)
        (tmp_path / "r").write_text(run)
        assert main(["lint", str(tmp_path / "q"), str(tmp_path / "r")]) == int(matters), name
        out = capsys.readouterr().out
        assert name in out if name != "good" else "nothing to report" in out
