"""Golden sets and logs that people keep in Excel."""

import pytest

import ranklens as rl
from ranklens.data.files import workbooks
from ranklens.data.files.queries import read_queries

pytest.importorskip("fastexcel")
xlsxwriter = pytest.importorskip("xlsxwriter")

GOLDEN = [
    ["id", "question", "expected_ids", "answerable"],
    ["007", "Why?\nAnd how, please, now?", "a | b", True],
    ["008", "Who?", "c", True],
    ["009", "When?", None, False],
]
LOG = [["id", "retrieved_ids", "latency_ms"], ["007", "x|b", 250], ["008", "c", 120.5], ["009", None, 90]]


def workbook(path, *sheets):
    with xlsxwriter.Workbook(path) as book:
        for number, rows in enumerate(sheets):
            sheet = book.add_worksheet(f"Sheet {number}")
            for row, cells in enumerate(rows):
                sheet.write_row(row, 0, cells)
    return path


def test_a_golden_set_and_a_log_in_workbooks(tmp_path):
    golden, log = workbook(tmp_path / "golden.xlsx", GOLDEN), workbook(tmp_path / "log.xlsx", [], LOG)
    judged = rl.judge(golden, log)
    assert judged.evaluate(["RR", "R@5"]).mean == {"RR": 0.75, "R@5": 0.75}
    assert list(judged.queries) == ["007", "008"]
    assert judged.applied.unanswerable == 1
    assert read_queries(golden).texts["008"] == "Who?"
    bench = rl.Benchmark(golden)
    bench.run("mine", lambda text, k: ["x", "a"])
    assert bench.evaluate("RR")["mine"].mean == {"RR": 0.25}


def test_numbers_of_a_sheet_are_whole_ids(tmp_path):
    qrels = workbook(tmp_path / "qrels.xlsx", [["query", "doc", "grade"], [1, 7, 2], [2, 8, 1]])
    run = workbook(
        tmp_path / "run.xlsx", [["query", "doc", "score"], [1, 7, 0.5], [2, 9, 0.75], [2, 8, 0.25]]
    )
    assert rl.evaluate(qrels, run, "RR").mean == {"RR": 0.75}
    assert rl.evaluate({"1": {"7"}, "2": {"8"}}, run, "RR").mean == {"RR": 0.75}
    single = workbook(tmp_path / "golden.xlsx", [["id", "expected_ids"], [1, 7], [2, 8]])
    assert rl.evaluate(single, run, "RR").mean == {"RR": 0.75}


def test_of_several_sheets_the_first_with_rows_is_read(tmp_path):
    path = workbook(tmp_path / "golden.xlsx", [["notes"]], GOLDEN, LOG)
    with pytest.warns(
        rl.RankLensWarning,
        match=r"golden\.xlsx has several sheets with rows; 'Sheet 1' is read, and 'Sheet 2' not",
    ):
        rl.judge(path, {"007": ["a"]})


def test_workbooks_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "golden.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(
        rl.InputError, match=r"golden\.xlsx cannot be read as a workbook: .*Save the sheet as CSV"
    ):
        rl.judge(tmp_path / "golden.xlsx", {"q": ["a"]})
    workbook(tmp_path / "empty.xlsx", [["id", "expected_ids"]])
    with pytest.raises(rl.InputError, match="no sheet has rows"):
        rl.judge(tmp_path / "empty.xlsx", {"q": ["a"]})


def test_without_fastexcel_the_extra_is_named(tmp_path, monkeypatch):
    path = workbook(tmp_path / "golden.xlsx", GOLDEN)

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(workbooks, "import_module", absent)
    with pytest.raises(
        rl.MissingExtraError, match=r"pip install 'ranklens\[excel\]'\. Or save the sheet as CSV"
    ):
        rl.judge(path, {"q": ["a"]})


def test_no_workbook_is_written(tmp_path):
    from ranklens.data.files.writing import convert

    (tmp_path / "run.txt").write_text("q1 Q0 a 1 1 t\n")
    with pytest.raises(rl.InputError, match="does not write workbooks"):
        convert(tmp_path / "run.txt", tmp_path / "run.xlsx")


def test_a_golden_set_of_a_workbook_is_converted(tmp_path):
    from ranklens.data.files.writing import convert

    path = workbook(tmp_path / "golden.xlsx", GOLDEN)
    assert convert(path, tmp_path / "golden.jsonl") == (3, "golden")
    assert rl.judgments(tmp_path / "golden.jsonl") == rl.judgments(path)
