"""Names that are not ours but well known: what to use in their place."""

from __future__ import annotations

import re

from ranklens.errors import MeasureError

# Measures of tools that let a model judge, and the measures over judgments that come nearest.
_OF_CONTEXTS = {
    "precision": "P@5, or AP, which counts the order, too",
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


def refuse_measures_of_answers(name: str) -> None:
    """Names that people know from tools that measure generated answers, too."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)  # ContextRecall
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


# Names under which tools mean different measures.
_AMBIGUOUS = {
    "accuracy": "write Success@k for the share of queries with a relevant document in the top k (BEIR, sentence-transformers, DPR), "
    "or AUC for the share of pairs in the right order (ir_measures)",
}


def refuse_ambiguous(name: str) -> None:
    """Refuse a name that means one thing here and another there, with the choices."""
    if name.lower() in _AMBIGUOUS:
        raise MeasureError(
            f"{name!r} means different measures in different tools: {_AMBIGUOUS[name.lower()]}."
        )
