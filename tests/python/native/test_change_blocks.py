"""Changes on their way to the last step of a stream: blocks of a bounded size, of the columns that it needs."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.stream.change_block import block_of, blocks_of, rows_of
from windrow.stream.query import StreamQuery
from windrow.stream.shard import changes

from ..harness.steps import DictState, LocalStream

LARGEST = 512 << 10
SECOND = 1_000_000


def sizes(batch: pa.RecordBatch) -> list[tuple[int, int]]:
    """The rows of each block, and their bytes before they are compressed; together they are those of the batch."""
    blocks = list(blocks_of(batch))
    received = list(rows_of(iter([pa.record_batch([pa.array(blocks, pa.binary())], names=["block"])])))
    assert pa.Table.from_batches(received, batch.schema).equals(pa.table(batch))
    return [(rows.num_rows, rows.nbytes) for rows in received]


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
def test_a_block_has_at_most_512_kib(rows: int, blocks: list[int]) -> None:
    batch = pa.record_batch([pa.array(range(rows), pa.int64())], names=["n"])
    assert [count for count, _ in sizes(batch)] == blocks


def test_no_rows_are_no_block() -> None:
    assert list(blocks_of(pa.record_batch([pa.array([], pa.int64())], names=["n"]))) == []


def test_rows_of_very_different_sizes_are_in_blocks_of_at_most_512_kib_or_alone() -> None:
    # ..|........X.X.........| : two rows of a megabyte among ten thousand of few bytes
    texts = ["x"] * 10_000
    texts[4_000] = texts[4_002] = "y" * (1 << 20)
    lists = [[1, 2]] * 9_999 + [list(range(200_000))]
    batch = pa.record_batch([pa.array(texts), pa.array(lists, pa.list_(pa.int64()))], names=["text", "list"])
    found = sizes(batch.slice(1))
    assert all(rows == 1 or size <= LARGEST for rows, size in found)
    assert sum(size > LARGEST for _, size in found) == 3


def test_a_block_is_as_long_as_what_it_tells() -> None:
    # A day of deletes: all nulls but the key and the window. Uncompressed it has 3 x 8 bytes a row more.
    batch = pa.record_batch([pa.array(range(10_000)), pa.nulls(10_000, pa.float64())], names=["key", "sum"])
    assert len(block_of(batch)) < batch.nbytes / 2


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
