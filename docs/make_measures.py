"""Writes docs/measures.md from the registry. Run by scripts/docs; a test keeps the page up to date."""

from __future__ import annotations

import inspect
import math
from importlib import import_module
from itertools import groupby
from pathlib import Path

import ranklens as rl
from ranklens import metrics as registry
from ranklens.metrics.conventions import CONVENTIONS
from ranklens.metrics.conventions.differences import in_sentences
from ranklens.metrics.literature import references_of
from ranklens.metrics.parameters import shown

PAGE = Path(__file__).parent / "measures.md"

HEAD = """<!-- Generated from the registry by scripts/docs. Do not edit. -->
# Measures

Write a measure as `Name(parameter=value, …)@k`: `nDCG@10`, `P(rel=2)@5`, `RBP(p=0.5)`. The spellings of trec_eval, pytrec_eval, BEIR
and others are understood and printed in this form: `ndcg_cut_10`, `map`, `MRR@10`, `hit_rate@5`, `P_5`, `recall_5`.

Every measure also takes `judged_only=true`, which first removes unjudged documents from the ranking.
`ranklens measures NAME --bibtex` prints references.

Tools that compute a measure otherwise are named with it; [`convention="xgboost"`](other-tools.md#the-number-of-another-tool) gives their number.

## Which measure?

| what users need | measure | look at it together with |
| --- | --- | --- |
| one right answer, as high as possible | `RR` | `Success@1` |
| any right answer in the first k | `Success@k` (hit rate) | `RR` |
| everything a model or reader needs, in k places | `R@k` | `P@k`, which shows how much of the context distracts |
| everything there is: patents, law, reviews | `R@1000` | `P@100`, the cost of reading |
| the best first, where documents have grades | `nDCG@10` | `ERR@20`, for users who stop when satisfied |
| many relevant documents, early ones first | `AP` | `Rprec` |
| a realistic user who may stop at any rank | `RBP(p=0.8)` | `RBPres(p=0.8)`, what unjudged documents could add |
| several meanings or aspects of a query | `alpha_nDCG@10` | `StRecall@10` |
| documents that answer only together | `EvidenceSuccess@k` | `AllRecall@k` |
| many unjudged documents | `Bpref` | `Judged@10` |

`ranklens measures --for rag` recommends measures for a purpose; [presets](#presets) are combinations that are commonly used together.

![What a rank is worth: RR falls fastest, nDCG@10 slowly down to rank 10, Success@5 and P@5 not at all down to rank 5](images/worth.svg)

## Notation

In the formulas, for one query:

| symbol | meaning |
| --- | --- |
| $i$, $j$ | ranks, from 1 |
| $k$ | the cutoff; without one, k is n |
| $n$ | retrieved documents |
| $R$ | relevant documents, retrieved or not: those of grade `rel` (default 1) or higher |
| $r_i$ | 1 if the document at rank $i$ is relevant, else 0; 0 below the end of the ranking |
| $g_i$ | the grade of the document at rank $i$; 0 if it is not judged, or pooled but not judged (a grade below 0), and below the end of the ranking |
| $g_{\\max}$ | the highest grade in the judgments of all queries, or `max_grade` |
| $\\gamma_i$ | the gain of the document at rank $i$: $\\gamma(g_i)$, which is the grade unless a parameter says otherwise |
| $P_i$, $R_i$ | precision and recall of the first $i$ ranks |
| $x^*$ | $x$ of the ideal ranking, all judged documents with the best first; without a cutoff, sums over it run to its own end, not to $n$ |
| $s_i$ | the chance that the document at rank $i$ satisfies the user, as in ERR |
| $\\mathrm{BR}(i)$ | the blended ratio, as in Q |
| $S_{1:k}$ | the documents in the top $k$; $S$ are all that were retrieved |
| $s$, $\\Pr(s)$ | a subtopic and its probability; all are equally probable unless `intents` says otherwise. $r_{is}$ and $g_{is}$ are $r_i$ and $g_i$ by its judgments |
| $E$ | an evidence set; in coverage, the words of all passages |
| $p$, $c_i$ | a passage, and the chunk at rank $i$, as places in documents; $\\theta$ is `threshold`, and lengths are in tokens |
| $q$, $Q$ | a query, and all of them |
| $[\\dots]$ | 1 if the condition is true, else 0 |

A ratio whose denominator is 0 (no relevant documents, nothing retrieved) is 0, and so are the sum, the maximum and the minimum of nothing. Other letters are parameters of the
measure ($h_b$ is `hb`) or are explained next to the formula.

## Presets

| preset | measures |
| --- | --- |
"""


SESSIONS = r"""
## Sessions

Measures of the queries that one user asks in a row. They are methods of `rl.judge_sessions(qrels, run, sessions)`, not names for `evaluate`; see
[richer judgments](richer-judgments.md). $t$ is the place of a query in its session, $g_{ti}$ the grade of the document at its rank $i$, and $r_{ti}$ whether it is relevant.

### `.sdcg(k, b=2, bq=4)`

$$
\sum_t \frac{1}{1 + \log_{bq} t} \sum_{i=1}^{k} \frac{g_{ti}}{1 + \log_b i}
$$

`kind="jiang"` takes $2^g - 1$ for the grade, and divides by $\log_b (i + b - 1)$ and $\log_{bq} (t + bq - 1)$.

### `.nsdcg(k, b=2, bq=4)`

$$
\frac{\mathrm{sDCG}_k}{\mathrm{sDCG}^*_k}
$$

The session divided by one in which every query has its ideal ranking.

### `.srbp(p=0.8, b=0.5)`

$$
(1 - p) \sum_t \left( \frac{p - bp}{1 - bp} \right)^{t-1} \sum_i (bp)^{i-1}\, r_{ti}
$$

### `.by_turn(measure)`

The mean of any measure over the first queries of all sessions, over the second ones, and so on.
"""


def page() -> str:
    """The whole page as text."""
    lines = [HEAD.rstrip("\n")]
    for name in registry.PRESETS:
        names = [str(measure) for measure in rl.preset(name)]
        shown = ", ".join(names) if len(names) <= 8 else ", ".join(names[:6]) + f", … {len(names)} in total"
        lines.append(f"| `{name}` | {shown} |")
    built_in = [d for d in registry.definitions().values() if d.function.__module__.startswith("ranklens.")]
    for family, members in groupby(built_in, key=lambda d: d.family):
        module = import_module(f"ranklens.metrics.formulas.{family}")
        lines += ["", f"## {module.TITLE}", "", module.WHEN, ""]
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
        SESSIONS.rstrip("\n"),
        "",
        "## Tools that compute all measures otherwise",
        "",
        "| tool | what differs |",
        "| --- | --- |",
    ]
    lines += [f"| {name} | {tool.why['']} |" for name, tool in CONVENTIONS.items() if "" in tool.why]
    return "\n".join(lines).rstrip() + "\n"


def _formula(definition: registry.Definition) -> list[str]:
    return ["$$", definition.formula.latex, "$$", ""] if definition.formula.latex else []


def _references(definition: registry.Definition) -> list[str]:
    found = references_of(definition)
    linked = [
        f"{r.cited}: [{r.title}](https://doi.org/{r.doi})" if r.doi else f"{r.cited}: {r.title}, {r.venue}"
        for r in found
    ]
    return [f"From {'; '.join(linked)}.", ""] if found else []


def _otherwise(definition: registry.Definition) -> list[str]:
    lines = in_sentences(definition.name)
    return ["Computed otherwise:", "", *(f"- {line}" for line in lines), ""] if lines else []


def _signature(definition: registry.Definition) -> str:
    parts = []
    for parameter in definition.parameters.values():
        if parameter.name not in (definition.at, "judged_only"):
            required = parameter.default is None or parameter.default is inspect.Parameter.empty
            default = "…" if required else shown(parameter.default)
            parts.append(f"{parameter.name}={default}")
    return (
        definition.name
        + (f"({', '.join(parts)})" if parts else "")
        + (f"@{definition.at}" if definition.at else "")
    )


def _facts(definition: registry.Definition) -> str:
    facts = []
    if definition.aliases:
        spellings = [
            f"`{alias}`" + (f" (for `{registry.make(definition, fixed)}`)" if fixed else "")
            for alias, fixed in definition.aliases.items()
        ]
        facts.append("Also " + ", ".join(spellings))
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
