"""A time without an offset is in the zone of its column, also after 2037, when Arrow keeps the last offset."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state


def advanced(zone: str, to: str) -> pa.Table:
    """The open windows after an `advance` to a time, of one record of 1900."""
    ts: Any = pa.array([-2_208_988_800], pa.int64()).cast(pa.timestamp("s", zone))
    grouped = wr.group_by(pa.table({"user": ["ann"], "ts": ts}), "user", time="ts")
    opened: pa.Table = (
        grouped.windowed_by(wr.SessionWindows.with_gap("1 hour")).advance(None, to=to, n=wr.count()).still_open
    )
    return opened


@pytest.mark.parametrize(
    ("zone", "bare", "utc"),
    [
        ("Europe/Berlin", "2026-07-01 12:00", datetime(2026, 7, 1, 10)),
        ("Europe/Berlin", "2037-07-01 12:00", datetime(2037, 7, 1, 10)),
        ("Europe/Berlin", "2038-07-01 12:00", datetime(2038, 7, 1, 10)),
        ("Europe/Berlin", "2038-12-01 12:00", datetime(2038, 12, 1, 11)),
        ("Europe/Berlin", "2040-03-25 01:59:59", datetime(2040, 3, 25, 0, 59, 59)),
        ("Europe/Berlin", "2040-03-25 03:00", datetime(2040, 3, 25, 1)),
        ("Europe/Berlin", "2040-10-28 01:59:59", datetime(2040, 10, 27, 23, 59, 59)),
        ("Europe/Berlin", "2040-10-28 03:00", datetime(2040, 10, 28, 2)),
        ("America/New_York", "2500-07-01 12:00", datetime(2500, 7, 1, 16)),
        ("Australia/Sydney", "2038-01-01 12:00", datetime(2038, 1, 1, 1)),
        ("Australia/Sydney", "2040-07-01 12:00", datetime(2040, 7, 1, 2)),
        ("Asia/Kolkata", "2100-07-01", datetime(2100, 6, 30, 18, 30)),
        ("+05:30", "2100-07-01", datetime(2100, 6, 30, 18, 30)),
        ("-03:30", "2026-07-01", datetime(2026, 7, 1, 3, 30)),
        ("UTC", "2100-07-01", datetime(2100, 7, 1)),
        ("Europe/Berlin", "2026-05-05T00:00:00Z", datetime(2026, 5, 5)),
        ("UTC", "2026-05-05T02:00:00+02:00", datetime(2026, 5, 5)),
    ],
)
def test_a_bare_time_is_in_the_zone_of_the_column(zone: str, bare: str, utc: datetime) -> None:
    assert state.clock(advanced(zone, bare)).time == utc.replace(tzinfo=UTC)


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25", "2040-03-25", "2040-10-28"])
@pytest.mark.parametrize("hour", ["02:00", "02:30", "02:59:59"])
def test_a_time_that_occurs_twice_or_never_needs_an_offset(day: str, hour: str) -> None:
    with pytest.raises(ValueError, match=f"to: got '{day} {hour}'; allowed: a time that occurs once in Europe/Berlin"):
        advanced("Europe/Berlin", f"{day} {hour}")
    moment = datetime.fromisoformat(f"{day} {hour}+02:00")
    opened = advanced("Europe/Berlin", f"{day} {hour}+02:00")
    assert state.clock(opened).time.astimezone(UTC) == moment


@pytest.mark.parametrize("zone", ["Mars/Phobos", "PST", "Europe", "../Europe/Berlin", "+25:00"])
def test_an_unknown_zone_needs_an_offset(zone: str) -> None:
    message = f"to: got '2026-05-05'; allowed: a time with its offset: windrow does not know the zone '{zone}'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        advanced(zone, "2026-05-05")
