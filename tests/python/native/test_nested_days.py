"""Nested columns of a daily job: a day may have no element, no value of a field, or nothing at all."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from datetime import datetime, time
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow._arguments.nested import nulls
from windrow._arguments.type_names import named
from windrow._local.advance import specification_of
from windrow._local.sources import columns_of
from windrow._plan.earlier_types import filled, types_of
from windrow.testing import StreamDriver

from ..harness.tables import arrow

GAP = wr.SessionWindows.with_gap("30 minutes")
TIMES = [datetime(2026, 5, 4, 23, 50), datetime(2026, 5, 5, 0, 5)]
ENDS = ["2026-05-05", "2026-05-06"]
LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(),
    "pandas with Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "duckdb": duckdb.from_arrow,
}
CALLS: Mapping[str, Any] = {"n": wr.count(), "first": wr.first("x"), "last": wr.last("x"), "all": wr.collect_list("x")}
NULL = pa.null()
NUMBERS, TEXTS = pa.array([[1]]), pa.map_(pa.string(), pa.string())
FIELDS = pa.struct([("b", pa.int64()), ("a", NULL)])

SPARSE: dict[str, tuple[pa.Array[Any], pa.Array[Any]]] = {
    "no element": (NUMBERS, pa.array([[]], pa.list_(NULL))),
    "no list": (NUMBERS, pa.array([None], pa.list_(NULL))),
    "elements without a value": (NUMBERS, pa.array([[None, None]], pa.list_(NULL))),
    "no element of lists": (pa.array([[[1], []]]), pa.array([[[], None]], pa.list_(pa.list_(NULL)))),
    "no structs": (pa.array([[{"b": 1, "a": "x"}]]), pa.array([[]], pa.list_(NULL))),
    "a field without a value": (pa.array([{"b": 1, "a": "x"}]), pa.array([{"b": 2, "a": None}], FIELDS)),
    "a field of elements": (pa.array([[{"b": 1, "a": [1.5]}]]), pa.array([[{"b": 2, "a": None}]], pa.list_(FIELDS))),
    "values of a map": (pa.array([[("k", "v")]], TEXTS), pa.array([[("k", None)]], pa.map_(pa.string(), NULL))),
    "no entry": (pa.array([[("k", "v")]], TEXTS), pa.array([[]], pa.map_(pa.string(), NULL))),
    "nothing for lists": (NUMBERS, pa.nulls(1)),
    "nothing for maps": (pa.array([[("k", "v")]], TEXTS), pa.nulls(1)),
    "nothing for times of day": (pa.array([time(9)]), pa.nulls(1)),
    "nothing for bytes": (pa.array([b"abc"], pa.binary(3)), pa.nulls(1)),
}
"""A column of the first day, and one of the second, whose type says less."""


def day(number: int, column: pa.Array[Any]) -> pa.Table:
    times = pa.array([TIMES[number]] * len(column), pa.timestamp("us"))
    return pa.table({"user": [1] * len(column), "ts": times, "x": column})


def windowed(data: Any, *keys: str) -> Any:
    return wr.group_by(data, *(keys or ("user",)), time="ts").windowed_by(GAP)


def run_days(library: str, columns: tuple[pa.Array[Any], ...]) -> list[dict[str, Any]]:
    """The windows that the second day closes."""
    still_open, run = None, None
    for number, column in enumerate(columns):
        run = windowed(LIBRARIES[library](day(number, column))).advance(still_open, to=ENDS[number], **CALLS)
        still_open = run.still_open
    return arrow(run.closed).drop_columns(["window"]).to_pylist() if run is not None else []


@pytest.mark.parametrize(("case", "library"), [(case, library) for case in SPARSE for library in LIBRARIES])
def test_a_day_whose_type_says_less_has_the_type_of_the_day_before(case: str, library: str) -> None:
    if "pandas" in library and case == "elements without a value":
        return  # NaN, which pyarrow makes of them, or invalid data
    before, after = SPARSE[case]
    whole = pa.array(after.to_pylist(), before.type)
    assert run_days(library, (before, after)) == run_days(library, (before, whole))


@pytest.mark.parametrize(
    ("case", "library"),
    [(case, library) for case in SPARSE for library in LIBRARIES if not case.startswith("nothing")],
)
def test_a_type_that_said_less_goes_on_under_new_names(case: str, library: str) -> None:
    if "pandas" in library and case in ("elements without a value", "values of a map"):
        return  # the same; and entries of maps are pairs of one type
    after, before = SPARSE[case]
    first = windowed(LIBRARIES[library](day(0, before))).advance(None, to=ENDS[0], **CALLS)
    query = windowed(LIBRARIES[library](day(1, after)))
    says = r"^open: column 'x' was .*(?i:null).* now; allowed: new names for the aggregates over it.*; or None to beg"
    with pytest.raises(ValueError, match=says):
        query.advance(first.still_open, to=ENDS[1], **CALLS)
    (found,) = arrow(query.advance(first.still_open, to=ENDS[1], n=wr.count(), other=wr.last("x")).closed).to_pylist()
    assert (found["n"], found["other"]) == (2, None)


OTHERS: dict[str, tuple[pa.Array[Any], pa.Array[Any]]] = {
    "wider elements": (pa.array([[1]], pa.list_(pa.int32())), pa.array([[2]])),
    "floats": (pa.array([[1]]), pa.array([[2.0, None]])),
    "a wider field": (pa.array([{"a": 1, "b": "x"}], pa.struct([("a", pa.int16()), ("b", pa.string())])), None),
    "a wider field in another order": (
        pa.array([{"a": 1, "b": "x"}], pa.struct([("a", pa.int16()), ("b", pa.string())])),
        pa.array([{"b": "y", "a": 2}]),
    ),
    "a wider field in a list": (
        pa.array([[{"a": 1, "b": "x"}]], pa.list_(pa.struct([("a", pa.int16()), ("b", pa.string())]))),
        pa.array([[{"b": "y", "a": 2}]]),
    ),
    "times": (
        pa.array([[TIMES[0]]], pa.list_(pa.timestamp("ms"))),
        pa.array([[TIMES[0]]], pa.list_(pa.timestamp("us"))),
    ),
    "digits": (pa.array([[Decimal("1.5")]]), pa.array([[Decimal("1.50")]])),
}


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas", "duckdb"])
@pytest.mark.parametrize("case", OTHERS)
def test_another_nested_type_is_refused_with_a_cast_that_works(case: str, library: str) -> None:
    before, after = OTHERS[case]
    after = pa.array([{"a": 2, "b": "y"}]) if after is None else after
    first = windowed(LIBRARIES[library](day(0, before))).advance(None, to=ENDS[0], **CALLS)
    data = LIBRARIES[library](day(1, after))
    try:
        windowed(data).advance(first.still_open, to=ENDS[1], **CALLS)
    except ValueError as error:
        says = str(error)
    else:
        assert library in ("pandas", "duckdb")  # they have one type of both
        return
    assert "or a wider type" not in says
    if (library, case) == ("pandas", "times"):
        assert "now; allowed: list<item: timestamp[ms]>; or new names for the aggregates" in says
        return  # pyarrow would take the numbers of these times without their unit
    sign = "CAST" if library == "duckdb" else ""  # its names of types have no colon
    cast = sign + says.partition(f": {sign}" if sign else ">: ")[2].removesuffix("; or None to begin anew")
    if library == "duckdb":
        made = data.project(f'"user", ts, {cast} AS x')
    elif library == "polars":
        made = data.with_columns(eval(cast, {"pl": pl}))
    elif library == "pandas":
        made = data.assign(x=eval(cast, {"frame": data, "pandas": pd, "pyarrow": pa}))
    else:
        made = data.set_column(2, "x", eval(cast, {"table": data, "pyarrow": pa}))
    (found,) = arrow(windowed(made).advance(first.still_open, to=ENDS[1], **CALLS).closed).to_pylist()
    assert found["n"] == 2
    assert [found["first"], found["last"]] == [
        *before.to_pylist(),
        *pa.array(after.to_pylist(), before.type).to_pylist(),
    ]


COMPARED: Mapping[str, Any] = {
    "n": wr.count_distinct("x"),
    "set": wr.collect_set("x"),
    "last": wr.last("x"),
    "about": wr.approx_count_distinct("x"),
    "least": wr.min_by("ts", "x"),
    "most": wr.max_by("ts", "x"),
    "max": wr.max("x"),
}


@pytest.mark.parametrize("within", [None, pa.list_, lambda kind: pa.struct([("in", kind)])])
def test_fields_in_another_order_are_the_same_values(within: Any) -> None:
    """JSON has its names in any order, so pandas and pyarrow have, too."""
    kinds: list[Any] = [pa.struct([(name, pa.int64()) for name in names]) for names in ("ab", "ba")]
    value: Any = {"a": 1, "b": 2}
    if within is not None:
        kinds = [within(kind) for kind in kinds]
        value = [value] if within is pa.list_ else {"in": value}
    for key in ("user", "x"):
        calls = COMPARED if key == "user" else {"n": wr.count()}
        found = []
        for one, other in ((kinds[0], kinds[0]), (kinds[0], kinds[1]), (kinds[1], kinds[0])):
            run = windowed(day(0, pa.array([value], one)), key).advance(None, to=ENDS[0], **calls)
            run = windowed(day(1, pa.array([value], other)), key).advance(run.still_open, to=ENDS[1], **calls)
            found.append(run.closed.to_pylist())
        assert found[1:] == found[:1] * 2
        assert key == "x" or (found[0][0]["n"], found[0][0]["set"]) == (1, [value])


@pytest.mark.parametrize("within", [None, pa.list_, lambda kind: pa.struct([("in", kind)])])
def test_a_map_may_say_that_its_keys_are_sorted(within: Any) -> None:
    kinds: list[Any] = [pa.map_(pa.string(), pa.int64(), keys_sorted=each) for each in (True, False)]
    value: Any = [("a", 1)]
    if within is not None:
        kinds = [within(kind) for kind in kinds]
        value = [value] if within is pa.list_ else {"in": value}
    columns = [pa.array([value], kind) for kind in kinds]
    for one, other in itertools.product(columns, repeat=2):
        assert run_days("pyarrow", (one, other)) == run_days("pyarrow", (columns[1], columns[1]))


LAYOUTS: dict[str, tuple[pa.DataType, pa.DataType, Any]] = {
    "a list and an array": (pa.list_(pa.int64()), pa.list_(pa.int64(), 2), [1, 2]),
    "arrays of two lengths": (pa.list_(pa.int64(), 1), pa.list_(pa.int64(), 2), None),
    "a list in a struct": (
        pa.struct([("a", pa.list_(pa.int64()))]),
        pa.struct([("a", pa.list_(pa.int64(), 2))]),
        {"a": [1, 2]},
    ),
    "decimals": (pa.decimal128(9, 2), pa.decimal256(9, 2), Decimal("1.50")),
    "decimals in a list": (pa.list_(pa.decimal32(9, 2)), pa.list_(pa.decimal128(9, 2)), [Decimal("1.50")]),
}


@pytest.mark.parametrize("case", LAYOUTS)
def test_values_of_another_layout_are_refused(case: str) -> None:
    """Their states have other bytes."""
    *kinds, value = LAYOUTS[case]
    for one, other in (kinds, kinds[::-1]):
        for call in (wr.count_distinct("x"), wr.last("x"), wr.max_by("user", "x")):
            before, after = (pa.array([value], kind) for kind in (one, other))
            first = windowed(day(0, before)).advance(None, to=ENDS[0], c=call)
            with pytest.raises(
                ValueError, match="^open: column 'x' was .* in the run before, and is .* now; allowed: "
            ):
                windowed(day(1, after)).advance(first.still_open, to=ENDS[1], c=call)


def test_the_names_of_the_core_are_types() -> None:
    kinds: list[Any] = [
        pa.list_(pa.struct([("b", pa.decimal256(9, 2)), ("a", pa.map_(pa.string(), pa.list_(NULL)))])),
        *(pa.time32("ms"), pa.time64("ns"), pa.binary(16), pa.decimal128(3, -1), pa.duration("s"), pa.date64()),
        *(pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.bool_(), pa.float16(), pa.list_(pa.list_(pa.int8()))),
        *(
            pa.list_(pa.list_(pa.int8(), 3), 2),
            pa.struct([("b", pa.uint8()), ("a", pa.decimal32(4, 1))]),
        ),
    ]
    for kind in kinds:
        still_open = windowed(day(0, nulls(1, kind))).advance(None, to=ENDS[0], n=wr.count("x")).still_open
        assert types_of(specification_of(columns_of(still_open)) or {})["x"] == kind
    for text in ("list(int64", "struct(a)", "list(Utf9)", "Map(Utf8)", "ListView(", "", "struct(a:int64,)", {}):
        assert named(text) is None, text


def test_only_nulls_are_filled() -> None:
    struct = pa.struct([("a", pa.int64()), ("b", NULL)])
    other = pa.struct([("b", pa.string()), ("a", pa.int64())])
    assert filled(struct, other) == other
    assert filled(pa.list_(NULL, 2), pa.list_(pa.int8())) == pa.list_(pa.int8(), 2)
    for kind, earlier in (
        (pa.list_(pa.int64()), pa.list_(pa.int32())),
        (pa.list_(NULL), pa.map_(pa.string(), pa.int8())),
        (pa.list_(NULL), struct),
        (struct, pa.struct([("a", pa.int64())])),
        (struct, pa.struct([("a", pa.int64()), ("c", pa.int64())])),
        (struct, pa.int64()),
    ):
        assert filled(kind, earlier) is None, (kind, earlier)


def test_a_stream_keeps_the_layouts_of_its_columns() -> None:
    def query(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap("30 minutes", grace="1 hour")
        return wr.group_by(data, "user", time="ts").windowed_by(windows).agg(n=wr.count_distinct("x"))

    def driver(*names: str) -> StreamDriver:
        schema = pa.schema(
            {"user": pa.int64(), "ts": pa.timestamp("us"), "x": pa.struct([(n, pa.int64()) for n in names])}
        )
        return StreamDriver(query, schema)

    first = driver("a", "b")
    first.pipe(user=1, ts=TIMES[0], x={"a": 1, "b": 2})
    assert driver("a", "b").restore(first.snapshot()).counters["windows_open"] == 1
    with pytest.raises(ValueError, match="^state: it belongs to another query") as refused:
        driver("b", "a").restore(first.snapshot())
    assert 'column "x" was struct<a: int64, b: int64>, is struct<b: int64, a: int64>' in str(refused.value)


def both(number: int, column: pa.Array[Any]) -> Any:
    """The same day as two inputs."""
    inputs = {name: wr.group_by(day(number, column), "user", time="ts") for name in ("a", "b")}
    return wr.cogroup(**inputs).windowed_by(GAP)


COGROUPED: dict[str, tuple[pa.Array[Any], pa.Array[Any]]] = {
    "fields in another order": (pa.array([{"a": 1, "b": 2}]), pa.array([{"b": 2, "a": 1}])),
    "nothing": (pa.array([1]), pa.nulls(1)),
    "no element": (NUMBERS, pa.array([[]], pa.list_(NULL))),
    "a narrower type": (pa.array([1]), pa.array([2], pa.int8())),
}


@pytest.mark.parametrize("case", COGROUPED)
def test_a_cogroup_has_the_types_of_the_day_before(case: str) -> None:
    before, after = COGROUPED[case]
    first = both(0, before).advance(None, to=ENDS[0], all=wr.collect_list("a.x"))
    (found,) = both(1, after).advance(first.still_open, to=ENDS[1], all=wr.collect_list("a.x")).closed.to_pylist()
    assert found["all"] == [value for value in [*before.to_pylist(), *after.to_pylist()] if value is not None]


def test_a_cogroup_names_no_cast() -> None:
    """The column of an input has another name in its data."""
    first = both(0, pa.array([1])).advance(None, to=ENDS[0], last=wr.last("a.x"))
    says = r"^open: column 'a.x' was int64 in the run before, and is string now; allowed: int64; or new names"
    with pytest.raises(ValueError, match=says):
        both(1, pa.array(["x"])).advance(first.still_open, to=ENDS[1], last=wr.last("a.x"))


PRICE = Decimal("1.50")


@pytest.mark.parametrize("key", ["user", "x"])
@pytest.mark.parametrize("after", [pa.decimal32(9, 2), pa.decimal64(9, 2), pa.decimal128(9, 2)])
def test_a_day_may_have_narrower_decimals(key: str, after: Any) -> None:
    for before in (pa.decimal128(9, 2), pa.decimal128(12, 2)):
        calls = {"n": wr.count()} if key == "x" else {"n": wr.count_distinct("x"), "last": wr.last("x")}
        run = windowed(day(0, pa.array([PRICE], before)), key).advance(None, to=ENDS[0], **calls)
        run = windowed(day(1, pa.array([PRICE], after)), key).advance(run.still_open, to=ENDS[1], **calls)
        assert [row["n"] for row in run.closed.to_pylist()] == [2 if key == "x" else 1]


@pytest.mark.parametrize("before", [pa.decimal32(9, 2), pa.decimal64(9, 2)])
def test_a_key_of_another_width_is_refused_with_a_cast_that_works(before: Any) -> None:
    first = windowed(day(0, pa.array([PRICE], before)), "x").advance(None, to=ENDS[0], n=wr.count())
    table = day(1, pa.array([PRICE], pa.decimal128(9, 2)))
    with pytest.raises(ValueError, match="^open: column 'x' was decimal") as refused:
        windowed(table, "x").advance(first.still_open, to=ENDS[1], n=wr.count())
    cast = str(refused.value).partition("; allowed: ")[2].partition(": ")[2].partition("; or ")[0]
    made = table.set_column(2, "x", eval(cast, {"table": table, "pyarrow": pa}))
    (row,) = windowed(made, "x").advance(first.still_open, to=ENDS[1], n=wr.count()).closed.to_pylist()
    assert row["n"] == 2


def says_of(library: str, before: pa.Array[Any], after: pa.Array[Any]) -> str:
    """What the error of the second day says."""
    first = windowed(day(0, before)).advance(None, to=ENDS[0], last=wr.last("x"))
    with pytest.raises(ValueError, match="^open: column 'x' was ") as refused:
        windowed(LIBRARIES[library](day(1, after))).advance(first.still_open, to=ENDS[1], last=wr.last("x"))
    return str(refused.value)


def test_no_cast_is_named_that_changes_nothing_or_moves_the_clock() -> None:
    says = says_of("polars", pa.array([time(9)], pa.time32("s")), pa.array([time(9)]))  # Polars has one type of both
    assert ".cast(" not in says
    zoned = pa.array([[TIMES[0]]], pa.list_(pa.timestamp("us", "Europe/Berlin")))
    assert ".cast(" not in says_of("pyarrow", pa.array([[TIMES[0]]]), zoned)


def test_a_field_that_is_new_is_named_with_its_column() -> None:
    struct, wider = pa.array([{"a": 1}]), pa.array([{"a": 1, "c": 2}])
    says = says_of("pyarrow", struct, wider)
    assert says.startswith(
        "open: column 'x' was struct<a: int64> in the run before, and is struct<a: int64, c: int64> now"
    )


@pytest.mark.parametrize("name", ["utm:source", "a,b", ")", '"', "(", "", "ü"])
def test_names_of_fields_may_have_any_signs(name: str) -> None:
    kinds = [pa.struct([(each, pa.int64()) for each in names]) for names in ((name, "z"), ("z", name))]
    runs = []
    for kind in kinds:
        first = windowed(day(0, pa.array([{name: 1, "z": 2}], kinds[0]))).advance(
            None, to=ENDS[0], n=wr.count_distinct("x")
        )
        data = day(1, pa.array([{name: 1, "z": 2}], kind))
        runs.append(windowed(data).advance(first.still_open, to=ENDS[1], n=wr.count_distinct("x")).closed.to_pylist())
    assert runs[0] == runs[1]
    assert runs[0][0]["n"] == 1


@pytest.mark.parametrize("call", [wr.collect_list, wr.collect_set])
def test_pandas_has_structs_with_a_field_that_never_has_a_value(call: Any) -> None:
    value = {"a": None, "b": 1}
    frame = pd.DataFrame({"user": [1, 1], "ts": TIMES, "x": [value, value]})
    windows = wr.SlidingWindows.with_time_difference("30 minutes")
    found = wr.group_by(frame, "user", time="ts").windowed_by(windows).agg(x=call("x"))
    assert [[*each] for each in found["x"]] == [
        [value],
        *([[value] * 2, [value]] if call is wr.collect_list else [[value]] * 2),
    ]
