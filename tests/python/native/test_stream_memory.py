"""Memory of a stream: it follows the windows that are stored and changed, not all that ever were."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

SETUP = """
import json
import re
import numpy as np
import pyarrow as pa
import windrow as wr
from windrow._native import Operator
from windrow.testing._definition import plan_of

SECOND, PUSHES = 1_000_000, 2_000
SCHEMA = pa.schema([("key", pa.int64()), ("ts", pa.timestamp("us")), ("gap", pa.duration("us"))])

def operator_of(windows, aggregate, **spec):
    plan = plan_of(lambda rows: wr.group_by(rows, "key", time="ts").windowed_by(windows).EMIT.agg(a=aggregate), SCHEMA)
    specification = plan.spec.fields
    specification["windows"] |= spec
    return Operator(json.dumps(specification), plan.schema, plan.folds())

def batch_of(keys, times):
    columns = pa.array(keys), pa.array(times).cast(pa.timestamp("us")), pa.array(np.full(len(keys), 5 * SECOND))
    columns = *columns[:2], columns[2].cast(pa.duration("us"))
    return pa.record_batch([column for column, name in zip(columns, SCHEMA.names) if name in USED], names=USED)

def kibibytes(entry):
    return int(re.search(entry + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""

CLOSED = """
USED = ["key", "ts", "gap"]
windows = wr.SessionWindows.with_dynamic_gap("gap", grace="1 minute", max_gap="1 day")
operator = operator_of(windows, wr.count(), **SPEC)
for push in range(PUSHES):
    operator.push(batch_of(push * 500 + np.arange(500), np.full(500, push * 10 * SECOND)))
    if push == PUSHES // 10:
        before = kibibytes("VmRSS")
assert operator.counters()["windows_open"] == 7 * 500
print(kibibytes("VmRSS") - before)
"""

TOUCHED = """
USED = ["key", "ts"]
operator = operator_of(wr.SessionWindows.with_gap("5 minutes", grace="1 minute", retention="1 day"), wr.count())
for push in range(PUSHES):
    operator.push(batch_of(np.arange(2_000), np.full(2_000, 10_000 * SECOND + push * SECOND // 100)))
    if push == PUSHES // 10:
        before = kibibytes("VmRSS")
assert operator.counters()["windows_open"] == 2_000
print(kibibytes("VmRSS") - before)
"""

OVERTAKEN = """
USED = ["key", "ts"]
counted = wr.aggregate(int, lambda held, row: held + 1, lambda a, b: a + b, schema="bigint", columns=["key"])
operator = operator_of(wr.SlidingWindows.with_time_difference("1 hour", grace="1 hour"), counted)
operator.push(batch_of(np.ones(1, np.int64), 10_000 * SECOND + np.zeros(1, np.int64)))  # what is loaded once
before = kibibytes("VmHWM")
operator.push(batch_of(np.zeros(1_500, np.int64), 10_000 * SECOND + SECOND * np.arange(1_500)))
print(kibibytes("VmHWM") - before)
"""

OVERTAKEN_PUSHES = """
USED = ["key", "ts"]
add = lambda held, row: held[:400] + bytes(40)
keys = wr.aggregate(bytes, add, lambda a, b: a + b, schema="binary", columns=["key"])
operator = operator_of(wr.SlidingWindows.with_time_difference("10 seconds", grace="1 minute"), keys)
for push in range(PUSHES):
    times = SECOND * (10_000 + 10 * push + np.arange(10))
    batches = operator.push(batch_of(np.zeros(10, np.int64), times))
    assert push == 0 or sum(batch.num_rows for batch in batches) == 29
    if push == PUSHES // 10:
        before = kibibytes("VmRSS")
print(kibibytes("VmRSS") - before)
"""


def growth(source: str, emit: str = "emit('close')", spec: str = "{}") -> int:
    """Kibibytes by which a process grows."""
    source = SETUP.replace("EMIT", emit) + source.replace("SPEC", spec)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("spec", ["{}", "{'longest_gap': None}"], ids=["gaps up to a day", "gaps of any length"])
def test_closed_sessions_of_short_gaps_leave_however_long_a_gap_may_be(spec: str) -> None:
    # 1,800 pushes of 500 sessions, some 150 bytes each, of which the last 3,500 are open.
    assert growth(CLOSED, spec=spec) < 16 << 10


def test_sessions_that_continue_are_queued_for_closing_a_few_times_each() -> None:
    # 2,000 sessions that 1,800 pushes make longer.
    assert growth(TOUCHED) < 16 << 10


def test_updates_that_later_ones_of_the_batch_replace_are_not_kept() -> None:
    # 1,500 records of one key in 2,999 windows, each of which changes up to 1,500 times.
    assert growth(OVERTAKEN, emit="emit('update')") < 32 << 10


def test_updates_that_later_ones_replace_leave_over_many_pushes() -> None:
    # 1,800 pushes of 10 records of one key: each push changes 29 windows, up to 10 times, with 440 bytes each time.
    assert growth(OVERTAKEN_PUSHES, emit="emit('update')") < 16 << 10
