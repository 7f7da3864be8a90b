"""Sessions of a Parquet file by path: the workload of `make bench-check` that needs the package.

    from_file.py 1     reads the file and computes its sessions, on one thread
    from_file.py 0     only prepares: the same imports and the same query over an empty file

The difference between two counts of instructions is the work alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import events
import pyarrow as pa

import windrow as wr

FOLDER = Path(__file__).resolve().parents[2] / "target" / "from-file"
EVENTS = {1: 200_000, 0: 0}
SESSIONS = 15_484


def sessions(path: Path) -> pa.Table:
    """The sessions of the peers of `sessions.py`."""
    windowed = wr.group_by(str(path), "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    values = {"clicks": wr.count(), "spend": wr.sum("amount"), "low": wr.min("amount"), "high": wr.max("amount")}
    return windowed.threads(1).agg(**values)


def main() -> None:
    """Runs the workload, after a check of its answer."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    times = int(sys.argv[1])
    path = FOLDER / f"{EVENTS[times]}.parquet"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        events.write(path, EVENTS[times], "in order", "i64")
    rows = sessions(path).num_rows
    if rows != SESSIONS * times:
        sys.exit(f"{rows} sessions, not {SESSIONS * times}")


if __name__ == "__main__":
    main()
