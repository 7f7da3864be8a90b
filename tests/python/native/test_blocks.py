"""Packed rows in order: those that wait for the rows before them, and the check of those that do not."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pytest

from windrow._executor import blocks
from windrow._executor.blocks import in_order
from windrow._executor.run_blocks import RECORDS, packed_rows, shards_of

SCHEMA = pa.schema(
    {"shard": pa.int32(), "first": pa.int64(), "block": pa.binary(), "left_out": pa.binary(), "kind": pa.int32()}
)


def batches(rows: list[tuple[object, ...]], size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), size):
        columns = list(zip(*rows[start : start + size], strict=True))
        arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


@pytest.mark.parametrize("in_memory", [16 << 20, 1], ids=["in memory", "in a file"])
@pytest.mark.parametrize("count", [0, 1, 127, 128, 129, 700])
@pytest.mark.parametrize("order", [("shard", "first"), ("kind", "shard")])
def test_rows_come_by_the_columns_of_their_order(
    monkeypatch: pytest.MonkeyPatch, in_memory: int, count: int, order: tuple[str, ...]
) -> None:
    monkeypatch.setattr(blocks, "_IN_MEMORY", in_memory)
    chance = random.Random(count)
    rows = [
        (
            chance.randrange(-2, 3),
            chance.choice([-(2**63), 2**63 - 1, 0, chance.randrange(9)]),
            chance.choice([None, b"", chance.randbytes(40)]),
            chance.choice([None, b"", b"\xff"]),
            chance.randrange(3),
        )
        for _ in range(count)
    ]
    found = list(in_order(batches(rows, 50), order))
    wanted = sorted(rows, key=lambda row: [row[SCHEMA.get_field_index(name)] for name in order])  # equal rows stay
    assert [tuple(row.values()) for batch in found for row in batch.to_pylist()] == wanted
    assert all(batch.schema == SCHEMA and batch.num_rows <= 128 for batch in found)


def test_a_run_refuses_shards_out_of_order() -> None:
    rows = [(RECORDS, shard, b"") for shard in (3, 3, -1)]
    with pytest.raises(ValueError, match="packed rows: shard -1 comes out of order: sort them by shard"):
        list(shards_of(iter([packed_rows(rows)])))
    assert [shard for shard, _ in shards_of(iter([packed_rows(rows[::-1])]))] == [-1, 3]
