"""The bytes of Kafka's serializers for windowed keys and counts, in Spark and in plain Python.

a session           key ‖ end ‖ start       both in milliseconds, 8 bytes each, big-endian
a sliding window    key ‖ start             the end is not written: it is the start and the time difference
a count             8 bytes, big-endian; a tombstone has no value
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


class Window(NamedTuple):
    """A key and a window of it, in milliseconds."""

    key: str
    start: int
    end: int


def session_records(rows: DataFrame, key: str, count: str) -> DataFrame:
    """Sessions as records of a topic: the columns `key` and `value` of Spark's sink."""
    bounds = [_big_endian(F.unix_millis(f"window.{bound}")) for bound in ("end", "start")]
    return _records(rows, F.concat(F.encode(key, "UTF-8"), *bounds), count)


def sliding_records(rows: DataFrame, key: str, count: str) -> DataFrame:
    """Sliding windows as records of a topic."""
    return _records(rows, F.concat(F.encode(key, "UTF-8"), _big_endian(F.unix_millis("window.start"))), count)


def session_of(key: bytes) -> Window:
    """The session of a record's key."""
    end, start = struct.unpack(">qq", key[-16:])
    return Window(key[:-16].decode(), start, end)


def count_of(value: bytes | None) -> int | None:
    """The count of a record's value; None for a tombstone."""
    return None if value is None else struct.unpack(">q", value)[0]


def _records(rows: DataFrame, key: Column, count: str) -> DataFrame:
    value = _big_endian(F.col(count))
    if "op" in rows.columns:
        value = F.when(F.col("op") != "delete", value)
    return rows.select(key.alias("key"), value.alias("value"))


def _big_endian(number: Column) -> Column:
    return F.unhex(F.lpad(F.hex(number), 16, "0"))
