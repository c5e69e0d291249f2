"""Formulas and references: every measure has its own, and LaTeX sets them all."""

import re
import shutil
import subprocess

import pytest

import ranklens as rl
from ranklens import registry
from ranklens.cli.main import main
from ranklens.formulas.literature import ENTRIES, REFERENCES, Entry, entry_of

OURS = [d.name for d in registry.definitions().values() if not d.is_foreign]


def test_every_measure_has_a_formula_and_nothing_else_has():
    assert sorted(ENTRIES) == sorted(OURS)
    assert all(entry.formula for entry in ENTRIES.values())
    assert entry_of("nobody's") == Entry("")


def test_braces_are_balanced():
    for name, entry in ENTRIES.items():
        plain = re.sub(r"\\[{}]", "", entry.formula)
        assert plain.count("{") == plain.count("}"), name


def test_references_are_known_and_well_formed():
    used = {key for entry in ENTRIES.values() for key in entry.references}
    assert used <= set(REFERENCES)
    for key, reference in REFERENCES.items():
        assert key == reference.key
        assert str(reference.year) in key
        assert re.fullmatch(r"@\w+\{\w+,\n(  \w+ = \{.+\},\n)+\}", reference.bibtex)
        assert reference.doi is None or re.fullmatch(r"10\.\d{4,5}/\S+", reference.doi)
        assert reference.cited.endswith(f"({reference.year})")


def test_what_has_no_doi_is_known_by_name():
    """A DOI is never left out by mistake."""
    without = {key for key, reference in REFERENCES.items() if reference.doi is None}
    assert without == {"voorhees1999", "buckley2005", "vanrijsbergen1979", "sakai2008"}
    assert "publisher = {Butterworths}" in REFERENCES["vanrijsbergen1979"].bibtex
    assert "booktitle = {TREC: Experiment" in REFERENCES["buckley2005"].bibtex


def test_the_command_prints_them(capsys):
    assert main(["measures", "rbp", "--bibtex"]) == 0
    assert capsys.readouterr().out == rl.measure("RBP").bibtex + "\n"
    assert main(["measures", "--bibtex"]) == 0
    assert capsys.readouterr().out.count("@") == len(REFERENCES)
    assert main(["measures", "NumQ", "--bibtex"]) == 2
    assert "No publication is known for NumQ" in capsys.readouterr().err


def test_methods_name_measures_parameters_tests_and_versions():
    qrels = {f"q{i}": {"a": 2} for i in range(10)}
    runs = {"x": {q: ["a"] for q in qrels}, "y": {q: ["b", "a"] for q in qrels}}
    found = rl.compare(qrels, runs, "nDCG@10, RBP, ERR@20")
    told = found.methods()
    for said in ("gain = linear; Järvelin and Kekäläinen 2002", "RBP (p = 0.8", "max_grade = 2", "randomisation test", "10 queries", rl.__version__):  # fmt: skip
        assert said in str(told)
    assert str(told).count("p = 0.8") == 1
    assert {r.key for r in told.references} >= {"jarvelin2002", "moffat2008", "chapelle2009", "smucker2007"}
    assert told.bibtex.count("@") == len(told.references)
    latex = str(found.methods(cite="latex"))
    assert r"\cite{moffat2008}" in latex
    assert r"max\_grade" in latex
    assert {key for keys in re.findall(r"\\cite\{(.*?)\}", latex) for key in keys.split(",")} == {
        r.key for r in told.references
    }
    assert str(found.scores["x"].methods()).startswith("We report nDCG@10")
    with pytest.raises(rl.InputError, match="names or latex"):
        found.methods(cite="word")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-publishers)")
def test_latex_sets_every_formula_and_the_bibliography(tmp_path):
    formulas = [rf"\[ {entry.formula} \]" for entry in ENTRIES.values()]
    lines = [r"\documentclass{article}", r"\usepackage[margin=1cm]{geometry}", r"\usepackage{amsmath}", r"\begin{document}"]  # fmt: skip
    (tmp_path / "all.tex").write_text("\n".join([*lines, *formulas, r"\end{document}"]), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
