"""The types that a column has on two days of a job, in the words of its library; each cast works on that data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr
from windrow._arguments.nested import nulls
from windrow._arguments.type_names import named
from windrow._local.advance import specification_of
from windrow._local.sources import columns_of

from ..harness.tables import arrow
from .test_nested_days import ENDS, LIBRARIES, TIMES, day, windowed

LAST: Mapping[str, Any] = {"v": wr.last("x")}

VALUES = {
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "'2026-05-04 09:00:00'"),
    **dict.fromkeys(("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"), "'2026-05-04 09:00:00+00'"),
    "TIME": "'09:00:00'",
    "TIME_NS": "'09:00:00'",
    "TIME WITH TIME ZONE": "'09:00:00+01'",
    "DATE": "'2026-05-04'",
    "INTERVAL": "'1 hour'",
    "BIGINT": "101",
    "DECIMAL(9,2)": "1",
    "VARCHAR": "'101'",
    "BIT": "'101'",
    "FLOAT": "1",
    "BIGNUM": "101",
    "BLOB": "'101'",
}
WITHIN = {
    "": ("{t}", "{v}"),
    "STRUCT": ('STRUCT("b c" INTEGER, a {t})', "{{'b c': 1, 'a': {v}}}"),
    "LIST": ("{t}[]", "[{v}]"),
    "MAP": ("MAP(VARCHAR, {t})", "MAP{{'k': {v}}}"),
}


def relation(connection: Any, number: int, kind: str, within: str = "") -> Any:
    outer, value = WITHIN[within]
    made = value.format(v=f"CAST({VALUES[kind]} AS {kind})")
    times = TIMES[number]
    return connection.sql(f"SELECT 1 AS user, TIMESTAMP '{times}' ts, CAST({made} AS {outer.format(t=kind)}) x")


MIXED = (
    ("TIMESTAMP_S", "TIMESTAMP_NS"),  # DuckDB lacks this cast
    ("TIMESTAMP", "TIMESTAMPTZ_NS"),  # and this
    ("TIME_NS", "TIMESTAMP"),
    ("BIGINT", "TIMESTAMP_S"),
    ("TIMESTAMP_MS", "TIMESTAMP_S"),
    ("TIME_NS", "TIME"),
    ("BIGINT", "BIT"),  # it takes the text of a BIT for another number
    ("FLOAT", "BIGNUM"),
    ("BLOB", "TIME WITH TIME ZONE"),
    ("DATE", "TIMESTAMP_S"),
    ("VARCHAR", "BIGINT"),
    ("TIME WITH TIME ZONE", "BIGINT"),  # the text that a cast makes is no TIME WITH TIME ZONE
)


@pytest.mark.parametrize("within", ["", *(pytest.param(within, marks=pytest.mark.slow) for within in [*WITHIN][1:])])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (one, other) if (one, other) in MIXED else pytest.param(one, other, marks=pytest.mark.soak)
        for one in VALUES
        for other in VALUES
        if one != other
    ],
)
def test_a_cast_of_duckdb_is_one_that_duckdb_has(before: str, after: str, within: str) -> None:
    """It makes the very values that Arrow's cast makes."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Europe/Berlin'")
    first = windowed(relation(connection, 0, before, within)).advance(None, to=ENDS[0], **LAST)
    data = relation(connection, 1, after, within)
    try:
        assert len(windowed(data).advance(first.still_open, to=ENDS[1], **LAST).closed.fetchall()) == 1
        return
    except ValueError as error:
        says = str(error)
    outer = WITHIN[within][0].format(t=after)
    assert f" in the run before, and is {outer} now; allowed: " in says
    found = re.search(r"; allowed: .*?: (CAST\(.*\))(?:; or|$)", says)
    if found is None:
        return
    made = connection.sql(f"SELECT user, ts, {found[1]} AS x FROM data")
    ((value,),) = windowed(made).advance(first.still_open, to=ENDS[1], **LAST).closed.project("v").fetchall()
    ((expected,),) = made.project("x").fetchall()
    assert value == expected


@pytest.mark.parametrize("function", ["last", "collect_list", "top_k"])
def test_no_cast_makes_a_type_of_duckdb_that_arrow_has_as_text(function: str) -> None:
    aggregates = {"v": wr.top_k("x", 1) if function == "top_k" else getattr(wr, function)("x")}
    connection = duckdb.connect()
    first = windowed(relation(connection, 0, "BIT")).advance(None, to=ENDS[0], **aggregates)
    with pytest.raises(
        ValueError, match=r"^open: column 'x' was \S+ in the run before, and is BIGINT now; "
    ) as refused:
        windowed(relation(connection, 1, "BIGINT")).advance(first.still_open, to=ENDS[1], **aggregates)
    assert "CAST" not in str(refused.value)
    assert function != "last" or "'x' was BIT in the run before, and is BIGINT now; allowed: BIT; or new" in str(
        refused.value
    )


def test_the_casts_of_times_take_two_steps_where_duckdb_lacks_one() -> None:
    connection = duckdb.connect()
    for before, after in MIXED[:2]:
        first = windowed(relation(connection, 0, before)).advance(None, to=ENDS[0], **LAST)
        with pytest.raises(ValueError, match=rf': CAST\(CAST\("x" AS \w+\) AS {before}\); or None'):
            windowed(relation(connection, 1, after)).advance(first.still_open, to=ENDS[1], **LAST)


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_interval_of_duckdb_and_a_duration_are_no_text_of_each_other(library: str) -> None:
    """Each library has another text of them: no cast makes those of the day before."""
    hour = pa.array([timedelta(hours=1)], pa.duration("us"))
    connection = duckdb.connect()
    one, other = (relation(connection, number, "INTERVAL") for number in (0, 1))
    first = windowed(one).advance(None, to=ENDS[0], **LAST)
    if library == "duckdb":
        assert windowed(other).advance(first.still_open, to=ENDS[1], **LAST).closed.project("v").fetchall() == [
            (timedelta(hours=1),)
        ]
        return
    with pytest.raises(ValueError, match="was string in the run before, and is duration") as refused:
        windowed(LIBRARIES[library](day(1, hour))).advance(first.still_open, to=ENDS[1], **LAST)
    assert "cast" not in str(refused.value)
    assert "; or new names for the aggregates over it" in str(refused.value)
    first = windowed(LIBRARIES[library](day(0, hour))).advance(None, to=ENDS[0], **LAST)
    with pytest.raises(ValueError, match=r"was duration\[us\] in the run before, and is INTERVAL now; allowed: dur"):
        windowed(other).advance(arrow(first.still_open), to=ENDS[1], **LAST)


LOSSES = (
    ([date(2026, 1, 1)], pa.date32(), [datetime(2026, 1, 1, 23, 5)], pa.timestamp("us")),
    ([Decimal("1.25")], pa.decimal128(9, 2), [0.126], pa.float64()),
    ([0.5], pa.float64(), [Decimal("12345678901234567.01")], pa.decimal128(38, 2)),
    ([[0.5]], pa.list_(pa.float32()), [[0.1]], pa.list_(pa.float64())),
    ([7], pa.int64(), ["007"], pa.string()),
    ([date(2026, 1, 1)], pa.date32(), [datetime(2026, 1, 1)], pa.timestamp("us", "UTC")),  # whose date differs
    ([datetime(2026, 1, 1)], pa.timestamp("us", "UTC"), [date(2026, 1, 1)], pa.date32()),
)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("one", "before", "other", "after"), LOSSES, ids=[str(kind) for _, kind, *_ in LOSSES])
def test_no_cast_is_shown_that_changes_a_value(library: str, one: Any, before: Any, other: Any, after: Any) -> None:
    made = LIBRARIES[library]
    first = windowed(made(day(0, pa.array(one, before)))).advance(None, to=ENDS[0], **LAST)
    with pytest.raises(ValueError, match="'x' was .* in the run before, and is .* now; allowed: ") as refused:
        windowed(made(day(1, pa.array(other, after)))).advance(first.still_open, to=ENDS[1], **LAST)
    assert re.search(r"(?i)cast\(|astype|to_datetime|\.dt\.", str(refused.value)) is None


@pytest.mark.parametrize("one", LIBRARIES)
@pytest.mark.parametrize("other", LIBRARIES)
def test_a_day_continues_the_table_of_another_library(one: str, other: str) -> None:
    first = windowed(LIBRARIES[one](day(0, pa.array([1])))).advance(None, to=ENDS[0], **LAST)
    run = windowed(LIBRARIES[other](day(1, pa.array([2])))).advance(first.still_open, to=ENDS[1], **LAST)
    assert arrow(run.closed)["v"].to_pylist() == [2]


KEYS: dict[str, pa.Array[Any]] = {
    "large integers": pa.array([2**53 + 1]),
    "floats": pa.array([1.5]),
    "text": pa.array(["a"]),
    "structs": pa.array([{"a": 1}]),
    "decimals": pa.array([Decimal("1.23")]),
    "bytes": pa.array([b"\xff"]),
    "booleans": pa.array([True]),
    "lists": pa.array([[1]]),
}


@pytest.mark.parametrize("before", KEYS)
def test_a_key_of_another_type_is_refused_in_one_sentence_whatever_its_values(before: str) -> None:
    first = windowed(day(0, KEYS[before]), "x").advance(None, to=ENDS[0], n=wr.count())
    for after in KEYS.keys() - {before}:
        with pytest.raises(
            ValueError, match=r"^open: column 'x' was \S.* in the run before, and is \S.* now; allowed: "
        ):
            windowed(day(1, KEYS[after]), "x").advance(first.still_open, to=ENDS[1], n=wr.count())


PERIODS: dict[str, Any] = {
    "months": pd.period_range("2026-05", periods=1, freq="M"),
    "days": pd.period_range("2026-05-01", periods=1, freq="D"),
    "integers": [2**53 + 1],
    "left": pd.arrays.IntervalArray.from_tuples([(1, 2)], closed="left"),
    "right": pd.arrays.IntervalArray.from_tuples([(1, 2)], closed="right"),
}


@pytest.mark.parametrize("made", [list, pd.Categorical], ids=["values", "categories"])
@pytest.mark.parametrize("key", ["user", "x"])
@pytest.mark.parametrize(
    ("before", "after"),
    [("months", "days"), ("days", "months"), ("integers", "months"), ("months", "integers"), ("left", "right")],
)
def test_periods_and_intervals_of_pandas_are_not_read_as_others(before: str, after: str, key: str, made: Any) -> None:
    """Arrow stores them alike."""

    def frame(number: int, kind: str) -> Any:
        return pd.DataFrame({"user": [1], "ts": [TIMES[number]], "x": made(PERIODS[kind])})

    calls = {"n": wr.count()} if key == "x" else LAST
    first = windowed(frame(0, before), key).advance(None, to=ENDS[0], **calls)
    with pytest.raises(
        ValueError, match=r"^open: column '\w' was \S+.* in the run before, and is \S+.* now; allowed: "
    ) as refused:
        windowed(frame(1, after), key).advance(first.still_open, to=ENDS[1], **calls)
    assert "astype" not in str(refused.value)
    assert len(windowed(frame(1, before), key).advance(first.still_open, to=ENDS[1], **calls).closed) == 1


def test_periods_in_lists_are_periods() -> None:
    months = pd.period_range("2026-05", periods=2, freq="M")
    frame = pd.DataFrame({"user": [1, 1], "ts": [TIMES[0]] * 2, "x": months})
    [row] = windowed(frame).agg(all=wr.collect_list("x"), top=wr.top_k("x", 1)).to_dict("records")
    assert row["all"] == list(months)
    assert row["top"] == [{"item": months[0], "count": 1}]


def test_a_date_of_pandas_is_no_time_of_the_day_before() -> None:
    days = [pd.DataFrame({"user": [1], "ts": [TIMES[0]], "x": [TIMES[0]]})]
    days.append(pd.DataFrame({"user": [1], "ts": [TIMES[1]], "x": [date(2026, 5, 5)]}))
    first = windowed(days[0]).advance(None, to=ENDS[0], **LAST)
    with pytest.raises(ValueError, match="'x' was timestamp.* in the run before, and is date32"):
        windowed(days[1]).advance(first.still_open, to=ENDS[1], **LAST)


@pytest.mark.parametrize(("number", "offered"), [(1, True), (2, False)])
def test_only_0_and_1_may_become_booleans(number: int, offered: bool) -> None:
    first = windowed(day(0, pa.array([True]))).advance(None, to=ENDS[0], **LAST)
    with pytest.raises(ValueError, match="^open: column 'x' was bool in the run before, and is int64 now; ") as refused:
        windowed(day(1, pa.array([number]))).advance(first.still_open, to=ENDS[1], **LAST)
    assert ("cast(pyarrow.bool_())" in str(refused.value)) == offered


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("hour", "offered"), [(0, False), (1, False), (2, True)])
def test_no_cast_makes_one_clock_of_times_that_a_zone_shows_twice(library: str, hour: int, offered: bool) -> None:
    """The hour from 2 to 3 comes twice."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Europe/Berlin'")
    zoned = pa.array([datetime(2026, 10, 25, hour, 30, tzinfo=UTC)], pa.timestamp("us", "Europe/Berlin"))

    def made(number: int, values: Any) -> Any:
        rows = day(number, values)
        return connection.from_arrow(rows) if library == "duckdb" else LIBRARIES[library](rows)

    first = windowed(made(0, pa.array([datetime(2026, 5, 4)], pa.timestamp("us")))).advance(None, to=ENDS[0], **LAST)
    with pytest.raises(ValueError, match=r"^open: column 'x' was (timestamp\[us\]|TIMESTAMP) in the run") as refused:
        windowed(made(1, zoned)).advance(first.still_open, to=ENDS[1], **LAST)
    assert bool(re.search(r"CAST\(|local_timestamp|_zone\(|localize\(", str(refused.value))) == offered


@pytest.mark.parametrize(("hour", "offered"), [(1, False), (3, True)])
def test_no_cast_of_duckdb_makes_times_that_the_zone_of_its_session_shows_twice(hour: int, offered: bool) -> None:
    """The day before had another zone, which shows each of these times once."""

    def run(before: Any, zone: str, ts: str, to: datetime) -> Any:
        connection = duckdb.connect()
        connection.execute(f"SET TimeZone = '{zone}'")
        return windowed(connection.sql(f"SELECT 1 AS user, {ts} AS ts, 1 AS x")).advance(before, to=to, **LAST)

    first = run(
        None, "Europe/Berlin", "TIMESTAMPTZ '2026-10-31 23:00:00+00'", datetime(2026, 10, 31, 23, 1, tzinfo=UTC)
    )
    opened = arrow(first.still_open)
    with pytest.raises(ValueError, match="^open: column 'ts' was .* in the run before, and is ") as refused:
        run(opened, "America/New_York", f"TIMESTAMP '2026-11-01 0{hour}:30:00'", datetime(2026, 11, 2))
    assert ('CAST("ts" AS TIMESTAMP' in str(refused.value)) == offered


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
@pytest.mark.parametrize(("hour", "offered"), [(2, False), (4, True)])
def test_no_cast_makes_times_that_a_zone_shows_twice(library: str, hour: int, offered: bool) -> None:
    """Nor of any other column than that of times, whose zone a table of open windows does not know."""
    zoned = pa.array([datetime(2026, 10, 24, 23, tzinfo=UTC)], pa.timestamp("us", "Europe/Berlin"))
    naive = pa.array([datetime(2026, 10, 25, hour, 30)], pa.timestamp("us"))
    make = LIBRARIES[library]
    one, other = (pa.table({"user": [1], "ts": times, "x": times}) for times in (zoned, naive))
    first = windowed(make(one)).advance(None, to=datetime(2026, 10, 24, 23, 1, tzinfo=UTC), **LAST)
    with pytest.raises(ValueError, match="^open: column 'ts' was .* in the run before, and is ") as refused:
        windowed(make(other)).advance(first.still_open, to=datetime(2026, 10, 26), **LAST)
    assert ("; allowed: a timestamp[us, tz=Europe/Berlin]: " in str(refused.value)) == offered
    mixed = one.set_column(2, "x", naive)
    with pytest.raises(ValueError, match="^open: column 'x' was .*; allowed: .*; or new names for the aggregates"):
        windowed(make(mixed)).advance(first.still_open, to=datetime(2026, 10, 26, tzinfo=UTC), **LAST)


TEXTS = ("TIME WITH TIME ZONE", "INTERVAL", "BIT", "BIGNUM")
"""Types that cross Arrow as text."""


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("before", [*TEXTS, "VARCHAR"])
@pytest.mark.parametrize("after", [*TEXTS, "VARCHAR"])
def test_text_of_one_type_of_duckdb_is_never_read_as_another(before: str, after: str, within: str) -> None:
    if before == after:
        return
    connection = duckdb.connect()
    calls = {"v": wr.collect_list("x")}
    first = windowed(relation(connection, 0, before, within)).advance(None, to=ENDS[0], **calls)
    query = windowed(relation(connection, 1, after, within))
    if before != "VARCHAR":
        with pytest.raises(ValueError, match="^open: column 'v' (was|had other values) .* in the run before"):
            query.advance(first.still_open, to=ENDS[1], **calls)
    elif after in ("TIME WITH TIME ZONE",):  # which '101' is not
        with pytest.raises(ValueError, match=rf"^open: column 'v' had other values than .*{after}.* in the run before"):
            query.advance(first.still_open, to=ENDS[1], **calls)


KINDS: dict[str, pa.Array[Any]] = {
    "list_view<item: int64>": pa.array([[1, 2]], pa.list_view(pa.int64())),
    "large_list_view<item: string_view>": pa.array([["a"]], pa.large_list_view(pa.string_view())),
    "struct<a: list_view<item: timestamp[us, tz=UTC]>>": pa.array(
        [{"a": [TIMES[0]]}], pa.struct([("a", pa.list_view(pa.timestamp("us", "UTC")))])
    ),
    "run_end_encoded<run_ends: int32, values: string>": pa.RunEndEncodedArray.from_arrays(
        pa.array([1], pa.int32()), pa.array(["a"])
    ),
    "sparse_union<i: int64=0, s: string=1>": pa.UnionArray.from_sparse(
        pa.array([0], pa.int8()), [pa.array([1]), pa.array(["x"])], ["i", "s"]
    ),
    "month_day_nano_interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "string": pa.array(["a"]).dictionary_encode(),
    "list<item: int64>": pa.array([[1, 2]]),
    "list<item: string>": pa.array([["a"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
}
RUST = re.compile(r"Field \{|Utf8|ListView\(|RunEndEncoded|Union\(|Interval\(|Some\(|\{'")


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
def test_a_type_is_named_as_pyarrow_names_it(before: str, after: str) -> None:
    if before == after:
        return
    first = windowed(day(0, KINDS[before])).advance(None, to=ENDS[0], **LAST)
    data = day(1, KINDS[after])
    with pytest.raises(ValueError, match=f"^open: column 'x' was {re.escape(before)} in the run before") as refused:
        windowed(data).advance(first.still_open, to=ENDS[1], **LAST)
    says = str(refused.value)
    assert f"and is {after} now; allowed: {before}" in says
    assert RUST.search(says) is None
    found = re.search(r": (table\['x'\]\.cast\(.*?\))(?:; or|$)", says)
    if found is not None:
        made = data.set_column(2, "x", eval(found[1], {"table": data, "pyarrow": pa}))
        assert windowed(made).advance(first.still_open, to=ENDS[1], **LAST).closed.num_rows == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_day_of_nulls_has_the_type_of_the_day_before(kind: str) -> None:
    first = windowed(day(0, KINDS[kind])).advance(None, to=ENDS[0], v=wr.first("x"))
    second = windowed(day(1, pa.nulls(1))).advance(first.still_open, to=ENDS[1], v=wr.first("x"))
    (found,) = second.closed["v"].to_pylist()
    assert found == KINDS[kind].to_pylist()[0]


INNER: tuple[Any, ...] = (
    *(pa.int8(), pa.string_view(), pa.binary_view(), pa.large_binary(), pa.binary(3), pa.bool_(), pa.float16()),
    *(pa.date32(), pa.time32("s"), pa.time64("ns"), pa.timestamp("ms"), pa.timestamp("us", "Europe/Berlin")),
    *(pa.duration("s"), pa.decimal32(4, 1), pa.decimal256(40, -2), pa.null(), pa.month_day_nano_interval()),
    *(
        pa.large_list(pa.field('é"x', pa.int8())),
        pa.list_(pa.int8(), 2),
        pa.map_(pa.string(), pa.int8()),
    ),
    *(pa.struct([("a b", pa.int8()), ("c, {", pa.string_view())]), pa.list_view(pa.int8())),
)


@pytest.mark.parametrize("within", [pa.list_view, pa.large_list_view, lambda kind: pa.list_(pa.list_view(kind))])
def test_every_name_in_the_notation_of_the_core_is_a_type(within: Any) -> None:
    for kind in map(within, INNER):
        still_open = windowed(day(0, nulls(1, kind))).advance(None, to=ENDS[0], **LAST).still_open
        query = specification_of(columns_of(still_open)) or {}
        assert named(query["layouts"]["x"]) == kind
