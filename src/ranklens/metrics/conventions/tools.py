"""The conventions of tools, one record each."""

from __future__ import annotations

from collections.abc import Mapping

from ranklens.metrics.conventions.translation import Convention
from ranklens.policy import Policy

_INPUT = "Documents with the same score keep the order of the input."
_EMPTY_ONE = "A query without relevant documents counts as 1."
_EXP = "The gain is 2^grade - 1, not the grade."
_AP_MIN = "Average precision is divided by min(relevant documents, k), not by all relevant documents."
_INTERSECTION = "Only queries that are in both the run and the judgments are averaged."
_PLAIN = {
    "ndcg": "nDCG@{k}",
    "map": "AP@{k}",
    "mrr": "RR@{k}",
    "precision": "P@{k}",
    "recall": "R@{k}",
}

_XGBOOST = {"ndcg": "nDCG(gain=exp)@{k}", "map": "AP(norm=min)@{k}", "pre": "P(over=retrieved)@{k}"}
_TIED_LAST = "Tied documents all have the last rank of their group."

# fmt: off
CONVENTIONS: Mapping[str, Convention] = {
    one.name: one
    for one in (
        Convention(
            "lightgbm",
            Policy(ties="input", empty="one"),
            {"ndcg": "nDCG(gain=exp)@{k}", "map": "AP(norm=min)@{k}"},
            {"": f"{_INPUT} {_EMPTY_ONE}", "ndcg": _EXP, "map": _AP_MIN},
            {"ndcg": 5, "map": 5},
        ),
        Convention(
            "xgboost",
            Policy(ties="input", empty="one"),
            {name + minus: ours for name, ours in _XGBOOST.items() for minus in ("", "-")},
            {
                "": f"{_INPUT} A query without relevant documents counts as 1, for pre and names that end with a minus as 0.",
                **dict.fromkeys(("ndcg", "ndcg-"), _EXP), **dict.fromkeys(("map", "map-"), _AP_MIN),
                **dict.fromkeys(("pre", "pre-"), "Precision is divided by min(k, documents)."),
            },
            {name + minus: 32 for name in _XGBOOST for minus in ("", "-")},
            empty=dict.fromkeys(("ndcg-", "map-", "pre", "pre-"), "zero"),
        ),
        Convention(
            "tf-ranking",
            Policy(ties="input"),
            {
                "ndcg": "nDCG(gain=exp)@{k}", "map": "AP@{k}", "mrr": "RR@{k}", "arp": "ARP@{k}", "opa": "OPA@{k}",
                "precision": "P@{k}", "recall": "R@{k}",
            },
            {"": "Tied documents are shuffled there; here they keep the order of the input.", "ndcg": _EXP},
            unknown={"": ("ties",)},
        ),
        Convention(
            "torchmetrics",
            Policy(ties="input"),
            {
                **_PLAIN, "map": "LRAP@{k}", "hitrate": "Success@{k}", "hit_rate": "Success@{k}",
                "fallout": "FallOut(empty=one)@{k}", "fall_out": "FallOut(empty=one)@{k}", "rprecision": "Rprec",
                "r_precision": "Rprec", "auroc": "AUC(only_relevant=zero)@{k}", "normalizeddcg": "nDCG@{k}",
                "normalized_dcg": "nDCG@{k}",
            },
            {
                "": "The order of tied documents is left open there; here they keep that of the input. "
                "MRR, MAP, precision and recall count relevant documents only with a score above 0.",
                "map": "Average precision is divided by the relevant documents found in the top k.",
                **dict.fromkeys(("fallout", "fall_out"), "A query without irrelevant documents counts as 1."),
                "auroc": "A query without irrelevant documents counts as 0; a pair of tied documents counts half.",
            },
            tied=frozenset({"ndcg", "normalizeddcg", "normalized_dcg", "auroc"}),
            unknown={
                **dict.fromkeys(("mrr", "map", "precision", "recall"), ("ties", "score")),
                **dict.fromkeys(
                    ("hitrate", "hit_rate", "fallout", "fall_out", "rprecision", "r_precision"), ("ties",)
                ),
                "auroc": ("cut ties",),
            },
        ),
        Convention(
            "sklearn",
            Policy(ties="average"),
            {
                "ndcg_score": "nDCG@{k}", "ndcg": "nDCG@{k}", "dcg_score": "DCG@{k}", "dcg": "DCG@{k}",
                "label_ranking_average_precision_score": "LRAP(tied=last)", "label_ranking_loss": "RankingLoss(tied=last)",
                "coverage_error": "CoverageError(tied=last)", "average_precision_score": "LRAP(tied=last)",
                "average_precision": "LRAP(tied=last)", "roc_auc_score": "AUC", "ndcg_score(ignore_ties=true)": "nDCG@{k}",
                "dcg_score(ignore_ties=true)": "DCG@{k}",
            },
            {
                "label_ranking_average_precision_score": f"{_TIED_LAST} A query without relevant documents counts as 1.",
                "label_ranking_loss": _TIED_LAST,
                "coverage_error": _TIED_LAST,
                **dict.fromkeys(
                    ("average_precision_score", "average_precision"),
                    f"{_TIED_LAST} Relevant documents without a score do not count.",
                ),
                "roc_auc_score": "A pair of tied documents counts half.",
                **dict.fromkeys(
                    ("ndcg_score(ignore_ties=true)", "dcg_score(ignore_ties=true)"),
                    "The order of tied documents is left open there; here they are averaged over all their orders.",
                ),
            },
            tied=frozenset({"ndcg_score", "ndcg", "dcg_score", "dcg"}),
            empty={"label_ranking_average_precision_score": "one"},
            unknown={
                "roc_auc_score": ("one class",),
                **dict.fromkeys(("ndcg_score(ignore_ties=true)", "dcg_score(ignore_ties=true)"), ("ties",)),
            },
        ),
        Convention(
            "sentence-transformers",
            Policy(ties="ascending", empty="skip"),
            {**_PLAIN, "map": "AP(norm=min)@{k}", "accuracy": "Success@{k}"},
            {
                "": "Queries without relevant documents are left out; ties are broken by ascending document id.", "map": _AP_MIN,
                "accuracy": "Accuracy is Success: whether any relevant document is in the top k.",
            },
        ),
        Convention(
            "mteb",
            Policy(missing="skip"),
            {**_PLAIN, "accuracy": "Success@{k}", "hit_rate": "Success@{k}"},
            {"": _INTERSECTION},
        ),
        Convention(
            "beir",
            Policy(missing="skip"),
            {**_PLAIN, "p": "P@{k}", "r_cap": "R(cap=true)@{k}", "accuracy": "Success@{k}"},
            {"": _INTERSECTION, "accuracy": "Accuracy is Success: whether any relevant document is in the top k."},
        ),
        Convention(
            "ranx",
            Policy(ties="input"),
            {
                **_PLAIN, "hits": "HitCount@{k}", "hit_rate": "Success@{k}", "f1": "F@{k}", "r-precision": "Rprec",
                "dcg": "DCG@{k}", "dcg_burges": "DCG(gain=exp)@{k}", "ndcg_burges": "nDCG(gain=exp)@{k}", "bpref": "Bpref",
                **{f"rbp.{p}": f"RBP(p=0.{p}, gain=raw)" for p in ("5", "8", "9", "95", "99")},
            },
            {"": "ranx has no rule for ties; here they keep the order of the input."},
            unknown={"": ("ties",), "bpref": ("no irrelevant",)},
            levels=True,
        ),
        Convention(
            "recbole",
            Policy(ties="input", empty="skip"),
            {**_PLAIN, "map": "AP(norm=min)@{k}", "hit": "Success@{k}", "gauc": "AUC"},
            {"": "Users without relevant items are left out.", "map": _AP_MIN},
            unknown={"": ("ties",)},
        ),
        Convention(
            "rectools",
            Policy(ties="input"),
            {
                "precision": "P@{k}", "recall": "R@{k}", "hitrate": "Success@{k}", "f1beta": "F@{k}", "map": "AP@{k}",
                "ndcg": "SDCG(max_grade=1)@{k}", "mrr": "RR@{k}", "partialauc": "pAUC@{k}", "pap": "PAP@{k}",
                "sufficientreco": "SufficientReco@{k}", "coveredusers": "CoveredUsers",
            },
            {
                "": "Every interaction counts as relevant, whatever its weight.",
                "sufficientreco": "RecTools averages over the users with recommendations only.",
                "ndcg": "The ideal ranking has k wanted items, however many the user has.",
            },
        ),
        Convention(
            "recommenders",
            Policy(ties="input", missing="skip"),
            {
                "map": "AP@{k}", "map_at_k": "AP(norm=min)@{k}", "ndcg": "nDCG@{k}", "ndcg_at_k": "nDCG@{k}", "precision": "P@{k}",
                "precision_at_k": "P@{k}", "recall": "R@{k}", "recall_at_k": "R@{k}", "r_precision": "Rprec",
            },
            {"": "Users in both frames are averaged.", "map_at_k": _AP_MIN},
            unknown={"": ("ties",)},
        ),
        Convention(
            "spark",
            Policy(ties="input"),
            {
                "precisionat": "P@{k}", "recallat": "R@{k}", "ndcgat": "nDCG(gain=exp)@{k}", "meanaverageprecision": "AP",
                "meanaverageprecisionat": "AP(norm=min)@{k}",
            },
            {
                "meanaverageprecisionat": _AP_MIN,
                "ndcgat": f"{_EXP} Spark's ideal ranking takes the labels in the given order; here it is the best one.",
            },
            unknown={"ndcgat": ("several grades",)},
        ),
        Convention(
            "elasticsearch",
            Policy(ties="input"),
            {
                "precision": "P(over=retrieved)@{k}", "recall": "R@{k}", "mean_reciprocal_rank": "RR@{k}",
                "dcg": "DCG(gain=exp)@{k}", "ndcg": "nDCG(gain=exp)@{k}", "expected_reciprocal_rank": "ERR@{k}",
            },
            {
                "precision": "Precision is divided by the documents returned.", "dcg": _EXP,
                "ndcg": f"{_EXP} Its ideal ranking is cut at the documents returned; here at k.",
            },
            {"precision": 10, "recall": 10, "mean_reciprocal_rank": 10, "dcg": 10, "ndcg": 10, "expected_reciprocal_rank": 10},
            unknown={"ndcg": ("short",)},
        ),
        Convention(
            "gdeval",
            Policy(),
            {"ndcg": "nDCG(gain=exp)@{k}", "err": "ERR(max_grade=4)@{k}"},
            {"ndcg": _EXP, "err": "The highest grade is 4, whatever the judgments contain."},
            {"ndcg": 20, "err": 20},
        ),
        Convention(
            "ndeval",
            Policy(ties="ascending", missing="skip"),
            {
                "alpha-ndcg": "alpha_nDCG@{k}", "alpha-dcg": "alpha_DCG(compat=ndeval)@{k}", "err-ia": "ERR_IA(compat=ndeval)@{k}",
                "nerr-ia": "nERR_IA@{k}", "nrbp": "NRBP", "nnrbp": "nNRBP", "map-ia": "AP_IA", "p-ia": "P_IA@{k}",
                "strec": "StRecall@{k}",
            },
            {
                "": f"{_INTERSECTION} Ties are broken by ascending document id.",
                "err-ia": "At k = 1 the value is not divided by the number of subtopics.",
                "alpha-dcg": "At k = 1 the value is not divided by the number of subtopics.",
            },
        ),
    )
}
# fmt: on
OTHER_NAMES = {
    "scikit-learn": "sklearn",
    "sbert": "sentence-transformers",
    "sentence_transformers": "sentence-transformers",
    "tensorflow-ranking": "tf-ranking",
    "tfr": "tf-ranking",
    "elastic": "elasticsearch",
    "es": "elasticsearch",
    "lgbm": "lightgbm",
    "xgb": "xgboost",
    "pyndeval": "ndeval",
    "pyspark": "spark",
}
