"""Writes the pages of the API reference: which public names stand on which page. mkdocstrings fills them from docstrings."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import ranklens as rl

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {
    "Evaluate": "evaluate Scores Policy measure Measure measures preset measure_from cumulated_gain_from from_records from_traces from_dataset remap trajectories hits inspect judge judgments read_scores Judged Hits "
    "Judgments answers user_model convention Convention judge_sessions Sessions sampled_metric evaluate_rankings diversity_from",
    "Compare": "compare compare_scores Comparison plan Plan Interval rbo tau",
    "Fuse": "fit_fusion fuse fusion_potential rerank sweep tune",
    "Judging": "agreement Agreement merge_judgments fill trust Trust probes plan_labels LabelPlan reusability Reusability nuggets support",
    "Models": "evaluate_embeddings evaluate_scores ann_recall read_mteb from_ir_datasets",
    "Explain": "explain Explanation",
    "One query": "precision_at_k recall_at_k f1_at_k precision_recall_f1 hit_rate_at_k success_at_k reciprocal_rank "
    "mean_reciprocal_rank average_precision_at_k ndcg_at_k dcg_at_k",
    "Benchmark": "Benchmark",
    "Items": "MetricRunner DatasetItem PrecisionAtK RecallAtK F1AtK HitRateAtK MeanReciprocalRank "
    "AveragePrecisionAtK NDCGAtK",
    "Guard": "gate History",
    "Pipelines": "routing_accuracy gate_efficiency reranking_improvement k_sweep",
    "Errors": "RankLensError InputError MeasureError PolicyError MissingExtraError RankLensWarning MismatchWarning",
}
MODULES = (
    "ranklens.training",
    "ranklens.stats",
    "ranklens.registry",
    "ranklens.matching",
    "ranklens.pytrec_eval",
)


def write(folder: Path) -> None:
    """One page for each group of names, one for each module, and an overview."""
    check()
    folder.mkdir(parents=True)
    for title, names in NAMES.items():
        entries = [f"::: ranklens.{name}\n" for name in names.split()]
        (folder / file_name(title)).write_text("\n".join([f"# {title}\n", *entries]), encoding="utf-8")
    for module in MODULES:
        (folder / file_name(module)).write_text(_module_page(module), encoding="utf-8")
    (folder / "index.md").write_text(_overview(), encoding="utf-8")


def check() -> None:
    """Refuse to leave a public name out."""
    placed = " ".join(NAMES.values()).split()
    lacking, unknown = sorted(set(rl.__all__) - set(placed)), sorted(set(placed) - set(rl.__all__))
    if lacking or unknown:
        raise SystemExit(
            f"NAMES in {__file__} must hold every name of ranklens.__all__ and no other. "
            f"Lacking: {', '.join(lacking) or 'none'}. Unknown: {', '.join(unknown) or 'none'}."
        )


def file_name(title: str) -> str:
    """The file of a page: ``one-query.md``, ``stats.md``."""
    return title.removeprefix("ranklens.").lower().replace(" ", "-") + ".md"


def _module_page(module: str) -> str:
    public = getattr(import_module(module), "__all__", ())
    options = ["heading_level: 1", "show_root_full_path: true", *(["members:"] if public else [])]
    lines = [*options, *(f"  - {name}" for name in public)]
    return f"::: {module}\n    options:\n" + "".join(f"      {line}\n" for line in lines)


def _overview() -> str:
    lines = [
        "# Python API\n",
        "`import ranklens as rl` brings these names:\n",
        "| for | names |",
        "| --- | --- |",
    ]
    for title, names in NAMES.items():
        links = ", ".join(f"[`{name}`][ranklens.{name}]" for name in names.split())
        lines.append(f"| [{title}]({file_name(title)}) | {links} |")
    lines += ["", "Modules of their own:\n"]
    for module in MODULES:
        summary = (import_module(module).__doc__ or "").partition("\n")[0]
        lines.append(f"- [`{module}`]({file_name(module)}): {summary}")
    return "\n".join(lines) + "\n"
