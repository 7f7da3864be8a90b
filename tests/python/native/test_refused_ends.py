"""What `end=` refuses at the call, and the casts that its errors name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr

from ..harness.tables import arrow
from ..scenes import at
from .test_lasting_records import CALLS, GAP, SESSIONS, shown
from .test_time_casts import converted, of_library

KINDS: dict[str, tuple[pa.DataType, pa.DataType]] = {
    "a coarser end": (pa.timestamp("us"), pa.timestamp("ms")),
    "a finer end": (pa.timestamp("us"), pa.timestamp("ns")),
    "a finer end than whole seconds": (pa.timestamp("s"), pa.timestamp("us")),
    "an end with a zone": (pa.timestamp("us"), pa.timestamp("us", "UTC")),
    "an end without a zone": (pa.timestamp("us", "UTC"), pa.timestamp("us")),
    "an end of another zone": (pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Madrid")),
    "a finer end of another zone": (pa.timestamp("ms", "UTC"), pa.timestamp("us", "Europe/Madrid")),
}


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas", "duckdb"])
def test_an_end_of_another_type_names_the_cast_and_the_cast_works(library: str, kinds: str) -> None:
    time, end = KINDS[kinds]
    table = CALLS.set_column(1, "started", CALLS["started"].cast(time)).set_column(
        2, "stopped", CALLS["stopped"].cast(end)
    )
    data = of_library(library, table)
    if library == "duckdb" and time.tz and end.tz:
        calls(data)  # all its times with a zone have one zone
        return
    with pytest.raises(TypeError) as refused:
        calls(data)
    message = str(refused.value)
    assert re.match(
        r"end: column 'stopped' has type timestamp\[.*; allowed: timestamp\[.* the time column 'started'", message
    )
    casts_time = "in both columns" in message
    cast = message[message.index(": ", message.index("time column")) + 2 :]
    made = converted(library, data, cast)
    columns = {"time": "ts" if casts_time else "started", "end": "stopped" if casts_time else "ts"}
    with pytest.warns(wr.LeftOut, match="bad_ends 1"):
        assert shown(wr.group_by(made, "user", **columns).windowed_by(GAP).count()) == SESSIONS


@pytest.mark.parametrize("zoned", ["started", "stopped"])
@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_the_cast_of_an_end_keeps_what_the_clock_shows(library: str, zoned: str) -> None:
    started = pa.array([at(0), at(60)], pa.timestamp("us"))
    stopped = pa.array([at(20), at(60)], pa.timestamp("us"))
    table = pa.table({"user": ["ann", "ann"], "started": started, "stopped": stopped})
    there = pc.assume_timezone(table[zoned], "America/New_York")
    data = of_library(library, table.set_column(table.column_names.index(zoned), zoned, there))
    with pytest.raises(TypeError) as refused:
        calls(data)
    message = str(refused.value)
    made = converted(library, data, message[message.index(": ", message.index("time column")) + 2 :])
    sessions = wr.group_by(made, "user", time="started", end="ts").windowed_by(GAP).agg(length=wr.window_length())
    assert sorted(arrow(sessions)["length"].to_pylist()) == [timedelta(0), timedelta(minutes=20)]


@pytest.mark.parametrize("zoned", ["started", "stopped"])
@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_no_cast_of_an_end_is_shown_for_a_clock_that_comes_twice(library: str, zoned: str) -> None:
    clock = pa.array([datetime(2026, 10, 25, 2, 30)], pa.timestamp("us"))
    there = pc.assume_timezone(clock, "Europe/Berlin", ambiguous="latest")
    table = pa.table({"user": ["ann"], "started": clock, "stopped": clock})
    data = of_library(library, table.set_column(table.column_names.index(zoned), zoned, there))
    with pytest.raises(TypeError, match="^end: column 'stopped' has type .*, the type of the time column 'started'$"):
        calls(data)


def calls(data: pa.Table = CALLS, end: Any = "stopped", **options: Any) -> Any:
    return wr.group_by(data, "user", time="started", end=end, **options)


TEXTS = CALLS.set_column(2, "stopped", pa.array(["2026-01-01T08:20:00"] * 4))
MINUTE = wr.SlidingWindows.with_time_difference("1 minute")
SLIDING = "end: got 'stopped'; allowed: None with sliding windows"
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "an unknown column": (
        lambda: calls(end="stoped"),
        ValueError,
        r"end: got 'stoped'; allowed: a column of the data \(did you mean 'stopped'\?\)",
    ),
    "text": (lambda: calls(TEXTS), TypeError, "end: column 'stopped' has type string; allowed: a timestamp, .*cast"),
    "a number": (lambda: calls(end=5), TypeError, "end: got 5, an int"),
    "a word": (lambda: calls(invalid_end="fail"), ValueError, "invalid_end: got 'fail'; allowed: 'drop' or 'error'"),
    "a word without ends": (
        lambda: calls(end=None, invalid_end="error"),
        ValueError,
        "invalid_end: got 'error'; allowed: 'drop' without end=",
    ),
    "sliding windows": (lambda: calls().windowed_by(MINUTE), ValueError, SLIDING),
    "over": (lambda: calls().windowed_by(GAP).with_columns(n=wr.count().over("1 minute")), ValueError, "over"),
    "a negative gap": (
        lambda: wr.SessionWindows.with_gap("-1 second"),
        ValueError,
        "gap: got '-1 second'; allowed: a duration of zero or more",
    ),
    "two words of a cogroup": (
        lambda: wr.cogroup(one=calls(), two=calls(invalid_end="error")),
        ValueError,
        "two: invalid_end: got 'error'; allowed: the same for all ends; one has 'drop'",
    ),
    "a cogroup": (lambda: wr.cogroup(one=calls(end=None), two=calls()).windowed_by(MINUTE), ValueError, SLIDING),
}


@pytest.mark.parametrize(("call", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_have_an_end_is_refused_at_the_call(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_columns_without_values_take_the_type_of_the_other() -> None:
    nothing = pa.table({"user": ["ann"], "started": [at(0)], "stopped": pa.nulls(1)})
    with pytest.warns(wr.LeftOut, match="bad_ends 1"):
        assert calls(nothing).windowed_by(GAP).count().num_rows == 0
    timeless = pa.table({"user": ["ann"], "started": pa.nulls(1), "stopped": pa.array([at(0)], pa.timestamp("ns"))})
    with pytest.warns(wr.LeftOut, match="null_times 1"):
        assert calls(timeless).windowed_by(GAP).count().num_rows == 0
