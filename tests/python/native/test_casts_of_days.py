"""A cast that a daily job shows works on that very data: the library has it, the job goes on, no value changes."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow
from .test_nested_days import ENDS, LIBRARIES, day, windowed

VALUES: dict[str, pa.Array[Any]] = {
    "booleans": pa.array([True, None]),
    "texts of booleans": pa.array(["true", None]),
    "texts of integers": pa.array(["101", None]),
    "texts of times": pa.array(["2026-05-04 09:00:00"]),
    "bytes": pa.array([b"101"]),
    "bytes of one length": pa.array([b"101"], pa.binary(3)),
    "small integers": pa.array([1], pa.int8()),
    "integers": pa.array([1, 0]),
    "unsigned integers": pa.array([1, 0], pa.uint64()),
    "halves": pa.array([1.0], pa.float16()),
    "floats": pa.array([1.0, 0.0]),
    "decimals": pa.array([Decimal("1.00")], pa.decimal128(9, 2)),
    "long decimals": pa.array([Decimal("1.00")], pa.decimal256(40, 2)),
    "dates": pa.array([date(2026, 5, 4)]),
    "times of day": pa.array([time(9)], pa.time32("s")),
    "seconds": pa.array([datetime(2026, 5, 4)], pa.timestamp("s")),
    "times": pa.array([datetime(2026, 5, 4)], pa.timestamp("us")),
    "times in a zone": pa.array([datetime(2026, 5, 4)], pa.timestamp("ms", "Europe/Berlin")),
    "durations": pa.array([timedelta(1)], pa.duration("us")),
    "short durations": pa.array([timedelta(1)], pa.duration("s")),
}
OFFERED = {
    ("booleans", "texts of booleans"): "pl.col('x').eq(\"true\").cast(pl.Boolean)",
    ("booleans", "integers"): "pl.col('x').cast(pl.Boolean)",
    ("times", "times in a zone"): (
        "pl.col('x').dt.replace_time_zone(None).cast(pl.Datetime(time_unit='us', time_zone=None))"
    ),
    ("bytes of one length", "texts of integers"): None,  # Polars has bytes of any length only
    ("long decimals", "decimals"): None,
    ("seconds", "times"): None,
    ("times of day", "texts of times"): None,
}


def offered(says: str) -> str | None:
    """The cast that an error shows, if it shows one."""
    found = re.search(r": ((?:pl|table|frame)\W.*?)(?:; or|$)", says)
    return None if found is None else found[1]


def converted(cast: str, data: Any) -> Any:
    """The data after a cast of its column."""
    if isinstance(data, pl.DataFrame):
        return data.with_columns(x=eval(cast, {"pl": pl}))
    if isinstance(data, pd.DataFrame):
        return data.assign(x=eval(cast, {"frame": data, "pandas": pd, "pyarrow": pa}))
    return data.set_column(2, "x", eval(cast, {"table": data, "pyarrow": pa}))


@pytest.mark.parametrize("is_nested", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (one, other) if (one, other) in OFFERED else pytest.param(one, other, marks=pytest.mark.soak)
        for one in VALUES
        for other in VALUES
        if one != other and other != "long decimals"
    ],
)
def test_a_cast_of_polars_is_one_that_polars_has(before: str, after: str, is_nested: bool) -> None:
    """The day before may be of another library, with types that Polars lacks."""
    one, other = VALUES[before], VALUES[after]
    if is_nested:
        one, other = (pa.array([each.to_pylist()], pa.list_(each.type)) for each in (one, other))
    first = windowed(day(0, one), "x").advance(None, to=ENDS[0], n=wr.count())
    data = pl.from_arrow(day(1, other))
    try:
        windowed(data, "x").advance(first.still_open, to=ENDS[1], n=wr.count())
        return
    except ValueError as error:
        cast = offered(str(error))
    assert is_nested or cast == OFFERED.get((before, after), cast)
    if cast is None:
        return
    made = converted(cast, data)
    closed = windowed(made, "x").advance(first.still_open, to=ENDS[1], n=wr.count()).closed
    assert closed["n"].sum() == sum(len(each) - each.null_count for each in (one, other))
    if "zone" not in before + after:
        assert arrow(made)["x"].cast(one.type).to_pylist() == other.cast(one.type).to_pylist()


DIGITS = {pa.decimal32: (5, 9), pa.decimal64: (5, 9, 18), pa.decimal128: (5, 18, 38), pa.decimal256: (5, 38, 60)}
DECIMALS: list[Any] = [of_digits(digits, 2) for of_digits, all_digits in DIGITS.items() for digits in all_digits]


@pytest.mark.parametrize("before", DECIMALS, ids=str)
def test_a_key_of_decimals_grows_only_where_the_error_says_so(before: Any) -> None:
    """The bytes of a key depend on the width of its decimals."""
    first = windowed(day(0, pa.array([Decimal("1.50")], before)), "x").advance(None, to=ENDS[0], n=wr.count())
    for after in DECIMALS:
        data = day(1, pa.array([Decimal("1.50")], after))
        is_narrower = after.precision < before.precision and before.bit_width in (128, after.bit_width)
        is_narrower = is_narrower or (after.precision == before.precision and after.bit_width < before.bit_width == 128)
        grows = before.bit_width == after.bit_width == 128
        if before != after and not is_narrower and not grows:
            with pytest.raises(ValueError, match=r"^open: column 'x' was decimal.* in the run before") as refused:
                windowed(data, "x").advance(first.still_open, to=ENDS[1], n=wr.count())
            says = str(refused.value)
            assert says.startswith(f"open: column 'x' was {before} in the run before, and is {after} now; allowed: ")
            assert (" with more digits in 128 bits;" in says) == (before.bit_width == 128 and before.precision < 38)
            data = converted(str(offered(says)), data)
        run = windowed(data, "x").advance(first.still_open, to=ENDS[1], n=wr.count())
        assert run.closed["n"].to_pylist() == [2]


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "pandas with Arrow"])
@pytest.mark.parametrize(
    ("before", "after", "is_offered"),
    [
        ([1.5, 2.0], [1, 2], True),
        ([1], [1.0, 2.0], True),
        ([1], [1.5], False),
        (["1"], [1, 2], True),
        ([1], ["1", "2"], True),
        ([1], ["01"], False),
    ],
)
def test_categories_have_the_cast_of_their_values(library: str, before: Any, after: Any, is_offered: bool) -> None:
    first = windowed(LIBRARIES[library](day(0, pa.array(before))), "x").advance(None, to=ENDS[0], n=wr.count())
    data = LIBRARIES[library](day(1, pa.array(after).dictionary_encode()))
    with pytest.raises(ValueError, match=r"^open: column 'x' was \S+.* in the run before, and is \S+ now") as refused:
        windowed(data, "x").advance(first.still_open, to=ENDS[1], n=wr.count())
    cast = offered(str(refused.value))
    assert (cast is not None) == is_offered
    if cast is not None:
        made = converted(cast, data)
        assert [*map(str, arrow(made)["x"].cast(pa.array(after).type).to_pylist())] == [*map(str, after)]
        run = windowed(made, "x").advance(first.still_open, to=ENDS[1], n=wr.count())
        assert sum(arrow(run.closed)["n"].to_pylist()) == len(before) + len(after)
