"""Two retrievers on the same ten questions: evaluate each, see where they differ, and try the tie rules.

Run it with ``python examples/first_evaluation.py``.
"""

import ranklens as rl

# Judgments: for each question, the documents that answer it fully (2) or in part (1), or that were judged useless (0).
QRELS: dict[str, dict[str, int]] = {
    "copy a folder with everything inside": {"shutil.copytree": 2, "shutil.copy2": 1, "os.walk": 0},
    "count how often each word occurs": {"collections.Counter": 2, "collections.defaultdict": 1},
    "run a command and read what it prints": {"subprocess.run": 2, "subprocess.Popen": 1, "os.system": 1},
    "round down": {"math.floor": 2, "math.trunc": 1, "round": 0},
    "read a file line by line": {"open": 2, "pathlib.Path.open": 2, "fileinput.input": 1},
    "random item of a list": {"random.choice": 2, "random.sample": 1, "secrets.choice": 1},
    "sort by the second field": {"operator.itemgetter": 2, "sorted": 2, "list.sort": 1},
    "remember results of a slow function": {"functools.cache": 2, "functools.lru_cache": 2},
    "difference between two dates": {"datetime.timedelta": 2, "datetime.date": 1},
    "wait for several threads": {
        "threading.Thread.join": 2,
        "concurrent.futures.wait": 2,
        "queue.Queue.join": 1,
    },
}

# What two search engines returned, best first (a dict of scores works too).
KEYWORDS: dict[str, list[str]] = {
    "copy a folder with everything inside": ["copy.copy", "shutil.copy2", "copy.deepcopy", "os.walk"],
    "count how often each word occurs": ["itertools.count", "str.count", "collections.Counter"],
    "run a command and read what it prints": ["subprocess.run", "runpy.run_path", "print"],
    "round down": ["round", "math.floor"],
    "read a file line by line": ["fileinput.input", "linecache.getline", "open"],
    "random item of a list": ["random.choice", "list.sort", "random.shuffle"],
    "sort by the second field": ["sorted", "list.sort", "heapq.merge"],
    "remember results of a slow function": ["time.sleep", "functools.partial"],
    "difference between two dates": ["datetime.date", "difflib.ndiff", "datetime.timedelta"],
    "wait for several threads": ["threading.Thread.join", "os.wait", "asyncio.wait"],
}
MEANING: dict[str, list[str]] = {
    "copy a folder with everything inside": ["shutil.copytree", "shutil.copy2", "os.walk"],
    "count how often each word occurs": ["collections.Counter", "str.count"],
    "run a command and read what it prints": ["subprocess.run", "subprocess.Popen", "os.system"],
    "round down": ["math.floor", "math.trunc", "decimal.ROUND_DOWN"],
    "read a file line by line": ["pathlib.Path.open", "io.TextIOBase", "open"],
    "random item of a list": ["random.choice", "secrets.choice", "random.sample"],
    "sort by the second field": ["list.sort", "sorted", "bisect.insort"],
    "remember results of a slow function": ["functools.lru_cache", "functools.cache"],
    "difference between two dates": ["datetime.timedelta", "datetime.date"],
    "wait for several threads": ["threading.Barrier", "threading.Thread.join", "asyncio.gather"],
}


def main() -> None:
    measures = ["nDCG@3", "R@3", "RR", "Success@1", "Judged@3"]
    for name, run in (("keywords", KEYWORDS), ("meaning", MEANING)):
        print(f"\n{name}\n")
        print(rl.evaluate(QRELS, run, measures))

    print("\nWhere they differ most (nDCG@3 per question)\n")
    before, after = (rl.evaluate(QRELS, run, "nDCG@3") for run in (KEYWORDS, MEANING))
    rows = zip(before.queries, before["nDCG@3"], after["nDCG@3"], strict=True)
    for query, old, new in sorted(rows, key=lambda row: row[1] - row[2])[:5]:
        print(f"  {query:40} {old:.3f} → {new:.3f}  {'▇' * round(20 * (new - old))}")

    print("\nA constant scorer: ties broken by document id, and averaged over all orders\n")
    constant = {query: dict.fromkeys(sorted({*KEYWORDS[query], *MEANING[query]}), 1.0) for query in QRELS}
    for ties in ("descending", "ascending", "average"):
        print(f"  ties={ties:11} RR {rl.evaluate(QRELS, constant, 'RR', ties=ties).mean['RR']:.4f}")


if __name__ == "__main__":
    main()
