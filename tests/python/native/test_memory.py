"""Memory of a process: rare keys hold on to few rows of others, and batches of a result to few of the whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ROWS, BATCHES, HOT = 1 << 16, 120, "h" * 100

PEAK = """
import re
import numpy as np
import pyarrow as pa
import windrow as wr

def peak():
    # Not ru_maxrss, which a child inherits from its parent.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""
KEYS = f"""
schema = pa.schema([("key", pa.KIND()), ("ts", pa.timestamp("us"))])
names = pa.array(["{HOT}", *(f"{{number:0100d}}" for number in range(40))])

def batches():
    # One hot key, and RARE others of one row each, 40 of them in turn: all keys are as wide.
    for number in range({BATCHES}):
        which = np.zeros({ROWS}, np.int32)
        which[1000::1600][:RARE] = 1 + (number * RARE + np.arange(RARE)) % 40
        times = pa.array(np.arange({ROWS}) + number * {ROWS}).cast(pa.timestamp("us"))
        yield pa.record_batch([names.take(pa.array(which)).cast(pa.KIND()), times], schema=schema)

before = peak()
reader = pa.RecordBatchReader.from_batches(schema, batches())
windows = wr.SessionWindows.with_gap("5 minutes")
sessions = wr.group_by(reader, "key", time="ts").windowed_by(windows).threads(THREADS).agg(n=wr.count())
print(sessions.num_rows, peak() - before)
"""
RESULT = f"""
from windrow._executor import blocks

blocks._TOGETHER = TOGETHER
schema = pa.schema([("key", pa.int64()), ("ts", pa.timestamp("us"))])

def batches():
    for number in range(160):
        times = pa.array((np.arange({ROWS}) + number * {ROWS}) * 1000).cast(pa.timestamp("us"))
        yield pa.record_batch([pa.array(np.arange({ROWS}) % KEYS), times], schema=schema)

reader = pa.RecordBatchReader.from_batches(schema, batches())
query = wr.group_by(reader, "key", time="ts").windowed_by(wr.SlidingWindows.with_time_difference("1 second"))
before = peak()
windows = sum(batch.num_rows for batch in query.to_reader(n=wr.count()))
print(windows, peak() - before)
"""


def windows_and_kibibytes(source: str, **values: object) -> tuple[int, int]:
    """What a program prints, in which these names are values."""
    for name, value in values.items():
        source = source.replace(name, str(value))
    done = subprocess.run([sys.executable, "-c", PEAK + source], capture_output=True, text=True, check=True)
    windows, peak = map(int, done.stdout.split())
    return windows, peak


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.soak), 2])
@pytest.mark.parametrize("rare", [1, 40])
@pytest.mark.parametrize("kind", ["string", "string_view"])
def test_rare_keys_hold_on_to_few_steps_of_a_run(kind: str, rare: int, threads: int) -> None:
    keys = BATCHES * ROWS * len(HOT) // 1024
    windows, peak = windows_and_kibibytes(KEYS, KIND=kind, RARE=rare, THREADS=threads)
    assert windows == 41
    assert peak < keys / 2, f"half of all keys, {keys} KiB"


@pytest.mark.parametrize(
    ("keys", "together", "share"),
    [(5, 128, 0.75), (4999, 128, 0.75), pytest.param(5, 10_000, 1, id="blocks as Spark brings them")],
)
def test_batches_hold_less_than_the_result(keys: int, together: int, share: float) -> None:
    windows, peak = windows_and_kibibytes(RESULT, KEYS=keys, TOGETHER=together)
    result = windows * 32 // 1024  # a key, two bounds and a count of eight bytes each
    assert windows > 10_000_000
    assert peak < share * result, f"{peak} KiB, where the result has {result}"
