"""Writes docs/measures.md from the registry. Run by scripts/docs; a test keeps the page up to date."""

from __future__ import annotations

import inspect
import math
from itertools import groupby
from pathlib import Path

import ranklens as rl
from ranklens import registry
from ranklens.conventions import CONVENTIONS
from ranklens.conventions.differences import told
from ranklens.formulas.literature import entry_of, references_of

PAGE = Path(__file__).parent / "measures.md"

FAMILIES = {
    "precision": "Precision, recall and sets",
    "average_precision": "Average precision",
    "gain": "Cumulated gain",
    "cascade": "A user who walks down the ranking",
    "preference": "Preferences",
    "ntcir": "NTCIR",
    "counts": "Counts and judgments",
    "fields": "Single fields: images, re-identification",
    "user_models": "User models (C/W/L)",
    "pairs": "Pairs of documents",
    "diversity": "Diversity and novelty",
    "evidence": "Evidence sets",
    "exposure": "Properties of documents: variety and exposure",
    "recommendation": "Recommendations",
}

# When to use a family.
WHEN = {
    "precision": "For documents that are relevant or not, where the order within the first k does not matter.",
    "average_precision": "For finding many relevant documents, early ones first; the classic of test collections with deep judgments.",
    "gain": "For judgments with grades, where the best documents should come first.",
    "cascade": "For a user who reads from the top and stops when satisfied, or tired.",
    "preference": "For judgments with holes, for pairs of documents of which one is better, and for scores that should order pairs.",
    "ntcir": "For grades, where precision and gain should count in one number; results of NTCIR tasks use them.",
    "counts": "For knowing what was averaged, and how much of it was judged.",
    "fields": "For images, people and landmarks; presets hold the measures that these fields report.",
    "user_models": "For a stated idea of how long users go on, with the utility, cost and depth that it implies, and how much of that rests on "
    "unjudged documents.",
    "pairs": "For assessors who say which of two documents is better: `Judgments(preferences={query: [(better, worse), …]})`.",
    "diversity": "For queries with several meanings or aspects: judgments say which subtopic a document covers, "
    "`{query: {subtopic: {document: grade}}}`. See [judgments that know more](richer-judgments.md).",
    "evidence": "For questions whose answer needs several documents together, `{query: [{documents}, …]}`: multi-hop questions, KILT, agent memory. "
    "See [judgments that know more](richer-judgments.md).",
    "exposure": "For the variety of what is shown, and for who gets attention: documents have features and groups, "
    '`Judgments(grades, documents={document: {"group": …}})`.',
    "recommendation": "For recommender systems, through `rl.recommend.evaluate(train, test, recommendations, measures)`, which also knows Coverage, "
    "Gini, Entropy, GAUC, PopREO and PopRSP of the whole system.",
}

HEAD = """<!-- Generated from the registry by scripts/docs. Do not edit. -->
# Measures

Write a measure as `Name(parameter=value, …)@k`: `nDCG@10`, `P(rel=2)@5`, `RBP(p=0.5)`. The spellings of trec_eval, pytrec_eval, BEIR
and others are understood and printed in this form: `ndcg_cut_10`, `map`, `MRR@10`, `hit_rate@5`, `P_5`, `recall_5`.

Notation: R is the number of relevant documents of a query (grade at least `rel`, default 1), n that of retrieved ones; ranks start at 1. In formulas,
$r_i$ is 1 if the document at rank i is relevant and 0 otherwise, $g_i$ is its grade (0 if it is not judged), $\\gamma$ the gain of a grade, $P_i$ and $R_i$ are
precision and recall at rank i, and a star marks the ideal ranking. Without a cutoff, k is n. A ratio without a denominator (no
relevant documents, nothing retrieved) is 0. Every measure also takes `judged_only=true`, which first removes unjudged documents from
the ranking. `ranklens measures NAME --bibtex` prints references.

Tools that compute a measure otherwise are named with it; [`convention="xgboost"`](conventions.md) gives their number.

Which one to use? To find everything: recall (`R@k`). If order matters and there are grades: `nDCG@k`. If one answer is enough: `RR`. If
any hit in the first k counts: `Success@k`. Otherwise: `P@k`.

## Presets

| preset | measures |
| --- | --- |
"""


def page() -> str:
    """The whole page as text."""
    lines = [HEAD.rstrip("\n")]
    for name in registry.PRESETS:
        names = [str(measure) for measure in rl.preset(name)]
        shown = ", ".join(names) if len(names) <= 8 else ", ".join(names[:6]) + f", … {len(names)} in all"
        lines.append(f"| `{name}` | {shown} |")
    built_in = [d for d in registry.definitions().values() if d.function.__module__.startswith("ranklens.")]
    for family, members in groupby(built_in, key=lambda d: d.family):
        lines += ["", f"## {FAMILIES[family]}", "", WHEN[family], ""]
        for definition in members:
            lines += [
                f"### `{_signature(definition)}`",
                "",
                *_formula(definition),
                definition.description,
                "",
                _facts(definition),
                "",
                *_references(definition),
                *_otherwise(definition),
            ]
    lines += [
        "",
        "## Tools that compute all measures otherwise",
        "",
        "| tool | what differs |",
        "| --- | --- |",
    ]
    lines += [f"| {name} | {tool.why['']} |" for name, tool in CONVENTIONS.items() if "" in tool.why]
    return "\n".join(lines).rstrip() + "\n"


def _formula(definition: registry.Definition) -> list[str]:
    formula = entry_of(definition.name).formula
    return ["$$", formula, "$$", ""] if formula else []


def _references(definition: registry.Definition) -> list[str]:
    found = references_of(definition.name)
    linked = [
        f"{r.cited}: [{r.title}](https://doi.org/{r.doi})" if r.doi else f"{r.cited}: {r.title}, {r.venue}"
        for r in found
    ]
    return [f"From {'; '.join(linked)}.", ""] if found else []


def _otherwise(definition: registry.Definition) -> list[str]:
    found = told(definition.name)
    return ["Computed otherwise:", "", *(f"- {line}" for line in found), ""] if found else []


def _signature(definition: registry.Definition) -> str:
    shown = []
    for parameter in definition.parameters.values():
        if parameter.name not in (definition.at, "judged_only"):
            default = "…" if parameter.default is None else str(parameter.default).lower()
            shown.append(f"{parameter.name}={default}")
    return (
        definition.name
        + (f"({', '.join(shown)})" if shown else "")
        + (f"@{definition.at}" if definition.at else "")
    )


def _facts(definition: registry.Definition) -> str:
    facts = []
    if definition.aliases:
        shown = [
            f"`{alias}`" + (f" (for `{registry.make(definition, fixed)}`)" if fixed else "")
            for alias, fixed in definition.aliases.items()
        ]
        facts.append("Also " + ", ".join(shown))
    choices = [p for p in definition.parameters.values() if p.choices]
    facts += [f"`{p.name}` is one of " + ", ".join(f"`{c}`" for c in p.choices) for p in choices]
    required = [p.name for p in definition.parameters.values() if p.default is inspect.Parameter.empty]
    facts += [f"`{name}` is required" for name in required]
    facts.append(_range(definition))
    how = {"sum": "summed over queries", "geometric": "geometric mean over queries", "none": "not averaged"}
    facts += [how[definition.aggregate]] if definition.aggregate in how else []
    if definition.needs:
        facts.append(f"Needs {definition.needs}")
    facts.append('`ties="average"` ' + ("is exact" if definition.average_ties else "is refused"))
    return ". ".join(facts) + "."


def _range(definition: registry.Definition) -> str:
    if definition.aggregate == "none":
        return "Text"
    if definition.high == math.inf:
        return "Any number" if definition.low == -math.inf else f"{definition.low:g} or more"
    return f"From {definition.low:g} to {definition.high:g}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
