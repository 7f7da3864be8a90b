"""Records of one time and one tie go by arrival in sliding windows: in batches, daily runs, micro-batches, drivers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.daily_jobs import played
from ..harness.examples import usually
from ..harness.row_steps import LocalRows
from ..harness.steps import LocalStream
from ..harness.tables import Rows, rows_of
from ..oracle.records import Record
from ..oracle.sliding import sliding

TICK = timedelta(microseconds=1)
SCHEMA = pa.schema({"k": pa.int64(), "ts": pa.timestamp("us"), "tie": pa.int64(), "id": pa.int64()})
END = 1_000
AGGREGATES = {
    "all": wr.collect_list("id"),
    "first": wr.first("id"),
    "last": wr.last("id"),
    "path": wr.path("id"),
    "least": wr.min_by("id", "tie"),
}
Made = tuple[int, int, int]
MADE = st.lists(st.tuples(st.integers(1, 2), st.integers(-3, 12), st.integers(1, 2)), min_size=1, max_size=24)
"""The key, the time and the tie of each record. The value is its place."""


def table_of(rows: list[Made], first: int = 0) -> pa.Table:
    columns = [[row[place] for row in rows] for place in range(3)]
    arrays = [pa.array(values, pa.int64()) for values in (*columns, range(first, first + len(rows)))]
    return pa.Table.from_arrays(arrays, SCHEMA.names).cast(SCHEMA)


def windowed(data: Any, difference: int, **order: Any) -> Any:
    windows = wr.SlidingWindows.with_time_difference(difference * TICK, grace=END * TICK, resolution=TICK)
    return wr.group_by(data, "k", time="ts", tie="tie", **order).windowed_by(windows)


def answers(members: list[int], ties: dict[int, int]) -> dict[str, Any]:
    least = min(members, key=lambda number: ties[number])
    return {"all": members, "first": members[0], "last": members[-1], "path": members, "least": least}


def expected_of(rows: list[Made], difference: int) -> Rows:
    ties = {number: tie for number, (_, _, tie) in enumerate(rows)}
    found = Rows()
    for key in (1, 2):
        of_key = [(n, time, tie) for n, (own, time, tie) in enumerate(rows) if own == key]
        records = [Record((key,), time, 100 * tie + number, {"id": number}) for number, time, tie in of_key]
        for start, end, members in sliding(records, difference, 1):
            found[(key,), start, end] = answers([record.values["id"] for record in members], ties)
    return found


def shown(table: pa.Table) -> Rows:
    """The windows of the two keys; another key closes them."""
    return rows_of(table.filter(pc.less(table["k"], 9)).select(["k", "window", *AGGREGATES]), ["k"])


def cut(rows: list[Made], at: int) -> list[pa.Table]:
    return [table_of(rows[:at]), table_of(rows[at:], at)]


@usually(60)
@given(MADE, st.integers(1, 6), st.integers(0, 24))
def test_equal_ties_go_by_arrival(rows: list[Made], difference: int, at: int) -> None:
    def query(data: Any) -> Any:
        return windowed(data, difference).agg(**AGGREGATES)

    def run(parts: list[pa.Table], ends: list[int]) -> pa.Table:
        closed, _ = played(parts, ends, lambda part: windowed(part, difference), AGGREGATES)
        return pa.concat_tables(closed)

    stream, driver = LocalStream(query, SCHEMA, shards=2), StreamDriver(query, SCHEMA)
    micro_batches = [*cut(rows, at), table_of([(9, 9 * END, 1)], len(rows))]
    for part in micro_batches:
        driver.pipe_batch(part)
    tables = {
        "a batch": query(table_of(rows)),
        "a run": run([table_of(rows)], [9 * END]),
        "two runs": run(cut(rows, at), [0, 9 * END]),  # nothing closes in the first one
        "a stream": pa.Table.from_batches([one for part in micro_batches for one in stream.push_batches([part])]),
        "a driver": driver.read_table(),
    }
    expected = expected_of(rows, difference)
    for way, table in tables.items():
        assert shown(table) == expected, way


@usually(40)
@given(MADE, st.integers(1, 6), st.integers(0, 24), st.booleans())
def test_equal_ties_of_the_windows_of_records_go_by_arrival(
    rows: list[Made], difference: int, at: int, is_ordered: bool
) -> None:
    """The window of a record holds those of earlier micro-batches and of its own; with an order, those up to itself
    (rules 4.6). With an order they come by time here, so that the windows of a micro-batch are computed together.
    """
    order = {"order": "id"} if is_ordered else {}
    rows = sorted(rows, key=lambda row: row[1]) if is_ordered else rows
    stream = LocalRows(lambda data: windowed(data, difference, **order), SCHEMA, shards=2, aggregates=AGGREGATES)
    emitted = [row for part in cut(rows, at) for row in stream.push([part])]
    ties = {number: tie for number, (_, _, tie) in enumerate(rows)}
    assert sorted(row["id"] for row in emitted) == list(range(len(rows)))
    for row in emitted:
        key, time, _ = rows[row["id"]]
        seen = row["id"] + 1 if is_ordered else at if row["id"] < at else len(rows)
        numbered = [(when, tie, n) for n, (k, when, tie) in enumerate(rows[:seen]) if k == key]
        members = [n for when, _, n in sorted(numbered) if time - difference <= when <= time]
        assert {name: row[name] for name in AGGREGATES} == answers(members, ties), row
