"""Windows of keys of every type that can be grouped equal the oracle, in-process."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.families import some
from ..harness.tables import Call, assert_windows, by_sessions, by_sliding, in_batches, records, rows_of
from ..oracle.records import null_keys, null_times

AGGREGATES = {"n": Call("count"), "values": Call("collect_list", ("x",)), "total": Call("sum", ("x",))}
NAN, INFINITY = float("nan"), float("inf")

KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int8": (pa.int8(), [-128, 0, 127]),
    "int32": (pa.int32(), [-(2**31), -1, 0, 7]),
    "int64": (pa.int64(), [-(2**63), -1, 0, 2**63 - 1]),
    "uint64": (pa.uint64(), [0, 1, 2**64 - 1]),
    "string": (pa.string(), ["", "a", "ä", "a\0", "long enough not to be kept inline"]),
    "large string": (pa.large_string(), ["", "a", "b" * 40]),
    "string view": (pa.string_view(), ["", "a", "b" * 40]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["", "a", "b"]),
    "binary": (pa.binary(), [b"", b"\0", b"\xff\xfe"]),
    "boolean": (pa.bool_(), [True, False]),
    "float64": (pa.float64(), [0.0, -0.0, NAN, -NAN, INFINITY, 1.5]),
    "float32": (pa.float32(), [0.0, -0.0, NAN, -1.5]),
    "decimal": (pa.decimal128(20, 2), [Decimal("0.00"), Decimal("-1.10"), Decimal("99999999999.99")]),
    "date": (pa.date32(), [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us"), [datetime(1969, 12, 31), datetime(2024, 2, 29, 1, 2, 3, 4)]),
    "zoned timestamp": (
        pa.timestamp("us", "UTC"),
        [datetime(1969, 12, 31, tzinfo=UTC), datetime(2024, 2, 29, tzinfo=UTC)],
    ),
    "struct": (
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
        [{"a": 1, "b": "x"}, {"a": 1, "b": None}, {"a": None, "b": None}],
    ),
    "list": (pa.list_(pa.int64()), [[], [0], [0, 0], [0, None], [None]]),
    "large list of strings": (pa.large_list(pa.string()), [[], [""], ["", ""], ["a\0", "b"]]),
    "list of structs of floats": (pa.list_(pa.struct([("f", pa.float64())])), [[{"f": 0.0}], [{"f": -0.0}], [None]]),
    "months, days and time": (pa.month_day_nano_interval(), [(1, 0, 0), (0, 30, 0), (0, 0, 86_400_000_000_000)]),
    "struct of floats": (pa.struct([("f", pa.float64())]), [{"f": 0.0}, {"f": -0.0}, {"f": NAN}]),
}


@st.composite
def events(draw: st.DrawFn, *types: tuple[pa.DataType, list[Any]]) -> pa.Table:
    """Up to 30 events: keys of these types or null, times around zero or null."""
    keys = [st.sampled_from(values) | st.none() for _, values in types]
    row = st.tuples(st.integers(-20, 50) | st.none(), st.integers(-9, 9), *keys)
    columns = list(zip(*draw(some(row, 30)), strict=True)) or [[] for _ in range(2 + len(types))]
    times, xs = (pa.array(column, pa.int64()) for column in columns[:2])
    of_keys = {f"k{at}": array(columns[2 + at], kind) for at, (kind, _) in enumerate(types)}
    table = pa.table({"ts": times.cast(pa.timestamp("ms")), "x": xs, **of_keys})
    return in_batches(table, draw(st.lists(st.integers(0, 30), max_size=3)))


def array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An Arrow array, dictionaries included."""
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode()
    return pa.array(values, kind)


def check(table: pa.Table, keys: list[str]) -> None:
    """Sessions and sliding windows of the table equal the oracle's, and the counters tell what was left out."""
    grouped = wr.group_by(table, *keys, time="ts")
    aggregates = {name: aggregate.build(wr) for name, aggregate in AGGREGATES.items()}
    sessions = grouped.windowed_by(wr.SessionWindows.with_gap("4 milliseconds")).agg(**aggregates)
    assert_windows(rows_of(sessions, keys), table, keys, by_sessions(4), AGGREGATES)
    sliding = grouped.windowed_by(wr.SlidingWindows.with_time_difference(timedelta(milliseconds=9))).agg(**aggregates)
    assert_windows(rows_of(sliding, keys), table, keys, by_sliding(9, 1), AGGREGATES)
    rows = records(table, keys)
    for result in (sessions, sliding):
        bounds = [(field.name, field.type) for field in result["window"].type]
        assert bounds == [("start", table["ts"].type), ("end", table["ts"].type)]
        nothing = dict.fromkeys(("null_ties", "bad_gaps", "bad_ends", "clamped_gaps", "ticks", "overflows"), 0)
        left_out = {"null_keys": null_keys(rows), "null_times": null_times(rows)}
        assert wr.counters(result) == nothing | left_out | {"records": len(rows), "windows": result.num_rows}


@pytest.mark.parametrize("name", KEYS)
def test_windows_of_one_key_column_equal_the_oracle(name: str) -> None:
    usually(8)(given(table=events(KEYS[name]))(lambda table: check(table, ["k0"])))()


@pytest.mark.parametrize(
    "names", [("int64", "string"), ("string", "float64"), ("date", "struct"), ("int32", "int32", "boolean")]
)
def test_windows_of_several_key_columns_equal_the_oracle(names: tuple[str, ...]) -> None:
    keys = [f"k{at}" for at in range(len(names))]
    usually(12)(given(table=events(*(KEYS[name] for name in names)))(lambda table: check(table, keys)))()
