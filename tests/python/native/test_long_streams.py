"""Long streams: state, memory and the time of a micro-batch stay as they were, however many there have been.

`make soak` plays more micro-batches (WINDROW_MICRO_BATCHES).
"""

from __future__ import annotations

import gc
import os
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.steps import LocalStream

LONG = int(os.environ.get("WINDROW_MICRO_BATCHES", "2000"))
SHORT, WARM = 200, 20
MINUTE = 60_000_000
NOW = 20_454 * 24 * 60 * MINUTE
SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us")),
        ("amount", pa.int64()),
        ("pause", pa.duration("us")),
        ("part", pa.int32()),
        ("offset", pa.int64()),
        ("tick", pa.bool_()),
    ]
)


def joined(older: Any, later: Any) -> Any:
    return (older or 0) + (later or 0)


def sessions(data: Any) -> Any:
    grouped = wr.group_by(data, "user", time="ts", tick="tick")
    return grouped.windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="2 minutes")).agg(n=wr.count())


def updates(data: Any) -> Any:
    grouped = wr.group_by(data, "user", time="ts", tick="tick", source="part")
    windowed = grouped.windowed_by(wr.SessionWindows.with_dynamic_gap("pause", grace="2 minutes"))
    return windowed.emit("update").late("emit").agg(n=wr.count(), spend=wr.sum("amount"))


def python(data: Any) -> Any:
    grouped = wr.group_by(data, "user", time="ts", tick="tick", source="part", order="offset")
    windows = wr.SlidingWindows.with_time_difference("5 minutes", grace="2 minutes")
    return grouped.windowed_by(windows).agg(n=wr.count(), spend=wr.reduce("amount", joined))


QUERIES = {query.__name__: query for query in (sessions, updates, python)}


def micro_batch(number: int) -> pa.Table:
    """A minute of twenty users who stay and ten who come once; some records are late, some rows tick."""
    draw, rows = random.Random(number), []
    for place in range(40):
        late = draw.uniform(3, 60) if draw.random() < 0.05 else draw.uniform(0, 2)
        rows.append(
            {
                "user": f"user {draw.randrange(20)}" if place < 30 else f"visit {number} {place}",
                "ts": NOW + int((number + draw.random() - late) * MINUTE),
                "amount": place,
                "pause": draw.choice([1, 2, 5]) * MINUTE,
                "part": draw.randrange(2),
                "offset": 100 * number + place,
                "tick": draw.random() < 0.05,
            }
        )
    columns = {field.name: [row[field.name] for row in rows] for field in SCHEMA}
    types = {"ts": pa.int64(), "pause": pa.int64()}
    arrays = [pa.array(columns[field.name], types.get(field.name, field.type)).cast(field.type) for field in SCHEMA]
    return pa.table(arrays, schema=SCHEMA)


def resident() -> int:
    """The memory of this process, in KiB."""
    gc.collect()
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


def stays(query: str, count: int) -> str:
    """Plays micro-batches and fails unless the last ones are as the first ones; the figures."""
    stream, seconds, sizes, rows = LocalStream(QUERIES[query], SCHEMA, shards=2), [], [], 0
    part = min(100, count // 4)
    for number in range(count):
        table = micro_batch(number)
        if number == WARM + part:
            before = resident()
        started = time.process_time()
        rows += sum(batch.num_rows for batch in stream.push_batches([table.slice(0, 20), table.slice(20)]))
        seconds.append(time.process_time() - started)
        sizes.append(sum(len(page) for state in stream.states.values() for page in state.pages.values()))
    assert rows > 8 * count  # those who come once, at the least
    first, last = slice(WARM, WARM + part), slice(count - part, count)
    grown = resident() - before
    held = [statistics.median(sizes[first]), statistics.median(sizes[last])]
    medians = [1000 * statistics.median(seconds[first]), 1000 * statistics.median(seconds[last])]
    assert held[1] < 1.2 * held[0]
    assert grown < 30_000
    assert medians[1] < 2 * medians[0]
    return (
        f"{count} micro-batches of {query}: state {held[0]:.0f} then {held[1]:.0f} bytes, memory {grown:+} KiB, a "
        f"micro-batch {medians[0]:.1f} then {medians[1]:.1f} ms of the processor ({part} after {WARM}, last {part})"
    )


@pytest.mark.slow
@pytest.mark.parametrize("query", ["sessions", "python"])
def test_a_stream_stays_as_it_was(query: str) -> None:
    stays(query, SHORT)


@pytest.mark.soak
@pytest.mark.parametrize("query", QUERIES)
def test_a_long_stream_stays_as_it_was(query: str, soaked: Callable[[str], None]) -> None:
    soaked(stays(query, LONG))
