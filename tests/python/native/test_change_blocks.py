"""Changes on their way to the last step of a stream: blocks of a bounded size, of the columns that it needs."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.stream.change_block import blocks_of, rows_of
from windrow.stream.pack import pack
from windrow.stream.query import StreamQuery
from windrow.stream.shard import changes

from ..harness.row_steps import LocalRows
from ..harness.steps import DictState, LocalStream

LARGEST = 256 << 10
HUMONGOUS = 512 << 10
"""Half of the least region of the JVM's heap."""


def size(block: bytes, rows: pa.RecordBatch) -> int:
    """The bytes of a block: the fewer of before and after it is compressed."""
    return min(len(block), rows.nbytes)


def sizes(batch: pa.RecordBatch) -> list[tuple[int, int]]:
    """The rows of each block, and its size; together they are those of the batch."""
    blocks = list(blocks_of(batch))
    received = list(rows_of(iter([pa.record_batch([pa.array(blocks, pa.binary())], names=["block"])])))
    assert pa.Table.from_batches(received, batch.schema).equals(pa.table(batch))
    assert all(len(block) < HUMONGOUS or rows.num_rows == 1 for block, rows in zip(blocks, received, strict=True))
    return [(rows.num_rows, size(block, rows)) for block, rows in zip(blocks, received, strict=True)]


@pytest.mark.parametrize(
    ("rows", "blocks"),
    [
        (1, [1]),
        (65_535, [65_535]),
        (65_536, [65_536]),
        (65_537, [32_768, 32_769]),
        (262_145, [65_536, 65_536, 65_536, 32_768, 32_769]),
    ],
)
def test_a_block_has_at_most_512_kib_before_it_is_compressed(rows: int, blocks: list[int]) -> None:
    batch = pa.record_batch([pa.array([7] * rows, pa.int64())], names=["n"])
    assert [count for count, _ in sizes(batch)] == blocks


@pytest.mark.parametrize(
    ("rows", "blocks"),
    [
        (32_767, [32_767]),
        (32_768, [32_768]),
        (32_769, [16_384, 16_385]),
        (65_536, [32_768, 32_768]),
    ],
)
def test_a_block_that_no_compression_makes_smaller_has_at_most_256_kib(rows: int, blocks: list[int]) -> None:
    draw = random.Random(rows)
    batch = pa.record_batch([pa.array([draw.getrandbits(63) for _ in range(rows)])], names=["n"])
    assert [count for count, _ in sizes(batch)] == blocks


@pytest.mark.parametrize("columns", [1, 20, 1_000])
def test_blocks_of_values_that_no_compression_makes_smaller_are_not_larger_than_half_a_region(columns: int) -> None:
    draw = random.Random(columns)
    rows = [pa.array([draw.getrandbits(63) for _ in range(50_000 // columns)]) for _ in range(columns)]
    assert sum(size for _, size in sizes(pa.record_batch(rows, names=[f"c{n}" for n in range(columns)]))) >= 400_000


def test_names_that_are_longer_than_a_block_do_not_cut_it_into_rows() -> None:
    names = [f"{n}{'x' * 5_000}" for n in range(100)]  # half a megabyte, in each block
    rows = pa.array(range(400), pa.int64())
    assert len(list(blocks_of(pa.record_batch([rows] * 100, names=names)))) <= 2


def test_no_rows_are_no_block() -> None:
    assert list(blocks_of(pa.record_batch([pa.array([], pa.int64())], names=["n"]))) == []


def test_rows_of_very_different_sizes_are_in_blocks_of_at_most_256_kib_or_alone() -> None:
    # ..|........X.X.........| : two rows of a megabyte among ten thousand of few bytes
    texts = ["x"] * 10_000
    texts[4_000] = texts[4_002] = random.Random(0).randbytes(1 << 19).hex()
    lists = [[1, 2]] * 9_999 + [list(range(200_000))]
    batch = pa.record_batch([pa.array(texts), pa.array(lists, pa.list_(pa.int64()))], names=["text", "list"])
    found = sizes(batch.slice(1))
    assert all(rows == 1 or size <= LARGEST for rows, size in found)
    assert sum(size > LARGEST for _, size in found) == 3


def test_nulls_of_deletes_take_next_to_nothing() -> None:
    keys = pa.array(range(10_000))
    alone = pa.record_batch([keys], names=["key"])
    deletes = pa.record_batch([keys, pa.nulls(10_000, pa.float64())], names=["key", "sum"])  # 80,000 bytes more
    [few], [more] = blocks_of(alone), blocks_of(deletes)
    assert len(few) < alone.nbytes
    assert len(more) < len(few) + 2_000


def definition(emit: Any, late: Any = "drop") -> Any:
    windows = wr.SessionWindows.with_gap("5 seconds", grace="1 second")
    return lambda data: (
        wr.group_by(data, "key", time="ts")
        .windowed_by(windows)
        .emit(emit)
        .late(late)
        .agg(n=wr.count(), time=wr.max("v"))
    )


@pytest.mark.parametrize(
    ("asked", "columns"),
    [
        (definition("close"), ["key", "window", "n", "time"]),
        (definition("close", "emit"), ["key", "window", "n", "time", "op"]),
        (definition("update"), ["key", "window", "n", "time", "op"]),
    ],
    ids=["close", "late", "update"],
)
def test_a_shard_gives_the_columns_of_the_result(asked: Any, columns: list[str]) -> None:
    schema = pa.schema([("key", pa.string()), ("ts", pa.timestamp("us")), ("v", pa.int64())])
    stream = LocalStream(asked, schema, shards=1)
    query, state, seen = StreamQuery(stream.asked), DictState(), list[list[str]]()
    for start in (0, 60, 120):
        ts = datetime.datetime(2026, 11, 24) + datetime.timedelta(seconds=start)
        table = pa.table({"key": ["a", "b"], "ts": [ts, ts], "v": [1, 2]}, schema=schema)
        for block, _ in changes(stream.received([table])[0], state, query):
            seen += [pa.ipc.open_stream(block).schema.names] if block else []
    assert seen
    assert all(names == columns for names in seen)


@pytest.mark.parametrize(
    "windows",
    [
        wr.SessionWindows.with_gap("5 seconds", grace="1 second"),
        wr.SlidingWindows.with_time_difference("5 seconds", grace="1 second"),
    ],
    ids=["sessions", "sliding"],
)
def test_records_that_are_left_out_leave_in_small_blocks_too(windows: Any) -> None:
    schema = pa.schema([("key", pa.string()), ("ts", pa.timestamp("us")), ("url", pa.string())])
    stream = LocalRows(lambda data: wr.group_by(data, "key", time="ts").windowed_by(windows), schema)
    draw = random.Random(0)
    urls = [f"{draw.getrandbits(800):0200x}" for _ in range(10_000)]
    columns = [pa.nulls(10_000, pa.string()), pa.array([0] * 10_000, pa.timestamp("us")), pa.array(urls)]
    batch = pa.record_batch(columns, schema)
    packed = [row for rows in pack(iter([batch]), stream.asked) for row in rows.to_pylist() if row["source"] == "null"]
    blocks = pa.record_batch([pa.array([row["block"] for row in packed], pa.binary())], names=["block"])
    left_out = list(rows_of(iter([blocks])))
    assert [url for rows in left_out for url in rows.column("url").to_pylist()] == urls
    assert len(left_out) > 1
    assert all(size(row["block"], rows) <= LARGEST for row, rows in zip(packed, left_out, strict=True))
