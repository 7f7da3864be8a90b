"""Sessions from one Parquet file on one thread, whose instructions `instructions.py` counts.

    python benches/python/from_file.py                           runs the workload once, prints its name and its rows
    python benches/python/from_file.py sessions-from-file TIMES  prepares it, and runs it so often

The file has 200,000 events in 8 row groups. To prepare, the same query runs over 1,000 events, which imports what it
needs. The answer is asserted.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import events
import pyarrow as pa
from peers import by_windrow

EVENTS = 200_000
SESSIONS = 15_484
NAME = "sessions-from-file"


def main() -> int:
    """Prepares the workload, and runs it."""
    times = int(sys.argv[2]) if sys.argv[1:] else 1
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with tempfile.TemporaryDirectory() as folder:
        few, all_events = Path(folder, "few.parquet"), Path(folder, "all.parquet")
        events.write(few, 1_000, "in order", "i64")
        events.write(all_events, EVENTS, "in order", "i64")
        by_windrow(str(few), threads=1)
        for _ in range(times):
            rows = len(by_windrow(str(all_events), threads=1))
            assert rows == SESSIONS, rows
    print(f"{NAME} {SESSIONS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
