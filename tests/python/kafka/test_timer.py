"""The thread of a timer: called when time has come or when it is woken, asleep in between, and gone when stopped."""

from __future__ import annotations

import threading
import time

from windrow.kafka import ProgressProducer
from windrow.kafka._timer import ThreadTimer

from ..harness.virtual_kafka import VirtualBroker, VirtualCluster, VirtualProducer, VirtualTimer

DEADLINE = 30  # seconds


class Steps:
    """A step that returns what it is set to return, and counts."""

    def __init__(self, *waits: int | None) -> None:
        self.waits = list(waits)
        self.calls = 0
        self.called = threading.Semaphore(0)

    def __call__(self) -> int | None:
        self.calls += 1
        self.called.release()
        return self.waits.pop(0) if self.waits else None

    def awaits(self) -> None:
        """Waits for one more call."""
        assert self.called.acquire(timeout=DEADLINE)


def test_a_step_is_called_again_when_its_time_has_come() -> None:
    timer, steps = ThreadTimer("test"), Steps(30, 20)
    began = timer.now()
    timer.start(steps)
    for _ in range(3):
        steps.awaits()
    assert timer.now() - began >= 50
    timer.stop()
    assert steps.calls == 3


def test_a_step_that_waits_for_nothing_is_called_when_it_is_woken() -> None:
    timer, steps = ThreadTimer("test"), Steps()
    timer.start(steps)
    for _ in range(3):
        steps.awaits()
        timer.wake()
    steps.awaits()
    timer.stop()
    assert steps.calls == 4


def test_a_wake_while_the_step_runs_is_not_lost() -> None:
    timer, calls, done = ThreadTimer("test"), list[int](), threading.Event()

    def step() -> None:
        calls.append(1)
        if len(calls) == 1:
            timer.wake()
        else:
            done.set()

    timer.start(step)
    assert done.wait(DEADLINE)
    timer.stop()


def test_a_timer_that_was_stopped_has_no_thread() -> None:
    before = threading.active_count()
    timer, steps = ThreadTimer("test"), Steps(3_600_000)
    timer.start(steps)
    steps.awaits()
    assert threading.active_count() == before + 1
    timer.stop()
    assert threading.active_count() == before
    timer.stop()


def test_a_step_may_stop_its_own_timer() -> None:
    timer, ended = ThreadTimer("test"), threading.Event()

    def step() -> int:
        timer.stop()
        ended.set()
        return 1

    timer.start(step)
    assert ended.wait(DEADLINE)
    timer.stop()


def test_a_waiting_producer_takes_no_time_of_the_processor() -> None:
    # weakness 4 of the proof of concept: a busy loop. Here a record is quiet for long, and the thread sleeps.
    virtual = VirtualTimer()
    broker = VirtualBroker(virtual)
    inner = VirtualProducer(broker)
    timer = ThreadTimer("measured")
    given = {"progress.control.start.ms": 3_600_000}
    with ProgressProducer(inner, given, cluster=VirtualCluster(broker), timer=timer) as producer:
        (thread,) = [one for one in threading.enumerate() if one.name == "measured"]
        assert thread.ident is not None
        clock = time.pthread_getcpuclockid(thread.ident)
        producer.produce("events", b"v", b"k", 0)
        producer.flush()
        polled = len(inner.calls)
        began, spent = time.monotonic(), time.clock_gettime(clock)
        threading.Event().wait(1.0)  # what is measured is that nothing happens
        spent = time.clock_gettime(clock) - spent
        assert time.monotonic() - began >= 1.0
        assert spent < 0.01, f"{spent:.3f} s of a second"
        assert len(inner.calls) - polled <= 2


def test_a_wait_of_thousands_of_years_is_a_wait() -> None:
    # longer than a thread can be told to wait for: the longest progress.control.start.ms
    timer, steps = ThreadTimer("test"), Steps(10**14)
    timer.start(steps)
    steps.awaits()
    timer.wake()
    steps.awaits()
    timer.stop()
    assert steps.calls == 2
