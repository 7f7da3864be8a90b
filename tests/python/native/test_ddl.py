"""Types in Spark's words: what each spells, what is no type, how deep and how long one may be."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow._aggregates.aggregate import call_of
from windrow.testing import StreamDriver


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BIGINT", pa.int64()),
        (" decimal ( 12 , 3 ) ", pa.decimal128(12, 3)),
        ("decimal", pa.decimal128(10, 0)),
        (
            "array<struct<a: int, `b c`: string>>",
            pa.list_(pa.field("element", pa.struct([("a", pa.int32()), ("b c", pa.string())]))),
        ),
        ("map<string, array<double>>", pa.map_(pa.string(), pa.list_(pa.field("element", pa.float64())))),
        (
            "n bigint not null, at timestamp",
            pa.struct([pa.field("n", pa.int64(), False), ("at", pa.timestamp("us", "UTC"))]),
        ),
        ("interval day to second", pa.duration("us")),
        ("INTERVAL hour", pa.duration("us")),
        ("interval interval minute to second", pa.struct([("interval", pa.duration("us"))])),
        ("array<interval day to second>", pa.list_(pa.field("element", pa.duration("us")))),
        ("void", pa.null()),
        ("struct<>", "a name or type is missing before '>'"),
        ("array<int", "'>' is missing after 'int'"),
        ("map<string>", "',' is missing after 'string'"),
        ("n bigint,", "a name or type is missing after ','"),
        ("int int int", "'int' cannot follow 'int'"),
        ("decimal(39)", "a decimal has 1 to 38 digits"),
        (f"decimal({'1' * 5_000})", "a decimal has 1 to 38 digits"),
        ("decimal(x)", "'x' is not a number of digits"),
        ("", "it is empty"),
        ("a;b", "';' is not part of a type"),
        ("day' is none", '"\'" is not part of a type'),
        ("bigit", "'bigit' is not a type, did you mean 'bigint'?"),
        ("n bigint not", "a name or type is missing after 'not'"),
        ("n bigint, n int", "each name once; 'n' appears twice"),
        ("array<struct<a int, a int>>", "each name once; 'a' appears twice"),
        ("interval", "an interval goes from a unit"),
        ("interval second to day", "an interval goes from a unit"),
        ("interval month", "no fixed length"),
        ("varchar(5)", "write string"),
    ],
)
def test_types_are_read_in_sparks_words(text: str, expected: pa.DataType | str) -> None:
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=rf"aggregate\(schema=\): got .*{re.escape(expected)}"):
            wr.aggregate(int, max, schema=text)
    else:
        call = call_of(wr.aggregate(int, max, schema=text))
        assert vars(call)["type"] == expected


NESTED = {
    "array": ("array<", ">"),
    "map": ("map<int, ", ">"),
    "struct": ("struct<a: ", ">"),
    "both": ("array<struct<b int, a ", ">>"),
}


@pytest.mark.parametrize(("opening", "closing"), NESTED.values(), ids=NESTED)
def test_types_nest_24_deep_and_deeper_ones_are_refused_in_words(opening: str, closing: str) -> None:
    most = 24 // opening.count("<")

    def deep(times: int) -> Any:
        return wr.aggregate(
            lambda: None, lambda held, row: None, lambda a, b: None, schema=opening * times + "int" + closing * times
        )

    deepest = vars(call_of(deep(most)))["type"]
    named = f"n {opening * most}int{closing * most}"  # the fields' own struct is one more
    for text in [opening * (most + 1) + "int" + closing * (most + 1), named, opening * 100_000]:
        with pytest.raises(ValueError, match="at most 24 arrays, maps and structs are nested in each other"):
            wr.aggregate(int, max, schema=text)
    for kind in (pa.list_(deepest), pa.struct([("a", pa.int8()), ("b", deepest)])):
        with pytest.raises(ValueError, match="allowed: at most 24 lists, maps and structs nested in each other"):
            wr.aggregate(int, max, schema=kind)
    # The deepest comes back from pages: Arrow's readers have their own limits.
    schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us")})
    gap = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
    driver = StreamDriver(
        lambda data: wr.group_by(data, "user", time="ts").windowed_by(gap).agg(n=wr.count(), x=deep(most)), schema
    )
    driver.pipe(user="ann", ts=datetime(2026, 1, 1))
    (final,) = driver.restore(driver.snapshot()).finish()
    assert final.values == {"n": 1, "x": None}


def test_an_arrow_type_of_any_depth_is_refused_in_words() -> None:
    kind: pa.DataType = pa.int64()
    for _ in range(2_000):
        kind = pa.list_(kind)
    with pytest.raises(ValueError, match="allowed: at most 24 lists, maps and structs nested in each other"):
        wr.aggregate(int, max, schema=kind)


def test_a_long_type_is_shown_by_its_beginning() -> None:
    message = r"^aggregate\(schema=\): got 'array<array<.*' and 5,940 more characters; allowed: a type in Spark's words"
    with pytest.raises(ValueError, match=message):
        wr.aggregate(int, max, schema="array<" * 1_000)


def test_a_long_type_takes_time_in_proportion() -> None:
    begin = time.process_time()
    many = wr.aggregate(int, max, schema=", ".join(f"c{number} array<int>" for number in range(10_000)))
    assert many._call.type.num_fields == 10_000  # type: ignore[attr-defined]
    assert time.process_time() - begin < 5  # with each name held against all before it: half a minute
