"""Formulas and references: every measure has its own, and LaTeX sets them all."""

import re
import subprocess
from pathlib import Path

import needs
import pytest

import ranklens as rl
from ranklens import metrics as registry
from ranklens.cli.main import main
from ranklens.metrics.catalog import formula
from ranklens.metrics.literature import REFERENCES, Reference, references_of
from ranklens.stats import margins
from ranklens.stats.corrections import CORRECTIONS_BY_NAME
from ranklens.stats.significance import SIGNIFICANCE_TESTS

OURS = [d for d in registry.definitions().values() if not d.is_foreign]


def test_every_measure_has_a_formula():
    assert all(one.formula.latex for one in OURS)


def test_a_measure_of_ones_own_may_have_formula_and_references():
    mine = Reference("me2026", "Me, Myself", "One more measure", "Proceedings of Mine", 2026, None)

    @registry.measure("Mine")
    @formula(r"r_1", "buckley2005", mine)
    def first(judged):
        hits = judged.relevant(1).top(1)
        return hits.sum()

    try:
        assert rl.measure("Mine").formula == "r_1"
        assert references_of(rl.measure("Mine").definition) == [REFERENCES["buckley2005"], mine]
        assert "@inproceedings{me2026," in rl.measure("Mine").bibtex
    finally:
        registry.unregister("Mine")


def test_braces_are_balanced():
    for one in OURS:
        plain = re.sub(r"\\[{}]", "", one.formula.latex)
        assert plain.count("{") == plain.count("}"), one.name


def test_references_are_known_and_well_formed():
    procedures = [*SIGNIFICANCE_TESTS.values(), *CORRECTIONS_BY_NAME.values()]
    used = {reference.key for one in OURS for reference in references_of(one)} | {margins.SOURCE}
    used |= {one.source for one in procedures if one.source}
    assert used <= set(REFERENCES)
    for key, reference in REFERENCES.items():
        assert key == reference.key
        assert str(reference.year) in key or key == "ranklens"
        assert re.fullmatch(r"@\w+\{\w+,\n(  \w+ = \{.+\},\n)+\}", reference.bibtex)
        assert reference.doi is None or re.fullmatch(r"10\.\d{4,5}/\S+", reference.doi)
        assert reference.cited.endswith(f"({reference.year})")


def test_what_has_no_doi_is_known_by_name():
    """A DOI is never left out by mistake."""
    without = {key for key, reference in REFERENCES.items() if reference.doi is None}
    assert without == {
        "voorhees1999",
        "buckley2005",
        "vanrijsbergen1979",
        "sakai2006",
        "sakai2008",
        "hiranandani2020",
        "pavlu2007",
        "fay1997",  # its DOI has characters that LaTeX does not take
        "holm1979",
        "ranklens",
        "smith2024",
    }
    assert "publisher = {Butterworths}" in REFERENCES["vanrijsbergen1979"].bibtex
    assert "booktitle = {TREC: Experiment" in REFERENCES["buckley2005"].bibtex


def test_the_command_prints_them(capsys):
    assert main(["measures", "rbp", "--bibtex"]) == 0
    assert capsys.readouterr().out == rl.measure("RBP").bibtex + "\n"
    assert main(["measures", "--bibtex"]) == 0
    assert len(re.findall(r"^@", capsys.readouterr().out, re.MULTILINE)) == len(REFERENCES)
    assert main(["measures", "NumQ", "--bibtex"]) == 2
    assert "No publication is known for NumQ" in capsys.readouterr().err


def test_methods_name_measures_parameters_tests_and_versions():
    qrels = {f"q{i}": {"a": 2} for i in range(10)}
    runs = {"x": {q: ["a"] for q in qrels}, "y": {q: ["b", "a"] for q in qrels}}
    found = rl.compare(qrels, runs, "nDCG@10, RBP, ERR@20")
    told = found.methods()
    for said in ("gain = linear; discount = log2(rank + 1); Järvelin and Kekäläinen 2002", "RBP (p = 0.8", "max_grade = 2", "randomisation test", "10 queries", rl.__version__):  # fmt: skip
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


def systems(count, queries=12):
    qrels = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(queries)}
    order = ["a", "b", "c", "x", "y"]
    runs = {
        f"s{n}": {q: order[n % 5 :] + order[: n % 5] for i, q in enumerate(qrels) if i >= n % 3}
        for n in range(count)
    }
    return qrels, runs


def test_methods_of_many_runs_are_a_summary():
    qrels, runs = systems(40)
    told = str(rl.compare(qrels, runs, ["ndcg@10", "map"]).methods())
    assert "more such lines" not in told
    assert "map is AP" not in told
    assert "Means are over 12 queries (0 to 2 missing from the run count as 0)." in told
    assert re.search(r"Of the (retrieved|top 10) documents, \d+%( to \d+%)? are judged\.", told)
    assert len(told) < 1200


def test_methods_state_every_default_that_matters():
    qrels, runs = systems(3)
    plain = str(rl.compare(qrels, runs, ["nDCG@10", "AP"]).methods())
    for said in (
        "nDCG@10 (gain = linear; discount = log2(rank + 1); ", "Documents with the same score are ordered by document id, descending.",
        "Documents with grade 1 or higher are relevant.", "Rankings are evaluated in full.", "Holm over the 3 pairs", "Holm 1979",
        f"RankLens {rl.__version__} (The RankLens authors 2026)",
    ):  # fmt: skip
        assert said in plain, said
    told = str(
        rl.compare(
            qrels, runs, ["nDCG(discount=jk)@10", "AP"], rel=2, depth=2, ties="average", correction="bh"
        ).methods()
    )
    for said in (
        "grade 2 or higher",
        "Only the first 2 documents of each ranking are used.",
        "averaged over all orders",
        "Benjamini and Hochberg 1995",
    ):
        assert said in told, said
    assert "log2(rank" not in told


def test_methods_say_why_the_test_was_changed():
    qrels, runs = systems(2)
    told = rl.compare(qrels, runs, "hit@1").methods()
    assert (
        "McNemar's test replaces the default randomisation test where all values are 0 or 1 (Success@1)."
        in str(told)
    )
    assert "fagerland2013" in {reference.key for reference in told.references}
    assert "replaces" not in str(rl.compare(qrels, runs, "hit@1", test="mcnemar").methods())


def test_entries_are_complete():
    for key in ("holm1979", "benjamini1995", "carterette2012"):
        entry = REFERENCES[key].bibtex
        assert all(
            f"  {name} = " in entry for name in ("author", "title", "journal", "volume", "pages", "year")
        ), entry
    assert "pages = {65--70}" in REFERENCES["holm1979"].bibtex


def test_a_full_caption_has_the_tie_rule():
    qrels, runs = systems(3)
    found = rl.compare(qrels, runs, "nDCG@10", ties="ascending")
    assert (
        "ordered by document id, ascending"
        in found.to_latex(notes="full").partition(r"\caption{")[2].partition("\n")[0]
    )


@pytest.mark.slow
def test_latex_sets_every_formula_and_the_bibliography(tmp_path):
    needs.skip_without(needs.latex(*needs.PAPERS["formulas"]), ": apt install texlive-latex-recommended")
    formulas = [rf"\[ {one.formula.latex} \]" for one in OURS]
    lines = [r"\documentclass{article}", r"\usepackage[margin=1cm]{geometry}", r"\usepackage{amsmath}", r"\begin{document}"]  # fmt: skip
    (tmp_path / "all.tex").write_text("\n".join([*lines, *formulas, r"\end{document}"]), encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


_GREEK = r"\\(alpha|beta|gamma|epsilon|varepsilon|theta|rho|nu|pi)(?![a-z])"


def letters(formula):
    """The symbols of a formula, without words, operators and what they are bound to."""
    plain = re.sub(
        r"\\(mathrm|operatorname|begin|end)\{[^{}]*\}", " ", re.sub(r"\\text\{[^{}]*\}", " ", formula)
    )
    latin = re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", plain))
    return {*re.findall(_GREEK, plain), *latin}


def explained(formula):
    """What a formula says itself: "x = …", "x a group", sets {x : …}, and what is summed over."""
    found = set()
    for part in re.split(r"\\quad|\\ |\\\\", formula)[1:]:
        left, sign, _ = re.sub(r"\\propto", "=", part).partition("=")
        found |= letters(part) if r"\text" in part else letters(left) if sign else set()
    for bound in re.findall(r"(?:\\sum|\\prod|\\max)_(?:\{((?:\\[{}]|[^{}])*)\}|(\w))", formula):
        found |= letters(re.split(r"=|\\in|<|\\le|:", "".join(bound))[0])
    for bound in re.findall(r"\\\{(?:\((.*?)\)|(\w)) *(?::|\\)", formula):
        found |= letters("".join(bound))
    return found


def test_every_symbol_is_explained():
    """By the notation at the top of the page, next to the formula, or as a parameter of the measure."""
    page = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")
    notation = page.partition("## Notation")[2].partition("## Presets")[0]
    known = {symbol for formula in re.findall(r"\$([^$]+)\$", notation) for symbol in letters(formula)}
    users = page.partition("## User models")[2].partition("###")[0]
    of_users = {symbol for formula in re.findall(r"\$([^$]+)\$", users) for symbol in letters(formula)}
    for definition in OURS:
        own = {letter for parameter in definition.parameters for letter in (parameter, parameter[0])}
        more = of_users if definition.family == "user_models" else set()
        unknown = letters(definition.formula.latex) - known - own - more - explained(definition.formula.latex)
        assert unknown <= {"e"}, (definition.name, unknown)  # e is Euler's number
