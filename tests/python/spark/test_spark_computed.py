"""Conditions and computed columns on Spark: in a batch and on a stream as in this process."""

from __future__ import annotations

import operator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from ..harness.spark_tables import frame_of, table_of
from ..harness.stream_scenes import DDL, KINDS, USERS, batch, closing, records, windowed
from ..harness.streams import applied, play
from ..harness.tables import alike, assert_same, rows_of


def flagged(rows: list[dict[str, Any]]) -> pa.Table:
    """Records with a flag: true, false, null."""
    flags = [None if row["amount"] % 3 == 0 else row["amount"] > 40 for row in rows]
    return batch(rows).append_column("high", pa.array(flags, pa.bool_()))


def widths(amounts: pa.Array[Any]) -> Any:
    """The largest less the smallest value of each list."""
    return pa.array([float(max(values) - min(values)) for values in amounts.to_pylist()])


AGGREGATES: dict[str, Any] = {
    "high": wr.count_if("high"),
    "share": wr.count_if("high") / wr.count(),
    "spend": wr.sum("amount").where("high"),
    "usual": (wr.sum("amount") / wr.count()).where("high"),
    "net": wr.sum("amount") * 2 - 1,
    "middle": wr.median("amount"),
    "ends": wr.percentile("amount", [0, 1]),
    "kinds": wr.count_distinct("amount", "high"),
    "about": wr.approx_count_distinct("amount"),
    "shape": wr.kurtosis("amount"),
    "both": wr.corr("amount", "offset"),
    "text": wr.count().then(lambda n: pc.cast(n, pa.string()), schema="string"),
    "width": wr.apply(widths, "amount", schema="double"),
    "flags": wr.collect_list("high", ignore_nulls=False),
    "span": wr.max("ts") - wr.min("ts"),
    "wait": wr.first("ts").where("high") - wr.first("ts"),
    "length": wr.window_length(),
    "steps": wr.funnel(["high", "high"], within="5 minutes"),
    "strictly": wr.funnel(["high", "high", "high"], strict=True),
    "times": wr.funnel_times(["high", "high"], within="5 minutes"),
    "path": wr.path("high"),
    "enough": wr.count().min_samples(3),
    "sure": (wr.sum("amount") / wr.count_if("high")).min_samples(2),
    "related": wr.corr("amount", "offset").min_samples(2).where("high"),
    "broad": wr.apply(widths, "amount", schema="double").min_samples(2),
    "kept": wr.first("high").min_samples(2),
}
OF_SESSIONS = {
    "cut": wr.active_time("2 minutes"),
    "drop": wr.active_time("2 minutes", breaks="drop").where("high"),
    "runs": wr.active_runs("2 minutes"),
}
PYTHON = {
    "n": wr.count(),
    "ours": wr.reduce("amount", operator.add).where("high"),
    "half": wr.reduce("amount", operator.add) / 2,
}


@pytest.mark.parametrize(
    ("kind", "aggregates"),
    [("sessions", AGGREGATES | OF_SESSIONS), ("sliding", AGGREGATES), ("sliding", PYTHON)],
    ids=["sessions", "sliding", "functions"],
)
def test_a_batch_gives_what_this_process_gives(spark: SparkSession, kind: str, aggregates: dict[str, Any]) -> None:
    table, seen = flagged(records(3, 240, [*USERS, None])), Observation("computed")
    got = table_of(windowed(frame_of(spark, table), KINDS[kind]).observe(seen).agg(**aggregates))
    here = windowed(table, KINDS[kind]).agg(**aggregates)
    assert got.column_names == here.column_names
    assert len(here) > 30
    assert_same(rows_of(got, ["user"]), rows_of(here, ["user"]))
    assert seen.get["records"] == wr.counters(here)["records"]


def test_a_quotient_is_sparks_where_nothing_is_divided_by_zero(spark: SparkSession) -> None:
    keyed = frame_of(spark, flagged(records(5, 240)))
    got = windowed(keyed, KINDS["sessions"]).agg(share=wr.sum("amount").where("high") / wr.count_if("high"))
    window = F.session_window("ts", "180000001 microseconds")  # their gap ends before the next event
    share = F.expr("try_divide(sum(amount) FILTER (WHERE high), count_if(high)) AS share")
    theirs = keyed.groupBy("user", window).agg(share)
    expected = {(row.user, row.session_window.start): row.share for row in theirs.collect()}
    assert {(row.user, row.window.start): row.share for row in got.collect()} == pytest.approx(expected)
    assert None in expected.values()


def test_a_function_that_fails_names_its_column(spark: SparkSession) -> None:
    frame = frame_of(spark, batch(records(5)))
    short = windowed(frame).agg(n=wr.count().then(lambda n: n.slice(1), schema="bigint"))
    with pytest.raises(Exception, match='aggregate "n": the result: got .* windows; allowed: one for each'):
        short.collect()


def without_zone(value: Any) -> Any:
    """A value with times in UTC as rows of Spark have them."""
    if isinstance(value, list):
        return list(map(without_zone, value))
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def named(row: dict[str, Any]) -> tuple[Any, ...]:
    """The key and the window of a row."""
    return (row["user"], *(row["window"][bound].replace(tzinfo=UTC) for bound in ("start", "end")))


UPDATED = ("high", "share", "usual", "text", "width", "wait", "length", "steps", "times", "path")
QUERIES = {
    "close": AGGREGATES | OF_SESSIONS,
    "update": {name: AGGREGATES[name] for name in UPDATED} | OF_SESSIONS,
}


@pytest.mark.slow
@pytest.mark.needs("streams")
@pytest.mark.parametrize("emit", QUERIES)
def test_a_stream_gives_what_this_process_gives(spark: SparkSession, tmp_path: Path, emit: Any) -> None:
    rows = records(7, 240, [*USERS, None])
    pieces = [rows[:70], rows[70:75], rows[75:], [closing(rows)]]

    def query(data: DataFrame) -> Any:
        return windowed(data, KINDS["sessions"]).emit(emit).agg(**QUERIES[emit])

    run = play(spark, tmp_path, map(flagged, pieces), query, f"{DDL}, high boolean")
    here = windowed(flagged(rows), KINDS["sessions"]).agg(**QUERIES[emit])
    expected = {named(row): row for row in here.to_pylist()}
    given = run.rows if emit == "close" else applied(run.rows, ["user"]).values()
    got = {named(row): row for row in given if row["user"] != "end"}
    assert len(expected) > 30
    assert got.keys() == expected.keys()
    for name, row in expected.items():
        for column in QUERIES[emit]:
            assert alike(got[name][column], without_zone(row[column])), (name, column)
    if emit == "update":
        deleted = [row for row in run.rows if row["op"] == "delete"]
        assert deleted
        assert all(row[column] is None for row in deleted for column in QUERIES[emit])
