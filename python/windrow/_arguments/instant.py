"""Points in time as users write them, in the ticks of a time column."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._arguments.errors import bad_type, bad_value

Instant = str | date
"""A point in time: a `datetime`, a `date` (its midnight), or ISO 8601 text such as "2026-05-05"."""

_FINER = re.compile(r"\.\d{7,}")


def ticks(argument: str, value: object, field: pa.Field[Any], zone: str | None = None) -> int:
    """The ticks of a point in time in a time column. A bare time is in `zone`, by default the zone of the column.

    Raises:
        TypeError: neither text, a `date` nor a `datetime`.
        ValueError: not a point in time, a time with a zone for a column without one, a time that the column cannot
            hold, a bare time that occurs twice or never in its zone, or a bare time in an unknown zone.

    >>> ticks("to", "2026-05-05", pa.field("ts", pa.timestamp("ms")))
    1777939200000
    >>> ticks("to", "2026-05-05", pa.field("ts", pa.timestamp("s", "Europe/Berlin")))
    1777932000
    """
    kind: Any = field.type
    moment = moment_of(argument, value, field, zone).replace(tzinfo=None)
    micros: Any = pa.scalar(moment, pa.timestamp("us")).value
    nanos = getattr(moment, "nanosecond", 0)  # pandas has these
    if kind.unit == "ns":
        if not -(2**63) <= micros * 1_000 + nanos < 2**63:
            allowed = f"a time within the range of the column {field.name!r}, which counts nanoseconds"
            raise bad_value(argument, value, allowed)
        return int(micros * 1_000 + nanos)
    whole, rest = divmod(micros, TIME_UNITS[kind.unit].microseconds)
    if rest or nanos:
        raise bad_value(argument, value, f"a time in whole {kind.unit}, the unit of the column {field.name!r}")
    return int(whole)


def moment_of(argument: str, value: object, field: pa.Field[Any], zone: str | None = None) -> datetime:
    """A point in time as a value of a time column: in UTC if the column has a zone, else without a zone.

    A bare time is in `zone`, by default the zone of the column. Errors as `ticks`, except for units.
    """
    moment = _moment(argument, value)
    kind: Any = field.type
    if kind.tz is None:
        if moment.tzinfo is not None:
            raise bad_value(argument, value, f"a time without a zone, as the column {field.name!r} has none")
        return moment
    try:
        return in_utc(moment) if moment.tzinfo is not None else _of_zone(argument, value, moment, zone or kind.tz)
    except OverflowError:
        raise bad_value(argument, value, "a time of the years 1 to 9999 in UTC") from None


def is_missing(value: object) -> bool:
    """Whether a value is null: None, or the values of pandas, NumPy and Arrow for it, except NaN.

    >>> is_missing(None), is_missing(float("nan"))
    (True, False)
    """
    kind = type(value).__name__
    is_null = isinstance(value, pa.Scalar) and not value.is_valid
    return value is None or is_null or kind in ("NaTType", "NAType") or (kind == "datetime64" and str(value) == "NaT")


def in_utc(moment: datetime) -> datetime:
    """The same time in UTC. `OverflowError` outside of the years 1 to 9999.

    `pa.array` ignores the offset of other zones if PYARROW_IGNORE_TIMEZONE is set. An import of `pyspark.pandas` sets
    it up to PySpark 4.1.
    """
    return moment.astimezone(UTC)


def is_zone(zone: str) -> bool:
    """Whether Arrow knows a time zone.

    >>> is_zone("Europe/Berlin"), is_zone("PST")
    (True, False)
    """
    epoch: Any = pa.scalar(0, pa.timestamp("us", zone))
    try:
        pc.local_timestamp(epoch)
    except pa.ArrowInvalid:
        return False
    return True


def check_zone(argument: str, value: object, zone: str) -> None:
    """Raises `ValueError` if Arrow does not know the zone of a bare time."""
    if not is_zone(zone):
        raise _unknown_zone(argument, value, zone)


def time_text(value: int, kind: Any, zone: str | None = None) -> str:
    """The ticks of a time column as text; with a zone, in that zone.

    >>> time_text(1777932000, pa.timestamp("s", "Europe/Berlin"))
    '2026-05-05 00:00:00+02:00'
    """
    if kind.tz is not None:
        kind = pa.timestamp(kind.unit, zone or kind.tz)
    time = pa.scalar(value, pa.int64()).cast(kind)
    try:
        return str(time.as_py())
    except (OverflowError, ValueError):  # a year that Python has not, or nanoseconds without pandas
        return str(time.cast(pa.string()).as_py())


def _moment(argument: str, value: Any) -> datetime:
    allowed = 'a datetime, a date, or text such as "2026-05-05" or "2026-05-05 06:00:00+02:00"'
    if is_missing(value) and value is not None:
        raise bad_value(argument, value, allowed)
    if type(value).__name__ == "datetime64":  # of NumPy
        value = pa.scalar(value).as_py()
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if not isinstance(value, str):
        raise bad_type(argument, value, allowed)
    if _FINER.search(value):
        raise bad_value(argument, value, "a time with at most six digits after the second")
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise bad_value(argument, value, allowed) from error


def _of_zone(argument: str, value: object, moment: datetime, zone: str) -> datetime:
    info = _tzinfo(argument, value, zone)
    first, second = (moment.replace(tzinfo=info, fold=fold) for fold in (0, 1))
    if first.utcoffset() != second.utcoffset():
        allowed = f"a time that occurs once in {zone}; {value} occurs twice or never: write it with its offset"
        raise bad_value(argument, value, allowed)
    return in_utc(first)


def _tzinfo(argument: str, value: object, zone: str) -> tzinfo | None:
    """The zone that Arrow names so. Arrow itself keeps the last offset of 2037 in later years."""
    if zone == "UTC":
        return UTC
    try:
        if zone.startswith(("+", "-")):
            return datetime.fromisoformat(f"1970-01-01T00:00{zone}").tzinfo
        return ZoneInfo(zone)
    except (LookupError, ValueError, OSError) as error:
        raise _unknown_zone(argument, value, zone) from error


def _unknown_zone(argument: str, value: object, zone: str) -> ValueError:
    return bad_value(argument, value, f"a time with its offset: windrow does not know the zone {zone!r}")
