"""The open windows in the state of a stream without Spark: the table that runs over the micro-batches give."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state
from windrow.state._open_rows import pack_shards, rows_of_table, table_schema
from windrow.state._shard import opened

from ..harness.steps import LocalStream
from ..harness.tables import assert_same, rows_of

SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "v": pa.int64(),
        "gap": pa.duration("us"),
        "part": pa.int32(),
    }
)
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


def records(draw: random.Random, start: int, count: int) -> list[dict[str, Any]]:
    """Records about a time, some far behind it."""
    return [
        {
            "k": draw.choice(["a", "b", "", None]),
            "ts": start + draw.choice([draw.randint(-9, 9), draw.randint(-40, 9)]),
            "v": draw.randint(-99, 99),
            "gap": timedelta(microseconds=draw.randint(1, 9)),
            "part": draw.randrange(2),
        }
        for _ in range(count)
    ]


def table(rows: list[dict[str, Any]]) -> pa.Table:
    columns = {name: [row[name] for row in rows] for name in SCHEMA.names}
    times = pa.array(columns.pop("ts"), pa.int64()).cast(SCHEMA.field("ts").type)
    arrays = [times if name == "ts" else pa.array(columns[name], SCHEMA.field(name).type) for name in SCHEMA.names]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def instant(ticks: int) -> Any:
    return pa.scalar(ticks, pa.int64()).cast(SCHEMA.field("ts").type).as_py()


def open_table(stream: LocalStream, aggregates: dict[str, Any], batch: int) -> pa.Table:
    """The table of open windows, as the executors compute it."""
    names = [*stream.plan.key_names, "window", *aggregates, "stream_time"]
    entries = [
        {"shard": shard, "name": name, "page": page}
        for shard, pages in stream.states.items()
        for name, page in pages.pages.items()
    ]
    _, query = opened(dict(next(iter(stream.states.values())).pages))
    query = type(query)(query.spec, query.read, query.schema, query.accumulators, result(names))
    schema = table_schema(query).serialize().to_pybytes()
    packed = pack_shards(
        iter(pa.RecordBatch.from_pylist(entries[at : at + 7]) for at in range(0, len(entries), 7)), schema, batch
    )
    return pa.Table.from_batches(rows_of_table(packed, schema, len(stream.states)), table_schema(query))


def result(names: list[str]) -> str:
    return json.dumps({"fields": [{"name": name} for name in names]})


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
    for seed in range(8):
        draw = random.Random(f"{kind} {seed}")
        windows = windows_of(draw, kind)

        def query(data: Any, windows: Any = windows) -> Any:
            return wr.group_by(data, "k", time="ts").windowed_by(windows)

        stream = LocalStream(lambda data: query(data).emit(mode).agg(**aggregates), SCHEMA, shards=3, seed=seed)
        stream.shipment["result"] = result(["k", "window", *aggregates, "stream_time"])
        run: Any = None
        end = now = 100
        for number in range(draw.randint(1, 5)):
            batch = records(draw, now, draw.randint(1, 25))
            with_keys = [row["ts"] for row in batch if row["k"] is not None]
            end = max([end, *with_keys]) if number or not with_keys else max(with_keys)
            now += draw.randint(0, 12)
            if not with_keys and run is None:
                continue
            middle = draw.randint(0, len(batch))
            stream.push([table(batch[:middle]), table(batch[middle:])])
            run = query(table(batch)).advance(None if run is None else run.still_open, to=instant(end), **aggregates)
        if run is None:
            continue
        found, expected = open_table(stream, aggregates, 7), run.still_open
        assert state.clock(found) == state.Clock(instant(end), 7)
        (windows_found, others), (brute, expected_others) = shown(found), shown(expected)
        assert_same(windows_found, brute, ["all"])
        assert others == expected_others
        if aggregates is SUMS:
            states = [
                set(each["state"].filter(each["stream_time"].is_null()).to_pylist()) for each in (found, expected)
            ]
            assert states[0] == states[1]
        far = instant(end + 10_000)
        closed = [query(table([])).advance(each, to=far, **aggregates).closed for each in (found, expected)]
        assert_same(*(rows_of(each, ["k"]) for each in closed), unordered=["all"])
        seen, others_seen, late = seen + len(brute), others_seen + others - 1, late + stream.counters["late"]
    assert seen > 20
    assert late > 0
    assert (others_seen > 0) == (kind == "sliding")


CHANGED: dict[str, Any] = {"total": wr.sum("v"), "high": wr.max("v"), "least": wr.reduce("v", min), "n": wr.count()}
PLAIN: dict[str, Any] = {"total": wr.sum("v"), "high": wr.max("v"), "n": wr.count()}


@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
@pytest.mark.parametrize("aggregates", [PLAIN, CHANGED], ids=["built in", "functions"])
@pytest.mark.parametrize("kind", ["session", "dynamic", "sliding"])
def test_a_stream_continues_another_query(kind: str, aggregates: dict[str, Any]) -> None:
    """The windows that it closes are those of runs under the new query."""
    unknown = known = 0
    for seed in range(8):
        draw = random.Random(f"{kind} {seed}")
        before, after = windows_of(draw, kind), windows_of(draw, kind)
        if kind == "session" and seed % 2:
            after = wr.SessionWindows.with_gap(draw.randint(4, 9) * TICK, grace=draw.randint(0, 8) * TICK)

        def query(data: Any, windows: Any) -> Any:
            return wr.group_by(data, "k", time="ts").windowed_by(windows)

        old = LocalStream(lambda data, before=before: query(data, before).agg(**FUNCTIONS), SCHEMA, shards=2, seed=seed)
        old.shipment["result"] = result(["k", "window", *FUNCTIONS, "stream_time"])
        rows = records(draw, 100, 30)
        old.push([table(rows)])
        left = open_table(old, FUNCTIONS, 0)
        new = LocalStream(
            lambda data, after=after, left=left: query(data, after).start_from(left).agg(**aggregates),
            SCHEMA,
            shards=3,
            seed=seed,
        )
        now, end, closed, expected = 100, ticks_of(left), list[pa.Table](), list[pa.Table]()
        for number in range(4):
            now += draw.randint(0, 9) if number < 3 else 1000
            batch = records(draw, now, draw.randint(1, 20))
            end = max([end, *(row["ts"] for row in batch if row["k"] is not None)])
            closed += map(pa.Table.from_batches, ([each] for each in new.push_batches([table(batch)])))
            run = query(table(batch), after).advance(left, to=instant(end), **aggregates)
            left = run.still_open
            expected.append(run.closed)
        found = rows_of(pa.concat_tables(closed), ["k"])
        assert_same(found, rows_of(pa.concat_tables(expected).cast(closed[0].schema), ["k"]))
        unknown += sum(values["high"] is None for values in found.values())
        known += sum(values["high"] is not None for values in found.values())
    assert unknown > 5
    assert known > 20


def ticks_of(rows: pa.Table) -> int:
    """The time of the clock row."""
    (ticks,) = rows["stream_time"].drop_null().cast(pa.int64()).to_pylist()
    return int(ticks)
