"""Python dicts to five measures: RankLens against pytrec_eval, ir_measures, ranx and plain-Python loops.

Every tool runs in a separate process on the same data. The least CPU time of several runs counts, and memory is how far the
process's peak rises above the data themselves. Ratios are relative to pytrec_eval's ``evaluate`` alone, with judgments
prepared beforehand; RankLens starts from the plain dicts, as the goals do. ``--quick`` leaves out tools that compile first or
take long.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time

from goals import record
from shapes import SHAPES, make

MEASURES = ["nDCG@10", "AP", "RR", "R@100", "P@10"]
TWENTY = [
    *MEASURES, "P@5", "P@20", "R@5", "R@10", "R@20", "R@1000", "nDCG@5", "nDCG@20", "nDCG", "AP@10", "Success@1", "Success@5",
    "Success@10", "Rprec", "Bpref",
]  # fmt: skip
TREC = {"ndcg_cut_10", "map", "recip_rank", "recall_100", "P_10"}


def ranklens_5(qrels, run):
    import ranklens

    return lambda: ranklens.evaluate(qrels, run, MEASURES).mean


def ranklens_20(qrels, run):
    import ranklens

    return lambda: ranklens.evaluate(qrels, run, TWENTY).mean


def pytrec_eval_alone(qrels, run):
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, TREC)
    return lambda: evaluator.evaluate(run)


def pytrec_eval_whole(qrels, run):
    import pytrec_eval

    return lambda: pytrec_eval.RelevanceEvaluator(qrels, TREC).evaluate(run)


def ir_measures(qrels, run):
    import ir_measures

    measures = [ir_measures.parse_measure(m) for m in MEASURES]
    return lambda: ir_measures.calc_aggregate(measures, qrels, run)


def ranx(qrels, run):
    import ranx

    names = ["ndcg@10", "map", "mrr", "recall@100", "precision@10"]
    ranx.evaluate(ranx.Qrels({"q": {"d": 1}}), ranx.Run({"q": {"d": 1.0}}), names)  # compile first
    return lambda: ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names, make_comparable=True)


def plain_python(qrels, run):
    def evaluate():
        totals = [0.0] * 5
        for q, gold in qrels.items():
            ranking = sorted(run[q].items(), key=lambda item: (item[1], item[0]), reverse=True)
            relevant = sum(g > 0 for g in gold.values())
            gains = [gold.get(d, 0) for d, _ in ranking]
            hits = [i for i, g in enumerate(gains, 1) if g > 0]
            ideal = sorted(gold.values(), reverse=True)[:10]
            best = sum(g / math.log2(i + 1) for i, g in enumerate(ideal, 1))
            totals[0] += sum(g / math.log2(i + 1) for i, g in enumerate(gains[:10], 1)) / best if best else 0
            totals[1] += sum(n / i for n, i in enumerate(hits, 1)) / relevant if relevant else 0
            totals[2] += 1 / hits[0] if hits else 0
            totals[3] += sum(i <= 100 for i in hits) / relevant if relevant else 0
            totals[4] += sum(i <= 10 for i in hits) / 10
        return [t / len(qrels) for t in totals]

    return evaluate


TOOLS = {
    "RankLens": ranklens_5,
    "RankLens, 20 measures": ranklens_20,
    "pytrec_eval, evaluate alone": pytrec_eval_alone,
    "pytrec_eval, judgments included": pytrec_eval_whole,
    "ir_measures": ir_measures,
    "ranx (already compiled)": ranx,
    "plain Python": plain_python,
}
REFERENCE, WHOLE = "pytrec_eval, evaluate alone", "pytrec_eval, judgments included"
QUICK = ["RankLens", "RankLens, 20 measures", REFERENCE, WHOLE]
TIMES = {"passages": 12, "deep": 2.5, "short": 2.5}  # as fast as pytrec_eval, judgments included
TWENTY_TO_FIVE = 1.5  # times as long for twenty measures as for five


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(shape_name, factor, tool):
    """In a separate process: seconds and MB of one tool."""
    qrels, run = make(SHAPES[shape_name].smaller(factor))
    call = TOOLS[tool](qrels, run)
    before = peak()
    times = []
    while len(times) < 7 and (len(times) < 2 or sum(times) < 10):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    print(json.dumps({"seconds": min(times), "megabytes": peak() - before}))


def measure(shape_name, factor, tool):
    command = [sys.executable, __file__, "--work", shape_name, str(factor), tool]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.splitlines()[-1])


def keep(shape_name, results):
    """N times as fast as pytrec_eval, and hardly slower with more measures."""
    five, twenty, peer = (results[tool].get("seconds", math.nan) for tool in (*QUICK[:2], WHOLE))
    shape, goal = SHAPES[shape_name].name, TIMES[shape_name]
    times = f"{peer / five:.1f}x as fast"
    record(
        f"dicts, {shape}", times, f"{goal:g}x pytrec_eval", peer >= goal * five, f"pytrec_eval {peer:.3f} s"
    )
    ratio = twenty / five
    what = f"twenty measures against five, {shape}"
    record(what, f"{ratio:.2f}x", f"{TWENTY_TO_FIVE:g}x", ratio <= TWENTY_TO_FIVE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the queries, fewer tools")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], int(options.work[1]), options.work[2])
        return
    factor = 10 if options.quick else 1
    for shape_name, shape in SHAPES.items():
        print(f"\n{shape.name}" + (f", a {factor}th of the queries" if factor > 1 else ""))
        print(f"  {'':34}{'seconds':>10}{'speed':>9}{'memory':>10}")
        tools = QUICK if options.quick else TOOLS
        results = {tool: measure(shape_name, factor, tool) for tool in tools}
        reference = results[REFERENCE].get("seconds", math.nan)
        for tool, result in results.items():
            if "error" in result:
                print(f"  {tool:34}  not measured: {result['error']}")
                continue
            speed = reference / result["seconds"]
            print(f"  {tool:34}{result['seconds']:10.3f}{speed:8.1f}x{result['megabytes']:7.0f} MB")
        keep(shape_name, results)


if __name__ == "__main__":
    main()
