"""Shared test data: times on one day, a schema, and tables of records at ticks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

TICK = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
EIGHT = datetime(2026, 1, 1, 8)
"""08:00 on that day, without a zone."""

PAYMENTS = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "amount": pa.int64()})


def at(minutes: float) -> datetime:
    """A time some minutes after 08:00, without a zone."""
    return EIGHT + timedelta(minutes=minutes)


def all_at(*minutes: float) -> list[datetime]:
    """Times, given in minutes after 08:00."""
    return [at(minute) for minute in minutes]


def at_second(seconds: float) -> datetime:
    """A time some seconds after 08:00, without a zone."""
    return EIGHT + timedelta(seconds=seconds)


def utc(minutes: float) -> datetime:
    """A time some minutes after midnight, in UTC."""
    return MIDNIGHT + timedelta(minutes=minutes)


def keyed(
    keys: Sequence[int | None],
    times: Sequence[int | None],
    unit: Any = "us",
    gaps: Sequence[int | None] | None = None,
    **columns: Any,
) -> pa.Table:
    """Records of keys `k` at times `ts` in ticks of the unit, perhaps with gaps `gap`. Their place is their `id`."""
    lengths = {} if gaps is None else {"gap": pa.array(gaps, pa.int64()).cast(pa.duration(unit))}
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "ts": pa.array(times, pa.int64()).cast(pa.timestamp(unit)),
            **lengths,
            "id": pa.array(range(len(times)), pa.int64()),
            **columns,
        }
    )
