"""The measures that people use together for a purpose, and advice on them."""

from __future__ import annotations

from collections.abc import Mapping

_PRESETS: Mapping[str, tuple[str, str]] = {
    "qa": (
        "RR Success@1",
        "The first right answer ends the search: RR shows how far down it is, Success@1 how often it comes first. "
        "Add R@5 if an answer needs several documents.",
    ),
    "search": (
        "nDCG@10 P@10",
        "People read the first page from the top, and some pages are better than others: nDCG@10 rewards order and "
        "grades, P@10 shows how much of the page is useful.",
    ),
    "legal": (
        "R@100 P@100",
        "Nothing may be missed: R@100 is what counts, and P@100 shows how much reading it costs. Check R@1000 before you "
        "trust a reranker.",
    ),
    "recommendation": (
        "nDCG@5 P@5",
        "There are few places, and all of them are seen: nDCG@5 measures their order, P@5 how many are wanted. "
        "With logged clicks most items are unjudged, so compare systems only on the same lists.",
    ),
    "fact-check": (
        "Success@3 RR",
        "One piece of evidence is enough: Success@3 shows how often it is in the first three, RR how high it is.",
    ),
    "rag": (
        "R@5 P@5 RR",
        "A model reads only the first few chunks, in any order: R@5 shows whether the context contains what is needed, "
        "P@5 how much of it distracts, RR whether the best chunk comes first. Set k to the number of chunks that you pass on.",
    ),
    "trec": (
        "NumQ NumRet NumRel NumRelRet AP gm_AP Rprec Bpref RR "
        + " ".join(f"IPrec@{level / 10:g}" for level in range(11))
        + "".join(f" P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
        "trec_eval's default output, to compare with published results. With shallow judgments, add Bpref; check "
        "Judged@10 before you compare systems that did not contribute to the pool.",
    ),
    "image-text": (
        "Success@1 Success@5 Success@10 MedR MnR",
        "Recall at 1, 5 and 10 means a hit rate there: any of the captions, or the image, in the first k; MedR and MnR are the median and the mean rank of the first "
        "hit. Evaluate both directions.",
    ),
    "re-id": (
        "CMC@1 CMC@5 CMC@10 AP",
        "CMC@k is whether a right match is in the first k. Pass images of the same person by the same camera as junk, and leave out queries "
        "without a match (--empty skip).",
    ),
    "landmark": (
        "AP(interpolation=trapezoid) P@1 P@5 P@10",
        "The area under the curve of precision and recall by trapezoids, as Oxford and Paris have it. Give junk images as junk.",
    ),
    "vidore": (
        "nDCG@5 nDCG@10 R@5",
        "What ViDoRe's leaderboard reports: nDCG@5, and nDCG@10 from version 3 on.",
    ),
    "dpr": (
        "Success@1 Success@5 Success@20 Success@100",
        "Top-k accuracy of passages that contain an answer: make judgments from texts with ranklens.answers.",
    ),
    "kilt": (
        "EvidenceRprec KILT_R@5 KILT_Success@5",
        "An answer may need several pages, and there may be several such sets: EvidenceRprec takes the best set, KILT_R@5 gives each set one rank, "
        "that of its last page.",
    ),
    "memory": (
        "AnyRecall@5 AllRecall@5 AnyRecall@10 AllRecall@10 nDCG(discount=jk)@10",
        "Whether any, and whether all of the sessions that hold an answer are in the first k.",
    ),
    "cast": (
        "nDCG@3 RR R@1000 AP",
        "Conversations: nDCG@3, averaged over turns; slice by depth to see how it falls.",
    ),
    "diversity": (
        "alpha_nDCG@20 ERR_IA@20 NRBP StRecall@20",
        "Queries with several meanings: alpha_nDCG rewards new subtopics, StRecall shows how many are covered.",
    ),
    "beir": (
        " ".join(f"{name}@{k}" for name in ("nDCG", "AP", "R", "P") for k in (1, 3, 5, 10, 100, 1000)),
        "What BEIR's leaderboard reports: nDCG@10 is the headline, the others show where it comes from.",
    ),
}
PRESETS: Mapping[str, str] = {name: measures for name, (measures, _) in _PRESETS.items()}
ADVICE: Mapping[str, str] = {name: advice for name, (_, advice) in _PRESETS.items()}
PRESET_ALIASES = {
    "official": "trec",  # trec_eval's name for the same measures
    "reid": "re-id",
    "re-identification": "re-id",
    "landmarks": "landmark",
    "recommender": "recommendation",
    "recommenders": "recommendation",
}
