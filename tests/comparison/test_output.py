"""What a comparison shows: the printed text as a whole, and every other output with the same numbers."""

import csv
import dataclasses
import io
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import jsonschema
import numpy as np
import polars as pl
import pytest

import ranklens as rl
from ranklens.comparison import tables, wording
from ranklens.comparison.export import FORMAT_VERSION
from ranklens.comparison.results import Pairs
from ranklens.comparison.settings import CHOICES, Settings
from ranklens.stats import EffectSize
from ranklens.tables.table import Cell, Table

QRELS = {f"q{i:02}": {"a": 2, "b": 1} for i in range(24)}
RUNS = {
    "bm25": {q: ["x", "b", "a"] if i % 3 else ["a", "x", "b"] for i, q in enumerate(QRELS)},
    "dense": {q: ["b", "a", "x"] if i % 4 else ["x", "b", "a"] for i, q in enumerate(QRELS)},
    "hybrid": {q: ["a", "b", "x"] if i % 4 else ["b", "x", "a"] for i, q in enumerate(QRELS)},
}
# By hand: hybrid finds a relevant document first always, dense in 18 of 24 queries and else second, bm25 in 8. The exact p-values are
# 2/2**6 (six gains), 2/2**16 and 2 (1 + 14 + 91)/2**14 (2 losses of 14), times 1, 3 and 2 after Holm: 0.031, 0.000 and 0.026.
PRINTED = """\
measure  system    mean      95% interval  group
-------  ------  ------  ----------------  -----
nDCG@3   hybrid  0.9400  [0.8590, 0.9758]      a
         dense   0.7998  [0.7550, 0.8446]      b
         bm25    0.7300  [0.6628, 0.7972]      b
RR       hybrid  1.0000  [0.8620, 1.0000]      a
         dense   0.8750  [0.7499, 0.9423]      b
         bm25    0.6667  [0.5650, 0.7683]      c

measure  pair             difference       95% interval  p (Holm)  win/tie/loss
-------  ---------------  ----------  -----------------  --------  ------------  ---------------
nDCG@3   hybrid vs dense     +0.1403   [0.1043, 0.1547]   < 0.001        24/0/0           better
         hybrid vs bm25      +0.2100   [0.1293, 0.2908]   < 0.001        22/0/2           better
         dense vs bm25       +0.0697  [-0.0110, 0.1505]     0.083        12/4/8  not significant
RR       hybrid vs dense     +0.1250   [0.0068, 0.2240]     0.031        6/18/0           better
         hybrid vs bm25      +0.3333   [0.2317, 0.4350]   < 0.001        16/8/0           better
         dense vs bm25       +0.2083   [0.0703, 0.3464]     0.026       12/10/2           better

Verdict
- nDCG@3: hybrid is better than both others; its lead over the closest, dense, is 0.140 [0.104, 0.155], p <
  0.001 after Holm over 3 pairs. Choose hybrid.
- RR: hybrid is better than both others; its lead over the closest, dense, is 0.125 [0.007, 0.224], p = 0.031
  after Holm over 3 pairs, not corrected over measures.
- Conclusion: Any recommendation rests on nDCG@3 alone, the primary measure; RR is described only, not
  corrected over measures.

What was compared
- 24 queries averaged; ties by document id, descending; nDCG@3 with gain = linear.
- Randomisation test with 100,000 resamples (exact where at most 20 queries differ), two-sided, n = 24, Holm
  over the 3 pairs of each measure, not corrected over measures, alpha = 0.05, seed 0. Systems that share a
  group letter do not differ significantly. Intervals of means are Student's t, Wilson's with the scores' own
  variance and Wilson's; of differences Student's t and Student's t with a win and a loss added, not corrected
  for the number of pairs."""


@pytest.fixture(scope="module")
def found():
    return rl.compare(QRELS, RUNS, "nDCG@3, RR, NumRel", by={q: f"type {i % 2}" for i, q in enumerate(QRELS)})


@pytest.fixture(scope="module")
def schema():
    return json.loads(
        files("ranklens").joinpath("comparison/comparison.schema.json").read_text(encoding="utf-8")
    )


def test_the_printed_comparison():
    assert str(rl.compare(QRELS, RUNS, "nDCG@3, RR")) == PRINTED


def test_json_follows_its_schema(found, schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    content = json.loads(found.to_json())
    validator.validate(content)
    assert content["format_version"] == FORMAT_VERSION == schema["properties"]["format_version"]["const"]
    for odd in (
        rl.compare_scores({"only": {"q": {"mine": 3.0}}}),
        rl.compare_scores({"a": {"q": {"gm_AP": 0.0}}, "b": {"q": {"gm_AP": 1.0}}}, by={"q": 1}),
        rl.compare(QRELS, RUNS, "RR", baseline="dense", test="tukey"),
    ):
        validator.validate(json.loads(odd.to_json()))


def test_the_schema_names_every_setting(schema):
    settings = schema["properties"]["settings"]["properties"]
    assert list(settings) == [one.name for one in dataclasses.fields(Settings)]
    assert {name: settings[name]["enum"] for name in CHOICES} == {name: [*CHOICES[name]] for name in CHOICES}


def test_json_holds_everything_exactly(found):
    content = json.loads(found.to_json())
    assert content["systems"] == list(found.systems)
    assert content["queries"] == list(found.query_ids)
    for measure in found.measures:
        for i, system in enumerate(found.systems):
            assert content["values"][measure][system] == found.values(measure)[i].tolist()
    for row, result in zip(content["results"], found.results, strict=True):
        assert (row["measure"], row["system"], row["mean"], row["group"]) == (
            result.measure, result.system, result.mean, result.group,
        )  # fmt: skip
        assert [row["low"], row["high"]] == (list(result.interval) if result.interval else [None, None])
    for row, pair in zip(content["pairs"], found.pairs, strict=True):
        assert row["difference"] == pair.difference
        assert row["adjusted_p"] == pair.adjusted_p
        assert row["hedges_g"] == (pair.effect.hedges_g if np.isfinite(pair.effect.hedges_g) else None)
        assert row["verdict"] == pair.verdict
    assert content["slice_of"] == found.slice_of
    assert [part["name"] for part in content["slices"]] == ["type 0", "type 1"]
    assert content["policy"]["missing"] == "zero"
    assert content["applied"]["bm25"]["queries"] == 24
    assert content["verdicts"]["RR"] == found.verdict("RR")
    assert content["settings"]["seed"] == 0
    assert content["versions"]["ranklens"] == rl.__version__


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"baseline": "dense", "test": "t", "correction": "bh", "alpha": 0.1, "rng": 7},
        {"by": {q: f"type {i % 2}" for i, q in enumerate(QRELS)}, "primary": "RR", "margin": {"RR": "5%", "nDCG@3": 0.02}},
        {"clusters": {q: f"topic {i // 2}" for i, q in enumerate(QRELS)}, "level": 0.9},
        {"intervals": "simultaneous", "family": "all"},
        {"test": "tukey"},
        {"missing": "skip", "ties": "average"},
    ],
)  # fmt: skip
def test_a_comparison_is_read_back_from_its_json(options):
    made = rl.compare(QRELS, RUNS, "ndcg@3, RR, NumRel", **options)
    again = rl.Comparison.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert str(again) == str(made)
    assert again.queries_frame().equals(made.queries_frame())
    assert again.to_latex() == made.to_latex()


def test_values_of_others_are_read_back_from_json():
    values = {
        "a": {f"q{i}": {"latency_ms": i, "ok": i % 2} for i in range(9)},
        "b": {f"q{i}": {"latency_ms": 3.5, "ok": 1} for i in range(8)},
    }
    made = rl.compare_scores(values, better={"latency_ms": "lower"})
    again = rl.Comparison.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert again.ranked("latency_ms") == made.ranked("latency_ms")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("nonsense", "not JSON"),
        ("[]", "format_version is"),
        ("{}", "format_version is null"),
        ('{"format_version": 1, "systems": ["a"]}', "the document lacks 'versions'"),
    ],
)
def test_what_is_no_comparison_is_refused(text, message):
    with pytest.raises(rl.InputError, match=message):
        rl.Comparison.from_json(text)


def test_frames_have_the_same_numbers(found):
    content = json.loads(found.to_json())
    every = (
        content["results"]
        + [r for part in content["slices"] for r in part["results"]]
        + content["macro_averages"]
    )
    assert found.to_frame().to_dicts() == every
    pairs = content["pairs"] + [p for part in content["slices"] for p in part["pairs"]]
    assert found.pairs_frame().to_dicts() == pairs
    values = found.queries_frame()
    assert len(values) == 24 * 3 * 3
    one = values.filter((pl.col("measure") == "RR") & (pl.col("system") == "dense"))
    assert one["value"].to_list() == found.values("RR")[1].tolist()
    assert one["slice"].to_list() == list(found.slice_of.values())


def test_columns_of_pairs_that_nobody_asks_for_are_not_worked_out(found, monkeypatch):
    def refuse(*_):
        raise AssertionError("worked out")

    every = found.pairs_frame()
    monkeypatch.setattr(EffectSize, "hedges_g_interval", property(refuse))
    monkeypatch.setattr(wording, "of_pair", refuse)
    some = ["b", "a", "slice", "difference", "low", "significant", "wins", "hedges_g"]
    fresh = dataclasses.replace(
        found, pairs=Pairs([dataclasses.replace(p, _seen={}) for p in found.pairs.parts])
    )
    assert fresh.pairs_frame(some).equals(every.select(some))
    with pytest.raises(rl.InputError, match="Pairs have no column 'win': did you mean 'wins'"):
        found.pairs_frame(["win"])


def test_print_can_do_without_intervals(found):
    text = str(tables.printout(found, intervals=False))
    assert not re.search(r"interval\b|\[-?\d\.\d+, ", text.partition("What was compared")[0])
    assert found.systems[0] in text
    assert "95% interval" in str(found)


def test_csv_has_all_digits(found):
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [float(row["mean"]) for row in rows] == found.to_frame()["mean"].to_list()
    assert rows[0]["slice"] == ""
    assert found.to_csv("\t").splitlines()[0].split("\t") == found.to_frame().columns


def test_printed_numbers_are_those_of_the_data(found):
    printed = dict(re.findall(r"^\S*\s+(bm25|dense|hybrid)\s+(\d\.\d{4})", str(found), re.MULTILINE)[:3])
    assert printed == {r.system: f"{r.mean:.4f}" for r in found.results if r.measure == "nDCG@3"}


def test_markdown_tables_have_as_many_cells_as_columns(found):
    tables = [line for line in found.to_markdown().splitlines() if line.startswith("|")]
    assert len(tables) > 20
    widths = {len(re.split(r"(?<!\\)\|", line)) for line in tables}
    assert widths == {7, 8, 9}
    assert "| nDCG@3 | hybrid | **0.9400** | [0.8590, 0.9758] | a |" in tables
    assert "**Verdict**\n\n- nDCG@3: hybrid is better than both others" in found.to_markdown()


def check_latex(text):
    """Environments and braces are balanced, and every row has as many cells as there are columns."""
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    text = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    text = re.sub(r"\$[-+\\^{}\w]+\$", "", text)
    columns = len(re.search(r"\\begin\{tabular\}\{(.+)\}", text)[1].replace("@{.}", ""))
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert rows
    for row in rows:
        assert len(re.split(r"(?<!\\)&", row)) == columns
        assert not row.startswith(("[", "*"))
    assert not re.search(
        r"(?<!\\)[#$_%^~]", text.replace(r"\textasciicircum", "").replace(r"\textasciitilde", "")
    )


def test_latex_has_letters_bold_and_a_caption(found):
    text = found.to_latex()
    check_latex(text)
    second = r"\underline{0}\rlap{\underline{\phantom{.}}} & \underline{%s}"
    row = rf"b & dense & {second % 7998} & {second % 8750}\textsuperscript{{c}} & 48 \\"
    assert row in text
    assert (
        r"a & hybrid & \textbf{0} & \textbf{9400}\textsuperscript{bc} & \textbf{1} & \textbf{0000}\textsuperscript{bc} & 48 \\"
        in text
    )
    caption = text[text.index(r"\caption") :]
    for said in ("24 queries", "randomisation test, Holm", r"p \textless{} 0.05"):
        assert said in caption
    details = text[: text.index(r"\begin{table}")]
    for said in ("randomisation test", "Holm over the 3 pairs", "n = 24", "alpha = 0.05"):
        assert said in details.lower().replace("holm", "Holm")
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))


def test_a_test_is_called_exact_where_all_its_pairs_were_counted():
    """Of thirty queries two systems differ in eight, which are few enough to count; the third differs in all."""
    rng = np.random.default_rng(0)
    base = rng.random(30) / 2
    near, far = base.copy(), rng.random(30)
    near[:8] += 0.1
    systems = {
        name: {f"q{i}": {"RR": value} for i, value in enumerate(row)}
        for name, row in (("base", base), ("near", near), ("far", far))
    }
    two = rl.compare_scores({name: systems[name] for name in ("base", "near")})
    assert two.pairs[0].p_value == 2 / 2**8
    assert "Exact randomisation test, two-sided, n = 30" in str(two)
    text = " ".join(str(rl.compare_scores(systems)).split())
    assert (
        "Randomisation test with 100,000 resamples (exact where at most 20 queries differ), two-sided" in text
    )


def test_latex_with_a_baseline_marks_only_what_was_tested():
    text = rl.compare(QRELS, RUNS, "RR", baseline="bm25").to_latex()
    assert r"hybrid & \textbf{1} & \textbf{0000}$^{\dagger}$" in text
    assert text.count(r"}$ \\") == 2  # the baseline itself has no mark


NASTY = [
    r"a_b & 50% \cmd{x} #1 $y$ ^ ~",
    "[first]",
    "*star",
    "<script>alert(1)</script>",
    "pipe|`tick`",
    "line\nbreak",
    "Ωé",
]


def test_names_cannot_break_any_output():
    systems = {name: {f"q{i}": {"RR": (i + j) % 5 / 4} for i in range(9)} for j, name in enumerate(NASTY)}
    found = rl.compare_scores(systems)
    check_latex(found.to_latex())
    widths = {
        len(re.split(r"(?<!\\)\|", line)) for line in found.to_markdown().splitlines() if line.startswith("|")
    }
    assert widths == {7, 9}
    assert "<script>" not in found._repr_html_()
    assert "<script" not in found.to_markdown().replace(r"\<script", "")
    assert json.loads(found.to_json())["systems"] == NASTY
    assert [row[1] for row in csv.reader(io.StringIO(found.to_csv()))][1:] == NASTY


class Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.stack, self.cells = [], 0

    def handle_starttag(self, tag, attrs):
        self.stack.append(tag)
        self.cells += tag == "td"

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def test_notebooks_show_the_same(found):
    parser = Balance()
    parser.feed(found._repr_html_())
    assert not parser.stack
    assert parser.cells > 50
    assert "<b>0.9400</b>" in found._repr_html_()
    assert "hybrid is better than both others" in found._repr_html_()


def test_the_table_alone(found):
    assert found.table().header == ["measure", "system", "mean", "95% interval", "group"]
    assert len(found.table().rows) == 9


def test_many_systems_and_pairs_are_cut_and_counted():
    values = np.random.default_rng(0).random((30, 21))
    found = rl.compare_scores(
        {f"s{i}": {f"q{j}": {"RR": v} for j, v in enumerate(row)} for i, row in enumerate(values)}
    )
    text = str(found)
    assert "… 10 more" in text
    assert "420 more pairs are not shown; see pairs_frame() or the JSON." in text
    assert len(found.pairs_frame()) == 435
    check_latex(found.to_latex())


def test_cells_with_marks():
    table = Table(["x"], [[Cell("1", strong=True, raised="ab")]])
    assert str(table) == "x\n-\n1"
    assert table.to_latex().splitlines()[6] == r"\textbf{1}\textsuperscript{ab} \\"
    assert "<b>1</b><sup>ab</sup>" in table.to_html()


def test_a_title_comes_first():
    table = Table(["x"], [["1"]], title="Numbers")
    assert str(table).startswith("Numbers\n\nx")
    assert table.to_markdown().startswith("### Numbers\n")
    assert table.to_html().startswith("<h4>Numbers</h4>")


def test_the_test_and_correction_are_always_told():
    for options, said in (
        ({"correction": "none"}, "not corrected for 3 pairs"),
        ({"test": "tukey"}, "which corrects for all pairs of 3 systems"),
        (
            {"test": "t", "correction": "bh"},
            "Paired t test, two-sided, n = 24, Benjamini-Hochberg over the 3 pairs",
        ),
    ):
        assert said in re.sub(r"\s+", " ", str(rl.compare(QRELS, RUNS, "RR", **options)))
    few = {q: QRELS[q] for q in list(QRELS)[:10]}
    assert "Exact randomisation test, two-sided, n = 10" in str(rl.compare(few, RUNS, "RR"))


def test_the_report_has_no_group_letters_with_a_baseline():
    from ranklens.report.content import content

    summary = content(rl.compare(QRELS, RUNS, "RR", baseline="bm25")).summary
    assert {row["group"] for row in summary["results"]["RR"]} == {""}
    without = content(rl.compare(QRELS, RUNS, "RR")).summary
    assert all(row["group"] for row in without["results"]["RR"])


def test_measures_stay_as_they_were_asked_for():
    found = rl.compare(QRELS, RUNS, "hit@1, mrr")
    assert [row[0] for row in found.table().rows if row[0]] == ["hit@1", "mrr"]
    assert "hit@1 is Success@1; mrr is RR" in str(found)
    assert found.verdict().splitlines()[1].startswith("mrr: ")
    for frame in (found.to_frame(), found.pairs_frame(), found.queries_frame()):
        assert {*frame["measure"]} == {"hit@1", "mrr"}
    assert r"system & hit@1 & mrr \\" in found.to_latex(align="right")
    assert found.measures == ("Success@1", "RR")
    content = json.loads(found.to_json())
    assert [(m["name"], m["asked"]) for m in content["measures"]] == [("Success@1", "hit@1"), ("RR", "mrr")]
    assert {row["measure"] for row in content["results"]} == {"Success@1", "RR"}
    again = rl.compare_scores(found.scores)
    assert [row[0] for row in again.table().rows if row[0]] == ["hit@1", "mrr"]


def test_what_several_runs_are_warned_of_is_said_once():
    qrels, run = {f"q{i}": {"d1"} for i in range(30)}, {f"q{i}": ["x1"] for i in range(30)}
    with pytest.warns(rl.RankLensWarning) as caught:
        found = rl.compare(qrels, {"a": run, "b": run, "c": run}, "RR")
    assert len(caught) == 1
    assert str(caught[0].message).startswith("a, b and c: ")
    assert sum("a, b and c: " in text for text in found.cautions) == 1


def test_many_pairs_are_written_whole():
    """Beyond 10,000 pairs, too: intervals of effect sizes, and the same JSON from either writer."""
    values = np.random.default_rng(0).random((150, 12))
    systems = {
        f'sy"s\\té\n{i}': {f"q{j}": {"RR": v} for j, v in enumerate(row)} for i, row in enumerate(values)
    }
    found = rl.compare_scores(systems)
    frame = found.pairs_frame()
    assert len(frame) == 11_175
    assert frame.drop("slice", "decision").null_count().sum_horizontal().item() == 0
    written = json.loads(found.to_json())
    assert written == json.loads(found.to_json(indent=1))
    assert written["pairs"] == frame.to_dicts()
    said = found.pairs_frame(["verdict"])["verdict"]
    for place in (0, 5_000, 11_174):
        pair, row = found.pairs[place], frame.row(place, named=True)
        assert (pair.a, pair.b, pair.difference) == (row["a"], row["b"], row["difference"])
        assert pair.verdict == said[place]
        assert row["hedges_g_low"] == pytest.approx(pair.effect.hedges_g_interval.low, abs=1e-6)
        assert row["hedges_g_high"] == pytest.approx(pair.effect.hedges_g_interval.high, abs=1e-6)


def test_logs_tell_tokens_and_cost():
    def log(tokens, cost):
        return [{"id": f"q{i}", "retrieved": ["a"], "tokens": tokens, "cost": cost} for i in range(4)]

    qrels = {f"q{i}": {"a": 1} for i in range(4)}
    cheap = [{**row, "cost": None} for row in log(100, 0.0)]
    found = rl.compare(qrels, {"large": log(380, 0.25), "small": cheap}, "RR")
    assert found.spent == {"tokens": {"large": 1520, "small": 400}, "cost": {"large": 1.0}}
    assert "Tokens in total: small 400, large 1,520." in str(found)
    assert "Cost in total: large 1." in str(found)
    assert json.loads(found.to_json())["spent"] == found.spent


def test_of_very_many_pairs_sentences_are_made_only_if_asked_for(monkeypatch):
    from ranklens.comparison import export

    systems = {f"s{i}": {f"q{j}": {"x": (i * j) % 7 / 7} for j in range(9)} for i in range(4)}
    found = rl.compare_scores(systems)
    every, text = found.pairs_frame(), found.to_json()
    monkeypatch.setattr(export, "MOST_SENTENCES", 5)
    assert found.pairs_frame().equals(every.drop("verdict"))
    assert found.pairs_frame(["a", "verdict"]).equals(every.select("a", "verdict"))
    content = json.loads(text)
    for pair in content["pairs"]:
        del pair["verdict"]
    assert json.loads(found.to_json()) == content == json.loads(found.to_json(indent=1))


def test_files_that_changed_after_they_were_read_have_no_hash(tmp_path, monkeypatch):
    import hashlib

    monkeypatch.chdir(tmp_path)
    files = {"qrels.txt": "q1 0 a 1\n", "one.txt": "q1 Q0 a 1 2 x\n", "two.txt": "q1 Q0 b 1 2 x\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    expected = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    scores = rl.evaluate("qrels.txt", "one.txt", "RR")
    found = rl.compare("qrels.txt", ["one.txt", "two.txt"], "RR")
    of_scores = rl.compare(None, {"one": scores, "two": rl.evaluate("qrels.txt", "two.txt", "RR")}, "RR")
    (tmp_path / "one.txt").write_text("q1 Q0 c 1 2 longer\n")
    (tmp_path / "two.txt").unlink()
    with pytest.warns(rl.RankLensWarning, match=r"^one\.txt has changed since it was read"):
        text = scores.to_json()
    assert json.loads(text)["inputs"] == {"qrels.txt": expected["qrels.txt"], "one.txt": None}
    with pytest.warns(rl.RankLensWarning, match=r"one\.txt and two\.txt have changed since they were read"):
        compared = found.to_json()
    changed = {"qrels.txt": expected["qrels.txt"], "one.txt": None, "two.txt": None}
    assert json.loads(compared)["inputs"] == changed
    with pytest.warns(rl.RankLensWarning, match="have changed"):
        assert json.loads(of_scores.to_json())["inputs"] == changed
    # What is read again keeps what was written, without looking at the files.
    (tmp_path / "qrels.txt").unlink()
    assert json.loads(rl.Scores.from_json(text).to_json())["inputs"] == json.loads(text)["inputs"]
    assert json.loads(rl.Comparison.from_json(compared).to_json())["inputs"] == changed
    damaged = json.loads(text) | {"inputs": ["qrels.txt"]}
    with pytest.raises(rl.InputError, match="inputs is a list and must be an object"):
        rl.Scores.from_json(json.dumps(damaged))


def test_nothing_is_hashed_unless_json_is_written(tmp_path, monkeypatch):
    from ranklens.data.files import hashes

    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    (tmp_path / "one.txt").write_text("q1 Q0 a 1 2 x\n")
    monkeypatch.setattr(hashes, "_hash", lambda file: pytest.fail(f"{file} was hashed"))
    found = rl.compare(tmp_path / "qrels.txt", [tmp_path / "one.txt"], "RR")
    assert "RR" in str(found)
    assert "RR" in str(rl.evaluate(tmp_path / "qrels.txt", tmp_path / "one.txt", "RR"))


def test_json_carries_hashes_of_the_files_that_were_read(tmp_path, monkeypatch, capsys):
    import hashlib

    from ranklens.cli.main import main

    monkeypatch.chdir(tmp_path)
    files = {
        "qrels.txt": "q1 0 a 1\nq2 0 b 1\n",
        "one.txt": "q1 Q0 a 1 2 x\nq2 Q0 b 1 2 x\n",
        "two.jsonl": '{"query": "q1", "retrieved": ["b"]}\n{"query": "q2", "retrieved": ["b"]}\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    expected = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    found = rl.compare("qrels.txt", {"one": "one.txt", "two": "two.jsonl"}, "RR")
    assert json.loads(found.to_json())["inputs"] == expected
    assert rl.Comparison.from_json(found.to_json()).to_frame().equals(found.to_frame())
    one = {name: expected[name] for name in ("qrels.txt", "one.txt")}
    assert json.loads(rl.evaluate("qrels.txt", "one.txt", "RR").to_json())["inputs"] == one
    assert "inputs" not in json.loads(rl.evaluate({"q1": {"a"}}, {"q1": ["a"]}, "RR").to_json())
    assert main(["compare", *files, "-m", "RR", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == expected
    assert main(["evaluate", "qrels.txt", "one.txt", "-m", "RR", "--format", "json"]) == 0
    assert next(iter(json.loads(capsys.readouterr().out).values()))["inputs"] == one
