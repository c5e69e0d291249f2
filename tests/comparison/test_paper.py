"""The table of a paper: what it marks, and that LaTeX sets it, in the classes that papers use, within its columns."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import ranklens as rl

TAGS = [
    "MU03rob01",
    "MU03rob05",
    "pircRB04t3",
    "uogRobLWR10",
    "NLPR04clus10",
    "uwmtCR0",
    "vtumlong254",
    "JuruTitDes",
    "icl04pos48f",
    "humR04t5e1",
    "wdoqla1",
    "fub04TDNge",
    "polyudp5",
    "SABIR04BA",
    "apl04rsTDNfb",
    "mpi04r09",
    "JuruDesAggr",
]  # as runs of TREC's Robust track were called
MEASURES = ("nDCG@10", "AP", "RBP", "P@10")


@pytest.fixture(scope="module")
def track():
    """Seventeen systems that are better and better, by four measures."""
    return rl.compare_scores(_values(TAGS), MEASURES, test="t")


def _values(tags, step=0.03):
    rng = np.random.default_rng(3)
    hard = rng.normal(0, 0.1, 50)
    return {
        tag: {
            f"q{q}": dict(zip(MEASURES, np.clip(0.2 + step * i + hard[q] + rng.normal(0, 0.08, 4), 0, 1), strict=True))
            for q in range(50)
        }
        for i, tag in enumerate(tags)
    }  # fmt: skip


def body(text):
    """The rows between the rules, as lists of cells."""
    rows = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0].strip().splitlines()
    return [[cell.strip() for cell in row.removesuffix(r"\\").split("&")] for row in rows]


def test_rows_are_ordered_and_letters_name_the_systems_of_the_table(track):
    rows = body(track.to_latex())
    ranked = track.ranked("nDCG@10")
    assert [row[1] for row in rows] == ranked
    assert [row[0] for row in rows] == list("abcdefghijklmnopq")
    for row, system in zip(rows, ranked, strict=True):
        raised = re.search(r"\\textsuperscript\{(.*?)\}", row[3])
        told = _spelled(raised[1]) if raised else set()
        beaten = {
            other
            for other in track.told_apart("nDCG@10", system)
            if track.result("nDCG@10", other).mean < track.result("nDCG@10", system).mean
        }
        assert {ranked["abcdefghijklmnopq".index(letter)] for letter in told} == beaten
    assert [row[1] for row in body(track.to_latex(order="given"))] == TAGS


def _spelled(raised):
    """All letters of ``ac--f``."""
    found = set()
    for first, last in re.findall(r"(\w)(?:--(\w))?", raised):
        found |= {chr(i) for i in range(ord(first), ord(last or first) + 1)}
    return found


def test_best_is_bold_and_second_is_underlined_once_per_measure(track):
    text = track.to_latex()
    assert text.count(r"\textbf{0}") == text.count(r"\underline{0}") == len(MEASURES)
    first, second = body(text)[:2]
    assert first[2].startswith(r"\textbf")
    assert second[2].startswith(r"\underline")


@pytest.mark.parametrize(("marks", "better", "worse"), [("dagger", "dagger", "ddagger"), ("triangles", "bigtriangleup", "bigtriangledown")])  # fmt: skip
def test_marks_say_better_and_worse_than_one_system(track, marks, better, worse):
    middle = "icl04pos48f"
    rows = body(track.to_latex(marks=marks, against=middle, delta=True, digits=3))
    mean = {system: track.result("nDCG@10", system).mean for system in TAGS}
    apart = track.told_apart("nDCG@10", middle)
    for row in rows:
        system = row[0]
        expected = "" if system not in apart else better if mean[system] > mean[middle] else worse
        assert re.findall(r"\$\^\{\\(\w+)\}\$", row[2]) == ([expected] if expected else [])
        change = 100 * (mean[system] / mean[middle] - 1)
        shown = row[3].replace("$", "")
        assert shown == "--" if system == middle else abs(float(shown) - change) <= 0.0500001


def test_a_baseline_is_what_marks_are_against():
    found = rl.compare_scores(_values(TAGS[:4], 0.1), ["AP"], test="t", baseline="uogRobLWR10")
    text = found.to_latex()
    assert r"$^{\ddagger}$" in text
    assert r"\dagger$ and $\ddagger$: significantly better and worse than uogRobLWR10" in text
    with pytest.raises(rl.InputError, match="only pairs with uogRobLWR10 were tested"):
        found.to_latex(against="MU03rob01")


def test_the_caption_is_short_or_full_or_ones_own(track):
    def caption(**options):
        found = re.search(r"\\caption\{(.*)\}\n", track.to_latex(**options))
        return found[1] if found else ""

    short = caption()
    assert "paired t test, Holm, p \\textless{} 0.05" in short
    assert "Parameters: nDCG@10: gain = linear; RBP: p = 0.8, gain = binary." in short
    assert "Holm over the 136 pairs of each measure" in caption(notes="full")
    assert caption(notes="none") == ""
    assert caption(caption=r"On \textsc{Robust}") == r"On \textsc{Robust}"
    text = track.to_latex(label="tab:all", wide=True)
    assert r"\label{tab:all}" in text
    assert r"\begin{table*}" in text
    assert text.index(r"\caption") < text.index(r"\begin{tabular}")
    assert "Holm over the 136 pairs" in text.partition(r"\begin{table*}")[0]  # as a comment


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"marks": "star"}, "marks='star'"),
        ({"order": "name"}, "order='name'"),
        ({"align": "left"}, "align='left'"),
        ({"notes": "long"}, "notes='long'"),
        ({"digits": 20}, "digits=20 is not allowed: from 0 to 10"),
        ({"marks": "dagger"}, "needs a system to compare with"),
        ({"delta": True}, "delta needs a system"),
        ({"against": "MU03"}, "is not a system"),
    ],
)
def test_wrong_wishes_are_refused(track, options, message):
    with pytest.raises(rl.InputError, match=message):
        track.to_latex(**options)


def test_names_cannot_leave_a_comment():
    values = _values(["a\n\\input{x}", "b", "c"])
    text = rl.compare_scores(values, ["AP"], test="t").to_latex()
    assert all(line.startswith("%") for line in text.partition(r"\begin{table}")[0].strip().splitlines())
    assert r"\input" not in text.replace(r"\textbackslash{}input", "")


CLASSES = {
    "acmart": r"\documentclass[sigconf,nonacm]{acmart}",
    "llncs": r"\documentclass{llncs}",
    "article": r"\documentclass[twocolumn]{article}",
}
TABLES = {
    "letters, wide": {"wide": True},
    "letters, one column": {"digits": 3, "notes": "none"},
    "daggers with differences, wide": {"marks": "dagger", "against": "MU03rob05", "delta": True, "digits": 3, "wide": True},
    "triangles, one column": {"marks": "triangles", "against": "icl04pos48f", "digits": 3},
    "right, full notes": {"align": "right", "digits": 3, "notes": "full", "wide": True},
}  # fmt: skip
ONE_COLUMN = ("nDCG@10", "AP")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-publishers)")
@pytest.mark.parametrize("kind", CLASSES)
def test_tables_fit_where_papers_put_them(track, kind, tmp_path):
    narrow = rl.compare_scores(_values(TAGS), ONE_COLUMN, test="t")
    tables = [
        (track if options.get("wide") or kind == "llncs" else narrow).to_latex(**options)
        for options in TABLES.values()
    ]
    lines = [
        CLASSES[kind], r"\usepackage{booktabs}", r"\title{T}", r"\author{A}", r"\begin{document}",
        *([] if kind != "acmart" else [r"\settopmatter{printacmref=false}"]), r"\maketitle", "Text.", *tables, r"\end{document}",
    ]  # fmt: skip
    (tmp_path / "paper.tex").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False, timeout=120,
    )  # fmt: skip
    log = (tmp_path / "paper.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert not re.findall(r"^Overfull.*", log, re.MULTILINE)
    assert (tmp_path / "paper.pdf").stat().st_size > 1000
