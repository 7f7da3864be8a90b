"""Delta and Iceberg tables as data of queries in Spark. `native/test_table_scans.py` has the rows of each."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..scenes import EIGHT

EVENTS = pa.table(
    {
        "user": [f"u{n % 3}" for n in range(300)],
        "ts": pa.array([EIGHT + timedelta(seconds=100 * n + 600 * (n // 100)) for n in range(300)], pa.timestamp("us")),
        "n": pa.array(range(300), pa.int64()),
    }
)


def windowed(data: Any) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))


@pytest.mark.needs("Delta and Iceberg")
def test_queries_over_tables_give_the_windows_of_their_rows(spark: SparkSession, tmp_path: Path) -> None:
    import deltalake
    from pyiceberg.catalog import sql as catalog

    deltalake.write_deltalake(str(tmp_path / "delta"), EVENTS, partition_by=["user"])
    deltalake.DeltaTable(tmp_path / "delta").delete("n < 50")
    named = catalog.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    named.create_namespace("n")
    iceberg = named.create_table("n.t", schema=EVENTS.schema)
    iceberg.append(EVENTS)
    iceberg.delete("n < 50")

    rows = windowed(EVENTS.filter(pc.field("n") >= 50)).agg(count=wr.count(), total=wr.sum("n")).to_pylist()
    expected = sorted((row["user"], row["window"]["start"], row["count"], row["total"]) for row in rows)
    for scan in (wr.scan_delta(spark, str(tmp_path / "delta")), wr.scan_iceberg(spark, iceberg)):
        result = windowed(scan).agg(count=wr.count(), total=wr.sum("n"))
        assert sorted(
            (row["user"], row["window"]["start"], row["count"], row["total"]) for row in result.collect()
        ) == (expected)
        assert windowed(scan).with_columns(count=wr.count()).count() == 250
    with pytest.raises(TypeError, match="spark: got 5, an int; allowed: a SparkSession"):
        wr.scan_delta(5, str(tmp_path / "delta"))  # type: ignore[arg-type]


@pytest.mark.needs("Delta and Iceberg")
def test_a_column_of_a_table_that_no_expression_reads_may_have_another_type_in_a_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    import deltalake

    deltalake.write_deltalake(str(tmp_path), EVENTS)
    (file,), log = tmp_path.glob("*.parquet"), tmp_path / "_delta_log" / f"{0:020}.json"
    pq.write_table(EVENTS.set_column(2, "n", EVENTS["user"]), file)
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        action.get("add", {})["size"] = file.stat().st_size
    log.write_text("\n".join(map(json.dumps, actions)))
    scan, sessions = wr.scan_delta(spark, str(tmp_path)), wr.SessionWindows.with_gap("5 minutes")
    windows = wr.group_by(scan, F.upper("user").alias("user"), time="ts").windowed_by(sessions)
    of_none = wr.group_by(scan, F.lit(1) + 1, time=F.lit("2026-01-01").cast("timestamp")).windowed_by(sessions)
    for query in (windows, of_none):
        assert sum(row.n for row in query.agg(n=wr.count()).collect()) == 300
    with pytest.raises(Exception, match=r"column 'n' has type string in this file; the files of the scan have int64"):
        windows.agg(n=wr.sum(F.col("n") + 1)).collect()
