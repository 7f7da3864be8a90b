"""Types in Spark's words: what each spells, what is no type, how deep and how long one may be."""

from __future__ import annotations

import re
import time

import pyarrow as pa
import pytest

import windrow as wr


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
        ("int int int", "what 'int' is for was not understood"),
        ("decimal(39)", "a decimal has 1 to 38 digits"),
        ("decimal(x)", "'x' is no number of digits"),
        ("", "it is empty"),
        ("a;b", "';' was not understood"),
        ("day' is none", '"\'" was not understood'),
        ("bigit", "'bigit' is no type, did you mean 'bigint'?"),
        ("n bigint not", "a name or type is missing after 'not'"),
        ("n bigint, n int", "each name once; 'n' is there twice"),
        ("array<struct<a int, a int>>", "each name once; 'a' is there twice"),
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
        assert wr.aggregate(int, max, schema=text).type == expected  # type: ignore[attr-defined]


def depth_of(kind: pa.DataType) -> int:
    depth = 0
    while kind.num_fields:
        kind, depth = kind.field(kind.num_fields - 1).type, depth + 1
    return depth


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("array<", ">"), ("map<int, ", ">"), ("struct<a: ", ">"), ("array<struct<b int, a ", ">>")],
    ids=["array", "map", "struct", "both"],
)
def test_types_nest_32_deep_and_deeper_ones_are_refused_in_words(opening: str, closing: str) -> None:
    each = opening.count("<")
    most = 32 // each
    deepest = wr.aggregate(int, max, schema=opening * most + "int" + closing * most)
    assert depth_of(deepest.type) == 32 + (opening.startswith("map")) * 32  # type: ignore[attr-defined]
    named = f"n {opening * most}int{closing * most}"  # the fields' own struct is the 33rd
    for text in [opening * (most + 1) + "int" + closing * (most + 1), named, opening * 100_000]:
        with pytest.raises(ValueError, match="at most 32 arrays, maps and structs are nested in each other"):
            wr.aggregate(int, max, schema=text)


def test_a_long_type_takes_time_in_proportion() -> None:
    begin = time.process_time()
    many = wr.aggregate(int, max, schema=", ".join(f"c{number} array<int>" for number in range(10_000)))
    assert many.type.num_fields == 10_000  # type: ignore[attr-defined]
    assert time.process_time() - begin < 5  # with each name held against all before it: half a minute
