"""Files that the tasks read with Arrow give what `spark.read` gives."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_scenes import SetConf
from ..scenes import EIGHT

SESSIONS = wr.SessionWindows.with_gap("5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("10 minutes")
COUNT = 1_000


@pytest.fixture(autouse=True)
def zone(set_conf: SetConf) -> None:
    """A zone whose offset is no whole hour."""
    set_conf("spark.sql.session.timeZone", "America/St_Johns")


def table(start: int = 0, count: int = COUNT) -> pa.Table:
    """A record every 100 seconds; every hundredth comes 10 minutes later, so that sessions end."""
    numbers = range(start, start + count)
    times = [EIGHT + timedelta(seconds=100 * n + 600 * (n // 100)) for n in numbers]
    return pa.table(
        {
            "user": pa.array([n % 3 for n in numbers], pa.int64()),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "amount": pa.array([None if n % 7 == 0 else n for n in numbers], pa.int64()),
            "page": [f"/{n % 5}" for n in numbers],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files of several row groups."""
    root = tmp_path_factory.mktemp("events")
    for number in range(3):
        pq.write_table(table(number * COUNT), root / f"{number}.parquet", row_group_size=300)
    return str(root)


def agg(data: Any) -> DataFrame:
    return windowed(data).agg(n=wr.count(), spend=wr.sum("amount"), last=wr.last("page"))


def windowed(data: Any, windows: Any = SESSIONS) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(windows)


QUERIES: dict[str, Callable[[Any], DataFrame]] = {
    "built-in aggregates": agg,
    "Python functions": lambda data: windowed(data).agg(n=wr.count(), spend=wr.reduce("amount", max)),
    "rows": lambda data: windowed(data).with_columns(n=wr.count(), spend=wr.sum("amount")),
    "expressions": lambda data: (
        wr.group_by(data, F.upper("page"), time="ts").windowed_by(SESSIONS).agg(n=wr.sum(F.col("amount") * 2))
    ),
    "sliding windows": lambda data: windowed(data, SLIDING).agg(n=wr.count(), most=wr.max("amount")),
    "cogroups": lambda data: (
        wr.cogroup(one=wr.group_by(data, "user", time="ts"), other=wr.group_by(data, "user", time="ts"))
        .windowed_by(SESSIONS)
        .agg(n=wr.count(), spend=wr.sum("one.amount"))
    ),
}


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_gives_what_it_gives_over_spark_read(spark: SparkSession, folder: str, query: str) -> None:
    expected = QUERIES[query](spark.read.parquet(folder))
    got = QUERIES[query](wr.scan_parquet(spark, folder))
    assert got.schema == expected.schema
    found = rows(got)
    assert found == rows(expected)
    assert len(found) > 3


def test_files_that_spark_has_cached_are_scanned(spark: SparkSession, folder: str) -> None:
    cached = spark.read.parquet(folder).cache()
    assert cached.count() == 3 * COUNT
    try:
        assert rows(agg(wr.scan_parquet(spark, folder))) == rows(agg(cached))
    finally:
        cached.unpersist()


def test_counters_count_the_rows_of_a_scan(spark: SparkSession, tmp_path: Path) -> None:
    keys = pa.array([None if n % 10 == 0 else 1 for n in range(COUNT)], pa.int64())
    pq.write_table(table().set_column(0, "user", keys), tmp_path / "events.parquet")
    counters = wr.Observation()
    windowed(wr.scan_parquet(spark, str(tmp_path))).observe(counters).agg(n=wr.count()).collect()
    assert (counters.get["records"], counters.get["null_keys"]) == (COUNT, 100)


def every_type() -> pa.Table:
    """A column of each type that a Parquet file of Arrow may have and Spark reads."""
    times = [datetime(2026, 1, 1, 8, 0, n, tzinfo=UTC) for n in range(3)]
    naive = [time.replace(tzinfo=None) for time in times]
    columns: dict[str, Any] = {
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
        "user": pa.array(["ann", "bob", "ann"]).dictionary_encode(),
        "seconds": pa.array([*times[:2], None], pa.timestamp("s", "Asia/Tokyo")),
        "millis": pa.array([*times[:2], None], pa.timestamp("ms", "UTC")),
        "local": pa.array([*naive[:2], None], pa.timestamp("us")),
        "flag": pa.array([True, None, False]),
        "day": pa.array([date(1582, 10, 15), date(2026, 3, 1), None]),
        "price": pa.array([Decimal("1.25"), None, Decimal("-99999.99")], pa.decimal128(7, 2)),
        "wide": pa.array([Decimal("1.5"), None, Decimal("-1.5")], pa.decimal128(38, 10)),
        "large": pa.array(["a", None, ""], pa.large_string()),
        "raw": pa.array([b"\x00", None, b""], pa.binary()),
        "fixed": pa.array([b"abcd", None, b"efgh"], pa.binary(4)),
        "single": pa.array([1.5, None, float("nan")], pa.float32()),
        "double": pa.array([-0.0, None, float("inf")]),
        "tags": pa.array([["a", None], None, []], pa.list_(pa.string())),
        "vector": pa.array([[1.0, 2.0], [3.0, None], [3.0, 4.0]], pa.list_(pa.float32(), 2)),
        "place": pa.array([{"lat": 1.0, "seen": times[0]}, None, {"lat": None, "seen": None}]),
        "words": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int8())),
        "lists": pa.array([[[1], []], None, [None]], pa.list_(pa.list_(pa.int64()))),
        "waited": pa.array([1, None, 3], pa.duration("us")),
    }
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        most = 2 ** (int(kind.removeprefix("u").removeprefix("int")) - (not kind.startswith("u"))) - 1
        columns[kind] = pa.array([most, None, 0], getattr(pa, kind)())
    return pa.table(columns)


def first_of_each(data: Any, names: list[str]) -> list[str]:
    """Each record with its window, and as aggregates of its own window."""
    grouped = wr.group_by(data, "user", "ts", time="ts").windowed_by(SESSIONS)
    return rows(grouped.with_columns(n=wr.count())) + rows(grouped.agg(**{f"of_{n}": wr.first(n) for n in names}))


def test_values_of_every_type_are_those_of_spark_read(spark: SparkSession, tmp_path: Path) -> None:
    data = every_type()
    pq.write_table(data, tmp_path / "arrow.parquet")
    path = str(tmp_path)
    expected = first_of_each(spark.read.parquet(path), data.column_names)
    assert first_of_each(wr.scan_parquet(spark, path), data.column_names) == expected
    assert len(expected) == 6


def test_values_that_spark_wrote_are_those_of_spark_read(
    spark: SparkSession, set_conf: SetConf, tmp_path: Path
) -> None:
    path = str(tmp_path / "spark")
    data = spark.createDataFrame([(1, "ann", EIGHT), (2, "bob", EIGHT)], "id int, user string, ts timestamp")
    columns = {
        "old": "timestamp'1899-12-31 23:59:59'",
        "older": "date'0001-01-01'",
        "day_time": "make_dt_interval(1, 2, 3, 4)",
        "local": "timestamp_ntz'1500-01-01 00:00:00'",
        "name": "cast(user as char(5))",
        "nested": "array(struct(id as a, map('x', id) as b))",
        "nothing": "cast(null as decimal(3, 1))",
    }
    for name, text in columns.items():
        data = data.withColumn(name, F.expr(text))
    written = {f"{kind}RebaseModeInWrite": "CORRECTED" for kind in ("datetime", "int96")}
    for kind in ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"):
        for name, to in (written | {"outputTimestampType": kind}).items():
            set_conf(f"spark.sql.parquet.{name}", to)
        data.write.mode("overwrite").parquet(path)
        expected = first_of_each(spark.read.parquet(path), [*columns, "id"])
        assert first_of_each(wr.scan_parquet(spark, path), [*columns, "id"]) == expected


def test_int96_times_of_arrow_reach_beyond_nanoseconds(spark: SparkSession, tmp_path: Path) -> None:
    times = pa.array([datetime(2300, 1, 1), datetime(1901, 1, 1)], pa.timestamp("us"))
    data = pa.table({"user": ["ann", "ann"], "ts": times})
    pq.write_table(data, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    path = str(tmp_path)
    assert rows(windowed(wr.scan_parquet(spark, path)).count()) == rows(windowed(spark.read.parquet(path)).count())


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_dates_of_an_unknown_calendar_are_refused(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    old = {"date": date(1582, 10, 14), "timestamp": datetime(1899, 12, 31, tzinfo=UTC)}[kind]
    data = pa.table({"user": ["ann"], "ts": pa.array([EIGHT], pa.timestamp("us", "UTC")), "old": pa.array([old])})
    data = data.replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    pq.write_table(data, tmp_path / "old.parquet")
    with pytest.raises(Exception, match=r"old\.parquet: column 'old' has dates or times before 1900"):
        windowed(wr.scan_parquet(spark, str(tmp_path))).agg(old=wr.first("old")).collect()


def test_folders_are_columns_as_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "hive")
    data = spark.range(100).selectExpr(
        "id % 3 as user",
        "timestamp_seconds(1767254400 + id * 60) as ts",
        "date'2026-01-01' + cast(id % 2 as int) as day",
        "if(id % 5 = 0, null, 'a b/=%' || id % 2) as tag",
        "timestamp'2026-01-01 10:00:00' + make_dt_interval(0, 0, id % 2) as `at`",
        "id % 4 as number",
    )
    data.write.partitionBy("day", "tag", "at", "number").parquet(path)
    (tmp_path / "hive" / "_temporary").mkdir()
    (tmp_path / "hive" / "_temporary" / "half.parquet").write_bytes(b"nothing")
    (tmp_path / "hive" / ".hidden.parquet").write_bytes(b"nothing")
    names = ["day", "tag", "at", "number"]
    expected = first_of_each(spark.read.parquet(path), names)
    assert first_of_each(wr.scan_parquet(spark, path), names) == expected
    of_day: Any = pc.field("day") == date(2026, 1, 2)
    filtered = spark.read.parquet(path).where("day = date'2026-01-02'")
    assert first_of_each(wr.scan_parquet(spark, path, filter=of_day), names) == first_of_each(filtered, names)
    leaf = f"{path}/day=2026-01-02"
    assert wr.scan_parquet(spark, leaf).columns == tuple(spark.read.parquet(leaf).columns)
    assert rows(windowed(wr.scan_parquet(spark, leaf)).count()) == rows(windowed(spark.read.parquet(leaf)).count())


def test_columns_added_later_are_null_before(spark: SparkSession, tmp_path: Path) -> None:
    place = pa.array([{"lat": 1.0}], pa.struct({"lat": pa.float64()}))
    placed = pa.array([{"lon": 2.0, "lat": 1.0}], pa.struct({"lon": pa.float64(), "lat": pa.float64()}))
    pq.write_table(table(0, 1).append_column("place", placed).append_column("new", [[5]]), tmp_path / "a.parquet")
    pq.write_table(table(1, 1).append_column("place", place), tmp_path / "b.parquet")
    path = str(tmp_path)
    expected = first_of_each(spark.read.parquet(path), ["place", "new"])
    assert first_of_each(wr.scan_parquet(spark, path), ["place", "new"]) == expected


def test_names_go_by_their_case_only_if_spark_says_so(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(0, 10), tmp_path / "a.parquet")
    pq.write_table(table(10, 10).rename_columns(["USER", "Ts", "Amount", "page"]), tmp_path / "b.parquet")
    path = str(tmp_path)
    assert rows(agg(wr.scan_parquet(spark, path))) == rows(agg(spark.read.parquet(path)))


def test_a_filter_keeps_the_rows_for_which_it_is_true(spark: SparkSession, folder: str) -> None:
    above: Any = pc.field("amount") > 1500
    scan = wr.scan_parquet(spark, folder, columns=["ts", "user"], filter=above)
    assert scan.columns == ("ts", "user")
    assert rows(windowed(scan).count()) == rows(windowed(spark.read.parquet(folder).where("amount > 1500")).count())
    nothing: Any = pc.field("amount") > 10**9
    assert rows(windowed(wr.scan_parquet(spark, folder, filter=nothing)).count()) == []


def test_row_groups_that_a_filter_excludes_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(table(), path, row_group_size=500, use_dictionary=False)
    group = pq.ParquetFile(path).metadata.row_group(1)
    content = bytearray(path.read_bytes())
    for number in range(group.num_columns):
        start, size = group.column(number).data_page_offset, group.column(number).total_compressed_size
        content[start : start + size] = bytes(size)
    path.write_bytes(content)
    first: Any = pc.field("ts") <= table()["ts"][499]
    counts = windowed(wr.scan_parquet(spark, str(path), filter=first)).agg(n=wr.count())
    assert sum(row["n"] for row in counts.collect()) == 500
    with pytest.raises(Exception, match=r"events\.parquet: "):
        windowed(wr.scan_parquet(spark, str(path))).agg(n=wr.count("amount")).collect()


@pytest.mark.parametrize(
    ("form", "damage"),
    [
        (None, "removed"),
        (None, "written"),
        (None, "cut"),
        ("parquet", "removed"),
        ("parquet", "written"),
        ("feather", "removed"),
        ("feather", "written"),
    ],
)
def test_a_file_that_changes_after_the_plan_is_named(
    spark: SparkSession, tmp_path: Path, form: str | None, damage: str
) -> None:
    ds.write_dataset(table(), tmp_path, format=form or "parquet")
    (path,) = tmp_path.iterdir()
    scan = wr.scan(spark, ds.dataset(tmp_path, format=form)) if form else wr.scan_parquet(spark, str(path))
    counts = windowed(scan).count()
    if damage == "removed":
        path.unlink()
    elif damage == "written":
        ds.write_dataset(table(0, 10), tmp_path, format=form or "parquet", existing_data_behavior="overwrite_or_ignore")
    else:
        path.write_bytes(path.read_bytes()[:-10])
    said = "there is no such file" if damage == "removed" else "the file was written after the scan was planned"
    with pytest.raises(Exception, match=rf"{path.name}: {said}"):
        counts.collect()


def test_a_column_of_another_type_in_a_file_is_named_where_a_query_reads_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    pq.write_table(table(), tmp_path / "a.parquet")
    pq.write_table(table().set_column(3, "page", pa.array(range(COUNT))), tmp_path / "b.parquet")
    scanned, read = wr.scan_parquet(spark, str(tmp_path)), spark.read.parquet(str(tmp_path))
    of_next = [wr.group_by(data, (F.col("user") + 1).alias("next"), time="ts") for data in (scanned, read)]
    for got, expected in (
        (windowed(scanned).count(), windowed(read).count()),
        (QUERIES["cogroups"](scanned), QUERIES["cogroups"](read)),
        [keyed.windowed_by(SESSIONS).agg(n=wr.count_if(F.col("next") > 1)) for keyed in of_next],
    ):
        assert rows(got) == rows(expected) != []
    said = r"b\.parquet: column 'page' has type int64 in this file; the files of the scan have string"
    with pytest.raises(Exception, match=said):
        windowed(scanned).agg(page=wr.last("page")).collect()


def test_a_dataset_of_another_format_gives_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    data = table()
    ds.write_dataset(data, tmp_path / "hive", format="parquet", partitioning=["page"], partitioning_flavor="hive")
    ds.write_dataset(data, tmp_path / "arrow", format="feather")
    expected = rows(agg(spark.createDataFrame(data.to_pandas()).withColumn("amount", F.expr("cast(amount as long)"))))
    pages = ds.partitioning(pa.schema({"page": pa.string()}), flavor="hive")
    for dataset in (
        ds.dataset(tmp_path / "hive", partitioning=pages),
        ds.dataset(tmp_path / "arrow", format="feather"),
    ):
        assert rows(agg(wr.scan(spark, dataset)).where("n > 0")) == expected


def refused() -> dict[str, tuple[Callable[[SparkSession, str], Any], str]]:
    above: Any = pc.field("amont") > 1
    other: Any = pc.field("amount") > "x"
    return {
        "no session": (lambda _, path: wr.scan_parquet(path, path), "spark: got '.*', a str; allowed: a SparkSession"),
        "no paths": (lambda spark, _: wr.scan_parquet(spark, []), r"paths: got \[\]; allowed: a path"),
        "a number": (lambda spark, _: wr.scan_parquet(spark, 5), "paths: got 5, an int; allowed: a path"),
        "no files": (lambda spark, path: wr.scan_parquet(spark, path + "x"), "paths: got .*PATH_NOT_FOUND"),
        "another scheme": (lambda spark, _: wr.scan_parquet(spark, "ftp://host/x"), "paths: got .*ftp"),
        "a store for which Spark has no filesystem": (
            lambda spark, _: wr.scan_parquet(spark, "s3a://shop/x"),
            r"paths: got \['s3a://shop/x'\]; allowed: .*S3AFileSystem not found\); Spark lists the files, also with f",
        ),
        "no such column": (
            lambda spark, path: wr.scan_parquet(spark, path, columns=["usr"]),
            r"columns: got 'usr'; allowed: a column of the data \(did you mean 'user'\?\)",
        ),
        "a column twice": (
            lambda spark, path: wr.scan_parquet(spark, path, columns=["user", "user"]),
            "columns: got 'user'; allowed: each column once",
        ),
        "one name": (
            lambda spark, path: wr.scan_parquet(spark, path, columns="user"),
            "columns: got 'user', a str; allowed: a list of names",
        ),
        "a text as a filter": (
            lambda spark, path: wr.scan_parquet(spark, path, filter="amount > 1"),
            "filter: got 'amount > 1', a str; allowed: an expression of pyarrow",
        ),
        "a filter of a missing column": (
            lambda spark, path: wr.scan_parquet(spark, path, filter=above),
            r"filter: got '\(amont > 1\)'; allowed: an expression over the columns \['user', 'ts', 'amount', 'page'\]",
        ),
        "a filter of another type": (
            lambda spark, path: wr.scan_parquet(spark, path, filter=other),
            "filter: got .*; allowed: an expression over the columns",
        ),
        "a dataset in memory": (
            lambda spark, _: wr.scan(spark, ds.dataset(table())),
            "dataset: got .*; allowed: a dataset of files",
        ),
        "a path as a dataset": (
            lambda spark, path: wr.scan(spark, path),
            "dataset: got '.*', a str; allowed: a dataset of pyarrow",
        ),
        "options as a filesystem": (
            lambda spark, path: wr.scan_parquet(spark, path, filesystem={"secret_key": "x"}),
            "filesystem: got dict, a class; allowed: a filesystem of pyarrow",
        ),
        "declared columns": (
            lambda spark, path: wr.group_by(wr.scan_parquet(spark, path), "user", time="ts", schema="user long"),
            "schema: got 'user long'; allowed: None for a scan",
        ),
    }


@pytest.mark.parametrize("case", refused())
def test_wrong_arguments_are_refused(spark: SparkSession, folder: str, case: str) -> None:
    call, said = refused()[case]
    with pytest.raises((TypeError, ValueError), match=said):
        call(spark, folder)
