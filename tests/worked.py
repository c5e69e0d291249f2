"""The worked examples: rankings, judgments and the values that a person gets with pencil and paper."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Example:
    name: str
    qrels: dict
    run: dict
    values: dict = field(hash=False)


def one(name, retrieved, relevant, **values):
    return Example(
        name,
        {"q": relevant},
        {"q": retrieved.split() if isinstance(retrieved, str) else retrieved},
        values["values"],
    )


def graded(*grades):
    docs = [f"d{i}" for i in range(len(grades))]
    return docs, dict(zip(docs, grades, strict=True))


def at(measure, cutoffs, values):
    return {f"{measure}@{k}": v for k, v in zip(cutoffs, values, strict=True)}


THREE_QRELS = {
    "q1": {"d1": 3, "d2": 2, "d4": 1, "d6": 2},
    "q2": {"d1": 3, "d2": 2},
    "q3": {"d1": 3, "d3": 2, "d5": 1},
}
THREE_RUN = {
    "q1": ["d1", "d3", "d5", "d2", "d7", "d8", "d4", "d9", "d10", "d6"],
    "q2": ["d3", "d1", "d7", "d2", "d5", "d4", "d8", "d9", "d10", "d6"],
    "q3": [f"d{i}" for i in range(1, 11)],
}
TWO_QRELS = {"1": {"d1", "d2", "d4"}, "2": {"d1", "d3"}, "3": {"d1", "d2", "d3"}}
RETRIEVER_A = {
    "1": ["d1", "d3", "d2", "d5", "d4"],
    "2": ["d2", "d1", "d4", "d3", "d5"],
    "3": ["d3", "d5", "d1", "d2", "d4"],
}
RETRIEVER_B = {
    "1": ["d3", "d5", "d1", "d2", "d4"],
    "2": ["d4", "d3", "d1", "d5", "d2"],
    "3": ["d5", "d4", "d3", "d2", "d1"],
}
BENCH_QRELS = {"ml": {"ml_1", "ml_2"}, "py": {"py_1", "py_3"}, "rag": {"rag_1"}}
BENCH_A, BENCH_B = ["ml_1", "other", "ml_2", "py_1", "rag_1"], ["other", "ml_1", "rag_1", "py_1", "ml_2"]

EXAMPLES = [
    one(
        "1 recall",
        "doc_3 doc_1 doc_7 doc_2 doc_5 doc_8 doc_4",
        {"doc_1", "doc_2", "doc_4", "doc_6"},
        values=at("R", (1, 3, 5, 10), (0, 0.25, 0.5, 0.75)),
    ),
    one(
        "2 precision",
        "doc_1 doc_3 doc_2 doc_7 doc_5",
        {"doc_1", "doc_2", "doc_4"},
        values=at("P", (1, 3, 5), (1, 0.6667, 0.4)),
    ),
    Example(
        "3 mean reciprocal rank",
        {"a": {"r"}, "b": {"r"}, "c": {"r"}},
        {"a": ["x", "r"], "b": ["r"], "c": ["x", "y", "r"]},
        {"RR": 0.6111},
    ),
    one(
        "4 graded",
        "doc_c doc_a doc_d doc_b doc_e",
        {"doc_a": 3, "doc_b": 2, "doc_c": 1, "doc_d": 0, "doc_e": 1},
        values={"DCG@5": 4.1410, "nDCG@5": 0.7975},
    ),
    Example(
        "5 three queries",
        THREE_QRELS,
        THREE_RUN,
        {
            "RR": 0.8333,
            **at("R", (1, 3, 5, 10), (0.1944, 0.4722, 0.8333, 1)),
            **at("P", (1, 3, 5, 10), (0.6667, 0.4444, 0.4667, 0.3)),
            **at("nDCG", (1, 3, 5, 10), (0.6667, 0.6181, 0.7486, 0.8020)),
            **at("Success", (1, 3, 5, 10), (0.6667, 1, 1, 1)),
        },
    ),
    Example(
        "6 retriever A",
        TWO_QRELS,
        RETRIEVER_A,
        {"RR": 0.8333, "R@3": 0.6111, "nDCG@3": 0.5982, "nDCG@5": 0.8141},
    ),
    Example(
        "6 retriever B",
        TWO_QRELS,
        RETRIEVER_B,
        {"RR": 0.3889, "R@1": 0, "R@3": 0.5556, "nDCG@3": 0.3876, "nDCG@5": 0.6433},
    ),
    one("7 all judged", *graded(3, 0, 2, 1), values={"DCG@4": 4.4307, "nDCG@4": 0.9305}),
    one(
        "8 second place",
        "doc4 doc1 doc5 doc2",
        {"doc1", "doc2", "doc3"},
        values={"Success@1": 0, "Success@2": 1, "RR": 0.5, "nDCG@4": 0.4982},
    ),
    one(
        "8 perfect",
        "doc1 doc2 doc3 doc4",
        {"doc1", "doc2"},
        values=dict.fromkeys(("Success@2", "P@2", "R@2", "RR", "AP@2", "nDCG@2", "F@2"), 1),
    ),
    one(
        "8 nothing",
        "x y z",
        {"doc1"},
        values=dict.fromkeys(("Success@3", "P@3", "R@3", "RR", "AP", "nDCG", "F@3"), 0),
    ),
    one("9 average precision", *graded(1, 0, 1, 0, 1), values={"AP@5": 0.7556}),
    one("9 ranks 1, 3, 6", *graded(1, 0, 1, 0, 0, 1), values={"AP": 0.7222}),
    Example(
        "9 MRR",
        {"a": {"r"}, "b": {"r"}, "c": {"r"}},
        {"a": ["r"], "b": ["x", "y", "r"], "c": ["x"]},
        {"MRR": 0.4444},
    ),
    one(
        "10 exponential",
        *graded(3, 2, 0, 1, 2),
        values={"DCG(gain=exp)@5": 10.4840, "nDCG(gain=exp)@5": 0.9686},
    ),
    one("11 linear, good", *graded(3, 2, 3, 0, 1), values={"nDCG": 0.9724}),
    one("11 linear, bad", *graded(0, 1, 0, 3, 2), values={"nDCG": 0.5663}),
    one(
        "11 unretrieved",
        "doc_a doc_b doc_c doc_d doc_e",
        {"doc_a": 1, "doc_b": 0, "doc_c": 3, "doc_d": 2, "doc_e": 0, "doc_f": 3},
        values={"nDCG@5": 0.5316},
    ),
    one("12 sets of numbers", [1, 2, 3, 4, 5], [1, 3, 6, 7], values={"SetP": 0.4, "SetR": 0.5, "F": 0.4444}),
    Example(
        "12 two queries",
        {"a": {"d1", "d3", "d6"}, "b": {"d7", "d8"}},
        {"a": [f"d{i}" for i in range(1, 6)], "b": [f"d{i}" for i in range(7, 12)]},
        {"RR": 1, "P@3": 0.6667},
    ),
    Example(
        "13 benchmark A",
        BENCH_QRELS,
        dict.fromkeys(BENCH_QRELS, BENCH_A),
        {"RR": 0.4833, "P@5": 0.2667, "R@5": 0.8333, "nDCG@5": 0.5235},
    ),
    Example(
        "13 benchmark B",
        BENCH_QRELS,
        dict.fromkeys(BENCH_QRELS, BENCH_B),
        {"RR": 0.3611, "P@5": 0.2667, "R@5": 0.8333, "nDCG@5": 0.4627},
    ),
    one(
        "14 item",
        "doc1 doc4 doc2 doc5 doc3",
        {"doc1": 3, "doc2": 2, "doc3": 1},
        values={"Success@5": 1, "RR": 1, "nDCG@5": 0.9212, "P@5": 0.6, "R@5": 1},
    ),
    one("14 three", "doc1 doc2 doc3", {"doc1": 3, "doc2": 1, "doc3": 2}, values={"nDCG@10": 0.9725}),
]
