"""Rare keys of a run in one process: the few rows that wait for others do not hold on to all that came with them."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ROWS, BATCHES, HOT = 1 << 16, 120, "h" * 100

PEAK = f"""
import re
import numpy as np
import pyarrow as pa
import windrow as wr

schema = pa.schema([("key", pa.KIND()), ("ts", pa.timestamp("us"))])
names = pa.array(["{HOT}", *(f"{{number:0100d}}" for number in range(40))])

def batches():
    # One hot key, and RARE others of one row each, 40 of them in turn: all keys are as wide.
    for number in range({BATCHES}):
        which = np.zeros({ROWS}, np.int32)
        which[1000::1600][:RARE] = 1 + (number * RARE + np.arange(RARE)) % 40
        times = pa.array(np.arange({ROWS}) + number * {ROWS}).cast(pa.timestamp("us"))
        yield pa.record_batch([names.take(pa.array(which)).cast(pa.KIND()), times], schema=schema)

def peak():
    # Not ru_maxrss, which a child inherits from its parent.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

before = peak()
reader = pa.RecordBatchReader.from_batches(schema, batches())
windows = wr.SessionWindows.with_gap("5 minutes")
sessions = wr.group_by(reader, "key", time="ts").windowed_by(windows).threads(THREADS).agg(n=wr.count())
assert sessions.num_rows == 41
print(peak() - before)
"""


def kibibytes(kind: str, rare: int, threads: int) -> int:
    source = PEAK.replace("KIND", kind).replace("RARE", str(rare)).replace("THREADS", str(threads))
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.soak), 2])
@pytest.mark.parametrize("rare", [1, 40])
@pytest.mark.parametrize("kind", ["string", "string_view"])
def test_rare_keys_hold_on_to_few_steps_of_a_run(kind: str, rare: int, threads: int) -> None:
    keys = BATCHES * ROWS * len(HOT) // 1024
    assert kibibytes(kind, rare, threads) < keys / 2, f"half of all keys, {keys} KiB"
