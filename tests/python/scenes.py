"""Shared test data: times on one day, and a schema."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

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
