"""Updates at a pace (rules 6.12): units and bad arguments. The book of cases and the simulation have their rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import PAYMENTS, at

SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")


def paced(every: Any) -> Any:
    return lambda data: wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).emit("update", every=every).count()


def test_a_window_that_a_function_deletes_leaves_no_row_behind() -> None:
    """A delete that nothing replaces leaves at once: the state then has no trace of the window."""

    def nothing_of_ones(data: Any) -> Any:
        last = wr.reduce("amount", lambda held, amount: None if amount == 1 else amount)
        return wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).emit("update", every="1 hour").agg(last=last)

    driver = StreamDriver(nothing_of_ones, PAYMENTS, value="amount")
    rows = [(0, 5), (4, 6), (6, 1), (7, 9)]
    got = [driver.pipe(user="ann", ts=at(minute), amount=amount) for minute, amount in rows]
    assert [[(change.kind, *change.window) for change in changes] for changes in got] == [
        [("upsert", at(0), at(0))],
        [],
        [("delete", at(0), at(0))],
        [("upsert", at(7), at(7))],
    ]


@pytest.mark.parametrize(
    ("unit", "every", "ticks", "rows"),
    [
        ("s", "1500 milliseconds", [0, 1, 2, 3, 4], [1, 0, 2, 0, 2]),  # a part of a second is a whole one
        ("ms", "2 milliseconds", [0, 1, 2, 3, 4], [1, 0, 2, 0, 2]),
        ("us", "1 microsecond", [0, 1, 2], [1, 2, 2]),
        ("ns", "1 microsecond", [0, 999, 1000, 1999, 2000], [1, 0, 2, 0, 2]),
    ],
)
def test_every_is_exact_in_the_unit_of_the_time_column(unit: Any, every: str, ticks: list[int], rows: Any) -> None:
    time = pa.timestamp(unit)
    driver = StreamDriver(paced(every), pa.schema({"user": pa.string(), "ts": time}))
    tables = [pa.table({"user": ["ann"], "ts": pa.array([tick], pa.int64()).cast(time)}) for tick in ticks]
    assert [len(driver.pipe_batch(table)) for table in tables] == rows


#   ns: 2^63 - 1 ns = 9,223,372,036,854,775,807 ns, so 9,223,372,036,854,775 us
@pytest.mark.parametrize(
    ("unit", "micros", "fits"),
    [
        ("ns", 2**63 // 1000 - 1, True),
        ("ns", 2**63 // 1000, True),
        ("ns", 2**63 // 1000 + 1, False),
        ("us", 2**63 - 1, True),
        ("us", 2**63, False),
        ("s", 2**63 - 1, True),
    ],
)
def test_every_is_at_most_what_the_time_column_counts(unit: Any, micros: int, fits: bool) -> None:
    every, schema = f"{micros} microseconds", pa.schema({"user": pa.string(), "ts": pa.timestamp(unit)})
    batch = lambda: paced(every)(schema.empty_table())  # noqa: E731
    for run in (lambda: StreamDriver(paced(every), schema), batch):
        if fits:
            run()
            continue
        with pytest.raises(ValueError, match="^every: got '.*'; allowed: at most .*"):
            run()


@pytest.mark.parametrize("every", ["0 seconds", timedelta(0), timedelta(seconds=-1), "-1 minute"])
def test_every_is_a_duration_longer_than_zero(every: Any) -> None:
    with pytest.raises(ValueError, match="^every: got .*; allowed: a duration longer than zero"):
        StreamDriver(paced(every), PAYMENTS)


@pytest.mark.parametrize("every", [60, 0.5, True, ["1 minute"]])
def test_every_has_a_unit(every: Any) -> None:
    with pytest.raises(TypeError, match="^every: got "):
        StreamDriver(paced(every), PAYMENTS)


def test_every_is_of_updates_that_are_coalesced() -> None:
    sessions = wr.group_by(PAYMENTS.empty_table(), "user", time="ts").windowed_by(SESSIONS)
    with pytest.raises(ValueError, match=r"every: got '1 minute'; allowed: None with emit\('close'\)"):
        sessions.emit("close", every="1 minute")
    with pytest.raises(ValueError, match="every: got '1 minute'; allowed: None with every_record=True"):
        sessions.emit("update", every="1 minute", every_record=True)
    assert sessions.emit("update", every="1 minute").emit("close").options.every is None


def test_a_batch_gives_the_same_rows_at_any_pace() -> None:
    table = pa.Table.from_pylist([{"user": "ann", "ts": at(minute)} for minute in (0, 3, 20)], PAYMENTS)
    at_pace, plain = paced("1 hour")(table), paced(None)(table)
    assert at_pace.num_rows == 2
    assert at_pace.sort_by("count").equals(plain.sort_by("count"))
