"""Calls at the same time, time-outs, retries, rate limits, running event loops, and retrievers that misbehave."""

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import ranklens as rl
from ranklens.errors import InputError
from ranklens.retrieval import calling
from ranklens.retrieval.asking import AskOptions
from ranklens.retrieval.store import Store


def bench(n=8, **options):
    queries = {f"q{i}": f"text {i}" for i in range(n)}
    return rl.Benchmark(queries, {query: {"d1"} for query in queries}, **options)


def statuses(found):
    return [answer.status for answer in found.answers.values()]


class InFlight:
    """Counts the calls that are under way at the same time."""

    def __init__(self):
        self.now = self.most = 0
        self.lock = threading.Lock()

    def __enter__(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_):
        with self.lock:
            self.now -= 1


def test_synchronous_calls_run_at_the_same_time_in_threads():
    meeting, flight = threading.Barrier(4, timeout=20), InFlight()

    def waits_for_three_others(text):
        with flight:
            meeting.wait()
            return ["d1"]

    assert bench().run("sync", waits_for_three_others, concurrency=4).status == {
        "ok": 8,
        "empty": 0,
        "failed": 0,
    }
    assert flight.most == 4


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_asynchronous_calls_run_at_the_same_time_also_where_a_loop_runs_already(in_a_loop):
    flight = InFlight()

    async def waits_for_three_others(text):
        with flight:
            for _ in range(1000):
                if flight.most == 4:
                    return ["d1"]
                await asyncio.sleep(0.001)
            raise TimeoutError

    async def notebook():
        return bench().run("async", waits_for_three_others, concurrency=4)

    found = (
        asyncio.run(notebook()) if in_a_loop else bench().run("async", waits_for_three_others, concurrency=4)
    )
    assert found.status["ok"] == 8
    assert flight.most == 4


def test_arun_uses_the_loop_that_runs():
    loops = set()

    async def retriever(text):
        loops.add(asyncio.get_running_loop())
        return ["d1"]

    async def main():
        found = await bench().arun("async", retriever, concurrency=3, k=5)
        return found, asyncio.get_running_loop()

    found, loop = asyncio.run(main())
    assert found.k == 5
    assert found.status["ok"] == 8
    assert loops == {loop}


def test_arun_leaves_the_loop_free_while_a_synchronous_retriever_works():
    async def main():
        ticked = threading.Event()
        asyncio.get_running_loop().call_later(0.01, ticked.set)
        return await bench(1).arun("sync", lambda text: ["d1"] if ticked.wait(20) else None)

    assert asyncio.run(main()).status["ok"] == 1


def test_one_synchronous_call_at_a_time_is_made_in_the_callers_thread():
    """Where SQLite connections and the like may be used, and asyncio.run inside the retriever works."""
    threads = set()

    def retriever(text):
        threads.add(threading.get_ident())
        return ["d1"]

    async def notebook():
        bench().run("sync", retriever)

    bench().run("sync", retriever)
    asyncio.run(notebook())
    assert threads == {threading.get_ident()}
    assert bench().run("sync", lambda text: asyncio.run(asyncio.sleep(0, ["d1"]))).status["ok"] == 8


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_lambda_around_an_asynchronous_function_is_awaited(concurrency):
    async def search(text):
        await asyncio.sleep(0)
        return ["d1"]

    assert bench().run("lambda", lambda text: search(text + "!"), concurrency=concurrency).status["ok"] == 8


def test_asynchronous_generators_are_read_up_to_k():
    async def endless(text):
        number = 0
        while True:
            yield f"d{number}"
            number += 1

    found = bench(2).run("generator", endless, k=3)
    assert found.answers["q0"].ids == ("d0", "d1", "d2")
    assert found.answers["q0"].cut


def test_context_variables_reach_the_threads():
    tenant = contextvars.ContextVar("tenant")
    tenant.set("mine")
    found = bench(2).run("sync", lambda text: [tenant.get()], concurrency=2)
    assert found.answers["q1"].ids == ("mine",)


def test_a_call_that_hangs_fails_and_the_others_go_on():
    forever = threading.Event()

    def hangs_once(text):
        if text == "text 2":
            forever.wait()
        return ["d1"]

    found = bench().run("sync", hangs_once, concurrency=2, timeout=1)
    assert statuses(found) == ["ok"] * 2 + ["failed"] + ["ok"] * 5
    assert found.answers["q2"].error == "TimeoutError: No answer within 1 s"
    assert found.seconds["q2"] == 1
    assert found.latency.p99 > 0.9
    assert found.answers["q2"].to_record()["timed_out"]
    forever.set()


def test_an_asynchronous_call_that_hangs_is_cancelled():
    cancelled = []

    async def hangs_once(text):
        if text == "text 2":
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                cancelled.append(text)
                raise
        return ["d1"]

    found = bench().run("async", hangs_once, concurrency=2, timeout=1)
    assert statuses(found) == ["ok"] * 2 + ["failed"] + ["ok"] * 5
    assert cancelled == ["text 2"]


def test_retries_until_it_works_and_counts_the_last_attempt(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(calling.time, "perf_counter", lambda: next(clock))
    calls = []

    def flaky(text):
        calls.append(text)
        if calls.count(text) < 3:
            raise ConnectionError("busy")
        return ["d1"]

    found = bench(2).run("flaky", flaky, retries=2, backoff=0)
    assert [(a.status, a.attempts, a.seconds) for a in found.answers.values()] == [("ok", 3, 1)] * 2
    assert len(calls) == 6


def test_when_all_attempts_fail_the_last_error_stands():
    calls = []

    def flaky(text):
        calls.append(text)
        raise ConnectionError(f"attempt {len(calls)}")

    with pytest.warns(
        rl.RankLensWarning,
        match="The only query of 'flaky' failed with ConnectionError: attempt 3",
    ):
        found = bench(1).run("flaky", flaky, retries=2, backoff=0)
    assert found.answers["q0"].error == "ConnectionError: attempt 3"
    assert 'raise ConnectionError(f"attempt {len(calls)}")' in found.answers["q0"].traceback
    assert found.latency is None
    assert found.throughput == 0


def test_pauses_double_up_to_half_a_minute_and_vary():
    options = AskOptions(retries=9, backoff=2)
    for attempt, longest in enumerate([2, 4, 8, 16, 30, 30], 1):
        pauses = [options.pause(attempt) for _ in range(50)]
        assert longest / 2 <= min(pauses) < max(pauses) <= longest


def test_the_rate_limit_spreads_the_calls_of_all_workers(monkeypatch):
    slept = []

    class Worker:
        async def sleep(self, seconds):
            slept.append(round(seconds, 6))

    async def main():
        pace = calling._Pace(AskOptions(rate_limit=4))
        for _ in range(4):
            await pace.turn(Worker())
        monkeypatch.setattr(calling.time, "monotonic", lambda: 110.0)
        await pace.turn(Worker())
        await pace.turn(Worker())

    monkeypatch.setattr(calling.time, "monotonic", lambda: 100.0)
    asyncio.run(main())
    assert slept == [0, 0.25, 0.5, 0.75, 0, 0.25]


@pytest.mark.parametrize("retriever", ["sync", "async"])
def test_batches(retriever):
    sizes = []

    def batch(texts: list[str], k: int):
        sizes.append(len(texts))
        return [[text, "d1"][:k] for text in texts]

    async def abatch(texts: list[str], k: int):
        return batch(texts, k)

    found = bench(7).run("batch", batch if retriever == "sync" else abatch, batch_size=3, concurrency=2)
    assert sorted(sizes) == [1, 3, 3]
    assert found.answers["q4"].ids == ("text 4", "d1")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda texts: [["d1"]] * 2, "returned 2 results for a batch of 3 texts"),
        (lambda texts: None, "returned None"),
        (lambda texts: 7, "returned a int for a batch of 3 texts"),
        (lambda texts: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_a_batch_that_goes_wrong_fails_for_all_its_queries(answer, error):
    with pytest.warns(rl.RankLensWarning, match="All 3 queries of .* failed, the first with "):
        found = bench(3).run("batch", answer, batch_size=3)
    assert all(error in a.error for a in found.answers.values())


def test_one_query_of_a_batch_may_fail_alone():
    found = bench(3).run("batch", lambda texts: [["d1"], None, ValueError("bad")], batch_size=3)
    assert statuses(found) == ["ok", "failed", "failed"]
    assert found.answers["q2"].error == "ValueError: bad"


def stop():
    raise StopIteration


class StrangeError(Exception):
    def __str__(self):
        raise RuntimeError


def raises(error):
    raise error


FAULTS = {
    "exception": (lambda: 1 / 0, "failed", "ZeroDivisionError: division by zero"),
    "none": (lambda: None, "failed", "The retriever returned None; return an empty list"),
    "wrong type": (lambda: 42, "failed", "The retriever returned an int: 42"),
    "text": (lambda: "d1", "failed", "The retriever returned a str"),
    "stop iteration": (stop, "failed", "StopIteration"),
    "strange exception": (lambda: raises(StrangeError()), "failed", "StrangeError: <exception str() failed>"),
    "generator": (lambda: (d for d in ("d1", "d2")), "ok", None),
    "broken generator": (lambda: (1 // (2 - i) for i in range(5)), "failed", "ZeroDivisionError"),
    "duplicates": (lambda: ["d1", "d1", "d2"], "ok", None),
    "very many": (lambda: [f"d{i}" for i in range(100_000)], "ok", None),
    "empty": (list, "empty", None),
    "lone surrogate": (lambda: ["\ud800", "d1"], "ok", None),
}


@pytest.mark.filterwarnings("ignore::ranklens.RankLensWarning")  # about duplicates
@pytest.mark.parametrize("how", ["here", "threads", "async"])
def test_faults_are_kept_and_counted_and_the_rest_stands(how, tmp_path):
    names = list(FAULTS)
    queries = {"first": "fine", **{name: name for name in names}, "last": "fine"}

    def retriever(text):
        return ["d1"] if text == "fine" else FAULTS[text][0]()

    async def aretriever(text):
        return retriever(text)

    mine = rl.Benchmark(queries, {query: {"d1"} for query in queries}, store=tmp_path)
    found = mine.run(
        "faulty", aretriever if how == "async" else retriever, k=5, concurrency=1 if how == "here" else 3
    )
    for name, (_, status, error) in FAULTS.items():
        answer = found.answers[name]
        assert answer.status == status, name
        if error is not None and not (
            how == "async" and name == "stop iteration"
        ):  # Python makes it a RuntimeError
            assert error in answer.error, name
            assert error in answer.traceback
            assert ("Traceback" in answer.traceback) == (name != "none")
    assert found.answers["very many"].ids == ("d0", "d1", "d2", "d3", "d4")
    failed = sum(status == "failed" for _, status, _ in FAULTS.values())
    assert found.status == {"ok": len(queries) - failed - 1, "empty": 1, "failed": failed}
    kept = Store(tmp_path).read("faulty")
    assert sorted((a.query, a.status) for a in kept.values()) == sorted(
        (a.query, a.status) for a in found.answers.values()
    )
    scores = mine.evaluate("RR", failed="zero")["faulty"]
    assert len(scores.queries) == len(queries)
    assert len(mine.evaluate("RR", failed="skip")["faulty"].queries) == len(queries) - failed
    # First, last, generator, duplicates: 1; very many, surrogate: ½.
    assert scores.mean["RR"] * len(queries) == pytest.approx(5.0)


def test_what_can_never_be_read_stops_the_run_early():
    calls = []

    def texts_without_ids(text):
        calls.append(text)
        return [{"text": "no id here", "metadata": {"source": "a.pdf"}}]

    with pytest.raises(InputError, match=r'id_from="metadata\.source"'):
        bench(100).run("mine", texts_without_ids)
    assert len(calls) == 3


@pytest.mark.parametrize("how", [{}, {"concurrency": 2}])
def test_a_retriever_that_calls_exit_has_failed(how):
    with pytest.warns(
        rl.RankLensWarning, match="All 8 queries of 'exit' failed, the first with SystemExit: 0"
    ):
        found = bench().run("exit", lambda text: sys.exit(0), **how)
    assert found.status["failed"] == 8


@pytest.mark.parametrize("how", [{}, {"concurrency": 2}])
def test_an_interrupt_in_a_retriever_ends_the_run(how):
    def interrupted(text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench().run("interrupted", interrupted, **how)


def test_threads_in_calls_that_hang_are_bounded(monkeypatch):
    """Some calls come back, so the retriever is not dead; but what hangs is not left behind without end."""
    monkeypatch.setattr("ranklens.retrieval.workers.MOST_HANGING", 7)
    before, for_ever = threading.active_count(), threading.Event()
    answer = lambda text: ["d1"] if text.endswith("0") else for_ever.wait() and []  # noqa: E731
    with pytest.raises(InputError, match="7 calls hang, and none of them has come back; the run was stopped"):
        bench(200).run("mine", answer, timeout=0.01)
    assert threading.active_count() <= before + 8
    for_ever.set()


def test_threads_that_come_back_late_are_not_counted(monkeypatch):
    monkeypatch.setattr("ranklens.retrieval.workers.MOST_HANGING", 7)
    with pytest.warns(
        rl.RankLensWarning,
        match=r"failed, the first with TimeoutError: No answer within 0\.02 s\.$",
    ):
        bench(15).run("late", lambda text: time.sleep(0.1) or ["d1"], timeout=0.02)


def test_threads_of_asynchronous_retrievers_are_bounded(monkeypatch):
    monkeypatch.setattr("ranklens.retrieval.loops._MOST_THREADS", 5)
    for_ever = threading.Event()

    async def hangs(text):
        return await asyncio.to_thread(for_ever.wait)

    with pytest.raises(InputError, match="5 threads of the retriever are still at work"):
        bench(50).run("mine", hangs, timeout=0.01)
    for_ever.set()


def test_an_asynchronous_retriever_that_blocks_beyond_its_timeout_timed_out():
    async def blocks(text):
        time.sleep(0.05 if text == "text 1" else 0)
        return ["d1"]

    found = bench(3).run("mine", blocks, timeout=0.02)
    assert statuses(found) == ["ok", "failed", "ok"]
    late = found.answers["q1"]
    assert late.timed_out
    assert late.error == "TimeoutError: No answer within 0.02 s"
    assert 0.05 <= late.seconds < 5


def test_an_asynchronous_retriever_that_blocks_for_ever_is_given_up(monkeypatch):
    monkeypatch.setattr("ranklens.retrieval.loops._STUCK", 0.3)
    for_ever = threading.Event()

    async def blocks(text):
        for_ever.wait()
        return ["d1"]

    with pytest.raises(InputError, match=r"has blocked the event loop for more than 0\.4 s"):
        bench().run("mine", blocks, timeout=0.1)
    for_ever.set()


def counting(error):
    calls = []

    def dead(text):
        calls.append(text)
        raise error(text)

    return dead, calls


@pytest.mark.parametrize("how", [{}, {"concurrency": 3}])
def test_a_dead_retriever_is_not_asked_to_the_end(how):
    refused = lambda text: ConnectionError(f"<socket at 0x{id(text):x}>: {text!r} refused")  # noqa: E731
    dead, calls = counting(refused)
    with pytest.raises(InputError, match=r"'mine' was stopped after 20 calls in a row with the same error: ConnectionError: .*"
                       r"queries were not asked\. Is it running\? keep_going=True asks on regardless\."):  # fmt: skip
        bench(200).run("mine", dead, **how)
    assert 20 <= len(calls) <= 23
    dead, calls = counting(refused)
    with pytest.raises(InputError, match="stopped after 5 calls"):
        bench(200).run("mine", dead, stop_after=5)
    dead, calls = counting(refused)
    with pytest.warns(rl.RankLensWarning, match="All 30 queries"):
        assert bench(30).run("mine", dead, keep_going=True).status["failed"] == 30


def test_failures_that_differ_or_end_do_not_stop_a_run():
    kinds = [ValueError, KeyError, OSError]
    calls = []

    def various(text):
        calls.append(text)
        raise kinds[len(calls) // 19 % 3](text)

    with pytest.warns(rl.RankLensWarning, match="All 60 queries"):
        bench(60).run("mine", various)
    calls.clear()

    def sometimes(text):
        calls.append(text)
        if len(calls) % 20:
            raise ValueError(text)
        return ["d1"]

    assert bench(60).run("mine", sometimes).status == {"ok": 3, "empty": 0, "failed": 57}
    with pytest.raises(InputError, match="stop_after=0 is not allowed"):
        bench().run("mine", sometimes, stop_after=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k=0 is not allowed"),
        ({"k": True}, "k=True is not allowed"),
        ({"concurrency": 0}, "concurrency=0 is not allowed; it is a whole number from 1"),
        ({"concurrency": 2.5}, "concurrency=2.5"),
        ({"retries": -1}, "retries=-1 is not allowed"),
        ({"timeout": 0}, "timeout=0 is not allowed"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"rate_limit": "fast"}, "rate_limit='fast' is not allowed"),
        ({"backoff": -1}, "backoff=-1 is not allowed"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        bench().run("mine", lambda text: [], **options)


SCRIPT = """
import atexit, asyncio, os, signal, sys, threading, time
import ranklens as rl

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs without it

queries = {f"q{i}": f"text {i}" for i in range(50)}
bench = rl.Benchmark(queries, {query: {"d1"} for query in queries}, store=sys.argv[1])
forever = threading.Event()
calls = []
resumes = "RESUMES" in os.environ  # nothing hangs then, and the calls are counted

def say(text):
    os.write(1, (text + "\\n").encode())

atexit.register(lambda: resumes and say(f"{len(calls)} calls"))

def sync(text):
    calls.append(text)
    if text == "text 7" and not resumes:
        time.sleep(0.5)  # the answers before it arrive
        say("hangs")
        while True:
            time.sleep(60)
    return ["d1"]

async def in_its_own_thread(text):
    return await asyncio.to_thread(sync, text)

async def deaf(text):
    while text == "text 7":
        say("hangs")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass
    return ["d1"]

async def asynchronous(text):
    calls.append(text)
    if text == "text 7" and not resumes:
        await asyncio.sleep(0.5)
        say("hangs")
        await asyncio.sleep(1000)
    return ["d1"]

async def notebook(*args, **kwargs):
    return bench.run(*args, **kwargs)
"""


def script(tmp_path, code):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT + textwrap.dedent(code))
    return [sys.executable, str(path), str(tmp_path / "store")]


@pytest.mark.slow
@pytest.mark.parametrize("retriever", ["sync", "in_its_own_thread", "deaf"])
def test_what_hangs_holds_up_neither_the_run_nor_the_exit(retriever, tmp_path):
    code = f"print(bench.run('mine', {retriever}, concurrency=3, timeout=1).status)"
    done = subprocess.run(script(tmp_path, code), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "{'ok': 49, 'empty': 0, 'failed': 1}" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console, not to one process"
)
@pytest.mark.parametrize(
    "code",
    [
        "bench.run('mine', sync)",
        "bench.run('mine', sync, concurrency=3)",
        "bench.run('mine', asynchronous, concurrency=3)",
        "bench.run('mine', in_its_own_thread, concurrency=3)",
        "asyncio.run(notebook('mine', asynchronous, concurrency=3))",
        "asyncio.new_event_loop().run_until_complete(notebook('mine', asynchronous, concurrency=3))",
        "asyncio.run(bench.arun('mine', asynchronous, concurrency=3))",
    ],
)
def test_ctrl_c_ends_at_once_keeps_the_answers_and_says_how_to_go_on(code, tmp_path):
    process = subprocess.Popen(
        script(tmp_path, code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "hangs\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGINT, 130), errors
    assert "of 50 queries. Their answers are kept in" in errors
    assert "run it again to resume from there" in errors
    assert "never awaited" not in errors
    assert "was destroyed" not in errors
    kept = {answer.query for answer in Store(tmp_path / "store").read("mine").values()}
    assert len(kept) >= 5  # of the seven before it two may have been under way
    again = subprocess.run(
        script(tmp_path, code), env={**os.environ, "RESUMES": "1"}, capture_output=True, text=True, check=True
    )
    assert again.stdout == f"{50 - len(kept)} calls\n"
