"""Values with parts that are declared never null, on one day or in one input: any library reads what comes out."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._arguments.nested import nullable, nulls
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..harness.layouts import LEAF, columns
from ..harness.tables import arrow

GAP = wr.SessionWindows.with_gap("30 minutes", grace="1 minute")
CUT = wr.SessionWindows.with_gap("30 minutes", cut_on="x")
SLIDING = wr.SlidingWindows.with_time_difference("30 minutes")
TIMES = [
    *(datetime(2026, 5, 4, 23, 50), datetime(2026, 5, 4, 23, 52)),
    *(datetime(2026, 5, 5, 0, 5), datetime(2026, 5, 5, 0, 6)),
]
ENDS = ["2026-05-05", "2026-05-06"]

Library = Callable[[pa.Table], Any]
LIBRARIES: dict[str, Library] = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "pandas with Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True),
    "duckdb": duckdb.from_arrow,
}


def parquet(result: Any) -> pa.Table:
    """A result through a file."""
    file = io.BytesIO()
    pq.write_table(arrow(result), file)
    return pq.read_table(io.BytesIO(file.getvalue()))


TRIPS: dict[str, Library] = {
    "parquet": parquet,
    **{name: lambda t, of=of: of(arrow(t)) for name, of in LIBRARIES.items()},
}
TRIPS["same"] = lambda opened: opened
TRIPS["pandas"] = lambda table: arrow(table).to_pandas(ignore_metadata=True)
"""What happens to open windows between two days."""


def filled(name: str, kind: Any) -> pa.Field[Any]:
    return pa.field(name, kind, nullable=False)


NUMBER, NAME = filled("a", pa.int64()), filled("item", pa.string())
KINDS: dict[str, tuple[pa.DataType, Any]] = {
    "a struct": (pa.struct([NUMBER]), {"a": 1}),
    "structs in a struct": (pa.struct([filled("s", pa.struct([NUMBER]))]), {"s": {"a": 1}}),
    "a list": (pa.list_(NAME), ["x"]),
    "an array": (pa.list_(NAME, 2), ["x", "y"]),
    "structs in a list": (pa.large_list(filled("item", pa.struct([NUMBER]))), [{"a": 1}]),
    "a map": (pa.map_(pa.string(), filled("value", pa.struct([NUMBER]))), [("k", {"a": 1})]),
}
CALLS: Mapping[str, Any] = {
    "n": wr.count(),
    "first": wr.first("x"),
    "none": wr.last("x").where("no"),
    "all": wr.collect_list("x"),
    "by": wr.min_by("x", "ts"),
}
COMPARED: Mapping[str, Any] = {"distinct": wr.count_distinct("x"), "set": wr.collect_set("x")}
WAYS = {"values": ("user", GAP), "sliding": ("user", SLIDING), "key": ("x", GAP), "cut_on": ("user", CUT)}


def events(values: pa.Array[Any], first: int = 0) -> pa.Table:
    """A record of each of two users in turn, from one of the `TIMES` on."""
    rows = range(first, first + len(values))
    times = pa.array([TIMES[row] for row in rows], pa.timestamp("us"))
    return pa.table({"user": [row % 2 for row in rows], "ts": times, "x": values, "no": [False for _ in rows]})


def queried(data: Any, way: str, *, maps: bool = False) -> tuple[Any, Mapping[str, Any]]:
    key, windows = WAYS[way]
    keys = ("user", key) if way == "key" else (key,)
    calls = CALLS if maps or way == "key" else {**CALLS, **COMPARED}
    return wr.group_by(data, *keys, time="ts").windowed_by(windows), {"n": wr.count()} if way == "cut_on" else calls


def shown(result: Any) -> list[Any]:
    rows = [{name: repr(value) for name, value in row.items()} for row in arrow(result).to_pylist()]
    return sorted(rows, key=repr)


def run_days(days: list[Any], way: str, trip: Library, **options: bool) -> list[Any]:
    """The windows that two days close."""
    opened, closed = None, []
    for data, to in zip(days, ENDS, strict=True):
        query, calls = queried(data, way, **options)
        run = query.advance(opened, to=to, **calls)
        opened = trip(run.still_open)
        closed += shown(parquet(run.closed))
        parquet(run.rows)
    return closed


ALL = [(library, way) for library in LIBRARIES for way in WAYS if library == "pyarrow" or way in ("values", "key")]


@pytest.mark.parametrize("case", KINDS)
@pytest.mark.parametrize(("library", "way"), ALL)
def test_values_that_are_declared_never_null_come_back_on_any_day(library: str, case: str, way: str) -> None:
    kind, value = KINDS[case]
    maps = case == "a map"
    if (maps and way in ("key", "cut_on")) or (case == "an array" and "Arrow" in library):
        return  # maps are no keys, and pandas makes no column of such arrays beside a null
    kinds = [(kind, kind), (kind, nullable(kind)), (nullable(kind), kind)]
    of = LIBRARIES[library]
    found = []
    for one, other in kinds:
        days = [of(events(pa.array([None, value], each), first)) for each, first in ((one, 0), (other, 2))]
        query, calls = queried(days[0], way, maps=maps)
        parquet(query.agg(**calls))
        parquet(query.to_reader(**calls).read_all())
        parquet(query.with_columns(**calls))
        found.append(run_days(days, way, parquet, maps=maps))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("trip", TRIPS)
@pytest.mark.parametrize("case", [case for case in KINDS if case != "a map"])
def test_keys_that_are_declared_never_null_go_through_any_library(case: str, trip: str) -> None:
    kind, value = KINDS[case]
    of_kinds = [[events(pa.array([None, value], each), first) for first in (0, 2)] for each in (kind, nullable(kind))]
    found = [run_days(days, "key", TRIPS[trip]) for days in of_kinds]
    assert found[0] == found[1] != []


SIMPLE: list[Any] = [(pa.string(), ["a", "b", ""]), (pa.int64(), [0, -1]), (pa.bool_(), [True, False])]
NESTED = [LEAF, "struct", "list", "large list"]
"""Without arrays of a fixed length, which pyarrow cannot read from Parquet where they are in a struct that is null."""


def relaxed(values: Any) -> pa.Array[Any]:
    """The same values, in a type that allows nulls within them."""
    return pa.array(values.to_pylist(), nullable(values.type))


@usually(60)
@given(
    columns(4, NESTED, SIMPLE),
    st.sampled_from([*TRIPS]),
    st.sampled_from([*WAYS]),
    st.sampled_from([(False, False), (False, True), (True, False)]),
)
@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
def test_what_may_be_null_changes_no_window(values: Any, trip: str, way: str, relax: tuple[bool, bool]) -> None:
    """Polars, DuckDB and pandas have frames of open windows between two days of pyarrow."""
    if trip == "pandas" and way == "key":
        trip = "same"  # it has lists of objects without a type
    halves = list(zip((values[:2], values[2:]), (0, 2), relax, strict=True))
    days = [events(relaxed(part) if is_relaxed else part, first) for part, first, is_relaxed in halves]
    plain = [events(relaxed(part), first) for part, first, _ in halves]
    assert run_days(days, way, TRIPS[trip]) == run_days(plain, way, TRIPS["same"])
    query, calls = queried(events(values), way)
    wanted, same = queried(events(relaxed(values)), way)
    assert shown(parquet(query.agg(**calls))) == shown(wanted.agg(**same))
    assert shown(parquet(query.with_columns(**calls))) == shown(wanted.with_columns(**same))


@pytest.mark.parametrize("case", ["a struct", "structs in a list", "an array"])
def test_an_input_of_a_cogroup_may_have_nulls_where_another_has_none(case: str) -> None:
    kind, value = KINDS[case]
    found = []
    for kinds in ((kind, kind), (kind, nullable(kind)), (nullable(kind), kind)):
        opened, rows = None, list[Any]()
        for first, to in zip((0, 2), ENDS, strict=True):
            days = [events(pa.array([value, None], each), first) for each in kinds]
            inputs = {name: wr.group_by(day, "user", "x", time="ts") for name, day in zip("ab", days, strict=True)}
            query = wr.cogroup(**inputs).windowed_by(GAP)
            calls = {"a": wr.collect_list("a.x"), "b": wr.last("b.x")}
            rows += [*shown(parquet(query.agg(**calls))), *shown(parquet(query.with_columns(**calls)))]
            run = query.advance(opened, to=to, **calls)
            opened = parquet(run.still_open)
            rows += shown(parquet(run.closed))
        found.append(rows)
    assert found[0] == found[1] == found[2]


def counted(numbers: pa.Array[Any]) -> pa.Array[Any]:
    return pa.StructArray.from_arrays([pc.fill_null(numbers, 0)], fields=[NUMBER])


FUNCTIONS: dict[str, Any] = {
    "reduce": wr.reduce("x", lambda one, _: one),
    "aggregate": wr.aggregate(
        lambda: {"a": 0},
        lambda made, _: {"a": made["a"] + 1},
        lambda one, other: {"a": one["a"] + other["a"]},
        schema=pa.struct([NUMBER]),
    ),
    "nothing": wr.aggregate(lambda: None, lambda made, _: made, lambda one, _: one, schema=pa.struct([NUMBER])),
    "then": wr.count().then(counted, schema=pa.struct([NUMBER])),
    "apply": wr.apply(
        lambda lists: counted(pc.list_value_length(lists).cast(pa.int64())), "user", schema=pa.struct([NUMBER])
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_of_functions_that_are_declared_never_null_go_to_parquet(name: str) -> None:
    opened, closed = None, list[Any]()
    for first, to in zip((0, 2), ENDS, strict=True):
        values = pa.array([{"a": 2}] * 2, pa.struct([NUMBER]))
        query = wr.group_by(events(values, first), "user", time="ts").windowed_by(GAP)
        run = query.advance(opened, to=to, found=FUNCTIONS[name])
        opened = parquet(run.still_open)
        closed += parquet(run.closed)["found"].to_pylist()
    assert closed == [None if name == "nothing" else {"a": 2}] * 2
    left_out = query.left_out("emit", columns=["x"]).agg(found=FUNCTIONS[name])
    assert parquet(left_out).num_rows == 2


class Placed(pa.ExtensionType):
    """An extension over a struct that is never null within, as of points."""

    def __init__(self) -> None:
        super().__init__(pa.struct([NUMBER]), "test.placed")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: pa.DataType, _serialized: bytes) -> Placed:
        return cls()


@pytest.fixture
def _placed() -> Iterator[None]:
    pa.register_extension_type(Placed())
    yield
    pa.unregister_extension_type("test.placed")


@pytest.mark.usefixtures("_placed")
def test_null_extensions_of_storage_that_is_never_null_go_to_parquet() -> None:
    storage = pa.StructArray.from_arrays([pa.array([1, 2])], fields=[NUMBER])
    values: Any = pa.ExtensionArray.from_storage(Placed(), storage)
    opened = None
    for first, to in zip((0, 2), ENDS, strict=True):
        query, calls = queried(events(values, first), "values", maps=True)
        assert parquet(query.agg(**calls))["none"].to_pylist() == [None, None]
        run = query.advance(opened, to=to, **calls)
        opened = parquet(run.still_open)
        parquet(run.closed)
    assert run.closed["first"].type == Placed()


def test_a_driver_takes_nulls_within_values_that_are_declared_never_null() -> None:
    kind, value = KINDS["a struct"]
    for declared, given_kind in ((kind, nullable(kind)), (nullable(kind), kind), (kind, kind)):
        driver = StreamDriver(
            lambda data: wr.group_by(data, "x", time="ts").windowed_by(GAP).agg(first=wr.first("x")),
            pa.schema({"x": declared, "ts": pa.timestamp("us")}),
        )
        driver.pipe_batch(pa.table({"x": pa.array([value], given_kind), "ts": pa.array(TIMES[:1], pa.timestamp("us"))}))
        driver.finish()
        assert parquet(driver.read_table())["first"].to_pylist() == [value]


HIDDEN = [
    *(pa.int64(), pa.bool_(), pa.string_view(), pa.binary(3), pa.decimal128(9, 2), pa.month_day_nano_interval()),
    *(pa.list_(NAME), pa.list_view(pa.int8()), pa.map_(pa.string(), filled("value", pa.int8())), pa.list_(NAME, 2)),
    *(pa.struct([filled("s", pa.struct([NUMBER]))]), pa.dictionary(pa.int8(), pa.struct([NUMBER])), pa.uuid()),
    *(
        pa.run_end_encoded(pa.int32(), pa.string()),
        pa.dense_union([NUMBER]),
        pa.sparse_union([pa.field("a", pa.int8())]),
    ),
]


@pytest.mark.parametrize("kind", HIDDEN, ids=str)
def test_nulls_of_structs_and_arrays_hide_values_where_none_may_be_null(kind: pa.DataType) -> None:
    for rows in (0, 1, 3):
        for outer in (pa.struct([filled("x", kind)]), pa.list_(filled("x", kind), 2)):
            made = nulls(rows, outer)
            made.validate(full=True)
            assert made.to_pylist() == [None] * rows
            inside = made.field(0) if pa.types.is_struct(outer) else made.values
            assert inside.null_count == 0
