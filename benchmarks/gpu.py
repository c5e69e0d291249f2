"""Embeddings on a GPU: the same ranks as on the processor, and how far from the bare matrix product.

Needs torch, Triton and NumPy only: ``PYTHONPATH=src python benchmarks/gpu.py``. Takes a few minutes on an H200; ``--quick`` leaves
out the shape of MS MARCO. ``--phases`` takes about a minute: whether ranks and the best documents are the same, where the time of
a call goes, and the best 100. ``--streaming`` takes about a minute: the shape of MS MARCO from the host's memory, and what each part of
the way takes. The exit status is 1 if anything differs.
"""

import argparse
import contextlib
import importlib
import os
import statistics
import sys
import time
import traceback

import numpy as np
import torch

from ranklens.judging.assembly import assemble
from ranklens.metrics import parse_many
from ranklens.models.embeddings import streaming, vectors
from ranklens.models.embeddings.counting import Counter, read_blocks
from ranklens.models.embeddings.device import DeviceCounter
from ranklens.models.embeddings.device_nearest import _candidates, _exact, best_on_device
from ranklens.models.embeddings.evaluation import evaluate_embeddings
from ranklens.models.embeddings.judged_ranks import TieOrder, Wanted
from ranklens.models.embeddings.score_arrays import evaluate_scores
from ranklens.models.embeddings.spaces import Dense
from ranklens.models.embeddings.task import Ids, make_task
from ranklens.policy import Policy
from ranklens.scores.evaluation import score

GPU = torch.device("cuda")
ORDER = TieOrder("descending")
QUERIES, SIZE = 6980, 768
MARCO, HALF_MILLION = 8_841_823, 500_000
SHAPES = (
    {},
    {"stages": 4},
    {"GROUP": 16},
    {"BM": 256, "BN": 128},
    {"BM": 128, "BN": 128, "warps": 4, "stages": 4},
    {"BM": 64, "BN": 256, "warps": 4, "stages": 4},
)
NAMES = ("above", "same", "before")
THEIRS = 10.158  # seconds that `single_precision` measured for sentence-transformers on an H200
ROWS = []


def unscored(wanted):
    """The exact scores are not given: they are found where they are needed."""
    return Wanted(wanted.query, wanted.doc, np.full(len(wanted), np.nan))


def refuse(row):
    return ValueError(f"document {row} is not finite")


def show(what, seconds, note=""):
    ROWS.append((what, seconds, note))
    print(f"{what:<72} {seconds * 1000:>12,.1f} ms  {note}", flush=True)


def timed(work, times=5):
    work()
    torch.cuda.synchronize()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


# --- the same ranks -----------------------------------------------------------------------------------------------------


def near_ties(kind, queries=64, documents=1500, size=256, seed=0):
    """Documents that differ from each other by less than bf16 or TF32 can tell, many of them equal."""
    draw = torch.Generator().manual_seed(seed)
    base = torch.nn.functional.normalize(torch.randn(8, size, generator=draw), dim=1)
    d = base[torch.randint(0, 8, (documents,), generator=draw)]
    step = {torch.float32: 1e-5, torch.bfloat16: 4e-3, torch.float16: 1e-3}[kind]
    d = d * (1 + step * torch.randint(-2, 3, d.shape, generator=draw))
    d = d.to(kind)
    d[documents // 2 :] = d[: documents - documents // 2][
        torch.randperm(documents - documents // 2, generator=draw)
    ]
    q = (
        base[torch.randint(0, 8, (queries,), generator=draw)]
        + 0.02 * torch.randn(queries, size, generator=draw)
    ).to(kind)
    return q, d


def random_vectors(kind, queries=130, documents=3000, size=100, seed=1):
    draw = torch.Generator().manual_seed(seed)
    q, d = torch.randn(queries, size, generator=draw), torch.randn(documents, size, generator=draw)
    d[:50] = d[50:100]
    d[100:110] = 0
    q[0] = 0
    return q.to(kind), d.to(kind)


def on_host(q, d, query, doc, similarity):
    as_host = [(x.float() if x.dtype == torch.bfloat16 else x).numpy() for x in (q, d)]
    space = Dense(as_host[0], similarity)
    wanted = Wanted(query, doc, space.exact(as_host[1], query, doc))
    counter = Counter(space, wanted, ORDER)
    read_blocks(space, [(0, as_host[1])], [counter], refuse)
    return wanted, counter.places


def naive_ranks(q, d, query, doc):
    """What people write: the judged document's own score, and a count of the higher ones, in the precision at hand."""
    scores = (q.to(GPU) @ d.to(GPU).T).float()
    own = (q.to(GPU)[query].float() * d.to(GPU)[doc].float()).sum(1)
    return 1 + (scores[query] > own[:, None]).sum(1).cpu().numpy()


def equality():
    """Number of failures; every case with and without the fused kernel."""
    failures = 0
    cases = [
        (make, kind, similarity, judged)
        for make in (near_ties, random_vectors)
        for kind in (torch.float32, torch.bfloat16, torch.float16)
        for similarity, judged in (("dot", 1), ("cosine", 3), ("euclidean", 1))
    ]
    cases += [(near_ties, torch.bfloat16, "dot", 40)]
    for make, kind, similarity, judged in cases:
        q, d = make(kind)
        pick = np.random.default_rng(2)
        query = np.repeat(np.arange(len(q)), judged)
        doc = np.concatenate([pick.choice(len(d), judged, replace=False) for _ in range(len(q))])
        wanted, expected = on_host(q, d, query, doc, similarity)
        for fused in (True, False):
            for precision in ("highest", "high"):
                torch.set_float32_matmul_precision(precision)
                found = DeviceCounter(
                    q.to(GPU),
                    d.to(GPU)[torch.as_tensor(doc)],
                    unscored(wanted),
                    similarity,
                    ORDER,
                    GPU,
                    fused=fused,
                )
                found.read(streaming.resident_chunks(d.to(GPU), 1024), refuse, resident=True)
                wrong = sum(int((getattr(expected, n) != getattr(found.places, n)).sum()) for n in NAMES)
                failures += wrong > 0
                if wrong:
                    print(
                        f"  DIFFERENT: {make.__name__} {kind} {similarity} {judged} fused={fused} {precision}: {wrong}"
                    )
        streamed = DeviceCounter(q, d[torch.as_tensor(doc)], unscored(wanted), similarity, ORDER, GPU)
        blocks = ((i, d[i : i + 1000]) for i in range(0, len(d), 1000))
        streamed.read(streaming.streamed_chunks(blocks, GPU), refuse, resident=False)
        wrong = sum(int((getattr(expected, n) != getattr(streamed.places, n)).sum()) for n in NAMES)
        failures += wrong > 0
        if wrong:
            print(f"  DIFFERENT: {make.__name__} {kind} {similarity} {judged} streamed: {wrong}")
        if make is near_ties and similarity == "dot" and judged == 1:
            torch.set_float32_matmul_precision("high")
            share = (naive_ranks(q, d, query, doc) != expected.above + 1).mean()
            torch.set_float32_matmul_precision("highest")
            label = "TF32" if kind == torch.float32 else str(kind).removeprefix("torch.")
            print(f"  near ties, {label}: a plain product gets {share:.0%} of the ranks wrong", flush=True)
    torch.set_float32_matmul_precision("highest")
    failures += the_same_best() + other_libraries()
    print(f"ranks: {len(cases)} cases, each five ways; {failures} differ from the processor's", flush=True)
    with contextlib.suppress(ValueError):
        bad = torch.randn(100, 64, device=GPU)
        bad[17, 3] = float("nan")
        try:
            evaluate_embeddings(torch.randn(2, 64, device=GPU), bad, {0: {1: 1}}, ["RR"])
            failures += 1
            print("  NaN was not refused")
        except ValueError as error:
            print(f"  NaN: {error}")
    return failures


def the_same_best():
    """Number of failures: the best documents, in the same order and with the same scores to the last bit."""
    failures = 0
    for make in (near_ties, random_vectors):
        for kind in (torch.float32, torch.bfloat16, torch.float16):
            for similarity in ("dot", "cosine", "euclidean"):
                q, d = make(kind)
                qrels = {i: {i: 1} for i in range(len(q))}
                options = {
                    "similarity": similarity,
                    "top": 20,
                    "exclude": [(i, i + 1) for i in range(len(q))],
                }
                on_gpu, streamed, expected = (
                    evaluate_embeddings(x, y, qrels, "AP", device=device, batch=700, **options).run
                    for x, y, device in ((q.to(GPU), d.to(GPU), None), (q, d, "cuda"), (q, d, None))
                )
                for way, found in (("on the GPU", on_gpu), ("streamed", streamed)):
                    if [list(docs.items()) for docs in found.values()] != [
                        list(docs.items()) for docs in expected.values()
                    ]:
                        failures += 1
                        print(f"  DIFFERENT: the best 20, {make.__name__} {kind} {similarity} {way}")
    print(f"the best 20: 18 cases, each two ways; {failures} differ from the processor's", flush=True)
    return failures


def other_libraries():
    """Number of failures: arrays of CuPy and JAX that are on the GPU stay there, and have the values of NumPy's."""
    failures = 0
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes most of the memory otherwise
    q, d = (one.numpy() for one in random_vectors(torch.float32))
    qrels = {i: {i: 2, i + 50: 1} for i in range(len(q))}
    labels = np.random.default_rng(0).integers(0, 3, d.shape[1] * len(q)).reshape(len(q), -1)
    expected = (
        evaluate_embeddings(q, d, qrels, "AP, nDCG", top=5),
        evaluate_scores(q, labels, measures="AP", relevant="labels"),
    )
    for name in ("cupy", "jax.numpy"):
        try:
            library = importlib.import_module(name)
        except ImportError:
            print(f"  {name} is not installed", flush=True)
            continue
        on_gpu = [library.asarray(one) for one in (q, d, labels)]
        found = (
            evaluate_embeddings(*on_gpu[:2], qrels, "AP, nDCG", top=5),
            evaluate_scores(on_gpu[0], on_gpu[2], measures="AP", relevant="labels"),
        )
        stays = all(vectors.on_gpu(one) and vectors.kept_on_gpu(one).is_cuda for one in on_gpu)
        same = all(a.per_query.equals(b.per_query) for a, b in zip(found, expected, strict=True))
        failures += not (stays and same and found[0].run == expected[0].run)
        print(f"  {name}: stays on the GPU: {stays}, the same values: {same}", flush=True)
    return failures


# --- speed --------------------------------------------------------------------------------------------------------------


def embeddings(documents, kind=torch.bfloat16):
    torch.manual_seed(0)
    d = torch.empty(documents, SIZE, device=GPU, dtype=kind)
    for i in range(0, documents, 1_000_000):
        part = torch.randn(min(1_000_000, documents - i), SIZE, device=GPU)
        d[i : i + len(part)] = torch.nn.functional.normalize(part, dim=1).to(kind)
    gold = torch.randint(0, documents, (QUERIES,), device=GPU)
    near = d[gold].float() + 0.06 * torch.randn(QUERIES, SIZE, device=GPU)
    return torch.nn.functional.normalize(near, dim=1).to(kind).contiguous(), d, gold.cpu().numpy()


def make_wanted(q, d, gold):
    host_q, host_d = (x.float().cpu().numpy() for x in (q, d[torch.as_tensor(gold, device=GPU)]))
    rows = np.arange(len(gold))
    return Wanted(rows, gold, Dense(host_q, "dot").exact(host_d, rows, rows))


def count(q, d, wanted, settings=None, step=streaming.RESIDENT, fused=True):
    judged = d[torch.as_tensor(wanted.doc, device=GPU)]
    counter = DeviceCounter(q, judged, unscored(wanted), "dot", ORDER, GPU, fused=fused)
    counter.settings = settings or {}
    counter.read(streaming.resident_chunks(d, step), refuse, resident=True)
    return counter.places


def bare_product(q, d, block=131_072):
    out = torch.empty(len(q), block, device=GPU, dtype=q.dtype)
    for i in range(0, len(d), block):
        part = d[i : i + block]
        torch.mm(q, part.T, out=out if len(part) == block else None)


def top_1000(q, d, k=1000, block=131_072):
    best = None
    for i in range(0, len(d), block):
        values, where = (q @ d[i : i + block].T).topk(min(k, len(d) - i), 1)
        where = where + i
        if best is not None:
            values, where = torch.cat([best[0], values], 1), torch.cat([best[1], where], 1)
            values, order = values.topk(k, 1)
            where = where.gather(1, order)
        best = values, where


def speed(documents, rate, settings):
    q, d, gold = embeddings(documents)
    wanted = make_wanted(q, d, gold)
    name = f"{QUERIES:,} x {documents:,} x {SIZE} bf16"
    floor = 2 * QUERIES * documents * SIZE / rate
    show(f"{name}: floor, at the rate of an 8192-cube product", floor)
    product = timed(lambda: bare_product(q, d), 3)
    show(f"{name}: bare product by blocks (torch)", product, f"{product / floor:.2f}x the floor")
    if settings is None:
        settings = tune(q, d, wanted)
    kernel = timed(lambda: only_kernel(q, d, wanted, settings))
    show(
        f"{name}: fused kernel alone",
        kernel,
        f"{kernel / floor:.2f}x the floor, {kernel / product:.2f}x the product",
    )
    for step in (1 << 18, 1 << 20, 1 << 21):
        ours = timed(lambda step=step: count(q, d, wanted, settings, step))
        show(
            f"{name}: counted, exact, {step:,} at a time",
            ours,
            f"{ours / floor:.2f}x the floor, {ours / product:.2f}x the product",
        )
    qrels = {str(i): {str(g): 1} for i, g in enumerate(gold.tolist())}
    whole = timed(lambda: evaluate_embeddings(q, d, qrels, ["RR@10", "nDCG@10"]), 3)
    show(
        f"{name}: evaluate_embeddings, all of it",
        whole,
        f"{whole / floor:.2f}x the floor, {whole / product:.2f}x the product",
    )
    print("  ", evaluate_embeddings(q, d, qrels, ["RR@10", "nDCG@10"]).mean)
    best = timed(lambda: evaluate_embeddings(q, d, qrels, ["RR@10"], top=100), 1)
    show(f"{name}: evaluate_embeddings, also the top 100", best)
    if documents <= HALF_MILLION:
        bulk = np.random.default_rng(3).integers(0, documents, QUERIES)
        hard = timed(lambda: count(q, d, make_wanted(q, d, bulk), settings), 2)
        show(f"{name}: judged documents at random, the worst case", hard, f"{hard / floor:.2f}x the floor")
    torch_ = timed(lambda: top_1000(q, d), 1)
    show(f"{name}: top 1,000 by torch", torch_, f"{torch_ / whole:.1f}x evaluate_embeddings")
    return settings, (q, d, wanted, floor)


def only_kernel(q, d, wanted, settings):
    from ranklens.models.embeddings import kernel

    t = torch.as_tensor(wanted.score, device=GPU).float()[:, None]
    for _, part in streaming.resident_chunks(d):
        kernel.count(q, part, t - 1e-4, t + 1e-4, **settings)


def tune(q, d, wanted):
    best = None
    for settings in SHAPES:
        try:
            seconds = timed(lambda s=settings: only_kernel(q, d, wanted, s), 3)
        except Exception as error:  # noqa: BLE001  a shape that does not fit the chip
            print(f"  {settings}: {str(error)[:90]}")
            continue
        print(f"  kernel {settings or 'as it is'}: {seconds * 1000:.2f} ms", flush=True)
        if best is None or seconds < best[0]:
            best = seconds, settings
    return best[1]


def phases(kind):
    """Where the time of one call goes, and of one that also keeps the best 100."""
    q, d, gold = embeddings(HALF_MILLION, kind)
    qrels = {str(i): {str(g): 1} for i, g in enumerate(gold.tolist())}
    name = f"{QUERIES:,} x {HALF_MILLION:,} x {SIZE} {str(kind).removeprefix('torch.')}"
    policy, wanted_measures = Policy(), parse_many(["RR@10", "nDCG@10"])
    ids = [Ids(None, len(x), "ids") for x in (q, d)]
    clock = {}

    def step(what, work):
        torch.cuda.synchronize()
        start = time.perf_counter()
        found = work()
        torch.cuda.synchronize()
        clock.setdefault(what, []).append(time.perf_counter() - start)
        return found

    def call():
        task = step("judgments to rows (host)", lambda: make_task(qrels, *ids, None, policy))
        step("grades (host, while the device counts)", lambda: task.gold)
        wanted = Wanted(task.pair_query, task.pair_doc, np.full(len(task.pair_doc), np.nan))
        judged = step("judged vectors", lambda: d[torch.as_tensor(wanted.doc, device=GPU)])
        counter = step("queries, targets", lambda: DeviceCounter(q, judged, wanted, "dot", ORDER, GPU))
        chunk = step("lengths, rounding and counting", lambda: counter.start(0, d))
        step("counts to ranks, near ties", lambda: counter.finish(chunk, refuse))
        placed = step("ranks to values (host)", lambda: assemble(task.standings(counter.places), policy))
        step("measures (host)", lambda: score(placed, wanted_measures))
        chunks = lambda: streaming.resident_chunks(d)  # noqa: E731
        query, doc, _ = step("best 100: candidates", lambda: _candidates(counter, chunks(), 100, refuse))
        step("best 100: their exact scores", lambda: _exact(counter, chunks(), query, doc))
        step("best 100: all of it, without names", lambda: best_on_device(counter, chunks, 100, refuse))

    for _ in range(6):
        call()
    for what, seconds in clock.items():
        show(f"{name}: {what}", statistics.median(seconds[1:]))
    whole = timed(lambda: evaluate_embeddings(q, d, qrels, ["RR@10", "nDCG@10"]))
    show(
        f"{name}: evaluate_embeddings, all of it",
        whole,
        f"sentence-transformers takes {THEIRS / whole:.0f}x that",
    )
    best = timed(lambda: evaluate_embeddings(q, d, qrels, ["RR@10", "nDCG@10"], top=100), 3)
    show(f"{name}: evaluate_embeddings, also the top 100", best)


def single_precision():
    torch.manual_seed(1)
    q, d, gold = embeddings(HALF_MILLION, torch.float32)
    qrels = {str(i): {str(g): 1} for i, g in enumerate(gold.tolist())}
    name = f"{QUERIES:,} x {HALF_MILLION:,} x {SIZE} float32"
    whole = timed(lambda: evaluate_embeddings(q, d, qrels, ["RR@10", "nDCG@10"]), 3)
    show(f"{name}: evaluate_embeddings", whole)
    try:
        from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
    except ImportError:
        return
    theirs = InformationRetrievalEvaluator(
        {str(i): "" for i in range(QUERIES)},
        {str(i): "" for i in range(HALF_MILLION)},
        {query: set(docs) for query, docs in qrels.items()},
        score_functions={"dot": lambda a, b: a @ b.T},
    )

    class Model:
        def encode_query(self, *args, **kwargs):
            return q

    start = time.perf_counter()
    found = theirs.compute_metrices(Model(), corpus_embeddings=d)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    show(f"{name}: sentence-transformers' evaluator", seconds, f"{seconds / whole:.0f}x evaluate_embeddings")
    print(
        "   theirs: MRR@10",
        found["dot"]["mrr@k"][10],
        "ours:",
        evaluate_embeddings(q, d, qrels, ["RR@10"]).mean["RR@10"],
    )


def from_host(q, d, wanted, floor):
    """The parts of the way alone, each of them a bound, and all of it; from ordinary memory, and from memory that the GPU reads itself."""
    start = time.perf_counter()
    kept = torch.empty(d.shape, dtype=d.dtype)
    kept.copy_(d)
    print(f"   copied to host memory in {time.perf_counter() - start:.1f} s", flush=True)
    judged = d[torch.as_tensor(wanted.doc, device=GPU)]
    expected = count(q, d, wanted).above
    name = f"{QUERIES:,} x {len(kept):,} x {SIZE} bf16 from host memory"
    million = kept[:1_000_000].pin_memory()
    copy = timed(lambda: million.to(GPU, non_blocking=True), 3) * len(kept) / len(million)
    show(f"{name}: the copy alone, pinned", copy)

    def blocks(given):
        return ((i, given[i : i + streaming.READ]) for i in range(0, len(given), streaming.READ))

    def filled():
        """Only to pinned memory."""
        road = streaming.Road(GPU)
        road.send = lambda source, target: Done()
        for _ in streaming.carried(blocks(kept), road, None):
            pass

    def moved(given):
        for _ in streaming.streamed_chunks(blocks(given), GPU):
            pass

    def counted(given):
        counter = DeviceCounter(q, judged, unscored(wanted), "dot", ORDER, GPU)
        counter.read(streaming.streamed_chunks(blocks(given), GPU), refuse, resident=False)
        return counter.places.above

    rows = streaming.Road(GPU).room // (SIZE * kept.element_size())
    show(f"{name}: counted alone, {rows:,} at a time", timed(lambda: count(q, d, wanted, step=rows), 3))
    threads = streaming.THREADS
    show(f"{name}: to pinned memory alone, {threads} threads", timed(filled, 3))
    show(f"{name}: moved, not counted", timed(lambda: moved(kept), 3))
    seconds = timed(lambda: counted(kept), 3)
    show(f"{name}: counted", seconds, f"{seconds / max(copy, floor):.2f}x the longer of copy and product")
    same = (counted(kept) == expected).all()
    kept = kept.pin_memory()
    seconds = timed(lambda: counted(kept), 3)
    show(
        f"{name}: counted, pinned",
        seconds,
        f"{seconds / max(copy, floor):.2f}x the longer of copy and product",
    )
    same = same and (counted(kept) == expected).all()
    print(f"   the same ranks as resident: {same}", flush=True)
    return not same


class Done:
    """A copy that need not be waited for."""

    def synchronize(self):
        pass

    def wait(self, *_):
        pass


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="leave out the shape of MS MARCO")
    options.add_argument("--phases", action="store_true", help="only where the time goes, and the best 100")
    options.add_argument("--streaming", action="store_true", help="only from the host's memory")
    chosen = options.parse_args()
    print(torch.cuda.get_device_name(), "torch", torch.__version__, flush=True)
    failures = 0

    def attempt(work):
        nonlocal failures
        start = time.perf_counter()
        try:
            return work()
        except Exception:  # noqa: BLE001  the rest is worth measuring all the same
            failures += 1
            traceback.print_exc()
            return None
        finally:
            print(f"   [{time.perf_counter() - start:.0f} s]", flush=True)

    failures += attempt(equality) or 0
    if chosen.phases:
        for kind in (torch.bfloat16, torch.float32):
            attempt(lambda kind=kind: phases(kind))
        return 1 if failures else 0
    a = torch.randn(8192, 8192, device=GPU, dtype=torch.bfloat16)
    rate = 2 * 8192**3 / timed(lambda: a @ a, 20)
    print(f"an 8192-cube product: {rate / 1e12:.0f} TFLOP/s")
    if chosen.streaming:
        q, d, gold = embeddings(MARCO)
        floor = 2 * QUERIES * MARCO * SIZE / rate
        failures += attempt(lambda: from_host(q, d, make_wanted(q, d, gold), floor)) is not False
        return 1 if failures else 0
    settings, *_ = attempt(lambda: speed(HALF_MILLION, rate, None)) or (None,)
    attempt(single_precision)
    if not chosen.quick:
        torch.cuda.empty_cache()
        settings, given = attempt(lambda: speed(MARCO, rate, settings)) or (None, None)
        if given is not None:
            failures += bool(attempt(lambda: from_host(*given)))
    print("\n| work | ms | |\n| --- | --- | --- |")
    for what, seconds, note in ROWS:
        print(f"| {what} | {seconds * 1000:,.1f} | {note} |")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
