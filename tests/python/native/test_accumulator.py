"""What Python functions return goes over as it is, or is refused with the path to what does not fit."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr
from windrow._arguments.ddl import arrow_type
from windrow._folds.check import array_of, check_of

NOON = datetime(2026, 1, 1, 12)
LIST = pa.list_(pa.int64())


class Pair(NamedTuple):
    n: int
    word: str | None


def held(kind: str | pa.DataType, value: Any) -> Any:
    """The value after its way through the type; it is of the class that `init` makes."""
    arrow = arrow_type("schema", kind) if isinstance(kind, str) else kind
    return array_of([value], arrow, check_of(arrow, value)).to_pylist()[0]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("tinyint", -128, -128),
        ("tinyint", 127, 127),
        ("bigint", -(2**63), -(2**63)),
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("bigint", np.int32(5), 5),
        ("bigint", None, None),
        (pa.uint64(), 2**64 - 1, 2**64 - 1),
        ("boolean", np.bool_(True), True),
        ("double", 3, 3.0),
        ("double", np.float32(0.5), 0.5),
        ("double", 2**53, 2.0**53),
        ("double", math.inf, math.inf),
        ("float", 0.1, float(np.float32(0.1))),
        ("float", -math.inf, -math.inf),
        ("float", 3.4028234e38, float(np.float32(3.4028234e38))),
        (pa.float16(), 65504.0, 65504.0),
        ("string", "", ""),
        (pa.large_string(), "a", "a"),
        (pa.string_view(), "a", "a"),
        ("binary", bytearray(b"a"), b"a"),
        (pa.binary(2), b"ab", b"ab"),
        ("decimal(4, 2)", Decimal("99.99"), Decimal("99.99")),
        ("decimal(4, 2)", Decimal("-1.5000"), Decimal("-1.50")),
        ("decimal(4, 2)", 99, Decimal("99.00")),
        ("decimal(4, 2)", Decimal("0E+900000"), Decimal("0.00")),
        ("decimal(38, 0)", 10**38 - 1, Decimal(10**38 - 1)),
        ("date", date(2026, 1, 1), date(2026, 1, 1)),
        ("timestamp_ntz", NOON, NOON),
        ("timestamp", NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC)),
        (pa.timestamp("s"), NOON, NOON),
        (
            pa.timestamp("ns"),
            pd.Timestamp("2026-01-01T12:00:00.000000001"),
            pd.Timestamp("2026-01-01T12:00:00.000000001"),
        ),
        (pa.time64("us"), time(1, 2, 3, 4), time(1, 2, 3, 4)),
        (pa.duration("us"), timedelta(microseconds=1), timedelta(microseconds=1)),
        ("array<bigint>", (1, None), [1, None]),
        ("array<bigint>", {1}, [1]),
        ("array<array<bigint>>", [[1], None], [[1], None]),
        (pa.list_(pa.int64(), 2), [1, 2], [1, 2]),
        ("n bigint, word string", Pair(1, None), {"n": 1, "word": None}),
        ("n bigint, word string", {"n": 1, "word": None}, {"n": 1, "word": None}),
        ("map<string, bigint>", {"a": None}, [("a", None)]),
        ("map<string, bigint>", [("a", 1)], [("a", 1)]),
        (pa.dictionary(pa.int8(), pa.string()), "a", "a"),
    ],
)
def test_what_a_type_holds_goes_over_as_it_is(kind: Any, value: Any, expected: Any) -> None:
    assert held(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "value", "error", "message"),
    [
        ("bigint", 1.5, TypeError, "result: got 1.5, a float; allowed: an int from -9223372036854775808 to"),
        ("bigint", True, TypeError, "result: got True, a bool"),
        ("bigint", 2**63, ValueError, "result: got 9223372036854775808; allowed: an int from"),
        ("tinyint", 128, ValueError, "an int from -128 to 127"),
        ("tinyint", -129, ValueError, "an int from -128 to 127"),
        (pa.uint8(), -1, ValueError, "an int from 0 to 255"),
        ("boolean", 1, TypeError, "a bool"),
        ("float", 1e300, ValueError, "a number in the range of a float"),
        ("float", 3.5e38, ValueError, "a number in the range of a float"),
        ("float", 2**24 + 1, ValueError, "an int that a float holds exactly"),
        ("double", 2**53 + 1, ValueError, "an int that a double holds exactly"),
        ("double", 10**400, ValueError, "a number in the range of a double|got an int"),
        ("double", "1", TypeError, "a float or an int"),
        ("double", True, TypeError, "a float or an int"),
        ("double", Decimal(1), TypeError, "a float or an int"),
        ("string", b"a", TypeError, "a str"),
        ("string", 1, TypeError, "a str"),
        ("binary", "a", TypeError, "bytes"),
        (pa.binary(2), b"abc", TypeError, "2 bytes"),
        ("decimal(4, 2)", Decimal("1.005"), ValueError, "at most 4 digits, 2 of them after the point"),
        ("decimal(4, 2)", 100, ValueError, "at most 4 digits"),
        ("decimal(4, 2)", Decimal("1E+900000"), ValueError, "at most 4 digits"),
        ("decimal(4, 2)", Decimal("1E-900000"), ValueError, "at most 4 digits"),
        ("decimal(4, 2)", Decimal("NaN"), ValueError, "at most 4 digits"),
        ("decimal(4, 2)", 1.5, TypeError, "a Decimal or an int"),
        ("date", NOON, TypeError, "a date without a time"),
        ("timestamp_ntz", NOON.replace(tzinfo=UTC), ValueError, "a datetime without a zone"),
        ("timestamp", NOON, ValueError, "a datetime with a zone"),
        ("timestamp_ntz", date(2026, 1, 1), TypeError, "a datetime without a zone"),
        ("timestamp_ntz", pd.NaT, TypeError, "a datetime without a zone"),
        ("timestamp_ntz", pd.Timestamp("2026-01-01T12:00:00.000000001"), ValueError, "in whole us"),
        (pa.timestamp("s"), NOON.replace(microsecond=1), ValueError, "in whole s"),
        (pa.duration("us"), pd.Timedelta(1, "ns"), ValueError, "in whole us"),
        (pa.duration("ms"), timedelta(microseconds=1), ValueError, "in whole ms"),
        (pa.time32("s"), time(1, 2, 3, 4), ValueError, "in whole s"),
        ("array<string>", "abc", TypeError, "result: got 'abc', a str; allowed: a list"),
        ("array<bigint>", {1: 2}, TypeError, "a list"),
        (pa.list_view(pa.int64()), [1.5], TypeError, r"result\[0\]: got 1.5"),
        (pa.list_(pa.int64(), 2), [1], ValueError, "2 values"),
        ("n bigint", {"n": 1, "zz": 2}, ValueError, "result: got 'zz'; allowed: the names n"),
        ("n bigint, m bigint", {"zz": 2}, ValueError, "result: got 'zz'; allowed: the names n, m"),
        ("n bigint, m bigint", (1,), ValueError, "a tuple of 2 values, n, m"),
        ("n bigint", [1], TypeError, "a dict of n"),
        ("n bigint not null", {"n": None}, TypeError, "result.n: got None, a NoneType; allowed: an int"),
        ("n bigint not null", {}, ValueError, "result: got {}; allowed: all of the names n"),
        (pa.list_(pa.field("x", pa.int64(), nullable=False)), [None], TypeError, r"result\[0\]: got None"),
        ("map<string, bigint>", {None: 1}, TypeError, r"result\[None\]: got None"),
        ("map<string, bigint>", {"a": 1.5}, TypeError, r"result\['a'\]: got 1.5"),
        ("map<string, bigint>", [("a",)], TypeError, r"tuples \(key, value\)"),
        (
            "items array<struct<n: bigint>>",
            {"items": [{"n": 1}, {"n": 2}, {"n": 2.75}]},
            TypeError,
            r"result\.items\[2\]\.n: got 2.75, a float; allowed: an int",
        ),
        (pa.dictionary(pa.int8(), pa.string()), 1, TypeError, "a str"),
        (pa.run_end_encoded(pa.int32(), pa.int64()), 1.5, TypeError, "an int"),
        (pa.null(), 1, TypeError, "None"),
    ],
)
def test_what_a_type_does_not_hold_is_refused(kind: Any, value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        held(kind, value)


def test_an_error_names_what_a_function_returned() -> None:
    data = pa.table({"k": ["a", "a"], "ts": pa.array([0, 1], pa.timestamp("us")), "n": [1, 2]})
    sessions = wr.group_by(data, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("1 second"))
    halves = wr.aggregate(dict, lambda held, row: {"n": [0.5]}, lambda a, b: a, schema="n array<bigint>")
    for function, path in ((wr.reduce("n", lambda a, b: a + b - 0.25), "result"), (halves, r"result\.n\[0\]")):
        with pytest.raises(RuntimeError, match=rf"x.*{path}: got .*a float; allowed: an int") as raised:
            sessions.agg(x=function)
        assert isinstance(raised.value.__cause__, TypeError)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1], pa.uint64()),
        pa.array([1.5], pa.float16()),
        pa.array([b"a"], pa.binary_view()),
        pa.array([Decimal("1.50")], pa.decimal256(40, 2)),
        pa.array([date(2026, 1, 1)], pa.date64()),
        pa.array([1], pa.timestamp("ns", "Europe/Berlin")),
        pa.array([1], pa.duration("ns")),
        pa.array([1000], pa.time64("ns")),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.array([{"a": [1]}], pa.struct([("a", LIST)])),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array(["a"], pa.dictionary(pa.int32(), pa.string())),
        pa.array([[1]], pa.large_list(pa.int64())),
    ],
    ids=lambda column: str(column.type),
)
def test_values_of_every_type_come_back(column: pa.Array[Any]) -> None:
    values = [*column.to_pylist(), None]
    assert array_of(values, column.type, check_of(column.type, values[0])).to_pylist() == values
