"""Tables of open windows without some keys, or at another time: frames of every library in this process."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import Row

import windrow as wr
from windrow import state
from windrow.testing import StreamDriver

from ..harness.daily_jobs import half_hours, pairs, shown_windows
from ..harness.libraries import LIBRARIES
from ..harness.tables import arrow
from ..scenes import at

DAY = pairs(("ann", 0), ("bob", 1), ("eve", 2), ("bob", 50))
OPEN: pa.Table = half_hours(DAY).advance(None, to=at(20), n=wr.count()).still_open
ROWS: pa.Table = half_hours(DAY).advance(None, to=at(40), n=wr.count()).rows
"""The rows of a run that closes windows."""
GAP = wr.SessionWindows.with_gap("30 minutes")


def continued(opened: Any, *records: tuple[str, float], to: float = 200) -> list[tuple[str, int]]:
    """What a run over these records closes."""
    closed = half_hours(pairs(*records)).advance(opened, to=at(to), n=wr.count()).closed
    return sorted((row["user"], row["n"]) for row in closed.to_pylist())


@pytest.mark.parametrize("name", LIBRARIES)
def test_rows_of_keys_are_removed_and_the_table_is_whole(name: str) -> None:
    given = LIBRARIES[name](OPEN.append_column("day", pa.array([7] * OPEN.num_rows)))
    without = state.without_keys(given, user=["bob", "nobody"])
    assert type(without) is type(given)
    assert arrow(without).column_names == [*OPEN.column_names, "day"]
    assert continued(without) == [("ann", 1), ("eve", 1)]
    assert continued(state.without_keys(without, user="eve"), ("ann", 10)) == [("ann", 2)]
    for nobody in ("nobody", None, []):
        same = state.without_keys(given, user=nobody)
        assert continued(same) == [("ann", 1), ("bob", 1), ("bob", 1), ("eve", 1)]


@pytest.mark.parametrize(("key", "flat"), [("window", True), ("window_start", False), ("user", True)])
def test_a_key_may_have_the_name_of_the_other_kind_of_bounds(key: str, flat: bool) -> None:
    windowed = wr.group_by(DAY.rename_columns([key, "ts"]), key, time="ts").windowed_by(GAP)
    opened = (windowed.flat() if flat else windowed).advance(None, to=at(20), n=wr.count()).still_open
    without = state.without_keys(opened, **{key: "bob"})
    assert [row[key] for row in without.to_pylist()] == ["ann", "eve", None]  # the last is the clock row


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_clock_is_set_back_and_forward(name: str) -> None:
    given = LIBRARIES[name](OPEN)
    assert state.clock(given) == state.Clock(at(20), 0)
    back = state.with_clock(given, at(5))
    assert type(back) is type(given)
    assert state.clock(back).time == at(5)
    forward = state.with_clock(back, "2026-01-01 08:35:00")
    assert state.clock(forward).time == at(35)
    assert continued(forward, to=35) == [("ann", 1), ("bob", 1), ("eve", 1)]


def test_a_wrong_record_in_the_far_future_is_undone() -> None:
    far = half_hours(DAY, grace="10 minutes").advance(None, to=at(10**6), n=wr.count())
    assert shown_windows(far.still_open).num_rows == 0
    late = half_hours(pairs(("ann", 60)), grace="10 minutes")
    run = late.advance(far.still_open, to=at(10**6), n=wr.count())
    assert wr.counters(run.closed)["late"] == 1
    back = state.with_clock(far.still_open, at(70))
    with pytest.raises(ValueError, match="to: got 2026-01-01 09:09:00; allowed: 2026-01-01 09:10:00, which"):
        late.advance(back, to=at(69), n=wr.count())
    run = late.advance(back, to=at(100), n=wr.count())
    assert [(row["user"], row["n"]) for row in shown_windows(run.still_open).to_pylist()] == [("ann", 1)]


#        08:30       08:40 (to)
#   bound ┤····grace··│        a record at 08:29:59 is late by then, one at 08:30 is not
@pytest.mark.parametrize(("minutes", "late"), [(-1 / 60, 1), (0, 0), (1 / 60, 0)])
def test_records_are_late_by_the_time_that_was_set(minutes: float, late: int) -> None:
    far = half_hours(pairs(), grace="10 minutes").advance(None, to=at(10**6), n=wr.count())
    back = state.with_clock(far.still_open, at(40))
    windows = half_hours(pairs(("ann", minutes)), grace="10 minutes")
    assert wr.counters(windows.advance(back, to=at(40), n=wr.count()).closed)["late"] == late


@pytest.mark.parametrize(
    "windows",
    [
        lambda grace: wr.SessionWindows.with_gap("10 minutes", grace=grace),
        lambda grace: wr.SlidingWindows.with_time_difference("10 minutes", grace=grace, resolution="1 millisecond"),
    ],
)
@pytest.mark.parametrize("grace", ["0 seconds", "1 hour", "2 hours"])
def test_a_shorter_grace_closes_the_windows_of_a_table_that_was_set_back(windows: Any, grace: str) -> None:
    def grouped(data: Any, grace: str) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(windows(grace))

    opened = grouped(pairs(("bob", 1), ("ann", 100)), "2 hours").advance(None, to=at(100), n=wr.count()).still_open
    back = state.with_clock(opened, at(99))
    closed = grouped(pairs(), grace).advance(back, to=at(500), n=wr.count()).closed
    assert sorted(closed["user"].to_pylist()) == ["ann", "bob"]
    driver = StreamDriver(lambda data: grouped(data, grace).start_from(back).count(), DAY.schema)
    assert sorted(final.key["user"] for final in driver.tick(at(500))) == ["ann", "bob"]


def test_sliding_windows_that_are_open_again_are_final_again() -> None:
    windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="5 minutes")

    def run(opened: Any, to: float, *records: tuple[str, float]) -> list[tuple[Any, Any, int]]:
        result = wr.group_by(pairs(*records), "user", time="ts").windowed_by(windows)
        result = result.advance(opened, to=at(to), n=wr.count())
        found.append(result.still_open)
        return sorted((row["window"]["start"], row["window"]["end"], row["n"]) for row in result.closed.to_pylist())

    found: list[Any] = []
    assert run(None, 30, ("ann", 20), ("ann", 24)) == [(at(10), at(20), 1), (at(14), at(24), 2)]
    back = state.with_clock(found[0], at(28))
    assert run(back, 31, ("ann", 22)) == [(at(14), at(24), 3)]  # [08:12, 08:22] is closed at 08:28, too


@pytest.mark.parametrize("kind", [pl.Categorical(), pl.Enum(["ann", "bob"]), pd.CategoricalDtype(["ann", "bob"])])
def test_keys_of_few_values_continue(kind: Any) -> None:
    """Polars has views of them, which pyarrow cannot decode. The next day has other values."""

    def day(kind: Any, *records: tuple[str, float]) -> Any:
        if isinstance(kind, pd.CategoricalDtype):
            return half_hours(pairs(*records).to_pandas().astype({"user": kind}))
        return half_hours(pl.from_arrow(pairs(*records)).with_columns(pl.col("user").cast(kind)))

    opened = day(kind, ("ann", 0), ("bob", 1)).advance(None, to=at(20), n=wr.count()).still_open
    assert opened["user"].dtype == kind
    other = kind if kind == pl.Categorical() else type(kind)(["eve", "ann"])
    closed = day(other, ("ann", 25), ("eve", 90)).advance(opened, to=at(100), n=wr.count())
    assert continued(closed.still_open) == [("eve", 1)]
    assert list(closed.closed["user"]) == ["bob", "ann"]
    assert list(closed.closed["n"]) == [1, 2]


ENUMS: dict[str, tuple[str, Any]] = {
    "ENUM": ("{}", lambda value: value),
    "a list": ("{}[]", lambda value: [value, None]),
    "an array": ("{}[1]", lambda value: (value,)),
    "a struct": ('STRUCT("a.b" {}, n INTEGER)', lambda value: {"a.b": value, "n": 1}),
}


@pytest.mark.parametrize("name", ENUMS)
def test_keys_of_an_enum_of_duckdb_continue(name: str) -> None:
    """The next day has an `ENUM` of other values."""
    form, shape = ENUMS[name]
    connection = duckdb.connect()

    def day(values: str, *records: tuple[str, float]) -> Any:
        rows = pa.table({"user": [shape(user) for user, _ in records], "ts": [at(minute) for _, minute in records]})
        relation = connection.from_arrow(rows).project(f"CAST(user AS {form.format(values)}) AS user, ts")
        return half_hours(relation)

    aggregates = {"n": wr.count(), "first": wr.first("user")}
    one = day("ENUM('ann', 'b''b')", ("ann", 0), ("b'b", 1)).advance(None, to=at(20), **aggregates)
    assert [str(one.still_open.types[place]) for place in (0, 3)] == [form.format("ENUM('ann', 'b''b')")] * 2
    two = day("ENUM('eve', 'ann')", ("ann", 25), ("eve", 90)).advance(one.still_open, to=at(100), **aggregates)
    kind = form.format("ENUM('eve', 'ann', 'b''b')")
    assert [str(two.closed.types[place]) for place in (0, 3)] == [kind] * 2
    closed = two.closed.project('user, n, "first"').order("n").fetchall()
    assert closed == [(shape("b'b"), 1, shape("b'b")), (shape("ann"), 2, shape("ann"))]
    assert two.still_open.filter("n > 0").project("user").fetchall() == [(shape("eve"),)]


def test_a_day_without_records_needs_no_types_of_keys() -> None:
    opened = half_hours(pl.from_arrow(pairs(("ann", 0)))).advance(None, to=at(20), n=wr.count()).still_open
    empty = pl.DataFrame({"user": [], "ts": pl.Series([], dtype=pl.Datetime("us"))})
    closed = half_hours(empty).advance(opened, to=at(200), n=wr.count()).closed
    assert closed.select("user", "n").rows() == [("ann", 1)]


NAMES = pa.array(["x", None, "y"]).dictionary_encode()
KEYS = pa.table({"id": [1, 1, 2], "name": NAMES, "ts": pa.array([at(0), at(1), at(2)], pa.timestamp("us", "UTC"))})


def test_several_key_columns_and_null() -> None:
    run = wr.group_by(KEYS, "id", "name", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    opened = run.advance(None, to=datetime(2026, 1, 1, 8, 5, tzinfo=UTC), n=wr.count()).still_open

    def left(**keys: Any) -> list[tuple[Any, Any]]:
        rows = shown_windows(state.without_keys(opened, **keys)).to_pylist()
        return sorted(((row["id"], row["name"]) for row in rows), key=str)

    assert left(id=1) == [(2, "y")]
    assert left(name=None) == [(1, "x"), (2, "y")]
    assert left(id=1, name="x") == [(1, None), (2, "y")]
    assert left(id=[1, 2], name=["y", None]) == [(1, "x")]
    assert left(id=[]) == [(1, "x"), (1, None), (2, "y")]
    later = state.with_clock(opened, datetime(2026, 1, 1, 9, 5, tzinfo=UTC) + timedelta(hours=1))
    assert state.clock(later).time == datetime(2026, 1, 1, 10, 5, tzinfo=UTC)


FLOATS = [0.0, 1.5, math.nan]
PLACES: list[Any] = [
    {"city": "Rome", "at": {"x": 0.0, "tags": ["a", None]}},
    {"city": "Rome", "at": {"x": math.nan, "tags": []}},
    {"city": None, "at": None},
]
PLACE = pa.struct([("city", pa.string()), ("at", pa.struct([("x", pa.float64()), ("tags", pa.list_(pa.string()))]))])


def of_key(values: list[Any], kind: pa.DataType) -> pa.Table:
    times = pa.array([at(0)] * len(values), pa.timestamp("us"))
    day = pa.table({"key": pa.array(values, kind), "ts": times})
    return wr.group_by(day, "key", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))


def left_of(opened: Any, key: Any) -> list[int]:
    """What is counted after a key is removed: each key has other numbers of records."""
    left = state.without_keys(opened, key=key)
    assert type(left) is type(opened)
    return sorted(shown_windows(arrow(left))["n"].to_pylist())


def thrice(values: list[Any]) -> list[Any]:
    return [value for number, value in enumerate(values) for _ in range(number + 1)]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_float_is_found_in_each_form_of_it(name: str) -> None:
    for kind in (pa.float64(), pa.float32()):
        opened = of_key(thrice([-0.0, 1.5]), kind).advance(None, to=at(5), n=wr.count()).still_open
        given = LIBRARIES[name](opened)
        assert [left_of(given, zero) for zero in (0.0, -0.0, 0)] == [[2]] * 3
        assert left_of(given, [*range(2, 50), 0.0]) == [2]  # more values than Spark compares one by one
        assert left_of(given, 1.5) == [1]
    given = LIBRARIES[name](of_key(thrice(FLOATS), pa.float64()).advance(None, to=at(5), n=wr.count()).still_open)
    assert left_of(given, math.copysign(math.nan, -1.0)) == [1, 2]
    assert left_of(given, [math.nan, 0.0]) == [2]


@pytest.mark.parametrize("name", LIBRARIES)
def test_structs_are_keys_as_dicts_and_as_rows(name: str) -> None:
    given = LIBRARIES[name](of_key(thrice(PLACES), PLACE).advance(None, to=at(5), n=wr.count()).still_open)
    nan = None if name == "pandas" else math.nan  # the NaNs of a pandas frame are nulls
    assert left_of(given, {"city": "Rome", "at": {"x": -0.0, "tags": ["a", None]}}) == [2, 3]
    assert left_of(given, {"at": {"tags": ["a"], "x": 0.0}, "city": "Rome"}) == [1, 2, 3]
    assert left_of(given, [PLACES[2], {"city": "Rome", "at": {"x": nan, "tags": []}}]) == [1]
    assert left_of(given, []) == left_of(given, None) == [1, 2, 3]
    assert left_of(given, Row(city="Rome", at=Row(x=nan, tags=[]))) == [1, 3]
    assert left_of(given, [Row(at=None, city=None), PLACES[0]]) == [2]


def test_lists_are_keys_in_a_list() -> None:
    lists = [[1.0], [], [-0.0, None]]
    opened = of_key(thrice(lists), pa.list_(pa.float64())).advance(None, to=at(5), n=wr.count()).still_open
    assert left_of(opened, [[]]) == [1, 3]
    assert left_of(opened, [[0.0, None], [1.0]]) == [2]
    with pytest.raises(TypeError, match=r"key: got 1.0, a float; allowed: a list \(list"):
        state.without_keys(opened, key=[1.0])


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        ("Rome", TypeError, "keys: key: got 'Rome', a str; allowed: a dict of city, at"),
        (("Rome", None), TypeError, "keys: key: got 'Rome', a str; allowed: a dict of city, at"),
        ({"city": "Rome"}, ValueError, "keys: key: got .*; allowed: all of the names city, at"),
        ({"city": "Rome", "at": None, "zip": 1}, ValueError, "keys: key: got 'zip'; allowed: the names city, at"),
        ({"city": 5, "at": None}, TypeError, r"keys: key.city: got 5, an int; allowed: a str \(string"),
        (Row(city="Rome", at=Row(x="0", tags=[])), TypeError, r"keys: key.at.x: got '0', a str; allowed: a"),
    ],
)
def test_a_value_that_no_struct_of_the_column_has_is_named(value: Any, error: type[Exception], says: str) -> None:
    opened = of_key(PLACES, PLACE).advance(None, to=at(5), n=wr.count()).still_open
    with pytest.raises(error, match=says):
        state.without_keys(opened, key=value)


def changed(**columns: Any) -> pa.Table:
    table = OPEN
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


EARLY = pa.array([None] * 4 + [at(3)], pa.timestamp("us"))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: state.without_keys(OPEN, usr="ann"), ValueError, "keys: got 'usr'; allowed: key columns of .*'user'"),
        (lambda: state.without_keys(OPEN, n=1), ValueError, "keys: got 'n'; allowed: key columns of the table: 'user'"),
        (lambda: state.without_keys(OPEN), ValueError, "keys: got 'none'; allowed: values of key columns"),
        (lambda: state.without_keys(OPEN, user=5), TypeError, r"keys: user: got 5, an int; allowed: a str \(string"),
        (lambda: state.without_keys(OPEN, user=["ann", 5]), TypeError, "keys: user: got 5, an int; allowed: a str"),
        (lambda: state.without_keys(OPEN.drop_columns("state"), user="a"), ValueError, "one that has 'state'"),
        (lambda: state.without_keys(OPEN.drop_columns("window"), user="a"), ValueError, "one that has 'window'"),
        (lambda: state.without_keys("open", user="a"), ValueError, "open: got 'open'"),
        (lambda: state.without_keys(None, user="a"), TypeError, "open: got None"),
        (lambda: state.with_clock(OPEN, 5), TypeError, "to: got 5"),
        (lambda: state.with_clock(OPEN, "noon"), ValueError, "to: got 'noon'"),
        (lambda: state.with_clock(OPEN, "2026-01-01T00:00Z"), ValueError, "a time without a zone"),
        (lambda: state.clock(ROWS), ValueError, "row 0: it has no `state`: a closed .* its still_open, or its rows"),
        (lambda: state.with_clock(ROWS, at(50)), ValueError, "row 0: it has no `state`.*rows with the status 'open'"),
        (lambda: state.without_keys(ROWS, user="ann"), ValueError, "row 0: it has no `state`"),
        (lambda: state.clock(wr.Run(OPEN, OPEN, OPEN)), TypeError, "open: got a Run; allowed: its still_open"),
        (lambda: state.clock(OPEN[:1]), ValueError, "open: got 1 rows and no clock row"),
        (lambda: state.clock(pa.concat_tables([OPEN, OPEN])), ValueError, "open: got 2 clock rows"),
        (lambda: state.clock(changed(state=pa.array([b"WR"] * 5))), ValueError, "its `state` is damaged or cut off"),
        (lambda: state.clock(changed(state=pa.array(range(5)))), TypeError, "column 'state' has type int64"),
        (lambda: state.clock(changed(state=pa.array(["WR"] * 5))), TypeError, "^open: column 'state' has type string"),
        (lambda: state.with_clock(OPEN, pd.NaT), ValueError, "^to: got NaT; allowed: a datetime, a date, or text"),
        (lambda: state.clock([OPEN, DAY]), ValueError, r"^open\[1\]: got .*allowed: the schema of the first"),
        (lambda: [*map(state.clock, [OPEN.to_reader()] * 2)], ValueError, "^open: got a stream that an earlier query"),
        (lambda: state.clock(changed(stream_time=EARLY)), ValueError, "cannot be read: its `stream_time` was changed"),
    ],
)
def test_wrong_arguments_and_damaged_tables_are_named(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_the_rows_of_a_run_that_are_open_are_a_table() -> None:
    opened = ROWS.filter(pc.equal(ROWS["status"], "open"))
    assert 0 < opened.num_rows < ROWS.num_rows
    assert state.clock(opened) == state.Clock(at(40), 0)


def test_the_clock_of_sessions_with_rules_does_not_go_back() -> None:
    windows = wr.SessionWindows.with_gap("1 hour", max_records=2)
    grouped = wr.group_by(pairs(("ann", 0), ("ann", 5)), "user", time="ts").windowed_by(windows)
    opened = grouped.advance(None, to=at(10), n=wr.count()).still_open
    assert state.clock(state.with_clock(opened, at(10))).time == at(10)
    with pytest.raises(ValueError, match=r"to: got 2026-\S+ 08:09:59.999999; allowed: .* its sessions have rules"):
        state.with_clock(opened, at(10) - timedelta(microseconds=1))


@pytest.mark.parametrize("to", ["0001-01-01 00:00+00:01", datetime.max.replace(tzinfo=timezone(timedelta(minutes=-1)))])
def test_a_time_that_utc_does_not_have_is_named(to: Any) -> None:
    run = wr.group_by(KEYS, "id", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    with pytest.raises(ValueError, match="^to: got .*; allowed: a time of the years 1 to 9999 in UTC"):
        run.advance(None, to=to, n=wr.count())


def test_a_query_without_keys_has_none_to_remove() -> None:
    run = wr.group_by(DAY, time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    opened = run.advance(None, to=at(5), n=wr.count()).still_open
    with pytest.raises(ValueError, match="keys: got 'user'; allowed: none, as the query has no keys"):
        state.without_keys(opened, user="ann")
