"""The open windows in the state of a stream without Spark: the table that runs over the micro-batches give."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state

from ..harness.daily_jobs import instant
from ..harness.steps import LocalStream
from ..harness.tables import assert_same, rows_of

UTC = pa.timestamp("us", "UTC")
SCHEMA = pa.schema({"k": pa.string(), "ts": UTC, "v": pa.int64(), "gap": pa.duration("us")})
TICK = timedelta(microseconds=1)
BUILT_IN: dict[str, Any] = {"n": wr.count(), "total": wr.sum("v"), "all": wr.collect_list("v"), "low": wr.min("v")}
SUMS: dict[str, Any] = {"n": wr.count(), "total": wr.sum("v")}
FUNCTIONS: dict[str, Any] = {"n": wr.count(), "most": wr.reduce("v", max), "total": wr.sum("v")}


def windows_of(draw: random.Random, kind: str) -> Any:
    grace = draw.randint(0, 8)
    if kind == "sliding":
        return wr.SlidingWindows.with_time_difference(5 * TICK, grace=grace * TICK, resolution=TICK)
    if kind == "dynamic":
        return wr.SessionWindows.with_dynamic_gap("gap", grace=grace * TICK)
    return wr.SessionWindows.with_gap(4 * TICK, grace=grace * TICK)


def records(draw: random.Random, start: int, count: int) -> pa.Table:
    """Records about a time, some far behind it."""
    times = [start + draw.choice([draw.randint(-9, 9), draw.randint(-40, 9)]) for _ in range(count)]
    keys = [draw.choice(["a", "b", "", None]) for _ in times]
    values, gaps = ([draw.randint(*bounds) for _ in times] for bounds in ((-99, 99), (1, 9)))
    columns = [
        pa.array(each, pa.int64()).cast(kind)
        for each, kind in zip((times, values, gaps), SCHEMA.types[1:], strict=True)
    ]
    return pa.table([pa.array(keys, pa.string()), *columns], schema=SCHEMA)


def shown(rows: pa.Table) -> tuple[Any, int]:
    """The open windows, and the number of other rows."""
    windows = rows.filter(rows["window"].is_valid()).drop_columns(["stream_time", "state"])
    return rows_of(windows, ["k"]), rows.num_rows - windows.num_rows


@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
@pytest.mark.parametrize("aggregates", [SUMS, BUILT_IN, FUNCTIONS], ids=["sums", "built in", "functions"])
@pytest.mark.parametrize("mode", ["close", "update"])
@pytest.mark.parametrize("kind", ["session", "dynamic", "sliding"])
def test_the_table_is_that_of_runs_over_the_micro_batches(kind: str, mode: Any, aggregates: dict[str, Any]) -> None:
    seen = others_seen = late = 0
    for seed in range(10):
        draw = random.Random(f"{kind} {seed}")
        windows = windows_of(draw, kind)

        def query(data: Any, windows: Any = windows) -> Any:
            return wr.group_by(data, "k", time="ts").windowed_by(windows)

        stream = LocalStream(lambda data: query(data).emit(mode).agg(**aggregates), SCHEMA, shards=3, seed=seed)
        run: Any = None
        end = now = 100
        for number in range(draw.randint(1, 5)):
            batch = records(draw, now, draw.randint(1, 25))
            with_keys = batch.filter(batch["k"].is_valid())["ts"].cast(pa.int64()).to_pylist()
            end = max([end, *with_keys]) if number or not with_keys else max(with_keys)
            now += draw.randint(0, 12)
            if not with_keys and run is None:
                continue
            middle = draw.randint(0, len(batch))
            stream.push([batch[:middle], batch[middle:]])
            run = query(batch).advance(None if run is None else run.still_open, to=instant(end, UTC), **aggregates)
        if run is None:
            continue
        found, expected = stream.still_open(), run.still_open
        assert state.clock(found) == state.Clock(instant(end, UTC), 0)
        (windows_found, others), (brute, expected_others) = shown(found), shown(expected)
        assert_same(windows_found, brute, ["all"])
        assert others == expected_others
        if aggregates is SUMS:
            one, other = (
                set(each["state"].filter(each["stream_time"].is_null()).to_pylist()) for each in (found, run.still_open)
            )
            assert one == other
        far = instant(end + 10_000, UTC)
        closed = [query(SCHEMA.empty_table()).advance(each, to=far, **aggregates).closed for each in (found, expected)]
        assert_same(*(rows_of(each, ["k"]) for each in closed), unordered=["all"])
        seen, others_seen, late = seen + len(brute), others_seen + others - 1, late + stream.counters["late"]
    assert seen > 20
    assert late > 0
    assert (others_seen > 0) == (kind == "sliding")
