"""A comparison to look at: queries in three scripts, hostile texts, ties, repeated and missing documents, slices."""

import random

import ranklens as rl

HOSTILE = "</script><img src=x onerror=window.hacked=1><b>'\"&amp;${1}{{title}}"
ARABIC = "ما هي عاصمة بيرو؟"
CHINESE = "哪座山最高？它在哪里？"
SYSTEMS = ("bm25", HOSTILE, "dense & sparse", "ensemble")


def example(n=60, depth=25, systems=SYSTEMS, seed=1, **options):
    """The comparison, and the texts of its queries and documents."""
    draw = random.Random(seed)
    documents = {
        f"d{i}": {"title": f"Document {i}", "text": f"Text number {i}. " + "Some more. " * (i % 9)}
        for i in range(150)
    }
    documents["d1"] = {"title": HOSTILE, "text": HOSTILE * 3}
    documents["d2"] = {"title": "Lima", "text": ARABIC}
    documents["d3"] = {"title": "", "text": CHINESE * 40}
    documents[HOSTILE] = "bare text"
    ids = list(documents)
    queries = {f"q{i}": f"question {i} about thing{i % 7}" for i in range(n)}
    queries |= {"q0": HOSTILE, "q1": ARABIC, "q2": CHINESE, HOSTILE: "an odd id"}
    qrels = {q: {d: draw.choice([0, 1, 1, 2, 3]) for d in draw.sample(ids, 6)} for q in queries}
    qrels["q0"]["d1"] = 3
    qrels["q4"] = {"d9": 2, "not in the corpus": 3}
    runs = {}
    for skill, system in enumerate(systems):
        run = {}
        for q, gold in qrels.items():
            scores = {d: round(draw.gauss(0, 1), 1) for d in draw.sample(ids, depth)}
            found = [d for d in gold if d != "not in the corpus" and draw.random() < 0.5 + 0.12 * skill]
            run[q] = scores | {d: round(draw.gauss(0.4 * gold[d] + 0.4 * skill, 1), 1) for d in found}
        runs[system] = run
    runs[systems[-1]].pop("q5")
    if len(systems) > 1:  # an ordered list, with one document twice
        ranked = sorted(runs[systems[0]]["q3"], key=runs[systems[0]]["q3"].get, reverse=True)
        runs[systems[0]] = {
            q: sorted(docs, key=docs.get, reverse=True) for q, docs in runs[systems[0]].items()
        }
        runs[systems[0]]["q3"] = [*ranked[:4], ranked[1], *ranked[4:]]
    by = {q: ("short", "long", HOSTILE)[i % 3] for i, q in enumerate(queries)}
    measures = options.pop("measures", "nDCG@10, RR, R@5, P@10")
    comparison = rl.compare(qrels, runs, measures, **{"by": by, "test": "t", **options})
    return comparison, queries, documents
