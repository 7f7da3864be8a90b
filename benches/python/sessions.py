"""Sessions: windrow beside Spark's session_window, Polars and DuckDB, in one run, one process each; answers compared.

    python benches/python/sessions.py                          10 M events, all shapes
    python benches/python/sessions.py --events 200000 --repeats 1
    python benches/python/sessions.py --peer Polars --key i64 --order shuffled
    target/versions/3.5/bin/python benches/python/sessions.py --spark     with another PySpark, see make test-versions

Prints events per second (medians of the repeats after a first run), the ratio of windrow to each peer of its kind,
and the formulation that counted. Exit 1 when two answers differ.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import events
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peers import PEERS

# which windrow a peer is measured against
AGAINST = {
    "Spark session_window": "windrow in Spark",
    "Polars": "windrow in-process",
    "DuckDB": "windrow in-process",
    "Polars from Parquet": "windrow from Parquet",
    "DuckDB from Parquet": "windrow from Parquet",
    "left_out in Spark": "windrow in Spark",
    "left_out in-process": "windrow in-process",
}


def measure(peer: str, path: Path, order: str, repeats: int, answer: Path) -> dict[str, object]:
    """Runs one peer in this process: every formulation once, then the fastest `repeats` times."""
    queries = PEERS[peer](path, order)
    first: dict[str, float] = {}
    for name, query in queries.items():
        begin = time.perf_counter()
        query()
        first[name] = time.perf_counter() - begin
    fastest = min(first, key=first.__getitem__)
    seconds, give = [], queries[fastest]
    for _ in range(repeats):
        begin = time.perf_counter()
        rows = give()
        seconds.append(time.perf_counter() - begin)
    pq.write_table(canonical(rows()), answer)
    return {"formulation": fastest, "seconds": seconds}


def canonical(sessions: pa.Table) -> pa.Table:
    """Sorted by user and start, bounds in microseconds, the same types from every peer."""
    user = pa.string() if not pa.types.is_integer(sessions.schema.field("user").type) else pa.int64()
    types = {"user": user, "start": pa.timestamp("us"), "end": pa.timestamp("us"), "clicks": pa.int64()}
    columns = {}
    for name in ("user", "start", "end", "clicks", "spend", "low", "high"):
        column = sessions[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).cast(pa.timestamp("us"))
        columns[name] = column.cast(types.get(name, pa.float64()))
    return pa.table(columns).sort_by([("user", "ascending"), ("start", "ascending")])


def differs(one: pa.Table, other: pa.Table) -> str | None:
    """What two answers differ in: everything exact, sums of floats within 1e-9."""
    if one.num_rows != other.num_rows:
        return f"{one.num_rows} sessions and {other.num_rows}"
    for name in one.column_names:
        left, right = (side[name].combine_chunks() for side in (one, other))
        if name == "spend":
            same = np.allclose(left.to_numpy(), right.to_numpy(), rtol=1e-9, atol=0)
        else:
            same = left.equals(right)
        if not same:
            return f"column {name}"
    return None


def in_own_process(peer: str, path: Path, order: str, repeats: int, answer: Path) -> dict[str, object]:
    """The same, in a process of its own, so that no peer lives with another's memory or threads."""
    call = [sys.executable, __file__, "--child", str(path), str(answer)]
    call += ["--peer", peer, "--order", order, "--repeats", str(repeats)]
    done = subprocess.run(call, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{peer} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def compare(options: argparse.Namespace, order: str, key: str, folder: Path) -> bool:
    """One shape of events: all peers, one table. Whether the answers agree."""
    path = folder / "events.parquet"
    events.write(path, options.events, order, key, options.users)
    speed: dict[str, float] = {}
    reference: pa.Table | None = None
    agree = True
    print(f"\nsessions, {options.events:,} events, {order}, {key} key")
    for peer in options.peer or PEERS:
        answer = folder / "answer.parquet"
        result = in_own_process(peer, path, order, options.repeats, answer)
        speed[peer] = options.events / statistics.median(result["seconds"])
        rows = pq.read_table(answer)
        reference = rows if reference is None else reference
        difference = differs(reference, rows)
        agree = agree and difference is None
        ours = speed.get(AGAINST.get(peer, ""))
        ratio = f"{AGAINST[peer]} is {ours / speed[peer]:.2f} times as fast" if ours else ""
        wrong = "" if difference is None else f"  DIFFERS: {difference}"
        line = f"  {peer:<21} {speed[peer] / 1e6:7.2f} M events/s  {ratio:<43} {result['formulation']}{wrong}"
        print(line.rstrip(), flush=True)
    sessions = reference.num_rows if reference is not None else 0
    print(f"  {sessions:,} sessions, {'all answers agree' if agree else 'ANSWERS DIFFER'}")
    return agree


def main() -> int:
    """Measures one peer as the child, all of them as the parent."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--events", type=int, default=10_000_000)
    options.add_argument("--users", type=int, help="how many keys the events have (default: one for 100 events)")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--peer", action="append", choices=PEERS, help="only this one (again for more)")
    options.add_argument("--spark", action="store_true", help="only windrow in Spark and session_window")
    options.add_argument("--order", action="append", choices=events.ORDERS)
    options.add_argument("--key", action="append", choices=events.KEYS)
    options.add_argument("--child", nargs=2, metavar=("EVENTS", "ANSWER"), help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        path, answer = map(Path, chosen.child)
        print(json.dumps(measure(chosen.peer[0], path, chosen.order[0], chosen.repeats, answer)))
        return 0
    if chosen.spark:
        chosen.peer = ["windrow in Spark", "Spark session_window"]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("pyspark", "pyarrow"))
    place = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
    print(f"{datetime.date.today()}, {place}, medians of {chosen.repeats}")
    agree = True
    with tempfile.TemporaryDirectory() as folder:
        for key in chosen.key or events.KEYS:
            for order in chosen.order or events.ORDERS:
                agree = compare(chosen, order, key, Path(folder)) and agree
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
