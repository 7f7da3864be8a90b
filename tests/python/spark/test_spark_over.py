"""`over` in Spark: as Spark's `rangeBetween`, as in this process, and on a stream over a restart as the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_tables import table_of
from ..harness.streams import Run, play
from ..oracle.frames import Frame
from ..oracle.stream_rows import RowStream
from .test_spark_with_columns import in_order, numbered
from .test_stream_with_columns import DDL, TICK, by_id, events, grouped, record_of, table

MINUTE = 60_000_000
BOUNDS: dict[str, tuple[int, int]] = {
    "both": (-30 * MINUTE, 0),
    "left": (-30 * MINUTE, -1),
    "right": (1 - 30 * MINUTE, 0),
    "neither": (1 - 30 * MINUTE, -1),
}


def features(prefix: str = "", **options: Any) -> dict[str, wr.Aggregate]:
    items = f"{prefix}items"
    made = {"n": wr.count(f"{prefix}*" if prefix else None), "spend": wr.sum(items), "most": wr.max(items)}
    made |= {"mean": wr.mean(items), "kinds": wr.count_distinct(items)}
    return {name: aggregate.over("30 minutes", **options) for name, aggregate in made.items()}


def test_frames_are_those_of_range_between_and_of_this_process(spark: SparkSession) -> None:
    data = numbered(spark)
    windows = wr.SlidingWindows.with_time_difference("2 hours")
    aggregates: dict[str, wr.Aggregate] = {"whole": wr.count()}
    frames, order = {}, Window.partitionBy("user_id").orderBy(F.unix_micros("ts"))
    for closed, (start, end) in BOUNDS.items():
        for name, aggregate in features(closed=closed).items():
            aggregates[f"{name}_{closed}"] = aggregate
        frames[closed] = order.rangeBetween(start, end)
    for name, aggregate in features(delay="1 hour").items():
        aggregates[f"{name}_before"] = aggregate
    frames["before"] = order.rangeBetween(-90 * MINUTE, -60 * MINUTE)
    answer = wr.group_by(data, "user_id", time="ts").windowed_by(windows).with_columns(**aggregates)
    ours = in_order(answer)
    before = in_order(data).select(["user_id", "ts", "items", "id"])
    here = wr.group_by(before, "user_id", time="ts").windowed_by(windows).with_columns(**aggregates)
    assert ours.select([*aggregates]).to_pylist() == here.select([*aggregates]).to_pylist()
    theirs = data.where("user_id IS NOT NULL AND ts IS NOT NULL")
    columns = [
        column.alias(f"{name}_{label}")
        for label, frame in frames.items()
        for name, column in {
            "n": F.count("*").over(frame),
            "spend": F.sum("items").over(frame),
            "most": F.max("items").over(frame),
            "mean": F.avg("items").over(frame),
            "kinds": F.size(F.array_distinct(F.collect_list("items").over(frame))).cast("bigint"),
        }.items()
    ]
    expected = table_of(theirs.select("id", *columns).orderBy("id")).to_pylist()
    known = {row["id"]: row for row in ours.to_pylist()}
    for row in expected:
        found = {name: known[row["id"]][name] for name in row}
        assert found == pytest.approx(row)
    assert len(expected) > 1_000


def test_a_cogroup_has_them_as_in_this_process(spark: SparkSession) -> None:
    plain = numbered(spark).select("user_id", "ts", "id", "items")
    views, buys = plain.where("id % 3 = 0"), plain.where("id % 3 > 0")

    def rows(views: Any, buys: Any) -> Any:
        inputs = {"views": wr.group_by(views, "user_id", time="ts"), "buys": wr.group_by(buys, "user_id", time="ts")}
        windowed = wr.cogroup(**inputs).windowed_by(wr.SlidingWindows.with_time_difference("2 hours"))
        return windowed.with_columns(**features("buys.", closed="left"), all=wr.count().over("10 minutes"))

    here = rows(in_order(views), in_order(buys)).sort_by("id")
    there = table_of(rows(views, buys)).sort_by("id")
    assert there.select(here.column_names).to_pylist() == here.to_pylist()


@pytest.mark.slow
@pytest.mark.needs("streams")
@pytest.mark.parametrize("order", [None, pytest.param("id", marks=pytest.mark.soak)])
def test_a_stream_has_the_values_of_the_accepted_records_also_with_other_times_after_a_restart(
    spark: SparkSession, tmp_path: Path, order: str | None
) -> None:
    rows = events(4)
    batches = [rows[:30], rows[30:31], rows[31:80], rows[80:]]
    windows = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 minute")
    runs = [
        {"a": Frame(3 * MINUTE, "left"), "b": Frame(2 * MINUTE, "both", 2 * MINUTE)},
        {"a": Frame(4 * MINUTE, "both"), "b": Frame(MINUTE, "neither"), "c": Frame(5 * MINUTE, "left")},
    ]
    oracle, run = RowStream(5 * MINUTE, MINUTE, 1, order is not None), Run()
    for part, frames in enumerate(runs):
        aggregates = {
            f"{name}_{label}": aggregate.over(frame.difference * TICK, closed=frame.closed, delay=frame.delay * TICK)  # type: ignore[arg-type]
            for label, frame in frames.items()
            for name, aggregate in {"n": wr.count(), "ids": wr.collect_list("id"), "most": wr.max("id")}.items()
        }

        def query(data: DataFrame, aggregates: dict[str, wr.Aggregate] = aggregates) -> DataFrame:
            share = wr.count().over("2 minutes") / wr.count()
            frame: DataFrame = grouped(data, order=order).windowed_by(windows).with_columns(**aggregates, share=share)
            return frame

        own = batches[2 * part : 2 * part + 2]
        play(spark, tmp_path, map(table, own), query, DDL, run=run)
        oracle.frames = list(frames.values())
        for number, batch in enumerate(own, 2 * part):
            known = oracle.push(list(map(record_of, batch)))
            assert [row["id"] for row in by_id(run.batches[number])] == [row["id"] for row in batch]
            for row in run.batches[number]:
                if row["id"] not in known:
                    assert [row[name] for name in (*aggregates, "share")] == [None] * (len(aggregates) + 1)
                    continue
                for label, members in zip(frames, oracle.framed[row["id"]], strict=True):
                    found = row[f"n_{label}"], sorted(row[f"ids_{label}"]), row[f"most_{label}"]
                    assert found == (len(members), members, max(members, default=None))
                assert 0 < row["share"] <= 1
    assert oracle.late > 0
