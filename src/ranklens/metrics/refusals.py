"""Well-known names of other measures, and what to use instead of them."""

from __future__ import annotations

import re

from ranklens.errors import MeasureError

# Measures of tools that let a model judge, and the measures over judgments that come nearest.
_OF_CONTEXTS = {
    "precision": "P@5, or AP, which also counts the order",
    "relevancy": "P@5",
    "relevance": "P@5",
    "recall": "R@5",
}
_OF_ANSWERS = {
    "faithfulness", "answer_relevancy", "answer_relevance", "answer_correctness", "answer_similarity",
    "answer_accuracy", "response_relevancy", "response_groundedness", "semantic_similarity", "factual_correctness",
    "factuality", "hallucination", "groundedness", "noise_sensitivity", "correctness", "toxicity", "bias",
    "summarization", "bleu", "rouge", "meteor", "bertscore", "g_eval", "geval",
}  # fmt: skip


# Names under which tools mean different measures.
_AMBIGUOUS = {
    "accuracy": "write Success@k for the share of queries with a relevant document in the top k (BEIR, sentence-transformers, DPR), "
    "or AUC for the share of pairs in the right order (ir_measures)",
}


_OF_SESSIONS = "is of sessions, not of single queries: use ranklens.judge_sessions(qrels, run, sessions)"
_OF_SYSTEMS = (
    "is of all recommendations together: use ranklens.recommend.evaluate(train, test, recommendations, …)"
)
_OF_RISK = (
    "is of a system against others, not of single queries: use ranklens.compare(…).risk(measure), "
    "ranklens compare --risk ALPHA, or ranklens.stats.{}"
)
# Well-known names of what is not one value per query.
_ELSEWHERE = {
    **dict.fromkeys(("nsdcg", "srbp"), _OF_SESSIONS),
    **dict.fromkeys(("coverage", "gini", "entropy", "gauc", "popreo", "poprsp"), _OF_SYSTEMS),
    **{name: _OF_RISK.format(name) for name in ("urisk", "trisk", "georisk")},
    "rsum": "adds up R@1, R@5 and R@10 of both directions: evaluate each direction with the preset image-text and add the means",
}


def refuse(name: str) -> None:
    """Refuse a name that means one thing here and another there, or nothing here, and say what to use instead."""
    lower = name.lower()
    if name == "sDCG":
        raise MeasureError(f"'sDCG' {_OF_SESSIONS}. SDCG, in capitals, is scaled DCG, a user model.")
    if lower in _ELSEWHERE:
        raise MeasureError(f"{name!r} {_ELSEWHERE[lower]}.")
    if lower in _AMBIGUOUS:
        raise MeasureError(f"{name!r} means different measures in different tools: {_AMBIGUOUS[lower]}.")
    if lower == "all_trec":
        raise MeasureError(
            "There is no measure 'all_trec': the preset 'trec' has trec_eval's official measures; "
            "ranklens-trec-eval -m all_trec prints all of trec_eval's measures."
        )
    # Names from tools that measure generated answers: ContextRecall
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    plain = spaced.lower().replace("-", "_").removeprefix("llm_").removesuffix("_score")
    context = re.fullmatch(
        r"(?:context|contextual|retrieval)_(?:\w+_)?(precision|recall|relevance|relevancy)", plain
    )
    if context:
        raise MeasureError(
            f"There is no measure {name!r}: RankLens counts documents that are judged relevant, without a model. "
            f"The nearest is {_OF_CONTEXTS[context[1]]}."
        )
    if plain in _OF_ANSWERS:
        raise MeasureError(
            f"There is no measure {name!r}: RankLens measures retrieval, not generated answers. "
            "Measures of retrieval are R@5, RR and nDCG@10, for example."
        )
