"""The command `windrow` over folders that Spark wrote: the same sessions as Spark's."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from windrow.__main__ import main

NINE = datetime(2026, 5, 4, 9)
DAYS = ("2026-05-04", "a/b: c=d%", None)
ROWS = [
    (f"00{number % 7}", DAYS[number % 3], NINE + timedelta(minutes=number * 3 % 40), number / 4 if number % 5 else None)
    for number in range(90)
]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("parquet", {}),
        ("csv", {"header": "true", "compression": "gzip", "timestampFormat": "dd/MM/yyyy HH:mm"}),
        ("csv", {"sep": "\t"}),
        ("json", {"compression": "gzip"}),
    ],
)
def test_a_folder_that_spark_wrote(kind: str, options: dict[str, str], spark: SparkSession, tmp_path: Path) -> None:
    events = spark.createDataFrame(ROWS, "user string, day string, ts timestamp_ntz, amount double").repartition(3)
    folder = tmp_path / "events"
    if "timestampFormat" in options:
        options = {**options, "timestampNTZFormat": options["timestampFormat"]}
    events.write.partitionBy("day").format(kind).options(**options).save(str(folder))
    arguments = ["sessions", str(folder), "--key", "user", "--key", "day", "--time", "ts", "--gap", "5 minutes"]
    arguments += ["--agg", "n=count", "--agg", "spend=sum:amount", "--agg", "top=max:amount", "--type", "amount=double"]
    if "timestampFormat" in options:
        arguments += ["--time-format", "%d/%m/%Y %H:%M"]
    if "header" not in options and kind == "csv":
        arguments += ["--columns", "user,ts,amount", "--delimiter", "\t"]
    out = tmp_path / "sessions.parquet"
    assert main([*arguments, "--out", str(out)]) == 0
    windows = wr.group_by(events, "user", "day", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    expected = windows.agg(n=wr.count(), spend=wr.sum("amount"), top=wr.max("amount")).collect()
    assert rows(pq.read_table(out).to_pylist()) == rows([row.asDict(recursive=True) for row in expected])
    assert len(expected) > 30


def rows(table: list[dict[str, object]]) -> list[str]:
    return sorted(str({**row, "window": tuple(row["window"].values())}) for row in table)  # type: ignore[attr-defined]
