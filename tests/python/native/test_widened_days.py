"""A daily job whose columns widen: it gives what it gives when every day has the wider type from the beginning.

```text
day 1    ann  23:40 ──── 23:50 ┄┄┐                    a type
day 2                            └┄┄ 00:10 ── 09:00   a wider one, or the reverse
```
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import permutations
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow._plan.earlier_types import is_wider

from ..harness.tables import arrow

MIDNIGHT = datetime(2026, 5, 5)
MINUTES = {1: [-20, -10, -600, -5], 2: [10, 540, 5, 20], 3: [1445, 1500, 1450, 1460]}
ENDS = {day: MIDNIGHT + timedelta(days=day - 1) for day in MINUTES}
GAP = wr.SessionWindows.with_gap("30 minutes")
LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "duckdb": duckdb.from_arrow,
}
AGGREGATES: Mapping[str, Any] = {
    "n": wr.count(),
    "total": wr.sum("x"),
    "mean": wr.mean("x"),
    "least": wr.min("x"),
    "most": wr.max("x"),
    "first": wr.first("x"),
    "of_least": wr.min_by("x", "y"),
    "distinct": wr.count_distinct("x"),
    "about": wr.approx_count_distinct("x"),
    "all": wr.collect_list("x"),
    "some": wr.top_k("x", 2),
    "middle": wr.percentile("x", 0.5),
    "spread": wr.variance("x"),
}
TEXTS: Mapping[str, Any] = {"n": wr.count(), "least": wr.min("x"), "first": wr.first("x"), "all": wr.collect_list("x")}


def day(number: int, kind: Any, key: Any = None) -> pa.Table:
    """The records of a day, with values of one type and users of another."""
    values: list[Any] = [None] * 4 if pa.types.is_null(kind) else [number, number + 1, None, 7]
    if pa.types.is_decimal(kind):
        values = [None if value is None else Decimal(value).scaleb(-kind.scale) for value in values]
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
        values = [None if value is None else str(value) for value in values]
    users: list[Any] = [1, 2, 3, 1]
    if key is not None and pa.types.is_decimal(key):
        users = [Decimal(user).scaleb(-key.scale) for user in users]
    times = [MIDNIGHT + timedelta(minutes=minutes) for minutes in MINUTES[number]]
    columns = {"user": pa.array(users, key or pa.int64()), "ts": pa.array(times, pa.timestamp("us"))}
    return pa.table(columns | {"x": pa.array(values, kind), "y": [4, 3, 2, 1]})


def windowed(data: Any, windows: Any = GAP, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", **options).windowed_by(windows)


def rows(run: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = arrow(run.closed).to_pylist()
    return sorted(found, key=lambda row: (float(row["user"]), row["window"]["start"]))


def run_days(tables: list[pa.Table], library: str, aggregates: Mapping[str, Any], windows: Any = GAP) -> list[Any]:
    """The closed windows of each day, and the open ones of the last."""
    made, still_open = [], None
    for number, table in enumerate(tables, 1):
        run = windowed(LIBRARIES[library](table), windows).advance(still_open, to=ENDS[number], **aggregates)
        made.append(rows(run))
        still_open = run.still_open
    columns = ["user", "window", *aggregates]
    made.append(sorted(arrow(still_open).select(columns).to_pylist(), key=repr))
    return made


GROWTHS = [
    (pa.int8(), pa.int16()),
    (pa.int8(), pa.int64()),
    (pa.int16(), pa.int64()),
    (pa.int32(), pa.int64()),
    (pa.uint8(), pa.int64()),
    (pa.uint16(), pa.int32()),
    (pa.uint32(), pa.int64()),
    (pa.float32(), pa.float64()),
    (pa.decimal128(9, 2), pa.decimal128(20, 2)),
    (pa.decimal128(9, 2), pa.decimal128(38, 2)),
]


@pytest.mark.parametrize("growth", GROWTHS, ids=lambda growth: f"{growth[0]} to {growth[1]}")
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("windows", [GAP, wr.SlidingWindows.with_time_difference("20 minutes")], ids=["gap", "sliding"])
def test_days_of_growing_types_are_those_of_the_wide_type(library: str, growth: Any, windows: Any) -> None:
    narrow, wide = growth
    always = run_days([day(number, wide, wide) for number in MINUTES], library, AGGREGATES, windows)
    for kinds in ((narrow, wide, wide), (wide, narrow, narrow), (narrow, wide, narrow)):
        tables = [day(number, kind, kind) for number, kind in zip(MINUTES, kinds, strict=True)]
        assert run_days(tables, library, AGGREGATES, windows)[1:] == always[1:], kinds


@pytest.mark.parametrize("kinds", list(permutations([pa.string(), pa.large_string(), pa.string_view()])), ids=repr)
def test_layouts_of_text_may_change(kinds: tuple[pa.DataType, ...]) -> None:
    always = run_days([day(number, pa.string()) for number in MINUTES], "pyarrow", TEXTS)
    tables = [day(number, kind) for number, kind in zip(MINUTES, kinds, strict=True)]
    assert run_days(tables, "pyarrow", TEXTS) == always


def test_the_types_of_keys_and_results_widen() -> None:
    most = {"most": wr.max("x"), "n": wr.count()}
    first = windowed(day(1, pa.int32(), pa.int32())).advance(None, to=ENDS[1], **most)
    second = windowed(day(2, pa.int64(), pa.int64())).advance(first.still_open, to=ENDS[2], **most)
    assert [second.closed.schema.field(name).type for name in ("user", "most")] == [pa.int64()] * 2
    assert arrow(second.still_open).schema.field("user").type == pa.int64()


def test_nothing_changes_where_no_type_does() -> None:
    table = day(1, pa.int32(), pa.int32())
    one, other = (windowed(table).advance(None, to=ENDS[1], **AGGREGATES).still_open for _ in range(2))
    assert one.equals(other)
    next_one = windowed(day(2, pa.int32(), pa.int32())).advance(one, to=ENDS[2], **AGGREGATES)
    assert next_one.still_open.schema.field("user").type == pa.int32()


def test_rules_that_compare_columns_see_no_change_where_only_the_type_has_grown() -> None:
    rules = wr.SessionWindows.with_gap("30 minutes", cut_on="x")
    made = []
    for kinds in ((pa.int32(), pa.int64()), (pa.int64(), pa.int64())):
        still_open, closed = None, []
        for number, kind in zip((1, 2), kinds, strict=True):
            table = day(number, kind).set_column(2, "x", pa.array([5, 5, 5, 5], kind))
            run = windowed(table, rules).advance(still_open, to=ENDS[number], n=wr.count())
            closed, still_open = rows(run), run.still_open
        made.append(closed)
    assert made[0] == made[1]
    assert max(row["n"] for row in made[0]) > 2


def read_csv(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """A frame as pandas reads it: one empty field makes floats of integers."""
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    return pd.read_csv(io.StringIO("\n".join(["user,ts,x,seq", *lines])), parse_dates=["ts"])


def without(place: int, *row: Any) -> tuple[Any, ...]:
    """A row with one empty field."""
    return (*row[:place], None, *row[place + 1 :])


@pytest.mark.parametrize("reverse", [False, True], ids=["floats later", "floats first"])
@pytest.mark.parametrize(("column", "place"), [("user", 0), ("x", 2), ("seq", 3)])
def test_integers_beside_an_empty_field_of_pandas_are_integers(column: str, place: int, reverse: bool) -> None:
    """One of the days has a record with an empty field, in a session of its own."""
    days = [[(7, "2026-05-04 23:50:00", 1, 1)], [(7, "2026-05-05 00:05:00", 2, 2)]]
    if reverse:
        days[0].append(without(place, 7, "2026-05-04 08:00:00", 1, 1))
    else:
        days[1].append(without(place, 8, "2026-05-05 09:00:00", 5, 3))
    still_open = None
    with pytest.warns(wr.LeftOut) if column != "x" else nullcontext():
        for rows_of_day, to in zip(days, ("2026-05-05", "2026-05-06"), strict=True):
            grouped = wr.group_by(read_csv(rows_of_day), "user", time="ts", tie="seq" if column == "seq" else None)
            query = grouped.windowed_by(GAP).flat()
            closed, still_open = query.advance(still_open, to=to, n=wr.count(), total=wr.sum("x"), last=wr.last("x"))
    [row] = [row for row in closed.to_dict("records") if row["user"] == 7]
    assert (row["n"], row["total"], row["last"]) == (2, 3, 2)
    if not reverse:
        assert all(pd.api.types.is_integer_dtype(closed[name]) for name in ("user", "total", "last"))


REFUSED: dict[str, tuple[pa.Array[Any], pa.Array[Any]]] = {
    "unit": (pa.array([timedelta(0)] * 4, pa.duration("us")), pa.array([timedelta(0)] * 4, pa.duration("ms"))),
    "scale": (pa.array([Decimal("1.00")] * 4), pa.array([Decimal("1.000")] * 4)),
    "date to timestamp": (pa.array([MIDNIGHT] * 4).cast(pa.date32()), pa.array([MIDNIGHT] * 4)),
    "bool to int": (pa.array([True] * 4), pa.array([1] * 4)),
    "int to uint64": (pa.array([1] * 4), pa.array([1] * 4, pa.uint64())),
    "int to decimal": (pa.array([1] * 4), pa.array([Decimal(1)] * 4, pa.decimal128(20, 0))),
    "int to float": (pa.array([1] * 4), pa.array([1.0] * 4)),
}


# DuckDB has one unit of intervals, and whole floats of pandas are read as integers.
_NEVER = (("duckdb", "unit"), ("pandas", "int to float"))
_CASES = [(library, case) for library in LIBRARIES for case in REFUSED if (library, case) not in _NEVER]


@pytest.mark.parametrize(("library", "case"), _CASES)
def test_another_type_is_refused_with_the_column_and_a_cast_that_works(library: str, case: str) -> None:
    was, now = REFUSED[case]
    before, after = (day(number, pa.int64()).set_column(2, "x", kind) for number, kind in ((1, was), (2, now)))
    first = windowed(LIBRARIES[library](before)).advance(None, to=ENDS[1], n=wr.count(), most=wr.max("x"))
    data = LIBRARIES[library](after)
    says = r"^open: column 'x' was .+ in the run before, and is .* now; allowed: "
    with pytest.raises(ValueError, match=says) as refused:
        windowed(data).advance(first.still_open, to=ENDS[2], n=wr.count(), most=wr.max("x"))
    cast = re.search(r"; allowed: [^:]*: (.*?); or ", str(refused.value))
    assert cast is not None
    if library == "duckdb":
        made = data.project(f'"user", ts, {cast[1]} AS x, y')
    else:
        made = eval(cast[1], {"table": data, "frame": data, "pyarrow": pa, "pandas": pd, "pl": pl})
        if library == "polars":
            made = data.with_columns(made)
        elif library == "pandas":
            made = made if isinstance(made, pd.DataFrame) else data.assign(x=made)
        else:
            made = data.set_column(2, "x", made)
    again = windowed(made).advance(first.still_open, to=ENDS[2], n=wr.count(), most=wr.max("x"))
    assert [row["n"] for row in rows(again)] == [4, 1, 1, 1]


@pytest.mark.parametrize("fraction", [0.5, 2.0**53, float("inf")])
def test_floats_that_are_no_integers_are_refused(fraction: float) -> None:
    first = windowed(day(1, pa.int64()).to_pandas(), GAP).advance(None, to=ENDS[1], total=wr.sum("y"))
    frame = day(2, pa.int64()).to_pandas().astype({"y": "float64"})
    frame.loc[0, "y"] = fraction
    with pytest.raises(ValueError, match="^open: column 'y' was int64 in the run before, and is double now"):
        windowed(frame).advance(first.still_open, to=ENDS[2], total=wr.sum("y"))
    frame.loc[0, "y"] = min(2.0**53 - 1, 9.0)
    assert len(rows(windowed(frame).advance(first.still_open, to=ENDS[2], total=wr.sum("y")))) == 4


@pytest.mark.parametrize(
    ("more", "kind", "says"),
    [
        (5, pa.int32(), "its key, its window or its `state` was changed"),
        (2**40, pa.int64(), "a key does not fit the type that it had"),
    ],
)
def test_a_changed_key_of_a_widened_table_is_found(more: int, kind: pa.DataType, says: str) -> None:
    table = windowed(day(1, pa.int32(), pa.int32())).advance(None, to=ENDS[1], n=wr.count()).still_open
    keys = pa.array([user and user + more for user in table["user"].to_pylist()], kind)
    with pytest.raises(ValueError, match=says):
        windowed(day(2, pa.int64(), pa.int64())).advance(table.set_column(0, "user", keys), to=ENDS[2], n=wr.count())


_LATER = [pa.array([1]), pa.array(["a"]), pa.array([[1]]), pa.array([Decimal("1.5")]), pa.array([MIDNIGHT])]


@pytest.mark.parametrize("values", _LATER, ids=lambda values: str(values.type))
@pytest.mark.parametrize("function", [wr.count, wr.max, wr.last, wr.collect_list, wr.top_k])
def test_a_column_that_had_no_type_goes_on_under_new_names(function: Any, values: pa.Array[Any]) -> None:
    call = function("x", 2) if function is wr.top_k else function("x")
    before, after = day(1, pa.null()), day(2, pa.null()).set_column(2, "x", pa.repeat(values[0], 4))
    first = windowed(before).advance(None, to=ENDS[1], n=wr.count(), x=call)
    with pytest.raises(ValueError, match="^open: column 'x' was null in .*new names for the aggregates over it, which"):
        windowed(after).advance(first.still_open, to=ENDS[2], n=wr.count(), x=call)
    again = rows(windowed(after).advance(first.still_open, to=ENDS[2], n=wr.count(), other=call))
    assert [(row["n"], row["other"] is None) for row in again] == [(4, True), (1, True), (1, False), (1, False)]


def test_an_integer_is_wider_than_those_whose_values_it_has() -> None:
    """The core has other bytes for uint64, which is therefore no wider type, and has none."""
    bits = {f"{sign}int{size}": range(*bounds) for size in (8, 16, 32, 64) for sign, bounds in of_bits(size).items()}
    del bits["uint64"]
    for name, values in bits.items():
        for other, narrow in bits.items():
            wider = values != narrow and narrow[0] in values and narrow[-1] in values
            assert is_wider(pa.type_for_alias(name), than=pa.type_for_alias(other)) == wider, (name, other)


def of_bits(size: int) -> dict[str, tuple[int, int]]:
    """The least integer and the first that is too large, with a sign and without."""
    return {"": (-(2 ** (size - 1)), 2 ** (size - 1)), "u": (0, 2**size)}


def test_a_decimal_is_wider_with_more_digits_and_the_same_scale() -> None:
    kinds = [pa.decimal128(digits, scale) for digits in (8, 9, 38) for scale in (2, 3)]
    wider = {(kind, than) for kind in kinds for than in kinds if is_wider(kind, than=than)}
    of_scale = [[kind for kind in kinds if kind.scale == scale] for scale in (2, 3)]
    assert wider == {
        (most, least)
        for short, middle, long in of_scale
        for most, least in ((middle, short), (long, short), (long, middle))
    }
