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
    "beir": " ".join(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in (1, 3, 5, 10, 100, 1000)),
}
PRESET_ALIASES = {"official": "trec"}  # trec_eval's name for the same measures
