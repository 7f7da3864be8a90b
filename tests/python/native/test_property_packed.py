"""The way through shards (pack, sort, merge) gives what the oracle gives, however the rows are split and sharded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow import _native as native

from ..harness.examples import usually
from ..harness.families import FAMILIES, flags, often, some
from ..harness.tables import (
    Call,
    assert_windows,
    by_dynamic_gap,
    by_sessions,
    by_sliding,
    cut,
    gap_of,
    records,
    rows_of,
)
from ..oracle.records import null_keys, null_times
from ..oracle.sessions import bad_gaps, clamped_gaps
from ..scenes import keyed

SESSION = {"kind": "session", "gap": 5}
DYNAMIC = {"kind": "session", "gap_column": "gap", "longest_gap": 20}
SLIDING = {"kind": "sliding", "difference": 12, "resolution": 3}
ORACLES = {"session": by_sessions(5), "dynamic": by_dynamic_gap("gap", 20), "sliding": by_sliding(12, 3)}
PACKED = pa.schema(
    [pa.field("shard", pa.int32(), False), pa.field("first", pa.int64(), False), pa.field("block", pa.binary(), False)]
)
BY_ORDER = ("first", "last", "collect_list", "any_value", "path")


def spec(windows: dict[str, Any], aggregates: dict[str, Call], keys: Sequence[str], shards: int) -> str:
    """The plan that crosses to executors."""
    return json.dumps(
        {
            "keys": list(keys),
            "time": "ts",
            "tick": None,
            "windows": windows,
            "aggregates": [aggregate.plan(name) for name, aggregate in aggregates.items()],
            "op": False,
            "shards": shards,
        }
    )


def packed(query: Any, splits: Sequence[Sequence[pa.RecordBatch]]) -> tuple[pa.Table, Counter[str]]:
    """What the pack tasks of all splits send into the shuffle, and their counters together."""
    blocks, counters = list[pa.RecordBatch](), Counter[str]()
    for partition, batches in enumerate(splits):
        packer = query.packer(partition)
        for batch in batches:
            blocks += packer.push(batch)
        blocks += packer.finish()
        counters.update(packer.counters())
    return pa.Table.from_batches(blocks, PACKED), counters


def merged(query: Any, blocks: pa.Table, tasks: int, rows: int) -> pa.Table:
    """What the merge tasks give: each has whole shards, sorted by (shard, first), in batches of this many rows."""
    found: list[tuple[int, pa.RecordBatch]] = []
    for task in range(tasks):
        mine = [row for row in blocks.to_pylist() if row["shard"] % tasks == task]
        mine.sort(key=lambda row: (row["shard"], row["first"]))
        merger = query.merger()
        for batch in pa.Table.from_pylist(mine, PACKED).to_batches(rows):
            found += merger.push(batch)
        found += merger.finish()
    return pa.Table.from_batches([windows for _, windows in found], query.output_schema)


def refused(query: Any, block: bytes) -> None:
    """Merging the damaged block is an error."""
    with pytest.raises((ValueError, RuntimeError)):
        merged(query, pa.Table.from_pylist([{"shard": 0, "first": 0, "block": block}], PACKED), 1, 1)


@st.composite
def splits(draw: st.DrawFn, batches: Sequence[pa.RecordBatch]) -> list[list[pa.RecordBatch]]:
    """The batches dealt out to one to four splits, some of them perhaps empty."""
    count = draw(st.integers(1, 4))
    dealt: list[list[pa.RecordBatch]] = [[] for _ in range(count)]
    for batch in batches:
        dealt[draw(st.integers(0, count - 1))].append(batch)
    return dealt


@st.composite
def scattered(draw: st.DrawFn, values: st.SearchStrategy[Any], kind: pa.DataType, ties: bool) -> tuple[pa.Table, Any]:
    """Events of a few keys, and their splits. Without ties every time is there once for each key."""
    keys, times = st.integers(0, 4) | st.none(), st.integers(-40, 120) | st.none()
    gap = st.integers(1, 8) | st.sampled_from([None, -1, 0, 1, 19, 20, 21, 300])
    row = st.tuples(keys, times, often(values), st.integers(-3, 3), gap)
    rows = draw(some(row, 40)) if ties else draw(st.lists(row, max_size=40, unique_by=lambda row: row[:2]))
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], [], []]
    keys, times, xs, by, gaps = columns
    table = keyed(keys, times, gaps=gaps, x=pa.array(xs, kind), by=pa.array(by, pa.int64()), flag=flags(by))
    return table, draw(splits(cut(table, draw(st.lists(st.integers(0, 40), max_size=6)))))


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("kind", ["session", "dynamic", "sliding"])
@pytest.mark.parametrize("name", ["int64", "special floats", "wide decimal", "boolean", "string", "duration", "struct"])
def test_shards_and_splits_do_not_change_the_answer(name: str, kind: str, ties: bool) -> None:
    family, windows = FAMILIES[name], {"session": SESSION, "dynamic": DYNAMIC, "sliding": SLIDING}[kind]
    aggregates = family.aggregates()
    if ties:  # the order of equal times is open across splits
        aggregates = {name: aggregate for name, aggregate in aggregates.items() if aggregate.function not in BY_ORDER}

    @usually(10)
    @given(scattered(family.values, family.type, ties), st.integers(1, 40), st.integers(1, 3), st.integers(1, 9))
    def check(scene: tuple[pa.Table, Any], shards: int, tasks: int, rows: int) -> None:
        table, dealt = scene
        query = native.Query(spec(windows, aggregates, ["k"], shards), table.schema)
        blocks, counters = packed(query, dealt)
        assert set(blocks["shard"].to_pylist()) <= set(native.shard_keys(shards))
        result = merged(query, blocks, tasks, rows)
        assert_windows(rows_of(result, ["k"]), table, ["k"], ORACLES[kind], aggregates)
        members = records(table, ["k"])
        counted = (counters["records"], counters["null_keys"], counters["null_times"])
        assert counted == (table.num_rows, null_keys(members), null_times(members))
        gaps = bad_gaps(members, gap_of("gap")), clamped_gaps(members, gap_of("gap"), 20)
        assert (counters["bad_gaps"], counters["clamped_gaps"]) == (gaps if kind == "dynamic" else (0, 0))

    check()


def wide(times: list[int], keys: int = 1) -> pa.Table:
    """Events of some keys in turn, each with a text of 200 bytes that tells its row."""
    rows = range(len(times))
    return keyed([row % keys for row in rows], times, x=pa.array([f"{row:0200}" for row in rows])).drop_columns("id")


WIDE = {"n": Call("count"), "first": Call("first", ("x",)), "last": Call("last", ("x",)), "low": Call("min", ("x",))}


@pytest.mark.parametrize("windows", [SESSION, SLIDING], ids=["session", "sliding"])
def test_windows_leave_before_the_shard_ends(windows: dict[str, Any]) -> None:
    # 200,000 events of one key in order, 10 apart: each its own session; 40 MB of blocks and of results
    table = wide([10 * row for row in range(200_000)])
    query = native.Query(spec(windows, {"x": Call("first", ("x",))}, ["k"], 4), table.schema)
    blocks, _ = packed(query, [table.to_batches(10_000)])
    merger, early = query.merger(), 0
    for batch in blocks.sort_by([("shard", "ascending"), ("first", "ascending")]).to_batches(1):
        early += sum(piece.num_rows for _, piece in merger.push(batch))
    late = sum(piece.num_rows for _, piece in merger.finish())
    assert early + late >= 200_000
    assert late < (early + late) * 0.6


@pytest.mark.parametrize("windows", [SESSION, SLIDING], ids=["session", "sliding"])
def test_blocks_stay_small(windows: dict[str, Any]) -> None:
    # 100,000 events of one key, 10 apart: a block does not grow with the input
    table = wide([10 * row for row in range(100_000)])
    query = native.Query(spec(windows, WIDE, ["k"], 4), table.schema)
    blocks, _ = packed(query, [table.to_batches(10_000)])
    assert max(len(block) for block in blocks["block"].to_pylist()) < 200 * 1024
    assert blocks.num_rows > 100


@pytest.mark.parametrize("windows", [SESSION, SLIDING], ids=["session", "sliding"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_windows_that_leave_early_are_those_that_leave_late(windows: dict[str, Any], shuffled: bool) -> None:
    # this many bytes in one shard that windows leave in the middle of it, from splits that overlap in time
    random = np.random.default_rng(3)
    steps = random.choice([0, 1, 2, 5, 6, 7, 40], 240_000)
    times = np.cumsum(steps) - 200_000
    table = wide(times.tolist(), keys=7)
    if shuffled:
        table = table.take(pa.array(random.permutation(table.num_rows)))
    parts = [table.take(pa.array(np.arange(part, table.num_rows, 3))) for part in range(3)]
    aggregates = {"n": Call("count"), "low": Call("min", ("x",)), "high": Call("max", ("x",))}
    query = native.Query(spec(windows, aggregates, ["k"], 1), table.schema)
    batches, _ = query.run(table)
    expected = pa.Table.from_batches(batches)
    blocks, _ = packed(query, [part.to_batches(9_000) for part in parts])
    assert sum(len(block) for block in blocks["block"].to_pylist()) > 40 * 2**20
    got = merged(query, blocks, 1, 50)
    assert in_window_order(got).equals(in_window_order(expected))
    assert got.num_rows > 30_000


def in_window_order(result: pa.Table) -> pa.Table:
    """The rows by key, end and start, in one chunk."""
    window = result["window"].combine_chunks()
    flat = pa.table(
        {"k": result["k"], "end": window.field("end"), "start": window.field("start")}
        | {name: result[name] for name in result.column_names if name not in ("k", "window")}
    )
    return flat.sort_by([("k", "ascending"), ("end", "ascending"), ("start", "ascending")]).combine_chunks()


@pytest.mark.parametrize("damage", [b"", b"\0", b"windrow", b"\xff" * 100])
def test_a_block_that_is_no_block_is_an_error_and_no_panic(damage: bytes) -> None:
    refused(native.Query(spec(SESSION, {"n": Call("count")}, ["k"], 4), wide([1]).schema), damage)


def test_cut_off_blocks_are_errors_and_no_panics() -> None:
    table = wide([*range(100)], keys=2)
    query = native.Query(spec(SESSION, {"all": Call("collect_list", ("x",))}, ["k"], 1), table.schema)
    blocks, _ = packed(query, [table.to_batches()])
    block = blocks["block"][0].as_py()
    lengths = range(0, len(block), max(1, len(block) // 60))
    assert len(lengths) > 30
    for length in lengths:
        refused(query, block[:length])
