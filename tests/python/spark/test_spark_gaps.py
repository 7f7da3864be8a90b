"""Records that bring their own gaps, over Spark: counters, column types, errors, and real measurements."""

from __future__ import annotations

from datetime import timedelta

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.flights import flights
from ..harness.spark_scenes import START, frame
from ..harness.spark_tables import frame_of, table_of
from ..harness.tables import Call, assert_windows, by_dynamic_gap, gap_of, records, rows_of
from ..oracle.sessions import bad_gaps, clamped_gaps

AGGREGATES = {"n": Call("count"), "low": Call("min", ("items",))}
LONGEST_GAP = 3_600 * 10**6
HOUR = wr.SessionWindows.with_dynamic_gap("pause", max_gap="1 hour")


def events(spark: SparkSession, minutes: str = "user_id * 7 + items * 3") -> DataFrame:
    """Events of sixty users, whose pauses grow with their number; some are null, zero or negative, some very long."""
    plain = spark.createDataFrame(frame(3_000, 60, seed=5, seconds=40 * 86_400))
    pause = F.expr(f"make_dt_interval(0, 0, {minutes})").alias("pause")
    nulls = F.when(F.col("items") == 4, F.lit(None)).otherwise(F.col("user_id")).alias("user_id")
    return plain.select(nulls, F.col("ts").cast("timestamp").alias("ts"), "items", pause).repartition(3)


def test_sessions_and_counters_equal_the_oracle(spark: SparkSession) -> None:
    data, observation = events(spark), Observation("gaps")
    windowed = wr.group_by(data, "user_id", time="ts").windowed_by(HOUR).observe(observation)
    answer = windowed.agg(**{name: aggregate.build(wr) for name, aggregate in AGGREGATES.items()})
    got, table = rows_of(table_of(answer), ["user_id"]), table_of(data)
    table = table.set_column(1, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
    assert_windows(got, table, ["user_id"], by_dynamic_gap("pause", LONGEST_GAP), AGGREGATES)
    rows, own = records(table, ["user_id"]), gap_of("pause")
    counted = {name: observation.get[name] for name in ("records", "bad_gaps", "clamped_gaps", "windows")}
    expected = {"bad_gaps": bad_gaps(rows, own), "clamped_gaps": clamped_gaps(rows, own, LONGEST_GAP)}
    assert counted == {"records": 3_000, "windows": len(got), **expected}
    assert min(counted.values()) > 30


def test_sparks_own_gaps_of_records_give_the_same_sessions(spark: SparkSession) -> None:
    # Spark ends a session at the farthest that a record of it reaches, and begins the next only past that: our reach.
    data = events(spark).where("user_id IS NOT NULL AND pause > INTERVAL '0' SECOND AND pause < INTERVAL '1' HOUR")
    ours = wr.group_by(data, "user_id", time="ts").windowed_by(HOUR).agg(n=wr.count(), most=wr.max("pause"))
    gap = F.expr("concat(extract(HOUR FROM pause) * 60 + extract(MINUTE FROM pause), ' minutes')")
    grouped = data.withColumn("gap", gap).groupBy("user_id", F.session_window("ts", F.col("gap")).alias("theirs"))
    last = F.struct(F.col("theirs.start").alias("start"), F.col("last").alias("end")).alias("window")
    theirs = grouped.agg(F.max("ts").alias("last"), F.count("*").alias("n"), F.max("pause").alias("most"))
    expected = rows_of(table_of(theirs.select("user_id", last, "n", "most")), ["user_id"])
    assert rows_of(table_of(ours), ["user_id"]) == expected
    assert len(expected) > 300


def test_a_bad_gap_fails_the_job_by_key_and_time_where_that_was_asked(spark: SparkSession) -> None:
    strict = wr.SessionWindows.with_dynamic_gap("pause", invalid_gap="error")
    data = events(spark, "IF(user_id = 17, 0, 5)").where("user_id IS NOT NULL")
    with pytest.raises(Exception, match=f"the gap of key 17 at {START:%Y}.* is null, zero or negative"):
        wr.group_by(data, "user_id", time="ts").windowed_by(strict).count().collect()
    fine = wr.group_by(data.where("user_id != 17"), "user_id", time="ts").windowed_by(strict).count()
    assert fine.count() > 60


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        pytest.param(
            "make_interval(0, 0, 0, 0, 0, 5)", "interval", marks=pytest.mark.needs("calendar intervals in schemas")
        ),
        ("make_ym_interval(0, 5)", "interval year to month"),
        ("'5 minutes'", "string"),
    ],
)
def test_a_column_of_another_type_is_refused_when_windowed(spark: SparkSession, sql: str, kind: str) -> None:
    data = events(spark).withColumn("pause", F.expr(sql))
    with pytest.raises(
        TypeError, match=f"column 'pause' has type {kind}; allowed: .*day-time (interval$|interval: |ones)"
    ):
        wr.group_by(data, "user_id", time="ts").windowed_by(HOUR)


def test_gaps_of_numbers_name_the_casts_and_they_work(spark: SparkSession) -> None:
    kinds = "300 i, 300L l, CAST(100 AS TINYINT) t, 0.5 `a decimal`, 2.5D d, CAST(2.5 AS FLOAT) f"
    kinds += ", named_struct('a gap', 7) s, named_struct('x', named_struct('y', 7.5D)) n"
    data = spark.sql(f"SELECT 'ann' AS user, TIMESTAMP '2026-01-01' AS ts, {kinds}")
    made, expected = data, dict[str, timedelta]()
    for name in (*data.columns[2:-2], "s.a gap", "n.x.y"):
        with pytest.raises(TypeError, match=f"column '{name}' has type .*; allowed: a day-time interval: ") as raised:
            wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_dynamic_gap(name))
        for cast in str(raised.value).partition("interval: ")[2].split(", or "):
            code, _, unit = cast.partition(" if it counts ")
            made = made.withColumn(f"{name} {unit}", eval(code, {"F": F}))
            numbers = {"i": 300, "l": 300, "t": 100, "a decimal": 0.5, "d": 2.5, "f": 2.5, "s.a gap": 7, "n.x.y": 7.5}
            expected[f"{name} {unit}"] = timedelta(**{unit: numbers[name]})
    asked = {name: wr.max(F.col(f"`{name}`")) for name in expected}
    windows = wr.SessionWindows.with_dynamic_gap("i seconds")
    (row,) = wr.group_by(made, "user", time="ts").windowed_by(windows).agg(**asked).collect()
    assert {name: row[name] for name in expected} == expected
    assert len(expected) == 16


def test_the_casts_of_gaps_that_are_not_finite_give_null(spark: SparkSession) -> None:
    data = spark.sql(
        "SELECT 'ann' AS user, TIMESTAMP '2026-01-01' AS ts, explode(array('NaN', '-inf', 'inf', '5')) AS x"
    )
    data, windows = data.withColumn("g", F.col("x").cast("double")), wr.SessionWindows
    for given, known in (("g", {}), (F.col("g") * 2, {"expression": F.col("g") * 2})):
        with pytest.raises(TypeError, match="allowed: a day-time interval: ") as raised:
            wr.group_by(data, "user", time="ts").windowed_by(windows.with_dynamic_gap(given))
        cast = str(raised.value).partition("interval: ")[2].partition(" if it counts ")[0]
        gaps = windows.with_dynamic_gap(eval(cast, {"F": F, **known}).alias("gap"))
        (row,) = wr.group_by(data, "user", time="ts").windowed_by(gaps).count().collect()
        assert row["count"] == 1


def test_day_time_intervals_of_any_fields_are_gaps(spark: SparkSession) -> None:
    data = events(spark, "60")
    fixed = wr.group_by(data, "user_id", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour")).count()
    expected = rows_of(table_of(fixed), ["user_id"])
    for fields in ("MINUTE", "DAY TO HOUR", "HOUR TO SECOND"):
        cast = data.withColumn("pause", F.expr(f"CAST(pause AS INTERVAL {fields})"))
        own = wr.group_by(cast, "user_id", time="ts").windowed_by(HOUR).count()
        assert rows_of(table_of(own), ["user_id"]) == expected, fields


SESSIONS = """
    WITH reaching AS (
        SELECT key, ts, max(ts + to_minutes(least(minutes, 120))) AS reach, count(*) AS n, sum(amount) AS total
        FROM events GROUP BY key, ts
    ), before AS (
        SELECT *, max(reach) OVER (
            PARTITION BY key ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before FROM reaching
    ), numbered AS (
        SELECT *, count_if(before IS NULL OR ts > before) OVER (PARTITION BY key ORDER BY ts) AS session
        FROM before
    )
    SELECT key, min(ts) AS start, max(ts) AS "end", sum(n) AS n, sum(total) AS total
    FROM numbered GROUP BY key, session ORDER BY key, start
"""


@pytest.mark.soak
def test_flights_with_their_time_in_the_air_as_gap(spark: SparkSession) -> None:
    # What was diverted has no such time, so a null gap; what flew for longer than two hours is cut to two.
    departed = flights().filter(pc.and_(pc.is_valid(flights()["tailnum"]), pc.is_valid(flights()["departure"])))
    tables = duckdb.connect()
    tables.execute("SET TimeZone = 'UTC'")
    columns = "tailnum AS key, departure AS ts, distance AS amount, minutes"
    tables.register("departed", departed)
    tables.execute(f"CREATE VIEW events AS SELECT {columns} FROM departed WHERE minutes IS NOT NULL")
    expected = tables.sql(SESSIONS).to_arrow_table()
    unknown, clamped = departed["minutes"].null_count, pc.sum(pc.greater(departed["minutes"], 120)).as_py()
    assert min(unknown, clamped) > 1_000

    pause = F.make_dt_interval(F.lit(0), F.lit(0), F.col("minutes").cast("int")).alias("pause")
    data = frame_of(spark, departed).select(F.col("tailnum").alias("key"), "departure", "distance", pause)
    observation, windows = Observation("gaps"), wr.SessionWindows.with_dynamic_gap("pause", max_gap="2 hours")
    windowed = wr.group_by(data, "key", time="departure").windowed_by(windows).flat().observe(observation)
    answer = windowed.agg(n=wr.count(), total=wr.sum("distance")).orderBy("key", "window_start")
    got = table_of(answer).rename_columns(expected.column_names)
    assert got.to_pylist() == expected.cast(got.schema).to_pylist()
    assert got.num_rows > 200_000
    assert (observation.get["bad_gaps"], observation.get["clamped_gaps"]) == (unknown, clamped)
