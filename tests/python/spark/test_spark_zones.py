"""A time without an offset is in the zone of the session, unless windrow does not know that zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.conf import RuntimeConfig

import windrow as wr
import windrow.state
from windrow._spark.session_zone import session_zone

from ..harness.spark_scenes import SetConf

ZONE = "spark.sql.session.timeZone"
MIDNIGHT = datetime(2026, 5, 5, tzinfo=UTC)


def windowed(data: DataFrame) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))


def record(spark: SparkSession, at: datetime) -> DataFrame:
    return spark.createDataFrame([("ann", at)], "user string, ts timestamp")


ZONES = {"GMT+05:30": 330, "UTC+8": 480, "UT-03:30": -210, "-3": -180, "Z": 0, "Asia/Kolkata": 330}
"""Zones, and their minutes before UTC."""


@pytest.mark.parametrize("zone", ZONES)
def test_a_zone_of_spark_is_the_one_of_arrow(spark: SparkSession, set_conf: SetConf, zone: str) -> None:
    set_conf(ZONE, zone)
    local = pa.array([MIDNIGHT.replace(tzinfo=None)], pa.timestamp("us"))
    (time,) = pc.assume_timezone(local, session_zone(spark)).cast(pa.timestamp("us", "UTC")).to_pylist()
    row = spark.sql("SELECT unix_seconds(TIMESTAMP '2026-05-05 00:00:00')").first()
    assert row is not None
    assert time.timestamp() == row[0] == (MIDNIGHT - timedelta(minutes=ZONES[zone])).timestamp()


def test_a_bare_time_is_in_the_zone(spark: SparkSession, set_conf: SetConf) -> None:
    set_conf(ZONE, "GMT+05:30")
    midnight = MIDNIGHT - timedelta(minutes=330)
    last, first = record(spark, midnight - timedelta(minutes=10)), record(spark, midnight)
    day = windowed(last).advance(None, to="2026-05-05", n=wr.count())
    opened = day.still_open.localCheckpoint()
    assert windrow.state.clock(opened).time == midnight.replace(tzinfo=windrow.state.clock(opened).time.tzinfo)
    assert day.closed.count() == 1
    # A record at midnight is not late in the next run.
    assert windowed(first).advance(opened, to="2026-05-06", n=wr.count()).closed.count() == 1
    assert wr.explain_record(windowed(first), "ann", "2026-05-05 00:00:00").startswith(
        "user 'ann' at 2026-05-05 00:00:00"
    )
    moved = windrow.state.with_clock(opened, "2026-05-05 06:00")
    assert windrow.state.clock(moved).time - windrow.state.clock(opened).time == timedelta(hours=6)


def test_an_unknown_zone_needs_an_offset(spark: SparkSession, set_conf: SetConf) -> None:
    set_conf(ZONE, "PST")
    data, unknown = record(spark, MIDNIGHT), "allowed: a time with its offset: windrow does not know the zone 'PST'"
    with pytest.raises(ValueError, match=f"to: got '2026-05-05'; {unknown}"):
        windowed(data).advance(None, to="2026-05-05", n=wr.count())
    with pytest.raises(ValueError, match=f"at: got '2026-05-04 17:00:00'; {unknown}"):
        wr.explain_record(windowed(data), "ann", "2026-05-04 17:00:00")
    opened = windowed(data).advance(None, to="2026-05-04 18:00:00-07:00", n=wr.count()).still_open.localCheckpoint()
    assert windrow.state.clock(opened).time.replace(tzinfo=UTC) == MIDNIGHT + timedelta(hours=1)
    with pytest.raises(ValueError, match=f"to: got '2026-05-05'; {unknown}"):
        windrow.state.with_clock(opened, "2026-05-05")
    assert "2026-05-05 00:00:00" in wr.explain_record(windowed(data), "ann", "2026-05-04 17:00:00-07:00")


def test_a_bare_time_needs_an_offset_if_spark_hides_its_zone(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    own: Any = RuntimeConfig.get

    def get(conf: RuntimeConfig, key: str, *default: Any) -> Any:
        if key == ZONE:
            raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.")
        return own(conf, key, *default)

    data = record(spark, MIDNIGHT)
    monkeypatch.setattr(RuntimeConfig, "get", get)
    with pytest.raises(
        ValueError, match=f"to: got '2026-05-05'; .* its offset: windrow does not know the zone '{ZONE}'"
    ):
        windowed(data).advance(None, to="2026-05-05", n=wr.count())
    assert windowed(data).advance(None, to=MIDNIGHT + timedelta(hours=1), n=wr.count()).closed.count() == 1
