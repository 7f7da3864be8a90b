"""`flat()`: the bounds of windows as two columns in place of a struct, for all kinds of windows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

EVENTS = pa.table(
    {
        "user": ["ann", "ann", "bob", "ann"],
        "ts": pa.array([datetime(2026, 1, 1, 8, minute) for minute in (0, 4, 7, 30)], pa.timestamp("ms", "UTC")),
        "gap": [timedelta(minutes=minutes) for minutes in (1, 4, 1, 1)],
        "amount": [1, 2, 3, 4],
    }
)
WINDOWS = {
    "sessions": wr.SessionWindows.with_gap("5 minutes", grace="0 seconds"),
    "dynamic gaps": wr.SessionWindows.with_dynamic_gap("gap", grace="0 seconds"),
    "sliding": wr.SlidingWindows.with_time_difference("5 minutes", grace="0 seconds"),
}


def grouped(windows: Any, data: Any = EVENTS) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(windows)


def as_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a result with a struct, as those of a flat one should be."""
    found = []
    for row in rows:
        flat: dict[str, Any] = {}
        for name, value in row.items():
            flat |= {"window_start": value["start"], "window_end": value["end"]} if name == "window" else {name: value}
        found.append(flat)
    return found


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("op", [False, True])
@pytest.mark.parametrize("functions", [False, True])
def test_two_columns_stand_where_the_struct_was(windows: str, op: bool, functions: bool) -> None:
    total = wr.reduce("amount", lambda one, other: one + other) if functions else wr.sum("amount")
    query = grouped(WINDOWS[windows])
    query = query.emit("update") if op else query
    nested, flat = query.agg(total=total, n=wr.count()), query.flat().agg(total=total, n=wr.count())
    assert flat.column_names == ["user", "window_start", "window_end", "total", "n", *(["op"] if op else [])]
    assert flat.schema.field("window_start").type == flat.schema.field("window_end").type == EVENTS["ts"].type
    order = [("user", "ascending"), ("total", "ascending"), ("n", "ascending")]
    got = sorted(flat.to_pylist(), key=str)
    assert flat.num_rows >= 3
    assert got == sorted(as_columns(nested.sort_by(order).to_pylist()), key=str)
    assert wr.counters(flat) == wr.counters(nested)


@pytest.mark.parametrize("windows", WINDOWS)
def test_a_cogroup_and_an_empty_input_are_flat_too(windows: str) -> None:
    left, right = (wr.group_by(EVENTS.slice(0, rows), "user", time="ts") for rows in (0, 4))
    if windows == "dynamic gaps":
        both = grouped(WINDOWS[windows], EVENTS.slice(0, 0))
        assert both.flat().count().num_rows == 0
    else:
        both = wr.cogroup(left=left, right=right).windowed_by(WINDOWS[windows])
        assert sorted(both.flat().count().to_pylist(), key=str) == sorted(as_columns(both.count().to_pylist()), key=str)
    assert both.flat().count().column_names == ["user", "window_start", "window_end", "count"]


def test_a_driver_reads_flat_rows() -> None:
    driver = StreamDriver(lambda data: grouped(WINDOWS["sessions"], data).flat().count(), EVENTS.schema)
    driver.pipe_batch(EVENTS)
    driver.finish()
    table = driver.read_table()
    assert table.column_names == ["user", "window_start", "window_end", "count"]
    whole = grouped(WINDOWS["sessions"]).flat().count()
    assert table.schema == whole.schema.remove_metadata()
    assert sorted(table.to_pylist(), key=str) == sorted(whole.to_pylist(), key=str)


@pytest.mark.parametrize("name", ["window_start", "window_end", "Window_Start"])
def test_a_name_that_is_taken_is_refused_at_the_call(name: str) -> None:
    renamed = EVENTS.rename_columns([name, "ts", "gap", "amount"])
    windowed = wr.group_by(renamed, name, time="ts").windowed_by(WINDOWS["sessions"])
    assert windowed.count().num_rows == 3
    with pytest.raises(ValueError, match=rf"keys: got '{name}'; allowed: any name but '{name.lower()}', which flat"):
        windowed.flat()
    unnested = grouped(WINDOWS["sessions"])
    assert unnested.agg(**{name: wr.count()}).num_rows == 3
    with pytest.raises(ValueError, match=rf"(?s)'{name}'.*flat\(\) adds"):
        unnested.flat().agg(**{name: wr.count()})
    with pytest.raises(ValueError, match="the column of windows"):
        unnested.flat().agg(window=wr.count())


@pytest.mark.parametrize("windows", WINDOWS)
def test_columns_of_the_data_may_be_called_window(windows: str) -> None:
    named = EVENTS.append_column("window", EVENTS["user"])
    by_user = grouped(WINDOWS[windows], named)
    assert by_user.flat().agg(w=wr.first("window")).column_names == ["user", "window_start", "window_end", "w"]
    tagged = by_user.flat().with_columns(n=wr.count(), share=wr.count() / wr.count())
    assert tagged.column_names == [*named.column_names, "window_start", "window_end", "n", "share"]
    assert tagged["window"].to_pylist() == EVENTS["user"].to_pylist()
    by_window = wr.group_by(named, "window", time="ts").windowed_by(WINDOWS[windows])
    found = by_window.flat().agg(n=wr.count(), share=wr.count() / wr.count())
    expected = grouped(WINDOWS[windows]).flat().agg(n=wr.count(), share=wr.count() / wr.count())
    assert found.column_names == ["window", *expected.column_names[1:]]
    assert sorted(map(str, found.to_pylist())) == sorted(
        str({("window" if name == "user" else name): value for name, value in row.items()})
        for row in expected.to_pylist()
    )
    assert found.num_rows
    assert by_window.flat().to_reader(n=wr.count()).schema.names == ["window", "window_start", "window_end", "n"]
    for call in (by_user.with_columns, by_window.with_columns, by_window.agg):
        with pytest.raises(ValueError, match=r"got 'window'; allowed: any name but 'window', which .* or flat\(\)$"):
            call(n=wr.count())


def test_bounds_may_be_null_where_a_window_may() -> None:
    windowed = grouped(WINDOWS["sessions"])
    for query, may_be_null in ((windowed, False), (windowed.left_out("emit", columns=["amount"]), True)):
        flat = query.flat().to_reader(n=wr.count()).schema
        assert query.to_reader(n=wr.count()).schema.field("window").nullable == may_be_null
        assert [flat.field(name).nullable for name in ("window_start", "window_end")] == [may_be_null] * 2
