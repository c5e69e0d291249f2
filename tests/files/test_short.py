"""Short TREC files, which are read without the table engine."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ranklens as rl
from ranklens.data.files import trec
from ranklens.data.files.sources import Source, open_source

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    monkeypatch.setattr(trec, "_engine_is_loaded", lambda: False)


class Content(Source):
    """Bytes in place of a file."""

    def __init__(self, content):
        super().__init__("run.txt", Path("run.txt"))
        vars(self)["content"] = content

    size = property(lambda self: len(self.content))

    def read(self):
        return self.content

    def pieces(self, size=1 << 24):
        yield self.content


field = st.text(
    st.characters(min_codepoint=1, max_codepoint=0x2030, exclude_characters="\n\ud800"),
    min_size=1,
    max_size=4,
)
number = st.one_of(
    st.floats(allow_nan=False).map(repr), st.integers().map(str), st.sampled_from(["1e5", "+2", ".5", "5.", "1_0", "-0", "1e-7", "٣"])
)  # fmt: skip
end = st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n# c\n", " x\n"])


@given(
    st.lists(st.tuples(field, st.sampled_from([" ", "\t", "  "]), field, number, end), min_size=1, max_size=6)
)
def test_runs_are_those_of_the_engine(rows):
    content = Content("".join(f"{q}{s}Q0 {d} 1 {x} t{end}" for q, s, d, x, end in rows).encode())
    few = trec.read_short_run(content)
    if few is not None:
        table = trec.read_carefully(
            content.read(), trec.TREC_RUN, {"query": False, "doc": False, "score": True}
        )
        assert [(q, d, s) for q, docs in few.items() for d, s in docs.items()] == sorted(
            table.rows(), key=lambda row: [*few].index(row[0])
        )


@given(
    st.lists(st.tuples(st.sampled_from("abcé"), st.sampled_from("xyzü"), number, end), min_size=1, max_size=6)
)
def test_judgments_are_those_of_the_engine(rows):
    content = Content("".join(f"{q} 0 {d} {x}{end}" for q, d, x, end in rows).encode())
    few = trec.read_short_judgments(content)
    if few is not None:
        table = trec.read_carefully(
            content.read(), trec.TREC_QRELS, {"query": False, "doc": False, "grade": True}
        )
        assert {(q, d, g) for q, docs in few.items() for d, g in docs.items()} == {*table.rows()}


@pytest.mark.parametrize(
    "line",
    [
        "q Q0 d 1 nan t",
        "q Q0 d 1 0x1 t",
        "q Q0 d 1 2",
        "# q Q0 d 1 2 t",
        "q Q0 a 1 2 t",
        "q Q0 \xff 1 2 t",
        "q Q0 d 1 1e400 t",
    ],
)
def test_what_is_unusual_is_left_to_the_engine(tmp_path, line):
    usual = "q Q0 a 1 2.5 t\nq Q0 é 2 -1e-3 t\n"
    (tmp_path / "run.txt").write_text(usual)
    assert trec.read_short_run(open_source(tmp_path / "run.txt")) == {"q": {"a": 2.5, "é": -0.001}}
    (tmp_path / "run.txt").write_bytes(usual.encode() + line.encode("latin-1"))
    assert trec.read_short_run(open_source(tmp_path / "run.txt")) is None


def test_long_and_packed_files_are_left_to_the_engine(tmp_path, monkeypatch):
    (tmp_path / "run.txt").write_text("q Q0 a 1 2.5 t\n")
    monkeypatch.setattr(trec, "_SHORT", 10)
    assert trec.read_short_run(open_source(tmp_path / "run.txt")) is None
    monkeypatch.setattr(trec, "_engine_is_loaded", lambda: True)
    monkeypatch.setattr(trec, "_SHORT", 100)
    assert trec.read_short_run(open_source(tmp_path / "run.txt")) is None


def test_values_are_those_of_the_engine(monkeypatch):
    qrels, run = GOLDEN / "qrels.txt", GOLDEN / "run.txt"
    assert trec.read_short_run(open_source(run)) and trec.read_short_judgments(open_source(qrels))  # noqa: PT018
    for options in ({}, {"ties": "ascending"}, {"ties": "input"}, {"missing": "skip"}, {"judged_only": True}):
        found = rl.evaluate(qrels, run, "trec", **options)
        with monkeypatch.context() as patched:
            patched.setattr(trec, "_engine_is_loaded", lambda: True)
            assert rl.evaluate(qrels, run, "trec", **options).to_json() == found.to_json()


def test_a_command_does_not_load_the_engine():
    given = ["evaluate", str(GOLDEN / "qrels.txt"), str(GOLDEN / "run.txt")]
    code = (
        f"import sys; from ranklens.cli.main import main; main({given!r}); sys.exit('polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), "one warning, of a query that is missing"
    assert "queries averaged" in done.stdout
