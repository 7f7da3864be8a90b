"""A look into the state of a streaming query: its open windows, and those of one key."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr
import windrow.state
from windrow.testing import StreamDriver

from ..harness.spark_scenes import SetConf
from ..harness.stream_scenes import DDL, KINDS, SCHEMA, batch, closing, records, windowed
from ..harness.streams import Folder, Run, applied, play, source, start
from ..oracle.sliding import world
from ..scenes import EPOCH, MIDNIGHT, utc

pytestmark = pytest.mark.needs("streams")

TICK = timedelta(milliseconds=1)
GRACE = timedelta(minutes=5)
SPAN = timedelta(minutes=3)
Bounds = tuple[datetime, datetime]


def ticks(time: datetime) -> int:
    return (time - EPOCH) // TICK


def windows_of(kind: str, rows: list[dict[str, Any]], now: datetime) -> list[Bounds]:
    """The windows of one key's records that are open at a stream time, by brute force.

    ```text
        ├x···x··┤   ├x··┤      records with their gaps: what touches is one session, due after its last reach and grace
    ```
    """
    if kind == "sliding":
        found = world([ticks(row["ts"]) for row in rows], SPAN // TICK, 1)
        spans = sorted((EPOCH + first * TICK, EPOCH + last * TICK) for first, last in found)
        return [span for span in spans if span[1] + GRACE >= now]
    sessions: list[list[datetime]] = []
    for row in sorted(rows, key=lambda row: row["ts"]):
        reach = row["ts"] + (SPAN if kind == "sessions" else row["pause"])
        if sessions and row["ts"] <= sessions[-1][2]:
            sessions[-1][1:] = [row["ts"], max(reach, sessions[-1][2])]
        else:
            sessions.append([row["ts"], row["ts"], reach])
    return [(first, last) for first, last, reach in sessions if reach + GRACE >= now]


def expected(kind: str, rows: list[dict[str, Any]], now: datetime, by: tuple[str, ...] = ("user",)) -> dict[Any, Any]:
    """Of each open window its number of records and the sum of their amounts."""
    found = {}
    for key in {tuple(row[column] for column in by) for row in rows}:
        own = [row for row in rows if tuple(row[column] for column in by) == key]
        for first, last in windows_of(kind, own, now):
            amounts = [row["amount"] for row in own if first <= row["ts"] <= last]
            found[*key, first, last] = (len(amounts), sum(amounts))
    return found


def by_window(rows: list[dict[str, Any]], by: tuple[str, ...] = ("user",)) -> dict[Any, Any]:
    """Rows of `read` and `fetch` in the form of `expected`."""
    found = {}
    for row in rows:
        bounds = [bound.replace(tzinfo=UTC) for bound in row["window"].values()]
        name = (*(row[column] for column in by), *bounds)
        assert name not in found
        found[name] = (row["n"], row["spend"])
    return found


def latest(rows: list[dict[str, Any]]) -> datetime:
    time: datetime = max(row["ts"] for row in rows)
    return time


def collected(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


AGGREGATES = {"n": wr.count(), "spend": wr.sum("amount")}
FUNCTIONS = {"n": wr.count(), "spend": wr.reduce("amount", operator.add)}


def sessions(data: Any) -> Any:
    return windowed(data, KINDS["sessions"]).agg(**AGGREGATES)


@pytest.mark.parametrize(
    ("kind", "mode", "aggregates"), [("dynamic gaps", "update", AGGREGATES), ("sliding", "close", FUNCTIONS)]
)
def test_open_windows_are_those_of_the_records_so_far(
    spark: SparkSession, tmp_path: Path, kind: str, mode: Any, aggregates: dict[str, Any]
) -> None:
    rows, checkpoint = records(3), tmp_path / "checkpoint"

    def query(data: Any) -> Any:
        return windowed(data, KINDS[kind]).emit(mode).agg(**aggregates)

    play(spark, tmp_path, [batch(rows[:40]), batch(rows[40:])], query, DDL)
    frame = windrow.state.read(spark, checkpoint)
    shown = query(source(spark, Folder(tmp_path / "in"), DDL)).drop("op")
    assert [field.dataType for field in frame.schema][:-1] == [field.dataType for field in shown.schema]
    assert frame.columns == [*shown.columns, "stream_time"]
    found, now = collected(frame), latest(rows)
    brute = expected(kind, rows, now)
    assert by_window(found) == brute
    assert len(brute) < len(expected(kind, rows, utc(-1000)))  # some are closed
    assert {row["stream_time"].replace(tzinfo=UTC) for row in found} == {now}

    driver = StreamDriver(query, SCHEMA)
    driver.pipe_batch(batch(rows), rows=1)
    if kind == "sliding":  # of one key also those that have closed and are kept
        stored = driver.windows.fetch("ann").to_pylist()
        assert {name for name in brute if name[0] == "ann"} < set(by_window(stored))
    else:
        stored = driver.sessions.fetch("ann").to_pylist()
        assert by_window(driver.sessions.all().to_pylist()) == brute
    fetched = windrow.state.fetch(spark, checkpoint, "ann")
    assert fetched.column_names == frame.columns
    assert by_window(fetched.to_pylist()) == by_window(stored)
    bounds = [(row["window"]["end"], row["window"]["start"]) for row in fetched.to_pylist()]
    assert bounds == sorted(bounds)
    assert len(bounds) > 1
    last, first = bounds[len(bounds) // 2]
    earliest = first if kind == "sliding" else last
    one = windrow.state.fetch(spark, checkpoint, "ann", earliest, first, backward=True)
    assert [tuple(row["window"].values()) for row in one.to_pylist()] == [(first, last)]


def test_sources_show_windows_and_times_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    slow = [{**row, "ts": row["ts"] - timedelta(hours=5 * row["part"])} for row in records(4)]

    def query(data: DataFrame) -> DataFrame:
        grouped = wr.group_by(data, "user", "tick", time="ts", source="part").windowed_by(KINDS["sessions"])
        return grouped.shards(2).agg(**AGGREGATES)

    play(spark, tmp_path, [batch(slow)], query, DDL)
    brute, times = {}, {}
    for part in (0, 1):
        own = [row for row in slow if row["part"] == part]
        times[part] = latest(own)
        brute |= expected("sessions", own, times[part], ("user", "part"))
    found = collected(windrow.state.read(spark, tmp_path / "checkpoint"))
    assert list(found[0]) == ["user", "tick", "window", "n", "spend", "part", "stream_time"]
    assert by_window(found, ("user", "part")) == brute
    assert {(row["part"], row["stream_time"].replace(tzinfo=UTC)) for row in found} == set(times.items())
    own = {name: value for name, value in brute.items() if name[0] == "bob"}
    keys: list[Any] = [("bob", None), {"tick": None, "user": "bob"}]
    forward, backward = (
        windrow.state.fetch(spark, tmp_path / "checkpoint", key, backward=backward).to_pylist()
        for key, backward in zip(keys, (False, True), strict=True)
    )
    assert by_window(forward, ("user", "part")) == own
    assert {name[1] for name in own} == {0, 1}
    assert backward == forward[::-1]
    assert windrow.state.fetch(spark, tmp_path / "checkpoint", ("bob", True)).num_rows == 0
    for key in ("bob", ("bob",), ("bob", None, 1), {"user": "bob"}):
        with pytest.raises(ValueError, match="key: got .*; allowed: a tuple of the values of 'user', 'tick', or"):
            windrow.state.fetch(spark, tmp_path / "checkpoint", key)
    with pytest.raises(ValueError, match="key: got .*; allowed: a key with a value that is not null"):
        windrow.state.fetch(spark, tmp_path / "checkpoint", (None, None))


def test_a_query_is_looked_into_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows, checkpoint = Folder(tmp_path / "in"), records(5), tmp_path / "c"
    with pytest.raises(ValueError, match=r"checkpoint: got .*; allowed: the checkpointLocation of a streaming query"):
        windrow.state.read(spark, checkpoint)
    folder.add(batch(rows[:30]))
    running = start(sessions(source(spark, folder, DDL)), Run(), checkpoint, processingTime="0 seconds")
    try:
        running.processAllAvailable()
        before = windrow.state.read(spark, checkpoint)
        first = expected("sessions", rows[:30], latest(rows[:30]))
        assert by_window(collected(before)) == first
        folder.add(batch(rows[30:]))
        running.processAllAvailable()
        last = expected("sessions", rows, latest(rows))
        assert first != last
        assert by_window(collected(windrow.state.read(spark, checkpoint))) == last
        assert by_window(collected(before)) == first  # as it was
        bob = windrow.state.fetch(spark, checkpoint, "bob").to_pylist()
        assert by_window(bob) == {name: value for name, value in last.items() if name[0] == "bob"}
    finally:
        running.stop()
        running.awaitTermination()


def test_what_is_not_a_state_of_windrow_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "in")
    folder.add(batch(records(6, 5)))
    data = source(spark, folder, DDL)
    start(data.dropDuplicates(["user"]).select("user"), Run(), tmp_path / "other").awaitTermination()
    with pytest.raises(ValueError, match=r"operator: got 0; allowed: one of windrow: operator 0 in .* is dedupe"):
        windrow.state.read(spark, tmp_path / "other")
    start(sessions(data), Run(), tmp_path / "c").awaitTermination()
    with pytest.raises(ValueError, match=r"operator: got 1; allowed: the number of a stateful operator .*: 0"):
        windrow.state.read(spark, tmp_path / "c", operator=1)
    for wrong, argument in (
        ({"spark": None}, "spark"),
        ({"checkpoint": 7}, "checkpoint"),
        ({"operator": "0"}, "operator"),
        ({"key": 7}, "key: column 'user'"),
        ({"start": 7}, "start"),
        ({"end": 7}, "end"),
        ({"backward": None}, "backward"),
    ):
        given: dict[str, Any] = {"spark": spark, "checkpoint": str(tmp_path / "c"), "key": "ann"}
        with pytest.raises(TypeError, match=f"^{argument}: got "):
            windrow.state.fetch(**{**given, **wrong})


def test_a_session_needs_no_settings_to_look(spark: SparkSession, tmp_path: Path) -> None:
    rows, plain = records(7, 20), spark.newSession()
    play(spark, tmp_path, [batch(rows)], sessions, DDL)
    store = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    plain.conf.set("spark.sql.streaming.stateStore.providerClass", store)
    found = collected(windrow.state.read(plain, tmp_path / "checkpoint"))
    assert by_window(found) == expected("sessions", rows, latest(rows))


@pytest.mark.slow
@pytest.mark.needs("repartitioned state")
def test_a_stream_continues_after_spark_repartitions_its_state(
    spark: SparkSession, tmp_path: Path, set_conf: SetConf
) -> None:
    set_conf("spark.sql.shuffle.partitions", "8")
    rows, checkpoint = records(51), tmp_path / "checkpoint"

    def query(data: Any) -> Any:
        return windowed(data, KINDS["sessions"]).shards(6).emit("update").agg(**FUNCTIONS)

    run = play(spark, tmp_path, [batch(rows[:40])], query, DDL)
    opened = collected(windrow.state.read(spark, checkpoint))
    spark._streamingCheckpointManager.repartition(str(checkpoint), 3)
    stored = spark.read.format("state-metadata").load(str(checkpoint))
    assert {row.numPartitions for row in stored.collect()} == {3}
    assert by_window(collected(windrow.state.read(spark, checkpoint))) == by_window(opened) != {}
    play(spark, tmp_path, [batch([*rows[40:], closing(rows)])], query, DDL, run=run)
    found = [row for row in applied(run.rows, ["user"]).values() if row["user"] != "end"]
    assert by_window(found) == expected("sessions", rows, MIDNIGHT)
    assert {row["n"] for row in run.rows} > {1}
