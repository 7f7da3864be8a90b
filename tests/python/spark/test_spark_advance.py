"""Daily jobs in Spark: the windows of one query over the history, the tables of this process, and the same errors."""

from __future__ import annotations

import operator
import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state
from windrow._arguments.ddl import arrow_type
from windrow._executor.spark_casts import spark_cast

from ..harness import recipes
from ..harness.spark_scenes import SetConf
from ..harness.spark_tables import frame_of, table_of
from ..harness.tables import assert_same, rows_of
from . import connect_client

START = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {"user": pa.string(), "id": pa.int32(), "ts": pa.timestamp("us", "UTC"), "x": pa.float64(), "n": pa.int64()}
)
ENDS = [START + timedelta(minutes=minutes) for minutes in (40, 100, 101, 200)]


def history() -> list[dict[str, Any]]:
    """Records of some users in 200 minutes, in no order; some at the bounds of days."""
    rng = random.Random(36)
    minutes = [rng.randint(0, 199) for _ in range(400)] + [39, 40, 41, 99, 100, 101]
    return [
        {
            "user": rng.choice(["ann", "bob", "", "ä"]),
            "id": rng.randint(1, 3),
            "ts": START + timedelta(minutes=minute, microseconds=number),
            "x": rng.random(),
            "n": number,
        }
        for number, minute in enumerate(minutes)
    ]


def days_of(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    bounds = zip([START, *ENDS], ENDS, strict=False)
    return [[row for row in rows if start <= row["ts"] < end] for start, end in bounds]


def appended(held: list[int], row: Any) -> list[int]:
    return [*held, row.n]


BUILT_IN = {
    "rows": wr.count(),
    "total": wr.sum("n"),
    "double": wr.sum("n") * 2,
    "first": wr.first("n"),
    "ids": wr.collect_set("id"),
}
FUNCTIONS = {
    "rows": wr.count(),
    "ns": wr.aggregate(list, appended, operator.add, columns=["n"], schema="array<bigint>"),
    "least": wr.reduce("x", min),
}
SESSIONS = wr.SessionWindows.with_gap("7 minutes", grace="5 minutes")
HALF_AN_HOUR = wr.SessionWindows.with_gap("30 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("10 minutes", grace="3 minutes")


@pytest.mark.parametrize(
    ("windows", "aggregates"),
    [(SESSIONS, BUILT_IN), (SLIDING, FUNCTIONS)],
    ids=["sessions", "sliding windows and functions"],
)
def test_days_are_those_of_the_history_and_of_this_process(
    spark: SparkSession, tmp_path: Path, windows: Any, aggregates: Any
) -> None:
    """The table goes through Parquet, and each other day is one of this process."""
    rows = history()

    def windowed(data: Any) -> Any:
        return wr.group_by(data, "user", "id", time="ts").windowed_by(windows).shards(3)

    whole = windowed(pa.Table.from_pylist(rows, SCHEMA)).agg(**aggregates)
    closed: list[pa.Table] = []
    opened: Any = None
    for number, (day, end) in enumerate(zip(days_of(rows), ENDS, strict=True)):
        random.Random(number).shuffle(day)
        table = pa.Table.from_pylist(sorted(day, key=lambda row: row["n"]), SCHEMA)
        in_spark = number != 2
        given = frame_of(spark, table).repartition(3) if in_spark else table
        if opened is not None:
            opened = frame_of(spark, opened) if in_spark else opened
        run = windowed(given).advance(opened, to=end, **aggregates)
        if in_spark:
            path = str(tmp_path / str(number))
            run.rows.write.partitionBy("status").parquet(path)
            written = spark.read.parquet(path)
            parts = [table_of(written.where(F.col("status") == status).drop("status")) for status in ("closed", "open")]
            assert written.where("status = 'open' AND user IS NULL").count() == 1
            assert run.closed.columns == whole.column_names
            assert run.still_open.columns == [*whole.column_names, "stream_time", "state"]
            assert run.rows.columns == [*whole.column_names, "stream_time", "state", "status"]
        else:
            parts = [run.closed, run.still_open]
        closed.append(parts[0].select(whole.column_names))
        opened = parts[1]
    left = opened.filter(opened["window"].is_valid()).select(whole.column_names)
    merged = [row for part in (*closed, left) for row in part.to_pylist()]
    got = rows_of(pa.Table.from_pylist(merged, whole.schema), ["user", "id"])
    assert_same(got, rows_of(whole, ["user", "id"]), ["ids"])


def counted(frame: DataFrame, opened: Any, to: Any, **options: Any) -> Any:
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(HALF_AN_HOUR).shards(2)
    for option, value in options.items():
        windowed = getattr(windowed, option)(value)
    return windowed.advance(opened, to=to, rows=wr.count())


def day(spark: SparkSession, *pairs: tuple[str, int]) -> DataFrame:
    rows = [{"user": user, "ts": START + timedelta(minutes=minute)} for user, minute in pairs]
    return frame_of(spark, pa.Table.from_pylist(rows, pa.schema([SCHEMA.field("user"), SCHEMA.field("ts")])))


@pytest.mark.slow
def test_late_records_counters_and_damage(spark: SparkSession) -> None:
    one = counted(day(spark, ("ann", 0), ("bob", 50)), None, START + timedelta(minutes=60))
    assert [row["user"] for row in one.closed.collect()] == ["ann"]
    table = table_of(one.still_open)
    still_open = frame_of(spark, table)
    seen = wr.Observation()
    observed = counted(
        day(spark, ("ann", 1), ("bob", 55)), still_open, START + timedelta(minutes=90), late="emit", observe=seen
    )
    shown = sorted((row["op"], row["user"], row["rows"]) for row in observed.closed.collect())
    assert shown == [("late", "ann", 1), ("upsert", "bob", 2)] or shown == [("late", "ann", 1)]
    got = seen.get
    assert (got["records"], got["late"], got["late_emitted"]) == (2, 1, 1)

    later, empty, bob = START + timedelta(minutes=100), day(spark), still_open.where("user = 'bob'")
    clock = still_open.where("user IS NULL")
    damaged: list[tuple[str, DataFrame, datetime]] = [
        ("1 are missing", clock, later),
        ("no clock row", bob, later),
        ("it appears twice|1 are too many", still_open.union(bob), later),
        ("got 2 clock rows", still_open.union(clock), later),
        ("which the earlier call reached, or later", still_open, START),
    ]
    for says, opened, to in damaged:
        with pytest.raises(Exception, match=says):
            counted(empty, opened, to).rows.collect()
    with pytest.raises(ValueError, match="one that has 'state'"):
        counted(empty, still_open.drop("state"), later)
    with pytest.raises(TypeError, match="open: got"):
        counted(empty, table, later)


@pytest.mark.slow
def test_keys_are_removed_in_each_form(spark: SparkSession) -> None:
    assert connect_client.forgotten(spark) == connect_client.FORGOTTEN


def test_the_rows_of_a_run_are_no_table_of_open_windows(spark: SparkSession) -> None:
    rows = counted(day(spark, ("ann", 0), ("bob", 50)), None, START + timedelta(minutes=60)).rows
    rows = frame_of(spark, table_of(rows))
    for call in (
        lambda: windrow.state.clock(rows),
        lambda: windrow.state.with_clock(rows, START + timedelta(minutes=70)),
        lambda: windrow.state.without_keys(rows, user="ann"),
    ):
        with pytest.raises(ValueError, match=r"open: row \d+: it has no `state`: a closed .*the status 'open'"):
            call()
    opened = rows.where("status = 'open'")
    assert windrow.state.clock(opened).batch == 0
    with pytest.raises(TypeError, match=r"keys: user: got .*Column.*; allowed: a str"):
        windrow.state.without_keys(opened, user=F.lit("ann"))
    with pytest.raises(ValueError, match="checkpoint: got ''; allowed: the checkpointLocation of a streaming query"):
        windrow.state.open_windows(spark, "")
    end = F.struct("window.start", F.lit("2026").alias("end"))
    for column, value, says in (
        ("state", F.hex("state"), "'state' has type string; allowed: binary"),
        ("stream_time", F.lit("2026"), "'stream_time' has type string; allowed: a timestamp"),
        ("window", F.lit(1), "'window' has type int; allowed: a struct of `start` and `end`"),
        ("window", end, "'window.end' has type string; allowed: a timestamp"),
    ):
        with pytest.raises(TypeError, match=f"open: column {says}"):
            counted(day(spark), opened.withColumn(column, value), START + timedelta(minutes=70))
        if column != "window":
            with pytest.raises(TypeError, match=f"open: column {says}"):
                windrow.state.clock(opened.withColumn(column, value))


def test_a_bare_time_of_a_key_is_in_the_zone_of_the_session(spark: SparkSession, set_conf: SetConf) -> None:
    set_conf("spark.sql.session.timeZone", "Europe/Berlin")
    values = "(1, TIMESTAMP '2026-01-01 01:00:00'), (2, NULL), (3, TIMESTAMP '2026-01-01 02:00:00')"
    keyed = spark.sql(f"SELECT id, at, TIMESTAMP '2026-01-01 01:00:00' AS ts FROM VALUES {values} AS t(id, at)")
    windowed = wr.group_by(keyed, "at", "id", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    opened = windowed.advance(None, to="2026-01-01 01:00:00", n=wr.count()).still_open.localCheckpoint()
    bare = START.astimezone(ZoneInfo("Europe/Berlin")).replace(tzinfo=None)
    for at, left in ((bare, [2, 3]), (START, [2, 3]), (pd.NaT, [1, 3]), ([None, "2026-01-01 02:00"], [1])):
        without = windrow.state.without_keys(opened, at=at).where("id IS NOT NULL").orderBy("id")
        assert [row["id"] for row in without.collect()] == left


@pytest.mark.needs("streams")
def test_a_stream_is_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    windows = wr.SessionWindows.with_gap("1 minute", grace="1 minute")
    with pytest.raises(TypeError, match="advance: got a streaming DataFrame"):
        wr.group_by(stream, "value", time="timestamp").windowed_by(windows).advance(None, to=START, n=wr.count())


def test_a_day_that_runs_again_with_more_records_replaces_its_rows_alone(spark: SparkSession) -> None:
    """With the code of the page: the first run closes ann's session, the second keeps it open and closes none."""
    names = recipes.program("daily-job.md", "run", "cron")
    for day, minutes in ((5, [0]), (4, [0]), (4, [0, 20, 40])):
        records = [("ann", datetime(2026, 5, day, 23, minute), 1.0) for minute in minutes]
        clicks = spark.createDataFrame(records, "user string, ts timestamp, amount double")
        names["run"](clicks, None, f"2026-05-{day + 1:02}")
    rows = spark.read.parquet(names["RUNS"]).where("user is not null").sort("to").collect()
    assert [(row.to.day, row.status, row.clicks) for row in rows] == [(5, "open", 3), (6, "closed", 1)]
    with pytest.raises(AssertionError):
        names["run"](clicks, "2026-05-05", "2026-05-05")


WIDTHS = [("int", "bigint"), ("smallint", "int"), ("float", "double"), ("decimal(9,2)", "decimal(20,2)")]
"""Types of keys and values, and wider ones."""


def test_a_day_of_other_widths_continues(spark: SparkSession) -> None:
    numbers = range(len(WIDTHS))
    least = {f"least{number}": wr.min(f"x{number}") for number in numbers}
    aggregates = {"n": wr.count(), "total": wr.sum("y"), **least}

    def runs(widths: tuple[int, int]) -> list[list[Any]]:
        found, still_open = [], None
        ends = (ENDS[0] - timedelta(minutes=25), ENDS[3])
        for minutes, to, width in zip(([0, 5], [20, 90]), ends, widths, strict=True):
            ids = spark.createDataFrame([(minute, minute % 2 + 1) for minute in minutes], "minute int, id int")
            kinds = [kinds[width] for kinds in WIDTHS]
            day = ids.selectExpr(
                *(f"CAST(1 AS {kind}) AS k{number}" for number, kind in enumerate(kinds)),
                *(f"CAST(id AS {kind}) AS x{number}" for number, kind in enumerate(kinds)),
                f"timestamp_seconds({int(START.timestamp())} + 60 * minute) AS ts",
                "id AS y",
            )
            grouped = wr.group_by(day, [f"k{number}" for number in numbers], time="ts")
            run = grouped.windowed_by(HALF_AN_HOUR).advance(still_open, to=to, **aggregates)
            values = [*(f"int(k{number})" for number in numbers), "window.start", *aggregates]
            found.append(sorted(map(tuple, run.closed.selectExpr(*values).collect())))
            still_open = run.still_open
        types = dict(still_open.dtypes)
        wide = [kind for _, kind in WIDTHS]
        assert [types[f"k{number}"] for number in numbers] == [types[f"least{number}"] for number in numbers] == wide
        return found

    expected = runs((1, 1))
    assert runs((0, 1)) == runs((1, 0)) == expected
    assert expected[1][0][5] == 3


@pytest.mark.parametrize(("kind", "is_exact"), [("string", True), ("double", False), ("decimal(9,2)", False)])
def test_another_type_of_a_value_is_refused_in_spark_with_a_cast_that_rounds_nothing(
    spark: SparkSession, kind: str, is_exact: bool
) -> None:
    """Spark has not looked at the values."""

    def day(minute: int, kind: str) -> DataFrame:
        at = int(START.timestamp()) + 60 * minute
        return spark.range(1).selectExpr("1 AS k", f"timestamp_seconds({at}) AS ts", f"CAST(id AS {kind}) AS x")

    def run(before: Any, data: DataFrame, to: datetime) -> Any:
        return wr.group_by(data, "k", time="ts").windowed_by(HALF_AN_HOUR).advance(before, to=to, last=wr.last("x"))

    first = run(None, day(0, "bigint"), START + timedelta(minutes=1))
    said = f"open: column 'x' was bigint in the run before, and is {kind} now; allowed: bigint"
    cast = "F.col('x').cast(\"bigint\")"
    with pytest.raises(Exception, match=re.escape(f"{said}: {cast}" if is_exact else f"{said}; or new names")):
        run(first.still_open, day(2, kind), ENDS[3]).closed.collect()
    again = run(first.still_open, day(2, kind).withColumn("x", F.col("x").cast("bigint")), ENDS[3])
    assert [row.last for row in again.closed.collect()] == [0]


KINDS = {
    **dict.fromkeys(("tinyint", "int", "bigint", "float", "double", "decimal(9,2)"), "'1'"),
    "boolean": "'true'",
    "string": "'1'",
    "binary": "'1'",
    "date": "'2026-01-01'",
    "timestamp": "'2026-01-01 09:00'",
    "timestamp_ntz": "'2026-01-01 09:00'",
    "interval day to second": "'0 01:00:00'",
}


def test_spark_has_each_cast_that_an_error_may_name(spark: SparkSession) -> None:
    arrow: dict[str, Any] = {kind: arrow_type("kind", kind) for kind in KINDS}
    texts = {f"{kind} as text": value for kind, value in KINDS.items()}
    schema = pa.schema({**arrow, **dict.fromkeys(texts, pa.string())})
    columns = {one: [*(kind for kind in KINDS if kind not in ("string", one)), f"{one} as text"] for one in KINDS}
    made = ((one, spark_cast(schema, column, arrow[one])) for one, names in columns.items() for column in names)
    casts = [(one, shown) for one, shown in made if shown is not None]
    values = [f"CAST({value} AS {kind}) AS `{kind}`" for kind, value in KINDS.items()]
    values += [f"CAST({value} AS STRING) AS `{text}`" for text, value in texts.items()]
    found = spark.range(1).selectExpr(*values).select(*(eval(shown, {"F": F}) for _, shown in casts))
    assert [field.dataType.simpleString() for field in found.schema] == [one for one, _ in casts]
    assert len(casts) > 30
    assert None not in found.collect()[0]


NESTED = {
    "a struct": ("named_struct('a', 1, 'b', 2)", "named_struct('b', 2, 'a', 1)"),
    "structs in a list": ("array(named_struct('a', 1, 'b', 2))", "array(named_struct('b', 2, 'a', 1))"),
    "structs in a map": ("map('k', named_struct('a', 1, 'b', 2))", "map('k', named_struct('b', 2, 'a', 1))"),
    "elements": ("array(1L)", "array(1)"),
}
"""A value of two types."""


@pytest.mark.parametrize("case", NESTED)
@pytest.mark.parametrize("is_key", [False, True])
def test_nested_values_of_another_type_are_refused_in_spark_with_a_cast_that_keeps_them(
    spark: SparkSession, case: str, is_key: bool
) -> None:
    """Spark casts structs by the places of their fields, which would swap their values."""
    if is_key and "map" in case:
        return  # maps are no keys

    def day(minute: int, value: str) -> DataFrame:
        at = int(START.timestamp()) + 60 * minute
        return spark.range(1).selectExpr("1 AS k", f"timestamp_seconds({at}) AS ts", f"{value} AS x")

    def run(before: Any, data: DataFrame, to: datetime) -> Any:
        calls = {"n": wr.count()} if is_key else {"n": wr.count(), "first": wr.first("x"), "last": wr.last("x")}
        grouped = wr.group_by(data, "x" if is_key else "k", time="ts")
        return grouped.windowed_by(HALF_AN_HOUR).advance(before, to=to, **calls)

    before, after = NESTED[case]
    first = run(None, day(0, before), START + timedelta(minutes=1))
    with pytest.raises(Exception, match=r"open: .*x.*; allowed: ") as refused:
        run(first.still_open, day(2, after), ENDS[3]).closed.collect()
    cast = str(refused.value).partition("such as after " if is_key else ">: ")[2]
    cast = cast.partition(" in its data" if is_key else "; or ")[0]
    (row,) = run(first.still_open, day(2, after).withColumn("x", eval(cast, {"F": F})), ENDS[3]).closed.collect()
    assert row.n == 2
    assert is_key or row.first == row.last == day(0, before).collect()[0].x


@pytest.mark.parametrize("is_key", [False, True])
def test_a_day_may_allow_nulls_within_its_values_and_another_not(spark: SparkSession, is_key: bool) -> None:
    def day(minute: int, one: str) -> DataFrame:
        at = int(START.timestamp()) + 60 * minute
        value = f"array(named_struct('a', {one})) AS x"
        return spark.range(1).selectExpr("1 AS k", f"timestamp_seconds({at}) AS ts", value)

    def run(before: Any, data: DataFrame, to: datetime) -> Any:
        calls = {"n": wr.count()} if is_key else {"n": wr.count(), "first": wr.first("x")}
        grouped = wr.group_by(data, "x" if is_key else "k", time="ts")
        return grouped.windowed_by(HALF_AN_HOUR).advance(before, to=to, **calls)

    days = [day(0, "1"), day(2, "nullif(1, 2)")]
    assert days[0].schema != days[1].schema
    for before, after in (days, days[::-1]):
        first = run(None, before, START + timedelta(minutes=1))
        (row,) = run(first.still_open, after, ENDS[3]).closed.collect()
        assert row.n == 2
        assert is_key or row.first[0].a == 1


@pytest.mark.parametrize("is_key", [False, True])
def test_spark_sees_a_null_within_a_value_where_another_day_allows_none(spark: SparkSession, is_key: bool) -> None:
    """Spark looks for no nulls in what is declared NOT NULL."""

    def day(minute: int, one: str) -> DataFrame:
        at = int(START.timestamp()) + 60 * minute
        value = f"named_struct('a', {one}, 'b', array({one})) AS x"
        return spark.range(1).selectExpr("1 AS k", f"timestamp_seconds({at}) AS ts", value)

    def run(before: Any, data: DataFrame, to: datetime) -> Any:
        grouped = wr.group_by(data, *(("k", "x") if is_key else ("k",)), time="ts")
        return grouped.windowed_by(HALF_AN_HOUR).advance(before, to=to, n=wr.count(), first=wr.first("x"))

    opened = run(None, day(0, "nullif(1, 1)"), START + timedelta(minutes=1)).still_open
    closed = run(opened, day(2, "1"), ENDS[3]).closed
    assert closed.where("first.a IS NULL AND first.b[0] IS NULL").count() == 1
    assert not is_key or closed.where("x.a IS NULL").count() == 1
    inputs = {name: wr.group_by(day(0, one), "k", time="ts") for name, one in (("a", "nullif(1, 1)"), ("b", "1"))}
    rows = wr.cogroup(**inputs).windowed_by(HALF_AN_HOUR).with_columns(n=wr.count())
    assert rows.where("x.a IS NULL AND x.b[0] IS NULL").count() == 1
