"""Strings whose bytes are no UTF-8, which Arrow does not allow and Spark hands over all the same."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

CELLS = [b"ann", b"\xff", b"bob"]
TIMES = pa.array([datetime(2026, 1, 1, 8, minute) for minute in (0, 1, 2)], pa.timestamp("us"))


def strings(cells: list[bytes | None], kind: pa.DataType) -> pa.Array[Any]:
    """Strings of these bytes, whatever they are; null where the bytes are not shown."""
    binary = pa.array(cells, pa.binary() if kind == pa.string() else pa.large_binary())
    return pa.Array.from_buffers(kind, len(cells), binary.buffers(), binary.null_count)


def shapes(cells: list[bytes | None]) -> dict[str, pa.Array[Any]]:
    """The strings in each place where a value can have them, one row each."""
    plain = strings(cells, pa.string())
    offsets = pa.array([0, 1, 2, 3], pa.int32())
    return {
        "string": plain,
        "large_string": strings(cells, pa.large_string()),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), plain),
        "struct": pa.StructArray.from_arrays([plain], ["name"]),
        "list": pa.ListArray.from_arrays(offsets, plain),
    }


def rows(**columns: pa.Array[Any]) -> pa.Table:
    return pa.table({"user": pa.array([1, 2, 3]), "ts": TIMES, **columns})


@pytest.mark.parametrize("shape", ["string", "large_string", "dictionary", "struct"])
def test_a_key_that_is_no_text_is_an_error(shape: str) -> None:
    table = rows(name=shapes(CELLS)[shape])
    grouped = wr.group_by(table, "name", time="ts")
    windows = [wr.SessionWindows.with_gap("5 minutes"), wr.SlidingWindows.with_time_difference("5 minutes")]
    for kind in windows:
        with pytest.raises(ValueError, match='column "name": .*not UTF-8; allowed: .*binary'):
            grouped.windowed_by(kind).count()


@pytest.mark.parametrize("shape", ["string", "large_string", "dictionary", "struct", "list"])
def test_a_value_that_is_no_text_is_an_error(shape: str) -> None:
    sessions = wr.group_by(rows(name=shapes(CELLS)[shape]), "user", time="ts").windowed_by(
        wr.SessionWindows.with_gap("5 minutes")
    )
    with pytest.raises(ValueError, match='column "name": .*not UTF-8'):
        sessions.agg(first=wr.first("name"))
    with pytest.raises(ValueError, match='column "name": .*not UTF-8'):
        sessions.agg(both=wr.aggregate(str, lambda held, row: held, lambda a, b: a, schema="string", columns=["name"]))


def test_only_the_rows_that_are_read_are_looked_at() -> None:
    for shape, array in shapes(CELLS).items():
        if shape == "dictionary":  # its values are of all rows
            continue
        table = rows(name=array)
        for part in (table.slice(0, 1), table.slice(2, 1)):
            sessions = wr.group_by(part, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
            assert sessions.agg(first=wr.first("name")).num_rows == 1, shape


def test_a_character_that_is_cut_in_two_is_no_text() -> None:
    halves = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer("ä".encode())]
    )
    table = pa.table({"name": halves, "ts": TIMES.slice(0, 2)})
    with pytest.raises(ValueError, match="not UTF-8"):
        wr.group_by(table, "name", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes")).count()


def test_what_lies_under_a_null_does_not_count() -> None:
    hidden = pa.Array.from_buffers(
        pa.string(), 2, [pa.py_buffer(b"\2"), pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffa")]
    )
    table = pa.table({"name": hidden, "ts": TIMES.slice(0, 2)})
    sessions = wr.group_by(table, "name", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes")).count()
    assert sessions["name"].to_pylist() == ["a"]
    assert sessions.schema.metadata[b"windrow.null_keys"] == b"1"


def test_a_driver_takes_text_only() -> None:
    schema = pa.schema({"name": pa.string(), "ts": pa.timestamp("us")})
    windows = wr.SessionWindows.with_gap("5 minutes", grace="0 seconds")
    driver = StreamDriver(lambda data: wr.group_by(data, "name", time="ts").windowed_by(windows).count(), schema)
    with pytest.raises(ValueError, match='column "name": .*not UTF-8'):
        driver.pipe_batch(pa.table({"name": strings(CELLS, pa.string()), "ts": TIMES}))


def test_an_interrupt_of_a_function_stays_one() -> None:
    def interrupted(a: Any, b: Any) -> Any:
        raise KeyboardInterrupt

    table = pa.table({"user": [1, 1], "ts": TIMES.slice(0, 2), "n": [1, 2]})
    sessions = wr.group_by(table, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    with pytest.raises(KeyboardInterrupt):
        sessions.agg(n=wr.reduce("n", interrupted))
