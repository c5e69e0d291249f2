"""Threads that evaluate dicts take turns, and never wait for each other in vain."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import ranklens as rl
from ranklens.exchange import pytrec_eval
from ranklens.judging.dicts import turn

QRELS = {f"q{i}": {f"d{i}": 1, f"d{i + 1}": 2} for i in range(40)}
RUNS = [{f"q{i}": [f"d{i + 1 + (i + shift) % 3}", "x", f"d{i}"] for i in range(40)} for shift in range(4)]


def test_threads_find_what_one_finds():
    alone = [rl.evaluate(QRELS, run, "nDCG@10, RR").mean for run in RUNS]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda run: rl.evaluate(QRELS, run, "nDCG@10, RR").mean, RUNS * 8)) == alone * 8


def test_one_evaluation_waits_for_the_turn_of_another():
    started, done = threading.Event(), threading.Event()

    def evaluated():
        started.set()
        rl.evaluate(QRELS, RUNS[0], "RR")
        done.set()

    with turn():
        thread = threading.Thread(target=evaluated)
        thread.start()
        assert started.wait(10)
        assert not done.wait(0.2)
    thread.join(10)
    assert done.is_set()


def test_another_thread_may_empty_what_prepared_judgments_keep():
    class Emptied(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            self.clear()

    judged = rl.evaluate(QRELS, RUNS[0], "RR").judged
    shared = replace(judged, _prepared=(judged.ideal, Emptied()))
    assert shared.total(1).tolist() == judged.total(1).tolist()


def test_a_measure_of_the_user_may_wait_for_another_thread():
    def elsewhere(judged):
        with ThreadPoolExecutor(1) as pool:
            inner = pool.submit(lambda: rl.evaluate(QRELS, RUNS[0], "RR").mean["RR"]).result(timeout=10)
        return np.full(len(judged), inner)

    rl.registry.measure("Elsewhere")(elsewhere)
    try:
        assert 0 < rl.evaluate(QRELS, RUNS[1], "Elsewhere").mean["Elsewhere"] < 1
    finally:
        rl.registry.unregister("Elsewhere")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_it_lacks():
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"map"})
    held, release = threading.Event(), threading.Event()

    def hold():
        with turn():
            held.set()
            release.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        child = os.fork()
        if not child:  # which ends here, whatever happens
            import signal

            signal.alarm(10)
            os._exit(0 if evaluator.evaluate({"q": {"a": 1.0}}) == {"q": {"map": 1.0}} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        release.set()
        thread.join()
