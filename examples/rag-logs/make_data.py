"""Make the corpus, the golden set and the logs of two search engines from ``help-centre.txt``.

Run it with ``python examples/rag-logs/make_data.py``. It writes the same bytes every time.

In ``help-centre.txt`` a line with ``#`` begins an article, a plain line is a chunk, and a line with ``?`` is a question
that the chunk above it answers: type, question, then ``= a literal answer``, ``+ another chunk that belongs to the
answer`` or ``- unanswerable``.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

HERE = Path(__file__).parent
DEPTH = 10
WITH_TEXT = 3  # the logs hold the text of the first chunks only, to stay small

Row = dict[str, Any]
Ranking = list[tuple[str, float]]
Search = Callable[[str], Ranking]


@dataclass(frozen=True)
class Service:
    """A service that logs its requests: how fast and dear it is, and what went wrong on the day."""

    name: str
    search: Search
    milliseconds: int
    dollars_per_token: float
    absent: tuple[str, ...]
    failed: tuple[str, ...]
    asked_again: tuple[str, ...]
    without_scores: tuple[str, ...] = ()


def main() -> None:
    for name, content in files().items():
        (HERE / name).write_bytes(content)


def files() -> dict[str, bytes]:
    """Name and content of every file."""
    corpus, golden = read((HERE / "help-centre.txt").read_text(encoding="utf-8").splitlines())
    bm25 = BM25(corpus)
    services = [
        Service(
            "bm25",
            at_least(3.5, bm25.search),
            milliseconds=14,
            dollars_per_token=1e-6,
            absent=("q023", "q058", "q091", "q117", "q146", "q183"),
            failed=("q072",),
            asked_again=("q012", "q131"),
        ),
        Service(
            "hybrid",
            at_least(0.21, hybrid(bm25, Trigrams(corpus))),
            milliseconds=55,
            dollars_per_token=1.5e-6,
            absent=("q058", "q104", "q169"),
            failed=("q035", "q088", "q152"),
            asked_again=("q007", "q088", "q194"),
            without_scores=("q041", "q042", "q120", "q177"),
        ),
    ]
    return {
        "corpus.jsonl": lines({"chunk_id": chunk, "text": text} for chunk, text in corpus.items()),
        "golden.jsonl": lines(golden),
        **{f"{service.name}.jsonl": lines(log(service, golden, corpus)) for service in services},
    }


def lines(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


# The help centre


def read(text: Iterable[str]) -> tuple[dict[str, str], list[Row]]:
    """The chunks by id, and the golden questions."""
    corpus: dict[str, str] = {}
    golden: list[Row] = []
    article, number = "", 0
    for line in filter(None, text):
        if line.startswith("# "):
            article, number = line[2:], 0
        elif line.startswith("? "):
            golden.append(question(f"q{len(golden) + 1:03}", f"{article}#{number}", line[2:].split(" | ")))
        else:
            number += 1
            corpus[f"{article}#{number}"] = line
    return corpus, golden


def question(name: str, chunk: str, fields: list[str]) -> Row:
    kind, text, *marks = fields
    row: Row = {"id": name, "question": text, "expected_chunk_ids": [chunk], "type": kind}
    for mark in marks:
        sign, value = mark[0], mark[2:]
        if sign == "=":
            row["expected_answer"] = value
        elif sign == "+":
            row["expected_chunk_ids"].append(value)
        else:
            row |= {"expected_chunk_ids": [], "answerable": False}
    return row


# The search engines

COMMON = """
a about an and are as at be but by can could do does for from has have how i if in is it its me my of on or our so
that the their them there they this to was we what when where which who why will with you your
"""
STOPWORDS = frozenset(COMMON.split())

# What people say, and what the help centre calls it.
SYNONYMS = {
    "bill": "invoice",
    "bills": "invoices",
    "customer": "client",
    "customers": "clients",
    "estimate": "quote",
    "offer": "quote",
    "colleague": "team",
    "cancel": "void",
    "mail": "email",
    "phone": "app",
    "subscription": "plan",
    "vat": "tax",
}


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOPWORDS]


def trigrams(text: str) -> list[str]:
    """Three letters at a time within each word, so that "pay", "paid" and "payment" have something in common."""
    return [f"_{word}_"[start : start + 3] for word in words(text) for start in range(len(word))]


class BM25:
    """Okapi BM25 over whole words."""

    def __init__(self, corpus: dict[str, str], k1: float = 1.2, b: float = 0.75) -> None:
        self.weights: dict[str, dict[str, float]] = defaultdict(dict)
        counts = {chunk: Counter(words(text)) for chunk, text in corpus.items()}
        mean = sum(count.total() for count in counts.values()) / len(counts)
        rarity = rarities(counts.values())
        for chunk, count in counts.items():
            damping = k1 * (1 - b + b * count.total() / mean)
            for word, times in count.items():
                self.weights[word][chunk] = rarity[word] * times * (k1 + 1) / (times + damping)

    def search(self, text: str) -> Ranking:
        return ranked(add(self.weights[word] for word in words(text) if word in self.weights), 2)


class Trigrams:
    """Cosine similarity of weighted letter trigrams."""

    def __init__(self, corpus: dict[str, str]) -> None:
        counts = {chunk: Counter(trigrams(text)) for chunk, text in corpus.items()}
        self.rarity = rarities(counts.values())
        self.vectors = {chunk: self.vector(count) for chunk, count in counts.items()}

    def vector(self, counts: Counter[str]) -> dict[str, float]:
        """The weights of the known trigrams, at length 1."""
        weights = {
            part: (1 + math.log(n)) * self.rarity[part] for part, n in counts.items() if part in self.rarity
        }
        length = math.hypot(*weights.values()) or 1.0
        return {part: weight / length for part, weight in weights.items()}

    def search(self, text: str) -> Ranking:
        asked = self.vector(Counter(trigrams(text)))
        cosines = {
            chunk: sum(weight * vector.get(part, 0.0) for part, weight in asked.items())
            for chunk, vector in self.vectors.items()
        }
        return ranked(cosines, 4)


def hybrid(bm25: BM25, trigrams: Trigrams) -> Search:
    """The mean of the cosine and of the BM25 score brought between 0 and 1, with synonyms added to the question."""

    def search(text: str) -> Ranking:
        text = " ".join([text, *(SYNONYMS[word] for word in words(text) if word in SYNONYMS)])
        exact = {chunk: score / (score + 10) / 2 for chunk, score in bm25.search(text)}
        fuzzy = {chunk: score / 2 for chunk, score in trigrams.search(text)}
        return ranked(add([exact, fuzzy]), 4)

    return search


def at_least(score: float, search: Search) -> Search:
    """The top chunks, or nothing if even the best of them scores less."""

    def search_or_abstain(text: str) -> Ranking:
        found = search(text)
        return found[:DEPTH] if found and found[0][1] >= score else []

    return search_or_abstain


def rarities(counts: Iterable[Counter[str]]) -> dict[str, float]:
    """Inverse document frequencies."""
    counts = list(counts)
    frequency = Counter(term for count in counts for term in count)
    return {term: math.log(1 + (len(counts) - n + 0.5) / (n + 0.5)) for term, n in frequency.items()}


def add(scores: Iterable[dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for part in scores:
        for chunk, score in part.items():
            total[chunk] += score
    return total


def ranked(scores: dict[str, float], digits: int) -> Ranking:
    """Best first. Rounded before sorting, so that the last bit of a float decides nothing."""
    found = {chunk: round(score, digits) for chunk, score in scores.items()}
    return sorted(((c, s) for c, s in found.items() if s > 0), key=lambda pair: (-pair[1], pair[0]))


# The logs


def log(service: Service, golden: list[Row], corpus: dict[str, str]) -> Iterator[Row]:
    """One row per request, in the order of the questions; at the end those that were asked again."""
    for row in golden:
        if row["id"] in service.failed:
            yield failure(row)
        elif row["id"] not in service.absent:
            yield answer(service, row, corpus, attempt=1)
    for row in golden:
        if row["id"] in service.asked_again:
            yield answer(service, row, corpus, attempt=2)


def failure(row: Row) -> Row:
    return {
        "question_id": row["id"],
        "question": row["question"],
        "status": "error",
        "error": "TimeoutError: upstream took longer than 2 s",
        "latency_ms": 2004,
    }


def answer(service: Service, row: Row, corpus: dict[str, str], attempt: int) -> Row:
    retrieved: list[Row] = []
    for rank, (chunk, score) in enumerate(service.search(row["question"]), 1):
        item: Row = {"chunk_id": chunk}
        item |= {"rank": rank, "score": None} if row["id"] in service.without_scores else {"score": score}
        retrieved.append(item | ({"text": corpus[chunk]} if rank <= WITH_TEXT else {}))
    texts = [row["question"], *(corpus[item["chunk_id"]] for item in retrieved)]
    tokens = math.ceil(sum(len(text) for text in texts) / 4)  # a rule of thumb
    return {
        "question_id": row["id"],
        "question": row["question"],
        "retrieved": retrieved,
        "latency_ms": latency(service, row["id"], attempt),
        "tokens": tokens,
        "cost_usd": round(tokens * service.dollars_per_token, 6),
    }


def latency(service: Service, name: str, attempt: int) -> int:
    """Mostly near the usual time, sometimes three times as long; a checksum stands in for chance."""
    chance = crc32(f"{service.name} {name} {attempt}".encode()) / 2**32
    return round(service.milliseconds * (0.8 + 0.6 * chance + 2 * chance**12))


if __name__ == "__main__":
    main()
