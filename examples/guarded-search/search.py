"""The retriever under guard: BM25 over the chunks of a help centre."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "rag-logs" / "corpus.jsonl"
K1, B = 1.2, 0.75


def words(text: str) -> list[str]:
    """Lower case, without the ending of plurals."""
    return [word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.lower())]


class Index:
    """Chunks by word."""

    def __init__(self, chunks: dict[str, str]) -> None:
        self.counts = {chunk: Counter(words(text)) for chunk, text in chunks.items()}
        self.lengths = {chunk: sum(count.values()) for chunk, count in self.counts.items()}
        self.mean = sum(self.lengths.values()) / len(self.lengths)
        self.found_in = Counter(word for count in self.counts.values() for word in count)

    def weight(self, word: str) -> float:
        """Rare words say more."""
        number, all_of_them = self.found_in[word], len(self.counts)
        return math.log(1 + (all_of_them - number + 0.5) / (number + 0.5))

    def score(self, chunk: str, query: list[str]) -> float:
        count, length = self.counts[chunk], self.lengths[chunk] / self.mean
        return sum(
            self.weight(word) * count[word] * (K1 + 1) / (count[word] + K1 * (1 - B + B * length))
            for word in query
        )


def read() -> Index:
    """The help centre."""
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    return Index({row["chunk_id"]: row["text"] for row in rows})


INDEX = read()


def search(text: str, k: int) -> list[str]:
    """The best chunks for a question."""
    query = words(text)
    scores = {chunk: INDEX.score(chunk, query) for chunk in INDEX.counts}
    return sorted(scores, key=lambda chunk: (-scores[chunk], chunk))[:k]
