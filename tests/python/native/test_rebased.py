"""Structs in structs that begin within their buffers: slices, and columns in chunks of different lengths."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 day")
DEEP = {
    "struct in struct": pa.array([{"b": {"c": number}} for number in range(4)]),
    "array of structs": pa.array([[{"c": number}] for number in range(4)], pa.list_(pa.struct([("c", pa.int64())]), 1)),
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
