"""Times and durations that Arrow has and Python has not are reported by column and value, wherever Python gets one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

END = 253_402_300_800_000_000  # 10000-01-01, in microseconds
KINDS: dict[str, tuple[pa.DataType, int, int, str]] = {
    "a time": (pa.timestamp("us"), END - 1, END, "10000-01-01 00:00:00.000000"),
    "a time with a zone": (pa.timestamp("us", "UTC"), END - 1, END, "10000-01-01 00:00:00.000000Z"),
    "the earliest time": (
        pa.timestamp("us"),
        -62_135_596_800_000_000,
        -(2**63),
        "<value out of range: -9223372036854775808>",
    ),
    "a day": (pa.date32(), 2_932_896, 2_932_897, "10000-01-01"),
    "a time of day": (pa.time64("ns"), 5_000, 5_001, "00:00:00.000005001"),
    "a duration": (pa.duration("s"), 86_400 * 10**9 - 1, 86_400 * 10**9, "86400000000000"),
}
WINDOWS = wr.SessionWindows.with_gap("1 hour", grace="1 hour")


def table_of(name: str, kind: pa.DataType, value: int) -> pa.Table:
    width = pa.int32() if kind == pa.date32() else pa.int64()
    columns = {"k": pa.array([1, 1]), "ts": pa.array([0, 1], pa.int64()).cast(pa.timestamp("us"))}
    return pa.table({**columns, name: pa.array([None, value], width).cast(kind)})


def latest() -> dict[str, wr.Aggregate]:
    """Both ways into a Python function."""
    return {
        "reduce": wr.reduce("v", max),
        "aggregate": wr.aggregate(int, lambda held, row: held + 1, int.__add__, schema="bigint", columns=["v"]),
    }


@pytest.mark.parametrize("way", ["reduce", "aggregate"])
@pytest.mark.parametrize("case", KINDS)
def test_a_function_gets_what_python_has_and_all_else_is_an_error(case: str, way: str) -> None:
    kind, fits, beyond, shown = KINDS[case]

    def sums(value: int) -> Any:
        return wr.group_by(table_of("v", kind, value), "k", time="ts").windowed_by(WINDOWS).agg(a=latest()[way])

    assert sums(fits).num_rows == 1
    with pytest.raises(OverflowError) as raised:
        sums(beyond)
    assert f"column 'v': got {shown}; allowed: times of the years 1 to 9999" in str(raised.value)


@pytest.mark.parametrize("kind", [pa.list_(pa.time64("ns")), pa.map_(pa.string(), pa.time64("ns"))], ids=str)
def test_a_time_of_day_within_a_nested_value_is_not_cut(kind: pa.DataType) -> None:
    for value, fits in ((5_000, True), (5_001, False)):
        parts = pa.array([[("a", value)] if pa.types.is_map(kind) else [value], None], kind)
        data = table_of("v", pa.int64(), 1).set_column(2, "v", parts)
        windowed = wr.group_by(data, "k", time="ts").windowed_by(WINDOWS)
        last = {"last": wr.reduce("v", lambda _, value: value)}
        if fits:
            assert windowed.agg(**last).num_rows == 1
            continue
        with pytest.raises(OverflowError, match="column 'v': got .*00:00:00.000005001.* whole microseconds"):
            windowed.agg(**last)


def test_within_a_struct_the_error_names_the_field() -> None:
    parts = pa.StructArray.from_arrays([pa.array([0, END]).cast(pa.timestamp("us"))], ["at"])
    data = table_of("v", pa.int64(), 1).set_column(2, "v", parts)
    with pytest.raises(OverflowError, match="column 'v.at': got 10000-01-01 00:00:00.000000; allowed: times of"):
        wr.group_by(data, "k", time="ts").windowed_by(WINDOWS).agg(a=wr.reduce("v", lambda one, other: other))


@pytest.mark.parametrize(
    ("time", "shown"), [(END, "10000-01-01 00:00:00.000000"), (2**63 - 1, "<value out of range: 9223372036854775807>")]
)
def test_a_driver_reports_a_stream_time_that_python_does_not_have(time: int, shown: str) -> None:
    schema = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us"))])
    driver = StreamDriver(lambda rows: wr.group_by(rows, "k", time="ts").windowed_by(WINDOWS).count(), schema)
    assert driver.stream_time is None
    driver.pipe_batch(pa.table({"k": [1], "ts": pa.array([END - 1]).cast(pa.timestamp("us"))}))
    assert driver.stream_time.year == 9999
    driver.pipe_batch(pa.table({"k": [1], "ts": pa.array([time]).cast(pa.timestamp("us"))}))
    with pytest.raises(OverflowError) as raised:
        _ = driver.stream_time
    assert f"column 'ts': got {shown}" in str(raised.value)


def test_a_driver_reports_a_window_that_python_does_not_have_and_keeps_its_row() -> None:
    schema = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us"))])
    updates = wr.SessionWindows.with_gap("1 hour", grace="1 hour")
    driver = StreamDriver(
        lambda rows: wr.group_by(rows, "k", time="ts").windowed_by(updates).emit("update").count(), schema
    )
    with pytest.raises(OverflowError, match="column 'window.start': got 10000-01-01 00:00:00.000000; allowed"):
        driver.pipe_batch(pa.table({"k": [1], "ts": pa.array([END]).cast(pa.timestamp("us"))}))
    assert driver.read_table().num_rows == 1
    assert driver.pipe(k=2) == []
