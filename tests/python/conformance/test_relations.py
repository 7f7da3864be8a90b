"""Relations between two answers of windrow, which need no oracle: what a change of the records does to the windows.

An oracle may share a misunderstanding with the code. A relation cannot: it says nothing about a single answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..harness.steps import LocalStream

TICK = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1)
KINDS = ("sessions", "own gaps", "sliding")
FAR = 10**7
"""A number of ticks that no window of these tests spans."""


@dataclass(frozen=True)
class Record:
    """A record; its values decide what `where` takes."""

    key: str
    time: int
    value: int | None
    gap: int


Window = tuple[str, int, int, int, int | None]
"""Key, start, end, count, sum."""

RECORD = st.builds(
    Record, st.sampled_from("ab"), st.integers(100, 180), st.none() | st.integers(-5, 5), st.integers(1, 9)
)
RECORDS = st.lists(RECORD, max_size=25)
LENGTH = st.integers(1, 12)
AGGREGATES = {"n": wr.count(), "total": wr.sum("value")}
SCHEMA = pa.schema(
    {"key": pa.string(), "ts": pa.timestamp("us"), "value": pa.int64(), "gap": pa.duration("us"), "tick": pa.bool_()}
)


def table_of(records: list[Record], unit: str = "us", scale: int = 1) -> pa.Table:
    columns = {
        "key": [record.key for record in records],
        "ts": pa.array([record.time * scale for record in records], pa.int64()).cast(pa.timestamp(unit)),
        "value": pa.array([record.value for record in records], pa.int64()),
        "gap": pa.array([record.gap * scale for record in records], pa.int64()).cast(pa.duration(unit)),
        "tick": pa.array([False] * len(records), pa.bool_()),
    }
    return pa.table(columns)


def windows_of(kind: str, length: int, grace: int = FAR, tick: timedelta = TICK) -> Any:
    """Windows of a length in ticks. With own gaps it is the longest gap."""
    if kind == "sliding":
        resolution = tick if tick == TICK else None
        return wr.SlidingWindows.with_time_difference(length * tick, grace=grace * tick, resolution=resolution)
    if kind == "own gaps":
        return wr.SessionWindows.with_dynamic_gap("gap", max_gap=length * tick, grace=grace * tick)
    return wr.SessionWindows.with_gap(length * tick, grace=grace * tick)


def rows(result: pa.Table) -> Counter[Window]:
    """The windows of a result, in ticks of its own unit."""
    bounds = [result["window"].combine_chunks().field(name).cast(pa.int64()).to_pylist() for name in ("start", "end")]
    others = [result[name].to_pylist() for name in ("n", "total")]
    return Counter(zip(result["key"].to_pylist(), *bounds, *others, strict=True))


def answer(records: list[Record], kind: str, length: int, **aggregates: Any) -> Counter[Window]:
    grouped = wr.group_by(table_of(records), "key", time="ts").windowed_by(windows_of(kind, length))
    return rows(grouped.agg(**(aggregates or AGGREGATES)))


def moved(windows: Counter[Window], change: Callable[[Window], Window]) -> Counter[Window]:
    found = Counter[Window]()
    for window, count in windows.items():
        found[change(window)] += count
    return found


of_each_kind = pytest.mark.parametrize("kind", KINDS)


@of_each_kind
@usually(20)
@given(RECORDS, LENGTH, st.integers(-50, 10**12))
def test_a_shift_of_all_times_shifts_the_windows(kind: str, records: list[Record], length: int, shift: int) -> None:
    """Nothing depends on the hour. Sliding windows near 1970 are the exception of rules 4.2, so times stay after it."""
    shifted = answer([replace(record, time=record.time + shift) for record in records], kind, length)
    assert shifted == moved(
        answer(records, kind, length), lambda row: (row[0], row[1] + shift, row[2] + shift, *row[3:])
    )


@of_each_kind
@usually(20)
@given(RECORDS, LENGTH)
def test_other_names_of_keys_rename_the_windows(kind: str, records: list[Record], length: int) -> None:
    """A key is a name and no more: neither its order nor its hash decides anything."""
    names = {"a": "zebra", "b": ""}
    renamed = answer([replace(record, key=names[record.key]) for record in records], kind, length)
    assert renamed == moved(answer(records, kind, length), lambda row: (names[row[0]], *row[1:]))


@pytest.mark.parametrize("kind", ["sessions", "own gaps"])
@usually(20)
@given(RECORDS, LENGTH, st.integers(1, 9))
def test_a_longer_gap_joins_and_never_splits(kind: str, records: list[Record], length: int, more: int) -> None:
    """Each session lies in one session of the longer gap."""
    longer = answer(records, kind, length + more)
    for key, start, end, *_ in answer(records, kind, length):
        around = [row for row in longer if row[0] == key and row[1] <= start and end <= row[2]]
        assert len(around) == 1


@of_each_kind
@usually(20)
@given(RECORDS, LENGTH)
def test_a_condition_its_negation_and_null_add_up(kind: str, records: list[Record], length: int) -> None:
    """`where` takes records, and leaves the windows as they are."""
    table = table_of(records)
    positive = pa.array([None if record.value is None else record.value > 0 for record in records], pa.bool_())
    flags = {
        "yes": positive,
        "no": pa.array([None if flag is None else not flag for flag in positive.to_pylist()], pa.bool_()),
        "unknown": positive.is_null(),
    }
    for name, flag in flags.items():
        table = table.append_column(name, flag)
    counts = {name: wr.count().where(name) for name in flags} | {
        f"{name}_v": wr.sum("value").where(name) for name in flags
    }
    grouped = wr.group_by(table, "key", time="ts").windowed_by(windows_of(kind, length))
    for row in grouped.agg(**AGGREGATES, **counts).to_pylist():
        assert row["n"] == sum(row[name] for name in flags)
        sums = [row[f"{name}_v"] for name in flags if row[f"{name}_v"] is not None]
        assert row["total"] == (sum(sums) if sums else None)


@of_each_kind
@usually(20)
@given(RECORDS, RECORDS, LENGTH)
def test_the_union_of_disjoint_keys_is_the_union_of_the_windows(
    kind: str, one: list[Record], other: list[Record], length: int
) -> None:
    """A key never sees another one."""
    others = [replace(record, key=record.key * 2) for record in other]
    mixed = [record for pair in zip(one, others, strict=False) for record in pair]
    mixed += one[len(others) :] + others[len(one) :]
    assert answer(mixed, kind, length) == answer(one, kind, length) + answer(others, kind, length)


@of_each_kind
@usually(20)
@given(RECORDS, LENGTH)
def test_the_same_records_twice_double_the_counts_and_keep_the_bounds(
    kind: str, records: list[Record], length: int
) -> None:
    """A record more at a time that has one moves no bound."""

    def doubled(row: Window) -> Window:
        return (*row[:3], 2 * row[3], None if row[4] is None else 2 * row[4])

    assert answer(records + records, kind, length) == moved(answer(records, kind, length), doubled)


@of_each_kind
@usually(20)
@given(RECORDS, LENGTH, st.sampled_from([("s", 1, 10**6), ("ms", 1, 1000), ("ns", 1000, 1)]))
def test_a_finer_or_coarser_unit_of_times_changes_no_number(
    kind: str, records: list[Record], length: int, unit: tuple[str, int, int]
) -> None:
    """Seconds and milliseconds count as microseconds do, and nanoseconds in thousands."""
    name, scale, micros = unit
    if kind == "sliding":
        windows = wr.SlidingWindows.with_time_difference(length * micros * TICK, resolution=micros * TICK)
    else:
        windows = windows_of(kind, length, tick=micros * TICK)
    grouped = wr.group_by(table_of(records, name, scale), "key", time="ts").windowed_by(windows)
    found = rows(grouped.agg(**AGGREGATES))
    expected = answer(records, kind, length)
    assert found == moved(expected, lambda row: (row[0], row[1] * scale, row[2] * scale, *row[3:]))


@usually(30)
@given(RECORDS, LENGTH, st.data())
def test_a_record_between_two_sessions_joins_at_most_these(
    records: list[Record], length: int, data: st.DataObject
) -> None:
    """One record more leaves at most one session less, or makes at most one more; other keys stay."""
    extra = data.draw(RECORD)
    before, after = answer(records, "sessions", length), answer([*records, extra], "sessions", length)
    assert {row for row in before if row[0] != extra.key} == {row for row in after if row[0] != extra.key}
    gone, new = before - after, after - before
    assert new.total() == 1
    assert gone.total() <= 2
    (made,) = new
    assert made[3] == 1 + sum(row[3] for row in gone)


@usually(20)
@given(RECORDS, st.integers(1, 6), st.integers(0, 6))
def test_a_part_of_a_window_has_at_most_the_records_of_a_longer_part(
    records: list[Record], short: int, more: int
) -> None:
    """`over` counts within the window, and grows with its length."""
    grouped = wr.group_by(table_of(records), "key", time="ts").windowed_by(windows_of("sliding", 12))
    parts = {"short": wr.count().over(short * TICK), "long": wr.count().over((short + more) * TICK)}
    for row in grouped.with_columns(n=wr.count(), **parts).to_pylist():
        assert 1 <= row["short"] <= row["long"] <= row["n"]


@of_each_kind
@usually(20)
@given(RECORDS, LENGTH, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(kind: str, records: list[Record], length: int, random: Any) -> None:
    """Reversed and shuffled records give the same windows."""
    expected = answer(records, kind, length)
    assert answer(records[::-1], kind, length) == expected
    assert answer(random.sample(records, len(records)), kind, length) == expected


@of_each_kind
@usually(20)
@given(RECORDS, LENGTH)
def test_batches_of_one_row_are_one_batch(kind: str, records: list[Record], length: int) -> None:
    """Where a table is cut does not matter."""
    whole = table_of(records)
    cut = pa.Table.from_batches(whole.to_batches(max_chunksize=1), whole.schema)
    grouped = wr.group_by(cut, "key", time="ts").windowed_by(windows_of(kind, length))
    assert rows(grouped.agg(**AGGREGATES)) == answer(records, kind, length)


@of_each_kind
@usually(8)
@given(RECORDS, LENGTH, st.integers(0, 25), st.integers(100, 180))
def test_a_batch_a_driver_a_stream_and_daily_runs_agree(
    kind: str, records: list[Record], length: int, cut: int, day: int
) -> None:
    """Where nothing is late, the way to the windows does not matter."""
    windows, expected = windows_of(kind, length), answer(records, kind, length)

    def definition(data: Any) -> Any:
        return wr.group_by(data, "key", time="ts", tick="tick").windowed_by(windows).agg(**AGGREGATES)

    table, driver = table_of(records), StreamDriver(definition, SCHEMA)
    driver.pipe_batch(table.slice(0, cut))
    driver.pipe_batch(table.slice(cut))
    driver.finish()
    assert rows(driver.read_table()) == expected

    stream = LocalStream(definition, SCHEMA, shards=3)
    end = pa.Table.from_pylist([{"ts": EPOCH + 10 * FAR * TICK, "tick": True}], SCHEMA)
    given_rows = [*stream.push_batches([table.slice(0, cut), table.slice(cut)]), *stream.push_batches([end])]
    assert sum((rows(pa.Table.from_batches([batch])) for batch in given_rows), Counter()) == expected

    early = [record for record in records if record.time < day]
    late = [record for record in records if record.time >= day]
    opened, closed = None, Counter[Window]()
    for part, to in ((early, day), (late, 10 * FAR)):
        grouped = wr.group_by(table_of(part), "key", time="ts").windowed_by(windows)
        run = grouped.advance(opened, to=EPOCH + to * TICK, **AGGREGATES)
        opened = run.still_open
        closed += rows(run.closed)
    assert closed == expected
