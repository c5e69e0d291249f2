"""Coverage of evidence: 10,000 questions with twenty chunks of 200 words and three passages each, all measures at several cuts.

Run with ``python benchmarks/coverage.py [--quick]``. The goal is 5 s and 500 MB for everything, the golden set and the log with their 240 MB
of text included. Next to it, the same passages and chunks matched with Python's ``in``, which only finds passages that one chunk has
as a whole, and gives no lengths, no redundancy and no parts.
"""

import random
import resource
import sys
import time

from goals import record

import ranklens as rl

NAMES = (
    "PassageRecall",
    "TokenRecall",
    "TokenPrecision",
    "TokenIoU",
    "TokenF1",
    "Redundancy",
    "ContextTokens",
)
CUTS = ("@5", "@20", "(budget=2000)")
SECONDS, MEGABYTES = 5, 500


def collection(questions, chunks=20, size=200, overlap=10, passages=3, length=40):
    """A document of its own for each question, in overlapping chunks, in random order."""
    rng = random.Random(1)
    vocabulary = [f"w{i}" for i in range(20_000)]
    golden, log = [], []
    step = size - overlap
    for q in range(questions):
        document = rng.choices(vocabulary, k=chunks * step + overlap)
        items = [
            {"id": f"{q}-{i}", "text": " ".join(document[i * step : i * step + size]), "score": 1.0}
            for i in range(chunks)
        ]
        rng.shuffle(items)
        starts = rng.sample(range(len(document) - length), passages)
        golden.append(
            {
                "id": str(q),
                "question": f"Question {q}?",
                "passages": [" ".join(document[s : s + length]) for s in starts],
            }
        )
        log.append({"id": str(q), "retrieved": items})
    return golden, log


def whole(golden, log):
    """Passages that single chunks contain, by searching strings."""
    return sum(
        any(passage in item["text"] for item in answer["retrieved"])
        for question, answer in zip(golden, log, strict=True)
        for passage in question["passages"]
    )


def main():
    questions = 1_000 if "--quick" in sys.argv else 10_000
    golden, log = collection(questions)
    before = memory()
    start, used = time.perf_counter(), time.process_time()
    scores = rl.evaluate(golden, log, [name + cut for name in NAMES for cut in CUTS])
    str(scores)
    clock, processor, peak = time.perf_counter() - start, time.process_time() - used, memory()
    start = time.perf_counter()
    searched = whole(golden, log)
    beside = time.perf_counter() - start
    print(
        f"{questions:,} questions: {clock:.1f} s ({processor:.1f} s of processors), {peak:,.0f} MB, of these {before:,.0f} MB golden set and log"
    )
    found = scores.mean["PassageRecall@20"] * 3 * questions
    print(f"searching strings: {beside:.1f} s, {searched:,} of {found:,.0f} passages (those in one chunk)")
    record(
        f"coverage, {questions:,} x 20 chunks x 200 words",
        f"{clock:.1f} s, {peak:,.0f} MB",
        f"{SECONDS} s, {MEGABYTES} MB",
        clock < SECONDS and peak < MEGABYTES,
    )


def memory():
    """The most that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main()
