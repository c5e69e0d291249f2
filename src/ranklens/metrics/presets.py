"""The measures that people use together for a purpose."""

from __future__ import annotations

from collections.abc import Mapping

PRESETS: Mapping[str, str] = {
    "qa": "RR Success@1",
    "search": "nDCG@10 P@10",
    "legal": "R@100 P@100",
    "recommendation": "nDCG@5 P@5",
    "fact-check": "Success@3 RR",
    "rag": "R@5 P@5 RR",
    "trec": "NumQ NumRet NumRel NumRelRet AP gm_AP Rprec Bpref RR "
    + " ".join(f"IPrec@{level / 10:g}" for level in range(11))
    + "".join(f" P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    "image-text": "Success@1 Success@5 Success@10 MedR MnR",
    "re-id": "CMC@1 CMC@5 CMC@10 AP",
    "landmark": "AP(interpolation=trapezoid) P@1 P@5 P@10",
    "vidore": "nDCG@5 nDCG@10 R@5",
    "dpr": "Success@1 Success@5 Success@20 Success@100",
    "kilt": "EvidenceRprec KILT_R@5 KILT_Success@5",
    "memory": "AnyRecall@5 AllRecall@5 AnyRecall@10 AllRecall@10 nDCG(discount=jk)@10",
    "cast": "nDCG@3 RR R@1000 AP",
    "diversity": "alpha_nDCG@20 ERR_IA@20 NRBP StRecall@20",
    "beir": " ".join(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in (1, 3, 5, 10, 100, 1000)),
}
PRESET_ALIASES = {
    "official": "trec",  # trec_eval's name for the same measures
    "reid": "re-id",
    "re-identification": "re-id",
    "landmarks": "landmark",
    "recommender": "recommendation",
    "recommenders": "recommendation",
}
