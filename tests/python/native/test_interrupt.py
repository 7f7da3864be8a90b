"""Ctrl-C during work on tables raises KeyboardInterrupt soon, however long the work would take."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow

SETUP = """
import signal, threading, time
from datetime import timedelta
import numpy as np, pyarrow as pa
import windrow as wr

# A job in the background of a shell ignores Ctrl-C, and what it starts does.
signal.signal(signal.SIGINT, signal.default_int_handler)

def table(rows, keys, times):
    random = np.random.default_rng(1)
    keys = pa.array(random.integers(0, keys, rows))
    times = pa.array(times(random, rows)).cast(pa.timestamp("us"))
    return pa.table({"key": keys, "ts": times, "x": random.random(rows)})

def in_order(random, rows):
    return np.arange(rows)

def shuffled(random, rows):
    return random.permutation(rows)

def deviations(count):
    return {f"deviation_{i}": wr.stddev("x") for i in range(count)}

def query(data, windows):
    return wr.group_by(data, "key", time="ts").windowed_by(windows)

# A table of many chunks that are one in memory.
long = pa.concat_tables([table(1 << 20, 1000, in_order)] * 1000)
short = table(1 << 20, 1000, shuffled)
hot = table(1 << 17, 1, shuffled)
sessions = wr.SessionWindows.with_gap("1 second")
few_rows = wr.SlidingWindows.with_time_difference(timedelta(milliseconds=20))
most_rows = wr.SlidingWindows.with_time_difference("1 second")
works = {
    "sessions": lambda: query(long, sessions).agg(**deviations(10)),
    "sessions on one thread": lambda: query(long, sessions).threads(1).agg(**deviations(10)),
    "sliding windows": lambda: query(short, few_rows).agg(**deviations(100)),
    "sliding windows of a hot key": lambda: query(hot, few_rows).agg(**deviations(600)),
    "sliding windows of a hot key, each of most rows": lambda: query(hot, most_rows).agg(**deviations(600)),
    "histograms": lambda: query(hot, most_rows).agg(h=wr.histogram_numeric("x", 20)),
    "a Python function": lambda: query(pa.concat_tables([short] * 4), sessions).agg(most=wr.reduce("x", max)),
}
"""

MAIN = """
try:
    print("at work", flush=True)
    works[WORK]()
    print("the work ended", flush=True)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""

# The main thread waits for another one, which works.
THREAD = """
threading.Thread(target=works[WORK], daemon=True).start()
try:
    print("at work", flush=True)
    threading.Event().wait(60)
    print("the work ended", flush=True)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""

# Seconds that an exception may take to come in one of some attempts: a machine may be at work on other things too.
SOON = 0.5
ATTEMPTS = 3

WORKS = [work for work in re.findall(r'^    "(.+)": lambda', SETUP, re.MULTILINE) if work != "histograms"]
assert len(WORKS) == 6


def seconds_to_interrupt(code: str, work: str, after: float) -> float:
    """Starts a Python at this work, sends it SIGINT this many seconds later, and times its KeyboardInterrupt."""
    source = SETUP + code.replace("WORK", repr(work))
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "at work\n"
            time.sleep(after)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            raised = child.stdout.readline()
        finally:
            child.kill()
    assert raised != "the work ended\n", "the work is too short to be interrupted"
    return float(raised) - sent


def comes_soon(code: str, work: str, after: float) -> bool:
    return any(seconds_to_interrupt(code, work, after) < SOON for _ in range(ATTEMPTS))


def test_an_interrupt_ends_work_of_which_each_window_takes_long() -> None:
    assert comes_soon(MAIN, "histograms", 1.5)


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("after", [0.3, pytest.param(1.5, marks=pytest.mark.soak)])
def test_an_interrupt_ends_work_on_the_main_thread(work: str, after: float) -> None:
    assert comes_soon(MAIN, work, after)


@pytest.mark.parametrize("work", WORKS)
def test_an_interrupt_reaches_the_main_thread_while_another_one_works(work: str) -> None:
    assert comes_soon(THREAD, work, 1.0)
