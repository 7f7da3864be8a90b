"""Rare keys of a run in one process: the few rows that wait for others do not hold on to all that came with them."""

from __future__ import annotations

import subprocess
import sys

ROWS, BATCHES, HOT = 1 << 16, 120, "h" * 100

PEAK = f"""
import resource
import numpy as np
import pyarrow as pa
import windrow as wr

schema = pa.schema([("key", pa.string()), ("ts", pa.timestamp("us"))])
names = pa.array(["{HOT}", *(f"{{number:0100d}}" for number in range(40))])

def batches():
    # One hot key, and 40 others of one row each: all keys are as wide.
    for number in range({BATCHES}):
        which = np.zeros({ROWS}, np.int32)
        which[1000::1600][:40] = np.arange(1, 41)
        times = pa.array(np.arange({ROWS}) + number * {ROWS}).cast(pa.timestamp("us"))
        yield pa.record_batch([names.take(pa.array(which)), times], schema=schema)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak()
reader = pa.RecordBatchReader.from_batches(schema, batches())
windows = wr.SessionWindows.with_gap("5 minutes")
sessions = wr.group_by(reader, "key", time="ts").windowed_by(windows).threads(THREADS).agg(n=wr.count())
assert sessions.num_rows == 41
print(peak() - before)
"""


def kibibytes(threads: int) -> int:
    source = PEAK.replace("THREADS", str(threads))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_rare_keys_hold_few_steps_of_a_run() -> None:
    keys = BATCHES * ROWS * len(HOT) // 1024
    for threads in (1, 2):
        assert kibibytes(threads) < keys / 2, f"{threads} threads hold half of all keys ({keys} KiB)"
