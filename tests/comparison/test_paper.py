"""The table of a paper: what it marks, and that LaTeX sets it, in the classes that papers use, within its columns."""

import re
import subprocess
import warnings

import needs
import numpy as np
import pytest
from scipy import special

import ranklens as rl
from ranklens.cli.main import main
from ranklens.comparison import paper

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
    rows = body(track.to_latex(wide=True))
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
    assert [row[1] for row in body(track.to_latex(order="given", wide=True))] == TAGS


def _spelled(raised):
    """All letters of ``ac--f``."""
    found = set()
    for first, last in re.findall(r"(\w)(?:--(\w))?", raised):
        found |= {chr(i) for i in range(ord(first), ord(last or first) + 1)}
    return found


def test_best_is_bold_and_second_is_underlined_once_per_measure(track):
    text = track.to_latex(wide=True)
    assert text.count(r"\textbf{0}") == text.count(r"\underline{0}") == len(MEASURES)
    first, second = body(text)[:2]
    assert first[2].startswith(r"\textbf")
    assert second[2].startswith(r"\underline")


@pytest.mark.parametrize(("marks", "better", "worse"), [("dagger", "dagger", "ddagger"), ("triangles", "bigtriangleup", "bigtriangledown")])  # fmt: skip
def test_marks_say_better_and_worse_than_one_system(track, marks, better, worse):
    middle = "icl04pos48f"
    rows = body(track.to_latex(marks=marks, against=middle, delta=True, digits=3, wide=True))
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
        found = re.search(r"\\caption\{(.*)\}\n", track.to_latex(wide=True, **options))
        return found[1] if found else ""

    short = caption()
    assert "paired t test, Holm, not corrected over measures, p \\textless{} 0.05" in short
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


def test_a_table_that_is_too_wide_says_what_to_do(track, tmp_path, capsys):
    with pytest.warns(
        rl.RankLensWarning, match=r"about 2\d\d pt wide, .*\(240 pt\): span both columns with wide=True"
    ) as warned:
        text = track.to_latex()
    assert f"% {warned[0].message}" in text.partition(r"\begin{table}")[0]
    assert "pt wide" not in track.to_latex(wide=True)
    assert "pt wide" not in track.to_latex(marks="none", digits=3)
    with pytest.warns(
        rl.RankLensWarning, match=r"more than the text of most papers \(504 pt\): show fewer measures"
    ):
        rl.compare_scores(_values(["a" * 90, "b"]), ["AP"], test="t").to_latex(wide=True)
    qrels, names = tmp_path / "qrels.txt", [f"a_run_with_a_name_{i}" for i in range(3)]
    qrels.write_text("q1 0 a 1\nq2 0 b 1\n")
    for name in names:
        (tmp_path / name).write_text("q1 Q0 a 1 2 x\nq2 Q0 b 1 2 x\n")
    runs = [f"{name}={tmp_path / name}" for name in names]
    measures = "nDCG@10,AP,RR,P@10,R@100"
    assert main(["compare", str(qrels), *runs, "-m", measures, "--format", "latex"]) == 0
    out, err = capsys.readouterr()
    assert "span both columns with --wide" in " ".join(err.split())
    assert "span both columns with --wide" in out.partition(r"\begin{table}")[0]


def test_many_runs_become_a_longtable():
    found = rl.compare_scores(_values([f"run_{i}" for i in range(41)]), ["AP"], test="t")
    text = found.to_latex(label="tab:all", marks="none", wide=True)
    above = text.partition(r"\begin{longtable}")[0]
    assert r"\usepackage{longtable}" in above
    assert (
        r"Two-column classes (acmart's sigconf, IEEEtran) cannot set one: write \onecolumn before it" in above
    )
    assert r"\begin{table" not in text
    assert (
        text.count(r"system & \multicolumn{2}{c}{AP} \\") == 2
    )  # on the first page, and on those that follow
    assert text.count(r"\label{tab:all}") == 1
    fewer = rl.compare_scores(_values([f"run_{i}" for i in range(40)]), ["AP"], test="t")
    assert "longtable" not in fewer.to_latex(marks="none")


def test_effect_sizes_are_printed(track, tmp_path, capsys):
    some = rl.compare_scores(_values(TAGS[:3]), ["AP"], test="t")
    a, b = (some.values("AP")[i] for i in (0, 2))
    change = b - a
    dz = change.mean() / change.std(ddof=1)
    better = ((change > 0).sum() + (change == 0).sum() / 2) / len(change)
    row = next(row for row in some.effect_sizes().rows if row[1] == f"{TAGS[2]} vs {TAGS[0]}")
    factor = special.gamma(49 / 2) / (
        special.gamma(24) * np.sqrt(49 / 2)
    )  # Hedges (1981), 49 degrees of freedom
    assert row[2:4] == [f"{dz:+.2f}", f"{dz * factor:+.2f}"]
    assert row[5] == f"{better:.2f}"
    assert "P(better)" in some.to_markdown(effect_sizes=True)
    assert "P(better)" not in some.to_markdown()
    assert some.to_latex(effect_sizes=True).endswith(some.effect_sizes().to_latex())
    assert "more pairs are not shown" in track.effect_sizes().note
    files = [tmp_path / name for name in ("qrels.txt", "one.txt", "two.txt")]
    for file, row in zip(files, ("q1 0 a 1", "q1 Q0 a 1 2 x", "q1 Q0 b 1 2 y"), strict=True):
        file.write_text(row + "\n" + row.replace("q1", "q2") + "\n")
    line = ["compare", *map(str, files), "-m", "RR", "--effect-sizes"]
    for kind in ("table", "markdown", "latex"):
        assert main([*line, "--format", kind]) == 0
        assert "P(better)" in capsys.readouterr().out
    assert main([*line, "--format", "csv"]) == 2
    assert "--rows pairs" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_tables_fit_where_papers_put_them(track, kind, tmp_path):
    needs.skip_without(needs.latex(*needs.PAPERS[kind]), ": apt install texlive-publishers")
    narrow = rl.compare_scores(_values(TAGS), ONE_COLUMN, test="t")
    with warnings.catch_warnings():  # of columns that are narrower than those of llncs
        warnings.simplefilter("ignore", rl.RankLensWarning)
        tables = [
            (track if options.get("wide") or kind == "llncs" else narrow).to_latex(**options)
            for options in TABLES.values()
        ]
    lines = [
        CLASSES[kind], r"\usepackage{booktabs}", r"\title{T}", r"\author{A}", r"\begin{document}",
        *([] if kind != "acmart" else [r"\settopmatter{printacmref=false}"]), r"\maketitle", "Text.", *tables, r"\end{document}",
    ]  # fmt: skip
    log = _set(lines, tmp_path)
    assert not re.findall(r"^Overfull.*", log, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_a_track_of_121_runs_breaks_over_pages(kind, tmp_path):
    needs.skip_without(needs.latex(*needs.PAPERS[kind], "longtable.sty"), ": apt install texlive-publishers")
    track = rl.compare_scores(
        _values([f"team{i % 30}_run{i}" for i in range(121)], 0.004), MEASURES, test="t"
    )
    text = track.to_latex(marks="dagger", against="team0_run60", digits=3, label="tab:all")
    one_column = [text] if kind == "llncs" else [r"\onecolumn", text, r"\twocolumn"]
    lines = [
        CLASSES[kind], r"\usepackage{booktabs,longtable}", r"\title{T}", r"\author{A}", r"\begin{document}", r"\maketitle",
        "Text.", *one_column, r"Table~\ref{tab:all}.", r"\end{document}",
    ]  # fmt: skip
    _set(lines, tmp_path)
    log = _set(lines, tmp_path)  # labels are known the second time
    assert not re.findall(r"^Overfull.*", log, re.MULTILINE)
    assert r"\newlabel{tab:all}{{1}" in (tmp_path / "paper.aux").read_text()
    assert int(re.search(r"Output written on paper\.pdf \((\d+) pages", log)[1]) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("digits", [2, 4])
@pytest.mark.parametrize(
    "options", [{}, {"marks": "dagger", "against": "MU03rob05", "delta": True}, {"marks": "none"}]
)
def test_widths_are_about_those_that_latex_sets(track, digits, options, tmp_path):
    needs.skip_without(needs.latex("booktabs.sty"), ": apt install texlive-latex-recommended")
    for comparison in (track, rl.compare_scores(_values(TAGS[:5]), ONE_COLUMN, test="t")):
        page = paper._Page(comparison, paper.PaperTable(digits=digits, wide=True, **options))
        found = re.search(
            r"\\centering\n.*?((?:\\small|\\footnotesize)?(?:\n\\setlength.*)?\n\\begin\{tabular\}.*\\end\{tabular\})",
            page.text(),
            re.DOTALL,
        )
        lines = [
            r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}",
            rf"\begingroup{found[1]}\endgroup".replace(r"\begin{tabular}", r"\setbox0\hbox{\begin{tabular}") + r"",
        ]  # fmt: skip
        lines[-1] = lines[-1].replace(r"\end{tabular}", r"\end{tabular}}\typeout{WIDTH \the\wd0}")
        set_width = float(
            re.search(r"WIDTH ([\d.]+)pt", _set([*lines, "Text.", r"\end{document}"], tmp_path))[1]
        )
        assert page.width == pytest.approx(set_width, rel=0.06)


def _set(lines, folder):
    """What LaTeX logs."""
    (folder / "paper.tex").write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder, capture_output=True, text=True, errors="replace", check=False, timeout=120,
    )  # fmt: skip
    log = (folder / "paper.log").read_text(errors="replace")
    assert done.returncode == 0, log[-2000:]
    return log
