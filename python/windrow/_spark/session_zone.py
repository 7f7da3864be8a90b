"""The time zone of a Spark session. Times without an offset are in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from windrow._spark.configure import setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = "spark.sql.session.timeZone"
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?:([+-])(\d\d?)(?::?(\d\d))?)?|Z")
"""Offsets as Java's `ZoneId.of` takes them, without seconds. Arrow takes only the form `+05:30`."""


def session_zone(spark: SparkSession) -> str:
    """The session's zone, by Arrow's name. If the platform hides it, the name of the setting, which is no zone."""
    zone = setting(spark, SETTING)
    return SETTING if zone is None else arrow_zone(zone)


def arrow_zone(zone: str) -> str:
    """Arrow's name for a zone of Java. The names of regions stay as they are.

    >>> [arrow_zone(zone) for zone in ("GMT+05:30", "UTC+8", "-3", "Z", "Asia/Kolkata", "PST")]
    ['+05:30', '+08:00', '-03:00', 'UTC', 'Asia/Kolkata', 'PST']
    """
    found = _OFFSET.fullmatch(zone)
    if found is None or not zone:
        return zone
    sign, hours, minutes = found.groups()
    return "UTC" if sign is None else f"{sign}{int(hours):02}:{minutes or '00'}"
