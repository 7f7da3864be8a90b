"""What `then` and `apply` give becomes the type that was declared, where nothing is lost. Columns of all types pass."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

US = pa.timestamp("us")
ORDERS = pa.table({"user": ["ann", "bob"], "ts": pa.array([0, 50], US)})


def sessions(data: pa.Table) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("10 microseconds"))


def given_as(value: pa.Array[Any], kind: str | pa.DataType) -> Any:
    """What becomes of it, for one window."""
    result = sessions(ORDERS.slice(1)).agg(x=wr.count().then(lambda _: value, schema=kind))
    return result["x"].to_pylist()[0]


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (pa.array([7]), "double", 7.0),
        (pa.array([7.0]), "bigint", 7),
        (pa.array([7], pa.uint64()), "decimal(10, 2)", Decimal("7.00")),
        (pa.array([Decimal("7.50")]), "decimal(10, 1)", Decimal("7.5")),
        (pa.array([0.1]), "float", np.float32(0.1)),
        (pa.array([math.inf]), "float", math.inf),
        (pa.array([None]), "string", None),
        (pa.array(["a"]).dictionary_encode(), "string", "a"),
        (pa.array(["a"], pa.large_string()), "string", "a"),
        (pa.array([{"m": 1, "n": 2}]), "n int, m bigint", {"n": 2, "m": 1}),
        (pa.array([[1, None]]), "array<tinyint>", [1, None]),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "map<string,int>", [("a", 1)]),
    ],
    ids=str,
)
def test_a_result_becomes_its_declared_type_where_nothing_is_lost(value: Any, kind: str, expected: Any) -> None:
    assert given_as(value, kind) == expected


@pytest.mark.parametrize(
    ("value", "kind", "error"),
    [
        (pa.array([{"n": 1, "m": 2}]), "n bigint", TypeError),
        (pa.array([{"n": 1}]), "n bigint, m bigint", TypeError),
        (pa.array([[{"n": 1, "m": 2}]]), "array<struct<n bigint>>", TypeError),
        (pa.array(["7"]), "bigint", TypeError),
        (pa.array([7]), "string", TypeError),
        (pa.array([7]), "timestamp", TypeError),
        (pa.array([True]), "bigint", TypeError),
        (pa.array([1e300]), "float", ValueError),
        (pa.array([[1e300]]), "array<float>", ValueError),
        (pa.array([{"n": 1e300}]), "n float", ValueError),
        (pa.array([[("a", 1e300)]], pa.map_(pa.string(), pa.float64())), "map<string,float>", ValueError),
        (pa.array([7.5]), "bigint", ValueError),
        (pa.array([2**60 + 1]), "double", ValueError),
        (pa.array([300]), "tinyint", ValueError),
        (pa.array([Decimal("7.55")]), "decimal(10, 1)", ValueError),
        (pa.array([b"\xff"]), "string", TypeError),
    ],
    ids=str,
)
def test_a_result_that_would_lose_something_is_refused(value: Any, kind: str, error: type[Exception]) -> None:
    with pytest.raises(error, match='aggregate "x": '):
        given_as(value, kind)


NAMED = [[{"s": "a", "n": 1}], None]


def hidden() -> list[tuple[Any, str, Any]]:
    """Values behind a null or outside of what is there, of which none is a tinyint."""
    null, numbers, codes = pa.array([False, True]), pa.array([1, 300]), pa.array([0, 1, 2], pa.int32())
    struct = pa.StructArray.from_arrays([numbers], ["n"], mask=null)
    lists = pa.ListArray.from_arrays(codes, numbers, mask=null)
    maps = pa.MapArray.from_arrays(codes, pa.array(["a", "b"]), numbers, mask=null)
    packed = pa.DictionaryArray.from_arrays(codes[:2], numbers)
    named = pa.StructArray.from_arrays([pa.array(["a", "b"], pa.string_view()), numbers], ["s", "n"])
    inner = [pa.StructArray.from_arrays([numbers], ["n"]), pa.ListArray.from_arrays(codes, numbers), packed]
    outer = [pa.StructArray.from_arrays([each], ["s"], mask=null) for each in inner]
    return [
        (struct, "n tinyint", [{"n": 1}, None]),
        (lists, "array<tinyint>", [[1], None]),
        (pa.LargeListArray.from_arrays(codes.cast("int64"), numbers, mask=null), "array<tinyint>", [[1], None]),
        (pa.FixedSizeListArray.from_arrays(numbers, 1, mask=null), "array<tinyint>", [[1], None]),
        (maps, "map<string,tinyint>", [[("a", 1)], None]),
        (outer[0], "s struct<n tinyint>", [{"s": {"n": 1}}, None]),
        (outer[1], "s array<tinyint>", [{"s": [1]}, None]),
        (outer[2], "s tinyint", [{"s": 1}, None]),
        (pa.ListArray.from_arrays(codes, struct), "array<struct<n tinyint>>", [[{"n": 1}], [None]]),
        (pa.ListArray.from_arrays(codes, numbers)[:1], "array<tinyint>", [[1]]),
        (inner[0][:1], "n tinyint", [{"n": 1}]),
        (pa.ListArray.from_arrays(codes, named, mask=null), "array<struct<s string, n tinyint>>", NAMED),
        (pa.ListArray.from_arrays(codes, named)[:1], "array<struct<s string, n tinyint>>", NAMED[:1]),
        (pa.FixedSizeListArray.from_arrays(named, 1, mask=null), "array<struct<s string, n tinyint>>", NAMED),
    ]


@pytest.mark.parametrize(
    ("values", "kind", "expected"), hidden(), ids=lambda each: each if isinstance(each, str) else ""
)
def test_values_that_are_not_there_are_none_that_a_type_must_hold(values: Any, kind: str, expected: Any) -> None:
    first = ORDERS.slice(0, len(values))
    result = sessions(first).agg(x=wr.count().then(lambda _: values, schema=kind))
    assert result["x"].to_pylist() == expected


COMPUTED: dict[str, Any] = {"twice": wr.count() * 2, "first": wr.first("word").then(lambda words: words)}
LONG = "a text that is longer than a view holds"


def test_a_daily_job_of_polars_has_text_keys_beside_computed_columns() -> None:
    days = pl.DataFrame({"user": [LONG, LONG], "ts": ORDERS["ts"].to_pylist(), "word": [LONG, None]})
    closed, still_open = sessions(days).advance(None, to=days["ts"][1] + timedelta(microseconds=1), **COMPUTED)
    assert closed.drop("window").rows() == [(LONG, 2, LONG)]
    assert still_open.drop_nulls("window").select("user", "twice", "first").rows() == [(LONG, 2, None)]


@pytest.mark.parametrize(
    ("kind", "word"),
    [(pa.string_view(), LONG), (pa.struct({"name": pa.string_view()}), {"name": LONG}), (pa.large_string(), LONG)],
    ids=str,
)
def test_updates_of_a_stream_have_values_of_any_type_beside_computed_columns(kind: pa.DataType, word: Any) -> None:
    data = pa.table(
        {"user": ["ann", "ann", "bob", "ann"], "ts": pa.array([0, 5, 50, 0], US), "word": pa.array([word] * 4, kind)}
    )
    windows = wr.SessionWindows.with_gap("10 microseconds", grace="0 seconds")

    def updates(rows: Any) -> Any:
        windowed = wr.group_by(rows, "user", time="ts").windowed_by(windows).emit("update")
        return windowed.left_out("emit", columns=["word"]).agg(**COMPUTED)

    driver = StreamDriver(updates, data.schema)
    for row in range(4):
        driver.pipe_batch(data.slice(row, 1))
    given = [
        (row["op"], row["user"], row["twice"], row["first"], (row["record"] or {}).get("word"))
        for row in driver.read_table().to_pylist()
    ]
    assert given == [
        ("upsert", "ann", 2, word, None),
        ("delete", "ann", None, None, None),
        ("upsert", "ann", 4, word, None),
        ("upsert", "bob", 2, word, None),
        ("left_out", "ann", None, None, word),
    ]


def test_lists_of_runs_pass_beside_computed_columns() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["a"]))
    result = sessions(ORDERS.append_column("word", runs)).agg(twice=wr.count() * 2, words=wr.collect_list("word"))
    assert result.select(["twice", "words"]).to_pylist() == [{"twice": 2, "words": ["a"]}] * 2
