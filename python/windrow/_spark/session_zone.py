"""The time zone of a Spark session, in which bare times are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = "spark.sql.session.timeZone"
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?:([+-])(\d\d?)(?::?(\d\d))?)?|Z")
"""What Java's `ZoneId.of` takes besides names of zones. Arrow takes `+05:30` alone."""


def session_zone(spark: SparkSession) -> str:
    """The session's zone as Arrow names it; the name of the setting if the platform does not let it be read."""
    try:
        zone = spark.conf.get(SETTING)
    except Exception:  # a declarative pipeline refuses
        return SETTING
    return SETTING if zone is None else arrow_zone(zone)


def arrow_zone(zone: str) -> str:
    """Arrow's name of a zone of Java; the same name if it has no offset.

    >>> [arrow_zone(zone) for zone in ("GMT+05:30", "UTC+8", "-3", "Z", "Asia/Kolkata", "PST")]
    ['+05:30', '+08:00', '-03:00', 'UTC', 'Asia/Kolkata', 'PST']
    """
    found = _OFFSET.fullmatch(zone)
    if found is None or not zone:
        return zone
    sign, hours, minutes = found.groups()
    return "UTC" if sign is None else f"{sign}{int(hours):02}:{minutes or '00'}"
