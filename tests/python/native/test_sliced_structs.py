"""Structs in structs that begin within their buffers: slices, chunks of unlike lengths, parts that are slices."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 day")
FLAT = pa.array([{"c": number} for number in range(6)])
NESTED = pa.array([{"b": {"c": number}} for number in range(6)])


class Marked(pa.ExtensionType):
    """An extension over a struct."""

    def __init__(self) -> None:
        super().__init__(FLAT.type, "test.marked")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: pa.DataType, _serialized: bytes) -> Marked:
        return cls()


@pytest.fixture(scope="module", autouse=True)
def _known() -> Iterator[None]:
    pa.register_extension_type(Marked())
    yield
    pa.unregister_extension_type("test.marked")


DEEP = {
    "struct in struct": NESTED[:4],
    "array of structs": pa.array([[{"c": number}] for number in range(4)], pa.list_(pa.struct([("c", pa.int64())]), 1)),
    "struct of a slice": pa.StructArray.from_arrays([NESTED[2:]], ["a"]),
    "list of slices": pa.ListArray.from_arrays([0, 1, 2, 3, 4], NESTED[2:]),
    "array of a slice": pa.FixedSizeListArray.from_arrays(NESTED[2:], 1),
    "map to a slice": pa.MapArray.from_arrays([0, 1, 2, 3, 4], ["a", "b", "c", "d"], NESTED[2:]),
    "dictionary of a slice": pa.DictionaryArray.from_arrays(pa.array([3, 1, 0, 1]), NESTED[2:]),
    "runs of a slice": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4], pa.int32()), NESTED[3:]),
    "struct of an extension": pa.StructArray.from_arrays([pa.ExtensionArray.from_storage(Marked(), FLAT)], ["a"])[:4],
    "struct of a list of slices": pa.StructArray.from_arrays(
        [pa.ListArray.from_arrays([0, 1, 2, 3, 4], NESTED[2:])], ["a"]
    ),
}


def table(values: pa.Array[Any]) -> pa.Table:
    times = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number) for number in range(len(values))]
    return pa.table({"k": ["a"] * len(values), "ts": times, "v": values})


@pytest.mark.parametrize("values", DEEP.values(), ids=DEEP)
def test_slices_and_chunks_give_their_rows(values: pa.Array[Any]) -> None:
    whole = table(values)
    chunked = pa.chunked_array([whole["k"].chunk(0)[:1], whole["k"].chunk(0)[1:]])
    data = {
        "slice": (whole.slice(1), values.to_pylist()[1:]),
        "batch": (whole.to_batches()[0].slice(2), values.to_pylist()[2:]),
        "reader": (
            pa.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=1)),
            values.to_pylist(),
        ),
        "chunks": (whole.set_column(0, "k", chunked), values.to_pylist()),
    }
    for name, (rows, expected) in data.items():
        found = wr.group_by(rows, "k", time="ts").windowed_by(SESSIONS).agg(all=wr.collect_list("v"))
        assert found["all"].to_pylist() == [expected], name


@pytest.mark.parametrize("values", DEEP.values(), ids=DEEP)
def test_a_driver_takes_any_cut(values: pa.Array[Any]) -> None:
    rows = table(values)
    driver = StreamDriver(
        lambda data: wr.group_by(data, "k", time="ts").windowed_by(SESSIONS).agg(all=wr.collect_list("v")), rows.schema
    )
    driver.pipe_batch(rows, rows=1)
    (final,) = driver.finish()
    assert final.values["all"] == values.to_pylist()
