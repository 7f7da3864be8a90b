"""Under a limit of memory a query in this process raises `MemoryError`, and the process continues."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from windrow._local import query as local_query

from ..scenes import all_at

pytestmark = pytest.mark.slow

SETUP = """
import re, resource
import numpy as np
import pyarrow as pa
import windrow as wr

ROWS = 1 << 16
schema = pa.schema([("key", pa.int64()), ("ts", pa.timestamp("us")), ("x", pa.int64())])

def batches():
    for number in range(BATCHES):
        at = np.arange(number * ROWS, (number + 1) * ROWS)
        columns = [pa.array(at % KEYS), pa.array(at * 1000).cast(pa.timestamp("us")), pa.array(at)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)

def taken():
    return 1024 * int(re.search(r"VmSize:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

# What is loaded and started before the first call is no part of the limit.
one = pa.table([pa.array([1]), pa.array([0]).cast(pa.timestamp("us")), pa.array([1])], schema=schema)
works = {
    "sliding": lambda data: query(data, wr.SlidingWindows.with_time_difference("1 second")).agg(n=wr.sum("x")),
    "sessions": lambda data: query(data, wr.SessionWindows.with_gap("100 microseconds")).agg(n=wr.sum("x")),
    "lists": lambda data: query(data, wr.SessionWindows.with_gap("1 hour")).agg(n=wr.collect_list("x")),
}

def query(data, windows):
    return wr.group_by(data, "key", time="ts").windowed_by(windows).threads(THREADS)

work = works[WORK]
work(one)
most = taken() + LIMIT * (1 << 20)
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (most, hard))
try:
    print("rows", work(pa.RecordBatchReader.from_batches(schema, batches())).num_rows)
except MemoryError as error:
    print("MemoryError", error)
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print("windows after the error:", work(one).num_rows)
"""


def run(work: str, limit: int, keys: int, threads: int = 1, batches: int = 120) -> tuple[int, str]:
    """The exit code, and what was printed."""
    given = {"WORK": repr(work), "LIMIT": limit, "KEYS": keys, "THREADS": threads, "BATCHES": batches}
    source = SETUP
    for name, value in given.items():
        source = re.sub(rf"\b{name}\b", str(value), source)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


# Limits of which some calls keep within and most do not.
@pytest.mark.parametrize("work", ["sliding", "sessions", "lists"])
@pytest.mark.parametrize("keys", [1, 4999])
@pytest.mark.parametrize("limit", [pytest.param(200, marks=pytest.mark.soak), 450])
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.soak), 2])
def test_a_call_beyond_the_limit_is_an_error(work: str, keys: int, limit: int, threads: int) -> None:
    code, printed = run(work, limit, keys, threads)
    assert code == 0, f"{signal.Signals(-code).name if code < 0 else code}: {printed}"
    assert "MemoryError" in printed or "rows" in printed, printed
    assert "windows after the error: 1" in printed


@pytest.mark.parametrize("work", ["sliding", "sessions"])
def test_a_limit_of_little_more_than_nothing_is_an_error_of_the_first_step(work: str) -> None:
    code, printed = run(work, 40, 10)
    assert (code, printed) == (
        0,
        "MemoryError out of memory: a block of 64 MiB was refused\nwindows after the error: 1\n",
    )


CLICKS = pa.table({"user": ["ann"] * 3, "ts": all_at(0, 1, 2), "x": [1, 2, None]})
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes")


@pytest.mark.parametrize(
    ("aggregate", "values", "size"),
    [
        # windows of 1, 2 and 3 records that end at one, and of 2 and 1 that begin behind one: 9 values
        (wr.collect_list("ts"), 9, 72),
        # 3 values of 8 bytes, one of them null: 16 bytes for 3 rows are 6 for each, rounded up
        (wr.collect_list("x"), 9, 54),
        (wr.collect_set("ts"), 9, 72),
        # of 9 values 3 are null
        (wr.collect_set("x"), 6, 36),
        # each item has 8 bytes for how often it occurs; a text has 14 with its offset
        (wr.top_k("ts"), 9, 144),
        (wr.top_k("ts", 2), 8, 128),
        (wr.top_k("ts", 1), 5, 80),
        (wr.top_k("user"), 5, 5 * 22),
        (wr.histogram_numeric("ts", 2), 8, 128),
        # the first record alone, which three windows hold
        (wr.collect_list("ts").where("first"), 3, 24),
        (wr.collect_set("user").where("first"), 3, 57),
    ],
    ids=str,
)
def test_every_list_of_overlapping_windows_is_refused_with_its_size(
    aggregate: wr.Aggregate, values: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = CLICKS.append_column("first", pa.array([True, False, None]))
    windowed = wr.group_by(table, "user", time="ts").windowed_by(SLIDING)
    monkeypatch.setattr(local_query, "free_memory", lambda: size)
    assert windowed.agg(x=aggregate).num_rows == 5
    monkeypatch.setattr(local_query, "free_memory", lambda: size - 1)
    printed = f"the lists of 5 windows have {values} values, 0 MiB, where 0 MiB are .*; allowed: .* over, .* to_reader"
    with pytest.raises(MemoryError, match=printed):
        windowed.agg(x=aggregate)
    # what goes to a function alone is made for some windows at a time
    applied = wr.apply(pc.list_value_length, "ts", schema="int")
    for alone in (aggregate.then(pc.list_value_length), applied):
        assert windowed.agg(n=alone).num_rows == 5
    with pytest.raises(MemoryError, match="windows have"):
        windowed.agg(x=aggregate, n=applied)
    assert windowed.agg(x=wr.count("x"), y=wr.percentile("x", [0.5, 1])).num_rows == 5
    assert windowed.to_reader(x=aggregate).read_all().num_rows == 5
    sessions = wr.group_by(table, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    assert sessions.agg(x=aggregate).num_rows == 1


def test_few_values_are_no_large_lists_however_many_records_have_them() -> None:
    rows = 1 << 17  # 8 values each in half of as many windows: lists of all would be 64 GiB
    times = pa.array(range(rows)).cast(pa.timestamp("us"))
    table = pa.table({"user": pa.repeat("ann", rows), "ts": times, "x": [number % 8 for number in range(rows)]})
    windowed = wr.group_by(table, "user", time="ts").windowed_by(SLIDING)
    got = windowed.agg(x=wr.collect_set("x"), top=wr.top_k("x", 1_000_000))
    assert set(pc.list_value_length(got["x"]).to_pylist()[8:-8]) == {8}
    with pytest.raises(MemoryError):
        windowed.agg(x=wr.collect_list("x"))


def test_lists_larger_than_any_machine_are_refused_at_once() -> None:
    rows = 1 << 19  # each in half of as many windows, on average: 2 TB
    times = pa.array(range(rows)).cast(pa.timestamp("us"))
    table = pa.table({"user": pa.repeat("ann", rows), "ts": times, "x": pa.array(range(rows))})
    windowed = wr.group_by(table, "user", time="ts").windowed_by(SLIDING)
    with pytest.raises(MemoryError, match=r"the lists of \d+ windows have \d{12} values, \d{7} MiB, where \d+ MiB are"):
        windowed.agg(x=wr.collect_list("x"))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_what_is_free(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = 70_000  # each with windows of 1, 2 and 1 of its two records
    times = pa.array([10_000, 10_060] * keys, pa.timestamp("s"))
    table = pa.table({"k": np.repeat(np.arange(keys), 2), "ts": times, "x": np.arange(2 * keys)})
    windowed = wr.group_by(table, "k", time="ts").windowed_by(SLIDING).threads(threads)
    size = 4 * keys * 8
    monkeypatch.setattr(local_query, "free_memory", lambda: size)
    assert windowed.agg(x=wr.collect_list("x")).num_rows == 3 * keys
    monkeypatch.setattr(local_query, "free_memory", lambda: size - 1)
    with pytest.raises(
        MemoryError, match=f"the lists of {3 * keys} windows have {4 * keys} values, 2 MiB, where 2 MiB"
    ):
        windowed.agg(x=wr.collect_list("x"))


@pytest.mark.parametrize(
    ("aggregates", "size"),
    [
        # a window of 3 rows, whose bounds take 17 bytes: a list of 3 values of 8 bytes, and where it ends
        ({"xs": wr.collect_list("ts")}, 3 * (17 + 4 + 24)),
        # of text the bytes of the values and where each ends; next to it a count
        ({"xs": wr.collect_list("user"), "n": wr.count()}, 3 * (17 + 4 + 3 * (3 + 4) + 8)),
        ({"xs": wr.max("user")}, 3 * (17 + 4 + 3)),
    ],
)
def test_lists_and_texts_for_every_row_of_a_session_are_refused_with_their_size(
    aggregates: dict[str, wr.Aggregate], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    windowed = wr.group_by(CLICKS, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    monkeypatch.setattr(local_query, "free_memory", lambda: size)
    assert windowed.with_columns(**aggregates)["xs"].to_pylist() == windowed.agg(**aggregates)["xs"].to_pylist() * 3
    monkeypatch.setattr(local_query, "free_memory", lambda: size - 1)
    printed = "what 1 windows hold, once for each of 3 rows, takes 0 MiB, where 0 MiB are free; allowed: .* agg, which"
    with pytest.raises(MemoryError, match=printed):
        windowed.with_columns(**aggregates)
    monkeypatch.setattr(local_query, "free_memory", lambda: 0)
    assert windowed.with_columns(n=wr.count(), last=wr.last("ts")).num_rows == 3


def test_a_list_of_a_long_session_for_each_of_its_rows_is_refused_before_it_is_made() -> None:
    rows = 1 << 18  # 8 bytes of a value in 2^36 places
    times = pa.array(range(rows)).cast(pa.timestamp("us"))
    table = pa.table({"user": pa.repeat("ann", rows), "ts": times, "x": pa.array(range(rows))})
    windowed = wr.group_by(table, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    printed = rf"what 1 windows hold, once for each of {rows} rows, takes 524\d{{3}} MiB, where \d+ MiB are free"
    with pytest.raises(MemoryError, match=printed):
        windowed.with_columns(xs=wr.collect_list("x"))


def test_what_is_free_is_bounded_by_the_limit_of_the_process() -> None:
    source = (
        "import resource\nfrom windrow._executor.free_memory import free_memory\nwhole = free_memory()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 32, resource.getrlimit(resource.RLIMIT_AS)[1]))\n"
        "print(0 < whole, 0 < free_memory() < 1 << 32)"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"
